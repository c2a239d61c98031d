package predict

import (
	"fmt"

	"github.com/dygmamba/dygmamba/protocol"
)

// subjects are queries about one node each, for a model that tells classes of nodes at times of their own: about the
// source, or where it never occurs, about the destination. For other models they are the queries themselves.
func (p *Predictor) subjects(qs []Query) []Query {
	if !p.spec.Alone {
		return qs
	}
	own := make([]Query, len(qs))
	for i, q := range qs {
		n := q.Src
		if !p.Known(n) && p.Known(q.Dst) {
			n = q.Dst
		}
		own[i] = Query{Src: n, Dst: n, Time: q.Time}
	}
	return own
}

// sameLabels refuses to measure a model on labels of another kind than those it learned.
func (p *Predictor) sameLabels() error {
	timed := p.options.Set.NodeLabels != nil
	if p.spec.Task != protocol.NodeClassification || p.spec.Alone == timed {
		return nil
	}
	kinds := map[bool]string{true: "labels of nodes with times of their own (data import --node-labels)",
		false: "labels of events"}
	return fmt.Errorf("%w: %s has %s, the model was trained on %s", ErrMisfit, p.options.Set.Name, kinds[timed],
		kinds[!timed])
}
