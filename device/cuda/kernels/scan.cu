// The selective scan. One block a sequence, two threads a channel, each with half of its states: lane 2·i+q of a warp has states
// [q·OWN, q·OWN+OWN) of the warp's channel i. OWN is 8 for the usual 16 states, 32 in the "wide" forms. Neighbouring lanes load
// neighbouring channels; B and C, which all channels share, pass through shared memory a few steps at a time, zero beyond N, so that
// missing states stay zero.

// exp(x) = exp2(x·log2 e): the hardware has exp2 (relative error below 2e-7; the arguments here are negative and small).
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f

__device__ inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// discretise gives exp(delta·A) and the factor of B·u; A comes times log2(e).
template <bool EXACT> __device__ inline void discretise(float delta, float A2, float& a, float& bbar) {
  if (EXACT) {
    float e = expm1f(delta * (A2 * LN2));
    a = e + 1.0f;
    bbar = e / (A2 * LN2);  // A < 0
  } else {
    a = fast_exp2(delta * A2);
    bbar = delta;
  }
}

__device__ inline float pair_sum(float v) { return v + __shfl_xor_sync(WARP_ALL, v, 1); }

struct ScanArgs {
  u64 B, L, D, N;
  const float *u, *delta, *alog, *b, *c, *skip, *gate;
  u64 ldu, ldd, ldb, ldc, ldg;
  float* y;
  u64 ldy;
};

// stage brings B and C of steps [lo, hi) of a sequence to shared memory: [step, B or C, 2·OWN].
template <int OWN> __device__ inline void stage(float* to, const ScanArgs& s, int row, int steps) {
  const int ALL = 2 * OWN;
  int N = (int)s.N;
  __syncthreads();
  for (int i = threadIdx.x; i < steps * 2 * ALL; i += blockDim.x) {
    int k = i % ALL, t = i / (2 * ALL);
    bool isC = i / ALL & 1;
    const float* from = isC ? s.c + (u64)(row + t) * s.ldc : s.b + (u64)(row + t) * s.ldb;
    to[i] = k < N ? __ldg(from + k) : 0.0f;
  }
  __syncthreads();
}

// mine loads this thread's half of a staged row.
template <int OWN> __device__ inline void mine(float (&v)[OWN], const float* row) {
#pragma unroll
  for (int k = 0; k < OWN; k += 4) {
    float4 x = *(const float4*)(row + k);
    v[k] = x.x, v[k + 1] = x.y, v[k + 2] = x.z, v[k + 3] = x.w;
  }
}

#define SCAN_STEPS 8  // staged at a time by the forward pass

template <bool EXACT, int OWN> __device__ inline void scan_forward(const ScanArgs& s) {
  __shared__ __align__(16) float shared[SCAN_STEPS * 4 * OWN];
  int L = (int)s.L, D = (int)s.D, N = (int)s.N, row = blockIdx.x * L;
  int c = threadIdx.x / 2, half = threadIdx.x & 1, first = half * OWN;
  bool live = c < D;
  if (!live) c = D - 1;  // idle lanes read along
  float h[OWN], A[OWN];
#pragma unroll
  for (int k = 0; k < OWN; k++) h[k] = 0.0f, A[k] = first + k < N ? -expf(s.alog[c * N + first + k]) * LOG2E : -1.0f;
  float skip = s.skip ? s.skip[c] : 0.0f;
  const float *pu = s.u + (u64)row * s.ldu + c, *pd = s.delta + (u64)row * s.ldd + c, *pz = s.gate + (u64)row * s.ldg + c;
  float* py = s.y + (u64)row * s.ldy + c;
  float u = __ldg(pu), d = __ldg(pd), z = s.gate ? __ldg(pz) : 0.0f;
  for (int lo = 0; lo < L; lo += SCAN_STEPS) {
    int steps = min(SCAN_STEPS, L - lo);
    stage<OWN>(shared, s, row + lo, steps);
    for (int t = 0; t < steps; t++) {
      bool more = lo + t + 1 < L;
      if (more) pu += s.ldu, pd += s.ldd, pz += s.ldg;
      float nu = __ldg(pu), nd = __ldg(pd), nz = s.gate ? __ldg(pz) : 0.0f;  // of the next step
      float Bt[OWN], Ct[OWN], y = 0.0f;
      mine<OWN>(Bt, shared + t * 4 * OWN + first);
      mine<OWN>(Ct, shared + t * 4 * OWN + 2 * OWN + first);
#pragma unroll
      for (int k = 0; k < OWN; k++) {
        float a, bb;
        discretise<EXACT>(d, A[k], a, bb);
        h[k] = a * h[k] + bb * Bt[k] * u;
        y += Ct[k] * h[k];
      }
      y = pair_sum(y) + skip * u;
      if (s.gate) y *= silu(z);
      if (live && half == 0) *py = y;
      py += s.ldy;
      u = nu, d = nd, z = nz;
    }
  }
}

