package dygmamba

import (
	"fmt"
	"math"
	"os"
	"slices"
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
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Score is what the model and its head say together, [n, 1].
func (m *Model) Score(tp *grad.Tape, b *sample.Batch) *tensor.Tensor {
	logits, _ := model.Logits(tp, m, m.Head(), b)
	return logits
}

// bench is a model on the toy graph with everything around it.
type bench struct {
	*Model
	dev   device.Device
	toy   golden.Toy
	batch sample.Batch
	host  [1]float32
}

// testDevice is the CPU, or the device that DYGMAMBA_TEST_DEVICE names: the same tests hold on a GPU.
func testDevice(t testing.TB, threads int) device.Device {
	t.Helper()
	name := os.Getenv("DYGMAMBA_TEST_DEVICE")
	if name == "" {
		name = "cpu"
	}
	dev, _, err := open.Device(name, open.Options{Threads: threads, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

// onlyCPU skips a test of what only the CPU promises.
func onlyCPU(t *testing.T) {
	t.Helper()
	if name := os.Getenv("DYGMAMBA_TEST_DEVICE"); name != "" && name != "cpu" {
		t.Skipf("the CPU promises this, %s does not", name)
	}
}

// newBench builds a model with formula-filled weights and gathers the toy queries.
func newBench(t testing.TB, c Config, threads int, toy golden.Toy) *bench {
	t.Helper()
	dev := testDevice(t, threads)
	env := model.Env{Device: dev, Node: features(toy.NodeFeatures), Edge: features(toy.EdgeFeatures)}
	m, err := Factory.Build(env, model.Spec{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	b := &bench{Model: m.(*Model), dev: dev, toy: toy}
	b.set(t, b.filled())
	var queries []sample.Query
	for i := range toy.QuerySrc {
		queries = append(queries, sample.Query{Src: toy.QuerySrc[i], Dst: toy.QueryDst[i], Time: toy.QueryTime[i]})
	}
	b.gather(t, queries)
	return b
}

func (b *bench) gather(t testing.TB, queries []sample.Query) {
	plan := b.Plan()
	plan.ByCall = false // the batch is the call
	sample.Gather(b.past(t), plan, queries, &b.batch)
}

func (b *bench) past(t testing.TB) index.View {
	log := event.NewLog(len(b.toy.Src))
	for i := range b.toy.Src {
		e := event.Event{Src: b.toy.Src[i], Dst: b.toy.Dst[i], Time: b.toy.Time[i], Edge: b.toy.Edge[i]}
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return index.Freeze(log)
}

// filled gives every parameter its formula values, backbone and predictor numbered each from 0.
func (b *bench) filled() map[string][]float32 {
	var backbone, predictor []golden.Param
	for _, p := range b.Params().All() {
		g := golden.Param{Name: p.Name, Shape: p.Shape()}
		if p.Name[0] == '0' {
			backbone = append(backbone, g)
		} else {
			predictor = append(predictor, g)
		}
	}
	w := golden.Fill(backbone)
	for name, values := range golden.Fill(predictor) {
		w[name] = values
	}
	return w
}

func (b *bench) set(t testing.TB, w map[string][]float32) {
	t.Helper()
	for _, p := range b.Params().All() {
		if err := b.Params().Write(p, w[p.Name]); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) read(x *tensor.Tensor) []float64 {
	host := make([]float32, x.Len())
	b.dev.Read(host, x.Data)
	return wide(host)
}

// twin is the float64 twin of b with the same weights and events.
func (b *bench) twin() *twin {
	w := map[string][]float32{}
	for _, p := range b.Params().All() {
		w[p.Name] = b.Params().Read(p)
	}
	m := toyTwin(b.toy, b.cfg, w)
	if b.cfg.Padding == model.PadCall {
		m.lengths = [2]int{b.batch.Rows[0].Len, b.batch.Rows[1].Len}
	}
	return m
}

func features(m golden.Matrix) dataset.Features {
	return dataset.Features{Rows: m.Rows, Cols: m.Cols, Data: m.Data}
}

func goldenConfig(t testing.TB) (golden.Toy, golden.Model, golden.Model, Config) {
	toy, models := golden.Models(t)
	backbone := models["DyGMamba"]
	return toy, backbone, models["DyGMamba_link_predictor_logit"], toyConfig(t, backbone)
}

func TestGoldenForward(t *testing.T) {
	toy, backbone, predictor, c := goldenConfig(t)
	b := newBench(t, c, 2, toy)
	var names []string
	for _, p := range b.Params().All() {
		names = append(names, fmt.Sprint(bare(p.Name), p.Shape()))
	}
	var want []string
	for _, p := range slices.Concat(backbone.Params, predictor.Params) {
		want = append(want, fmt.Sprint(p.Name, p.Shape))
	}
	if !slices.Equal(names, want) {
		t.Fatalf("parameters\n%v\nwant\n%v", names, want)
	}
	for _, record := range []bool{false, true} {
		tp := grad.NewTape(b.dev, record)
		out := b.Embed(tp, &b.batch)
		modeltest.Near(t, "z_u", b.read(out.Src), backbone.Outputs[0], 2e-5)
		modeltest.Near(t, "z_v", b.read(out.Dst), backbone.Outputs[1], 2e-5)
		modeltest.Near(t, "z_t", b.read(out.Pair), backbone.Outputs[2], 2e-5)
		modeltest.Near(t, "logit", b.read(b.Head().Logit(tp, out)), predictor.Outputs[0], 2e-5)
	}
}

func TestGoldenLearning(t *testing.T) {
	toy, _, _, c := goldenConfig(t)
	c.FreezeTime = true
	b := newBench(t, c, 2, toy)
	learning := golden.Gradients(t)["DyGMamba"]
	rule := optim.New(b.Params(), optim.Config{Rule: device.Adam, Rate: 1e-3})
	tp := grad.NewTape(b.dev, true)
	labels := []float32{1, 0, 1, 0, 1, 0}
	for step, want := range learning.Losses {
		tp.Reset(0)
		b.Params().ZeroGrad()
		loss := grad.BCE(tp, b.Score(tp, &b.batch), tp.Floats(labels, 6, 1))
		if got := b.read(loss)[0]; math.Abs(got-want) > 2e-6 {
			t.Errorf("loss after %d steps is %v, want %v", step, got, want)
		}
		tp.Backward(loss)
		if step == 0 {
			modeltest.Gradients(t, b.Params(), learning.Gradients)
		}
		rule.Step()
	}
}
