package rate

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// grower makes a forest, tree by tree: each makes the rows more likely. A leaf multiplies the rate by a part of what
// would make as many events expected as there are in it.
type grower struct {
	rows      *Rows
	bins      [][]uint8   // [Width][n]
	threshold [][]float32 // [Width][bins−1]: the upper ends of bins
	expected  []float64   // [n]: weight · rate so far
	forest    Forest
	seed      uint64
	threads   int

	chosen []int32   // rows that the tree is made from
	node   []uint8   // of them, the node of the current level
	hist   []sums    // per worker: [1<<depth · binsMost]
	best   [][]split // [feature][node]
}

type sums struct{ count, expected float64 }

type split struct {
	gain float64
	bin  int
}

const (
	binsMost   = 64
	rowShare   = 0.5  // of the rows make a tree,
	colShare   = 0.5  // and of the features
	learning   = 0.12 // part of what a leaf would correct
	prior      = 20   // events that are expected and happen in every leaf
	leastRows  = 40   // events that happen or are expected in a leaf, at least
	leastGain  = 5    // nats that a split must gain
	withoutUse = 20   // trees that do not help validation until it is over
)

// grow makes a forest of some trees at most. Where there are rows of validation, it ends where those are most likely,
// whatever their level.
func grow(ctx context.Context, rows, val *Rows, seed uint64, o FitOptions) (Forest, error) {
	g := &grower{rows: rows, seed: seed, threads: max(1, o.Threads), best: make([][]split, Width)}
	if o.Threads == 0 {
		g.threads = runtime.GOMAXPROCS(0)
	}
	g.bin()
	g.expected = rows.expected()
	valExpected, bestAt, bestLoss := val.expected(), 0, math.Inf(1)
	for t := range o.Trees {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !o.Until.IsZero() && time.Now().After(o.Until) {
			break
		}
		tree := g.tree(t)
		g.forest = append(g.forest, tree...)
		tree.update(rows, g.expected)
		if val.Len() == 0 {
			bestAt = t + 1
			continue
		}
		tree.update(val, valExpected)
		if loss := val.loss(valExpected); loss < bestLoss {
			bestAt, bestLoss = t+1, loss
		} else if t+1 >= bestAt+withoutUse {
			break
		}
	}
	return g.forest[:ForestLen(bestAt)], nil
}

// expected is the number of events that are expected in each row, for one without a weight the rate: see loss.
func (r *Rows) expected() []float64 {
	list := make([]float64, r.Len())
	for i := range list {
		list[i] = math.Exp(float64(r.Offset[i]))
		if r.Count[i] == 0 {
			list[i] *= float64(r.Weight[i])
		}
	}
	return list
}

// update multiplies rates by what the tree says.
func (f Forest) update(r *Rows, expected []float64) {
	var by [1 << depth]float64
	for i := range by {
		by[i] = math.Exp(float64(f[2*inner+i]))
	}
	for i := range expected {
		expected[i] *= by[leafOf(f, r.X[i*Width:(i+1)*Width])]
	}
}

// loss is that of the rows, as if all rates had the factor that makes as many events expected as there are.
func (r *Rows) loss(expected []float64) float64 {
	logs, events, sum := 0.0, 0.0, 0.0
	for i, x := range expected {
		if c := float64(r.Count[i]); c > 0 {
			logs += c * math.Log(x)
			events += c
		} else {
			sum += x
		}
	}
	return events*math.Log(max(sum, 1e-300)) - logs
}

// bin finds thresholds that about as many rows lie between, and puts the rows into bins.
func (g *grower) bin() {
	n := g.rows.Len()
	g.bins, g.threshold = make([][]uint8, Width), make([][]float32, Width)
	g.parallel(Width, func(_, f int) {
		step := max(1, n/20_000)
		var list []float32
		for i := 0; i < n; i += step {
			list = append(list, g.rows.X[i*Width+f])
		}
		slices.Sort(list)
		for k := 1; k < binsMost; k++ {
			x := list[len(list)*k/binsMost]
			if m := len(g.threshold[f]); (m == 0 || x > g.threshold[f][m-1]) && x < list[len(list)-1] {
				g.threshold[f] = append(g.threshold[f], x)
			}
		}
		g.bins[f] = make([]uint8, n)
		for i := range n {
			b, _ := slices.BinarySearch(g.threshold[f], g.rows.X[i*Width+f])
			g.bins[f][i] = uint8(b)
		}
	})
}

