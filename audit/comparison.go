package audit

import (
	"fmt"
	"io"
	"math"

	"github.com/dygmamba/dygmamba/internal/page"
)

// Comparison is runs that were asked the same, side by side.
type Comparison struct {
	Scenario    string       `json:"setting"`
	Negatives   string       `json:"negatives"`
	Runs        []Compared   `json:"runs"`
	Differences []Difference `json:"differences"` // to the first run
}

// tones in the order in which runs take them.
var tones = []page.Tone{page.First, page.Second, page.Fact, page.Third, page.Plain}

// WritePage writes the comparison as one page: results, validation over the epochs, and batch by batch.
func (c Comparison) WritePage(w io.Writer) error {
	p := page.Page{
		Title: "Runs side by side",
		Lead:  fmt.Sprintf("The same questions asked of each: %s, %s negatives.", c.Scenario, c.Negatives),
		Foot: "Differences are to the first run, batch by batch; " +
			"p is how often flipping their signs at random gives as much. Batches follow each other in time: " +
			"p speaks about this test, not about other seeds or other data.",
	}
	table := page.Table{Head: []string{"run", "model", "AP", "AUC", "difference", "better in", "p"}, Words: 2}
	for i, r := range c.Runs {
		cells := []string{r.Run, r.Model, fmt.Sprintf("%.2f", 100*r.AP), fmt.Sprintf("%.2f", 100*r.AUC), "", "", ""}
		if i > 0 {
			d := c.Differences[i-1]
			cells[4], cells[6] = fmt.Sprintf("%+.2f", 100*d.AP), d.Chance()
			cells[5] = fmt.Sprintf("%d of %d", d.Better, d.Batches)
		}
		table.Rows = append(table.Rows, cells)
	}
	p.Parts = append(p.Parts, table)
	for _, r := range c.Runs {
		for _, why := range r.Conditions {
			p.Parts = append(p.Parts, page.Remark(r.Run+": "+why))
		}
	}
	p.Parts = append(p.Parts, c.curves("Validation", "AP of every epoch on validation data", "epoch",
		func(r Compared) []float64 { return r.Validation })...)
	p.Parts = append(p.Parts, c.curves("Test, batch by batch", "AP of each batch, in the order of time", "batch",
		func(r Compared) []float64 { return r.Batches })...)
	return p.Write(w)
}

// curves draws one line for each run that has values, over each other.
func (c Comparison) curves(title, note, x string, values func(Compared) []float64) []page.Part {
	chart := page.Lines{X: page.Axis{Name: x, Min: 1, Max: 1}, Y: page.Axis{Percent: true, Min: 1}}
	f := page.Figure{Title: title, Note: note}
	for i, r := range c.Runs {
		line := page.Series{Name: r.Run, Tone: tones[i%len(tones)]}
		for k, v := range values(r) {
			line.X, line.Y = append(line.X, float64(k+1)), append(line.Y, v)
			chart.X.Max = max(chart.X.Max, float64(k+1))
			chart.Y.Min, chart.Y.Max = min(chart.Y.Min, v), max(chart.Y.Max, v)
		}
		if line.X != nil {
			chart.Series, f.Key = append(chart.Series, line), append(f.Key, page.Key{Name: r.Run, Tone: line.Tone})
		}
	}
	if chart.Series == nil {
		return nil
	}
	for k := 1.0; chart.X.Max <= 12 && k <= chart.X.Max; k++ { // no halves of an epoch
		chart.X.Ticks = append(chart.X.Ticks, k)
	}
	room := math.Max(0.05*(chart.Y.Max-chart.Y.Min), 1e-3)
	chart.Y.Min, chart.Y.Max = chart.Y.Min-room, chart.Y.Max+room
	f.Chart = chart
	return []page.Part{page.Figures{f}}
}
