// Products of matrices in BF16, summed in floats: what the backward pass multiplies gradients with.
//
// A sum runs over pairs of inputs, of which 32 bits hold both, the first in the lower half. A row of numbers is a row of pairs as it lies. The
// right matrix has rows 2 i and 2 i + 1 of a column in one lane: [pairs, PAIR_COLUMNS] lanes at a time, made from a weight of any format or
// from a float weight's transpose. A matrix made so serves as the left one too, for a sum over its rows.
//
// Every body adds the same products, but the instruction of AVX512-BF16 rounds and flushes small numbers in its own way: results agree to
// rounding, not to the bit.

enum { PAIR_COLUMNS = DIBIT_PAIR_COLUMNS, PAIR_VECTORS = PAIR_COLUMNS / LANES, PAIR_ROWS = 6 };

// The nearest BF16 numbers, ties to even, in the upper half of each lane; what is not a number stays so.
INLINE W round_bfloat_v(V x) {
  const W bits = (W)x, rounded = bits + 0x7FFF + (bits >> 16 & 1);
  const VI is_nan = (VI)((bits & 0x7FFFFFFF) > 0x7F800000);
  return (((W)is_nan & (bits | 0x400000)) | (~(W)is_nan & rounded)) & 0xFFFF0000;
}

// Rows of `factor` x in BF16, with zeros up to `padded` columns.
static void round_bfloat(const float *x, ptrdiff_t rows, ptrdiff_t columns, float factor, uint16_t *out, ptrdiff_t padded, ptrdiff_t ldo) {
  typedef uint16_t H __attribute__((vector_size(32), aligned(2)));
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, out += ldo) {
    ptrdiff_t c = 0;
    for (; c + LANES <= padded; c += LANES) {
      const V v = c < columns ? load_some(x + c, columns - c) * factor : (V){0};
      *(H *)(out + c) = __builtin_convertvector(round_bfloat_v(v) >> 16, H);
    }
    for (; c < padded; c++) {
      const V v = splat(c < columns ? x[c] * factor : 0);
      out[c] = (uint16_t)(round_bfloat_v(v)[0] >> 16);
    }
  }
}

// Sixteen columns of a row of a weight that is not packed, from `c` on; zeros behind its last column.
INLINE V float_row_v(const dibit_weight *w, ptrdiff_t row, ptrdiff_t c) {
  typedef uint16_t H __attribute__((vector_size(32)));
  if (c >= w->columns) return (V){0};
  const ptrdiff_t first = row * w->columns + c, left = least(w->columns - c, LANES);
  if (w->format == DIBIT_F32) return load_some((const float *)w->elements + first, left);
  H h = {0};
  __builtin_memcpy(&h, (const uint16_t *)w->elements + first, (size_t)left * sizeof(uint16_t));
  return w->format == DIBIT_BF16 ? (V)(__builtin_convertvector(h, W) << 16) : halves((const uint16_t *)&h);
}

// Lanes with `low` in their lower and `high` in their upper halves.
INLINE W pair_v(V low, V high) {
#if defined(DIBIT_BFLOAT)
  typedef short S __attribute__((vector_size(64)));
  const S both = (S)__builtin_ia32_cvtne2ps2bf16_512(high, low);
  return (W)__builtin_shufflevector(both, both, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                    13, 29, 14, 30, 15, 31);
#else
  return round_bfloat_v(high) | round_bfloat_v(low) >> 16;
#endif
}

INLINE void pair_grid(int bits, int twice, const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, ptrdiff_t col0, float factor, uint32_t *out) {
  const float middle = 0.5f * (float)twice;
  const ptrdiff_t blocks = panel_blocks(bits, w->columns), groups = (w->columns + w->group - 1) / w->group;
  ptrdiff_t group[PAIR_VECTORS];
  for (ptrdiff_t v = 0; v < PAIR_VECTORS; v++) group[v] = least(col0 + v * LANES, w->columns - 1) / w->group;
  for (ptrdiff_t first = row0; first < row1; first += LANES) {
    const ptrdiff_t panel = first / LANES, rows = least(row1 - first, LANES);
    float scales[PAIR_VECTORS][LANES];
    for (int v = 0; v < PAIR_VECTORS; v++) store(scales[v], halves(w->scales + (panel * groups + group[v]) * LANES) * factor);
    const uint8_t *codes = (const uint8_t *)w->elements + panel * blocks * BLOCK;
    for (ptrdiff_t r = 0; r < rows; r += 2, out += PAIR_COLUMNS)
      for (ptrdiff_t v = 0; v < PAIR_VECTORS; v++) {
        const ptrdiff_t c = col0 + v * LANES;
        V low = {0}, high = {0};
        if (c < w->columns) low = (codes_v(codes + 4 * r, bits, c) - middle) * scales[v][r];
        if (c < w->columns && r + 1 < rows) high = (codes_v(codes + 4 * (r + 1), bits, c) - middle) * scales[v][r + 1];
        *(WU *)(out + v * LANES) = pair_v(low, high);
      }
  }
}

