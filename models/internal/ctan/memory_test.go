package ctan

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// TestUnits: events that nobody has asked about are remembered as those that were, and so are events among negatives.
func TestUnits(t *testing.T) {
	asked, unit, again := newGolden(t, small(t), 2), newGolden(t, small(t), 2), newGolden(t, small(t), 2)
	tp := grad.NewTape(asked.dev, false)
	defer tp.Close()
	for i := range 9 {
		tp.Reset(0)
		batch := asked.ask(t, each*i, each*(i+1))
		_, e := model.Logits(tp, asked.Model, asked.Head(), batch)
		asked.Commit(tp, batch, &e)

		other := grad.NewTape(unit.dev, false)
		batch = unit.ask(t, each*i, each*(i+1))
		sample.Gather(nil, unit.UnitPlan(), slices.Clone(batch.Queries[:each]), batch)
		unit.Commit(other, batch, nil)
		other.Close()
	}
	again.replay(t, 9)
	want := asked.Snapshot()
	for name, b := range map[string]*bench{"alone": unit, "among negatives": again} {
		if got := b.Snapshot(); !reflect.DeepEqual(got, want) {
			t.Errorf("events %s are remembered as %v, want %v", name, got, want)
		}
	}
}

// TestOrders walks the golden events, asking about them alone: in the order of arrival the golden positives are
// answered as in the official program. In strict order, which here waits for later instants, all are remembered in
// the end.
func TestOrders(t *testing.T) {
	g, _ := stored(t)
	for _, order := range protocol.Orders() {
		b := newGolden(t, small(t), 2)
		scorer := model.NewScorer(b.Model)
		defer scorer.Close()
		answerer := scorer.Scorer().(model.StatefulScorer)
		out := make([]float32, each)
		same := 0
		pass := replay.Pass{BatchSize: each, Order: order}
		for step, err := range pass.Batches(t.Context(), answerer, b.log.All()) {
			if err != nil {
				t.Fatal(err)
			}
			if err := answerer.Score(step.Batch, out); err != nil {
				t.Fatal(err)
			}
			for i, x := range out {
				if d := float64(x) - g.Batches[step.Number].Positive[i]; d < 1e-6 && d > -1e-6 {
					same++
				}
			}
		}
		if same != b.log.Len() && order == protocol.Arrival {
			t.Errorf("%s: %d of %d logits are the official program's", order, same, b.log.Len())
		}
		want := newRing(b.ring.nodes(), b.ring.each, b.ring.start)
		want.remember(b.log.All(), b.shift.cut)
		if !slices.Equal(b.ring.links, want.links) || !slices.Equal(b.ring.last, want.last) {
			t.Errorf("%s: not all events are remembered", order)
		}
	}
}

// TestRewind: what was remembered can be put back, or forgotten.
func TestRewind(t *testing.T) {
	b := newBench(t, toyLog(t), small(t), 2)
	empty := b.Snapshot()
	first := text(b.logits(t, b.ask(t, 0, each).Queries))
	b.replay(t, 8)
	half := b.Snapshot()
	queries := slices.Clone(b.ask(t, 40, 60).Queries)
	want := text(b.logits(t, queries))
	b.replay(t, 12)
	if got := text(b.logits(t, queries)); got == want {
		t.Error("more events make no difference")
	}
	if err := b.Restore(half); err != nil {
		t.Fatal(err)
	}
	if got := text(b.logits(t, queries)); got != want {
		t.Errorf("after rewinding %s, want %s", got, want)
	}
	if got := b.Snapshot(); !reflect.DeepEqual(got, half) {
		t.Error("what was put back differs")
	}
	if err := b.Restore(nil); err != nil {
		t.Fatal(err)
	}
	if got := b.Snapshot(); !reflect.DeepEqual(got, empty) {
		t.Error("something is left after everything was forgotten")
	}
	if got := text(b.logits(t, b.ask(t, 0, each).Queries)); got != first {
		t.Errorf("after forgetting %s, want %s", got, first)
	}
}

