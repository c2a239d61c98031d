package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/paper"
)

// show makes the tables and figures of an exhibit.
func (r *runner) show(e paper.Exhibit) Shown {
	s := Shown{Exhibit: Exhibit{e.ID, e.Number, e.Title}}
	if e.Note != "" {
		s.Notes = append(s.Notes, strings.ToUpper(e.Note[:1])+e.Note[1:]+".")
	}
	if r.Epochs > 0 && e.Models != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("Trained for at most %d epochs (--epochs), not for as long as published.",
			r.Epochs))
	}
	switch e.Kind {
	case paper.Links, paper.Labels:
		s.Tables = r.resultTables(e)
	case paper.Varied:
		r.showVaried(&s, e)
	case paper.Steps:
		r.showSteps(&s, e)
	case paper.Totals:
		s.Tables = r.totals(e)
	case paper.Lengths:
		r.showLengths(&s, e)
	case paper.Events:
		s.Tables = r.eventTables(e)
	case paper.Pairs:
		s.Tables = r.pairTables(e)
	case paper.Histories:
		s.Tables = r.historyTables(e)
	case paper.Intervals:
		s.Figures = r.intervals(e)
	}
	for i := range s.Tables {
		s.Tables[i].prune()
	}
	if missing := r.absent(e); missing != "" {
		s.Notes = append(s.Notes, missing)
	}
	return s
}

// absent says which data sets of an exhibit are missing.
func (r *runner) absent(e paper.Exhibit) string {
	var not, unasked []string
	for _, d := range e.Datasets {
		switch {
		case r.Datasets != nil && !slices.Contains(r.Datasets, d):
			unasked = append(unasked, d)
		case r.source(d) == nil:
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
func (r *runner) measured(e paper.Exhibit, negatives, data, name string, settings []string) number {
	var n number
	set := r.source(data)
	if set == nil {
		return n
	}
	if f := r.measures.rules[[2]string{data, name}]; f != nil {
		if row, ok := f.best(e.Scenario, negatives); ok {
			n.values, n.leaks = []float64{row.AP}, f.Conditions
			if e.Metric == "AUC" {
				n.values[0] = row.AUC
			}
			n.context = fmt.Sprintf("best of four memories (%s), as published; order %s; measured in batches of %d",
				row.Contender, f.Order, f.BatchSize)
		}
		return n
	}
	task := ""
	if e.Kind == paper.Labels {
		task = eval.NodeClassification
	}
	job, err := newJob(set, name, settings, task, r.Epochs)
	if err != nil {
		return n
	}
	var runs group
	words := ""
	for seed := range uint64(r.Seeds) {
		j := job.at(seed)
		if s, planned := r.found[j.id()]; s.state == Done {
			runs = append(runs, s.Record)
		} else if planned && words == "" {
			words = r.brief(j, s)
		}
	}
	n = runs.number(e.Scenario, negatives, e.Metric)
	n.words, n.context, n.leaks = words, conditions(job.spec), job.spec.Conditions()
	return n
}

// brief is where a run stands, for a cell.
func (r *runner) brief(j *Job, s standing) string {
	switch s.state {
	case Unfinished:
		return fmt.Sprintf("epoch %d of ≤ %d", len(s.epochs), j.spec.Training.Epochs)
	case Failed:
		return "failed"
	}
	_, usual := r.estimate.remaining(j, nil)
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
	leaks bool // some of it
}

// resultTables makes a table for every kind of negatives.
func (r *runner) resultTables(e paper.Exhibit) (list []Table) {
	kinds := e.Negatives
	if e.Kind == paper.Labels {
		kinds = []string{""}
	}
	for _, negatives := range kinds {
		var columns []column
		for _, d := range e.Datasets {
			if r.source(d) == nil {
				continue
			}
			c := column{data: d}
			for _, m := range e.Models {
				n := r.measured(e, negatives, d, m, nil)
				v, timeout, ok := e.Published(negatives, d, m)
				c.ours, c.paper = append(c.ours, n), append(c.paper, published{v, timeout, ok})
				c.leaks = c.leaks || len(n.values) > 0 && len(n.leaks) > 0
			}
			columns = append(columns, c)
		}
		if len(columns) > 0 {
			title := e.Metric + " in percent"
			if negatives != "" {
				title = e.Metric + " in percent, " + negatives + " negatives"
			}
			list = append(list, r.resultTable(e, title, columns))
		}
	}
	return list
}

func (r *runner) resultTable(e paper.Exhibit, title string, columns []column) Table {
	t := Table{Title: title, Columns: []string{"model"}, Rows: make([][]Cell, len(e.Models))}
	for i, m := range e.Models {
		t.Rows[i] = []Cell{{Text: m}}
	}
	var reasons reasons
	for _, c := range columns {
		t.Columns = append(t.Columns, c.data)
		if c.leaks {
			t.Columns = append(t.Columns, c.data+", leaking")
		}
		t.Columns = append(t.Columns, "paper", "off by")
		ours, theirs := places(len(e.Models), func(i int) (float64, bool) {
			return c.ours[i].mean(), len(c.ours[i].values) > 0
		}), places(len(e.Models), func(i int) (float64, bool) {
			return c.paper[i].Mean, c.paper[i].ok && !c.paper[i].timeout
		})
		for i, m := range e.Models {
			n, p := c.ours[i], c.paper[i]
			own, leaking := r.cell(n), Cell{}
			own.Rank = ours[i]
			if len(n.values) > 0 && len(n.leaks) > 0 {
				own, leaking = Cell{}, own
				reasons.add(m, n.leaks)
			}
			t.Rows[i] = append(t.Rows[i], own)
			if c.leaks {
				t.Rows[i] = append(t.Rows[i], leaking)
			}
			shown := Cell{Text: p.text(), Rank: theirs[i]}
			t.Rows[i] = append(t.Rows[i], shown, Cell{Text: off(n, p)})
		}
	}
	t.Notes = append(t.Notes, reasons.notes()...)
	rank(&t, e, columns)
	return t
}

// reasons are why numbers leak, and of which models.
type reasons []struct {
	why    string
	models []string
}

func (r *reasons) add(model string, list []string) {
	for _, why := range list {
		i := 0
		for i < len(*r) && (*r)[i].why != why {
			i++
		}
		if i == len(*r) {
			*r = append(*r, struct {
				why    string
				models []string
			}{why: why})
		}
		if one := &(*r)[i]; !slices.Contains(one.models, model) {
			one.models = append(one.models, model)
		}
	}
}

func (r reasons) notes() (list []string) {
	for _, x := range r {
		list = append(list, fmt.Sprintf("Leaking: %s (%s).", x.why, strings.Join(x.models, ", ")))
	}
	return list
}