// The rows [row0, row1) of `factor` times a weight in pairs, PAIR_COLUMNS columns from `col0` on, a multiple of 16; zeros behind the last
// row and column. `row0` is a multiple of 16 where the weight is packed.
static void pair_rows(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, ptrdiff_t col0, float factor, uint32_t *out) {
  if (is_grid(w)) {
    FOR_GRID(w->format, pair_grid, w, row0, row1, col0, factor, out);
  } else {
    for (ptrdiff_t row = row0; row < row1; row += 2, out += PAIR_COLUMNS)
      for (ptrdiff_t v = 0; v < PAIR_VECTORS; v++) {
        const V low = float_row_v(w, row, col0 + v * LANES) * factor;
        const V high = row + 1 < row1 ? float_row_v(w, row + 1, col0 + v * LANES) * factor : (V){0};
        *(WU *)(out + v * LANES) = pair_v(low, high);
      }
  }
}

// Lanes with the pairs of 32 neighbours: `low` and then `high`.
INLINE W neighbours_v(V low, V high) {
#if defined(DIBIT_BFLOAT)
  return (W)__builtin_ia32_cvtne2ps2bf16_512(high, low);
#else
  typedef uint16_t H __attribute__((vector_size(32)));
  const H halves[2] = {__builtin_convertvector(round_bfloat_v(low) >> 16, H), __builtin_convertvector(round_bfloat_v(high) >> 16, H)};
  W pairs;
  __builtin_memcpy(&pairs, halves, sizeof pairs);
  return pairs;
#endif
}

// Asks for 32 columns of a row of a weight that is not packed, from `c` on, wherever they lie: an address of no memory is ignored.
INLINE void prefetch_row(const dibit_weight *w, ptrdiff_t row, ptrdiff_t c) {
  const uintptr_t size = w->format == DIBIT_F32 ? 4 : 2;
  const uintptr_t first = (uintptr_t)w->elements + size * (uintptr_t)(row * w->columns + c);
  for (uintptr_t at = 0; at < size * 2 * LANES; at += 64) __builtin_prefetch((const void *)(first + at));
}

// The pairs of 32 columns of a row of a weight that is not packed, from `c` on, which is even; zeros behind its last column.
INLINE W row_pairs_v(const dibit_weight *w, ptrdiff_t row, ptrdiff_t c) {
  // In BF16 they lie there.
  if (w->format == DIBIT_BF16 && c + 2 * LANES <= w->columns) {
    W pairs;
    __builtin_memcpy(&pairs, (const uint16_t *)w->elements + row * w->columns + c, sizeof pairs);
    return pairs;
  }
  return neighbours_v(float_row_v(w, row, c), float_row_v(w, row, c + LANES));
}

