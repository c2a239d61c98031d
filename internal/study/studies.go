package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/protocol"
)

// varied shows results while a setting changes: a table, and curves of results, sizes, times and memory.
func (r *runner) varied(e paper.Exhibit, set *source) (Table, []Figure) {
	limit, what, curves := r.limit(e), "neighbours", []string{e.Metric + ", %"}
	if strings.HasPrefix(e.ID, "patch") {
		what, curves = "patch size", append(curves, "parameters", "memory, GiB", "time of an epoch, s")
	}
	t := Table{Title: e.Metric + " in percent on " + set.Name, Columns: []string{"model", what, e.Metric, "paper",
		"off by", "parameters", "epoch, s", "memory, GiB", "in all, min"}}
	var figures []Figure
	for _, title := range curves {
		figures = append(figures, Figure{Title: title + " against " + what, X: what, Y: title, LogX: true})
	}
	for _, m := range r.asked(e) {
		for _, p := range e.Points {
			cells, n := r.varyingRow(e, set, m, p)
			t.Rows = append(t.Rows, cells)
			if len(n.runs) == 0 {
				continue
			}
			res := n.runs[0].Result
			late := limit > 0 && res.Seconds/60 > limit
			if late {
				cells[len(cells)-1].Text += " ×"
			}
			for i := range figures {
				y := []float64{100 * n.mean(), float64(res.Params), gib(res.Peak), res.PerEpoch}[i]
				figures[i].add(cells[0].Text, p.X, y, late && i == 0)
			}
		}
	}
	if limit > 0 {
		t.Notes = append(t.Notes,
			fmt.Sprintf("The paper allows %g minutes on its machine. Here that is %.2f minutes: an "+
				"epoch of %s, alone, takes %.2f s and there %.0f s. × marks trainings that took longer.",
				e.Minutes, limit, dygmamba.DefaultModel, limit/e.Minutes*theirEpoch(), theirEpoch()))
	}
	t.explain()
	return t, slices.DeleteFunc(figures, func(f Figure) bool {
		return !slices.ContainsFunc(f.Series, func(s Series) bool { return len(s.X) > 1 })
	})
}

// varyingRow is that of a model at a point, and what was measured there.
func (r *runner) varyingRow(e paper.Exhibit, set *source, m string, p paper.Point) ([]Cell, number) {
	name, settings, x := m, p.Settings(m), strconv.FormatFloat(p.X, 'f', -1, 64)
	if i := slices.IndexFunc(settings, isPadding); i >= 0 {
		name += ", " + settings[i]
	}
	n := r.measured(e, e.Negatives[0], set, m, settings)
	v, ok := paper.Study(e.ID, set.Name, m, x)
	theirs := published{Value: v, ok: ok}
	cells := append(row(name, x), r.cell(n), Cell{Text: theirs.text()}, Cell{Text: off(n, theirs)})
	if len(n.runs) == 0 {
		return append(cells, make([]Cell, 4)...), n
	}
	res := n.runs[0].Result
	cells = append(cells, row(strconv.Itoa(res.Params), fmt.Sprintf("%.3g", res.PerEpoch),
		fmt.Sprintf("%.2f", gib(res.Peak)))...)
	return append(cells, valued("%.2f", res.Seconds/60, "")), n
}

func isPadding(setting string) bool { return strings.HasPrefix(setting, "padding=") }

// theirEpoch is the published time of an epoch that time limits are scaled by, in seconds.
func theirEpoch() float64 {
	v, _ := paper.Study("efficiency", "enron", dygmamba.DefaultModel, "minutes")
	return 60 * v.Mean
}

// limit is how many minutes a study allows here: as much more or less as an epoch takes here, compared with there. 0
// where there is none, or nobody measured.
func (r *runner) limit(e paper.Exhibit) float64 {
	if f := r.measures.steps[on{e.Datasets[0], dygmamba.DefaultModel}]; f != nil {
		return e.Minutes * f.Report.Epoch / theirEpoch()
	}
	return 0
}

// gib is bytes as the paper counts memory.
func gib(bytes int64) float64 { return float64(bytes) / math.Exp2(30) }

// valued is a cell with a number.
func valued(format string, v float64, link string) Cell {
	return Cell{Text: fmt.Sprintf(format, v), Value: &v, Link: link}
}

// beside is a table in which the paper's number stands next to each of ours.
type beside struct {
	Table
	exhibit string
	text    func(float64) string // a number of the paper
	columns []quantity
}

