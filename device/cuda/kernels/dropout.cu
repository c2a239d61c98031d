// Dropout. Which numbers are kept is the same function of (key, stream, place) as on the CPU: Philox4x32 with 7 rounds turns the
// counter (n, n>>32, stream, 0) into four words; number i takes word (i>>3)&3 of counter n = (i>>5)<<3 | i&7 and is kept
// where that word is at least rate·2^32.

KERNEL dropout(float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, u32 least, float scale, const int* key, u32 stream) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 n = (i >> 5) << 3 | (i & 7);
  u32 c0 = (u32)n, c1 = (u32)(n >> 32), c2 = stream, c3 = 0, k0 = key[0], k1 = key[1];
#pragma unroll
  for (int round = 0; round < 7; round++) {
    u64 p0 = (u64)c0 * 0xD2511F53u, p1 = (u64)c2 * 0xCD9E8D57u;
    u32 a = (u32)(p1 >> 32) ^ c1 ^ k0, b = (u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (u32)p1, c3 = (u32)p0, c0 = a, c2 = b;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  u32 which = (i >> 3) & 3, word = which == 0 ? c0 : which == 1 ? c1 : which == 2 ? c2 : c3;
  u64 r = i / cols, c = i % cols;
  y[r * ldy + c] = word < least ? 0.0f : x[r * ldx + c] * scale;
}
