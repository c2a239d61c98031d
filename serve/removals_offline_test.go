package serve

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// A history has a second account, offline: a data set to which the same events are added, and from which the same
// events and nodes are removed as 'data retract' and 'data forget' do. Its events have ids of their own: base-N, seq-N.

// withEvents is a data set with some more events, in the order of time. A node that is new to it has the features that
// it had at the beginning, unless it was erased.
func (h *history) withEvents(old *dataset.Set, events []sentEvent) *dataset.Set {
	type row struct {
		event.Event
		id       string
		features []float32
	}
	var rows []row
	for i := range old.Log.Len() {
		e := old.Log.At(i)
		rows = append(rows, row{e, old.IDs.At(int(e.Edge)), old.Edge.Row(int(e.Edge))})
	}
	nodes := old.NumNodes()
	var names []string
	for n := 1; old.Names != nil && n < nodes; n++ {
		names = append(names, old.Names.Name(event.Node(n)))
	}
	node := func(name string) event.Node {
		n, _ := strconv.Atoi(name)
		if old.Names != nil {
			if n = slices.Index(names, name) + 1; n == 0 {
				names = append(names, name)
				n = len(names)
			}
		}
		nodes = max(nodes, n+1)
		return event.Node(n)
	}
	for _, e := range events {
		h.met[e.Src], h.met[e.Dst] = true, true
		features := make([]float32, old.Edge.Cols)
		copy(features, e.Features)
		rows = append(rows, row{event.Event{Src: node(e.Src), Dst: node(e.Dst), Time: e.Time, Label: float32(e.Label)},
			fmt.Sprint("seq-", e.sequence), features})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.Time, b.Time) })
	set := *old
	set.Log, set.Edge.Rows, set.Edge.Data = event.NewLog(0), 1, make([]float32, old.Edge.Cols)
	set.IDs = &dataset.IDs{}
	for _, r := range rows {
		r.Edge = event.Edge(set.Edge.Rows)
		set.Edge.Data = append(set.Edge.Data, r.features...)
		set.Edge.Rows++
		set.IDs.Text = append(set.IDs.Text, r.id...)
		set.IDs.Ends = append(set.IDs.Ends, int64(len(set.IDs.Text)))
		if _, err := set.Log.Append(r.Event); err != nil {
			h.t.Fatal(err)
		}
	}
	if set.Node.Data != nil {
		set.Node.Data = slices.Clone(set.Node.Data)
		for n := set.Node.Rows; n < nodes; n++ {
			row := make([]float32, set.Node.Cols)
			if old.Names != nil && !h.erased[names[n-1]] {
				if id, ok := h.set.Names.Source(names[n-1]); ok {
					copy(row, h.set.Node.Row(int(id)))
				}
			}
			set.Node.Data = append(set.Node.Data, row...)
		}
	}
	set.Node.Rows = nodes
	if old.Names != nil {
		var err error
		if set.Names, err = dataset.NewNames(names, 0); err != nil {
			h.t.Fatal(err)
		}
	}
	return &set
}

// drop is the data set without events that have some ids.
func (h *history) drop(ids map[string]bool) {
	set := h.file
	h.file = dataset.Without(set, func(i int) bool { return ids[set.IDs.At(int(set.Log.At(i).Edge))] }, nil)
}

// forget is the data set without a node.
func (h *history) forget(name string) {
	erase := map[event.Node]bool{}
	if h.file.Names != nil {
		id, ok := h.file.Names.Source(name)
		erase[id] = ok
	} else {
		number, _ := strconv.Atoi(name)
		erase[event.Node(number)] = number < h.file.NumNodes()
	}
	h.file = dataset.Without(h.file, func(int) bool { return false }, erase)
}

// reopen writes the data set and opens it again.
func (h *history) reopen() {
	path := filepath.Join(h.dir, "file.dgm")
	err := dataset.Save(path, h.file)
	if err == nil {
		h.file, err = dataset.OpenNative(path)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// neverFile is the data set that never had what was removed. Late events are not late in it. Where nodes have names,
// those that lost all their events are gone; where they have none, a node that was forgotten has lost its features.
func (h *history) neverFile() *dataset.Set {
	set := h.withEvents(h.neverSet(), h.sent)
	if set.Names == nil {
		set.Node.Data = slices.Clone(set.Node.Data)
		for name := range h.erased {
			if n, _ := strconv.Atoi(name); set.Node.Data != nil {
				clear(set.Node.Row(n))
			}
		}
		return set
	}
	left := map[event.Node]bool{}
	for i := range set.Log.Len() {
		e := set.Log.At(i)
		left[e.Src], left[e.Dst] = true, true
	}
	gone := map[event.Node]bool{}
	for n := event.Node(1); int(n) < set.NumNodes(); n++ {
		gone[n] = h.met[set.Names.Name(n)] && !left[n]
	}
	return dataset.Without(set, func(int) bool { return false }, gone)
}

// byName are answers in which partners with equal logits are sorted by name. In a file they are sorted by number, and a
// node whose first events were removed keeps its number.
func byName(answers map[string]any) map[string]any {
	for _, answer := range answers {
		if items, ok := answer.([]any); ok {
			slices.SortStableFunc(items, func(x, y any) int {
				a, b := x.(map[string]any), y.(map[string]any)
				if c := cmp.Compare(b["logit"].(float64), a["logit"].(float64)); c != 0 {
					return c
				}
				return cmp.Compare(fmt.Sprint(a["dst"]), fmt.Sprint(b["dst"]))
			})
		}
	}
	return answers
}
