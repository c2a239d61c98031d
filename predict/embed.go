package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/tensor"
)

// ErrNoEmbeddings is in the chain of the error about a model that embeds nothing.
var ErrNoEmbeddings = errors.New("the model has no embeddings: it reads counts of events")

// LoadEmbedder is Load for Embed: it also opens models of the task "next", where they have embeddings.
func LoadEmbedder(path string, o Options) (*Predictor, error) {
	p, err := load(path, o)
	if err == nil && p.spec.Task == protocol.Next && p.spec.Pairing == nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", p.choice.File, ErrNoEmbeddings)
	}
	return p, err
}

// Embed gives what the model says of the source of every query at its time, before a head makes an answer of it: rows
// of width numbers, one after another in the order of the queries. A query at t is described from the events strictly
// before t, as in Score.
//
// Some models look at each node alone. Others look at the two together, and what they say of a source depends on the
// destination: whom a node met last (LastMet) is a good one, for then the model is asked what it was trained on.
func (p *Predictor) Embed(ctx context.Context, qs []Query) (rows []float32, width int, err error) {
	if err := checkQueries(qs); err != nil {
		return nil, 0, err
	}
	if len(qs) == 0 {
		return nil, 0, nil
	}
	each, err := byGroup(ctx, p, qs, func(some []Query, _ int) ([][]float32, error) {
		found, err := p.describeAll(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		return slices.Collect(slices.Chunk(found, len(found)/len(some))), nil
	})
	if err != nil {
		return nil, 0, err
	}
	return slices.Concat(each...), len(each[0]), nil
}

// describeAll describes the sources of queries with the model as it is now.
func (p *Predictor) describeAll(ctx context.Context, qs []Query) ([]float32, error) {
	var all []float32
	done := 0
	m := model.Unpaired(p.model)
	for b, err := range p.gather(ctx, qs, m.Plan()) {
		if err != nil {
			return nil, err
		}
		err := tensor.Guard(func() {
			src := model.Embedded(p.freshTape(), m, b).Src // [n, width]
			all = append(all, p.host(src)...)
		})
		if err != nil {
			return nil, err
		}
		done += len(b.Queries)
		if tell := p.options.OnBatch; tell != nil {
			tell(done, len(qs))
		}
	}
	if i := slices.IndexFunc(all, notFinite); i >= 0 {
		q := qs[i/(len(all)/len(qs))]
		return nil, fmt.Errorf("%d at %v has %v, want a number; the weights may be broken", q.Src, q.Time, all[i])
	}
	return all, nil
}
