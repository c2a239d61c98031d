package audit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	_ "github.com/dygmamba/dygmamba/models" // which register themselves
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

var narrow = []string{
	"channel_embedding_dim=8", "time_feat_dim=8", "max_input_sequence_length=8", "patch_size=2",
	"max_interaction_times=3", "node_feat_dim=8", "edge_feat_dim=8", "batch_size=40", "num_epochs=3",
	"learning_rate=0.003",
}

// trained trains a small model below a directory and returns that of its run.
func trained(
	dir, name string, order protocol.Order, set *dataset.Set, seed uint64, settings ...string,
) (string, error) {
	o := dygmamba.TrainOptions{Set: set, Model: name, Order: order, Settings: settings, Dir: dir, Threads: 1}
	o.Seeds = []uint64{seed}
	o.Strategies = []protocol.Negatives{"random", "historical"}
	_, err := dygmamba.Train(context.Background(), o)
	return run.SeedDir(dir, seed), err
}

// honest is a run that nobody has touched, and one more seed of it.
var honest = sync.OnceValues(func() (*dataset.Set, [2]string) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 700, Seed: 3})
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "audit-*")
	if err != nil {
		panic(err)
	}
	var runs [2]string
	for seed := range runs {
		if runs[seed], err = trained(dir, "dygmamba", "", set, uint64(seed), narrow...); err != nil {
			panic(err)
		}
	}
	return set, runs
})

func TestMain(m *testing.M) {
	code := m.Run()
	_, runs := honest()
	os.RemoveAll(filepath.Dir(runs[0]))
	os.Exit(code)
}

