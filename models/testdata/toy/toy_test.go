package toy

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// TestConform: the model keeps what every model of the catalogue promises.
func TestConform(t *testing.T) { modeltest.Conform(t, Name, Factory) }

// TestTrain: it is found by its name, learns, is saved, loaded, and answers.
func TestTrain(t *testing.T) {
	if !slices.Contains(models.Names(true), Name) {
		t.Fatalf("%s is not among %v", Name, models.Names(true))
	}
	options := dataset.DefaultPeriodic
	set, err := dataset.Periodic(options)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	summary, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{
		Set: set, Model: Name, Dir: dir, Threads: 1, Settings: []string{"num_epochs=1", "embedding_dim=8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if summary.Model != Name {
		t.Errorf("the summary is of %q", summary.Model)
	}
	p, err := predict.Load(run.SeedDir(dir, 0), predict.Options{Set: set, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	last := set.Log.At(set.Log.Len() - 1)
	qs := []predict.Query{{Src: last.Src, Dst: last.Dst, Time: last.Time + 1}, {Src: last.Src, Dst: 1, Time: last.Time}}
	logits, err := p.Score(t.Context(), qs)
	if err != nil || len(logits) != 2 || logits[0] == logits[1] {
		t.Errorf("scores %v and %v", logits, err)
	}
	why, err := p.Explain(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(why[0])
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Logit  float32
		Shared *struct {
			Partners *int
			Without  *struct{ Logit float32 }
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Logit != logits[0] || doc.Shared == nil ||
		doc.Shared.Partners == nil || doc.Shared.Without == nil {
		t.Errorf("%v in the explanation %s", err, raw)
	}
}
