package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Pace is how fast a run was found to be, in seconds. The zero value: nobody knows.
type Pace struct {
	Step  float64 // for a training event
	Score float64 // for an event that is asked about, with its negatives
	Save  float64 // to save what the model knows, once
	Node  float64 // to save what it remembers of one more node, where nodes that did not occur are left out
}

// Fit measures the pace of this run and says which part of the events fits into the time until Deadline; the zero value
// is all of them. It takes a few steps that leave nothing behind but Pace: the run itself begins afresh.
func (r *Run) Fit(ctx context.Context) (eval.Limits, error) {
	task := r.Protocol.Task()
	if r.Deadline.IsZero() || task == protocol.NodeClassification {
		return eval.Limits{}, nil
	}
	if task == protocol.Next {
		return r.fitNext(ctx)
	}
	var inOrder bool
	var err error
	failed := tensor.Guard(func() { inOrder, err = r.probe(ctx) })
	err = cmp.Or(failed, err)
	if err = cmp.Or(device.Ended(ctx, err), err); err != nil {
		return eval.Limits{}, fmt.Errorf("measure the speed of training: %w", err)
	}
	split := r.Protocol.Whole()
	b := budget{
		left: time.Until(r.Deadline).Seconds() / float64(max(1, r.Until)), pace: r.Pace,
		batch: r.Spec.Training.BatchSize, inOrder: inOrder,
		train: split.Train.Len(), val: [2]int{split.Val.Len(), split.NewVal.Len()},
		test:     [2]int{split.Test.Len(), split.NewTest.Len()},
		valKinds: len(protocol.Selecting(r.Spec.Training.SelectBy)), testKinds: max(1, len(r.Strategies)),
	}
	l := b.limits()
	if r.Pace.Node > 0 {
		first := 0
		if l.Train > 0 {
			first = max(0, b.train-l.Train)
		}
		r.Pace.Save += r.Pace.Node * float64(nodesOf(split.Train.Span(first, b.train), r.Set.NumNodes()))
		b.pace = r.Pace
		l = b.limits()
	}
	return l, nil
}

// fitNext is Fit for the task next: it limits an epoch to the latest training events for which there is time.
// Validation and test ask about as many events as they have time for, see testNext. A model with memory or state goes
// through all training events.
func (r *Run) fitNext(ctx context.Context) (l eval.Limits, err error) {
	failed := tensor.Guard(func() { l, err = r.probeNext(ctx) })
	if err = cmp.Or(failed, err); err != nil {
		return eval.Limits{}, fmt.Errorf("measure the speed of training: %w", err)
	}
	return l, nil
}

func (r *Run) probeNext(ctx context.Context) (eval.Limits, error) {
	l, err := r.Learner(r.Device)
	if err != nil {
		return eval.Limits{}, err
	}
	defer l.Close()
	if r.Factory.Remembers || sample.Replays(l.Model.Plan()) {
		return eval.Limits{}, nil
	}
	const (
		steps   = 16
		growing = 2   // how much longer a step takes when much is counted
		share   = 0.4 // of the time for the first epoch
	)
	size := r.Spec.Training.BatchSize
	proto := r.Protocol.Limit(eval.Limits{Train: steps * size})
	events := proto.TrainEvents()
	l.Chooser().Feed().Begin(0, events)
	limit := min(2*time.Second, time.Until(r.Deadline)/20)
	each, err := r.steps(ctx, l, replay.Planner(l.Model), proto, events, size, limit)
	if err != nil {
		return eval.Limits{}, err
	}
	fits := share * time.Until(r.Deadline).Seconds() / (growing * each)
	if train := r.Protocol.Whole().Train.Len(); fits >= float64(train) {
		return eval.Limits{}, nil
	}
	return eval.Limits{Train: max(1, int(fits)/size) * size}, nil
}

