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
	"syscall"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

const ucxSignals = "UCX_ERROR_SIGNALS"

// abi is how the two families of MPI libraries pass handles: Open MPI as addresses of its own symbols, MPICH as numbers
// of 32 bits. There is no common header here, as there is no C compiler: these are the values of their mpi.h.
type abi struct {
	name         string
	libraries    []string
	world, byte  uintptr // handles, where they are numbers
	errorsReturn uintptr
	worldSymbol  string // where they are addresses
	byteSymbol   string
	errorsSymbol string
	request      int     // bytes of a handle of a request
	ignoreStatus uintptr // MPI_STATUSES_IGNORE
}

var openMPI = abi{
	name: openMPIName, libraries: []string{"libmpi.so.40"}, worldSymbol: "ompi_mpi_comm_world",
	byteSymbol: "ompi_mpi_byte", errorsSymbol: "ompi_mpi_errors_return", request: 8,
}

var mpich = abi{
	name: mpichName, libraries: []string{"libmpich.so.12", "libmpi.so.12"}, world: 0x44000000, byte: 0x4c00010d,
	errorsReturn: 0x54000001, request: 4, ignoreStatus: 1,
}

// largest is what one message has at most: counts have 32 bits.
const largest = 1 << 30

// MPI is the engine of processes that mpirun or srun started.
type MPI struct {
	abi        abi
	rank, size int
	world      uintptr
	bytes      uintptr
	requests   []byte
	count      int
	out, in    [][]byte   // of the exchange under way
	broken     [][][]byte // buffers that the library may still write to

	initThread, commRank, commSize, isend, irecv, testAll, finalize, errorString, setErrors uintptr
}

// OpenMPI joins the others that were started together with this process. The name of a launcher, "" if not known, says
// which library is tried first: it must be the launcher's own.
func OpenMPI(prefer string) (*MPI, error) {
	order := []abi{openMPI, mpich}
	if prefer == mpich.name {
		order = []abi{mpich, openMPI}
	}
	// UCX, which both may use, reads this when it is loaded. It would take over the signals by which Go notices faults.
	if os.Getenv(ucxSignals) == "" {
		if err := os.Setenv(ucxSignals, ""); err != nil {
			return nil, err
		}
	}
	var failed []string
	for _, a := range order {
		for _, name := range a.libraries {
			lib, err := openMPILibrary(name)
			if err != nil {
				failed = append(failed, name)
				continue
			}
			m := &MPI{abi: a}
			return m, m.open(lib)
		}
	}
	return nil, fmt.Errorf("%w: none of %s can be opened; install the run-time package of Open MPI or MPICH "+
		"(%s may name its directory)", ErrNoMPI, strings.Join(failed, ", "), MPIPathVariable)
}

func openMPILibrary(name string) (uintptr, error) {
	dirs := append(filepath.SplitList(os.Getenv(MPIPathVariable)), "", "/usr/lib64/openmpi/lib", "/usr/lib64/mpich/lib")
	var last error
	for _, dir := range dirs {
		lib, err := purego.Dlopen(filepath.Join(dir, name), purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return lib, nil
		}
		last = err
	}
	return 0, last
}

