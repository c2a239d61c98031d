// Package predict answers questions with a trained model: scores, rankings, explanations, embeddings. It looks at the
// events strictly before the time that a question asks about, and takes new events as they come.
package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/train"
)

// Query asks whether Src and Dst interact at Time.
type Query = sample.Query

// ErrTooEarly says that a query lies within what a memory in the order of arrival has observed already.
var ErrTooEarly = errors.New("the query is not after the last event")

// TooEarlyError is an ErrTooEarly with the query.
type TooEarlyError struct {
	Query Query
	Last  event.Time // of the last event
	Model string
}

func (e *TooEarlyError) Error() string {
	return fmt.Sprintf("%v: it is at %s, the last event at %s; %s remembers events in the order of arrival, and "+
		"answers only about later times (order=strict can look back)", ErrTooEarly, plainTime(e.Query.Time),
		plainTime(e.Last), e.Model)
}

func (e *TooEarlyError) Unwrap() error { return ErrTooEarly }

// plainTime writes a time without an exponent.
func plainTime(t event.Time) string { return strconv.FormatFloat(t, 'f', -1, 64) }

// Predictor answers queries with a trained model. One goroutine at a time may use it.
type Predictor struct {
	Top         int // this many of each side's most weighted patches are withheld by Explain; Load sets 3
	CurvePoints int // of the curve of Explain, before and after each query's time; Load sets 0: no curve

	options   Options
	choice    run.Choice // which checkpoint it is, of several seeds
	name      string
	spec      model.Spec
	past      index.View // what queries look back on; nil: not asked for yet
	grown     *Past      // where that comes from, once events came in
	log       *event.Log // all events, those that came in too; nil: none are known one by one
	model     model.Model
	head      model.Head // the question: do they interact, or has the source the label?
	scorer    *model.DeviceScorer
	origin    run.Origin    // of the checkpoint
	stored    bool          // the checkpoint holds a memory
	stream    *stream       // what a model that remembers has learned of; nil for others
	tape      *grad.Tape    // of Explain, once that was asked for
	own       device.Device // opened by Load
	questions replay.Questions
	seen      []event.Time // of each node: when it was first a destination
	noticed   int          // events that tell so; the others are looked at when someone wants to know

	features *nn.Features // of events; nil where the model asks for none
	kinds    model.Kinds  // that the last columns of them tell apart

	classifier  *train.Classifier // of node classification, otherwise nil
	calibration *calibration.Map  // nil: logits are taken as they are
}

// Choice says which checkpoint answers, and of how many seeds it was chosen.
func (p *Predictor) Choice() run.Choice { return p.choice }

// Model is the model's name in the catalogue.
func (p *Predictor) Model() string { return p.name }

// Spec is the model's configuration. Queries are scored in batches of its batch size.
func (p *Predictor) Spec() model.Spec { return p.spec }

// Known says whether a node occurs in the past at all. Others may be asked about too; nothing is known of them but the
// query.
func (p *Predictor) Known(n event.Node) bool { return p.view().Before(n, math.Inf(1)).Len() > 0 }

// Events is how many events a node had before a time.
func (p *Predictor) Events(n event.Node, t event.Time) int { return p.view().Before(n, t).Len() }

// LastMet is whom a node met last before a time; false if nobody.
func (p *Predictor) LastMet(n event.Node, t event.Time) (event.Node, bool) {
	h := p.view().Before(n, t)
	if h.Len() == 0 {
		return 0, false
	}
	return h.Node[h.Len()-1], true
}

// Meetings is how often the two of a query had met before its time, whoever was the source.
func (p *Predictor) Meetings(q Query) int {
	n, other := q.Src, q.Dst
	h, short := p.view().Before(n, q.Time), p.view().Before(other, q.Time)
	if short.Len() < h.Len() {
		h, other = short, n
	}
	count := 0
	for _, x := range h.Node {
		if x == other {
			count++
		}
	}
	if q.Src == q.Dst { // its history has both ends of such an event
		count /= 2
	}
	return count
}

// Score gives one logit for every query, in their order, which may be any. A query at t is answered from the events
// strictly before t, all of them, and may lie after the last. Which others are asked about at the same time makes no
// difference, unless the model picks neighbours at random or pads rows to the longest.
//
// A model that remembers learns of the events in units of a batch, as in training. In strict order it answers a query
// at t with the units that end before t; in the order of arrival it knows all events, and a query that is not after the
// last is an ErrTooEarly.
func (p *Predictor) Score(ctx context.Context, qs []Query) ([]float32, error) {
	if err := checkQueries(qs); err != nil {
		return nil, err
	}
	if n := p.spec.Outputs(); n > 1 {
		return nil, fmt.Errorf("score: %w: %d of them", ErrSeveralClasses, n)
	}
	return byGroup(ctx, p, qs, func(some []Query, done int) ([]float32, error) {
		out := make([]float32, len(some))
		return out, p.score(ctx, some, out, done, len(qs))
	})
}

// byGroup answers queries, all at once or, for a model that remembers, those together before which it knows the same.
// Answer is told how many are done already.
func byGroup[T any](ctx context.Context, p *Predictor, qs []Query, answer func(some []Query, done int) ([]T, error),
) ([]T, error) {
	if p.stream == nil {
		return answer(qs, 0)
	}
	all, done := make([]T, len(qs)), 0
	return all, p.stream.visit(ctx, qs, func(group []int) error {
		some := make([]Query, len(group))
		for k, i := range group {
			some[k] = qs[i]
		}
		found, err := answer(some, done)
		if err != nil {
			return err
		}
		for k, i := range group {
			all[i] = found[k]
		}
		done += len(group)
		return nil
	})
}

