package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/tensorboard"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/optim"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// trainer is a Run under way.
type trainer struct {
	*Run
	dir    dir
	model  model.Model
	memory replay.Stateful // the model, when it remembers
	opt    *optim.Optimizer
	tape   *grad.Tape
	scorer *model.Scorer
	pass   replay.Pass
	board  *tensorboard.Writer
	lock   io.Closer // of the run directory

	at     State
	epochs []Epoch
	saved  time.Time       // when the state was last written
	best   checkpoint.File // of a run that keeps nothing on disk

	began    time.Time     // the walk through this epoch
	first    int           // events of the epoch that were done before it
	batch    *sample.Batch // of the step that is launched
	logits   *tensor.Tensor
	loss     *tensor.Tensor
	body     func() // the step's kernels, bound once
	lessons  [2]lesson
	underway *lesson // launched, results to come
	meter    eval.Meter
}

// open builds the model, checks that training fits, and takes up a saved state.
func (r *Run) open(ctx context.Context) (*trainer, error) {
	t := &trainer{Run: r, dir: dir(r.Dir), saved: time.Now()}
	for _, note := range r.Spec.Notes() {
		r.logger().Info(note)
	}
	t.at.Stopper = Stopper{Patience: r.Spec.Training.Patience, ByAP: r.ByAP}
	t.body = t.learn
	var err error
	if t.pass, err = r.Protocol.Train(r.Seed); err != nil {
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
	if err := t.begin(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *trainer) build(need Memory) (err error) {
	t.model, err = t.Factory.Build(environment(t.Run, t.Device), t.Spec)
	if err != nil {
		return fmt.Errorf("build %s: %w", t.Model, err)
	}
	t.memory, _ = t.model.(replay.Stateful)
	c, err := optimizer(t.Spec.Training)
	if err != nil {
		return err
	}
	t.opt = optim.New(t.model.Params(), c)
	t.tape = grad.NewTape(t.Device, true)
	t.tape.Reserve(need.stepRoom)
	t.scorer = model.NewScorer(t.model)
	t.scorer.Reserve(need.scoreRoom)
	return nil
}

func environment(r *Run, dev device.Device) model.Env {
	return model.Env{Device: dev, Node: r.Set.Node, Edge: r.Set.Edge, NumNodes: r.Set.NumNodes(), Seed: r.Seed}
}

func optimizer(t model.Training) (optim.Config, error) {
	rule, err := optim.Rule(strings.ToLower(t.Optimizer))
	return optim.Config{Rule: rule, Rate: float32(t.LearningRate)}, err
}

func (t *trainer) close() {
	if t.board != nil {
		t.board.Close()
	}
	if t.lock != nil {
		t.lock.Close()
	}
	t.scorer.Close()
	t.tape.Close()
	t.opt.Close()
	if c, ok := t.model.(interface{ Close() }); ok {
		c.Close()
	}
}

// epoch trains on the rest of an epoch, validates, and records it.
func (t *trainer) epoch(ctx context.Context) error {
	began := time.Now()
	waited, err := t.walk(ctx)
	if err != nil {
		return t.leave(err, time.Since(began))
	}
	trained := time.Now()
	e := Epoch{Epoch: t.at.Epoch + 1}
	e.Loss, e.AP, e.AUC = t.at.Sums.means()
	if err := t.validate(ctx, &e); err != nil {
		return t.leave(err, trained.Sub(began))
	}
	train := t.at.Seconds + trained.Sub(began).Seconds() // what was spent before an interruption counts too
	e.Seconds = Seconds{Train: train, Waiting: waited.Seconds(), Evaluate: time.Since(trained).Seconds()}
	e.Events = float64(t.Protocol.Split().Train.Len()) / train
	return t.record(e)
}

// walk takes the optimizer's steps for the events of this epoch that are still to come.
func (t *trainer) walk(ctx context.Context) (waited time.Duration, err error) {
	events := t.Protocol.Split().Train.All()
	done := min(t.at.Batch*t.Spec.Training.BatchSize, events.Len())
	batches := t.pass.Continue(ctx, t.model, events.Slice(done, events.Len()), t.at.Draws)
	if t.at.Batch == 0 {
		batches = t.pass.Batches(ctx, t.model, events)
		if t.memory != nil {
			if err := t.memory.Restore(nil); err != nil {
				return 0, err
			}
		}
	}
	t.began, t.first = time.Now(), done
	for step, err := range batches {
		if err != nil {
			return waited, cmp.Or(t.settle(), err)
		}
		if t.due() { // a stateful model has observed the step before by now
			if err := t.save(time.Since(t.began)); err != nil {
				return waited, err
			}
		}
		waited += step.Waited
		done += step.Span.Len()
		if err := t.step(step, done); err != nil {
			return waited, err
		}
	}
	return waited, t.settle()
}

// validate measures the epoch.
func (t *trainer) validate(ctx context.Context, e *Epoch) error {
	scorer := t.evaluator()
	val, newVal, err := t.Protocol.Validate(ctx, scorer)
	if err != nil {
		return err
	}
	e.Val, e.NewVal = metric(val), metric(newVal)
	if t.TestEvery == 0 || e.Epoch%t.TestEvery != 0 {
		return nil
	}
	for part, m := range map[eval.Part]**Metric{eval.Test: &e.Test, eval.NewTest: &e.NewTest} {
		r, err := t.Protocol.Evaluate(ctx, scorer, part, sample.Random)
		if err != nil {
			return err
		}
		*m = metric(r)
	}
	return nil
}

// remembering is a scorer whose model remembers.
type remembering struct {
	*model.Scorer
	replay.Stateful
}

// evaluator is the scorer, with the model's memory when it has one.
func (t *trainer) evaluator() replay.Scorer {
	if t.memory != nil {
		return remembering{t.scorer, t.memory}
	}
	return t.scorer
}

// metric is nil for a set without events.
func metric(r eval.Result) *Metric {
	if r.Batches == 0 {
		return nil
	}
	m := &Metric{Score: Score{AP: r.AP, AUC: r.AUC}}
	if r.Loss != nil {
		m.Loss = *r.Loss
	}
	return m
}

// record judges a finished epoch and writes it down: log line, best checkpoint, then the state to resume from.
func (t *trainer) record(e Epoch) error {
	stop := &t.at.Stopper
	judged := Score{AP: e.AP, AUC: e.AUC} // without validation events training itself must do
	if e.Val != nil {
		judged = e.Val.Score
	}
	e.Improved = stop.Improved(e.Epoch, judged)
	if e.Improved {
		if err := t.saveBest(e); err != nil {
			return err
		}
	}
	if err := t.dir.appendLog(e); err != nil {
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
func (t *trainer) plot(e Epoch) {
	if t.board == nil {
		return
	}
	values := map[string]float64{"train/loss": e.Loss, "train/ap": e.AP, "train/auc": e.AUC, "speed/events_per_second": e.Events}
	for name, m := range map[string]*Metric{"val": e.Val, "new_node_val": e.NewVal, "test": e.Test, "new_node_test": e.NewTest} {
		if m != nil {
			values[name+"/loss"], values[name+"/ap"], values[name+"/auc"] = m.Loss, m.AP, m.AUC
		}
	}
	if err := t.board.Scalars(int64(e.Epoch), values); err != nil {
		t.logger().Warn("TensorBoard file", "error", err)
	}
}

// leave saves the state before an interrupted training returns; spent is the time since the walk through this epoch began.
func (t *trainer) leave(err error, spent time.Duration) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if failed := t.save(spent); failed != nil {
		return fmt.Errorf("interrupted (%v), but: %w", err, failed) // not err itself, which promises that all was saved
	}
	return err
}
