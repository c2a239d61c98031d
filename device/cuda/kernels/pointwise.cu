// Pointwise kernels. A thread takes `width` numbers of a row. A dense matrix comes as one row.

template <int W> __device__ inline void map_act_of(int op, float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols) {
  u64 i = thread_number() * W, r, c;
  if (i >= rows * cols) return;
  row_col(i, rows, cols, r, c);
  pack<W> v = load<W>(x + r * ldx + c);
#pragma unroll
  for (int k = 0; k < W; k++) v.v[k] = act(op, v.v[k]);
  store<W>(y + r * ldy + c, v);
}
KERNEL map_act(int op, float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, int width) {
  BY_WIDTH(width, map_act_of, op, y, ldy, x, ldx, rows, cols);
}

// x or y may be missing, whichever the slope does not need. With a key, which needs width 4 and dense matrices, dy is dropped first.
template <int W> __device__ inline void map_grad_of(int op, float* dx, u64 lddx, const float* x, u64 ldx, const float* y, u64 ldy, const float* dy, u64 lddy, u64 rows, u64 cols, const int* key, u32 stream, u32 least, float scale) {
  u64 i = thread_number() * W, r, c;
  bool live = i < rows * cols;
  if (!live && !key) return;
  row_col(i, rows, cols, r, c);
  pack<W> xv = {}, yv = {}, g = {};
  if (live) {
    g = load<W>(dy + r * lddy + c);
    if (x) xv = load<W>(x + r * ldx + c);
    if (y) yv = load<W>(y + r * ldy + c);
  }
  if constexpr (W == 4)
    if (key) drop_four(g, i / 4, key, stream, least, scale);
  if (!live) return;
#pragma unroll
  for (int k = 0; k < W; k++) g.v[k] *= slope(op, xv.v[k], yv.v[k]);
  store<W>(dx + r * lddx + c, g);
}
KERNEL map_grad(int op, float* dx, u64 lddx, const float* x, u64 ldx, const float* y, u64 ldy, const float* dy, u64 lddy, u64 rows, u64 cols, const int* key, u32 stream, u32 least, float scale, int width) {
  BY_WIDTH(width, map_grad_of, op, dx, lddx, x, ldx, y, ldy, dy, lddy, rows, cols, key, stream, least, scale);
}

__device__ inline float binary(int op, float a, float b) { return op == 0 ? a + b : op == 1 ? a - b : a * b; }

// kind 0: y is a matrix; 1: a row against every row; 2: a column against every column.
template <int W> __device__ inline void zip_of(int op, int kind, float* z, u64 ldz, const float* x, u64 ldx, const float* y, u64 ldy, u64 rows, u64 cols) {
  u64 i = thread_number() * W, r, c;
  if (i >= rows * cols) return;
  row_col(i, rows, cols, r, c);
  pack<W> a = load<W>(x + r * ldx + c), b;
  if (kind == 2) {
    float v = y[r];
#pragma unroll
    for (int k = 0; k < W; k++) b.v[k] = v;
  } else {
    b = load<W>(kind == 0 ? y + r * ldy + c : y + c);
  }
#pragma unroll
  for (int k = 0; k < W; k++) a.v[k] = binary(op, a.v[k], b.v[k]);
  store<W>(z + r * ldz + c, a);
}
KERNEL zip(int op, int kind, float* z, u64 ldz, const float* x, u64 ldx, const float* y, u64 ldy, u64 rows, u64 cols, int width) {
  BY_WIDTH(width, zip_of, op, kind, z, ldz, x, ldx, y, ldy, rows, cols);
}

template <int W> __device__ inline void scale_of(float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, float a) {
  u64 i = thread_number() * W, r, c;
  if (i >= rows * cols) return;
  row_col(i, rows, cols, r, c);
  pack<W> v = load<W>(x + r * ldx + c);
#pragma unroll
  for (int k = 0; k < W; k++) v.v[k] *= a;
  store<W>(y + r * ldy + c, v);
}
KERNEL scale(float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, float a, int width) {
  BY_WIDTH(width, scale_of, y, ldy, x, ldx, rows, cols, a);
}

KERNEL fill(float* y, u64 ldy, u64 rows, u64 cols, float v) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, c;
  row_col(i, rows, cols, r, c);
  y[r * ldy + c] = v;
}

// bias_act finishes a product: pre = c + bias, c = act(pre). bias and pre may be missing. With a key, which needs width 4 and a dense c, c is
// dropped last.
template <int W> __device__ inline void bias_act_of(int op, float* c, u64 ldc, const float* bias, float* pre, u64 ldpre, u64 rows, u64 cols, const int* key, u32 stream, u32 least, float scale) {
  u64 i = thread_number() * W, r, k;
  bool live = i < rows * cols;
  if (!live && !key) return;
  row_col(i, rows, cols, r, k);
  pack<W> v = {};
  if (live) {
    v = load<W>(c + r * ldc + k);
    if (bias) {
      pack<W> b = load<W>(bias + k);
#pragma unroll
      for (int j = 0; j < W; j++) v.v[j] += b.v[j];
    }
    if (pre) store<W>(pre + r * ldpre + k, v);
#pragma unroll
    for (int j = 0; j < W; j++) v.v[j] = act(op, v.v[j]);
  }
  if constexpr (W == 4)
    if (key) drop_four(v, i / 4, key, stream, least, scale);
  if (live) store<W>(c + r * ldc + k, v);
}
KERNEL bias_act(int op, float* c, u64 ldc, const float* bias, float* pre, u64 ldpre, u64 rows, u64 cols, const int* key, u32 stream, u32 least, float scale, int width) {
  BY_WIDTH(width, bias_act_of, op, c, ldc, bias, pre, ldpre, rows, cols, key, stream, least, scale);
}

KERNEL transpose(float* y, const float* x, u64 batch, u64 rows, u64 cols) {
  u64 i = thread_number();
  if (i >= batch * rows * cols) return;
  u64 b = i / (rows * cols), k = i % (rows * cols);
  u64 c = k / rows, r = k % rows;  // y[b, c, r]
  y[i] = x[b * rows * cols + r * cols + c];
}
