// Packed codes lie in blocks of 16 bytes. In a 2-bit block, bits 2f..2f+1 of byte j are element j + 16 f of 64; in a 4-bit
// block, bits 4f..4f+3 are element j + 16 f of 32: sixteen neighbours unpack with one shift and one mask.
INLINE V codes_v(const uint8_t *block, int shift, int mask) {
  typedef uint8_t B __attribute__((vector_size(16), aligned(1)));
  VI bytes = __builtin_convertvector(*(const B *)block, VI);
  return __builtin_convertvector((bytes >> shift) & mask, V);
}

INLINE void expand_grid(const dibit_weight *w, int bits, ptrdiff_t row, ptrdiff_t col0, ptrdiff_t col1, float *restrict out) {
  const int mask = (1 << bits) - 1;
  const float centre = 0.5f * (float)mask;
  const ptrdiff_t per_block = 128 / bits, row_bytes = (w->columns * bits + 127) / 128 * 16;
  const uint8_t *codes = (const uint8_t *)w->elements + row * row_bytes;
  const uint16_t *scales = w->scales + row * ((w->columns + w->group - 1) / w->group);
  for (ptrdiff_t c = col0; c < col1; c += LANES) {
    const int shift = (int)(c % per_block / LANES) * bits;
    const float scale = half_to_float(scales[c / w->group]);
    V v = (codes_v(codes + c / per_block * 16, shift, mask) - centre) * scale;
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
