// Products of packed weights and activations rounded to one or two bytes.
//
// A panel is sixteen rows of a weight in blocks of 64 bytes: bytes 4 r ... 4 r + 3 of a block belong to row r, and field f of byte j,
// counted from the low bits, to input 4 f + j of the block. Codes of 3 bits lie in two such blocks of their lower 2 bits and a third one of
// their upper ones, in the bits that THIRD_BIT names. One shift and one mask unpack four inputs of sixteen rows, and a product with
// four activations, the same for all rows, leaves a sum for each row in a lane of its own.
//
// Sums are whole numbers, exact in any order, until a scale changes; from there on every body adds in the same order. So every ISA, and
// every number of rows of activations, gives the same bits.

enum { BLOCK = 64, ACTIVATION_GROUP = 64 };

// Panels, and rows of activations, whose sums a product keeps in registers.
#if defined(DIBIT_VNNI512)
enum { PANELS = 4, TOKENS = 6 };
#elif defined(DIBIT_VNNI256) || defined(DIBIT_DOTPROD)
enum { PANELS = 1, TOKENS = 6 };
#else
enum { PANELS = 1, TOKENS = 4 };
#endif

// What a tier adds up products in: 32-bit sums, or with AVX2 alone 16-bit ones, which hold two products of 127 and a code that may be doubled
// LIMIT(bits) times.
#if defined(DIBIT_MADD256)
typedef int16_t ACC __attribute__((vector_size(64)));
#define LIMIT(bits) ((bits) == 8 ? 1 : (bits) == 4 || IS_TRELLIS(bits) ? 4 : (bits) == 3 ? 8 : 16)
#define FIRST_ACC(sum) ((ACC){0})
#define LAST_ACC(sum, a) ((sum) + whole_sums(a))
#else
typedef VI ACC;
#define LIMIT(bits) 16
#define FIRST_ACC(sum) (sum)
#define LAST_ACC(sum, a) (a)
#endif

// What is taken from a code before it is multiplied: where an instruction wants signed bytes, codes of 8 bits count from their middle.
#if defined(DIBIT_MADD256) || defined(DIBIT_DOTPROD)
#define LESS(bits) ((bits) == 8 ? 128 : 0)
#else
#define LESS(bits) 0
#endif

INLINE W less_each(W codes, int less) {
  typedef int8_t B __attribute__((vector_size(64)));
  return less ? (W)((B)codes - (int8_t)less) : codes;
}

// Four neighbours of each row times the same four activations.
INLINE ACC multiply_add(int bits, ACC a, W codes, int32_t x) {
  (void)bits;
#if defined(DIBIT_VNNI512)
  typedef char C __attribute__((vector_size(64)));
  return __builtin_ia32_vpdpbusd512(a, (C)codes, (C)((VI){0} + x));
#elif defined(DIBIT_VNNI256)
  typedef int H __attribute__((vector_size(32)));
  typedef char C __attribute__((vector_size(32)));
  union { VI whole; H half[2]; } s = {a};
  union { W whole; C half[2]; } c = {codes};
  const C xs = (C)((H){0} + x);
  for (int i = 0; i < 2; i++) s.half[i] = __builtin_ia32_vpdpbusd256(s.half[i], c.half[i], xs);
  return s.whole;
#elif defined(DIBIT_MADD256)
  typedef char C __attribute__((vector_size(32)));
  typedef short S __attribute__((vector_size(32)));
  typedef int H __attribute__((vector_size(32)));
  union { ACC whole; S half[2]; } s = {a};
  union { W whole; C half[2]; } c = {codes};
  const C xs = (C)((H){0} + x);
  // One of two factors has no sign: that of a code of 8 bits moves to the activation.
  for (int i = 0; i < 2; i++)
    s.half[i] += bits == 8 ? __builtin_ia32_pmaddubsw256(__builtin_elementwise_abs(c.half[i]), __builtin_ia32_psignb256(xs, c.half[i]))
                           : __builtin_ia32_pmaddubsw256(c.half[i], xs);
  return s.whole;
#elif defined(DIBIT_DOTPROD)
  union { VI whole; int32x4_t quarter[4]; } s = {a};
  union { W whole; int8x16_t quarter[4]; } c = {codes};
  const int8x16_t xs = vreinterpretq_s8_s32(vdupq_n_s32(x));
  for (int i = 0; i < 4; i++) s.quarter[i] = vdotq_s32(s.quarter[i], c.quarter[i], xs);  // codes below 8 bits are not above 30: signed bytes hold them
  return s.whole;
#elif defined(__SSE2__)
  // Even bytes, then odd ones, as pairs of 16-bit numbers: there is no product of 32-bit ones.
  typedef short S __attribute__((vector_size(16)));
  typedef int Q __attribute__((vector_size(16)));
  const int32_t even = (int32_t)((uint32_t)(int8_t)(x >> 16) << 16 | (uint16_t)(int8_t)x);
  const int32_t odd = (int32_t)((uint32_t)(int8_t)(x >> 24) << 16 | (uint16_t)(int8_t)(x >> 8));
  union { VI whole; Q quarter[4]; } s = {a};
  union { W whole; S quarter[4]; } c = {codes & 0x00FF00FF}, d = {codes >> 8 & 0x00FF00FF};
  const S xs = (S)((Q){0} + even), ys = (S)((Q){0} + odd);
  for (int i = 0; i < 4; i++)
    s.quarter[i] += (Q)__builtin_ia32_pmaddwd128(c.quarter[i], xs) + (Q)__builtin_ia32_pmaddwd128(d.quarter[i], ys);
  return s.whole;
#else
  for (int j = 0; j < 4; j++) a += (VI)(codes >> (8 * j) & 0xFF) * (int32_t)(int8_t)(x >> (8 * j));
  return a;
#endif
}