// probe takes steps and asks questions at the end of the training events, where histories are longest. InOrder says
// that the model has memory or state: it begins empty a little before.
func (r *Run) probe(ctx context.Context) (inOrder bool, err error) {
	l, err := r.Learner(r.Device)
	if err != nil {
		return false, err
	}
	defer l.Close()
	if l.Classifier() != nil || l.Chooser() != nil {
		return false, nil
	}
	const steps, questions = 32, 8 // at most
	size := r.Spec.Training.BatchSize
	proto := r.Protocol.Limit(eval.Limits{Train: steps * size, Val: questions * size})
	if inOrder = r.Factory.Remembers || sample.Replays(l.Model.Plan()); inOrder {
		proto = r.Protocol.Limit(eval.Limits{Train: steps * size, Val: questions * size, Block: true})
	}
	limit := min(2*time.Second, time.Until(r.Deadline)/20)
	scorer := model.NewScorerWith(l.Model, l.Head())
	defer scorer.Close()
	by := replay.Planner(l.Model)
	if m, ok := scorer.Scorer().(model.StatefulScorer); ok && r.Spec.Order == protocol.Strict {
		by = m
	}
	if r.Pace.Step, err = r.probeSteps(ctx, l, by, proto, limit); err != nil {
		return inOrder, err
	}
	if r.Pace.Score, err = probeScores(ctx, scorer, proto, limit); err != nil {
		return inOrder, err
	}
	r.Pace.Save, r.Pace.Node, err = savingTime(l, scorer, r.Set.NumNodes())
	return inOrder, err
}

// probeSteps is the time of a training event: of small steps, the first of which makes room in memory and builds the
// index, then of whole ones where these are short enough.
func (r *Run) probeSteps(ctx context.Context, l *Learner, by replay.Planner, proto *eval.Protocol, limit time.Duration,
) (float64, error) {
	events := proto.TrainEvents()
	size := r.Spec.Training.BatchSize
	small, few := max(1, size/10), 3
	last := events.Slice(max(0, events.Len()-few*small), events.Len())
	each := 0.0
	for range 2 { // the first makes room
		var err error
		if each, err = r.steps(ctx, l, by, proto, last, small, limit); err != nil {
			return 0, err
		}
		if each*float64(size) > limit.Seconds() {
			return each, nil
		}
	}
	return r.steps(ctx, l, by, proto, events, size, limit)
}

// steps takes steps until a time has passed, and says how long an event took. The first step does not count where there
// are others: it does what is done once in an epoch, however many events that has.
func (r *Run) steps(ctx context.Context, l *Learner, by replay.Planner, proto *eval.Protocol, events event.Span,
	size int, limit time.Duration) (each float64, err error) {
	pass, err := r.passOf(proto)
	if err != nil {
		return 0, err
	}
	l.askPairs(&pass)
	pass.OnBatch, pass.BatchSize = nil, size
	began, done := time.Now(), 0
	var first time.Duration
	loss := make([]float32, 1)
	for step, err := range pass.Batches(ctx, by, events) {
		if err != nil {
			return 0, err
		}
		l.Stop = ctx.Done()
		l.Step(step.Batch, uint64(done))
		r.Device.Read(loss, l.Loss.Data) // when it is there, the step is over
		if done += step.Span.Len(); done <= size {
			first = time.Since(began)
		}
		if time.Since(began)-first > limit {
			break
		}
	}
	if done > size {
		return (time.Since(began) - first).Seconds() / float64(done-size), nil
	}
	return time.Since(began).Seconds() / float64(max(1, done)), nil
}

// probeScores is the time of an event of validation: of one small batch, then of whole ones. The first makes room, and
// indexes what may be seen.
func probeScores(
	ctx context.Context, s *model.DeviceScorer, proto *eval.Protocol, limit time.Duration,
) (each float64, err error) {
	proto = proto.With(func(o *eval.Options) { o.OnBatch, o.OnAnswers = nil, nil })
	for range 2 {
		began := time.Now()
		val, err := proto.Until(began.Add(limit)).Evaluate(ctx, s.Scorer(), eval.Val, protocol.RandomNegatives)
		if err != nil || val.Positives == 0 {
			return 0, err
		}
		each = time.Since(began).Seconds() / float64(val.Positives)
		if time.Since(began) > 2*limit {
			break
		}
	}
	return each, nil
}

