// Package eval answers: how good is it? It measures anything that scores queries, under the published protocol.
package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"time"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// Result is what an evaluation found. Without any events it has no batches, and its measures are 0.
type Result struct {
	AP        float64 `json:"ap"` // means over batches, the published way
	AUC       float64 `json:"auc"`
	GlobalAP  float64 `json:"global_ap"` // of all scores at once
	GlobalAUC float64 `json:"global_auc"`
	// ECE is the expected calibration error of the probabilities, after the scorer's own map of logits where it has
	// one, and Reliability what it is made of; nil for scores that are no log-odds, as is the loss.
	ECE         *float64                 `json:"ece,omitempty"`
	Reliability *calibration.Reliability `json:"-"`
	Loss        *float64                 `json:"loss,omitempty"`    // binary cross entropy, mean over batches
	Ranking     *Ranking                 `json:"ranking,omitempty"` // with several negatives for each positive
	Batches     int                      `json:"batches"`
	BatchAP     []float64                `json:"-"` // of every batch, of which AP is the mean
	Positives   int                      `json:"positives"`
	// classified ones, of which Positives have the label
	Events  int `json:"events,omitempty"`
	Moments int `json:"moments,omitempty"` // time negatives: how many were asked about
	// The same measures of first meetings alone, each with its own negatives, pooled over the whole test; nil where
	// nobody looked for them.
	FirstAP        *float64 `json:"first_ap,omitempty"`
	FirstAUC       *float64 `json:"first_auc,omitempty"`
	FirstPositives *int     `json:"first_positives,omitempty"`
	// Sampled says which of the events were asked about; nil: all. The intervals hold the values of all events with
	// 95 % confidence, as far as the batches that were asked about are a random sample of all; nil where not known.
	Sampled     *Sampled    `json:"sampled,omitempty"`
	APInterval  *[2]float64 `json:"ap_ci,omitempty"`
	AUCInterval *[2]float64 `json:"auc_ci,omitempty"`
	// Of classes with names: the likeliest is right, the mean of F1 over classes, and each class against the others. AP
	// and AUC are then means over classes.
	Accuracy *float64     `json:"accuracy,omitempty"`
	MacroF1  *float64     `json:"macro_f1,omitempty"`
	Classes  []ClassScore `json:"classes,omitempty"`
	// Of values: mean absolute error, and the root of the mean squared error. There is no AP or AUC.
	MAE  *float64 `json:"mae,omitempty"`
	RMSE *float64 `json:"rmse,omitempty"`
	// Rules are what simple rules achieve on the same events, where classes or values were tested.
	Rules []RuleScore `json:"rules,omitempty"`
	// Negatives is the SHA-256 of the negatives: for every batch "u,v;u,v;…" and a newline.
	Negatives string `json:"negatives_hash"`
}

// With n positives and as many negatives, the standard error of AUC is √((2n+1)/12)/n for scores that tell nothing, and
// about half of that for good ones (Hanley and McNeil, 1982, at an AUC of 0.9); that of AP is of the same size. For 30
// these are 7.5 and 4.2 points, more than what lies between most models. Of labels one kind is rare and the other is
// not: with 10 of the rare kind it is 6.5 to 9.2 points.
const (
	EnoughPositives = 30 // of links, so that a test says something
	EnoughLabels    = 10 // of either label
)

// TooFew says that the result is of so few events that nothing can be concluded from it.
func (r Result) TooFew() bool {
	if r.Classes != nil || r.RMSE != nil {
		return r.Events < EnoughPositives
	}
	if r.Events > 0 {
		return min(r.Positives, r.Events-r.Positives) < EnoughLabels
	}
	return r.Positives < EnoughPositives
}

// Run replays events and measures the scores. Negatives start over first, so that they are the same in every
// evaluation; what a stateful scorer remembers is left as it is after the last batch. Listeners are told the answers to
// every batch.
func Run(ctx context.Context, s replay.Scorer, p replay.Pass, events *event.Log, listeners ...func(Answers)) (Result,
	error) {
	t := newTally(s)
	t.tell = func(a Answers) {
		for _, listen := range listeners {
			listen(a)
		}
	}
	if err := run(ctx, s, p, events, t); err != nil {
		return Result{}, err
	}
	return t.result(), nil
}

// measure does so for a part. Contenders that share a memory are asked about each batch one after another.
func (p *Protocol) measure(ctx context.Context, pass replay.Pass, part Part, list ...Contender) ([]Result, error) {
	meter := new(Meter)
	tallies := make([]*tally, len(list))
	for i, c := range list {
		t := newTally(c.Scorer)
		t.tell, t.until, t.calibration, t.ranks = p.options.OnAnswers, p.until, c.Calibration, p.options.Ranks
		t.firsts.first, t.meter = p.FirstMeetings(part), meter
		tallies[i] = t
	}
	if err := run(ctx, list[0].Scorer, pass, p.parts[part], tallies...); err != nil {
		return nil, err
	}
	results := make([]Result, len(list))
	for i, t := range tallies {
		results[i] = t.result()
		results[i].note(p.asked(part, t.asked), &t.aps, &t.aucs)
	}
	return results, nil
}

