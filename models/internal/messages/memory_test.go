package messages

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// halves is a cell whose new memory tells everything that went into it: half of the message's first columns, and a
// quarter of the old memory.
type halves struct{ node int }

func (c halves) Forward(tp *grad.Tape, x, h *tensor.Tensor) *tensor.Tensor {
	own, heard := grad.Columns(tp, x, 0, c.node), grad.Columns(tp, x, c.node, 2*c.node)
	rest := grad.Columns(tp, x, 2*c.node, 3*c.node) // of the time code
	about := grad.Columns(tp, x, x.Cols()-c.node, x.Cols())
	told := grad.Add(tp, grad.Scale(tp, own, 0.5), grad.Scale(tp, heard, 0.25))
	told = grad.Add(tp, told, grad.Add(tp, rest, about))
	return grad.Add(tp, told, grad.Scale(tp, h, 0.25))
}

// record is the long way to the same memories: every node with its list of messages.
type record struct {
	cfg     Config
	freq    []float32
	memory  map[event.Node][]float64
	updated map[event.Node]float64
	last    map[event.Node]letter
	edge    []float32
}

type letter struct {
	own, heard, about []float64
	since, sent       float64 // as far as times are exact
	at                float64 // exact
}

// now is what a node remembers with its last message applied.
func (r *record) now(n event.Node) ([]float64, float64) {
	m, updated := r.memory[n], r.updated[n]
	if m == nil {
		m = make([]float64, r.cfg.Node)
	}
	l, waits := r.last[n]
	if !waits {
		return m, updated
	}
	next := make([]float64, r.cfg.Node)
	for c := range next {
		code := math.Cos(float64(r.freq[c] * float32(l.since))) // rounded as on a device: the first wait is a Unix time
		next[c] = l.own[c]/2 + l.heard[c]/4 + code + l.about[r.cfg.Edge-r.cfg.Node+c] + m[c]/4
	}
	return next, l.sent
}

// commit remembers events.
func (r *record) commit(events event.Span) {
	own, at := map[event.Node][]float64{}, map[event.Node]float64{}
	for i := range events.Src {
		for _, n := range []event.Node{events.Src[i], events.Dst[i]} {
			own[n], at[n] = r.now(n)
		}
	}
	for n := range own {
		r.memory[n], r.updated[n] = own[n], at[n]
		delete(r.last, n)
	}
	tell := func(n, other event.Node, i int) {
		t := events.Time[i]
		if !r.cfg.ExactTimes {
			t = float64(float32(t))
		}
		if old, ok := r.last[n]; ok && r.cfg.Last == ByTime && old.at > events.Time[i] {
			return
		}
		about := make([]float64, r.cfg.Edge)
		copy(about, []float64{float64(r.edge[2*events.Edge(i)]), float64(r.edge[2*events.Edge(i)+1])})
		r.last[n] = letter{own[n], own[other], about, t - at[n], t, events.Time[i]}
	}
	for i := range events.Src {
		tell(events.Src[i], events.Dst[i], i)
		if r.cfg.Last == ByTime {
			tell(events.Dst[i], events.Src[i], i)
		}
	}
	for i := range events.Src {
		if r.cfg.Last == ByRole {
			tell(events.Dst[i], events.Src[i], i)
		}
	}
}

