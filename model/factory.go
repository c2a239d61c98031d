package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
)

// Env is what a model is built in: where it computes, what is known of nodes and events, and the seed of its first weights.
type Env struct {
	Device     device.Device
	Node, Edge dataset.Features
	NumNodes   int // 1 + the largest node id
	Seed       uint64
}

// Training says how a model learns. Its JSON names are the ones --set takes, and about says what they are.
type Training struct {
	BatchSize    int     `json:"batch_size" about:"events of a step, each with a negative"`
	LearningRate float64 `json:"learning_rate" about:"how far a step goes"`
	Epochs       int     `json:"num_epochs" about:"at most so many"`
	Patience     int     `json:"patience" about:"epochs without a better one till it stops"`
	Optimizer    string  `json:"optimizer" about:"Adam, SGD or RMSprop"` // however capitalised
}

// Standard is how the reference programs train every model.
var Standard = Training{BatchSize: 200, LearningRate: 1e-4, Epochs: 100, Patience: 20, Optimizer: "Adam"}

// Check says what is wrong with t.
func (t Training) Check() error {
	switch {
	case t.BatchSize < 1:
		return fmt.Errorf("batch_size is %d, must be at least 1", t.BatchSize)
	case !(t.LearningRate > 0) || t.LearningRate > 1:
		return fmt.Errorf("learning_rate is %v, must be above 0 and at most 1", t.LearningRate)
	case t.Epochs < 1:
		return fmt.Errorf("num_epochs is %d, must be at least 1", t.Epochs)
	case t.Patience < 1:
		return fmt.Errorf("patience is %d, must be at least 1", t.Patience)
	case !slices.Contains([]string{"adam", "sgd", "rmsprop"}, strings.ToLower(t.Optimizer)):
		return fmt.Errorf("optimizer is %q, must be Adam, SGD or RMSprop", t.Optimizer)
	}
	return nil
}

// Kind describes a kind of model with configuration C to Make.
type Kind[C interface{ Check() error }] struct {
	Summary string
	Default C           // complete
	Presets []Preset[C] // the first is the reference program's; none: Default with Standard training, under the name "released"
	// Prefer, optional, names the preset to train on a data set with when none is asked for; without it that is the first.
	Prefer func(data string) string
	// Shapes, optional, is base changed to what the shapes of a checkpoint's tensors tell; it need not look at every tensor.
	Shapes func(base C, shapes map[string][]int) (C, error)
	// Table, optional but needed with Shapes, lists every parameter's shape.
	Table func(c C) []Shape
	Build func(env Env, c C) (Model, error)
}

// Preset is a named configuration: what to change of the default for a data set.
type Preset[C any] struct {
	Name    string
	Summary string
	Apply   func(data string, c *C, t *Training)
}

// Shape names a parameter and gives its dimensions.
type Shape struct {
	Name string
	Dims []int
}

// Spec is a complete configuration: it suffices to build the model again.
type Spec struct {
	Preset   string   `json:"preset"`
	Config   any      `json:"config"` // a pointer to the factory's kind of configuration
	Training Training `json:"training"`
}

// Notes are what a user should know about the configuration, one line each.
func (s Spec) Notes() []string {
	if n, ok := s.Config.(interface{ Notes() []string }); ok {
		return n.Notes()
	}
	return nil
}

// Factory builds one kind of model. It hides the type of its configuration from everyone who need not know it.
type Factory struct {
	Summary string
	Presets []string // names; the first is the reference program's

	spec       func(preset, data string, settings []string) (Spec, error)
	decode     func(raw []byte, settings []string) (Spec, error)
	fromShapes func(base Spec, shapes map[string][]int, settings []string) (Spec, error)
	build      func(env Env, s Spec) (Model, error)
	about      map[string]string
	keys       []string
}

