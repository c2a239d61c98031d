// Dropout. Which numbers are kept is the same function of (key, stream, place) as on the CPU: Philox4x32 with 7 rounds turns the
// counter (n, n>>32, stream, 0) into four words; number i takes word (i>>3)&3 of counter n = (i>>5)<<3 | i&7 and is kept
// where that word is at least rate·2^32.

__device__ inline void draw(u32 (&c)[4], u64 n, const int* key, u32 stream) {
  u32 k0 = key[0], k1 = key[1];
  c[0] = (u32)n, c[1] = (u32)(n >> 32), c[2] = stream, c[3] = 0;
#pragma unroll
  for (int round = 0; round < 7; round++) {
    u64 p0 = (u64)c[0] * 0xD2511F53u, p1 = (u64)c[2] * 0xCD9E8D57u;
    u32 a = (u32)(p1 >> 32) ^ c[1] ^ k0, b = (u32)(p0 >> 32) ^ c[3] ^ k1;
    c[0] = a, c[1] = (u32)p1, c[2] = b, c[3] = (u32)p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
}

// drop_four drops of the four numbers of a dense matrix from 4·n on, where n is the thread's number; all threads of a warp take part.
// Numbers 4·l to 4·l+3 of the warp's 128 need word (l&7)>>1 of counters 4·(l&1) to 4·(l&1)+3 of its eight.
__device__ inline void drop_four(pack<4>& v, u64 n, const int* key, u32 stream, u32 least, float scale) {
  u32 c[4];
  draw(c, n, key, stream);
  int lane = threadIdx.x & 31, from = (lane & ~7) + 4 * (lane & 1), word = (lane & 7) >> 1;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    u32 mine = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
      u32 got = __shfl_sync(WARP_ALL, c[w], from + k);
      if (w == word) mine = got;
    }
    v.v[k] = mine < least ? 0.0f : v.v[k] * scale;
  }
}

// A thread draws one counter. Of a dense matrix (width 4) it serves four numbers side by side, otherwise the four of its counter, which
// lie 8 apart.
KERNEL dropout(float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, const int* key, u32 stream, u32 least, float scale, int width) {
  u64 n = thread_number(), total = rows * cols;
  if (width == 4) {
    pack<4> v = {};
    if (4 * n < total) v = load<4>(x + 4 * n);
    drop_four(v, n, key, stream, least, scale);
    if (4 * n < total) store<4>(y + 4 * n, v);
    return;
  }
  u32 c[4];
  draw(c, n, key, stream);
  u64 first = (n >> 3) * 32 + (n & 7);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    u64 i = first + 8 * j;
    if (i >= total) return;
    u64 r, k;
    row_col(i, rows, cols, r, k);
    y[r * ldy + k] = c[j] < least ? 0.0f : x[r * ldx + k] * scale;
  }
}
