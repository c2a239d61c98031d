package next

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// A model that looks at pairs is too slow for all destinations. It compares those of a short list: of each group the
// few that counts alone find most likely, without anything learned. The list depends on the events before t alone, so
// that it is the same in training and in every answer.
//
// What the counts give to all of the list together stays as it is. The model says how that is shared:
//
//	P(v | g) = C(L | g) · softmax over L of (c(v) + w·e(v))   for v in L, the list of group g
//	P(v | g) = C(v | g)                                       for all others
//
// c are the logits of the counts, C their softmax over the whole group, e the logits of the model, and w is fitted to
// validation events. So probabilities sum to 1 whatever the model says.

// Pairs gives the logits of a model for a source with each of some nodes, as of a time.
type Pairs func(src event.Node, at event.Time, nodes []event.Node) ([]float32, error)

// PairNet is a Net that has a model of pairs beside it.
type PairNet interface {
	Net
	Shortlist() int               // candidates of a group that the model compares; 0: there is no model
	PairScale(g Group) float32    // w
	Pairs() (p Pairs, ready bool) // nobody may ask before it is ready
}

const (
	ownPool     = 512 // latest events of a source among whose destinations those of the list are looked for
	partnerPool = 64  // and latest partners
)

// Shortlist appends at most k candidates of a group, the most likely first, by a sum of shares. A source returns to
// those that it chose often, often lately, or just now, and to those who chose it lately. It meets those for the first
// time who are popular at all or lately. In both groups it counts what follows upon its latest destinations, or comes
// together with them.
func (w *View) Shortlist(to []event.Node, g Group, k int) []event.Node {
	w.pool = w.pool[:0]
	switch g {
	case Returning:
		w.poolReturning()
	case First:
		w.poolFirst()
	}
	slices.SortFunc(w.pool, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.node, b.node))
	})
	for _, x := range w.pool[:min(k, len(w.pool))] {
		to = append(to, x.node)
	}
	return to
}

// scored is a candidate of a list.
type scored struct {
	node  event.Node
	score float64
}

func (w *View) poolReturning() {
	if w.inPool == nil {
		w.inPool = map[event.Node]int32{}
	}
	clear(w.inPool)
	own, partners := w.of.own, w.of.partners
	latest := tail(own, late)
	for _, v := range tail(own, ownPool) {
		w.inPool[v] = 0
	}
	for _, v := range tail(partners, partnerPool) {
		w.inPool[v] = 0
	}
	for _, v := range latest {
		w.inPool[v]++
	}
	for v, lately := range w.inPool {
		if !w.c.Known(v) {
			continue
		}
		q := w.expected(v)
		if l := w.c.links[pairOf(w.src, v)]; l != nil {
			now := w.c.read(&l.fade, w.at)
			q += float64(l.count)/float64(len(own)) + float64(lately)/float64(len(latest)) +
				part(now[0], w.sent[0]) + part(now[1], w.sent[1]) + 1/float64(1+w.of.actions-l.when)
		}
		if l := w.c.links[pairOf(v, w.src)]; l != nil {
			now := w.c.read(&l.fade, w.at)
			q += part(now[0], w.received[0]) + part(now[1], w.received[1])
		}
		w.pool = append(w.pool, scored{v, q})
	}
}

func (w *View) poolFirst() {
	c := w.c
	if len(c.all) == 0 {
		return
	}
	recently := float64(min(window, len(c.all)))
	add := func(v event.Node) {
		if c.Known(v) && !c.Met(w.src, v) {
			taken := c.read(&c.nodes[v].dst, w.at)
			q := float64(c.nodes[v].dstCount)/float64(len(c.all)) + float64(c.in[v])/recently +
				part(taken[0], w.total[0]) + part(taken[3], w.total[3]) + w.expected(v)
			w.pool = append(w.pool, scored{v, q})
		}
	}
	for v := range c.in {
		add(v)
	}
	for v := range w.follow {
		if c.in[v] == 0 {
			add(v)
		}
	}
	for v := range w.near {
		if c.in[v] == 0 && w.follow[v] == 0 {
			add(v)
		}
	}
}

// expected is how often a candidate follows upon the source's latest destinations, or comes together with them.
func (w *View) expected(v event.Node) float64 { return float64(w.follow[v]+w.near[v]) / 3 }

