package sample

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

// past indexes pairs of nodes that met at times 1, 2, 3, ….
func past(t *testing.T, meetings ...[2]event.Node) index.View {
	var events []event.Event
	for i, m := range meetings {
		events = append(events, event.Event{Src: m[0], Dst: m[1], Time: float64(i + 1)})
	}
	return index.Freeze(streamtest.Log(t, events))
}

// compare ignores how a batch was made.
var compare = cmp.Options{cmpopts.IgnoreUnexported(Batch{}), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()}

// different says how two batches differ, if they do. Comparing by hand first makes thousands of comparisons cheap.
func different(want, got *Batch) string {
	ints := func(b *Batch) [6][]int32 {
		return [6][]int32{b.Src.Node, b.Src.Edge, b.Src.Count, b.Dst.Node, b.Dst.Edge, b.Dst.Count}
	}
	floats := func(b *Batch) [5][]float32 {
		return [5][]float32{b.Src.Time, b.Src.Delta, b.Dst.Time, b.Dst.Delta, b.Gaps}
	}
	same := slices.Equal(want.Queries, got.Queries) && want.Src.Len == got.Src.Len && want.Dst.Len == got.Dst.Len
	for i, x := range ints(want) {
		same = same && slices.Equal(x, ints(got)[i])
	}
	for i, x := range floats(want) {
		same = same && slices.EqualFunc(x, floats(got)[i], func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
	}
	if same {
		return ""
	}
	return "batches differ: " + cmp.Diff(want, got, compare)
}

func TestLayout(t *testing.T) {
	view := past(t, [2]event.Node{1, 5}, [2]event.Node{1, 6}, [2]event.Node{2, 7}, [2]event.Node{1, 8}) // 1 met 5, 6, 8; 2 met 7
	for _, c := range []struct {
		name     string
		plan     Plan
		src, dst []int32 // rows of the queries 1–2 and 3–1, of which 3 never occurred
		edges    []int32 // of the sources' rows
	}{
		{"recent", Plan{Neighbors: 4, RowLen: 4},
			[]int32{0, 5, 6, 8, 0, 0, 0, 0}, []int32{0, 0, 0, 7, 0, 5, 6, 8}, []int32{0, 1, 2, 4, 0, 0, 0, 0}},
		{"the last two", Plan{Neighbors: 2, RowLen: 2},
			[]int32{6, 8, 0, 0}, []int32{0, 7, 6, 8}, []int32{2, 4, 0, 0}},
		{"DyGMamba", Plan{Neighbors: 2, RowLen: 4, Target: TargetLast},
			[]int32{0, 6, 8, 1, 0, 0, 0, 3}, []int32{0, 0, 7, 2, 0, 6, 8, 1}, []int32{0, 2, 4, 0, 0, 0, 0, 0}},
		{"DyGMamba's equations", Plan{Neighbors: 3, RowMultiple: 3, Target: TargetLast},
			[]int32{0, 0, 5, 6, 8, 1, 0, 0, 0, 0, 0, 3}, []int32{0, 0, 0, 0, 7, 2, 0, 0, 5, 6, 8, 1}, []int32{0, 0, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0}},
		{"DyGFormer", Plan{Neighbors: 2, RowMultiple: 2, Target: TargetFirst, PadRight: true},
			[]int32{1, 6, 8, 0, 3, 0, 0, 0}, []int32{2, 7, 0, 0, 1, 6, 8, 0}, []int32{0, 2, 4, 0, 0, 0, 0, 0}},
		{"DyGFormer without patches", Plan{Neighbors: 9, Target: TargetFirst, PadRight: true},
			[]int32{1, 5, 6, 8, 3, 0, 0, 0}, []int32{2, 7, 0, 0, 1, 5, 6, 8}, []int32{0, 1, 2, 4, 0, 0, 0, 0}},
		{"TCL", Plan{Neighbors: 4, RowLen: 5, Target: TargetFirst},
			[]int32{1, 0, 5, 6, 8, 3, 0, 0, 0, 0}, []int32{2, 0, 0, 0, 7, 1, 0, 5, 6, 8}, []int32{0, 0, 1, 2, 4, 0, 0, 0, 0, 0}},
		{"own node after the neighbours", Plan{Neighbors: 4, RowLen: 5, Target: TargetLast, PadRight: true},
			[]int32{5, 6, 8, 1, 0, 3, 0, 0, 0, 0}, []int32{7, 2, 0, 0, 0, 5, 6, 8, 1, 0}, []int32{1, 2, 4, 0, 0, 0, 0, 0, 0, 0}},
		{"padding after the neighbours", Plan{Neighbors: 4, RowLen: 4, PadRight: true},
			[]int32{5, 6, 8, 0, 0, 0, 0, 0}, []int32{7, 0, 0, 0, 5, 6, 8, 0}, []int32{1, 2, 4, 0, 0, 0, 0, 0}},
		{"rows shorter than the neighbours", Plan{Neighbors: 4, RowLen: 2, Target: TargetLast},
			[]int32{8, 1, 0, 3}, []int32{7, 2, 8, 1}, []int32{4, 0, 0, 0}},
		{"own node only", Plan{RowLen: 1, Target: TargetLast}, []int32{1, 3}, []int32{2, 1}, []int32{0, 0}},
		{"nothing", Plan{}, nil, nil, nil},
	} {
		var b Batch
		Gather(view, c.plan, []Query{{1, 2, 9}, {3, 1, 9}}, &b)
		if diff := cmp.Diff([][]int32{c.src, c.dst, c.edges}, [][]int32{b.Src.Node, b.Dst.Node, b.Src.Edge}, compare); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if want := len(c.src) / 2; b.Src.Len != want || b.Dst.Len != want {
			t.Errorf("%s: rows of %d and %d positions, want %d", c.name, b.Src.Len, b.Dst.Len, want)
		}
	}
}

func TestRowLengthsOfTheirSides(t *testing.T) {
	view := past(t, [2]event.Node{1, 5}, [2]event.Node{1, 6}, [2]event.Node{1, 7})
	var b Batch
	Gather(view, Plan{Neighbors: 9, RowMultiple: 2, Target: TargetFirst, PadRight: true}, []Query{{1, 6, 9}}, &b)
	if b.Src.Len != 4 || b.Dst.Len != 2 {
		t.Errorf("rows of %d and %d positions, want 4 and 2", b.Src.Len, b.Dst.Len)
	}
}

func TestBoundary(t *testing.T) {
	view := past(t, [2]event.Node{1, 2}, [2]event.Node{1, 3})
	var b Batch
	for _, c := range []struct {
		at   event.Time
		want []int32
	}{{1, []int32{0, 0}}, {math.Nextafter(1, 2), []int32{0, 2}}, {2, []int32{0, 2}}, {2.5, []int32{2, 3}}} {
		Gather(view, Plan{Neighbors: 2, RowLen: 2}, []Query{{1, 3, c.at}}, &b)
		if diff := cmp.Diff(c.want, b.Src.Node); diff != "" {
			t.Errorf("at %v: %s", c.at, diff)
		}
	}
}

// TestDelta has times of the size of enron's, where a float32 counts in steps of 8.
func TestDelta(t *testing.T) {
	events := []event.Event{{Src: 1, Dst: 2, Time: 113740395}, {Src: 1, Dst: 2, Time: 113740397}}
	var b Batch
	Gather(index.Freeze(streamtest.Log(t, events)), Plan{Neighbors: 2, RowLen: 4, Target: TargetLast}, []Query{{1, 9, 113740399}}, &b)
	if diff := cmp.Diff([]float32{0, 113740392, 113740400, 113740400}, b.Src.Time); diff != "" {
		t.Errorf("times: %s", diff)
	}
	if diff := cmp.Diff([]float32{113740400, 7, -1, -1}, b.Src.Delta); diff != "" {
		t.Errorf("deltas: %s", diff)
	}
	for name, p := range map[string]Plan{
		"recent": {Neighbors: 2, RowLen: 4, Target: TargetLast, ExactTimes: true},
		"picked": {Neighbors: 2, RowLen: 4, Target: TargetLast, ExactTimes: true, Picker: last{}},
	} {
		Gather(index.Freeze(streamtest.Log(t, events)), p, []Query{{1, 9, 113740399}}, &b)
		if diff := cmp.Diff([]float32{113740400, 4, 2, 0}, b.Src.Delta); diff != "" {
			t.Errorf("exact deltas, %s: %s", name, diff)
		}
	}
}

// last picks the latest entries.
type last struct{}

func (last) Reset() {}
func (last) Pick(_ event.Node, h index.History, out []int32) int {
	n := min(len(out), h.Len())
	for i := range n {
		out[i] = int32(h.Len() - n + i)
	}
	return n
}

// record picks another entry each time, over and over, and writes down who asked.
type record struct{ asked []event.Node }

func (r *record) Reset() {}
func (r *record) Pick(n event.Node, h index.History, out []int32) int {
	r.asked = append(r.asked, n)
	for i := range out {
		out[i] = int32(len(r.asked) % h.Len())
	}
	return len(out)
}

func TestPicker(t *testing.T) {
	view := past(t, [2]event.Node{1, 5}, [2]event.Node{1, 6}, [2]event.Node{2, 7}, [2]event.Node{1, 8})
	r := new(record)
	b := Batch{Labels: []float32{1, 1, 0, 0}}
	qs := []Query{{1, 2, 9}, {2, 5, 9}, {1, 6, 9}, {2, 3, 9}} // 3 never occurred, nobody is asked for it
	Gather(view, Plan{Neighbors: 2, RowLen: 3, Picker: r}, qs, &b)
	if diff := cmp.Diff([]event.Node{1, 2, 2, 5, 1, 2, 6}, r.asked); diff != "" {
		t.Errorf("order of draws: %s", diff)
	}
	if diff := cmp.Diff([]int32{0, 6, 6, 0, 7, 7, 0, 8, 8, 0, 7, 7}, b.Src.Node); diff != "" {
		t.Errorf("sources: %s", diff)
	}
	if diff := cmp.Diff([]float32{0, 2, 2, 0, 3, 3, 0, 4, 4, 0, 3, 3}, b.Src.Time); diff != "" {
		t.Errorf("times of the sources: %s", diff)
	}
	if diff := cmp.Diff([]int32{0, 7, 7, 0, 1, 1, 0, 1, 1, 0, 0, 0}, b.Dst.Node); diff != "" {
		t.Errorf("destinations: %s", diff)
	}
}

// TestBatchReuse gathers ever different shapes into one batch, with any number of threads, and into fresh ones.
func TestBatchReuse(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 3000, Sources: 40, Dests: 40, Instants: 300, Repeat: 0.5, Shared: true}, 3)
	view := index.Freeze(l)
	var b Batch
	for i, plan := range []Plan{
		{Neighbors: 31, RowLen: 33, Target: TargetLast, Counts: PairCounts, PairGaps: 10},
		{Neighbors: 63, RowMultiple: 4, Target: TargetFirst, PadRight: true, Counts: PlainCounts},
		{Neighbors: 20, RowLen: 20},
		{PairGaps: 3},
		{Neighbors: 31, RowMultiple: 2, Target: TargetLast, Counts: PaperCounts, PairGaps: 10},
	} {
		qs, labels := pairs(l, 97-20*i)
		var fresh Batch
		fresh.Labels = labels
		Gatherer{1}.Gather(view, plan, qs, &fresh)
		for _, threads := range []int{1, 2, 3, 8} {
			b.Labels = labels
			Gatherer{threads}.Gather(view, plan, qs, &b)
			if diff := different(&fresh, &b); diff != "" {
				t.Fatalf("plan %d, %d threads: %s", i, threads, diff)
			}
		}
	}
	Gather(view, dygmamba256, nil, &b)
	if len(b.Queries)+len(b.Src.Node)+len(b.Gaps) != 0 {
		t.Error("no queries, but rows")
	}
}

func TestGatherAllocatesOnce(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 3000, Sources: 40, Dests: 40, Instants: 300, Repeat: 0.5, Shared: true}, 3)
	view := index.Freeze(l)
	qs, labels := pairs(l, 50)
	for name, plan := range map[string]Plan{
		"pair":   dygmamba256,
		"paper":  {Neighbors: 31, RowMultiple: 2, Target: TargetLast, Counts: PaperCounts, PairGaps: 10},
		"picker": {Neighbors: 20, RowLen: 20, Picker: &record{asked: make([]event.Node, 0, 1<<16)}},
	} {
		b := Batch{Labels: labels}
		if n := testing.AllocsPerRun(50, func() { Gatherer{2}.Gather(view, plan, qs, &b) }); n != 0 {
			t.Errorf("%s: %v allocations a batch", name, n)
		}
	}
}
