// Plain blocked products: what runs without OpenBLAS, and what OpenBLAS is compared with.

// Each element of C is summed in an order that depends on k alone: how many rows there are changes no bit of any row.

// R rows of A times 16 / R rows of B; lane r (16 / R) + j is a[r] . b[j]. k is a multiple of LANES.
INLINE V nt_tile(const int R, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, ptrdiff_t k) {
  float out[LANES];
  dots_tile(R, a, lda, b, ldb, k, out, LANES / R);
  return load(out);
}

// What elements behind the last whole vector add.
static float nt_tail(const float *a, const float *b, ptrdiff_t k) { return sum(load_some(a, k) * load_some(b, k)); }

// The same sum for one element.
static float nt_dot(const float *a, const float *b, ptrdiff_t k) {
  V t = {0};
  for (ptrdiff_t d = 0; d < k; d += LANES) t += load(a + d) * load(b + d);
  return sum(t);
}

INLINE void nt_rows(const int R, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb,
                    float beta, float *c, ptrdiff_t ldc) {
  const int K = LANES / R;
  const ptrdiff_t whole = k / LANES * LANES;
  for (ptrdiff_t j = 0; j < n; j += K) {
    const int some = n - j < K ? (int)(n - j) : K;
    V total = {0};
    if (some == K) total = nt_tile(R, a, lda, b + j * ldb, ldb, whole);
    else
      for (int i = 0; i < R * K; i++)
        if (i % K < some) total[i] = nt_dot(a + i / K * lda, b + (j + i % K) * ldb, whole);
    for (int i = 0; i < R * K; i++) {
      if (i % K >= some) continue;
      float *to = c + i / K * ldc + j + i % K;
      float product = total[i];
      if (whole < k) product += nt_tail(a + i / K * lda + whole, b + (j + i % K) * ldb + whole, k - whole);
      *to = beta == 0 ? alpha * product : beta * *to + alpha * product;
    }
  }
}

// Short sums, as those over the rank of an adapter, add whole vectors of columns in the order of k: rows of B are turned first.
enum { NT_SHORT = 64, NT_COLUMNS = TILE_VECTORS * LANES };

INLINE void nt_short_rows(const int R, ptrdiff_t columns, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *turned,
                          float beta, float *c, ptrdiff_t ldc) {
  V s[TILE_ROWS * TILE_VECTORS];
  UNROLL for (int i = 0; i < R * TILE_VECTORS; i++) s[i] = (V){0};
  for (ptrdiff_t t = 0; t < k; t++)
    UNROLL for (int r = 0; r < R; r++) {
      const float x = alpha * a[r * lda + t];
      UNROLL for (int v = 0; v < TILE_VECTORS; v++) s[r * TILE_VECTORS + v] += load(turned + t * NT_COLUMNS + v * LANES) * x;
    }
  UNROLL for (int r = 0; r < R; r++)
    UNROLL for (int v = 0; v < TILE_VECTORS; v++) {
      const ptrdiff_t some = columns - v * LANES;
      float *to = c + r * ldc + v * LANES;
      V x = s[r * TILE_VECTORS + v];
      if (some <= 0) continue;
      if (beta != 0) x = beta * load_some(to, some) + x;
      store_some(to, x, some);
    }
}

static void nt_short(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb,
                     float beta, float *c, ptrdiff_t ldc) {
  float turned[NT_SHORT * NT_COLUMNS];
  for (ptrdiff_t j = 0; j < n; j += NT_COLUMNS) {
    const ptrdiff_t columns = n - j < NT_COLUMNS ? n - j : NT_COLUMNS;
    for (ptrdiff_t t = 0; t < k; t++)
      for (ptrdiff_t i = 0; i < NT_COLUMNS; i++) turned[t * NT_COLUMNS + i] = i < columns ? b[(j + i) * ldb + t] : 0;
    ptrdiff_t i = 0;
    for (; i + TILE_ROWS <= m; i += TILE_ROWS) nt_short_rows(TILE_ROWS, columns, k, alpha, a + i * lda, lda, turned, beta, c + i * ldc + j, ldc);
    for (; i < m; i++) nt_short_rows(1, columns, k, alpha, a + i * lda, lda, turned, beta, c + i * ldc + j, ldc);
  }
}

static void gemm_nt(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta,
                    float *c, ptrdiff_t ldc) {
  if (k <= NT_SHORT) return nt_short(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  ptrdiff_t i = 0;
  for (; i + 4 <= m; i += 4) nt_rows(4, n, k, alpha, a + i * lda, lda, b, ldb, beta, c + i * ldc, ldc);
  for (; i < m; i++) nt_rows(1, n, k, alpha, a + i * lda, lda, b, ldb, beta, c + i * ldc, ldc);
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
