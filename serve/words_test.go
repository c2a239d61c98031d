package serve

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// TestClassesAndValuesOnline: a server of classes or values answers as predict does on a file that contains the events
// it was sent, bit for bit, and takes labels by their names.
func TestClassesAndValuesOnline(t *testing.T) {
	const first, all = 300, 350 // whole units: a server waits for the rest of one, a file has a short one at its end
	dir := t.TempDir()
	moods := []string{"calm", "tired", "", "eager"}
	table := func(name string, lo, hi int) string {
		text := "user,item,time,mood,price\n"
		for i := lo; i < hi; i++ {
			text += fmt.Sprintf("u%d,v%d,%d,%s,%.2f\n", i%7, i*3%5, i, moods[i*i%11%4], 5+float64(i*i%97)/4)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	early, late := table("early.csv", 0, first), table("late.csv", first, all)
	known, whole := filepath.Join(dir, "known.dgm"), filepath.Join(dir, "whole.dgm")
	for _, out := range []string{known, whole} {
		if _, err := dataset.Import(t.Context(), []string{early}, out,
			dataset.ImportOptions{Label: "mood", Value: "price"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dataset.Append(t.Context(), whole, []string{late}, dataset.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	set, file := opened(t, known), opened(t, whole)
	var events, queries []string
	var asked []predict.Query
	for i := first; i < all; i++ {
		label := ""
		if mood := moods[i*i%11%4]; mood != "" {
			label = fmt.Sprintf(`, "label": %q`, mood)
		}
		events = append(events, fmt.Sprintf(`{"src": "u%d", "dst": "v%d", "time": %d%s, "columns": {"price": %.2f}}`,
			i%7, i*3%5, i, label, 5+float64(i*i%97)/4))
	}
	for i := range 20 {
		src, _ := file.Names.Source(fmt.Sprint("u", i%7))
		dst, _ := file.Names.Target(fmt.Sprint("v", i%5))
		asked = append(asked, predict.Query{Src: src, Dst: dst, Time: 400})
		queries = append(queries, fmt.Sprintf(`{"src": "u%d", "dst": "v%d", "time": 400}`, i%7, i%5))
	}
	for _, task := range []protocol.Task{protocol.NodeClassification, protocol.Regression} {
		for _, name := range []string{dygmamba.DefaultModel, "tgn"} {
			out := filepath.Join(dir, string(task)+name)
			settings := []string{"num_epochs=1", "batch_size=50"}
			if name == dygmamba.DefaultModel {
				settings = append(settings, "max_input_sequence_length=16")
			}
			if _, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{Set: set, Model: name, Task: task, Dir: out,
				Threads: 1, Settings: settings, Order: order(name)}); err != nil {
				t.Fatal(err)
			}
			checkpoint := run.SeedDir(out, 0)
			s, err := New(t.Context(), Options{Set: set, Log: eventlog.NewMemory(), Checkpoint: checkpoint,
				Load: predict.Options{Threads: 1}})
			if err != nil {
				t.Fatal(err)
			}
			ask[receiptDoc](t, s, "POST", "/v1/events", `{"events": [`+strings.Join(events, ",")+`]}`)
			p, err := predict.Load(checkpoint, predict.Options{Set: file, Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			want, err := p.Said(t.Context(), asked)
			if err != nil {
				t.Fatal(err)
			}
			got := ask[struct{ Scores []predict.Answer }](t, s, "POST", "/v1/score",
				`{"queries": [`+strings.Join(queries, ",")+`]}`)
			different := map[float32]bool{}
			for i, x := range got.Scores {
				w := p.Answer(want[i])
				different[w.Logit] = true
				same := math.Float32bits(x.Logit) == math.Float32bits(w.Logit) && x.Class == w.Class
				if task == protocol.Regression {
					same = same && *x.Value == *w.Value && x.Probability == nil
				} else {
					same = same && len(x.Classes) == 3 && x.Classes["tired"] == w.Classes["tired"]
				}
				if !same {
					t.Errorf("%s %s: query %d is %+v online, %+v offline", name, task, i, x, w)
				}
			}
			if len(got.Scores) != len(asked) || len(different) < 5 {
				t.Errorf("%s %s: %d answers, %d of them different", name, task, len(got.Scores), len(different))
			}
			at := s.engine.now()
			for i := at.Known(); i < at.Len(); i++ {
				if mood := moods[i*i%11%4]; set.ClassName(at.Events().Label(i)) != mood {
					t.Fatalf("event %d has the label %v, want %q", i, at.Events().Label(i), mood)
				}
			}
			for path, body := range map[string]string{
				"/v1/rank":    `{"src": "u1", "k": 3}`,
				"/v1/explain": `{"queries": [` + queries[0] + `]}`,
			} {
				if r := call(s.Handler(), "POST", path, body); r.Code != 400 {
					t.Errorf("%s %s: %s is %d %s", name, task, path, r.Code, r.Body)
				}
			}
			if r := call(s.Handler(), "POST", "/v1/events", `{"events": [{"src": "u1", "dst": "v1", "time": 401, `+
				`"label": "angry", "columns": {"price": 1}}]}`); r.Code != 400 ||
				!strings.Contains(r.Body.String(), "one of the classes of this data set: calm, eager, tired") {
				t.Errorf("a label that is none: %d %s", r.Code, r.Body)
			}
			p.Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// order is strict for models that remember.
func order(name string) protocol.Order {
	if name == dygmamba.DefaultModel {
		return ""
	}
	return protocol.Strict
}