// run measures on events, with tallies that know whom to ask, who listens and when to end. By is the scorer of the
// first; others share its memory, which learns of each batch once.
func run(ctx context.Context, by replay.Scorer, p replay.Pass, events *event.Log, tallies ...*tally) error {
	if p.Negatives == nil {
		return fmt.Errorf("evaluation without negatives: there is nothing to tell the %d positives from",
			events.Len())
	}
	p.Negatives.Reset()
	first, hash := tallies[0], newNegativesHash()
	for _, t := range tallies {
		t.hash, t.total = hash, events.Len()
	}
	if first.ranks != nil {
		if err := first.together(ctx, by, p, events); err != nil {
			return fmt.Errorf("evaluate: %w", err)
		}
		return nil
	}
	for step, err := range p.Batches(ctx, by, events.All()) {
		if err == nil {
			var ended bool
			if ended, err = askAll(ctx, tallies, step); ended {
				break
			}
			hash.add(step.Batch.Queries, step.Span.Len())
		}
		if err != nil {
			for _, t := range tallies {
				if t.open != nil {
					t.scorer.Finish()
				}
			}
			return fmt.Errorf("evaluate: %w", err)
		}
		if over(first.until) {
			break
		}
	}
	for _, t := range tallies {
		if err := t.judge(t.open); err != nil {
			return fmt.Errorf("evaluate: %w", err)
		}
	}
	return nil
}

// askAll asks about one batch for each tally. Ended says that the time was up before the batch was scored, where
// another one has been: it does not count then.
func askAll(ctx context.Context, tallies []*tally, step *replay.Step) (ended bool, err error) {
	first := tallies[0]
	if s, ok := first.scorer.(replay.Stopper); ok {
		limited, done := ctx, context.CancelFunc(func() {})
		if !first.until.IsZero() && first.asked > 0 {
			limited, done = context.WithDeadline(ctx, first.until)
		}
		defer done()
		s.StopWhen(limited.Done())
		defer s.StopWhen(nil)
	}
	for _, t := range tallies {
		if err := t.ask(step); err != nil {
			stopped := (*device.Stopped)(nil)
			if !errors.As(err, &stopped) {
				return false, err
			}
			return ctx.Err() == nil, ctx.Err()
		}
	}
	return false, nil
}

