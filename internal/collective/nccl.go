//go:build linux && !nogpu

package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ncclPlaces are directories that NCCL is found in, as glob patterns; the loader's own search comes first.
var ncclPlaces = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
	"/usr/local/lib/python3*/*-packages/nvidia/nccl/lib", "/opt/*/lib/python3*/site-packages/nvidia/nccl/lib",
	"/opt/*/.venv/lib/python3*/site-packages/nvidia/nccl/lib",
}

// NCCL is the engine of ranks that have a GPU each. Messages go from one GPU's memory to another's; what lies in main
// memory is copied to the GPU and back.
type NCCL struct {
	rank, size int
	gpu        int32
	context    uintptr
	stream     uintptr
	comm       uintptr
	memory     uint64 // of messages on the GPU
	room       int
	out, in    [][]byte // of the exchange under way; none: there is none

	start, deviceGet, deviceUUID, deviceCount, retain, setContext                                uintptr
	alloc, free, copyIn, copyOut, streamCreate, streamQuery                                      uintptr
	uniqueID, initScalable, initAll, groupStart, groupEnd, send, recv, destroy, abort, errorText uintptr
}

// OpenNCCL joins the ranks of a launcher that gave the address of rank 0; local is the number of this rank's GPU.
func OpenNCCL(ctx context.Context, l *Launch) (*NCCL, error) {
	n := &NCCL{rank: l.Rank, size: l.Size}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := n.bind(); err != nil {
		return nil, err
	}
	uuid, err := n.openGPU(max(0, l.Local))
	if err != nil {
		return nil, err
	}
	id := new(ncclID)
	if n.rank == 0 {
		if err := n.check("ncclGetUniqueId", n.uniqueID, address(id)); err != nil {
			return nil, err
		}
	}
	host, _ := os.Hostname()
	if err := rendezvous(ctx, l, host+" "+uuid, id); err != nil {
		return nil, err
	}
	if n.size == 1 {
		return n, n.check("ncclCommInitAll", n.initAll, address(&n.comm), 1, address(&n.gpu))
	}
	if n.initScalable == 0 {
		return nil, errors.New("this NCCL is too old: version 2.23 or later is needed for several ranks")
	}
	return n, n.check("ncclCommInitRankScalable", n.initScalable, address(&n.comm), uintptr(n.size), uintptr(n.rank), 1,
		address(id), 0)
}

// bind finds the functions of the driver and of NCCL.
func (n *NCCL) bind() error {
	driver, err := openFirst("libcuda.so.1", nil)
	if err != nil {
		return fmt.Errorf("NCCL needs a GPU: %w", err)
	}
	lib, err := openFirst("libnccl.so.2", append(filepath.SplitList(os.Getenv("DYGMAMBA_CUDA_PATH")), ncclPlaces...))
	if err != nil {
		return fmt.Errorf("no NCCL: %w (DYGMAMBA_CUDA_PATH may name its directory)", err)
	}
	for from, list := range map[uintptr]map[string]*uintptr{
		driver: {"cuInit": &n.start, "cuDeviceGet": &n.deviceGet, "cuDevicePrimaryCtxRetain": &n.retain,
			"cuCtxSetCurrent": &n.setContext,
			"cuMemAlloc_v2":   &n.alloc, "cuMemFree_v2": &n.free, "cuMemcpyHtoD_v2": &n.copyIn,
			"cuMemcpyDtoH_v2": &n.copyOut, "cuStreamCreate": &n.streamCreate, "cuStreamQuery": &n.streamQuery,
			"cuDeviceGetUuid": &n.deviceUUID, "cuDeviceGetCount": &n.deviceCount},
		lib: {"ncclGetUniqueId": &n.uniqueID, "ncclCommInitAll": &n.initAll, "ncclGroupStart": &n.groupStart,
			"ncclGroupEnd": &n.groupEnd, "ncclSend": &n.send, "ncclRecv": &n.recv, "ncclCommDestroy": &n.destroy,
			"ncclCommAbort": &n.abort, "ncclGetErrorString": &n.errorText},
	} {
		for name, f := range list {
			if *f, err = purego.Dlsym(from, name); err != nil {
				return fmt.Errorf("%s is missing: %w", name, err)
			}
		}
	}
	n.initScalable, _ = purego.Dlsym(lib, "ncclCommInitRankScalable")
	return nil
}

