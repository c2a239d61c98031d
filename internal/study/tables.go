package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/protocol"
)

// show makes the tables and figures of an exhibit.
func (r *runner) show(e paper.Exhibit) Shown {
	s := Shown{Exhibit: e.Heading}
	if e.Note != "" {
		s.Notes = append(s.Notes, upper(e.Note)+".")
	}
	if r.Epochs > 0 && len(e.Models) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("Trained for at most %d epochs (--epochs), not for as long as published.",
			r.Epochs))
	}
	switch e.Kind {
	case paper.Links, paper.Labels:
		s.Tables = r.resultTables(e)
	case paper.Events, paper.Pairs, paper.Histories:
		s.Tables = []Table{r.statistics(e)}
	default:
		for _, set := range r.of(e) {
			t, figures := r.study(e, set)
			s.Tables, s.Figures = append(s.Tables, t), append(s.Figures, figures...)
		}
	}
	s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return t.Rows == nil })
	s.Figures = slices.DeleteFunc(s.Figures, func(f Figure) bool { return f.Series == nil })
	for i := range s.Tables {
		s.Tables[i].prune()
	}
	if missing := r.absent(e); missing != "" {
		s.Notes = append(s.Notes, missing)
	}
	return s
}

// study makes the table and figures of a data set, as far as the exhibit has them.
func (r *runner) study(e paper.Exhibit, set *source) (t Table, figures []Figure) {
	switch e.Kind {
	case paper.Varied:
		return r.varied(e, set)
	case paper.Totals:
		return r.totals(e, set), nil
	case paper.Lengths:
		return r.lengths(e, set)
	case paper.Intervals:
		return t, r.intervals(set)
	}
	t, figures = r.steps(e, set)
	if e.ID == "efficiency" {
		return t, nil
	}
	return Table{}, figures
}

// absent says which data sets of an exhibit are missing.
func (r *runner) absent(e paper.Exhibit) string {
	var not, unasked []string
	for _, d := range e.Datasets {
		if r.Datasets != nil && !slices.Contains(r.Datasets, d) {
			unasked = append(unasked, d)
		} else if slices.ContainsFunc(r.missing, func(m Missing) bool { return m.Data == d }) {
			not = append(not, d)
		}
	}
	text := ""
	if not != nil {
		text = "Not here: " + strings.Join(not, ", ") + "."
	}
	if unasked != nil {
		text += " Not asked for: " + strings.Join(unasked, ", ") + "."
	}
	return strings.TrimSpace(text)
}

// measured collects what there is for a model on a data set.
func (r *runner) measured(
	e paper.Exhibit, negatives protocol.Negatives, set *source, name string, settings []string,
) (n number) {
	if f := r.measures.rules[on{set.Name, name}]; f != nil {
		if row, ok := f.best(e.Scenario, negatives); ok {
			n.values, n.marks = []float64{row.AP}, lettersOf(f.Conditions)
			if e.Metric == "AUC" {
				n.values[0] = row.AUC
			}
			n.context = fmt.Sprintf("best of four memories (%s), as published; order %s; measured in batches of %d",
				row.Contender, f.Order, f.BatchSize)
		}
		return n
	}
	task := protocol.Task("")
	if e.Kind == paper.Labels {
		task = protocol.NodeClassification
	}
	jobs := r.seeds(set, name, settings, task)
	runs, words := r.done(jobs)
	n = runs.number(e.Scenario, negatives, e.Metric)
	if n.words = words; len(jobs) > 0 {
		n.context = conditions(jobs[0].spec)
	}
	return n
}

// done are the runs of jobs that are done, and where the first of the others stands.
func (r *runner) done(jobs []*Job) (runs group, words string) {
	for _, j := range jobs {
		if j.found.state == Done {
			runs = append(runs, j.found.Record)
		} else if words == "" {
			words = r.brief(j)
		}
	}
	return runs, words
}

// brief is where a run stands, for a cell.
func (r *runner) brief(j *Job) string {
	switch j.found.state {
	case Unfinished:
		return fmt.Sprintf("epoch %d of ≤ %d", len(j.found.epochs), j.spec.Training.Epochs)
	case Failed:
		return "failed"
	}
	_, usual := r.estimate.remaining(j)
	return "not begun, ~" + minutes(usual)
}

// cell shows a number with a link to the first of its runs.
func (r *runner) cell(n number) Cell {
	c := n.cell()
	if len(n.runs) > 0 {
		c.Link = r.relative(n.runs[0].Path)
	}
	return c
}

// column is a data set of a table: what we found for each model, and what was published.
type column struct {
	data  string
	ours  []number
	paper []published
}

// resultTables makes a table for every kind of negatives.
func (r *runner) resultTables(e paper.Exhibit) (list []Table) {
	kinds := e.Negatives
	if e.Kind == paper.Labels {
		kinds = []protocol.Negatives{""}
	}
	for _, negatives := range kinds {
		var columns []column
		for _, set := range r.of(e) {
			c := column{data: set.Name}
			for _, m := range e.Models {
				v, timeout, ok := e.Published(negatives, set.Name, m)
				c.ours = append(c.ours, r.measured(e, negatives, set, m, nil))
				c.paper = append(c.paper, published{v, timeout, ok})
			}
			columns = append(columns, c)
		}
		if len(columns) > 0 {
			t := r.resultTable(e, columns)
			t.Title = e.Metric + " in percent"
			if negatives != "" {
				t.Title += ", " + string(negatives) + " negatives"
			}
			list = append(list, t)
		}
	}
	return list
}

func (r *runner) resultTable(e paper.Exhibit, columns []column) Table {
	t := Table{Columns: []string{"model"}}
	for _, m := range e.Models {
		t.Rows = append(t.Rows, row(m))
	}
	for _, c := range columns {
		theirs := places(len(e.Models), func(i int) (float64, bool) {
			return c.paper[i].Mean, c.paper[i].ok && !c.paper[i].timeout
		})
		for i := range e.Models {
			n, p := c.ours[i], c.paper[i]
			t.Rows[i] = append(t.Rows[i], r.cell(n), Cell{Text: p.text(), Rank: theirs[i]}, Cell{Text: off(n, p)})
		}
		t.rank(len(t.Columns))
		t.Columns = append(t.Columns, c.data, "paper", "off by")
	}
	t.explain()
	averageRanks(&t, e, columns)
	return t
}
