// The selective scan. One thread a channel of a sequence, neighbouring threads neighbouring channels, so that every load is
// coalesced and B, C are broadcasts. A thread keeps the N states of its channel: in registers up to 16, the usual number; the
// "wide" forms take up to 64 and keep them in local memory.

template <bool EXACT> __device__ inline void discretise(float delta, float A, float& a, float& bbar) {
  if (EXACT) {
    float e = expm1f(delta * A);
    a = e + 1.0f;
    bbar = e / A;  // A < 0
  } else {
    a = expf(delta * A);
    bbar = delta;
  }
}

struct ScanArgs {
  u64 B, L, D, N;
  const float *u, *delta, *alog, *b, *c, *skip, *gate;
  u64 ldu, ldd, ldb, ldc, ldg;
  float* y;
  u64 ldy;
};

template <bool EXACT, int CAP> __device__ inline void scan_forward(const ScanArgs& s) {
  u64 i = thread_number();
  if (i >= s.B * s.D) return;
  u64 b = i / s.D, c = i % s.D;
  int N = (int)s.N;
  float h[CAP], A[CAP];
#pragma unroll (CAP == 16 ? 16 : 1)
  for (int k = 0; k < CAP; k++) h[k] = 0.0f, A[k] = k < N ? -expf(s.alog[c * N + k]) : -1.0f;
  float skip = s.skip ? s.skip[c] : 0.0f;
  for (u64 t = 0; t < s.L; t++) {
    u64 row = b * s.L + t;
    float u = s.u[row * s.ldu + c], d = s.delta[row * s.ldd + c], y = skip * u;
    const float *Bt = s.b + row * s.ldb, *Ct = s.c + row * s.ldc;
#pragma unroll (CAP == 16 ? 16 : 1)
    for (int k = 0; k < CAP; k++)
      if (k < N) {
        float a, bb;
        discretise<EXACT>(d, A[k], a, bb);
        h[k] = a * h[k] + bb * Bt[k] * u;
        y += Ct[k] * h[k];
      }
    if (s.gate) y *= silu(s.gate[row * s.ldg + c]);
    s.y[row * s.ldy + c] = y;
  }
}

KERNEL scan_euler(ScanArgs s) { scan_forward<false, 16>(s); }
KERNEL scan_exact(ScanArgs s) { scan_forward<true, 16>(s); }
KERNEL scan_euler_wide(ScanArgs s) { scan_forward<false, 64>(s); }
KERNEL scan_exact_wide(ScanArgs s) { scan_forward<true, 64>(s); }

// The backward pass goes through segments of S steps from the last to the first. marks[segment, N, B·D] holds the state before
// each segment (written by a first forward pass), states[step, N, B·D] the states before each step of the current segment.
struct ScanGradArgs {
  ScanArgs f;
  const float* dy;
  float *du, *ddelta, *dgate;
  u64 lddy, lddu, lddd, lddg;
  float *marks, *states;
  u64 S;
  float* parta;  // [B, D·N], then [B, D] for skip at partskip
  float* partskip;
  float* partbc;  // [B·L, warps, N/16 rounded up, 32]: this warp's share of 16 of dB and 16 of dC
  u64 warps;      // warps a sequence: ceil(D/32)
};