// quantity is a column of ours and the paper's next to it.
type quantity struct {
	name, theirs string
	key          string  // of the paper's numbers
	scale        float64 // that gives them our unit
}

func newBeside(exhibit, title string, text func(float64) string, words []string, columns ...quantity) *beside {
	b := &beside{Table{Title: title, Columns: words}, exhibit, text, columns}
	for _, q := range columns {
		b.Columns = append(b.Columns, q.name, q.theirs)
	}
	return b
}

// add adds a row; keys of the paper's numbers begin with a prefix.
func (b *beside) add(data, model, prefix string, cells []Cell, own ...Cell) {
	for i, q := range b.columns {
		theirs := Cell{}
		if v, ok := paper.Study(b.exhibit, data, model, prefix+q.key); ok {
			theirs.Text = b.text(v.Mean * q.scale)
		}
		cells = append(cells, own[i], theirs)
	}
	b.Rows = append(b.Rows, cells)
}

func fourDigits(v float64) string { return fmt.Sprintf("%.4g", v) }

// steps shows size, time and memory: a table of a data set, and for the figure a plot of bubbles.
func (r *runner) steps(e paper.Exhibit, set *source) (Table, []Figure) {
	const exhibit = "efficiency" // the figure has the numbers of the table
	d := set.Name
	t := newBeside(exhibit, d, fourDigits, []string{"model"}, quantity{"parameters, MB", "paper", "parameters", 1},
		quantity{"epoch, s", "paper, s", "minutes", 60}, quantity{"memory, GB", "paper, GB", "memory", 1})
	ours := Figure{Title: d + ", ours", X: "time of an epoch, s", Y: "AP, %", LogX: true,
		Note: "transductive AP, random negatives; the area of a circle is memory"}
	theirs := Figure{Title: d + ", the paper's", X: ours.X, Y: ours.Y, LogX: true, Note: "on an A40"}
	link := paper.Exhibit{Kind: paper.Links, Scenario: protocol.Transductive, Metric: "AP"}
	for _, m := range r.asked(e) {
		own := make([]Cell, 3)
		if f := r.measures.steps[on{d, m}]; f != nil {
			for k, v := range []float64{float64(f.Report.Params) * 4 / (1 << 20), f.Report.Epoch, gib(f.Report.Peak)} {
				own[k] = valued("%.3g", v, "measures/")
				own[k].Conditions = fmt.Sprintf("%d steps, alone on %s", f.Report.Batches, f.Report.Device)
			}
			if n := r.measured(link, protocol.RandomNegatives, set, m, nil); len(n.values) > 0 {
				ours.bubble(m, *own[1].Value, 100*n.mean(), *own[2].Value)
			}
		} else if need, ok := r.measures.skipped[on{d, m}]; ok {
			own[0] = Cell{Text: fmt.Sprintf("not measured, ~%.0f s", need.Seconds()), Faint: true}
		}
		t.add(d, m, "", row(m), own...)
		time, ok := paper.Study(exhibit, d, m, "minutes")
		memory, _ := paper.Study(exhibit, d, m, "memory")
		p, found := paper.Lookup(protocol.Transductive, protocol.RandomNegatives, d, m)
		if ok && found && !p.Timeout {
			theirs.bubble(m, 60*time.Mean, p.AP.Mean, memory.Mean)
		}
	}
	t.Notes = append(t.Notes, "Parameters count four bytes each, in units of 2²⁰; an epoch is its training steps, "+
		"without validation, alone on the machine; memory is what a step takes on the device.")
	return t.Table, []Figure{ours, theirs}
}

// totals says how long trainings took till their best epoch.
func (r *runner) totals(e paper.Exhibit, set *source) Table {
	t := newBeside(e.ID, set.Name, fourDigits, []string{"model"}, quantity{"epoch, s", "paper, s", "minutes", 60},
		quantity{"best epoch", "paper", "epochs", 1}, quantity{"till then, min", "paper, min", "total", 1})
	for _, m := range e.Models {
		runs, words := r.done(r.seeds(set, m, nil, ""))
		own := []Cell{{Text: words, Faint: true}, {Faint: true}, {Faint: true}}
		for k := range own {
			var values []float64
			for _, x := range runs {
				best := float64(x.Result.BestEpoch)
				values = append(values, []float64{x.Result.PerEpoch, best, x.Result.PerEpoch * best / 60}[k])
			}
			if mean, _ := meanStd(values); len(values) > 0 {
				own[k] = valued("%.4g", mean, r.relative(runs[0].Path))
			}
		}
		t.add(set.Name, m, "", row(m), own...)
	}
	t.Notes = append(t.Notes, fmt.Sprintf("Times of training alone, with %s; the paper's are "+
		"of an A40.", atOnce(r.Jobs)))
	return t.Table
}

