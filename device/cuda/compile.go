//go:build linux && !nogpu

package cuda

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

//go:embed kernels/*.cu
var sources embed.FS

// source is all kernels as one translation unit, common.cu first.
func source() string {
	entries, err := sources.ReadDir("kernels")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var b strings.Builder
	add := func(name string) {
		text, err := sources.ReadFile("kernels/" + name)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "#line 1 %q\n%s\n", name, text)
	}
	add("common.cu")
	for _, e := range entries {
		if e.Name() != "common.cu" {
			add(e.Name())
		}
	}
	return b.String()
}

// cubin is the machine code of all kernels for an architecture such as sm_90, from the cache when it was compiled
// before.
func cubin(arch string) ([]byte, error) {
	c, err := openCompiler()
	if err != nil {
		return nil, err
	}
	var major, minor int32
	call(c.version, ptr(&major), ptr(&minor))
	text := source()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s nvrtc %d.%d\n%s", arch, major, minor, text))
	path := ""
	if dir, err := os.UserCacheDir(); err == nil {
		path = filepath.Join(dir, "dygmamba", "kernels", hex.EncodeToString(sum[:12])+".cubin")
		if code, err := os.ReadFile(path); err == nil && len(code) > 0 {
			return code, nil
		}
	}
	code, err := c.build(text, arch)
	if err == nil && path != "" {
		keep(path, code)
	}
	return code, err
}

// keep stores compiled code for the next start. A cache that cannot be written costs a compilation, nothing else.
func keep(path string, code []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "*.tmp")
	if err != nil {
		return
	}
	_, err = tmp.Write(code)
	if tmp.Close() == nil && err == nil && os.Rename(tmp.Name(), path) == nil {
		return
	}
	os.Remove(tmp.Name())
}

func (c *compiler) build(text, arch string) ([]byte, error) {
	var program uintptr
	src, name := cstring(text), cstring("dygmamba.cu")
	if r := call(c.create, ptr(&program), ptr(&src[0]), ptr(&name[0]), 0, 0, 0); r != 0 {
		return nil, fmt.Errorf("cuda: nvrtcCreateProgram: error %d", r)
	}
	defer call(c.destroy, ptr(&program))
	flags := [][]byte{cstring("--gpu-architecture=" + arch), cstring("--std=c++17"), cstring("--fmad=true")}
	argv := make([]unsafe.Pointer, len(flags))
	for i := range flags {
		argv[i] = unsafe.Pointer(&flags[i][0])
	}
	failed := call(c.compile, program, uintptr(len(argv)), ptr(&argv[0]))
	if failed != 0 {
		var n uintptr
		call(c.logSize, program, ptr(&n))
		log := make([]byte, n+1)
		call(c.log, program, ptr(&log[0]))
		return nil, fmt.Errorf("cuda: compiling the kernels for %s failed: %s",
			arch, strings.TrimRight(string(log), "\x00\n"))
	}
	var n uintptr
	if r := call(c.cubinSize, program, ptr(&n)); r != 0 || n == 0 {
		return nil, fmt.Errorf("cuda: nvrtcGetCUBINSize: error %d, %d bytes", r, n)
	}
	code := make([]byte, n)
	if r := call(c.cubin, program, ptr(&code[0])); r != 0 {
		return nil, fmt.Errorf("cuda: nvrtcGetCUBIN: error %d", r)
	}
	return code, nil
}

func cstring(s string) []byte { return append([]byte(s), 0) }

// held keeps what was last passed to C alive and on the heap, where it does not move. A call passes a handful of
// pointers at most.
var held [256]unsafe.Pointer
var holds atomic.Uint32

// ptr is the address of a Go value as a C argument; it stays valid through the call it is passed to.
func ptr[T any](p *T) uintptr {
	held[holds.Add(1)%uint32(len(held))] = unsafe.Pointer(p)
	return uintptr(unsafe.Pointer(p))
}

// arguments keeps calls from allocating: what is passed on to purego would escape.
var arguments = sync.Pool{New: func() any { return new([24]uintptr) }}

// call calls a C function whose arguments are integers and pointers and whose result is a status code.
func call(f uintptr, args ...uintptr) int {
	a := arguments.Get().(*[24]uintptr)
	defer arguments.Put(a)
	n := copy(a[:len(args)], args)
	r, _, _ := purego.SyscallN(f, a[:n]...)
	return int(int32(r))
}