// One block row of threads a sequence: blockDim.x = 32·warps covers D channels, so that a warp never spans two sequences.
template <bool EXACT, int CAP> __device__ inline void scan_backward(const ScanGradArgs& g) {
  const ScanArgs& s = g.f;
  u64 b = blockIdx.x, c = threadIdx.x;
  bool live = c < s.D;
  if (!live) c = s.D - 1;  // idle lanes read along and add nothing
  int N = (int)s.N, lane = threadIdx.x & 31;
  u64 lanes = s.B * s.D, me = b * s.D + c;
  float A[CAP], h[CAP], dh[CAP], da[CAP];
#pragma unroll (CAP == 16 ? 16 : 1)
  for (int k = 0; k < CAP; k++) h[k] = dh[k] = da[k] = 0.0f, A[k] = k < N ? -expf(s.alog[c * N + k]) : -1.0f;
  float skip = s.skip ? s.skip[c] : 0.0f, dskip = 0.0f;
  u64 segments = (s.L + g.S - 1) / g.S;
  // States at the segments' starts. The last segment's own steps need no mark beyond its start.
  for (u64 t = 0; t < (segments - 1) * g.S; t++) {
    if (t % g.S == 0 && live)
#pragma unroll (CAP == 16 ? 16 : 1)
      for (int k = 0; k < CAP; k++)
        if (k < N) g.marks[((t / g.S) * N + k) * lanes + me] = h[k];
    u64 row = b * s.L + t;
    float u = s.u[row * s.ldu + c], d = s.delta[row * s.ldd + c];
    const float* Bt = s.b + row * s.ldb;
#pragma unroll (CAP == 16 ? 16 : 1)
    for (int k = 0; k < CAP; k++)
      if (k < N) {
        float a, bb;
        discretise<EXACT>(d, A[k], a, bb);
        h[k] = a * h[k] + bb * Bt[k] * u;
      }
  }
  for (u64 seg = segments; seg-- > 0;) {
    u64 lo = seg * g.S, hi = min(lo + g.S, s.L);
    if (seg + 1 < segments)
#pragma unroll (CAP == 16 ? 16 : 1)
      for (int k = 0; k < CAP; k++)
        if (k < N) h[k] = g.marks[(seg * N + k) * lanes + me];
    for (u64 t = lo; t < hi; t++) {
      u64 row = b * s.L + t;
      float u = s.u[row * s.ldu + c], d = s.delta[row * s.ldd + c];
      const float* Bt = s.b + row * s.ldb;
#pragma unroll (CAP == 16 ? 16 : 1)
      for (int k = 0; k < CAP; k++)
        if (k < N) {
          if (live) g.states[((t - lo) * N + k) * lanes + me] = h[k];
          float a, bb;
          discretise<EXACT>(d, A[k], a, bb);
          h[k] = a * h[k] + bb * Bt[k] * u;
        }
    }
    for (u64 t = hi; t-- > lo;) {  // h is the state after step t
      u64 row = b * s.L + t;
      float u = s.u[row * s.ldu + c], d = s.delta[row * s.ldd + c], gy = live ? g.dy[row * g.lddy + c] : 0.0f;
      const float *Bt = s.b + row * s.ldb, *Ct = s.c + row * s.ldc;
      if (s.gate) {
        float z = s.gate[row * s.ldg + c], y = skip * u;
#pragma unroll (CAP == 16 ? 16 : 1)
        for (int k = 0; k < CAP; k++)
          if (k < N) y += Ct[k] * h[k];
        if (live) g.dgate[row * g.lddg + c] = gy * y * silu_slope(z);
        gy *= silu(z);
      }
      dskip += gy * u;
      float du = gy * skip, dd = 0.0f;
#pragma unroll
      for (int group = 0; group < CAP / 16; group++) {
        float bc[32];
#pragma unroll
        for (int i = 0; i < 16; i++) {
          int k = group * 16 + i;
          bc[i] = bc[16 + i] = 0.0f;
          if (k < N) {
            bc[16 + i] = gy * h[k];
            float a, bb, before = g.states[((t - lo) * N + k) * lanes + me];
            discretise<EXACT>(d, A[k], a, bb);
            float e = dh[k] + gy * Ct[k];
            bc[i] = e * bb * u;
            du += e * bb * Bt[k];
            if (EXACT) {  // bbar = (exp(dA)−1)/A: d/ddelta = a, d/dA = (delta·a − bbar)/A
              dd += e * a * (before * A[k] + Bt[k] * u);
              da[k] += e * (before * a * d + Bt[k] * u * (d * a - bb) / A[k]);
            } else {
              dd += e * (before * a * A[k] + Bt[k] * u);
              da[k] += e * before * a * d;
            }
            dh[k] = e * a;
            h[k] = before;
          }
        }
        float sum = warp_transpose_sum(bc);
        g.partbc[((row * g.warps + threadIdx.x / 32) * (CAP / 16) + group) * 32 + lane] = sum;
      }
      if (live) {
        g.du[row * g.lddu + c] = du;
        g.ddelta[row * g.lddd + c] = dd;
      }
    }
  }
  if (!live) return;
#pragma unroll (CAP == 16 ? 16 : 1)
  for (int k = 0; k < CAP; k++)
    if (k < N) g.parta[b * s.D * N + c * N + k] = da[k] * A[k];  // A = −exp(ALog): dALog = dA·A
  if (g.partskip) g.partskip[b * s.D + c] = dskip;
}

KERNEL scan_grad_euler(ScanGradArgs g) { scan_backward<false, 16>(g); }
KERNEL scan_grad_exact(ScanGradArgs g) { scan_backward<true, 16>(g); }
KERNEL scan_grad_euler_wide(ScanGradArgs g) { scan_backward<false, 64>(g); }
KERNEL scan_grad_exact_wide(ScanGradArgs g) { scan_backward<true, 64>(g); }

// scan_fold adds the warps' shares of dB and dC; groups of 16 states each.
KERNEL scan_fold(float* db, u64 lddb, float* dc, u64 lddc, const float* part, u64 warps, u64 groups, u64 rows, u64 N) {
  u64 i = thread_number();
  u64 row = i / (32 * groups), j = i % (32 * groups), k = j / 32 * 16 + j % 16;
  if (row >= rows || k >= N) return;
  float s = 0.0f;
  for (u64 w = 0; w < warps; w++) s += part[(row * warps + w) * groups * 32 + j];
  if (j % 32 < 16) db[row * lddb + k] = s;
  else dc[row * lddc + k] = s;
}