INLINE VI whole_sums(ACC a) {
#if defined(DIBIT_MADD256)
  typedef short S __attribute__((vector_size(32)));
  typedef int H __attribute__((vector_size(32)));
  union { ACC whole; S half[2]; } s = {a};
  union { VI whole; H half[2]; } r;
  for (int i = 0; i < 2; i++) r.half[i] = __builtin_ia32_pmaddwd256(s.half[i], (S){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  return r.whole;
#else
  return a;
#endif
}

// Sixteen F16 numbers.
INLINE V halves(const uint16_t *h) {
#if defined(DIBIT_F16C)
  typedef _Float16 F __attribute__((vector_size(32), aligned(2)));
  return __builtin_convertvector(*(const F *)h, V);
#else
  // half_to_float in each lane
  typedef uint16_t H __attribute__((vector_size(32), aligned(2)));
  const W bits = __builtin_convertvector(*(const H *)h, W);
  const W magnitude = (W)((V)((bits & 0x7FFF) << 13) * 0x1p112f), special = (W)((bits & 0x7C00) == 0x7C00) & 0x7F800000;
  return (V)(magnitude | special | (bits & 0x8000) << 16);
#endif
}

INLINE int32_t four(const int8_t *x) {
  int32_t v;
  __builtin_memcpy(&v, x, 4);
  return v;
}


// Inputs whose sum has one scale: what groups of weights and of activations have in common.
INLINE ptrdiff_t scale_step(const dibit_weight *w) {
  if (w->group >= w->columns || w->group % ACTIVATION_GROUP == 0) return ACTIVATION_GROUP;
  return w->group % 32 == 0 ? 32 : 16;
}

// Sum of the activations [k, k + step).
INLINE int32_t activation_sum(const dibit_activations *x, ptrdiff_t row, ptrdiff_t k, ptrdiff_t step) {
  const int32_t *s = x->sums + (row * x->columns + k) / 16;
  if (step == 64) return (s[0] + s[1]) + (s[2] + s[3]);
  return step == 32 ? s[0] + s[1] : s[0];
}

// The largest of sixteen numbers that are not negative: as whole numbers their bits have the same order, and one that is not finite is
// the largest.
INLINE float largest_of(VI v) {
  typedef int32_t H __attribute__((vector_size(32)));
  typedef int32_t Q __attribute__((vector_size(16)));
  const H low = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), high = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const H h = __builtin_elementwise_max(low, high);
  const Q q = __builtin_elementwise_max(__builtin_shufflevector(h, h, 0, 1, 2, 3), __builtin_shufflevector(h, h, 4, 5, 6, 7));
  const int32_t e = q[0] > q[1] ? q[0] : q[1], f = q[2] > q[3] ? q[2] : q[3];
  union { int32_t i; float f; } bits = {e > f ? e : f};
  return bits.f;
}

// The sums of four vectors, by halves that are added side by side.
INLINE void store_four_sums(int32_t *sums, const VI *v) {
  typedef int32_t H __attribute__((vector_size(32)));
  typedef int32_t Q __attribute__((vector_size(16), aligned(4)));
  H h[4];
  for (int i = 0; i < 4; i++)
    h[i] = __builtin_shufflevector(v[i], v[i], 0, 1, 2, 3, 4, 5, 6, 7) + __builtin_shufflevector(v[i], v[i], 8, 9, 10, 11, 12, 13, 14, 15);
  const H a = __builtin_shufflevector(h[0], h[1], 0, 1, 4, 5, 8, 9, 12, 13) + __builtin_shufflevector(h[0], h[1], 2, 3, 6, 7, 10, 11, 14, 15);
  const H b = __builtin_shufflevector(h[2], h[3], 0, 1, 4, 5, 8, 9, 12, 13) + __builtin_shufflevector(h[2], h[3], 2, 3, 6, 7, 10, 11, 14, 15);
  const H c = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) + __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  *(Q *)sums = (Q)(__builtin_shufflevector(c, c, 0, 2, 4, 6) + __builtin_shufflevector(c, c, 1, 3, 5, 7));
}