// savingTime is about how long it takes to write what the model knows, and for each of the nodes that it knows nothing
// of yet: a disk that is not fast is assumed.
func savingTime(l *Learner, s *model.DeviceScorer, nodes int) (all, node float64, err error) {
	const bytesPerSecond = 250e6
	bytes := 3 * 4 * l.Params().Count() // values and two moments
	memory, ok := s.Scorer().(model.StatefulScorer)
	if !ok {
		return float64(bytes) / bytesPerSecond, 0, nil
	}
	began := time.Now()
	state, err := model.Written(memory)
	for _, x := range state {
		bytes += 4*x.Floats() + len(x.Bytes)
		if len(x.Shape) == 2 && x.Shape[0] < nodes {
			node += float64(4*x.Shape[1]) / bytesPerSecond
		}
	}
	return time.Since(began).Seconds() + float64(bytes)/bytesPerSecond, node, err
}

// nodesOf is how many of the nodes below a number occur.
func nodesOf(s event.Span, below int) (n int) {
	seen := make([]uint64, below/64+1)
	for i, u := range s.Src {
		v := s.Dst[i]
		seen[u/64] |= 1 << (u % 64)
		seen[v/64] |= 1 << (v % 64)
	}
	for _, word := range seen {
		n += bits.OnesCount64(word)
	}
	return n
}

// budget is what a training has to fit into, in seconds and events.
type budget struct {
	left                float64
	pace                Pace
	batch               int
	train               int
	val, test           [2]int // all, and those with a new node
	valKinds, testKinds int    // of negatives
	inOrder             bool   // a model with memory or state
}

// Shares of the time that validation after each epoch, and the test, may take where not all events fit.
const evaluationShare = 0.1

// limits are what fits: all events if they do, otherwise samples for validation and test, and if one epoch does not fit
// beside these the latest training events.
func (b budget) limits() eval.Limits {
	usable := 0.95*b.left - b.saves()
	val, test := b.asking(math.MaxInt, b.val, b.valKinds), b.asking(math.MaxInt, b.test, b.testKinds)
	train := b.pace.Step * float64(b.train)
	if 1.1*(train+val+test) <= usable {
		return eval.Limits{}
	}
	l := eval.Limits{Block: b.inOrder}
	l.Val = b.fitting(evaluationShare*usable, b.val, b.valKinds)
	l.Test = b.fitting(evaluationShare*usable, b.test, b.testKinds)
	left := usable - b.asking(l.Val, b.val, b.valKinds) - b.asking(l.Test, b.test, b.testKinds)
	l.Train = b.train
	if fits := left / (1.1 * b.pace.Step); fits < float64(b.train) {
		l.Train = max(1, int(fits)/b.batch) * b.batch
	}
	if l.Block {
		return l
	}
	// a part of which all events fit is not limited; how many are tested is decided when that begins
	if l.Test = 0; l.Train >= b.train {
		l.Train = 0
	}
	if l.Val >= max(b.val[0], b.val[1]) {
		l.Val = 0
	}
	return l
}

// saves is the time for what is written at the end of an epoch and read again for the test.
func (b budget) saves() float64 { return 4 * b.pace.Save }

// asking is the time to ask about at most this many events of each part.
func (b budget) asking(most int, parts [2]int, kinds int) float64 {
	return b.pace.Score * float64(kinds) * float64(min(most, parts[0])+min(most, parts[1]))
}

// fitting is how many events of each part can be asked about in some seconds, in whole batches, one at least.
func (b budget) fitting(seconds float64, parts [2]int, kinds int) int {
	few, many := min(parts[0], parts[1]), max(parts[0], parts[1])
	events := math.Inf(1)
	if b.pace.Score > 0 {
		events = max(0, seconds) / (b.pace.Score * float64(kinds))
	}
	each := events / 2
	if each > float64(few) { // all of the smaller part are in
		each = events - float64(few)
	}
	if each >= float64(many) {
		return many
	}
	return max(1, int(each)/b.batch) * b.batch
}