// over says whether a time has come; the zero one never does.
func over(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// starter lets every scorer be asked in the same way.
func starter(s replay.Scorer) replay.Starter {
	if s, ok := s.(replay.Starter); ok {
		return s
	}
	return immediate{s}
}

// immediate is a scorer that has finished when it has started.
type immediate struct{ replay.Scorer }

func (s immediate) Start(b *sample.Batch, out []float32) error { return s.Score(b, out) }
func (s immediate) Finish() error                              { return nil }

// question is a batch that was asked about.
type question struct {
	batch     int
	positives int
	queries   []sample.Query
	scores    []float32
	logits    []float32
}

type tally struct {
	scorer    replay.Starter
	questions [2]question
	open      *question // asked, not judged yet

	logits   bool
	total    int // positives to come
	hash     *negativesHash
	meter    *Meter
	pos, neg []float32 // of all batches
	batchAP  []float64
	auc      float64 // sum over batches
	aps      spread  // of batches
	aucs     spread
	asked    int       // positives
	until    time.Time // when to end, once something is measured; zero: never
	loss     float64
	ranking  *Ranking
	batches  int
	tell     func(Answers) // nil: nobody listens
	right    []bool

	ranks       *collective.Group // that share the batches; nil: there are no others
	firsts      firstTally
	calibration *calibration.Map
	reliable    calibration.Tally
}

// newTally is one of a scorer's answers.
func newTally(s replay.Scorer) *tally {
	_, ranks := s.(replay.Ranker)
	return &tally{scorer: starter(s), logits: !ranks, meter: new(Meter)}
}

// ask asks about one batch, and only then judges the one before: a scorer on a GPU computes meanwhile.
func (t *tally) ask(step *replay.Step) error {
	b, n := step.Batch, step.Span.Len()
	q := &t.questions[step.Number%2]
	q.batch, q.positives = step.Number, n
	q.queries = append(q.queries[:0], b.Queries...)
	q.scores = slices.Grow(q.scores[:0], len(b.Queries))[:len(b.Queries)]
	if err := t.scorer.Start(b, q.scores); err != nil {
		return fmt.Errorf("score batch %d: %w", q.batch, err)
	}
	t.asked += n
	before := t.open
	t.open = q
	return t.judge(before)
}

// judge waits for the scores of a batch and measures them. Before the first there is none.
func (t *tally) judge(q *question) error {
	if q == nil {
		return nil
	}
	if err := t.scorer.Finish(); err != nil {
		return fmt.Errorf("score batch %d: %w", q.batch, err)
	}
	return t.measure(q)
}

// measure measures the scores of a batch.
func (t *tally) measure(q *question) error {
	if err := noneNaN(q.queries, q.scores); err != nil {
		return fmt.Errorf("score batch %d: %w", q.batch, err)
	}
	q.logits = append(q.logits[:0], q.scores...)
	if t.logits {
		for i, x := range q.logits {
			t.reliable.Add(t.calibration.Probability(x), i < q.positives)
		}
		t.loss += probabilities(q.scores, q.positives)
	}
	pos, neg := q.scores[:q.positives], q.scores[q.positives:]
	ap, auc := t.meter.Score(pos, neg)
	t.batchAP, t.auc = append(t.batchAP, ap), t.auc+auc
	t.aps.add(ap)
	t.aucs.add(auc)
	t.pos, t.neg = append(t.pos, pos...), append(t.neg, neg...)
	t.firsts.add(pos, neg)
	t.batches++
	if len(neg) > q.positives {
		t.rank(pos, neg)
	}
	if t.tell != nil {
		t.right = right(t.right[:0], len(q.queries), q.positives)
		t.tell(Answers{q.batch, q.queries, t.right, q.scores, q.logits, q.positives})
	}
	return nil
}

// rank counts the place of each positive among its negatives, which stand n apart.
func (t *tally) rank(pos, neg []float32) {
	if t.ranking == nil {
		t.ranking = new(Ranking)
	}
	own := make([]float32, 0, len(neg)/len(pos))
	for i, p := range pos {
		own = own[:0]
		for j := i; j < len(neg); j += len(pos) {
			own = append(own, neg[j])
		}
		t.ranking.add(Rank(p, own), t.total)
	}
}

func (t *tally) result() Result {
	r := Result{Batches: t.batches, Positives: len(t.pos), Ranking: t.ranking,
		Negatives: t.hash.String()}
	if t.batches == 0 {
		return r
	}
	n := float64(t.batches)
	sum := 0.0
	for _, ap := range t.batchAP {
		sum += ap
	}
	r.AP, r.AUC, r.BatchAP = sum/n, t.auc/n, t.batchAP
	r.GlobalAP, r.GlobalAUC = t.meter.Score(t.pos, t.neg)
	t.firsts.put(&r, t.meter)
	if t.logits {
		loss := t.loss / n
		r.Loss = &loss
		r.takeReliability(t.reliable)
	}
	return r
}

func (r *Result) takeReliability(t calibration.Tally) {
	found := t.Reliability()
	r.Reliability, r.ECE = &found, &found.ECE
}

// noneNaN refuses scores that are no numbers.
func noneNaN(qs []sample.Query, scores []float32) error {
	for i, x := range scores {
		if x != x {
			q := qs[i]
			return fmt.Errorf("query %d (%d, %d at %v) got NaN, must be a number", i, q.Src, q.Dst, q.Time)
		}
	}
	return nil
}

// probabilities replaces logits, of which the first n are positives', and returns their mean loss.
func probabilities(scores []float32, n int) float64 {
	sum := 0.0
	for i, x := range scores {
		scores[i] = Sigmoid(x)
		sum += Loss(scores[i], i < n)
	}
	return sum / float64(len(scores))
}

// negativesHash is the SHA-256 of the negatives of an evaluation: see Result.Negatives.
type negativesHash struct {
	hash.Hash
	line []byte
}

func newNegativesHash() *negativesHash { return &negativesHash{Hash: sha256.New()} }

// add takes the queries of a batch, of which the first n are about events.
func (h *negativesHash) add(qs []sample.Query, n int) {
	for round := n; round < len(qs); round += n {
		h.line = appendNegatives(h.line[:0], qs[round:round+n])
		h.Write(h.line)
	}
}

func (h *negativesHash) String() string { return hex.EncodeToString(h.Sum(nil)) }

func appendNegatives(line []byte, qs []sample.Query) []byte {
	for i, q := range qs {
		if i > 0 {
			line = append(line, ';')
		}
		line = strconv.AppendInt(line, int64(q.Src), 10)
		line = append(line, ',')
		line = strconv.AppendInt(line, int64(q.Dst), 10)
	}
	return append(line, '\n')
}

// Answers are what a scorer said about one batch. The slices are valid until the listener returns.
type Answers struct {
	Batch   int // from 0
	Queries []sample.Query
	Right   []bool    // what should have been said: it happened, or the source has the label
	Scores  []float32 // probabilities as they are measured, 1/(1+e^−logit), or whatever a replay.Ranker ranks by
	Logits  []float32 // what the scorer said itself
	// Paired is how many of the queries are about events. Negatives of query i stand Paired, 2·Paired, … behind it; 0:
	// there are none.
	Paired int
}

// right is what should be said of n queries, of which the first are about events.
func right(to []bool, n, events int) []bool {
	for i := range n {
		to = append(to, i < events)
	}
	return to
}
