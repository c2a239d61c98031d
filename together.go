package dygmamba

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/train"
)

// Together says what keeps checkpoints from being measured as the seeds of one training: another model, other data,
// other settings.
func Together(files []string) error {
	var first train.Config
	for i, file := range files {
		c, err := configOf(file)
		if err != nil {
			return err
		}
		if i == 0 {
			first = c
			continue
		}
		if apart := first.Apart(c); apart != nil {
			return &RunError{filepath.Dir(filepath.Dir(file)),
				fmt.Errorf("%s and %s are no seeds of one training (%s): measure them one by one",
					base(files[0]), base(file), strings.Join(apart, ", "))}
		}
	}
	return nil
}

// base is the name of the directory that a checkpoint lies in.
func base(file string) string { return filepath.Base(filepath.Dir(file)) }

// configOf is the configuration that a checkpoint was made with, as its run or else the file itself knows it.
func configOf(file string) (train.Config, error) {
	run, err := OpenRun(filepath.Dir(file))
	if err == nil {
		return run.complete(), nil
	}
	weights, err := readCheckpoint(file)
	if err != nil {
		return train.Config{}, err
	}
	return Run{Config: metaConfig(weights)}.complete(), nil
}

// metaConfig is what a checkpoint says of itself.
func metaConfig(f checkpoint.File) train.Config {
	return train.Config{Model: f.Meta["model"], Data: f.Meta["data"], Spec: json.RawMessage(f.Meta["spec"])}
}

// complete is the configuration with the settings that are younger than the run.
func (r Run) complete() train.Config {
	c := r.Config
	if f, err := Factory(c.Model); err == nil {
		if spec, err := f.Decode(c.Spec); err == nil {
			c.Spec, _ = json.Marshal(spec)
		}
	}
	return c
}

// fits refuses, before anything is trained, to begin what has begun, to go on with other settings, to train one more
// seed beside runs of something else, and to write a summary over a file that is none.
func (o *TrainOptions) fits(protocol *eval.Protocol) error {
	begun := Seeds(o.Dir)
	if o.Dir == "" || len(begun) == 0 {
		return o.fitsSummary()
	}
	spec, err := json.Marshal(o.Spec)
	if err != nil {
		return err
	}
	now := train.Config{Model: o.Model, Data: o.Set.Name, Spec: spec, Sampling: o.Set.Sampling, ByAP: o.ByAP,
		TF32: device.Rounds(o.Device)}
	now.Hashes = train.Hashes{Data: o.Set.Hash(), Split: protocol.Split().Hash}
	for _, seed := range begun {
		run, err := OpenRun(SeedDir(o.Dir, seed))
		if err != nil {
			return err
		}
		if slices.Contains(o.Seeds, seed) {
			now.Seed = seed
			err = run.goesOn(now, o.Resume)
		} else if apart := run.complete().Apart(now); apart != nil {
			err = fmt.Errorf("%s is not of the same training (%s): the runs of a directory are averaged, "+
				"choose another for this one",
				run.Dir, strings.Join(apart, ", "))
		}
		if err != nil {
			return err
		}
	}
	if _, err := Results(o.Dir); err != nil { // which are to be summed up
		return err
	}
	return o.fitsSummary()
}

// goesOn says why a run cannot continue as it is now asked to. One that saved nothing begins again.
func (r Run) goesOn(now train.Config, resume bool) error {
	switch {
	case !exists(filepath.Join(r.Dir, train.LastFile)):
		return nil
	case !resume:
		return train.Begun(r.Dir)
	}
	if err := r.complete().Differs(now); err != nil {
		return fmt.Errorf("resume %s: %w", r.Dir, err)
	}
	return nil
}

// fitsTask refuses to train on links for a directory whose runs learned something else than labels.
func (o *TrainOptions) fitsTask() error {
	for _, seed := range Seeds(o.Dir) {
		run, err := OpenRun(SeedDir(o.Dir, seed))
		if err != nil {
			return err
		}
		if task := cmp.Or(run.Task(), eval.LinkPrediction); task != o.Task {
			return fmt.Errorf("%s is not of the same training (task %s and %s): choose another directory for this one",
				run.Dir, task, o.Task)
		}
	}
	return nil
}

// fitsSummary looks at the summary that will be replaced.
func (o *TrainOptions) fitsSummary() error {
	if o.Dir == "" {
		return nil
	}
	path := filepath.Join(o.Dir, train.ResultFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var was train.Summary
	switch err := json.Unmarshal(raw, &was); {
	case err != nil || len(was.Seeds) == 0 || len(was.Runs) != len(was.Seeds):
		return fmt.Errorf("%s is not the summary of a training and would be overwritten: choose another directory",
			path)
	case was.Model != o.Model || was.Data != o.Set.Name:
		return fmt.Errorf("%s is of %s on %s and would be overwritten: choose another directory for %s on %s",
			path, was.Model, was.Data, o.Model, o.Set.Name)
	}
	return nil
}

// Results are those of all seeds below the directory of a training that have come to theirs, in order.
func Results(dir string) ([]train.Result, error) {
	var list []train.Result
	for _, seed := range Seeds(dir) {
		file := filepath.Join(SeedDir(dir, seed), train.ResultFile)
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var r train.Result
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, &RunError{file, err}
		}
		list = append(list, r)
	}
	return list, nil
}

// SumUp replaces the summary in the directory of a training by that of all seeds which have come to their results,
// whoever trained them, if there are any.
func SumUp(dir string) error {
	if dir == "" {
		return nil
	}
	return train.WriteSummary(dir, func() (*train.Summary, error) {
		results, err := Results(dir)
		if err != nil || len(results) == 0 {
			return nil, err
		}
		sum := train.Summarize(results)
		return &sum, nil
	})
}
