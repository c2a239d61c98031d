// Package replay answers: in which order? It asks about a batch before any model may remember it.
package replay

import (
	"context"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Planner says what it wants gathered for each query. Every scorer and every model does.
type Planner interface {
	Plan() sample.Plan
}

// Scorer answers queries. EdgeBank is one without any tensors; a model with parameters is bound to a device to become
// one.
type Scorer = model.Scorer

// Starter is a scorer that computes while its caller goes on.
type Starter interface {
	Scorer
	// Start begins to score. b may be used again at once; out is filled when the Finish that belongs to it has
	// returned. One batch may be started while another is under way.
	Start(b *sample.Batch, out []float32) error
	// Finish waits for the earliest batch that was started.
	Finish() error
}

// Stopper is a scorer that can end before it has scored: Start then returns an error with a *device.Stopped.
type Stopper interface{ StopWhen(done <-chan struct{}) }

// Ranker is a scorer whose scores only put queries in order. They are no log-odds, so no loss is computed of them.
type Ranker interface {
	Scorer
	RankOnly()
}

// Memory is a planner that remembers events. A pass decides when: see Pass.Order.
type Memory interface {
	Planner
	UnitPlan() sample.Plan        // what Commit wants gathered of events that nobody has just asked about
	Commit(b *sample.Batch) error // remembers b.Events
}

// BulkMemory is a Memory that gathers nothing, and knows the same however events that nobody asks about are cut into
// units.
type BulkMemory interface {
	Memory
	CommitAll(ctx context.Context, events event.Span) error // remembers events, or nothing if ctx ends
}
