package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
)

// Pairing says how a model that embeds pairs learns the task "next": counts choose among all destinations, as CountNet
// does, and the model among those of a short list. Its JSON names are settings, beside those of the model itself.
type Pairing struct {
	Shortlist  int     `json:"shortlist" in:"[2,4096]" about:"candidates per group that the model ranks"`
	Candidates int     `json:"num_candidates" in:"[1,65536]" about:"negatives per event in training of the counts"`
	Hidden     int     `json:"counts_dim" in:"[1,65536]" about:"hidden width of the network on counts"`
	Rate       float64 `json:"counts_learning_rate" in:"(0,1]" about:"learning rate of the networks on counts"`
	LinkSplit  bool    `json:"link_split" about:"train on the split of links, for eval --protocol dyglib"`
	RateTrees  int     `json:"rate_trees" in:"[0,4096]" about:"maximum number of trees of a rate; 0: no rates"`
	Window     int     `json:"count_window" in:"[0,inf)" about:"latest events that count, up to twice as many; 0: all"`
	Span       float64 `json:"counts_span" in:"[0,inf)" about:"length of the training period, unit of decay times"`
	Day        float64 `json:"day_length" in:"[0,inf)" about:"length of a day in the unit of times; 0: unknown"`
}

// DefaultPairing is the same for all data, but for the length of time.
var DefaultPairing = Pairing{Shortlist: 8, Candidates: 31, Hidden: 64, Rate: 1e-3, RateTrees: 120}

// Check has nothing to add to the bounds of the settings.
func (p Pairing) Check() error { return nil }

// pairedScope is what the names of the parameters of counts begin with, beside "0." of the model and "1." of its head.
const pairedScope = "3"

// Pairs says whether models of a kind can learn the task "next" although they were not made for it: those that embed
// pairs and learn links.
func (f Factory) Pairs() bool { return f.Trains && f.Task == "" }

// KeysFor lists the settings that SpecFor takes.
func (f Factory) KeysFor(task protocol.Task) []string {
	if task == protocol.Next && f.Pairs() {
		return append(slices.Clip(f.keys), Keys(Pairing{})...)
	}
	return f.keys
}

// CanLearn says whether models of a kind can learn a task.
func (f Factory) CanLearn(task protocol.Task) bool {
	switch {
	case f.Task != "":
		return task == f.Task
	case task == protocol.Next:
		return f.Pairs()
	}
	return f.Trains
}

// SpecFor is Spec for a task; "" is the one that the models were made for. For the task "next" settings of Pairing are
// taken too. What a model remembers is then remembered in strict order, and probabilities are not fitted afterwards:
// they are what is learned.
func (f Factory) SpecFor(task protocol.Task, preset string, data Data, settings ...string) (Spec, error) {
	if task != protocol.Next || !f.Pairs() {
		return f.Spec(preset, data, settings...)
	}
	p := DefaultPairing
	p.Span, p.Day, p.Window = data.Span, data.Day, cmp.Or(p.Window, CountWindow(data.Events))
	own, rest := f.divide(settings)
	s, err := f.Spec(preset, data, rest...)
	if err != nil {
		return s, err
	}
	if err := Apply(own, &p); err != nil {
		return s, err
	}
	if err := checkBounds(p); err != nil {
		return s, fmt.Errorf("%w: %w", ErrSetting, err)
	}
	s.Task, s.Pairing, s.Training.Calibrate = protocol.Next, &p, false
	if f.Remembers {
		s.Order = protocol.Strict
	}
	return s, nil
}

// divide tells settings of Pairing from those of the model, which come first where both have a key.
func (f Factory) divide(settings []string) (pairing, rest []string) {
	keys := Keys(Pairing{})
	for _, s := range settings {
		key := settingKey(s)
		if slices.Contains(keys, key) && !slices.Contains(f.keys, key) {
			pairing = append(pairing, s)
		} else {
			rest = append(rest, s)
		}
	}
	return pairing, rest
}

// paired is a model that embeds pairs with counts beside it: a Chooser that compares the pairs of a short list.
type paired struct {
	Declared
	Counter
}

// pair adds counts to a model whose parameters have no memory yet.
func pair(m Declared, p Pairing, rate float64, seed uint64) Declared {
	c := paired{Declared: m, Counter: NewCounter(m.Params(), pairedScope, CounterSetup{
		Counts: next.Setup{Span: p.Span, Together: true, Profiles: true, Window: p.Window}, Hidden: p.Hidden,
		Candidates: p.Candidates,
		RateTrees:  p.RateTrees, Day: p.Day, Short: p.Shortlist}, seed)}
	c.DeclareRates(m.Params(), pairedScope)
	m.Params().Hasten(pairedScope+".", float32(p.Rate/rate))
	if memory, remembers := m.(declaredMemory); remembers {
		return &pairedMemory{declaredMemory: memory, Counter: c.Counter}
	}
	return &c
}

// Open opens the model.
func (p *paired) Open(env Env) error { return opened(p.Declared, p.feed, env) }

// Plan is that of the model, and the examples of training batches.
func (p *paired) Plan() sample.Plan { return withFeed(p.Declared.Plan(), p.feed) }

// Shape is that of the model.
func (p *paired) Shape(b *sample.Batch) uint64 { return shapeOf(p.Declared, b) }

// Unpaired is the model itself, without the counts that help it to learn the task "next".
func Unpaired(m Model) Model {
	switch p := m.(type) {
	case *paired:
		return p.Declared
	case *pairedMemory:
		return p.declaredMemory
	}
	return m
}

// declaredMemory is a model that remembers.
type declaredMemory interface {
	Memory
	Open(env Env) error
}

// pairedMemory is paired for a model that remembers.
type pairedMemory struct {
	declaredMemory
	Counter
}

// Open opens the model.
func (p *pairedMemory) Open(env Env) error { return opened(p.declaredMemory, p.feed, env) }

// Plan is that of the model, and the examples of training batches.
func (p *pairedMemory) Plan() sample.Plan { return withFeed(p.declaredMemory.Plan(), p.feed) }

// Shape is that of the model.
func (p *pairedMemory) Shape(b *sample.Batch) uint64 { return shapeOf(p.declaredMemory, b) }

// opened opens a model and tells its feed whether it describes each node alone.
func opened(m Declared, f *next.Feed, env Env) error {
	if err := m.Open(env); err != nil {
		return err
	}
	f.Lists().SetSided(isSided(m) && !m.Plan().ByCall)
	return nil
}

func withFeed(p sample.Plan, f *next.Feed) sample.Plan {
	p.Extras = append(slices.Clip(p.Extras), f)
	return p
}

func shapeOf(m Model, b *sample.Batch) uint64 {
	if s, ok := m.(Shaper); ok {
		return s.Shape(b)
	}
	return 0
}
