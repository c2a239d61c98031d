package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// OnlyCPU skips a test of what only the CPU promises.
func OnlyCPU(t testing.TB) {
	t.Helper()
	if name := os.Getenv("DYGMAMBA_TEST_DEVICE"); name != "" && name != "cpu" {
		t.Skipf("the CPU promises this, %s does not", name)
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

// school is a toy that takes steps of Adam on one batch.
type school struct {
	*Toy
	tape   *grad.Tape
	rule   *optim.Optimizer
	batch  *sample.Batch
	labels []float32
	loss   [1]float32
}

func newSchool(y *Toy, queries int) *school {
	s := &school{Toy: y, tape: grad.NewTape(y.Device, true), batch: y.Batch(y.Random(queries))}
	s.rule = optim.New(y.Params(), optim.Config{Rule: device.Adam, Rate: 1e-3})
	s.labels = make([]float32, queries)
	for i := range s.labels[:queries/2] {
		s.labels[i] = 1
	}
	return s
}

func (s *school) step(key uint64) float32 {
	s.tape.Reset(key)
	labels := s.tape.Floats(s.labels, len(s.labels), 1)
	logits, _ := model.Logits(s.tape, s.Model, s.Head(), s.batch)
	loss := grad.BCE(s.tape, logits, labels)
	s.Params().ZeroGrad()
	s.tape.Backward(loss)
	s.rule.Step()
	s.Device.Read(s.loss[:], loss.Data)
	return s.loss[0]
}

func (s *school) close() {
	s.tape.Close()
	s.rule.Close()
}

// StepsDoNotAllocate holds a model to taking steps without memory from the Go heap, once it has taken one.
func StepsDoNotAllocate(t *testing.T, f model.Factory, settings ...string) {
	t.Helper()
	OnlyCPU(t)
	s := newSchool(NewToy(t, f, settings...), 40)
	defer s.close()
	s.step(0)
	s.step(1)
	if n := testing.AllocsPerRun(5, func() { s.step(2) }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

// ThreadsDoNotMatter trains on one, two, three and sixteen threads and compares every bit.
func ThreadsDoNotMatter(t *testing.T, f model.Factory, settings ...string) {
	t.Helper()
	var want []float32
	for _, threads := range []int{1, 2, 3, 16} {
		s := newSchool(NewToyOn(t, Device(t, threads), f, settings...), 60)
		var got []float32
		for key := range uint64(3) {
			got = append(got, s.step(key))
		}
		for _, p := range s.Params().All() {
			got = append(got, s.Params().Read(p)...)
		}
		s.close()
		if want == nil {
			want = got
		}
		if i := firstOff(got, want); i >= 0 {
			t.Fatalf("number %d after three steps is %v with 1 thread, %v with %d", i, want[i], got[i], threads)
		}
	}
	if want[0] == want[1] {
		t.Errorf("the loss does not move: %v", want[:3])
	}
}

func firstOff(got, want []float32) int {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return i
		}
	}
	return -1
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
	if err != nil {
		t.Fatal(err)
	}
	spec, err := f.Spec("", model.Data{}, settings...)
	if err != nil {
		t.Fatal(err)
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	m, err := f.Build(model.Env{Device: dev, Seed: 3}, spec)
	if err != nil {
		t.Fatal(err)
	}
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
