package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/near"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/edgebank"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

func newEval(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var from trainedFlags
	var where deviceFlags
	var e evaluation
	var setting, negatives, out string
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure a model: settings × negatives",
		Long: `Measures how well a model tells events that happened from events that did not, on the last 15 % of the stream.

  --setting    transductive: all test events; inductive: those with a node that training did not show
  --negatives  random: another destination; historical: pairs that met before, but not now; inductive: pairs that met since training only

A trained model comes from a run or a checkpoint, each seed of a run by itself and then all together. EdgeBank needs no training; it is
measured with its four memories unless --set chooses one, and the best is marked. Published numbers stand beside ours where there are any.`,
		Example: `  dygmamba eval --run runs/uci
  dygmamba eval --checkpoint weights.safetensors --model dygmamba --data enron --preset paper --negatives random
  dygmamba eval --model edgebank --data uci
  dygmamba eval --model edgebank --data visits.dgm --setting transductive --negatives historical --json
  dygmamba eval --model edgebank --data uci --set edge_bank_memory_mode=unlimited_memory
  dygmamba eval --model edgebank --data uci --negatives random --num-negatives 100`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.choose(setting, negatives); err != nil {
				return err
			}
			if err := where.check(); err != nil {
				return err
			}
			if out != "" {
				if err := os.MkdirAll(out, 0o777); err != nil {
					return err // before measuring, which may take long
				}
			}
			e.options.Threads = where.threads
			measure := e.runBank
			if from.given() {
				measure = func(ctx context.Context, a *app, data dataFlags, what modelFlags) (*evalDoc, error) {
					return e.runTrained(ctx, a, data, what, from, where)
				}
			}
			doc, err := measure(cmd.Context(), a, data, what)
			if err != nil {
				return err
			}
			if err := doc.save(out); err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	data.add(cmd)
	what.add(cmd, func() []string { return append(modelNames(), evalModels()...) }, "")
	from.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "", "directory for result.json, the document that --json prints")
	flags.StringVar(&setting, "setting", "all", "transductive, inductive or all")
	flags.StringVar(&negatives, "negatives", "all", "random, historical, inductive or all")
	flags.IntVar(&e.options.PerPositive, "num-negatives", 1, "negatives for each positive; with more than one, MRR and Hits@1, 3 and 10 are measured too")
	flags.StringVar(&e.aggregation, "metric-aggregation", batchMean, "AP and AUC as mean over batches, as published ('batch-mean'), or over all scores at once ('global')")
	flags.BoolVar(&e.options.Strict, "strict", false, "transductive without the events that have unseen nodes")
	flags.BoolVar(&e.options.Avoid, "avoid-positives", false, "with native sampling: random negatives are no positives of their batch")
	completeWith(cmd, "setting", append(evalSettings(), "all")...)
	completeWith(cmd, "negatives", append(sample.Strategies(), "all")...)
	completeWith(cmd, "metric-aggregation", batchMean, global)
	return cmd
}

// Ways to add up AP and AUC.
const (
	batchMean = "batch-mean"
	global    = "global"
)

func evalSettings() []string { return []string{eval.Transductive, eval.Inductive} }

// evalModels are the models that can be measured without a checkpoint.
func evalModels() []string { return []string{"edgebank"} }

// evaluation is what to measure, and how.
type evaluation struct {
	model       string
	trained     []contender       // with learned weights; nil: EdgeBank
	memories    []edgebank.Config // of EdgeBank
	settings    []string
	strategies  []string
	aggregation string
	options     eval.Options
}

// choose checks and fills in what the flags ask for, whatever is measured.
func (e *evaluation) choose(setting, negatives string) error {
	var err error
	if e.settings, err = oneOrAll("setting", setting, evalSettings()); err != nil {
		return err
	}
	if e.strategies, err = oneOrAll("negatives", negatives, sample.Strategies()); err != nil {
		return err
	}
	if err := oneOf("metric-aggregation", e.aggregation, batchMean, global); err != nil {
		return err
	}
	if e.options.PerPositive < 1 {
		return usagef("--num-negatives is %d, must be at least 1", e.options.PerPositive)
	}
	return nil
}

// runBank measures EdgeBank.
func (e *evaluation) runBank(ctx context.Context, a *app, data dataFlags, what modelFlags) (*evalDoc, error) {
	if err := e.chooseModel(what); err != nil {
		return nil, err
	}
	set, err := data.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	return e.run(ctx, a, set)
}

// chooseModel takes one that needs no training.
func (e *evaluation) chooseModel(what modelFlags) error {
	e.model = strings.ToLower(what.name)
	known := append(modelNames(), evalModels()...)
	switch {
	case e.model == "":
		return usagef("--run, --checkpoint or --model is missing: a trained model, or one of %s, which needs no training", strings.Join(evalModels(), ", "))
	case slices.Contains(modelNames(), e.model):
		return usagef("%s must be trained before it is measured: name its directory with --run, or its weights with --checkpoint", e.model)
	case !slices.Contains(evalModels(), e.model):
		return usagef("no model %q to measure%s; there are %s", what.name, near.Hint(e.model, known), strings.Join(known, ", "))
	case what.preset != "":
		return usagef("--preset %s: edgebank has no presets", what.preset)
	}
	return e.chooseMemories(what.set)
}

