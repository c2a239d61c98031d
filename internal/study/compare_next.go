package study

import (
	"fmt"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/eval"
)

// CompareNext shows trainings of the task next side by side.
func CompareNext(c audit.NextComparison) Shown {
	t := Table{Columns: []string{"run", "model", "seeds", "bits", "returning", "first meetings", "MRR %", "difference",
		"better in", "p"}}
	for i, r := range c.Runs {
		marks := ""
		if r.CutShort != "" {
			marks = "u"
			t.Notes = append(t.Notes, r.Run+": "+r.CutShort+".")
		}
		cells := row(r.Run, r.Model, fmt.Sprint(len(r.Seeds)))
		for _, of := range []struct {
			value func(eval.Next) float64
			share float64 // of the events that it is about
		}{
			{func(n eval.Next) float64 { return n.WhoBits }, 1},
			{func(n eval.Next) float64 { return n.Returning }, 1 - c.FirstShare},
			{func(n eval.Next) float64 { return n.First }, c.FirstShare},
		} {
			if of.share <= 0 {
				cells = append(cells, Cell{Text: "–"})
				continue
			}
			var values []float64
			for _, s := range r.Seeds {
				values = append(values, of.value(s.Next))
			}
			cells = append(cells, bitsCell(values, marks))
		}
		cells = append(cells, Cell{Text: fmt.Sprintf("%.2f", 100*r.MRR), Value: &r.MRR})
		if i > 0 {
			d := c.Differences[i-1]
			cells = append(cells, Cell{Text: fmt.Sprintf("%+.3f", d.Bits), Value: &d.Bits},
				Cell{Text: fmt.Sprintf("%d of %d", d.Better, d.Blocks)}, Cell{Text: d.Chance})
		} else {
			cells = append(cells, make([]Cell, 3)...)
		}
		t.Rows = append(t.Rows, cells)
	}
	t.rankLow(3)
	t.explain()
	title := "The next destination, bits per event"
	t.Notes = append(t.Notes, fmt.Sprintf("−log₂ of the probability of the destination among all destinations, of %d "+
		"test events; fewer bits are better. Differences are to the first run, in blocks of events that follow each "+
		"other; p is how often flipping their signs at random gives as much.", c.Events))
	s := Shown{Exhibit: Exhibit{Title: title}, Tables: []Table{t}}
	fig := Figure{Title: "Test bits of each block of events over time", X: "block", Y: "bits per event"}
	for _, r := range c.Runs {
		line := Series{Name: r.Run}
		for k, v := range r.Blocks {
			line.X, line.Y = append(line.X, float64(k+1)), append(line.Y, v)
		}
		fig.Series = append(fig.Series, line)
	}
	s.Figures = append(s.Figures, fig)
	return s
}

// bitsCell is a mean over seeds.
func bitsCell(values []float64, marks string) Cell {
	mean, std := meanStd(values)
	c := Cell{Text: fmt.Sprintf("%.3f", mean), Value: &mean, Marks: marks}
	if len(values) > 1 {
		c.Text, c.Std = fmt.Sprintf("%.3f ± %.3f (%d)", mean, std, len(values)), &std
	}
	return c
}
