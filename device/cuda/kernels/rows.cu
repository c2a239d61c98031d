// Kernels that reduce or normalise rows. Rows are short (tens to hundreds of numbers): one warp each.

// col_part: block (column tile, piece) of 32 × 8 threads adds up its piece's rows. part[piece, cols].
KERNEL col_part(float* part, const float* x, u64 ldx, u64 rows, u64 cols, u64 each) {
  __shared__ float sum[8][33];
  u64 c = (u64)blockIdx.x * 32 + threadIdx.x;
  u64 lo = (u64)blockIdx.y * each, hi = min(lo + each, rows);
  float s = 0.0f;
  if (c < cols)
    for (u64 r = lo + threadIdx.y; r < hi; r += 8) s += x[r * ldx + c];
  sum[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y == 0 && c < cols) {
    for (int k = 1; k < 8; k++) s += sum[k][threadIdx.x];
    part[(u64)blockIdx.y * cols + c] = s;
  }
}

// fold_columns: a block of 32 columns × 32 threads adds up `pieces` numbers a column, `step` apart. Thread (x, y) takes pieces y, y+32, …;
// the 32 sums of a column are then added in order. The sum is in threads (x, 0).
template <typename T> __device__ inline T fold_columns(const T* part, u64 pieces, u64 step, u64 c, u64 cols) {
  __shared__ T sum[32][33];
  T s = 0;
  if (c < cols)
    for (u64 p = threadIdx.y; p < pieces; p += 32) s += part[p * step + c];
  sum[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y == 0)
    for (int k = 1; k < 32; k++) s += sum[k][threadIdx.x];
  return s;
}

// fold: y[c] (+)= sum over pieces of part[piece·step + c].
KERNEL fold(float* y, const float* part, u64 pieces, u64 step, u64 cols, int acc) {
  u64 c = (u64)blockIdx.x * 32 + threadIdx.x;
  float s = fold_columns(part, pieces, step, c, cols);
  if (threadIdx.y == 0 && c < cols) y[c] = acc ? y[c] + s : s;
}

KERNEL row_sum(float* y, const float* x, u64 ldx, u64 rows, u64 cols) {
  u64 r = thread_number() / 32;
  if (r >= rows) return;
  float s = 0.0f;
  for (u64 c = threadIdx.x & 31; c < cols; c += 32) s += x[r * ldx + c];
  s = warp_sum(s);
  if ((threadIdx.x & 31) == 0) y[r] = s;
}

// norm: mean first, then the variance around it. stats[0, rows) are means, stats[rows, 2·rows) are 1/sqrt(var+eps).
KERNEL layer_norm(float* y, u64 ldy, float* x, u64 ldx, const float* res, u64 ldres, const float* gamma, const float* beta, float eps, float* stats, u64 rows, u64 cols) {
  u64 r = thread_number() / 32;
  int lane = threadIdx.x & 31;
  if (r >= rows) return;
  float s = 0.0f;
  for (u64 c = lane; c < cols; c += 32) {
    float v = x[r * ldx + c];
    if (res) {
      v += res[r * ldres + c];
      x[r * ldx + c] = v;
    }
    s += v;
  }
  float mean = warp_sum(s) / cols;
  s = 0.0f;
  for (u64 c = lane; c < cols; c += 32) {
    float v = x[r * ldx + c] - mean;
    s += v * v;
  }
  float rstd = rsqrtf(warp_sum(s) / cols + eps);
  for (u64 c = lane; c < cols; c += 32) y[r * ldy + c] = (x[r * ldx + c] - mean) * rstd * gamma[c] + beta[c];
  if (lane == 0) {
    stats[r] = mean;
    stats[rows + r] = rstd;
  }
}