func openFirst(name string, dirs []string) (uintptr, error) {
	lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, name))
		for _, path := range found {
			if err != nil {
				lib, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
			}
		}
	}
	return lib, err
}

// openGPU makes the GPU of this rank current and returns its identity.
func (n *NCCL) openGPU(number int) (uuid string, err error) {
	count, id := new(int32), new([16]byte)
	for _, call := range []func() error{
		func() error { return n.driver("cuInit", n.start, 0) },
		func() error { return n.driver("cuDeviceGetCount", n.deviceCount, address(count)) },
		func() error {
			return n.driver("cuDeviceGet", n.deviceGet, address(&n.gpu), uintptr(number%max(1, int(*count))))
		},
		func() error { return n.driver("cuDeviceGetUuid", n.deviceUUID, address(id), uintptr(n.gpu)) },
		func() error {
			return n.driver("cuDevicePrimaryCtxRetain", n.retain, address(&n.context), uintptr(n.gpu))
		},
		func() error { return n.driver("cuCtxSetCurrent", n.setContext, n.context) },
		func() error { return n.driver("cuStreamCreate", n.streamCreate, address(&n.stream), 1) },
	} {
		if err := call(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", *id), nil
}

// driver calls the driver.
func (n *NCCL) driver(name string, f uintptr, args ...uintptr) error {
	if r, _, _ := purego.SyscallN(f, args...); int32(r) != 0 {
		return fmt.Errorf("NCCL: %s: error %d of the CUDA driver", name, int32(r))
	}
	return nil
}

// check calls NCCL.
func (n *NCCL) check(name string, f uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(f, args...)
	if int32(r) == 0 {
		return nil
	}
	text, _, _ := purego.SyscallN(n.errorText, uintptr(uint32(r)))
	return fmt.Errorf("NCCL: %s: %s", name, cText(text))
}

// cText copies a C string.
func cText(at uintptr) string {
	if at == 0 {
		return "unknown error"
	}
	var b strings.Builder
	for b.Len() < 256 {
		c := *(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at)))
		if c == 0 {
			break
		}
		b.WriteByte(c)
		at++
	}
	return b.String()
}

// Name is that of the library.
func (n *NCCL) Name() string { return NCCLName }

// Rank is this process's number.
func (n *NCCL) Rank() int { return n.rank }

// Size is the number of processes.
func (n *NCCL) Size() int { return n.size }

// Exchange sends and receives all messages as one group.
func (n *NCCL) Exchange(ctx context.Context, out, in [][]byte) error {
	if err := n.Start(out, in); err != nil {
		return err
	}
	return n.Finish(ctx)
}

// Start copies what is sent to the GPU and enqueues all messages.
func (n *NCCL) Start(out, in [][]byte) error {
	copy(in[n.rank], out[n.rank])
	leave, err := n.enter()
	if err != nil {
		return err
	}
	defer leave()
	total := 0
	for i := range out {
		if i != n.rank {
			total += padded(len(out[i])) + padded(len(in[i]))
		}
	}
	if total == 0 {
		return nil
	}
	if err := n.reserve(total); err != nil {
		return err
	}
	at, begun := n.memory, n.check("ncclGroupStart", n.groupStart)
	for i := range out {
		for _, m := range []struct {
			name string
			f    uintptr
			b    []byte
			send bool
		}{{"ncclSend", n.send, out[i], true}, {"ncclRecv", n.recv, in[i], false}} {
			if i == n.rank || len(m.b) == 0 || begun != nil {
				continue
			}
			if m.send {
				begun = n.driver("cuMemcpyHtoD", n.copyIn, uintptr(at), address(&m.b[0]), uintptr(len(m.b)))
			}
			if begun == nil { // bytes are type 0
				begun = n.check(m.name, m.f, uintptr(at), uintptr(len(m.b)), 0, uintptr(i), n.comm, n.stream)
			}
			at += uint64(padded(len(m.b)))
		}
	}
	if err := errors.Join(begun, n.check("ncclGroupEnd", n.groupEnd)); err != nil {
		return err
	}
	n.out, n.in = append(n.out[:0], out...), append(n.in[:0], in...)
	return nil
}

