package results

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
)

// Mixtures writes a table for every data set on which models were trained with other negatives beside random ones, or
// the leading one at all: those, the same models with random negatives alone, and the best numbers in print. The shares
// that validation prefers are in bold.
func Mixtures(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	groups = slices.DeleteFunc(groups, group.lacks)
	var sets []string
	mixed := map[kind]group{} // what validation prefers
	for _, g := range groups {
		k := g.kind()
		if g.shares().Mixed() && (mixed[k] == nil || g.beatsMixed(mixed[k])) {
			mixed[k] = g
		}
		if (mixed[k] != nil || k.model == models.Leading) && !slices.Contains(sets, k.data) {
			sets = append(sets, k.data)
		}
	}
	var b strings.Builder
	for _, data := range sets {
		var list []group
		for _, g := range groups {
			k := g.kind()
			if k.data == data && (mixed[k] != nil || k.model == models.Leading) {
				list = append(list, g)
			}
		}
		slices.SortStableFunc(list, func(x, y group) int {
			more := cmp.Compare(x.shares().Historical, y.shares().Historical)
			return cmp.Or(-cmp.Compare(x[0].Model, y[0].Model), more)
		})
		mixtures(&b, data, list, func(g group) bool {
			best := mixed[g.kind()]
			return best != nil && &g[0] == &best[0]
		})
	}
	return b.String(), nil
}

func mixtures(b *strings.Builder, data string, list []group, preferred func(group) bool) {
	fmt.Fprintf(b, "### %s\n\n", data)
	b.WriteString("| model | training negatives | seeds | validation: random, historical, inductive " +
		"| random | historical | inductive | new nodes: random | historical | inductive |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range list {
		negatives := g.negatives()
		if preferred(g) {
			negatives = "**" + negatives + "**"
		}
		fmt.Fprintf(b, "| `%s`, preset `%s`%s | %s | %d | %s |", g[0].Model, g[0].Preset, g.form(), negatives, len(g),
			g.known())
		b.WriteString(g.kinds("transductive") + g.kinds("inductive") + "\n")
	}
	if rules, ok := Rules[data]; ok {
		for i, rule := range RuleNames {
			c := rules[i]
			fmt.Fprintf(b, "| nothing learned: %s | | | | %.2f | %.2f | %.2f | | | |\n", rule, c[0], c[1], c[2])
		}
	}
	if best := printed(data); best != "" {
		fmt.Fprintf(b, "| best published | random | | |%s | | |\n", best)
	}
	b.WriteString("\n")
}

// kinds are the cells of a scenario, one for each kind of negatives.
func (g group) kinds(scenario string) (cells string) {
	for _, kind := range eval.Strategies() {
		cells += fmt.Sprintf(" %s |", g.cell(scenario, kind))
	}
	return cells
}

// form is what tells the runs from others of their preset, in words.
func (g group) form() string { return g[0].mark + g.shortened() }

// kind is what runs have in common with those that were trained with other negatives, or without a part.
type kind struct{ data, model, preset, added string }

func (g group) kind() kind {
	k := kind{data: g[0].Data, model: g[0].Model, preset: g[0].Preset}
	if !g.lacks() {
		k.added = g.form()
	}
	return k
}

func (g group) shares() sample.Shares { return g[0].spec.Training.Shares() }

// negatives says what the runs were trained with.
func (g group) negatives() string {
	s := g.shares()
	sum := s.Random + s.Historical + s.Time
	out := "random"
	for _, x := range []struct {
		kind  string
		share float64
	}{{sample.Historical, s.Historical}, {sample.Time, s.Time}} {
		if x.share > 0 {
			out += fmt.Sprintf(", %.3g %% %s", 100*x.share/sum, x.kind)
		}
	}
	return out
}

// beatsMixed compares by the mean validation AP over all kinds of negatives; one seed comes after several.
func (g group) beatsMixed(o group) bool {
	mean := func(g group) (sum float64) {
		for _, of := range vals {
			sum += g.mean(of)
		}
		return sum
	}
	return g.seeds() > o.seeds() || g.seeds() == o.seeds() && mean(g) > mean(o)
}

// known are the validation APs, as far as they were measured.
func (g group) known() string {
	var list []string
	for _, of := range vals {
		if x := g.mean(of); x > 0 {
			list = append(list, fmt.Sprintf("%.2f", 100*x))
		}
	}
	return strings.Join(list, ", ")
}

// vals are the kinds of validation of a run's best epoch.
var vals = []func(entry) *run.Metric{
	func(r entry) *run.Metric { return r.Val },
	func(r entry) *run.Metric { return r.HistoricalVal },
	func(r entry) *run.Metric { return r.InductiveVal },
}
