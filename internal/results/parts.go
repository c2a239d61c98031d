package results

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Parts writes a table for every data set on which a model was trained without one of its parts: the whole model, then
// what is left without each, trained alike.
func Parts(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, whole := range groups {
		less := slices.DeleteFunc(slices.Clone(groups), func(g group) bool {
			return !g.lacks() || g.kind() != whole.kind() || g.shares() != whole.shares()
		})
		if whole.lacks() || len(less) == 0 {
			continue
		}
		fmt.Fprintf(&b, "### %s: `%s`, preset `%s`, %s\n\n", whole[0].Data, whole[0].Model, whole[0].Preset,
			whole.negatives())
		b.WriteString("| without | seeds | validation: random, historical, inductive | random | historical " +
			"| inductive |\n|---|---|---|---|---|---|\n")
		for _, g := range append([]group{whole}, less...) {
			part := strings.TrimPrefix(g[0].mark, without)
			if part == "" {
				part = "nothing: the whole model"
			}
			fmt.Fprintf(&b, "| %s | %d | %s |%s\n", part, len(g), g.known(), g.kinds("transductive"))
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// lacks says whether the runs are of a model without one of its parts.
func (g group) lacks() bool { return strings.HasPrefix(g[0].mark, without) }

// without is how marks of such models begin.
const without = ", without "
