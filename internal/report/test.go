package report

import (
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
)

// test asks the questions once more and looks at every answer.
type test struct {
	report    *Report
	options   Options
	predictor *predict.Predictor
	session   *eval.Session
	part      eval.Part
	doing     string // for the progress line

	answers []answer
	batches []batch
}

type answer struct {
	predict.Query
	batch, row int32
	pair       int32 // where its negative stands, −1 for none
	right      bool
	score      float32 // that is measured
	seen       int32   // events that there were before: of the pair, or of the source where labels are told

	probability float64 // that people are told
}

type batch struct {
	first, last event.Time
	from, to    int // answers
	events      int
	ap, auc     float64
}

func (t *test) take(ctx context.Context) (err error) {
	r := t.report
	if t.part, err = eval.PartOf(r.Scenario); err != nil {
		return err
	}
	t.doing = "test"
	if t.session, err = t.predictor.Evaluation(ctx, eval.Options{OnBatch: t.tell, Limits: r.parts}); err != nil {
		return err
	}
	t.session = t.session.As(t.part, r.noted().Sampled)
	r.Split = eval.RecordSplit(t.session.Protocol().Split())
	own := t.predictor.Contender("")
	if r.Measured, err = t.session.Evaluate(ctx, own, t.part, r.Negatives, t.keep); err != nil {
		return err
	}
	if r.Measured.Batches == 0 {
		return fmt.Errorf("%s: no events to ask about in the %s test; the stream is too short, or too many of its "+
			"events have the same time", r.Data.Name, r.Scenario)
	}
	if r.InWords() {
		return nil
	}
	r.Period, r.Seen, r.Reliability = t.period(), t.groups(), reliability(t.answers)
	if !r.Labels() {
		if err := t.baseline(ctx); err != nil {
			return err
		}
	}
	return t.explain(ctx)
}

func (t *test) tell(done, total int) {
	if t.options.OnBatch != nil {
		t.options.OnBatch(t.doing, done, total)
	}
}

// keep takes down the answers of a batch.
func (t *test) keep(a eval.Answers) {
	from := len(t.answers)
	b := batch{from: from, to: from + len(a.Queries), first: a.Queries[0].Time, last: a.Queries[0].Time,
		events: len(a.Queries)}
	for i, q := range a.Queries {
		x := answer{Query: q, batch: int32(a.Batch), row: int32(i), pair: -1, right: a.Right[i], score: a.Scores[i],
			probability: t.predictor.Probability(a.Logits[i])}
		if i < a.Paired {
			x.pair = int32(from + i + a.Paired)
		}
		if t.report.Labels() {
			x.seen = int32(t.predictor.Events(q.Src, q.Time))
		} else {
			x.seen = int32(t.predictor.Meetings(q))
		}
		t.answers = append(t.answers, x)
		b.first, b.last = min(b.first, q.Time), max(b.last, q.Time)
	}
	if a.Paired > 0 {
		var m eval.Meter
		b.events = a.Paired
		b.ap, b.auc = m.Score(a.Scores[:a.Paired], a.Scores[a.Paired:])
	}
	t.batches = append(t.batches, b)
}

// Baseline is the best of the models that need no training, on the same questions.
type Baseline struct {
	Model   string  `json:"model"`
	Variant string  `json:"variant"`
	AP      float64 `json:"ap"`
	AUC     float64 `json:"auc"`
}

// baseline measures what needs no training, and puts the best of it beside the model.
func (t *test) baseline(ctx context.Context) error {
	for _, name := range models.Names(false) {
		if models.Get(name).Trains {
			continue
		}
		t.doing = name
		list, _, err := models.Contenders(name)
		if err != nil {
			return err
		}
		if err := t.session.Join(ctx, list...); err != nil {
			return err
		}
		for _, c := range list {
			if err := t.contend(ctx, name, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *test) contend(ctx context.Context, name string, c eval.Contender) error {
	r := t.report
	var batches []float64 // AP of each
	got, err := t.session.Evaluate(ctx, c, t.part, r.Negatives, func(a eval.Answers) {
		var m eval.Meter
		ap, _ := m.Score(a.Scores[:a.Paired], a.Scores[a.Paired:])
		batches = append(batches, ap)
	})
	if err != nil {
		return err
	}
	if r.Baseline != nil && got.AP <= r.Baseline.AP {
		return nil
	}
	r.Baseline = &Baseline{name, c.Name, got.AP, got.AUC}
	for i, part := range cutEvenly(len(batches), len(r.Period)) {
		ap := mean(batches[part[0]:part[1]])
		r.Period[i].Baseline = &ap
	}
	return nil
}

// cutEvenly cuts n things into pieces of about the same size: from where to where.
func cutEvenly(n, pieces int) [][2]int {
	var cuts [][2]int
	for i := range pieces {
		cuts = append(cuts, [2]int{i * n / pieces, (i + 1) * n / pieces})
	}
	return cuts
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(1, len(list)))
}

// split separates the scores of those that are right from the others.
func split(list []answer) (right, wrong []float32) {
	for _, a := range list {
		if a.right {
			right = append(right, a.score)
		} else {
			wrong = append(wrong, a.score)
		}
	}
	return right, wrong
}
