package modeltest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// entry is a member of the catalogue on trial.
type entry struct {
	name    string
	factory model.Factory
	world   *world
	bare    *world           // the same without features
	timed   *world           // the same with features of nodes that change over time
	specs   []model.Spec     // small, and with every promise kept: one, or the variants of a rule
	forms   []model.Spec     // these, and the reference's own with random neighbours, which need not keep them
	devices [3]device.Device // with 1, 2 and 3 threads
}

func newEntry(t testing.TB, name string, f model.Factory) *entry {
	t.Helper()
	e := &entry{name: name, factory: f, world: newWorld(t, true), bare: newWorld(t, false),
		timed: newTimedWorld(t)}
	for i := range e.devices {
		e.devices[i] = Device(t, i+1)
	}
	spec := e.small(t, "", promising...)
	e.specs = []model.Spec{spec}
	if f.Trains {
		e.forms = e.distinct(t, spec, e.small(t, f.Presets[0], "sample_neighbor_strategy=uniform"))
		return e
	}
	variants, err := f.Variants()
	must(t, err)
	if len(variants) > 0 {
		e.specs = nil
	}
	for _, v := range variants {
		v.Spec.Training.BatchSize, v.Spec.Order = batchSize, spec.Order
		e.specs = append(e.specs, v.Spec)
	}
	e.forms = e.specs
	return e
}

// distinct leaves out configurations that are there already.
func (e *entry) distinct(t testing.TB, specs ...model.Spec) (list []model.Spec) {
	t.Helper()
	seen := map[string]bool{}
	for _, spec := range specs {
		if key := jsonOf(t, spec.Config); !seen[key] {
			seen[key] = true
			list = append(list, spec)
		}
	}
	return list
}

// promising are the settings under which a model keeps every promise; those that it does not have are left out.
var promising = []string{"exact_times=true", "padding=fixed", "sample_neighbor_strategy=recent"}

// small is a configuration with every size as small as it can be made, which learns in short steps, in strict order.
func (e *entry) small(t testing.TB, preset string, settings ...string) model.Spec {
	t.Helper()
	settings = append(settings, "num_epochs=2", fmt.Sprint("batch_size=", batchSize), "learning_rate=0.01")
	settings = slices.DeleteFunc(settings, func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return !slices.Contains(e.factory.Keys(), key)
	})
	data := e.world.data(e.world.set.Name, false)
	spec, err := e.factory.Spec(preset, data, settings...)
	must(t, err)
	for range 2 { // what did not fit beside a large size may fit beside a small one
		for _, s := range model.Settings(spec.Config) {
			if s.Value == any(data.Span) {
				continue // what is taken from the data is no size
			}
			for _, less := range smaller(s.Key) {
				if less >= size(s.Value) {
					break
				}
				tried := append(slices.Clip(settings), fmt.Sprint(s.Key, "=", less))
				if smaller, err := e.factory.Spec(preset, data, tried...); err == nil {
					spec, settings = smaller, tried
					break
				}
			}
		}
	}
	if e.factory.Remembers {
		spec.Order = protocol.Strict
	}
	return spec
}

// size is the value of a setting if that is a whole number, of neighbours or of columns, and otherwise 0.
func size(value any) int {
	switch x := value.(type) {
	case int:
		return x
	case float64:
		if x == math.Trunc(x) && x < math.MaxInt32 {
			return int(x)
		}
	}
	return 0
}

// smaller is what is tried for a size: widths that even numbers of heads divide, and lengths that histories exceed.
func smaller(key string) []int {
	if strings.HasSuffix(key, "dim") {
		return []int{8, 12, 16, 24, 32, 48, 64}
	}
	return []int{4, 5, 6, 8, 10, 16, 32}
}

// player is something of the catalogue that was built: a model with its scorer, or a rule.
type player struct {
	model.Scorer
	model model.Model // nil: a rule
}

// build makes a player of seed 1 in the entry's world, on two threads. It is closed when the test ends.
func (e *entry) build(t testing.TB, spec model.Spec) player {
	t.Helper()
	return e.buildIn(t, e.world, e.devices[1], spec, 1)
}

func (e *entry) buildIn(t testing.TB, w *world, dev device.Device, spec model.Spec, seed uint64) player {
	t.Helper()
	if !e.factory.Trains {
		rule, err := e.factory.Rule(spec)
		must(t, err)
		return player{Scorer: rule}
	}
	m, err := e.factory.Build(w.environment(dev, seed), spec)
	must(t, err)
	scorer := model.NewScorer(m)
	t.Cleanup(func() { scorer.Close(); m.Close() })
	return player{scorer.Scorer(), m}
}

