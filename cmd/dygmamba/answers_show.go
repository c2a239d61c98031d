package main

import (
	"fmt"
	"io"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/run"
)

// answersDoc is how well classes with names, or values, are told: by models and by simple rules.
type answersDoc struct {
	rows []answersRow
}

type answersRow struct {
	name string
	eval.Result
}

// answers are those of a document; nil: it is of links, or of labels without names.
func (d *evalDoc) answers() *answersDoc {
	var doc answersDoc
	for _, r := range d.Results {
		if r.Classes == nil && r.RMSE == nil {
			return nil
		}
		doc.rows = append(doc.rows, answersRow{d.Model + suffix(r.Variant), eval.Result{AUC: float64(r.AUC),
			Accuracy: r.Accuracy, MacroF1: r.MacroF1, Classes: r.Classes, MAE: r.MAE, RMSE: r.RMSE, Rules: r.Rules,
			Events: r.Events}})
	}
	return &doc
}

// answersOf are those of a training; nil: it learned something else.
func answersOf(sum run.Summary) *answersDoc {
	var doc answersDoc
	for _, r := range sum.Runs {
		for _, m := range r.Results {
			if m.Classes == nil && m.RMSE == nil {
				return nil
			}
			name := sum.Model
			if len(sum.Runs) > 1 {
				name += fmt.Sprintf(" seed %d", r.Seed)
			}
			doc.rows = append(doc.rows, answersRow{name, m.Result})
		}
	}
	if doc.rows == nil {
		return nil
	}
	return &doc
}

// write is the tables.
func (d *answersDoc) write(w io.Writer, s term.Style) error {
	if d.rows[0].RMSE != nil || d.rows[0].Classes == nil {
		return d.writeValues(w, s)
	}
	t := term.NewTable(term.Left(""), term.Right("accuracy"), term.Right("macro F1"), term.Right("AUC"))
	for _, r := range d.rows {
		if r.Accuracy != nil {
			t.Mark(r.name, term.Percent(*r.Accuracy), term.Percent(*r.MacroF1), term.Percent(r.AUC))
		}
	}
	for _, r := range d.rows[0].Rules {
		t.Row("rule "+r.Rule, term.Percent(*r.Accuracy), term.Percent(*r.MacroF1), term.Percent(*r.AUC))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n  %s\n\n", s.Dim(fmt.Sprintf("in percent, of %s test events that have a label; AUC of each "+
		"class against all others, mean over classes", term.Count(d.rows[0].Events))))
	const most = 20
	t = term.NewTable(term.Left("class"), term.Right("events"), term.Right("F1"), term.Right("AP"), term.Right("AUC"))
	for _, c := range d.rows[0].Classes[:min(most, len(d.rows[0].Classes))] {
		t.Row(c.Class, term.Count(c.Events), term.Percent(c.F1), term.Percent(c.AP), term.Percent(c.AUC))
	}
	return t.Write(w, s)
}

func (d *answersDoc) writeValues(w io.Writer, s term.Style) error {
	t := term.NewTable(term.Left(""), term.Right("MAE"), term.Right("RMSE"))
	for _, r := range d.rows {
		if r.RMSE != nil {
			t.Mark(r.name, term.Number(*r.MAE), term.Number(*r.RMSE))
		}
	}
	for _, r := range d.rows[0].Rules {
		t.Row("rule "+r.Rule, term.Number(*r.MAE), term.Number(*r.RMSE))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim(fmt.Sprintf("in the unit of the column, of %s test events; smaller is "+
		"better", term.Count(d.rows[0].Events))))
	return err
}

func (d *answersDoc) writeWith(w io.Writer, s term.Style, split string) error {
	if err := d.write(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	var f term.Facts
	f.Add("split", split)
	return f.Write(w, s)
}
