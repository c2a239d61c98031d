package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

func newPredict(a *app) *cobra.Command {
	var p prediction
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "Predict with a trained model: do u and i interact at time ts?",
		Args:  p.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.check(cmd, a); err != nil {
				return err
			}
			o, err := p.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer o.close()
			if err := p.spare(o); err != nil {
				return err
			}
			if err := p.read(cmd.Context(), a, o.set); err != nil {
				return err
			}
			return p.run(cmd.Context(), a, o)
		},
	}
	p.loadFlags.add(cmd, modelNames)
	flags := cmd.Flags()
	flags.StringVar(&p.queries, "queries", "",
		"`file` with one query per row, as 'data import' reads it; - is standard input")
	addTableForm(cmd, &p.form)
	flags.StringVar(&p.out, "out", "", "`file` to write predictions to (default: standard output)")
	flags.StringVar(&p.why, "explain", "",
		"`file` to write explanations to, as JSON lines; - is standard output")
	flags.IntVar(&p.top, "top", 3, "with --explain: number of heaviest patches to test per node; each is left out once")
	flags.IntVar(&p.moments, "curve", 56,
		"with --explain or --plot: number of points in time before and after the query; the curve covers a week "+
			"on each side, or 1/20 of the data if times are not dates; 0 for no curve")
	flags.StringVar(&p.plot, "plot", "",
		"with --u, --i and --ts: SVG `file` for the curve, with the events of the pair marked")
	flags.StringVar(&p.single.u, "u", "", "source of a single query, instead of --queries")
	flags.StringVar(&p.single.i, "i", "", "destination of a single query")
	flags.StringVar(&p.single.ts, "ts", "", "time of a single query")
	flags.BoolVar(&p.surprise, "surprise", false,
		"with --queries and a run of the task next: number of bits that each event carried, most surprising first")
	flags.StringVar(&p.kind, "kind", "",
		"with a run of --task kind: `kind` of event to ask about (default: the column kind of --queries, or every "+
			"kind, with its share)")
	p.rank.add(cmd)
	p.timing.add(cmd)
	return cmd
}

type prediction struct {
	loadFlags
	queries, out, why string
	plot              string // --plot
	top, moments      int
	single            struct{ u, i, ts string }
	alone             bool   // one query from the command line
	surprise          bool   // --surprise
	kind              string // --kind
	labels            bool   // are told, not links
	rank              ranking
	timing            timing

	form      dataset.ImportOptions // of the table of queries
	set       *dataset.Set
	questions []queries.Question
	extra     []string // names of its other columns
	logits    []float32
	said      [][]float32 // instead of logits, of a model that answers in words
	model     *predict.Predictor
	doc       predictDoc
	table     *queries.Table  // of --queries
	asker     *queries.Reader // that read it
	everyKind bool            // each question is asked once for every kind

	probability func(logit float32) float64 // the model's
}

// run loads the model, answers, and writes everything once it is known.
func (p *prediction) run(ctx context.Context, a *app, o *openedRun) error {
	progress := a.console.Progress("predict", "queries")
	defer progress.Done()
	before := 0
	if !p.rank.asked { // which counts candidates there
		o.load.OnBatch = func(done, _ int) { progress.Set(int64(before+done), int64(len(p.questions)), "") }
	}
	model, err := o.predictor()
	if errors.Is(err, predict.ErrNext) {
		return p.runNext(ctx, a, o, progress)
	}
	if err != nil {
		return err
	}
	defer model.Close()
	p.labels, p.model = model.Spec().Task == protocol.NodeClassification, model
	if p.surprise {
		return usagef("--surprise: %s was not trained on the task next", o.files[0])
	}
	if p.timing.windows != nil || p.timing.source {
		return usagef("--within and the rate of a source: %s was not trained on the task next", o.files[0])
	}
	model.Top, model.CurvePoints, p.probability = p.top, p.moments, model.Probability
	by := answeredBy{model.Model(), o.files[0], p.set.Name, o.dev.Name()}
	p.doc = predictDoc{answeredBy: by, Queries: len(p.questions)}
	if err := p.askKinds(model.Spec().Training.ByKind()); err != nil {
		return err
	}
	if p.rank.asked {
		return p.tooEarly(p.rank.run(ctx, a, p, model, progress))
	}
	p.doc.Queries, p.doc.Unknown = len(p.questions), p.unknown(model)
	p.doc.Unknown.warn(a)

	var why *pending
	if p.why != "" && p.why != "-" {
		if why, err = newPending(p.why); err != nil {
			return err
		}
		defer why.discard()
	}
	if p.why == "" && model.InWords() {
		p.said, err = model.Said(ctx, queries.Of(p.questions))
	} else if p.why == "" {
		p.logits, err = model.Score(ctx, queries.Of(p.questions))
	} else {
		err = p.explain(ctx, model, why, &before)
	}
	if err != nil {
		return p.tooEarly(err)
	}
	p.tellShares()
	if p.plot != "" {
		if err := p.draw(ctx, model); err != nil {
			return err
		}
	}
	progress.Done()
	return p.finish(a, why)
}

// tooEarly says which row asks about a time that the model cannot answer about.
func (p *prediction) tooEarly(err error) error {
	var early *predict.TooEarlyError
	if !errors.As(err, &early) || p.alone {
		return err
	}
	clock := p.set.Clock()
	for _, q := range p.questions {
		if q.Query == early.Query {
			return q.Bad(queries.Columns[2], q.TS, "a time after the last event, "+clock.Write(early.Last)+
				": "+early.Model+" remembers events in the order of arrival; --order strict can look back")
		}
	}
	return err
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
		if err := replaceFile(p.out, p.writeTable); err != nil {
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
			if p.said != nil {
				p.doc.Results[i] = scoreDoc{questionDocOf(q), p.model.Answer(p.said[i]), p.extraOf(q)}
				continue
			}
			p.doc.Results[i] = linkScore(questionDocOf(q), p.logits[i],
				p.probability(p.logits[i]), p.extraOf(q))
		}
	}
	return a.emit(p.doc, p.write)
}

// unknown lists the nodes that do not occur in the data set. Every question of a ranking asks about all candidates.
func (p *prediction) unknown(model interface{ Known(event.Node) bool }) unknownDoc {
	doc := unknownDoc{Names: []string{}}
	seen := map[event.Node]bool{}
	known := func(n event.Node, name string) bool {
		is, ok := seen[n]
		if !ok {
			if is = model.Known(n); !is {
				doc.add(name)
			}
			seen[n] = is
		}
		return is
	}
	candidates := true
	for _, n := range p.rank.nodes {
		candidates = known(n, p.rank.names[n]) && candidates
	}
	for _, q := range p.questions {
		all := known(q.Src, q.U) && candidates
		if !p.rank.asked && !p.timing.source {
			all = known(q.Dst, q.I) && all
		}
		if !all {
			doc.Queries++
		}
	}
	return doc
}
