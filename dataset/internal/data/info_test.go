package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

func TestStats(t *testing.T) {
	log := event.NewLog(4)
	for _, e := range []event.Event{{Src: 1, Dst: 2, Time: 10}, {Src: 2, Dst: 2, Time: 10, Label: 1},
		{Src: 1, Dst: 2, Time: 20}, {Src: 7, Dst: 1, Time: 30}} {
		log.Append(e)
	}
	got := Stats(Featureless("x", log))
	want := Info{Name: "x", Nodes: 3, Sources: 3, Targets: 2, MaxNode: 7, Events: 4, NodeZero: true, EdgeZero: true,
		Times: 3, First: 10, Last: 30, TimeFormat: input.TimeNumber, Pairs: 3, Repeats: 0.25, SelfLoops: 1, Labels: 1,
		Density: make([]int, DensityBins)}
	want.Density[0], want.Density[20], want.Density[39] = 2, 1, 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	Stats(Featureless("empty", event.NewLog(0)))
}
