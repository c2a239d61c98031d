package demo

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// Example is one event that the two models judge differently.
type Example struct {
	Source      string              `json:"src"`
	Destination string              `json:"dst"`
	Time        float64             `json:"time"`
	Without     float64             `json:"dygmamba_a_probability"`
	Explanation predict.Explanation `json:"explanation"`
	Period      float64             `json:"period"` // the middle one of the gaps
	OffTime     float64             `json:"off_beat_time"`
	Off         predict.Explanation `json:"off_beat_explanation"` // of the same question half a period earlier
	Meetings    []float64           `json:"meetings"`             // of the pair, within the curve's time
	Curve       []CurvePoint        `json:"curve"`
}

// CurvePoint is what both models answer at one time.
type CurvePoint struct {
	Time    float64 `json:"time"`
	Whole   float64 `json:"dygmamba"`
	Without float64 `json:"dygmamba_a"`
}

// explain takes the telling test event about which the models disagree most, asks why, and asks about the same pair at
// other times.
func (t *Tour) explain(ctx context.Context) (Example, error) {
	var models [2]*predict.Predictor
	for i, name := range []string{Whole, Without} {
		p, err := predict.Load(filepath.Join(t.dir, name), predict.Options{Set: t.set})
		if err != nil {
			return Example{}, err
		}
		defer p.Close()
		models[i] = p
	}
	asked := t.telling()
	answers, err := probabilities(ctx, models, asked)
	if err != nil {
		return Example{}, err
	}
	if len(asked) == 0 {
		return Example{}, fmt.Errorf("no pair of this stream kept its rhythm: choose another --seed")
	}
	most := 0
	for i, a := range answers {
		if a.Whole-a.Without > answers[most].Whole-answers[most].Without {
			most = i
		}
	}
	q := asked[most]
	x := Example{Time: q.Time, Without: answers[most].Without}
	x.Source, x.Destination = t.set.Names.Name(q.Src), t.set.Names.Name(q.Dst)
	if x.Explanation, err = why(ctx, models[0], q); err != nil {
		return x, err
	}
	gaps := slices.Sorted(slices.Values(x.Explanation.Gaps))
	x.Period = float64(gaps[len(gaps)/2])
	x.OffTime = x.Time - x.Period/2
	off := q
	off.Time = x.OffTime
	if x.Off, err = why(ctx, models[0], off); err != nil {
		return x, err
	}
	return x, t.follow(ctx, models, q, &x)
}

// telling are the test events of pairs that kept their rhythm lately and have not met for so long that their last
// meeting is no longer among the latest events of either node: nothing but the rhythm tells that it is time.
func (t *Tour) telling() []predict.Query {
	const gaps, tolerance, latest = 4, 0.05, 15 // at least as many as the settings let the models see
	var list []predict.Query
	for i := range t.split.Test.Len() {
		e := t.split.Test.At(i)
		times := t.meetings(e.Src, e.Dst, 0, e.Time)
		if len(times) <= gaps {
			continue
		}
		times = times[len(times)-gaps-1:]
		period := (times[gaps] - times[0]) / gaps
		clean := true
		for k := range gaps {
			clean = clean && math.Abs(times[k+1]-times[k]-period) < tolerance*period
		}
		if clean && t.busy(e.Src, times[gaps-1], e.Time) >= latest && t.busy(e.Dst, times[gaps-1], e.Time) >= latest {
			list = append(list, predict.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
		}
	}
	return list
}

func (t *Tour) busy(n event.Node, begin, end event.Time) int {
	count := 0
	for i := range t.set.Log.Len() {
		if e := t.set.Log.At(i); (e.Src == n || e.Dst == n) && e.Time > begin && e.Time < end {
			count++
		}
	}
	return count
}

func why(ctx context.Context, p *predict.Predictor, q predict.Query) (predict.Explanation, error) {
	found, err := p.Explain(ctx, []predict.Query{q})
	if err != nil {
		return predict.Explanation{}, err
	}
	return found[0], nil
}

func probabilities(ctx context.Context, models [2]*predict.Predictor, asked []predict.Query) ([]CurvePoint, error) {
	answers := make([]CurvePoint, len(asked))
	for m, p := range models {
		logits, err := p.Score(ctx, asked)
		if err != nil {
			return nil, err
		}
		for i, logit := range logits {
			answers[i].Time = asked[i].Time
			if m == 0 {
				answers[i].Whole = p.Probability(logit)
			} else {
				answers[i].Without = p.Probability(logit)
			}
		}
	}
	return answers, nil
}

// follow asks both models about a pair again and again, over a few of its periods.
func (t *Tour) follow(ctx context.Context, models [2]*predict.Predictor, q predict.Query, x *Example) (err error) {
	end := min(q.Time+2.5*x.Period, t.set.Log.At(t.set.Log.Len()-1).Time)
	begin := end - 5*x.Period
	x.Meetings = t.meetings(q.Src, q.Dst, begin, end)
	const points = 240
	times := slices.Clone(x.Meetings)
	for i := range points + 1 {
		times = append(times, begin+(end-begin)*float64(i)/points)
	}
	slices.Sort(times)
	var asked []predict.Query
	for _, at := range slices.Compact(times) {
		asked = append(asked, predict.Query{Src: q.Src, Dst: q.Dst, Time: at})
	}
	x.Curve, err = probabilities(ctx, models, asked)
	return err
}

// meetings are the times at which two nodes met, within a span of time.
func (t *Tour) meetings(src, dst event.Node, begin, end event.Time) []float64 {
	var times []float64
	for i := range t.set.Log.Len() {
		if e := t.set.Log.At(i); e.Src == src && e.Dst == dst && e.Time >= begin && e.Time <= end {
			times = append(times, e.Time)
		}
	}
	return times
}

// Change is what the answer becomes without something.
type Change struct {
	What, Brief string // the thing withheld, with all its events or in a few words
	To          predict.Effect
}

// Changes are those for the gaps, the meetings, and the most weighted patch of either side.
func (x *Example) Changes() []Change {
	var list []Change
	add := func(what, brief string, to *predict.Effect) {
		if to != nil {
			list = append(list, Change{what, brief, *to})
		}
	}
	e := x.Explanation
	add("the gaps", "without the gaps", e.WithoutGaps)
	add("the events of the pair", "without the events of the pair", e.WithoutMeetings)
	for _, side := range []predict.Side{e.Source, e.Destination} {
		if p := Heaviest(side); p != nil {
			add(eventsOf(side, *p), "without the heaviest patch of "+side.Name, p.Without)
		}
	}
	return list
}

// Heaviest is the patch with events that counts most; nil if there are none.
func Heaviest(side predict.Side) *predict.Patch {
	var most *predict.Patch
	for i := range side.Patches {
		if p := &side.Patches[i]; len(p.Events) > 0 && (most == nil || p.Weight > most.Weight) {
			most = p
		}
	}
	return most
}

func eventsOf(side predict.Side, p predict.Patch) string {
	var names []string
	for _, e := range p.Events {
		names = append(names, fmt.Sprintf("%s–%s at %.2f", side.Name, e.Name, e.Time))
	}
	return strings.Join(names, ", ")
}
