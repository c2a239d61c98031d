package study

import (
	"fmt"

	"github.com/dygmamba/dygmamba/audit"
)

// Compare shows runs that were asked the same: a table with the means over their seeds and differences to the first
// run, and curves of validation and of batches over each other.
func Compare(c audit.Comparison) Shown {
	t := Table{Columns: []string{"run", "model", "seeds", "AP", "AUC", "difference", "better in", "p"}}
	for i, r := range c.Runs {
		letters := lettersOf(r.Conditions)
		if r.CutShort != "" {
			letters += "u"
			t.Notes = append(t.Notes, r.Run+": "+r.CutShort+".")
		}
		for _, why := range r.Conditions {
			if lettersOf([]string{why}) == "" {
				t.Notes = append(t.Notes, r.Run+": "+why+".")
			}
		}
		ap, auc := number{marks: letters}, number{marks: letters}
		for _, s := range r.Seeds {
			ap.values, auc.values = append(ap.values, s.AP), append(auc.values, s.AUC)
		}
		if r.Seeds == nil {
			ap.values, auc.values = []float64{r.AP}, []float64{r.AUC}
		}
		cells := append(row(r.Run, r.Model, fmt.Sprint(len(ap.values))), ap.cell(), auc.cell())
		if i > 0 {
			d := c.Differences[i-1]
			cells = append(cells, Cell{Text: fmt.Sprintf("%+.2f", 100*d.AP), Value: &d.AP})
			cells = append(cells, Cell{Text: fmt.Sprintf("%d of %d", d.Better, d.Batches)}, Cell{Text: d.Chance()})
		} else {
			cells = append(cells, make([]Cell, 3)...)
		}
		t.Rows = append(t.Rows, cells)
	}
	t.rank(3)
	t.explain()
	title := fmt.Sprintf("%s, %s negatives", upper(string(c.Scenario)), c.Negatives)
	t.Notes = append(t.Notes, title+", in percent. Differences are to the first run, batch by batch; p is how often "+
		"flipping their signs at random gives as much. Batches follow each other in time: p speaks about this test, "+
		"not about other seeds or other data.")
	s := Shown{Exhibit: Exhibit{Title: title}, Tables: []Table{t}}
	for _, f := range []struct {
		title, x string
		values   func(audit.Compared) []float64
	}{
		{"Validation AP of every epoch, %", "epoch", func(r audit.Compared) []float64 { return r.Validation }},
		{"Test AP of each batch over time, %", "batch", func(r audit.Compared) []float64 { return r.Batches }},
	} {
		fig := Figure{Title: f.title, X: f.x, Y: "AP, %"}
		for _, r := range c.Runs {
			line := Series{Name: r.Run}
			for k, v := range f.values(r) {
				line.X, line.Y = append(line.X, float64(k+1)), append(line.Y, 100*v)
			}
			if line.X != nil {
				fig.Series = append(fig.Series, line)
			}
		}
		if fig.Series != nil {
			s.Figures = append(s.Figures, fig)
		}
	}
	return s
}
