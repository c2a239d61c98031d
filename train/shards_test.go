package train_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/run"
)

// noting is an engine that counts how its exchanges go.
type noting struct {
	collective.Engine
	started, early int // exchanges, and those that were looked after before someone waited for them
	tested         bool
}

func (n *noting) Start(out, in [][]byte) error {
	n.started, n.tested = n.started+1, false
	return n.Engine.Start(out, in)
}

func (n *noting) Test() (bool, error) {
	if !n.tested {
		n.tested, n.early = true, n.early+1
	}
	return n.Engine.Test()
}

// recording is a device that records steps; work is done when it is enqueued, results come late.
type recording struct {
	late
	inside bool
	keys   map[int]bool
}

func (d *recording) Replay(key int, step func()) {
	if d.inside {
		panic("a recording within another")
	}
	d.inside, d.keys[key] = true, true
	step()
	d.inside = false
}

func (d *recording) ReadLater(dst []float32, src device.Buffer) int {
	if d.inside {
		panic("a read within a recording")
	}
	return d.late.ReadLater(dst, src)
}

// TestOverlap: gradients are on their way to other ranks while the rest of the walk back is still to come, also on
// devices that record steps or whose results come late, and the bytes are those of one rank.
func TestOverlap(t *testing.T) {
	together := func(ranks int, wrap func(*cpu.Device) device.Device) (string, []*noting) {
		t.Helper()
		dir, list, errs := t.TempDir(), make([]*noting, ranks), make([]error, ranks)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all sync.WaitGroup
		for i, e := range collective.Local(ranks) {
			list[i] = &noting{Engine: e}
			job := small(t, dir, "num_epochs=1")
			if i > 0 {
				job.Dir = ""
			}
			job.Device = wrap(job.Device.(*cpu.Device))
			all.Go(func() {
				g, err := collective.New(ctx, list[i])
				if job.Ranks = g; err == nil {
					_, err = job.Train(ctx)
				}
				if errs[i] = err; err != nil {
					cancel()
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		return dir, list
	}
	plain := func(d *cpu.Device) device.Device { return d }
	one, _ := together(1, plain)
	for name, wrap := range map[string]func(*cpu.Device) device.Device{
		"plain": plain,
		"late":  func(d *cpu.Device) device.Device { return &late{Device: d} },
		"recording": func(d *cpu.Device) device.Device {
			return &recording{late: late{Device: d}, keys: map[int]bool{}}
		},
	} {
		dir, engines := together(2, wrap)
		for _, file := range []string{run.CheckpointFile, run.LastFile} {
			if !bytes.Equal(read(t, dir, file), read(t, one, file)) {
				t.Errorf("%s: two ranks write another %s than one", name, file)
			}
		}
		for rank, e := range engines {
			if e.early < e.started/4 {
				t.Errorf("%s: rank %d moved %d of %d messages ahead", name, rank, e.early, e.started)
			}
		}
	}
}