// Rounds to the nearest of 255 levels, or with two planes of 32,513, ties to even; `scales` are half a level, because codes of weights
// count in halves. A group with something that is not finite gets a scale that is not a number.
static void quantize_activations(int planes, const float *x, ptrdiff_t rows, ptrdiff_t columns, int8_t *codes, float *scales, int32_t *sums,
                                 ptrdiff_t ld) {
  typedef int8_t B __attribute__((vector_size(16), aligned(1)));
  const float last = planes == 1 ? 127.0f : 127.0f * 128.0f;
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, codes += planes * ld)
    for (ptrdiff_t k = 0; k < ld; k += ACTIVATION_GROUP, sums += 4) {
      V v[4];
      for (int i = 0; i < 4; i++) {
        const ptrdiff_t at = k + i * LANES;
        v[i] = at < columns ? load_some(x + at, columns - at) : (V){0};
      }
      VI top[4];
      for (int i = 0; i < 4; i++) top[i] = (VI)v[i] & 0x7FFFFFFF;
      const float largest = largest_of(__builtin_elementwise_max(__builtin_elementwise_max(top[0], top[1]), __builtin_elementwise_max(top[2], top[3])));
      const int is_finite = largest < __builtin_inff();
      const float inverse = is_finite && largest > 0 ? last / largest : 0;
      VI code[4];
      for (int i = 0; i < 4; i++) {
        const V rounded = (v[i] * inverse + 12582912.0f) - 12582912.0f;  // adding 1.5 * 2^23 rounds to the nearest integer
        code[i] = __builtin_convertvector(rounded, VI);
        const VI high = planes == 1 ? code[i] : (code[i] + 64) >> 7;
        *(B *)(codes + k + i * LANES) = __builtin_convertvector(high, B);
        if (planes == 2) *(B *)(codes + ld + k + i * LANES) = __builtin_convertvector(code[i] - (high << 7), B);
      }
      store_four_sums(sums, code);
      *scales++ = is_finite ? largest * 0.5f / last : __builtin_nanf("");
    }
}

// The codes of inputs 4 f to 4 f + 3 of a unit of all rows of a panel; of a trellis their levels.
INLINE W field_of(int bits, const uint8_t *unit, int f) {
  const uint32_t bytes = 0x01010101u;
  if (IS_TRELLIS(bits)) return trellis_field(*(const WU *)(unit + f / 4 * BLOCK), *(const WU *)(unit + (1 - f / 4) * BLOCK), f % 4);
  if (bits == 3) {  // a byte has no room for the last field and its third bit side by side
    const int i = f % 4, shift = i < 3 ? 2 * i : 4;
    const W low = *(const WU *)(unit + f / 4 * BLOCK), third = *(const WU *)(unit + 2 * BLOCK) >> f / 4;
    return (((i < 3 ? low : low >> 2) & (3 * bytes << shift)) | ((i < 3 ? third : third << 6) & (4 * bytes << shift))) >> shift;
  }
  return *(const WU *)(unit + f / (8 / bits) * BLOCK) >> (f % (8 / bits) * bits) & (bits == 8 ? ~0u : ((1u << bits) - 1) * bytes);
}

