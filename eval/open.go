package eval

import (
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
)

// BatchSize is that of the published protocol.
const BatchSize = replay.BatchSize

// Open splits a data set and makes the protocol of that split. Without Options.Sampling both draw as the set prefers.
func Open(set *dataset.Set, o Options) (*Protocol, error) {
	if o.Sampling == "" {
		o.Sampling = set.Sampling
	}
	so := dataset.SplitOptions{Sampling: o.Sampling}
	if o.Task == protocol.NodeClassification {
		split, err := dataset.NewLabelSplit(set.Log, so)
		if err != nil {
			return nil, err
		}
		if !labelled(split.Train.All()) {
			return nil, fmt.Errorf("%s: %w, want some with a label that is not 0 among the first 70 %%",
				set.Name, ErrNoLabels)
		}
		return NewProtocol(split, o), nil
	}
	cut := dataset.NewSplit
	if o.NoneHidden {
		cut = dataset.NewLabelSplit
	}
	split, err := cut(set.Log, so)
	if err != nil {
		return nil, err
	}
	return NewProtocol(split, o), nil
}
