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

// run ranks source by source. Each is in the journal before the next begins; the file appears when all are.
func (e *everySource) run(ctx context.Context, a *app, p *prediction, model *predict.Predictor, progress *term.Progress,
) error {
	path := e.journal(p.out)
	if _, err := os.Stat(path); err == nil && !e.resume {
		return usagef("%s is there: an earlier command was interrupted. Continue it with --resume, or delete the file",
			path)
	}
	q, err := e.question(p, model)
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
	e.doc = allDoc{answeredBy: p.doc.answeredBy, TS: dataset.FormatTime(e.at, p.set.TimeFormat), Best: p.rank.best,
		Continued: j.Sources, Out: p.out}
	if err := e.fill(ctx, p, model, j, progress); err != nil {
		return err
	}
	progress.Done()
	e.doc.Sources, e.doc.Rows = j.Sources, j.Rows
	write := func(w io.Writer) error { return e.writeTable(ctx, w, p, j) }
	if err := replaceFile(p.out, write); err != nil {
		return err
	}
	if err := errors.Join(j.Close(), os.Remove(path)); err != nil {
		return err
	}
	return a.emit(e.doc, e.write)
}

// fill ranks for the sources that the journal does not have.
func (e *everySource) fill(ctx context.Context, p *prediction, model *predict.Predictor, j *bestlist.Journal,
	progress *term.Progress) error {
	begin, flushed := time.Now(), time.Now()
	list := e.sources(p.set)
	if j.Sources > len(list) {
		return fmt.Errorf("the journal has %d sources, the data set %d", j.Sources, len(list))
	}
	for i, src := range list[j.Sources:] {
		found, err := p.rank.rank(ctx, model, predict.Query{Src: src, Time: e.at, Kind: p.set.Kind(p.kind)})
		if errors.Is(err, predict.ErrNoRank) {
			return usagef("%v", err)
		}
		if err != nil {
			return errors.Join(err, j.Flush())
		}
		r := bestlist.Record{Source: src, Items: make([]bestlist.Item, len(found.Partners))}
		for k, x := range found.Partners {
			r.Items[k] = bestlist.Item{Node: x.Node, Logit: x.Logit, Meetings: int32(x.Meetings)}
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
		e.doc.Scored += (float64(found.Scored) - e.doc.Scored) / float64(i+1)
		progress.Set(int64(j.Sources), int64(len(list)), "")
	}
	if done := j.Sources - e.doc.Continued; done > 0 {
		e.doc.Seconds = time.Since(begin).Seconds()
		e.doc.Rate = float64(done) / e.doc.Seconds
	}
	return nil
}

// question is what a journal must have been asked to be continued.
func (e *everySource) question(p *prediction, model *predict.Predictor) (bestlist.Question, error) {
	hash, err := atomicfile.Hash(p.doc.Checkpoint)
	q := bestlist.Question{Model: hash, Data: p.set.Hash(), At: e.at, Best: p.rank.best, Exact: p.rank.exact,
		Order: string(model.Spec().Order), Kind: p.kind}
	if err == nil && p.rank.candidates != "" {
		q.Candidates = bestlist.HashNodes(p.rank.nodes)
	}
	return q, err
}

// writeTable writes the rows of a journal, one record after the other.
func (e *everySource) writeTable(ctx context.Context, w io.Writer, p *prediction, j *bestlist.Journal) error {
	var failed error
	next, stop := iter.Pull(func(yield func(allRow) bool) {
		ended := errors.New("ended")
		failed = j.Each(func(r bestlist.Record) error {
			for i, x := range r.Items {
				if !yield(allRow{r.Source, i + 1, x}) {
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
	err := dataset.WriteColumns(ctx, w, tableFormat(p.out), j.Rows,
		dataset.TextColumn("u", func(i int) string { return p.set.Names.Name(get(i).source) }),
		dataset.TextColumn("ts", func(int) string { return e.doc.TS }),
		dataset.IntColumn("place", func(i int) int { return get(i).place }),
		dataset.TextColumn("i", func(i int) string { return p.rank.name(p.set, get(i).item.Node) }),
		dataset.Float32Column("logit", func(i int) float32 { return get(i).item.Logit }),
		dataset.FloatColumn("probability", func(i int) float64 { return p.probability(get(i).item.Logit) }),
		dataset.IntColumn("meetings", func(i int) int { return int(get(i).item.Meetings) }))
	if err == nil && failed == nil && !ok {
		failed = errors.New("the journal has fewer rows than it had")
	}
	return errors.Join(err, failed)
}

// allRow is a row of the table.
type allRow struct {
	source event.Node
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
