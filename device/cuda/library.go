//go:build linux && !nogpu

package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dygmamba/dygmamba/device"
	"github.com/ebitengine/purego"
)

// PathVariable names the environment variable with extra directories to look for the CUDA libraries in.
const PathVariable = "DYGMAMBA_CUDA_PATH"

// places are the directories CUDA libraries are usually installed in, as glob patterns; the loader's own search comes
// first.
var places = []string{
	"/usr/local/cuda/lib64",
	"/usr/local/cuda/targets/*/lib",
	"/usr/local/cuda-*/lib64",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/local/nvidia/lib64",
	"/opt/cuda/lib64",
	// Wheels of Python environments carry the same libraries.
	"/usr/lib/python3*/site-packages/nvidia/*/lib",
	"/usr/local/lib/python3*/*-packages/nvidia/*/lib",
	"/opt/*/lib/python3*/site-packages/nvidia/*/lib",
	"/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib",
}

// openLibrary opens the first of names that the loader or one of the places has.
func openLibrary(names ...string) (uintptr, error) {
	var last error
	try := func(path string) (uintptr, bool) {
		h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			last = err
		}
		return h, err == nil
	}
	own := filepath.SplitList(os.Getenv(PathVariable))
	for _, dirs := range [][]string{own, {""}, places} {
		for _, name := range names {
			for _, dir := range dirs {
				if dir == "" {
					if h, ok := try(name); ok {
						return h, nil
					}
					continue
				}
				found, _ := filepath.Glob(filepath.Join(dir, name))
				for _, path := range found {
					if h, ok := try(path); ok {
						return h, nil
					}
				}
			}
		}
	}
	if last != nil && !strings.Contains(last.Error(), "No such file") {
		return 0, fmt.Errorf("cuda: %w: %s cannot be opened: %v", device.ErrUnavailable, names[0], last)
	}
	return 0, fmt.Errorf("cuda: %w: no %s (%s may name its directory)", device.ErrUnavailable, names[0], PathVariable)
}

// bind opens the first of the libraries there is and fills in the addresses of its functions.
func bind(functions map[string]*uintptr, names ...string) error {
	lib, err := openLibrary(names...)
	if err != nil {
		return err
	}
	for name, f := range functions {
		if *f, err = purego.Dlsym(lib, name); err != nil {
			return fmt.Errorf("cuda: %w: the library has no %s: %v", device.ErrUnavailable, name, err)
		}
	}
	return nil
}

// driver holds the addresses of the driver API's functions.
type driver struct {
	init, deviceCount, deviceGet, deviceName, deviceAttribute, memInfo uintptr
	contextRetain, contextRelease, contextSet                          uintptr
	moduleLoad, moduleFunction, functionAttribute, launch              uintptr
	alloc, free, hostAlloc, hostFree                                   uintptr
	copyIn, copyOut, copyWithin, fill                                  uintptr
	streamCreate, streamSync, streamWait, eventCreate, eventRecord     uintptr
	eventSync                                                          uintptr
	captureBegin, captureEnd, graphInstantiate, graphLaunch            uintptr
	graphDestroy, graphExecDestroy, captureInfo, captureAwait          uintptr
	errorString                                                        uintptr
}

func openDriver() (*driver, error) {
	d := &driver{}
	return d, bind(map[string]*uintptr{
		"cuInit": &d.init, "cuDeviceGetCount": &d.deviceCount,
		"cuDeviceGet": &d.deviceGet, "cuDeviceGetName": &d.deviceName,
		"cuDeviceGetAttribute": &d.deviceAttribute, "cuMemGetInfo_v2": &d.memInfo,
		"cuDevicePrimaryCtxRetain": &d.contextRetain, "cuDevicePrimaryCtxRelease_v2": &d.contextRelease,
		"cuCtxSetCurrent": &d.contextSet, "cuModuleLoadData": &d.moduleLoad, "cuModuleGetFunction": &d.moduleFunction,
		"cuFuncSetAttribute": &d.functionAttribute, "cuLaunchKernel": &d.launch, "cuMemAlloc_v2": &d.alloc,
		"cuMemFree_v2": &d.free, "cuMemHostAlloc": &d.hostAlloc, "cuMemFreeHost": &d.hostFree,
		"cuMemcpyHtoDAsync_v2": &d.copyIn, "cuMemcpyDtoHAsync_v2": &d.copyOut, "cuMemcpyDtoDAsync_v2": &d.copyWithin,
		"cuMemsetD32Async": &d.fill, "cuStreamCreate": &d.streamCreate, "cuStreamSynchronize": &d.streamSync,
		"cuStreamWaitEvent": &d.streamWait, "cuEventCreate": &d.eventCreate, "cuEventRecord": &d.eventRecord,
		"cuEventSynchronize": &d.eventSync, "cuStreamBeginCapture_v2": &d.captureBegin,
		"cuStreamEndCapture": &d.captureEnd, "cuGraphInstantiateWithFlags": &d.graphInstantiate,
		"cuGraphLaunch": &d.graphLaunch, "cuGraphDestroy": &d.graphDestroy, "cuGraphExecDestroy": &d.graphExecDestroy,
		"cuStreamGetCaptureInfo_v2": &d.captureInfo, "cuStreamUpdateCaptureDependencies": &d.captureAwait,
		"cuGetErrorString": &d.errorString,
	}, "libcuda.so.1", "libcuda.so")
}

// compiler holds the addresses of NVRTC's functions.
type compiler struct{ version, create, compile, cubinSize, cubin, logSize, log, destroy uintptr }

func openCompiler() (*compiler, error) {
	c := &compiler{}
	return c, bind(map[string]*uintptr{
		"nvrtcVersion": &c.version, "nvrtcCreateProgram": &c.create, "nvrtcCompileProgram": &c.compile,
		"nvrtcGetCUBINSize": &c.cubinSize, "nvrtcGetCUBIN": &c.cubin,
		"nvrtcGetProgramLogSize": &c.logSize, "nvrtcGetProgramLog": &c.log, "nvrtcDestroyProgram": &c.destroy,
	}, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
}

// blas holds the addresses of cuBLAS's functions.
type blas struct{ create, destroy, setStream, setWorkspace, setMath, gemm, gemmBatched uintptr }

func openBlas() (*blas, error) {
	// cuBLAS depends on cuBLASLt; where they lie outside the loader's path, it must be open first.
	openLibrary("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so")
	b := &blas{}
	return b, bind(map[string]*uintptr{
		"cublasCreate_v2": &b.create, "cublasDestroy_v2": &b.destroy, "cublasSetStream_v2": &b.setStream,
		"cublasSetWorkspace_v2": &b.setWorkspace, "cublasSetMathMode": &b.setMath,
		"cublasSgemm_v2": &b.gemm, "cublasSgemmStridedBatched": &b.gemmBatched,
	}, "libcublas.so.13", "libcublas.so.12", "libcublas.so")
}
