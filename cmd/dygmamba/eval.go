package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

func newEval(a *app) *cobra.Command {
	var e evaluation
	var out string
	var scenario protocol.Scenario
	var negatives protocol.Negatives
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate a model: settings × kinds of negatives",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(e.choose(scenario, negatives), e.tgb.check(cmd, &e), e.where.check())
			if err == nil && out != "" { // before measuring, which may take long
				err = cmp.Or(os.MkdirAll(out, 0o777), replaceable(out))
			}
			if err != nil {
				return err
			}
			e.options.Threads = e.where.threads
			measure := e.runBaseline
			if e.from.given() {
				measure = e.runTrained
			}
			doc, err := measure(cmd.Context(), a)
			if err != nil {
				return err
			}
			if err := doc.save(out); err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	e.loadFlags.add(cmd, func() []string { return append(modelNames(), evalModels()...) })
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "", "`directory` to write result.json (the output of --json) and reliability.svg to")
	choiceVar(flags, &scenario, "setting", protocol.All, "test setting: transductive, inductive or all")
	choiceVar(flags, &negatives, "negatives", protocol.All,
		"kind of negatives: random, historical, inductive, all, time or kind; 'all' does not include time, "+
			"and includes kind for runs of --task kind")
	flags.IntVar(&e.options.PerPositive, "num-negatives", 1,
		"number of negatives per positive; MRR and Hits@1, 3 and 10 are also measured if it is above 1")
	flags.StringVar(&e.aggregation, "metric-aggregation", batchMean,
		"'batch-mean': mean AP and AUC over batches, as published; 'global': over all scores at once")
	flags.BoolVar(&e.options.SeenOnly, "seen-only", false,
		"transductive: leave out events with nodes that training did not contain")
	e.tgb.add(cmd)
	flags.BoolVar(&e.options.Avoid, "avoid-positives", false,
		"with --sampling native: do not draw positives of the same batch as random negatives")
	completeWith(cmd, "setting", append(protocol.Scenarios(), protocol.All)...)
	completeWith(cmd, "negatives", append(protocol.Published(), protocol.All, protocol.TimeNegatives,
		protocol.KindNegatives)...)
	completeWith(cmd, "metric-aggregation", batchMean, global)
	return cmd
}

// resultsDoc is a document of eval.
type resultsDoc interface {
	save(dir string) error
	write(w io.Writer, s term.Style) error
}

// Ways to add up AP and AUC.
const (
	batchMean = "batch-mean"
	global    = "global"
)

// evalModels are the models that can be measured without a checkpoint.
func evalModels() []string {
	return slices.DeleteFunc(models.Names(false), func(name string) bool { return models.Get(name).Trains })
}

type evaluation struct {
	loadFlags
	model       string
	spec        model.Spec // of the model
	scenarios   []protocol.Scenario
	strategies  []protocol.Negatives
	aggregation string
	options     eval.Options
	tgb         tgbFlags
}

// choose checks and fills in what the flags ask for, whatever is measured.
func (e *evaluation) choose(scenario protocol.Scenario, negatives protocol.Negatives) error {
	var err error
	if e.scenarios, err = oneOrAll("setting", scenario, protocol.Scenarios()); err != nil {
		return err
	}
	if e.strategies = []protocol.Negatives{negatives}; negatives != protocol.TimeNegatives {
		e.strategies, err = oneOrAll("negatives", negatives, protocol.Published(), protocol.TimeNegatives,
			protocol.KindNegatives)
		if err != nil {
			return err
		}
	} else if e.options.PerPositive > 1 {
		return usagef("--num-negatives is %d, must be 1 with --negatives time", e.options.PerPositive)
	}
	if e.options.PerPositive < 1 {
		return usagef("--num-negatives is %d, must be at least 1", e.options.PerPositive)
	}
	return cmp.Or(oneOf("metric-aggregation", e.aggregation, batchMean, global), checkOrder(e.order))
}

// runBaseline measures a model that needs no training.
func (e *evaluation) runBaseline(ctx context.Context, a *app) (resultsDoc, error) {
	contenders, err := e.chooseModel()
	if err != nil {
		return nil, err
	}
	set, err := e.data.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	e.options.BatchSize, e.options.Order = e.spec.Training.BatchSize, e.spec.Order
	return e.run(ctx, a, set, func(o eval.Options) (*eval.Session, error) {
		return eval.OpenSession(ctx, set, o, contenders...)
	})
}