// enter makes the GPU current for this thread until leave is called.
func (n *NCCL) enter() (leave func(), err error) {
	runtime.LockOSThread()
	if err := n.driver("cuCtxSetCurrent", n.setContext, n.context); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return runtime.UnlockOSThread, nil
}

// Test asks the stream once, and copies what has arrived.
func (n *NCCL) Test() (over bool, err error) {
	if len(n.out) == 0 {
		return true, nil
	}
	leave, err := n.enter()
	if err != nil {
		return false, err
	}
	defer leave()
	if over, err = n.query(); !over || err != nil {
		return false, err
	}
	return true, n.collect()
}

// Finish waits for the messages and copies what has arrived.
func (n *NCCL) Finish(ctx context.Context) error {
	if len(n.out) == 0 {
		return nil
	}
	leave, err := n.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := n.wait(ctx); err != nil {
		return err
	}
	return n.collect()
}

// collect copies what has arrived to main memory.
func (n *NCCL) collect() error {
	at, out, in := n.memory, n.out, n.in
	n.out = n.out[:0] // the exchange is over
	for i := range out {
		if i == n.rank {
			continue
		}
		at += uint64(padded(len(out[i])))
		if b := in[i]; len(b) > 0 {
			if err := n.driver("cuMemcpyDtoH", n.copyOut, address(&b[0]), uintptr(at), uintptr(len(b))); err != nil {
				return err
			}
			at += uint64(padded(len(b)))
		}
	}
	return nil
}

func padded(n int) int { return (n + 255) &^ 255 }

func (n *NCCL) reserve(bytes int) error {
	if bytes <= n.room {
		return nil
	}
	if n.room > 0 {
		n.driver("cuMemFree", n.free, uintptr(n.memory))
		n.room = 0
	}
	if err := n.driver("cuMemAlloc", n.alloc, address(&n.memory), uintptr(bytes)); err != nil {
		return err
	}
	n.room = bytes
	return nil
}

// wait looks after the stream until the messages have arrived. When ctx ends, the group is over.
func (n *NCCL) wait(ctx context.Context) error {
	for i := 0; ; i++ {
		over, err := n.query()
		switch {
		case over || err != nil:
			return err
		case ctx.Err() != nil:
			n.Abort()
			return ctx.Err()
		case i > 1000:
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// query tells whether the stream has done everything.
func (n *NCCL) query() (over bool, err error) {
	const notReady = 600
	switch r, _, _ := purego.SyscallN(n.streamQuery, n.stream); int32(r) {
	case 0:
		return true, nil
	case notReady:
		return false, nil
	default:
		return false, fmt.Errorf("NCCL: cuStreamQuery: error %d of the CUDA driver", int32(r))
	}
}

// Close leaves when all do.
func (n *NCCL) Close() error {
	if n.comm == 0 {
		return nil
	}
	comm := n.comm
	n.comm = 0
	return n.check("ncclCommDestroy", n.destroy, comm)
}

// Abort ends the group without waiting for the others.
func (n *NCCL) Abort() {
	if n.comm != 0 {
		purego.SyscallN(n.abort, n.comm)
		n.comm = 0
	}
}