// The sum of codes, less LESS(bits), times activations of up to `units` units, not more than 64 inputs; a second byte of them lies `ld`
// further on.
INLINE VI panel_sum(int bits, int planes, const uint8_t *codes, ptrdiff_t units, const int8_t *x, ptrdiff_t ld) {
  ACC a[2][4] = {{{0}}};
  VI wide[2][4] = {{{0}}};
  for (ptrdiff_t u = 0; u < units; u++, codes += UNIT_BLOCKS(bits) * BLOCK, x += UNIT(bits)) {
    for (int f = 0; f < UNIT(bits) / 4; f++)
      for (int p = 0; p < planes; p++) {
        const W field = less_each(field_of(bits, codes, f), LESS(bits));
        const int32_t xs = four(x + p * ld + 4 * f);
        if (LIMIT(bits) == 1) {
          VI *to = &wide[p][f & 3];
          *to = LAST_ACC(*to, multiply_add(bits, FIRST_ACC(*to), field, xs));
        } else {
          ACC *to = &a[p][f & 3];
          *to = multiply_add(bits, *to, field, xs);
        }
      }
  }
  VI s[2];
  for (int p = 0; p < planes; p++) {
    s[p] = (whole_sums(a[p][0]) + whole_sums(a[p][1])) + (whole_sums(a[p][2]) + whole_sums(a[p][3]));
    if (LIMIT(bits) == 1) s[p] = (wide[p][0] + wide[p][1]) + (wide[p][2] + wide[p][3]);
  }
  return planes == 1 ? s[0] : (s[0] << 7) + s[1];
}

INLINE void grid_matvec_of(int bits, int twice, int planes, ptrdiff_t step, const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1,
                           const dibit_activations *x, ptrdiff_t row, float *y) {
  const ptrdiff_t blocks = panel_blocks(bits, w->columns), units = blocks / UNIT_BLOCKS(bits), at_once = step / UNIT(bits);
  const ptrdiff_t groups = (w->columns + w->group - 1) / w->group;
  const int32_t lowest = twice - 2 * LESS(bits);
  const int8_t *xs = x->codes + row * planes * x->columns;
  const float *half_steps = x->scales + row * (x->columns / ACTIVATION_GROUP);
  for (ptrdiff_t p = panel0; p < panel1; p++) {
    const uint8_t *codes = (const uint8_t *)w->elements + p * blocks * BLOCK;
    const uint16_t *scales = w->scales + p * groups * LANES;
    V total = {0};
    ptrdiff_t left = w->group;
    for (ptrdiff_t u = 0, k = 0; u < units; u += at_once, k += step) {
      const VI s = panel_sum(bits, planes, codes + u * UNIT_BLOCKS(bits) * BLOCK, least(at_once, units - u), xs + k, x->columns);
      const VI halves_of_levels = (s + s) - lowest * activation_sum(x, row, k, step);
      total += __builtin_convertvector(halves_of_levels, V) * (halves(scales) * half_steps[k / ACTIVATION_GROUP]);
      if ((left -= step) <= 0) scales += LANES, left = w->group;
    }
    store_some(y + p * LANES, total, least(w->rows - p * LANES, LANES));
  }
}

// Calls f(bits, twice, planes, step, ...) with constants, so that its loops are unrolled; groups that are no multiples of 64 are rare.
#define STEP_CASES(bits, twice, f, wide, step, ...)                                                           \
  if ((step) == 64) (wide) ? f(bits, twice, 2, 64, __VA_ARGS__) : f(bits, twice, 1, 64, __VA_ARGS__);         \
  else (wide) ? f(bits, twice, 2, step, __VA_ARGS__) : f(bits, twice, 1, step, __VA_ARGS__)
#define PRODUCT_CASES(f, w, x, ...)                                                                           \
  do {                                                                                                        \
    const ptrdiff_t step = scale_step(w);                                                                     \
    const int wide = (x)->planes == 2;                                                                        \
    FOR_GRID((w)->format, STEP_CASES, f, wide, step, __VA_ARGS__)                                             \
  } while (0)

