package results

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
)

// Studies writes a table for every study of the paper in which a setting changes and nobody is short of time: what
// there is of it. Of a value that was trained with several numbers of epochs the smallest is shown, as that is what the
// others were trained with.
func Studies(dir fs.FS) (string, error) {
	groups, err := load(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range paper.Exhibits() {
		if e.Kind != paper.Varied || e.Minutes > 0 {
			continue
		}
		rows := []string{}
		for _, name := range e.Models {
			for _, p := range e.Points {
				if g := shortest(groups, e.Datasets[0], name, p.Settings(name)); g != nil {
					rows = append(rows, g.point(e, p))
				}
			}
		}
		if len(rows) < 2 {
			continue // a value alone is no study
		}
		fmt.Fprintf(&b, "### %s\n\n%s.\n\n", e.Title, upper(e.Note))
		b.WriteString("| model | `--set` | seeds | best epoch | validation AP | AP | paper | AUC | parameters " +
			"| memory |\n|---|---|---|---|---|---|---|---|---|---|\n" + strings.Join(rows, "") + "\n")
	}
	return b.String(), nil
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// shortest is the runs that were trained as published but for some settings, and for the fewest epochs.
func shortest(groups []group, data, name string, settings []string) (best group) {
	for _, g := range groups {
		if g[0].Data == data && g[0].Model == name && g.asPublished(settings...) &&
			(best == nil || g[0].spec.Training.Epochs < best[0].spec.Training.Epochs) {
			best = g
		}
	}
	return best
}

// asPublished says whether the runs learned links with the preset of the paper, but for some settings and the number of
// epochs.
func (g group) asPublished(settings ...string) bool {
	if g[0].Preset != published || g[0].spec.Task == eval.NodeClassification || g.shares().Mixed() {
		return false
	}
	spec, err := models.Get(g[0].Model).Spec(published, model.Data{Name: g[0].Data}, settings...)
	return err == nil && spec.Brief() == g[0].spec.Brief()
}

// point is a row of a study.
func (g group) point(e paper.Exhibit, p paper.Point) string {
	m, _ := g.measured(e.Scenario, e.Negatives[0])
	said, was := "", fmt.Sprintf("%d of %d", g[0].BestEpoch, g[0].spec.Training.Epochs)
	if v, ok := paper.Study(e.ID, g[0].Data, g[0].Model, fmt.Sprint(p.X)); ok {
		said = fmt.Sprintf("%.2f", v.Mean)
	}
	return fmt.Sprintf("| `%s` | %s | %d | %s | %.2f | %s | %s | %s | %d | %.1f GiB |\n", g[0].Model,
		strings.Join(p.Settings(g[0].Model), ", "), len(g), was, 100*g.validation(), ours(m.AP, m.APStd, m.Runs), said,
		ours(m.AUC, m.AUCStd, m.Runs), g[0].Params, float64(g[0].Peak)/(1<<30))
}
