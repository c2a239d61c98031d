package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// ErrArrival says that a memory in the order of arrival cannot be asked about moments between events.
var ErrArrival = errors.New("time negatives need the strict order")

// timed measures a scorer on a part against the same pairs at other times, which are asked about when the stream passes
// them. A batch may have any number of these, so AP and AUC are of all scores at once.
func (p *Protocol) timed(ctx context.Context, s replay.Scorer, part Part) (Result, error) {
	if _, remembers := s.(model.StatefulScorer); remembers && p.options.Order != protocol.Strict {
		return Result{}, fmt.Errorf("%w: in the order of arrival a memory may know what came after a moment "+
			"that lies between two events; want order %s", ErrArrival, protocol.Strict)
	}
	pass := p.pass(p.full(), nil, 1)
	events := p.parts[part].All()
	t := timer{scorer: s, tell: p.options.OnAnswers, calibration: p.options.Calibration}
	if err := t.questions.Prepare(pass, s.Plan(), 0); err != nil {
		return Result{}, err
	}
	t.moments = sample.NewMoments(events, p.split.Full, sample.MomentOptions{Seed: uint64(part)})
	for step, err := range pass.Batches(ctx, s, events) {
		if err == nil {
			err = t.ask(ctx, step)
		}
		if err != nil {
			return Result{}, fmt.Errorf("evaluate: %w", err)
		}
		if over(p.until) {
			break
		}
	}
	r := t.result()
	r.note(p.asked(part, len(t.pos)), nil, nil)
	return r, nil
}

// timer adds up batches and the moments that belong to them.
type timer struct {
	questions replay.Questions
	scorer    replay.Scorer
	moments   *sample.Moments
	tell      func(Answers)
	batches   int
	pos, neg  []float32

	calibration *calibration.Map
}

func (t *timer) ask(ctx context.Context, step *replay.Step) error {
	pos, err := t.score(step.Batch)
	if err != nil {
		return err
	}
	during := t.moments.During(step.Span)
	from := len(t.neg)
	for b, err := range t.questions.Batches(ctx, during) {
		if err != nil {
			return err
		}
		neg, err := t.score(b)
		if err != nil {
			return err
		}
		t.neg = append(t.neg, neg...)
	}
	t.pos = append(t.pos, pos...)
	t.batches++
	if t.tell != nil {
		t.tell(t.answers(step, pos, during, t.neg[from:]))
	}
	return nil
}

func (t *timer) score(b *sample.Batch) ([]float32, error) {
	out := make([]float32, len(b.Queries))
	if err := t.scorer.Score(b, out); err != nil {
		return nil, err
	}
	return out, noneNaN(b.Queries, out)
}

func (t *timer) answers(step *replay.Step, pos []float32, during []sample.Query, neg []float32) Answers {
	qs := slices.Concat(step.Batch.Queries, during)
	a := Answers{Batch: step.Number, Queries: qs, Right: right(nil, len(qs), len(pos)),
		Logits: slices.Concat(pos, neg), Scores: slices.Concat(pos, neg)}
	if t.logits() {
		probabilities(a.Scores, len(pos))
	}
	return a
}

func (t *timer) logits() bool {
	_, ranks := t.scorer.(replay.Ranker)
	return !ranks
}

func (t *timer) result() Result {
	r := Result{Batches: t.batches, Positives: len(t.pos), Moments: len(t.neg),
		Negatives: hashMoments(t.moments.Queries)}
	if t.batches == 0 {
		return r
	}
	if t.logits() {
		var reliable calibration.Tally
		for _, x := range t.pos {
			reliable.Add(t.calibration.Probability(x), true)
		}
		for _, x := range t.neg {
			reliable.Add(t.calibration.Probability(x), false)
		}
		r.takeReliability(reliable)
		both := append(slices.Clone(t.pos), t.neg...)
		loss := probabilities(both, len(t.pos))
		r.Loss, t.pos, t.neg = &loss, both[:len(t.pos)], both[len(t.pos):]
	}
	r.atOnce(t.pos, t.neg)
	return r
}

// hashMoments is the SHA-256 of "u,v,t" and a newline for each, in the order of time.
func hashMoments(qs []sample.Query) string {
	h := sha256.New()
	var line []byte
	for _, q := range qs {
		line = appendQuery(line[:0], q.Src, q.Dst, q.Time)
		h.Write(append(line, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func appendQuery(line []byte, u, v event.Node, t event.Time) []byte {
	line = strconv.AppendInt(line, int64(u), 10)
	line = strconv.AppendInt(append(line, ','), int64(v), 10)
	return strconv.AppendFloat(append(line, ','), t, 'g', -1, 64)
}
