package serve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/run"
)

// Models are replaced, and taken back, while many ask: no question is dropped, and each answer is one of either model.
func TestReloadDropsNothing(t *testing.T) {
	w, other := newWorld(t, dygmamba.DefaultModel), newWorld(t, remembering()[0])
	s := w.server(t, func(o *Options) { o.Models = []string{other.run} })
	const question = `{"queries": [{"src": 1, "dst": 2}]}`
	first := ask[scoresDoc](t, s, "POST", "/v1/score", question).Scores[0].Logit
	var group sync.WaitGroup
	var asked atomic.Int64
	stop := make(chan struct{})
	answers := sync.Map{}
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				select {
				case <-stop:
					return
				default:
					answers.Store(ask[scoresDoc](t, s, "POST", "/v1/score", question).Scores[0].Logit, true)
					asked.Add(1)
				}
			}
		}()
	}
	for i := range 6 {
		path := []string{other.run, w.run}[i%2]
		ask[generation](t, s, "POST", "/v1/admin/reload", fmt.Sprintf(`{"checkpoint": %q}`, path))
		if i == 3 {
			ask[generation](t, s, "POST", "/v1/admin/rollback", "{}")
			ask[generation](t, s, "POST", "/v1/admin/rollback", "{}")
		}
	}
	close(stop)
	group.Wait()
	if asked.Load() < 10 {
		t.Errorf("only %d questions", asked.Load())
	}
	count := 0
	answers.Range(func(any, any) bool { count++; return true })
	if last := ask[scoresDoc](t, s, "POST", "/v1/score", question).Scores[0].Logit; last != first || count > 2 {
		t.Errorf("%v at the end, %v at the beginning; %d different answers", last, first, count)
	}
	before := ask[statusDoc](t, s, "GET", "/v1/status", "")
	if r := call(s.Handler(), "POST", "/v1/admin/reload", `{"checkpoint": "/dev/null"}`); r.Code != 409 {
		t.Errorf("reloaded nothing: %d %s", r.Code, r.Body)
	}
	if after := ask[statusDoc](t, s, "GET", "/v1/status", ""); after.Generation.Number != before.Generation.Number ||
		after.Previous == nil {
		t.Errorf("a bad checkpoint changed the model: %+v", after.Generation)
	}
}

// What comes in is learned from, a better model takes over and answers after a restart too, and a rollback is heeded.
func TestLearn(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	dir, log := t.TempDir(), eventlog.NewMemory()
	learn := func(margin float64) func(o *Options) {
		return func(o *Options) {
			o.Log = log
			o.Learn = Learning{On: true, Dir: dir, Every: 40, Window: 30, Margin: margin, Rest: 0.01}
		}
	}
	n := w.early.Log.Len()
	put := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if _, err := log.Append(t.Context(), "", []eventlog.Event{w.event(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait := func(s *Server, attempts int) learningDoc {
		t.Helper()
		for range 400 {
			if doc := s.learner.doc(); doc.Attempts >= attempts {
				return *doc
			}
			time.Sleep(25 * time.Millisecond)
		}
		t.Fatal("nothing was tried")
		return learningDoc{}
	}
	stays, err := w.open(learn(2)) // nothing is that much better
	if err != nil {
		t.Fatal(err)
	}
	put(n, n+45)
	if doc := wait(stays, 1); doc.Promoted != 0 || doc.Last.Error != "" || doc.Last.After == doc.Last.Before ||
		doc.Last.Window != 30 {
		t.Errorf("%+v %+v", doc, doc.Last)
	}
	stays.Close()
	takes, err := w.open(learn(-1)) // anything will do
	if err != nil {
		t.Fatal(err)
	}
	put(n+45, n+90)
	if doc := wait(takes, 1); doc.Promoted != 1 || !doc.Last.Promoted || doc.Last.Checkpoint == "" {
		t.Fatalf("%+v %+v", doc, doc.Last)
	}
	learned := takes.models.current.Load()
	status := ask[statusDoc](t, takes, "GET", "/v1/status", "")
	if !learned.Learned || status.Learning == nil || status.Learning.Promoted != 1 ||
		filepath.Dir(status.Checkpoint) != dir {
		t.Errorf("%+v", status)
	}
	want := logits(t, w, takes)
	takes.Close()
	again, err := w.open(learn(2))
	if err != nil {
		t.Fatal(err)
	}
	if got := logits(t, w, again); !again.models.current.Load().Learned ||
		math.Float32bits(got[0]) != math.Float32bits(want[0]) {
		t.Errorf("after a restart %v, want %v", got, want)
	}
	ask[generation](t, again, "POST", "/v1/admin/reload", fmt.Sprintf(`{"checkpoint": %q}`, w.run))
	ask[generation](t, again, "POST", "/v1/admin/rollback", "{}")
	ask[generation](t, again, "POST", "/v1/admin/rollback", "{}") // to what was trained
	again.Close()
	back := w.server(t, learn(2))
	if back.models.current.Load().Learned {
		t.Error("a rollback was forgotten")
	}
	lines, err := readLedger(filepath.Join(dir, ledgerFile))
	if err != nil || len(lines) != 4 || !lines[2].RolledBack || lines[0].Promoted {
		t.Errorf("%d lines in the ledger, %v", len(lines), err)
	}
	if err := os.WriteFile(filepath.Join(dir, ledgerFile), []byte(`{"checkpoint": "../x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readLedger(filepath.Join(dir, ledgerFile)); err == nil {
		t.Error("took a path out of a ledger")
	}
}

// A model that was learned here still gives calibrated probabilities: by a map that was fitted to the window, or by the
// one that its checkpoint had where the window has too few events.
func TestLearnedModelIsCalibrated(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	had := &calibration.Map{From: []float64{-1, 1}, To: []float64{2, 5}, Answers: 1000}
	f, err := checkpoint.Load(filepath.Join(w.run, "checkpoint.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	f.Meta[run.CalibrationKey] = had.String()
	path := filepath.Join(t.TempDir(), "calibrated.safetensors")
	if err := checkpoint.Save(path, f); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		window int
		how    string
	}{{30, carriedOver}, {600, refitted}} {
		s := w.server(t, func(o *Options) {
			o.Checkpoint = path
			o.Learn = Learning{On: true, Every: 2 * c.window, Window: c.window, Most: 20, Margin: -1, Rest: 0.01}
		})
		events := make([]eventlog.Event, 2*c.window)
		for i := range events {
			events[i] = w.event(i % w.whole.Log.Len())
			events[i].Time = 1e7 + float64(i)
		}
		if _, err := s.options.Log.Append(t.Context(), "", events); err != nil {
			t.Fatal(err)
		}
		var doc *learningDoc
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			if doc = s.learner.doc(); doc.Attempts > 0 {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatal("nothing was tried")
			}
		}
		if !doc.Last.Promoted || doc.Last.Calibration != c.how {
			t.Errorf("window %d: %+v, want %s", c.window, doc.Last, c.how)
		}
		got := ask[scoresDoc](t, s, "POST", "/v1/score", `{"queries": [{"src": 1, "dst": 2}]}`).Scores[0]
		raw := (*calibration.Map)(nil).Probability(got.Logit)
		same := got.Probability == had.Probability(got.Logit)
		if got.Probability == raw || same != (c.how == carriedOver) {
			t.Errorf("window %d: logit %v has probability %v; the sigmoid is %v, by the map that it had %v", c.window,
				got.Logit, got.Probability, raw, had.Probability(got.Logit))
		}
	}
}
