// Plain blocked products: what runs without OpenBLAS, and what OpenBLAS is compared with.

static void gemm_nt(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta,
                    float *c, ptrdiff_t ldc) {
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < n; j++) {
      const float product = alpha * dot(a + i * lda, b + j * ldb, k);
      c[i * ldc + j] = beta == 0 ? product : beta * c[i * ldc + j] + product;
    }
}

// One row of C at a time, 64 columns in registers, summed over k in order.
static void gemm_nn(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t row_stride, ptrdiff_t column_stride,
                    const float *b, ptrdiff_t ldb, float *c, ptrdiff_t ldc) {
  for (ptrdiff_t i = 0; i < m; i++) {
    const float *ai = a + i * row_stride;
    float *ci = c + i * ldc;
    ptrdiff_t j = 0;
    for (; j + 4 * LANES <= n; j += 4 * LANES) {
      V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
      for (ptrdiff_t t = 0; t < k; t++) {
        const float x = alpha * ai[t * column_stride];
        const float *bt = b + t * ldb + j;
        s0 += load(bt) * x, s1 += load(bt + LANES) * x, s2 += load(bt + 2 * LANES) * x, s3 += load(bt + 3 * LANES) * x;
      }
      store(ci + j, load(ci + j) + s0), store(ci + j + LANES, load(ci + j + LANES) + s1);
      store(ci + j + 2 * LANES, load(ci + j + 2 * LANES) + s2), store(ci + j + 3 * LANES, load(ci + j + 3 * LANES) + s3);
    }
    for (; j < n; j += LANES) {
      const ptrdiff_t some = n - j < LANES ? n - j : LANES;
      V s = {0};
      for (ptrdiff_t t = 0; t < k; t++) s += load_some(b + t * ldb + j, some) * (alpha * ai[t * column_stride]);
      store_some(ci + j, load_some(ci + j, some) + s, some);
    }
  }
}
