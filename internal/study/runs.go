package study

import (
	"fmt"

	"github.com/dygmamba/dygmamba/internal/paper"
)

// Runs is every run that has ended: a part for each data set, model and settings, with what was measured beside the
// paper's numbers, the seeds, and the verdicts of audits.
func Runs(records []Record) (parts []Shown) {
	for _, g := range groups(records) {
		s := Shown{Exhibit: Exhibit{Title: fmt.Sprintf("%s, %s, preset `%s`", g.data(), g.model(), g.preset())}}
		t := Table{Title: g.settings(), Columns: []string{"setting", "negatives", "AP", "AUC", "paper AP", "paper AUC"}}
		for _, m := range g[0].Result.Results {
			r := row(string(m.Scenario), string(m.Strategy))
			for _, metric := range []string{"AP", "AUC"} {
				r = append(r, g.cell(m.Scenario, m.Strategy, metric))
			}
			p, ok := paper.Lookup(m.Scenario, m.Strategy, g.data(), g.model())
			for _, v := range []paper.Value{p.AP, p.AUC} {
				r = append(r, Cell{Text: published{v, p.Timeout, ok}.text()})
			}
			t.Rows = append(t.Rows, r)
		}
		t.explain()
		seeds := Table{Columns: []string{"run", "device", "audit", "seed", "best epoch", "epochs", "validation AP",
			"epoch, s", "total, s"}}
		for _, r := range g {
			val := ""
			if r.Result.Val != nil {
				val = fmt.Sprintf("%.2f", 100*r.Result.Val.AP)
			}
			seeds.Rows = append(seeds.Rows, row(r.Name, r.Result.Device, r.Audit, fmt.Sprint(r.Result.Seed),
				fmt.Sprint(r.Result.BestEpoch), fmt.Sprint(r.Result.Epochs), val,
				fmt.Sprintf("%.2f", r.Result.PerEpoch), fmt.Sprintf("%.0f", r.Result.Seconds)))
		}
		seeds.prune()
		s.Tables = []Table{t, seeds}
		parts = append(parts, s)
	}
	return parts
}
