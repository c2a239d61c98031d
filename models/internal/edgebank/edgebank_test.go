package edgebank

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

var (
	_ replay.BulkMemory    = (*Bank)(nil)
	_ replay.Ranker        = (*Bank)(nil)
	_ model.StatefulScorer = (*Bank)(nil)
)

func TestByHand(t *testing.T) {
	log := streamtest.Log(t, []event.Event{
		{Src: 1, Dst: 2, Time: 0}, {Src: 1, Dst: 2, Time: 10}, {Src: 1, Dst: 2, Time: 20}, // every 10
		{Src: 3, Dst: 4, Time: 50},                             // once
		{Src: 5, Dst: 6, Time: 60}, {Src: 5, Dst: 6, Time: 90}, // after 30
		{Src: 7, Dst: 8, Time: 85}, // once
	})
	// Mean count 7/4. Mean repeat interval (10 + 0 + 30 + 0)/4 = 10, window [80, 90]. The 0.85-quantile of 0 10 20 50
	// 60 85 90 is at 5.1: 85.5.
	ask := []sample.Query{{Src: 1, Dst: 2}, {Src: 3, Dst: 4}, {Src: 5, Dst: 6}, {Src: 7, Dst: 8}, {Src: 2, Dst: 1},
		{Src: 9, Dst: 9}}
	for c, want := range map[Config][]float32{
		{Unlimited, ""}:               {1, 1, 1, 1, 0, 0},
		{Repeats, ""}:                 {1, 0, 1, 0, 0, 0},
		{TimeWindow, FixedProportion}: {0, 0, 1, 0, 0, 0},
		{TimeWindow, RepeatInterval}:  {0, 0, 1, 1, 0, 0},
		{Unlimited, RepeatInterval}:   {1, 1, 1, 1, 0, 0},
		{}:                            {1, 1, 1, 1, 0, 0},
	} {
		b := bank(t, c)
		if got := score(t, b, ask); slices.Contains(got, 1) {
			t.Errorf("%v: an empty memory scores %v", c, got)
		}
		b.observe(log.Span(0, 3))
		b.observe(log.Span(3, 7))
		if got := score(t, b, ask); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
	}
}

func bank(t testing.TB, c Config) *Bank {
	t.Helper()
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// observe lets the bank remember events.
func (b *Bank) observe(s event.Span) {
	if err := b.Commit(&sample.Batch{Events: s}); err != nil {
		panic(err)
	}
}

// restore goes back to the bytes of a snapshot.
func (b *Bank) restore(raw []byte) error {
	return b.Restore([]tensor.Named{{Name: "pairs", Bytes: raw}})
}

func score(t interface{ Fatal(...any) }, b *Bank, qs []sample.Query) []float32 {
	out := slices.Repeat([]float32{-1}, len(qs))
	if err := b.Score(&sample.Batch{Queries: qs}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Growing memories are those computed from all history at once.
func TestMemoryIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := streamtest.Few(t)
		log := streamtest.Log(t, events)
		c := rapid.SampledFrom(Variants()).Draw(t, "variant")
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		var all []sample.Query
		for u := event.Node(1); u <= 5; u++ {
			for v := event.Node(1); v <= 6; v++ {
				all = append(all, sample.Query{Src: u, Dst: v})
			}
		}
		done := 0
		for span := range log.Batches(0, log.Len(), rapid.IntRange(1, 20).Draw(t, "batch")) {
			b.observe(span)
			done += span.Len()
			if rapid.Bool().Draw(t, "restart") {
				again, _ := New(c)
				if err := again.restore(b.bytes()); err != nil {
					t.Fatal(err)
				}
				b = again
			}
			want := inMemory(events[:done], c)
			for i, s := range score(t, b, all) {
				if (s == 1) != want[[2]event.Node{all[i].Src, all[i].Dst}] {
					t.Fatalf("%v after %d events: %v scores %v", c, done, all[i], s)
				}
			}
		}
	})
}

