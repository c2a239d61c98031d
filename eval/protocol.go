package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// Part is one of the sets that a model is measured on.
type Part uint8

// The parts: validation and test, all of it, and the events with a node that training did not show.
const (
	Val Part = iota
	NewVal
	Test
	NewTest
)

// String is the part's name.
func (p Part) String() string {
	return [...]string{"val", "new node val", "test", "new node test"}[p]
}

// PartOf is the part that a scenario's results are measured on.
func PartOf(scenario protocol.Scenario) (Part, error) {
	if scenario == protocol.Inductive {
		return NewTest, nil
	}
	return Test, protocol.Check("setting", scenario, protocol.Scenarios())
}

// Options are the choices within the protocol. The zero value is the published one.
type Options struct {
	Task        protocol.Task     // "" is link prediction; node classification has no negatives
	Sampling    protocol.Sampling // "" is protocol.Reference
	BatchSize   int               // 0 is 200
	PerPositive int               // negatives for each positive in evaluation; 0 is 1
	NoneHidden  bool              // Open cuts by time alone, no node is hidden from training
	LinkSplit   bool              // task "next": Open cuts as for links, with nodes hidden from training
	SeenOnly    bool              // Val and Test without the events that NewVal and NewTest have
	Order       protocol.Order    // in which a memory learns of events; "" is protocol.Arrival
	Avoid       bool              // native: random negatives are no positives of their batch
	Threads     int               // that gather; 0: as many as Go may use

	// Calibration is the scorer's map from its logits to probabilities that mean something, of which the calibration
	// error is measured. AP, AUC and loss do without.
	Calibration *calibration.Map

	// Shares of the kinds of negatives in training; the zero value is random ones alone.
	Shares protocol.Shares

	Classes []string      // that the scorer tells apart, by name; nil: two, told by a label that is not 0
	Target  *model.Target // what a scorer of regression tells

	ByKind bool // queries tell the kind of the event that is asked about

	Limits Limits // parts of the events; the zero value is all

	Ranks *collective.Group // processes that share the batches of an evaluation of links; nil: this one has all

	OnBatch   func(done, total int) // progress of every pass that asks; may be nil
	OnWarm    func(done, total int) // progress of Warm, in events of training and validation; may be nil
	OnAnswers func(Answers)         // told every batch of every evaluation, once it is measured; may be nil
}

// Protocol is who is asked about what: for training and each evaluation it hands out the events, the past that may be
// seen, and negatives from the right source and seed. Its passes share generators and are for one goroutine at a time.
type Protocol struct {
	split       *dataset.Split
	whole       *dataset.Split // before limits
	limits      Limits
	continued   bool      // see Continued
	beside      bool      // what is asked about lies beside the events: labels of nodes with times of their own
	until       time.Time // when evaluations end; zero: never
	options     Options
	train, full func() index.View
	parts       [4]*event.Log // what is asked about
	pools       [4]*event.Log // what that was sampled from, which negatives are drawn from too
	drawing     *drawing
	classes     *dataset.Classes // of labels; nil: two, told by a label that is not 0
	values      []float64        // of events, by edge
	first       [4]func() []bool // of test parts: which events are first meetings
}

// NewProtocol makes the protocol of a split.
func NewProtocol(s *dataset.Split, o Options) *Protocol {
	if o.Order == "" {
		o.Order = protocol.Arrival
	}
	p := &Protocol{split: s, whole: s, options: o}
	p.begin()
	if o.Limits.Any() {
		return p.Limit(o.Limits)
	}
	return p
}

// begin makes what follows from the split.
func (p *Protocol) begin() {
	s := p.split
	p.pools = [4]*event.Log{s.Val, s.NewVal, s.Test, s.NewTest}
	p.drawing = &drawing{negatives: map[string]sample.Negatives{}, pools: map[*event.Log]*sample.Pool{}}
	p.train = sync.OnceValue(func() index.View { return index.Freeze(s.Train) })
	p.full = sync.OnceValue(func() index.View { return index.Freeze(s.Full) })
	if p.options.SeenOnly {
		p.pools[Val], p.pools[Test] = seen(s.Val, s.NewNodes), seen(s.Test, s.NewNodes)
	}
	p.parts = p.pools
	p.findFirsts(Test)
	p.findFirsts(NewTest)
}

// With is the same protocol with other options of those that concern answers alone: OnBatch, OnAnswers and Calibration.
// It shares generators with p.
func (p *Protocol) With(change func(*Options)) *Protocol {
	other := *p
	change(&other.options)
	return &other
}

