package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// preset is the one that trains as published.
const preset = "paper"

// full is the preset of a model for studies of one's own: at its full size, and where there is one, without looking at
// anything that happens at the time of a query.
func full(f model.Factory) string {
	for _, name := range []string{"strict", preset} {
		if slices.Contains(f.Presets, name) {
			return name
		}
	}
	return f.Presets[0]
}

// Job is one training: a run that several exhibits may show.
type Job struct {
	Name     string        `json:"name"` // of what is trained, whatever the seed
	Data     string        `json:"data"`
	Path     string        `json:"path,omitempty"` // of the data set, where its name does not lead there
	Model    string        `json:"model"`
	Preset   string        `json:"preset"`
	Settings []string      `json:"settings,omitempty"` // what differs from the preset, key=value
	Task     protocol.Task `json:"task,omitempty"`     // "" is link prediction
	Seed     uint64        `json:"seed"`

	set    *source
	timed  bool // a result that came when its time was up counts
	spec   model.Spec
	pace   string  // what decides how long an epoch takes: the name without the number of epochs
	weight float64 // how much its result tells
	found  standing
}

var epochSetting = regexp.MustCompile(`-num_epochs=\d+`)

// newJob is the training of a model on a data set that differs from its preset in some settings. Settings that say
// what the preset says anyway do not count: the run is the same.
func newJob(
	set *source, name, preset string, settings []string, task protocol.Task, epochs int,
) (*Job, error) {
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
	words := []string{set.Name, name, preset}
	if task == protocol.NodeClassification {
		words = append(words, string(task))
		spec.Task = task
		spec.Training.Epochs = min(spec.Training.Epochs, model.Standard.Epochs)
		if epochs == 0 {
			plain.Training.Epochs = spec.Training.Epochs
		}
	}
	j := &Job{Data: set.Name, Path: set.path, Model: name, Preset: preset, Task: task, set: set, spec: spec}
	was := factory.Settings(plain)
	for i, s := range factory.Settings(spec) {
		if was[i].Value != s.Value {
			j.Settings = append(j.Settings, fmt.Sprintf("%s=%v", s.Key, s.Value))
		}
	}
	j.Name = strings.Join(append(words, j.Settings...), "-")
	j.pace = epochSetting.ReplaceAllString(j.Name, "")
	return j, nil
}

// label is the run in words.
func (j *Job) label() string {
	text := j.Model + " on " + j.Data
	if j.Task != "" {
		text += ", " + string(j.Task)
	}
	return fmt.Sprintf("%s, seed %d", strings.Join(append([]string{text}, j.Settings...), ", "), j.Seed)
}

// id tells a job from all others of a plan.
func (j *Job) id() string { return fmt.Sprintf("%s/seed-%d", j.Name, j.Seed) }

// dir is where all seeds of the training are kept.
func (j *Job) dir(out string) string { return filepath.Join(out, "runs", j.Name) }

// matches says whether a run is this training: its configuration decides, not what its directory is called. How long
// it was to last is part of that.
func (j *Job) matches(r Record) bool {
	c := r.Config
	return c.Model == j.Model && c.Seed == j.Seed && !(c.ByAP && j.spec.AsPublished()) &&
		c.Sampling == j.set.Set.Sampling && c.Hashes.Data == j.set.hash && written(r.spec) == written(j.spec)
}

// config is what a run of the job would write down, as far as it is known before.
func (j *Job) config() run.Config {
	return run.Config{Model: j.Model, Spec: json.RawMessage(written(j.spec)), Data: j.set.Set.Name,
		Sampling: j.set.Set.Sampling, Seed: j.Seed, Hashes: run.Hashes{Data: j.set.hash}}
}

// written is a configuration as it is written down.
func written(spec model.Spec) string {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // a model has registered a configuration that cannot be written
	}
	return string(raw)
}

// whole says whether a run has ended with everything that tables show of it.
func (j *Job) whole(r Record) bool { return j.tested(r) && r.Result.Ended == "" }

// tested says whether a run has all results that tables show of it.
func (j *Job) tested(r Record) bool {
	tests := 0
	for _, m := range r.Result.Results {
		if m.Scenario == protocol.Transductive && slices.Contains(protocol.Published(), m.Strategy) || j.Task != "" {
			tests++
		}
	}
	return r.ended && (tests == len(protocol.Published()) || j.Task != "" && tests == 1)
}

// Standing of a run.
const (
	Done       = "done"
	Unfinished = "unfinished" // begun, its state kept
	Cut        = "cut"        // ended and measured when its time was up, its state kept
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
func (j *Job) look(out string, earlier []Record) {
	j.found = standing{state: NotBegun}
	dir := run.SeedDir(j.dir(out), j.Seed)
	if r, err := openRun(dir); err == nil {
		j.found = standing{Record: r, state: Unfinished}
		switch {
		case !j.matches(r):
			j.found.state, j.found.why = Failed, "its directory holds another training: "+
				cmp.Or(strings.Join(r.Config.Diff(j.config()), ", "), "one that lasts longer or shorter")
		case j.whole(r) && !run.IsUnfinished(dir):
			j.found.state = Done
		case j.timed && j.tested(r) && run.Mark(dir) == r.Result.Mark():
			j.found.state = Cut
		}
	}
	i := slices.IndexFunc(earlier, func(r Record) bool { return j.matches(r) && j.whole(r) })
	if i >= 0 && j.found.state != Done && j.found.state != Failed {
		j.found = standing{Record: earlier[i], state: Done, earlier: true}
	}
	if j.found.Path != "" {
		j.found.epochs, _ = run.History(j.found.Path)
	}
	j.found.Name = j.id()
}
