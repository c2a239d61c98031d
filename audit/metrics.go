package audit

import (
	"cmp"
	"slices"
)

// The measures once more, written from their definitions and apart from eval's: sort, then walk down.

// answer is a score and whether what it is about happened.
type answer struct {
	score float32
	right bool
}

// measure is average precision and the area under the ROC curve; equal scores are one threshold.
func measure(pos, neg []float32) (ap, auc float64) {
	list := make([]answer, 0, len(pos)+len(neg))
	for _, s := range pos {
		list = append(list, answer{s, true})
	}
	for _, s := range neg {
		list = append(list, answer{s, false})
	}
	slices.SortFunc(list, func(a, b answer) int { return cmp.Compare(b.score, a.score) })
	hits, misses, area := 0.0, 0.0, 0.0
	for i := 0; i < len(list); {
		h, m := 0.0, 0.0 // of this threshold
		for score := list[i].score; i < len(list) && cmp.Compare(list[i].score, score) == 0; i++ {
			if list[i].right {
				h++
			} else {
				m++
			}
		}
		area += m*hits + m*h/2
		hits, misses = hits+h, misses+m
		ap += h * hits / (hits + misses)
	}
	if hits > 0 {
		ap /= hits
	}
	if hits > 0 && misses > 0 {
		auc = area / (hits * misses)
	}
	return ap, auc
}

func batchMean(batches []scored) (ap, auc float64) {
	for _, b := range batches {
		x, y := measure(b.pos, b.neg)
		ap, auc = ap+x, auc+y
	}
	n := float64(max(1, len(batches)))
	return ap / n, auc / n
}

type scored struct{ pos, neg []float32 }

// at is the score of a query of the batch, positives first.
func (s scored) at(i int) float32 {
	if i < len(s.pos) {
		return s.pos[i]
	}
	return s.neg[i-len(s.pos)]
}

// joined puts the scores of all batches together.
func joined(batches []scored) (all scored) {
	for _, b := range batches {
		all.pos, all.neg = append(all.pos, b.pos...), append(all.neg, b.neg...)
	}
	return all
}

// regroup cuts the same scores into batches of another size. Each positive takes its negative along.
func regroup(batches []scored, size int) []scored {
	all := joined(batches)
	var cut []scored
	for lo := 0; lo < len(all.pos); lo += size {
		hi := min(lo+size, len(all.pos))
		cut = append(cut, scored{all.pos[lo:hi], all.neg[lo:hi]})
	}
	return cut
}
