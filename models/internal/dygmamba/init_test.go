package dygmamba

import (
	"math"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
)

// TestReleasedInit compares initial weights with those that the released program drew under the same seed. Its file
// holds the link predictor's weights four times as large.
func TestReleasedInit(t *testing.T) {
	const seed, predictor = 21, 4
	file, err := checkpoint.Load(golden.Shared(t, "spec", "golden", "predict-dygmamba-enron", "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	c := Default
	c.Patch = 2
	m, err := Factory.Build(model.Env{Device: dev, Seed: seed}, model.Spec{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range m.Params().All() {
		want, ok := file.Find(q.Name)
		if !ok {
			t.Fatalf("the released program has no %s", q.Name)
		}
		scale, tolerance := float32(1), 0.0
		if strings.HasPrefix(q.Name, "1.") {
			scale = predictor
		}
		if strings.HasSuffix(q.Name, "dt_proj.bias") || strings.HasSuffix(q.Name, "A_log") ||
			strings.HasPrefix(q.Name, "0.time_encoder") {
			tolerance = 1e-6 // of functions that libraries round differently
		}
		off := 0
		for i, x := range m.Params().Read(q) {
			if w := float64(want.Data[i]); math.Abs(float64(scale*x)-w) > tolerance*math.Abs(w) {
				if off++; off == 1 {
					t.Errorf("%s[%d] starts at %v, in the released program at %v", q.Name, i, scale*x, w)
				}
			}
		}
		if off > 0 {
			t.Errorf("%s: %d of %d differ", q.Name, off, q.Len())
		}
	}
}
