package results

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/models"
)

// minutes is the preset that trains for minutes.
const minutes = "quick"

// Lead writes one table of the leading model after minutes of training on published data, transductive: on random
// negatives alone, and with the share of others that validation prefers, beside the best in print and the best of what
// learns nothing.
func Lead(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	groups = slices.DeleteFunc(groups, func(g group) bool {
		return g[0].Model != models.Leading || g[0].Preset != minutes || g.form() != ""
	})
	best := map[string][2]group{} // of each data set: random alone, mixed
	var sets []string
	for _, g := range groups {
		data, mixed := g[0].Data, 0
		if g.shares().Mixed() {
			mixed = 1
		}
		if !slices.Contains(sets, data) {
			sets = append(sets, data)
		}
		if two := best[data]; two[mixed] == nil || g.beatsMixed(two[mixed]) {
			two[mixed] = g
			best[data] = two
		}
	}
	var b strings.Builder
	b.WriteString("| data set | | seeds | random | historical | inductive |\n|---|---|---|---|---|---|\n")
	for _, data := range sets {
		printed := printed(data)
		if printed == "" || best[data][1] == nil {
			continue
		}
		for _, g := range best[data] {
			if g != nil {
				fmt.Fprintf(&b, "| %s | %s, %s | %d |%s\n", data, g[0].Model, g.negatives(), len(g),
					g.kinds("transductive"))
			}
		}
		fmt.Fprintf(&b, "| | best in print, each another model | |%s\n", printed)
		if rules, ok := Rules[data]; ok {
			var most [3]float64
			for _, rule := range rules {
				for i, ap := range rule {
					most[i] = max(most[i], ap)
				}
			}
			fmt.Fprintf(&b, "| | best that learns nothing, each another rule | | %.2f | %.2f | %.2f |\n",
				most[0], most[1], most[2])
		}
	}
	return b.String(), nil
}

// printed are the cells of the best numbers in print, and who has them, if there are any.
func printed(data string) (cells string) {
	found := false
	for _, negatives := range eval.Strategies() {
		r, ok := paper.Best(data, negatives)
		if !ok {
			cells += " |"
			continue
		}
		cells += fmt.Sprintf(" %.2f %s |", r.AP, r.Who)
		found = true
	}
	if !found {
		return ""
	}
	return cells
}
