// Package eventlog answers: which events arrived, in which order, and are they on disk? It keeps batches of events
// before any model sees them, so that acknowledged events are never lost. All logs implement one small interface.
package eventlog

import (
	"context"
	"errors"
	"io"
)

// Event is an event as it was sent, with the names of its nodes. The names of a batch that was read are parts of one
// string: clone those that are kept for long.
type Event struct {
	Src, Dst string
	Time     float64
	Label    float64
	Features []float32 // nil: none were sent
	Kind     string    // "": none was sent
	ID       string    // by which it can be removed; "": none was sent

	Erased bool // it was removed: it keeps its sequence, and nothing else of it is there
}

// Batch is the events of one request. They have the sequences Last−len(Events)+1 … Last; the first of a log is 1.
type Batch struct {
	Key    string // idempotency key of the request; "": none
	Last   uint64
	Events []Event
}

// Receipt says where a batch stands in the log. Again means that its key was seen before: nothing was taken, and Last
// and Accepted are those of the first time. Differs means that the key was bound to other content then: see BindKey.
type Receipt struct {
	Last     uint64
	Accepted int
	Again    bool
	Differs  bool
}

// Log is an append-only sequence of batches. All methods may be called from any goroutine.
type Log interface {
	// Append returns when all events of the batch are durable, or takes none of them. Batches of concurrent calls may
	// share one write to the disk. An empty batch takes no place, and its key is not remembered. The log remembers the
	// latest KeptKeys keys.
	Append(ctx context.Context, key string, events []Event) (Receipt, error)

	// Follow calls take with the batches that end after a sequence, in order: first those that are there, then each new
	// one soon after it is durable. It returns when ctx ends, when take fails, or when a record is damaged (ErrDamaged,
	// with its sequence).
	Follow(ctx context.Context, after uint64, take func(Batch) error) error

	// Last is the sequence of the last event that is known to be durable.
	Last() uint64

	// Remove erases events, all of them or none. When it returns, nothing of them is left in the log but sequences:
	// whoever follows gets them as Erased. Keys are still recognised. An event that is erased already stays so; a
	// sequence that the log does not have is ErrUnknown. The result is the number of the removal.
	Remove(ctx context.Context, r Removal) (uint64, error)

	// FollowRemovals calls take with the removals after a number, in order: first those that are there, then each new
	// one soon after it is durable. It returns when ctx ends, when take fails, or when the log ends.
	FollowRemovals(ctx context.Context, after uint64, take func(Removal) error) error

	// Removals is the number of the last removal that is known to be durable, 0 for none.
	Removals() uint64

	Close() error
}

// Removal says which events were erased. Those who had taken them find them in it.
type Removal struct {
	Number    uint64   // from 1, in the order of the log
	Last      uint64   // the last sequence of the log at that time: later events were never taken with erased ones
	Sequences []uint64 // of the events, ascending
	Note      string   // what else belongs to it, for those who follow
}

// Checker is a log that can tell whether it would take events now. Check returns ErrFull, ErrAway, or why it has ended.
type Checker interface {
	Check(ctx context.Context) error
}

// Trimmer is a log that can drop old events.
type Trimmer interface {
	// Trim removes the first batches of the log for as long as all events of a batch are before a time, and none is
	// after a sequence. Sequences go on, and keys are still recognised.
	Trim(ctx context.Context, cut float64, upTo uint64) error

	// Begin is the sequence after which the log begins, and the latest time that it was trimmed with; −Inf: none.
	Begin() (after uint64, cut float64)
}

// Copier is a log that can be copied while it goes on taking events.
type Copier interface {
	Copy() (Copy, error)
}

// Copy is the file of a log as it was when Copy was called.
type Copy interface {
	io.WriterTo
	Name() string
	Size() int64
	Close() error
}

// Errors of logs. They are wrapped with where it happened, what was found and what would help.
var (
	ErrTooLarge = errors.New("the batch is too large for the event log")
	ErrClosed   = errors.New("the event log is closed")
	ErrInUse    = errors.New("the event log is in use by another process")
	ErrFull     = errors.New("there is no space left for events")
	ErrDamaged  = errors.New("a record of the event log is damaged")
	ErrAway     = errors.New("the event log cannot be reached")

	ErrUnknown   = errors.New("the event log does not have this event")
	ErrForgotten = errors.New("the event log has forgotten these events")
)