// lengths shows the memory of steps against the length of rows.
func (r *runner) lengths(e paper.Exhibit, set *source) (Table, []Figure) {
	f := Figure{Title: "Memory against neighbours, " + set.Name, X: "neighbours", Y: "memory, GiB", LogX: true,
		LogY: true}
	t := Table{Title: set.Name, Columns: []string{"model", "neighbours", "memory, GiB", "step, ms"}}
	for _, m := range e.Models {
		facts := r.measures.lengths[on{set.Name, m}]
		if facts == nil {
			continue
		}
		f.Note = "in use on " + facts.Report.Device
		if facts.Planned {
			f.Note = "found without computing, as the steps would take it"
		}
		for _, x := range facts.Report.Rows {
			memory, step := Cell{Text: x.Problem, Faint: true}, ""
			if x.Problem == "" {
				memory = valued("%.2f", gib(x.Memory), "measures/")
				f.add(m, float64(x.Neighbors), gib(x.Memory))
			}
			if x.Step > 0 {
				step = fmt.Sprintf("%.1f", x.Step)
			}
			t.Rows = append(t.Rows, append(row(m, strconv.Itoa(x.Neighbors)), memory, Cell{Text: step}))
		}
	}
	return t, []Figure{f}
}

// factColumns are those of tables of statistics: words, and keys of the paper's numbers.
var factColumns = map[string][2][]string{
	"datasets":            {{"data set"}, {"nodes", "events", "edge features", "times"}},
	"synthetic-datasets":  {{"data set"}, {"nodes", "events", "times", "last"}},
	"synthetic-pairs":     {{"data set", "events"}, {"mean", "min", "max"}},
	"neighbor-statistics": {{"data set", "setting", "negatives"}, {"mean", "max"}},
}

// statistics shows those of data sets beside the published ones.
func (r *runner) statistics(e paper.Exhibit) Table {
	var columns []quantity
	for _, key := range factColumns[e.ID][1] {
		name := map[string]string{"min": "least", "max": "most"}[key]
		columns = append(columns, quantity{cmp.Or(name, key), "paper", key, 1})
	}
	t := newBeside(e.ID, "", count, factColumns[e.ID][0], columns...)
	for _, set := range r.of(e) {
		d, f := set.Name, r.measures.data[set.Name]
		add := func(prefix string, words []string, values map[string]float64) {
			var own []Cell
			for _, q := range columns {
				v := values[q.key]
				own = append(own, Cell{Text: count(v), Value: &v, Link: "measures/"})
			}
			t.add(d, "", prefix, row(append([]string{d}, words...)...), own...)
		}
		switch {
		case f == nil: // there was no time
		case e.Kind == paper.Events:
			add("", nil, map[string]float64{"nodes": float64(f.Nodes), "events": float64(f.Events), "last": f.Last,
				"times": float64(f.Times), "edge features": float64(f.EdgeFeatures)})
			for _, w := range f.Warnings {
				t.Notes = append(t.Notes, d+": "+w)
			}
		case e.Kind == paper.Pairs:
			for _, p := range f.Pairs {
				add(p.Part+" ", []string{p.Part}, map[string]float64{"mean": p.Mean, "min": p.Min, "max": p.Max})
			}
		case e.Kind == paper.Histories:
			for _, h := range f.Histories {
				words := []string{string(h.Scenario), string(h.Negatives)}
				prefix := strings.Join(words, " ") + " "
				if _, ok := paper.Study(e.ID, d, "", prefix+"mean"); ok { // some are not published
					add(prefix, words, map[string]float64{"mean": h.Mean, "max": float64(h.Max)})
				}
			}
		}
	}
	if e.Kind == paper.Histories {
		t.Notes = append(t.Notes, "Interactions before the query, over both ends of all test queries, positives and "+
			"negatives; the paper does not say over what it averages.")
	}
	return t.Table
}

// count writes a count without decimals, a mean or a time with two.
func count(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// intervals draws the gaps between meetings of one pair.
func (r *runner) intervals(set *source) []Figure {
	f := Figure{Title: set.Name, X: "meeting", Y: "time since the last one"}
	if facts := r.measures.data[set.Name]; facts != nil {
		const most = 400
		for i := 0; i < len(facts.Gaps); i += max(1, len(facts.Gaps)/most) {
			f.add("", float64(i+1), facts.Gaps[i])
		}
	}
	return []Figure{f}
}
