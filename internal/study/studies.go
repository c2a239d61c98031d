package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/paper"
)

// showVaried shows results while a setting changes: a table, and curves of results, sizes, times and memory.
func (r *runner) showVaried(s *Shown, e paper.Exhibit) {
	data := e.Datasets[0]
	set := r.source(data)
	if set == nil {
		return
	}
	limit := r.limit(e)
	what := map[bool]string{true: "patch size", false: "neighbours"}[strings.HasPrefix(e.ID, "patch")]
	t := Table{Title: e.Metric + " in percent on " + data, Columns: []string{"model", what, e.Metric, "paper", "off by", "parameters", "epoch, s", "memory, GiB", "in all, min"}}
	curves := make([]map[string]*Series, 4)
	var names []string
	for i := range curves {
		curves[i] = map[string]*Series{}
	}
	for _, m := range e.Models {
		if !r.asked(m) {
			continue
		}
		for _, p := range e.Points {
			settings := p.Settings(m)
			name := m
			padding := func(s string) bool { return strings.HasPrefix(s, "padding=") }
			if i := slices.IndexFunc(settings, padding); i >= 0 {
				name += ", " + settings[i]
			}
			n := r.measured(e, e.Negatives[0], data, m, settings)
			x := strconv.FormatFloat(p.X, 'f', -1, 64)
			v, ok := paper.Study(e.ID, data, m, x)
			theirs := published{Value: v, ok: ok}
			row := []Cell{{Text: name}, {Text: x}, r.cell(n), {Text: theirs.text()}, {Text: off(n, theirs)}}
			job, err := newJob(set, m, settings, "", r.Epochs)
			if err != nil {
				continue
			}
			if res, ok := r.result(job, 0); ok {
				all := res.Seconds / 60
				total := Cell{Text: fmt.Sprintf("%.2f", all), Value: &all}
				late := limit > 0 && all > limit
				if late {
					total.Text += " ×"
				}
				row = append(row, Cell{Text: strconv.Itoa(res.Params)}, Cell{Text: fmt.Sprintf("%.3g", res.PerEpoch)},
					Cell{Text: fmt.Sprintf("%.2f", gib(res.Peak))}, total)
				for i, y := range []float64{100 * n.mean(), float64(res.Params), gib(res.Peak), res.PerEpoch} {
					c := curves[i][name]
					if c == nil {
						c = &Series{Name: name}
						curves[i][name] = c
					}
					c.X, c.Y, c.Cross = append(c.X, p.X), append(c.Y, y), append(c.Cross, late && i == 0)
				}
			} else {
				row = append(row, Cell{}, Cell{}, Cell{}, Cell{})
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if limit > 0 {
		t.Notes = append(t.Notes,
			fmt.Sprintf("The paper allows %g minutes on its machine. Here that is %.2f minutes: an "+
				"epoch of %s, alone, takes %.2f s and there %.0f s. × marks trainings that took longer.",
				e.Minutes, limit, dygmamba.DefaultModel, limit/e.Minutes*r.theirEpoch(), r.theirEpoch()))
	}
	t.explain()
	s.Tables = append(s.Tables, t)
	titles := []string{e.Metric + ", %", "parameters", "memory, GiB", "time of an epoch, s"}
	for i, title := range titles {
		f := Figure{Title: title + " against " + what, X: what, Y: title, LogX: true}
		for _, name := range names {
			if c := curves[i][name]; c != nil {
				f.Series = append(f.Series, *c)
			}
		}
		curve := slices.ContainsFunc(f.Series, func(s Series) bool { return len(s.X) > 1 })
		if curve && (i == 0 || what == "patch size") {
			s.Figures = append(s.Figures, f)
		}
	}
}

// theirEpoch is the published time of an epoch that time limits are scaled by, in seconds.
func (r *runner) theirEpoch() float64 {
	v, _ := paper.Study("efficiency", "enron", dygmamba.DefaultModel, "minutes")
	return 60 * v.Mean
}

// limit is how many minutes a study allows here: as much more or less as an epoch takes here, compared with there. 0
// where there is none, or nobody measured.
func (r *runner) limit(e paper.Exhibit) float64 {
	set := r.source(e.Datasets[0])
	if e.Minutes == 0 || set == nil {
		return 0
	}
	j, err := newJob(set, dygmamba.DefaultModel, nil, "", 0)
	if err != nil || r.measures.steps[j.Name] == nil {
		return 0
	}
	return e.Minutes * r.measures.steps[j.Name].Report.Epoch / r.theirEpoch()
}

// showSteps shows size, time and memory: a table of each data set, and for the figure a plot of bubbles.
func (r *runner) showSteps(s *Shown, e paper.Exhibit) {
	for _, d := range e.Datasets {
		set := r.source(d)
		if set == nil {
			continue
		}
		t := Table{Title: d, Columns: []string{"model", "parameters, MB", "paper", "epoch, s", "paper, s", "memory, GB",
			"paper, GB"}}
		ours := Figure{Title: d + ", ours", X: "time of an epoch, s", Y: "AP, %", LogX: true,
			Note: "transductive AP, random negatives; the area of a circle is memory"}
		theirs := Figure{Title: d + ", the paper's", X: ours.X, Y: ours.Y, LogX: true, Note: "on an A40"}
		for _, m := range e.Models {
			if !r.asked(m) {
				continue
			}
			j, err := newJob(set, m, nil, "", 0)
			if err != nil {
				continue
			}
			row := []Cell{{Text: m}}
			f := r.measures.steps[j.Name]
			values := []float64{}
			if f != nil {
				values = []float64{float64(f.Report.Params) * 4 / (1 << 20), f.Report.Epoch, gib(f.Report.Peak)}
			}
			var published [3]float64
			for k, quantity := range []string{"parameters", "minutes", "memory"} {
				own, paperCell := Cell{}, Cell{}
				if f != nil {
					own = Cell{Text: fmt.Sprintf("%.3g", values[k]), Value: &values[k], Link: "measures/",
						Conditions: fmt.Sprintf("%d steps, alone on %s", f.Report.Batches, f.Report.Device)}
				} else if need, ok := r.measures.skipped[d][m]; ok && k == 0 {
					own = Cell{Text: fmt.Sprintf("not measured, ~%.0f s", need), Faint: true}
				}
				if v, ok := paper.Study("efficiency", d, m, quantity); ok {
					published[k] = v.Mean
					if quantity == "minutes" {
						published[k] *= 60
					}
					paperCell.Text = fmt.Sprintf("%.4g", published[k])
				}
				row = append(row, own, paperCell)
			}
			t.Rows = append(t.Rows, row)
			link := paper.Exhibit{Kind: paper.Links, Scenario: "transductive", Metric: "AP"}
			if n := r.measured(link, "random", d, m, nil); f != nil && len(n.values) > 0 {
				ours.Series = append(ours.Series,
					Series{Name: m, X: values[1:2], Y: []float64{100 * n.mean()}, R: values[2:3]})
			}
			if p, ok := paper.Lookup("transductive", "random", d, m); ok && !p.Timeout && published[1] > 0 {
				theirs.Series = append(theirs.Series, Series{Name: m, X: published[1:2], Y: []float64{p.AP.Mean},
					R: published[2:3]})
			}
		}
		t.Notes = append(t.Notes, "Parameters count four bytes each, in units of 2²⁰; an epoch is its training steps, "+
			"without validation, alone on the machine; memory is what a step takes on the device.")
		if e.ID == "efficiency" {
			s.Tables = append(s.Tables, t)
			continue
		}
		for _, f := range []Figure{ours, theirs} {
			if f.Series != nil {
				s.Figures = append(s.Figures, f)
			}
		}
	}
}

// showLengths shows the memory of steps against the length of rows.
func (r *runner) showLengths(s *Shown, e paper.Exhibit) {
	d := e.Datasets[0]
	f := Figure{Title: "Memory against neighbours, " + d, X: "neighbours", Y: "memory, GiB", LogX: true, LogY: true}
	t := Table{Title: d, Columns: []string{"model", "neighbours", "memory, GiB", "step, ms"}}
	for _, m := range e.Models {
		facts := r.measures.lengths[[2]string{d, m}]
		if facts == nil {
			continue
		}
		line := Series{Name: m}
		for _, row := range facts.Report.Rows {
			cells := []Cell{{Text: m}, {Text: strconv.Itoa(row.Neighbors)}, {}, {}}
			switch {
			case row.Problem != "":
				cells[2] = Cell{Text: row.Problem, Faint: true}
			default:
				v := gib(row.Memory)
				cells[2] = Cell{Text: fmt.Sprintf("%.2f", v), Value: &v, Link: "measures/"}
				line.X, line.Y = append(line.X, float64(row.Neighbors)), append(line.Y, v)
			}
			if row.Step > 0 {
				cells[3].Text = fmt.Sprintf("%.1f", row.Step)
			}
			t.Rows = append(t.Rows, cells)
		}
		if line.X != nil {
			f.Series = append(f.Series, line)
		}
		if facts.Planned {
			f.Note = "found without computing, as the steps would take it"
		} else {
			f.Note = "in use on " + facts.Report.Device
		}
	}
	if t.Rows != nil {
		s.Tables = append(s.Tables, t)
	}
	if f.Series != nil {
		s.Figures = append(s.Figures, f)
	}
}

// eventTables shows the statistics of data sets beside the published ones.
func (r *runner) eventTables(e paper.Exhibit) []Table {
	quantities := []string{"nodes", "events", "edge features", "times"}
	if e.ID == "synthetic-datasets" {
		quantities = []string{"nodes", "events", "times", "last"}
	}
	t := Table{Columns: []string{"data set"}}
	for _, q := range quantities {
		t.Columns = append(t.Columns, q, "paper")
	}
	for _, d := range e.Datasets {
		f := r.measures.data[d]
		if f == nil {
			continue
		}
		values := map[string]float64{"nodes": float64(f.Nodes), "events": float64(f.Events), "times": float64(f.Times),
			"edge features": float64(f.EdgeFeatures), "last": f.Last}
		row := []Cell{{Text: d}}
		for _, q := range quantities {
			v, ok := paper.Study(e.ID, d, "", q)
			row = append(row, beside(values[q], v, ok)...)
		}
		t.Rows = append(t.Rows, row)
		for _, w := range f.Warnings {
			t.Notes = append(t.Notes, d+": "+w)
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []Table{t}
}

// beside is a count of ours and the paper's.
func beside(own float64, theirs paper.Value, published bool) []Cell {
	c := []Cell{{Text: count(own), Value: &own, Link: "measures/"}, {}}
	if published {
		c[1].Text = count(theirs.Mean)
	}
	return c
}

// count writes a count without decimals, a mean or a time with two.
func count(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// pairTables shows how often pairs meet.
func (r *runner) pairTables(e paper.Exhibit) []Table {
	t := Table{Columns: []string{"events", "data set", "mean", "paper", "least", "paper", "most", "paper"}}
	for _, part := range []string{"training", "all", "period"} {
		for _, d := range e.Datasets {
			f := r.measures.data[d]
			if f == nil {
				continue
			}
			for _, p := range f.Pairs {
				if p.Part != part {
					continue
				}
				row := []Cell{{Text: part}, {Text: d}}
				for i, own := range []float64{p.Mean, p.Min, p.Max} {
					v, ok := paper.Study(e.ID, d, "", part+" "+[]string{"mean", "min", "max"}[i])
					row = append(row, beside(own, v, ok)...)
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []Table{t}
}

// historyTables shows how much past test queries have.
func (r *runner) historyTables(e paper.Exhibit) []Table {
	t := Table{Columns: []string{"data set", "setting", "negatives", "mean", "paper", "most", "paper"}}
	for _, d := range e.Datasets {
		f := r.measures.data[d]
		if f == nil {
			continue
		}
		for _, h := range f.Histories {
			key := h.Scenario + " " + h.Negatives
			mean, ok := paper.Study(e.ID, d, "", key+" mean")
			if !ok {
				continue // historical negatives of new nodes are not published
			}
			most, ok := paper.Study(e.ID, d, "", key+" max")
			row := []Cell{{Text: d}, {Text: h.Scenario}, {Text: h.Negatives}}
			row = append(append(row, beside(h.Mean, mean, true)...), beside(float64(h.Max), most, ok)...)
			t.Rows = append(t.Rows, row)
		}
	}
	if t.Rows == nil {
		return nil
	}
	t.Notes = append(t.Notes, "Interactions before the query, over both ends of all test queries, positives and "+
		"negatives; the paper does not say over what it averages.")
	return []Table{t}
}

// intervals draws the gaps between meetings of one pair.
func (r *runner) intervals(e paper.Exhibit) (list []Figure) {
	for _, d := range e.Datasets {
		f := r.measures.data[d]
		if f == nil || len(f.Gaps) == 0 {
			continue
		}
		const most = 400
		step := max(1, len(f.Gaps)/most)
		var line Series
		for i := 0; i < len(f.Gaps); i += step {
			line.X, line.Y = append(line.X, float64(i+1)), append(line.Y, f.Gaps[i])
		}
		list = append(list, Figure{Title: d, X: "meeting", Y: "time since the last one", Series: []Series{line}})
	}
	return list
}
