//go:build linux && !nogpu

package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

// Options says how to open the GPU.
type Options struct {
	GPU  int  // which of them, from 0; where there are fewer they are counted again from the first
	TF32 bool // let matrix products of steps that learn round their operands to TF32
}

// Device is one GPU. Calls may come from any goroutine, one at a time; each makes the context current on its thread.
type Device struct {
	drv      *driver
	blas     *blas
	name     string
	context  uintptr
	handle   uintptr // cuBLAS
	tf32     bool    // products may round
	rounding bool    // they do, now

	compute uintptr // stream of the kernels
	copies  uintptr // stream of the inputs' copies, which run while a step computes

	kernels    map[string]kernel // by name
	args       launchArgs
	workspaces [products]uintptr // of cuBLAS, for products that run at once
	staging    staging
	work       scratch // partial sums of reductions

	mode     mode
	graphs   map[int]*recording // by key
	recorded []*recording       // those that have a graph
	order    order              // of the step that is captured
	steps    int                // that came so far
	inboxes  [2]inbox
	turn     int    // which of them was filled last
	inbox    *inbox // the one being filled, while a step is captured or replayed
	written  int    // bytes of an inbox that writes since the start of a first run would have taken

	readings [maxReadings]reading
	tickets  int // of readings, given out so far

	one, zero, alpha float32 // cuBLAS reads its factors through pointers
}

var (
	_ device.Device    = (*Device)(nil)
	_ device.Replayer  = (*Device)(nil)
	_ device.Forgetter = (*Device)(nil)
	_ device.Deferrer  = (*Device)(nil)
	_ device.Limited   = (*Device)(nil)
	_ device.Rounder   = (*Device)(nil)
)

// Attributes of the driver API that Open asks for.
const (
	attributeMajor = 75
	attributeMinor = 76
)

// bytes; the size cuBLAS recommends for Hopper, given up front so that steps can be captured
const blasWorkspace = 32 << 20

// products is how many products of a captured step may run at once. Each needs a workspace of the same size: cuBLAS
// chooses its algorithms by it.
const products = 4

// Open opens a GPU. The error wraps device.ErrUnavailable when there is none, and says why.
func Open(o Options) (device.Device, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	drv, err := openDriver()
	if err != nil {
		return nil, err
	}
	d := &Device{drv: drv, tf32: o.TF32, one: 1, graphs: map[int]*recording{}}
	var gpu, count, major, minor int32
	steps := []struct {
		what string
		run  func() int
	}{
		{"cuInit", func() int { return call(drv.init, 0) }},
		{"cuDeviceGetCount", func() int { return call(drv.deviceCount, ptr(&count)) }},
		{"cuDeviceGet", func() int {
			return call(drv.deviceGet, ptr(&gpu), uintptr(o.GPU%max(1, int(count))))
		}},
		{"cuDeviceGetAttribute", func() int {
			return call(drv.deviceAttribute, ptr(&major), attributeMajor, uintptr(gpu))
		}},
		{"cuDeviceGetAttribute", func() int {
			return call(drv.deviceAttribute, ptr(&minor), attributeMinor, uintptr(gpu))
		}},
		{"cuDevicePrimaryCtxRetain", func() int { return call(drv.contextRetain, ptr(&d.context), uintptr(gpu)) }},
		{"cuCtxSetCurrent", func() int { return call(drv.contextSet, d.context) }},
		{"cuStreamCreate", func() int { return call(drv.streamCreate, ptr(&d.compute), 1) }},
		{"cuStreamCreate", func() int { return call(drv.streamCreate, ptr(&d.copies), 1) }},
	}
	for _, s := range steps {
		if r := s.run(); r != 0 {
			return nil, fmt.Errorf("cuda: %w: %s: %s", device.ErrUnavailable, s.what, drv.reason(r))
		}
	}
	name := make([]byte, 256)
	call(drv.deviceName, ptr(&name[0]), uintptr(len(name)), uintptr(gpu))
	d.name = fmt.Sprintf("cuda (%s)", strings.TrimRight(string(name), "\x00"))
	if d.tf32 {
		d.name = strings.TrimSuffix(d.name, ")") + ", TF32)"
	}
	if err := d.loadKernels(fmt.Sprintf("sm_%d%d", major, minor)); err != nil {
		return nil, err
	}
	return d, d.openBlas()
}

