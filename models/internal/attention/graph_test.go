package attention

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

var two = Config{
	NodeDim: 6, EdgeDim: 5, TimeDim: 4, Layers: 2, Heads: 2, Neighbors: 3, PickerOptions: Default.PickerOptions,
}

func TestDraws(t *testing.T) {
	draw := func(of sample.Root) sample.Draw { return sample.Draw{Of: of, Neighbors: 3, RowLen: 3} }
	want := []sample.Draw{
		draw(sample.Src), draw(sample.Src), draw(sample.Hop(1)),
		draw(sample.Dst), draw(sample.Dst), draw(sample.Hop(4)),
	}
	if diff := cmp.Diff(want, two.Draws()); diff != "" {
		t.Error(diff)
	}
	for layers, n := range []int{0, 2, 6, 14} {
		c := two
		if c.Layers = layers; len(c.Draws()) != n || 2*count(layers) != n {
			t.Errorf("%d layers draw %d times, want %d", layers, len(c.Draws()), n)
		}
	}
}

// bench is a graph of attention on a random stream.
type bench struct {
	*Graph
	dev   *cpu.Device
	batch sample.Batch
	tp    *grad.Tape
}

const queries = 9

func newBench(t *testing.T, c Config, node, edge []float32) *bench {
	t.Helper()
	b := &bench{dev: cpu.New(cpu.Options{Threads: 2})}
	rng := rand.New(rand.NewPCG(1, 1))
	log := event.NewLog(100)
	for i := range 100 {
		e := event.Event{Src: 1 + rng.Int32N(9), Dst: 10 + rng.Int32N(9), Time: float64(100 * i)}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	var qs []sample.Query
	for i := range queries {
		qs = append(qs, sample.Query{Src: 1 + rng.Int32N(9), Dst: 10 + rng.Int32N(9), Time: float64(1200 * i)})
	}
	sample.Gather(index.Freeze(log), sample.Plan{Draws: c.Draws(), Distinct: true}, qs, &b.batch)
	base := model.NewBase(1)
	p := base.Params()
	b.Graph = New(&base, p.In("0"), nn.NewTimeEncoder(p.In("0.time_encoder"), c.TimeDim), c)
	p.Place(b.dev)
	base.Node = nn.NewFeatures(b.dev, node, len(node)/c.NodeDim, c.NodeDim)
	base.Edge = nn.NewFeatures(b.dev, edge, len(edge)/c.EdgeDim, c.EdgeDim)
	b.tp = grad.NewTape(b.dev, false)
	t.Cleanup(func() {
		b.tp.Close()
		base.Close()
		b.dev.Close()
	})
	return b
}

func (b *bench) read(x *tensor.Tensor) []float32 {
	host := make([]float32, x.Len())
	b.dev.Read(host, x.Data)
	return host
}

// embed describes the nodes of the first n queries.
func (b *bench) embed(n int, memory []float32) []float32 {
	b.tp.Reset(0)
	b.Load(b.tp, &b.batch, n)
	var m *tensor.Tensor
	if memory != nil {
		m = b.tp.Floats(memory, len(memory)/b.cfg.NodeDim, b.cfg.NodeDim)
	}
	return b.read(b.Embed(b.tp, m))
}

func noise(n, from int) []float32 {
	x := make([]float32, n)
	for i := from; i < n; i++ {
		x[i] = float32(math.Sin(float64(i * i)))
	}
	return x
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) < 1e-5) {
			t.Fatalf("%s[%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestZerosAreLeftOut: features that are all zero have no tables, and that changes nothing. A table of zeros is one
// whose last row, which nobody looks at, is not zero.
func TestZerosAreLeftOut(t *testing.T) {
	zeros := func(cols int) []float32 { return noise(200*cols, 199*cols) }
	one := Config{NodeDim: 6, EdgeDim: 5, TimeDim: 4, Layers: 1, Heads: 5, Neighbors: 4}
	for _, c := range []Config{two, one} {
		without, with := newBench(t, c, nil, nil), newBench(t, c, zeros(c.NodeDim), zeros(c.EdgeDim))
		if !without.of.Node.Empty() || with.of.Node.Empty() {
			t.Fatal("the tables are not as they should be")
		}
		near(t, "without tables", without.embed(queries, nil), with.embed(queries, nil))
		memory := noise(len(with.batch.Distinct.Nodes)*c.NodeDim, 0)
		remembered := without.embed(queries, memory)
		near(t, "with a memory", remembered, with.embed(queries, memory))
		if slices.Equal(remembered, without.embed(queries, nil)) {
			t.Error("memories make no difference")
		}
		other := newBench(t, c, noise(200*c.NodeDim, c.NodeDim), nil)
		if slices.Equal(other.embed(queries, nil), without.embed(queries, nil)) {
			t.Error("node features make no difference")
		}
		other = newBench(t, c, nil, noise(200*c.EdgeDim, c.EdgeDim))
		if slices.Equal(other.embed(queries, nil), without.embed(queries, nil)) {
			t.Error("event features make no difference")
		}
	}
}

// TestFirstQueries: the first queries of a batch can be described without the others.
func TestFirstQueries(t *testing.T) {
	b := newBench(t, two, noise(200*two.NodeDim, two.NodeDim), noise(200*two.EdgeDim, two.EdgeDim))
	memory := noise(len(b.batch.Distinct.Nodes)*two.NodeDim, 0)
	all, few := b.embed(queries, memory), b.embed(4, memory)
	src, dst := all[:4*two.NodeDim], all[queries*two.NodeDim:][:4*two.NodeDim]
	near(t, "sources", few[:4*two.NodeDim], src)
	near(t, "destinations", few[4*two.NodeDim:], dst)
	if none := b.embed(0, memory); len(none) != 0 {
		t.Errorf("no queries are described by %v", none)
	}
}

// TestWeigh: weights of a row add up to 1, padding beside neighbours has none, and embeddings are the same.
func TestWeigh(t *testing.T) {
	b := newBench(t, two, noise(200*two.NodeDim, two.NodeDim), noise(200*two.EdgeDim, two.EdgeDim))
	want := b.embed(queries, nil)
	b.tp.Reset(0)
	b.Load(b.tp, &b.batch, queries)
	z, weights := b.Weigh(b.tp, nil)
	near(t, "embeddings", b.read(z), want)
	if len(weights) != len(two.Draws()) {
		t.Fatalf("%d tensors of weights, want %d", len(weights), len(two.Draws()))
	}
	differ := false
	for d, w := range weights {
		rows := b.batch.Rows[d]
		if !slices.Equal(w.Shape(), []int{len(rows.Node) / rows.Len, rows.Len}) {
			t.Fatalf("draw %d has weights %v for rows of %d of %d", d, w.Shape(), rows.Len, len(rows.Node))
		}
		host := b.read(w)
		for lo := 0; lo < len(host); lo += rows.Len {
			row, nodes := host[lo:lo+rows.Len], rows.Node[lo:lo+rows.Len]
			sum := float32(0)
			for i, x := range row {
				sum += x
				if nodes[i] == 0 && slices.Max(nodes) > 0 && x != 0 {
					t.Errorf("draw %d: padding of %v has weights %v", d, nodes, row)
				}
			}
			if math.Abs(float64(sum)-1) > 1e-5 {
				t.Errorf("draw %d: weights %v add up to %v", d, row, sum)
			}
			differ = differ || slices.Max(row) > slices.Min(row) && slices.Min(nodes) > 0
		}
	}
	if !differ {
		t.Error("all neighbours count the same")
	}
	if again := b.embed(queries, nil); !slices.Equal(again, want) {
		t.Error("an embedding after weights were asked for is another")
	}
}

func TestConditions(t *testing.T) {
	if list := two.Conditions(true); len(list) != 0 {
		t.Errorf("exact times and recent neighbours: %q", list)
	}
	random := two
	random.Strategy = sample.Uniform
	if list := random.Conditions(false); len(list) != 2 || !strings.Contains(list[1], "float32") {
		t.Errorf("rounded times and random neighbours: %q", list)
	}
	if want := "2 layers, 3 neighbours (recent), dropout 0"; two.Brief() != want {
		t.Errorf("%q, want %q", two.Brief(), want)
	}
}
