package rate

// Forest is a sum of regression trees over features. It is constant outside the range that it has learned from.
type Forest []float32 // treeLen numbers for each tree

const (
	depth   = 5
	inner   = 1<<depth - 1
	treeLen = 2*inner + 1<<depth // a feature and a threshold for every inner node, then the leaves
)

// ForestLen is the length of a forest of some trees.
func ForestLen(trees int) int { return trees * treeLen }

// At is the sum of the leaves that features lead to: right where a feature is above the threshold.
func (f Forest) At(x []float32) float64 {
	sum := 0.0
	for ; len(f) >= treeLen; f = f[treeLen:] {
		sum += float64(f[2*inner+leafOf(f, x)])
	}
	return sum
}

// leafOf is the leaf of the first tree.
func leafOf(f Forest, x []float32) int {
	node := 0
	for range depth {
		next := 2*node + 1
		if x[int(f[2*node])] > f[2*node+1] {
			next++
		}
		node = next
	}
	return node - inner
}

// Trim leaves out trees at the end that say nothing.
func (f Forest) Trim() Forest {
	for len(f) >= treeLen {
		for _, x := range f[len(f)-treeLen:] {
			if x != 0 {
				return f
			}
		}
		f = f[:len(f)-treeLen]
	}
	return f
}
