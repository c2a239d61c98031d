package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
)

type infoDoc struct {
	dataset.Info
	spanDoc
	EdgeFeatures featuresDoc       `json:"edge_features"`
	NodeFeatures featuresDoc       `json:"node_features"`
	NodeHistory  *timelineDoc      `json:"node_timeline,omitempty"` // of features of nodes that change over time
	NodeLabels   *nodeLabelsDoc    `json:"node_labels,omitempty"`   // with times of their own
	Encoding     *encodingDoc      `json:"encoding,omitempty"`      // of features that were fitted
	Busiest      []busyDoc         `json:"busiest"`
	Sampling     protocol.Sampling `json:"sampling"`
	Hash         string            `json:"hash"`
	Split        eval.SplitRecord  `json:"split"`
	History      []historyDoc      `json:"history,omitempty"`
	Published    string            `json:"published,omitempty"`
}

type featuresDoc struct {
	Columns int  `json:"columns"`
	Zero    bool `json:"all_zero"`
}

// busyDoc is a node, by its own name, and how often it occurs.
type busyDoc struct {
	Node   string `json:"node"`
	Events int    `json:"events"`
}

// historyDoc is how many earlier interactions the nodes of test queries have.
type historyDoc struct {
	Scenario  protocol.Scenario  `json:"setting"`
	Negatives protocol.Negatives `json:"negatives"`
	Mean      float64            `json:"mean"`
	Max       int                `json:"max"`
}

func newDataInfo(a *app) *cobra.Command {
	var dir string
	var brief bool
	cmd := &cobra.Command{
		Use:               "info X",
		Short:             "Print the statistics of a data set",
		Args:              takes("a data set"),
		ValidArgsFunction: completeData(&dir),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := a.openSet(cmd.Context(), args[0], dir, "")
			if err != nil {
				return err
			}
			defer set.Close()
			doc, err := inform(cmd.Context(), a, set, !brief)
			if err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	addDataDir(cmd, &dir)
	cmd.Flags().BoolVar(&brief, "brief", false, "omit the history of test queries, which takes the most time")
	return cmd
}

// counted is what is counted before the history of test queries.
type counted struct {
	dataset.Info
	hash    string
	busiest []busyDoc
	proto   *eval.Protocol
}

func inform(ctx context.Context, a *app, set *dataset.Set, history bool) (*infoDoc, error) {
	stop := a.console.Progress("counting nodes, pairs and times", "events").Working()
	var progress *term.Progress
	found, err := await.Do(ctx, func() (c counted, err error) {
		var both sync.WaitGroup
		both.Go(func() { c.hash = set.Hash() })
		c.Info = dataset.Stats(set)
		both.Wait()
		c.busiest = busiest(set, 5)
		c.proto, err = eval.Open(set, eval.Options{
			OnBatch: func(done, total int) { progress.Set(int64(done), int64(total), "") },
		})
		return c, err
	})
	if stop(); err != nil {
		return nil, err
	}
	i := found.Info
	doc := &infoDoc{
		Info: i, spanDoc: spanOf(i.First, i.Last, set.Clock()), EdgeFeatures: featuresDoc{i.EdgeFeatures, i.EdgeZero},
		NodeFeatures: featuresDoc{i.NodeFeatures, i.NodeZero}, NodeHistory: timelineDocOf(set),
		NodeLabels: nodeLabelsDocOf(set), Encoding: encodingDocOf(set.Recipe, set.Clock()),
		Busiest: found.busiest, Sampling: set.Sampling, Hash: found.hash,
		Split: eval.RecordSplit(found.proto.Split()), Published: asPublished(set.Name, i),
	}
	if !history {
		return doc, nil
	}
	progress = a.console.Progress("history of test queries", "events")
	defer progress.Done()
	histories, err := found.proto.Histories(ctx)
	for _, h := range histories {
		doc.History = append(doc.History, historyDoc{h.Scenario, h.Strategy, h.Mean(), h.Max})
	}
	return doc, err
}

// busiest are the nodes that occur most often, by name.
func busiest(set *dataset.Set, most int) []busyDoc {
	var docs []busyDoc
	for _, busy := range dataset.Busiest(set, most) {
		docs = append(docs, busyDoc{set.Names.Name(busy.Node), busy.Events})
	}
	return docs
}

// asPublished compares with what papers say of a built-in data set.
func asPublished(name string, i dataset.Info) string {
	e, ok := dataset.Lookup(name)
	switch {
	case !ok:
		return ""
	case e.Nodes == i.Nodes && e.Events == i.Events && (e.Times == 0 || e.Times == i.Times):
		return "the same numbers of nodes, events and times"
	}
	return fmt.Sprintf("%s nodes, %s events, %s distinct times",
		term.Count(e.Nodes), term.Count(e.Events), term.Count(e.Times))
}

func (d *infoDoc) write(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "%s: %s between %s\n\n", s.Strong(d.Name), term.Counted(d.Events, "event"),
		term.Counted(d.Nodes, "node"))
	if err := d.facts().Write(w, s); err != nil || len(d.History) == 0 {
		return err
	}
	fmt.Fprint(w, "\n  Interactions before a test query, of either of its nodes\n\n")
	t := term.NewTable(term.Left("setting"), term.Left("negatives"), term.Right("mean"), term.Right("max"))
	for _, h := range d.History {
		t.Row(string(h.Scenario), string(h.Negatives), fmt.Sprintf("%.2f", h.Mean), term.Count(h.Max))
	}
	return t.Write(w, s)
}