func (d *Device) loadKernels(arch string) error {
	code, err := cubin(arch)
	if err != nil {
		return err
	}
	var module uintptr
	if r := call(d.drv.moduleLoad, ptr(&module), ptr(&code[0])); r != 0 {
		return fmt.Errorf("cuda: %w: loading the kernels: %s", device.ErrUnavailable, d.drv.reason(r))
	}
	d.kernels = declared(source())
	for name, k := range d.kernels {
		const maxDynamicShared = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
		text := cstring(name)
		r := call(d.drv.moduleFunction, ptr(&k.function), module, ptr(&text[0]))
		if r == 0 && slices.Contains(scanGradForms, name) {
			r = call(d.drv.functionAttribute, k.function, maxDynamicShared, scanShared)
		}
		if r != 0 {
			return fmt.Errorf("cuda: kernel %s: %s", name, d.drv.reason(r))
		}
		d.kernels[name] = k
	}
	return nil
}

func (d *Device) openBlas() error {
	var err error
	if d.blas, err = openBlas(); err != nil {
		return err
	}
	if r := call(d.blas.create, ptr(&d.handle)); r != 0 {
		return fmt.Errorf("cuda: %w: cublasCreate: status %d", device.ErrUnavailable, r)
	}
	call(d.blas.setStream, d.handle, d.compute)
	for i := range d.workspaces {
		d.workspaces[i] = d.alloc(blasWorkspace)
	}
	call(d.blas.setWorkspace, d.handle, d.workspaces[0], blasWorkspace)
	if err := d.setMath(d.tf32); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	return nil
}

// Name says which GPU this is.
func (d *Device) Name() string { return d.name }

// Close releases the GPU, also one that has failed.
func (d *Device) Close() error {
	if d.context == 0 {
		return nil
	}
	d.tryEnter()
	defer d.leave()
	call(d.drv.streamSync, d.compute)
	d.dropGraphs()
	for i := range d.inboxes {
		d.closeInbox(&d.inboxes[i])
	}
	for i := range d.readings {
		d.unpin(d.readings[i].host)
	}
	d.unpin(d.staging.memory)
	call(d.blas.destroy, d.handle)
	call(d.drv.contextRelease, 0)
	d.context = 0
	return nil
}

// enter makes the context current on this thread until leave.
func (d *Device) enter() {
	if r := d.tryEnter(); r != 0 {
		d.leave()
		d.fail("cuCtxSetCurrent", r)
	}
}

// tryEnter is enter for what must not fail: giving back memory of a GPU that may be gone.
func (d *Device) tryEnter() int {
	runtime.LockOSThread()
	return call(d.drv.contextSet, d.context)
}

func (d *Device) leave() { runtime.UnlockOSThread() }

// event makes an event that tells when, not how long.
func (d *Device) event() (e uintptr) {
	const noTiming = 2 // CU_EVENT_DISABLE_TIMING
	d.check("cuEventCreate", call(d.drv.eventCreate, ptr(&e), noTiming))
	return e
}

// check panics with a *device.Failure when a call failed.
func (d *Device) check(what string, result int) {
	if result != 0 {
		d.fail(what, result)
	}
}

func (d *Device) fail(what string, result int) {
	panic(&device.Failure{Device: d.name, Call: what, Reason: d.drv.reason(result)})
}

// reason is the driver's text for an error code.
func (drv *driver) reason(code int) string {
	var text *byte
	if call(drv.errorString, uintptr(code), ptr(&text)) != 0 || text == nil {
		return fmt.Sprintf("error %d", code)
	}
	b, _, _ := bytes.Cut(unsafe.Slice(text, 512), []byte{0})
	return fmt.Sprintf("%s (error %d)", b, code)
}
