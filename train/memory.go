package train

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/device/dry"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/optim"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// MemoryError says before training that it would not fit.
type MemoryError struct {
	Device      string
	Need, Limit int64 // bytes
	Hint        string
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s: training needs %s, %s may be used; %s", e.Device, mebibytes(e.Need), mebibytes(e.Limit), e.Hint)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Memory is what training takes on the device, in bytes.
type Memory struct {
	Fixed int64 // parameters, their gradients and moments, features
	Step  int64 // activations and gradients of one batch
}

// plan runs one step without computing anything, which tells exactly what a real one will take, and compares with what is there.
func (r *Run) plan(ctx context.Context, pass replay.Pass) (Memory, error) {
	need, err := r.need(ctx, pass)
	if err != nil {
		return need, err
	}
	limit := r.MemoryLimit
	if g, ok := r.Device.(interface{ FreeBytes() int64 }); limit == 0 && ok {
		limit = g.FreeBytes()
	} else if limit == 0 {
		limit = Available()
	}
	if sum := need.Fixed + need.Step; limit > 0 && sum > limit {
		return need, &MemoryError{Device: r.Device.Name(), Need: sum, Limit: limit, Hint: need.hint(limit, r.Spec.Training.BatchSize)}
	}
	return need, nil
}

// hint names settings that would fit: a step's memory is in proportion to the batch.
func (m Memory) hint(limit int64, batch int) string {
	fit := int(0.95 * float64(batch) * float64(limit-m.Fixed) / float64(m.Step)) // a little less: some memory does not shrink with it
	if fit < 1 {
		return "no batch_size fits; a shorter max_input_sequence_length or a smaller channel_embedding_dim needs less"
	}
	return fmt.Sprintf("batch_size=%d would fit, and so may a shorter max_input_sequence_length or a larger patch_size", fit)
}

func (r *Run) need(ctx context.Context, pass replay.Pass) (need Memory, err error) {
	dev := dry.New(0)
	m, err := r.Factory.Build(environment(r, dev), r.Spec)
	if err != nil {
		return need, fmt.Errorf("build %s: %w", r.Model, err)
	}
	c, err := optimizer(r.Spec.Training)
	if err != nil {
		return need, err
	}
	optim.New(m.Params(), c)
	need.Fixed = dev.Bytes()
	pass.Negatives = echo{} // the generator must not move yet
	events := r.Protocol.Split().Train.All()
	n := min(events.Len(), r.Spec.Training.BatchSize)
	for step, err := range pass.Batches(ctx, m, events.Slice(events.Len()-n, events.Len())) {
		if err != nil {
			return need, err
		}
		tape := grad.NewTape(dev, true)
		err := tensor.Guard(func() { learn(tape, m, step.Batch) })
		if err != nil {
			return need, err
		}
		need.Step = tape.Bytes()
	}
	return need, nil
}

// echo stands in for negatives: the positives again, which take as much memory.
type echo struct{}

func (echo) Draw(pos event.Span, out []sample.Query) {
	for i := range out {
		e := pos.At(i % pos.Len())
		out[i] = sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time}
	}
}

func (echo) Reset() {}

// Available is the memory that processes can still take on this machine, 0 where the system does not tell.
func Available() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
