package serve

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// grown is a set whose nodes are numbered in the order in which they come, so that those of its first events are the
// lowest, and one of these alone. Names are numbers, as text, that are others' ids.
func grown(t *testing.T, early int) (whole, first *dataset.Set) {
	t.Helper()
	log := streamtest.Generate(streamtest.Shape{Events: 400, Sources: 30, Dests: 30, Instants: 350, Shared: true}, 3)
	ids, known := map[event.Node]event.Node{}, 0
	renumbered := event.NewLog(log.Len())
	for i := range log.Len() {
		e := log.At(i)
		for _, n := range []*event.Node{&e.Src, &e.Dst} {
			if ids[*n] == 0 {
				ids[*n] = event.Node(len(ids) + 1)
			}
			*n = ids[*n]
		}
		if _, err := renumbered.Append(e); err != nil {
			t.Fatal(err)
		}
		if i < early {
			known = len(ids)
		}
	}
	if known == len(ids) {
		t.Fatalf("all %d nodes are there from the beginning", known)
	}
	named := func(nodes, events int) *dataset.Set {
		set := dataset.Featureless("grown", renumbered.Select(func(i int) bool { return i < events }))
		names := make([]string, nodes)
		for i := range names {
			names[i] = strconv.Itoa(len(ids) - i) // node 1 is called what the last one's id is
		}
		var err error
		if set.Names, err = dataset.NewNames(names, 0); err != nil {
			t.Fatal(err)
		}
		return set
	}
	return named(len(ids), log.Len()), named(known, early)
}

// TestNewNodes: a node that comes in after the beginning is who it would be had it been there from the beginning.
func TestNewNodes(t *testing.T) {
	const early = 60
	whole, first := grown(t, early)
	dir := t.TempDir()
	o := dygmamba.TrainOptions{Set: whole, Model: "walkmamba", Preset: "quick", Dir: dir, Threads: 1,
		Settings: []string{"num_epochs=1", "max_input_sequence_length=8", "channel_embedding_dim=4", "walk_dim=16"}}
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w := &world{whole: whole, early: first, run: run.SeedDir(dir, 0)}
	s := w.server(t, nil)
	var events, queries []string
	var qs []predict.Query
	at := whole.Log.At(whole.Log.Len()-1).Time + 1
	for i := range whole.Log.Len() {
		e := whole.Log.At(i)
		src, dst := whole.Names.Name(e.Src), whole.Names.Name(e.Dst)
		if i >= early {
			events = append(events, fmt.Sprintf(`{"src": %q, "dst": %q, "time": %v}`, src, dst, e.Time))
		}
		queries = append(queries, fmt.Sprintf(`{"src": %q, "dst": %q, "time": %v}`, src, dst, at))
		qs = append(qs, predict.Query{Src: e.Src, Dst: e.Dst, Time: at})
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", `{"events": [`+strings.Join(events, ",")+`]}`)
	got := ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [`+strings.Join(queries, ",")+`]}`)
	p, err := predict.Load(w.run, predict.Options{Set: whole, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want, err := p.Score(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got.Scores[i].Logit != want[i] {
			t.Fatalf("%s: %v online, %v offline", queries[i], got.Scores[i].Logit, want[i])
		}
	}
}
