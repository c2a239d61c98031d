package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/bestlist"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
)

// everySource is the part of predict that ranks partners for all sources of a data set: --best K --all.
type everySource struct {
	asked  bool // --all
	resume bool // --resume

	at  event.Time
	doc allDoc
}

// allDoc is the document of predict --best K --all.
type allDoc struct {
	answeredBy
	TS        string  `json:"ts"`
	Best      int     `json:"best"`
	Sources   int     `json:"sources"`
	Continued int     `json:"continued"` // of them found by an earlier command
	Rows      int     `json:"rows"`
	Scored    float64 `json:"scored"` // candidates that the model scored, mean of the sources of this command
	Seconds   float64 `json:"seconds"`
	Rate      float64 `json:"sources_per_second"`
	Out       string  `json:"out"`
}

func (e *everySource) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&e.asked, "all", false,
		"with --best and --out: rank for every source before --ts (default of --ts: right after the last event)")
	flags.BoolVar(&e.resume, "resume", false,
		"with --all: continue what was interrupted, or start if there is nothing to continue")
}

func (e *everySource) check(cmd *cobra.Command, p *prediction) error {
	given := cmd.Flags().Changed
	switch {
	case e.resume && !e.asked:
		return usagef("--resume needs --all")
	case !e.asked:
		return nil
	case !given("best"):
		return usagef("--all needs --best, the number of partners to return")
	case p.queries != "" || given("u"):
		return usagef("--all ranks for every source: it cannot be used with --queries or --u")
	case p.out == "":
		return usagef("--all needs --out, a file such as best.parquet or best.csv")
	}
	return nil
}

// journal is the file that has the sources that are done.
func (e *everySource) journal(out string) string { return out + ".partial" }

// read finds the time.
func (e *everySource) read(p *prediction, set *dataset.Set) (err error) {
	if p.single.ts == "" {
		e.at = afterAll(set)
		return nil
	}
	if e.at, err = set.Clock().Parse(p.single.ts); err != nil {
		return usagef("--ts: %v", err)
	}
	return nil
}

// sources are the nodes that were a source before the time, in the order of their ids.
func (e *everySource) sources(set *dataset.Set) []event.Node {
	seen := make([]bool, set.NumNodes())
	all := set.Log.All()
	for i, n := range all.Src {
		if all.Time[i] < e.at {
			seen[n] = true
		}
	}
	var list []event.Node
	for n, is := range seen {
		if is {
			list = append(list, event.Node(n))
		}
	}
	return list
}

// finder finds the best of one source, and says what a table has of them beside the names and the meetings.
type finder struct {
	order   string // in which the model remembers
	find    func(ctx context.Context, src event.Node) (r bestlist.Record, scored int, err error)
	columns func(row func(i int) *allRow) []dataset.Column
}

// links finds partners with a model of links.
func (e *everySource) links(p *prediction, model *predict.Predictor) finder {
	find := func(ctx context.Context, src event.Node) (bestlist.Record, int, error) {
		found, err := p.rank.rank(ctx, model, predict.Query{Src: src, Time: e.at, Kind: p.set.Kind(p.kind)})
		if errors.Is(err, predict.ErrNoRank) {
			return bestlist.Record{}, 0, usagef("%v", err)
		}
		r := bestlist.Record{Source: src}
		for _, x := range found.Partners {
			r.Items = append(r.Items, bestlist.Item{Node: x.Node, Value: float64(x.Logit), Meetings: int32(x.Meetings)})
		}
		return r, found.Scored, err
	}
	logit := func(r *allRow) float32 { return float32(r.item.Value) }
	return finder{string(model.Spec().Order), find, func(row func(i int) *allRow) []dataset.Column {
		return []dataset.Column{
			dataset.Float32Column("logit", func(i int) float32 { return logit(row(i)) }),
			dataset.FloatColumn("probability", func(i int) float64 { return p.probability(logit(row(i))) })}
	}}
}

// shares finds destinations with a model of the task "next".
func (e *everySource) shares(c *predict.Chooser) finder {
	find := func(_ context.Context, src event.Node) (bestlist.Record, int, error) {
		r := bestlist.Record{Source: src}
		found, candidates, err := c.Best(src, e.at, e.doc.Best)
		if err == nil {
			r.Rate, _, err = rateOf(c, predict.Query{Src: src, Time: e.at})
		}
		for _, x := range found {
			r.Items = append(r.Items, bestlist.Item{Node: x.Node, Value: x.Share, Meetings: int32(x.Met)})
		}
		return r, candidates, err
	}
	return finder{string(c.Spec().Order), find, func(row func(i int) *allRow) []dataset.Column {
		columns := []dataset.Column{dataset.FloatColumn("share", func(i int) float64 { return row(i).item.Value })}
		if c.KnowsRates() {
			columns = append(columns, dataset.FloatColumn("rate", func(i int) float64 {
				return row(i).rate * row(i).item.Value
			}))
		}
		return columns
	}}
}

