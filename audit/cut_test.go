package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// cutShort trains until the time limit ends an epoch.
func cutShort(t *testing.T, set *dataset.Set, epoch int) string {
	t.Helper()
	o := dygmamba.TrainOptions{Set: set, Settings: narrow, Dir: t.TempDir(), Threads: 1, MaxTime: 3 * time.Second}
	began := time.Now()
	o.OnStep = func(_ uint64, s train.Step) {
		if s.Epoch == epoch && s.Done > 100 {
			time.Sleep(time.Until(began.Add(o.MaxTime)))
		}
	}
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return run.SeedDir(o.Dir, 0)
}

// A run that the time limit ended is what it says: nothing is wrong with its record, and the audit says that it was
// cut short.
func TestCutShort(t *testing.T) {
	set, _ := honest()
	for epoch := 1; epoch <= 2; epoch++ {
		r := audited(t, cutShort(t, set, epoch), set)
		said := false
		for _, c := range r.Checks {
			said = said || strings.Contains(c.Found, "cut short")
		}
		if r.Verdict != audit.Pass || !said {
			t.Errorf("cut in epoch %d: %s (%s), said so: %v", epoch, r.Verdict, broken(r), said)
		}
	}
}

// Who says that a run was cut short to hide later epochs, or claims to have seen more than it did, fails.
func TestCutShortForged(t *testing.T) {
	set, runs := honest()
	for name, change := range map[string]func(doc map[string]any){
		"finished, not cut": func(doc map[string]any) { doc["ended"] = "max-time" },
		"events seen":       func(doc map[string]any) { doc["train_events"] = 12345678.0 },
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(runs[0])); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(dir, run.ResultFile), change)
		if r := audited(t, dir, set); r.Verdict != audit.Fail {
			t.Errorf("%s: %s", name, r.Verdict)
		}
	}
}

// A handful of test events is no basis for a verdict, however well they were told.
func TestTooFewEvents(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 60, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := trained(t.TempDir(), "dygmamba", "", set, 0, narrow...)
	if err != nil {
		t.Fatal(err)
	}
	r := audited(t, dir, set)
	if r.Verdict == audit.Pass || !strings.Contains(broken(r), "enough test events") {
		t.Errorf("verdict %s, broken: %s", r.Verdict, broken(r))
	}
}