// Task is what the protocol asks.
func (p *Protocol) Task() protocol.Task { return cmp.Or(p.options.Task, protocol.LinkPrediction) }

// Classes are those of labels; nil: two, told by a label that is not 0.
func (p *Protocol) Classes() *dataset.Classes { return p.classes }

// named says whether classes have names.
func (p *Protocol) named() bool { return p.classes != nil && p.classes.Names != nil }

// Values are those of events, by edge; nil: they have none.
func (p *Protocol) Values() []float64 { return p.values }

// Split is the split the protocol is about.
func (p *Protocol) Split() *dataset.Split { return p.split }

// Whole is the split before limits.
func (p *Protocol) Whole() *dataset.Split { return p.whole }

// Events is what a part asks about.
func (p *Protocol) Events(part Part) *event.Log { return p.parts[part] }

// Train is the pass for all epochs of one run over Split().Train: only training events are seen, and negatives are
// random ones from a generator that is seeded by the run's number and never reset, mixed with others where the options
// have shares of them.
//
// For node classification and regression nothing is hidden and nothing is drawn: all events are seen, each at its time.
// For the task "next" nothing is drawn here.
func (p *Protocol) Train(run uint64) (replay.Pass, error) {
	if p.Task().OfEvents() {
		pass, err := p.Pass(Val, "")
		pass.Seed = 0
		return pass, err
	}
	if p.Task() == protocol.Next { // candidates are drawn by the model's feed, which has its own past
		return p.pass(index.Freeze(event.NewLog(0)), nil, 0), nil
	}
	n, err := sample.NewNegatives(p.whole.Train,
		sample.NegativeOptions{Sampling: p.options.Sampling, Seed: run, Avoid: p.options.Avoid})
	if err != nil {
		return replay.Pass{}, fmt.Errorf("training negatives: %w", err)
	}
	if p.options.Shares.Mixed() {
		if n, err = sample.NewMixture(p.split.Train, n, p.options.Shares, run); err != nil {
			return replay.Pass{}, fmt.Errorf("training negatives: %w", err)
		}
	}
	return p.pass(p.train(), n, 0), nil
}

// TrainPairs is Train for a model of the task "next" that compares pairs: only training events are seen. Whom they are
// compared with is the model's own business.
func (p *Protocol) TrainPairs() replay.Pass { return p.pass(p.train(), nil, 0) }

// Shares are those of the kinds of negatives in training.
func (p *Protocol) Shares() protocol.Shares {
	if len(p.options.Shares) == 0 {
		return protocol.PlainShares()
	}
	return p.options.Shares
}

// Pass is the pass over Events(part): all events before a query are seen, whoever they belong to. Negatives of Val and
// Test come from all events, those of NewVal and NewTest from their own; each part has its seed. Inductive ones had not
// met when the part's period began.
func (p *Protocol) Pass(part Part, strategy protocol.Negatives) (replay.Pass, error) {
	pass, err := p.questions(part, strategy)
	if err == nil {
		pass.Past = p.full()
	}
	return pass, err
}

// passFor is the Pass for a scorer. One that looks at nothing has no past to look at: to index all events takes longer
// than to count pairs.
func (p *Protocol) passFor(s replay.Scorer, part Part, strategy protocol.Negatives) (replay.Pass, error) {
	looks := looksBack(s.Plan())
	if memory, remembers := s.(replay.Memory); remembers {
		looks = looks || looksBack(memory.UnitPlan())
	}
	if looks {
		return p.Pass(part, strategy)
	}
	return p.questions(part, strategy)
}

func looksBack(p sample.Plan) bool { return p.LooksBack() || p.Distinct }

// questions is a Pass without a past.
func (p *Protocol) questions(part Part, strategy protocol.Negatives) (replay.Pass, error) {
	if p.Task().OfEvents() {
		return p.pass(nil, nil, 1), nil
	}
	o := sample.NegativeOptions{Strategy: strategy, Sampling: p.options.Sampling, Seed: uint64(part),
		Observed: p.observed(part), Kinds: p.kinds()}
	o.Avoid = p.options.Avoid && strategy == protocol.RandomNegatives
	from := p.whole.Full
	if part == NewVal || part == NewTest {
		from = p.pools[part]
	}
	n, err := p.drawing.draw(part.String()+"/"+string(strategy), from, o)
	if err != nil {
		return replay.Pass{}, fmt.Errorf("negatives of %v: %w", part, err)
	}
	pass := p.pass(nil, n, 1)
	pass.PerPositive = p.options.PerPositive
	return pass, nil
}

