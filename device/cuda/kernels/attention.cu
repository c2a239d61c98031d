// Attention for short sequences, in four plain steps; weights[b, head, query, key]. Longer ones are products, see attention.go.

KERNEL attention_scores(float* w, const float* q, u64 ldq, const float* k, u64 ldk, float scale, u64 B, u64 H, u64 Q, u64 K, u64 E) {
  u64 i = thread_number();
  if (i >= B * H * Q * K) return;
  u64 key = i % K, query = i / K % Q, h = i / (K * Q) % H, b = i / (K * Q * H);
  const float *a = q + (b * Q + query) * ldq + h * E, *c = k + (b * K + key) * ldk + h * E;
  float s = 0.0f;
  for (u64 e = 0; e < E; e++) s += a[e] * c[e];
  w[i] = s * scale;
}

// attention_mix: y[b,query, h·E+e] = sum_key w[b,h,query,key]·v[b,key, h·E+e]. transposed: sums over queries instead, v being [B·Q].
KERNEL attention_mix(float* y, u64 ldy, const float* w, const float* v, u64 ldv, float scale, u64 B, u64 H, u64 Q, u64 K, u64 E, int transposed) {
  u64 outs = transposed ? K : Q, ins = transposed ? Q : K;
  u64 i = thread_number();
  if (i >= B * outs * H * E) return;
  u64 e = i % E, h = i / E % H, o = i / (E * H) % outs, b = i / (E * H * outs);
  const float* wb = w + (b * H + h) * Q * K;
  float s = 0.0f;
  for (u64 j = 0; j < ins; j++) s += (transposed ? wb[j * K + o] : wb[o * K + j]) * v[(b * ins + j) * ldv + h * E + e];
  y[(b * outs + o) * ldy + h * E + e] = s * scale;
}
