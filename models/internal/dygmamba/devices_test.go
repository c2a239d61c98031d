package dygmamba

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// TestDevicesAgree takes one step with the paper's settings on two devices and compares logits and gradients: the
// vector kernels of the CPU with a GPU, if that is what is tested, otherwise with the plain kernels, and then on few
// queries.
func TestDevicesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("plain kernels take seconds at this size")
	}
	dir := golden.Shared(t, "data")
	fast := cpu.New(cpu.Options{})
	defer fast.Close()
	other, queries := device.Device(cpu.New(cpu.Options{Plain: true})), 4
	if name := os.Getenv("DYGMAMBA_TEST_DEVICE"); name != "" && name != "cpu" {
		other, queries = testDevice(t, 0), 400
	}
	for _, name := range []string{"uci", "enron", "USLegis", "CanParl"} {
		t.Run(name, func(t *testing.T) {
			set, err := dataset.Open(context.Background(), name, dataset.Options{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			spec, err := Factory.Spec("paper", model.Data{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			c := *spec.Config.(*Config)
			b := realBatch(t, set, c, queries)
			want, got := oneStep(t, fast, set, c, b), oneStep(t, other, set, c, b)
			for _, part := range want {
				tolerance := 2e-3
				if strings.HasPrefix(part.name, "0.time_encoder.w.weight") {
					tolerance = 0.05 // sums of terms up to 1e10 that nearly cancel
				}
				var off, norm float64
				for i, w := range part.values {
					d := float64(got.find(part.name)[i] - w)
					off, norm = off+d*d, norm+float64(w)*float64(w)
				}
				off, norm = math.Sqrt(off), math.Sqrt(norm)
				if !(off <= tolerance*norm) {
					t.Errorf("%s: differs by %.2e of its norm %.2e", part.name, off/norm, norm)
				}
			}
		})
	}
}

// realBatch gathers queries from the last third of the training events: pairs that meet, and as many that need not.
func realBatch(t *testing.T, set *dataset.Set, c Config, queries int) *sample.Batch {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var qs []sample.Query
	for i := range queries {
		e := set.Log.At(set.Log.Len()/2 + rng.IntN(set.Log.Len()/8))
		q := sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time}
		if i%2 == 1 {
			q.Dst = set.Log.At(rng.IntN(set.Log.Len())).Dst
		}
		qs = append(qs, q)
	}
	b := new(sample.Batch)
	sample.Gather(index.Freeze(set.Log), c.Plan(), qs, b)
	return b
}

type named struct {
	name   string
	values []float32
}

type namedList []named

func (l namedList) find(name string) []float32 {
	for _, n := range l {
		if n.name == name {
			return n.values
		}
	}
	return nil
}

// oneStep is the logits and all gradients of a step, dropout included.
func oneStep(t *testing.T, dev device.Device, set *dataset.Set, c Config, b *sample.Batch) namedList {
	t.Helper()
	m, err := Factory.Build(model.Env{Device: dev, Node: set.Node, Edge: set.Edge, Seed: 3}, model.Spec{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	tp.Reset(grad.Key(3, 1))
	logits := m.(*Model).Score(tp, b)
	m.Params().ZeroGrad()
	labels := make([]float32, len(b.Queries))
	for i := range labels {
		labels[i] = float32(1 - i%2)
	}
	tp.Backward(grad.BCE(tp, logits, tp.Floats(labels, len(labels))))
	list := namedList{{"logits", make([]float32, logits.Len())}}
	dev.Read(list[0].values, logits.Data)
	for _, p := range m.Params().All() {
		list = append(list, named{p.Name, m.Params().ReadGrad(p)})
	}
	return list
}
