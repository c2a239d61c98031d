package model

import (
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/tally"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Base is what models have in common: parameters, those of a head among them, and the features of nodes and events. A
// model embeds it, and has a Plan and an Embed of its own.
type Base struct {
	Node, Edge *nn.Features // once they are open
	params     *nn.Params
	head       Head
	kinds      Kinds        // that queries tell apart
	tally      *tally.Kinds // counts of kinds before a query; nil: none
	floats     []float32    // used again by the next batch
	timeline   *sample.Timeline
}

// Declared is a model whose parameters have names and shapes. They get memory and initial values before Open.
type Declared interface {
	Model
	Open(env Env) error // makes what the model needs beside its weights; nothing is left open where it fails
}

// NewBase has no parameters yet.
func NewBase(seed uint64) Base { return Base{params: nn.NewParams(seed)} }

// Params are the weights.
func (b *Base) Params() *nn.Params { return b.params }

// Head turns what the model says into an answer.
func (b *Base) Head() Head { return b.head }

// SetHead sets it.
func (b *Base) SetHead(h Head) { b.head = h }

// MergeHead sets the usual head over this many numbers, under the name that it has in the reference programs.
func (b *Base) MergeHead(inputs, width int) {
	b.MergeHeadOf(inputs, width, 0, false)
}

// MergeHeadOf is MergeHead for a model whose queries tell this many kinds of events apart, and, where they are counted,
// how often each was before.
func (b *Base) MergeHeadOf(inputs, width int, kinds Kinds, counted bool) {
	b.kinds = kinds
	kindWidth := kinds.Width()
	if counted && kinds > 0 {
		b.tally = new(tally.Kinds)
		kindWidth += tally.Width
	}
	b.head = Merge{nn.NewMerge(b.params.In("1"), inputs+kindWidth, width, 1), kindWidth}
}

// WithTally is a plan that also asks for counts of kinds, where the head wants them.
func (b *Base) WithTally(p sample.Plan) sample.Plan {
	if b.tally != nil {
		p.Extras = append(p.Extras, b.tally)
	}
	return p
}

// KindsAsked uploads which kinds the queries of a batch ask about, and how often these were before: [n, inputs of the
// head], nil where none are kindWidth apart.
func (b *Base) KindsAsked(tp *grad.Tape, batch *sample.Batch) *tensor.Tensor {
	if b.kinds == 0 {
		return nil
	}
	n, own := len(batch.Queries), b.kinds.Width()
	width := own
	if b.tally != nil {
		width += tally.Width
	}
	b.floats = slices.Grow(b.floats[:0], n*width)[:n*width]
	clear(b.floats)
	for i, q := range batch.Queries {
		row := b.floats[i*width : (i+1)*width]
		b.kinds.Put(q.Kind, row[:own])
		if b.tally != nil {
			copy(row[own:], tally.In(batch).X[i*tally.Width:(i+1)*tally.Width])
		}
	}
	return tp.Floats(b.floats, n, width)
}

// WithTimeline is a plan that also asks which row of the table of node features describes each node as of the query's
// time, where those change. Models that read this table ask for it.
func (b *Base) WithTimeline(p sample.Plan) sample.Plan {
	p.Timeline = b.timeline
	return p
}

func (b *Base) follow(t *dataset.Timeline) {
	if t != nil {
		b.timeline = sample.NewTimeline(t.Node, t.Time)
	}
}

// FreezeTime keeps the frequencies of the time encoder as they are, if asked to.
func (b *Base) FreezeTime(freeze bool) {
	if freeze {
		b.params.Freeze("0.time_encoder.")
	}
}

// OpenFeatures is Env.Features.
func (b *Base) OpenFeatures(env Env, nodeDim, edgeDim int) (err error) {
	b.Node, b.Edge, err = env.Features(nodeDim, edgeDim, 0)
	return err
}

// Close gives the memory of weights and features back.
func (b *Base) Close() {
	b.params.Close()
	for _, f := range []*nn.Features{b.Node, b.Edge} {
		if f != nil {
			f.Close()
		}
	}
}

// build gives parameters their memory and initial values, unless they plainly do not fit into this machine's, and opens
// the model.
func build(env Env, m Declared) (Model, error) {
	const gib = 1 << 30
	p := m.Params()
	if need, free := 4*int64(p.Count()), memory.Available(); free > 0 && need > free {
		return nil, fmt.Errorf("the weights take %.1f GiB, and %.1f GiB are free: narrower or fewer layers need less",
			float64(need)/gib, float64(free)/gib)
	}
	if b, ok := m.(interface{ follow(*dataset.Timeline) }); ok {
		b.follow(env.Timeline)
	}
	p.Place(env.Device)
	if err := m.Open(env); err != nil {
		p.Close()
		return nil, err
	}
	return m, nil
}

// Table lists parameters as Kind.Table wants them.
func Table(p *nn.Params) []Shape {
	var table []Shape
	for _, q := range p.All() {
		table = append(table, Shape{Name: q.Name, Dims: q.Shape()})
	}
	return table
}
