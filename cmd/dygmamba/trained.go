package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// trainedFlags choose a trained model.
type trainedFlags struct {
	checkpoint string // --checkpoint
	run        string // --run
}

func (f *trainedFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.checkpoint, "checkpoint", "",
		"`file` with trained weights: of a run, or of the released program (safetensors or PyTorch)")
	dirVar(cmd, &f.run, "run", "run `directory` written by 'dygmamba train --out'")
}

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

// oneCheckpoint is the one that a path has, or of several seeds the best by validation, which is said.
func (a *app) oneCheckpoint(path string) (string, error) {
	choice, err := run.Best(path)
	if err != nil {
		return "", err
	}
	if why := choice.String(); why != "" {
		a.log().Info(path + " has several seeds; used is " + why)
	}
	return choice.File, nil
}

// oneRun is the directory of the seed that oneCheckpoint takes.
func (a *app) oneRun(path string) (string, error) {
	file, err := a.oneCheckpoint(path)
	return filepath.Dir(file), err
}

// loadFlags choose a trained model, its data and what computes. Commands that lack some of the flags leave them empty.
type loadFlags struct {
	from  trainedFlags
	data  dataFlags
	what  modelFlags
	where deviceFlags
	order protocol.Order // --order

	recorded bool // RUN is an argument: the checkpoint alone will not do, and the answer says how data compare
}

func (f *loadFlags) add(cmd *cobra.Command, models func() []string) {
	f.from.add(cmd)
	f.data.add(cmd)
	f.what.add(cmd, models, "")
	f.where.add(cmd)
	addOrder(cmd, &f.order)
}

// addRecorded adds the flags of commands about the records of a run, which are an argument.
func (f *loadFlags) addRecorded(cmd *cobra.Command) {
	f.recorded = true
	f.data.add(cmd)
	f.where.add(cmd)
}

// open opens the run of the one checkpoint that the flags name. The caller closes it.
func (f *loadFlags) open(ctx context.Context, a *app) (*openedRun, error) {
	path, err := f.from.path()
	if err != nil {
		return nil, err
	}
	file, err := a.oneCheckpoint(path)
	if err != nil {
		return nil, err
	}
	return a.openRun(ctx, *f, file)
}

// openedRun is a trained model, one or several seeds of it, with its data and what computes.
type openedRun struct {
	files []string // checkpoints
	set   *dataset.Set
	dev   device.Device
	load  predict.Options // how each checkpoint is loaded
	data  dataFlags       // which data these are
}

// openRun opens what a checkpoint needs: the data that it was trained on unless --data names others, drawn from as in
// the training unless --sampling says how, and what computes. Several checkpoints are seeds of one training. The caller
// closes the result.
func (a *app) openRun(ctx context.Context, from loadFlags, files ...string) (*openedRun, error) {
	if _, err := run.Open(filepath.Dir(files[0])); from.recorded && err != nil {
		return nil, err
	}
	source, err := run.SourceOf(files[0])
	if err != nil && from.data.name == "" { // otherwise whoever loads it will say so
		return nil, loadError(err)
	}
	o := &openedRun{files: files, data: from.data}
	o.data.complete(source)
	if o.set, err = o.data.open(ctx, a); err != nil {
		return nil, err
	}
	if o.dev, err = from.where.open(a); err != nil {
		o.set.Close()
		return nil, err
	}
	o.load = predict.Options{Set: o.set, Device: o.dev, Threads: from.where.threads, Order: from.order,
		Sampling: from.data.sampling, Model: strings.ToLower(from.what.name), Preset: from.what.preset,
		Settings: from.what.set}
	if !from.recorded {
		o.tellData(a)
	}
	return o, nil
}

func (o *openedRun) close() {
	o.dev.Close()
	o.set.Close()
}

// predictor loads the first checkpoint. The caller closes it, before the run.
func (o *openedRun) predictor() (*predict.Predictor, error) {
	p, err := predict.Load(o.files[0], o.load)
	return p, loadError(err)
}

// tellData says how the data at hand compare with those of the training, as far as its run knows.
func (o *openedRun) tellData(a *app) {
	record, err := run.Open(filepath.Dir(o.files[0]))
	if err != nil {
		if o.data.recalled {
			a.log().Info("data set " + o.data.name + ", named by the checkpoint")
		}
		return
	}
	c := record.Compare(o.set)
	switch {
	case c.Same && o.data.recalled:
		a.log().Info("data set " + o.data.name + ", used for training the checkpoint")
	case c.Grown > 0:
		a.log().Info(fmt.Sprintf("data set %s: %s events more than in training", o.data.name,
			term.Count(c.Grown)))
	case o.data.recalled && !c.Same:
		a.log().Info("data set " + o.data.name + ", at the place of the training data")
	}
	for _, w := range c.Warnings {
		a.log().Warn(w)
	}
}

// spare refuses to write over what is read: data, weights, and other inputs by what they hold.
func (o *openedRun) spare(flag, out string, others map[string]string) error {
	inputs := map[string]string{"weights": o.files[0], "data": o.data.name}
	maps.Copy(inputs, others)
	for what, file := range inputs {
		if sameFile(file, out) {
			return usagef("--%s %s is the file with the %s", flag, out, what)
		}
	}
	return nil
}

// complete fills in what the flags leave open: where the data of a training lay then, or else whatever has their name
// now, and how they were drawn from.
func (f *dataFlags) complete(s run.Source) {
	f.sampling = cmp.Or(f.sampling, s.Sampling)
	if f.name != "" || s.Name == "" {
		return
	}
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