func inMemory(history []event.Event, c Config) map[[2]event.Node]bool {
	times := map[[2]event.Node][]float64{}
	var pairs [][2]event.Node
	var all []float64
	for _, e := range history {
		p := [2]event.Node{e.Src, e.Dst}
		if times[p] == nil {
			pairs = append(pairs, p)
		}
		times[p] = append(times[p], e.Time)
		all = append(all, e.Time)
	}
	slices.Sort(all)
	var interval float64
	for _, p := range pairs {
		slices.Sort(times[p])
		if n := len(times[p]); n > 1 {
			interval += (times[p][n-1] - times[p][0]) / float64(n-1)
		}
	}
	interval /= float64(len(pairs))
	in := map[[2]event.Node]bool{}
	for p, ts := range times {
		last := ts[len(ts)-1]
		switch c {
		case Config{Repeats, ""}:
			in[p] = float64(len(ts)) >= float64(len(all))/float64(len(pairs))
		case Config{TimeWindow, FixedProportion}:
			in[p] = last >= dataset.Quantile(all, 0.85)
		case Config{TimeWindow, RepeatInterval}:
			in[p] = last >= all[len(all)-1]-interval
		default:
			in[p] = true
		}
	}
	return in
}

// After a mark a bank goes back to the same bytes, also after late events and after it began anew meanwhile.
func TestRewind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := streamtest.Log(t, streamtest.Few(t))
		c := rapid.SampledFrom(Variants()).Draw(t, "variant")
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, log.Len()).Draw(t, "cut")
		b.observe(log.Span(0, cut))
		ask := []sample.Query{{Src: 1, Dst: 2}, {Src: 2, Dst: 3}, {Src: 3, Dst: 1}, {Src: 4, Dst: 6}}
		before, scores := b.bytes(), score(t, b, ask)
		outer := b.Mark()
		rewind := b.Mark()
		b.observe(log.Span(cut, log.Len()))
		if rapid.Bool().Draw(t, "anew") {
			if err := b.Restore(nil); err != nil {
				t.Fatal(err)
			}
			b.observe(log.All())
		}
		rewind()
		b.observe(log.Span(cut, log.Len()))
		outer()
		if !bytes.Equal(b.bytes(), before) || !slices.Equal(score(t, b, ask), scores) {
			t.Fatalf("%v: the bank is not what it was when it was marked", c)
		}
		b.observe(log.Span(cut, log.Len()))
		again, _ := New(c)
		again.observe(log.Span(0, cut))
		again.observe(log.Span(cut, log.Len()))
		if !bytes.Equal(b.bytes(), again.bytes()) || !slices.Equal(score(t, b, ask), score(t, again, ask)) {
			t.Fatalf("%v: after it was rewound the bank remembers otherwise", c)
		}
	})
}

// Banks that share a memory score as banks of their own.
func TestShareMemory(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 600, Sources: 9, Dests: 9, Instants: 300, Repeat: 0.3}, 1)
	var ask []sample.Query
	for u := event.Node(1); u <= 9; u++ {
		for v := event.Node(10); v <= 18; v++ {
			ask = append(ask, sample.Query{Src: u, Dst: v})
		}
	}
	first := bank(t, Config{})
	var shared, own []*Bank
	for _, c := range Variants() {
		b := bank(t, c)
		if !b.ShareMemory(first) {
			t.Fatalf("%v shares no memory", c)
		}
		shared, own = append(shared, b), append(own, bank(t, c))
	}
	for span := range log.Batches(0, log.Len(), 50) {
		first.observe(span)
		for i, b := range own {
			b.observe(span)
			if got, want := score(t, shared[i], ask), score(t, b, ask); !slices.Equal(got, want) {
				t.Fatalf("%v: %v with a shared memory, %v with its own", b.config, got, want)
			}
		}
	}
	if bank(t, Config{}).ShareMemory(first) {
		t.Error("a memory was shared that has events already")
	}
}

