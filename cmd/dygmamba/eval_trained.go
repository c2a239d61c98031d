package main

import (
	"context"
	"path/filepath"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// runTrained measures a checkpoint, or the seeds of a run.
func (e *evaluation) runTrained(
	ctx context.Context, a *app, data dataFlags, what modelFlags, from trainedFlags, where deviceFlags,
) (*evalDoc, error) {
	files, err := from.files()
	if err != nil {
		return nil, err
	}
	if err := run.CheckSameTraining(files); err != nil {
		return nil, loadError(err)
	}
	data.redraw(files[0])
	if err := data.recall(files[0]); err != nil {
		return nil, err
	}
	set, err := data.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	same := data.compare(a, files[0], set)
	dev, err := where.open(a)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	o := what.load(e.order, dev, where)
	o.Set = set
	for _, file := range files {
		p, err := predict.Load(file, o)
		if err != nil {
			return nil, loadError(err)
		}
		defer p.Close()
		if run.IsUnfinished(filepath.Dir(file)) {
			a.log().Warn(filepath.Dir(file) + " is not finished: using the best epoch so far")
		}
		spec := p.Spec()
		e.model, e.conditions = p.Model(), spec.Conditions()
		e.options.BatchSize, e.options.Order = spec.Training.BatchSize, spec.Order
		if e.options.Task = spec.Task; spec.Task == eval.NodeClassification { // no negatives, and no nodes are hidden
			if e.tgb.asked() {
				return nil, usagef("--protocol %s ranks destinations, %s was trained to tell labels of nodes",
					protocolTGB, file)
			}
			e.scenarios, e.strategies, e.aggregation = []string{eval.Transductive}, []string{""}, global
		}
		e.cold = e.cold || p.Cold() || !same
		variant := ""
		if len(files) > 1 {
			variant = filepath.Base(filepath.Dir(file)) // seed-0, seed-1, …
		}
		e.contenders = append(e.contenders, eval.Contender{
			Name: variant, Scorer: p.Scorer(), Calibration: p.Calibration(), Ask: p.LogitsNow,
		})
	}
	doc, err := e.run(ctx, a, set)
	if err != nil {
		return nil, err
	}
	doc.Checkpoints = files
	if len(files) > 1 && !e.tgb.asked() {
		doc.summarize()
	}
	return doc, nil
}

// summaryDoc is what the seeds of a run achieved together.
type summaryDoc struct {
	run.MeanStd
	Paper *paperDoc `json:"paper,omitempty"`
}

// summarize adds means and deviations over the variants, which are seeds: what was published is compared with these,
// and no seed is called the best.
func (d *evalDoc) summarize() {
	rows := make([]eval.Row, len(d.Results))
	for i := range d.Results {
		r := &d.Results[i]
		r.Paper, r.Best = nil, false
		rows[i] = eval.Row{Scenario: r.Scenario, Strategy: r.Negatives, Contender: r.Variant}
		rows[i].AP, rows[i].AUC, rows[i].Batches = float64(r.AP), float64(r.AUC), r.Batches
	}
	for _, m := range run.Across(rows) {
		d.Summary = append(d.Summary, summaryDoc{m, d.published(m.Scenario, m.Strategy)})
	}
}

// summaryOf is the table's row for the seeds together, if there are several.
func (d *evalDoc) summaryOf(r resultDoc, reliable, published bool) []string {
	for _, m := range d.Summary {
		if m.Scenario == r.Scenario && m.Strategy == r.Negatives {
			cells := []string{"", "", "mean of " + term.Count(m.Runs), "", spread(m.AP, m.APStd, m.Runs),
				spread(m.AUC, m.AUCStd, m.Runs)}
			if reliable {
				cells = append(cells, "")
			}
			if published {
				cells = append(cells, m.Paper.cells()...)
			}
			return cells
		}
	}
	return nil
}
