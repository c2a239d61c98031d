package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/tensor"
)

// Kind describes a kind of model with configuration C to Make. C may also have these methods, each about itself:
//
//	Notes() []string      what a user should know before training, a line each
//	Conditions() []string what its scores depend on beside their own past, a line each; results carry them
//	Brief() string        its settings in a few words, for tables of results
type Kind[C interface{ Check() error }] struct {
	Title   string // as papers write it
	Summary string
	Default C // complete
	// the first is the reference program's; none: Default with Standard training, under the name "released"
	Presets []Preset[C]
	// Prefer, optional, names the preset to train on a data set with when none is asked for; without it that is the
	// first.
	Prefer func(data Data) string
	// Imported, optional, changes the configuration for data that are not published ones. Their times may be large
	// numbers, such as seconds since 1970, which float32 rounds to minutes; published results are made from rounded
	// times.
	Imported func(c *C)
	// Fit, optional, changes the configuration to what the data are like. Presets and settings come after both.
	Fit func(c *C, data Data)
	// Bound, optional, changes what a preset asks for to what a stream of this size allows. Settings come after it.
	Bound func(c *C, data Data)
	// Remembers says that the models are Memories. Presets that do as published programs did then run in the order of
	// arrival, others in strict order.
	Remembers bool
	// Task is the only one that the models can learn. "": they learn links, and what is learned on top of that.
	Task protocol.Task
	// Lighter says which settings make a training need less memory, beside batch_size.
	Lighter string
	// Shapes, optional, changes the configuration to what the shapes of a checkpoint's tensors tell; it need not look
	// at every tensor.
	Shapes func(c *C, d *Dims)
	// Table, optional but needed with Shapes and Build, lists every parameter's shape.
	Table func(c C) []Shape
	// Ignore, optional, tells tensors of a released program's checkpoint that are no parameters, or one under a second
	// name.
	Ignore func(name string) bool
	// Released, optional, is what the released program's state dict holds beside the parameters: some under a second
	// name, and what it remembers. State is what Snapshot gave, nil if nothing is known of it.
	Released func(params, state []tensor.Named) []tensor.Named

	// Declare names the parameters of a model. Build, instead, makes a model in any other way.
	Declare func(c C, seed uint64) Declared
	Build   func(env Env, c C) (Model, error)
	// Rule, instead of both, makes what needs no training. Variants are its forms, of which published tables report
	// the best.
	Rule     func(c C) (Scorer, error)
	Variants []Variant[C]

	buildPaired func(env Env, c C, s Spec) (Model, error)
}

// Variant is a form of a rule.
type Variant[C any] struct {
	Name   string
	Config C
}

// Preset is a named configuration: what to change of the default for a data set.
type Preset[C any] struct {
	Name    string
	Summary string
	Apply   func(data string, c *C, t *Training) // by the data set's name
}

// Shape names a parameter and gives its dimensions.
type Shape struct {
	Name string
	Dims []int
}

// Factory builds one kind of model. It hides the type of its configuration from everyone who need not know it.
type Factory struct {
	Summary   string
	Presets   []string      // names; the first is the reference program's
	Remembers bool          // its models are Memories
	Trains    bool          // it has something to learn; otherwise it is a Rule
	Task      protocol.Task // the only one that its models can learn; "": links, and what is learned on top of that
	Lighter   string        // settings that make a training need less memory

	spec       func(preset string, data Data, settings []string) (Spec, error)
	decode     func(raw []byte, settings []string) (Spec, error)
	fromShapes func(base Spec, shapes map[string][]int, settings []string) (Spec, error)
	build      func(env Env, s Spec) (Model, error)
	rule       func(s Spec) (Scorer, error)
	variants   func(settings []string) ([]NamedSpec, error)
	ignore     func(name string) bool
	released   func(params, state []tensor.Named) []tensor.Named
	about      map[string]string
	keys       []string
}

// Settings lists what can be set of a configuration, with its values: of a rule nothing that concerns learning.
func (f Factory) Settings(s Spec) []Setting {
	if f.Trains && s.Pairing != nil {
		return Settings(s.Config, s.Training, s.Pairing)
	}
	if f.Trains {
		return Settings(s.Config, s.Training)
	}
	return Settings(s.Config)
}

// IsWhole says whether a setting is a whole number; it must be a number.
func IsWhole(s Spec, key string) (bool, error) {
	for _, x := range Settings(s.Config, s.Training) {
		if x.Key != key {
			continue
		}
		switch x.Value.(type) {
		case int:
			return true, nil
		case float64:
			return false, nil
		}
		return false, fmt.Errorf("%w: %s is no number and has no range, want values", ErrSetting, key)
	}
	return false, Apply([]string{key + "="}, s.Config, &s.Training) // says which keys there are
}

