package study

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/run"
)

func value(v ...float64) number { return number{values: v} }

func TestRanks(t *testing.T) {
	of := func(v float64) published { return published{Value: paper.Value{Mean: v, Std: 1}, ok: true} }
	e := paper.Exhibit{Models: []string{"a", "b", "c", "d"}}
	columns := []column{
		{data: "x", ours: []number{value(0.9), value(0.8), value(0.7), {}},
			paper: []published{of(70), of(90), of(80), of(99)}},
		{data: "y", ours: []number{value(0.5), value(0.6), value(0.6), value(0.9)},
			paper: []published{of(1), of(2), of(3), of(4)}},
		{data: "z", ours: make([]number, 4), paper: []published{of(1), of(2), of(3), of(4)}}, // nothing there yet
	}
	table := Table{Columns: []string{"model"}, Rows: make([][]Cell, 4)}
	averageRanks(&table, e, columns)
	for i, want := range [][2]string{{"2.00", "3.00"}, {"1.50", "1.50"}, {"2.00", "1.50"}, {"", ""}} {
		if got := [2]string{table.Rows[i][0].Text, table.Rows[i][1].Text}; got != want {
			t.Errorf("%s: ranks are %v, want %v", e.Models[i], got, want)
		}
	}
}

func TestOff(t *testing.T) {
	for _, c := range []struct {
		own  number
		p    published
		want string
	}{
		{value(0.952), published{Value: paper.Value{Mean: 95, Std: 0.1}, ok: true}, "+2.0 std"},
		{value(0.94, 0.96), published{Value: paper.Value{Mean: 95.5}, ok: true}, "-0.50"},
		{number{}, published{Value: paper.Value{Mean: 95}, ok: true}, ""},
		{value(0.9), published{timeout: true, ok: true}, ""},
		{value(0.9), published{}, ""},
	} {
		if got := off(c.own, c.p); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	values := []float64{3, math.NaN(), 9, 5}
	got := places(4, func(i int) (float64, bool) { return values[i], !math.IsNaN(values[i]) })
	if !slices.Equal(got, []int{0, 0, 1, 2}) {
		t.Errorf("places are %v", got)
	}
	if got := places(1, func(int) (float64, bool) { return 1, true }); got[0] != 0 {
		t.Error("one alone is not the best")
	}
}

func TestPrune(t *testing.T) {
	table := Table{Columns: []string{"a", "b", "c"}, Rows: [][]Cell{{{Text: ""}, {}, {Text: "x"}}, {{}, {}, {}}}}
	table.prune()
	if !slices.Equal(table.Columns, []string{"a", "c"}) || table.Rows[0][1].Text != "x" {
		t.Errorf("%+v", table)
	}
}

func TestWaited(t *testing.T) {
	better, worse := run.Epoch{Improved: true}, run.Epoch{}
	for want, list := range map[int][]run.Epoch{
		0: {worse, better}, 2: {better, worse, worse}, 1: {better, worse, better, worse},
	} {
		if got := waited(list); got != want {
			t.Errorf("%v: %d, want %d", list, got, want)
		}
	}
}

// A leaking number has a mark, with the reason below the table, and is not the best of anything.
func TestLeakingMark(t *testing.T) {
	r := &runner{}
	clean, other, leaking := value(0.8), value(0.7), value(0.9)
	leaking.marks = "c"
	e := paper.Exhibit{Models: []string{"a", "b", "c"}, Metric: "AP"}
	table := r.resultTable(e, []column{{data: "x", ours: []number{clean, leaking, other}, paper: make([]published, 3)}})
	if !slices.Equal(table.Columns, []string{"model", "x", "paper", "off by"}) ||
		table.Rows[0][1].Rank != 1 || table.Rows[2][1].Rank != 2 || table.Rows[1][1].Rank != 0 ||
		table.Rows[1][1].shown() != "90.00 ᶜ" || !strings.Contains(strings.Join(table.Notes, ""), "ᶜ rows padded") {
		t.Errorf("%+v", table)
	}
}