// TestBadMemories are refused, and change nothing.
func TestBadMemories(t *testing.T) {
	b := newBench(t, toyLog(t), small(t), 2)
	b.replay(t, 8)
	good := b.Snapshot()
	change := func(name string, f func(x *tensor.Named)) []tensor.Named {
		list := slices.Clone(good)
		for i := range list {
			x := &list[i]
			x.Data, x.Bytes, x.Shape = slices.Clone(x.Data), slices.Clone(x.Bytes), slices.Clone(x.Shape)
			if x.Name == name {
				f(x)
			}
		}
		return list
	}
	const row = 5 * linkBytes // of a node's neighbours
	for _, tt := range []struct {
		name   string
		change func(x *tensor.Named)
		want   string
	}{
		{linksName, func(x *tensor.Named) { x.Name = "other" }, "memory neighbors has shape []"},
		{linksName, func(x *tensor.Named) { x.Shape[1]--; x.Bytes = x.Bytes[10:] }, "neighbors has shape [10 79]"},
		{linksName, func(x *tensor.Named) { x.Shape[0]--; x.Bytes = x.Bytes[row:] }, "9 nodes, last_update of 10"},
		{linksName, func(x *tensor.Named) { x.Bytes[row+3] = 1 }, "neighbors, row 1 is node 16777"},
		{linksName, func(x *tensor.Named) { x.Bytes[row+3] = 0xff }, "neighbors, row 1 is node -"},
		{linksName, func(x *tensor.Named) { x.Bytes[row+7] = 0xff }, "neighbors, row 1 is node 7, event -"},
		{linksName, func(x *tensor.Named) { infinite(x.Bytes[row+8:]) }, "row 1 is node 7, event 38 at +Inf"},
		{lastName, func(x *tensor.Named) { infinite(x.Bytes[2*timeBytes:]) }, "last_update, row 2 is +Inf"},
		{shiftName, func(x *tensor.Named) { x.Name = "other" }, "memory time_shift has shape []"},
		{shiftName, func(x *tensor.Named) { x.Shape[0]++; x.Bytes = append(x.Bytes, x.Bytes...) }, "has 2 rows"},
		{shiftName, func(x *tensor.Named) { clear(x.Bytes[2*timeBytes:]) }, "a deviation above 0"},
		{"memory", func(x *tensor.Named) { x.Shape[0] = 9 }, "memory memory has shape [9 8]"},
	} {
		if err := b.Restore(change(tt.name, tt.change)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
		if !reflect.DeepEqual(b.Snapshot(), good) {
			t.Fatalf("%s: something has changed", tt.want)
		}
	}
}

// infinite makes a time of b.
func infinite(b []byte) { binary.LittleEndian.PutUint64(b, math.Float64bits(math.Inf(1))) }

// TestSaveAndLoad: a checkpoint answers as the model did that it was made of, also where the training data are not at
// hand.
func TestSaveAndLoad(t *testing.T) {
	spec, err := Factory.Spec("", model.Data{EdgeDim: 8}, "memory_dim=16", "final_tanh=true")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, toyLog(t), *spec.Config.(*Config), 2)
	b.replay(t, 8)
	queries := slices.Clone(b.ask(t, 40, 60).Queries)
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	file := checkpoint.File{}
	file.AddParams(b.Params())
	for _, x := range b.Snapshot() {
		x.Name = "state/" + x.Name
		file.Tensors = append(file.Tensors, x)
	}
	path := filepath.Join(t.TempDir(), "checkpoint.safetensors")
	if err := checkpoint.Save(path, file); err != nil {
		t.Fatal(err)
	}
	back, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Factory.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	env := environment(t, b.dev, b.log)
	env.Train, env.NumNodes, env.Seed = nil, 0, 7
	m, err := Factory.Build(env, again)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := train.Restore(m, nil, back); err != nil {
		t.Fatal(err)
	}
	loaded := &bench{Model: m.(*Model), dev: b.dev, log: b.log}
	if got, want := text(loaded.logits(t, queries)), text(b.logits(t, queries)); got != want {
		t.Errorf("after loading %s, want %s", got, want)
	}
	if !reflect.DeepEqual(loaded.Snapshot(), b.Snapshot()) {
		t.Error("another memory was loaded")
	}
}

// TestGrow: room for more nodes changes nothing, and new nodes are as if they had been there from the beginning.
func TestGrow(t *testing.T) {
	const nodes = 40
	c := small(t)
	log := toyLog(t)
	dev := modeltest.Device(t, 2)
	build := func(nodes int) *bench {
		env := environment(t, dev, log)
		env.NumNodes = nodes
		m, err := Factory.Build(env, model.Spec{Config: &c})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return &bench{Model: m.(*Model), dev: dev, log: log}
	}
	large, grown := build(nodes), build(log.NumNodes())
	large.replay(t, 8)
	grown.replay(t, 8)
	before := grown.Shape(grown.ask(t, 40, 60))
	stranger := []sample.Query{{Src: 1, Dst: 1000, Time: 2e6}, {Src: 1000, Dst: 1001, Time: 2e6}}
	if got := grown.logits(t, stranger); got[0] == got[1] {
		t.Errorf("nodes that nothing is known of: %v", got)
	}
	grown.Grow(nodes)
	if grown.Shape(grown.ask(t, 40, 60)) == before {
		t.Error("a recorded step would go on with tables that have moved")
	}
	fresh := []sample.Query{{Src: 1, Dst: nodes - 1, Time: 2e6}, {Src: 20, Dst: 7, Time: 2e6}}
	queries := append(slices.Clone(grown.ask(t, 40, 60).Queries), fresh...)
	if got, want := text(grown.logits(t, queries)), text(large.logits(t, queries)); got != want {
		t.Errorf("after growing %s, want %s", got, want)
	}
	meet := func(n event.Node) error {
		tp := grad.NewTape(dev, false)
		defer tp.Close()
		l := event.NewLog(1)
		if _, err := l.Append(event.Event{Src: 1, Dst: n, Time: 2e6}); err != nil {
			t.Fatal(err)
		}
		b := sample.Batch{Positives: 1, Events: l.All()}
		sample.Gather(nil, grown.UnitPlan(), []sample.Query{{Src: 1, Dst: n, Time: 2e6}}, &b)
		return tensor.Guard(func() { grown.Commit(tp, &b, nil) })
	}
	if err := meet(nodes - 1); err != nil || grown.ring.of(nodes - 1)[0].node != 1 {
		t.Errorf("an event of a new node: %v, %v is kept", err, grown.ring.of(nodes-1))
	}
	err := meet(1000)
	if err == nil || !strings.Contains(err.Error(), "Grow makes room") {
		t.Errorf("an event of a node there is no room for: %v", err)
	}
}
