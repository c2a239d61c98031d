package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// OnlyCPU skips a test of what only the CPU promises.
func OnlyCPU(t testing.TB) {
	t.Helper()
	if onGPU() {
		t.Skip("the CPU promises this, a GPU does not")
	}
}

// Random draws queries on the toy graph, many of them equal in source and time.
func (y *Toy) Random(n int) []sample.Query {
	r := rand.New(rand.NewPCG(1, 2))
	qs := make([]sample.Query, n)
	for i := range qs {
		at := y.Graph.Time[r.IntN(len(y.Graph.Time))] + float64(r.IntN(2))
		qs[i] = sample.Query{Src: 1 + r.Int32N(5), Dst: 6 + r.Int32N(4), Time: at}
	}
	return qs
}

// Logits asks the model, as it evaluates.
func (y *Toy) Logits(qs []sample.Query) []float64 {
	tp := grad.NewTape(y.Device, false)
	defer tp.Close()
	logits, _ := model.Logits(tp, y.Model, y.Head(), y.Batch(qs))
	return y.Read(logits)
}

// QueriesStandAlone holds a model to answers that do not depend on what else is asked. Neighbours must not be picked at
// random.
func QueriesStandAlone(t *testing.T, f model.Factory, settings ...string) {
	t.Helper()
	OnlyCPU(t)
	y := NewToy(t, f, settings...)
	qs := y.Random(97)
	whole := y.Logits(qs)
	if slices.Min(whole) == slices.Max(whole) {
		t.Errorf("answers do not differ: %v", whole[:3])
	}
	for _, cut := range []int{1, 2, 50, 96} {
		parts := append(y.Logits(qs[:cut]), y.Logits(qs[cut:])...)
		for i := range whole {
			if whole[i] != parts[i] {
				t.Fatalf("query %d has logit %v among 97, %v when they are cut at %d", i, whole[i], parts[i], cut)
			}
		}
	}
	if empty := y.Logits(nil); len(empty) != 0 {
		t.Errorf("no queries have logits %v", empty)
	}
}

// StartsLikePyTorch compares initial weights of the published sizes with those of a model of nn/testdata/draws.txt,
// which PyTorch drew from seed 3. It is for tests in models/….
func StartsLikePyTorch(t *testing.T, f model.Factory, name string, settings ...string) {
	t.Helper()
	text, err := os.ReadFile("../../../nn/testdata/draws.txt")
	must(t, err)
	spec, err := f.Spec("", model.Data{}, settings...)
	must(t, err)
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	m, err := f.Build(model.Env{Device: dev, Seed: 3}, spec)
	must(t, err)
	defer m.Close()
	var got, want []string
	for _, p := range m.Params().All() {
		got = append(got, p.Name+" "+digest(p.Name, m.Params().Read(p)))
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[0] == name {
			want = append(want, f[1]+" "+f[3])
			if computed(f[1]) {
				want[len(want)-1] = f[1] + " computed"
			}
		}
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("initial weights\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// computed tells frequencies, which are not drawn: libraries round the power they are made by differently.
func computed(name string) bool { return strings.HasSuffix(name, ".w.weight") }

func digest(name string, x []float32) string {
	if computed(name) {
		return "computed"
	}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, x)
	return fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))[:16]
}

// Shapes are those that a checkpoint of a model's weights would have.
func Shapes(m model.Declared) map[string][]int {
	shapes := map[string][]int{}
	for _, p := range m.Params().All() {
		shapes[p.Name] = p.Shape()
	}
	return shapes
}
