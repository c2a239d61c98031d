package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/run"
)

// A run on a part of the events is looked at on the same part, and whoever tests on other events than the rules choose
// is found out.
func TestSampledRun(t *testing.T) {
	set, _ := honest()
	for name, limits := range map[string]eval.Limits{
		"dygmamba": {Train: 200, Val: 80, Test: 80},
		"tgn":      {Train: 200, Val: 60, Test: 80, Block: true},
	} {
		settings := narrow
		if name == "tgn" {
			settings = []string{"time_feat_dim=8", "node_feat_dim=8", "edge_feat_dim=8", "num_neighbors=3",
				"batch_size=40", "num_epochs=2"}
		}
		o := dygmamba.TrainOptions{Set: set, Model: name, Settings: settings, Dir: t.TempDir(), Threads: 1}
		o.Limits = limits
		if _, err := dygmamba.Train(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		dir := run.SeedDir(o.Dir, 0)
		r := audited(t, dir, set)
		if r.Verdict != audit.Pass {
			t.Errorf("%s: %s (%s)", name, r.Verdict, broken(r))
		}
		if mark := run.Mark(dir); !strings.Contains(mark, "trained on the latest 200 of") ||
			!strings.Contains(mark, "tested on ") {
			t.Errorf("%s is %q", name, mark)
		}
		forged := t.TempDir()
		if err := os.CopyFS(forged, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(forged, run.ResultFile), func(doc map[string]any) {
			first := doc["results"].([]any)[0].(map[string]any)
			first["sampled"].(map[string]any)["events_sha256"] = strings.Repeat("0", 64)
		})
		r = audited(t, forged, set)
		if r.Verdict != audit.Fail || !strings.Contains(broken(r), "sample, transductive") {
			t.Errorf("%s with other events: %s (%s)", name, r.Verdict, broken(r))
		}
	}
}
