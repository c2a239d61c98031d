// Package eventlog answers: what arrived, in which order, and is it on disk? It keeps batches of events as they came
// in, before any model sees them, so that what was acknowledged is never lost. Engines stand behind one small contract.
package eventlog

import (
	"context"
	"errors"
)

// Event is an interaction as it was sent: nodes by their names, not by numbers of this process. The names of a batch
// that was read share one piece of memory: clone those that are kept for long.
type Event struct {
	Src, Dst string
	Time     float64
	Label    float64
	Features []float32 // nil: none were sent
}

// Batch is what one request brought. Its events have the sequences Last−len(Events)+1 … Last; the first of a log is 1.
type Batch struct {
	Key    string // of the request, so that it is taken once however often it is sent; "": none
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
	// Append returns when the whole batch is durable, or takes nothing of it. Batches of concurrent calls may share
	// one write to the disk. An empty batch takes no place, and its key is not remembered. Of keys the latest KeptKeys
	// are.
	Append(ctx context.Context, key string, events []Event) (Receipt, error)

	// Follow hands the batches that end after a sequence to take, in order, whoever appended them: first those that are
	// there, then each new one soon after it is durable. It returns when ctx ends, when take fails, or when a record is
	// damaged (ErrDamaged, with its sequence).
	Follow(ctx context.Context, after uint64, take func(Batch) error) error

	// Last is the sequence of the last event that is known to be durable.
	Last() uint64

	Close() error
}

// What can be wrong with a log. Errors of an engine wrap these and say where, what was found and what would help.
var (
	ErrTooLarge = errors.New("the batch is too large for the event log")
	ErrClosed   = errors.New("the event log is closed")
	ErrInUse    = errors.New("the event log is in use by another process")
	ErrFull     = errors.New("there is no space left for events")
	ErrDamaged  = errors.New("a record of the event log is damaged")
	ErrAway     = errors.New("the event log cannot be reached")

	ErrForgotten = errors.New("the event log has forgotten these events")
)
