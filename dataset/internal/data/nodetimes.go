package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// NodeTimes are rows of a table of nodes with times: whose each row is, and when it holds.
type NodeTimes struct {
	Node []event.Node
	Time []event.Time // never decreasing
}

func (r *NodeTimes) add(n event.Node, at event.Time) {
	r.Node, r.Time = append(r.Node, n), append(r.Time, at)
}

// check says what is wrong with rows that came from a file, in which nodes go up to last, and in which row.
func (r *NodeTimes) check(last event.Node) (row int, err error) {
	before := math.Inf(-1)
	for i, n := range r.Node {
		at := r.Time[i]
		switch {
		case n < 1 || n > last:
			return i, fmt.Errorf("node %d, must be from 1 to %d", n, last)
		case !(math.Abs(at) <= event.MaxTime):
			return i, fmt.Errorf("time %v, must be within ±%g", at, float64(event.MaxTime))
		case at < before:
			return i, fmt.Errorf("time %v after %v, times must not decrease", at, before)
		}
		before = at
	}
	return -1, nil
}

// byTime are the places of times in the order of time; equal ones stay in their order.
func byTime(times []event.Time) []int {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	return order
}
