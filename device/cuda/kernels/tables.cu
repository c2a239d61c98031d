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

// Rows are added to a table in three steps, in a fixed order and without atomic sums. The table is cut into tiles of rows that fit into
// shared memory: "bucket" sorts row numbers by tile, "scatter" adds up for each tile, "scatter_fold" adds the sums to the table.

struct hit {
  int place;   // in the tile, of the first column
  int source;  // row of y
};

// bucket: a warp a piece of y's rows: each of them, but for the last piece of a group. It lists the hits of the piece, tile after tile from
// the given first one on, in the order of y within a tile, where the piece's row numbers begin. begin[piece, tiles+1] tells where the hits
// of a tile are.
KERNEL bucket(hit* hits, int* begin, const int* rows, u64 n, u64 per, u64 each, u64 group, u64 grouprows, u64 cols, u64 tile, u64 first, u64 tiles) {
  extern __shared__ int next[];  // [tiles]: how many hits, then where the next one goes
  int lane = threadIdx.x;
  u64 from = blockIdx.x / group * grouprows, at_row = from + blockIdx.x % group * each;
  u64 lo = at_row * per, hi = min(min(at_row + each, from + grouprows), n) * per;
  auto tile_of = [&](int k) {
    int t = k < 0 ? -1 : (int)((u32)k / (u32)tile) - (int)first;
    return t < (int)tiles ? max(t, -1) : -1;
  };
  for (int t = lane; t < tiles; t += 32) next[t] = 0;
  __syncwarp();
  for (u64 i = lo + lane; i < hi; i += 32) {
    int t = tile_of(rows[i]);
    if (t >= 0) atomicAdd(&next[t], 1);
  }
  __syncwarp();
  int at = (int)lo;
  begin += blockIdx.x * (tiles + 1);
  for (u64 t = lane; t - lane < tiles; t += 32) {
    int count = t < tiles ? next[t] : 0, sum = count;
    for (int d = 1; d < 32; d *= 2) {
      int before = __shfl_up_sync(WARP_ALL, sum, d);
      if (lane >= d) sum += before;
    }
    if (t < tiles) next[t] = begin[t] = at + sum - count;
    at += __shfl_sync(WARP_ALL, sum, 31);
  }
  if (lane == 0) begin[tiles] = at;
  __syncwarp();
  for (u64 i = lo + lane; i - lane < hi; i += 32) {
    int k = i < hi ? rows[i] : -1, t = tile_of(k);
    u32 same = __match_any_sync(WARP_ALL, t);
    if (t >= 0) {
      hit h = {(k - (t + (int)first) * (int)tile) * (int)cols, (int)(i / per)};
      hits[next[t] + __popc(same & ((1u << lane) - 1))] = h;
    }
    __syncwarp();
    if (t >= 0 && lane == __ffs(same) - 1) next[t] += __popc(same);
    __syncwarp();
  }
}

// scatter: block (tile, group of pieces). The tile lives in shared memory and a thread owns columns. part[group, tablerows, cols].
#define HITS 8

KERNEL scatter(float* part, const float* y, u64 ldy, const hit* hits, const int* begin, u64 pieces, u64 group, u64 tablerows, u64 cols, u64 tile, u64 tiles) {
  extern __shared__ float sum[];  // [tile, cols]
  u64 first = blockIdx.x * tile, count = min(tile, tablerows - first) * cols;
  for (u64 i = threadIdx.x; i < count; i += blockDim.x) sum[i] = 0.0f;
  __syncthreads();
  u64 last = min((blockIdx.y + 1) * group, pieces);
  for (u64 c = threadIdx.x; c < cols; c += blockDim.x) {
    for (u64 piece = blockIdx.y * group; piece < last; piece++) {
      const int* b = begin + piece * (tiles + 1) + blockIdx.x;
      int i = b[0], end = b[1];
      for (; i + HITS <= end; i += HITS) {
        hit h[HITS];
        float v[HITS];
#pragma unroll
        for (int j = 0; j < HITS; j++) h[j] = hits[i + j];
#pragma unroll
        for (int j = 0; j < HITS; j++) v[j] = y[(u64)h[j].source * ldy + c];
#pragma unroll
        for (int j = 0; j < HITS; j++) sum[h[j].place + c] += v[j];
      }
      for (; i < end; i++) sum[hits[i].place + c] += y[(u64)hits[i].source * ldy + c];
    }
  }
  __syncthreads();
  float* out = part + (blockIdx.y * tablerows + first) * cols;
  for (u64 i = threadIdx.x; i < count; i += blockDim.x) out[i] = sum[i];
}

// scatter_fold: table[r, c] += sum over groups, in order.
KERNEL scatter_fold(float* table, u64 ldt, const float* part, u64 groups, u64 tablerows, u64 cols) {
  u64 i = (u64)blockIdx.x * 32 + threadIdx.x;
  float s = fold_columns(part, groups, tablerows * cols, i, tablerows * cols);
  if (threadIdx.y == 0 && i < tablerows * cols) table[i / cols * ldt + i % cols] += s;
}

// assign: a block a row of y. Of equal row numbers the last writes and the others see that there is a later one, so no
// two blocks write to the same row.
KERNEL assign(float* table, u64 ldt, const float* y, u64 ldy, const int* rows, u64 n, u64 cols) {
  u64 r = blockIdx.x;
  int k = rows[r], later = 0;
  if (k < 0) return;  // the whole block
  for (u64 i = r + 1 + threadIdx.x; i < n && !later; i += blockDim.x) later = rows[i] == k;
  if (__syncthreads_or(later)) return;
  for (u64 c = threadIdx.x; c < cols; c += blockDim.x) table[(u64)k * ldt + c] = y[r * ldy + c];
}
