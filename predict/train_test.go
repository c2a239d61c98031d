package predict

import (
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// trainSmall trains one seed and returns its run directory.
func trainSmall(t *testing.T, name string, spec model.Spec, set *dataset.Set) string {
	t.Helper()
	dev := cpu.New(cpu.Options{})
	defer dev.Close()
	proto, err := eval.Open(set, eval.Options{
		BatchSize: spec.Training.BatchSize, Order: spec.Order, Shares: spec.Training.Negatives,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := run.SeedDir(t.TempDir(), 0)
	job := &train.Run{
		Model: name, Factory: models.Get(name), Spec: spec, Set: set, Protocol: proto, Device: dev, Dir: dir,
	}
	if _, err := job.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}
