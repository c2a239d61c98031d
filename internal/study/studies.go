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
	t := Table{Title: e.Metric + " in percent on " + data, Columns: []string{"model", what, e.Metric, "paper", "off by",
		"parameters", "epoch, s", "memory, GiB", "in all, min"}}
	var figures []Figure
	for _, title := range []string{e.Metric + ", %", "parameters", "memory, GiB", "time of an epoch, s"} {
		figures = append(figures, Figure{Title: title + " against " + what, X: what, Y: title, LogX: true})
	}
	for _, m := range e.Models {
		if !r.asked(m) {
			continue
		}
		for _, p := range e.Points {
			settings := p.Settings(m)
			job, err := newJob(set, m, settings, "", r.Epochs)
			if err != nil {
				continue
			}
			name := m
			if i := slices.IndexFunc(settings, isPadding); i >= 0 {
				name += ", " + settings[i]
			}
			n := r.measured(e, e.Negatives[0], data, m, settings)
			x := strconv.FormatFloat(p.X, 'f', -1, 64)
			v, ok := paper.Study(e.ID, data, m, x)
			theirs := published{Value: v, ok: ok}
			cells := append(row(name, x), r.cell(n), Cell{Text: theirs.text()}, Cell{Text: off(n, theirs)})
			res, ok := r.result(job, 0)
			if !ok {
				t.Rows = append(t.Rows, append(cells, make([]Cell, 4)...))
				continue
			}
			all := res.Seconds / 60
			total, late := Cell{Text: fmt.Sprintf("%.2f", all), Value: &all}, limit > 0 && all > limit
			if late {
				total.Text += " ×"
			}
			cells = append(cells, row(strconv.Itoa(res.Params), fmt.Sprintf("%.3g", res.PerEpoch),
				fmt.Sprintf("%.2f", gib(res.Peak)))...)
			t.Rows = append(t.Rows, append(cells, total))
			for i, y := range []float64{100 * n.mean(), float64(res.Params), gib(res.Peak), res.PerEpoch} {
				figures[i].add(name, p.X, y, late && i == 0)
			}
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
	for i, f := range figures {
		curve := slices.ContainsFunc(f.Series, func(s Series) bool { return len(s.X) > 1 })
		if curve && (i == 0 || what == "patch size") {
			s.Figures = append(s.Figures, f)
		}
	}
}

func isPadding(setting string) bool { return strings.HasPrefix(setting, "padding=") }

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

// fact is a row of statistics: what it is of, and what the paper calls each value.
type fact struct {
	words  []string
	values []float64
	keys   []string
}

// factTables shows the statistics of data sets beside the published ones.
func (r *runner) factTables(e paper.Exhibit) []Table {
	var t Table
	var of func(data string, f *DataFacts) []fact
	switch e.Kind {
	case paper.Events:
		keys := []string{"nodes", "events", "edge features", "times"}
		if e.ID == "synthetic-datasets" {
			keys = []string{"nodes", "events", "times", "last"}
		}
		t.Columns = []string{"data set"}
		for _, key := range keys {
			t.Columns = append(t.Columns, key, "paper")
		}
		of = func(data string, f *DataFacts) []fact {
			all := map[string]float64{"nodes": float64(f.Nodes), "events": float64(f.Events), "last": f.Last,
				"times": float64(f.Times), "edge features": float64(f.EdgeFeatures)}
			x := fact{words: []string{data}, keys: keys}
			for _, key := range keys {
				x.values = append(x.values, all[key])
			}
			for _, w := range f.Warnings {
				t.Notes = append(t.Notes, data+": "+w)
			}
			return []fact{x}
		}
	case paper.Pairs: // how often pairs meet
		t.Columns = []string{"data set", "events", "mean", "paper", "least", "paper", "most", "paper"}
		of = func(data string, f *DataFacts) (list []fact) {
			for _, p := range f.Pairs {
				list = append(list, fact{[]string{data, p.Part}, []float64{p.Mean, p.Min, p.Max},
					[]string{p.Part + " mean", p.Part + " min", p.Part + " max"}})
			}
			return list
		}
	case paper.Histories: // how much past test queries have
		t.Columns = []string{"data set", "setting", "negatives", "mean", "paper", "most", "paper"}
		t.Notes = []string{"Interactions before the query, over both ends of all test queries, positives and " +
			"negatives; the paper does not say over what it averages."}
		of = func(data string, f *DataFacts) (list []fact) {
			for _, h := range f.Histories {
				key := fmt.Sprintf("%s %s", h.Scenario, h.Negatives)
				if _, ok := paper.Study(e.ID, data, "", key+" mean"); ok { // some are not published
					list = append(list, fact{[]string{data, string(h.Scenario), string(h.Negatives)},
						[]float64{h.Mean, float64(h.Max)}, []string{key + " mean", key + " max"}})
				}
			}
			return list
		}
	}
	for _, d := range e.Datasets {
		f := r.measures.data[d]
		if f == nil {
			continue
		}
		for _, x := range of(d, f) {
			cells := row(x.words...)
			for i, own := range x.values {
				theirs := Cell{}
				if v, ok := paper.Study(e.ID, d, "", x.keys[i]); ok {
					theirs.Text = count(v.Mean)
				}
				cells = append(cells, Cell{Text: count(own), Value: &own, Link: "measures/"}, theirs)
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []Table{t}
}

// count writes a count without decimals, a mean or a time with two.
func count(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
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
