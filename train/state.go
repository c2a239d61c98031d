package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
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

	Remembered int `json:"remembered,omitempty"` // events of the unfinished epoch that a memory in strict order has learned of
}

// Config is everything needed to repeat a run.
type Config struct {
	Model    string          `json:"model"`
	Spec     json.RawMessage `json:"spec"`
	Data     string          `json:"data"`
	Path     string          `json:"data_path,omitempty"` // where the data lie, seen from the run's directory, if their name alone does not lead there; may change when a run goes on
	Backbone string          `json:"backbone,omitempty"`  // of node classification: the checkpoint of the model, seen from the run's directory
	Sampling string          `json:"sampling"`
	Seed     uint64          `json:"seed"`
	ByAP     bool            `json:"by_ap"`
	Final    []string        `json:"final_negatives,omitempty"` // kinds of negatives of the final evaluation; may change when a run goes on
	TF32     bool            `json:"tf32,omitempty"`            // matrix products were rounded
	Params   int             `json:"parameters"`
	Hashes   Hashes          `json:"hashes"`
}

// Hashes identify the data, its split and the negatives of validation.
type Hashes struct {
	Data      string `json:"data"`
	Split     string `json:"split"`
	Negatives string `json:"negatives"`
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
	if t.lock, err = t.dir.lock(); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	if err := t.takeUp(ctx); err != nil {
		return err
	}
	t.board, err = t.Run.board()
	return err
}

// takeUp leaves the directory with a configuration, that of a new run or of the one that goes on.
func (t *trainer) takeUp(ctx context.Context) error {
	config, err := t.config(ctx)
	if err != nil {
		return err
	}
	last, err := checkpoint.Load(t.dir.path(LastFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("resume: %w", err)
	case !t.Resume:
		return fmt.Errorf("%s holds a training already: continue it with --resume, or choose another directory", t.Dir)
	default:
		return t.restore(last, config)
	}
	os.Remove(t.dir.path(LogFile))
	return t.dir.writeJSON(ConfigFile, config)
}

func (t *trainer) config(ctx context.Context) (Config, error) {
	spec, err := json.Marshal(t.Spec)
	if err != nil {
		return Config{}, err
	}
	val, err := t.Protocol.Evaluate(ctx, guess{}, eval.Val, sample.Random)
	if err != nil {
		return Config{}, fmt.Errorf("validation negatives: %w", err)
	}
	return Config{
		Model: t.Run.Model, Spec: spec, Data: t.Set.Name, Path: t.seen(t.Set.Path), Backbone: t.seen(t.Backbone), Sampling: t.Set.Sampling, Seed: t.Seed, ByAP: t.ByAP, Final: t.Strategies, TF32: device.Rounds(t.Device), Params: t.Learner.Model.Params().Count(),
		Hashes: Hashes{Data: t.Set.Hash(), Split: t.Protocol.Split().Hash, Negatives: val.Negatives},
	}, nil
}

// seen leads from the run's directory to a file, so that both can be moved together.
func (t *trainer) seen(file string) string {
	if file == "" {
		return ""
	}
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		return file
	}
	whole, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	path, err := filepath.Rel(dir, whole)
	if err != nil { // on another drive
		return whole
	}
	return filepath.ToSlash(path)
}

// guess is a scorer that looks at nothing: all it is good for is to see which questions an evaluation asks.
type guess struct{}

func (guess) Plan() sample.Plan                          { return sample.Plan{} }
func (guess) Score(b *sample.Batch, out []float32) error { clear(out); return nil }

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
	return t.Dir != "" && t.SaveEvery > 0 && t.at.Batch > 0 && time.Since(t.saved) >= t.SaveEvery
}

// negatives is where the generator of training negatives stands. It may be asked between epochs only: within one, batches are drawn ahead.
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
	if err := checkpoint.Save(t.dir.path(LastFile), f); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return nil
}

// peak is the device memory of a step, also where a resumed training has none to take.
func (t *trainer) peak() int64 { return max(t.at.Peak, t.Tape.Bytes()) }

