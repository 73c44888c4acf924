// Sixteen codes of a row from the `c`-th input on, a multiple of 16; see grid.inc.h for where they lie.
INLINE V codes_v(const uint8_t *row, int bits, ptrdiff_t c) {
  uint32_t first, second;
  if (bits == 2) {
    __builtin_memcpy(&first, row + c / 16 * 64, 4);
    const W shifts = {0, 8, 16, 24, 2, 10, 18, 26, 4, 12, 20, 28, 6, 14, 22, 30};
    return __builtin_convertvector((VI)(((W){0} + first) >> shifts & 3), V);
  }
  __builtin_memcpy(&first, row + c / 8 * 64, 4);
  __builtin_memcpy(&second, row + c / 8 * 64 + 64, 4);
  const W shifts = {0, 8, 16, 24, 4, 12, 20, 28, 0, 8, 16, 24, 4, 12, 20, 28};
  const VI low = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  const W both = ((W){0} + first & (W)low) | ((W){0} + second & ~(W)low);
  return __builtin_convertvector((VI)(both >> shifts & 15), V);
}

INLINE void expand_grid(const dibit_weight *w, int bits, ptrdiff_t row, ptrdiff_t col0, ptrdiff_t col1, float *restrict out) {
  const float centre = 0.5f * (float)((1 << bits) - 1);
  const ptrdiff_t blocks = (w->columns + 15) / 16 * (bits / 2), groups = (w->columns + w->group - 1) / w->group;
  const uint8_t *codes = (const uint8_t *)w->elements + row / 16 * blocks * 64 + row % 16 * 4;
  const uint16_t *scales = w->scales + row / 16 * groups * 16 + row % 16;
  for (ptrdiff_t c = col0; c < col1; c += LANES) {
    const float scale = half_to_float(scales[c / w->group * 16]);
    const V v = (codes_v(codes, bits, c) - centre) * scale;
    if (c + LANES <= col1) store(out + c - col0, v);
    else store_some(out + c - col0, v, col1 - c);
  }
}

// `col0` must be a multiple of 64; groups are multiples of 16, or a whole row.
static void expand(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, ptrdiff_t col0, ptrdiff_t col1, float *restrict out, ptrdiff_t ldo) {
  for (ptrdiff_t row = row0; row < row1; row++, out += ldo) {
    const ptrdiff_t first = row * w->columns + col0, n = col1 - col0;
    switch (w->format) {
    case DIBIT_F32: __builtin_memcpy(out, (const float *)w->elements + first, (size_t)n * sizeof(float)); break;
    case DIBIT_F16:
      for (ptrdiff_t c = 0; c < n; c++) out[c] = half_to_float(((const uint16_t *)w->elements)[first + c]);
      break;
    case DIBIT_BF16:
      for (ptrdiff_t c = 0; c < n; c++) {
        union { uint32_t u; float f; } bits = {(uint32_t)((const uint16_t *)w->elements)[first + c] << 16};
        out[c] = bits.f;
      }
      break;
    case DIBIT_GRID2: expand_grid(w, 2, row, col0, col1, out); break;
    case DIBIT_GRID4: expand_grid(w, 4, row, col0, col1, out); break;
    }
  }
}

// y[i, r] = x[i] . w[r] for a few rows x; `scratch` holds one row.
static void matvec(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, const float *x, ptrdiff_t n, ptrdiff_t ldx, float *y, ptrdiff_t ldy,
                   float *scratch) {
  for (ptrdiff_t r = row0; r < row1; r++) {
    const float *row = scratch;
    if (w->format == DIBIT_F32) row = (const float *)w->elements + r * w->columns;
    else expand(w, r, r + 1, 0, w->columns, scratch, w->columns);
    for (ptrdiff_t i = 0; i < n; i++) y[i * ldy + r] = dot(x + i * ldx, row, w->columns);
  }
}