// drawing is the negatives of a protocol's passes. Kinds that draw from the same events share what is found in them.
type drawing struct {
	mutex     sync.Mutex // guards both maps
	negatives map[string]sample.Negatives
	pools     map[*event.Log]*sample.Pool
}

// draw is the negatives with a name, made when they are first asked for.
func (d *drawing) draw(name string, from *event.Log, o sample.NegativeOptions) (sample.Negatives, error) {
	d.mutex.Lock()
	n, pool := d.negatives[name], d.pools[from]
	if pool == nil {
		pool = sample.NewPool(from)
		d.pools[from] = pool
	}
	d.mutex.Unlock()
	if n != nil {
		return n, nil
	}
	n, err := pool.Negatives(o)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err == nil {
		d.negatives[name] = n
	}
	return n, err
}

// pass looks back on a past; random neighbours are picked from a seed.
func (p *Protocol) pass(past index.View, n sample.Negatives, seed uint64) replay.Pass {
	o := p.options
	return replay.Pass{
		Past: past, Negatives: n, BatchSize: o.BatchSize, Sampling: o.Sampling, Seed: seed,
		Threads: o.Threads, Order: o.Order, OnBatch: o.OnBatch, Kinds: o.ByKind,
	}
}

// kinds is how many kinds the events have.
func (p *Protocol) kinds() int { return sample.KindsOf(p.whole.Full.All()) }

// observed is the time of the last event before a part's period: of Train, or of Val.
func (p *Protocol) observed(part Part) event.Time {
	before := p.split.Train
	if (part == Test || part == NewTest) && p.split.Val.Len() > 0 {
		before = p.split.Val
	}
	if before.Len() == 0 {
		return math.Inf(-1)
	}
	return before.At(before.Len() - 1).Time
}

// Evaluate measures a scorer on a part and rewinds what it remembers to where it was, whatever happens. For Test and
// NewTest that is the state after validation: see Validate and Warm.
func (p *Protocol) Evaluate(
	ctx context.Context, s replay.Scorer, part Part, strategy protocol.Negatives,
) (r Result, err error) {
	err = rewound(s, true, func() error {
		r, err = p.run(ctx, s, part, strategy)
		return err
	})
	return r, err
}

// evaluateTogether is Evaluate for contenders that share a memory. They are asked the same questions about links, batch
// by batch, so that negatives are drawn, and events are remembered, once for all.
func (p *Protocol) evaluateTogether(
	ctx context.Context, list []Contender, part Part, strategy protocol.Negatives,
) (results []Result, err error) {
	err = rewound(list[0].Scorer, true, func() error {
		results, err = p.links(ctx, part, strategy, list...)
		return err
	})
	return results, err
}

// Validate measures a scorer on NewVal and Val with random negatives. Both start from what it remembers of training,
// and it ends with what it remembers after Val, which is where testing starts and what a checkpoint holds. If it is
// interrupted it remembers training alone.
func (p *Protocol) Validate(ctx context.Context, s replay.Scorer) (val, newVal Result, err error) {
	if p.Task() == protocol.LinkPrediction {
		if newVal, err = p.Evaluate(ctx, s, NewVal, protocol.RandomNegatives); err != nil {
			return val, newVal, err
		}
	}
	err = OrRewind(s, func() error {
		val, err = p.run(ctx, s, Val, protocol.RandomNegatives)
		return err
	})
	return val, newVal, err
}

// OrRewind lets a scorer do something. If that fails, the scorer is taken back to what it remembered before.
func OrRewind(s replay.Scorer, do func() error) error { return rewound(s, false, do) }

// rewound lets a scorer do something and takes it back to what it remembered before: always, or only if that failed.
func rewound(s replay.Scorer, always bool, do func() error) error {
	memory, remembers := s.(model.StatefulScorer)
	if !remembers {
		return do()
	}
	if marker, ok := s.(model.Rewinder); ok && always {
		defer marker.Mark()()
		return do()
	}
	before, err := memory.Snapshot()
	if err != nil {
		return fmt.Errorf("keep what is remembered: %w", err)
	}
	err = do()
	if err == nil && !always {
		return nil
	}
	if rewind := memory.Restore(before); rewind != nil {
		return errors.Join(err, fmt.Errorf("rewind: %w", rewind))
	}
	return err
}

