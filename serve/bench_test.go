package serve

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eventlog"
)

// BenchmarkEvents is a request of a thousand events, from its bytes to the past, without disk and network: without ids
// of events, and with them.
func BenchmarkEvents(b *testing.B) {
	for _, id := range []string{"", `,"id":"order-#-%d"`} {
		b.Run(map[bool]string{true: "ids", false: "plain"}[id != ""], func(b *testing.B) {
			w := newWorld(b, dygmamba.DefaultModel)
			log := eventlog.NewMemory()
			s := w.server(b, func(o *Options) { o.Log, o.Applied = log, log.Forget })
			var list []string
			for i := range 1000 {
				src, dst := 1+i*7919%5000, 1+i*104729%5000
				text := fmt.Sprintf(`{"src":"%d","dst":"%d","time":2000000000.125`, src, dst)
				if id != "" {
					text += fmt.Sprintf(id, i)
				}
				list = append(list, text+"}")
			}
			body := `{"events":[` + strings.Join(list, ",") + `]}`
			b.SetBytes(int64(len(body)))
			for n := 0; b.Loop(); n++ {
				r := httptest.NewRequest(http.MethodPost, "/v1/events",
					strings.NewReader(strings.ReplaceAll(body, "#", strconv.Itoa(n))))
				r.Header.Set("Content-Type", typeJSON)
				out := httptest.NewRecorder()
				if s.Handler().ServeHTTP(out, r); out.Code != 200 {
					b.Fatal(out.Code)
				}
			}
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkScore is a request about one pair, without the network.
func BenchmarkScore(b *testing.B) {
	w := newWorld(b, dygmamba.DefaultModel)
	s := w.server(b, nil)
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/v1/score", strings.NewReader(`{"queries":[{"src":1,"dst":2}]}`))
		r.Header.Set("Content-Type", typeJSON)
		out := httptest.NewRecorder()
		if s.Handler().ServeHTTP(out, r); out.Code != 200 {
			b.Fatal(out.Code)
		}
	}
}

// BenchmarkRestore is a restart with a snapshot of a million events.
func BenchmarkRestore(b *testing.B) {
	w := newWorld(b, dygmamba.DefaultModel)
	rng := rand.New(rand.NewPCG(1, 1))
	e := newEngine(w.early, nil)
	const events = 1_000_000
	batch := eventlog.Batch{Last: events}
	for i := range events {
		batch.Events = append(batch.Events, eventlog.Event{Src: strconv.Itoa(1 + rng.IntN(50_000)),
			Dst: strconv.Itoa(1 + rng.IntN(50_000)), Time: 2e9 + float64(i)})
	}
	if err := e.apply(batch); err != nil {
		b.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := writeSnapshot(&file, e, e.now(), nil, "x"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := parseSnapshot(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			b.Fatal(err)
		}
		if err := s.restore(context.Background(), newEngine(w.early, nil)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "events/s")
}
