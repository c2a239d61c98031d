package predict

import (
	"cmp"
	"context"
	"errors"

	"github.com/dygmamba/dygmamba/eval"
)

// Evaluation opens a session that measures contenders on the last part of the predictor's data set, or the predictor
// alone if there are none. The task is the predictor's; sampling, batch size, order and threads are too, unless o says
// otherwise. All contenders are warm: a memory that belongs to other events than those before the test is made anew.
func (p *Predictor) Evaluation(ctx context.Context, o eval.Options, list ...eval.Contender) (*eval.Session, error) {
	if p.options.Set == nil {
		return nil, errors.New("evaluate: no data set to measure on")
	}
	o.Task = p.spec.Task
	o.Sampling = cmp.Or(o.Sampling, p.sampling())
	o.BatchSize = cmp.Or(o.BatchSize, p.spec.Training.BatchSize)
	o.Order = cmp.Or(o.Order, p.spec.Order)
	o.Threads = cmp.Or(o.Threads, p.options.Threads)
	if list == nil {
		list = []eval.Contender{p.Contender("")}
	}
	return eval.OpenSession(ctx, p.options.Set, o, list...)
}

// Contender is the predictor for a session, beside others of the same data set and settings.
func (p *Predictor) Contender(name string) eval.Contender {
	return eval.Contender{Name: name, Scorer: p.Scorer(), Calibration: p.calibration, Ask: p.LogitsNow, Warm: p.warm}
}

// warm says whether the memory that the checkpoint holds is the one after a protocol's validation: the data and their
// split must be those of the training, by hash. An older checkpoint without its run has no hashes; there the name of
// the data set decides.
func (p *Predictor) warm(protocol *eval.Protocol) bool {
	if !p.stored {
		return false
	}
	if p.origin.DataHash == "" {
		return p.origin.Data == p.options.Set.Name
	}
	split := protocol.Split().Hash
	return cmp.Or(p.origin.SplitHash, split) == split && p.origin.DataHash == p.options.Set.Hash()
}
