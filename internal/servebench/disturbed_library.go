package servebench

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
)

// pairs are questions about the time after the latest event: half of them about pairs of the newest events, among them
// nodes that came in.
func (d *disturbed) pairs(log *event.Log, latest float64, seed uint64) (qs []predict.Query) {
	rng := rand.New(rand.NewPCG(seed, 29))
	d.verdict.Disturbed.NewNodes = max(d.verdict.Disturbed.NewNodes, log.NumNodes()-d.Set.First(d.From).Log.NumNodes())
	for k := range questionsPerCheck {
		e := log.At(log.Len() - 1 - rng.IntN(min(log.Len(), 500)))
		q := predict.Query{Src: e.Src, Dst: e.Dst, Time: latest + 1 + float64(k/2%3)}
		if k%2 == 1 {
			q.Dst = log.At(rng.IntN(log.Len())).Dst
		}
		qs = append(qs, q)
	}
	return qs
}

// library is what the library answers from some events.
func (d *disturbed) library(ctx context.Context, log *event.Log, qs []predict.Query) ([]answer, error) {
	set := *d.Set
	set.Log = log
	o := d.Load
	o.Set, o.Live = d.Set, predict.NewPastOf(&set, func(int) bool { return true })
	l, err := d.open(o, &d.verdict)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	size := len(qs)
	if len(d.verdict.Depends) > 0 {
		size = 2
	}
	ask := l.Score
	if l.Remembers() && d.verdict.Order == protocol.Arrival {
		if ask, err = d.arrived(ctx, l.Predictor, log); err != nil {
			return nil, err
		}
	}
	return l.answers(ctx, qs, size, ask)
}

// arrived lets a memory take whole batches of events in the order in which they came, as the server does.
func (d *disturbed) arrived(ctx context.Context, p *predict.Predictor, log *event.Log) (
	func(context.Context, []predict.Query) ([]float32, error), error) {
	scorer := p.Scorer()
	memory, ok := scorer.(model.StatefulScorer)
	if !ok {
		return nil, errors.New("the model has no memory")
	}
	if err := memory.Restore(nil); err != nil {
		return nil, err
	}
	size := p.Spec().Training.BatchSize
	pass := replay.Pass{Past: index.Freeze(log), BatchSize: size, Order: protocol.Arrival, Sampling: d.Set.Sampling,
		Seed: 1}
	for _, err := range pass.Batches(ctx, scorer, log.All().Slice(0, log.Len()/size*size)) {
		if err != nil {
			return nil, err
		}
	}
	var questions replay.Questions
	return func(_ context.Context, some []predict.Query) ([]float32, error) {
		if err := questions.Prepare(pass, scorer.Plan(), len(some)); err != nil {
			return nil, err
		}
		out := make([]float32, len(some))
		return out, scorer.Score(questions.Gather(some), out)
	}, nil
}