// parallel calls do for each number below n, with the worker that it runs on.
func (g *grower) parallel(n int, do func(worker, i int)) {
	var wait sync.WaitGroup
	for w := range g.threads {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := w; i < n; i += g.threads {
				do(w, i)
			}
		}()
	}
	wait.Wait()
}

// tree makes the next tree from a part of the rows and of the features.
func (g *grower) tree(number int) Forest {
	key := mix(g.seed, uint64(number))
	g.chosen, g.node = g.chosen[:0], g.node[:0]
	for i := range g.expected {
		if unit(mix(key, uint64(i))) < rowShare {
			g.chosen = append(g.chosen, int32(i))
			g.node = append(g.node, 0)
		}
	}
	var features []int
	for f := range Width {
		if len(g.threshold[f]) > 0 && unit(mix(key, 1<<40+uint64(f))) < colShare {
			features = append(features, f)
		}
	}
	tree := make(Forest, treeLen)
	for d := range depth {
		g.level(tree, d, features)
	}
	// other rows than those that chose the splits say what the leaves are: splits are where chance favours them
	var leaf [1 << depth]sums
	k := 0
	for i := range g.expected {
		if k < len(g.chosen) && g.chosen[k] == int32(i) {
			k++
			continue
		}
		leaf[leafOf(tree, g.rows.X[i*Width:(i+1)*Width])].add(g.rows, g.expected, int32(i))
	}
	for i := range leaf {
		tree[2*inner+i] = float32(learning * leaf[i].correction())
	}
	return tree
}

// level splits the nodes of a level.
func (g *grower) level(tree Forest, d int, features []int) {
	nodes := 1 << d
	if len(g.hist) == 0 {
		g.hist = make([]sums, g.threads*binsMost<<depth)
	}
	g.parallel(len(features), func(worker, k int) {
		f := features[k]
		hist := g.hist[worker*binsMost<<depth:][:nodes*binsMost]
		g.best[f] = g.bestSplits(f, nodes, hist)
	})
	feature, bin := make([]int, nodes), make([]int, nodes)
	for n := range nodes {
		at, best := 2*(nodes-1+n), split{gain: leastGain}
		tree[at+1] = math.MaxFloat32
		feature[n], bin[n] = -1, 0
		for _, f := range features {
			if s := g.best[f][n]; s.gain > best.gain {
				best = s
				feature[n], bin[n] = f, s.bin
			}
		}
		if f := feature[n]; f >= 0 {
			tree[at], tree[at+1] = float32(f), g.threshold[f][bin[n]]
		}
	}
	for k, i := range g.chosen {
		n := int(g.node[k])
		g.node[k] = uint8(2 * n)
		if f := feature[n]; f >= 0 && int(g.bins[f][i]) > bin[n] {
			g.node[k]++
		}
	}
}

// bestSplits finds where a feature splits each node best.
func (g *grower) bestSplits(f, nodes int, hist []sums) []split {
	clear(hist)
	bins := g.bins[f]
	for k, i := range g.chosen {
		hist[int(g.node[k])*binsMost+int(bins[i])].add(g.rows, g.expected, i)
	}
	list := make([]split, nodes)
	for n := range list {
		h := hist[n*binsMost:][:len(g.threshold[f])+1]
		var all, left sums
		for _, x := range h {
			all.count += x.count
			all.expected += x.expected
		}
		before := all.gain()
		for b, x := range h[:len(h)-1] {
			left.count += x.count
			left.expected += x.expected
			right := sums{all.count - left.count, all.expected - left.expected}
			if left.count+left.expected < leastRows || right.count+right.expected < leastRows {
				continue
			}
			if gain := left.gain() + right.gain() - before; gain > list[n].gain {
				list[n] = split{gain, b}
			}
		}
	}
	return list
}

func (s *sums) add(r *Rows, expected []float64, i int32) {
	if c := float64(r.Count[i]); c > 0 {
		s.count += c
	} else {
		s.expected += expected[i]
	}
}

// correction is the logarithm of the factor that makes as many events expected as there are. Few of them move it
// little.
func (s sums) correction() float64 { return math.Log((s.count + prior) / (s.expected + prior)) }

// gain is how much more likely the events become by the correction.
func (s sums) gain() float64 {
	v := s.correction()
	return s.count*v - s.expected*math.Expm1(v)
}
