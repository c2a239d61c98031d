package results

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/sample"
)

// Lead writes one table of the leading model on published data, transductive: trained on random negatives alone, and
// with the share of others that validation prefers, beside the best in print and the best of what learns nothing.
func Lead(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	groups = slices.DeleteFunc(groups, func(g group) bool { return g[0].Model != models.Leading || g.form() != "" })
	best := map[kind][2]group{} // of each: random alone, mixed
	var order []kind
	for _, g := range groups {
		k, mixed := g.kind(), 0
		if g.shares().Mixed() {
			mixed = 1
		}
		if !slices.Contains(order, k) {
			order = append(order, k)
		}
		if two := best[k]; two[mixed] == nil || g.beatsMixed(two[mixed]) {
			two[mixed] = g
			best[k] = two
		}
	}
	var b strings.Builder
	b.WriteString("| data set | | seeds | random | historical | inductive |\n|---|---|---|---|---|---|\n")
	for _, k := range order {
		printed := printed(k.data)
		if printed == "" || best[k][1] == nil {
			continue
		}
		for _, g := range best[k] {
			if g != nil {
				fmt.Fprintf(&b, "| %s | %s, %s | %d |%s\n", k.data, g[0].Model, g.negatives(), len(g),
					g.kinds("transductive"))
			}
		}
		fmt.Fprintf(&b, "| | best in print, each another model | |%s\n", printed)
		if rules, ok := Rules[k.data]; ok {
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
	for _, negatives := range []string{sample.Random, sample.Historical, sample.Inductive} {
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
