package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// ranking is the part of predict that asks whom a source will meet.
type ranking struct {
	best       int    // --best
	candidates string // --candidates
	exact      bool   // --exact
	asked      bool
	every      everySource

	nodes []event.Node          // nil: all that were destinations
	names map[event.Node]string // of candidates from a file
	doc   rankDoc
}

func (r *ranking) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&r.best, "best", 0,
		"number of partners to return, most likely first; needs --u and --ts, or --queries with the columns u and ts")
	flags.StringVar(&r.candidates, "candidates", "",
		"with --best: `file` with one name per line, or with a column i (default: all destinations before ts)")
	flags.BoolVar(&r.exact, "exact", false,
		"with --best: score every candidate (default: of many, score those that are likely to be among the best)")
	r.every.add(cmd)
}

func (r *ranking) check(cmd *cobra.Command, p *prediction) error {
	given := cmd.Flags().Changed
	r.asked = given("best")
	p.alone = given("u") || given("ts")
	if err := r.every.check(cmd, p); err != nil {
		return err
	}
	if r.every.asked {
		p.alone = true // but for the source
	}
	switch {
	case !r.asked && r.candidates != "":
		return usagef("--candidates needs --best, the number of partners to return")
	case !r.asked && r.exact:
		return usagef("--exact needs --best, the number of partners to return")
	case !r.asked:
		return nil
	case r.best < 1:
		return usagef("--best is %d, must be at least 1", r.best)
	case given("i"):
		return usagef("--best and --i cannot be used together: --best finds the destinations")
	case p.why != "" || p.plot != "" || given("top") || given("curve"):
		return usagef("--best cannot explain; explain one pair with --u, --i, --ts and --explain")
	case given("within"):
		return usagef("--best and --within cannot be used together: ask about one destination with --i and --within")
	case p.queries == "" && !p.alone:
		return usagef("--queries is missing: want a file with the columns u and ts, or --u and --ts for a single query")
	case p.queries != "" && p.alone:
		return usagef("--queries cannot be used with --u and --ts")
	case p.alone && !r.every.asked && !(given("u") && given("ts")):
		return usagef("a single query needs both --u and --ts")
	case p.queries == "-" && r.candidates == "-":
		return usagef("--queries and --candidates cannot both be standard input")
	}
	return p.checkShared(cmd)
}

func (r *ranking) read(ctx context.Context, a *app, p *prediction, ask *queries.Reader) (err error) {
	if r.every.asked {
		err = r.every.read(p, p.set)
	} else if p.alone {
		var q queries.Question
		q, err = ask.OneSource("command line", p.single.u, p.single.ts)
		p.questions = []queries.Question{q}
	} else {
		var t queries.Table
		t, err = ask.ReadSources(ctx, p.queries, a.in, p.form)
		p.questions, p.extra, p.table, p.asker = t.Questions, t.Extra, &t, ask
	}
	if err != nil || r.candidates == "" {
		return err
	}
	list, err := ask.Candidates(ctx, r.candidates, a.in)
	r.names = make(map[event.Node]string, len(list))
	for _, c := range list {
		r.nodes = append(r.nodes, c.Node)
		r.names[c.Node] = c.Name
	}
	return err
}

// run answers all questions and writes the answers once they are known.
func (r *ranking) run(ctx context.Context, a *app, p *prediction, model *predict.Predictor, progress *term.Progress,
) error {
	r.doc = rankDoc{answeredBy: p.doc.answeredBy, Questions: len(p.questions), Unknown: p.unknown(model)}
	r.doc.Unknown.warn(a)
	if r.every.asked {
		return r.every.run(ctx, a, p, p.doc.answeredBy, r.every.links(p, model))
	}
	rankings := make([]rankingDoc, len(p.questions))
	done := 0
	for _, i := range inTime(p.questions) { // a model that remembers goes through its past once
		q := p.questions[i]
		found, err := r.rank(ctx, model, q.Query)
		if errors.Is(err, predict.ErrNoRank) {
			return usagef("%v", err)
		}
		if err != nil {
			return err
		}
		rankings[i] = r.rankingDoc(p, q, found)
		done++
		progress.Set(int64(done), int64(len(p.questions)), "")
	}
	progress.Done()
	return r.finish(a, p, rankings)
}

// rank finds the best partners of a source.
func (r *ranking) rank(ctx context.Context, model *predict.Predictor, q predict.Query) (predict.Ranking, error) {
	if !r.exact {
		return model.BestOf(ctx, q, r.nodes, r.best)
	}
	all, err := model.RankOf(ctx, q, r.nodes, 0)
	return predict.Ranking{Partners: all[:min(r.best, len(all))], Candidates: len(all), Scored: len(all)}, err
}

// inTime is the order of questions by time; those of one time stay as they are.
func inTime(qs []queries.Question) []int {
	order := make([]int, len(qs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(qs[i].Time, qs[j].Time) })
	return order
}

// rankingDoc names the best of all candidates.
func (r *ranking) rankingDoc(p *prediction, q queries.Question, found predict.Ranking) rankingDoc {
	asked := questionDocOf(q)
	doc := rankingDoc{U: asked.U, TS: asked.TS, Candidates: found.Candidates, Scored: found.Scored, when: q.TS,
		Extra: p.extraOf(q), extra: q.Extra}
	doc.Items = make([]itemDoc, len(found.Partners))
	for i, x := range found.Partners {
		doc.Items[i] = itemDoc{r.name(p.set, x.Node), x.Logit, x.Probability, x.Meetings}
	}
	return doc
}

// name is what a candidate is called.
func (r *ranking) name(set *dataset.Set, n event.Node) string {
	if name, ok := r.names[n]; ok {
		return name
	}
	return set.Names.Name(n)
}

// finish writes the file, then says what there is to say.
func (r *ranking) finish(a *app, p *prediction, rankings []rankingDoc) error {
	if p.out != "" {
		write := func(w io.Writer) error { return p.writeRankings(w, rankings) }
		if err := replaceFile(p.out, write); err != nil {
			return err
		}
		r.doc.Out = p.out
	}
	switch {
	case p.alone: // few enough to say them as well
		r.doc.rankingDoc = &rankings[0]
	case p.out == "":
		r.doc.Rankings = rankings
	}
	return a.emit(r.doc, func(w io.Writer, s term.Style) error { return r.write(w, s, p, rankings) })
}
