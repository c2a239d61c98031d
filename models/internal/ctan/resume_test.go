package ctan

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// TestResume: a training that was interrupted within its second epoch ends with the numbers of one that was not, in
// both orders.
func TestResume(t *testing.T) {
	const batch = 50
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 6, Targets: 6, Events: 600})
	if err != nil {
		t.Fatal(err)
	}
	for preset, order := range map[string]protocol.Order{paper: protocol.Arrival, strict: protocol.Strict} {
		t.Run(preset, func(t *testing.T) {
			settings := []string{"num_epochs=2", "batch_size=50", "memory_dim=8", "num_iters=2"}
			spec, err := Factory.Spec(preset, model.DataOf(set), settings...)
			if err != nil {
				t.Fatal(err)
			}
			if spec.Order != order {
				t.Fatalf("it learns in %s order, want %s", spec.Order, order)
			}
			dev := modeltest.Device(t, 2)
			do := func(ctx context.Context, dir string, resume bool, heard func(train.Step)) error {
				proto, err := eval.Open(set, eval.Options{BatchSize: batch, Order: order})
				if err != nil {
					t.Fatal(err)
				}
				r := &train.Run{
					Model: "ctan", Factory: Factory, Spec: spec, Set: set, Protocol: proto, Device: dev,
					Dir: dir, Resume: resume, OnStep: heard,
				}
				_, err = r.Train(ctx)
				return err
			}
			whole, parts := t.TempDir(), t.TempDir()
			if err := do(t.Context(), whole, false, nil); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = do(ctx, parts, false, func(s train.Step) {
				if s.Epoch == 2 && s.Done >= 4*batch {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted: %v", err)
			}
			if err := do(t.Context(), parts, true, nil); err != nil {
				t.Fatal(err)
			}
			if got, want := last(t, parts), last(t, whole); !reflect.DeepEqual(got, want) {
				t.Error("weights, moments or memory differ in the end")
			}
		})
	}
}

// last is all numbers that a training has left.
func last(t *testing.T, dir string) []checkpoint.Tensor {
	t.Helper()
	f, err := checkpoint.Load(filepath.Join(dir, run.LastFile))
	if err != nil {
		t.Fatal(err)
	}
	return f.Tensors
}