func (m *MPI) open(lib uintptr) error {
	for name, f := range map[string]*uintptr{
		"MPI_Init_thread": &m.initThread, "MPI_Comm_rank": &m.commRank, "MPI_Comm_size": &m.commSize,
		"MPI_Isend": &m.isend, "MPI_Irecv": &m.irecv, "MPI_Testall": &m.testAll, "MPI_Finalize": &m.finalize,
		"MPI_Error_string": &m.errorString, "MPI_Comm_set_errhandler": &m.setErrors,
	} {
		var err error
		if *f, err = purego.Dlsym(lib, name); err != nil {
			return fmt.Errorf("%s has no %s: %w", m.abi.name, name, err)
		}
	}
	errorsReturn := m.abi.errorsReturn
	m.world, m.bytes = m.abi.world, m.abi.byte
	for name, to := range map[string]*uintptr{m.abi.worldSymbol: &m.world, m.abi.byteSymbol: &m.bytes,
		m.abi.errorsSymbol: &errorsReturn} {
		var err error
		if name == "" {
			continue
		}
		if *to, err = purego.Dlsym(lib, name); err != nil {
			return fmt.Errorf("%s has no %s: %w", m.abi.name, name, err)
		}
	}
	const serialized = 2 // MPI_THREAD_SERIALIZED: goroutines change threads, and call one at a time
	provided := new(int32)
	if err := m.call("MPI_Init_thread", m.initThread, 0, 0, serialized, address(provided)); err != nil {
		return err
	}
	if *provided < serialized {
		return fmt.Errorf("%s was built without support for threads: level %d, want %d", m.abi.name, *provided,
			serialized)
	}
	if err := m.call("MPI_Comm_set_errhandler", m.setErrors, m.world, errorsReturn); err != nil {
		return err
	}
	rank, size := new(int32), new(int32)
	err := errors.Join(m.call("MPI_Comm_rank", m.commRank, m.world, address(rank)),
		m.call("MPI_Comm_size", m.commSize, m.world, address(size)))
	m.rank, m.size = int(*rank), int(*size)
	return err
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Name is that of the library.
func (m *MPI) Name() string { return m.abi.name }

// Rank is this process's number.
func (m *MPI) Rank() int { return m.rank }

// Size is the number of processes.
func (m *MPI) Size() int { return m.size }

// Exchange sends and receives all messages at once.
func (m *MPI) Exchange(ctx context.Context, out, in [][]byte) error {
	if err := m.Start(out, in); err != nil {
		return err
	}
	return m.Finish(ctx)
}

// Start posts all messages.
func (m *MPI) Start(out, in [][]byte) error {
	copy(in[m.rank], out[m.rank])
	m.count, m.requests = 0, m.requests[:0]
	m.out, m.in = append(m.out[:0], out...), append(m.in[:0], in...) // the library knows only addresses
	for i := range in {
		m.requests = append(m.requests, make([]byte, m.abi.request*(pieces(in[i])+pieces(out[i])))...)
	}
	for i, b := range in { // all rooms first, so that no message has to wait in the library
		if i != m.rank {
			if err := m.post("MPI_Irecv", m.irecv, i, b); err != nil {
				return err
			}
		}
	}
	for k := range out { // each rank begins with the one after it
		if i := (m.rank + k) % m.size; i != m.rank {
			if err := m.post("MPI_Isend", m.isend, i, out[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Test asks the library once.
func (m *MPI) Test() (over bool, err error) {
	if m.count == 0 {
		return true, nil
	}
	done := new(int32)
	err = m.call("MPI_Testall", m.testAll, uintptr(m.count), address(&m.requests[0]), address(done),
		m.abi.ignoreStatus)
	if *done != 0 {
		m.count = 0
		clear(m.out)
		clear(m.in)
	}
	return *done != 0, err
}

// Finish waits until all messages have arrived.
func (m *MPI) Finish(ctx context.Context) error {
	err := m.wait(ctx)
	if err != nil { // the library may still write to them
		m.broken = append(m.broken, m.out, m.in, [][]byte{m.requests})
		m.out, m.in, m.requests, m.count = nil, nil, nil, 0
	}
	return err
}

// pieces is the number of messages that b needs.
func pieces(b []byte) int { return (len(b) + largest - 1) / largest }

// post begins to send or to receive b.
func (m *MPI) post(name string, f uintptr, rank int, b []byte) error {
	const tag = 30
	for len(b) > 0 {
		n := min(len(b), largest)
		request := address(&m.requests[m.count*m.abi.request])
		err := m.call(name, f, address(&b[0]), uintptr(n), m.bytes, uintptr(rank), tag, m.world, request)
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		m.count++
		b = b[n:]
	}
	return nil
}

// wait looks after the messages until all have arrived. The library copies long messages part by part while it is
// asked, so asking pays off for some milliseconds. It gives the processor to other goroutines meanwhile, then to other
// processes too: there may be more ranks than cores. After that it sleeps between two looks: another rank is late.
func (m *MPI) wait(ctx context.Context) error {
	const own, most = 500, 200 * time.Microsecond
	const eager = 5 * time.Millisecond
	pause, began := 10*time.Microsecond, time.Now()
	for i := 0; ; i++ {
		over, err := m.Test()
		if err != nil || over {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case i < own:
			runtime.Gosched()
		case time.Since(began) < eager:
			runtime.Gosched()
			syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
		default:
			time.Sleep(pause)
			pause = min(most, 2*pause)
		}
	}
}

// call calls a function of the library, which returns 0 or the number of an error.
func (m *MPI) call(name string, f uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(f, args...)
	code := int32(r)
	if code == 0 {
		return nil
	}
	text, length := make([]byte, 1024), new(int32)
	purego.SyscallN(m.errorString, uintptr(code), address(&text[0]), address(length))
	return fmt.Errorf("%s: %s: %s (%d)", m.abi.name, name, text[:max(0, min(int(*length), len(text)))], code)
}

// Close leaves when all do.
func (m *MPI) Close() error { return m.call("MPI_Finalize", m.finalize) }

// Abort leaves everything to the launcher, which notices that a process ended without a word.
func (m *MPI) Abort() {}
