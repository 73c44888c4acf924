// Choosing scales. The magnitudes of a grid's levels are (i + 1/2) s where `twice`, twice its middle code, is odd, and i s where it
// is even, i from 0 to last_index(twice). They lie on both sides of zero, so only magnitudes matter to a scale; but a grid of full range has
// one level more below zero, and its scales are of either sign, which puts that level on the side where it serves.
//
// Sixteen scales are sought at a time. Lane l of a vector belongs to group l of a batch, whose magnitudes lie transposed in scratch
// memory; or, where a group is a whole row, all lanes belong to it and their sums are added before they are used. Either way a
// group's sums have one order, which depends neither on the batch nor on the ISA.

typedef struct {
  const float *x;     // [length, LANES] magnitudes, or for a full range values, not beyond LARGEST(twice); zeros behind the end of a short group
  ptrdiff_t length;
  V count;            // elements of each lane's group
  V top;              // its element of the largest magnitude: that magnitude, or for a full range the value
  V mean;             // its mean magnitude
  int joined;         // all lanes are one group
  int twice;          // twice the grid's middle code
} batch;

INLINE int has_zero(int twice) { return !(twice & 1); }
INLINE int last_index(int twice) { return (twice - 1) / 2; }
// All codes are levels. Of 8 bits they are not: instructions for signed bytes want as many on both sides of zero.
INLINE int is_full_range(int twice) { return has_zero(twice) && twice < 256; }

// Beyond every level of the largest F16 scale: magnitudes are cut off here, so that no square overflows.
#define LARGEST(twice) ((twice) > 63 ? 0x1p24f : 0x1p21f)
// Below every F16 scale: a divisor that is not zero.
#define SMALLEST 0x1p-60f

INLINE V min_v(V a, V b) { return select_v(a < b, a, b); }
INLINE V abs_v(V a) { return (V)((VI)a & 0x7FFFFFFF); }
INLINE VI int_v(V a) { return __builtin_convertvector(a, VI); }
INLINE V float_v(VI a) { return __builtin_convertvector(a, V); }
INLINE V together(int joined, V v) { return joined ? splat(sum(v)) : v; }

INLINE V farther_v(V a, V b) { return select_v(abs_v(b) > abs_v(a), b, a); }

INLINE V farthest_lane(V v) {
  float top = v[0];
  for (int i = 1; i < LANES; i++) top = __builtin_fabsf(v[i]) > __builtin_fabsf(top) ? v[i] : top;
  return splat(top);
}

// A scale with `bits` significant bits, of which a file holds up to eleven.
INLINE float coarse(float scale, int bits) {
  uint32_t word;
  __builtin_memcpy(&word, &scale, sizeof word);
  const uint32_t half = 1u << (23 - bits);
  word = (word + half) & ~(2 * half - 1);
  __builtin_memcpy(&scale, &word, sizeof word);
  return scale;
}

// Scales as a file holds them.
INLINE V stored_v(V scale) {
  V out;
  for (int i = 0; i < LANES; i++) out[i] = half_to_float(float_to_half_saturated(scale[i]));
  return out;
}

INLINE V inverse_v(V scale) {
  const V magnitude = 1.0f / max_v(abs_v(scale), splat(SMALLEST));
  return select_v(scale < 0.0f, -magnitude, magnitude);
}

// The level that is nearest to u, a number of scales; of two, the one farther from zero.
INLINE V level_v(int twice, V u) {
  V last = splat((float)last_index(twice));
  if (is_full_range(twice)) last = select_v(u < 0.0f, last + 1.0f, last);
  const V ratio = has_zero(twice) ? abs_v(u) + 0.5f : abs_v(u);
  const V magnitude = float_v(int_v(min_v(ratio, last))) + (has_zero(twice) ? 0.0f : 0.5f);
  return select_v(u < 0.0f, -magnitude, magnitude);
}

// The index of the level that is nearest to a magnitude.
INLINE V index_v(int twice, V x, V inverse) {
  const V ratio = has_zero(twice) ? x * inverse + 0.5f : x * inverse;
  return float_v(int_v(min_v(ratio, splat((float)last_index(twice)))));
}

