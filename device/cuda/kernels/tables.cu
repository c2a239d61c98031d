// Rows by number.

KERNEL gather(float* y, u64 ldy, const float* table, u64 ldt, const int* rows, u64 n, u64 cols, u64 per) {
  u64 i = thread_number();
  if (i >= n * cols) return;
  u64 r, c;
  row_col(i, n, cols, r, c);
  float s = 0.0f;
  for (u64 m = 0; m < per; m++) {
    int k = rows[r * per + m];
    if (k >= 0) s += table[(u64)k * ldt + c];
  }
  y[r * ldy + c] = s;
}

// scatter: block (tile of table rows, piece of y's rows). The tile lives in shared memory and a thread owns columns. The first warp
// lists, in order, which of the next INDICES row numbers fall into the tile; then all threads add those rows of y one after the
// other: no atomics, a fixed order. part[piece, tablerows, cols].
#define INDICES 1024

KERNEL scatter(float* part, const float* y, u64 ldy, const int* rows, u64 n, u64 cols, u64 per, u64 tablerows, u64 tile, u64 each) {
  extern __shared__ __align__(16) float dynamic[];
  float* sum = dynamic;  // [tile, cols]
  __shared__ int place[INDICES], source[INDICES], hits;
  int first = (int)(blockIdx.x * tile), count = (int)min(tile, tablerows - first);
  for (u64 i = threadIdx.x; i < count * cols; i += blockDim.x) sum[i] = 0.0f;
  u64 lo = (u64)blockIdx.y * each * per, hi = min(lo + each * per, n * per);
  for (u64 from = lo; from < hi; from += INDICES) {
    u64 m = min(hi - from, (u64)INDICES);
    __syncthreads();
    if (threadIdx.x < 32) {
      int found = 0;
      for (u64 i = threadIdx.x; i < INDICES; i += 32) {
        int k = i < m ? rows[from + i] - first : -1;
        bool hit = k >= 0 && k < count;
        u32 all = __ballot_sync(WARP_ALL, hit);
        if (hit) {
          int at = found + __popc(all & ((1u << threadIdx.x) - 1));
          place[at] = k * (int)cols;
          source[at] = (int)((from + i) / per);
        }
        found += __popc(all);
      }
      if (threadIdx.x == 0) hits = found;
    }
    __syncthreads();
    for (u64 c = threadIdx.x; c < cols; c += blockDim.x) {
      int i = 0;
      for (; i + 4 <= hits; i += 4) {
        float v[4];
#pragma unroll
        for (int j = 0; j < 4; j++) v[j] = y[(u64)source[i + j] * ldy + c];
#pragma unroll
        for (int j = 0; j < 4; j++) sum[place[i + j] + c] += v[j];
      }
      for (; i < hits; i++) sum[place[i] + c] += y[(u64)source[i] * ldy + c];
    }
  }
  __syncthreads();
  float* out = part + ((u64)blockIdx.y * tablerows + first) * cols;
  for (u64 i = threadIdx.x; i < count * cols; i += blockDim.x) out[i] = sum[i];
}

// scatter_fold: table[r, c] += sum over pieces, in order.
KERNEL scatter_fold(float* table, u64 ldt, const float* part, u64 pieces, u64 tablerows, u64 cols) {
  u64 i = (u64)blockIdx.x * 32 + threadIdx.x;
  float s = fold_columns(part, pieces, tablerows * cols, i, tablerows * cols);
  if (threadIdx.y == 0 && i < tablerows * cols) table[i / cols * ldt + i % cols] += s;
}
