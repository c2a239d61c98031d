package predict

import (
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

// A past has room for events to come: the first ones are added without copying those that are there.
func TestPastHasRoom(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 5000, Sources: 30, Dests: 20, Instants: 700}, 1)
	p := newPast(log, nil)
	first := &p.log.All().Src[0]
	if first == &log.All().Src[0] {
		t.Fatal("the past shares the columns of the log, so that the first event copies them")
	}
	last := log.All().Time[log.Len()-1]
	for i := range 1000 {
		if err := p.Add([]event.Event{{Src: 1, Dst: 2, Time: last + float64(i)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if &p.log.All().Src[0] != first {
		t.Error("events were copied while there was room")
	}
}