// For each of `n` scales: p = sum(level x) and q = sum(level^2), with the nearest levels. An assignment's best scale is p/q and
// its error then is sum(x^2) - p^2/q.
INLINE void assign(const batch *b, int n, const V *scale, V *p, V *q) {
  V sums[4] = {{0}}, squares[4] = {{0}}, inverse[4];
  if (b->twice == 3) {
    // Levels 1/2 and 3/2: only what lies beyond the scale itself has to be added up.
    VI beyond[4] = {{0}};
    for (ptrdiff_t i = 0; i < b->length; i++) {
      const V x = load(b->x + i * LANES);
      for (int k = 0; k < n; k++) {
        const VI is = x > scale[k];
        sums[k] += (V)((VI)x & is);
        beyond[k] -= is;
      }
    }
    for (int k = 0; k < n; k++) {
      p[k] = 0.5f * b->mean * b->count + together(b->joined, sums[k]);
      q[k] = 0.25f * b->count + 2.0f * together(b->joined, float_v(beyond[k]));
    }
    return;
  }
  for (int k = 0; k < n; k++) inverse[k] = inverse_v(scale[k]);
  if (is_full_range(b->twice)) {
    for (ptrdiff_t i = 0; i < b->length; i++) {
      const V x = load(b->x + i * LANES);
      for (int k = 0; k < n; k++) {
        const V level = level_v(b->twice, x * inverse[k]);
        sums[k] += level * x;
        squares[k] += level * level;
      }
    }
    for (int k = 0; k < n; k++) {
      p[k] = together(b->joined, sums[k]);
      q[k] = max_v(together(b->joined, squares[k]), splat(1.0f));  // not zero where all levels are, and p with them
    }
    return;
  }
  // With level = i + 1/2: level |x| and i^2 + i, because level^2 = i^2 + i + 1/4.
  for (ptrdiff_t i = 0; i < b->length; i++) {
    const V x = load(b->x + i * LANES);
    for (int k = 0; k < n; k++) {
      const V index = index_v(b->twice, x, inverse[k]);
      sums[k] += index * x;
      squares[k] += has_zero(b->twice) ? index * index : index * index + index;
    }
  }
  for (int k = 0; k < n; k++) {
    if (has_zero(b->twice)) {
      p[k] = together(b->joined, sums[k]);
      q[k] = max_v(together(b->joined, squares[k]), splat(1.0f));  // not zero where all levels are, and p with them
      continue;
    }
    p[k] = 0.5f * b->mean * b->count + together(b->joined, sums[k]);
    q[k] = 0.25f * b->count + together(b->joined, squares[k]);
  }
}

typedef struct { V scale, gain; } found;

// Tries `n` scales, a multiple of four, and keeps the best of them and of what was found before.
INLINE void try_scales(const batch *b, int n, const V *scale, found *best) {
  for (int first = 0; first < n; first += 4) {
    V p[4], q[4];
    assign(b, 4, scale + first, p, q);
    for (int k = 0; k < 4; k++) {
      const V s = p[k] / q[k], gain = s * p[k];
      const VI better = gain > best->gain;
      best->scale = select_v(better, s, best->scale);
      best->gain = select_v(better, gain, best->gain);
    }
  }
}

