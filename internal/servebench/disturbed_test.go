package servebench

import (
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// checkDisturbed checks that a model answers as it does offline, to the last bit, with late events, new nodes,
// restarts, reloads and events that are dropped.
func checkDisturbed(t *testing.T, set *dataset.Set, path, name string, order protocol.Order) {
	t.Helper()
	v, err := VerifyDisturbed(t.Context(), Disturbed{Checks: 5, Dir: filepath.Join(t.TempDir(), "store"),
		Verification: Verification{Set: set, Checkpoint: path, Load: predict.Options{Threads: 1},
			From: set.Log.Len() / 4}})
	if err != nil {
		t.Fatal(err)
	}
	if !v.Same(0) || v.Queries != 5*questionsPerCheck || v.Model != name || v.Order != order {
		t.Errorf("%+v", v)
	}
	d := v.Disturbed
	if d.Checks != 5 || d.Late == 0 || d.Restarts != 2 || d.Reloads != 1 || d.Cuts < 3 || d.Dropped == 0 {
		t.Errorf("%+v", *d)
	}
}

// It notices a server that answers with another model.
func TestVerifyDisturbedNotices(t *testing.T) {
	set, path := trained(t, dygmamba.DefaultModel, "")
	_, other := trained(t, models.Names(true)[0], "")
	d := &disturbed{Disturbed: Disturbed{Dir: filepath.Join(t.TempDir(), "store"), Retain: 1e9, Checks: 1,
		Verification: Verification{Set: set, Checkpoint: other, Load: predict.Options{Threads: 1},
			From: set.Log.Len() / 4}}, verdict: Verdict{Disturbed: &Disturbances{}}}
	d.order = d.arrivals()
	if err := d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	d.Checkpoint = path
	if _, err := d.client.Ingest(t.Context(), d.wire(d.order)); err != nil {
		t.Fatal(err)
	}
	if err := d.compare(t.Context(), len(d.order), 0); err != nil || d.verdict.Same(1e-4) {
		t.Errorf("%+v, %v", d.verdict, err)
	}
}
