// What all kernels share. Everything is float32 and row-major; a matrix comes as its address and the distance between rows.
// Reductions over many rows are cut into pieces whose bounds depend on the shape alone; "part" kernels write one partial sum a
// piece and "fold" adds the pieces in order.

typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void
#define WARP_ALL 0xffffffffu
#define INFINITY __int_as_float(0x7f800000)

__device__ inline u64 thread_number() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// row_col finds number i in a matrix of cols columns. 32-bit division is much cheaper, and few matrices need more.
__device__ inline void row_col(u64 i, u64 rows, u64 cols, u64& r, u64& c) {
  if (rows == 1) {
    r = 0, c = i;
  } else if (rows * cols >> 32) {
    r = i / cols, c = i % cols;
  } else {
    r = (u32)i / (u32)cols, c = (u32)i % (u32)cols;
  }
}

// A thread of a pointwise kernel takes W numbers of a row: 4 or 2 where all rows begin at a multiple of as many, otherwise 1.
template <int W> struct alignas(4 * W) pack {
  float v[W];
};
template <int W> __device__ inline pack<W> load(const float* p) { return *(const pack<W>*)p; }
template <int W> __device__ inline void store(float* p, const pack<W>& x) { *(pack<W>*)p = x; }

// BY_WIDTH calls the form of a kernel for the width that the host chose.
#define BY_WIDTH(width, form, ...)                \
  do {                                            \
    if (width == 4) form<4>(__VA_ARGS__);         \
    else if (width == 2) form<2>(__VA_ARGS__);    \
    else form<1>(__VA_ARGS__);                    \
  } while (0)

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float silu(float x) { return x * sigmoid(x); }
__device__ inline float silu_slope(float x) {
  float s = sigmoid(x);
  return s * (1.0f + x * (1.0f - s));
}

// Activations, numbered as in package device.
enum { IDENTITY, RELU, GELU, SILU, SIGMOID, TANH, SOFTPLUS, EXP, COS };

// cos and sin of a float32 argument up to 1e10: the reduction by multiples of pi/2 is exact enough in float64.
__device__ inline void reduced(float x, int& quadrant, float& r) {
  double n = rint((double)x * 0.63661977236758134308);
  double y = fma(-n, 1.57079632679489655800, (double)x);
  y = fma(-n, 6.12323399573676603587e-17, y);
  quadrant = (int)((long long)n & 3);
  r = (float)y;
}
__device__ inline float exact_cos(float x) {
  if (!isfinite(x)) return nanf("");
  int q; float r;
  reduced(x, q, r);
  float c = (q & 1) ? sinf(r) : cosf(r);
  return (q == 1 || q == 2) ? -c : c;
}
__device__ inline float exact_sin(float x) {
  if (!isfinite(x)) return nanf("");
  int q; float r;
  reduced(x, q, r);
  float s = (q & 1) ? cosf(r) : sinf(r);
  return q >= 2 ? -s : s;
}

__device__ inline float act(int op, float x) {
  switch (op) {
  case RELU: return fmaxf(x, 0.0f);
  case GELU: return 0.5f * x * erfcf(x * -0.70710678118654752f);  // no cancellation for negative x
  case SILU: return silu(x);
  case SIGMOID: return sigmoid(x);
  case TANH: return tanhf(x);
  case SOFTPLUS: return x > 20.0f ? x : log1pf(expf(x));
  case EXP: return expf(x);
  case COS: return exact_cos(x);
  }
  return x;
}

// slope is the derivative; relu, sigmoid, tanh and exp take it from y, the others from x.
__device__ inline float slope(int op, float x, float y) {
  switch (op) {
  case RELU: return y > 0.0f ? 1.0f : 0.0f;
  case GELU: return 0.5f * erfcf(x * -0.70710678118654752f) + x * 0.39894228040143268f * expf(-0.5f * x * x);
  case SILU: return silu_slope(x);
  case SIGMOID: return y * (1.0f - y);
  case TANH: return 1.0f - y * y;
  case SOFTPLUS: return x > 20.0f ? 1.0f : sigmoid(x);
  case EXP: return y;
  case COS: return -exact_sin(x);
  }
  return 1.0f;
}

__device__ inline float warp_sum(float v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(WARP_ALL, v, o);
  return v;
}
__device__ inline float warp_max(float v) {
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(WARP_ALL, v, o));
  return v;
}
