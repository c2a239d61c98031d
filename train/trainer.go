package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/tensorboard"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

type trainer struct {
	*Run
	*Learner
	dir    run.Dir
	data   string // hash of the data, for checkpoints
	scorer *model.DeviceScorer
	pass   replay.Pass
	board  *tensorboard.Writer
	lock   io.Closer // of the run directory

	at     State
	epochs []run.Epoch
	before int            // of these were trained by others
	begins []tensor.Named // what a memory knows at the start of an epoch; nil: nothing
	from   *run.From
	opened time.Time       // when it began or went on
	saved  time.Time       // when the state was last written
	saving time.Duration   // that this took
	kept   bool            // there is a state in the directory
	ended  string          // why it ends before it is over
	best   checkpoint.File // of a run that keeps nothing on disk, otherwise without tensors
	fresh  bool            // the model is as it was when the best checkpoint was written

	began    time.Time // the walk through this epoch
	first    int       // events of the epoch that were done before it
	pending  [2]pendingStep
	underway *pendingStep // launched, results to come
	meter    eval.Meter

	sharded *Sharded // takes the steps where ranks share them
	filed   bool     // rank 0 keeps files
	planned int64    // device memory of a step, as it was planned

	// what validation said last, where probabilities are to be fitted to it
	said calibration.Answers
}

