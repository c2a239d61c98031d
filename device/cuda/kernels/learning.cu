// Loss and optimizers.

// bce: one block. p and 1−p in the logs are held at exp(−100), as the reference clamps its log terms.
KERNEL bce(float* loss, float* dlogits, const float* logits, const float* labels, u64 n) {
  __shared__ double sum[256];
  double s = 0.0;
  for (u64 i = threadIdx.x; i < n; i += 256) {
    float x = logits[i], y = labels[i];
    float soft = log1pf(expf(-fabsf(x)));
    float logp = fmaxf(fminf(x, 0.0f) - soft, -100.0f), logq = fmaxf(fminf(-x, 0.0f) - soft, -100.0f);
    s -= y * logp + (1.0f - y) * logq;
    if (dlogits) dlogits[i] = (sigmoid(x) - y) / (float)n;
  }
  sum[threadIdx.x] = s;
  __syncthreads();
  for (int o = 128; o; o >>= 1) {
    if (threadIdx.x < o) sum[threadIdx.x] += sum[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) loss[0] = (float)(sum[0] / (double)n);
}

// ce: one block, a thread for every 256th row. mask may be null; a negative target has neither loss nor gradient.
KERNEL ce(float* loss, float* dlogits, const float* logits, const int* targets, const int* mask, u64 rows, u64 cols) {
  __shared__ double sum[256];
  double s = 0.0;
  for (u64 r = threadIdx.x; r < rows; r += 256) {
    const float* x = logits + r * cols;
    const int* keep = mask ? mask + r * cols : 0;
    int target = targets[r];
    float most = -INFINITY;
    for (u64 j = 0; j < cols; j++)
      if (!keep || keep[j]) most = fmaxf(most, x[j]);
    double total = 0.0;
    for (u64 j = 0; j < cols; j++)
      if (!keep || keep[j]) total += exp((double)x[j] - (double)most);
    if (target >= 0) s += log(total) + (double)most - (double)x[target];
    if (!dlogits) continue;
    float* dx = dlogits + r * cols;
    for (u64 j = 0; j < cols; j++) {
      double p = !keep || keep[j] ? exp((double)x[j] - (double)most) / total : 0.0;
      dx[j] = target < 0 ? 0.0f : (float)((p - (j == (u64)target ? 1.0 : 0.0)) / (double)rows);
    }
  }
  sum[threadIdx.x] = s;
  __syncthreads();
  for (int o = 128; o; o >>= 1) {
    if (threadIdx.x < o) sum[threadIdx.x] += sum[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) loss[0] = (float)(sum[0] / (double)rows);
}

enum { ADAM, SGD, RMSPROP };

// The decay rates come as float64, so that their complements and powers are those of the reference.
KERNEL update(int rule, float* w, const float* g, float* m, float* v, double rate, double beta1, double beta2, float eps, float decay, const int* step, u64 n) {
  u64 i = thread_number();
  if (i >= n) return;
  float grad = g[i] + decay * w[i], b2 = (float)beta2, rest2 = (float)(1.0 - beta2);
  if (rule == ADAM) {
    double t = (double)step[0];
    float mi = m[i], vi = v[i];
    mi += (float)(1.0 - beta1) * (grad - mi);
    vi = b2 * vi + rest2 * grad * grad;
    m[i] = mi, v[i] = vi;
    w[i] -= (float)(rate / (1.0 - pow(beta1, t))) * mi / (sqrtf(vi) / (float)sqrt(1.0 - pow(beta2, t)) + eps);
  } else if (rule == SGD) {
    if (beta1 > 0.0) m[i] = grad = (float)beta1 * m[i] + grad;
    w[i] -= (float)rate * grad;
  } else {
    float vi = v[i] = b2 * v[i] + rest2 * grad * grad;
    w[i] -= (float)rate * grad / (sqrtf(vi) + eps);
  }
}
