package data

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

func TestSlice(t *testing.T) {
	log := event.NewLog(5)
	for _, e := range []event.Event{
		{Src: 1, Dst: 5, Time: 1, Edge: 4}, {Src: 2, Dst: 5, Time: 2, Edge: 5, Label: 1}, {Src: 3, Dst: 5, Time: 2,
			Edge: 7},
		{Src: 4, Dst: 5, Time: 3, Edge: 2}, {Src: 4, Dst: 5, Time: 4, Edge: 1},
	} {
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	s := &Set{Name: "x", Log: log, Edge: Features{Rows: 8, Cols: 1, Data: []float32{0, 1, 2, 3, 4, 5, 6, 7}},
		Node: Features{Rows: 6}, Recipe: &Recipe{Source: "u"}}
	s.OnClose(func() error { t.Error("the whole was closed"); return nil })
	part := Slice(s, 2, 4)
	var got []event.Event
	var features []float32
	for i := range part.Log.Len() {
		e := part.Log.At(i)
		got = append(got, e)
		features = append(features, part.Edge.Row(int(e.Edge))...)
	}
	want := []event.Event{
		{Src: 2, Dst: 5, Time: 2, Edge: 2, Label: 1}, {Src: 3, Dst: 5, Time: 2, Edge: 3}, {Src: 4, Dst: 5, Time: 3,
			Edge: 1},
	}
	if !slices.Equal(got, want) || !slices.Equal(features, []float32{5, 7, 2}) || part.Edge.Rows != 4 {
		t.Errorf("got %v with %v, want %v", got, features, want)
	}
	if part.NumNodes() != 6 || part.Recipe != s.Recipe || part.Close() != nil {
		t.Errorf("nodes or recipe are lost: %+v", part)
	}
	if none := Slice(s, 10, 20); none.Log.Len() != 0 || none.Edge.Rows != 1 {
		t.Errorf("%d events", none.Log.Len())
	}
}
