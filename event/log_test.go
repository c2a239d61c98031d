package event

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppendNumbersEvents(t *testing.T) {
	var l Log
	want := []Event{
		{Src: 1, Dst: 9, Time: 5, Edge: 1},
		{Src: 2, Dst: 8, Time: 3, Edge: 2},
		{Src: 3, Dst: 3, Time: 3, Edge: 7, Label: 1},
		{Src: 4, Dst: 6, Time: 8, Edge: 4},
	}
	for i, e := range want {
		if i != 2 {
			e.Edge = 0
		}
		edge, err := l.Append(e)
		if err != nil || edge != want[i].Edge {
			t.Fatalf("event %d: edge %d, error %v, want edge %d", i, edge, err, want[i].Edge)
		}
	}
	if diff := cmp.Diff(want, events(l.All())); diff != "" {
		t.Error(diff)
	}
	if l.Len() != 4 || l.NumNodes() != 10 || l.Sorted() {
		t.Errorf("%d events, %d nodes, sorted %v; want 4, 10, false", l.Len(), l.NumNodes(), l.Sorted())
	}
}

func TestInvalidEvents(t *testing.T) {
	good := Event{Src: 1, Dst: 2, Time: 3, Label: 1, Edge: 1}
	for _, c := range []struct {
		says  string
		spoil func(*Event)
	}{
		{"source 0", func(e *Event) { e.Src = 0 }},
		{"destination -4", func(e *Event) { e.Dst = -4 }},
		{"time NaN", func(e *Event) { e.Time = math.NaN() }},
		{"time +Inf", func(e *Event) { e.Time = math.Inf(1) }},
		{"time -Inf", func(e *Event) { e.Time = math.Inf(-1) }},
		{"time 1.1e+38", func(e *Event) { e.Time = 1.1e38 }},
		{"label NaN", func(e *Event) { e.Label = float32(math.NaN()) }},
		{"edge -1", func(e *Event) { e.Edge = -1 }},
	} {
		bad := good
		c.spoil(&bad)
		l := NewLog(2)
		if _, err := l.Append(good); err != nil {
			t.Fatal(err)
		}
		_, err := l.Append(bad)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "event 1: ") ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("append: error %v, want one about event 1 and %s", err, c.says)
		}
		if l.Len() != 1 {
			t.Errorf("%s: log has %d events after the refusal, want 1", c.says, l.Len())
		}
		_, err = FromColumns(Columns{Src: []Node{1, bad.Src}, Dst: []Node{2, bad.Dst}, Time: []Time{3, bad.Time},
			Label: []float32{1, bad.Label}, Edge: []Edge{1, bad.Edge}})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "row 1: ") ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("columns: error %v, want one about row 1 and %s", err, c.says)
		}
	}
}

func TestFromColumns(t *testing.T) {
	c := Columns{Src: []Node{1, 2}, Dst: []Node{3, 4}, Time: []Time{5, 5}}
	l, err := FromColumns(c)
	if err != nil {
		t.Fatal(err)
	}
	if &l.All().Src[0] != &c.Src[0] {
		t.Error("the source column was copied")
	}
	if _, err := l.Append(Event{Src: 5, Dst: 6, Time: 4, Label: 2, Edge: 9}); err != nil {
		t.Fatal(err)
	}
	want := []Event{{Src: 1, Dst: 3, Time: 5, Edge: 1}, {Src: 2, Dst: 4, Time: 5, Edge: 2},
		{Src: 5, Dst: 6, Time: 4, Label: 2, Edge: 9}}
	if diff := cmp.Diff(want, events(l.All())); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		says string
		cols Columns
	}{
		{"destination column has 1 rows, the source column 2", Columns{Src: c.Src, Dst: c.Dst[:1], Time: c.Time}},
		{"time column has 0 rows, the source column 2", Columns{Src: c.Src, Dst: c.Dst}},
		{"label column has 3 rows, the source column 2",
			Columns{Src: c.Src, Dst: c.Dst, Time: c.Time, Label: make([]float32, 3)}},
		{"row 0: invalid event: edge 0", Columns{Src: c.Src, Dst: c.Dst, Time: c.Time, Edge: make([]Edge, 2)}},
	} {
		if _, err := FromColumns(c.cols); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %q", err, c.says)
		}
	}
}

