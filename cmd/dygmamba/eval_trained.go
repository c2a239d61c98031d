package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// runTrained measures a checkpoint, or the seeds of a run.
func (e *evaluation) runTrained(ctx context.Context, a *app) (resultsDoc, error) {
	files, err := e.from.files()
	if err != nil {
		return nil, err
	}
	if err := run.CheckSameTraining(files); err != nil {
		return nil, loadError(err)
	}
	o, err := a.openRun(ctx, e.loadFlags, files...)
	if err != nil {
		return nil, err
	}
	defer o.close()
	if doc, err := e.orNext(ctx, a, o); doc != nil || err != nil {
		return doc, err
	}
	var first *predict.Predictor
	var contenders []eval.Contender
	for _, file := range files {
		p, err := predict.Load(file, o.load)
		if err != nil {
			return nil, loadError(err)
		}
		defer p.Close()
		if mark := run.Mark(filepath.Dir(file)); mark != "" {
			a.log().Warn(filepath.Dir(file) + " is " + mark + ": measured is the checkpoint that it has so far")
		}
		variant := ""
		if len(files) > 1 {
			variant = filepath.Base(filepath.Dir(file)) // seed-0, seed-1, …
		}
		first, contenders = cmp.Or(first, p), append(contenders, p.Contender(variant))
	}
	if e.model, e.spec = first.Model(), first.Spec(); e.spec.Task.OfEvents() {
		if e.tgb.asked() {
			return nil, usagef("--protocol %s ranks destinations, %s was trained on the task %s", protocolTGB, files[0],
				e.spec.Task)
		}
		e.aggregation = global // there are no negatives
	}
	doc, err := e.run(ctx, a, o.set, func(o eval.Options) (*eval.Session, error) {
		return first.Evaluation(ctx, o, contenders...)
	})
	if err != nil {
		return nil, err
	}
	doc.Checkpoints = files
	if len(files) > 1 && !e.tgb.asked() {
		doc.summarize()
	}
	return doc, nil
}

// orNext measures a run of the task "next"; nil for others.
func (e *evaluation) orNext(ctx context.Context, a *app, o *openedRun) (resultsDoc, error) {
	p, err := predict.Load(o.files[0], o.load)
	chooses := errors.Is(err, predict.ErrNext)
	switch {
	case err != nil && !chooses:
		return nil, loadError(err)
	case !chooses:
		defer p.Close()
		if e.tgb.protocol == protocolNext {
			return nil, usagef("--protocol %s: %s was not trained on the task next", protocolNext, o.files[0])
		}
		if e.tgb.limit > 0 && !e.tgb.asked() {
			return nil, usagef("--limit is for --protocol %s and %s", protocolTGB, protocolNext)
		}
		return nil, nil
	case e.tgb.asked(), e.tgb.given && e.tgb.protocol == protocolDyGLib:
		return e.runChoosers(ctx, a, o)
	}
	doc, err := e.runNext(ctx, a, o)
	if err != nil {
		return nil, err
	}
	return doc, nil
}

// runChoosers asks models of the task "next" about links.
func (e *evaluation) runChoosers(ctx context.Context, a *app, o *openedRun) (resultsDoc, error) {
	var names []string
	var choosers []*predict.Chooser
	for _, file := range o.files {
		c, err := predict.LoadChooser(file, o.load)
		if err != nil {
			return nil, loadError(err)
		}
		defer c.Close()
		names, choosers = append(names, ""), append(choosers, c)
		if len(o.files) > 1 {
			names[len(names)-1] = filepath.Base(filepath.Dir(file))
		}
	}
	if e.model, e.spec = choosers[0].Model(), choosers[0].Spec(); !e.spec.LinkSplit() && !e.tgb.asked() {
		a.log().Warn("training saw the nodes that this protocol hides from it: results do not compare with those of " +
			"other models; train with --set link_split=true for that")
	}
	e.options.BatchSize = e.spec.Training.BatchSize
	var scorers []*eval.Links
	doc, err := e.run(ctx, a, o.set, func(opt eval.Options) (s *eval.Session, err error) {
		s, scorers, err = predict.Links(ctx, opt, names, choosers, !e.tgb.asked())
		return s, err
	})
	if err != nil {
		return nil, err
	}
	if doc.Checkpoints = o.files; e.tgb.asked() {
		return doc, nil
	}
	for _, l := range scorers {
		doc.Relations = append(doc.Relations, l.Relation())
	}
	if len(o.files) > 1 {
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
