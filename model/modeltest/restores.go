package modeltest

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/internal/recorded"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// travels: a model comes back from its configuration as JSON and from a checkpoint with its parameters and all that
// it remembers.
func travels(t testing.TB, e *entry) {
	qs := e.world.queries(24)
	for _, spec := range e.specs {
		p := e.build(t, spec)
		p.learn(t, e.world, spec, 7)
		want := p.ask(t, e.world.past, qs)
		var f checkpoint.File
		if p.model != nil {
			f.AddParams(p.model.Params())
		}
		if p.memory() != nil {
			for _, x := range p.snapshot(t) {
				x.Name = "state/" + x.Name
				f.Tensors = append(f.Tensors, x)
			}
		}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		must(t, checkpoint.Save(path, f))
		f, err := checkpoint.Load(path)
		must(t, err)
		again, err := e.factory.Decode([]byte(jsonOf(t, spec)))
		must(t, err)
		if got, was := jsonOf(t, again), jsonOf(t, spec); got != was {
			t.Errorf("the configuration %s comes back as %s", was, got)
		}
		other := e.buildIn(t, e.world, e.devices[1], again, 2)
		must(t, other.load(f))
		if at, yes := differ(other.ask(t, e.world.past, qs), want); yes {
			t.Errorf("query %d is answered otherwise after saving and loading", at)
		}
		if p.memory() != nil && !same(other.snapshot(t), p.snapshot(t)) {
			t.Error("something else is remembered after saving and loading")
		}
	}
}

// load takes over a checkpoint.
func (p player) load(f checkpoint.File) error {
	if p.model != nil {
		return train.Restore(p.model, nil, f)
	}
	if p.memory() == nil {
		return nil
	}
	list := slices.Clone(f.Tensors)
	for i := range list {
		list[i].Name = list[i].Name[len("state/"):]
	}
	return p.memory().Restore(list)
}

// refuses: what no snapshot can be is an error and changes nothing, and what cannot be told from one does no harm.
func refuses(t testing.TB, e *entry) {
	e.forMemories(t, func(p player, spec model.Spec) {
		p.learn(t, e.world, spec, 7)
		before := p.snapshot(t)
		for i, x := range before {
			for how, bad := range spoiled(before, i) {
				if err := p.memory().Restore(bad); err == nil {
					t.Errorf("a memory is accepted in which %s %v %s", x.Name, x.Shape, how)
				} else if !same(p.snapshot(t), before) {
					t.Errorf("a memory in which %s %s is refused, but something has changed", x.Name, how)
				}
				must(t, p.memory().Restore(before))
			}
			huge := clone(before)
			for k := range huge[i].Data {
				huge[i].Data[k] = 3e38
			}
			if err := p.memory().Restore(huge); err == nil {
				p.ask(t, e.world.past, e.world.queries(24)) // whatever that may be; it must not end the program
			}
			must(t, p.memory().Restore(before))
		}
	})
}

// spoiled are snapshots with something wrong about one of their arrays.
func spoiled(good []tensor.Named, i int) map[string][]tensor.Named {
	list := map[string][]tensor.Named{}
	spoil := func(how string, change func(x *tensor.Named)) {
		bad := clone(good)
		change(&bad[i])
		list[how] = bad
	}
	list["is missing"] = slices.Delete(clone(good), i, i+1)
	if good[i].Bytes != nil {
		spoil("is too short", func(x *tensor.Named) { x.Bytes = x.Bytes[:len(x.Bytes)-1] })
		spoil("is nonsense", func(x *tensor.Named) {
			for k := range x.Bytes {
				x.Bytes[k] = 0xff
			}
		})
		return list
	}
	spoil("is too wide", func(x *tensor.Named) {
		last := len(x.Shape) - 1
		x.Data = make([]float32, len(x.Data)/max(1, x.Shape[last])*(x.Shape[last]+1))
		x.Shape[last]++
	})
	spoil("has fewer numbers than its shape", func(x *tensor.Named) { x.Data = x.Data[:len(x.Data)-1] })
	spoil("is flat", func(x *tensor.Named) { x.Shape = []int{len(x.Data), 1, 1} })
	spoil("holds NaN", func(x *tensor.Named) { x.Data[len(x.Data)/2] = float32(math.NaN()) })
	spoil("holds an infinity", func(x *tensor.Named) { x.Data[len(x.Data)-1] = float32(math.Inf(-1)) })
	return list
}

