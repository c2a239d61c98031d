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

// Ablations writes a table for every data set on which models that lack a part were trained, the whole one first. What
// was trained for a few epochs stands by itself, where there is nothing better.
func Ablations(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	of := map[string][]group{}
	var sets []string
	for _, g := range groups {
		name := g[0].Data + g.atMost()
		if !g.asPublished() || !g.ablation() && g[0].Model != defaultModel {
			continue
		}
		if g.ablation() && !slices.Contains(sets, name) {
			sets = append(sets, name)
		}
		of[name] = append(of[name], g)
	}
	var b strings.Builder
	for _, name := range sets {
		list := of[name]
		if data := list[0][0].Data; name != data && slices.Contains(sets, data) {
			continue
		}
		slices.SortStableFunc(list, func(x, y group) int {
			return cmp.Or(cmp.Compare(x[0].Model, y[0].Model), cmp.Compare(len(y), len(x)))
		})
		list = slices.CompactFunc(list, func(x, y group) bool { return x[0].Model == y[0].Model })
		fmt.Fprintf(&b, "### %s\n\n| model | seeds | random | paper | historical | paper | inductive | paper |", name)
		b.WriteString(" new nodes, random | paper |\n|---|---|---|---|---|---|---|---|---|---|\n")
		for _, g := range list {
			fmt.Fprintf(&b, "| `%s` | %d |", g[0].Model, len(g))
			for _, c := range [][3]string{
				{ablations, "transductive", "random"}, {ablations, "transductive", "historical"},
				{ablations, "transductive", "inductive"}, {ablationsInductive, "inductive", "random"},
			} {
				fmt.Fprintf(&b, " %s | %s |", g.cell(c[1], c[2]), ablated(c, g[0].Data, g[0].Model))
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
