package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// Options says what a trained model may look at and where it computes. Only Set is needed for a checkpoint that
// Train made.
type Options struct {
	Set     *dataset.Set  // events, features and names
	Past    index.View    // what queries look back on; nil: all events of Set
	Live    *Past         // instead, what queries look back on while it grows: see Predictor.Look
	Names   model.Names   // what nodes are called that come in with Live; nil: what Set says
	Device  device.Device // opened by open.Device; nil: the CPU
	Threads int           // that gather, and of the CPU if Device is nil; 0: all
	// Sampling is how splits, negatives and random neighbours are drawn. "": as in the training, or as Set prefers
	// where the checkpoint does not tell.
	Sampling protocol.Sampling

	Model string // name in the catalogue, of a checkpoint that does not tell: one of the released program
	// where such a checkpoint's configuration starts from; "" is the reference program's, the model's first
	Preset   string
	Order    protocol.Order // for a model that remembers; "": what the checkpoint says
	Settings []string       // key=value: what the shapes of tensors cannot tell, such as max_input_sequence_length

	// Shared is where predictors find what others have derived from the same Live; nil: each derives it for itself.
	Shared *model.Shared

	OnBatch func(done, total int) // told after every batch how many of the queries are done; may be nil
}

// Errors of Load that are worth telling apart.
var (
	ErrNoModel = errors.New("the checkpoint does not say which model it is of")
	ErrMisfit  = errors.New("the checkpoint does not fit") // it contradicts what was asked for, or itself
	// ErrNext and ErrNotNext are about the task "next".
	ErrNext    = errors.New("the model was trained to tell the next destination of a source (task next), not links")
	ErrNotNext = errors.New("the model was not trained to tell the next destination of a source (task next)")
)

// Load opens a trained model. Path is a run directory that Train filled, one of its checkpoints, a safetensors file
// with the tensor names of the released program, or the PyTorch file that this one wrote. Of a training with several
// seeds it is the best by validation: see Predictor.Choice. The caller closes the predictor, before the set and the
// device.
//
// A model of the task "next" does not answer queries about pairs: it is an ErrNext, and LoadChooser opens it.
func Load(path string, o Options) (*Predictor, error) {
	p, err := load(path, o)
	if err == nil && p.spec.Task == protocol.Next {
		p.Close()
		return nil, fmt.Errorf("%s: %w", p.choice.File, ErrNext)
	}
	return p, err
}

func load(path string, o Options) (*Predictor, error) {
	if o.Set == nil && o.Past == nil {
		return nil, errors.New("load a model: neither a data set nor a past to look back on")
	}
	choice, err := run.Best(path)
	if err != nil {
		return nil, err
	}
	file, err := run.ReadCheckpoint(choice.File)
	if err != nil {
		return nil, err
	}
	p := &Predictor{Top: 3, past: o.Past, options: o, choice: choice}
	if o.Set != nil {
		p.log = o.Set.Log
	}
	if o.Live != nil {
		now := o.Live.Now()
		p.log, p.past = now.log, now.view
	}
	if p.calibration, err = calibration.Parse(file.Meta[run.CalibrationKey]); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", choice.File, ErrMisfit, err)
	}
	factory, err := p.configure(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", choice.File, err)
	}
	if err := sameColumns(o.Set, file.Meta[run.SchemaKey]); err != nil {
		return nil, fmt.Errorf("%s: %w", choice.File, err)
	}
	p.origin = run.OriginOf(choice.File, file)
	if err := p.open(factory, file); err != nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", choice.File, err)
	}
	return p, nil
}

// sameColumns refuses a set whose columns became other numbers than those that the model was trained on.
func sameColumns(set *dataset.Set, raw string) error {
	if raw == "" || set == nil || set.Recipe == nil {
		return nil
	}
	was, err := dataset.ParseSchema([]byte(raw))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMisfit, err)
	}
	if !was.Columns.Edge.Same(&set.Recipe.Edge) {
		return fmt.Errorf("%w: the columns of %s are encoded in another way than those that it was trained on; want "+
			"data imported with the schema of this checkpoint (data import --schema)", ErrMisfit, set.Name)
	}
	if n := len(was.Kinds); len(set.Kinds) < n || !slices.Equal(set.Kinds[:n], was.Kinds) {
		return fmt.Errorf("%w: the events of %s have the kinds %s, it was trained on %s; want data imported with the "+
			"schema of this checkpoint (data import --schema)", ErrMisfit, set.Name, dataset.ListKinds(set.Kinds),
			dataset.ListKinds(was.Kinds))
	}
	return nil
}

// configure finds out which model it is, and with which configuration.
func (p *Predictor) configure(file checkpoint.File) (factory model.Factory, err error) {
	o := p.options
	p.name = file.Meta["model"]
	switch {
	case p.name != "" && o.Model != "" && o.Model != p.name:
		return factory, fmt.Errorf("%w: it is of %s, asked for is %s", ErrMisfit, p.name, o.Model)
	case p.name == "" && o.Model == "":
		return factory, ErrNoModel
	case p.name == "":
		p.name = o.Model
	}
	if factory, err = model.Find(p.name); err != nil {
		if o.Model == "" {
			err = fmt.Errorf("%w: it is of an %v", ErrMisfit, err) // no one asked for that
		}
		return factory, err
	}
	if raw := file.Meta["spec"]; raw != "" {
		if p.spec, err = carried(factory, raw, o.Preset, o.Settings); err != nil {
			return factory, err
		}
	} else if p.spec, err = recognised(factory, file, o.Preset, model.DataOf(o.Set), o.Settings); err != nil {
		return factory, err
	}
	return factory, factory.SetOrder(&p.spec, o.Order)
}

