package next

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// compared is a net with a model of pairs, which says something wild of every pair.
type compared struct {
	fixed
	short int
	scale float32
	asked *int
}

func (c compared) Shortlist() int          { return c.short }
func (c compared) PairScale(Group) float32 { return c.scale }

func (c compared) Pairs() (Pairs, bool) {
	return func(src event.Node, at event.Time, nodes []event.Node) ([]float32, error) {
		*c.asked += len(nodes)
		out := make([]float32, len(nodes))
		for i, v := range nodes {
			out[i] = 9 * float32(math.Sin(float64(31*int(v)+7*int(src))+at))
		}
		return out, nil
	}, true
}

// Whatever a model of pairs says, shares sum to 1, groups and all who are not on a list keep what counts give them, and
// a list as a whole keeps it too.
func TestShortlistKeepsItsShare(t *testing.T) {
	log := stream(t, 600, 3)
	walk, all, asked := NewWalk(log.All(), of(300)), log.All(), 0
	plain, moved := NewAsker(fixed{}, 1), false
	for _, i := range []int{0, 1, 5, 60, 300, 599} {
		at := all.Time[i]
		w := walk.Before(at).At(nil, all.Src[i], at)
		for _, k := range []int{2, 5, 50} {
			want, err := plain.Shares(w)
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewAsker(compared{fixed{}, k, 1, &asked}, 2).Shares(w)
			if err != nil || !slices.Equal(got.Nodes, want.Nodes) || got.New != want.New {
				t.Fatalf("event %d: other candidates (%v)", i, err)
			}
			sum, lists := got.New, [Groups][2]float64{}
			for j, v := range got.Nodes {
				sum += got.Share[j]
				g := w.GroupOf(v)
				if !slices.Contains(w.Shortlist(nil, g, k), v) {
					if math.Abs(got.Share[j]-want.Share[j]) > 1e-6*want.Share[j] {
						t.Errorf("event %d: %d is on no list and has %v, want %v", i, v, got.Share[j], want.Share[j])
					}
					continue
				}
				lists[g][0] += got.Share[j]
				lists[g][1] += want.Share[j]
				moved = moved || math.Abs(got.Share[j]-want.Share[j]) > 0.01
				nats := 0.0
				a := NewAsker(compared{fixed{}, k, 1, &asked}, 1)
				group, within, err := a.Nats(w, v)
				if nats = group + within; err != nil || math.Abs(math.Exp(-nats)-got.Share[j]) > 1e-9 {
					t.Errorf("event %d: %d costs %v nats, its share is %v", i, v, nats, got.Share[j])
				}
			}
			for g, x := range lists {
				if math.Abs(x[0]-x[1]) > 1e-6 {
					t.Errorf("event %d: the list of group %d has %v, want %v", i, g, x[0], x[1])
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("event %d: shares sum to %v", i, sum)
			}
		}
	}
	if !moved {
		t.Error("the model moves nothing")
	}
	before := asked
	w := walk.Before(1e9).At(nil, 1, 1e9)
	if _, err := NewAsker(compared{fixed{}, 5, 0, &asked}, 1).Shares(w); err != nil || asked != before {
		t.Errorf("a model without weight was asked (%v)", err)
	}
}

// A list has members of its group alone, each once, the same whatever lies at or after t and however maps are walked.
func TestShortlist(t *testing.T) {
	log := stream(t, 600, 4)
	all := log.All()
	for _, i := range []int{3, 100, 599} {
		at := all.Time[i]
		past := log.Select(func(j int) bool { return all.Time[j] < at })
		for _, g := range []Group{Returning, First, New} {
			w := NewWalk(all, of(300)).Before(at).At(nil, all.Src[i], at)
			list := w.Shortlist(nil, g, 6)
			for range 5 {
				again := NewWalk(past.All(), of(300)).Before(at).At(nil, all.Src[i], at).Shortlist(nil, g, 6)
				if !slices.Equal(list, again) {
					t.Fatalf("event %d, group %d: %v, then %v", i, g, list, again)
				}
			}
			members := w.Members(nil, g)
			for j, v := range list {
				if !slices.Contains(members, v) || slices.Contains(list[:j], v) {
					t.Errorf("event %d, group %d: %v of %v", i, g, list, members)
				}
			}
			if len(list) > 6 || len(list) == 0 && len(members) > 0 && g == Returning {
				t.Errorf("event %d, group %d: %d on the list, %d members", i, g, len(list), len(members))
			}
		}
	}
}

// The feed describes what was drawn: the destination first, and only where it is on the list of its group.
func TestFeedOfLists(t *testing.T) {
	for _, sided := range []bool{false, true} {
		log, short := stream(t, 300, 5), 5
		f := NewFeed(of(300), 7, 1).WithShort(short)
		f.Lists().SetSided(sided)
		f.Begin(0, log.All())
		lists, on, seen := f.Lists(), 0, map[int32]bool{}
		for span := range log.All().Batches(40) {
			n := span.Len()
			var rounds [][]sample.Query
			for range lists.Rounds() {
				qs := make([]sample.Query, n)
				lists.Draw(span, qs)
				rounds = append(rounds, qs)
			}
			var b sample.Batch
			b.Positives, b.Events = n, span
			sample.Gatherer{Threads: 1}.Gather(nil, sample.Plan{}, nil, &b)
			e := f.NewPart().(*Examples)
			e.Gather(&sample.Gathering{Batch: &b})
			for i := range n {
				if e.ShortTarget[i] == 0 {
					on++
				}
				w := NewWalk(log.All(), of(300)).Before(span.Time[i]).At(nil, span.Src[i], span.Time[i])
				list := w.Shortlist(nil, w.GroupOf(span.Dst[i]), short)
				if want := slices.Contains(list, span.Dst[i]) && len(list) > 1; want != (e.ShortTarget[i] == 0) {
					t.Fatalf("event %d: on the list: %v, want %v", span.First()+i, !want, want)
				}
				if e.ShortTarget[i] < 0 {
					continue
				}
				for k := range short {
					v := span.Dst[i]
					switch {
					case e.ShortMask[i*short+k] == 0:
						continue
					case k > 0 && sided && k%2 == 1:
						v = rounds[(k-1)/2][i].Src
					case k > 0 && sided:
						v = rounds[(k-1)/2][i].Dst
					case k > 0:
						v = rounds[k-1][i].Dst
					}
					at := (i*short + k) * f.Width
					if want := w.Features(nil, v); !slices.Equal(want, e.Short[at:at+f.Width]) {
						t.Fatalf("event %d: candidate %d has other features than %d", span.First()+i, k, v)
					}
				}
			}
			sources, candidates := lists.Rows(n)
			if sided != (sources != nil) {
				t.Fatal("rows of a model that is not sided")
			}
			for _, row := range candidates {
				seen[row] = true
			}
		}
		if on < 50 || sided && len(seen) < 40*short {
			t.Errorf("%d destinations on lists, %d rows", on, len(seen))
		}
	}
}

// Validation takes the weight of a model back that says nothing, and keeps that of one that knows.
func TestPairWeight(t *testing.T) {
	log := stream(t, 900, 6)
	for _, x := range []struct {
		knows    bool
		min, max float32
	}{{true, 0.5, 2}, {false, 0, 0.4}} {
		net := &oracle{knows: x.knows}
		walk, fit := NewWalk(log.All(), of(300)), Fit{}
		for i := 300; i < 900; i++ {
			e := log.At(i)
			net.dst = e.Dst
			if err := fit.Add(NewAsker(net, 1), walk.Before(e.Time).At(nil, e.Src, e.Time), e.Dst); err != nil {
				t.Fatal(err)
			}
		}
		c, before, after := fit.Calibration(), 0.0, 0.0
		fit.Each(c, func(_ bool, nats float64) { after += nats })
		none := c
		none.Pair = [2]float32{}
		fit.Each(none, func(_ bool, nats float64) { before += nats })
		if c.Pair[Returning] < x.min || c.Pair[Returning] > x.max || after > before || x.knows != (after < before-50) {
			t.Errorf("knows %v: weights %v, %v nats with them and %v without", x.knows, c.Pair, after, before)
		}
	}
}

// oracle is a model that knows the destination, or one that says the opposite every other time.
type oracle struct {
	fixed
	knows bool
	dst   event.Node
	turn  int
}

func (o *oracle) Shortlist() int          { return 8 }
func (o *oracle) PairScale(Group) float32 { return 1 }

func (o *oracle) Pairs() (Pairs, bool) {
	return func(_ event.Node, _ event.Time, nodes []event.Node) ([]float32, error) {
		out, sign := make([]float32, len(nodes)), float32(1)
		if o.turn++; !o.knows && o.turn%2 == 0 {
			sign = -1
		}
		for i, v := range nodes {
			if v == o.dst {
				out[i] = 3 * sign
			}
		}
		return out, nil
	}, true
}
