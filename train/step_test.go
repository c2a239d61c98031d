package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// late is a device whose results are there only when they were waited for, as a GPU's are.
type late struct {
	*cpu.Device
	results [][]float32 // by ticket
	into    [][]float32
	most    int // results under way at once
	taken   int
	steps   int
	broken  int // the step whose loss is no number; 0: none
}

func (d *late) BCE(loss, dlogits, logits, labels device.Buffer) {
	d.Device.BCE(loss, dlogits, logits, labels)
	if d.steps++; d.steps == d.broken {
		loss.Host[0] = float32(math.NaN())
	}
}

func (d *late) ReadLater(dst []float32, src device.Buffer) (ticket int) {
	result := make([]float32, len(dst))
	d.Read(result, src)
	for i := range dst {
		dst[i] = float32(math.NaN())
	}
	d.results, d.into = append(d.results, result), append(d.into, dst)
	d.most = max(d.most, len(d.results)-d.taken)
	return len(d.results) - 1
}

func (d *late) Await(ticket int) {
	copy(d.into[ticket], d.results[ticket])
	d.taken++
}

// TestLateResults: a training whose results come late hears, logs and saves what one does that has them at once, also
// when it is interrupted with results under way.
func TestLateResults(t *testing.T) {
	atOnce, inTime := t.TempDir(), []train.Step{}
	job := small(t, atOnce)
	job.OnStep = func(s train.Step) { s.Rate, s.Outlook.Epoch = 0, 0; inTime = append(inTime, s) }
	want, err := job.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const between = 4 // steps between interruptions
	for name, cut := range map[string]bool{"whole": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			dir, heard := t.TempDir(), []train.Step{}
			var got run.Result
			for {
				job := small(t, dir)
				dev := &late{Device: job.Device.(*cpu.Device)}
				job.Device, job.Resume = dev, true
				if cut {
					job.SaveEvery = time.Nanosecond
				}
				ctx, cancel := context.WithCancel(t.Context())
				steps := 0
				job.OnStep = func(s train.Step) {
					s.Rate, s.Outlook.Epoch = 0, 0
					heard = append(heard, s)
					if steps++; cut && steps == between {
						cancel()
					}
				}
				var err error
				got, err = job.Train(ctx)
				cancel()
				if dev.taken != len(dev.results) {
					t.Errorf("%d of %d results were waited for", dev.taken, len(dev.results))
				}
				if !cut && dev.most < 4 {
					t.Errorf("%d results under way at most, want those of two steps", dev.most)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(heard, inTime) {
				t.Errorf("heard of %d steps, want the %d of the other training", len(heard), len(inTime))
			}
			if !reflect.DeepEqual(timeless(got.History), timeless(want.History)) {
				t.Errorf("epochs were\n%+v\nwant\n%+v", timeless(got.History), timeless(want.History))
			}
			if !bytes.Equal(read(t, dir, run.CheckpointFile), read(t, atOnce, run.CheckpointFile)) {
				t.Error("the checkpoint differs")
			}
		})
	}
}

// timeless leaves out how long epochs took.
func timeless(epochs []run.Epoch) []run.Epoch {
	out := append([]run.Epoch(nil), epochs...)
	for i := range out {
		out[i].Seconds, out[i].Events = run.Seconds{}, 0
	}
	return out
}

// TestLateNaN: a loss that is no number is reported with its own batch, and is not part of what is saved.
func TestLateNaN(t *testing.T) {
	for name, wrap := range map[string]func(*late) device.Device{
		"at once": func(d *late) device.Device { return struct{ device.Device }{d} },
		"late":    func(d *late) device.Device { return d },
	} {
		dir := t.TempDir()
		job := small(t, dir)
		job.Device, job.SaveEvery = wrap(&late{Device: job.Device.(*cpu.Device), broken: 4}), time.Nanosecond
		_, err := job.Train(t.Context())
		const want = "epoch 1, batch 3: the loss is not a number"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		last, err := checkpoint.Load(filepath.Join(dir, run.LastFile))
		if err != nil || !strings.Contains(last.Meta["train"], `"batch":3`) {
			t.Errorf("%s: saved was %s (%v), want the state after three batches", name, last.Meta["train"], err)
		}
	}
}

// lost is a device that disappears after some calls: every later one fails, but for those that give memory back.
type lost struct {
	late
	calls, last int
}

func (d *lost) call(name string) {
	if d.calls++; d.calls > d.last {
		panic(&device.Failure{Device: "gpu", Call: name, Reason: "device unavailable"})
	}
}

func (d *lost) Write(dst device.Buffer, src []float32) { d.call("Write"); d.late.Write(dst, src) }
func (d *lost) Read(dst []float32, src device.Buffer)  { d.call("Read"); d.late.Read(dst, src) }
func (d *lost) Await(ticket int)                       { d.call("Await"); d.late.Await(ticket) }
func (d *lost) MatMul(c, a, b device.Mat, g device.Gemm) {
	d.call("MatMul")
	d.late.MatMul(c, a, b, g)
}

func (d *lost) ReadLater(dst []float32, src device.Buffer) int {
	d.call("ReadLater")
	return d.late.ReadLater(dst, src)
}

// TestLostDevice: wherever the device disappears, training ends with its failure, and what was saved last is whole: it
// can be resumed and comes to the same end.
func TestLostDevice(t *testing.T) {
	whole := t.TempDir()
	counted := small(t, whole, "num_epochs=2")
	count := &lost{late: late{Device: counted.Device.(*cpu.Device)}, last: math.MaxInt}
	counted.Device, counted.SaveEvery = count, time.Nanosecond
	if _, err := counted.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := map[string]bool{}
	const cuts = 10
	for i := range cuts {
		dir := t.TempDir()
		job := small(t, dir, "num_epochs=2")
		job.SaveEvery = time.Nanosecond
		job.Device = &lost{late: late{Device: job.Device.(*cpu.Device)}, last: i * (count.calls - 1) / (cuts - 1)}
		_, err := job.Train(t.Context())
		var failure *device.Failure
		if !errors.As(err, &failure) {
			t.Fatalf("device lost after %d of %d cuts: got %v, want its failure", i, cuts, err)
		}
		calls[failure.Call] = true
		if files, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); files != nil {
			t.Errorf("left behind: %v", files)
		}
		if last, err := checkpoint.Load(filepath.Join(dir, run.LastFile)); err == nil && last.Meta["train"] == "" {
			t.Error("the saved state holds no training")
		}
		again := small(t, dir, "num_epochs=2")
		again.Resume = true
		if _, err := again.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, dir, run.CheckpointFile), read(t, whole, run.CheckpointFile)) {
			t.Fatalf("%v: the resumed training ended with other weights", err)
		}
	}
	if len(calls) < 4 {
		t.Errorf("the device failed only in %v", calls)
	}
}

// A loss that is not a number before anything was learned is no matter of the learning rate.
func TestNotANumberAtFirst(t *testing.T) {
	job := small(t, "", "num_epochs=1")
	rows := job.Set.Log.Len() + 1
	job.Set.Edge = dataset.Features{Rows: rows, Cols: 2, Data: make([]float32, 2*rows)}
	first := job.Protocol.Split().Train.All()
	for i := range 10 {
		job.Set.Edge.Data[2*first.Edge(i)] = 3e37
	}
	job.Set.Edge.Data[2*first.Edge(3)+1] = -3e38
	_, err := job.Train(t.Context())
	want := fmt.Sprintf("epoch 1, batch 0: the loss is not a number before anything was learned; "+
		"a feature of event %d, column 2, is -3e+38: scale", first.Edge(3))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
