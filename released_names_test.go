package dygmamba_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// names are those of a file's tensors.
func tensorNames(f checkpoint.File) (list []string) {
	for _, t := range f.Tensors {
		list = append(list, t.Name)
	}
	return list
}

// trainedFile is the checkpoint of a model that was trained for a moment.
func trainedFile(t *testing.T, name string, o dygmamba.TrainOptions) checkpoint.File {
	t.Helper()
	if o.Set == nil {
		o.Set = launch(t).set
	}
	o.Model, o.Dir = name, t.TempDir()
	for _, s := range []string{"num_epochs=1", "batch_size=100", "num_neighbors=4"} {
		if key, _, _ := strings.Cut(s, "="); slices.Contains(models.Get(name).Keys(), key) {
			o.Settings = append(o.Settings, s)
		}
	}
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(name, err)
	}
	f, err := checkpoint.Load(filepath.Join(run.SeedDir(o.Dir, 0), run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A memory is among the weights of the released program, twice, and so is a time encoder.
func TestReleasedNames(t *testing.T) {
	nodes := launch(t).set.NumNodes()
	for name, extra := range map[string]int{"tgn": 6, "dyrep": 6, "jodie": 4} {
		f := trainedFile(t, name, dygmamba.TrainOptions{})
		got, err := predict.ExportReleased(f)
		if err != nil {
			t.Fatal(err)
		}
		params := 0
		for _, x := range f.Tensors {
			if plain, ok := strings.CutPrefix(x.Name, "param/"); ok {
				params++
				if y, found := got.Find(plain); !found || !slices.Equal(y.Shape, x.Shape) ||
					!slices.Equal(y.Data, x.Data) {
					t.Errorf("%s: %s is missing or another", name, plain)
				}
			}
		}
		if len(got.Tensors) != params+extra || got.Meta != nil {
			t.Errorf("%s has %v, want %d beside the %d parameters", name, tensorNames(got), extra, params)
		}
		for _, bank := range []string{"0.memory_bank.", "0.memory_updater.memory_bank."} {
			memories, _ := got.Find(bank + "node_memories")
			times, _ := got.Find(bank + "node_last_updated_times")
			if !slices.Equal(memories.Shape, []int{nodes, 172}) || !slices.Equal(times.Shape, []int{nodes}) ||
				slices.Max(times.Data) <= 0 {
				t.Errorf("%s: %s has shapes %v and %v", name, bank, memories.Shape, times.Shape)
			}
		}
		for _, x := range got.Tensors[params:] {
			if !models.Get(name).Ignores(x.Name) {
				t.Errorf("%s is written and not known when it is read", x.Name)
			}
		}
		if name != "tgn" {
			continue
		}
		// A released checkpoint, memories left out, has the same names and shapes.
		file := filepath.Join(golden.Shared(t, "spec", "golden", "predict-tgn-enron"), "weights.safetensors")
		theirs, err := checkpoint.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range theirs.Tensors {
			if y, found := got.Find(x.Name); !found || !slices.Equal(x.Shape, y.Shape) {
				t.Errorf("the released program has %s %v, we have %v", x.Name, x.Shape, y.Shape)
			}
		}
	}
}

// Where labels were learned, the classifier stands in the place of the head.
func TestReleasedClassifier(t *testing.T) {
	labelled := *launch(t).set
	labelled.Log = event.NewLog(0)
	for i := range launch(t).set.Log.Len() {
		e := launch(t).set.Log.At(i)
		e.Label = float32(e.Dst % 2)
		if _, err := labelled.Log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	f := trainedFile(t, dygmamba.DefaultModel, dygmamba.TrainOptions{Set: &labelled, Task: protocol.NodeClassification,
		Settings: narrow})
	got, err := predict.ExportReleased(f)
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, name := range tensorNames(got) {
		if !strings.HasPrefix(name, "0.") {
			heads = append(heads, name)
		}
	}
	if want := []string{"1.fc1.weight", "1.fc1.bias", "1.fc2.weight", "1.fc2.bias", "1.fc3.weight",
		"1.fc3.bias"}; !slices.Equal(heads, want) {
		t.Errorf("beside the model there are %v", heads)
	}
	ours, _ := f.Find("param/2.fc1.weight")
	theirs, _ := got.Find("1.fc1.weight")
	if !slices.Equal(ours.Data, theirs.Data) || len(ours.Data) == 0 {
		t.Error("the classifier's weights are others")
	}
}

// Plain weights stay as they are; what is none of a model's is refused.
func TestReleasedRefuses(t *testing.T) {
	plain := checkpoint.File{Tensors: []checkpoint.Tensor{{Name: "0.w", Shape: []int{1}, Data: []float32{1}}}}
	if got, err := predict.ExportReleased(plain); err != nil || !slices.Equal(tensorNames(got), []string{"0.w"}) {
		t.Errorf("%v, %v", tensorNames(got), err)
	}
	for _, f := range []checkpoint.File{
		{Tensors: []checkpoint.Tensor{{Name: "optim/m/0.w", Shape: []int{1}, Data: []float32{1}}}},
		{Tensors: plain.Tensors, Meta: map[string]string{"model": "none"}},
	} {
		if _, err := predict.ExportReleased(f); !errors.Is(err, predict.ErrMisfit) {
			t.Errorf("%v gives %v", tensorNames(f), err)
		}
	}
}
