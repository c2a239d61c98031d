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
	case paper.Events, paper.Pairs, paper.Histories:
		s.Tables = r.factTables(e)
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
func (r *runner) measured(e paper.Exhibit, negatives protocol.Negatives, data, name string, settings []string) number {
	var n number
	set := r.source(data)
	if set == nil {
		return n
	}
	if f := r.measures.rules[[2]string{data, name}]; f != nil {
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
	n.words, n.context = words, conditions(job.spec)
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
}

// resultTables makes a table for every kind of negatives.
func (r *runner) resultTables(e paper.Exhibit) (list []Table) {
	kinds := e.Negatives
	if e.Kind == paper.Labels {
		kinds = []protocol.Negatives{""}
	}
	for _, negatives := range kinds {
		var columns []column
		for _, d := range e.Datasets {
			if r.source(d) == nil {
				continue
			}
			c := column{data: d}
			for _, m := range e.Models {
				v, timeout, ok := e.Published(negatives, d, m)
				c.ours, c.paper = append(c.ours, r.measured(e, negatives, d, m, nil)),
					append(c.paper, published{v, timeout, ok})
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
