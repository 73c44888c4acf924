// Choosing scales and codes. Levels are (i + 1/2) s for i < half, on both sides of zero, so only magnitudes matter to a scale.
//
// Sixteen scales are sought at a time. Lane l of a vector belongs to group l of a batch, whose magnitudes lie transposed in scratch
// memory; or, where a group is a whole row, all lanes belong to it and their sums are added before they are used. Either way a
// group's sums have one order, which depends neither on the batch nor on the ISA.

typedef double VD __attribute__((vector_size(128)));

typedef struct {
  const float *x;     // [length, LANES] magnitudes, not above LARGEST; zeros behind the end of a short group
  ptrdiff_t length;
  V count;            // elements of each lane's group
  V top;              // its largest magnitude
  V mean;             // its mean magnitude
  int joined;         // all lanes are one group
  int half;           // levels on one side of zero
} batch;

// Beyond every level of the largest F16 scale: magnitudes are cut off here, so that no square overflows.
#define LARGEST 0x1p21f
// Below every F16 scale: a divisor that is not zero.
#define SMALLEST 0x1p-60f

INLINE V min_v(V a, V b) { return select_v(a < b, a, b); }
INLINE V abs_v(V a) { return (V)((VI)a & 0x7FFFFFFF); }
INLINE VI int_v(V a) { return __builtin_convertvector(a, VI); }
INLINE V float_v(VI a) { return __builtin_convertvector(a, V); }
INLINE V together(int joined, V v) { return joined ? splat(sum(v)) : v; }

