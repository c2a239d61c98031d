// Rows by number.

KERNEL gather(float* y, u64 ldy, const float* table, u64 ldt, const int* rows, u64 n, u64 cols, u64 per) {
  u64 i = thread_number();
  if (i >= n * cols) return;
  u64 r = i / cols, c = i % cols;
  float s = 0.0f;
  for (u64 m = 0; m < per; m++) {
    int k = rows[r * per + m];
    if (k >= 0) s += table[(u64)k * ldt + c];
  }
  y[r * ldy + c] = s;
}

// scatter: block (tile of table rows, piece of y's rows). The tile lives in shared memory, a thread owns a column, and the
// piece's rows are added one after the other: no atomics, a fixed order. part[piece, tablerows, cols].
KERNEL scatter(float* part, const float* y, u64 ldy, const int* rows, u64 n, u64 cols, u64 per, u64 tablerows, u64 tile, u64 each) {
  extern __shared__ float sum[];  // [tile, cols]
  u64 first = (u64)blockIdx.x * tile, count = min(tile, tablerows - first);
  for (u64 i = threadIdx.x; i < count * cols; i += blockDim.x) sum[i] = 0.0f;
  __syncthreads();
  u64 lo = (u64)blockIdx.y * each, hi = min(lo + each, n);
  for (u64 c = threadIdx.x; c < cols; c += blockDim.x)
    for (u64 r = lo; r < hi; r++) {
      float v = y[r * ldy + c];
      for (u64 m = 0; m < per; m++) {
        long long k = (long long)rows[r * per + m] - (long long)first;
        if (k >= 0 && k < (long long)count) sum[k * cols + c] += v;
      }
    }
  __syncthreads();
  float* out = part + ((u64)blockIdx.y * tablerows + first) * cols;
  for (u64 i = threadIdx.x; i < count * cols; i += blockDim.x) out[i] = sum[i];
}

// scatter_fold: table[r, c] += sum over pieces, in order.
KERNEL scatter_fold(float* table, u64 ldt, const float* part, u64 pieces, u64 tablerows, u64 cols) {
  u64 i = thread_number();
  if (i >= tablerows * cols) return;
  float s = 0.0f;
  for (u64 p = 0; p < pieces; p++) s += part[p * tablerows * cols + i];
  table[i / cols * ldt + i % cols] += s;
}