func TestSpanSurvivesGrowth(t *testing.T) {
	var l Log
	add := func(e Event) {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		add(Event{Src: Node(i + 1), Dst: 50, Time: Time(i)})
	}
	s := l.Span(2, 5)
	before := events(s)
	for i := range 100 {
		add(Event{Src: 7, Dst: 7, Time: -1, Label: 3, Edge: Edge(500 - i)})
	}
	if diff := cmp.Diff(before, events(s)); diff != "" {
		t.Error(diff)
	}
	if s.First() != 2 || s.Slice(1, 2).First() != 3 || s.Slice(1, 2).Edge(0) != 4 {
		t.Errorf("first %d, of its second event %d with edge %d; want 2, 3, 4",
			s.First(), s.Slice(1, 2).First(), s.Slice(1, 2).Edge(0))
	}
}

func TestBatches(t *testing.T) {
	l := NewLog(10)
	for i := range 10 {
		l.take(Event{Src: 1, Dst: 2, Time: Time(i), Label: float32(i)})
	}
	var got []int
	var all []Event
	for s := range l.Batches(1, 9, 3) {
		got = append(got, s.Len())
		all = append(all, events(s)...)
	}
	if diff := cmp.Diff([]int{3, 3, 2}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(events(l.Span(1, 9)), all); diff != "" {
		t.Error(diff)
	}
	for s := range l.All().Batches(4) {
		if s.First() != 0 {
			t.Error("went on after break")
		}
		break
	}
	defer func() {
		if recover() == nil {
			t.Error("batches of 0 events did not panic")
		}
	}()
	l.All().Batches(0)
}

func TestSelectKeepsEdges(t *testing.T) {
	l := NewLog(100)
	for i := range 100 {
		l.take(Event{Src: Node(i + 1), Dst: 200, Time: Time(i), Label: float32(i % 2), Kind: Kind(i % 5)})
	}
	third := l.Select(func(i int) bool { return i%3 == 0 })
	for i := range third.Len() {
		if third.At(i) != l.At(3*i) {
			t.Fatalf("event %d is %+v, want %+v", i, third.At(i), l.At(3*i))
		}
	}
	if third.Len() != 34 || third.Bytes() > 34*26+232 {
		t.Errorf("%d events in %d bytes, want 34 in 26 bytes each", third.Len(), third.Bytes())
	}
	head := l.Select(func(i int) bool { return i < 40 && i >= 0 })
	if head.all.edge != nil {
		t.Error("a selected beginning stores edge ids it could count")
	}
	if none := l.Select(func(int) bool { return false }); none.Len() != 0 || none.NumNodes() != 0 {
		t.Errorf("empty selection has %d events and %d nodes", none.Len(), none.NumNodes())
	}
}

func TestBytesPerEvent(t *testing.T) {
	const n = 100_000
	plain, full, grown := NewLog(n), NewLog(n), new(Log)
	for i := range n {
		e := Event{Src: 1, Dst: 2, Time: Time(i)}
		plain.take(e)
		grown.take(e)
		e.Label, e.Edge = 1, Edge(n-i)
		full.take(e)
	}
	for _, c := range []struct {
		name string
		l    *Log
		most float64
	}{{"plain", plain, 16.01}, {"with labels and edge ids", full, 24.01}, {"grown one by one", grown, 20.5}} {
		if per := float64(c.l.Bytes()) / n; per > c.most {
			t.Errorf("%s: %.2f bytes an event, want at most %.2f", c.name, per, c.most)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l := new(Log)
	for b.Loop() {
		if l.Len() == 1<<20 {
			l = new(Log)
		}
		if _, err := l.Append(Event{Src: 1, Dst: 2, Time: 3}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func events(s Span) []Event {
	out := make([]Event, s.Len())
	for i := range out {
		out[i] = s.At(i)
	}
	return out
}

// A log that is out of order is put in order, and its events keep their ids.
func TestInOrder(t *testing.T) {
	log := NewLog(0)
	for i, at := range []Time{3, 1, 3, 2, 1} {
		if _, err := log.Append(Event{Src: Node(i + 1), Dst: 9, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	sorted := log.InOrder()
	if all := sorted.All(); !slices.Equal(all.Src, []Node{2, 5, 4, 1, 3}) || all.Edge(0) != 2 {
		t.Errorf("sources %v, first edge %d", all.Src, all.Edge(0))
	}
	if sorted.InOrder() != sorted {
		t.Error("a log in order was copied")
	}
}

// take appends an event that is valid.
func (l *Log) take(e Event) {
	if _, err := l.Append(e); err != nil {
		panic(err)
	}
}

// A log in a file is checked when somebody asks for events, not before, and once.
func TestFromFile(t *testing.T) {
	c := Columns{Src: []Node{1, 2, 3}, Dst: []Node{4, 4, 5}, Time: []Time{1, 1, 2}, Label: []float32{0, 1, 0}}
	checks := 0
	l := FromFile(c, 6, func() error { checks++; return nil })
	if l.Len() != 3 || l.NumNodes() != 6 || !l.Sorted() || l.Now().Len() != 3 || checks > 0 {
		t.Errorf("%d events, %d nodes, checked %d times", l.Len(), l.NumNodes(), checks)
	}
	for range 2 {
		l.All()
		if got := l.At(1); got != (Event{Src: 2, Dst: 4, Time: 1, Label: 1, Edge: 2}) || l.Verify() != nil {
			t.Errorf("%+v", got)
		}
	}
	if checks != 1 {
		t.Errorf("checked %d times", checks)
	}
	bad := errors.New("block 3 is damaged")
	for name, read := range map[string]func(l *Log){"All": func(l *Log) { l.All() }, "At": func(l *Log) { l.At(0) },
		"Now":    func(l *Log) { l.Now().Span(0, 1) },
		"Select": func(l *Log) { l.Select(func(int) bool { return true }) }} {
		damaged := FromFile(c, 6, func() error { return bad })
		func() {
			defer func() {
				if d, ok := recover().(*DamageError); !ok || !errors.Is(d, bad) || damaged.Verify() != bad {
					t.Errorf("%s: %v", name, d)
				}
			}()
			read(damaged)
		}()
	}
}

// Parts and selections of a long log, which several goroutines make, are what one would make.
func TestSelectLong(t *testing.T) {
	l := NewLog(0)
	for i := range 3*selectChunk/2 + 5 {
		l.take(Event{Src: Node(i%1000 + 1), Dst: Node(2000 - i%7), Time: Time(i / 3), Label: float32(i % 2)})
	}
	want := NewLog(0)
	keep := func(i int) bool { return i%5 == 1 }
	for i := range l.Len() {
		if keep(i) {
			want.take(l.At(i))
		}
	}
	same := func(got, want *Log) {
		t.Helper()
		a, b := got.All(), want.All()
		if !slices.Equal(a.Src, b.Src) || !slices.Equal(a.Dst, b.Dst) || !slices.Equal(a.Time, b.Time) ||
			!slices.Equal(a.label, b.label) || !slices.Equal(a.edge, b.edge) || got.NumNodes() != want.NumNodes() ||
			got.Sorted() != want.Sorted() {
			t.Error("another log")
		}
	}
	same(l.Select(keep), want)
	lo, hi := 1000, 2*selectChunk/2+77
	same(l.Part(lo, hi), l.Select(func(i int) bool { return lo <= i && i < hi }))
	same(l.Part(0, l.Len()), l.Select(func(int) bool { return true }))
	same(l.Part(7, 7), NewLog(0))
}

// TestKinds: the column appears with the first kind, and stays with its event.
func TestKinds(t *testing.T) {
	var l Log
	for i := range 10 {
		l.take(Event{Src: 1, Dst: 2, Time: Time(20 - i)})
	}
	early := l.Now()
	if l.All().HasKinds() || l.Part(2, 5).All().HasKinds() {
		t.Error("a log without kinds keeps some")
	}
	for i := range 10 {
		l.take(Event{Src: 1, Dst: 2, Time: Time(20 - i), Kind: Kind(i)})
	}
	if early.All().HasKinds() || early.All().Kind(9) != 0 {
		t.Error("what was there before has kinds now")
	}
	for name, part := range map[string]*Log{"now": l.Now(), "part": l.Part(10, 20), "in order": l.InOrder(),
		"selected": l.Select(func(i int) bool { return i > 10 })} {
		for _, e := range events(part.All()) {
			if want := max(0, int(e.Edge)-11); int(e.Kind) != want {
				t.Errorf("%s: event %d has kind %d, want %d", name, e.Edge, e.Kind, want)
			}
		}
	}
	if l.Select(func(i int) bool { return i < 10 }).All().HasKinds() {
		t.Error("a selection without kinds keeps a column of them")
	}
	c := Columns{Src: []Node{1}, Dst: []Node{2}, Time: []Time{3}, Kind: make([]Kind, 2)}
	if _, err := FromColumns(c); err == nil || !strings.Contains(err.Error(), "kind column has 2 rows") {
		t.Errorf("two kinds of one event: %v", err)
	}
}