// NamedSpec is a variant of a rule.
type NamedSpec struct {
	Name string
	Spec Spec
}

// Make turns the description of a kind of model into a factory.
func Make[C interface{ Check() error }](k Kind[C]) Factory {
	if len(k.Presets) == 0 {
		k.Presets = []Preset[C]{{"released", "the released program's values", func(string, *C, *Training) {}}}
	}
	if k.Prefer == nil {
		k.Prefer = func(Data) string { return k.Presets[0].Name }
	}
	if k.Released == nil {
		k.Released = func(_, _ []tensor.Named) []tensor.Named { return nil }
	}
	if k.Ignore == nil {
		k.Ignore = func(string) bool { return false }
	}
	if k.Declare != nil {
		k.Build = func(env Env, c C) (Model, error) { return build(env, k.Declare(c, env.Seed)) }
		k.buildPaired = func(env Env, c C, s Spec) (Model, error) {
			m := pair(k.Declare(c, env.Seed), *s.Pairing, s.Training.LearningRate, env.Seed)
			return build(env, m)
		}
		k.Table = func(c C) []Shape { return Table(k.Declare(c, 0).Params()) }
	}
	f := Factory{
		Summary: k.Summary, Remembers: k.Remembers, Trains: k.Rule == nil, Task: k.Task, Lighter: k.Lighter,
		ignore: k.Ignore, released: k.Released, about: map[string]string{}, keys: Keys(new(C), new(Training)),
	}
	if !f.Trains {
		f.keys = Keys(new(C), new(steps))
	}
	for _, p := range k.Presets {
		f.Presets = append(f.Presets, p.Name)
		f.about[p.Name] = p.Summary
	}
	f.spec, f.decode, f.fromShapes, f.variants = k.spec, k.decode, k.fromShapes, k.variants
	f.build = func(env Env, s Spec) (Model, error) {
		if k.Build == nil {
			return nil, errors.New("it has nothing to learn")
		}
		c, err := k.config(s)
		if err != nil {
			return nil, err
		}
		if s.Pairing != nil {
			if k.buildPaired == nil {
				return nil, errors.New("it cannot learn the task next")
			}
			return k.buildPaired(env, c, s)
		}
		return k.Build(env, c)
	}
	f.rule = func(s Spec) (Scorer, error) {
		c, err := k.config(s)
		if err != nil {
			return nil, err
		}
		return k.Rule(c)
	}
	return f
}

// Spec is the configuration that a preset ("" for the preferred one) has for a data set, changed by settings
// "key=value".
func (f Factory) Spec(preset string, data Data, settings ...string) (Spec, error) {
	return f.spec(preset, data, settings)
}

// Decode reads a Spec from its JSON form and changes it by settings. Fields that are missing keep the default.
func (f Factory) Decode(raw []byte, settings ...string) (Spec, error) { return f.decode(raw, settings) }

// FromTensors is base changed to what the shapes of a checkpoint's tensors tell, then by settings. A setting that
// contradicts a shape is an error, and so is a tensor that is missing or that the model does not have.
func (f Factory) FromTensors(base Spec, shapes map[string][]int, settings ...string) (Spec, error) {
	return f.fromShapes(base, shapes, settings)
}

// Build makes the model.
func (f Factory) Build(env Env, s Spec) (Model, error) { return f.build(env, s) }

// Rule makes the scorer of a kind that has nothing to learn.
func (f Factory) Rule(s Spec) (Scorer, error) { return f.rule(s) }

// Variants are the forms of a rule that settings leave open, each complete.
func (f Factory) Variants(settings ...string) ([]NamedSpec, error) { return f.variants(settings) }

// Ignores tells tensors of a released program's checkpoint that the model has no place for and does not miss.
func (f Factory) Ignores(name string) bool { return f.ignore(name) }

// About says what a preset is.
func (f Factory) About(preset string) string { return f.about[preset] }

// Keys lists the settings that Spec takes.
func (f Factory) Keys() []string { return f.keys }

func (k Kind[C]) config(s Spec) (c C, err error) {
	p, ok := s.Config.(*C)
	if !ok {
		return c, fmt.Errorf("configuration is a %T, must be a %T", s.Config, p)
	}
	return *p, k.check(*p)
}

// check looks at bounds, then asks the configuration itself.
func (k Kind[C]) check(c C) error {
	if err := checkBounds(c); err != nil {
		return err
	}
	return c.Check()
}

