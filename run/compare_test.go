package run_test

import (
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// stream is a set of events one unit of time apart, with features of this many columns.
func stream(events int, unit float64, columns int) *dataset.Set {
	log := event.NewLog(events)
	for i := range events {
		log.Append(event.Event{Src: event.Node(1 + i%3), Dst: event.Node(4 + i%4), Time: unit * float64(i)})
	}
	set := &dataset.Set{Name: "visits", Log: log, Sampling: protocol.Native, TimeFormat: dataset.TimeNumber}
	set.Edge = dataset.Features{Rows: events + 1, Cols: columns}
	if columns > 0 {
		set.Edge.Data = make([]float32, set.Edge.Rows*columns)
		for i := range set.Edge.Data {
			set.Edge.Data[i] = float32(i % 5)
		}
	}
	return set
}

// What is the same is known by its hash; of the rest it is said what a model may misunderstand.
func TestCompare(t *testing.T) {
	was := stream(100, 1, 2)
	facts := run.FactsOf(was)
	record := run.Run{Config: run.Config{Hashes: run.Hashes{Data: was.Hash()}, Facts: &facts}}
	dates := stream(100, 1, 2)
	dates.TimeFormat = dataset.TimeDate
	dates.Name, dates.Log = "days", stream(90, 1, 2).Log
	withNodes := stream(90, 1, 2)
	withNodes.Node = dataset.Features{Rows: 8, Cols: 3, Data: make([]float32, 24)}
	tests := []struct {
		name  string
		set   *dataset.Set
		same  bool
		grown int
		want  []string
	}{
		{"same", stream(100, 1, 2), true, 0, nil},
		{"grown", stream(130, 1, 2), false, 30, nil},
		{"shorter", stream(90, 1, 2), false, 0, []string{"of visits are not those that the model was trained on"}},
		{"no features", stream(100, 1, 0), false, 0, []string{"are not those",
			"no features of events, the model was trained with 2"}},
		{"more features", stream(100, 1, 3), false, 0, []string{"are not those",
			"have 3 features of events, the model was trained with 2"}},
		{"features of nodes", withNodes, false, 0, []string{"are not those",
			"have 3 features of nodes, the model was trained with 0"}},
		{"milliseconds", stream(100, 1000, 2), false, 0, []string{"are not those",
			"events come every 1e+03 on average and came every 1 in training"}},
		{"hours", stream(100, 1./60, 2), false, 0, []string{"are not those", "is time in the same unit?"}},
		{"dates", dates, false, 0,
			[]string{"of days are not those", "times are dates here and were numbers in training"}},
	}
	for _, tt := range tests {
		c := record.Compare(tt.set)
		if c.Same != tt.same || c.Grown != tt.grown || len(c.Warnings) != len(tt.want) {
			t.Errorf("%s: %+v", tt.name, c)
			continue
		}
		for i, w := range tt.want {
			if !strings.Contains(c.Warnings[i], w) {
				t.Errorf("%s: %q lacks %q", tt.name, c.Warnings[i], w)
			}
		}
	}
	record.Config.Facts = nil // of an older run
	if c := record.Compare(stream(100, 1000, 0)); c.Same || len(c.Warnings) != 1 {
		t.Errorf("an older run: %+v", c)
	}
}
