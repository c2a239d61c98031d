package eval

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
)

// BatchSize is that of the published protocol.
const BatchSize = replay.BatchSize

// Open splits a data set and makes the protocol of that split. Without Options.Sampling both draw as the set prefers.
func Open(set *dataset.Set, o Options) (*Protocol, error) {
	o.Sampling = cmp.Or(o.Sampling, set.Sampling)
	if o.Task == protocol.Next && !o.LinkSplit {
		split, err := dataset.NewOrderSplit(set.Log)
		if err != nil {
			return nil, err
		}
		return NewProtocol(split, o), nil
	}
	labels, cut := o.Task == protocol.NodeClassification, dataset.NewSplit
	if labels || o.NoneHidden {
		cut = dataset.NewLabelSplit
	}
	log := set.Log
	if o.Task == protocol.Next { // counts need the order of time
		log = log.InOrder()
	}
	split, err := cut(log, dataset.SplitOptions{Sampling: o.Sampling})
	if err != nil {
		return nil, err
	}
	if labels && !labelled(split.Train.All()) {
		return nil, fmt.Errorf("%s: %w, want some with a label that is not 0 among the first 70 %%",
			set.Name, ErrNoLabels)
	}
	return NewProtocol(split, o), nil
}