// y[r] = x[row] . w[r] for the rows of the panels [panel0, panel1).
static void grid_matvec(const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1, const dibit_activations *x, ptrdiff_t row, float *y) {
  PRODUCT_CASES(grid_matvec_of, w, x, w, panel0, panel1, x, row, y);
}

// A product of many rows unpacks this many inputs of some panels at a time, each to one byte that holds the code twice, or once where it has
// 8 bits, and uses them for all rows: 16 bytes for each of `DEPTH` inputs and each panel, and a vector of scales for each step, fit the second-level cache.
enum { DEPTH = 1024 };
_Static_assert(PANELS * DEPTH * (LANES + 64 / 16) <= DIBIT_GRID_SCRATCH, "room for codes, and for a scale of sixteen rows for 16 inputs");

// Whether a byte has room for twice a code: sums of codes that are not doubled are.
#define DOUBLES(bits) ((bits) < 8)

// Each code, doubled where it fits, less a number for signed bytes.
INLINE void unpack_panel(int bits, int less, const uint8_t *codes, ptrdiff_t units, uint8_t *out) {
  for (ptrdiff_t u = 0; u < units; u++, codes += UNIT_BLOCKS(bits) * BLOCK)
    for (int f = 0; f < UNIT(bits) / 4; f++, out += BLOCK) *(WU *)out = less_each(field_of(bits, codes, f) << DOUBLES(bits), less);
}

// For `rows` rows of activations and `panels` panels, both constants, adds up the inputs [k0, k1), which are unpacked.
INLINE void grid_tile(int bits, int twice, int planes, ptrdiff_t step, int rows, int panels, const uint8_t *unpacked, const V *scales,
                      const dibit_activations *x, ptrdiff_t row, ptrdiff_t k0, ptrdiff_t k1, V total[TOKENS][PANELS]) {
  const int once = !DOUBLES(bits);
  const ptrdiff_t limit = 4 * LIMIT(bits);
  for (ptrdiff_t k = k0; k < k1; k += step, scales += PANELS) {
    const ptrdiff_t end = least(k + step, k1);
    VI sums[TOKENS][PANELS] = {{{0}}};
    for (int plane = 0; plane < planes; plane++) {
      const int8_t *xs = x->codes + (row * planes + plane) * x->columns;
      for (ptrdiff_t first = k; first < end; first += limit) {
        ACC a[TOKENS][PANELS];
        for (int t = 0; t < rows; t++)
          for (int p = 0; p < panels; p++) a[t][p] = FIRST_ACC(sums[t][p]);
        for (ptrdiff_t q = first; q < least(first + limit, end); q += 4) {
          W codes[PANELS];
          for (int p = 0; p < panels; p++) codes[p] = *(const WU *)(unpacked + p * DEPTH * LANES + (q - k0) * LANES);
          for (int t = 0; t < rows; t++)
            for (int p = 0; p < panels; p++) a[t][p] = multiply_add(bits, a[t][p], codes[p], four(xs + t * planes * x->columns + q));
        }
        for (int t = 0; t < rows; t++)
          for (int p = 0; p < panels; p++) sums[t][p] = LAST_ACC(sums[t][p], a[t][p]);
      }
      if (planes == 2 && plane == 0)
        for (int t = 0; t < rows; t++)
          for (int p = 0; p < panels; p++) sums[t][p] <<= 7;
    }
    for (int t = 0; t < rows; t++) {
      const float half_step = x->scales[((row + t) * x->columns + k) / ACTIVATION_GROUP];
      // Codes count from the lowest level. At the end, because nothing waits for this sum while products are added up.
      const int32_t lowest = (twice - (LESS(bits) << once)) * activation_sum(x, row + t, k, step);
      for (int p = 0; p < panels; p++) total[t][p] += __builtin_convertvector((sums[t][p] << once) - lowest, V) * (scales[p] * half_step);
    }
  }
}

