// Products of small matrices whose operands stay in registers or in the first cache. Each result is a sum in an order that depends on
// its own operands only: how rows are grouped changes no bit.

// Rows and vectors of a tile: its accumulators fill half of the registers of AVX-512, or most of those of a lesser tier.
#ifdef DIBIT_WIDE
enum { TILE_ROWS = 4, TILE_VECTORS = 4 };
#else
enum { TILE_ROWS = 2, TILE_VECTORS = 2 };
#endif

#define UNROLL _Pragma("clang loop unroll(full)")

// The upper half of each operand added to its lower half: lanes 0-7 are what is left of a, 8-15 of b. Then quarters, and so on.
INLINE V fold8(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
         __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
INLINE V fold4(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
INLINE V fold2(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
         __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
INLINE V fold1(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
}

// Lane i is sum(s[i]), by the same tree.
INLINE V sums(const V s[16]) {
  V w[4];
  UNROLL for (int i = 0; i < 4; i++) w[i] = fold4(fold8(s[i], s[i + 4]), fold8(s[i + 8], s[i + 12]));
  return fold1(fold2(w[0], w[1]), fold2(w[2], w[3]));
}

// out[r, t] = x[r] . k[t] for R rows and 16 / R keys; n is a multiple of LANES.
INLINE void dots_tile(const int R, const float *x, ptrdiff_t ldx, const float *k, ptrdiff_t ldk, ptrdiff_t n, float *out, ptrdiff_t ldo) {
  const int K = LANES / R, r_step = R < TILE_ROWS ? R : TILE_ROWS, k_step = TILE_ROWS * TILE_VECTORS / r_step;
  V s[LANES];
  UNROLL for (int r0 = 0; r0 < R; r0 += r_step)
    UNROLL for (int k0 = 0; k0 < K; k0 += k_step) {
      V a[LANES];
      UNROLL for (int i = 0; i < r_step * k_step; i++) a[i] = (V){0};
      for (ptrdiff_t d = 0; d < n; d += LANES)
        UNROLL for (int j = 0; j < k_step; j++) {
          const V key = load(k + (k0 + j) * ldk + d);
          UNROLL for (int i = 0; i < r_step; i++) a[i * k_step + j] += load(x + (r0 + i) * ldx + d) * key;
        }
      UNROLL for (int i = 0; i < r_step; i++)
        UNROLL for (int j = 0; j < k_step; j++) s[(r0 + i) * K + k0 + j] = a[i * k_step + j];
    }
  const V total = sums(s);
  UNROLL for (int r = 0; r < R; r++) __builtin_memcpy(out + r * ldo, (const float *)&total + r * K, (size_t)K * sizeof(float));
}

// The same for any number of rows; keys is a multiple of LANES.
static void dots(const float *x, ptrdiff_t ldx, ptrdiff_t rows, const float *k, ptrdiff_t ldk, ptrdiff_t keys, ptrdiff_t n, float *out,
                 ptrdiff_t ldo) {
  ptrdiff_t r = 0;
  for (; r + 4 <= rows; r += 4)
    for (ptrdiff_t t = 0; t < keys; t += 4) dots_tile(4, x + r * ldx, ldx, k + t * ldk, ldk, n, out + r * ldo + t, ldo);
  for (; r + 2 <= rows; r += 2)
    for (ptrdiff_t t = 0; t < keys; t += 8) dots_tile(2, x + r * ldx, ldx, k + t * ldk, ldk, n, out + r * ldo + t, ldo);
  if (r < rows)
    for (ptrdiff_t t = 0; t < keys; t += 16) dots_tile(1, x + r * ldx, ldx, k + t * ldk, ldk, n, out + r * ldo + t, ldo);
}

// out[r] += sum over t of w[r, t] v[t] for R rows and NV vectors of 16 columns; w is addressed by its two strides.
INLINE void weigh_tile(const int R, const int NV, const float *w, ptrdiff_t row_stride, ptrdiff_t stride, const float *v, ptrdiff_t ldv,
                       ptrdiff_t n, float *out, ptrdiff_t ldo) {
  V a[TILE_ROWS * TILE_VECTORS];
  UNROLL for (int i = 0; i < R * NV; i++) a[i] = (V){0};
  for (ptrdiff_t t = 0; t < n; t++)
    UNROLL for (int r = 0; r < R; r++) {
      const float x = w[r * row_stride + t * stride];
      UNROLL for (int j = 0; j < NV; j++) a[r * NV + j] += load(v + t * ldv + j * LANES) * x;
    }
  UNROLL for (int r = 0; r < R; r++)
    UNROLL for (int j = 0; j < NV; j++) store(out + r * ldo + j * LANES, load(out + r * ldo + j * LANES) + a[r * NV + j]);
}

INLINE void weigh_rows(const int R, const float *w, ptrdiff_t row_stride, ptrdiff_t stride, const float *v, ptrdiff_t ldv, ptrdiff_t n,
                       ptrdiff_t columns, float *out, ptrdiff_t ldo) {
  ptrdiff_t c = 0;
  for (; c + TILE_VECTORS * LANES <= columns; c += TILE_VECTORS * LANES)
    weigh_tile(R, TILE_VECTORS, w, row_stride, stride, v + c, ldv, n, out + c, ldo);
  for (; c < columns; c += LANES) weigh_tile(R, 1, w, row_stride, stride, v + c, ldv, n, out + c, ldo);
}

// out[r] += sum over t of w[r, t] v[t]; columns is a multiple of LANES.
static void weigh(const float *w, ptrdiff_t row_stride, ptrdiff_t stride, ptrdiff_t rows, const float *v, ptrdiff_t ldv, ptrdiff_t n,
                  ptrdiff_t columns, float *out, ptrdiff_t ldo) {
  ptrdiff_t r = 0;
  for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
    weigh_rows(TILE_ROWS, w + r * row_stride, row_stride, stride, v, ldv, n, columns, out + r * ldo, ldo);
  for (; r < rows; r++) weigh_rows(1, w + r * row_stride, row_stride, stride, v, ldv, n, columns, out + r * ldo, ldo);
}
