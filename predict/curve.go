package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// CurvePoint is the answer about a query's pair at another time.
type CurvePoint struct {
	Time        event.Time `json:"time"`
	Probability float64    `json:"probability"`
}

// Curves asks about the pair of each query again and again, at so many points before its time and as many after it, and
// at its own: over a week either way where times are dates, otherwise over a twentieth of what the stream lasts. Each
// answer rests on the events strictly before its own time. In the order of arrival a model that remembers cannot be
// asked about what was, so that times up to the last event are left out.
func (p *Predictor) Curves(ctx context.Context, qs []Query, points int) ([][]CurvePoint, error) {
	if err := checkQueries(qs); err != nil {
		return nil, err
	}
	curves := make([][]CurvePoint, len(qs))
	reach := p.reach()
	if points < 1 || reach == 0 || p.spec.Task == protocol.NodeClassification {
		return curves, nil
	}
	after := math.Inf(-1)
	if p.stream != nil && p.spec.Order == protocol.Arrival && p.log.Len() > 0 {
		after = slices.Max(p.log.All().Time)
	}
	var asked []Query
	for i, q := range qs {
		for k := -points; k <= points; k++ {
			at := q
			at.Time += reach * float64(k) / float64(points)
			if at.Time > after {
				asked, curves[i] = append(asked, at), append(curves[i], CurvePoint{Time: at.Time})
			}
		}
	}
	tell := p.options.OnBatch
	p.options.OnBatch = nil // who listens counts queries
	logits, err := p.Score(ctx, asked)
	p.options.OnBatch = tell
	if err != nil {
		return nil, fmt.Errorf("curve: %w", err)
	}
	for _, c := range curves {
		for k := range c {
			c[k].Probability, logits = p.Probability(logits[0]), logits[1:]
		}
	}
	return curves, nil
}

// reach is how far a curve goes, 0 where nobody knows the stream.
func (p *Predictor) reach() float64 {
	if p.options.Set != nil && p.options.Set.TimeFormat == dataset.TimeDate {
		const week = 7 * 24 * 3600
		return week
	}
	if p.log == nil || p.log.Len() == 0 {
		return 0
	}
	times := p.log.All().Time
	return (slices.Max(times) - slices.Min(times)) / 20
}