// Rows become columns: squares of 1, 2, 4 and 8 lanes beside the diagonal change places.
INLINE void transpose_v(W rows[LANES]) {
#define EXCHANGE(distance, upper, lower)                       \
  for (int i = 0; i < LANES; i++)                              \
    if (!(i & distance)) {                                     \
      const W a = rows[i], b = rows[i + distance];             \
      rows[i] = __builtin_shufflevector(a, b, upper);          \
      rows[i + distance] = __builtin_shufflevector(a, b, lower); \
    }
#define LIST(...) __VA_ARGS__
  EXCHANGE(1, LIST(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30), LIST(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
  EXCHANGE(2, LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29), LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
  EXCHANGE(4, LIST(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27), LIST(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
  EXCHANGE(8, LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23), LIST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#undef LIST
#undef EXCHANGE
}

// The same for the transpose of a weight that is not packed: pairs of the inputs [col0, col1), from an even one on, in the columns of
// PAIR_COLUMNS outputs from `row0` on; zeros behind the last output and input.
static void pair_columns(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t col0, ptrdiff_t col1, uint32_t *out) {
  for (ptrdiff_t c = col0; c < col1; c += 2 * LANES) {
    const ptrdiff_t pairs = least((col1 - c + 1) / 2, LANES);
    for (ptrdiff_t first = 0; first < PAIR_COLUMNS; first += LANES) {
      W lanes[LANES];
      for (ptrdiff_t r = 0; r < LANES; r++) {
        const ptrdiff_t row = row0 + first + r;
        // Many rows at a time, a piece of each: the hardware does not see what comes.
        prefetch_row(w, row, c + 4 * LANES);
        lanes[r] = row < w->rows ? row_pairs_v(w, row, c) : (W){0};
      }
      transpose_v(lanes);
      for (ptrdiff_t p = 0; p < pairs; p++) *(WU *)(out + ((c - col0) / 2 + p) * PAIR_COLUMNS + first) = lanes[p];
    }
  }
}

INLINE V add_pairs(V sum, W b, uint32_t a) {
#if defined(DIBIT_BFLOAT)
  typedef __bf16 B __attribute__((vector_size(64)));
  return __builtin_ia32_dpbf16ps_512(sum, (B)((W){0} + a), (B)b);
#else
  const W as = (W){0} + a;
  return sum + (V)(as << 16) * (V)(b << 16) + (V)(as & 0xFFFF0000) * (V)(b & 0xFFFF0000);
#endif
}

// `a` has a pair of row r and of inputs 2 p and 2 p + 1 at r * row_stride + p * pair_stride.
INLINE void pair_tile(int rows, int vectors, ptrdiff_t pairs, const uint32_t *a, ptrdiff_t row_stride, ptrdiff_t pair_stride, const uint32_t *b,
                      float *c, ptrdiff_t ldc, ptrdiff_t columns, int accumulate) {
  V sums[PAIR_ROWS][PAIR_VECTORS];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vectors; v++) {
      const ptrdiff_t left = columns - v * LANES;
      sums[r][v] = accumulate && left > 0 ? load_some(c + r * ldc + v * LANES, left) : (V){0};
    }
  for (ptrdiff_t p = 0; p < pairs; p++, a += pair_stride, b += PAIR_COLUMNS) {
    W right[PAIR_VECTORS];
    for (int v = 0; v < vectors; v++) right[v] = *(const WU *)(b + v * LANES);
    for (int r = 0; r < rows; r++)
      for (int v = 0; v < vectors; v++) sums[r][v] = add_pairs(sums[r][v], right[v], a[r * row_stride]);
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < vectors; v++)
      if (columns > v * LANES) store_some(c + r * ldc + v * LANES, sums[r][v], columns - v * LANES);
}

INLINE void pair_rows_of(int vectors, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t pairs, const uint32_t *a, ptrdiff_t row_stride,
                         ptrdiff_t pair_stride, const uint32_t *b, float *c, ptrdiff_t ldc, int accumulate) {
#define TILE(n) pair_tile(n, vectors, pairs, a, row_stride, pair_stride, b, c, ldc, columns, accumulate)
  for (; rows >= PAIR_ROWS; rows -= PAIR_ROWS, a += PAIR_ROWS * row_stride, c += PAIR_ROWS * ldc) TILE(PAIR_ROWS);
  switch (rows) {
  case 5: TILE(5); break;
  case 4: TILE(4); break;
  case 3: TILE(3); break;
  case 2: TILE(2); break;
  case 1: TILE(1); break;
  }
#undef TILE
}

// C[rows, columns] = A B, or with `accumulate` C += A B, for up to PAIR_COLUMNS columns.
static void pair_matmul(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t pairs, const uint32_t *a, ptrdiff_t row_stride, ptrdiff_t pair_stride,
                        const uint32_t *b, float *c, ptrdiff_t ldc, int accumulate) {
  if (columns > PAIR_COLUMNS / 2) pair_rows_of(PAIR_VECTORS, rows, columns, pairs, a, row_stride, pair_stride, b, c, ldc, accumulate);
  else pair_rows_of(PAIR_VECTORS / 2, rows, columns, pairs, a, row_stride, pair_stride, b, c, ldc, accumulate);
}
