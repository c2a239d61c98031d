package kernelbench_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/kernelbench"
)

var small = kernelbench.Options{Rounds: 1, Rows: 60, Floats: 3000, Batch: 2}

func TestKernels(t *testing.T) {
	one, two := cpu.New(cpu.Options{Threads: 1}), cpu.New(cpu.Options{Threads: 2})
	defer one.Close()
	defer two.Close()
	steps := 0
	o := small
	o.Progress = func(done, total int) {
		if steps++; done != steps || done > total {
			t.Errorf("progress says %d of %d at step %d", done, total, steps)
		}
	}
	r, err := kernelbench.Kernels(context.Background(), o, one, two)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range r.Kernels {
		if len(k.Results) != 2 {
			t.Fatalf("%s has %d results, want 2", k.Name, len(k.Results))
		}
		if k.Name == kernelbench.Peak {
			continue // 0 for plain kernels
		}
		for _, res := range k.Results {
			if res.Millis <= 0 || k.Unit != "" && res.Rate <= 0 {
				t.Errorf("%s %s: %+v", k.Name, k.Size, res)
			}
		}
	}
	for _, want := range []string{kernelbench.Copy, "exp", "cos", "SiLU", "GELU", "LayerNorm", "y = x·Wᵀ", "dx = dy·W",
		"dW = dyᵀ·x", "scan", "scan and gradient"} {
		if !slices.ContainsFunc(r.Kernels, func(k kernelbench.Kernel) bool { return k.Name == want }) {
			t.Errorf("no line for %s", want)
		}
	}
}

func TestKernelsStops(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := kernelbench.Kernels(ctx, small, dev); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
