// Inner products of vectors that decay, a warp for each row of y and scale. A row of the table has a vector of level 0, then
// for each scale those of levels 1 to 3.

#define LEVELS 4

__device__ inline const float* level_vector(const float* row, int scale, int level, int dim) {
  return row + (level ? (scale * (LEVELS - 1) + level) * dim : 0);
}

__device__ inline float level_decay(float rate, float age, int level) {
  float once = expf(-rate * age), f = 1.0f;
  for (int l = 0; l < level; l++) f *= once;
  return f;
}

__device__ inline float positive_log(float x) { return x > 0.0f ? log1pf(x) : 0.0f; }

// decayed_products: the 4 vectors of a row against the 8 of the two nodes of its query. Lane k keeps the product of vector k/8
// with vector k%8.
KERNEL decayed_products(float* y, u64 ldy, const float* table, u64 ldt, const float* rates, const int* src, const int* dst,
             const float* src_age, const float* dst_age, const int* of, const float* age, u64 m, u64 n, u64 each, int scales, int dim) {
  u64 w = thread_number() / 32;
  int lane = threadIdx.x % 32;
  if (w >= m * scales) return;
  u64 r = w / scales;
  int s = (int)(w % scales);
  float* out = y + r * ldy + s * 2 * LEVELS * LEVELS;
  if (of[r] < 0) {
    out[lane] = 0.0f;
    return;
  }
  u64 q = r / each % n;
  const float *a = table + (u64)of[r] * ldt, *u = table + (u64)src[q] * ldt, *v = table + (u64)dst[q] * ldt;
  const float *left[LEVELS], *right[2 * LEVELS];
#pragma unroll
  for (int l = 0; l < LEVELS; l++) {
    left[l] = level_vector(a, s, l, dim);
    right[l] = level_vector(u, s, l, dim);
    right[LEVELS + l] = level_vector(v, s, l, dim);
  }
  float sum[LEVELS][2 * LEVELS] = {};
  for (int c = lane; c < dim; c += 32) {
    float x[LEVELS];
#pragma unroll
    for (int l = 0; l < LEVELS; l++) x[l] = left[l][c];
#pragma unroll
    for (int k = 0; k < 2 * LEVELS; k++) {
      float z = right[k][c];
#pragma unroll
      for (int l = 0; l < LEVELS; l++) sum[l][k] += x[l] * z;
    }
  }
  float mine = 0.0f;
#pragma unroll
  for (int l = 0; l < LEVELS; l++)
#pragma unroll
    for (int k = 0; k < 2 * LEVELS; k++) {
      float t = warp_sum(sum[l][k]);
      if (lane == l * 2 * LEVELS + k) mine = t;
    }
  int l = lane / (2 * LEVELS), k = lane % (2 * LEVELS);
  float rate = rates[s], other = k < LEVELS ? src_age[q] : dst_age[q];
  out[lane] = positive_log(mine * (level_decay(rate, age[r], l) * level_decay(rate, other, k % LEVELS)));
}

// decayed_pairs: the 8 vectors of a query's nodes against each other, each pair once.
KERNEL decayed_pairs(float* y, u64 ldy, const float* table, u64 ldt, const float* rates, const int* src, const int* dst,
                  const float* src_age, const float* dst_age, u64 n, int scales, int dim) {
  u64 w = thread_number() / 32;
  int lane = threadIdx.x % 32;
  if (w >= n * scales) return;
  u64 q = w / scales;
  int s = (int)(w % scales);
  const float* row[2] = {table + (u64)src[q] * ldt, table + (u64)dst[q] * ldt};
  float age[2] = {src_age[q], dst_age[q]}, rate = rates[s];
  float* out = y + q * ldy + s * LEVELS * (2 * LEVELS + 1);
  for (int a = 0; a < 2 * LEVELS; a++)
    for (int b = a; b < 2 * LEVELS; b++, out++) {
      const float* x = level_vector(row[a / LEVELS], s, a % LEVELS, dim);
      const float* z = level_vector(row[b / LEVELS], s, b % LEVELS, dim);
      float sum = 0.0f;
      for (int c = lane; c < dim; c += 32) sum += x[c] * z[c];
      sum = warp_sum(sum);
      float decay = level_decay(rate, age[a / LEVELS], a % LEVELS) * level_decay(rate, age[b / LEVELS], b % LEVELS);
      if (lane == 0) *out = positive_log(sum * decay);
    }
}
