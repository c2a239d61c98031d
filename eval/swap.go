package eval

import (
	"context"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/cache"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/model"
)

// Swapped tells how well wrong events are found by how surprising they are: some test events exchange their
// destinations, and all are put in the order of their bits.
type Swapped struct {
	Swapped int     `json:"swapped"` // events with the destination of another
	Events  int     `json:"events"`  // that were judged, these among them
	AP      float64 `json:"ap"`      // of finding them
	AUC     float64 `json:"auc"`
	// of the rule cache on the same events
	CacheAP  float64 `json:"cache_ap"`
	CacheAUC float64 `json:"cache_auc"`
}

// Swap exchanges the destinations of n drawn test events and judges them together with o.Limit others. Everyone looks
// back on the stream with the exchanged destinations, as someone who has to find them would.
func (p *Protocol) Swap(ctx context.Context, net *model.Net, n int, o NextOptions) (r Swapped, err error) {
	log, wrong := swapped(p.split.Full, p.parts[Test].Len(), n)
	test := log.Len() - p.parts[Test].Len()
	chosen := drawn(p.parts[Test].Len(), o.Limit)
	for i := range wrong {
		chosen = append(chosen, i)
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	past := func() index.View { return index.Freeze(log) }
	err = p.withPairs(ctx, net, past, log.Span(test, log.Len()), func() error {
		r, err = p.judge(ctx, net, log, chosen, wrong, o)
		return err
	})
	return r, err
}

// judge puts chosen events of a log in the order of their bits, of which some are wrong.
func (p *Protocol) judge(ctx context.Context, net *model.Net, log *event.Log, chosen []int32, wrong map[int32]bool,
	o NextOptions) (Swapped, error) {
	test := log.Len() - p.parts[Test].Len()
	all, ask := log.All(), next.NewAsker(net, p.options.Threads)
	walk, view := next.NewWalk(all, net.Setup()), (*next.View)(nil)
	var found, rule [2][]float32 // of the others, and of those that were exchanged
	for k, bits := range cache.Surprise(all, test-p.split.Val.Len(), test, chosen) {
		if err := ctx.Err(); err != nil {
			return Swapped{}, err
		}
		e := log.At(test + int(chosen[k]))
		view = walk.Before(e.Time).At(view, e.Src, e.Time)
		group, within, err := ask.Nats(view, e.Dst)
		if err != nil {
			return Swapped{}, err
		}
		of := 0
		if wrong[chosen[k]] {
			of = 1
		}
		found[of], rule[of] = append(found[of], float32(group+within)), append(rule[of], float32(bits))
		if o.OnEvent != nil {
			o.OnEvent(k+1, len(chosen))
		}
	}
	var m Meter
	r := Swapped{Swapped: len(found[1]), Events: len(chosen)}
	r.AP, r.AUC = m.Score(found[1], found[0])
	r.CacheAP, r.CacheAUC = m.Score(rule[1], rule[0])
	return r, nil
}

// swapped is a copy of a log in which n of its last events, of which there are test, have each other's destinations,
// and the numbers of those that differ now.
func swapped(log *event.Log, test, n int) (*event.Log, map[int32]bool) {
	order := rng.New(0, "swapped events").Sample(test, min(n, test))
	first := log.Len() - test
	to, wrong := map[int]event.Node{}, map[int32]bool{}
	for k, i := range order {
		other := log.At(first + int(order[(k+1)%len(order)])).Dst
		if to[first+int(i)] = other; other != log.At(first+int(i)).Dst {
			wrong[i] = true
		}
	}
	out := event.NewLog(log.Len())
	for i := range log.Len() {
		e := log.At(i)
		if dst, exchanged := to[i]; exchanged {
			e.Dst = dst
		}
		out.Append(e)
	}
	return out, wrong
}
