package eval

import (
	"cmp"
	"errors"
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
	cut := dataset.NewSplit
	if o.Task.OfEvents() || o.NoneHidden {
		cut = dataset.NewLabelSplit
	}
	if o.Task == protocol.NodeClassification && set.NodeLabels != nil {
		return openNodeLabels(set, o)
	}
	log := set.Log
	if o.Task == protocol.Next { // counts need the order of time
		log = log.InOrder()
	}
	split, err := cut(log, dataset.SplitOptions{Sampling: o.Sampling})
	if err != nil {
		return nil, err
	}
	p := NewProtocol(split, o)
	switch o.Task {
	case protocol.NodeClassification:
		return p, p.takeLabels(set)
	case protocol.Regression:
		return p, p.takeValues(set)
	}
	return p, nil
}

// openNodeLabels asks about labels of nodes with times of their own, which lie beside the events.
func openNodeLabels(set *dataset.Set, o Options) (*Protocol, error) {
	split, err := dataset.NewNodeLabelSplit(set, dataset.SplitOptions{Sampling: o.Sampling})
	if err != nil {
		return nil, err
	}
	if split.Train.Len() == 0 {
		return nil, fmt.Errorf("%s: %w: no label of a node has a time in the training part, up to %s", set.Name,
			ErrNoLabels, set.Clock().Show(split.ValTime))
	}
	limits := o.Limits
	o.Limits = Limits{}
	p := NewProtocol(split, o)
	p.beside = true
	if limits.Any() {
		p = p.Limit(limits)
	}
	return p, p.takeLabels(set)
}

// takeLabels finds out which classes labels stand for.
func (p *Protocol) takeLabels(set *dataset.Set) (err error) {
	if p.classes, err = set.ClassesAs(p.options.Classes); err != nil {
		return err
	}
	if !labelled(p.whole.Train.All(), p.classes) {
		return fmt.Errorf("%s: %w, want some with another label among the first 70 %%", set.Name, ErrNoLabels)
	}
	return nil
}

// ErrNoKinds says that there is nothing to tell apart.
var ErrNoKinds = errors.New("events have fewer than two kinds")

// ErrNoValues says that there is nothing to predict.
var ErrNoValues = errors.New("events have no values")

// takeValues finds the values of events.
func (p *Protocol) takeValues(set *dataset.Set) error {
	if set.Values == nil {
		return fmt.Errorf("%s: %w; data import --value names their column", set.Name, ErrNoValues)
	}
	p.values = set.Values
	return nil
}
