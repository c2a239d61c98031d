// Package cpu is the device that every machine has: plain Go loops that are the reference for every kernel, and on
// amd64 with AVX2 and FMA their vector forms in assembly, chosen when the device is made.
package cpu

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/memory"
)

// Options says how to compute; the zero value is the fastest way.
type Options struct {
	Threads int   // 0: one for every processor
	Plain   bool  // plain Go kernels even where vector ones exist
	Limit   int64 // bytes Alloc may hand out; 0: no limit
}

// Device computes on the processor's cores. Like every device it takes calls from one goroutine at a time.
type Device struct {
	pool
	name    string
	limit   int64
	used    int64
	shared  []float32          // see scratch
	private [][]float32        // see local
	wide    []float64          // partial sums of TimeCodeGrad
	loops   loops              // the chosen form of each inner loop
	tasks   tasks              // the arguments of the kernel at work, kept here so that a call allocates nothing
	words   [][dropSpan]uint32 // one for each worker, see dropRun
	weights []float32          // see attentionBatch.memory
	kept    kept
	halt    <-chan struct{} // see StopWhen

	sparse map[*float32]bool // the buffers of AllocSparse that are in use, by their first numbers
	vacant [][]float32       // those that were freed, for the next of their size
}

var (
	_ device.Device   = (*Device)(nil)
	_ device.Metered  = (*Device)(nil)
	_ device.Threaded = (*Device)(nil)
	_ device.Keeper   = (*Device)(nil)
	_ device.Stopper  = (*Device)(nil)
)

// New starts a device and its threads; Close ends them.
func New(o Options) *Device {
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	d := &Device{limit: o.Limit, private: make([][]float32, threads), words: make([][dropSpan]uint32, threads),
		name: "cpu (plain)", loops: plain}
	if !o.Plain && vectors {
		d.name, d.loops = "cpu (AVX2)", vector
	}
	d.start(threads)
	return d
}

// Name says which kernels were chosen.
func (d *Device) Name() string { return d.name }

// Threads is the number of threads that share the work.
func (d *Device) Threads() int { return d.workers }

// Used is the number of bytes handed out by Alloc and AllocInts and not freed yet.
func (d *Device) Used() int64 { return d.used }

// Alloc hands out n zeroed floats.
func (d *Device) Alloc(n int) device.Buffer {
	d.charge(n)
	host := memory.Huge(make([]float32, n)) // kernels stream through it
	return device.Buffer{Host: host, Len: n}
}

// AllocSparse hands out n zeroed numbers. Many of them are on small pages, each of which takes memory when it is
// first written.
func (d *Device) AllocSparse(n int) device.Buffer {
	if 4*n < sparseBytes {
		return d.Alloc(n)
	}
	d.charge(n)
	host := d.reuse(n)
	if host == nil {
		host = make([]float32, n)
		scatter(host)
	}
	if d.sparse == nil {
		d.sparse = map[*float32]bool{}
	}
	d.sparse[&host[0]] = true
	return device.Buffer{Host: host, Len: n}
}

// reuse is a freed buffer of this size, nil if there is none. A new one in memory that Go has used before would be
// written with zeros from end to end.
func (d *Device) reuse(n int) []float32 {
	i := slices.IndexFunc(d.vacant, func(host []float32) bool { return len(host) == n })
	if i < 0 {
		return nil
	}
	host := d.vacant[i]
	d.vacant = slices.Delete(d.vacant, i, i+1)
	return host
}

// ZeroSparse zeroes numbers of AllocSparse, and gives the memory of many back to the system.
func (d *Device) ZeroSparse(b device.Buffer) {
	if 4*b.Len < sparseBytes || !vacate(b.Host) {
		d.Zero(b)
	}
}

// sparseBytes is the size from which on it is worth while to keep track of pages: smaller tables are written everywhere
// soon, and large pages are faster.
const sparseBytes = device.SparseBytes

// Free takes b back.
func (d *Device) Free(b device.Buffer) {
	d.used -= 4 * int64(b.Len)
	d.kept.freed(b)
	if 4*b.Len >= sparseBytes && d.sparse[&b.Host[0]] {
		delete(d.sparse, &b.Host[0])
		if vacate(b.Host) {
			d.vacant = append(d.vacant, b.Host)
		}
	}
}

// AllocInts hands out n zeroed integers.
func (d *Device) AllocInts(n int) device.Ints {
	d.charge(n)
	return device.Ints{Host: make([]int32, n), Len: n}
}

// FreeInts takes b back.
func (d *Device) FreeInts(b device.Ints) { d.used -= 4 * int64(b.Len) }

// maxFloats bounds one allocation, so that a wrong size is an error of its own and not the runtime's.
const maxFloats = 1 << 40

func (d *Device) charge(n int) {
	need := 4 * int64(n)
	if n < 0 || n > maxFloats || d.limit > 0 && d.used+need > d.limit {
		panic(&device.OutOfMemory{Device: d.name, Need: need, Free: max(0, d.limit-d.used)})
	}
	d.used += need
}

// Write copies src to the front of dst.
func (d *Device) Write(dst device.Buffer, src []float32) {
	copy(dst.Host, d.fits(src, dst.Len))
	d.kept.changed(dst)
}

// WriteInts copies src to the front of dst.
func (d *Device) WriteInts(dst device.Ints, src []int32) {
	if len(src) > dst.Len {
		panic(fmt.Sprintf("%s: write of %d integers into %d", d.name, len(src), dst.Len))
	}
	copy(dst.Host, src)
}

// Read copies the front of src to dst.
func (d *Device) Read(dst []float32, src device.Buffer) { copy(d.fits(dst, src.Len), src.Host) }

func (d *Device) fits(s []float32, n int) []float32 {
	if len(s) > n {
		panic(fmt.Sprintf("%s: transfer of %d floats with a buffer of %d", d.name, len(s), n))
	}
	return s
}

// Zero clears b.
func (d *Device) Zero(b device.Buffer) {
	const each = 1 << 18
	launch(d, &d.tasks.clear, b.Host, len(b.Host), each, func(s *[]float32, lo, hi, _ int) { clear((*s)[lo:hi]) })
}

// Sync does nothing: kernels are done when their call returns.
func (d *Device) Sync() {}

// StopWhen makes products panic once done is closed.
func (d *Device) StopWhen(done <-chan struct{}) { d.halt = done }

// stopped says whether products are to end.
func (d *Device) stopped() bool {
	select {
	case <-d.halt: // never, where it is nil
		return true
	default:
		return false
	}
}

// Close ends the threads.
func (d *Device) Close() error {
	d.stop()
	return nil
}

// scratch is memory for partial results that lives until the kernel returns: n floats, not cleared. A kernel may ask
// once.
func (d *Device) scratch(n int) []float32 {
	if cap(d.shared) < n {
		d.shared = make([]float32, n)
	}
	return d.shared[:n]
}

// local is memory of one worker that lives until its chunk is done: n floats, not cleared. A chunk may ask once.
func (d *Device) local(worker, n int) []float32 {
	if cap(d.private[worker]) < n {
		d.private[worker] = make([]float32, n)
	}
	return d.private[worker][:n]
}

// rowsPerChunk cuts rows of the given width into chunks of about chunkFloats numbers. It depends on the shape alone.
func rowsPerChunk(cols int) int { return max(1, chunkFloats/max(1, cols)) }

// chunkFloats is the usual size of a chunk: 64 KiB, so that a few arrays of a chunk fit a second-level cache.
const chunkFloats = 1 << 14

// pieces is how many chunks of size each cover n.
func pieces(n, each int) int { return (n + each - 1) / each }