// Make turns the description of a kind of model into a factory.
func Make[C interface{ Check() error }](k Kind[C]) Factory {
	if len(k.Presets) == 0 {
		k.Presets = []Preset[C]{{"released", "the released program's values", func(string, *C, *Training) {}}}
	}
	if k.Prefer == nil {
		k.Prefer = func(string) string { return k.Presets[0].Name }
	}
	f := Factory{Summary: k.Summary, about: map[string]string{}, keys: Keys(new(C), new(Training))}
	for _, p := range k.Presets {
		f.Presets = append(f.Presets, p.Name)
		f.about[p.Name] = p.Summary
	}
	f.spec = k.spec
	f.decode = k.decode
	f.fromShapes = k.fromShapes
	f.build = func(env Env, s Spec) (Model, error) {
		c, ok := s.Config.(*C)
		if !ok {
			return nil, fmt.Errorf("configuration is a %T, must be a %T", s.Config, c)
		}
		if err := (*c).Check(); err != nil {
			return nil, err
		}
		return k.Build(env, *c)
	}
	return f
}

// Spec is the configuration that a preset ("" for the preferred one) has for a data set, changed by settings "key=value".
func (f Factory) Spec(preset, data string, settings ...string) (Spec, error) {
	return f.spec(preset, data, settings)
}

// Decode reads a Spec from its JSON form and changes it by settings. Fields that are missing keep the default.
func (f Factory) Decode(raw []byte, settings ...string) (Spec, error) { return f.decode(raw, settings) }

// FromTensors is base changed to what the shapes of a checkpoint's tensors tell, then by settings. A setting that contradicts a
// shape is an error, and so is a tensor that is missing or that the model does not have.
func (f Factory) FromTensors(base Spec, shapes map[string][]int, settings ...string) (Spec, error) {
	return f.fromShapes(base, shapes, settings)
}

// Build makes the model.
func (f Factory) Build(env Env, s Spec) (Model, error) { return f.build(env, s) }

// About says what a preset is.
func (f Factory) About(preset string) string { return f.about[preset] }

// Keys lists the settings that Spec takes.
func (f Factory) Keys() []string { return f.keys }

func (k Kind[C]) spec(preset, data string, settings []string) (Spec, error) {
	if preset == "" {
		preset = k.Prefer(data)
	}
	i := slices.IndexFunc(k.Presets, func(p Preset[C]) bool { return p.Name == preset })
	if i < 0 {
		var names []string
		for _, p := range k.Presets {
			names = append(names, p.Name)
		}
		return Spec{}, fmt.Errorf("%w: no preset %q; there are %s", ErrSetting, preset, strings.Join(names, ", "))
	}
	c, t := k.Default, Standard
	k.Presets[i].Apply(data, &c, &t)
	return k.complete(preset, c, t, settings)
}

// complete applies settings and checks everything.
func (k Kind[C]) complete(preset string, c C, t Training, settings []string) (Spec, error) {
	if err := Apply(settings, &c, &t); err != nil {
		return Spec{}, err
	}
	if err := c.Check(); err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrSetting, err)
	}
	if err := t.Check(); err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrSetting, err)
	}
	return Spec{preset, &c, t}, nil
}

func (k Kind[C]) decode(raw []byte, settings []string) (Spec, error) {
	c := k.Default
	s := Spec{Config: &c, Training: Standard}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Spec{}, fmt.Errorf("model configuration: %w", err)
	}
	return k.complete(s.Preset, c, s.Training, settings)
}

func (k Kind[C]) fromShapes(base Spec, shapes map[string][]int, settings []string) (Spec, error) {
	if k.Shapes == nil || k.Table == nil {
		return Spec{}, fmt.Errorf("%s: cannot be recognised by its tensors' shapes", k.Summary)
	}
	c, err := k.Shapes(*base.Config.(*C), shapes)
	if err != nil {
		return Spec{}, err
	}
	s, err := k.complete(base.Preset, c, base.Training, settings)
	if err != nil {
		return Spec{}, err
	}
	return s, Match(k.Table(*s.Config.(*C)), shapes)
}

// Match compares what a model has with what a file has.
func Match(model []Shape, file map[string][]int) error {
	known := map[string]bool{}
	for _, p := range model {
		known[p.Name] = true
		dims, ok := file[p.Name]
		if !ok {
			return fmt.Errorf("tensor %s is missing, want %v", p.Name, p.Dims)
		}
		if !slices.Equal(dims, p.Dims) {
			return fmt.Errorf("tensor %s is %v, the configuration makes it %v", p.Name, dims, p.Dims)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if !known[name] {
			return fmt.Errorf("tensor %s %v has no place in the model", name, file[name])
		}
	}
	return nil
}