INLINE V largest_lane(int joined, V v) {
  if (!joined) return v;
  float top = v[0];
  for (int i = 1; i < LANES; i++) top = v[i] > top ? v[i] : top;
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

// The level index of a magnitude.
INLINE V index_v(V x, V inverse, float last) { return float_v(int_v(min_v(x * inverse, splat(last)))); }

// For each of `n` scales: p = sum(level |x|) and q = sum(level^2), with the nearest levels. An assignment's best scale is p/q and
// its error then is sum(x^2) - p^2/q.
INLINE void assign(const batch *b, int n, const V *scale, V *p, V *q) {
  V sums[4] = {{0}}, squares[4] = {{0}}, inverse[4];
  if (b->half == 2) {
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
  for (int k = 0; k < n; k++) inverse[k] = 1.0f / max_v(scale[k], splat(SMALLEST));
  // With level = i + 1/2: level |x| and i^2 + i, because level^2 = i^2 + i + 1/4.
  for (ptrdiff_t i = 0; i < b->length; i++) {
    const V x = load(b->x + i * LANES);
    for (int k = 0; k < n; k++) {
      const V index = index_v(x, inverse[k], (float)(b->half - 1));
      sums[k] += index * x;
      squares[k] += index * index + index;
    }
  }
  for (int k = 0; k < n; k++) {
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
  found best = {{0}, {0}};
  V scale[12];
  if (b->half == 2) {
    // In units of the mean magnitude the optimum is 1.25 for a normal distribution, 1 for a uniform one, 1.5 for Laplace's, and more
    // where a few magnitudes stand out.
    static const float rungs[8] = {0.8f, 0.95f, 1.1f, 1.25f, 1.45f, 1.7f, 2.2f, 3.2f};
    for (int k = 0; k < 8; k++) scale[k] = b->mean * rungs[k];
    try_scales(b, 8, scale, &best);
  } else {
    // The upper end puts the largest magnitude on level 6 1/2, which pays in small groups; the lower end lies below the optimum of
    // evenly spread magnitudes, 1/8 of the largest, and of long tails.
    const V low = min_v(b->mean * 0.4f, b->top * 0.11f), high = b->top * (1 / 6.5f);
    for (int k = 0; k < 12; k++) scale[k] = low + (high - low) * ((float)k / 11);
    try_scales(b, 12, scale, &best);
    static const float fine[4] = {0.98f, 0.99f, 1.01f, 1.02f};
    for (int k = 0; k < 4; k++) scale[k] = best.scale * fine[k];
    try_scales(b, 4, scale, &best);
  }
  for (int step = b->half == 2 ? 3 : 1; step > 0; step--) {
    V p, q;
    assign(b, 1, &best.scale, &p, &q);
    best.scale = p / q;
  }
  return best.scale;
}

// The F16 scale with which every magnitude of a group is exactly a level, where there is one; `is` says where. The largest magnitude
// is some level, which leaves `half` scales to try; the largest scale wins where several fit.
INLINE V fit_exactly(const batch *b, VI *is) {
  const V lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  V result = {0};
  *is = (VI){0};
  for (int level = 0; level < b->half; level++) {
    const V s = stored_v(b->top / ((float)level + 0.5f)), inverse = 1.0f / max_v(s, splat(SMALLEST));
    VI fits = ~(VI){0};
    ptrdiff_t i = 0;
    while (i < b->length) {
      for (ptrdiff_t end = i + 8 < b->length ? i + 8 : b->length; i < end; i++) {
        const V x = load(b->x + i * LANES);
        const V grid = (index_v(x, inverse, (float)(b->half - 1)) + 0.5f) * s;
        const V place = b->joined ? lanes + (float)(i * LANES) : splat((float)i);
        fits &= (x == grid) | (place >= b->count);
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

// The scales of the groups [first, first + LANES) of some rows, of which only `groups` exist; groups are multiples of LANES.
INLINE V lane_scales(int half, const float *x, ptrdiff_t columns, ptrdiff_t group, ptrdiff_t first, ptrdiff_t groups, float *scratch) {
  const ptrdiff_t per_row = (columns + group - 1) / group;
  const float *start[LANES];
  ptrdiff_t length[LANES];
  batch b = {scratch, group, {0}, {0}, {0}, 0, half};
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
      const V v = min_v(abs_v(r[j]), splat(LARGEST));
      store(scratch + (i + j) * LANES, v);
      b.top = max_v(v, b.top);
      all += v;
    }
  }
  b.mean = all / max_v(b.count, splat(1));
  return best_scales(&b);
}

// The scale of one group of any length.
INLINE float joined_scale(int half, const float *x, ptrdiff_t n, float *scratch) {
  batch b = {scratch, (n + LANES - 1) / LANES, splat((float)n), {0}, {0}, 1, half};
  V all = {0};
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const V v = min_v(abs_v(load_some(x + i, n - i)), splat(LARGEST));
    store(scratch + i, v);
    b.top = max_v(v, b.top);
    all += v;
  }
  b.top = largest_lane(1, b.top);
  b.mean = splat(sum(all)) / b.count;
  return best_scales(&b)[0];
}

typedef struct { VD signal, noise; } energies;

INLINE double sum_d(VD v) {
  double a[8], b[4];
  for (int i = 0; i < 8; i++) a[i] = v[i] + v[i + 8];
  for (int i = 0; i < 4; i++) b[i] = a[i] + a[i + 4];
  return (b[0] + b[2]) + (b[1] + b[3]);
}

// Codes of `n` neighbours with the same scale, and what they lose.
INLINE VI codes_of(int bits, const float *x, ptrdiff_t n, float s, energies *e) {
  const int half = 1 << (bits - 1), last = 2 * half - 1;
  const V v = load_some(x, n);
  VI code;
  if (!(s > 0)) {
    code = (VI){0} + half;  // every weight becomes a zero that is not negative
  } else if (bits == 2) {
    code = -(v >= -s) - (v >= 0.0f) - (v >= s);
  } else {
    code = int_v(min_v(max_v(v * (1 / s) + (float)half, splat(0)), splat((float)last)));
  }
  V value = (float_v(code) - 0.5f * (float)last) * s;
  for (ptrdiff_t l = n; l < LANES; l++) code[l] = 0, value[l] = 0;
  const VD exact = __builtin_convertvector(v, VD), lost = exact - __builtin_convertvector(value, VD);
  e->signal += exact * exact;
  e->noise += lost * lost;
  return code;
}

// Packs one row of a panel; see grid.inc.h for where its codes lie, four bytes in each block. `scales` are sixteen apart.
INLINE void pack_row(int bits, const float *x, ptrdiff_t columns, ptrdiff_t group, const uint16_t *scales, uint8_t *codes, energies *e) {
  const W two = {0, 8, 16, 24, 2, 10, 18, 26, 4, 12, 20, 28, 6, 14, 22, 30};
  const W four = {0, 8, 16, 24, 4, 12, 20, 28, 0, 8, 16, 24, 4, 12, 20, 28};
  const W low = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0, 0, 0, 0, 0, 0, 0, 0};
  ptrdiff_t left = 0;
  float s = 0;
  for (ptrdiff_t c = 0; c < columns; c += LANES, left -= LANES) {
    if (left <= 0) s = half_to_float(*scales), scales += 16, left = group;
    const W code = (W)codes_of(bits, x + c, columns - c, s, e) << (bits == 2 ? two : four);
    const uint32_t first = __builtin_reduce_or(bits == 2 ? code : code & low);
    __builtin_memcpy(codes, &first, 4), codes += 64;
    if (bits == 2) continue;
    const uint32_t second = __builtin_reduce_or(code & ~low);
    __builtin_memcpy(codes, &second, 4), codes += 64;
  }
}

INLINE void quantize_bits(int bits, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes, uint16_t *scales,
                          energies *e, float *scratch) {
  const int half = 1 << (bits - 1);
  const ptrdiff_t per_row = (columns + group - 1) / group, panel_codes = (columns + 15) / 16 * (bits / 2) * 64, panel_scales = per_row * 16;
  const ptrdiff_t panels = (rows + 15) / 16;
  if (rows % 16) {  // rows that do not exist
    __builtin_memset(codes + (panels - 1) * panel_codes, 0, (size_t)panel_codes);
    __builtin_memset(scales + (panels - 1) * panel_scales, 0, (size_t)panel_scales * sizeof(uint16_t));
  }
  if (per_row == 1) {
    for (ptrdiff_t r = 0; r < rows; r++) scales[r] = float_to_half_saturated(coarse(joined_scale(half, x + r * columns, columns, scratch), scale_bits));
  } else {
    for (ptrdiff_t g = 0; g < rows * per_row; g += LANES) {
      const V s = lane_scales(half, x, columns, group, g, rows * per_row, scratch);
      for (ptrdiff_t i = g; i < g + LANES && i < rows * per_row; i++) {
        const ptrdiff_t row = i / per_row;
        scales[row / 16 * panel_scales + i % per_row * 16 + row % 16] = float_to_half_saturated(coarse(s[i - g], scale_bits));
      }
    }
  }
  for (ptrdiff_t r = 0; r < rows; r++)
    pack_row(bits, x + r * columns, columns, group, scales + r / 16 * panel_scales + r % 16, codes + r / 16 * panel_codes + r % 16 * 4, e);
}

// Codes and F16 scales of `rows` rows, the first of which begins a panel: a scale is rounded to F16 before codes are chosen. Adds the
// squares of the weights to *signal, which is not finite when a weight is not, and those of the errors to *noise. Groups are a row or
// multiples of 16. Scales have up to `scale_bits` significant bits: 22 leave it to F16, which holds eleven. `scratch` holds LANES floats for each element of a group, or those of a row, to the next multiple of LANES.
static void quantize(int bits, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes, uint16_t *scales,
                     double *signal, double *noise, float *scratch) {
  energies e = {{0}, {0}};
  if (bits == 2) quantize_bits(2, scale_bits, group, x, rows, columns, codes, scales, &e, scratch);
  else quantize_bits(4, scale_bits, group, x, rows, columns, codes, scales, &e, scratch);
  *signal += sum_d(e.signal);
  *noise += sum_d(e.noise);
}
