// Package streamtest answers: on which events do tests and benchmarks run? On generated streams, or on a published one
// where it is at hand.
package streamtest

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
)

// Shape describes a generated stream. Events come in order of time.
type Shape struct {
	Events, Sources, Dests int
	Instants               int     // number of distinct times to draw from
	Repeat                 float64 // share of events that repeat one of the source's own earlier partners
	Shared                 bool    // sources and destinations are the same nodes, loops included
}

// MOOC has the sizes of the mooc data set: many users, few items with very long histories.
var MOOC = Shape{Events: 411749, Sources: 7047, Dests: 97, Instants: 345600, Repeat: 0.3}

// Enron has the sizes of the enron data set: few people who write each other again and again, often at the same second.
var Enron = Shape{Events: 125235, Sources: 184, Dests: 184, Instants: 22632, Repeat: 0.9, Shared: true}

// Generate makes a stream of this shape; popularity falls off like a power law on both sides.
func Generate(s Shape, seed uint64) *event.Log {
	rng := rand.New(rand.NewPCG(seed, 0))
	times := make([]float64, s.Events)
	for i := range times {
		times[i] = math.Floor(float64(i)/float64(s.Events)*float64(s.Instants)) * 5000
	}
	popular := func(n int) int { return int(float64(n) * math.Pow(rng.Float64(), 3)) }
	partners := make([][]event.Node, s.Sources+1)
	l := event.NewLog(s.Events)
	for _, t := range times {
		u := event.Node(1 + popular(s.Sources))
		v := event.Node(1 + popular(s.Dests))
		if !s.Shared {
			v += event.Node(s.Sources)
		}
		if p := partners[u]; len(p) > 0 && rng.Float64() < s.Repeat {
			v = p[rng.IntN(len(p))]
		} else {
			partners[u] = append(p, v)
		}
		if _, err := l.Append(event.Event{Src: u, Dst: v, Time: t}); err != nil {
			panic(err)
		}
	}
	return l
}

// Real reads a published data set from shared/data beside the repository, or skips the test where it is not there.
func Real(tb testing.TB, name string) *event.Log {
	tb.Helper()
	file, err := os.Open(golden.Shared(tb, "data", name, "ml_"+name+".csv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unzip, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	l := new(event.Log)
	lines := bufio.NewScanner(unzip)
	lines.Scan() // the header: ,u,i,ts,label,idx
	for lines.Scan() {
		f := strings.Split(lines.Text(), ",")
		num := make([]float64, len(f))
		for i := 1; i < len(f); i++ {
			if num[i], err = strconv.ParseFloat(f[i], 64); err != nil {
				tb.Fatal(err)
			}
		}
		e := event.Event{Src: event.Node(num[1]), Dst: event.Node(num[2]), Time: num[3], Label: float32(num[4]),
			Edge: event.Edge(num[5])}
		if _, err := l.Append(e); err != nil {
			tb.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return l
}

// Few draws a short list of events among few nodes at few instants, out of order as often as not: most of them share
// their time with others.
func Few(t *rapid.T) []event.Event {
	one := rapid.Custom(func(t *rapid.T) event.Event {
		return event.Event{
			Src:  event.Node(rapid.IntRange(1, 5).Draw(t, "src")),
			Dst:  event.Node(rapid.IntRange(1, 6).Draw(t, "dst")),
			Time: float64(rapid.IntRange(-2, 6).Draw(t, "time")),
		}
	})
	events := rapid.SliceOfN(one, 0, 60).Draw(t, "events")
	for i := range events {
		events[i].Edge = event.Edge(i + 1)
	}
	return events
}

// Decode turns a fuzzer's bytes into events: every three bytes are a source, a destination and a time, each from a
// small range.
func Decode(stream []byte) []event.Event {
	var events []event.Event
	for b := stream; len(b) >= 3; b = b[3:] {
		events = append(events, event.Event{
			Src:  event.Node(1 + b[0]%6),
			Dst:  event.Node(1 + b[1]%6),
			Time: float64(b[2]%16) / 2,
			Edge: event.Edge(len(events) + 1),
		})
	}
	return events
}

// Log puts events into a log.
func Log(tb interface{ Fatal(...any) }, events []event.Event) *event.Log {
	l := event.NewLog(len(events))
	for _, e := range events {
		if _, err := l.Append(e); err != nil {
			tb.Fatal(err)
		}
	}
	return l
}
