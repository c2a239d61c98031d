// Package trace answers: where does a step's time go?
//
// Its Device wraps another one, hands every call on, counts and times the kernels by name, and keeps a list of the
// matrix products, from which the least possible time of a step follows.
package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/hook"
)

// Device measures the kernels of another device.
type Device struct {
	hook.Hook
	kernels  map[string]*Kernel
	products []Product
}

// Kernel is what the calls of one name took together.
type Kernel struct {
	Name  string  `json:"name"`
	Calls int     `json:"calls"`
	Time  float64 `json:"ms"`
}

// New wraps a device. It waits for every kernel to finish, which costs an asynchronous device its overlap.
func New(dev device.Device) *Device {
	d := &Device{kernels: map[string]*Kernel{}}
	d.Hook = hook.New(dev, d.measure)
	return d
}

// Reset forgets what was measured.
func (d *Device) Reset() {
	clear(d.kernels)
	d.products = d.products[:0]
}

// Kernels lists the kernels that ran, the most expensive first.
func (d *Device) Kernels() []Kernel {
	list := []Kernel{}
	for _, k := range d.kernels {
		list = append(list, *k)
	}
	slices.SortFunc(list, func(a, b Kernel) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Products lists the matrix products in the order in which they ran.
func (d *Device) Products() []Product { return d.products }

func (d *Device) measure(name string, run func()) {
	began := time.Now()
	run()
	d.Sync()
	k := d.kernels[name]
	if k == nil {
		k = &Kernel{Name: name}
		d.kernels[name] = k
	}
	k.Calls++
	k.Time += time.Since(began).Seconds() * 1e3
}
