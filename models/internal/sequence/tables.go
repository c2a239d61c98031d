package sequence

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
)

// Tables are what the positions of histories are looked up in: features of nodes and of events, and how often a
// neighbour occurs.
type Tables struct {
	Node, Edge *nn.Features
	Often      *Counts // is there before Open

	ids    []int32 // used again by the next batch
	floats []float32
}

// Open uploads features, unless they are all zero, with the kinds of events that the model tells apart, and all counts
// up to the most that there can be.
func (t *Tables) Open(env model.Env, nodeDim, edgeDim int, kinds model.Kinds, most int) (err error) {
	if t.Node, t.Edge, err = env.Features(nodeDim, edgeDim, kinds); err != nil {
		return err
	}
	t.Often.Open(env.Device, most)
	return nil
}

// Close gives their memory back.
func (t *Tables) Close() {
	t.Often.Close()
	t.Node.Close()
	t.Edge.Close()
}

// Moves changes whenever kernels that read features do.
func (t *Tables) Moves() uint64 { return grad.Key(uint64(t.Node.Moves()), uint64(t.Edge.Moves())) }