// Configure notes in a checkpoint that carries no configuration which model it is of, as LoadOptions would tell: it can
// then be loaded without being told. Presets may depend on the data set.
func Configure(f *checkpoint.File, name, preset string, data model.Data, settings []string) error {
	factory, err := model.Find(name)
	if err != nil {
		return err
	}
	spec, err := recognised(factory, *f, preset, data, settings)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if f.Meta == nil {
		f.Meta = map[string]string{}
	}
	f.Meta["model"], f.Meta["spec"] = name, string(raw)
	return nil
}

// carried is the configuration that a checkpoint carries, changed by settings.
func carried(f model.Factory, raw, preset string, settings []string) (model.Spec, error) {
	spec, err := f.Decode([]byte(raw))
	if err != nil {
		return spec, fmt.Errorf("%w: %v", ErrMisfit, err) // whatever is wrong with it, it is no setting of the caller's
	}
	if preset != "" && preset != spec.Preset {
		return spec, fmt.Errorf("%w: it was made with preset %s, asked for is %s", ErrMisfit, spec.Preset, preset)
	}
	if err := spec.Apply(settings); err != nil {
		return spec, err
	}
	if err := spec.Check(); err != nil {
		return spec, fmt.Errorf("%w: %w", model.ErrSetting, err)
	}
	return spec, nil
}

// recognised is the configuration that a preset, the shapes of a checkpoint's tensors and the settings give together.
func recognised(
	f model.Factory, file checkpoint.File, preset string, data model.Data, settings []string,
) (model.Spec, error) {
	if preset == "" {
		preset = f.Presets[0]
	}
	base, err := f.Spec(preset, data)
	if err != nil {
		return base, err
	}
	shapes := map[string][]int{}
	for _, t := range file.Tensors {
		if name, ours := strings.CutPrefix(t.Name, "param/"); ours || !strings.Contains(name, "/") {
			shapes[name] = t.Shape
		}
	}
	spec, err := f.FromTensors(base, shapes, settings...)
	if err != nil && !errors.Is(err, model.ErrSetting) {
		err = fmt.Errorf("%w: %w", ErrMisfit, err)
	}
	return spec, err
}

// open builds the model and gives it its weights.
func (p *Predictor) open(f model.Factory, file checkpoint.File) (err error) {
	o := p.options
	env := model.Env{Device: o.Device, OnFeatures: p.noteFeatures, Shared: o.Shared}
	if env.Device == nil {
		p.own = cpu.New(cpu.Options{Threads: o.Threads})
		env.Device = p.own
	}
	if o.Set != nil {
		env.Node, env.Edge, env.NumNodes = o.Set.Node, o.Set.Edge, max(o.Set.NumNodes(), p.log.NumNodes())
		env.Names, env.Timeline = o.Set.Names, o.Set.Timeline
		env.Kinds = func() []event.Kind { return model.KindsByEdge(o.Set.Log) }
		if o.Names != nil {
			env.Names = o.Names
		}
		env.Train = func() (event.Span, error) {
			split, err := p.trainSplit()
			if err != nil {
				return event.Span{}, err
			}
			return split.Train.All(), nil
		}
	}
	if o.Past != nil {
		env.NumNodes = max(env.NumNodes, o.Past.NumNodes())
	}
	guarded := tensor.Guard(func() {
		if p.model, err = f.Build(env, p.spec); err != nil {
			return
		}
		p.head = p.model.Head()
		if p.spec.Task == protocol.NodeClassification {
			p.classifier = train.ClassifierOf(p.model, p.spec, 0)
			p.head = p.classifier
		}
		p.scorer = model.NewScorerWith(p.model, p.head)
	})
	if err := errors.Join(guarded, err); err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	isState := func(t checkpoint.Tensor) bool { return strings.HasPrefix(t.Name, "state/") }
	p.stored = slices.ContainsFunc(file.Tensors, isState)
	file.Tensors = slices.DeleteFunc(slices.Clone(file.Tensors), func(t checkpoint.Tensor) bool {
		return f.Ignores(t.Name)
	})
	if err := train.Restore(p.model, p.classifier, file); err != nil {
		return fmt.Errorf("%w: %w", ErrMisfit, err)
	}
	p.model.Params().Keep()
	if memory, ok := p.scorer.Scorer().(model.StatefulScorer); ok {
		p.stream = p.newStream(memory)
	}
	if o.Live != nil {
		return p.learnFeatures(o.Live.Now())
	}
	return nil
}

// trainSplit is the split whose training part the model may know something of.
func (p *Predictor) trainSplit() (*dataset.Split, error) {
	if p.spec.Task == protocol.Next && !p.spec.LinkSplit() {
		return dataset.NewOrderSplit(p.options.Set.Log)
	}
	return dataset.NewSplit(p.options.Set.Log, dataset.SplitOptions{Sampling: p.sampling()})
}

func (p *Predictor) newStream(memory model.StatefulScorer) *stream {
	s := &stream{name: p.name, memory: memory, log: p.log, seen: -1, room: func(int) {}, open: p.options.Live != nil}
	if m, ok := p.model.(model.Memory); ok {
		s.room = m.Grow
	}
	if p.log != nil {
		s.known = p.log.Len()
	}
	s.pass = replay.Pass{
		BatchSize: p.spec.Training.BatchSize, Sampling: p.sampling(), Seed: 1, Threads: p.options.Threads,
		Order: p.spec.Order,
	}
	if plan := memory.UnitPlan(); plan.LooksBack() || plan.Distinct {
		s.pass.Past = p.view()
	}
	return s
}
