// Package cache answers: how many bits does the next destination cost someone who only counts? Its rules learn nothing
// but a few mixture weights. A model of the task "next" must do better.
//
// A rule gives p(v | u, t) for a source u that acts at time t, over all destinations seen strictly before t and one
// bucket for a new one. It mixes simple shares: how often u chose v, what it chose last, what is popular, what usually
// follows. Shares are counted without decay and with three decays, whose time scales are parts of the training period.
package cache

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// The parts of the mixture. Each is a share between 0 and 1, and 0 where nothing was counted yet.
const (
	ownFast    = iota // u→v among u's events as a source, decayed; one for each time scale
	ownMiddle         //
	ownSlow           //
	own               // the same without decay
	last              // 1 if v was u's last destination
	popFast           // v among all destinations, decayed
	popMiddle         //
	popSlow           //
	pop               // the same without decay
	follows           // v among what followed u's last destination, whoever was the source
	reply             // v→u among the events that u received, decayed
	uniform           // 1 / (destinations seen + 1); also the probability of a new destination
	components        // their number
)

const scales = 3 // time scales of the decays: training period ÷ 1000, ÷ 30, ÷ 2

const middle = 1 // the scale of reply

// Rules are the names of the rules, as results list them.
const (
	Cache      = "cache"      // all parts, weights by how active the source was
	Popularity = "popularity" // the parts that do not look at the source
	Uniform    = "uniform"    // every destination seen so far, and a new one, alike
)

// Bits is what a rule needs for the destinations of a test, in bits per event.
type Bits struct {
	Rule      string  `json:"rule"`
	All       float64 `json:"who_bits"`
	Returning float64 `json:"who_bits_returning"` // events whose pair had met before, in either direction
	First     float64 `json:"who_bits_first"`     // the others
}

// Share is the share of first meetings among the test events.
type Share struct {
	Events int
	First  int
}

// Measure replays a log in time order and measures all rules on its last part. Validation begins at position val and
// chooses the weights; the test begins at position test. Of its events those are asked about whose numbers are chosen;
// nil: all. Events of one instant are scored before any of them counts.
func Measure(log event.Span, val, test int, chosen []int32) ([]Bits, Share) {
	r := replay(log, val, test)
	cacheWeights, popWeights := r.fit()
	var share Share
	sums := [3]sum{}
	for k := range count(r.test, chosen) {
		e := &r.test[k]
		if chosen != nil {
			e = &r.test[chosen[k]]
		}
		share.Events++
		if e.first {
			share.First++
		}
		for k, p := range [3]float64{
			mix(&e.part, cacheWeights.of(e.bucket)),
			mix(&e.part, &popWeights),
			e.part[uniform],
		} {
			sums[k].add(-math.Log2(max(p, floor)), e.first)
		}
	}
	var list []Bits
	for k, name := range []string{Cache, Popularity, Uniform} {
		list = append(list, sums[k].bits(name))
	}
	return list, share
}

// Surprise is how many bits the rule cache needs for each chosen test event: see Measure.
func Surprise(log event.Span, val, test int, chosen []int32) []float64 {
	r := replay(log, val, test)
	weights, _ := r.fit()
	list := make([]float64, len(chosen))
	for k, i := range chosen {
		e := &r.test[i]
		list[k] = -math.Log2(max(mix(&e.part, weights.of(e.bucket)), floor))
	}
	return list
}

// count is how many events are asked about.
func count(test []asked, chosen []int32) int {
	if chosen == nil {
		return len(test)
	}
	return len(chosen)
}

// floor is the smallest probability that any event is given.
const floor = 1e-9

// sum adds up bits.
type sum struct {
	bits64 [2]float64 // returning, first
	events [2]int
}

func (s *sum) add(bits float64, first bool) {
	k := 0
	if first {
		k = 1
	}
	s.bits64[k] += bits
	s.events[k]++
}

func (s *sum) bits(rule string) Bits {
	mean := func(bits float64, n int) float64 { return bits / math.Max(1, float64(n)) }
	return Bits{
		Rule: rule, All: mean(s.bits64[0]+s.bits64[1], s.events[0]+s.events[1]),
		Returning: mean(s.bits64[0], s.events[0]), First: mean(s.bits64[1], s.events[1]),
	}
}
