package next

import (
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

// With a window the answers at a time are those of the latest events alone, whether a walk came there step by step,
// went back, or jumped; and only one to two windows are counted.
func TestWindow(t *testing.T) {
	all, setup := stream(t, 900, 5).All(), of(100)
	setup.Window = 100
	walk := NewWalk(all, setup)
	describe := func(c *Counts, src event.Node, at event.Time) string {
		w := c.At(nil, src, at)
		text := fmt.Sprint(c.Len(), w.Source(nil))
		for _, v := range c.Destinations() {
			text += fmt.Sprint(v, w.Features(nil, v))
		}
		return text
	}
	for i := range all.Len() {
		if i%7 != 0 && i%100 > 2 {
			continue
		}
		src, at := all.Src[i], all.Time[i]
		before := NewWalk(all, setup).before(at)
		got := describe(walk.Before(at), src, at)
		if jumped := describe(NewWalk(all, setup).Before(at), src, at); jumped != got {
			t.Fatalf("event %d: a walk that jumped differs", i)
		}
		from, whole := 0, setup
		if before >= 200 {
			from = (before/100 - 1) * 100
		}
		whole.Window = 0
		if alone := describe(NewWalk(all.Slice(from, before), whole).Before(at), src, at); alone != got {
			t.Fatalf("event %d: differs from the events %d to %d alone", i, from, before)
		}
		if n := walk.counts.Len(); n != before-from || before >= 200 && (n < 100 || n >= 200) {
			t.Fatalf("event %d: %d events are counted, of %d before it", i, n, before)
		}
	}
	if back := describe(walk.Before(all.Time[150]), 1, all.Time[150]); back != describe(NewWalk(all, setup).
		Before(all.Time[150]), 1, all.Time[150]) {
		t.Error("a walk that went back differs")
	}
}
