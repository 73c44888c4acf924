// Choosing scales and codes. The magnitudes of a grid's levels are (i + 1/2) s where `twice`, twice its middle code, is odd, and i s where it
// is even, i from 0 to last_index(twice); they lie on both sides of zero, so only magnitudes matter to a scale.
//
// Sixteen scales are sought at a time. Lane l of a vector belongs to group l of a batch, whose magnitudes lie transposed in scratch
// memory; or, where a group is a whole row, all lanes belong to it and their sums are added before they are used. Either way a
// group's sums have one order, which depends neither on the batch nor on the ISA.

typedef double VD __attribute__((vector_size(128)));

typedef struct {
  const float *x;     // [length, LANES] magnitudes, not above LARGEST(twice); zeros behind the end of a short group
  ptrdiff_t length;
  V count;            // elements of each lane's group
  V top;              // its largest magnitude
  V mean;             // its mean magnitude
  int joined;         // all lanes are one group
  int twice;          // twice the grid's middle code
} batch;

INLINE int has_zero(int twice) { return !(twice & 1); }
INLINE int last_index(int twice) { return (twice - 1) / 2; }

// Beyond every level of the largest F16 scale: magnitudes are cut off here, so that no square overflows.
#define LARGEST(twice) ((twice) > 63 ? 0x1p24f : 0x1p21f)
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

// The index of the level that is nearest to a magnitude.
INLINE V index_v(int twice, V x, V inverse) {
  const V ratio = has_zero(twice) ? x * inverse + 0.5f : x * inverse;
  return float_v(int_v(min_v(ratio, splat((float)last_index(twice)))));
}

