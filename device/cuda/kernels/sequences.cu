// Kernels over sequences: row b·L+t of a matrix is step t of sequence b.

// conv: y[t,c] = silu(bias[c] + sum_j w[c,j]·x[t−(K−1)+j, c]). A thread takes a few steps of a channel.
#define CONV_STEPS 4

KERNEL conv(float* y, u64 ldy, const float* x, u64 ldx, const float* w, const float* bias, u64 B, u64 L, u64 D, int K) {
  u64 i = thread_number(), runs = (L + CONV_STEPS - 1) / CONV_STEPS;
  if (i >= B * runs * D) return;
  u64 r, c, b, run;
  row_col(i, B * runs, D, r, c);
  row_col(r, B, runs, b, run);
  int first = (int)run * CONV_STEPS, last = min(first + CONV_STEPS, (int)L);
  x += b * L * ldx + c;
  y += b * L * ldy + c;
#pragma unroll
  for (int t = first; t < first + CONV_STEPS; t++) {
    if (t >= last) return;
    float s = bias[c];
    for (int j = 0; j < K; j++) {
      int k = t - (K - 1) + j;
      if (k >= 0) s += w[c * K + j] * x[k * ldx];
    }
    y[t * ldy] = silu(s);
  }
}

// conv_grad: one thread a channel of a sequence, backwards in time, with a window of TAPS inputs and of the slopes after them in
// registers; a kernel of fewer taps has zeros in front. part[b, c·(K+1)]: this sequence's share of the gradients of w, then of bias.
template <int TAPS> __device__ inline void conv_backward(float* dx, u64 lddx, const float* dy, u64 lddy, const float* x, u64 ldx, const float* w, const float* bias, float* part, u64 B, u64 L, u64 D, int K) {
  u64 i = thread_number();
  if (i >= B * D) return;
  u64 b, c;
  row_col(i, B, D, b, c);
  x += b * L * ldx + c;
  dx += b * L * lddx + c;
  dy += b * L * lddy + c;
  float wr[TAPS], in[TAPS], g[TAPS], dw[TAPS], base = bias[c], db = 0.0f;
  int T = (int)L;
#pragma unroll
  for (int j = 0; j < TAPS; j++) {
    int k = j - (TAPS - K), t = T - TAPS + j;  // in[j] is x at t−(TAPS−1)+j
    wr[j] = k >= 0 ? w[c * K + k] : 0.0f;
    in[j] = t >= 0 ? x[t * ldx] : 0.0f;
    g[j] = dw[j] = 0.0f;
  }
  for (int t = T - 1; t >= 0; t--) {
    int before = t - TAPS;
    float next = before >= 0 ? x[before * ldx] : 0.0f, pre = base;
#pragma unroll
    for (int j = 0; j < TAPS; j++) pre += wr[j] * in[j];
    float d = dy[t * lddy] * silu_slope(pre), s = 0.0f;
    db += d;
#pragma unroll
    for (int j = TAPS - 1; j > 0; j--) g[j] = g[j - 1];  // g[j] is the slope at t+j
    g[0] = d;
#pragma unroll
    for (int j = 0; j < TAPS; j++) {
      s += wr[j] * g[TAPS - 1 - j];
      dw[j] += d * in[j];
    }
    dx[t * lddx] = s;
#pragma unroll
    for (int j = TAPS - 1; j > 0; j--) in[j] = in[j - 1];
    in[0] = next;
  }
  part += i * (K + 1);
#pragma unroll
  for (int j = 0; j < TAPS; j++)
    if (j >= TAPS - K) part[j - (TAPS - K)] = dw[j];
  part[K] = db;
}

KERNEL conv_grad(float* dx, u64 lddx, const float* dy, u64 lddy, const float* x, u64 ldx, const float* w, const float* bias, float* part, u64 B, u64 L, u64 D, int K) {
  conv_backward<4>(dx, lddx, dy, lddy, x, ldx, w, bias, part, B, L, D, K);
}
KERNEL conv_grad_long(float* dx, u64 lddx, const float* dy, u64 lddy, const float* x, u64 ldx, const float* w, const float* bias, float* part, u64 B, u64 L, u64 D, int K) {
  conv_backward<8>(dx, lddx, dy, lddy, x, ldx, w, bias, part, B, L, D, K);
}

