package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/run"
)

// takeUp leaves the directory with a configuration, that of a new run or of the one that goes on.
func (t *trainer) takeUp(ctx context.Context) error {
	config, err := t.config(ctx)
	if err != nil {
		return err
	}
	t.data = config.Hashes.Data
	last, err := checkpoint.Load(t.dir.Path(run.LastFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := t.dir.Vacant(); err != nil {
			return err
		}
		return t.dir.WriteJSON(run.ConfigFile, config)
	case err != nil:
		return fmt.Errorf("resume: %w", err)
	case !t.Resume:
		return run.ExistsIn(t.Dir, "training")
	}
	return t.restore(last, config)
}

// restore continues from a saved state, if it is one of this run.
func (t *trainer) restore(f checkpoint.File, now run.Config) error {
	var was run.Config
	if err := t.dir.ReadJSON(run.ConfigFile, &was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	// A setting that is younger than the run had its default value.
	if spec, err := t.Factory.Decode(was.Spec); err == nil {
		was.Spec, _ = json.Marshal(spec)
	}
	if err := was.Differs(now); err != nil {
		return fmt.Errorf("resume %s: %w", t.Dir, err)
	}
	if err := t.ours(run.LastFile, f, was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := t.goOn(f, string(was.Spec) != string(now.Spec)); err != nil {
		return err
	}
	if err := t.bestIsThere(was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	t.kept = true
	var err error
	t.epochs, err = t.dir.ReadLog(t.at.Epoch)
	t.before = len(t.epochs)
	moved := was.Path != now.Path || string(was.Spec) != string(now.Spec) || was.Ranks != now.Ranks ||
		!slices.Equal(was.Hosts, now.Hosts)
	if err != nil || !moved {
		return err
	}
	// The data were moved, it is to last longer, or others compute.
	was.Path, was.Spec, was.Ranks, was.Hosts = now.Path, now.Spec, now.Ranks, now.Hosts
	return t.dir.WriteJSON(run.ConfigFile, was)
}

// goOn continues from a saved state; changed says whether settings did.
func (t *trainer) goOn(f checkpoint.File, changed bool) error {
	if err := json.Unmarshal([]byte(f.Meta["train"]), &t.at); err != nil {
		return fmt.Errorf("resume: %w", run.Foreignf("%s holds no state of a training (%v)",
			t.dir.Path(run.LastFile), err))
	}
	if err := t.prolong(changed); err != nil {
		return fmt.Errorf("resume %s: %w", t.Dir, err)
	}
	if err := Restore(t.Learner.Model, t.Classifier(), f); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := f.RestoreOptimizer(t.Optim); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := t.resumeNegatives(); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

// ours says what is wrong with a checkpoint of the run's directory that was not written by this run.
func (t *trainer) ours(name string, f checkpoint.File, c run.Config) error {
	path := t.dir.Path(name)
	if f.Meta["format"] != checkpointFormat {
		return run.Foreignf("%s was not written by a training", path)
	}
	is := run.Config{Model: f.Meta["model"], Data: c.Data, Spec: json.RawMessage(f.Meta["spec"])}
	if spec, err := t.Factory.Decode(is.Spec); err == nil {
		is.Spec, _ = json.Marshal(spec)
	}
	this := run.Config{Model: c.Model, Data: c.Data, Spec: c.Spec}
	if seed := fmt.Sprint(c.Seed); f.Meta["seed"] != seed {
		return run.Foreignf("%s is of seed %s, this run has seed %s", path, f.Meta["seed"], seed)
	}
	if apart := is.Diff(this); apart != nil {
		return run.Foreignf("%s is of another run than %s beside it: %s", path, run.ConfigFile,
			strings.Join(apart, ", "))
	}
	return nil
}

// bestIsThere looks for the best epoch so far, which a training that goes on needs in the end.
func (t *trainer) bestIsThere(c run.Config) error {
	if t.at.Stopper.Epoch == 0 {
		return nil
	}
	best, err := checkpoint.Load(t.dir.Path(run.CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return run.Foreignf("%s is missing, the best of the %d epochs that were trained: bring it back, "+
			"or choose another directory",
			t.dir.Path(run.CheckpointFile), t.at.Epoch)
	}
	if err != nil {
		return err
	}
	return t.ours(run.CheckpointFile, best, c)
}

// prolong lets a training last as long as it is now to, which may be longer than it was.
func (t *trainer) prolong(asked bool) error {
	at, is := &t.at, t.Spec.Training
	if is.Epochs < at.Epoch {
		return fmt.Errorf("num_epochs is %d, but %d epochs are trained already", is.Epochs, at.Epoch)
	}
	at.Stopper.Patience = is.Patience
	at.Finished = at.Epoch > 0 && (at.Stopper.Done() || at.Epoch >= is.Epochs)
	if asked && at.Stopper.Done() {
		t.logger().Info(fmt.Sprintf("seed %d stopped after epoch %d, %d epochs without a better one; "+
			"a larger patience lets it go on",
			t.Seed, at.Epoch, at.Stopper.Waited))
	}
	return nil
}
