package jodie

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

func compare(t *testing.T, what string, got shift, mean, deviation float64) {
	t.Helper()
	if math.Abs(got.mean-mean) > 1e-9*mean || math.Abs(got.deviation-deviation) > 1e-9*deviation {
		t.Errorf("%s wait %+v, want mean %v and standard deviation %v", what, got, mean, deviation)
	}
}

// TestToyShifts compares with the released program on the toy graph.
func TestToyShifts(t *testing.T) {
	toy, models := golden.Models(t)
	var c struct {
		Shifts [4]float64 `json:"time_shifts"`
	}
	if err := json.Unmarshal(models["JODIE"].Config, &c); err != nil {
		t.Fatal(err)
	}
	compare(t, "sources", measure(toy.Src, toy.Time), c.Shifts[0], c.Shifts[1])
	compare(t, "destinations", measure(toy.Dst, toy.Time), c.Shifts[2], c.Shifts[3])
}

// TestEnronShifts compares with the released program on the training part of enron.
func TestEnronShifts(t *testing.T) {
	raw, err := os.ReadFile(golden.Shared(t, "spec", "golden", "predict-tgn-enron", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Shifts struct {
			Events  int     `json:"train_events"`
			SrcMean float64 `json:"src_mean"`
			SrcStd  float64 `json:"src_std"`
			DstMean float64 `json:"dst_mean"`
			DstStd  float64 `json:"dst_std"`
		} `json:"time_shifts"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(t.Context(), "enron", dataset.Options{DataDir: golden.Shared(t, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{Sampling: set.Sampling})
	if err != nil {
		t.Fatal(err)
	}
	if n := split.Train.Len(); n != want.Shifts.Events {
		t.Fatalf("%d events to train on, want %d", n, want.Shifts.Events)
	}
	src, dst, err := shifts(model.Env{Train: func() (event.Span, error) { return split.Train.All(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "sources", src, want.Shifts.SrcMean, want.Shifts.SrcStd)
	compare(t, "destinations", dst, want.Shifts.DstMean, want.Shifts.DstStd)
}

// TestNoShifts: without data, and with none that differ, times are left as they are.
func TestNoShifts(t *testing.T) {
	plain := shift{0, 1}
	if src, dst, err := shifts(model.Env{}); err != nil || src != plain || dst != plain {
		t.Errorf("without data %v, %v, %v", src, dst, err)
	}
	if s := measure([]event.Node{1}, []event.Time{7}); s != (shift{7, 1}) {
		t.Errorf("of one event %v", s)
	}
	broken := errors.New("no events")
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	env := model.Env{Device: dev, Train: func() (event.Span, error) { return event.Span{}, broken }}
	if _, err := Factory.Build(env, model.Spec{Config: &Default}); !errors.Is(err, broken) {
		t.Errorf("training data that cannot be had: %v", err)
	}
}

// TestShiftsTravel: shifts belong to what is remembered, and a state without them is refused.
func TestShiftsTravel(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	build := func(at event.Time) *Model {
		log := event.NewLog(2)
		for i := range 2 {
			if _, err := log.Append(event.Event{Src: 1, Dst: 2, Time: at * float64(i*i+1)}); err != nil {
				t.Fatal(err)
			}
		}
		env := model.Env{Device: dev, Train: func() (event.Span, error) { return log.All(), nil }}
		m, err := Factory.Build(env, model.Spec{Config: &Default})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m.(*Model)
	}
	one, other := build(10), build(1000)
	if one.shifts == other.shifts {
		t.Fatalf("shifts %v do not differ", one.shifts)
	}
	if err := other.Restore(one.Snapshot()); err != nil || other.shifts != one.shifts {
		t.Errorf("shifts %v came as %v, %v", one.shifts, other.shifts, err)
	}
	if err := other.Restore(nil); err != nil || other.shifts != one.shifts {
		t.Errorf("shifts are forgotten with the events: %v, %v", other.shifts, err)
	}
	other = build(1000)
	was := other.shifts
	infinite := tensor.Named{Name: shiftsName, Shape: []int{2, 2}, Data: []float32{1, 1, 1, float32(math.Inf(1))}}
	for what, state := range map[string][]tensor.Named{
		"no shifts": one.Memory.Snapshot(), "shifts only": {one.saved()},
		"infinite shifts": append(one.Memory.Snapshot(), infinite),
	} {
		if err := other.Restore(state); err == nil || other.shifts != was {
			t.Errorf("%s: %v, shifts %v", what, err, other.shifts)
		}
	}
}