// Warm makes a scorer remember Train and Val and nothing else, as if it had been through both: what it looks up for a
// unit of Train are events of Train, as in training, and all events for one of Val.
func (p *Protocol) Warm(ctx context.Context, s model.StatefulScorer) error {
	return p.warm(ctx, s, Test)
}

// warm makes a scorer remember what comes before a part: Train, and for Test Val too.
func (p *Protocol) warm(ctx context.Context, s model.StatefulScorer, before Part) error {
	if err := s.Restore(nil); err != nil {
		return fmt.Errorf("forget everything: %w", err)
	}
	done := 0
	for _, part := range []struct {
		events *event.Log
		past   func() index.View
		seed   uint64
	}{{p.split.Train, p.train, 0}, {p.split.Val, p.full, 1}} {
		if before == Val && part.events == p.split.Val {
			break
		}
		pass := p.pass(nil, nil, part.seed)
		if looksBack(s.UnitPlan()) {
			pass.Past = part.past()
		}
		pass.OnBatch = p.warming(done)
		if err := pass.Remember(ctx, s, part.events.All()); err != nil {
			return err
		}
		done += part.events.Len()
	}
	return nil
}

// warming tells OnWarm of a pass that begins after this many events.
func (p *Protocol) warming(before int) func(done, total int) {
	if p.options.OnWarm == nil {
		return nil
	}
	total := p.split.Train.Len() + p.split.Val.Len()
	return func(done, _ int) { p.options.OnWarm(before+done, total) }
}

// Revalidate measures a scorer on Val as a training did: from what it remembers after Train. It is rewound to where it
// was.
func (p *Protocol) Revalidate(ctx context.Context, s replay.Scorer) (r Result, err error) {
	err = rewound(s, true, func() error {
		if memory, remembers := s.(model.StatefulScorer); remembers {
			if err := p.warm(ctx, memory, Val); err != nil {
				return err
			}
		}
		r, err = p.run(ctx, s, Val, protocol.RandomNegatives)
		return err
	})
	return r, err
}

func (p *Protocol) run(ctx context.Context, s replay.Scorer, part Part, strategy protocol.Negatives) (Result, error) {
	if strategy == protocol.TimeNegatives && p.Task() == protocol.LinkPrediction {
		r, err := p.timed(ctx, s, part)
		if err != nil {
			return Result{}, fmt.Errorf("%v with %s negatives: %w", part, strategy, err)
		}
		return r, nil
	}
	var measure func(context.Context, replay.Scorer, replay.Pass, Part) (Result, error)
	switch {
	case p.Task() == protocol.Regression:
		measure = p.regress
	case p.Task() == protocol.NodeClassification && p.named():
		measure = p.classesOf
	case p.Task() == protocol.NodeClassification:
		measure = p.classify
	default:
		r, err := p.links(ctx, part, strategy, Contender{Scorer: s, Calibration: p.options.Calibration})
		if err != nil {
			return Result{}, err
		}
		return r[0], nil
	}
	pass, err := p.prepare(ctx, s, part, strategy)
	if err != nil {
		return Result{}, err
	}
	return measure(ctx, s, pass, part)
}

// prepare is the pass for a scorer: indexes, pairs and first meetings are found here.
func (p *Protocol) prepare(
	ctx context.Context, s replay.Scorer, part Part, strategy protocol.Negatives,
) (replay.Pass, error) {
	return await.Do(ctx, func() (replay.Pass, error) {
		p.FirstMeetings(part)
		return p.passFor(s, part, strategy)
	})
}

// links measures contenders on links. Several share a memory.
func (p *Protocol) links(
	ctx context.Context, part Part, strategy protocol.Negatives, list ...Contender,
) ([]Result, error) {
	pass, err := p.prepare(ctx, list[0].Scorer, part, strategy)
	if err != nil {
		return nil, err
	}
	results, err := p.measure(ctx, pass, part, list...)
	if err != nil {
		return nil, fmt.Errorf("%v with %s negatives: %w", part, strategy, err)
	}
	return results, nil
}

// seen keeps the events without any of the nodes.
func seen(l *event.Log, nodes []event.Node) *event.Log {
	unseen := make(map[event.Node]bool, len(nodes))
	for _, n := range nodes {
		unseen[n] = true
	}
	all := l.All()
	return l.Select(func(i int) bool { return !unseen[all.Src[i]] && !unseen[all.Dst[i]] })
}
