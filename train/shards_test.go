package train_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
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
}

func (d *recording) Replay(_ int, step func()) {
	if d.inside {
		panic("a recording within another")
	}
	d.inside = true
	step()
	d.inside = false
}

func (d *recording) ReadLater(dst []float32, src device.Buffer) int {
	if d.inside {
		panic("a read within a recording")
	}
	return d.late.ReadLater(dst, src)
}

// together trains on ranks that are goroutines, after change has seen the options of each.
func together(t *testing.T, ranks int, change func(rank int, job *train.Run)) (dir string, list []*noting) {
	t.Helper()
	dir, list = t.TempDir(), make([]*noting, ranks)
	errs := make([]error, ranks)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i, e := range collective.Local(ranks) {
		list[i] = &noting{Engine: e}
		job := small(t, dir, "num_epochs=1")
		if i > 0 {
			job.Dir = ""
		}
		change(i, job)
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

// TestOverlap: gradients are on their way to other ranks while the rest of the walk back is still to come, also on
// devices that record steps or whose results come late, and the bytes are those of one rank.
func TestOverlap(t *testing.T) {
	plain := func(_ int, job *train.Run) {}
	one, _ := together(t, 1, plain)
	for name, change := range map[string]func(int, *train.Run){
		"plain": plain,
		"late":  func(_ int, job *train.Run) { job.Device = &late{Device: job.Device.(*cpu.Device)} },
		"recording": func(_ int, job *train.Run) {
			job.Device = &recording{late: late{Device: job.Device.(*cpu.Device)}}
		},
	} {
		dir, engines := together(t, 2, change)
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

// sleepy is a device whose steps take long.
type sleepy struct{ *cpu.Device }

func (d sleepy) BCE(loss, dlogits, logits, labels device.Buffer) {
	time.Sleep(100 * time.Millisecond)
	d.Device.BCE(loss, dlogits, logits, labels)
}

// TestSlowRank: rank 0 says which rank the others wait for, and the run has the hosts of all.
func TestSlowRank(t *testing.T) {
	var said bytes.Buffer
	dir, _ := together(t, 2, func(rank int, job *train.Run) {
		if rank == 0 {
			job.Log = slog.New(slog.NewTextHandler(&said, nil))
		} else {
			job.Device = sleepy{job.Device.(*cpu.Device)}
		}
	})
	if !strings.Contains(said.String(), "rank 1 on ") || !strings.Contains(said.String(), " is slow: ") {
		t.Errorf("nobody says that rank 1 is slow:\n%s", said.String())
	}
	if r, err := run.Open(dir); err != nil || len(r.Config.Hosts) != 2 || r.Config.Hosts[1] == "" {
		t.Errorf("%v: hosts %v were recorded, want those of two ranks", err, r.Config.Hosts)
	}
}