// data describes the world as if it had another name.
func (w *world) data(name string, imported bool) model.Data {
	d := model.DataOf(w.set)
	d.Name, d.Imported = name, imported
	return d
}

func (w *world) environment(dev device.Device, seed uint64) model.Env {
	return model.Env{
		Device: dev, Node: w.set.Node, Edge: w.set.Edge, Timeline: w.set.Timeline, NumNodes: w.set.NumNodes(),
		Seed: seed, Train: func() (event.Span, error) { return w.split.Train.All(), nil },
	}
}

// memory is the player as one that remembers, nil if it does not.
func (p player) memory() model.StatefulScorer {
	m, _ := p.Scorer.(model.StatefulScorer)
	return m
}

// ask asks a player about queries, in one batch.
func (p player) ask(t testing.TB, past index.View, qs []sample.Query) []float32 {
	t.Helper()
	return p.answer(t, gather(past, p.Plan(), qs, len(qs), event.Span{}))
}

// about are the queries whether events happen.
func about(events event.Span) (qs []sample.Query) {
	for i, u := range events.Src {
		qs = append(qs, sample.Query{Src: u, Dst: events.Dst[i], Time: events.Time[i]})
	}
	return qs
}

// must ends a test that something went wrong in.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gather is a batch of queries, of which this many are about events. Random neighbours are picked from the start.
func gather(past index.View, plan sample.Plan, qs []sample.Query, positives int, events event.Span) *sample.Batch {
	if plan.Picker != nil {
		plan.Picker.Reset()
	}
	b := &sample.Batch{Positives: positives, Events: events}
	sample.Gatherer{Threads: 2}.Gather(past, plan, qs, b)
	return b
}

func (p player) answer(t testing.TB, b *sample.Batch) []float32 {
	t.Helper()
	out := make([]float32, len(b.Queries))
	must(t, p.Score(b, out))
	return out
}

// snapshot is all that a player remembers.
func (p player) snapshot(t testing.TB) []tensor.Named {
	t.Helper()
	list, err := p.memory().Snapshot()
	must(t, err)
	return list
}

// differ says where two lists of answers differ: at all on a CPU, by more than 1e-4 on a GPU.
func differ(got, want []float32) (at int, yes bool) {
	for i := range want {
		off := math.Abs(float64(got[i]) - float64(want[i]))
		if onGPU() && off <= 1e-4*max(1, math.Abs(float64(want[i]))) {
			continue
		}
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return i, true
		}
	}
	return 0, false
}

// same says whether two snapshots are equal: to the last bit on a CPU, nearly on a GPU. Of tables [rows, columns] that
// have grown the beginnings count.
func same(a, b []tensor.Named) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.Name != y.Name || len(x.Shape) != len(y.Shape) || len(x.Shape) != 2 && !slices.Equal(x.Shape, y.Shape) {
			return false
		}
		n, m := min(len(x.Data), len(y.Data)), min(len(x.Bytes), len(y.Bytes))
		if _, yes := differ(x.Data[:n], y.Data[:n]); yes || !slices.Equal(x.Bytes[:m], y.Bytes[:m]) {
			return false
		}
	}
	return true
}

func jsonOf(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	must(t, err)
	return string(raw)
}

// Small is a configuration of an entry of the catalogue that keeps every promise and is quick to try, and the data set
// that goes with it.
func Small(t testing.TB, name string, f model.Factory) (model.Spec, *dataset.Set) {
	t.Helper()
	e := newEntry(t, name, f)
	return e.specs[0], e.world.set
}

// SmallNext is Small for the task "next", which other models learn with few trees.
func SmallNext(t testing.TB, name string, f model.Factory) (model.Spec, *dataset.Set) {
	t.Helper()
	s, set := Small(t, name, f)
	if f.Task == protocol.Next {
		return s, set
	}
	p := model.DefaultPairing
	p.Span, p.Shortlist, p.RateTrees = model.DataOf(set).Span, 4, 2
	s.Task, s.Pairing, s.Training.Calibrate = protocol.Next, &p, false
	if f.Remembers {
		s.Order = protocol.Strict
	}
	return s, set
}
