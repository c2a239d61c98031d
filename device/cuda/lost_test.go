//go:build linux && !nogpu

package cuda

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/dygmamba/dygmamba/device"
)

// fakeGPU is a driver that computes nothing and disappears after some calls: every later one fails.
type fakeGPU struct {
	calls, last int
	waits       int      // for a whole stream
	made, gone  int      // graphs
	pinned      [][]byte // keeps memory alive that was handed out
	handles     uintptr
}

const launchFailed = 719 // CUDA_ERROR_LAUNCH_FAILED

func (f *fakeGPU) call() uintptr {
	if f.calls++; f.calls > f.last {
		return launchFailed
	}
	return 0
}

// device is a Device on top of the fake driver.
func (f *fakeGPU) device() *Device {
	plain := purego.NewCallback(func() uintptr { return f.call() })
	handle := purego.NewCallback(func(p *uintptr) uintptr { // makes something and says where it is
		f.handles += 1 << 20
		*p = f.handles
		return f.call()
	})
	drv := &driver{
		contextSet: plain, contextRelease: plain, launch: plain, free: plain, hostFree: plain, copyIn: plain,
		copyOut: plain, copyWithin: plain, fill: plain, streamWait: plain, eventRecord: plain, eventSync: plain,
		captureBegin: plain, graphLaunch: plain, graphDestroy: plain, captureInfo: plain, captureAwait: plain,
		errorString: purego.NewCallback(func() uintptr { return 1 }), alloc: handle, eventCreate: handle,
		graphInstantiate: purego.NewCallback(func(p *uintptr) uintptr {
			f.made++
			*p = uintptr(f.made)
			return f.call()
		}),
		graphExecDestroy: purego.NewCallback(func() uintptr { f.gone++; return f.call() }),
		captureEnd:       purego.NewCallback(func(_ uintptr, p *uintptr) uintptr { *p = 1; return f.call() }),
		streamSync:       purego.NewCallback(func() uintptr { f.waits++; return f.call() }),
		hostAlloc: purego.NewCallback(func(p *unsafe.Pointer, bytes uintptr) uintptr {
			f.pinned = append(f.pinned, make([]byte, bytes))
			*p = unsafe.Pointer(&f.pinned[len(f.pinned)-1][0])
			return f.call()
		}),
	}
	return &Device{drv: drv, blas: &blas{destroy: plain}, name: "fake", context: 1, graphs: map[int]*recording{},
		kernels: declared(source())}
}

// use takes five steps on a device, results one step late.
func use(d *Device) {
	host := []float32{1, 2, 3}
	x, y := d.Alloc(3), d.Alloc(3)
	defer d.Free(x) // as the owners of memory do, also when something fails
	defer d.Free(y)
	var before device.Reading
	for range 5 {
		d.Replay(1, func() {
			d.Write(x, host)
			d.Scale(y.Mat(1, 3), x.Mat(1, 3), 2)
		})
		reading := device.ReadLater(d, host, y)
		before.Wait()
		before = reading
	}
	before.Wait()
	d.Read(host, x)
}

// TestLostGPU lets the GPU disappear at every single call: what fails is a device.Failure that says what was called,
// and closing never fails.
func TestLostGPU(t *testing.T) {
	whole := &fakeGPU{last: 1 << 30}
	d := whole.device()
	use(d)
	all := whole.calls
	d.Close()
	if all < 50 {
		t.Fatalf("only %d calls", all)
	}
	for last := range all - 6 { // the last ones give memory back
		func() {
			gpu := &fakeGPU{last: last}
			d := gpu.device()
			defer d.Close()
			defer func() {
				f, ok := recover().(*device.Failure)
				if !ok || !strings.Contains(f.Error(), "error 719") || f.Call == "" {
					t.Errorf("lost after %d of %d calls: %v, want a failure", last, all, f)
				}
				if d.mode != eager || d.inbox != nil {
					t.Errorf("lost after %d of %d calls: left in the middle of a step", last, all)
				}
			}()
			use(d)
		}()
	}
}

// TestReplayDoesNotWait: from the third step on the host does not wait for the GPU's streams.
func TestReplayDoesNotWait(t *testing.T) {
	gpu := &fakeGPU{last: 1 << 30}
	d := gpu.device()
	defer d.Close()
	x, host := d.Alloc(100), make([]float32, 100)
	var before int
	for i := range 20 {
		if i == 2 {
			before = gpu.waits
		}
		d.Replay(1, func() { d.Write(x, host) })
	}
	if gpu.waits != before {
		t.Errorf("%d waits for a stream", gpu.waits-before)
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	if err != nil {
		t.Skipf("needs a C library to call: %v", err)
	}
	f, err := purego.Dlsym(libc, "getpid")
	if err != nil {
		t.Fatal(err)
	}
	x := new(uintptr)
	if n := testing.AllocsPerRun(50, func() { call(f, 1, ptr(x), 3) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
