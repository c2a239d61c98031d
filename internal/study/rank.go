package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
)

// places marks the best of a column with 1 and the second with 2, where at least two are compared.
func places(n int, value func(i int) (float64, bool)) []int {
	list := make([]int, n)
	var order []int
	for i := range n {
		if _, ok := value(i); ok {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, _ := value(a)
		y, _ := value(b)
		return cmp.Compare(y, x)
	})
	if len(order) < 2 {
		return list
	}
	for k, i := range order[:2] {
		list[i] = k + 1
	}
	return list
}

// rank marks the best of a column and the second, of those that are compared with others.
func (t *Table) rank(column int) { t.rankBy(column, 1) }

// rankLow does so where less is better.
func (t *Table) rankLow(column int) { t.rankBy(column, -1) }

func (t *Table) rankBy(column int, sign float64) {
	for i, place := range places(len(t.Rows), func(i int) (float64, bool) {
		if c := t.Rows[i][column]; c.Value != nil && !strings.ContainsAny(c.Marks, unequal) {
			return sign * *c.Value, true
		}
		return 0, false
	}) {
		t.Rows[i][column].Rank = place
	}
}

// averageRanks adds average ranks, ours and the paper's, over the data sets shown and among the models that have a
// number on each of them, so that both are ranks of the same.
func averageRanks(t *Table, e paper.Exhibit, columns []column) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !slices.ContainsFunc(c.ours, func(n number) bool { return len(n.values) > 0 })
	})
	var whole []int
	for i := range e.Models {
		if !slices.ContainsFunc(columns, func(c column) bool {
			return len(c.ours[i].values) == 0 || !c.paper[i].ok || c.paper[i].timeout
		}) {
			whole = append(whole, i)
		}
	}
	if len(columns) == 0 || len(whole) < 2 {
		return
	}
	t.Columns = append(t.Columns, "rank", "paper's rank")
	for i := range e.Models {
		better, theirs := 0, 0 // on all data sets together
		for _, c := range columns {
			for _, k := range whole {
				if c.ours[k].mean() > c.ours[i].mean() {
					better++
				}
				if c.paper[k].Mean > c.paper[i].Mean {
					theirs++
				}
			}
		}
		cells := make([]Cell, 2)
		if slices.Contains(whole, i) {
			average := func(n int) string { return fmt.Sprintf("%.2f", 1+float64(n)/float64(len(columns))) }
			cells = row(average(better), average(theirs))
		}
		t.Rows[i] = append(t.Rows[i], cells...)
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.data)
	}
	t.Notes = append(t.Notes, fmt.Sprintf("Ranks are averages over %s among the %d models that have a number on each, "+
		"marked ones included, as in the paper; the paper's are recomputed for the same.", strings.Join(names, ", "),
		len(whole)))
}
