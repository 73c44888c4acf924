// Calls f(bits, twice, ...) with the constants of a grid, so that its loops are unrolled: bits of a code, and twice the middle code.
#define GRID_CASE(format, bits, twice, f, ...) case format: f(bits, twice, __VA_ARGS__); break;
#define FOR_GRID(format, f, ...)                 \
  switch (format) {                              \
    DIBIT_GRIDS(GRID_CASE, f, __VA_ARGS__)       \
    default: break;                              \
  }

INLINE int is_grid(const dibit_weight *w) { return w->format > DIBIT_BF16; }

// A grid of six bits is a trellis: codes of two bits that are read through windows of three.
#define IS_TRELLIS(bits) ((bits) == 6)
#define CODE_BITS(bits) (IS_TRELLIS(bits) ? 2 : (bits))

// Inputs whose codes lie together in whole blocks of 64 bytes, and the number of these blocks.
#define UNIT(bits) ((bits) == 3 || IS_TRELLIS(bits) ? 32 : 16)
#define UNIT_BLOCKS(bits) (UNIT(bits) * CODE_BITS(bits) / 32)

// The blocks of a panel.
INLINE ptrdiff_t panel_blocks(int bits, ptrdiff_t columns) { return (columns + UNIT(bits) - 1) / UNIT(bits) * UNIT_BLOCKS(bits); }

// Sixteen neighbours of a row lie in bits / 2 blocks, four bytes in each; see grid.inc.h. How far the code of each is moved in its block's
// four bytes:
INLINE W code_shifts(int bits) {
  const W lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return (lane % 4 * 8) + lane % (32 / (uint32_t)bits) / 4 * (uint32_t)bits;
}

// The bit of a byte that holds the third bit of field f, of four, of one of the two halves of 32 neighbours: above the field's other bits in
// their block, for the first half.
#define THIRD_BIT(half, f) (((f) * 2 + 2) % 8 + (half))

// How far the third bits of a half of 32 neighbours are moved.
INLINE W third_shifts(ptrdiff_t half) {
  const W lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return (lane % 4 * 8) + THIRD_BIT((uint32_t)half, lane / 4);
}

// All bits of the lanes whose codes lie in the `block`-th of these blocks.
INLINE W lanes_of_block(int bits, int block) {
  const W lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return (W)(lane / (32 / (uint32_t)bits) == (uint32_t)block);
}

// The four bytes of a row in a block, in each lane.
INLINE W block_word(const uint8_t *row, ptrdiff_t block) {
  uint32_t word;
  __builtin_memcpy(&word, row + block * 64, 4);
  return (W){0} + word;
}

// Sixteen codes of a row from the `c`-th input on, a multiple of 16; of a trellis the levels, which count as codes do.
INLINE V codes_v(const uint8_t *row, int bits, ptrdiff_t c) {
  if (IS_TRELLIS(bits)) {
    const W own = block_word(row, c / 16), other = block_word(row, c / 16 ^ 1), lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const W earlier = own << 4 | other >> 28, is_earlier = (W)(lane < 8);
    const W words = (earlier & is_earlier) | (own & ~is_earlier);
    return __builtin_convertvector((VI)(trellis_levels(words >> (lane % 4 * 8 + lane / 4 % 2 * 2) & 63) & 0xFF), V);
  }
  if (bits == 3) {  // two blocks of lower bits, and one of the third bits of both
    const ptrdiff_t unit = c / 32 * 3, half = c % 32 / 16;
    const W low = block_word(row, unit + half) >> code_shifts(2) & 3, high = block_word(row, unit + 2) >> third_shifts(half) & 1;
    return __builtin_convertvector((VI)(low | high << 2), V);
  }
  W words = {0};
  for (int block = 0; block < bits / 2; block++) words |= block_word(row, c / 16 * (bits / 2) + block) & lanes_of_block(bits, block);
  return __builtin_convertvector((VI)(words >> code_shifts(bits) & ((1u << bits) - 1)), V);
}

INLINE void expand_grid(int bits, int twice, const dibit_weight *w, ptrdiff_t row, ptrdiff_t col0, ptrdiff_t col1, float *restrict out) {
  const float middle = 0.5f * (float)twice;
  const ptrdiff_t blocks = panel_blocks(bits, w->columns), groups = (w->columns + w->group - 1) / w->group;
  const uint8_t *codes = (const uint8_t *)w->elements + row / 16 * blocks * 64 + row % 16 * 4;
  const uint16_t *scales = w->scales + row / 16 * groups * 16 + row % 16;
  for (ptrdiff_t c = col0; c < col1; c += LANES) {
    const float scale = half_to_float(scales[c / w->group * 16]);
    const V v = (codes_v(codes, bits, c) - middle) * scale;
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
    default: FOR_GRID(w->format, expand_grid, w, row, col0, col1, out);
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
