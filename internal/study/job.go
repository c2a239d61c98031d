package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// preset is the one that trains as published.
const preset = "paper"

// Job is one training: a run that several exhibits may show.
type Job struct {
	Name     string        `json:"name"` // of what is trained, whatever the seed
	Data     string        `json:"data"`
	Model    string        `json:"model"`
	Preset   string        `json:"preset"`
	Settings []string      `json:"settings,omitempty"` // what differs from the preset, key=value
	Task     protocol.Task `json:"task,omitempty"`     // "" is link prediction
	Seed     uint64        `json:"seed"`

	set    *source
	spec   model.Spec
	pace   string  // what decides how long an epoch takes: the name without the number of epochs
	weight float64 // how much its result tells
}

// newJob is the training of a model on a data set that differs from its preset in some settings. Settings that say
// what the preset says anyway do not count: the run is the same.
func newJob(set *source, name string, settings []string, task protocol.Task, epochs int) (*Job, error) {
	factory, err := model.Find(name)
	if err != nil {
		return nil, err
	}
	data := model.DataOf(set.Set)
	plain, err := factory.Spec(preset, data)
	if err != nil {
		return nil, err
	}
	if epochs > 0 {
		settings = append(slices.Clone(settings), fmt.Sprintf("num_epochs=%d", epochs))
	}
	spec, err := factory.Spec(preset, data, settings...)
	if err != nil {
		return nil, err
	}
	if task == protocol.NodeClassification {
		spec.Task = task
		spec.Training.Epochs = min(spec.Training.Epochs, model.Standard.Epochs)
	}
	j := &Job{Data: set.Name, Model: name, Preset: preset, Task: task, set: set, spec: spec}
	values := map[string]any{}
	for _, s := range factory.Settings(plain) {
		values[s.Key] = s.Value
	}
	for _, s := range factory.Settings(spec) {
		if task == "" || s.Key != "num_epochs" || epochs > 0 {
			if values[s.Key] != s.Value {
				j.Settings = append(j.Settings, fmt.Sprintf("%s=%v", s.Key, s.Value))
			}
		}
	}
	words := []string{set.Name, name, preset}
	if task != "" {
		words = append(words, string(task))
	}
	j.Name = strings.Join(slices.Concat(words, j.Settings), "-")
	j.pace = strings.Join(slices.Concat(words, slices.DeleteFunc(slices.Clone(j.Settings), func(s string) bool {
		return strings.HasPrefix(s, "num_epochs=")
	})), "-")
	return j, nil
}

// label is the run in words.
func (j *Job) label() string {
	text := j.Model + " on " + j.Data
	if j.Task != "" {
		text += ", " + string(j.Task)
	}
	if len(j.Settings) > 0 {
		text += ", " + strings.Join(j.Settings, ", ")
	}
	return fmt.Sprintf("%s, seed %d", text, j.Seed)
}

// at is the same training with another seed.
func (j Job) at(seed uint64) *Job {
	j.Seed = seed
	return &j
}

// id tells a job from all others of a plan.
func (j *Job) id() string { return fmt.Sprintf("%s/seed-%d", j.Name, j.Seed) }

// dir is where all seeds of the training are kept.
func (j *Job) dir(out string) string { return filepath.Join(out, "runs", j.Name) }

// matches says whether a run is this training: its configuration decides, not what its directory is called. How long
// it was to last is part of that.
func (j *Job) matches(c run.Config) bool {
	if c.Model != j.Model || c.Seed != j.Seed || c.ByAP && j.spec.AsPublished() || c.Sampling != j.set.Set.Sampling ||
		c.Hashes.Data != j.set.hash {
		return false
	}
	factory, err := model.Find(c.Model)
	if err != nil {
		return false
	}
	spec, err := factory.Decode(c.Spec)
	return err == nil && same(spec, j.spec)
}

// same compares two configurations as they are written down.
func same(a, b model.Spec) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// whole says whether a result has everything that tables show of it.
func (j *Job) whole(r run.Result) bool {
	if r.Ended != "" {
		return false
	}
	if j.Task != "" {
		return len(r.Results) == 1
	}
	for _, strategy := range protocol.Published() {
		if !slices.ContainsFunc(r.Results, func(m run.Measured) bool {
			return m.Scenario == protocol.Transductive && m.Strategy == strategy
		}) {
			return false
		}
	}
	return true
}

// Standing of a run.
const (
	Done       = "done"
	Unfinished = "unfinished" // begun, its state kept
	NotBegun   = "not begun"
	Failed     = "failed"
)

// standing is what is there of a run.
type standing struct {
	Record  // Path is "" where there is none
	state   string
	epochs  []run.Epoch
	earlier bool // it was found among earlier runs, not made here
	why     string
}

// look finds out what there is of a run, here or among earlier ones.
func (j *Job) look(out string, earlier []Record) standing {
	here := standing{state: NotBegun}
	dir := run.SeedDir(j.dir(out), j.Seed)
	if r, err := openRun(dir); err == nil {
		here = standing{Record: r, state: Unfinished}
		here.epochs, _ = run.History(dir)
		switch {
		case !j.matches(r.Config):
			here.state, here.why = Failed, "its directory holds another training: "+
				cmp.Or(strings.Join(r.Config.Diff(j.config()), ", "), "one that lasts longer or shorter")
			return here
		case r.ended && j.whole(r.Result) && !run.IsUnfinished(dir):
			here.state = Done
		}
	}
	for _, r := range earlier {
		if here.state != Done && j.matches(r.Config) && r.ended && j.whole(r.Result) {
			here = standing{Record: r, state: Done, earlier: true}
			here.epochs, _ = run.History(r.Path)
		}
	}
	here.Name = j.id()
	return here
}

// config is what a run of the job would write down, as far as it is known before.
func (j *Job) config() run.Config {
	spec, _ := json.Marshal(j.spec)
	return run.Config{Model: j.Model, Spec: spec, Data: j.set.Set.Name, Sampling: j.set.Set.Sampling, Seed: j.Seed,
		Hashes: run.Hashes{Data: j.set.hash}}
}

// backbone is the training on links whose model a classifier looks at.
func (j *Job) backbone(epochs int) (*Job, error) {
	link, err := newJob(j.set, j.Model, nil, "", epochs)
	if err != nil {
		return nil, err
	}
	return link.at(j.Seed), nil
}

// waited is how many epochs at the end of a history were not better than those before.
func waited(epochs []run.Epoch) int {
	n := 0
	for _, e := range epochs {
		if n++; e.Improved {
			n = 0
		}
	}
	return n
}
