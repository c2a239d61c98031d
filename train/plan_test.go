package train_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/train"
)

// greedy is a device that takes memory for itself.
type greedy struct {
	device.Device
	own int64
}

func (g greedy) Plan(m device.Memory) (device.Device, func() int64) {
	return m.(device.Device), func() int64 { return g.own }
}

// What the device takes for itself is part of the plan, and so is evaluation, during which training keeps its memory.
func TestPlanCountsEverything(t *testing.T) {
	needed := func(own int64) *train.MemoryError {
		run := small(t, "", "num_epochs=1")
		run.Device, run.MemoryLimit = greedy{run.Device, own}, 1<<20
		_, err := run.Train(t.Context())
		var short *train.MemoryError
		if !errors.As(err, &short) {
			t.Fatalf("a MiB of memory gave %v", err)
		}
		return short
	}
	plain, more := needed(0), needed(5<<20)
	if more.Need != plain.Need+5<<20 {
		t.Errorf("needs %d bytes, and %d with 5 MiB for the device", plain.Need, more.Need)
	}
	for _, part := range []string{"training needs ",
		" MiB, 1.0 MiB may be used; no batch_size fits; a shorter max_input_sequence_length"} {
		if !strings.Contains(more.Error(), part) {
			t.Errorf("%q lacks %q", more, part)
		}
	}
	run := small(t, "", "num_epochs=1")
	counted := &peak{Device: run.Device}
	run.Device = counted
	if _, err := run.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counted.most > plain.Need || counted.most < plain.Need/2 {
		t.Errorf("a whole training took %d bytes, %d were planned", counted.most, plain.Need)
	}
}

// peak counts what is allocated.
type peak struct {
	device.Device
	used, most int64
}

func (p *peak) count(n int) {
	p.used += 4 * int64(n)
	p.most = max(p.most, p.used)
}

func (p *peak) Alloc(n int) device.Buffer   { p.count(n); return p.Device.Alloc(n) }
func (p *peak) AllocInts(n int) device.Ints { p.count(n); return p.Device.AllocInts(n) }
func (p *peak) Free(b device.Buffer)        { p.count(-b.Len); p.Device.Free(b) }
func (p *peak) FreeInts(b device.Ints)      { p.count(-b.Len); p.Device.FreeInts(b) }

// Rows of nodes that take part in no event of a training take no memory, and are not planned for: a part of the events
// of millions of nodes fits where a row for each of them would not. Other devices have all rows.
func TestPlanLeavesOutUnwrittenRows(t *testing.T) {
	job := limited(t, "", eval.Limits{Train: 100, Val: 50, Test: 50, Block: true})
	seen, split := map[event.Node]bool{}, job.Protocol.Split()
	for _, l := range []*event.Log{split.Train, split.Val, split.Test} {
		for i := range l.Len() {
			e := l.At(i)
			seen[e.Src], seen[e.Dst] = true, true
		}
	}
	const small, large = 1 << 20, device.SparseBytes
	want := large - int64(len(seen))*(large/int64(job.Set.NumNodes())+4096)
	if got := job.Unwritten(small, large); got != max(0, want) || got == 0 {
		t.Errorf("%d bytes are never written, want %d", got, want)
	}
	job.Device = greedy{Device: job.Device}
	if got := job.Unwritten(large); got != 0 {
		t.Errorf("%d bytes of a device that has all rows are never written", got)
	}
}