func clone(list []tensor.Named) []tensor.Named {
	list = slices.Clone(list)
	for i := range list {
		x := &list[i]
		x.Shape, x.Data, x.Bytes = slices.Clone(x.Shape), slices.Clone(x.Data), slices.Clone(x.Bytes)
	}
	return list
}

// grows: with room for more nodes everything known stays, and newcomers are remembered.
func grows(t testing.TB, e *entry) {
	e.forMemories(t, func(p player, spec model.Spec) {
		m, ok := p.model.(model.Memory)
		if !ok {
			return
		}
		p.learn(t, e.world, spec, 7)
		qs := slices.DeleteFunc(e.world.queries(24), func(q sample.Query) bool { return max(q.Src, q.Dst) >= unseen })
		before, want := p.snapshot(t), p.ask(t, e.world.past, qs)
		m.Grow(int(unseen) + 100)
		if !same(p.snapshot(t), before) {
			t.Error("something else is remembered with more room")
		}
		if at, yes := differ(p.ask(t, e.world.past, qs), want); yes {
			t.Errorf("query %d is answered otherwise with more room", at)
		}
		log := event.NewLog(2)
		for _, ev := range []event.Event{{Src: unseen, Dst: unseen + 1}, {Src: unseen + 1, Dst: 1}} {
			ev.Time = e.world.set.Log.At(numEvents-1).Time + 1
			_, err := log.Append(ev)
			must(t, err)
		}
		grown := p.snapshot(t)
		must(t, e.world.pass(spec.Order).Remember(t.Context(), p.memory(), log.All()))
		if same(p.snapshot(t), grown) {
			t.Error("nothing is remembered of newcomers")
		}
		p.checkAnswers(t, e.world, 24)
	})
}

// recordable: answers and what is remembered come out the same where steps are recorded and replayed, also after
// tables have moved.
func recordable(t testing.TB, e *entry) {
	if !e.factory.Trains || onGPU() {
		return // where they are
	}
	const n = 15
	all := e.world.queries(6 * n)
	for _, spec := range e.forms {
		plain := e.build(t, spec)
		deck := e.buildIn(t, e.world, recorded.New(e.devices[1]), spec, 1)
		for i := range len(all) / n {
			if m, remembers := plain.model.(model.Memory); remembers && i == 4 {
				m.Grow(3 * numNodes)
				deck.model.(model.Memory).Grow(3 * numNodes)
			}
			qs := all[i*n : (i+1)*n]
			got, want := deck.ask(t, e.world.past, qs), plain.ask(t, e.world.past, qs)
			if at, yes := differ(got, want); yes {
				t.Fatalf("query %d of batch %d: %v, and %v where steps are recorded", at, i, want[at], got[at])
			}
			for _, p := range []player{plain, deck} {
				p.resume(t, e.world, spec, i, 1)
			}
			if plain.memory() != nil && !same(deck.snapshot(t), plain.snapshot(t)) {
				t.Fatalf("something else is remembered after unit %d where commits are recorded", i)
			}
		}
	}
}

// tidy: a model that was closed has given back all memory of the device.
func tidy(t testing.TB, e *entry) {
	if !e.factory.Trains {
		return
	}
	e.inOrders(e.forms, func(spec model.Spec) {
		dev := dry.New(0)
		l, err := train.NewLearner(e.factory, e.world.environment(dev, 1), spec, protocol.LinkPrediction)
		must(t, err)
		scorer := model.NewScorer(l.Model)
		b := e.world.batch(l.Model.Plan(), 5)
		l.Step(b, 1)
		must(t, scorer.Score(b, make([]float32, len(b.Queries))))
		if m, ok := scorer.Scorer().(model.StatefulScorer); ok {
			must(t, m.Commit(b))
		}
		scorer.Close()
		l.Close()
		if left := dev.Bytes(); left != 0 {
			t.Errorf("%d bytes are left on the device when everything is closed", left)
		}
	})
}