// time_code: product and sum rounded one after the other, then an exact cosine.
KERNEL time_code(float* y, u64 ldy, const float* delta, const float* w, const float* bias, const int* mask, u64 n, u64 d) {
  u64 i = thread_number();
  if (i >= n * d) return;
  u64 r, c;
  row_col(i, n, d, r, c);
  float v = 0.0f;
  if (!mask || mask[r]) v = exact_cos(__fadd_rn(__fmul_rn(w[c], delta[r]), bias[c]));
  y[r * ldy + c] = v;
}

// time_part: block (column tile of 32, piece), 32 × 8 threads; float64 sums, for deltas reach 1e10. part[piece, 2·d].
KERNEL time_part(double* part, const float* dy, u64 lddy, const float* delta, const float* w, const float* bias, const int* mask, u64 n, u64 d, u64 each) {
  __shared__ double sw[8][33], sb[8][33];
  u64 c = (u64)blockIdx.x * 32 + threadIdx.x;
  u64 lo = (u64)blockIdx.y * each, hi = min(lo + each, n);
  double gw = 0.0, gb = 0.0;
  if (c < d)
    for (u64 r = lo + threadIdx.y; r < hi; r += 8) {
      if (mask && !mask[r]) continue;
      float g = -exact_sin(__fadd_rn(__fmul_rn(w[c], delta[r]), bias[c])) * dy[r * lddy + c];
      gw += (double)g * (double)delta[r];
      gb += (double)g;
    }
  sw[threadIdx.y][threadIdx.x] = gw;
  sb[threadIdx.y][threadIdx.x] = gb;
  __syncthreads();
  if (threadIdx.y == 0 && c < d) {
    for (int k = 1; k < 8; k++) gw += sw[k][threadIdx.x], gb += sb[k][threadIdx.x];
    part[(u64)blockIdx.y * 2 * d + c] = gw;
    part[(u64)blockIdx.y * 2 * d + d + c] = gb;
  }
}

KERNEL time_fold(float* dw, float* dbias, const double* part, u64 pieces, u64 d) {
  u64 c = (u64)blockIdx.x * 32 + threadIdx.x;
  double s = fold_columns(part, pieces, 2 * d, c, 2 * d);
  if (threadIdx.y || c >= 2 * d) return;
  if (c < d) dw[c] += (float)s;
  else dbias[c - d] += (float)s;
}

// pool: y[b,c] = sum_j w[b,j]·h[b,j,c].
KERNEL pool(float* y, u64 ldy, const float* w, u64 ldw, const float* h, u64 ldh, u64 B, u64 P, u64 D) {
  u64 i = thread_number();
  if (i >= B * D) return;
  u64 b, c;
  row_col(i, B, D, b, c);
  float s = 0.0f;
  for (u64 j = 0; j < P; j++) s += w[b * ldw + j] * h[(b * P + j) * ldh + c];
  y[b * ldy + c] = s;
}

// dot: w[b,j] = sum_c a[b,c]·h[b,j,c]; one warp each, four numbers a lane under way at once.

KERNEL dot(float* w, u64 ldw, const float* a, u64 lda, const float* h, u64 ldh, u64 B, u64 P, u64 D) {
  u64 i = thread_number() / 32, b, j;
  if (i >= B * P) return;
  row_col(i, B, P, b, j);
  a += b * lda;
  h += i * ldh;
  float s = 0.0f;
  for (u32 first = threadIdx.x & 31; first < (u32)D; first += 128)
#pragma unroll
    for (u32 k = 0; k < 128; k += 32)
      if (first + k < (u32)D) s += a[first + k] * h[first + k];
  s = warp_sum(s);
  if ((threadIdx.x & 31) == 0) w[b * ldw + j] = s;
}

// outer: h[b,j,c] (+)= w[b,j]·a[b,c].
template <int W> __device__ inline void outer_of(float* h, u64 ldh, const float* w, u64 ldw, const float* a, u64 lda, u64 B, u64 P, u64 D, int acc) {
  u64 i = thread_number() * W;
  if (i >= B * P * D) return;
  u64 row, c, b, j;
  row_col(i, B * P, D, row, c);
  row_col(row, B, P, b, j);
  float f = w[b * ldw + j];
  pack<W> v = load<W>(a + b * lda + c), before;
  if (acc) before = load<W>(h + row * ldh + c);
#pragma unroll
  for (int k = 0; k < W; k++) {
    v.v[k] = __fmul_rn(f, v.v[k]);
    if (acc) v.v[k] = __fadd_rn(before.v[k], v.v[k]);  // rounded one after the other, as always: runs repeat to the byte
  }
  store<W>(h + row * ldh + c, v);
}
KERNEL outer(float* h, u64 ldh, const float* w, u64 ldw, const float* a, u64 lda, u64 B, u64 P, u64 D, int acc, int width) {
  BY_WIDTH(width, outer_of, h, ldh, w, ldw, a, lda, B, P, D, acc);
}

