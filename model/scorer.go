package model

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Scorer answers queries with a model where its parameters lie. It is a replay.Scorer and belongs to one goroutine.
type Scorer struct {
	model Model
	tape  *grad.Tape
	step  func() // bound once, so that scoring allocates nothing
	batch *sample.Batch
	out   []float32
}

// NewScorer makes a scorer. The model may be trained on between calls.
func NewScorer(m Model) *Scorer {
	s := &Scorer{model: m, tape: grad.NewTape(m.Params().Device(), false)}
	s.step = s.score
	return s
}

// Plan is what the model wants gathered.
func (s *Scorer) Plan() sample.Plan { return s.model.Plan() }

// Score writes one logit per query of b to out.
func (s *Scorer) Score(b *sample.Batch, out []float32) error {
	if len(b.Queries) == 0 {
		return nil
	}
	s.batch, s.out = b, out
	return tensor.Guard(s.step)
}

func (s *Scorer) score() {
	var logits *tensor.Tensor // [n, 1]
	s.tape.Reset(0)
	s.tape.Replay(Sizes(s.batch), func() { logits = s.model.Score(s.tape, s.batch) })
	s.tape.Device().Read(s.out[:logits.Len()], logits.Data)
}

// Bytes is the device memory that scoring has needed so far.
func (s *Scorer) Bytes() int64 { return s.tape.Bytes() }

// Close gives the scorer's memory back.
func (s *Scorer) Close() { s.tape.Close() }

// Sizes tells batches apart that differ in size.
func Sizes(b *sample.Batch) uint64 {
	return uint64(len(b.Queries))<<40 | uint64(b.Src.Len)<<20 | uint64(b.Dst.Len)
}
