// Package toy is a model of another module. It scores a pair by how active its two nodes are and by how many partners
// they share. No plan knows how to count shared partners, so the model brings an extra of its own.
package toy

import (
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
)

// Name is the model's name in the catalogue.
const Name = "shared-partners"

func init() { models.Register(Name, Factory) }

// Config is the model's configuration.
type Config struct {
	Dim  int `json:"embedding_dim" about:"width of an embedding"`
	Last int `json:"num_neighbors" about:"latest partners of a node that are compared"`
}

// Check says what is wrong with c.
func (c Config) Check() error {
	if c.Dim < 1 || c.Last < 1 {
		return fmt.Errorf("embedding_dim is %d and num_neighbors %d, both must be at least 1", c.Dim, c.Last)
	}
	return nil
}

// Factory builds the model.
var Factory = model.Make(model.Kind[Config]{
	Summary: "how active two nodes are, and how many partners they share", Lighter: "a smaller embedding_dim",
	Default: Config{Dim: 16, Last: 20},
	Build:   func(env model.Env, c Config) (model.Model, error) { return newToy(env, c), nil },
})

type toy struct {
	params   *nn.Params
	src, dst nn.Linear
	head     model.Head
	extra    *shared
}

func newToy(env model.Env, c Config) *toy {
	m := &toy{params: nn.NewParams(env.Seed), extra: &shared{last: c.Last}}
	m.src = nn.NewLinear(m.params.In("0.src"), numbers, c.Dim)
	m.dst = nn.NewLinear(m.params.In("0.dst"), numbers, c.Dim)
	m.head = model.Merge{Merge: nn.NewMerge(m.params.In("1"), 2*c.Dim, c.Dim, 1)}
	m.params.Place(env.Device)
	return m
}

func (m *toy) Plan() sample.Plan  { return sample.Plan{Extras: []sample.Extra{m.extra}} }
func (m *toy) Head() model.Head   { return m.head }
func (m *toy) Params() *nn.Params { return m.params }
func (m *toy) Close()             { m.params.Close() }

func (m *toy) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	x := tp.Floats(b.Extras[0].(*found).numbers, len(b.Queries), numbers) // [n, numbers]
	return model.Embedding{
		Src: m.src.Join(tp, device.Tanh, x), // [n, dim]
		Dst: m.dst.Join(tp, device.Tanh, x), // [n, dim]
	}
}

// Facts are the shared partners.
func (m *toy) Facts(b *sample.Batch, i int, name func(event.Node) string) []model.Fact {
	f := b.Extras[0].(*found)
	return []model.Fact{&fact{Partners: int(math.Round(math.Expm1(float64(f.numbers[i*numbers+2]))))}}
}

// numbers are what is found for a query: how active the source is, how active the destination is, and how many of the
// source's latest partners are among those of the destination. Logarithms of counts, all of them.
const numbers = 3

// shared asks for these numbers.
type shared struct{ last int }

func (s *shared) Name() string               { return "shared partners" }
func (s *shared) Check(index.View) error     { return nil }
func (s *shared) Bytes(_ []float64) float64  { return 4 * numbers }
func (s *shared) of(h index.History) []int32 { return h.Last(min(s.last, h.Len())).Node }
func (s *shared) NewPart() sample.Part {
	f := &found{ask: s}
	f.task = f.query
	return f
}

// found is what was found for a batch.
type found struct {
	ask     *shared
	numbers []float32 // [n, numbers]
	g       *sample.Gathering
	task    func(thread, i int)
}

func (f *found) Shape() uint64 { return 0 }

func (f *found) Gather(g *sample.Gathering) {
	f.g = g
	n := len(g.Batch.Queries)
	f.numbers = slices.Grow(f.numbers[:0], n*numbers)[:n*numbers]
	g.Parallel(n, f.task)
	f.g = nil
}

func (f *found) query(_, i int) {
	q := f.g.Batch.Queries[i]
	src, dst := f.g.Past.Before(q.Src, q.Time), f.g.Past.Before(q.Dst, q.Time)
	common := 0
	for _, n := range f.ask.of(src) {
		if slices.Contains(f.ask.of(dst), n) {
			common++
		}
	}
	for k, count := range [numbers]int{src.Len(), dst.Len(), common} {
		f.numbers[i*numbers+k] = float32(math.Log1p(float64(count)))
	}
}

// fact tells how many partners two nodes share.
type fact struct {
	Partners int `json:"partners"`
}

func (f *fact) Key() string   { return "shared" }
func (f *fact) Title() string { return "shared partners" }
func (f *fact) Brief(dst string) string {
	return fmt.Sprintf("%d partners shared with %s", f.Partners, dst)
}
func (f *fact) Text(dst string) string { return f.Brief(dst) }
func (f *fact) Withhold(b *sample.Batch) {
	b.Extras[0].(*found).numbers[2] = 0
}