// chooseModel takes one that needs no training, in those variants that the settings allow.
func (e *evaluation) chooseModel() (list []eval.Contender, err error) {
	e.model = strings.ToLower(e.what.name)
	known := append(modelNames(), evalModels()...)
	switch {
	case e.tgb.protocol == protocolNext:
		return nil, usagef("--protocol %s is for a run of the task next: want --run or --checkpoint", protocolNext)
	case e.model == "":
		return nil, usagef("--run, --checkpoint or --model is missing: a trained model, or one of %s, "+
			"which needs no training", strings.Join(evalModels(), ", "))
	case slices.Contains(modelNames(), e.model):
		return nil, usagef("%s must be trained first: give its directory with --run, or its weights with --checkpoint",
			e.model)
	case !slices.Contains(evalModels(), e.model):
		return nil, usagef("no model %q to measure%s; there are %s",
			e.what.name, suggest.Hint(e.model, known), strings.Join(known, ", "))
	case e.what.preset != "":
		return nil, usagef("--preset %s: %s has no presets", e.what.preset, e.model)
	}
	list, e.spec, err = models.Contenders(e.model, e.what.set...)
	e.spec.Order = cmp.Or(e.order, e.spec.Order)
	return list, err
}

func (e *evaluation) run(ctx context.Context, a *app, set *dataset.Set,
	open func(eval.Options) (*eval.Session, error),
) (*evalDoc, error) {
	open = opening(a, open)
	if e.tgb.asked() {
		return e.runTGB(ctx, a, set, open)
	}
	if e.options.Avoid && set.Sampling != protocol.Native {
		return nil, usagef("--avoid-positives needs --sampling native")
	}
	if err := e.chooseKinds(); err != nil {
		return nil, err
	}
	session, err := open(e.options)
	if err != nil {
		return nil, err
	}
	progress := a.console.Progress("eval", "events")
	defer progress.Done()
	rows, err := session.Test(ctx, eval.Tests{
		Scenarios: e.scenarios, Strategies: e.strategies,
		OnBatch: func(done, total int64, scenario protocol.Scenario, strategy protocol.Negatives) {
			progress.Set(done, total, fmt.Sprintf("%s, %s negatives", scenario, strategy))
		},
	})
	if err != nil {
		return nil, err
	}
	doc := e.describe(set, session.Protocol().Split())
	doc.add(rows)
	if doc.Kinds, err = e.tellKinds(ctx, a, session, set.Kinds); err != nil {
		return nil, err
	}
	for _, m := range run.Measurements(rows) {
		a.warnFew([]run.Measured{m})
	}
	return doc, nil
}

// opening shows how far the opening of a session is: events are split, then models learn of those before the test.
func opening(a *app, open func(eval.Options) (*eval.Session, error)) func(eval.Options) (*eval.Session, error) {
	return func(o eval.Options) (*eval.Session, error) {
		stop := a.console.Progress("eval: splitting events by time", "events").Working()
		defer stop()
		var progress *term.Progress
		o.OnWarm = func(done, total int) {
			if progress == nil {
				stop()
				progress = a.console.Progress("eval: training and validation", "events")
			}
			if progress.Set(int64(done), int64(total), ""); done == total {
				progress.Done()
			}
		}
		return open(o)
	}
}

// add adds rows to the results, and marks the best of every scenario and kind of negatives.
func (d *evalDoc) add(rows []eval.Row) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Scenario == rows[0].Scenario && rows[n].Strategy == rows[0].Strategy {
			n++
		}
		group := make([]resultDoc, n)
		for i, r := range rows[:n] {
			group[i] = resultOf(r, d.Aggregation)
		}
		if best := bestOf(group); best >= 0 {
			group[best].Best, group[best].Paper = true, d.published(rows[0].Scenario, rows[0].Strategy)
		}
		d.Results, rows = append(d.Results, group...), rows[n:]
	}
}

// bestOf is the index of the best result, −1 where there was nothing to measure.
func bestOf(group []resultDoc) int {
	return slices.IndexFunc(group, func(r resultDoc) bool {
		better := func(o resultDoc) bool { return o.AP > r.AP || o.AP == r.AP && o.AUC > r.AUC }
		if r.RMSE != nil {
			better = func(o resultDoc) bool { return o.RMSE != nil && *o.RMSE < *r.RMSE }
		}
		return r.Batches > 0 && !slices.ContainsFunc(group, better)
	})
}

// oneOrAll is the list that a flag with the extra value "all" asks for.
// Others may be asked for too, for which the caller looks first.
func oneOrAll[T ~string](flag string, value T, values []T, others ...T) ([]T, error) {
	if value == protocol.All {
		return values, nil
	}
	return []T{value}, oneOf(flag, value, append(append(slices.Clone(values), protocol.All), others...)...)
}