// chooseMemories keeps those of EdgeBank's memories that the settings allow.
func (e *evaluation) chooseMemories(settings []string) error {
	var asked edgebank.Config
	loop := struct {
		BatchSize int `json:"batch_size"`
	}{replay.BatchSize}
	if err := model.Apply(settings, &asked, &loop); err != nil {
		return err
	}
	if loop.BatchSize < 1 {
		return usagef("batch_size is %d, must be at least 1", loop.BatchSize)
	}
	if _, err := edgebank.New(asked); err != nil {
		return usagef("%v", err)
	}
	e.options.BatchSize = loop.BatchSize
	e.memories = slices.DeleteFunc(edgebank.Variants(), func(c edgebank.Config) bool {
		return asked.Memory != "" && c.Memory != asked.Memory ||
			asked.Window != "" && c.Memory == edgebank.TimeWindow && c.Window != asked.Window
	})
	return nil
}

// contender is something to measure: a scorer, ready for the test period, and the name that tells it from its siblings.
type contender struct {
	variant string
	scorer  replay.Scorer
}

// run splits the data set and measures everything asked for.
func (e *evaluation) run(ctx context.Context, a *app, set *dataset.Set) (*evalDoc, error) {
	if e.options.Avoid && set.Sampling != sample.Native {
		return nil, usagef("--avoid-positives needs --sampling native: the reference does not look")
	}
	split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{Sampling: set.Sampling})
	if err != nil {
		return nil, err
	}
	progress := a.console.Progress("eval", "events")
	defer progress.Done()
	var at step
	options := e.options
	options.Sampling = set.Sampling
	options.OnBatch = func(done, _ int) { progress.Set(at.before+int64(done), at.total, at.what) }
	protocol := eval.NewProtocol(split, options)
	contenders, err := e.warm(ctx, protocol)
	if err != nil {
		return nil, err
	}
	doc := e.describe(set, split)
	passes := int64(len(e.strategies) * len(contenders))
	for _, s := range e.settings {
		part, err := eval.PartOf(s)
		if err != nil {
			return nil, err
		}
		at.total += passes * int64(protocol.Events(part).Len())
	}
	for _, s := range e.settings {
		for _, n := range e.strategies {
			at.what = s + ", " + n + " negatives"
			if err := doc.measure(ctx, protocol, s, n, contenders, &at); err != nil {
				return nil, err
			}
		}
	}
	return doc, nil
}

// step is where an evaluation of many passes stands.
type step struct {
	before, total int64 // events of finished passes, of all passes
	what          string
}

// warm makes banks that remember training and validation. Trained models do already.
func (e *evaluation) warm(ctx context.Context, p *eval.Protocol) ([]contender, error) {
	if e.trained != nil {
		return e.trained, nil
	}
	var all []contender
	for _, c := range e.memories {
		bank, err := edgebank.New(c)
		if err != nil {
			return nil, err
		}
		if err := p.Warm(ctx, bank); err != nil {
			return nil, err
		}
		all = append(all, contender{c.String(), bank})
	}
	return all, nil
}

// measure adds the results of all contenders in one setting with one kind of negatives, and marks the best.
func (d *evalDoc) measure(ctx context.Context, p *eval.Protocol, setting, negatives string, contenders []contender, at *step) error {
	part, err := eval.PartOf(setting)
	if err != nil {
		return err
	}
	first := len(d.Results)
	for _, c := range contenders {
		r, err := p.Evaluate(ctx, c.scorer, part, negatives)
		if err != nil {
			return err
		}
		at.before += int64(r.Positives)
		d.Results = append(d.Results, resultOf(setting, negatives, c.variant, r, d.Aggregation))
	}
	group := d.Results[first:]
	best := slices.IndexFunc(group, func(r resultDoc) bool {
		return r.Batches > 0 && !slices.ContainsFunc(group, func(o resultDoc) bool { return o.AP > r.AP || o.AP == r.AP && o.AUC > r.AUC })
	})
	if best < 0 {
		return nil
	}
	group[best].Best = true
	if d.comparable() {
		if r, ok := paper.Lookup(setting, negatives, d.Data.Name, d.Model); ok && !r.Timeout {
			group[best].Paper = &paperDoc{r.AP.Mean / 100, r.AUC.Mean / 100}
		}
	}
	return nil
}

// oneOrAll is the list that a flag with the extra value "all" asks for.
func oneOrAll(flag, value string, values []string) ([]string, error) {
	if value == "all" {
		return values, nil
	}
	return []string{value}, oneOf(flag, value, append(slices.Clone(values), "all")...)
}