// stream is events of few nodes that are both sources and destinations, with loops and events of one instant.
func stream(t *testing.T, n int, times func(i int) float64) *event.Log {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	log := event.NewLog(n)
	for i := range n {
		e := event.Event{Src: 1 + rng.Int32N(7), Dst: 1 + rng.Int32N(7), Time: times(i)}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// TestMemory compares with the long way, batch by batch, whether events are remembered in the step that asked or on
// their own.
func TestMemory(t *testing.T) {
	const nodes, dim = 8, 2
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	for _, c := range []Config{
		{Node: dim, Edge: 3, Time: 4, Last: ByRole},
		{Node: dim, Edge: 3, Time: 4, Last: ByTime},
		{Node: dim, Edge: 3, Time: 4, Last: ByTime, ExactTimes: true},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprint(c.Last, c.ExactTimes, asked), func(t *testing.T) {
				log := stream(t, 60, func(i int) float64 { return 1.7e9 + float64(i/3)*100.25 - float64(i%5)*7 })
				edge := make([]float32, 2*(log.Len()+1))
				for i := range edge {
					edge[i] = float32(math.Sin(float64(i)))
				}
				features := nn.NewFeatures(dev, edge, log.Len()+1, 2)
				defer features.Close()
				p := nn.NewParams(1)
				time := nn.NewTimeEncoder(p.In("time"), c.Time)
				p.Place(dev)
				defer p.Close()
				freq := []float32{3e-3, 2e-3, 1e-3, 5e-4}
				if err := p.Write(p.Get("time.w.weight"), freq); err != nil {
					t.Fatal(err)
				}
				m := New(dev, 3, c, halves{dim}, time, features)
				defer m.Close()
				m.Grow(nodes)
				long := &record{
					c, freq, map[event.Node][]float64{}, map[event.Node]float64{}, map[event.Node]letter{}, edge,
				}
				tp := grad.NewTape(dev, true)
				defer tp.Close()
				for events := range log.Batches(0, log.Len(), 12) {
					b := &sample.Batch{Positives: events.Len(), Events: events}
					qs := []sample.Query{}
					for i := range events.Src {
						qs = append(qs, sample.Query{Src: events.Src[i], Dst: events.Dst[i], Time: events.Time[i]})
					}
					qs = append(qs, sample.Query{Src: 3, Dst: 4000, Time: 1.8e9})
					sample.Gather(nil, sample.Plan{Distinct: true}, qs, b)
					tp.Reset(0)
					if asked {
						m.Load(tp, b)
						memory, updated := m.Now(tp)
						compare(t, long, b.Distinct.Nodes, read(dev, memory), read(dev, updated))
					} else {
						m.LoadEvents(tp, b)
					}
					m.Commit(tp, nil)
					long.commit(events)
				}
				for _, x := range m.Snapshot() {
					if x.Shape[0] < nodes || slices.ContainsFunc(x.Data, func(v float32) bool { return v != v }) {
						t.Errorf("%s %v", x.Name, x.Shape)
					}
				}
				if !asked { // then what was committed is all there is to see
					compareTables(t, long, m)
				}
			})
		}
	}
}

// compare compares what nodes remember, with the last message applied, with the long way.
func compare(t *testing.T, long *record, nodes []int32, memory, updated []float32) {
	t.Helper()
	for i, n := range nodes {
		want, at := long.now(n)
		for c, w := range want {
			if got := float64(memory[i*len(want)+c]); math.Abs(got-w) > 1e-4 {
				t.Fatalf("node %d remembers %v at %d, want %v", n, got, c, w)
			}
		}
		if got := float64(updated[2*i]) + float64(updated[2*i+1]); math.Abs(got-at) > 1e-4 {
			t.Fatalf("node %d was last updated at %v, want %v", n, got, at)
		}
	}
}

func compareTables(t *testing.T, long *record, m *Memory) {
	t.Helper()
	state := m.Snapshot()
	memory, _ := tensor.Find(state, "memory")
	updated, _ := tensor.Find(state, "last_updated")
	waiting, _ := tensor.Find(state, "has_message")
	for n := range event.Node(8) {
		for c := range memory.Shape[1] {
			want := 0.0
			if long.memory[n] != nil {
				want = long.memory[n][c]
			}
			if got := float64(memory.Data[int(n)*memory.Shape[1]+c]); math.Abs(got-want) > 1e-4 {
				t.Errorf("node %d remembers %v at %d, want %v", n, got, c, want)
			}
		}
		if got := float64(updated.Data[2*n]) + float64(updated.Data[2*n+1]); math.Abs(got-long.updated[n]) > 1e-4 {
			t.Errorf("node %d was last updated at %v, want %v", n, got, long.updated[n])
		}
		if _, waits := long.last[n]; waits != (waiting.Data[n] == 1) {
			t.Errorf("a message for node %d waits: %v, want %v", n, waiting.Data[n], waits)
		}
	}
}

// TestRoundedTimes: the reference keeps times in float32, and what is imported loses nothing, though Unix times in
// float32 are two minutes apart.
func TestRoundedTimes(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, false)
	defer tp.Close()
	const at, before = 1.7e9 + 61.5, 1.7e9 + 1.25
	for exact, want := range map[bool]float32{true: 60.25, false: float32(at) - float32(before)} {
		m := Memory{cfg: Config{ExactTimes: exact}}
		a, b := tp.Floats(m.AppendTime(nil, at), 1, 2), tp.Floats(m.AppendTime(nil, before), 1, 2)
		if got := read(dev, Since(tp, a, b)); got[0] != want {
			t.Errorf("exact %v: %v later, want %v", exact, got, want)
		}
	}
	m := Memory{cfg: Config{ExactTimes: true}}
	if got := m.AppendTime(nil, 1e300); !math.IsInf(float64(got[0]), 1) || got[1] != 0 {
		t.Errorf("a time beyond float32 is %v", got)
	}
}

func read(dev *cpu.Device, x *tensor.Tensor) []float32 {
	host := make([]float32, x.Len())
	dev.Read(host, x.Data)
	return host
}
