package predict

import (
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
)

// Every model goes on learning from what came in, in either order, and what it has learned can be kept: the same
// weights
// answer the same.
func TestFineTune(t *testing.T) {
	for _, name := range models.Names(true) {
		orders := []string{""}
		if models.All[name].Remembers {
			orders = model.Orders()
		}
		for _, order := range orders {
			t.Run(name+"/"+order, func(t *testing.T) {
				spec, set := modeltest.Small(t, name, models.All[name])
				spec.Training.Epochs, spec.Order = 1, order
				dir := trainSmall(t, name, spec, set)
				load := func(path string) *Predictor {
					t.Helper()
					p, err := Load(path, Options{Set: set, Live: NewPast(set), Threads: 1})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { p.Close() })
					return p
				}
				p, n := load(dir), set.Log.Len()
				q := []Query{{Src: 1, Dst: 2, Time: set.Log.At(n-1).Time + 1}}
				before := score(t, p, q)
				first, err := p.AveragePrecision(t.Context(), n-40, n, 5)
				if err != nil || first <= 0 || first > 1 {
					t.Fatal(first, err)
				}
				if again := score(t, p, q); again[0] != before[0] {
					t.Errorf("measuring changed %v to %v", before, again)
				}
				how := FineTuning{From: n / 3, To: n - 40, Seed: 3, Rest: 0.01}
				if err := p.FineTune(t.Context(), how); err != nil {
					t.Fatal(err)
				}
				after := score(t, p, q)
				if after[0] == before[0] {
					t.Error("nothing was learned")
				}
				kept, err := p.Checkpoint()
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), "learned.safetensors")
				if err := checkpoint.Save(path, kept); err != nil {
					t.Fatal(err)
				}
				other := load(path)
				if got := score(t, other, q); got[0] != after[0] {
					t.Errorf("kept it answers %v, before %v", got, after)
				}
				a, _ := p.AveragePrecision(t.Context(), n-40, n, 5)
				if b, err := other.AveragePrecision(t.Context(), n-40, n, 5); a != b || err != nil {
					t.Errorf("kept its AP is %v, before %v (%v)", b, a, err)
				}
				if err := p.FineTune(t.Context(), FineTuning{From: 5, To: n + 1}); err == nil {
					t.Error("learned of events that are not there")
				}
			})
		}
	}
}
