// Package modeltest answers: does a model keep what every model promises? The catalogue's models all pass through it,
// on the CPU and, with DYGMAMBA_TEST_DEVICE=cuda, on a GPU. Only tests import it.
package modeltest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Device is the CPU with this many threads, closed when the test ends, or the device that DYGMAMBA_TEST_DEVICE names:
// the same tests hold on a GPU. That is opened once for all tests of a process, as its kernels are compiled then.
func Device(t testing.TB, threads int) device.Device {
	t.Helper()
	if onGPU() {
		dev, err := gpu()
		must(t, err)
		return dev
	}
	dev, _, err := open.Device("cpu", open.Options{Threads: threads})
	must(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

// onGPU says that tests run on a GPU, where sums may be taken in another order.
func onGPU() bool {
	name := os.Getenv("DYGMAMBA_TEST_DEVICE")
	return name != "" && name != "cpu"
}

var gpu = sync.OnceValues(func() (device.Device, error) {
	dev, _, err := open.Device(os.Getenv("DYGMAMBA_TEST_DEVICE"), open.Options{Exact: true})
	return dev, err
})

// Toy is a model on the toy graph of the golden numbers, with weights filled by their formula.
type Toy struct {
	model.Model
	Device device.Device
	Graph  golden.Toy
	Log    *event.Log
	Past   index.View
}

// NewToy builds a model of a factory with settings on top of its default; features are 8 wide.
func NewToy(t testing.TB, f model.Factory, settings ...string) *Toy {
	t.Helper()
	return NewToyOn(t, Device(t, 2), f, settings...)
}

// NewToyOn is NewToy on a given device.
func NewToyOn(t testing.TB, dev device.Device, f model.Factory, settings ...string) *Toy {
	t.Helper()
	graph, _ := golden.Models(t)
	spec, err := f.Spec("", model.Data{}, settings...)
	must(t, err)
	y := &Toy{Device: dev, Graph: graph, Log: event.NewLog(len(graph.Src))}
	for i := range graph.Src {
		e := event.Event{Src: graph.Src[i], Dst: graph.Dst[i], Time: graph.Time[i], Edge: graph.Edge[i]}
		_, err := y.Log.Append(e)
		must(t, err)
	}
	y.Past = index.Freeze(y.Log)
	if y.Model, err = f.Build(y.environment(y.Device), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(y.Close)
	y.fill(t)
	return y
}

func (y *Toy) environment(dev device.Device) model.Env {
	return model.Env{
		Device: dev, Node: features(y.Graph.NodeFeatures), Edge: features(y.Graph.EdgeFeatures),
		NumNodes: y.Graph.NumNodes + 1, Train: func() (event.Span, error) { return y.Log.All(), nil },
	}
}

func features(m golden.Matrix) dataset.Features {
	return dataset.Features{Rows: m.Rows, Cols: m.Cols, Data: m.Data}
}

// fill gives every parameter its formula value, backbone and predictor numbered each from 0; frozen ones keep theirs
// and have no number.
func (y *Toy) fill(t testing.TB) {
	t.Helper()
	var parts [2][]golden.Param
	for _, p := range y.Params().All() {
		part := strings.IndexByte("01", p.Name[0])
		if part >= 0 && !(p.Frozen && strings.Contains(p.Name, "time_encoder")) {
			parts[part] = append(parts[part], golden.Param{Name: p.Name, Shape: p.Shape()})
		}
	}
	for _, list := range parts {
		for name, values := range golden.Fill(list) {
			must(t, y.Params().Write(y.Params().Get(name), values))
		}
	}
}

// Queries are the golden ones.
func (y *Toy) Queries() []sample.Query {
	var qs []sample.Query
	for i := range y.Graph.QuerySrc {
		qs = append(qs, sample.Query{Src: y.Graph.QuerySrc[i], Dst: y.Graph.QueryDst[i], Time: y.Graph.QueryTime[i]})
	}
	return qs
}

// Batch gathers what the model wants to know about queries, as one call.
func (y *Toy) Batch(qs []sample.Query) *sample.Batch {
	return gather(y.Past, oneCall(y.Plan()), qs, len(qs), event.Span{})
}

// Read copies a tensor out.
func (y *Toy) Read(x *tensor.Tensor) []float64 {
	host := make([]float32, x.Len())
	y.Device.Read(host, x.Data)
	wide := make([]float64, len(host))
	for i, v := range host {
		wide[i] = float64(v)
	}
	return wide
}

// Near compares numbers and says by how much they are off at most.
func Near(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance) {
			t.Fatalf("%s[%d] = %v, want %v ± %v", what, i, got[i], want[i], tolerance)
		} else {
			worst = max(worst, d)
		}
	}
	t.Logf("%s: off by at most %.1e", what, worst)
}

// Names compares the trainable backbone parameters with the golden model's, names, shapes and order.
func (y *Toy) Names(t testing.TB, want golden.Model) {
	t.Helper()
	var got, list []string
	for _, p := range y.Params().All() {
		if name, ok := strings.CutPrefix(p.Name, "0."); ok && !p.Frozen {
			got = append(got, fmt.Sprint(name, p.Shape()))
		}
	}
	for _, p := range want.Params {
		list = append(list, fmt.Sprint(p.Name, p.Shape))
	}
	if !slices.Equal(got, list) {
		t.Fatalf("parameters\n%v\nwant\n%v", got, list)
	}
}

// goldenToy is a toy and the golden numbers of the released program's model, whose parameters it has.
func goldenToy(t *testing.T, f model.Factory, name string, settings []string) (*Toy, golden.Model) {
	t.Helper()
	_, models := golden.Models(t)
	want, ok := models[name]
	if !ok {
		t.Fatalf("no golden model %s", name)
	}
	y := NewToy(t, f, settings...)
	y.Names(t, want)
	return y, want
}

// Forward holds a model without memory to the golden embeddings of the released program, with and without a tape that
// records.
func Forward(t *testing.T, f model.Factory, name string, settings ...string) {
	t.Helper()
	y, want := goldenToy(t, f, name, settings)
	for _, record := range []bool{false, true} {
		tp := grad.NewTape(y.Device, record)
		e := y.Embed(tp, y.Batch(y.Queries()))
		Near(t, "z_u", y.Read(e.Src), want.Outputs[0], 2e-5)
		Near(t, "z_v", y.Read(e.Dst), want.Outputs[1], 2e-5)
		tp.Close()
	}
}

// Learning holds a model to the golden losses and gradients: at first, and after one, two and three Adam steps with the
// time encoder frozen. Settings must leave out all dropout and freeze the time encoder (or the model's own way does).
func Learning(t *testing.T, f model.Factory, name string, settings ...string) {
	t.Helper()
	learning, ok := golden.Gradients(t)[name]
	if !ok {
		t.Fatalf("no golden gradients of %s", name)
	}
	y := NewToy(t, f, settings...)
	y.Params().Freeze("0.time_encoder.")
	rule := optim.New(y.Params(), optim.Config{Rule: device.Adam, Rate: 1e-3})
	defer rule.Close()
	tp := grad.NewTape(y.Device, true)
	defer tp.Close()
	b := y.Batch(y.Queries())
	for step, want := range learning.Losses {
		tp.Reset(0)
		logits, _ := model.Logits(tp, y.Model, y.Head(), b)
		loss := grad.BCE(tp, logits, tp.Floats([]float32{1, 0, 1, 0, 1, 0}, 6, 1))
		if got := y.Read(loss)[0]; math.Abs(got-want) > 2e-6 {
			t.Errorf("loss after %d steps is %v, want %v", step, got, want)
		}
		y.Params().ZeroGrad()
		tp.Backward(loss)
		if step == 0 {
			Gradients(t, y.Params(), learning.Gradients)
		}
		rule.Step()
	}
}

// Gradients holds those that parameters have to golden ones.
func Gradients(t *testing.T, params *nn.Params, want map[string]golden.Gradient) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("no golden gradients")
	}
	for _, p := range params.All() {
		w, ok := want[p.Name]
		if ok == p.Frozen {
			t.Errorf("%s: frozen is %v, the reference gives it a gradient: %v", p.Name, p.Frozen, ok)
			continue
		}
		if !ok {
			continue
		}
		g := params.ReadGrad(p)
		if length := norm(g); math.Abs(length-w.L2) > 1e-3*w.L2 {
			t.Errorf("gradient of %s has norm %v, want %v", p.Name, length, w.L2)
		}
		for i, first := range w.First {
			if math.Abs(float64(g[i])-first) > 1e-3*math.Abs(first)+1e-4*w.L2 {
				t.Errorf("gradient of %s[%d] is %v, want %v", p.Name, i, g[i], first)
			}
		}
	}
}