func TestRestoreForgetsAndRefuses(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 300, Sources: 9, Dests: 9, Instants: 200}, 1)
	for _, c := range Variants() {
		b := bank(t, c)
		b.observe(log.All())
		state := b.bytes()
		before := score(t, b, []sample.Query{{Src: 1, Dst: 10}})
		for name, bad := range map[string][]byte{
			"empty": {}, "cut": state[:len(state)-1], "long": append(bytes.Clone(state), 0),
			"zeros": make([]byte, len(state)), "huge": bytes.Repeat([]byte{255}, 64), "never": never(state, 16),
			"never again": never(state, 24), "at last never": never(state, len(state)-8),
		} {
			if err := b.restore(bad); err == nil {
				t.Errorf("%v: a snapshot (%s) was accepted", c, name)
			}
		}
		if err := b.restore(state); err != nil {
			t.Fatal(err)
		}
		got := score(t, b, []sample.Query{{Src: 1, Dst: 10}})
		if !slices.Equal(got, before) || !bytes.Equal(b.bytes(), state) {
			t.Errorf("%v: the bank has changed", c)
		}
		if err := b.Restore(nil); err != nil || b.met.Len() != 0 || b.latest != math.Inf(-1) {
			t.Errorf("%v: %d pairs are left, error %v", c, b.met.Len(), err)
		}
	}
}

// never is a snapshot in which a time is no number; where there is none, other bytes.
func never(state []byte, at int) []byte {
	bad := bytes.Clone(state)
	binary.LittleEndian.PutUint64(bad[at:], math.Float64bits(math.NaN()))
	return bad
}

// TestQuestionsChangeNothing: also not the order in which late events are kept.
func TestQuestionsChangeNothing(t *testing.T) {
	for _, c := range Variants() {
		b := bank(t, c)
		for _, at := range []float64{5, 3, 9, 4} {
			l := event.NewLog(2)
			for i := range 2 {
				if _, err := l.Append(event.Event{Src: 1, Dst: 2, Time: at - float64(i)}); err != nil {
					t.Fatal(err)
				}
			}
			b.observe(l.All())
			before := b.bytes()
			score(t, b, []sample.Query{{Src: 1, Dst: 2}})
			if !bytes.Equal(b.bytes(), before) {
				t.Errorf("%v: a question has changed what is remembered", c)
			}
			if err := b.restore(before); err != nil {
				t.Error(err)
			}
		}
	}
}

func FuzzRestore(f *testing.F) {
	b, err := New(Config{TimeWindow, FixedProportion})
	if err != nil {
		f.Fatal(err)
	}
	b.observe(streamtest.Generate(streamtest.Shape{Events: 5, Sources: 3, Dests: 3, Instants: 4}, 1).All())
	f.Add(b.bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, state []byte) {
		for _, c := range Variants() {
			b := bank(t, c)
			if b.restore(state) != nil {
				continue
			}
			score(t, b, []sample.Query{{Src: 1, Dst: 2}})
			if again := b.bytes(); len(again) != len(state) {
				t.Errorf("%v: %d bytes came back as %d", c, len(state), len(again))
			}
		}
	})
}

func TestNewRefusesNonsense(t *testing.T) {
	for _, c := range []Config{{Memory: "unlimited"}, {Window: "repeat"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestVariantsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Variants() {
		names[c.String()] = true
	}
	if len(names) != 4 {
		t.Errorf("%v", names)
	}
}

// A bank that learns of many events at once remembers what it would event by event, and goes on from there.
func TestCommitAll(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: bulk + 5000, Sources: 300, Dests: 200, Instants: 900,
		Repeat: 0.3}, 1)
	for _, c := range Variants() {
		many, few := bank(t, c), bank(t, c)
		for _, part := range []event.Span{log.Span(0, bulk), log.Span(bulk, log.Len())} {
			if err := many.CommitAll(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
		for span := range log.Batches(0, log.Len(), 50) {
			few.observe(span)
		}
		if !bytes.Equal(many.bytes(), few.bytes()) || many.events != few.events || many.latest != few.latest {
			t.Errorf("%v remembers otherwise", c)
		}
		many.refresh()
		few.refresh()
		if math.Abs(many.bound.least-few.bound.least) > 1e-9 || math.Abs(many.bound.most-few.bound.most) > 1e-9 {
			t.Errorf("%v has bounds %v, want %v", c, many.bound, few.bound)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := bank(t, c).CommitAll(ctx, log.All()); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