// part is a share of a count that may be 0.
func part(x, of float32) float64 {
	if !(of > 0) {
		return 0
	}
	return float64(x / of)
}

// rerank lets the model of pairs share what the list of a group has, in logits that score has found. Their sum of
// exponentials stays as it is.
func (a *Asker) rerank(w *View, g Group) error {
	p, ok := a.net.(PairNet)
	if !ok || p.Shortlist() == 0 || p.PairScale(g) == 0 {
		return nil
	}
	places, said, err := a.compare(p, w, g)
	if err != nil || len(places) < 2 {
		return err
	}
	before, after := make([]float32, len(places)), make([]float32, len(places))
	for i, place := range places {
		before[i] = a.logits[place]
		after[i] = before[i] + p.PairScale(g)*said[i]
	}
	shift := logSumExp(before, 1) - logSumExp(after, 1)
	for i, place := range places {
		a.logits[place] = float32(float64(after[i]) + shift)
	}
	return nil
}

// compare asks the model of pairs about the list of a group. Places are those of the list among a.members.
func (a *Asker) compare(p PairNet, w *View, g Group) (places []int, said []float32, err error) {
	ask, ready := p.Pairs()
	if !ready {
		panic("next: a model of pairs is asked before it is ready")
	}
	a.short = w.Shortlist(a.short[:0], g, p.Shortlist())
	if len(a.short) < 2 { // there is nothing to compare
		return nil, nil, nil
	}
	if said, err = ask(w.src, w.at, a.short); err != nil {
		return nil, nil, err
	}
	at := make(map[event.Node]int, len(a.short))
	for i, v := range a.short {
		at[v] = i
	}
	places = make([]int, len(a.short))
	for m, v := range a.members {
		if i, listed := at[v]; listed {
			places[i] = m
		}
	}
	return places, said, nil
}

// Weights of a model's logits that are tried.
const (
	pairStep  = 0.1
	pairCount = 21 // 0 up to 2
)

// fittedPair is what is known of a validation event whose destination is on the list.
type fittedPair struct {
	group  Group
	target int
	counts []float32 // logits
	said   []float32
	event  int
}

// addPair keeps what the model says of an event, of whose group the asker has the logits.
func (f *Fit) addPair(a *Asker, w *View, g Group, dst event.Node) error {
	p, ok := a.net.(PairNet)
	if !ok || p.Shortlist() == 0 {
		return nil
	}
	places, said, err := a.compare(p, w, g)
	target := slices.Index(a.short, dst)
	if err != nil || len(places) < 2 || target < 0 {
		return err
	}
	x := fittedPair{group: g, target: target, said: slices.Clone(said), event: len(f.events)}
	for _, place := range places {
		x.counts = append(x.counts, a.logits[place])
	}
	f.pairs = append(f.pairs, x)
	return nil
}

// nats is −ln of the destination's part of its list, for a scale of counts and a weight of the model.
func (x *fittedPair) nats(scale, weight float64) float64 {
	y := make([]float32, len(x.counts))
	for i, c := range x.counts {
		y[i] = float32(scale*float64(c) + weight*float64(x.said[i]))
	}
	return logSumExp(y, 1) - float64(y[x.target])
}

// fitPairs finds the weights of the model, given the scales of the counts. A model has to be worth it: half a nat for a
// weight of 1.
func (f *Fit) fitPairs(c *Calibration) {
	for g := range c.Pair {
		best := math.Inf(1)
		for k := range pairCount {
			weight := pairStep * float64(k)
			nats := weight * weight / 2
			for i := range f.pairs {
				if x := &f.pairs[i]; int(x.group) == g {
					nats += x.nats(float64(c.Within[g]), weight)
				}
			}
			if nats < best {
				best, c.Pair[g] = nats, float32(weight)
			}
		}
	}
}

// gains are by how many nats the model makes events cheaper, by event.
func (f *Fit) gains(c Calibration) map[int]float64 {
	list := map[int]float64{}
	for i := range f.pairs {
		x := &f.pairs[i]
		scale := float64(c.Within[x.group])
		list[x.event] = x.nats(scale, 0) - x.nats(scale, float64(c.Pair[x.group]))
	}
	return list
}
