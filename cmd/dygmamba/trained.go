package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// trainedFlags choose a trained model.
type trainedFlags struct {
	checkpoint string // --checkpoint
	run        string // --run
}

func (f *trainedFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.checkpoint, "checkpoint", "",
		"`file` with trained weights: of a run, or of the released program (safetensors or PyTorch)")
	flags.StringVar(&f.run, "run", "", "run `directory` written by 'dygmamba train --out'")
	if err := cmd.MarkFlagDirname("run"); err != nil {
		panic(err)
	}
}

// given says whether there is one.
func (f *trainedFlags) given() bool { return f.checkpoint != "" || f.run != "" }

// path is the file or the directory.
func (f *trainedFlags) path() (string, error) {
	switch {
	case f.checkpoint != "" && f.run != "":
		return "", usagef("--checkpoint and --run cannot be used together")
	case !f.given():
		return "", usagef("--run or --checkpoint is missing: want the directory of a run, or a file with weights")
	}
	return f.run + f.checkpoint, nil
}

// files are the checkpoints: several for a run with several seeds.
func (f *trainedFlags) files() ([]string, error) {
	path, err := f.path()
	if err != nil {
		return nil, err
	}
	return run.Checkpoints(path)
}

// file is the only checkpoint.
func (f *trainedFlags) file() (string, error) {
	path, err := f.path()
	if err != nil {
		return "", err
	}
	return oneCheckpoint(path)
}

// oneCheckpoint is the only one that a path has.
func oneCheckpoint(path string) (string, error) {
	files, err := run.Checkpoints(path)
	if err != nil {
		return "", err
	}
	if len(files) > 1 {
		return "", usagef("%s holds %d runs, choose one of them, such as %s", path, len(files), filepath.Dir(files[0]))
	}
	return files[0], nil
}

// oneRun is the directory of the one seed that a path has.
func oneRun(path string) (string, error) {
	file, err := oneCheckpoint(path)
	return filepath.Dir(file), err
}

// openFor opens the data that the run in a directory was trained on, unless the flags name others, and what computes.
// The caller closes both.
func (a *app) openFor(ctx context.Context, dir string, data dataFlags, where deviceFlags) (*dataset.Set,
	device.Device, error) {
	if err := data.ofRun(dir); err != nil {
		return nil, nil, err
	}
	return a.open(ctx, data, where)
}

// open opens data and what computes. The caller closes both.
func (a *app) open(ctx context.Context, data dataFlags, where deviceFlags) (*dataset.Set, device.Device, error) {
	set, err := data.open(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	dev, err := where.open(a)
	if err != nil {
		set.Close()
		return nil, nil, err
	}
	return set, dev, nil
}

// ofRun chooses the data that the run in a directory was trained on, and how it drew from them, unless the flags do.
func (f *dataFlags) ofRun(dir string) error {
	record, err := run.Open(dir)
	if err != nil {
		return err
	}
	if f.sampling == "" {
		f.sampling = record.Config.Sampling
	}
	if f.name == "" {
		f.remember(record.Source())
	}
	return nil
}

// redraw draws as the run of a checkpoint did, if there is one, unless the flags say how.
func (f *dataFlags) redraw(file string) {
	if record, err := run.Open(filepath.Dir(file)); err == nil && f.sampling == "" {
		f.sampling = record.Config.Sampling
	}
}

// recall names the data set that a checkpoint was trained on, unless another is asked for.
func (f *dataFlags) recall(file string) error {
	if f.name != "" {
		return nil
	}
	source, err := run.SourceOf(file)
	if err != nil {
		return loadError(err)
	}
	if source.Name != "" {
		f.remember(source)
	}
	return nil
}

// compare tells how the data at hand compare with those that a checkpoint was trained on, as far as its run knows.
// Same is false for others.
func (f *dataFlags) compare(a *app, file string, set *dataset.Set) (same bool) {
	record, err := run.Open(filepath.Dir(file))
	if err != nil {
		if f.recalled {
			a.log().Info("data set " + f.name + ", named by the checkpoint")
		}
		return true // nobody knows better
	}
	c := record.Compare(set)
	switch {
	case c.Same && f.recalled:
		a.log().Info("data set " + f.name + ", used for training the checkpoint")
	case c.Grown > 0:
		a.log().Info(fmt.Sprintf("data set %s: %s events more than in training", f.name,
			term.Count(c.Grown)))
	case f.recalled && !c.Same:
		a.log().Info("data set " + f.name + ", at the place of the training data")
	}
	for _, w := range c.Warnings {
		a.log().Warn(w)
	}
	return c.Same
}

// remember takes the data set of a trained model: where it lay then, or else whatever has its name now.
func (f *dataFlags) remember(s run.Source) {
	f.name, f.recalled = s.Name, true
	switch {
	case s.Path == "", f.dir != "":
	case s.Lost:
		f.missing = s.Path
	default:
		f.name = s.Path
	}
}

// loadError says what kind of mistake an error of Load is: mostly that of a file, sometimes that of the command line.
func loadError(err error) error {
	var full *device.OutOfMemory
	var broken *device.Failure
	switch {
	case err == nil:
		return nil
	case errors.Is(err, predict.ErrNoModel):
		return usagef("%v: name it with --model, and give settings that tensors do not show with --set, "+
			"such as --set max_input_sequence_length=64", err)
	case errors.Is(err, model.ErrUnknownModel):
		return usagef("%v", err)
	case errors.As(err, &full), errors.As(err, &broken):
		return err
	}
	return &inputError{err}
}
