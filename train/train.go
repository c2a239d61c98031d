// Package train answers: how does a model learn? It walks the training events in order, epoch by epoch, keeps the best
// epoch by validation, and can stop at any moment and continue where it stopped: the result is the same, bit for bit.
package train

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/internal/tensorboard"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/tensor"
)

// Run is one training: a model, a data set and a seed. The exported fields are set before Train is called.
type Run struct {
	Model    string // name in the catalogue, for the records
	Factory  model.Factory
	Spec     model.Spec
	Set      *dataset.Set
	Protocol *eval.Protocol
	Device   device.Device
	Seed     uint64
	From     string // checkpoint to begin with; "": random weights
	Backbone string // for node classification: the checkpoint of the model that was trained on links

	Dir         string               // run directory; "" keeps nothing
	Resume      bool                 // continue from Dir where there is something to continue from
	Deadline    time.Time            // when to end, test included, with the best epoch so far; zero: no limit
	Refit       *Fit                 // learn from all events, for as long as another run chose; nil: as usual
	Pace        Pace                 // what Fit found; zero: not known
	SaveEvery   time.Duration        // how often to save in the middle of an epoch; 0: at its end only
	MemoryLimit int64                // bytes that training may take on the device; 0: what is free
	ByAP        bool                 // choose the best epoch by AP alone
	TestEvery   int                  // look at the test sets every this many epochs, for information only; 0: never
	Strategies  []protocol.Negatives // negatives of the final evaluation; nil: random
	TensorBoard bool                 // write event files to Dir
	Until       int                  // pause after this many epochs, and leave the test alone; 0: train to the end

	Ranks  *collective.Group // processes that share the batches; nil: this one has all
	Shards int               // that a batch is then cut into; 0: DefaultShards

	Log     *slog.Logger    // nil: silent
	OnStep  func(Step)      // after every batch; may be nil
	OnEpoch func(run.Epoch) // after every epoch; may be nil

	actives int // what active has counted; 0: not yet
}

// Fit is what a run that learns from all events takes from the one that chose its number of epochs.
type Fit struct {
	run.Fit
	Chosen run.Result
	Dir    string // of that run
}

// Step is what a listener hears of a batch.
type Step struct {
	Epoch, Epochs int // this one, and at most this many
	Done, Total   int // training events of this epoch
	Loss          float64
	AP            float64 // mean over the epoch's batches so far
	Rate          float64 // training events a second, of this epoch
	Outlook       Outlook // of the whole training
	Spent         Spent   // by this rank so far, where ranks share the training
}

// Train runs until the epochs or the patience are over and evaluates the best epoch. When ctx ends, the state is saved
// first and the error wraps ctx's. When the device fails, what was saved last stays as it is.
func (r *Run) Train(ctx context.Context) (result run.Result, err error) {
	failed := tensor.Guard(func() { result, err = r.train(ctx) })
	return result, cmp.Or(failed, err)
}

func (r *Run) train(ctx context.Context) (run.Result, error) {
	t, err := r.open(ctx)
	if err != nil {
		return run.Result{}, err
	}
	defer t.close()
	for !t.at.Finished && (r.Until == 0 || t.at.Epoch < r.Until) {
		if t.noTime() {
			break
		}
		up, err := t.timeUp(ctx, t.epoch(ctx))
		if err != nil {
			return run.Result{}, err
		}
		if up {
			break
		}
	}
	if r.Until > 0 {
		return t.standing(), nil
	}
	return t.finish(ctx)
}

// logger is never nil.
func (r *Run) logger() *slog.Logger {
	if r.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.Log
}

func (r *Run) board() (*tensorboard.Writer, error) {
	if !r.TensorBoard || r.Dir == "" {
		return nil, nil
	}
	return tensorboard.New(r.Dir)
}
