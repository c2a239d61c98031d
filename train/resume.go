package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/sample"
)

// ErrForeign says that a directory holds what this run did not write, or no longer what it wrote.
var ErrForeign = errors.New("not the files of this run")

// foreign is an ErrForeign in other words.
type foreign string

func (f foreign) Error() string        { return string(f) }
func (f foreign) Is(target error) bool { return target == ErrForeign }

func foreignf(format string, args ...any) error { return foreign(fmt.Sprintf(format, args...)) }

// Begun is the refusal to begin a training where there is one.
func Begun(dir string) error {
	return fmt.Errorf("%s holds a training already: continue it with --resume, or choose another directory", dir)
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
		if err := t.dir.vacant(); err != nil {
			return err
		}
		return t.dir.writeJSON(ConfigFile, config)
	case err != nil:
		return fmt.Errorf("resume: %w", err)
	case !t.Resume:
		return Begun(t.Dir)
	}
	return t.restore(last, config)
}

// vacant says why no training can begin where there is no state to resume from: what lies there is someone's work. A
// configuration alone is what a training leaves that ended before it had learned anything.
func (d dir) vacant() error {
	for _, name := range []string{LogFile, CheckpointFile, ResultFile} {
		if _, err := os.Lstat(d.path(name)); err == nil {
			return foreignf("%s has %s but no %s, without which no training can go on, and would be overwritten by a "+
				"new one: bring %s back, or choose another directory", d, name, LastFile, LastFile)
		}
	}
	var was Config
	err := d.readJSON(ConfigFile, &was)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && was.Hashes.Data != "":
		return nil
	}
	return foreignf("%s is not the configuration of a training and would be overwritten: choose another directory",
		d.path(ConfigFile))
}

// restore continues from a saved state, if it is one of this run.
func (t *trainer) restore(f checkpoint.File, now Config) error {
	var was Config
	if err := t.dir.readJSON(ConfigFile, &was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	// A setting that is younger than the run had its default value.
	if spec, err := t.Factory.Decode(was.Spec); err == nil {
		was.Spec, _ = json.Marshal(spec)
	}
	if err := was.Differs(now); err != nil {
		return fmt.Errorf("resume %s: %w", t.Dir, err)
	}
	if err := t.ours(LastFile, f, was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := json.Unmarshal([]byte(f.Meta["train"]), &t.at); err != nil {
		return fmt.Errorf("resume: %w", foreignf("%s holds no state of a training (%v)", t.dir.path(LastFile), err))
	}
	if err := t.bestIsThere(was); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := t.prolong(string(was.Spec) != string(now.Spec)); err != nil {
		return fmt.Errorf("resume %s: %w", t.Dir, err)
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
	t.kept = true
	var err error
	t.epochs, err = t.dir.readLog(t.at.Epoch)
	t.before = len(t.epochs)
	if err != nil || was.Path == now.Path && string(was.Spec) == string(now.Spec) {
		return err
	}
	was.Path, was.Spec = now.Path, now.Spec // the data were moved, or it is to last longer
	return t.dir.writeJSON(ConfigFile, was)
}

// ours says what is wrong with a checkpoint of the run's directory that was not written by this run.
func (t *trainer) ours(name string, f checkpoint.File, c Config) error {
	path := t.dir.path(name)
	if f.Meta["format"] != checkpointFormat {
		return foreignf("%s was not written by a training", path)
	}
	is := Config{Model: f.Meta["model"], Data: c.Data, Spec: json.RawMessage(f.Meta["spec"])}
	if spec, err := t.Factory.Decode(is.Spec); err == nil {
		is.Spec, _ = json.Marshal(spec)
	}
	this := Config{Model: c.Model, Data: c.Data, Spec: c.Spec}
	if seed := fmt.Sprint(c.Seed); f.Meta["seed"] != seed {
		return foreignf("%s is of seed %s, this run has seed %s", path, f.Meta["seed"], seed)
	}
	if apart := is.Apart(this); apart != nil {
		return foreignf("%s is of another run than %s beside it: %s", path, ConfigFile, strings.Join(apart, ", "))
	}
	return nil
}

// bestIsThere looks for the best epoch so far, which a training that goes on needs in the end.
func (t *trainer) bestIsThere(c Config) error {
	if t.at.Stopper.Epoch == 0 {
		return nil
	}
	best, err := checkpoint.Load(t.dir.path(CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return foreignf("%s is missing, the best of the %d epochs that were trained: bring it back, "+
			"or choose another directory",
			t.dir.path(CheckpointFile), t.at.Epoch)
	}
	if err != nil {
		return err
	}
	return t.ours(CheckpointFile, best, c)
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
