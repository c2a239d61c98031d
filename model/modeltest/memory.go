package modeltest

import (
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

// Memory holds a model that remembers to the golden numbers of the released program: three batches of 20 events from
// nothing, the embeddings of the third, and what is remembered at the end. Events are remembered in the step that asks
// about them, and on their own. Column 0 of the state's tables memory and last_updated is compared.
func Memory(t *testing.T, f model.Factory, name string, settings ...string) {
	t.Helper()
	y, want := goldenToy(t, f, name, settings)
	m := y.Model.(model.Memory)
	for _, way := range []struct {
		name          string
		record, apart bool
	}{{"in a training step", true, false}, {"in a step", false, false}, {"with what was gathered", false, true},
		{"in units", true, true}} {
		must(t, m.Restore(nil))
		tp, unit := grad.NewTape(y.Device, way.record), grad.NewTape(y.Device, false)
		for lo := 0; lo < 60; lo += 20 {
			events := y.Log.Span(lo, lo+20)
			b := gather(y.Past, oneCall(y.Plan()), about(events), 20, events)
			tp.Reset(0)
			e := m.Embed(tp, b)
			if lo == 40 {
				Near(t, way.name+": z_u", y.Read(e.Src), want.Outputs[0], 2e-5)
				Near(t, way.name+": z_v", y.Read(e.Dst), want.Outputs[1], 2e-5)
			}
			switch {
			case !way.apart:
				m.Commit(tp, b, &e)
			case way.record:
				b = gather(y.Past, m.UnitPlan(), about(events), 20, events)
				fallthrough
			default:
				unit.Reset(0)
				m.Commit(unit, b, nil)
			}
		}
		state := m.Snapshot()
		Near(t, way.name+": memory", column(t, state, "memory", -1), want.MemoryAfter, 2e-5)
		Near(t, way.name+": last update", column(t, state, "last_updated", 0), want.LastUpdated, 0)
		tp.Close()
		unit.Close()
	}
}

// column is one of a table's columns, or all of them.
func column(t *testing.T, state []tensor.Named, name string, only int) []float64 {
	t.Helper()
	table, ok := tensor.Find(state, name)
	if !ok {
		t.Fatalf("nothing is remembered under the name %s", name)
	}
	var list []float64
	for i, x := range table.Data {
		if only < 0 || i%table.Shape[1] == only {
			list = append(list, float64(x))
		}
	}
	return list
}
