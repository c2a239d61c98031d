// Package shortlist answers: which of many candidates are worth asking a model about?
//
// A model's score of a pair is expensive; that a candidate was active a minute ago, or met the source yesterday, is
// cheap to know. For each ranking anew, a linear function of such cheap facts is fitted to the model's own scores of
// some candidates. It tells which to ask about next, and how likely any of those not asked about is among the best.
// The search ends when few of the best are expected to be missing. Nothing is stored between rankings: what is found is
// a function of the past, the question and the scores.
package shortlist

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// Question asks for the best partners of a source at a time.
type Question struct {
	Past       index.View
	Src        event.Node
	At         event.Time
	Candidates []event.Node // each once
	Best       int          // how many of them are wanted
	Reads      int          // how many of a node's latest events the model reads
}

// Asked is a candidate that the model was asked about.
type Asked struct {
	Place int // among the candidates
	Logit float32
}

// Constants of the search. docs/PERFORMANCE.md has the rankings by which they were chosen.
const (
	AskAll    = 256   // so few candidates are all asked about
	first     = 192   // asked about before anything is fitted
	least     = 48    // asked about in a round
	growth    = 3     // a round asks about a third of those asked about before
	few       = 2048  // so few candidates are all asked about where the facts do not tell scores
	untold    = 0.12  // share of the variance of scores that facts may leave open
	mayMiss   = 0.003 // share of the best that may be expected to be missing at the end
	widen     = 1.4   // errors are taken to be as much larger than they were seen to be
	shrinkage = 8     // number of errors that what was known before counts for
	far       = 6.0   // standard errors that no candidate is above its estimate
)

// Find asks about candidates until few of the best are expected to be missing, and returns all that it asked about, in
// the order of the candidates. Ask gives the model's scores of candidates by place.
func Find(q Question, ask func(places []int) ([]float32, error)) ([]Asked, error) {
	s := &search{Question: q, ask: ask, asked: make([]bool, len(q.Candidates))}
	start := first + 2*q.Best
	if n := len(q.Candidates); n <= AskAll || n <= 2*start {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return s.list, s.score(all)
	}
	s.facts = gather(q)
	err := s.score(s.begin(start))
	for err == nil {
		next := s.next()
		if len(next) == 0 {
			break
		}
		err = s.score(next)
	}
	slices.SortFunc(s.list, func(a, b Asked) int { return cmp.Compare(a.Place, b.Place) })
	return s.list, err
}

// search is a ranking under way.
type search struct {
	Question
	ask   func(places []int) ([]float32, error)
	facts *facts
	fit   fit
	asked []bool
	list  []Asked

	estimates []float64  // of the last fit, by place
	spread    [2]float64 // variances of errors of candidates without and with links to the source
	latest    int        // where the last round begins in list
	rounds    int
}

// score asks about candidates.
func (s *search) score(places []int) error {
	slices.Sort(places)
	s.latest = len(s.list)
	logits, err := s.ask(places)
	for i, logit := range logits {
		s.asked[places[i]] = true
		s.list = append(s.list, Asked{places[i], logit})
	}
	return err
}

// begin chooses the first n: half of them are the best at first sight, the others are spread evenly over the rest in
// this order.
func (s *search) begin(n int) []int {
	order := s.facts.atFirstSight()
	half := n / 2
	places := append([]int{}, order[:half]...)
	rest := order[half:]
	for i := range n - half {
		places = append(places, rest[i*len(rest)/(n-half)])
	}
	return places
}

// next fits what is known and chooses whom to ask about; none if few of the best are expected to be missing.
func (s *search) next() []int {
	row := make([]float64, s.facts.width())
	for _, a := range s.list[s.latest:] {
		s.facts.row(a.Place, row)
		s.fit.add(row, float64(a.Logit))
	}
	weights := s.fit.solve()
	before := s.estimates
	s.estimates = s.facts.estimate(weights)
	s.measure(before)
	if s.rounds == 1 && len(s.asked) <= few && s.open() > untold {
		return s.others()
	}
	kth := s.kth()
	var list []chance
	missing := 0.0
	var scale [2]float64
	for g := range scale {
		scale[g] = 1 / (widen * math.Sqrt(2*s.spread[g]))
	}
	for i, estimate := range s.estimates {
		if s.asked[i] {
			continue
		}
		if z := (kth - estimate) * scale[s.facts.group(i)]; z < far/math.Sqrt2 {
			share := math.Erfc(z) / 2
			missing += share
			list = append(list, chance{i, share})
		}
	}
	if missing < mayMiss*float64(s.Best) && s.rounds > 1 { // errors of the fit itself are no proof
		return nil
	}
	list = highest(list, max(least, len(s.list)/growth))
	places := make([]int, len(list))
	for i, c := range list {
		places[i] = c.place
	}
	return places
}

// chance is how likely a candidate is among the best.
type chance struct {
	place int
	share float64
}

// highest are the n highest chances, in any order. Of equal ones the first places count.
func highest(list []chance, n int) []chance {
	if len(list) <= n {
		return list
	}
	shares := make([]float64, len(list))
	for i, c := range list {
		shares[i] = c.share
	}
	least := nthHighest(shares, n)
	above := 0
	for _, c := range list {
		if c.share > least {
			above++
		}
	}
	equal, kept := n-above, list[:0]
	for _, c := range list { // by place
		switch {
		case c.share > least:
			kept = append(kept, c)
		case c.share == least && equal > 0:
			kept = append(kept, c)
			equal--
		}
	}
	return kept
}

// nthHighest is the nth highest of numbers, counted from 1. It changes their order.
func nthHighest(list []float64, n int) float64 {
	lo, hi, want := 0, len(list)-1, n-1
	for lo < hi {
		pivot := list[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for list[i] > pivot {
				i++
			}
			for list[j] < pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case want <= j:
			hi = j
		case want >= i:
			lo = i
		default:
			return list[want]
		}
	}
	return list[want]
}

// measure compares scores with what was estimated before they were known, in the first round with the fit itself.
func (s *search) measure(before []float64) {
	seen, inSample := s.list[s.latest:], 1.0
	if s.rounds++; s.rounds == 1 {
		before, inSample = s.estimates, 1.5
	}
	var sum, n [2]float64
	for _, a := range seen {
		g := s.facts.group(a.Place)
		e := before[a.Place] - float64(a.Logit)
		sum[g] += e * e * inSample
		n[g]++
	}
	if s.rounds == 1 {
		s.spread[0] = (sum[0] + sum[1]) / float64(len(seen))
		s.spread[1] = s.spread[0]
	}
	for g := range sum {
		s.spread[g] = max(1e-12, (sum[g]+shrinkage*s.spread[g])/(n[g]+shrinkage))
	}
}

// open is the share of the variance of scores that the first fit does not explain.
func (s *search) open() float64 {
	sum, squares, errors := 0.0, 0.0, 0.0
	for _, a := range s.list {
		x := float64(a.Logit)
		sum += x
		squares += x * x
		errors += s.spread[s.facts.group(a.Place)]
	}
	return errors / max(1e-12, squares-sum*sum/float64(len(s.list)))
}

// others are all that nobody has asked about.
func (s *search) others() (places []int) {
	for i, asked := range s.asked {
		if !asked {
			places = append(places, i)
		}
	}
	return places
}

// kth is the score of the last of the best so far.
func (s *search) kth() float64 {
	logits := make([]float32, len(s.list))
	for i, a := range s.list {
		logits[i] = a.Logit
	}
	slices.Sort(logits)
	return float64(logits[len(logits)-s.Best])
}
