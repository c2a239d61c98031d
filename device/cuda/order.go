//go:build linux && !nogpu

package cuda

import (
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

// access is memory that a launch reads or writes: rows of cols floats that begin stride floats apart.
type access struct {
	addr               uintptr
	rows, cols, stride int
	write              bool
}

func accessOf(m device.Mat, write bool) access {
	return access{m.Buf.Addr, m.Rows, m.Cols, m.Stride, write}
}

func (a access) empty() bool { return a.addr == 0 || a.rows == 0 || a.cols == 0 }

// end is the first address behind a.
func (a access) end() uintptr { return a.addr + 4*uintptr((a.rows-1)*a.stride+a.cols) }

// overlaps reports whether a and b may share a number. Columns of the same matrix that lie side by side do not.
func (a access) overlaps(b access) bool {
	if a.addr >= b.end() || b.addr >= a.end() {
		return false
	}
	if a.stride != b.stride || a.rows == 1 || b.rows == 1 || a.stride < a.cols || b.stride < b.cols {
		return true
	}
	if a.addr > b.addr {
		a, b = b, a
	}
	apart := int(b.addr-a.addr) / 4 % a.stride // columns between the beginnings of a and b
	return apart < a.cols || apart+b.cols > a.stride
}

// conflict reports whether launches with these accesses must keep their order: one of them writes what both touch.
func conflict(a, b []access) bool {
	for _, x := range a {
		for _, y := range b {
			if (x.write || y.write) && x.overlaps(y) {
				return true
			}
		}
	}
	return false
}

// order finds out which launches of a captured step have to wait for which, so that all others may run at once. The
// step's code launches one after the other, and a launch has to wait for those before it that it conflicts with.
type order struct {
	accesses [][]access
	ended    []bitset      // the launches that have ended when a launch begins
	nodes    [][]uintptr   // what stands for a launch in the graph
	users    [products]int // the launch that used a workspace last, -1 before the first
}

func newOrder() (o order) {
	for i := range o.users {
		o.users[i] = -1
	}
	return o
}

// add takes the next launch and returns those that it has to wait for, without those that they have waited for.
func (o *order) add(a []access) (waits []int) {
	n := len(o.accesses)
	ended := make(bitset, (n+63)/64)
	for i := n - 1; i >= 0; i-- {
		if !ended.has(i) && conflict(o.accesses[i], a) {
			waits = append(waits, i)
			ended.set(i)
			ended.join(o.ended[i])
		}
	}
	o.accesses = append(o.accesses, a)
	o.ended = append(o.ended, ended)
	return waits
}

// addProduct is add for a product, which also takes a workspace: if possible one whose last user has ended by then.
func (o *order) addProduct(a []access) (waits []int, space int) {
	waits = o.add(a)
	n := len(o.accesses) - 1
	ended := o.ended[n]
	for i, user := range o.users {
		if user < 0 || ended.has(user) {
			o.users[i] = n
			return waits, i
		}
		if user < o.users[space] {
			space = i
		}
	}
	user := o.users[space]
	o.users[space] = n
	waits = slices.DeleteFunc(waits, o.ended[user].has)
	ended.set(user)
	ended.join(o.ended[user])
	return append(waits, user), space
}

// await lets the next launch of a captured step wait for these, and for nothing else.
func (d *Device) await(waits []int) {
	const set = 1 // CU_STREAM_SET_CAPTURE_DEPENDENCIES
	nodes := make([]uintptr, 0, len(waits)+1)
	for _, i := range waits {
		nodes = append(nodes, d.order.nodes[i]...)
	}
	n := len(nodes)
	nodes = append(nodes, 0) // so that there is an address
	d.check("cuStreamUpdateCaptureDependencies", call(d.drv.captureAwait, d.compute, ptr(&nodes[0]), uintptr(n), set))
}

// captured notes what stands for the launch that was enqueued last.
func (d *Device) captured() {
	if d.mode != capturing {
		return
	}
	var status int32
	var nodes *uintptr
	var n uintptr
	d.check("cuStreamGetCaptureInfo", call(d.drv.captureInfo, d.compute, ptr(&status), 0, 0, ptr(&nodes), ptr(&n)))
	d.order.nodes = append(d.order.nodes, slices.Clone(unsafe.Slice(nodes, n)))
}

// bitset is a set of small numbers.
type bitset []uint64

func (s bitset) has(i int) bool { return i/64 < len(s) && s[i/64]>>(i%64)&1 != 0 }
func (s bitset) set(i int)      { s[i/64] |= 1 << (i % 64) }

// join adds a set whose numbers are within s.
func (s bitset) join(t bitset) {
	for i, w := range t {
		s[i] |= w
	}
}