// run finds the best source by source. Each is in the journal before the next begins; the file appears when all are.
func (e *everySource) run(ctx context.Context, a *app, p *prediction, by answeredBy, f finder) error {
	path := e.journal(p.out)
	if _, err := os.Stat(path); err == nil && !e.resume {
		return usagef("%s is there: an earlier command was interrupted. Continue it with --resume, or delete the file",
			path)
	}
	q, err := e.question(p, by.Checkpoint, f.order)
	if err != nil {
		return err
	}
	j, err := bestlist.Open(path, q)
	if errors.Is(err, bestlist.ErrOther) {
		return usagef("--resume: %s was begun with other settings, data or weights; delete it to start again", path)
	}
	if err != nil {
		return err
	}
	defer j.Close()
	e.doc = allDoc{answeredBy: by, TS: dataset.FormatTime(e.at, p.set.TimeFormat), Best: p.rank.best,
		Continued: j.Sources, Out: p.out}
	progress := a.console.Progress("predict", "sources")
	defer progress.Done()
	progress.From(int64(j.Sources))
	if err := e.fill(ctx, p, f, j, progress); err != nil {
		return err
	}
	progress.Done()
	e.doc.Sources, e.doc.Rows = j.Sources, j.Rows
	write := func(w io.Writer) error { return e.writeTable(ctx, w, p, f, j) }
	if err := replaceFile(p.out, write); err != nil {
		return err
	}
	if err := errors.Join(j.Close(), os.Remove(path)); err != nil {
		return err
	}
	return a.emit(e.doc, e.write)
}

// fill finds the best of the sources that the journal does not have.
func (e *everySource) fill(ctx context.Context, p *prediction, f finder, j *bestlist.Journal,
	progress *term.Progress) error {
	begin, flushed := time.Now(), time.Now()
	list := e.sources(p.set)
	if j.Sources > len(list) {
		return fmt.Errorf("the journal has %d sources, the data set %d", j.Sources, len(list))
	}
	for i, src := range list[j.Sources:] {
		err := ctx.Err()
		var r bestlist.Record
		var scored int
		if err == nil {
			r, scored, err = f.find(ctx, src)
		}
		if err != nil {
			if errors.Is(err, context.Canceled) {
				err = fmt.Errorf("%s of %s sources are done, --resume continues: %w", term.Count(j.Sources),
					term.Count(len(list)), err)
			}
			return errors.Join(err, j.Flush())
		}
		if err := j.Add(r); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(flushed) > time.Second {
			if err := j.Flush(); err != nil {
				return err
			}
			flushed = now
		}
		e.doc.Scored += (float64(scored) - e.doc.Scored) / float64(i+1)
		progress.Set(int64(j.Sources), int64(len(list)), "")
	}
	if done := j.Sources - e.doc.Continued; done > 0 {
		e.doc.Seconds = time.Since(begin).Seconds()
		e.doc.Rate = float64(done) / e.doc.Seconds
	}
	return nil
}

// question is what a journal must have been asked to be continued.
func (e *everySource) question(p *prediction, checkpoint, order string) (bestlist.Question, error) {
	hash, err := atomicfile.Hash(checkpoint)
	q := bestlist.Question{Model: hash, Data: p.set.Hash(), At: e.at, Best: p.rank.best, Exact: p.rank.exact,
		Order: order, Kind: p.kind}
	if err == nil && p.rank.candidates != "" {
		q.Candidates = bestlist.HashNodes(p.rank.nodes)
	}
	return q, err
}

// writeTable writes the rows of a journal, one record after the other.
func (e *everySource) writeTable(ctx context.Context, w io.Writer, p *prediction, f finder,
	j *bestlist.Journal) error {
	var failed error
	next, stop := iter.Pull(func(yield func(allRow) bool) {
		ended := errors.New("ended")
		failed = j.Each(func(r bestlist.Record) error {
			for i, x := range r.Items {
				if !yield(allRow{r.Source, r.Rate, i + 1, x}) {
					return ended
				}
			}
			return nil
		})
		if failed == ended {
			failed = nil
		}
	})
	defer stop()
	var row allRow
	at, ok := -1, true
	get := func(i int) *allRow { // columns ask row by row
		for ; at < i && ok; at++ {
			row, ok = next()
		}
		return &row
	}
	columns := []dataset.Column{
		dataset.TextColumn("u", func(i int) string { return p.set.Names.Name(get(i).source) }),
		dataset.TextColumn("ts", func(int) string { return e.doc.TS }),
		dataset.IntColumn("place", func(i int) int { return get(i).place }),
		dataset.TextColumn("i", func(i int) string { return p.rank.name(p.set, get(i).item.Node) })}
	columns = append(columns, f.columns(get)...)
	columns = append(columns, dataset.IntColumn("meetings", func(i int) int { return int(get(i).item.Meetings) }))
	err := dataset.WriteColumns(ctx, w, tableFormat(p.out), j.Rows, columns...)
	if err == nil && failed == nil && !ok {
		failed = errors.New("the journal has fewer rows than it had")
	}
	return errors.Join(err, failed)
}

// allRow is a row of the table.
type allRow struct {
	source event.Node
	rate   float64
	place  int
	item   bestlist.Item
}

func (e *everySource) write(w io.Writer, s term.Style) error {
	var f term.Facts
	f.Add("wrote", fmt.Sprintf("%s, the best %s at %s for %s sources (%s rows), by %s on %s", s.Strong(e.doc.Out),
		term.Count(e.doc.Best), e.doc.TS, term.Count(e.doc.Sources), term.Count(e.doc.Rows), e.doc.Model, e.doc.Data))
	var how []string
	if e.doc.Continued > 0 {
		how = append(how, term.Count(e.doc.Continued)+" sources were done before")
	}
	if e.doc.Rate > 0 {
		how = append(how, fmt.Sprintf("%.1f sources per second, %.0f candidates scored for each", e.doc.Rate,
			e.doc.Scored))
	}
	f.Add("rate", strings.Join(how, "; "))
	return f.Write(w, s)
}
