package predict

import (
	"context"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

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
	every := make([]int, len(qs))
	for i := range every {
		every[i] = i
	}
	describe := func(group []int) error {
		some := make([]Query, len(group))
		for k, i := range group {
			some[k] = qs[i]
		}
		found, err := p.describeAll(ctx, some)
		if err != nil {
			return fmt.Errorf("embed: %w", err)
		}
		if rows == nil {
			width = len(found) / len(group)
			rows = make([]float32, len(qs)*width)
		}
		for k, i := range group {
			copy(rows[i*width:(i+1)*width], found[k*width:])
		}
		return nil
	}
	switch {
	case len(qs) == 0:
	case p.stream != nil:
		err = p.stream.visit(ctx, qs, describe)
	default:
		err = describe(every)
	}
	return rows, width, err
}

// describeAll describes the sources of queries with the model as it is now.
func (p *Predictor) describeAll(ctx context.Context, qs []Query) ([]float32, error) {
	var all []float32
	done := 0
	for b, err := range p.gather(ctx, qs, p.model.Plan()) {
		if err != nil {
			return nil, err
		}
		err := tensor.Guard(func() {
			dev := p.model.Params().Device()
			if p.tape == nil {
				p.tape = grad.NewTape(dev, false)
			}
			p.tape.Reset(0)
			src := model.Embedded(p.tape, p.model, b).Src // [n, width]
			host := make([]float32, src.Len())
			dev.Read(host, src.Data)
			all = append(all, host...)
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
