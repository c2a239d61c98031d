package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestSlopes: the gradients of the losses of classes and values are those that central differences of the same losses
// in float64 give, also where some queries have no class.
func TestSlopes(t *testing.T) {
	const rows, eps = 6, 1e-5
	r := rand.New(rand.NewPCG(1, 2))
	batch := &sample.Batch{Queries: make([]sample.Query, rows), Positives: rows}
	classes := []int{2, -1, 0, 1, 2, -1}
	two := []int{1, -1, 0, 1, 0, -1}
	values := []float32{0.5, -2, 3, 0, 1.5, -0.25}
	of := func(list []int) func(*sample.Batch, int) int {
		return func(_ *sample.Batch, i int) int { return list[i] }
	}
	logSum := func(row []float64) float64 {
		sum := 0.0
		for _, x := range row {
			sum += math.Exp(x)
		}
		return math.Log(sum)
	}
	for name, c := range map[string]struct {
		outputs int
		loss    func(*Classifier) interface {
			Loss(*grad.Tape, *tensor.Tensor, *sample.Batch) *tensor.Tensor
		}
		want func(x []float64) float64
	}{
		"classes": {3, func(c *Classifier) interface {
			Loss(*grad.Tape, *tensor.Tensor, *sample.Batch) *tensor.Tensor
		} {
			return Labels{Classifier: c, Class: of(classes), Gaps: true}
		}, func(x []float64) float64 {
			sum := 0.0
			for i, k := range classes {
				if row := x[3*i : 3*i+3]; k >= 0 {
					sum += logSum(row) - row[k]
				}
			}
			return sum / rows
		}},
		"two with gaps": {1, func(c *Classifier) interface {
			Loss(*grad.Tape, *tensor.Tensor, *sample.Batch) *tensor.Tensor
		} {
			return Labels{Classifier: c, Class: of(two), Gaps: true}
		}, func(x []float64) float64 {
			sum := 0.0
			for i, k := range two {
				if k >= 0 {
					sum += logSum([]float64{0, x[i]}) - float64(k)*x[i]
				}
			}
			return sum / rows
		}},
		"values": {1, func(*Classifier) interface {
			Loss(*grad.Tape, *tensor.Tensor, *sample.Batch) *tensor.Tensor
		} {
			return NewValues(func(_ *sample.Batch, i int) float32 { return values[i] })
		}, func(x []float64) float64 {
			sum := 0.0
			for i, v := range values {
				sum += (x[i] - float64(v)) * (x[i] - float64(v))
			}
			return sum / rows
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dev := cpu.New(cpu.Options{Threads: 1})
			defer dev.Close()
			params := nn.NewParams(1)
			classifier := &Classifier{params: params}
			classifier.layers[2] = nn.NewLinear(params.In("out"), 2, c.outputs)
			logits := nn.NewLinear(params.In("logits"), c.outputs, rows).W // [rows, outputs], as a parameter
			params.Place(dev)
			host := make([]float32, logits.Len())
			x := make([]float64, len(host))
			for i := range host {
				host[i] = float32(r.NormFloat64())
				x[i] = float64(host[i])
			}
			dev.Write(logits.Data, host)
			tape := grad.NewTape(dev, true)
			defer tape.Close()
			tape.Reset(1)
			params.ZeroGrad()
			loss := c.loss(classifier).Loss(tape, logits, batch)
			tape.Backward(loss)
			got := make([]float32, 1)
			if dev.Read(got, loss.Data); math.Abs(float64(got[0])-c.want(x)) > 1e-6 {
				t.Errorf("the loss is %v, want %v", got[0], c.want(x))
			}
			slopes := make([]float32, len(host))
			dev.Read(slopes, logits.Grad)
			for i := range x {
				at := x[i]
				x[i] = at + eps
				up := c.want(x)
				x[i] = at - eps
				want := (up - c.want(x)) / (2 * eps)
				x[i] = at
				if math.Abs(float64(slopes[i])-want) > 1e-6 {
					t.Errorf("slope %d is %v, want %v", i, slopes[i], want)
				}
			}
		})
	}
}

// TestTwoClassesAsBefore: without names, two classes have the binary loss of labels that are not 0.
func TestTwoClassesAsBefore(t *testing.T) {
	log := event.NewLog(0)
	for i, label := range []float32{0, 1, 0, 3} {
		log.Append(event.Event{Src: 1, Dst: 2, Time: float64(i), Label: label})
	}
	b := &sample.Batch{Queries: make([]sample.Query, 4), Events: log.All()}
	got := Labels{}.Labels(nil, b)
	for i, want := range []float32{0, 1, 0, 1} {
		if got[i] != want {
			t.Errorf("label %d is %v, want %v", i, got[i], want)
		}
	}
}