// A scale with nearly the least squared error: a ladder of scales, then Lloyd's iteration from its best rung, each step of which can
// only improve. The rungs were chosen by comparing with an exact search over distributions from nearly constant to outliers of 20
// deviations: it loses at most 0.004 dB at 2 bits and 0.01 dB at 4.
INLINE V fit(const batch *b) {
  static const float fine[4] = {0.98f, 0.99f, 1.01f, 1.02f};
  found best = {{0}, {0}};
  V scale[12];
  const V top = abs_v(b->top);
  if (is_full_range(b->twice)) {
    // From where most lies beyond the last level to where the largest is the last but one, for both signs.
    const V lower = min_v(b->mean * (b->twice > 4 ? 0.2f : 0.6f), top * (1 / (float)(last_index(b->twice) + 1)));
    const V upper = top * (1 / (float)last_index(b->twice));
    for (int rung = 0; rung < 72; rung += 12) {
      const float side = rung < 36 ? 1 : -1;
      for (int k = 0; k < 12; k++) scale[k] = (lower + (upper - lower) * ((float)(rung % 36 + k) / 35)) * side;
      try_scales(b, 12, scale, &best);
    }
    for (int k = 0; k < 4; k++) scale[k] = best.scale * fine[k];
    try_scales(b, 4, scale, &best);
    for (int step = 3; step > 0; step--) {
      V p, q;
      assign(b, 1, &best.scale, &p, &q);
      best.scale = p / q;
    }
    return best.scale;
  }
  if (b->twice == 3) {
    // In units of the mean magnitude the optimum is 1.25 for a normal distribution, 1 for a uniform one, 1.5 for Laplace's, and more
    // where a few magnitudes stand out.
    static const float multiples[8] = {0.8f, 0.95f, 1.1f, 1.25f, 1.45f, 1.7f, 2.2f, 3.2f};
    for (int k = 0; k < 8; k++) scale[k] = b->mean * multiples[k];
    try_scales(b, 8, scale, &best);
  } else {
    // With 16 levels the upper end puts the largest magnitude on level 6 1/2, which pays in small groups; the lower end lies below the
    // optimum of evenly spread magnitudes, 1/8 of the largest, and of long tails. Many levels leave little to gain by cutting tails off.
    const float last = (float)last_index(b->twice) - 0.5f;
    const V lower = b->twice > 63 ? top * (0.8f / last) : min_v(b->mean * 0.4f, top * 0.11f), upper = top * (1 / last);
    for (int k = 0; k < 12; k++) scale[k] = lower + (upper - lower) * ((float)k / 11);
    try_scales(b, 12, scale, &best);
    for (int k = 0; k < 4; k++) scale[k] = best.scale * fine[k];
    try_scales(b, 4, scale, &best);
  }
  for (int step = b->twice == 3 ? 3 : 1; step > 0; step--) {
    V p, q;
    assign(b, 1, &best.scale, &p, &q);
    best.scale = p / q;
  }
  return best.scale;
}

// The F16 scale with which every magnitude of a group is exactly a level, where there is one; `is` says where. The largest magnitude
// is some level, which leaves as many scales to try; the largest scale wins where several fit, and of two as large the positive one.
INLINE V fit_exactly(const batch *b, VI *is) {
  const V lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  V result = {0};
  *is = (VI){0};
  const float middle = has_zero(b->twice) ? 0.0f : 0.5f;
  // Of a full range 1, -1, 2, -2 and so on: there is one more below zero.
  const int sides = is_full_range(b->twice) ? 2 : 1, steps = sides * (last_index(b->twice) + 1);
  for (int step = sides * has_zero(b->twice); step < steps + (sides > 1 ? 2 : 0); step++) {
    const int level = sides == 1 ? step : step % 2 ? -(step / 2) : step / 2;
    const V s = stored_v(b->top / ((float)level + middle)), inverse = inverse_v(s);
    VI fits = ~(VI){0};
    ptrdiff_t i = 0;
    while (i < b->length) {
      for (ptrdiff_t end = i + 8 < b->length ? i + 8 : b->length; i < end; i++) {
        const V x = load(b->x + i * LANES);
        const V index = b->joined ? lanes + (float)(i * LANES) : splat((float)i);
        fits &= (x == level_v(b->twice, x * inverse) * s) | (index >= b->count);
      }
      if (b->joined ? !__builtin_reduce_and(fits) : !__builtin_reduce_or(fits)) break;
    }
    if (b->joined) fits = (VI){0} + __builtin_reduce_and(fits);
    result = select_v(~*is & fits, s, result);
    *is |= fits;
    if (__builtin_reduce_and(*is)) break;
  }
  return result;
}

INLINE V best_scales(const batch *b) {
  VI is;
  const V exact = fit_exactly(b, &is);
  if (__builtin_reduce_and(is)) return exact;
  return select_v(is, exact, fit(b));
}