func (d *infoDoc) facts() *term.Facts {
	f := &term.Facts{}
	f.Add("nodes", nodesText(d.Bipartite, d.Nodes, d.Sources, d.Targets))
	f.Add("times", fmt.Sprintf("%s, %s distinct", d.spanDoc, term.Count(d.Times)))
	f.Add("pairs", fmt.Sprintf("%s distinct; %.1f %% of the events repeat one", term.Count(d.Pairs), 100*d.Repeats))
	if d.SelfLoops > 0 {
		f.Add("self-loops", term.Count(d.SelfLoops))
	}
	if d.Value != "" {
		f.Add("value", d.Value)
	}
	if n := len(d.Classes); n > 0 {
		f.Add("labels", fmt.Sprintf("%s, of %d classes: %s", term.Count(d.Labels), n, dataset.ListKinds(d.Classes)))
	} else if d.Labels > 0 {
		f.Add("labels", term.Count(d.Labels)+" not 0")
	}
	f.Add("features", fmt.Sprintf("%s of events, %s of nodes", d.EdgeFeatures, d.NodeFeatures))
	d.NodeHistory.addTo(f)
	d.NodeLabels.addTo(f)
	d.Encoding.addTo(f)
	bars := make([]float64, len(d.Density))
	for i, n := range d.Density {
		bars[i] = float64(n)
	}
	f.Add("density", term.Spark(bars)+fmt.Sprintf("  up to %s events a bar", term.Count(slices.Max(d.Density))))
	var busy []string
	for _, b := range d.Busiest {
		name := b.Node
		// line ends, and what else would move the cursor
		if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
			name = strconv.Quote(name)
		}
		busy = append(busy, fmt.Sprintf("%s (%s)", name, term.Count(b.Events)))
	}
	f.Add("busiest", strings.Join(busy, ", "))
	f.Add("split", splitText(d.Split))
	if d.Published != "" {
		f.Add("published", d.Published)
	}
	f.Add("sha256", d.Hash)
	return f
}

func (f featuresDoc) String() string {
	switch {
	case f.Columns == 0:
		return "none"
	case f.Zero:
		return fmt.Sprintf("%d (all zero)", f.Columns)
	}
	return fmt.Sprint(f.Columns)
}

// encodingDoc says how columns of tables became features.
type encodingDoc struct {
	FittedUntil string             `json:"fitted_until"` // the last time that what was fitted knows of
	Events      []encodedColumnDoc `json:"events,omitempty"`
	Nodes       []encodedColumnDoc `json:"nodes,omitempty"`

	until string // FittedUntil for people
}

type encodedColumnDoc struct {
	Column   string   `json:"column"`
	Kind     string   `json:"kind"`
	Features int      `json:"features"`
	About    string   `json:"about"`
	Values   []string `json:"values,omitempty"` // of a category whose values have a feature each, in their order
}

// encodingDocOf is nil where nothing was fitted.
func encodingDocOf(r *dataset.Recipe, c dataset.Clock) *encodingDoc {
	if r == nil || r.FittedUntil == nil {
		return nil
	}
	return &encodingDoc{c.Write(*r.FittedUntil), encodedColumns(r.Edge), encodedColumns(r.Node), c.Show(*r.FittedUntil)}
}

func encodedColumns(e dataset.Encoding) []encodedColumnDoc {
	var docs []encodedColumnDoc
	for _, c := range e.Columns {
		docs = append(docs, encodedColumnDoc{c.Name, c.Kind, c.Width(), c.About(), c.Values})
	}
	return docs
}

// addTo says it to people.
func (d *encodingDoc) addTo(f *term.Facts) {
	if d == nil {
		return
	}
	add := func(what string, columns []encodedColumnDoc) {
		for i, c := range columns {
			if i > 0 {
				what = ""
			}
			features := "1 feature"
			if c.Features != 1 {
				features = fmt.Sprintf("%d features", c.Features)
			}
			f.Add(what, fmt.Sprintf("%s: %s, %s; %s", c.Column, c.Kind, features, c.About))
		}
	}
	add("encoded", d.Events)
	add("of nodes", d.Nodes)
	f.Add("fitted on", "the training part: events until "+d.until)
}
