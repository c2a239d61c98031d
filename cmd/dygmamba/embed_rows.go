package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/vectors"
	"github.com/dygmamba/dygmamba/predict"
)

// subject is what a row is of.
type subject struct {
	query predict.Query
	row   vectors.Row // but for the vector
}

// choose finds the nodes, their partners and times.
func (e *embedding) choose(ctx context.Context, a *app, set *dataset.Set, p *predict.Predictor) ([]subject, error) {
	if e.queries != "" {
		return e.ask(ctx, a, set)
	}
	at, err := e.moment(set)
	if err != nil {
		return nil, err
	}
	e.doc.At = dataset.FormatTime(at, set.TimeFormat)
	partner := event.Node(0)
	if e.with != "" {
		if partner, err = findNode(set, "with", e.with); err != nil {
			return nil, err
		}
	}
	var nodes []event.Node
	for _, name := range e.nodes {
		n, err := findNode(set, "node", name)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	if e.nodes == nil {
		nodes = occurring(set)
	}
	var list []subject
	for _, n := range nodes {
		q := predict.Query{Src: n, Dst: n, Time: at}
		if last, met := p.LastMet(n, at); met && !e.alone {
			q.Dst = last
		}
		if partner > 0 {
			q.Dst = partner
		}
		list = append(list, subjectOf(set, q, set.Names.Name(n), set.Names.Name(q.Dst)))
	}
	return list, nil
}

// ask takes them from a file of queries.
func (e *embedding) ask(ctx context.Context, a *app, set *dataset.Set) ([]subject, error) {
	table, err := queries.NewReader(set).Read(ctx, e.queries, a.in, dataset.ImportOptions{})
	if err != nil {
		return nil, err
	}
	var list []subject
	for _, q := range table.Questions {
		list = append(list, subjectOf(set, q.Query, q.U, q.I))
	}
	return list, nil
}

func subjectOf(set *dataset.Set, q predict.Query, node, partner string) subject {
	s := subject{q, vectors.Row{Node: node, ID: int32(q.Src), Time: q.Time, Partner: partner}}
	if c := set.Clock(); c.Known() {
		s.row.Date = c.Show(q.Time)
	}
	if sources := set.Names.Sources(); sources > 0 {
		s.row.Side = "destination"
		if int(q.Src) <= sources {
			s.row.Side = "source"
		}
	}
	return s
}

// moment is when nodes are embedded: right after the last event unless someone says when.
func (e *embedding) moment(set *dataset.Set) (event.Time, error) {
	if !e.timed {
		return afterAll(set), nil
	}
	at, err := set.Clock().Parse(e.at)
	if err != nil {
		return 0, usagef("--at: %v", err)
	}
	return at, nil
}

// afterAll is right after the last event: where times are dates, the next whole second.
func afterAll(set *dataset.Set) event.Time {
	if set.Log.Len() == 0 {
		return 0
	}
	last := slices.Max(set.Log.All().Time)
	if set.TimeFormat == dataset.TimeDate {
		return math.Floor(last) + 1
	}
	return math.Nextafter(last, math.Inf(1))
}

// findNode finds a node by name, a source before a destination where these are named apart.
func findNode(set *dataset.Set, flag, name string) (event.Node, error) {
	if n, ok := set.Names.Source(name); ok && (set.Names != nil || int(n) < set.NumNodes()) {
		return n, nil
	}
	if n, ok := set.Names.Target(name); ok && set.Names != nil {
		return n, nil
	}
	return 0, &inputError{fmt.Errorf("--%s is %q, want the name of a node of %s", flag, name, set.Name)}
}

// occurring are the nodes with an event, in the order of their ids.
func occurring(set *dataset.Set) []event.Node {
	seen := make([]bool, set.NumNodes())
	all := set.Log.All()
	for i := range all.Src {
		seen[all.Src[i]], seen[all.Dst[i]] = true, true
	}
	var list []event.Node
	for n, ok := range seen {
		if ok {
			list = append(list, event.Node(n))
		}
	}
	return list
}

// rowsAtOnce is how many embeddings are kept in memory before they are written.
const rowsAtOnce = 1 << 14

// write embeds and writes, some thousand rows at a time; files appear when all is known.
func (e *embedding) write(ctx context.Context, p *predict.Predictor, subjects []subject, done *int) error {
	var files []*pending
	for _, path := range e.outputs() {
		f, err := newPending(path)
		if err != nil {
			return err
		}
		defer f.discard()
		files = append(files, f)
	}
	var to vectors.Writer
	if e.parquet() {
		to = vectors.Parquet(files[0])
	}
	for part := range slices.Chunk(subjects, rowsAtOnce) {
		asked := make([]predict.Query, len(part))
		rows := make([]vectors.Row, len(part))
		for i, s := range part {
			asked[i], rows[i] = s.query, s.row
		}
		found, width, err := p.Embed(ctx, asked)
		if err != nil {
			return err
		}
		for i := range rows {
			rows[i].Vector = found[i*width : (i+1)*width]
		}
		e.doc.Width = width
		if to == nil {
			if to, err = vectors.NPY(files[0], files[1], len(subjects), width); err != nil {
				return err
			}
		}
		if err := to.Write(rows); err != nil {
			return err
		}
		*done += len(part)
	}
	e.doc.Rows = len(subjects)
	if to == nil {
		return usagef("--queries %s has no rows: there is nothing to embed", e.queries)
	}
	if err := to.Close(); err != nil {
		return err
	}
	for i := len(files) - 1; i >= 0; i-- { // the matrix last: whoever finds it finds its names too
		if err := files[i].commit(); err != nil {
			return err
		}
	}
	if len(files) > 1 {
		e.doc.Names = e.outputs()[1]
	}
	return nil
}
