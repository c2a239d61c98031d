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
	same := slices.Equal(want.Queries, got.Queries) && len(want.Rows) == len(got.Rows) &&
		sameBits(want.Gaps, got.Gaps) &&
		slices.Equal(want.Distinct.Nodes, got.Distinct.Nodes) &&
		slices.Equal(want.Distinct.Src, got.Distinct.Src) &&
		slices.Equal(want.Distinct.Dst, got.Distinct.Dst)
	for i := range want.Rows {
		if !same {
			break
		}
		a, b := &want.Rows[i], &got.Rows[i]
		same = a.Len == b.Len && slices.Equal(a.Node, b.Node) && slices.Equal(a.Edge, b.Edge) &&
			slices.Equal(a.Count, b.Count) && slices.Equal(a.Slot, b.Slot) &&
			sameBits(a.Time, b.Time) && sameBits(a.Delta, b.Delta)
	}
	if same {
		return ""
	}
	return "batches differ: " + cmp.Diff(want, got, compare)
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestLayout(t *testing.T) {
	// 1 met 5, 6 and 8, and 2 met 7.
	view := past(t, [2]event.Node{1, 5}, [2]event.Node{1, 6}, [2]event.Node{2, 7}, [2]event.Node{1, 8})
	for _, c := range []struct {
		name     string
		plan     Plan
		src, dst []int32 // rows of the queries 1–2 and 3–1, of which 3 never occurred
		edges    []int32 // of the sources' rows
	}{
		{"recent", Plan{Draws: Both(Draw{Neighbors: 4, RowLen: 4})},
			[]int32{0, 5, 6, 8, 0, 0, 0, 0}, []int32{0, 0, 0, 7, 0, 5, 6, 8}, []int32{0, 1, 2, 4, 0, 0, 0, 0}},
		{"the last two", Plan{Draws: Both(Draw{Neighbors: 2, RowLen: 2})},
			[]int32{6, 8, 0, 0}, []int32{0, 7, 6, 8}, []int32{2, 4, 0, 0}},
		{"DyGMamba", Plan{Draws: Both(Draw{Neighbors: 2, RowLen: 4, Target: TargetLast})},
			[]int32{0, 6, 8, 1, 0, 0, 0, 3}, []int32{0, 0, 7, 2, 0, 6, 8, 1}, []int32{0, 2, 4, 0, 0, 0, 0, 0}},
		{"DyGMamba's equations", Plan{Draws: Both(Draw{Neighbors: 3, RowMultiple: 3, Target: TargetLast})},
			[]int32{0, 0, 5, 6, 8, 1, 0, 0, 0, 0, 0, 3}, []int32{0, 0, 0, 0, 7, 2, 0, 0, 5, 6, 8, 1},
			[]int32{0, 0, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0}},
		{"DyGFormer", Plan{Draws: Both(Draw{Neighbors: 2, RowMultiple: 2, Target: TargetFirst, PadRight: true})},
			[]int32{1, 6, 8, 0, 3, 0, 0, 0}, []int32{2, 7, 0, 0, 1, 6, 8, 0}, []int32{0, 2, 4, 0, 0, 0, 0, 0}},
		{"DyGFormer without patches", Plan{Draws: Both(Draw{Neighbors: 9, Target: TargetFirst, PadRight: true})},
			[]int32{1, 5, 6, 8, 3, 0, 0, 0}, []int32{2, 7, 0, 0, 1, 5, 6, 8}, []int32{0, 1, 2, 4, 0, 0, 0, 0}},
		{"TCL", Plan{Draws: Both(Draw{Neighbors: 4, RowLen: 5, Target: TargetFirst})},
			[]int32{1, 0, 5, 6, 8, 3, 0, 0, 0, 0}, []int32{2, 0, 0, 0, 7, 1, 0, 5, 6, 8},
			[]int32{0, 0, 1, 2, 4, 0, 0, 0, 0, 0}},
		{"own node after the neighbours",
			Plan{Draws: Both(Draw{Neighbors: 4, RowLen: 5, Target: TargetLast, PadRight: true})},
			[]int32{5, 6, 8, 1, 0, 3, 0, 0, 0, 0}, []int32{7, 2, 0, 0, 0, 5, 6, 8, 1, 0},
			[]int32{1, 2, 4, 0, 0, 0, 0, 0, 0, 0}},
		{"padding after the neighbours", Plan{Draws: Both(Draw{Neighbors: 4, RowLen: 4, PadRight: true})},
			[]int32{5, 6, 8, 0, 0, 0, 0, 0}, []int32{7, 0, 0, 0, 5, 6, 8, 0}, []int32{1, 2, 4, 0, 0, 0, 0, 0}},
		{"rows shorter than the neighbours", Plan{Draws: Both(Draw{Neighbors: 4, RowLen: 2, Target: TargetLast})},
			[]int32{8, 1, 0, 3}, []int32{7, 2, 8, 1}, []int32{4, 0, 0, 0}},
		{"own node only", Plan{Draws: Both(Draw{RowLen: 1, Target: TargetLast})},
			[]int32{1, 3}, []int32{2, 1}, []int32{0, 0}},
		{"nothing", Plan{Draws: Both(Draw{})}, nil, nil, nil},
	} {
		var b Batch
		Gather(view, c.plan, []Query{{1, 2, 9, 0}, {3, 1, 9, 0}}, &b)
		want, got := [][]int32{c.src, c.dst, c.edges}, [][]int32{b.Rows[0].Node, b.Rows[1].Node, b.Rows[0].Edge}
		if diff := cmp.Diff(want, got, compare); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if want := len(c.src) / 2; b.Rows[0].Len != want || b.Rows[1].Len != want {
			t.Errorf("%s: rows of %d and %d positions, want %d", c.name, b.Rows[0].Len, b.Rows[1].Len, want)
		}
	}
}

