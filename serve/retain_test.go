package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
	"github.com/dygmamba/dygmamba/models"
)

// from is the world's server whose data begin at a time, with all later events of the world up to a number.
func (w *world) from(t *testing.T, cut event.Time, upTo int) *Server {
	t.Helper()
	set := *w.early
	set.Log, set.Edge.Rows, set.Edge.Data = event.NewLog(0), 1, make([]float32, set.Edge.Cols)
	for i := range w.early.Log.Len() {
		e := w.early.Log.At(i)
		if e.Time < cut {
			continue
		}
		set.Edge.Data = append(set.Edge.Data, w.early.Edge.Row(int(e.Edge))...)
		e.Edge = event.Edge(set.Edge.Rows)
		set.Edge.Rows++
		if _, err := set.Log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	s := w.server(t, func(o *Options) { o.Set = &set })
	for i := w.early.Log.Len(); i < upTo; i++ {
		if w.whole.Log.At(i).Time >= cut {
			ask[receiptDoc](t, s, "POST", "/v1/events", w.body(i, i+1))
		}
	}
	return s
}

// answersOf are the answers of a server to some questions, without sequences.
func answersOf(t *testing.T, s *Server, at event.Time) map[string]any {
	t.Helper()
	all := map[string]any{}
	var queries []string
	for u := 1; u < 8; u++ {
		queries = append(queries, fmt.Sprintf(`{"src": %d, "dst": %d}, {"src": %d, "dst": %d, "time": %v}`,
			u, u+3, u, u+2, at))
	}
	all["score"] = ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [`+strings.Join(queries, ", ")+`]}`).Scores
	for u := 1; u < 4; u++ {
		doc := ask[map[string]any](t, s, "POST", "/v1/rank", fmt.Sprintf(`{"src": %d, "k": 1000}`, u))
		all[fmt.Sprint("rank ", u)] = doc["items"]
	}
	return all
}

func (w *world) latest(upTo int) event.Time {
	last := math.Inf(-1)
	for i := range upTo {
		last = max(last, w.whole.Log.At(i).Time)
	}
	return last
}

// Between two moves of the cut, answers are those of a server whose data begin at the cut; also after a restart, with a
// snapshot and without.
func TestRetention(t *testing.T) {
	names := []string{dygmamba.DefaultModel, "tgn", "walkmamba"}
	if os.Getenv("DYGMAMBA_ALL_MODELS") != "" { // but for those that take constants from the training part of the set
		names = slices.DeleteFunc(models.Names(true), func(s string) bool { return s == "jodie" || s == "ctan" })
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, name, "strict")
			half, n := w.early.Log.Len(), w.whole.Log.Len()
			dir := t.TempDir()
			period := (w.latest(n) - w.whole.Log.At(0).Time) / 3
			start := func() *Server {
				log, err := embedded.Open(dir, embedded.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { log.Close() })
				s, err := w.open(func(o *Options) {
					o.Log, o.Retain = log, Retention{Period: period, manual: true}
					o.Snapshots.File = filepath.Join(dir, "snapshot")
				})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := start()
			same := func(what string, upTo int) {
				t.Helper()
				cut := s.engine.epoch.Load().cut
				got, want := answersOf(t, s, w.latest(upTo)), answersOf(t, w.from(t, cut, upTo), w.latest(upTo))
				for question := range want {
					if !reflect.DeepEqual(got[question], want[question]) {
						t.Errorf("%s: with the cut at %v answers to %s differ:\n%v\n%v", what, cut, question,
							got[question], want[question])
					}
				}
			}
			same("at the start", half)
			before := s.engine.epoch.Load().cut
			ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, n), "Idempotency-Key", "first")
			for moves := 0; ; moves++ {
				cut, due := s.retainer.next()
				if !due {
					if moves < 2 {
						t.Errorf("%d moves", moves)
					}
					break
				}
				if was := s.engine.epoch.Load().cut; cut <= was || cut > was+period/10*1.0001 && moves > 0 {
					t.Errorf("the cut moves from %v to %v, by more than a tenth of %v", was, cut, period)
				}
				if err := s.retainer.move(t.Context(), cut); err != nil {
					t.Fatal(err)
				}
				if moves < 2 {
					same("after a move", n)
				}
			}
			doc := ask[struct{ Retention retentionDoc }](t, s, "GET", "/v1/status", "").Retention
			if doc.Cut == nil || *doc.Cut <= before || doc.Moving || doc.Dropped == 0 {
				t.Errorf("%+v", doc)
			}
			for _, without := range []bool{false, true} {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s.options.Log.Close()
				if without {
					damage(t, filepath.Join(dir, "snapshot"))
				}
				s = start()
				same("after a restart", n)
				if *doc.Cut != s.engine.epoch.Load().cut {
					t.Errorf("the cut is %v, was %v", s.engine.epoch.Load().cut, *doc.Cut)
				}
				r := ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, n), "Idempotency-Key", "first")
				if r.Last != uint64(n-half) {
					t.Errorf("the key answers %+v", r)
				}
			}
			s.Close()
		})
	}
}

// A model that was rolled back to after the cut moved knows the same events.
func TestRetentionAndModels(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, func(o *Options) { o.Retain = Retention{Period: 1e12, manual: true} })
	ask[map[string]any](t, s, "POST", "/v1/admin/reload", `{}`)
	half, n := w.early.Log.Len(), w.whole.Log.Len()
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, n))
	cut := w.whole.Log.At(half / 2).Time
	if err := s.retainer.move(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	want := answersOf(t, w.from(t, cut, n), w.latest(n))
	for range 2 {
		if g := ask[generation](t, s, "POST", "/v1/admin/rollback", `{}`); g.Number < 1 || g.Number > 2 {
			t.Errorf("generation %d", g.Number)
		}
		if got := answersOf(t, s, w.latest(n)); !reflect.DeepEqual(got, want) {
			t.Error("answers differ")
		}
	}
	late, _ := json.Marshal(cut - 1)
	before := s.engine.now().Len()
	r := ask[receiptDoc](t, s, "POST", "/v1/events",
		fmt.Sprintf(`{"events": [{"src": 1, "dst": 2, "time": %s}]}`, late))
	if r.Accepted != 1 || s.engine.now().Last != r.Last || s.engine.now().Len() != before {
		t.Errorf("an event before the cut: %+v, %d events, before it %d", r, s.engine.now().Len(), before)
	}
	var log eventlog.Log = s.options.Log
	if log.Last() != r.Last {
		t.Error("the log does not have it")
	}
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// The cut moves by itself when events come.
func TestRetentionMovesByItself(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	half, n := w.early.Log.Len(), w.whole.Log.Len()
	s := w.server(t, func(o *Options) { o.Retain.Period = (w.latest(n) - w.whole.Log.At(0).Time) / 3 })
	before := s.engine.epoch.Load()
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(half, n))
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if ep := s.engine.epoch.Load(); ep.cut > before.cut && s.models.current.Load().epoch == ep {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("the cut did not move")
		}
	}
	ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`)
}

// A server for which a move of the cut takes longer than a step of it does not fall behind further and further.
func TestRetentionKeepsUp(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	last := w.latest(w.early.Log.Len())
	s := w.server(t, func(o *Options) {
		o.Retain = Retention{Period: (last - w.whole.Log.At(0).Time) / 3, manual: true}
	})
	step := s.retainer.step
	for i := range 12 {
		last += 1.5 * step // as if this went on while the last cut was prepared
		ask[receiptDoc](t, s, "POST", "/v1/events",
			fmt.Sprintf(`{"events": [{"src": 1, "dst": 2, "time": %v}]}`, last))
		if cut, due := s.retainer.next(); due {
			if err := s.retainer.move(t.Context(), cut); err != nil {
				t.Fatal(err)
			}
		}
		if behind := (s.retainer.target(last) - s.engine.epoch.Load().cut) / step; i > 2 && behind > 2 {
			t.Errorf("after %d moves the cut is %.1f steps behind", i+1, behind)
		}
	}
}
