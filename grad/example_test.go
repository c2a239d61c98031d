package grad_test

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/nn"
)

// A linear map learns that the first input minus the second decides the label.
func Example() {
	dev := cpu.New(cpu.Options{})
	defer dev.Close()
	params := nn.NewParams(1)
	layer := nn.NewLinear(params.In("layer"), 2, 1)
	params.Place(dev)
	opt := optim.New(params, optim.Config{Rule: device.Adam, Rate: 0.05})

	inputs := []float32{3, 1, 1, 2, 0, 5, 4, 2}
	labels := []float32{1, 0, 0, 1}
	loss := make([]float32, 1)
	tp := grad.NewTape(dev, true)
	for step := range 300 {
		tp.Reset(grad.Key(1, uint64(step)))
		params.ZeroGrad()
		logits := layer.Forward(tp, tp.Floats(inputs, 4, 2)) // [4, 1]
		l := grad.BCE(tp, logits, tp.Floats(labels, 4))      // [1]
		tp.Backward(l)
		opt.Step()
		dev.Read(loss, l.Data)
	}
	w := params.Read(params.Get("layer.weight"))
	fmt.Println("loss below 0.05:", loss[0] < 0.05)
	fmt.Println("first counts for, second against:", w[0] > 0 && w[1] < 0)
	// Output:
	// loss below 0.05: true
	// first counts for, second against: true
}
