// Package optim answers: how do parameters move against their gradients?
package optim

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/nn"
)

// Config chooses a rule and its constants. Constants that are not listed are PyTorch's defaults.
type Config struct {
	Rule        device.Rule
	Rate        float32 // learning rate
	Momentum    float32 // SGD only
	WeightDecay float32
}

// Optimizer moves the parameters of one model. Frozen parameters, and those that no gradient has reached, stay where
// they are.
type Optimizer struct {
	config Config
	params *nn.Params
	dev    device.Device
	m, v   device.Buffer // running moments, empty where the rule has none
	step   device.Ints
	done   [1]int32 // steps taken
}

// New makes an optimizer for placed parameters.
func New(params *nn.Params, c Config) *Optimizer {
	o := &Optimizer{config: c, params: params, dev: params.Device()}
	data, _ := params.Flat()
	if c.Rule == device.Adam || c.Rule == device.SGD && c.Momentum > 0 {
		o.m = o.dev.Alloc(data.Len)
	}
	if c.Rule == device.Adam || c.Rule == device.RMSprop {
		o.v = o.dev.Alloc(data.Len)
	}
	o.step = o.dev.AllocInts(1)
	return o
}

// Rule finds a rule by name.
func Rule(name string) (device.Rule, error) {
	switch name {
	case "adam":
		return device.Adam, nil
	case "sgd":
		return device.SGD, nil
	case "rmsprop":
		return device.RMSprop, nil
	}
	return 0, fmt.Errorf("unknown optimizer %q, want adam, sgd or rmsprop", name)
}

// Step moves the parameters once. Neighbours in memory move together.
func (o *Optimizer) Step() {
	o.done[0]++
	o.dev.WriteInts(o.step, o.done[:])
	all := o.params.All()
	for i := 0; i < len(all); i++ {
		if !moves(all[i]) {
			continue
		}
		lo, haste := all[i].Lo, all[i].Haste
		for i+1 < len(all) && moves(all[i+1]) && all[i+1].Haste == haste {
			i++
		}
		o.move(lo, all[i].Hi, haste)
	}
}

// Steps is the number of steps taken.
func (o *Optimizer) Steps() int { return int(o.done[0]) }

// Close gives the memory back.
func (o *Optimizer) Close() {
	o.dev.Free(o.m)
	o.dev.Free(o.v)
	o.dev.FreeInts(o.step)
}

func moves(q *nn.Param) bool { return q.Touched && !q.Frozen }

// move updates the part [lo, hi) of the flat buffers, by steps that are haste times as long; 0 is 1.
func (o *Optimizer) move(lo, hi int, haste float32) {
	data, grad := o.params.Flat()
	u := device.Update{Rule: o.config.Rule, W: data.Slice(lo, hi), G: grad.Slice(lo, hi), Rate: o.config.Rate,
		WeightDecay: o.config.WeightDecay, Step: o.step}
	if haste != 0 {
		u.Rate *= haste
	}
	if o.m.Len > 0 {
		u.M = o.m.Slice(lo, hi)
	}
	if o.v.Len > 0 {
		u.V = o.v.Slice(lo, hi)
	}
	switch u.Rule {
	case device.Adam:
		u.Beta1, u.Beta2, u.Eps = 0.9, 0.999, 1e-8
	case device.SGD:
		u.Beta1 = o.config.Momentum
	case device.RMSprop:
		u.Beta2, u.Eps = 0.99, 1e-8
	}
	o.dev.Update(u)
}