KERNEL norm_grad(float* dx, u64 lddx, const float* dy, u64 lddy, const float* x, u64 ldx, const float* gamma, const float* stats, u64 rows, u64 cols) {
  u64 r = thread_number() / 32;
  int lane = threadIdx.x & 31;
  if (r >= rows) return;
  float mean = stats[r], rstd = stats[rows + r], a = 0.0f, b = 0.0f;
  for (u64 c = lane; c < cols; c += 32) {
    float g = __fmul_rn(dy[r * lddy + c], gamma[c]);  // the same rounding as in its mean: one column has no gradient
    a += g;
    b += g * (x[r * ldx + c] - mean) * rstd;
  }
  a = warp_sum(a) / cols;
  b = warp_sum(b) / cols;
  for (u64 c = lane; c < cols; c += 32) {
    float g = __fmul_rn(dy[r * lddy + c], gamma[c]);
    dx[r * lddx + c] = rstd * (g - a - (x[r * ldx + c] - mean) * rstd * b);
  }
}

// norm_part: partial sums for gamma (first cols) and beta (next cols). part[piece, 2·cols].
KERNEL norm_part(float* part, const float* dy, u64 lddy, const float* x, u64 ldx, const float* stats, u64 rows, u64 cols, u64 each) {
  __shared__ float sg[8][33], sb[8][33];
  u64 c = (u64)blockIdx.x * 32 + threadIdx.x;
  u64 lo = (u64)blockIdx.y * each, hi = min(lo + each, rows);
  float g = 0.0f, b = 0.0f;
  if (c < cols)
    for (u64 r = lo + threadIdx.y; r < hi; r += 8) {
      float d = dy[r * lddy + c];
      g += d * (x[r * ldx + c] - stats[r]) * stats[rows + r];
      b += d;
    }
  sg[threadIdx.y][threadIdx.x] = g;
  sb[threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y == 0 && c < cols) {
    for (int k = 1; k < 8; k++) g += sg[k][threadIdx.x], b += sb[k][threadIdx.x];
    part[(u64)blockIdx.y * 2 * cols + c] = g;
    part[(u64)blockIdx.y * 2 * cols + cols + c] = b;
  }
}

// softmax: mask[row, col], when there, replaces x by fill where 0. A row of −inf gives zeros.
// maskrows > 0: the mask has one row of cols for every maskrows rows (attention's keys).
KERNEL softmax(float* y, u64 ldy, const float* x, u64 ldx, const int* mask, u64 maskrows, float fill, u64 rows, u64 cols) {
  u64 r = thread_number() / 32;
  int lane = threadIdx.x & 31;
  if (r >= rows) return;
  const int* m = mask ? mask + (maskrows ? r / maskrows : r) * cols : 0;
  float top = -INFINITY;
  for (u64 c = lane; c < cols; c += 32) top = fmaxf(top, m && !m[c] ? fill : x[r * ldx + c]);
  top = warp_max(top);
  float s = 0.0f;
  for (u64 c = lane; c < cols; c += 32) {
    float v = m && !m[c] ? fill : x[r * ldx + c];
    v = top == -INFINITY ? 0.0f : expf(v - top);
    y[r * ldy + c] = v;
    s += v;
  }
  s = warp_sum(s);
  float inv = s > 0.0f ? 1.0f / s : 0.0f;
  for (u64 c = lane; c < cols; c += 32) y[r * ldy + c] *= inv;
}

// softmax_grad: masked numbers were replaced by a constant, so nothing flows to them.
KERNEL softmax_grad(float* dx, u64 lddx, const float* y, u64 ldy, const float* dy, u64 lddy, const int* mask, u64 maskrows, u64 rows, u64 cols) {
  u64 r = thread_number() / 32;
  int lane = threadIdx.x & 31;
  if (r >= rows) return;
  float s = 0.0f;
  for (u64 c = lane; c < cols; c += 32) s += y[r * ldy + c] * dy[r * lddy + c];
  s = warp_sum(s);
  const int* m = mask ? mask + r / maskrows * cols : 0;
  for (u64 c = lane; c < cols; c += 32) dx[r * lddx + c] = m && !m[c] ? 0.0f : y[r * ldy + c] * (dy[r * lddy + c] - s);
}