// Ingest takes new events, which later queries look back on. They may be late: each takes its place in time, but a
// memory learns of them in the order in which they come. Edges are numbered on from the events that are there; nothing
// is taken if one of them is not valid.
func (p *Predictor) Ingest(events []event.Event) error {
	if p.log == nil || p.options.Past != nil || p.options.Live != nil {
		return fmt.Errorf("ingest: the events of the past are not known one by one, want a data set")
	}
	for i, e := range events {
		if err := e.Check(); err != nil {
			return fmt.Errorf("ingest: event %d: %w", i, err)
		}
	}
	if p.stream != nil {
		if err := p.stream.makeRoom(events); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	if p.grown == nil {
		p.grown = newPast(p.log, p.options.Set)
	}
	if err := p.grown.Add(events, nil); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return p.Look(p.grown.Now())
}

// Probability is what a logit of this model means: how likely the two interact. Where the checkpoint has a calibration
// it is that of validation, one random negative standing beside every event; otherwise 1/(1+e^−logit).
func (p *Predictor) Probability(logit float32) float64 { return p.calibration.Probability(logit) }

// Calibration is the map behind Probability; nil where the checkpoint has none.
func (p *Predictor) Calibration() *calibration.Map { return p.calibration }

// Scorer is the model for an evaluation, with what its checkpoint remembers of training and validation, whatever
// queries the predictor has answered.
func (p *Predictor) Scorer() replay.Scorer {
	scorer := p.scorer.Scorer()
	if s, remembers := scorer.(starter); remembers && p.stream != nil {
		return evaluated{s, p.stream}
	}
	return scorer
}

// Close gives back the memory that the predictor holds.
func (p *Predictor) Close() error {
	if p.tape != nil {
		p.tape.Close()
	}
	if p.scorer != nil {
		p.scorer.Close()
	}
	if p.classifier != nil {
		p.classifier.Close()
	}
	if p.model != nil {
		p.model.Close()
	}
	if p.own != nil {
		return p.own.Close()
	}
	return nil
}

// score asks the model as it is now: all that it says of each query. Before are the queries of the whole that are done
// already. A batch is gathered while the device is busy with the one before.
func (p *Predictor) score(ctx context.Context, qs []Query, logits []float32, before, total int) error {
	qs = p.subjects(qs)
	outputs := p.spec.Outputs()
	var open []float32 // answers under way, and what was asked
	var asked []Query
	finish := func() error {
		if open == nil {
			return nil
		}
		if err := p.scorer.Finish(); err != nil {
			return fmt.Errorf("score: %w", err)
		}
		if i := slices.IndexFunc(open, notFinite); i >= 0 {
			q := asked[i/outputs]
			return fmt.Errorf("score: %d and %d at %v got %v, want a number; the weights may be broken",
				q.Src, q.Dst, q.Time, open[i])
		}
		before += len(asked)
		if tell := p.options.OnBatch; tell != nil {
			tell(before, total)
		}
		open = nil
		return nil
	}
	for b, err := range p.gather(ctx, qs, p.model.Plan()) {
		if err != nil {
			return fmt.Errorf("score: %w", errors.Join(err, finish()))
		}
		n := len(b.Queries)
		now, these := logits[:n*outputs], qs[:n]
		if err := p.scorer.Start(b, now); err != nil {
			return fmt.Errorf("score: %w", err)
		}
		logits, qs = logits[n*outputs:], qs[n:]
		if err := finish(); err != nil {
			p.scorer.Finish()
			return err
		}
		open, asked = now, these
	}
	return finish()
}

// gather fetches what the model wants to know about queries, a batch at a time. Neighbours that are picked at random
// are drawn from the start.
func (p *Predictor) gather(ctx context.Context, qs []Query, plan sample.Plan) iter.Seq2[*sample.Batch, error] {
	size := p.spec.Training.BatchSize
	return p.gatherParts(ctx, slices.Chunk(qs, size), min(size, len(qs)), plan)
}

// gatherParts does so for batches of at most size queries.
func (p *Predictor) gatherParts(ctx context.Context, parts iter.Seq[[]Query], size int, plan sample.Plan,
) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		pass := replay.Pass{Past: p.view(), Sampling: p.sampling(), Seed: 1, Threads: p.options.Threads}
		if err := p.questions.Prepare(pass, plan, size); err != nil {
			yield(nil, err)
			return
		}
		p.questions.Parts(ctx, parts)(yield)
	}
}

// sampling is how the predictor draws: see Options.Sampling. Without a data set the reference is the last resort.
func (p *Predictor) sampling() protocol.Sampling {
	drawn := cmp.Or(p.options.Sampling, p.origin.Sampling)
	if drawn == "" && p.options.Set != nil {
		drawn = p.options.Set.Sampling
	}
	return cmp.Or(drawn, protocol.Reference)
}

// view is what queries look back on. An evaluation does not need it.
func (p *Predictor) view() index.View {
	if p.past == nil {
		p.past = index.Freeze(p.log)
	}
	return p.past
}

func notFinite(x float32) bool { return x-x != 0 }

// checkQueries says what is wrong with the first query that no model can answer.
func checkQueries(qs []Query) error {
	for i, q := range qs {
		if err := (event.Event{Src: q.Src, Dst: q.Dst, Time: q.Time}).Check(); err != nil {
			return fmt.Errorf("queries: row %d: %w", i, err)
		}
	}
	return nil
}

// sorted are the numbers below n in an order; equal ones stay as they are.
func sorted(n int, compare func(i, j int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	return order
}
