package train

import (
	"context"
	"fmt"

	"github.com/dygmamba/dygmamba/device/dry"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/model"
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
	Score int64 // activations of one batch in evaluation, which keeps what Step has
	Own   int64 // what the device takes for itself meanwhile: partial sums, inputs on their way, its driver

	stepRoom, scoreRoom int64 // the parts of Step and Score that can be reserved
}

func (m Memory) sum() int64 { return m.Fixed + m.Step + m.Score + m.Own }

// plan runs one step without computing anything, which tells what a real one will take at most, and compares with what is there.
func (r *Run) plan(ctx context.Context, pass replay.Pass) (Memory, error) {
	need, err := r.need(ctx, pass, r.Spec.Training.BatchSize)
	if err != nil {
		return need, err
	}
	limit := r.MemoryLimit
	if g, ok := r.Device.(interface{ FreeBytes() int64 }); limit == 0 && ok {
		limit = g.FreeBytes()
	} else if limit == 0 {
		limit = memory.Available()
	}
	if limit <= 0 || need.sum() <= limit {
		return need, nil
	}
	hint, err := r.hint(ctx, pass, limit)
	if err != nil {
		return need, err
	}
	return need, &MemoryError{Device: r.Device.Name(), Need: need.sum(), Limit: limit, Hint: hint}
}

// hint names settings that would fit: the largest batch does, for it is tried.
func (r *Run) hint(ctx context.Context, pass replay.Pass, limit int64) (string, error) {
	fit, above := 0, r.Spec.Training.BatchSize
	for above-fit > 1 {
		batch := (fit + above) / 2
		need, err := r.need(ctx, pass, batch)
		if err != nil {
			return "", err
		}
		if need.sum() <= limit {
			fit = batch
		} else {
			above = batch
		}
	}
	if fit == 0 {
		return "no batch_size fits; a shorter max_input_sequence_length or a smaller channel_embedding_dim needs less", nil
	}
	return fmt.Sprintf("batch_size=%d would fit, and so may a shorter max_input_sequence_length or a larger patch_size", fit), nil
}

// need is what training takes with batches of a size.
func (r *Run) need(ctx context.Context, pass replay.Pass, batch int) (need Memory, err error) {
	dev, taken, own := dry.Like(r.Device)
	m, err := r.Factory.Build(environment(r, dev), r.Spec)
	if err != nil {
		return need, fmt.Errorf("build %s: %w", r.Model, err)
	}
	c, err := optimizer(r.Spec.Training)
	if err != nil {
		return need, err
	}
	opt := optim.New(m.Params(), c)
	need.Fixed = taken.Bytes()
	pass.Negatives, pass.BatchSize = echo{}, batch // the generator must not move yet
	events := r.Protocol.Split().Train.All()
	n := min(events.Len(), batch)
	for step, err := range pass.Batches(ctx, m, events.Slice(events.Len()-n, events.Len())) {
		if err != nil {
			return need, err
		}
		err := tensor.Guard(func() {
			tape := grad.NewTape(dev, true)
			tape.Replay(0, func() { learn(tape, m, step.Batch); opt.Step() })
			need.Step, need.stepRoom = tape.Bytes(), tape.Room()
		})
		if err != nil {
			return need, err
		}
		scorer := model.NewScorer(m)
		if err := scorer.Score(step.Batch, make([]float32, len(step.Batch.Queries))); err != nil {
			return need, err
		}
		need.Score, need.scoreRoom = scorer.Bytes(), scorer.Room()
	}
	need.Own = own()
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
