// Dropout. Which numbers are kept is the same function of (key, stream, place) as on the CPU: Philox4x32 with 7 rounds turns the
// counter (n, n>>32, stream, 0) into four words; number i takes word (i>>3)&3 of counter n = (i>>5)<<3 | i&7 and is kept
// where that word is at least rate·2^32.

// A thread draws one counter and serves its four numbers, 8 apart.
KERNEL dropout(float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, u32 least, float scale, const int* key, u32 stream) {
  u64 n = thread_number(), first = (n >> 3) * 32 + (n & 7), total = rows * cols;
  if (first >= total) return;
  u32 c[4] = {(u32)n, (u32)(n >> 32), stream, 0}, k0 = key[0], k1 = key[1];
#pragma unroll
  for (int round = 0; round < 7; round++) {
    u64 p0 = (u64)c[0] * 0xD2511F53u, p1 = (u64)c[2] * 0xCD9E8D57u;
    u32 a = (u32)(p1 >> 32) ^ c[1] ^ k0, b = (u32)(p0 >> 32) ^ c[3] ^ k1;
    c[0] = a, c[1] = (u32)p1, c[2] = b, c[3] = (u32)p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
#pragma unroll
  for (int j = 0; j < 4; j++) {
    u64 i = first + 8 * j;
    if (i >= total) return;
    u64 r, k;
    row_col(i, rows, cols, r, k);
    y[r * ldy + k] = c[j] < least ? 0.0f : x[r * ldx + k] * scale;
  }
}