// open builds the model, checks that training fits, and takes up a saved state.
func (r *Run) open(ctx context.Context) (*trainer, error) {
	now := time.Now()
	t := &trainer{Run: r, dir: run.Dir(r.Dir), opened: now, saved: now}
	for _, note := range r.Spec.Notes() {
		r.logger().Info(note)
	}
	t.at.Stopper = NewStopper(r.Spec.Training, r.ByAP, r.Protocol.Task())
	t.at.Stopper.Latest = r.Refit != nil
	if err := r.hostFits(); err != nil {
		return nil, err
	}
	var err error
	if t.pass, err = await.Do(ctx, r.pass); err != nil {
		return nil, err
	}
	if err := r.agrees(t.pass); err != nil {
		return nil, err
	}
	need, err := r.plan(ctx, t.pass)
	if err != nil {
		return nil, err
	}
	guarded := tensor.Guard(func() { err = t.build(need) })
	if err := errors.Join(guarded, err); err != nil {
		return nil, err
	}
	if r.Ranks != nil {
		err = t.share(ctx) // and nobody writes before all have read
	}
	if err == nil {
		err = t.begin(ctx)
	}
	if err == nil && r.Ranks != nil {
		err = t.startTogether(ctx)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// pass is that of the training.
func (r *Run) pass() (replay.Pass, error) { return r.passOf(r.Protocol) }

// passOf is that of a training under a protocol. The lists of a model of pairs belong to the model, which is not there
// yet: what stands in for them has their size, until askPairs.
func (r *Run) passOf(p *eval.Protocol) (replay.Pass, error) {
	if r.Spec.Pairing == nil {
		return p.Train(r.Seed)
	}
	pass := p.TrainPairs()
	pass.Negatives = echo{}
	return pass, nil
}

// askPairs lets a pass ask about the lists of a model of pairs.
func (l *Learner) askPairs(pass *replay.Pass) {
	if c := l.Chooser(); c != nil && c.Feed().Lists() != nil {
		pass.Negatives, pass.PerPositive = c.Feed().Lists(), c.Feed().Lists().Rounds()
	}
}

// agrees says in what the protocol is not that of the configuration. A model's memory would be told of events in both
// orders, or in none.
func (r *Run) agrees(pass replay.Pass) error {
	if size, want := cmp.Or(pass.BatchSize, replay.BatchSize), r.Spec.Training.BatchSize; size != want {
		return fmt.Errorf("the protocol has batches of %d events, batch_size is %d", size, want)
	}
	if shares, want := r.Protocol.Shares(), r.Spec.Training.Negatives; !shares.Equal(want) {
		return fmt.Errorf("the protocol's shares of negatives are %v, those of the settings %v", shares, want)
	}
	if order, want := cmp.Or(pass.Order, protocol.Strict), r.Spec.Order; want != "" && order != want {
		return fmt.Errorf("the protocol's order is %s, that of %s is %s", order, r.Model, want)
	}
	for _, kind := range protocol.Selecting(r.Spec.Training.SelectBy) {
		if !kind.SameTime() && r.Spec.Order == protocol.Arrival {
			return fmt.Errorf("select_by is %s: %w", kind, eval.ErrArrival)
		}
	}
	return nil
}

func (t *trainer) build(need Memory) (err error) {
	if t.Learner, err = t.Run.Learner(t.Device); err != nil {
		return err
	}
	t.Tape.Reserve(need.stepRoom)
	t.planned = need.Step
	if t.Classifier() != nil {
		if err := t.takeBackbone(); err != nil {
			return err
		}
	}
	t.askPairs(&t.pass)
	t.scorer = model.NewScorerWith(t.Learner.Model, t.Head())
	t.scorer.Reserve(need.scoreRoom)
	return t.takeFrom()
}

// Environment is what the run's model is built in.
func (r *Run) Environment(dev device.Device) model.Env {
	return model.Env{
		Device: dev, Node: r.Set.Node, Edge: r.Set.Edge, Timeline: r.Set.Timeline, NumNodes: r.Set.NumNodes(),
		Names: r.Set.Names, Seed: r.Seed,
		Kinds: func() []event.Kind { return model.KindsByEdge(r.Set.Log) },
		Train: func() (event.Span, error) {
			split := r.Protocol.Whole()
			// what the model was trained on, or what others take it for
			if r.Protocol.Task() == protocol.NodeClassification || r.Refit != nil {
				var err error
				split, err = dataset.NewSplit(r.Set.Log, dataset.SplitOptions{Sampling: r.Set.Sampling})
				if err != nil {
					return event.Span{}, err
				}
			}
			return split.Train.All(), nil
		},
	}
}

func (t *trainer) close() {
	if t.board != nil {
		t.board.Close()
	}
	if t.lock != nil {
		t.lock.Close()
	}
	t.scorer.Close()
	t.Learner.Close()
}

// epoch trains on the rest of an epoch, validates, and records it.
func (t *trainer) epoch(ctx context.Context) error {
	began := time.Now()
	learning, done := t.within(ctx, t.reserve()+t.validation())
	defer done()
	waited, err := t.walk(learning)
	if err != nil {
		return t.leave(err, time.Since(began))
	}
	if !t.kept { // so that nothing else is ever there without a state to resume from
		if err := t.save(time.Since(began)); err != nil {
			return err
		}
	}
	t.noteSlow()
	trained := time.Now()
	e := run.Epoch{Epoch: t.at.Epoch + 1}
	e.Loss, e.AP, e.AUC = t.at.Sums.means()
	measuring, done := t.within(ctx, t.reserve())
	defer done()
	if err := t.validate(measuring, &e); err != nil {
		return t.leave(err, trained.Sub(began))
	}
	train := t.at.Seconds + trained.Sub(began).Seconds() // what was spent before an interruption counts too
	e.Seconds = run.Seconds{Train: train, Waiting: waited.Seconds(), Evaluate: time.Since(trained).Seconds()}
	e.Events = float64(t.events()) / train
	return t.record(e)
}

// walk takes the optimizer's steps for the events of this epoch that are still to come.
func (t *trainer) walk(ctx context.Context) (waited time.Duration, err error) {
	events := t.Protocol.TrainEvents()
	done := t.done()
	batches := t.pass.Continue(ctx, t.planner(), events.Slice(done, events.Len()), t.waiting(events, done), t.at.Draws)
	if t.at.Batch == 0 {
		batches = t.pass.Batches(ctx, t.planner(), events)
		t.at.Remembered = 0
		if m, ok := t.evaluator().(model.StatefulScorer); ok {
			if err := m.Restore(t.begins); err != nil {
				return 0, err
			}
		}
	}
	if c := t.Chooser(); c != nil {
		c.Feed().Begin(t.at.Epoch, t.Protocol.CountedEvents())
	}
	t.began, t.first, t.fresh = time.Now(), done, false
	for step, err := range batches {
		if err != nil {
			return waited, cmp.Or(t.settle(), err)
		}
		if t.due() { // what a memory is to know before this step it knows by now
			if err := t.save(time.Since(t.began)); err != nil {
				return waited, err
			}
		}
		waited += step.Waited
		done += step.Span.Len()
		if t.sharded != nil {
			err = t.stepTogether(ctx, step, done)
		} else {
			err = t.step(ctx, step, done)
		}
		if err != nil {
			return waited, err
		}
	}
	return waited, t.settle()
}

// events is the number of training events, of which an epoch has all.
func (t *trainer) events() int { return t.Protocol.TrainEvents().Len() }

// done is the number of them that steps of the unfinished epoch were taken on.
func (t *trainer) done() int { return min(t.at.Batch*t.Spec.Training.BatchSize, t.events()) }

// planner is the model; a memory in strict order learns of events as the walk through them says, otherwise in the step
// that asks.
func (t *trainer) planner() replay.Planner {
	if m, ok := t.evaluator().(model.StatefulScorer); ok && t.pass.Order == protocol.Strict {
		return &commitCounter{m, &t.at.Remembered}
	}
	return t.Learner.Model
}

// waiting are the events that a memory in strict order was asked about and has not learned of.
func (t *trainer) waiting(events event.Span, done int) event.Span {
	if _, strict := t.planner().(*commitCounter); strict {
		return events.Slice(min(t.at.Remembered, done), done)
	}
	return event.Span{}
}

// commitCounter keeps count of the events that a memory has learned of.
type commitCounter struct {
	model.StatefulScorer
	events *int
}

func (d *commitCounter) Commit(b *sample.Batch) error {
	err := d.StatefulScorer.Commit(b)
	if err == nil {
		*d.events += b.Events.Len()
	}
	return err
}

// validate measures the epoch. A memory then knows the validation events too, but only when all is measured: if
// something is interrupted it knows the training events, from where a resumed training measures again.
func (t *trainer) validate(ctx context.Context, e *run.Epoch) error {
	return eval.OrRewind(t.evaluator(), func() error { return t.measure(ctx, e) })
}

func (t *trainer) measure(ctx context.Context, e *run.Epoch) error {
	if t.Chooser() != nil {
		return t.measureNext(ctx, e)
	}
	scorer := t.evaluator()
	if err := t.measureOthers(ctx, e); err != nil {
		return err
	}
	val, newVal, err := t.listening().Validate(ctx, scorer)
	if err != nil {
		return err
	}
	e.Val, e.NewVal = metric(val), metric(newVal)
	if t.TestEvery == 0 || e.Epoch%t.TestEvery != 0 {
		return nil
	}
	test, err := t.Protocol.Evaluate(ctx, scorer, eval.Test, protocol.RandomNegatives)
	if err != nil {
		return err
	}
	newTest, err := t.Protocol.Evaluate(ctx, scorer, eval.NewTest, protocol.RandomNegatives)
	e.Test, e.NewTest = metric(test), metric(newTest)
	return err
}

// measureNext measures bits per event, and calibrates the model by the way.
func (t *trainer) measureNext(ctx context.Context, e *run.Epoch) error {
	net := t.net()
	defer net.Close()
	val, err := t.Protocol.ValidateNext(ctx, net)
	if err != nil {
		return err
	}
	const share = 0.8 // of the time that is left; the rest is for what comes after it
	var until time.Time
	if end, limited := ctx.Deadline(); limited {
		until = time.Now().Add(inSeconds(share * time.Until(end).Seconds()))
	}
	if err := t.measureWhen(ctx, net, &val, until); err != nil {
		return err
	}
	e.Next = val.OrNil()
	if err := t.Protocol.RememberVal(ctx, net); err != nil {
		return err
	}
	if t.TestEvery == 0 || e.Epoch%t.TestEvery != 0 {
		return nil
	}
	test, err := t.testNext(ctx, net)
	e.NextTest = test.OrNil()
	return err
}

// net asks the model of the task "next".
func (t *trainer) net() *model.Net {
	net := model.NewNet(t.Chooser())
	net.SetScorer(t.evaluator())
	return net
}

// measureOthers validates with the other negatives that have a say in which epoch is the best.
func (t *trainer) measureOthers(ctx context.Context, e *run.Epoch) error {
	if !t.Links() {
		return nil
	}
	for _, kind := range protocol.Selecting(t.Spec.Training.SelectBy) {
		if kind == protocol.RandomNegatives { // which Validate measures
			continue
		}
		r, err := t.Protocol.Evaluate(ctx, t.evaluator(), eval.Val, kind)
		if err != nil {
			return err
		}
		if m := metric(r); m != nil {
			e.Others = protocol.With(e.Others, kind, m)
		}
	}
	return nil
}

// listening is the protocol, with an ear for what is said in validation. Val comes last, so that its answers stay.
func (t *trainer) listening() *eval.Protocol {
	if !t.Spec.Training.Calibrate || !t.Links() {
		return t.Protocol
	}
	return t.Protocol.With(func(o *eval.Options) {
		before := o.OnAnswers
		o.OnAnswers = func(a eval.Answers) {
			t.said.Add(a.Batch, a.Logits, a.Right)
			if before != nil {
				before(a)
			}
		}
	})
}

// evaluator is the scorer, with the model's memory when it has one.
func (t *trainer) evaluator() replay.Scorer { return t.scorer.Scorer() }

// metric is nil for a set without events.
func metric(r eval.Result) *run.Metric {
	if r.Batches == 0 {
		return nil
	}
	m := &run.Metric{Score: run.Score{AP: r.AP, AUC: r.AUC}, Sampled: r.Sampled, APInterval: r.APInterval,
		AUCInterval: r.AUCInterval}
	if r.Loss != nil {
		m.Loss = *r.Loss
	}
	if r.RMSE != nil {
		m.MAE, m.RMSE = *r.MAE, *r.RMSE
	}
	if r.Accuracy != nil {
		m.Accuracy, m.MacroF1 = r.Accuracy, r.MacroF1
	}
	return m
}

// record judges a finished epoch and writes it down: log line, best checkpoint, then the state to resume from.
func (t *trainer) record(e run.Epoch) error {
	stop := &t.at.Stopper
	e.Improved = stop.Improved(e.Epoch, e.Judged())
	if e.Improved {
		if err := t.saveBest(e); err != nil {
			return err
		}
	}
	if err := t.dir.AppendLog(e); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	t.epochs = append(t.epochs, e)
	t.at.Epoch, t.at.Batch, t.at.Sums, t.at.Seconds, t.at.Negatives = e.Epoch, 0, sums{}, 0, t.negatives()
	t.at.Finished = stop.Done() || e.Epoch >= t.Spec.Training.Epochs
	if err := t.save(0); err != nil {
		return err
	}
	t.plot(e)
	if t.OnEpoch != nil {
		t.OnEpoch(e)
	}
	return nil
}

// plot adds the epoch to the TensorBoard file. A full disk there must not end a training.
func (t *trainer) plot(e run.Epoch) {
	if t.board == nil {
		return
	}
	values := map[string]float64{"train/loss": e.Loss, "train/ap": e.AP, "train/auc": e.AUC,
		"speed/events_per_second": e.Events}
	measured := map[string]*run.Metric{"val": e.Val, "new_node_val": e.NewVal, "test": e.Test,
		"new_node_test": e.NewTest}
	if e.Next != nil {
		values["val/who_bits"] = e.Next.WhoBits
		values["val/who_bits_returning"], values["val/who_bits_first"] = e.Next.Returning, e.Next.First
	}
	for kind, m := range e.Others {
		measured["val_"+string(kind)] = m
	}
	for name, m := range measured {
		if m != nil {
			values[name+"/loss"], values[name+"/ap"], values[name+"/auc"] = m.Loss, m.AP, m.AUC
		}
	}
	if err := t.board.Scalars(int64(e.Epoch), values); err != nil {
		t.logger().Warn("TensorBoard file", "error", err)
	}
}

// leave saves the state before an interrupted training returns; spent is the time since the walk through this epoch
// began.
func (t *trainer) leave(err error, spent time.Duration) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if failed := t.save(spent); failed != nil {
		return fmt.Errorf("interrupted (%v), but: %w", err, failed) // not err itself, which promises that all was saved
	}
	return err
}
