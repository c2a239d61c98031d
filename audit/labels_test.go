package audit_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// newcomers is a stream in which the first events of a source have the label.
func newcomers(t *testing.T) *dataset.Set {
	t.Helper()
	log := event.NewLog(0)
	for i := range 700 {
		e := event.Event{Src: event.Node(100 + i/8), Dst: event.Node(1 + i*7%13), Time: float64(i)}
		if i%8 == 0 {
			e.Label = 1
		}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return &dataset.Set{Name: "newcomers", Log: log, Sampling: protocol.Native}
}

// A classifier of labels passes as it is, and not once something of it was touched.
func TestLabels(t *testing.T) {
	set := newcomers(t)
	for _, c := range []struct {
		model    string
		settings []string
	}{
		{"dygmamba", narrow},
		{"jodie", []string{"time_feat_dim=8", "node_feat_dim=8", "edge_feat_dim=8", "batch_size=40", "num_epochs=2"}},
	} {
		t.Run(c.model, func(t *testing.T) {
			dir := t.TempDir()
			_, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Model: c.model, Settings: c.settings,
				Task: protocol.NodeClassification, Dir: dir, Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			runDir := run.SeedDir(dir, 0)
			r := audited(t, runDir, set)
			if r.Verdict != audit.Pass {
				t.Fatalf("%s: %s", r.Verdict, broken(r))
			}
			found := map[string]string{}
			for _, check := range r.Checks {
				found[check.Name] = check.Found
			}
			for _, name := range []string{"labels of the test", "model is that of the training on links",
				"metrics recomputed", "scores without what lies at or after their time", "epoch chosen by validation"} {
				if found[name] == "" || strings.HasPrefix(found[name], "not looked at") {
					t.Errorf("%s: %q", name, found[name])
				}
			}
			forgeLabels(t, runDir, set)
			small := full{cpu.New(cpu.Options{Threads: 1})}
			defer small.Close()
			_, err = audit.Run(t.Context(), audit.Options{Dir: runDir, Set: set, Device: small, Threads: 1})
			if !errors.As(err, new(*device.OutOfMemory)) {
				t.Errorf("without memory on the device: %v", err)
			}
		})
	}
}

// full is a device without memory left.
type full struct{ device.Device }

func (full) Alloc(n int) device.Buffer {
	panic(&device.OutOfMemory{Device: "full", Need: 4 * int64(n)})
}

// forgeLabels changes one thing after the other, and expects to be caught.
func forgeLabels(t *testing.T, runDir string, set *dataset.Set) {
	t.Helper()
	file := filepath.Join(runDir, run.ResultFile)
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(r *run.Result){
		"metrics recomputed":         func(r *run.Result) { r.Results[0].AUC += 0.01 },
		"labels of the test":         func(r *run.Result) { r.Results[0].Positives++ },
		"epoch chosen by validation": func(r *run.Result) { r.BestEpoch = 3 - r.BestEpoch },
		"results that were promised": func(r *run.Result) { r.Results = nil },
	} {
		r, err := run.ReadResult(runDir)
		if err != nil {
			t.Fatal(err)
		}
		change(&r)
		raw, err := json.Marshal(r)
		if err == nil {
			err = os.WriteFile(file, raw, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := audited(t, runDir, set); got.Verdict != audit.Fail || !strings.Contains(broken(got), want) {
			t.Errorf("%s: %s, %s", want, got.Verdict, broken(got))
		}
		if err := os.WriteFile(file, kept, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := filepath.Join(filepath.Dir(runDir), "link", "seed-0", run.CheckpointFile)
	f, err := checkpoint.Load(links)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Tensors {
		if strings.HasPrefix(f.Tensors[i].Name, "param/") {
			f.Tensors[i].Data[0] += 0.5
			break
		}
	}
	if err := checkpoint.Save(links, f); err != nil {
		t.Fatal(err)
	}
	if got := audited(t, runDir, set); !strings.Contains(broken(got), "model is that of the training on links") {
		t.Errorf("another model: %s, %s", got.Verdict, broken(got))
	}
}