// audited looks at a run.
func audited(t *testing.T, dir string, set *dataset.Set) *audit.Report {
	t.Helper()
	r, err := audit.Run(t.Context(), audit.Options{Dir: dir, Set: set, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// broken are the names of the checks that are not as they should be.
func broken(r *audit.Report) string {
	var names []string
	for _, c := range r.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, "; ")
}

// edit changes the members of a JSON file.
func edit(t *testing.T, path string, change func(doc map[string]any)) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	change(doc)
	if raw, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines changes the lines of the log.
func lines(t *testing.T, dir string, change func(list []map[string]any) []map[string]any) {
	t.Helper()
	path := filepath.Join(dir, run.LogFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for line := range strings.Lines(string(raw)) {
		var doc map[string]any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		list = append(list, doc)
	}
	var b strings.Builder
	for _, doc := range change(list) {
		line, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestHonestRunPasses(t *testing.T) {
	set, runs := honest()
	r := audited(t, runs[0], set)
	if r.Verdict != audit.Pass {
		t.Fatalf("verdict %s: %s\n%+v", r.Verdict, broken(r), r.Checks)
	}
	names := ""
	for _, c := range r.Checks {
		names += c.Name + "; "
		if c.Found == "" || c.Want == "" {
			t.Errorf("%s: found %q, want %q", c.Name, c.Found, c.Want)
		}
	}
	for _, want := range []string{"metrics recomputed", "validation replayed", "at or after their time", "shuffled",
		"smaller batches", "among other queries", "EdgeBank", "row length", "seen at this instant",
		"negatives that are positives", "batch size of the measure"} {
		if !strings.Contains(names, want) {
			t.Errorf("no check of %s in %s", want, names)
		}
	}
}

// Every forgery is told, by the check that is there for it.
func TestForgeries(t *testing.T) {
	set, runs := honest()
	result := func(change func(doc map[string]any)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, run.ResultFile), change) }
	}
	config := func(change func(doc map[string]any)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, run.ConfigFile), change) }
	}
	first := func(doc map[string]any) map[string]any { return doc["results"].([]any)[0].(map[string]any) }
	val := func(doc map[string]any) map[string]any { return doc["val"].(map[string]any) }
	best := func(t *testing.T, dir string) int {
		r, err := run.ReadResult(dir)
		if err != nil {
			t.Fatal(err)
		}
		return r.BestEpoch
	}
	heavier := func(t *testing.T, dir string) {
		path := filepath.Join(dir, run.CheckpointFile)
		f, err := checkpoint.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Tensors {
			for j := range f.Tensors[i].Data {
				f.Tensors[i].Data[j] *= 1.5
			}
		}
		if err := checkpoint.Save(path, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, want string
		forge      func(t *testing.T, dir string)
	}{
		{"better AP", "metrics recomputed", result(func(d map[string]any) {
			first(d)["ap"] = first(d)["ap"].(float64) + 0.001
		})},
		{"better global AUC", "metrics recomputed", result(func(d map[string]any) { first(d)["global_auc"] = 0.99 })},
		{"bad results left out", "results that were promised", result(func(d map[string]any) {
			d["results"] = d["results"].([]any)[:1]
		})},
		{"no results", "results that were promised", result(func(d map[string]any) { d["results"] = []any{} })},
		{"fewer events", "negatives, transductive, random",
			result(func(d map[string]any) { first(d)["positives"] = 80 })},
		{"other negatives", "negatives, transductive, random", result(func(d map[string]any) {
			first(d)["negatives_hash"] = strings.Repeat("0", 64)
		})},
		{"other negatives in validation", "negatives of validation", config(func(d map[string]any) {
			d["hashes"].(map[string]any)["negatives"] = strings.Repeat("0", 64)
		})},
		{"other split", "split of the result",
			result(func(d map[string]any) { d["split_hash"] = strings.Repeat("0", 64) })},
		{"other data", "data", config(func(d map[string]any) {
			d["hashes"].(map[string]any)["data"] = strings.Repeat("0", 64)
		})},
		{"other seed", "result is of this configuration", config(func(d map[string]any) { d["seed"] = 7 })},
		{"other settings", "checkpoint is of this run", config(func(d map[string]any) {
			d["spec"].(map[string]any)["config"].(map[string]any)["gamma"] = 0.9
		})},
		{"an epoch that validation did not choose", "epoch chosen by validation", func(t *testing.T, dir string) {
			n := best(t, dir)%3 + 1
			edit(t, filepath.Join(dir, run.ResultFile), func(d map[string]any) { d["best_epoch"] = n })
		}},
		{"edited log", "epoch chosen by validation", func(t *testing.T, dir string) {
			n := best(t, dir)
			lines(t, dir, func(l []map[string]any) []map[string]any { val(l[n-1])["ap"] = 0.999; return l })
		}},
		{"edited log and result", "validation replayed", func(t *testing.T, dir string) {
			n := best(t, dir)
			lines(t, dir, func(l []map[string]any) []map[string]any { val(l[n-1])["loss"] = 0.01; return l })
			edit(t, filepath.Join(dir, run.ResultFile), func(d map[string]any) { val(d)["loss"] = 0.01 })
		}},
		{"edited validation AUC", "log agrees with the saved state", func(t *testing.T, dir string) {
			n := best(t, dir)
			lines(t, dir, func(l []map[string]any) []map[string]any { val(l[n-1])["auc"] = 0.9999; return l })
			edit(t, filepath.Join(dir, run.ResultFile), func(d map[string]any) { val(d)["auc"] = 0.9999 })
		}},
		{"shortened log", "epoch chosen by validation", func(t *testing.T, dir string) {
			lines(t, dir, func(l []map[string]any) []map[string]any { return l[:len(l)-1] })
		}},
		{"broken log", "epoch chosen by validation", func(t *testing.T, dir string) {
			lines(t, dir, func(l []map[string]any) []map[string]any { return l[1:] })
		}},
		{"checkpoint of another seed", "checkpoint is of this run", func(t *testing.T, dir string) {
			raw, err := os.ReadFile(filepath.Join(runs[1], run.CheckpointFile))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, run.CheckpointFile), raw, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"other weights", "checkpoint is the one that was measured", heavier},
		{"other weights in an old record", "metrics recomputed", func(t *testing.T, dir string) {
			heavier(t, dir)
			edit(t, filepath.Join(dir, run.ResultFile), func(d map[string]any) { delete(d, "checkpoint_sha256") })
		}},
		{"damaged checkpoint", "checkpoint is of this run", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, run.CheckpointFile), []byte("weights"), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(runs[0])); err != nil {
				t.Fatal(err)
			}
			tt.forge(t, dir)
			r := audited(t, dir, set)
			if r.Verdict != audit.Fail || !strings.Contains("; "+broken(r)+";", "; "+tt.want+";") {
				t.Errorf("verdict %s, not as they should be: %q, want fail by %q", r.Verdict, broken(r), tt.want)
			}
		})
	}
	other, err := dataset.Periodic(dataset.PeriodicOptions{Events: 700, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r := audited(t, runs[0], other); r.Verdict != audit.Fail || !strings.HasPrefix(broken(r), "data; ") {
		t.Errorf("with other data: %s, %s", r.Verdict, broken(r))
	}
}

// A record alone says which checks could not be made.
func TestRecordWithoutCheckpoint(t *testing.T) {
	set, runs := honest()
	dir := t.TempDir()
	for _, name := range []string{run.ConfigFile, run.ResultFile} {
		raw, err := os.ReadFile(filepath.Join(runs[0], name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), raw, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r := audited(t, dir, set)
	missing := 0
	for _, c := range r.Checks {
		if !c.OK {
			missing++
			if !strings.HasPrefix(c.Found, "could not be made: no ") {
				t.Errorf("%s: %s", c.Name, c.Found)
			}
		}
	}
	if r.Verdict != audit.Fail || missing != 10 || !strings.Contains(broken(r), "metrics recomputed") {
		t.Errorf("verdict %s, %d checks: %s", r.Verdict, missing, broken(r))
	}
}

// Many events of one instant: a memory in the order of arrival leaks, in strict order it does not; rows padded to the
// longest of their call leak.
func TestLeaks(t *testing.T) {
	log := streamtest.Generate(streamtest.Shape{Events: 700, Sources: 20, Dests: 15, Instants: 40, Repeat: 0.5}, 1)
	set := &dataset.Set{Name: "crowds", Log: log, Sampling: protocol.Native, Bipartite: true}
	small := []string{"time_feat_dim=8", "node_feat_dim=8", "edge_feat_dim=8", "batch_size=8", "num_epochs=1"}
	for _, tt := range []struct {
		name                   string
		order                  protocol.Order
		padding, verdict, want string
	}{
		{"jodie", protocol.Arrival, "", audit.Leak, "scores without what lies at or after their time"},
		{"jodie", protocol.Strict, "", audit.Pass, ""},
		{"dygmamba", "", "call", audit.Leak,
			"scores in a shuffled batch; scores in smaller batches; scores among other queries"},
		{"dygmamba", "", "fixed", audit.Pass, ""},
	} {
		t.Run(tt.name+" "+string(tt.order)+tt.padding, func(t *testing.T) {
			settings := small
			if tt.padding != "" {
				settings = append(append([]string{"padding=" + tt.padding}, narrow...), "max_input_sequence_length=64",
					"num_epochs=1", "batch_size=8")
			}
			dir, err := trained(t.TempDir(), tt.name, tt.order, set, 0, settings...)
			if err != nil {
				t.Fatal(err)
			}
			r := audited(t, dir, set)
			if r.Verdict != tt.verdict || broken(r) != tt.want {
				t.Errorf("verdict %s, %q, want %s, %q\n%+v", r.Verdict, broken(r), tt.verdict, tt.want, r.Checks)
			}
			if tt.padding != "call" {
				return
			}
			edit(t, filepath.Join(dir, run.ResultFile), func(d map[string]any) { delete(d, "conditions") })
			if r := audited(t, dir, set); r.Verdict != audit.Fail ||
				!strings.Contains(broken(r), "conditions are stated") {
				t.Errorf("conditions left out: %s, %s", r.Verdict, broken(r))
			}
		})
	}
}

func TestStamp(t *testing.T) {
	set, runs := honest()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(runs[0])); err != nil {
		t.Fatal(err)
	}
	if err := audit.WriteStamp(dir, "cpu", audited(t, dir, set)); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, audit.StampFile))
	if err != nil {
		t.Fatal(err)
	}
	var s audit.Stamp
	noted, err2 := run.ReadResult(dir)
	if err := json.Unmarshal(raw, &s); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if s.Verdict != audit.Pass || len(s.Checks) < 20 || s.Checkpoint != noted.Checkpoint || len(s.Result) != 64 ||
		s.Device != "cpu" {
		t.Errorf("stamp %+v", s)
	}
}
