package model

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Scorer answers queries, with or without anything to learn: EdgeBank is one without any tensors.
type Scorer interface {
	Plan() sample.Plan
	// Score writes one logit or score per query of b to out.
	Score(b *sample.Batch, out []float32) error
}

// StatefulScorer is a scorer that remembers events. Commit is the only way it does.
type StatefulScorer interface {
	Scorer
	Commit(b *sample.Batch) error // see Memory; b may have been asked about or gathered by UnitPlan
	UnitPlan() sample.Plan
	Snapshot() ([]tensor.Named, error)
	Restore([]tensor.Named) error // nil forgets everything
}

// Written is what a scorer remembers, to be written to a file before it is told of anything more.
func Written(s StatefulScorer) ([]tensor.Named, error) {
	if r, ok := s.(*remembering); ok {
		return r.written()
	}
	return s.Snapshot()
}

// Rewinder is a StatefulScorer that can go back without a copy of all it remembers. Mark makes it ready for that;
// rewind is called once, whatever happened since.
type Rewinder interface{ Mark() (rewind func()) }

// MemorySharer is a StatefulScorer that can share its memory with another one, of which it says whether it could: what
// either commits or forgets, the other does too. They have the same plans, and one of them may be at work at a time.
type MemorySharer interface {
	ShareMemory(with StatefulScorer) bool
}

// DeviceScorer answers queries with a model where its parameters lie. It belongs to one goroutine.
type DeviceScorer struct {
	model    Model
	head     Head
	tape     *grad.Tape
	alike    *grad.Tape // of ScoreAlike, once that was asked for
	step     func()     // bound once, so that scoring allocates nothing
	batch    *sample.Batch
	logits   *tensor.Tensor    // [n, 1]
	readings [2]device.Reading // of the batches under way
	started  int
	finished int
	memory   *remembering // nil until asked for, and where the model does not remember
	stop     <-chan struct{}
}

// NewScorer makes a scorer. The model may be trained on between calls.
func NewScorer(m Model) *DeviceScorer { return NewScorerWith(m, m.Head()) }

// NewScorerWith makes a scorer that asks another question than the model's own head.
func NewScorerWith(m Model, h Head) *DeviceScorer {
	s := &DeviceScorer{model: m, head: h, tape: grad.NewTape(m.Params().Device(), false)}
	s.step = func() { s.logits, _ = Logits(s.tape, s.model, s.head, s.batch) }
	return s
}

// Scorer is the scorer with all that its model can do: a StatefulScorer if it remembers.
func (s *DeviceScorer) Scorer() Scorer {
	m, remembers := s.model.(Memory)
	if !remembers {
		return s
	}
	if s.memory == nil {
		r := &remembering{DeviceScorer: s, memory: m}
		r.step = func() { m.Commit(r.commits, r.unit, nil) }
		s.memory = r
	}
	return s.memory
}

// StopWhen lets Start end with a *device.Stopped once done is closed, where the device can, until it is called again;
// nil: it does not.
func (s *DeviceScorer) StopWhen(done <-chan struct{}) { s.stop = done }

// Plan is what the model wants gathered.
func (s *DeviceScorer) Plan() sample.Plan { return s.model.Plan() }

// Score writes one logit per query of b to out.
func (s *DeviceScorer) Score(b *sample.Batch, out []float32) error {
	err := s.Start(b, out)
	for err == nil && s.finished < s.started { // also what another evaluation has left behind
		err = s.Finish()
	}
	return err
}

// Start begins to score b; Finish ends it. Two batches may be under way.
func (s *DeviceScorer) Start(b *sample.Batch, out []float32) error {
	reading := &s.readings[s.started%len(s.readings)]
	if dev, ok := s.tape.Device().(device.Stopper); ok && s.stop != nil {
		dev.StopWhen(s.stop)
		defer dev.StopWhen(nil)
	}
	err := tensor.Guard(func() {
		*reading = device.Reading{}
		if len(b.Queries) == 0 {
			return
		}
		s.batch = b
		s.tape.Reset(0)
		s.tape.Replay(StepKey(s.model, b), s.step)
		*reading = device.ReadLater(s.tape.Device(), out[:s.logits.Len()], s.logits.Data)
	})
	if err == nil {
		s.started++
	}
	return err
}

// Finish waits for the earliest batch under way.
func (s *DeviceScorer) Finish() error {
	if s.finished == s.started {
		return nil
	}
	reading := s.readings[s.finished%len(s.readings)]
	s.finished++
	return tensor.Guard(reading.Wait)
}

// Bytes is the device memory that scoring, and remembering, has needed so far.
func (s *DeviceScorer) Bytes() int64 {
	if c := s.commits(); c != nil {
		return s.tape.Bytes() + c.Bytes()
	}
	return s.tape.Bytes()
}

// Room is the part of a scorer's Bytes that Reserve can provide for.
type Room struct{ score, commit int64 }

// Room is what batches have needed so far.
func (s *DeviceScorer) Room() Room {
	if c := s.commits(); c != nil {
		return Room{s.tape.Room(), c.Room()}
	}
	return Room{score: s.tape.Room()}
}

// Reserve makes room for batches that have needed as much elsewhere, before any is scored; it panics with
// *device.OutOfMemory.
func (s *DeviceScorer) Reserve(r Room) {
	s.tape.Reserve(r.score)
	if m, remembers := s.Scorer().(*remembering); remembers && r.commit > 0 {
		m.own().Reserve(r.commit)
	}
}

// commits is the tape that commits have used, nil if there were none.
func (s *DeviceScorer) commits() *grad.Tape {
	if s.memory == nil {
		return nil
	}
	return s.memory.commits
}

// Close gives the scorer's memory back.
func (s *DeviceScorer) Close() {
	s.tape.Close()
	if s.alike != nil {
		s.alike.Close()
	}
	if c := s.commits(); c != nil {
		c.Close()
	}
}

// remembering is a scorer whose model remembers.
type remembering struct {
	*DeviceScorer
	memory  Memory
	commits *grad.Tape // of commits, once there was one
	step    func()
	unit    *sample.Batch
}

func (r *remembering) UnitPlan() sample.Plan { return r.memory.UnitPlan() }

// Commit remembers a batch's events on a tape of its own.
func (r *remembering) Commit(b *sample.Batch) error {
	return tensor.Guard(func() {
		if b.Events.Len() == 0 {
			return
		}
		r.unit = b
		r.own().Reset(0)
		r.commits.Replay(StepKey(r.memory, b), r.step)
	})
}

// own is the tape of commits.
func (r *remembering) own() *grad.Tape {
	if r.commits == nil {
		r.commits = grad.NewTape(r.tape.Device(), false)
	}
	return r.commits
}

func (r *remembering) Snapshot() (list []tensor.Named, err error) {
	guarded := tensor.Guard(func() { list = r.memory.Snapshot() })
	return list, guarded
}

func (r *remembering) written() (list []tensor.Named, err error) {
	w, ok := r.memory.(Writable)
	if !ok {
		return r.Snapshot()
	}
	guarded := tensor.Guard(func() { list = w.Written() })
	return list, guarded
}

func (r *remembering) Restore(list []tensor.Named) (err error) {
	if guarded := tensor.Guard(func() { err = r.memory.Restore(list) }); guarded != nil {
		return guarded
	}
	return err
}
