// Package model holds the contract between data and maths: what a model asks for, what it says, and what it remembers.
package model

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Model says something about queries, with parameters that can be learned.
type Model interface {
	Plan() sample.Plan
	// Embed describes the queries of b, and never changes what the model remembers. A batch with Calls is for Logits:
	// Embed is given one call at a time.
	Embed(tp *grad.Tape, b *sample.Batch) Embedding
	Head() Head         // what turns that into the answer "they interact"
	Params() *nn.Params // in a fixed order; those of the head are among them
	Close()             // gives all memory back
}

// Embedding is what a model says about n queries.
type Embedding struct {
	Src, Dst *tensor.Tensor // [n, ·]: the two nodes at the query's time, as far as the model tells seen from each other
	Pair     *tensor.Tensor // [n, ·]: what it knows of the two together; nil where it looks at each alone
	Kind     *tensor.Tensor // [n, ·]: which kind of event is asked about; nil where the model tells none apart
}

// Head turns embeddings into one logit for each query, [n, 1].
type Head interface {
	Logit(tp *grad.Tape, e Embedding) *tensor.Tensor
}

// Merge is the usual head: a small network on everything that the model says.
type Merge struct {
	nn.Merge
	Kind int // inputs that tell the kind that is asked about
}

// Logit is fc2·relu(fc1·[src ‖ dst ‖ pair ‖ kind]).
func (h Merge) Logit(tp *grad.Tape, e Embedding) *tensor.Tensor {
	parts := [4]*tensor.Tensor{e.Src, e.Dst}
	n := 2
	for _, x := range []*tensor.Tensor{e.Pair, e.Kind} {
		if x != nil {
			parts[n] = x
			n++
		}
	}
	return h.Forward(tp, parts[:n]...)
}

// Logits asks a model about all queries of b, call by call where they were gathered that way: [n, 1]. What it said of
// the positives, or of all, comes along for models that remember.
func Logits(tp *grad.Tape, m Model, h Head, b *sample.Batch) (*tensor.Tensor, Embedding) {
	if len(b.Calls) == 0 {
		e := m.Embed(tp, b)
		return h.Logit(tp, e), e
	}
	var first Embedding
	var list [2]*tensor.Tensor // more than these only with several negatives for each positive
	parts := list[:0]
	for i, c := range b.Calls {
		e := m.Embed(tp, c)
		parts = append(parts, h.Logit(tp, e))
		if i == 0 {
			first = e
		}
	}
	if len(parts) == 1 {
		return parts[0], first
	}
	return grad.Stack(tp, parts...), first
}

// Embedded is what a model says of all queries of b, which may have been gathered as one call at most.
func Embedded(tp *grad.Tape, m Model, b *sample.Batch) Embedding {
	if len(b.Calls) > 0 {
		b = b.Calls[0]
	}
	return m.Embed(tp, b)
}

// Sized is a model that says how wide its embeddings are.
type Sized interface {
	Widths() (node int, pair bool) // of Src and Dst; whether there is a Pair, which is as wide
}

// Widths is how wide a model's embeddings are. Those that do not say have the width of their head's two halves.
func Widths(m Model) (node int, pair bool) {
	if s, ok := m.(Sized); ok {
		return s.Widths()
	}
	h, ok := m.Head().(Merge)
	if !ok {
		panic("model: a head that is no Merge, and nobody says how wide embeddings are")
	}
	node = h.FC1.W.Rows() // the reference programs' hidden layer is as wide as an embedding
	return node, h.FC1.W.Cols()-h.Kind == 3*node
}

// Memory is a model that remembers events. Commit is the only way it does.
type Memory interface {
	Model
	// Commit remembers b.Events, about which the first b.Positives queries of b are. It computes on tp, after Embed and
	// before the optimizer moves, if the events are remembered in the step that asked about them: then e is what Embed
	// has said. Otherwise b was gathered by UnitPlan and e is nil. No gradient flows into what is remembered.
	Commit(tp *grad.Tape, b *sample.Batch, e *Embedding)
	UnitPlan() sample.Plan        // what Commit needs to know where nobody has asked
	Snapshot() []tensor.Named     // all that is remembered: for checkpoints, and to rewind
	Restore([]tensor.Named) error // nil forgets everything
	Grow(nodes int)               // makes room for node ids below nodes
}

// Writable is a Memory that can show what it remembers without a copy, valid until the next step.
type Writable interface{ Written() []tensor.Named }

// Shaper is a model whose steps can differ where the sizes of batches do not, as after a table moved: Shape must then
// differ too.
type Shaper interface {
	Shape(b *sample.Batch) uint64
}

// StepKey tells steps apart that must not be replayed for each other.
func StepKey(m Model, b *sample.Batch) uint64 {
	if s, ok := m.(Shaper); ok {
		return grad.Key(b.Shape(), s.Shape(b))
	}
	return b.Shape()
}

// Weigher is a model that can tell what it paid attention to.
type Weigher interface {
	Model
	// Weigh is Embed, and for each draw of the plan how much the steps of each row count, [rows, steps]; nil for draws
	// or forms of the model that have no weights. A step is as many consecutive positions of a row as make steps of
	// all; weights of a row add up to 1.
	Weigh(tp *grad.Tape, b *sample.Batch) (Embedding, []*tensor.Tensor)
}

// Explainer is a model that knows more of a query than the histories of its nodes and the gaps between their meetings.
type Explainer interface {
	Model
	// Facts are what it knows of query i of a batch. Name is what nodes are called.
	Facts(b *sample.Batch, i int, name func(event.Node) string) []Fact
}

// Fact is something that a model knows of a query, and that can be withheld from it. It marshals to a JSON object.
type Fact interface {
	Key() string             // its name in JSON documents, such as "next"
	Title() string           // its name in a table, such as "what comes next"
	Brief(dst string) string // the fact in a few words, which go on after "all but"; dst is the destination's name
	Text(dst string) string  // the fact in a sentence
	// Withhold takes it away from a batch that holds its query alone.
	Withhold(b *sample.Batch)
}