// weights is a checkpoint of the model as it is now: parameters, and what it remembers. It holds nothing that differs between two
// runs of the same configuration.
func (t *trainer) weights() (checkpoint.File, error) {
	spec, _ := json.Marshal(t.Spec) // was marshalled before
	f := checkpoint.File{Meta: map[string]string{
		"format": checkpointFormat, "model": t.Run.Model, "spec": string(spec), "data": t.Set.Name, "seed": fmt.Sprint(t.Seed),
	}}
	f.AddParams(t.Learner.Model.Params())
	if c := t.Classifier(); c != nil {
		f.AddParams(c.Params())
	}
	m, remembers := t.evaluator().(model.Rememberer)
	if !remembers {
		return f, nil
	}
	state, err := m.Snapshot()
	for _, x := range state {
		x.Name = memoryPrefix + x.Name
		f.Tensors = append(f.Tensors, x)
	}
	return f, err
}

const (
	checkpointFormat = "dygmamba checkpoint 1"
	memoryPrefix     = "state/" // what a model remembers, under its own names
)

// saveBest writes the checkpoint of the best epoch.
func (t *trainer) saveBest(e Epoch) error {
	f, err := t.weights()
	if err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	f.Meta["epoch"] = fmt.Sprint(e.Epoch)
	if t.Dir == "" {
		t.best = f
		return nil
	}
	if err := checkpoint.Save(t.dir.path(CheckpointFile), f); err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	return nil
}

// restore continues from a saved state, if it is one of this run.
func (t *trainer) restore(f checkpoint.File, now Config) error {
	var was Config
	if err := t.dir.readJSON(ConfigFile, &was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if spec, err := t.Factory.Decode(was.Spec); err == nil { // a setting that is younger than the run had its default value
		was.Spec, _ = json.Marshal(spec)
	}
	if err := was.differs(now); err != nil {
		return fmt.Errorf("resume %s: %w", t.Dir, err)
	}
	if err := json.Unmarshal([]byte(f.Meta["train"]), &t.at); err != nil {
		return fmt.Errorf("resume: %s holds no training state: %w", t.dir.path(LastFile), err)
	}
	if err := Restore(t.Learner.Model, t.Classifier(), f); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := f.RestoreOptimizer(t.Optim); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if r, ok := t.pass.Negatives.(sample.Resumable); ok && t.at.Batch == 0 {
		if err := r.SetState(t.at.Negatives); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	var err error
	if t.epochs, err = t.dir.readLog(t.at.Epoch); err != nil || was.Path == now.Path {
		return err
	}
	was.Path = now.Path // the data were moved
	return t.dir.writeJSON(ConfigFile, was)
}

// differs says what a resumed run must not change.
func (c Config) differs(now Config) error {
	was, is := c.facts(), now.facts()
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if was[key] != is[key] {
			changes = append(changes, fmt.Sprintf("%s was %s and is now %s", key, was[key], is[key]))
		}
	}
	if changes == nil {
		return nil
	}
	return fmt.Errorf("%s; a run goes on only as it began", strings.Join(changes, ", "))
}

// facts are what must stay the same, one by one.
func (c Config) facts() map[string]string {
	list := map[string]string{
		"model": c.Model, "seed": fmt.Sprint(c.Seed), "sampling": c.Sampling, "select-by-ap": fmt.Sprint(c.ByAP), "tf32": fmt.Sprint(c.TF32),
		"the data's hash": c.Hashes.Data, "the split's hash": c.Hashes.Split,
		"weight_decay": "0", // not written down where it is
	}
	var spec struct {
		Preset, Order    string
		Task             string
		Config, Training map[string]any
	}
	if err := json.Unmarshal(c.Spec, &spec); err != nil {
		list["configuration"] = string(c.Spec)
	}
	list["preset"], list["order"], list["task"] = spec.Preset, spec.Order, spec.Task
	for _, part := range []map[string]any{spec.Config, spec.Training} {
		for key, value := range part {
			list[key] = fmt.Sprint(value)
		}
	}
	return list
}

// Restore gives a model the parameters and the memory of a checkpoint, ours or one with the reference's names. A memory that the
// checkpoint does not have begins empty.
//
// With a classifier, c is not nil, its parameters come from the same file; otherwise those that are there are passed over.
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
	var state []tensor.Named
	for _, x := range f.Tensors {
		if name, ok := strings.CutPrefix(x.Name, memoryPrefix); ok {
			x.Name = name
			state = append(state, x)
		}
	}
	return memory.Restore(state)
}
