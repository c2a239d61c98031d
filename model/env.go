package model

import (
	"fmt"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/protocol"
)

// Env is what a model is built in: where it computes, what is known of nodes and events, and the seed of its first
// weights.
type Env struct {
	Device     device.Device
	Node, Edge dataset.Features
	// Timeline is what is known of nodes where that changes over time; Node then has its width and no rows. Nil: it
	// does not change.
	Timeline *dataset.Timeline
	NumNodes int // 1 + the largest node id
	// Kinds are those of the events, by edge id; nil: they have none.
	Kinds func() []event.Kind
	Names Names // what nodes are called; nil: by their ids
	Seed  uint64
	// Train is the training part of the data, for what a model takes from it before it learns. Nil where there are no
	// data.
	Train func() (event.Span, error)
	// OnFeatures hears of the tables that Features made, and how many kinds of events the last columns of the second
	// tell apart; may be nil.
	OnFeatures func(node, edge *nn.Features, kinds Kinds)
	// Shared is where models find what others have derived from the same events; nil: each derives it for itself.
	Shared *Shared
}

// Names is the dictionary of nodes, for what is known of a node by its name and not by its number. It may grow with the
// events: a node has its name before its first event is seen.
type Names interface {
	Name(n event.Node) string
	// Side tells nodes apart that may have the same name: sources, destinations, and nodes without a name, which are
	// called by their number.
	Side(n event.Node) uint8
}

// Features puts the features of nodes and events on the device, for a model that expects rows of the given widths;
// narrower ones are padded. Behind those of an event comes its kind, for a model that tells kinds apart.
func (e Env) Features(nodeDim, edgeDim int, kinds Kinds) (node, edge *nn.Features, err error) {
	for _, f := range []struct {
		what, key string
		features  dataset.Features
		kinds     int // columns
		most      int
	}{{"node", "node_feat_dim", e.describes(), 0, nodeDim}, {"edge", "edge_feat_dim", e.Edge, kinds.Width(), edgeDim}} {
		if wide := f.features.Cols + f.kinds; (f.features.Data != nil || f.kinds > 0) && wide > f.most {
			return nil, nil, fmt.Errorf("%s features have %d columns, %s is %d and must be at least as many: "+
				"train with --set %s=%d", f.what, wide, f.key, f.most, f.key, wide)
		}
	}
	if e.Timeline == nil {
		node = nn.NewFeatures(e.Device, e.Node.Data, e.Node.Rows, e.Node.Cols)
	} else { // row 0 is that of nodes of which nothing is known yet
		f := e.Timeline.Features
		node = nn.NewFeatures(e.Device, nil, 1, f.Cols)
		node.Grow(f.Data, f.Rows)
	}
	if kinds == 0 {
		edge = nn.NewFeatures(e.Device, e.Edge.Data, e.Edge.Rows, e.Edge.Cols)
	} else {
		edge = nn.NewFeatures(e.Device, nil, 0, e.Edge.Cols+kinds.Width())
		e.growWithKinds(edge, kinds)
	}
	if e.OnFeatures != nil {
		e.OnFeatures(node, edge, kinds)
	}
	return node, edge, nil
}

// describes is what is known of nodes, as far as its width goes.
func (e Env) describes() dataset.Features {
	if e.Timeline != nil {
		return e.Timeline.Features
	}
	return e.Node
}

// growWithKinds adds the rows of all events to a table, a part of them at a time.
func (e Env) growWithKinds(table *nn.Features, kinds Kinds) {
	var of []event.Kind
	if e.Kinds != nil {
		of = e.Kinds()
	}
	table.Expect(e.Edge.Rows)
	const part = 1 << 16
	var rows []float32
	for lo := 0; lo < e.Edge.Rows; lo += part {
		rows = rows[:0]
		for i := lo; i < min(lo+part, e.Edge.Rows); i++ {
			kind := event.Kind(0)
			if i < len(of) {
				kind = of[i]
			}
			rows = kinds.AppendRow(rows, e.Edge.Row(i), e.Edge.Cols, kind)
		}
		table.Grow(rows, len(rows)/table.Cols())
	}
}

// Data is what a configuration may depend on of the data it is for.
type Data struct {
	Name string
	// a user's own, drawn by our own generators; otherwise published, drawn as the reference programs draw
	Imported bool
	EdgeDim  int // columns of the events' features
	NodeDim  int // columns of the nodes' features
	Kinds    int // kinds of events; 0: they have none
	Events   int // how many there are, 0 where nobody knows
	Nodes    int // 1 + the largest node id, 0 where nobody knows
	// Span is how long the training part lasts, 0 where nobody knows.
	Span event.Time
	// Day is how long a day lasts in the unit of its times, 0 where nobody knows the unit.
	Day   event.Time
	OnCPU bool // they will be trained on by a CPU
}

// DataOf describes a data set.
func DataOf(s *dataset.Set) Data {
	if s == nil {
		return Data{}
	}
	return Data{Name: s.Name, Imported: s.Sampling == protocol.Native, EdgeDim: s.Edge.Cols,
		NodeDim: s.Node.Cols, Kinds: len(s.Kinds),
		Events: s.Log.Len(), Nodes: s.NumNodes(), Span: span(s.Log), Day: dataset.Day(s)}
}

// span is how long the training part of a log lasts, which ends where the validation part begins.
func span(l *event.Log) event.Time {
	if l.Len() == 0 {
		return 0
	}
	return l.At(int(trainShare*float64(l.Len()-1))).Time - l.At(0).Time
}

// trainShare is that of the events before validation.
const trainShare = 0.7
