package model

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Scorer answers queries with a model where its parameters lie. It is a replay.Starter and belongs to one goroutine.
type Scorer struct {
	model    Model
	tape     *grad.Tape
	step     func() // bound once, so that scoring allocates nothing
	batch    *sample.Batch
	logits   *tensor.Tensor    // [n, 1]
	readings [2]device.Reading // of the batches under way
	started  int
	finished int
}

// NewScorer makes a scorer. The model may be trained on between calls.
func NewScorer(m Model) *Scorer {
	s := &Scorer{model: m, tape: grad.NewTape(m.Params().Device(), false)}
	s.step = func() { s.logits = s.model.Score(s.tape, s.batch) }
	return s
}

// Plan is what the model wants gathered.
func (s *Scorer) Plan() sample.Plan { return s.model.Plan() }

// Score writes one logit per query of b to out.
func (s *Scorer) Score(b *sample.Batch, out []float32) error {
	err := s.Start(b, out)
	for err == nil && s.finished < s.started { // also what another evaluation has left behind
		err = s.Finish()
	}
	return err
}

// Start begins to score b; Finish ends it. Two batches may be under way.
func (s *Scorer) Start(b *sample.Batch, out []float32) error {
	reading := &s.readings[s.started%len(s.readings)]
	err := tensor.Guard(func() {
		*reading = device.Reading{}
		if len(b.Queries) == 0 {
			return
		}
		s.batch = b
		s.tape.Reset(0)
		s.tape.Replay(Sizes(b), s.step)
		*reading = device.ReadLater(s.tape.Device(), out[:s.logits.Len()], s.logits.Data)
	})
	if err == nil {
		s.started++
	}
	return err
}

// Finish waits for the earliest batch under way.
func (s *Scorer) Finish() error {
	if s.finished == s.started {
		return nil
	}
	reading := s.readings[s.finished%len(s.readings)]
	s.finished++
	return tensor.Guard(reading.Wait)
}

// Bytes is the device memory that scoring has needed so far.
func (s *Scorer) Bytes() int64 { return s.tape.Bytes() }

// Room is the part of Bytes that Reserve can provide for.
func (s *Scorer) Room() int64 { return s.tape.Room() }

// Reserve makes room for batches that have needed Room bytes elsewhere, before any is scored; it panics with *device.OutOfMemory.
func (s *Scorer) Reserve(bytes int64) { s.tape.Reserve(bytes) }

// Close gives the scorer's memory back.
func (s *Scorer) Close() { s.tape.Close() }

// Sizes tells batches apart that differ in size: rows shorter than 2²², fewer than 2²⁰ queries.
func Sizes(b *sample.Batch) uint64 {
	return uint64(len(b.Queries))<<44 | uint64(b.Src.Len)<<22 | uint64(b.Dst.Len)
}