KERNEL scan_euler(ScanArgs s) { scan_forward<false, 8>(s); }
KERNEL scan_exact(ScanArgs s) { scan_forward<true, 8>(s); }
KERNEL scan_euler_wide(ScanArgs s) { scan_forward<false, 32>(s); }
KERNEL scan_exact_wide(ScanArgs s) { scan_forward<true, 32>(s); }

// The backward pass goes through segments of S steps from the last to the first. marks[b, segment, 2·OWN, D] holds the state before each
// segment (written by a first forward pass); the states before each step of the current segment are computed again into shared memory.
struct ScanGradArgs {
  ScanArgs f;
  const float* dy;
  float *du, *ddelta, *dgate;
  u64 lddy, lddu, lddd, lddg;
  float* marks;
  u64 S;
  float* parta;  // [B, D·N], then [B, D] for skip at partskip
  float* partskip;
  float* partbc;  // [B·L, warps, groups, 32]: this warp's share of 8 of dB and 8 of dC for either half of the states
  u64 warps;      // warps a sequence: ceil(D/16)
};

// sum_over_channels adds 16 values of each of the 16 lanes of one half: lane l returns the sum of v[l/2].
__device__ inline float sum_over_channels(float (&v)[16]) {
  int lane = threadIdx.x & 31;
#pragma unroll
  for (int half = 8; half; half >>= 1) {
    bool upper = lane & (2 * half);
#pragma unroll
    for (int i = 0; i < half; i++) {
      float give = upper ? v[i] : v[i + half], keep = upper ? v[i + half] : v[i];
      v[i] = keep + __shfl_xor_sync(WARP_ALL, give, 2 * half);
    }
  }
  return v[0];
}

// advance takes one step of the recurrence.
template <bool EXACT, int OWN> __device__ inline void advance(float (&h)[OWN], const float (&A)[OWN], const float* staged, float u, float d) {
  float Bt[OWN];
  mine<OWN>(Bt, staged);
#pragma unroll
  for (int k = 0; k < OWN; k++) {
    float a, bb;
    discretise<EXACT>(d, A[k], a, bb);
    h[k] = a * h[k] + bb * Bt[k] * u;
  }
}