// gru: gates r, z, n of H columns each.
KERNEL gru(float* next, u64 ldn, const float* state, u64 lds, const float* x, u64 ldx, const float* h, u64 ldh, u64 n, u64 H) {
  u64 i = thread_number();
  if (i >= n * H) return;
  u64 row, c;
  row_col(i, n, H, row, c);
  x += row * ldx + c, h += row * ldh + c;
  float r = sigmoid(x[0] + h[0]), z = sigmoid(x[H] + h[H]), m = tanhf(x[2 * H] + r * h[2 * H]);
  next[row * ldn + c] = (1.0f - z) * m + z * state[row * lds + c];
}

KERNEL gru_grad(float* dx, u64 lddx, float* dh, u64 lddh, float* ds, u64 ldds, const float* dn, u64 lddn, const float* state, u64 lds, const float* x, u64 ldx, const float* h, u64 ldh, u64 n, u64 H) {
  u64 i = thread_number();
  if (i >= n * H) return;
  u64 row, c;
  row_col(i, n, H, row, c);
  x += row * ldx + c, h += row * ldh + c, dx += row * lddx + c, dh += row * lddh + c;
  float r = sigmoid(x[0] + h[0]), z = sigmoid(x[H] + h[H]), hn = h[2 * H], m = tanhf(x[2 * H] + r * hn);
  float g = dn[row * lddn + c];
  float gm = g * (1.0f - z) * (1.0f - m * m), gz = g * (state[row * lds + c] - m) * z * (1.0f - z), gr = gm * hn * r * (1.0f - r);
  dx[0] = gr, dx[H] = gz, dx[2 * H] = gm;
  dh[0] = gr, dh[H] = gz, dh[2 * H] = gm * r;
  ds[row * ldds + c] = g * z;
}

// lstm: gates i, f, g, o of H columns each.
KERNEL lstm(float* next, u64 ldn, float* nextc, u64 ldnc, const float* carry, u64 ldc, const float* x, u64 ldx, const float* h, u64 ldh, u64 n, u64 H) {
  u64 i = thread_number();
  if (i >= n * H) return;
  u64 row, c;
  row_col(i, n, H, row, c);
  x += row * ldx + c, h += row * ldh + c;
  float in = sigmoid(x[0] + h[0]), fg = sigmoid(x[H] + h[H]), g = tanhf(x[2 * H] + h[2 * H]), o = sigmoid(x[3 * H] + h[3 * H]);
  float cc = fg * carry[row * ldc + c] + in * g;
  nextc[row * ldnc + c] = cc;
  next[row * ldn + c] = o * tanhf(cc);
}

// dn or dnc may be missing.
KERNEL lstm_grad(float* dx, u64 lddx, float* dh, u64 lddh, float* dc, u64 lddc, const float* dn, u64 lddn, const float* dnc, u64 lddnc, const float* nextc, u64 ldnc, const float* carry, u64 ldc, const float* x, u64 ldx, const float* h, u64 ldh, u64 n, u64 H) {
  u64 i = thread_number();
  if (i >= n * H) return;
  u64 row, c;
  row_col(i, n, H, row, c);
  x += row * ldx + c, h += row * ldh + c;
  float in = sigmoid(x[0] + h[0]), fg = sigmoid(x[H] + h[H]), g = tanhf(x[2 * H] + h[2 * H]), o = sigmoid(x[3 * H] + h[3 * H]);
  float tc = tanhf(nextc[row * ldnc + c]);
  float gn = dn ? dn[row * lddn + c] : 0.0f, gc = (dnc ? dnc[row * lddnc + c] : 0.0f) + gn * o * (1.0f - tc * tc);
  float d[4] = {gc * g * in * (1.0f - in), gc * carry[row * ldc + c] * fg * (1.0f - fg), gc * in * (1.0f - g * g), gn * tc * o * (1.0f - o)};
  for (int k = 0; k < 4; k++) dx[row * lddx + k * H + c] = d[k], dh[row * lddh + k * H + c] = d[k];
  dc[row * lddc + c] = gc * fg;
}