func TestRowLengthsOfTheirSides(t *testing.T) {
	view := past(t, [2]event.Node{1, 5}, [2]event.Node{1, 6}, [2]event.Node{1, 7})
	var b Batch
	row := Draw{Neighbors: 9, RowMultiple: 2, Target: TargetFirst, PadRight: true}
	Gather(view, Plan{Draws: Both(row)}, []Query{{1, 6, 9, 0}}, &b)
	if b.Rows[0].Len != 4 || b.Rows[1].Len != 2 {
		t.Errorf("rows of %d and %d positions, want 4 and 2", b.Rows[0].Len, b.Rows[1].Len)
	}
}

func TestBoundary(t *testing.T) {
	view := past(t, [2]event.Node{1, 2}, [2]event.Node{1, 3})
	var b Batch
	for _, c := range []struct {
		at   event.Time
		want []int32
	}{{1, []int32{0, 0}}, {math.Nextafter(1, 2), []int32{0, 2}}, {2, []int32{0, 2}}, {2.5, []int32{2, 3}}} {
		Gather(view, Plan{Draws: Both(Draw{Neighbors: 2, RowLen: 2})}, []Query{{1, 3, c.at, 0}}, &b)
		if diff := cmp.Diff(c.want, b.Rows[0].Node); diff != "" {
			t.Errorf("at %v: %s", c.at, diff)
		}
	}
}