// For each of `n` scales: p = sum(level |x|) and q = sum(level^2), with the nearest levels. An assignment's best scale is p/q and
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
  for (int k = 0; k < n; k++) inverse[k] = 1.0f / max_v(scale[k], splat(SMALLEST));
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
  found best = {{0}, {0}};
  V scale[12];
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
    const V lower = b->twice > 63 ? b->top * (0.8f / last) : min_v(b->mean * 0.4f, b->top * 0.11f), upper = b->top * (1 / last);
    for (int k = 0; k < 12; k++) scale[k] = lower + (upper - lower) * ((float)k / 11);
    try_scales(b, 12, scale, &best);
    static const float fine[4] = {0.98f, 0.99f, 1.01f, 1.02f};
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
// is some level, which leaves as many scales to try; the largest scale wins where several fit.
INLINE V fit_exactly(const batch *b, VI *is) {
  const V lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  V result = {0};
  *is = (VI){0};
  const float middle = has_zero(b->twice) ? 0.0f : 0.5f;
  for (int level = has_zero(b->twice); level <= last_index(b->twice); level++) {
    const V s = stored_v(b->top / ((float)level + middle)), inverse = 1.0f / max_v(s, splat(SMALLEST));
    VI fits = ~(VI){0};
    ptrdiff_t i = 0;
    while (i < b->length) {
      for (ptrdiff_t end = i + 8 < b->length ? i + 8 : b->length; i < end; i++) {
        const V x = load(b->x + i * LANES);
        const V grid = (index_v(b->twice, x, inverse) + middle) * s;
        const V index = b->joined ? lanes + (float)(i * LANES) : splat((float)i);
        fits &= (x == grid) | (index >= b->count);
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
      const V v = min_v(abs_v(r[j]), splat(LARGEST(twice)));
      store(scratch + (i + j) * LANES, v);
      b.top = max_v(v, b.top);
      all += v;
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
    const V v = min_v(abs_v(load_some(x + i, n - i)), splat(LARGEST(twice)));
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
INLINE VI codes_of(int twice, const float *x, ptrdiff_t n, float s, energies *e) {
  const float lowest = has_zero(twice) ? 1 : 0, highest = (float)(has_zero(twice) ? twice - 1 : twice);
  const V v = load_some(x, n);
  VI code;
  if (!(s > 0)) {
    code = (VI){0} + (twice + 1) / 2;  // every weight becomes a zero that is not negative
  } else if (twice == 3) {
    code = -(v >= -s) - (v >= 0.0f) - (v >= s);
  } else {
    code = int_v(min_v(max_v(v * (1 / s) + 0.5f * (float)(twice + 1), splat(lowest)), splat(highest)));
  }
  V value = (float_v(code) - 0.5f * (float)twice) * s;
  for (ptrdiff_t l = n; l < LANES; l++) code[l] = 0, value[l] = 0;
  const VD exact = __builtin_convertvector(v, VD), lost = exact - __builtin_convertvector(value, VD);
  e->signal += exact * exact;
  e->noise += lost * lost;
  return code;
}

// Puts sixteen codes of a row of a panel where they belong, four bytes in each block; see grid.inc.h.
INLINE uint8_t *put_codes(int bits, VI code, uint8_t *codes) {
  const W moved = (W)code << code_shifts(bits);
  for (int block = 0; block < bits / 2; block++, codes += 64) {
    const uint32_t word = __builtin_reduce_or(moved & lanes_of_block(bits, block));
    __builtin_memcpy(codes, &word, 4);
  }
  return codes;
}

// Panels are whole: rows that do not exist hold zeros.
INLINE void clear_last_panel(ptrdiff_t rows, void *panels, ptrdiff_t bytes) {
  if (rows % 16) __builtin_memset((char *)panels + rows / 16 * bytes, 0, (size_t)bytes);
}

INLINE void fit_scales_of(int bits, int twice, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns,
                          uint16_t *scales, float *scratch) {
  (void)bits;
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
// of a row, to the next multiple of LANES.
static void fit_scales(dibit_format grid, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint16_t *scales,
                       float *scratch) {
  FOR_GRID(grid, fit_scales_of, scale_bits, group, x, rows, columns, scales, scratch);
}

INLINE void choose_codes_of(int bits, int twice, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint16_t *scales,
                            uint8_t *codes, energies *e) {
  const ptrdiff_t panel = (columns + 15) / 16 * (bits / 2) * 64, panel_scales = (columns + group - 1) / group * 16;
  clear_last_panel(rows, codes, panel);
  for (ptrdiff_t r = 0; r < rows; r++, x += columns) {
    const uint16_t *scale = scales + r / 16 * panel_scales + r % 16;
    uint8_t *to = codes + r / 16 * panel + r % 16 * 4;
    ptrdiff_t left = 0;
    float s = 0;
    for (ptrdiff_t c = 0; c < columns; c += LANES, left -= LANES) {
      if (left <= 0) s = half_to_float(*scale), scale += 16, left = group;
      to = put_codes(bits, codes_of(twice, x + c, columns - c, s, e), to);
    }
  }
}

// The codes of the levels that are nearest to `rows` rows, the first of which begins a panel, with scales as fit_scales makes them. Adds the
// squares of the weights to *signal, which is not finite when a weight is not, and those of the errors to *noise.
static void choose_codes(dibit_format grid, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint16_t *scales,
                         uint8_t *codes, double *signal, double *noise) {
  energies e = {{0}, {0}};
  FOR_GRID(grid, choose_codes_of, group, x, rows, columns, scales, codes, &e);
  *signal += sum_d(e.signal);
  *noise += sum_d(e.noise);
}

INLINE void pack_codes_of(int bits, int twice, const uint8_t *chosen, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes) {
  (void)twice;
  const ptrdiff_t panel = (columns + 15) / 16 * (bits / 2) * 64;
  clear_last_panel(rows, codes, panel);
  for (ptrdiff_t r = 0; r < rows; r++, chosen += columns) {
    uint8_t *to = codes + r / 16 * panel + r % 16 * 4;
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      VI code = {0};
      for (ptrdiff_t l = 0; l < LANES && c + l < columns; l++) code[l] = chosen[c + l];
      to = put_codes(bits, code, to);
    }
  }
}

// Packs codes that were chosen elsewhere, a byte for each: [rows, columns].
static void pack_codes(dibit_format grid, const uint8_t *chosen, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes) {
  FOR_GRID(grid, pack_codes_of, chosen, rows, columns, codes);
}

INLINE void round_backward_of(int bits, int twice, ptrdiff_t group, int in_scales, const float *x, ptrdiff_t rows, ptrdiff_t columns,
                              const uint16_t *scales, float *dx, float *dlog_scales) {
  (void)bits;
  const ptrdiff_t groups = (columns + group - 1) / group;
  const float first = has_zero(twice) ? 0 : 0.5f, top = (float)last_index(twice) + first, end = top + 0.5f;
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, dx += columns) {
    for (ptrdiff_t g = 0; g < groups; g++) {
      const float s = half_to_float(scales[(r / 16 * groups + g) * 16 + r % 16]), inverse = s > 0 ? 1.0f / s : 0;
      const ptrdiff_t last = g + 1 < groups ? (g + 1) * group : columns;
      V total = {0};
      for (ptrdiff_t c = g * group; c < last; c += LANES) {
        const ptrdiff_t some = last - c < LANES ? last - c : LANES;
        const V u = load_some(x + c, some) * inverse, d = load_some(dx + c, some), a = abs_v(u);
        const VI sign = (VI)u & (int32_t)0x80000000, is_inside = a < end;
        // Beyond the ends the nearest level is the last one, however far; index_v cuts off there.
        const V level = (V)((VI)(index_v(twice, a, splat(1.0f)) + first) | sign);
        total += d * (level - (V)((VI)u & is_inside));
        store_some(dx + c, (V)((VI)(in_scales ? d * s : d) & is_inside), some);
      }
      if (dlog_scales) dlog_scales[r * groups + g] = sum(total) * s;
    }
  }
}

// The gradient dx of what was rounded, turned into that of the floats x that were rounded with these scales, [panels, groups, 16]; with
// `in_scales`, of what is added to x in units of the scale. Overwrites dlog_scales [rows, groups], if there is one, with the gradient of the
// logarithms of the scales. The first row begins a panel.
static void round_backward(dibit_format grid, ptrdiff_t group, int in_scales, const float *x, ptrdiff_t rows, ptrdiff_t columns,
                           const uint16_t *scales, float *dx, float *dlog_scales) {
  FOR_GRID(grid, round_backward_of, group, in_scales, x, rows, columns, scales, dx, dlog_scales);
}
