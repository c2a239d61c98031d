package serve

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
)

// TestOldStore: a data set, a run, an event log and a snapshot that were written before events could be removed still
// open and answer as then, also without the snapshot, and events can be removed from them. testdata/old was made with
//
//	data import events.csv; train --model graphmixer --set num_epochs=1 …; serve --store store --snapshot-every 30
//
// and 40 events that were sent; answers.json has the scores of that server.
func TestOldStore(t *testing.T) {
	for _, snapshot := range []bool{true, false} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/old")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "store", "snapshot")
		if !snapshot {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		set, err := dataset.OpenNative(filepath.Join(dir, "events.dgm"))
		if err != nil {
			t.Fatal(err)
		}
		log, err := embedded.Open(filepath.Join(dir, "store"), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{early: set, run: filepath.Join(dir, "run", "seed-0")}
		s, err := w.open(func(o *Options) { o.Log, o.Snapshots.File = log, file })
		if err != nil {
			t.Fatal(err)
		}
		known := set.Log.Len() + 40
		if doc := ask[statusDoc](t, s, "GET", "/v1/status", ""); doc.Events != known || doc.Last != 40 {
			t.Errorf("%d events up to %d, want %d up to 40", doc.Events, doc.Last, known)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "answers.json"))
		if err != nil {
			t.Fatal(err)
		}
		var asked struct {
			Request json.RawMessage
			Scores  []scoreDoc
		}
		if err := json.Unmarshal(raw, &asked); err != nil {
			t.Fatal(err)
		}
		got := ask[scoresDoc](t, s, "POST", "/v1/score", string(asked.Request)).Scores
		for i, want := range asked.Scores { // other processors round in other ways
			if math.Abs(float64(got[i].Logit-want.Logit)) > 1e-4 {
				t.Errorf("snapshot %v: logit %d is %v, was %v", snapshot, i, got[i].Logit, want.Logit)
			}
		}
		for _, c := range []struct{ method, path, body, want string }{
			{"POST", "/v1/retractions", `{"sequences": [3, 39]}`, `{"retracted":2}`},
			{"DELETE", "/v1/nodes/u1", "", `{"events":`},
			{"POST", "/v1/events", `{"events": [{"src": "u1", "dst": "v1", "time": 9000, "id": "a"}]}`, `"last":41`},
		} {
			if answer := call(s.Handler(), c.method, c.path, c.body); !strings.Contains(answer.Body.String(), c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.path, answer.Code, answer.Body)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		log.Close()
		set.Close()
	}
}
