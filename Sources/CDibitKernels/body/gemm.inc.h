// Plain blocked products: what runs without OpenBLAS, and what OpenBLAS is compared with.

INLINE ptrdiff_t nt_min(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

// Each element of C is alpha dot(a, b, k), bit by bit: how many rows there are changes nothing.

// out[r, j] = dot(a[r], b[j], k) for two rows of each.
static void nt_tile(const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, ptrdiff_t k, float out[4]) {
  V s[4][4];  // of each element the four sums that dot keeps
  for (int e = 0; e < 4; e++)
    for (int q = 0; q < 4; q++) s[e][q] = (V){0};
  ptrdiff_t d = 0;
  for (; d + 4 * LANES <= k; d += 4 * LANES)
    _Pragma("clang loop unroll(full)") for (int q = 0; q < 4; q++) {
      const V a0 = load(a + d + q * LANES), a1 = load(a + lda + d + q * LANES);
      const V b0 = load(b + d + q * LANES), b1 = load(b + ldb + d + q * LANES);
      s[0][q] += a0 * b0, s[1][q] += a0 * b1, s[2][q] += a1 * b0, s[3][q] += a1 * b1;
    }
  for (; d < k; d += LANES) {
    const int q = d + LANES > k;  // what is no whole vector is added to the second sum
    const V a0 = load_some(a + d, k - d), a1 = load_some(a + lda + d, k - d);
    const V b0 = load_some(b + d, k - d), b1 = load_some(b + ldb + d, k - d);
    if (q) s[0][1] += a0 * b0, s[1][1] += a0 * b1, s[2][1] += a1 * b0, s[3][1] += a1 * b1;
    else s[0][0] += a0 * b0, s[1][0] += a0 * b1, s[2][0] += a1 * b0, s[3][0] += a1 * b1;
  }
  for (int e = 0; e < 4; e++) out[e] = sum((s[e][0] + s[e][1]) + (s[e][2] + s[e][3]));
}

INLINE void nt_store(float *c, float product, float beta) { *c = beta == 0 ? product : beta * *c + product; }

static void nt_long(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb,
                    float beta, float *c, ptrdiff_t ldc) {
  for (ptrdiff_t i = 0; i < m; i += 2)
    for (ptrdiff_t j = 0; j < n; j += 2) {
      const ptrdiff_t rows = nt_min(m - i, 2), columns = nt_min(n - j, 2);
      const float *x = a + i * lda, *y = b + j * ldb;
      float out[4];
      if (rows == 2 && columns == 2) nt_tile(x, lda, y, ldb, k, out);
      else
        for (ptrdiff_t r = 0; r < rows; r++)
          for (ptrdiff_t t = 0; t < columns; t++) out[2 * r + t] = dot(x + r * lda, y + t * ldb, k);
      for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t t = 0; t < columns; t++) nt_store(c + (i + r) * ldc + j + t, alpha * out[2 * r + t], beta);
    }
}

// Short sums, as those over the rank of an adapter, have little to add in vectors: whole vectors of columns go through the additions of dot
// instead, one for each of its lanes. Rows of B are transposed first.
enum { NT_SHORT = 4 * LANES, NT_COLUMNS = 4 * LANES };

static V nt_lanes(const float *a, const float *transposed, ptrdiff_t k) {
  V v[LANES];
  const ptrdiff_t whole = k / LANES, tail = k % LANES;
  for (int l = 0; l < LANES; l++) {
    V s[4] = {{0}, {0}, {0}, {0}};
    for (ptrdiff_t w = 0; w < whole; w++) {
      const ptrdiff_t t = w * LANES + l;
      s[k == NT_SHORT ? w : 0] += load(transposed + t * NT_COLUMNS) * a[t];
    }
    if (l < tail) s[1] += load(transposed + (whole * LANES + l) * NT_COLUMNS) * a[whole * LANES + l];
    v[l] = (s[0] + s[1]) + (s[2] + s[3]);
  }
  for (int l = 0; l < 8; l++) v[l] += v[l + 8];
  for (int l = 0; l < 4; l++) v[l] += v[l + 4];
  return (v[0] + v[2]) + (v[1] + v[3]);
}

static void nt_short(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb,
                     float beta, float *c, ptrdiff_t ldc) {
  float transposed[NT_SHORT * NT_COLUMNS];
  for (ptrdiff_t j = 0; j < n; j += NT_COLUMNS) {
    const ptrdiff_t columns = nt_min(n - j, NT_COLUMNS);
    for (ptrdiff_t i = 0; i < NT_COLUMNS; i++)
      for (ptrdiff_t t = 0; t < k; t++) transposed[t * NT_COLUMNS + i] = i < columns ? b[(j + i) * ldb + t] : 0;
    for (ptrdiff_t i = 0; i < m; i++)
      for (ptrdiff_t t = 0; t < columns; t += LANES) {
        const V product = alpha * nt_lanes(a + i * lda, transposed + t, k);
        float *to = c + i * ldc + j + t;
        store_some(to, beta == 0 ? product : beta * load_some(to, columns - t) + product, columns - t);
      }
  }
}

static void gemm_nt(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta,
                    float *c, ptrdiff_t ldc) {
  // Transposing B pays when some rows use it.
  if (k <= NT_SHORT && m >= 4) nt_short(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else nt_long(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
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
