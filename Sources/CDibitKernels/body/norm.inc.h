// y = x w / rms(x), rms(x) = sqrt(mean(x^2) + epsilon)
static void rms_norm(const float *x, const float *weight, float epsilon, ptrdiff_t rows, ptrdiff_t columns, float *inverse_rms, float *y) {
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, y += columns) {
    const float inverse = 1.0f / __builtin_sqrtf(dot(x, x, columns) / (float)columns + epsilon);
    inverse_rms[r] = inverse;
    for (ptrdiff_t c = 0; c < columns; c++) y[c] = x[c] * inverse * weight[c];
  }
}

// With i = 1/rms and g = dy w:  dx += i (g - x i^2 mean(g x))
static void rms_norm_dx(const float *dy, const float *x, const float *weight, const float *inverse_rms, ptrdiff_t rows, ptrdiff_t columns,
                        float *dx) {
  for (ptrdiff_t r = 0; r < rows; r++, dy += columns, x += columns, dx += columns) {
    V lanes = {0};
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      const ptrdiff_t some = columns - c < LANES ? columns - c : LANES;
      lanes += load_some(dy + c, some) * load_some(weight + c, some) * load_some(x + c, some);
    }
    const float inverse = inverse_rms[r], projection = sum(lanes) / (float)columns * inverse * inverse;
    for (ptrdiff_t c = 0; c < columns; c++) dx[c] += inverse * (dy[c] * weight[c] - x[c] * projection);
  }
}

// dw += sum over rows of dy x / rms, for the columns [col0, col1)
static void rms_norm_dweight(const float *dy, const float *x, const float *inverse_rms, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0,
                             ptrdiff_t col1, float *dweight) {
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t c = col0; c < col1; c++) dweight[c] += dy[r * columns + c] * x[r * columns + c] * inverse_rms[r];
}
