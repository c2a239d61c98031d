package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

func newPredict(a *app) *cobra.Command {
	var data dataFlags
	var what modelFlags
	var where deviceFlags
	var p prediction
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "Answer with a trained model: will u and i interact at time ts?",
		Long: `Reads queries from a table with the columns u, i and ts, or as 'data import' finds source, ` +
			`destination and time,
or is told to: CSV, JSON lines or Parquet, plain or gzip-compressed. ` +
			`It writes u,i,ts,logit,probability in the same order,
and behind them all other columns as they were. A query is answered from all events of the data set that lie strictly
before its ts, which may be after the last one. The data set is that of the run unless --data names another. ` +
			`Nodes that it
does not have are allowed.

--best K asks whom u will meet at ts instead: the K most likely partners among all nodes that were a destination before
ts, or among those that --candidates lists. A file of such questions has the columns u and ts.

The probability is one among as many negatives as events, drawn at random with the same source: the share of such
queries that came true in validation where the checkpoint has a calibration ('dygmamba calibrate'), otherwise what the
model was trained to give. It ranks queries, and is no share of moments at which they come true. Logits are the model's
own.

Weights of the released program say neither which model they are of nor how long its histories are: ` +
			`--model and --set tell. Widths are read
from the tensors.

--explain writes, as a line of JSON for each query: the weight of every patch of both nodes' histories with its ` +
			`events, the gaps between the
pair's own meetings, how the answer changes when the gaps, the meetings, or a most weighted patch are withheld, and the
probability as a curve over time around the query (--curve 0 spares the work). --plot draws that curve alone.`,
		Example: `  dygmamba predict --run runs/uci --queries questions.csv --out answers.csv
  dygmamba predict --checkpoint runs/uci/seed-0/checkpoint.safetensors --data uci --queries questions.csv --json
  dygmamba predict --checkpoint weights.safetensors --data enron --model dygmamba --set max_input_sequence_length=64 ` +
			`--set max_interaction_times=10 --queries q.csv
  dygmamba predict --run runs/visits --queries q.csv --out s.csv --explain why.jsonl
  dygmamba predict --run runs/visits --queries offers.jsonl.gz --src who --dst what --time when --out ranked.csv
  dygmamba predict --run runs/visits --u Ada --ts 2024-05-02T09:00:00Z --best 10
  dygmamba predict --run runs/visits --queries people.csv --best 5 --candidates menu.csv --out offers.csv
  dygmamba predict --run runs/visits --data newer.dgm --u Ada --i espresso --ts 2024-05-02T09:00:00Z --explain -
  dygmamba predict --run runs/habits --u u0 --i v3 --ts 11500000 --curve 1000 --plot curve.svg`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.check(cmd, a); err != nil {
				return err
			}
			file, err := p.from.file()
			if err != nil {
				return err
			}
			if err := data.recall(file); err != nil {
				return err
			}
			if err := p.spare(file, data.name); err != nil {
				return err
			}
			set, err := data.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer set.Close()
			data.compare(a, file, set)
			if err := p.read(cmd.Context(), a, set); err != nil {
				return err
			}
			dev, err := where.open(a)
			if err != nil {
				return err
			}
			defer dev.Close()
			o := what.load(p.order, dev, where)
			o.Set = set
			return p.run(cmd.Context(), a, file, o)
		},
	}
	p.from.add(cmd)
	data.add(cmd)
	what.add(cmd, modelNames, "")
	where.add(cmd)
	flags := cmd.Flags()
	addOrder(cmd, &p.order)
	flags.StringVar(&p.queries, "queries", "",
		"`file` with a row for each query, as 'data import' reads them; - is standard input")
	addTableForm(cmd, &p.form)
	flags.StringVar(&p.out, "out", "", "`file` to write answers to (default: standard output)")
	flags.StringVar(&p.why, "explain", "",
		"`file` to write explanations to, as JSON lines; - shows them on standard output")
	flags.IntVar(&p.top, "top", 3, "with --explain: withhold so many of each side's most weighted patches")
	flags.IntVar(&p.moments, "curve", 56,
		"with --explain or --plot: ask about the pair at so many moments before and after too, over a "+
			"week either way, or a twentieth of the stream where times are no dates; 0: none")
	flags.StringVar(&p.plot, "plot", "",
		"with --u, --i and --ts: `file` to draw that curve to, as SVG, with the times at which the two met")
	flags.StringVar(&p.single.u, "u", "", "ask one query, instead of --queries: source")
	flags.StringVar(&p.single.i, "i", "", "… destination")
	flags.StringVar(&p.single.ts, "ts", "", "… and time")
	p.rank.add(cmd)
	return cmd
}

