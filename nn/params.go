// Package nn answers: which layers are there, and which numbers do they learn?
//
// Layers are small structs of named parameters with a Forward method. Their parameters register with a Params, which
// packs them into one buffer, under the names of the reference checkpoints and with PyTorch's initial values.
package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Params are all parameters of a model, in the order in which they were added. They share one buffer, and their
// gradients another, so that an optimizer moves them with one kernel.
type Params struct {
	seed   uint64
	dev    device.Device
	list   []*Param
	draws  []*Param // the same in the order in which they get their initial values
	byName map[string]*Param
	total  int
	data   device.Buffer
	grad   device.Buffer
}

// Param is a named parameter.
type Param struct {
	*tensor.Tensor
	Name   string
	Lo, Hi int // where it lies in the flat buffers
	Frozen bool
	Haste  float32 // how many times as far as others its steps go; 0 is 1
	Before int     // the length of this list in checkpoints of older versions, which lack the end of it; 0: the same
	init   Init
}

// NewParams starts an empty collection. The seed decides the initial values, which are drawn in the order of the
// parameters unless DrawBefore says otherwise.
func NewParams(seed uint64) *Params { return &Params{seed: seed, byName: map[string]*Param{}} }

// Add registers a parameter. It has memory after Place.
func (p *Params) Add(name string, init Init, shape ...int) *tensor.Tensor {
	if p.dev != nil {
		panic("nn: parameter " + name + " added after Place")
	}
	if p.byName[name] != nil {
		panic("nn: two parameters are called " + name)
	}
	t := &tensor.Tensor{Tracked: true}
	t.SetShape(shape)
	t.Of = t
	lo := (p.total + 15) &^ 15 // starts on a cache line
	q := &Param{Tensor: t, Name: name, Lo: lo, Hi: lo + t.Len(), init: init}
	p.total = q.Hi
	p.list = append(p.list, q)
	p.draws = append(p.draws, q)
	p.byName[name] = q
	return t
}

// DrawBefore lets parameters get their initial values, in the order given here, just before next gets its own. It is
// for layers that the reference fills in another order than it names them; names and places in memory stay as they are.
func (p *Params) DrawBefore(next *tensor.Tensor, first ...*tensor.Tensor) {
	for _, t := range first {
		from, to := p.draw(t), p.draw(next)
		q := p.draws[from]
		p.draws = slices.Delete(p.draws, from, from+1)
		if from < to {
			to--
		}
		p.draws = slices.Insert(p.draws, to, q)
	}
}

// draw is where a parameter stands in the order of draws.
func (p *Params) draw(t *tensor.Tensor) int {
	i := slices.IndexFunc(p.draws, func(q *Param) bool { return q.Tensor == t })
	if i < 0 {
		panic("nn: the order of draws is only for parameters")
	}
	return i
}

// Place allocates the parameters on a device and writes their initial values.
func (p *Params) Place(dev device.Device) {
	p.dev = dev
	p.data, p.grad = dev.Alloc(p.total), dev.Alloc(p.total)
	host := make([]float32, p.total)
	draws := newDraws(p.seed)
	for _, q := range p.draws {
		q.init(draws, host[q.Lo:q.Hi])
	}
	for _, q := range p.list {
		if q.Hi > q.Lo {
			q.Data = p.data.Slice(q.Lo, q.Hi)
		}
		q.attach(p.grad)
	}
	if p.total > 0 {
		dev.Write(p.data, host)
	}
}

// Close gives the memory back.
func (p *Params) Close() {
	if p.dev != nil {
		p.dev.Free(p.data)
		p.dev.Free(p.grad)
	}
}

// All lists the parameters in order; do not modify the list.
func (p *Params) All() []*Param { return p.list }

// Get finds a parameter by name, nil if there is none.
func (p *Params) Get(name string) *Param { return p.byName[name] }

// Count is the number of trainable numbers.
func (p *Params) Count() int {
	n := 0
	for _, q := range p.list {
		if !q.Frozen {
			n += q.Len()
		}
	}
	return n
}

// Device is where the parameters lie, nil before Place.
func (p *Params) Device() device.Device { return p.dev }

// Keep lets a device that can keep what it derives of the weights, until they change: they are to answer, not to learn.
func (p *Params) Keep() {
	if k, ok := p.dev.(device.Keeper); ok {
		data, _ := p.Flat()
		k.Keep(data)
	}
}

// Flat gives the buffers of all parameters and of all gradients; Param.Lo and Hi say what lies where.
func (p *Params) Flat() (data, grad device.Buffer) { return p.data, p.grad }

// ZeroGrad forgets all gradients. It belongs before every backward pass.
func (p *Params) ZeroGrad() {
	if p.total > 0 {
		p.dev.Zero(p.grad)
	}
	for _, q := range p.list {
		q.Touched = false
	}
}

// Freeze excludes the parameters whose names start with one of the prefixes from training.
func (p *Params) Freeze(prefixes ...string) {
	for _, q := range p.list {
		for _, prefix := range prefixes {
			if strings.HasPrefix(q.Name, prefix) {
				q.Frozen = true
				q.Tracked = false
				q.attach(p.grad)
			}
		}
	}
}

// Hasten lets the parameters whose names start with a prefix take steps that are this many times as long.
func (p *Params) Hasten(prefix string, times float32) {
	for _, q := range p.list {
		if strings.HasPrefix(q.Name, prefix) {
			q.Haste = times
		}
	}
}

// Read copies the values of a parameter out.
func (p *Params) Read(q *Param) []float32 {
	host := make([]float32, q.Len())
	if len(host) > 0 {
		p.dev.Read(host, q.Data)
	}
	return host
}

// ReadGrad copies the gradient of a parameter out.
func (p *Params) ReadGrad(q *Param) []float32 {
	host := make([]float32, q.Len())
	if len(host) > 0 && !q.Frozen {
		p.dev.Read(host, q.Grad)
	}
	return host
}

// Write sets the values of a parameter.
func (p *Params) Write(q *Param, values []float32) error {
	if len(values) != q.Len() {
		return fmt.Errorf("parameter %s has %d values %v, got %d", q.Name, q.Len(), q.Shape(), len(values))
	}
	if len(values) > 0 {
		p.dev.Write(q.Data, values)
	}
	return nil
}

// attach gives the parameter its part of the gradient, or none when frozen.
func (q *Param) attach(grad device.Buffer) {
	q.Grad = device.Buffer{}
	if !q.Frozen && q.Hi > q.Lo && grad.Len > 0 {
		q.Grad = grad.Slice(q.Lo, q.Hi)
	}
}

// Scope adds parameters under a common prefix.
type Scope struct {
	params *Params
	prefix string
}

// In is the scope of names that start with "name.".
func (p *Params) In(name string) Scope { return Scope{p, name + "."} }

// In is the scope below s.
func (s Scope) In(name string) Scope { return Scope{s.params, s.prefix + name + "."} }

// Add registers a parameter under the scope's prefix.
func (s Scope) Add(name string, init Init, shape ...int) *tensor.Tensor {
	return s.params.Add(s.prefix+name, init, shape...)
}

// DrawBefore changes the order of draws, see Params.DrawBefore.
func (s Scope) DrawBefore(next *tensor.Tensor, first ...*tensor.Tensor) {
	s.params.DrawBefore(next, first...)
}
