// Package cuda is the device on an NVIDIA GPU. It needs no C compiler and no CUDA headers: the driver, NVRTC and cuBLAS
// are opened at run time, and the kernels in kernels/*.cu travel inside the binary as source, are compiled for the GPU
// that is found, and are cached by content in the user's cache directory.
//
// Matrix products are cuBLAS's, everything else is a kernel here. No kernel uses float atomics: reductions are cut at
// fixed places and summed in a fixed order, so the same call gives the same bits.
package cuda