INLINE void grid_rows(int bits, int twice, int planes, ptrdiff_t step, int rows, int panels, const uint8_t *unpacked, const V *scales,
                      const dibit_activations *x, ptrdiff_t row, ptrdiff_t k0, ptrdiff_t k1, ptrdiff_t outputs, float *y, ptrdiff_t ldy) {
  V total[TOKENS][PANELS];
  for (int t = 0; t < rows; t++)
    for (int p = 0; p < panels; p++)
      total[t][p] = k0 == 0 || p * LANES >= outputs ? (V){0} : load_some(y + t * ldy + p * LANES, outputs - p * LANES);
  grid_tile(bits, twice, planes, step, rows, panels, unpacked, scales, x, row, k0, k1, total);
  for (int t = 0; t < rows; t++)
    for (int p = 0; p < panels; p++)
      if (p * LANES < outputs) store_some(y + t * ldy + p * LANES, total[t][p], outputs - p * LANES);
}

#if defined(DIBIT_TILES)
#include "amx.inc.h"
#endif

INLINE void grid_matmul_of(int bits, int twice, int planes, ptrdiff_t step, int tiles, const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1,
                           const dibit_activations *x, ptrdiff_t row0, ptrdiff_t row1, float *y, ptrdiff_t ldy, uint8_t *scratch) {
  const ptrdiff_t blocks = panel_blocks(bits, w->columns), units = blocks / UNIT_BLOCKS(bits);
  const ptrdiff_t groups = (w->columns + w->group - 1) / w->group;
  const int less = tiles ? (DOUBLES(bits) ? twice : twice / 2) : LESS(bits);
  V *scales = (V *)(scratch + PANELS * DEPTH * LANES);
  for (ptrdiff_t p0 = panel0; p0 < panel1; p0 += PANELS) {
    const ptrdiff_t panels = least(PANELS, panel1 - p0), outputs = w->rows - p0 * LANES;
    for (ptrdiff_t k0 = 0; k0 < w->columns; k0 += DEPTH) {
      const ptrdiff_t u0 = k0 / UNIT(bits), u1 = least(u0 + DEPTH / UNIT(bits), units), k1 = u1 * UNIT(bits);
      for (ptrdiff_t p = 0; p < panels; p++) {
        const ptrdiff_t first = ((p0 + p) * blocks + u0 * UNIT_BLOCKS(bits)) * BLOCK;
        unpack_panel(bits, less, (const uint8_t *)w->elements + first, u1 - u0, scratch + p * DEPTH * LANES);
        for (ptrdiff_t k = k0; k < k1; k += step)
          scales[(k - k0) / step * PANELS + p] = halves(w->scales + ((p0 + p) * groups + k / w->group) * LANES);
      }
      float *to = y + p0 * LANES;
#if defined(DIBIT_TILES)
      if (tiles) {
        tile_rows(!DOUBLES(bits), planes, step, panels, scratch, scales, x, row0, row1, k0, k1, outputs, to, ldy);
        continue;
      }
#endif
      ptrdiff_t r = row0;
      if (panels == PANELS) {
        for (; r + TOKENS <= row1; r += TOKENS)
          grid_rows(bits, twice, planes, step, TOKENS, PANELS, scratch, scales, x, r, k0, k1, outputs, to + (r - row0) * ldy, ldy);
        for (; r + 2 <= row1; r += 2)
          grid_rows(bits, twice, planes, step, 2, PANELS, scratch, scales, x, r, k0, k1, outputs, to + (r - row0) * ldy, ldy);
      }
      for (; r < row1; r++)
        for (ptrdiff_t p = 0; p < panels; p++)
          grid_rows(bits, twice, planes, step, 1, 1, scratch + p * DEPTH * LANES, scales + p, x, r, k0, k1, outputs - p * LANES,
                    to + (r - row0) * ldy + p * LANES, ldy);
    }
  }
}

// y[i - row0, r] = x[i] . w[r] for the rows of the panels [panel0, panel1) and the rows [row0, row1) of activations.
static void grid_matmul(const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1, const dibit_activations *x, ptrdiff_t row0, ptrdiff_t row1,
                        float *y, ptrdiff_t ldy, uint8_t *scratch) {
#if defined(DIBIT_TILES)
  if (row1 - row0 >= AMX_ROWS) {
    shape_tiles(scale_step(w));
    PRODUCT_CASES(grid_matmul_of, w, x, 1, w, panel0, panel1, x, row0, row1, y, ldy, scratch);
    TILES_RELEASE();  // gives the thread's tiles back: they cost at every switch while they are in use
    return;
  }
#endif
  PRODUCT_CASES(grid_matmul_of, w, x, 0, w, panel0, panel1, x, row0, row1, y, ldy, scratch);
}
