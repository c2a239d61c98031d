package results

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
)

// The exhibits of the paper that say what its model lacks without a part.
const (
	ablations          = "ablation-transductive"
	ablationsInductive = "ablation-inductive"
)

// Ablations writes a table for every data set on which models that lack a part were trained, the whole one first: those
// that were trained longest, to their end or for a few epochs.
func Ablations(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	groups = slices.DeleteFunc(groups, func(g group) bool {
		return !g.asPublished() || !g.ablation() && g[0].Model != defaultModel
	})
	epochs := func(g group) int { return min(g[0].spec.Training.Epochs, wholeEpochs) }
	longest := map[string]int{}
	var sets []string
	for _, g := range groups {
		if data := g[0].Data; g.ablation() {
			longest[data] = max(longest[data], epochs(g))
			if !slices.Contains(sets, data) {
				sets = append(sets, data)
			}
		}
	}
	var b strings.Builder
	for _, data := range sets {
		list := slices.DeleteFunc(slices.Clone(groups), func(g group) bool {
			return g[0].Data != data || epochs(g) != longest[data]
		})
		slices.SortStableFunc(list, func(x, y group) int {
			return cmp.Or(cmp.Compare(x[0].Model, y[0].Model), cmp.Compare(len(y), len(x)))
		})
		list = slices.CompactFunc(list, func(x, y group) bool { return x[0].Model == y[0].Model })
		fmt.Fprintf(&b, "### %s%s\n\n", data, list[0].atMost())
		b.WriteString("| model | seeds | random | paper | historical | paper | inductive | paper |")
		b.WriteString(" new nodes, random | paper |\n|---|---|---|---|---|---|---|---|---|---|\n")
		for _, g := range list {
			fmt.Fprintf(&b, "| `%s` | %d |", g[0].Model, len(g))
			for _, c := range [][3]string{
				{ablations, "transductive", "random"}, {ablations, "transductive", "historical"},
				{ablations, "transductive", "inductive"}, {ablationsInductive, "inductive", "random"},
			} {
				fmt.Fprintf(&b, " %s | %s |", g.cell(c[1], c[2]), ablated(c, data, g[0].Model))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// ablated is what the paper has in a cell: of an ablation a mean, of the whole model its deviation too.
func ablated(cell [3]string, data, model string) string {
	if p, ok := paper.Lookup(cell[1], cell[2], data, model); ok {
		return said(p.AP)
	}
	if p, ok := paper.Study(cell[0], data, model, cell[2]); ok {
		return said(p)
	}
	return ""
}
