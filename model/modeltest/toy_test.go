package modeltest

import (
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestNewModel: a model that nobody has heard of keeps every promise, with nothing changed anywhere. All that it is
// stands below.
func TestNewModel(t *testing.T) { Conform(t, "toy", toyFactory(asItIs)) }

type toyConfig struct {
	Dim   int  `json:"memory_dim" about:"width of a node's memory"`
	Exact bool `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

func (c toyConfig) Check() error {
	if c.Dim < 2 {
		return fmt.Errorf("memory_dim is %d, must be at least 2", c.Dim)
	}
	return nil
}

func toyFactory(made func(*toy) model.Model) model.Factory {
	return model.Make(model.Kind[toyConfig]{
		Summary: "nodes that meet exchange what they are", Lighter: "a smaller memory_dim",
		Default: toyConfig{Dim: 100}, Remembers: true,
		Build: func(env model.Env, c toyConfig) (model.Model, error) { return made(newToy(env, c)), nil },
	})
}

func asItIs(m *toy) model.Model { return m }

// toy remembers a vector of each node. An embedding is made of that and of how long ago the node did anything; who
// meets takes over what the other was.
type toy struct {
	cfg    toyConfig
	params *nn.Params
	time   nn.TimeEncoder
	embed  nn.Linear
	head   model.Head
	state  *nn.State
	memory *nn.Table // [nodes, dim]
	host   []int32
}

func newToy(env model.Env, c toyConfig) *toy {
	m := &toy{cfg: c, params: nn.NewParams(env.Seed), state: nn.NewState(env.Device, env.NumNodes)}
	m.time = nn.NewTimeEncoder(m.params.In("0.time_encoder"), c.Dim)
	m.embed = nn.NewLinear(m.params.In("0.embed"), 2*c.Dim, c.Dim)
	m.head = model.Merge{Merge: nn.NewMerge(m.params.In("1"), 2*c.Dim, c.Dim, 1)}
	m.params.Place(env.Device)
	m.memory = m.state.Add("memory", c.Dim)
	return m
}

func (m *toy) Plan() sample.Plan {
	return sample.Plan{Draws: sample.Both(sample.Draw{Neighbors: 1, RowLen: 1}), ExactTimes: m.cfg.Exact}
}

func (m *toy) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	src, dst := m.nodes(tp, b, len(b.Queries))
	return model.Embedding{Src: m.side(tp, src, &b.Rows[0]), Dst: m.side(tp, dst, &b.Rows[1])}
}

func (m *toy) side(tp *grad.Tape, nodes device.Ints, last *sample.Rows) *tensor.Tensor {
	ago := m.time.Forward(tp, tp.Floats(last.Delta, len(last.Delta)), tp.Ints(last.Node)) // [n, dim]
	known := grad.Gather(tp, m.memory.Tensor, nodes, 1)                                   // [n, dim]
	return m.embed.Join(tp, device.Tanh, known, ago)                                      // [n, dim]
}

// nodes uploads those of the first n queries; −1 stands for others, and for nodes beyond the table.
func (m *toy) nodes(tp *grad.Tape, b *sample.Batch, n int) (src, dst device.Ints) {
	side := func(node func(q sample.Query) int32) device.Ints {
		m.host = m.host[:0]
		for i, q := range b.Queries {
			if v := node(q); i < n && int(v) < m.state.Rows() {
				m.host = append(m.host, v)
			} else {
				m.host = append(m.host, -1)
			}
		}
		return tp.Ints(m.host)
	}
	return side(func(q sample.Query) int32 { return q.Src }), side(func(q sample.Query) int32 { return q.Dst })
}

func (m *toy) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	if e == nil {
		said := m.Embed(tp, b)
		e = &said
	}
	src, dst := m.nodes(tp, b, b.Positives)
	grad.Assign(tp, m.memory.Tensor, e.Dst, src)
	grad.Assign(tp, m.memory.Tensor, e.Src, dst)
}

func (m *toy) Head() model.Head                  { return m.head }
func (m *toy) Params() *nn.Params                { return m.params }
func (m *toy) UnitPlan() sample.Plan             { return m.Plan() }
func (m *toy) Snapshot() []tensor.Named          { return m.state.Snapshot() }
func (m *toy) Restore(list []tensor.Named) error { return m.state.Restore(list) }
func (m *toy) Grow(nodes int)                    { m.state.Grow(nodes) }
func (m *toy) Shape(*sample.Batch) uint64        { return uint64(m.state.Moves()) }
func (m *toy) Close()                            { m.params.Close(); m.state.Close() }
