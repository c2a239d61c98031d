package optim

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/nn"
)

// State is what an optimizer remembers between steps: its counter, and the running moments of each parameter by name.
type State struct {
	Steps int
	M, V  map[string][]float32 // nil where the rule has none
}

// State copies the optimizer's memory out.
func (o *Optimizer) State() State {
	return State{Steps: o.Steps(), M: o.export(o.m), V: o.export(o.v)}
}

// Restore continues from a state of the same model and rule. Nothing changes when it returns an error.
func (o *Optimizer) Restore(s State) error {
	if s.Steps < 0 || s.Steps > 1<<31-1 {
		return fmt.Errorf("restore optimizer: %d steps, want 0 to %d", s.Steps, 1<<31-1)
	}
	m, err := o.flatten("first", o.m, s.M)
	if err != nil {
		return err
	}
	v, err := o.flatten("second", o.v, s.V)
	if err != nil {
		return err
	}
	if m != nil {
		o.dev.Write(o.m, m)
	}
	if v != nil {
		o.dev.Write(o.v, v)
	}
	o.done[0] = int32(s.Steps)
	return nil
}

func (o *Optimizer) export(b device.Buffer) map[string][]float32 {
	if b.Len == 0 {
		return nil
	}
	host := make([]float32, b.Len)
	o.dev.Read(host, b)
	out := map[string][]float32{}
	for _, q := range o.params.All() {
		out[q.Name] = host[q.Lo:q.Hi:q.Hi]
	}
	return out
}

// flatten lays moments out like the parameters.
func (o *Optimizer) flatten(which string, b device.Buffer, values map[string][]float32) ([]float32, error) {
	if b.Len == 0 {
		return nil, nil
	}
	host := make([]float32, b.Len)
	for _, q := range o.params.All() {
		x, ok := values[q.Name]
		if !ok || len(x) != q.Len() {
			return nil, momentError(which, q, len(x))
		}
		copy(host[q.Lo:q.Hi], x)
	}
	return host, nil
}

func momentError(which string, q *nn.Param, got int) error {
	return fmt.Errorf("restore optimizer: %s moment of %s has %d values, want %d", which, q.Name, got, q.Len())
}
