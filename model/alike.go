package model

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Sharer is a model that can spare itself work where queries are alike, as those about one source at one time are.
type Sharer interface {
	Model
	// Share is Embed, which computes what is the same for several queries once. On the CPU it says the same to the
	// last digit. It is not differentiated, and two batches of one size may go through different steps.
	Share(tp *grad.Tape, b *sample.Batch) Embedding
}

// ScoreAlike is Score for queries that have much in common.
func (s *Scorer) ScoreAlike(b *sample.Batch, out []float32) error {
	m, ok := s.model.(Sharer)
	if !ok || len(b.Calls) > 0 || len(b.Queries) == 0 {
		return s.Score(b, out)
	}
	return tensor.Guard(func() {
		if s.alike == nil {
			s.alike = grad.NewTape(s.tape.Device(), false)
		}
		s.alike.Reset(0)
		logits := s.head.Logit(s.alike, m.Share(s.alike, b)) // [n, 1]
		s.alike.Device().Read(out[:logits.Len()], logits.Data)
	})
}