// prediction is one call of predict.
type prediction struct {
	from              trainedFlags
	queries, out, why string
	plot              string // --plot
	top, moments      int
	order             string // --order
	single            struct{ u, i, ts string }
	alone             bool // one query from the command line
	rank              ranking

	form      dataset.ImportOptions // of the table of queries
	set       *dataset.Set
	questions []queries.Question
	extra     []string // names of its other columns
	logits    []float32
	doc       predictDoc

	probability func(logit float32) float64 // the model's
}

// run loads the model, answers, and writes everything once it is known.
func (p *prediction) run(ctx context.Context, a *app, file string, o predict.Options) error {
	progress := a.console.Progress("predict", "queries")
	defer progress.Done()
	before := 0
	o.OnBatch = func(done, _ int) { progress.Set(int64(before+done), int64(len(p.questions)), "") }
	if p.rank.asked {
		o.OnBatch = nil // which counts candidates there
	}
	model, err := predict.Load(file, o)
	if err != nil {
		return loadError(err)
	}
	defer model.Close()
	model.Top, model.Moments, p.probability = p.top, p.moments, model.Probability
	p.doc = predictDoc{Model: model.Model(), Checkpoint: file, Data: p.set.Name, Device: o.Device.Name(),
		Queries: len(p.questions)}
	if p.rank.asked {
		return p.rank.run(ctx, a, p, model, progress)
	}
	p.doc.Unknown = p.unknown(model)
	p.doc.Unknown.warn(a)

	var why *pending
	if p.why != "" && p.why != "-" {
		if why, err = newPending(p.why); err != nil {
			return err
		}
		defer why.discard()
	}
	if p.why == "" {
		p.logits, err = model.Score(ctx, queries.Of(p.questions))
	} else {
		err = p.explain(ctx, model, why, &before)
	}
	if err != nil {
		return err
	}
	if p.plot != "" {
		if err := p.draw(ctx, model); err != nil {
			return err
		}
	}
	progress.Done()
	return p.finish(a, why)
}

// explain explains a few thousand queries at a time, so that explanations of many need not be kept.
func (p *prediction) explain(ctx context.Context, model *predict.Predictor, why *pending, done *int) error {
	size := model.Spec().Training.BatchSize
	size *= max(1, 2000/size)
	for ; *done < len(p.questions); *done += size {
		part := p.questions[*done:min(*done+size, len(p.questions))]
		found, err := model.Explain(ctx, queries.Of(part))
		if err != nil {
			return err
		}
		for i, e := range found {
			p.logits = append(p.logits, e.Logit)
			e.Source.Name, e.Destination.Name = part[i].U, part[i].I
			doc := explanationDoc{questionDocOf(part[i]), e}
			if why == nil {
				p.doc.Explanations = append(p.doc.Explanations, doc)
			} else if err := json.NewEncoder(why).Encode(doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish writes the files, then says what there is to say.
func (p *prediction) finish(a *app, why *pending) error {
	if p.out != "" {
		out, err := newPending(p.out)
		if err != nil {
			return err
		}
		defer out.discard()
		if err := p.writeTable(out); err != nil {
			return err
		}
		if err := out.commit(); err != nil {
			return err
		}
		p.doc.Out = p.out
	}
	if why != nil {
		if err := why.commit(); err != nil {
			return err
		}
		p.doc.Explain = p.why
	}
	if a.json && p.out == "" {
		p.doc.Results = make([]scoreDoc, len(p.questions))
		for i, q := range p.questions {
			p.doc.Results[i] = scoreDoc{questionDocOf(q), p.logits[i], p.probability(p.logits[i]), p.extraOf(q)}
		}
	}
	return a.emit(p.doc, func(w io.Writer, s term.Style) error { return p.write(w, s) })
}

// unknown lists the nodes that do not occur in the data set.
func (p *prediction) unknown(model *predict.Predictor) unknownDoc {
	doc := unknownDoc{Names: []string{}}
	seen := map[event.Node]bool{}
	look := func(n event.Node, name string) {
		if _, ok := seen[n]; !ok {
			if seen[n] = model.Known(n); !seen[n] {
				doc.add(name)
			}
		}
		if !seen[n] {
			doc.Queries++
		}
	}
	for _, q := range p.questions {
		before := doc.Queries
		look(q.Src, q.U)
		look(q.Dst, q.I)
		doc.Queries = min(doc.Queries, before+1)
	}
	return doc
}
