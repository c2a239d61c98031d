package eval

import (
	"math"
	"slices"
)

// Meter measures how well scores tell positives from negatives. Equal scores are one threshold: neither the order of
// the scores nor the breaking of ties moves a result. A Meter reuses its memory and belongs to one goroutine; its zero
// value is ready.
type Meter struct {
	keys []uint64 // scores as integers that sort like them, doubled, +1 for positives
}

// Score is the average precision and the area under the ROC curve of positives' and negatives' scores, none of which
// may be NaN.
//
//	AP  = Σ (R_k − R_{k−1})·P_k over thresholds k from the highest score down, without interpolation;
//	      0 without positives
//	AUC = P(pos > neg) + ½·P(pos = neg); 0 without positives or negatives
func (m *Meter) Score(pos, neg []float32) (ap, auc float64) {
	m.keys = m.keys[:0]
	for _, s := range pos {
		m.keys = append(m.keys, ascending(s)<<1|1)
	}
	for _, s := range neg {
		m.keys = append(m.keys, ascending(s)<<1)
	}
	slices.Sort(m.keys)
	var above, hits int // negatives and positives with a higher score
	var won uint64      // twice the pairs that are in order, ties count half
	for hi := len(m.keys); hi > 0; {
		lo, here := hi, 0 // the tie group is lo…hi−1, with this many positives
		for ; lo > 0 && m.keys[lo-1]>>1 == m.keys[hi-1]>>1; lo-- {
			here += int(m.keys[lo-1] & 1)
		}
		negatives := hi - lo - here
		won += uint64(here) * uint64(2*(len(neg)-above)-negatives)
		above, hits = above+negatives, hits+here
		if here > 0 {
			ap += float64(float64(here) / float64(len(pos)) * (float64(hits) / float64(hits+above)))
		}
		hi = lo
	}
	if len(pos) > 0 && len(neg) > 0 {
		auc = float64(won) / (2 * float64(len(pos)) * float64(len(neg)))
	}
	return ap, auc
}

// Rank is the place of a positive among its negatives, from 1: those with the same score stand half before it and half
// behind.
func Rank(pos float32, neg []float32) float64 {
	rank := 1.0
	for _, s := range neg {
		switch {
		case s > pos:
			rank++
		case s == pos:
			rank += 0.5
		}
	}
	return rank
}

// Ranking is what the places of positives among several negatives say.
type Ranking struct {
	MRR    float64 `json:"mrr"`    // mean of 1/rank
	Hits1  float64 `json:"hits1"`  // shares with a rank of at most 1,
	Hits3  float64 `json:"hits3"`  // 3
	Hits10 float64 `json:"hits10"` // and 10
}

// add counts one rank, with weight 1/n.
func (r *Ranking) add(rank float64, n int) {
	share := 1 / float64(n)
	r.MRR += share / rank
	for _, h := range []struct {
		most  float64
		share *float64
	}{{1, &r.Hits1}, {3, &r.Hits3}, {10, &r.Hits10}} {
		if rank <= h.most {
			*h.share += share
		}
	}
}

// Sigmoid is the probability of a logit, in float32 as the reference computes it: above about 17 it is 1.
func Sigmoid(logit float32) float32 { return float32(1 / (1 + math.Exp(-float64(logit)))) }

// Loss is the binary cross entropy of a probability: −log p of what happened, at most 100.
func Loss(p float32, happened bool) float64 {
	if !happened {
		p = 1 - p
	}
	return -max(-100, math.Log(float64(p)))
}

// ascending maps scores to integers in the same order; −0 and +0 are one.
func ascending(s float32) uint64 {
	if s == 0 {
		s = 0
	}
	b := math.Float32bits(s)
	if b>>31 == 1 {
		return uint64(^b)
	}
	return uint64(b | 1<<31)
}
