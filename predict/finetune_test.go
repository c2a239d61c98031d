package predict

import (
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Every model goes on learning from what came in, in either order, and what it has learned can be kept: the same
// weights
// answer the same.
func TestFineTune(t *testing.T) {
	for _, name := range models.Names(true) {
		orders := []protocol.Order{""}
		if models.Get(name).Remembers {
			orders = protocol.Orders()
		}
		for _, order := range orders {
			t.Run(name+"/"+string(order), func(t *testing.T) {
				spec, set := modeltest.Small(t, name, models.Get(name))
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

// A checkpoint has the map of probabilities that the predictor has, fitted anew or as it was.
func TestCheckpointKeepsCalibration(t *testing.T) {
	name := models.Names(true)[0]
	spec, set := modeltest.Small(t, name, models.Get(name))
	spec.Training.Epochs = 1
	dir := trainSmall(t, name, spec, set)
	past := NewPast(set)
	p, err := Load(dir, Options{Set: set, Live: past, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	n := set.Log.Len()
	events := make([]event.Event, 600)
	for i := range events {
		events[i] = set.Log.At(i % n)
		events[i].Time = set.Log.At(n-1).Time + float64(i)
	}
	if err := past.Add(events, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Look(past.Now()); err != nil {
		t.Fatal(err)
	}
	kept := func() string {
		t.Helper()
		f, err := p.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		return f.Meta[run.CalibrationKey]
	}
	recalibrate := func(from int, want bool) {
		t.Helper()
		if fitted, err := p.Recalibrate(t.Context(), from, n+600, 1); err != nil || fitted != want {
			t.Errorf("from %d: fitted %v, %v; want %v", from, fitted, err, want)
		}
	}
	recalibrate(n, false) // it has none
	if kept() != "" {
		t.Error("a checkpoint has a map that nobody asked for")
	}
	had := &calibration.Map{From: []float64{0, 1}, To: []float64{2, 3}, Answers: 1}
	p.calibration = had
	recalibrate(n+590, false) // too few answers
	if kept() != had.String() {
		t.Errorf("kept %q, want %q", kept(), had)
	}
	recalibrate(n, true)
	if m := p.Calibration(); m == had || kept() != m.String() || m.Answers > 1200 || m.Answers < 600 {
		t.Errorf("kept %q, fitted %v", kept(), m)
	}
}
