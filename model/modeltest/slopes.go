package modeltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// Lesson is a batch of the events lo to hi−1 and as many negatives.
func (y *Toy) Lesson(lo, hi int) *sample.Batch {
	events := y.Log.Span(lo, hi)
	rng := rand.New(rand.NewPCG(1, uint64(lo)))
	qs := about(events)
	for _, q := range qs {
		q.Dst = y.Graph.Dst[rng.IntN(len(y.Graph.Dst))]
		qs = append(qs, q)
	}
	return gather(y.Past, oneCall(y.Plan()), qs, hi-lo, events)
}

// Steps holds a model to what every training step promises: the same bytes whatever the number of threads, and nothing
// allocated on the Go heap once a batch of its size was seen. A model that remembers does so in the step.
func Steps(t *testing.T, f model.Factory, settings ...string) {
	t.Helper()
	OnlyCPU(t)
	y := NewToy(t, f, settings...)
	var first []float32
	for _, threads := range []int{1, 2, 3, 16} {
		dev := cpu.New(cpu.Options{Threads: threads})
		l := y.learner(t, f, dev, settings...)
		var got []float32
		weights := l.Model.Params().All()
		before := l.Model.Params().Read(weights[len(weights)-1])
		for i := range 3 {
			l.Step(y.Lesson(20*i, 20*i+20), grad.Key(1, uint64(i)))
			got = append(got, host(dev, l.Logits.Data)...)
		}
		for _, p := range weights {
			got = append(got, l.Model.Params().Read(p)...)
		}
		if m, ok := l.Model.(model.Memory); ok {
			for _, x := range m.Snapshot() {
				got = append(got, x.Data...)
			}
		}
		if first == nil {
			first = got
		}
		if slices.Equal(l.Model.Params().Read(weights[len(weights)-1]), before) {
			t.Errorf("three steps leave %s where it was", weights[len(weights)-1].Name)
		}
		if i, yes := differ(got, first); yes {
			t.Fatalf("number %d after three steps is %v with one thread, %v with %d", i, first[i], got[i], threads)
		}
		if b := y.Lesson(60, 80); threads == 2 {
			l.Step(b, 0)
			if n := testing.AllocsPerRun(3, func() { l.Step(b, 1) }); n != 0 {
				t.Errorf("a step allocates %v times", n)
			}
		}
		l.Close()
		dev.Close()
	}
	if last := first[80:120]; slices.Max(last) == slices.Min(last) {
		t.Errorf("answers do not differ: %v", last)
	}
}

func host(dev device.Device, b device.Buffer) []float32 {
	x := make([]float32, b.Len)
	dev.Read(x, b)
	return x
}

// learner is one for a model of a factory on the toy graph, which remembers in its steps.
func (y *Toy) learner(t testing.TB, f model.Factory, dev device.Device, settings ...string) *train.Learner {
	t.Helper()
	spec, err := f.Spec("", model.Data{}, settings...)
	must(t, err)
	if f.Remembers {
		spec.Order = protocol.Arrival
	}
	l, err := train.NewLearner(f, y.environment(dev), spec, "")
	must(t, err)
	return l
}

// Slopes holds the gradients of a model to central differences along them, tensor by tensor, and sees that no gradient
// reaches the parameters whose names begin with one of the given. Before the batch that is asked about, a model that
// remembers has been told of what came before. Weights are as they are drawn, but the time encoder's frequencies so low
// that answers are smooth in them.
func Slopes(t *testing.T, f model.Factory, without []string, settings ...string) {
	t.Helper()
	y := NewToy(t, f, settings...)
	l := y.learner(t, f, y.Device, settings...)
	defer l.Close()
	params, tp := l.Model.Params(), l.Tape
	slow := params.Get("0.time_encoder.w.weight")
	values := make([]float32, slow.Len())
	for i := range values {
		values[i] = float32(i+1) * 1e-6
	}
	must(t, params.Write(slow, values))
	for lo := 0; lo < 40; lo += 20 { // its steps only remember: nothing moves
		l.Reset(y.Lesson(lo, lo+20), 0)
		l.Forward()
	}
	b := y.Lesson(40, 60)
	signs := make([]float32, len(b.Queries))
	for i := range signs {
		signs[i] = float32(math.Cos(float64(i * i)))
	}
	ask := func() *tensor.Tensor {
		tp.Reset(0)
		logits, _ := model.Logits(tp, l.Model, l.Model.Head(), b)
		return logits
	}
	sum := func() (total float64) {
		for i, x := range y.Read(ask()) {
			total += x * float64(signs[i])
		}
		return total
	}
	tp.NoteUses(true) // each operation must say which parameters it uses, or the walk back panics
	logits := ask()
	loss := grad.Sum(tp, grad.Mul(tp, logits, tp.Floats(signs, len(signs), 1)))
	params.ZeroGrad()
	tp.Backward(loss)
	tp.NoteUses(false)
	for _, p := range params.All() {
		none := slices.ContainsFunc(without, func(prefix string) bool { return strings.HasPrefix(p.Name, prefix) })
		if p.Touched == none {
			t.Errorf("%s: a gradient came: %v, want %v", p.Name, p.Touched, !none)
		}
		if none {
			continue
		}
		g, before := params.ReadGrad(p), params.Read(p)
		slope, size := norm(g), norm(before)
		h := 1e-3 * (1 + size)
		if p == slow {
			h = 1e-2 * size
		}
		along := func(step float64) float64 {
			moved := make([]float32, len(before))
			for i := range moved {
				moved[i] = before[i] + float32(step*float64(g[i])/slope)
			}
			must(t, params.Write(p, moved))
			return sum()
		}
		got := (along(h) - along(-h)) / (2 * h)
		const noise = 2e-7 // of a sum of logits; some steps also go over a kink of a ReLU
		if !(math.Abs(got-slope) <= 0.06*slope+noise/h) || slope < 5*noise/h {
			t.Errorf("%s: the answers rise by %v along the gradient, which is %v", p.Name, got, slope)
		}
		must(t, params.Write(p, before))
	}
}

func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}