template <bool EXACT, int OWN> __device__ inline void scan_backward(const ScanGradArgs& g) {
  extern __shared__ __align__(16) float dynamic[];  // B and C of the segment [S, 4·OWN], then states [S, OWN, blockDim.x]
  const ScanArgs& s = g.f;
  int L = (int)s.L, D = (int)s.D, N = (int)s.N, S = (int)g.S, row = blockIdx.x * L;
  float *staged = dynamic, *states = dynamic + S * 4 * OWN + threadIdx.x;
  int c = threadIdx.x / 2, half = threadIdx.x & 1, first = half * OWN;
  bool live = c < D, writes = live && half == 0;
  if (!live) c = D - 1;  // idle lanes read along and add nothing
  float A[OWN], h[OWN], dh[OWN], da[OWN];
#pragma unroll
  for (int k = 0; k < OWN; k++) h[k] = dh[k] = da[k] = 0.0f, A[k] = first + k < N ? -expf(s.alog[c * N + first + k]) * LOG2E : -1.0f;
  float skip = s.skip ? s.skip[c] : 0.0f, dskip = 0.0f;
  int segments = (L + S - 1) / S;
  float* marks = g.marks + ((u64)blockIdx.x * segments * 2 * OWN + first) * D + c;
  const float *pu = s.u + (u64)row * s.ldu + c, *pd = s.delta + (u64)row * s.ldd + c;
  for (int seg = 0; seg < segments - 1; seg++) {  // states at the segments' starts
    stage<OWN>(staged, s, row + seg * S, S);
    if (live)
#pragma unroll
      for (int k = 0; k < OWN; k++) marks[(u64)(seg * 2 * OWN + k) * D] = h[k];
    float nu = __ldg(pu), nd = __ldg(pd);  // of the next step
    for (int t = 0; t < S; t++) {
      float u = nu, d = nd;
      pu += s.ldu, pd += s.ldd;  // there is another segment
      nu = __ldg(pu), nd = __ldg(pd);
      advance<EXACT, OWN>(h, A, staged + t * 4 * OWN + first, u, d);
    }
  }
  for (int seg = segments - 1; seg >= 0; seg--) {
    int lo = seg * S, steps = min(S, L - lo);
    stage<OWN>(staged, s, row + lo, steps);
    if (seg + 1 < segments)
#pragma unroll
      for (int k = 0; k < OWN; k++) h[k] = marks[(u64)(seg * 2 * OWN + k) * D];
    pu = s.u + (u64)(row + lo) * s.ldu + c, pd = s.delta + (u64)(row + lo) * s.ldd + c;
    float nu = __ldg(pu), nd = __ldg(pd);
    for (int t = 0; t < steps; t++) {
      float u = nu, d = nd;
      if (t + 1 < steps) pu += s.ldu, pd += s.ldd;
      nu = __ldg(pu), nd = __ldg(pd);
#pragma unroll
      for (int k = 0; k < OWN; k++) states[(t * OWN + k) * blockDim.x] = h[k];
      advance<EXACT, OWN>(h, A, staged + t * 4 * OWN + first, u, d);
    }
    const float *pg = g.dy + (u64)(row + lo + steps - 1) * g.lddy + c, *pz = s.gate + (u64)(row + lo + steps - 1) * s.ldg + c;
    float ng = __ldg(pg), nz = s.gate ? __ldg(pz) : 0.0f;  // nu and nd are those of the last step
    for (int t = steps - 1; t >= 0; t--) {                 // h is the state after step t
      u64 at = row + lo + t;
      float u = nu, d = nd, gy = live ? ng : 0.0f, z = nz;
      if (t) pu -= s.ldu, pd -= s.ldd, pg -= g.lddy, pz -= s.ldg;
      nu = __ldg(pu), nd = __ldg(pd), ng = __ldg(pg), nz = s.gate ? __ldg(pz) : 0.0f;
      float Bt[OWN], Ct[OWN];
      mine<OWN>(Bt, staged + t * 4 * OWN + first);
      mine<OWN>(Ct, staged + t * 4 * OWN + 2 * OWN + first);
      if (s.gate) {
        float y = 0.0f, sig = sigmoid(z);
#pragma unroll
        for (int k = 0; k < OWN; k++) y += Ct[k] * h[k];
        y = pair_sum(y) + skip * u;
        if (writes) g.dgate[at * g.lddg + c] = gy * y * sig * (1.0f + z * (1.0f - sig));
        gy *= z * sig;
      }
      dskip += gy * u;
      float eb = 0.0f, dd = 0.0f, scale = EXACT ? u : d * u;  // eb: sum of e·B (Euler), of e·bbar·B (exact)
      float* part = g.partbc + (at * g.warps + threadIdx.x / 32) * (OWN / 8) * 32 + (threadIdx.x & 31);
#pragma unroll
      for (int group = 0; group < OWN / 8; group++) {
        float bc[16];
#pragma unroll
        for (int i = 0; i < 8; i++) {
          int k = group * 8 + i;
          bc[8 + i] = gy * h[k];
          float a, bb, before = states[(t * OWN + k) * blockDim.x], e = dh[k] + gy * Ct[k];
          discretise<EXACT>(d, A[k], a, bb);
          if (EXACT) {  // bbar = (exp(dA)−1)/A: d/ddelta = a, d/dA = (delta·a − bbar)/A
            float An = A[k] * LN2, bu = Bt[k] * u;
            bc[i] = e * bb * scale;
            eb += e * bb * Bt[k];
            dd += e * a * (before * An + bu);
            da[k] += e * (before * a * d + bu * (d * a - bb) / An);
            dh[k] = e * a;
          } else {
            bc[i] = e * scale;
            eb += e * Bt[k];
            dh[k] = e * a;
            float eah = dh[k] * before;
            dd += eah * A[k];
            da[k] += eah * d;
          }
          h[k] = before;
        }
        part[group * 32] = sum_over_channels(bc);
      }
      eb = pair_sum(eb), dd = pair_sum(dd);
      if (writes) {
        g.du[at * g.lddu + c] = (EXACT ? eb : eb * d) + gy * skip;
        g.ddelta[at * g.lddd + c] = EXACT ? dd : dd * LN2 + eb * u;
      }
    }
  }
  if (!live) return;
#pragma unroll
  for (int k = 0; k < OWN; k++)
    if (first + k < N) g.parta[((u64)blockIdx.x * D + c) * N + first + k] = da[k] * (A[k] * LN2);  // A = −exp(ALog): dALog = dA·A
  if (g.partskip && half == 0) g.partskip[(u64)blockIdx.x * D + c] = dskip;
}

KERNEL scan_grad_euler(ScanGradArgs g) { scan_backward<false, 8>(g); }
KERNEL scan_grad_exact(ScanGradArgs g) { scan_backward<true, 8>(g); }
KERNEL scan_grad_euler_wide(ScanGradArgs g) { scan_backward<false, 32>(g); }
KERNEL scan_grad_exact_wide(ScanGradArgs g) { scan_backward<true, 32>(g); }

// scan_fold adds the warps' shares of dB and dC. Lane 2·i+q of group j has state q·own+8·j+i of dB for i < 8, of dC for i−8 above.
KERNEL scan_fold(float* db, u64 lddb, float* dc, u64 lddc, const float* part, u64 warps, u64 groups, u64 rows, u64 N) {
  u64 id = thread_number();
  u64 row = id / (32 * groups), place = id % (32 * groups), lane = place % 32, i = lane / 2;
  u64 k = (lane & 1) * groups * 8 + place / 32 * 8 + i % 8;
  if (row >= rows || k >= N) return;
  float s = 0.0f;
  for (u64 w = 0; w < warps; w++) s += part[(row * warps + w) * groups * 32 + place];
  if (i < 8) db[row * lddb + k] = s;
  else dc[row * lddc + k] = s;
}
