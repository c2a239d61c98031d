package audit

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/sample"
)

// logs is the sum of the logarithms of two times.
func logs(a, b float64) float32 { return float32(math.Log(a)) + float32(math.Log(b)) }

// Two batches of one instant, by hand: sources 1 and 2, destinations 5 to 7.
func TestRulesByHand(t *testing.T) {
	log := new(event.Log)
	for _, e := range []event.Event{
		{Src: 1, Dst: 5, Time: 1}, {Src: 2, Dst: 6, Time: 2}, {Src: 1, Dst: 6, Time: 3}, // the past
		{Src: 1, Dst: 5, Time: 9}, {Src: 2, Dst: 7, Time: 9},
	} {
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(i int, negative event.Node) question {
		e := log.At(i)
		queries := []sample.Query{{Src: e.Src, Dst: e.Dst, Time: 9}, {Src: e.Src, Dst: negative, Time: 9}}
		return question{log.Span(i, i+1), queries}
	}
	list := []question{ask(3, 7), ask(4, 5)}
	for _, tt := range []struct {
		name     string
		found    []scored
		pos, neg [2]float32
	}{
		{"pairs that met", edgeBank(list, log), [2]float32{1, 0}, [2]float32{0, 0}},
		{"seen at this instant", seenNow(list), [2]float32{0, 0}, [2]float32{0, 1}}, // 5 in the first batch
		{"recent activity", recentActivity(list, index.Freeze(log), 0),
			[2]float32{-logs(6, 8), -logs(7, 9)}, [2]float32{-logs(6, 9), -logs(7, 8)}},
		{"unmet pairs first", unmetFirst(list, recentActivity(list, index.Freeze(log), 0), edgeBank(list, log)),
			[2]float32{-logs(6, 8), 512 - logs(7, 9)}, [2]float32{512 - logs(6, 9), 512 - logs(7, 8)}},
		// One of three events went to 5. After 6, which both sources had last, nothing has come yet.
		{"what comes next", nextItem(list, log), [2]float32{0.125, 0}, [2]float32{0, 0.125}},
		{"row length", rowLength(list, index.Freeze(log), 10), [2]float32{1, 0}, [2]float32{0, 1}},
		{"row length, rows of 0", rowLength(list, index.Freeze(log), 0), [2]float32{0, 0}, [2]float32{0, 0}},
	} {
		for k, b := range tt.found {
			if b.pos[0] != tt.pos[k] || b.neg[0] != tt.neg[k] {
				t.Errorf("%s, batch %d: %v against %v, want %v against %v",
					tt.name, k, b.pos, b.neg, tt.pos[k], tt.neg[k])
			}
		}
	}
	within, drawn, now := realNegatives([]question{ask(3, 5), ask(4, 5)}, log)
	if within != 1 || drawn != 2 || now != 1 {
		t.Errorf("%d within their batch, %d of %d at their time", within, now, drawn)
	}
}