func (k Kind[C]) spec(preset string, data Data, settings []string) (Spec, error) {
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
	t.Calibrate = k.Rule == nil && !asPublished(preset)
	if data.Imported && k.Imported != nil {
		k.Imported(&c)
	}
	if k.Fit != nil {
		k.Fit(&c, data)
	}
	if err := k.widen(&c, data); err != nil {
		return Spec{}, err
	}
	k.Presets[i].Apply(data.Name, &c, &t)
	if k.Bound != nil {
		k.Bound(&c, data)
	}
	return k.complete(Spec{Preset: preset, Order: k.order(preset), Task: k.Task}, c, t, settings)
}

// widen makes room for the features of data that are not published ones, where they are wider than the default.
func (k Kind[C]) widen(c *C, data Data) error {
	if !data.Imported {
		return nil
	}
	kinds := Kinds(0)
	if t, ok := any(*c).(interface{ TellsKinds() Kinds }); ok {
		kinds = t.TellsKinds()
	}
	need := map[string]int{"edge_feat_dim": data.EdgeDim + kinds.Width(), "node_feat_dim": data.NodeDim}
	for _, s := range Settings(c) {
		if has, ok := s.Value.(int); ok && need[s.Key] > has {
			if err := Apply([]string{fmt.Sprintf("%s=%d", s.Key, need[s.Key])}, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// order is the one that a preset runs in, "" for models that do not remember.
func (k Kind[C]) order(preset string) protocol.Order {
	switch {
	case !k.Remembers:
		return ""
	case asPublished(preset):
		return protocol.Arrival
	}
	return protocol.Strict
}

// complete applies settings and checks everything.
func (k Kind[C]) complete(s Spec, c C, t Training, settings []string) (Spec, error) {
	if k.Rule != nil { // no more of training than how the stream is cut
		w := steps{t.BatchSize}
		if err := Apply(settings, &c, &w); err != nil {
			return Spec{}, err
		}
		t.BatchSize = w.BatchSize
	} else if err := Apply(settings, &c, &t); err != nil {
		return Spec{}, err
	}
	if err := cmp.Or(k.check(c), t.Check(), moderate(&c)); err != nil {
		return Spec{}, fmt.Errorf("%w: %w", ErrSetting, err)
	}
	s.Config, s.Training = &c, t
	return s, nil
}

// moderate refuses models that are too deep, whatever their own check says.
func moderate(c any) error {
	for _, s := range Settings(c) {
		if n, ok := s.Value.(int); ok && s.Key == "num_layers" && n > Deep {
			return fmt.Errorf("%s is %d, must be at most %d", s.Key, n, Deep)
		}
	}
	return nil
}

// variants keeps those that agree with the settings.
func (k Kind[C]) variants(settings []string) ([]NamedSpec, error) {
	asked, err := k.spec("", Data{}, settings)
	if err != nil {
		return nil, err
	}
	var list []NamedSpec
	for _, v := range k.Variants {
		if err := agrees(settings, &v.Config); err != nil {
			continue
		}
		c := v.Config
		list = append(list,
			NamedSpec{v.Name, Spec{Preset: asked.Preset, Order: asked.Order, Config: &c, Training: asked.Training}})
	}
	return list, nil
}

func (k Kind[C]) decode(raw []byte, settings []string) (Spec, error) {
	c := k.Default
	s := Spec{Config: &c, Training: Standard}
	var stored struct{ Config map[string]json.RawMessage }
	err := errors.Join(json.Unmarshal(raw, &s), json.Unmarshal(raw, &stored))
	if err == nil {
		err = decodeRenamed(stored.Config, &c)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("model configuration: %w", err)
	}
	if k.Remembers {
		if err := protocol.Check("order", s.Order, protocol.Orders()); err != nil {
			return Spec{}, fmt.Errorf("model configuration: %w", err)
		}
	}
	return k.complete(s, c, s.Training, settings)
}

func (k Kind[C]) fromShapes(base Spec, shapes map[string][]int, settings []string) (Spec, error) {
	if k.Shapes == nil || k.Table == nil {
		return Spec{}, fmt.Errorf("%s: cannot be recognised by its tensors' shapes", k.Summary)
	}
	c, d := *base.Config.(*C), &Dims{of: k.Title, shapes: shapes}
	if k.Shapes(&c, d); d.err != nil {
		return Spec{}, d.err
	}
	s, err := k.complete(base, c, base.Training, settings)
	if err != nil {
		return Spec{}, err
	}
	maps.DeleteFunc(shapes, func(name string, _ []int) bool { return k.Ignore(name) })
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
