package predict

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// shared is a memory with two users: queries, which live through the events, and evaluations, which go on from what the
// checkpoint holds. Each finds what it left.
type shared struct {
	mine   bool           // queries had it last
	others []tensor.Named // what evaluations go on from, if so
}

// take gives the memory to queries.
func (s *stream) take() (err error) {
	if s.mine {
		return nil
	}
	if s.others, err = s.memory.Snapshot(); err != nil {
		return err
	}
	s.mine = true
	s.lose()
	return nil
}

// give gives the memory to evaluations.
func (s *stream) give() error {
	if !s.mine {
		return nil
	}
	if err := s.memory.Restore(s.others); err != nil {
		return err
	}
	s.mine, s.others = false, nil
	return nil
}

// evaluated is a model that remembers, for an evaluation: it has the memory whenever it is used.
type evaluated struct {
	starter
	stream *stream
}

// starter is what a scorer of a model that remembers can do.
type starter interface {
	model.StatefulScorer
	replay.Starter
}

func (e evaluated) Score(b *sample.Batch, out []float32) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Score(b, out)
}

func (e evaluated) Start(b *sample.Batch, out []float32) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Start(b, out)
}

func (e evaluated) Commit(b *sample.Batch) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Commit(b)
}

func (e evaluated) Snapshot() ([]tensor.Named, error) {
	if err := e.stream.give(); err != nil {
		return nil, err
	}
	return e.starter.Snapshot()
}

func (e evaluated) Restore(list []tensor.Named) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Restore(list)
}