// Sixteen rows of sixteen become columns: four perfect shuffles.
INLINE void transpose(V *r) {
  for (int round = 0; round < 4; round++) {
    V t[LANES];
    for (int i = 0; i < LANES / 2; i++) {
      t[2 * i] = __builtin_shufflevector(r[i], r[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < LANES; i++) r[i] = t[i];
  }
}

// What a scale is fitted to.
INLINE V fitted_v(int twice, V x) {
  const V magnitude = min_v(abs_v(x), splat(LARGEST(twice)));
  return is_full_range(twice) ? select_v(x < 0.0f, -magnitude, magnitude) : magnitude;
}

// The scales of the groups [first, first + LANES) of some rows, of which only `groups` exist; groups are multiples of LANES.
INLINE V lane_scales(int twice, const float *x, ptrdiff_t columns, ptrdiff_t group, ptrdiff_t first, ptrdiff_t groups, float *scratch) {
  const ptrdiff_t per_row = (columns + group - 1) / group;
  const float *start[LANES];
  ptrdiff_t length[LANES];
  batch b = {scratch, group, {0}, {0}, {0}, 0, twice};
  for (int l = 0; l < LANES; l++) {
    const ptrdiff_t g = first + l, column = g % per_row * group;
    start[l] = x + g / per_row * columns + column;
    length[l] = g >= groups ? 0 : columns - column < group ? columns - column : group;
    b.count[l] = (float)length[l];
  }
  V all = {0};
  for (ptrdiff_t i = 0; i < group; i += LANES) {
    V r[LANES];
    for (int l = 0; l < LANES; l++) {
      r[l] = (V){0};
      if (length[l] > i) r[l] = load_some(start[l] + i, length[l] - i);
    }
    transpose(r);
    for (int j = 0; j < LANES; j++) {
      const V v = fitted_v(twice, r[j]);
      store(scratch + (i + j) * LANES, v);
      b.top = farther_v(b.top, v);
      all += abs_v(v);
    }
  }
  b.mean = all / max_v(b.count, splat(1));
  return best_scales(&b);
}

// The scale of one group of any length.
INLINE float joined_scale(int twice, const float *x, ptrdiff_t n, float *scratch) {
  batch b = {scratch, (n + LANES - 1) / LANES, splat((float)n), {0}, {0}, 1, twice};
  V all = {0};
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const V v = fitted_v(twice, load_some(x + i, n - i));
    store(scratch + i, v);
    b.top = farther_v(b.top, v);
    all += abs_v(v);
  }
  b.top = farthest_lane(b.top);
  b.mean = splat(sum(all)) / b.count;
  return best_scales(&b)[0];
}

// Panels are whole: rows that do not exist hold zeros.
INLINE void clear_last_panel(ptrdiff_t rows, void *panels, ptrdiff_t bytes) {
  if (rows % 16) __builtin_memset((char *)panels + rows / 16 * bytes, 0, (size_t)bytes);
}

static void fit_chain_scales(int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint16_t *scales,
                             float *scratch);  // of trellis.inc.h

INLINE void fit_scales_of(int bits, int twice, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns,
                          uint16_t *scales, float *scratch) {
  if (IS_TRELLIS(bits)) {
    fit_chain_scales(scale_bits, group, x, rows, columns, scales, scratch);
    return;
  }
  const ptrdiff_t per_row = (columns + group - 1) / group, panel = per_row * 16;
  clear_last_panel(rows, scales, panel * (ptrdiff_t)sizeof(uint16_t));
  if (per_row == 1) {
    for (ptrdiff_t r = 0; r < rows; r++)
      scales[r] = float_to_half_saturated(coarse(joined_scale(twice, x + r * columns, columns, scratch), scale_bits));
    return;
  }
  for (ptrdiff_t g = 0; g < rows * per_row; g += LANES) {
    const V s = lane_scales(twice, x, columns, group, g, rows * per_row, scratch);
    for (ptrdiff_t i = g; i < g + LANES && i < rows * per_row; i++) {
      const ptrdiff_t row = i / per_row;
      scales[row / 16 * panel + i % per_row * 16 + row % 16] = float_to_half_saturated(coarse(s[i - g], scale_bits));
    }
  }
}

// F16 scales [panels, groups, 16] of `rows` rows, the first of which begins a panel. Groups are a row or multiples of 16. Scales have up to
// `scale_bits` significant bits: 22 leave it to F16, which holds eleven. `scratch` holds LANES floats for each element of a group, or those
// of a row, to the next multiple of LANES; for a trellis see fit_chain_scales.
static void fit_scales(dibit_format grid, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint16_t *scales,
                       float *scratch) {
  FOR_GRID(grid, fit_scales_of, scale_bits, group, x, rows, columns, scales, scratch);
}
