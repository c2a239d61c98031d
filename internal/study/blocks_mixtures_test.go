package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

// mixtures shows models that were trained with other negatives beside random ones, and the leading one in any case,
// with random negatives alone and with the shares that validation prefers: on each data set the AP against the three
// kinds of negatives. Below them stand the best published numbers and the best of the rules that learn nothing.
func mixtures(list []group, _ []string) []Shown {
	r, mixed := rowsOf{}, map[string]bool{}
	for _, g := range list {
		leading := g.model() == models.Leading
		if g.lacks() || leading && (g.preset() != quick || g.form() != g.mark()) {
			continue
		}
		name := fmt.Sprintf("`%s`, `%s`%s: random", g.model(), g.preset(), g.mark())
		if mixed[name] = mixed[name] || leading || g.shares().Mixed(); g.shares().Mixed() {
			name += " and historical"
			mixed[name] = true
		}
		if r[name] == nil {
			r[name] = map[string]group{}
		}
		if g.beats(r[name][g.data()]) {
			r[name][g.data()] = g
		}
	}
	maps.DeleteFunc(r, func(name string, _ map[string]group) bool { return !mixed[name] })
	const printed, rules = "best published", "best rules that learn nothing"
	names := append(slices.Sorted(maps.Keys(r)), printed, rules)
	slices.Reverse(names[:len(names)-2])
	t := pivot([]string{"model, preset: training negatives"}, names, r.sets(1), func(name, data string) []Cell {
		var list []string
		for i, negatives := range protocol.Published() {
			switch best, ok := bestInPrint(data, negatives); {
			case name == printed && ok:
				list = append(list, fmt.Sprintf("%.2f %s", best.AP, best.Who))
			case name == rules && ok:
				list = append(list, fmt.Sprintf("%.2f", bestRule(data, i)))
			}
		}
		return row(cmp.Or(strings.Join(list, " / "), r[name][data].means(protocol.Published()...)))
	})
	return []Shown{{Tables: []Table{t}}}
}

// rulesOf are the AP of rules that learn nothing, which a test of package audit measures.
var rulesOf = sync.OnceValue(func() map[string][][]float64 {
	var recorded struct{ AP map[string][][]float64 }
	raw, err := os.ReadFile("../../audit/testdata/rules.json")
	if err == nil {
		err = json.Unmarshal(raw, &recorded)
	}
	if err != nil {
		panic(err)
	}
	return recorded.AP
})

// bestRule is the best AP of the rules that learn nothing against a kind of negatives.
func bestRule(data string, kind int) (best float64) {
	for _, rule := range rulesOf()[data] {
		best = max(best, rule[kind])
	}
	return best
}

// partTables has a table for each mixture of training negatives with which models were trained without one of their
// parts: a row for each part, and on each data set the AP against the three kinds of negatives. Arguments choose one.
func partTables(list []group, args []string) (parts []Shown) {
	tables := map[string]rowsOf{}
	for _, g := range list {
		part := strings.TrimPrefix(g.mark(), without)
		if g.model() != models.Leading || g.preset() != quick || g.form() != g.mark() || part != "" && !g.lacks() {
			continue
		}
		if tables[g.negatives()] == nil {
			tables[g.negatives()] = rowsOf{}
		}
		tables[g.negatives()].add(part, g)
	}
	for _, negatives := range slices.Sorted(maps.Keys(tables)) {
		r := tables[negatives]
		sets := slices.DeleteFunc(r.sets(2), func(data string) bool { return r[""][data] == nil })
		t := pivot([]string{"without"}, slices.Sorted(maps.Keys(r)), sets, func(part, data string) []Cell {
			return row(r[part][data].means(protocol.Published()...))
		})
		if len(t.Rows) > 0 && t.Rows[0][0].Text == "" {
			t.Rows[0][0].Text = "nothing: the whole model"
		}
		if len(sets) > 0 && (len(args) == 0 || strings.Contains(negatives, strings.Join(args, " "))) {
			t.Title = "Without one part, trained with negatives " + negatives +
				": AP against random / historical / inductive negatives"
			parts = append(parts, Shown{Tables: []Table{t}})
		}
	}
	return parts
}
