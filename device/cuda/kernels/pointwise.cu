// One thread a number. A dense matrix comes as one row.

KERNEL map_act(int op, float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, c;
  row_col(i, rows, cols, r, c);
  y[r * ldy + c] = act(op, x[r * ldx + c]);
}

// x or y may be missing, whichever the slope does not need.
KERNEL map_grad(int op, float* dx, u64 lddx, const float* x, u64 ldx, const float* y, u64 ldy, const float* dy, u64 lddy, u64 rows, u64 cols) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, c;
  row_col(i, rows, cols, r, c);
  float xv = x ? x[r * ldx + c] : 0.0f, yv = y ? y[r * ldy + c] : 0.0f;
  dx[r * lddx + c] = dy[r * lddy + c] * slope(op, xv, yv);
}

__device__ inline float binary(int op, float a, float b) { return op == 0 ? a + b : op == 1 ? a - b : a * b; }

// kind 0: y is a matrix; 1: a row against every row; 2: a column against every column.
KERNEL zip(int op, int kind, float* z, u64 ldz, const float* x, u64 ldx, const float* y, u64 ldy, u64 rows, u64 cols) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, c;
  row_col(i, rows, cols, r, c);
  float b = kind == 0 ? y[r * ldy + c] : kind == 1 ? y[c] : y[r];
  z[r * ldz + c] = binary(op, x[r * ldx + c], b);
}

KERNEL scale(float* y, u64 ldy, const float* x, u64 ldx, u64 rows, u64 cols, float a) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, c;
  row_col(i, rows, cols, r, c);
  y[r * ldy + c] = a * x[r * ldx + c];
}

KERNEL fill(float* y, u64 ldy, u64 rows, u64 cols, float v) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, c;
  row_col(i, rows, cols, r, c);
  y[r * ldy + c] = v;
}

// bias_act finishes a product: pre = c + bias, c = act(pre). bias and pre may be missing.
KERNEL bias_act(int op, float* c, u64 ldc, const float* bias, float* pre, u64 ldpre, u64 rows, u64 cols) {
  u64 i = thread_number();
  if (i >= rows * cols) return;
  u64 r, k;
  row_col(i, rows, cols, r, k);
  float v = c[r * ldc + k];
  if (bias) v += bias[k];
  if (pre) pre[r * ldpre + k] = v;
  c[r * ldc + k] = act(op, v);
}

KERNEL transpose(float* y, const float* x, u64 batch, u64 rows, u64 cols) {
  u64 i = thread_number();
  if (i >= batch * rows * cols) return;
  u64 b = i / (rows * cols), k = i % (rows * cols);
  u64 c = k / rows, r = k % rows;  // y[b, c, r]
  y[i] = x[b * rows * cols + r * cols + c];
}
