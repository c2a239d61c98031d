package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CheckSameTraining says what keeps checkpoints from being measured as the seeds of one training: another model, other
// data, other settings.
func CheckSameTraining(files []string) error {
	var first Config
	for i, file := range files {
		c, err := configOf(file)
		if err != nil {
			return err
		}
		if i == 0 {
			first = c
			continue
		}
		if apart := first.Diff(c); apart != nil {
			return &Error{filepath.Dir(filepath.Dir(file)),
				fmt.Errorf("%s and %s are no seeds of one training (%s): measure them one by one",
					base(files[0]), base(file), strings.Join(apart, ", "))}
		}
	}
	return nil
}

func base(file string) string { return filepath.Base(filepath.Dir(file)) }

// configOf is the configuration that a checkpoint was made with, as its run or else the file itself knows it.
func configOf(file string) (Config, error) {
	run, err := Open(filepath.Dir(file))
	if err == nil {
		return run.Complete(), nil
	}
	weights, err := ReadCheckpoint(file)
	if err != nil {
		return Config{}, err
	}
	m := weights.Meta
	return Run{Config: Config{Model: m["model"], Data: m["data"], Spec: json.RawMessage(m["spec"])}}.Complete(), nil
}

// Complete is the configuration with the settings that are younger than the run.
func (r Run) Complete() Config {
	c := r.Config
	if spec, err := r.Spec(); err == nil {
		c.Spec, _ = json.Marshal(spec)
	}
	return c
}

// Results are those of all seeds below the directory of a training that have come to theirs, in order.
func Results(dir string) ([]Result, error) {
	var list []Result
	for _, seed := range Seeds(dir) {
		r, err := Run{Dir: SeedDir(dir, seed)}.Result()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// WriteSummary replaces the summary in the directory of a training by that of all seeds which have come to their
// results, whoever trained them; where there are none, it is removed. Several processes may train seeds of one
// directory: they sum up one after the other, so that the last one knows of all.
func WriteSummary(dir string) error {
	if dir == "" {
		return nil
	}
	turn, err := Dir(dir).wait()
	if err != nil {
		return err
	}
	defer turn.Close()
	results, err := Results(dir)
	if err != nil {
		return err
	}
	if len(results) > 0 {
		return Dir(dir).WriteJSON(ResultFile, Summarize(results))
	}
	if _, err := ReadSummary(dir); err == nil { // of results that are gone
		return os.Remove(Dir(dir).Path(ResultFile))
	}
	return nil
}
