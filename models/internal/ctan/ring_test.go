package ctan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
)

// TestRing: whatever the batches, a node's latest events are kept, newest first, also loops and those of one batch.
func TestRing(t *testing.T) {
	shape := streamtest.Shape{Events: 900, Sources: 12, Dests: 12, Instants: 400, Shared: true, Repeat: 0.4}
	log := streamtest.Generate(shape, 5)
	for _, kept := range []int{1, 2, 5} {
		for _, size := range []int{1, 7, 20, 900} {
			r := newRing(log.NumNodes(), kept, -3)
			for span := range log.All().Batches(size) {
				r.remember(span, func(x float64) float64 { return x })
			}
			want := newRing(log.NumNodes(), kept, -3)
			for n := range int32(log.NumNodes()) {
				list := want.of(n)[:0]
				for i := log.Len() - 1; i >= 0; i-- {
					e := log.At(i)
					for _, side := range [2][2]event.Node{{e.Dst, e.Src}, {e.Src, e.Dst}} {
						if side[0] == n && len(list) < kept {
							list = append(list, link{side[1], e.Edge, e.Time})
						}
					}
				}
				if len(list) > 0 {
					want.last[n] = list[0].time
				}
			}
			if !slices.Equal(r.links, want.links) || !slices.Equal(r.last, want.last) {
				t.Errorf("%d kept, batches of %d: %v, want %v", kept, size, r, want)
			}
		}
	}
	late := newRing(3, 2, 100)
	late.push(1, link{2, 1, 50})
	late.push(1, link{2, 2, 40})
	if late.last[1] != 50 || late.last[2] != 100 {
		t.Errorf("an event that came late: last updates %v, want 50 of node 1 and 100 of node 2", late.last)
	}
}

// TestShift measures waits by hand: of both nodes, first ones since the beginning.
func TestShift(t *testing.T) {
	log := event.NewLog(3)
	for _, e := range []event.Event{
		{Src: 1, Dst: 2, Time: 10.9}, {Src: 1, Dst: 3, Time: 14.2}, {Src: 2, Dst: 1, Time: 20.5},
	} {
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	env := model.Env{Train: func() (event.Span, error) { return log.All(), nil }}
	for whole, want := range map[bool][3]float64{
		true:  {10, 4, math.Sqrt(12)},           // waits 0 0 4 4 10 6
		false: {10.9, 3.75, math.Sqrt(11.5425)}, // waits 0 0 3.3 3.3 9.6 6.3
	} {
		s, err := newShift(env, whole)
		if err != nil {
			t.Fatal(err)
		}
		got := []float64{s.Start, s.Mean, s.Deviation}
		modeltest.Near(t, fmt.Sprintf("whole numbers %v", whole), got, want[:], 1e-12)
	}
	s := &shift{whole: true, Mean: 1, Deviation: 2}
	if s.cut(-1.5) != -1 || s.normal(-4) != 1.5 || s.normal(4) != 1.5 {
		t.Errorf("−1.5 is cut to %v, 4 before and after are %v and %v", s.cut(-1.5), s.normal(-4), s.normal(4))
	}
	if s, err := newShift(model.Env{}, true); err != nil || s.Mean != 0 || s.Deviation != 1 {
		t.Errorf("without data: %+v, %v", s, err)
	}
	env.Train = func() (event.Span, error) { return log.Span(0, 1), nil }
	if s, err := newShift(env, true); err != nil || s.Mean != 0 || s.Deviation != 1 {
		t.Errorf("one event: %+v, %v", s, err)
	}
	env.Device = modeltest.Device(t, 1)
	env.Train = func() (event.Span, error) { return event.Span{}, fmt.Errorf("broken") }
	_, err := Factory.Build(env, model.Spec{Config: &Default})
	if err == nil || !strings.Contains(err.Error(), "time shifts of the training data: broken") {
		t.Errorf("data that cannot be split: %v", err)
	}
}
