package serve

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/eventlog"
)

// TestKindsOnTheWire: events of a set with kinds have one that it knows, which survives a restart.
func TestKindsOnTheWire(t *testing.T) {
	w := newWorld(t, dygmamba.DefaultModel)
	plain := w.server(t, nil)
	one := func(kind string) string {
		last := w.whole.Log.At(w.whole.Log.Len() - 1).Time
		return fmt.Sprintf(`{"events": [{"src": 1, "dst": 2, "time": %v%s}]}`, last, kind)
	}
	if r := call(plain.Handler(), "POST", "/v1/events", one(`, "kind": "viewed"`)); r.Code != 400 ||
		!strings.Contains(r.Body.String(), "the events of this data set have none") {
		t.Errorf("a kind where there are none: %d %s", r.Code, r.Body)
	}
	early := *w.early
	early.Kinds = []string{"viewed", "bought", "7"}
	log, file := eventlog.NewMemory(), filepath.Join(t.TempDir(), "snapshot")
	keep := func(o *Options) { o.Set, o.Log, o.Snapshots = &early, log, Snapshots{File: file} }
	s, err := w.open(keep)
	if err != nil {
		t.Fatal(err)
	}
	for kind, found := range map[string]string{``: "found nothing", `, "kind": "sold"`: `found \"sold\"`} {
		if r := call(s.Handler(), "POST", "/v1/events", one(kind)); r.Code != 400 ||
			!strings.Contains(r.Body.String(), "one of the kinds of this data set: viewed, bought, 7") ||
			!strings.Contains(r.Body.String(), found) {
			t.Errorf("%s: %d %s", kind, r.Code, r.Body)
		}
	}
	for _, kind := range []string{`"bought"`, `7`, `"viewed"`} {
		ask[receiptDoc](t, s, "POST", "/v1/events", one(`, "kind": `+kind))
	}
	want := s.engine.fingerprint(s.engine.now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, anew := w.server(t, keep), w.server(t, func(o *Options) { o.Set, o.Log = &early, log })
	for _, s := range []*Server{again, anew} {
		at := s.engine.now()
		var kinds []string
		for i := at.Known(); i < at.Len(); i++ {
			kinds = append(kinds, early.KindName(at.Events().Kind(i)))
		}
		if got := strings.Join(kinds, " "); got != "bought 7 viewed" || s.engine.fingerprint(at) != want {
			t.Errorf("kinds %q after a restart, fingerprint %.8s, want %.8s", got, s.engine.fingerprint(at), want)
		}
	}
	var b strings.Builder
	if _, err := Export(t.Context(), log, &b, "csv"); err != nil || !strings.Contains(b.String(), ",bought") {
		t.Errorf("export: %v\n%s", err, b.String())
	}
}
