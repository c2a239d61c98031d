package dygmamba_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/predict"
)

func explain(t *testing.T, p *predict.Predictor, qs []predict.Query) []predict.Explanation {
	t.Helper()
	all, err := p.Explain(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestExplain: explanations have the scores, and list what the index says of both nodes.
func TestExplain(t *testing.T) {
	r := launch(t)
	p := load(t, r.dir, predict.Options{Set: r.set})
	qs := questions(r.set)
	logits := score(t, p, qs)
	past := index.Freeze(r.set.Log)
	for i, e := range explain(t, p, qs) {
		q := qs[i]
		if e.Query != q || e.Logit != logits[i] || e.Probability != p.Probability(logits[i]) || !e.Weighted {
			t.Fatalf("query %d: %+v, score %v", i, e, logits[i])
		}
		for _, side := range []struct {
			node event.Node
			s    predict.Side
		}{{q.Src, e.Source}, {q.Dst, e.Destination}} {
			h := past.Before(side.node, q.Time).Last(11)
			if len(side.s.Patches) != 7 || side.s.Events != h.Len() || side.s.Name != r.set.Names.Name(side.node) {
				t.Fatalf("query %d: %d patches and %d events of %s, want 7 and %d",
					i, len(side.s.Patches), side.s.Events, side.s.Name, h.Len())
			}
			sum, at, filled, withheld := 0.0, 0, 0, 0
			for _, patch := range side.s.Patches {
				sum += float64(patch.Weight)
				filled += min(1, len(patch.Events))
				for _, ev := range patch.Events {
					if ev.Other != h.Node[at] || ev.Edge != h.Edge[at] || ev.Time != h.Time[at] ||
						ev.Name != r.set.Names.Name(ev.Other) {
						t.Fatalf("query %d: event %+v, the index has %d, %d at %v",
							i, ev, h.Node[at], h.Edge[at], h.Time[at])
					}
					at++
				}
				if patch.Without != nil {
					withheld++
				}
			}
			if math.Abs(sum-1) > 1e-5 || withheld != min(3, filled) {
				t.Errorf("query %d: weights add up to %v, %d of %d patches are withheld", i, sum, withheld, filled)
			}
		}
		checkGaps(t, e, past)
	}
}

// checkGaps compares with the meetings in the index.
func checkGaps(t *testing.T, e predict.Explanation, past index.View) {
	t.Helper()
	var times []float64
	h := past.Before(e.Query.Src, e.Query.Time)
	for k, n := range h.Node {
		if n == e.Query.Dst && !slices.Contains(times, h.Time[k]) {
			times = append(times, h.Time[k])
		}
	}
	times = append(times, e.Query.Time)
	var want []float32
	for k := 1; k < len(times); k++ {
		want = append(want, float32(times[k]-times[k-1]))
	}
	if want = want[max(0, len(want)-4):]; !slices.Equal(e.Gaps, want) {
		t.Errorf("%+v: gaps %v, want %v", e.Query, e.Gaps, want)
	}
	if (e.WithoutGaps == nil) != (len(want) == 0) || (e.WithoutMeetings == nil) != (len(want) == 0) {
		t.Errorf("%+v: %d gaps, withheld %v and %v", e.Query, len(want), e.WithoutGaps, e.WithoutMeetings)
	}
}

// TestWithheld compares effects with the answers about streams in which the events really are missing: with histories
// that the model sees whole, and with longer ones, where older events come in.
func TestWithheld(t *testing.T) {
	r := launch(t)
	t.Run("short", func(t *testing.T) { testWithheld(t, r, 45, 30, 38, 44) })
	t.Run("long", func(t *testing.T) { testWithheld(t, r, 600, 450, 520, 599) })
}

func testWithheld(t *testing.T, r trained, events int, queries ...int) {
	few := r.set.Log.Select(func(i int) bool { return i < events })
	all := few.All()
	p := load(t, r.dir, predict.Options{Set: r.set, Past: index.Freeze(few)})
	p.Top = 100
	patches, meetings := 0, 0
	for _, at := range queries {
		q := []predict.Query{{Src: all.Src[at], Dst: all.Dst[at], Time: all.Time[at] + 30}}
		e := explain(t, p, q)[0]
		without := func(missing func(i int) bool) float32 {
			past := index.Freeze(few.Select(func(i int) bool { return !missing(i) }))
			return score(t, load(t, r.dir, predict.Options{Set: r.set, Past: past}), q)[0]
		}
		if e.WithoutMeetings == nil || e.WithoutGaps == nil {
			t.Fatalf("%+v: there were meetings, but none is withheld", e)
		}
		want := without(func(i int) bool { return all.Src[i] == q[0].Src && all.Dst[i] == q[0].Dst })
		if e.WithoutMeetings.Logit != want || e.WithoutMeetings.Change != want-e.Logit {
			t.Errorf("without meetings %+v, want %v", e.WithoutMeetings, want)
		}
		if e.WithoutGaps.Logit == e.Logit || e.WithoutGaps.Logit == want {
			t.Errorf("without gaps %+v, with them %v, without meetings %v", e.WithoutGaps, e.Logit, want)
		}
		meetings++
		for _, s := range []predict.Side{e.Source, e.Destination} {
			for _, patch := range s.Patches {
				if (patch.Without != nil) != (len(patch.Events) > 0) {
					t.Fatalf("patch %+v", patch)
				}
				gone := map[event.Edge]bool{}
				own := false // a meeting of the two stands in both histories
				for _, ev := range patch.Events {
					gone[ev.Edge] = true
					own = own || ev.Other == q[0].Src || ev.Other == q[0].Dst
				}
				if len(gone) == 0 || own {
					continue
				}
				if want := without(func(i int) bool { return gone[all.Edge(i)] }); patch.Without.Logit != want {
					t.Errorf("without %+v: %v, want %v", patch.Events, patch.Without.Logit, want)
				}
				patches++
			}
		}
	}
	if patches < 6 || meetings < 3 {
		t.Errorf("only %d patches and %d meetings were compared", patches, meetings)
	}
}

// TestWithheldByCall: where rows are as long as the longest of their call, they stay so when something is withheld from
// one of them. Another query of the call, which has a longer past, sets the length.
func TestWithheldByCall(t *testing.T) {
	r := launch(t)
	byCall := []string{"padding=call"}
	all := r.set.Log.All()
	past := index.Freeze(r.set.Log)
	short := predict.Query{Src: all.Src[9], Dst: all.Dst[9], Time: all.Time[9] + 0.5}
	var long predict.Query // with a longer past, not as long as it might be, of two other nodes
	for i := 10; long.Src == 0 && i < all.Len(); i++ {
		q := predict.Query{Src: all.Src[i], Dst: all.Dst[i], Time: all.Time[i]}
		n, m := past.Before(q.Src, q.Time).Len(), past.Before(q.Dst, q.Time).Len()
		if min(n, m) >= 4 && max(n, m) <= 8 && q.Src != short.Src && q.Dst != short.Dst {
			long = q
		}
	}
	qs := []predict.Query{short, long}
	p := load(t, r.dir, predict.Options{Set: r.set, Settings: byCall})
	e := explain(t, p, qs)[0]
	kept := r.set.Log.Select(func(i int) bool { return all.Src[i] != short.Src || all.Dst[i] != short.Dst })
	without := load(t, r.dir, predict.Options{Set: r.set, Settings: byCall, Past: index.Freeze(kept)})
	want := score(t, without, qs)[0]
	if e.WithoutMeetings == nil || e.WithoutMeetings.Logit != want {
		t.Errorf("without meetings %+v, want %v", e.WithoutMeetings, want)
	}
	if alone := score(t, without, qs[:1])[0]; alone == want {
		t.Error("the length of the call makes no difference")
	}
	if n, m := len(e.Source.Patches), len(explain(t, p, qs[:1])[0].Source.Patches); m >= n || n >= 6 {
		t.Errorf("the source has %d patches of at most 6, and %d when asked alone", n, m)
	}
}

// TestExplainItself: a node asked about itself loses a patch on both sides.
func TestExplainItself(t *testing.T) {
	r := launch(t)
	p := load(t, r.dir, predict.Options{Set: r.set})
	e := explain(t, p, []predict.Query{{Src: 4, Dst: 4, Time: 300}})[0]
	for k := range e.Source.Patches {
		a, b := e.Source.Patches[k].Without, e.Destination.Patches[k].Without
		if (a == nil) != (b == nil) || a != nil && (*a != *b || a.Change == 0) {
			t.Errorf("patch %d: %+v and %+v", k, a, b)
		}
	}
}

// TestExplainUnweighted: a model without weights still tells its events and what the pair's history is worth.
func TestExplainUnweighted(t *testing.T) {
	r := launch(t)
	dir := t.TempDir()
	dev := newCPU(t)
	o := dygmamba.TrainOptions{Set: r.set, Device: dev, Model: "dygmamba-a",
		Settings: append(slices.Clone(narrow), "num_epochs=1"), Dir: dir}
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p := load(t, dir, predict.Options{Set: r.set, Device: dev})
	last := r.set.Log.At(r.set.Log.Len() - 1)
	e := explain(t, p, []predict.Query{{Src: last.Src, Dst: last.Dst, Time: last.Time + 1}})[0]
	if e.Weighted || len(e.Gaps) != 0 || e.WithoutGaps != nil || len(e.Source.Patches) != e.Source.Events ||
		e.Source.Events != 11 {
		t.Errorf("got %+v", e)
	}
	if e.WithoutMeetings == nil || e.WithoutMeetings.Change == 0 {
		t.Errorf("without meetings: %+v", e.WithoutMeetings)
	}
	raw, err := json.Marshal(e)
	if err != nil || !json.Valid(raw) {
		t.Error(err)
	}
}

// TestExplainNext: a model that knows what usually comes next says after what, how often, and what it would say
// without.
func TestExplainNext(t *testing.T) {
	r := launch(t)
	dir := t.TempDir()
	dev := newCPU(t)
	o := dygmamba.TrainOptions{Set: r.set, Device: dev, Model: "walkmamba", Preset: "quick",
		Settings: []string{"num_epochs=1", "walk_dim=8", "channel_embedding_dim=8"}, Dir: dir}
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p := load(t, dir, predict.Options{Set: r.set, Device: dev})
	log := r.set.Log
	last := log.At(log.Len() - 1)
	at := last.Time + 1
	asked := predict.Query{Src: last.Src, Dst: last.Dst, Time: at}
	e := explain(t, p, []predict.Query{asked, {Src: 1 << 20, Dst: last.Dst, Time: at}})

	var after []event.Node // the source's partners
	for i := range log.Len() {
		if x := log.At(i); x.Src == last.Src {
			after = append(after, x.Dst)
		}
	}
	var one, two share // after the last of them, after the last two
	latest := map[event.Node][2]event.Node{}
	for i := range log.Len() {
		x := log.At(i)
		for k, s := range []*share{&one, &two} {
			if had := latest[x.Src]; had[0] == last.Dst && (k == 0 || had[1] == after[len(after)-2]) {
				s.Of++
				if x.Dst == last.Dst {
					s.Times++
				}
			}
		}
		latest[x.Src] = [2]event.Node{x.Dst, latest[x.Src][0]}
		latest[x.Dst] = [2]event.Node{x.Src, latest[x.Dst][0]}
	}
	known, stranger := nextOf(t, e[0]), nextOf(t, e[1])
	if known == nil || len(known.After) != 2 || known.After[0] != r.set.Names.Name(after[len(after)-1]) ||
		known.After[1] != r.set.Names.Name(after[len(after)-2]) {
		t.Errorf("after %+v, want the last two of %v", known, after)
	}
	if known.AfterLast != one || known.AfterBoth != two || one.Of == 0 || one == two {
		t.Errorf("%+v, want %+v after the last and %+v after both", known, one, two)
	}
	if known.Without == nil || known.Without.Change == 0 {
		t.Errorf("without what comes next: %+v", known.Without)
	}
	if stranger == nil || len(stranger.After) != 0 || stranger.AfterLast.Of == 0 {
		t.Errorf("a stranger: %+v", stranger)
	}
	p = load(t, r.dir, predict.Options{Set: r.set, Device: dev})
	if e := explain(t, p, []predict.Query{asked})[0]; nextOf(t, e) != nil {
		t.Errorf("a model that knows nothing of it: %+v", nextOf(t, e))
	}
}

type share struct{ Times, Of int }

// nextDoc is what an explanation says of what usually comes next, in JSON.
type nextDoc struct {
	After     []string
	AfterLast share `json:"after_last"`
	AfterBoth share `json:"after_both"`
	Without   *predict.Effect
}

func nextOf(t *testing.T, e predict.Explanation) *nextDoc {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Next *nextDoc }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return doc.Next
}