// TestDelta has times of the size of enron's, where a float32 counts in steps of 8.
func TestDelta(t *testing.T) {
	events := []event.Event{{Src: 1, Dst: 2, Time: 113740395}, {Src: 1, Dst: 2, Time: 113740397}}
	var b Batch
	plan := Plan{Draws: Both(Draw{Neighbors: 2, RowLen: 4, Target: TargetLast})}
	Gather(index.Freeze(streamtest.Log(t, events)), plan, []Query{{1, 9, 113740399, 0}}, &b)
	if diff := cmp.Diff([]float32{0, 113740392, 113740400, 113740400}, b.Rows[0].Time); diff != "" {
		t.Errorf("times: %s", diff)
	}
	if diff := cmp.Diff([]float32{113740400, 7, -1, -1}, b.Rows[0].Delta); diff != "" {
		t.Errorf("deltas: %s", diff)
	}
	for name, p := range map[string]Plan{
		"recent": {Draws: Both(Draw{Neighbors: 2, RowLen: 4, Target: TargetLast}), ExactTimes: true},
		"picked": {Draws: Both(Draw{Neighbors: 2, RowLen: 4, Target: TargetLast}), ExactTimes: true, Picker: last{}},
	} {
		Gather(index.Freeze(streamtest.Log(t, events)), p, []Query{{1, 9, 113740399, 0}}, &b)
		if diff := cmp.Diff([]float32{113740400, 4, 2, 0}, b.Rows[0].Delta); diff != "" {
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
	b := Batch{Positives: 2}
	qs := []Query{{1, 2, 9, 0}, {2, 5, 9, 0}, {1, 6, 9, 0}, {2, 3, 9, 0}} // 3 never occurred, nobody is asked for it
	Gather(view, Plan{Draws: Both(Draw{Neighbors: 2, RowLen: 3}), Picker: r}, qs, &b)
	if diff := cmp.Diff([]event.Node{1, 2, 2, 5, 1, 2, 6}, r.asked); diff != "" {
		t.Errorf("order of draws: %s", diff)
	}
	if diff := cmp.Diff([]int32{0, 6, 6, 0, 7, 7, 0, 8, 8, 0, 7, 7}, b.Rows[0].Node); diff != "" {
		t.Errorf("sources: %s", diff)
	}
	if diff := cmp.Diff([]float32{0, 2, 2, 0, 3, 3, 0, 4, 4, 0, 3, 3}, b.Rows[0].Time); diff != "" {
		t.Errorf("times of the sources: %s", diff)
	}
	if diff := cmp.Diff([]int32{0, 7, 7, 0, 1, 1, 0, 1, 1, 0, 0, 0}, b.Rows[1].Node); diff != "" {
		t.Errorf("destinations: %s", diff)
	}
}

// ties is a stream in which nodes meet again, ten events an instant.
var ties = streamtest.Shape{Events: 3000, Sources: 40, Dests: 40, Instants: 300, Repeat: 0.5, Shared: true}

// twoHops looks further on the side of the source.
var twoHops = []Draw{
	{Of: Src, Neighbors: 5, RowLen: 5}, {Of: Hop(0), Neighbors: 3, RowLen: 3}, {Of: Dst, Neighbors: 4, RowLen: 4},
}

// TestBatchReuse gathers ever different shapes into one batch, with any number of threads, and into fresh ones.
func TestBatchReuse(t *testing.T) {
	l := streamtest.Generate(ties, 3)
	view := index.Freeze(l)
	var b Batch
	for i, plan := range []Plan{
		{Draws: Both(Draw{Neighbors: 31, RowLen: 33, Target: TargetLast}), Counts: PairCounts, PairGaps: 10},
		{Draws: Both(Draw{Neighbors: 63, RowMultiple: 4, Target: TargetFirst, PadRight: true}), Counts: PlainCounts},
		{Draws: Both(Draw{Neighbors: 20, RowLen: 20})},
		{PairGaps: 3},
		{Draws: twoHops, Distinct: true},
		{Draws: Both(Draw{Neighbors: 31, RowMultiple: 2, Target: TargetLast}), Counts: PaperCounts, PairGaps: 10},
	} {
		qs := pairQueries(l, 97-15*i)
		fresh := Batch{Positives: len(qs) / 2}
		Gatherer{Threads: 1}.Gather(view, plan, qs, &fresh)
		for _, threads := range []int{1, 2, 3, 8} {
			b.Positives = len(qs) / 2
			Gatherer{Threads: threads}.Gather(view, plan, qs, &b)
			if diff := different(&fresh, &b); diff != "" {
				t.Fatalf("plan %d, %d threads: %s", i, threads, diff)
			}
		}
	}
	Gather(view, dygmamba256, nil, &b)
	if len(b.Queries)+len(b.Rows[0].Node)+len(b.Gaps) != 0 {
		t.Error("no queries, but rows")
	}
}

func TestGatherAllocatesOnce(t *testing.T) {
	l := streamtest.Generate(ties, 3)
	view := index.Freeze(l)
	qs := pairQueries(l, 50)
	for name, plan := range map[string]Plan{
		"pair": dygmamba256,
		"paper": {
			Draws: Both(Draw{Neighbors: 31, RowMultiple: 2, Target: TargetLast}), Counts: PaperCounts, PairGaps: 10,
		},
		"hops":   {Draws: twoHops, Distinct: true},
		"picker": {Draws: Both(Draw{Neighbors: 20, RowLen: 20}), Picker: &record{asked: make([]event.Node, 0, 1<<16)}},
	} {
		b := Batch{Positives: len(qs) / 2}
		if n := testing.AllocsPerRun(50, func() { Gatherer{Threads: 2}.Gather(view, plan, qs, &b) }); n != 0 {
			t.Errorf("%s: %v allocations a batch", name, n)
		}
	}
}

// TestPickerHops asks in the order of a recursion: a root's own draws before those of its neighbours, sources before
// destinations, positives before negatives.
func TestPickerHops(t *testing.T) {
	view := past(t, [][2]event.Node{{1, 5}, {1, 6}, {5, 7}, {2, 7}, {1, 8}}...)
	r := new(record)
	b := Batch{Positives: 1}
	side := func(of Root, first int) []Draw {
		return []Draw{
			{Of: of, Neighbors: 1, RowLen: 1},
			{Of: of, Neighbors: 2, RowLen: 2},
			{Of: Hop(first + 1), Neighbors: 1, RowLen: 1},
		}
	}
	plan := Plan{Draws: append(side(Src, 0), side(Dst, 3)...), Picker: r}
	Gather(view, plan, []Query{{1, 2, 9, 0}, {2, 1, 9, 0}}, &b)
	// Of a positive 1→2: 1 twice, its two picks (both 8, whose history begins at 5 and is empty), 2 twice, its two
	// picks of 7 (at 4, where 7 had met 5). Of the negative 2→1: 2 twice and its picks, 1 twice and its picks.
	if diff := cmp.Diff([]event.Node{1, 1, 2, 2, 7, 7, 2, 2, 7, 7, 1, 1}, r.asked); diff != "" {
		t.Errorf("order of draws: %s", diff)
	}
	plan.NegativesFirst, r.asked = true, nil
	Gather(view, plan, []Query{{1, 2, 9, 0}, {2, 1, 9, 0}}, &b)
	if diff := cmp.Diff([]event.Node{2, 2, 7, 7, 1, 1, 1, 1, 2, 2, 7, 7}, r.asked); diff != "" {
		t.Errorf("order of draws with negatives first: %s", diff)
	}
}

// TestByCall gathers positives and negatives as if the others were not there.
func TestByCall(t *testing.T) {
	l := streamtest.Generate(streamtest.Shape{Events: 300, Sources: 9, Dests: 9, Instants: 200, Repeat: 0.5}, 3)
	view := index.Freeze(l)
	row := Draw{Neighbors: 30, RowMultiple: 2, Target: TargetFirst, PadRight: true}
	plan := Plan{Draws: Both(row), Counts: PlainCounts}
	early, late := l.At(3), l.At(299)
	qs := []Query{{early.Src, early.Dst, early.Time, 0}, {late.Src, late.Dst, late.Time + 1, 0}}
	b := Batch{Positives: 1, Events: l.Span(3, 4)}
	byCall := plan
	byCall.ByCall = true
	for range 2 { // the second time into used memory
		Gather(view, byCall, qs, &b)
		if len(b.Calls) != 2 || len(b.Rows) != 0 || b.Calls[0].Positives != 1 || b.Calls[1].Positives != 0 ||
			b.Calls[0].Events.Len() != 1 {
			t.Fatalf("%d calls, %d rows", len(b.Calls), len(b.Rows))
		}
		for i, c := range b.Calls {
			var alone Batch
			Gather(view, plan, qs[i:i+1], &alone)
			if diff := different(&alone, c); diff != "" {
				t.Errorf("call %d: %s", i, diff)
			}
		}
		if first, second := b.Calls[0].Rows[0].Len, b.Calls[1].Rows[0].Len; first >= second {
			t.Errorf("rows of %d and %d positions: the early one must be shorter", first, second)
		}
	}
	short := b.Shape()
	b.Positives = 0
	if Gather(view, byCall, qs, &b); len(b.Calls) != 1 || b.Shape() == short {
		t.Errorf("queries that nobody knows the answer to make %d calls, want 1", len(b.Calls))
	}
}

// TestShapes compares batches that differ in one size.
func TestShapes(t *testing.T) {
	seen := map[uint64]int{}
	for i, b := range []Batch{
		{}, {Queries: make([]Query, 1)}, {Queries: make([]Query, 2)}, {Queries: make([]Query, 2), Positives: 1},
		{Gaps: make([]float32, 3)}, {Rows: make([]Rows, 1)},
		{Rows: []Rows{{Len: 3}}}, {Rows: []Rows{{Len: 3, Node: make([]int32, 9)}}},
		{Rows: []Rows{{Len: 3}, {Len: 4}}}, {Rows: []Rows{{Len: 4}, {Len: 3}}}, {Rows: []Rows{{Len: 1 << 40}}},
		{Distinct: Distinct{Nodes: make([]int32, 256)}}, {Calls: []*Batch{{}}}, {Calls: []*Batch{{Positives: 1}}},
	} {
		if j, ok := seen[b.Shape()]; ok {
			t.Errorf("batches %d and %d have the same shape", j, i)
		}
		seen[b.Shape()] = i
	}
}

// TestPickedRowsWithoutALength: a row whose neighbours are picked with replacement has room for all of them, however
// few there are.
func TestPickedRowsWithoutALength(t *testing.T) {
	view := past(t, [2]event.Node{1, 2}, [2]event.Node{1, 3})
	for _, strategy := range []string{Uniform, TimeAware} {
		picker, err := NewPicker(PickerOptions{Strategy: strategy})
		if err != nil {
			t.Fatal(err)
		}
		var b Batch
		plan := Plan{Draws: Both(Draw{Neighbors: 5, RowMultiple: 4, Target: TargetFirst}), Picker: picker}
		Gather(view, plan, []Query{{1, 2, 100, 0}, {9, 1, 100, 0}}, &b)
		for d, want := range []int{8, 8} {
			if got := b.Rows[d].Len; got != want {
				t.Errorf("%s: rows of draw %d are %d long, want %d", strategy, d, got, want)
			}
		}
		for i, n := range b.Rows[0].Node[:8] {
			if met := n == 2 || n == 3; met != (i >= 3) {
				t.Errorf("%s: position %d of %v", strategy, i, b.Rows[0].Node[:8])
			}
		}
	}
}

// TestAtMost: no batch has longer rows than the plan can ask for, and one of a node with a long past has as long ones.
func TestAtMost(t *testing.T) {
	var meetings [][2]event.Node
	for range 20 {
		meetings = append(meetings, [2]event.Node{1, 2})
	}
	view := past(t, meetings...)
	plan := Plan{Draws: Both(Draw{Neighbors: 9, RowMultiple: 4, Target: TargetLast}), ByCall: true}
	most := plan.AtMost()
	for at, want := range map[float64]int{1: 4, 4: 4, 5: 8, 100: 12} {
		var b, fixed Batch
		Gather(view, plan, []Query{{1, 2, at, 0}}, &b)
		Gather(view, most, []Query{{1, 2, at, 0}}, &fixed)
		if got := b.Calls[0].Rows[0].Len; got != want {
			t.Errorf("at %v rows are %d long, want %d", at, got, want)
		}
		if got := fixed.Calls[0].Rows[0].Len; got != 12 || plan.Longest() != 12 || most.Longest() != 12 {
			t.Errorf("rows are %d long, at most %d and %d; want 12", got, plan.Longest(), most.Longest())
		}
	}
	if plan.Draws[0].RowLen != 0 {
		t.Error("the plan itself has changed")
	}
	if got, want := plan.Bytes(10), 10*2*12*16.0; got != want {
		t.Errorf("a batch takes %v bytes, want %v", got, want)
	}
}

// TestPickedHopsAtExactTimes: hops go on from picked neighbours at the very times they were met, which float32 rounds
// here: a picker of the latest gives what is gathered without one.
func TestPickedHopsAtExactTimes(t *testing.T) {
	var events []event.Event
	for i := range 40 {
		src, dst := event.Node(1+i%4), event.Node(1+(i*3+1)%5)
		events = append(events, event.Event{Src: src, Dst: dst, Time: 1.7e9 + float64(i)})
	}
	view := index.Freeze(streamtest.Log(t, events))
	plan := Plan{ExactTimes: true, Draws: []Draw{
		{Of: Src, Neighbors: 3, RowLen: 3},
		{Of: Hop(0), Neighbors: 2, RowLen: 3, Target: TargetLast},
		{Of: Hop(1), Neighbors: 2, RowLen: 2},
	}}
	picked := plan
	picked.Picker = last{}
	qs := []Query{{1, 2, 1.7e9 + 30, 0}, {3, 4, 1.7e9 + 39.5, 0}, {2, 5, 1.7e9 + 7, 0}}
	var want, got Batch
	Gather(view, plan, qs, &want)
	Gather(view, picked, qs, &got)
	if diff := different(&want, &got); diff != "" {
		t.Error(diff)
	}
	if want.Rows[1].Delta[0] == 0 || want.Rows[2].Delta[0] == 0 {
		t.Error("nothing was found two hops away")
	}
}

// TestLogTimes: logarithms are those of the differences that there would be without them.
func TestLogTimes(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 300, Sources: 20, Dests: 20, Instants: 100, Shared: true}, 3)
	past, qs := index.Freeze(log), pairQueries(log, 10)
	for _, exact := range []bool{false, true} {
		for _, right := range []bool{false, true} {
			for target := range Target(TargetLast + 1) {
				row := Draw{Neighbors: 40, RowLen: 42, Target: target, PadRight: right}
				plan := Plan{Draws: Both(row), ExactTimes: exact}
				var plain, logs Batch
				Gather(past, plan, qs, &plain)
				plan.LogTimes = 2.5
				Gather(past, plan, qs, &logs)
				for i, x := range plain.Rows[0].Delta {
					want := 0.0
					if plain.Rows[0].Edge[i] != 0 {
						want = math.Log1p(2.5 * float64(x))
					}
					if got := logs.Rows[0].Delta[i]; got != float32(want) {
						t.Fatalf("exact %v, right %v, target %d: position %d is %v, want %v",
							exact, right, target, i, got, want)
					}
				}
			}
		}
	}
}
