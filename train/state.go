package train

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// State is where a training stands: with the tensors beside it in last.safetensors, all that is needed to go on.
type State struct {
	Epoch     int     `json:"epoch"` // finished
	Batch     int     `json:"batch"` // finished of the next
	Step      uint64  `json:"step"`  // of the optimizer, over all epochs
	Sums      sums    `json:"sums"`
	Negatives []byte  `json:"negatives"`       // the generator at the start of the epoch
	Draws     []byte  `json:"draws,omitempty"` // the generators after the last batch
	Stopper   Stopper `json:"stopper"`
	Finished  bool    `json:"finished"`
	Seconds   float64 `json:"seconds"`    // spent on the unfinished epoch
	Peak      int64   `json:"peak_bytes"` // device memory of a step so far

	// events of the unfinished epoch that a memory in strict order has learned of
	Remembered int `json:"remembered,omitempty"`
}

// begin writes the configuration of a new run, or takes up the saved state of an old one.
func (t *trainer) begin(ctx context.Context) (err error) {
	t.at.Negatives = t.negatives()
	if t.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(t.Dir, 0o755); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	if t.lock, err = t.dir.Lock(); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	if err := t.takeUp(ctx); err != nil {
		return err
	}
	t.board, err = t.Run.board()
	return err
}

// takeBackbone gives the model the weights that it was trained to on links.
func (t *trainer) takeBackbone() error {
	f, err := checkpoint.Load(t.Backbone)
	if err != nil {
		return fmt.Errorf("the model to classify with: %w", err)
	}
	if err := Restore(t.Learner.Model, nil, f); err != nil {
		return fmt.Errorf("the model to classify with, %s: %w", t.Backbone, err)
	}
	return nil
}

// due reports whether it is time to save in the middle of an epoch.
func (t *trainer) due() bool {
	every := t.SaveEvery
	if !t.Deadline.IsZero() { // most of the time is for training
		every = max(every, 20*t.saving)
	}
	return t.Dir != "" && t.SaveEvery > 0 && t.at.Batch > 0 && time.Since(t.saved) >= every
}

// negatives is where the generator of training negatives stands. It may be asked between epochs only: within one,
// batches are drawn ahead.
func (t *trainer) negatives() []byte {
	if r, ok := t.pass.Negatives.(sample.Resumable); ok {
		return r.State()
	}
	return nil
}

// save writes the state to resume from; spent is the time since the walk through this epoch began.
func (t *trainer) save(spent time.Duration) error {
	if t.Dir == "" {
		return nil
	}
	if err := t.settle(); err != nil {
		return err
	}
	began := time.Now()
	at := t.at
	at.Seconds += spent.Seconds()
	at.Peak = t.peak()
	if at.Batch == 0 {
		at.Draws = nil
	}
	raw, err := json.Marshal(at)
	if err != nil {
		return err
	}
	f, err := t.weights()
	if err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	f.Meta["train"] = string(raw)
	f.AddOptimizer(t.Learner.Params(), t.Optim)
	t.saved = time.Now()
	if err := checkpoint.Save(t.dir.Path(run.LastFile), f); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	t.kept, t.saving = true, time.Since(began)
	return nil
}

// peak is the device memory of a step, also where a resumed training has none to take.
// Shards differ, and who has which depends on the number of ranks: what was planned for the largest does not.
func (t *trainer) peak() int64 {
	if t.sharded != nil {
		return max(t.at.Peak, t.planned)
	}
	return max(t.at.Peak, t.Tape.Bytes())
}

// weights is a checkpoint of the model as it is now: parameters, and what it remembers. It holds nothing that differs
// between two runs of the same configuration.
func (t *trainer) weights() (checkpoint.File, error) {
	spec, _ := json.Marshal(t.Spec) // was marshalled before
	f := checkpoint.File{Meta: map[string]string{
		"format": checkpointFormat, "model": t.Run.Model, "spec": string(spec), "seed": fmt.Sprint(t.Seed),
		run.DataKey: t.Set.Name, run.DataHashKey: t.data, run.SplitHashKey: t.Protocol.Split().Hash,
		run.SamplingKey: string(t.Set.Sampling),
	}}
	if s := t.Set.Schema(); s != nil && (len(s.Columns.Edge.Columns)+len(s.Columns.Node.Columns)+len(s.Kinds) > 0) {
		schema, err := json.Marshal(s)
		if err != nil {
			return f, err
		}
		f.Meta[run.SchemaKey] = string(schema)
	}
	f.AddParams(t.Learner.Model.Params())
	if c := t.Classifier(); c != nil {
		f.AddParams(c.Params())
	}
	m, remembers := t.evaluator().(model.StatefulScorer)
	if !remembers {
		return f, nil
	}
	state, err := t.remembered(m)
	for _, x := range state {
		x.Name = memoryPrefix + x.Name
		f.Tensors = append(f.Tensors, x)
	}
	return f, err
}

// remembered is what a model remembers. Without a directory it is kept, and must be a copy.
func (t *trainer) remembered(m model.StatefulScorer) ([]tensor.Named, error) {
	if t.Dir == "" {
		return m.Snapshot()
	}
	return model.Written(m)
}

const (
	checkpointFormat = "dygmamba checkpoint 1"
	memoryPrefix     = "state/" // what a model remembers, under its own names
)

func (t *trainer) saveBest(e run.Epoch) error {
	f, err := t.weights()
	if err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	f.Meta["epoch"] = fmt.Sprint(e.Epoch)
	if err := t.noteFit(f); err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	if m := t.said.Fit(); m != nil {
		f.Meta[run.CalibrationKey] = m.String()
	}
	if t.Dir == "" {
		t.best = f
		return nil
	}
	if err := t.dir.DropResult(); err != nil {
		return fmt.Errorf("remove the result of the former checkpoint: %w", err)
	}
	if err := checkpoint.Save(t.dir.Path(run.CheckpointFile), f); err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	t.best, t.fresh = checkpoint.File{Meta: f.Meta}, t.Ranks == nil // ranks read what the first one wrote
	return nil
}

// Restore gives a model the parameters and the memory of a checkpoint, ours or one with the reference's names. A memory
// that the checkpoint does not have begins empty.
//
// With a classifier, c is not nil, its parameters come from the same file; otherwise those that are there are passed
// over.
func Restore(m model.Model, c *Classifier, f checkpoint.File) error {
	own, its := f.Part(ClassifierPrefix)
	if err := own.RestoreParams(m.Params()); err != nil {
		return err
	}
	if c != nil {
		if err := its.RestoreParams(c.Params()); err != nil {
			return err
		}
	}
	memory, remembers := m.(model.Memory)
	if !remembers {
		return nil
	}
	return memory.Restore(memoryIn(f))
}

// memoryIn is what a checkpoint remembers.
func memoryIn(f checkpoint.File) (state []tensor.Named) {
	for _, x := range f.Tensors {
		if name, ok := strings.CutPrefix(x.Name, memoryPrefix); ok {
			x.Name = name
			state = append(state, x)
		}
	}
	return state
}
