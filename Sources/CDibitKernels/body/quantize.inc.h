// Choosing the scale of one group. Levels are (i + 1/2) s for i < half, on both sides of zero, so only magnitudes matter.

// Shell sort (Ciura's gaps): short, in place, no recursion.
static void sort_floats(float *x, ptrdiff_t n) {
  static const ptrdiff_t gaps[] = {24451, 9106, 3390, 1262, 701, 301, 132, 57, 23, 10, 4, 1};
  for (unsigned g = 0; g < sizeof gaps / sizeof *gaps; g++)
    for (ptrdiff_t i = gaps[g]; i < n; i++) {
      float value = x[i];
      ptrdiff_t j = i;
      for (; j >= gaps[g] && x[j - gaps[g]] > value; j -= gaps[g]) x[j] = x[j - gaps[g]];
      x[j] = value;
    }
}

// A scale as a file holds it.
INLINE float as_stored(float scale) { return half_to_float(float_to_half_saturated(scale)); }

// The exact least-squares scale. As s falls, magnitudes pass from nearest level j - 1/2 to j + 1/2 where |x| = j s, so every
// nearest assignment is met by taking these events in order; sorted magnitudes give them by merging one cursor per j.
// With p = sum(level * |x|) and q = sum(level^2) an assignment's best scale is p/q and the error of s is sum(x^2) - s (2p - s q).
// Assignments are compared with the scale as it will be stored: a group on a grid may fit several, but only one is an F16.
static float fit_scale(const float *sorted, ptrdiff_t n, int half) {
  double p = 0, q = 0.25 * (double)n, best = 0, at[8];
  ptrdiff_t cursor[8];
  float scale = 0;
  for (ptrdiff_t i = 0; i < n; i++) p += 0.5 * sorted[i];
  for (int j = 1; j < half; j++) cursor[j] = n - 1, at[j] = (double)sorted[n - 1] / j;
  for (;;) {
    if (p * p > best * q) {
      const double s = as_stored((float)(p / q)), gain = s * (2 * p - s * q);
      if (gain > best) best = gain, scale = (float)s;
    }
    int j = 1;
    for (int i = 2; i < half; i++)
      if (at[i] > at[j]) j = i;
    if (cursor[j] < 0) return scale;
    p += sorted[cursor[j]];
    q += 2 * j;
    cursor[j]--;
    at[j] = cursor[j] < 0 ? -1 : (double)sorted[cursor[j]] / j;
  }
}

// Codes of `rows` rows: the scale is rounded to F16 before codes are chosen. Adds the squares of the weights to *signal and of
// the errors to *noise. `scratch` holds a group.
static void quantize(int bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes, uint16_t *scales,
                     double *signal, double *noise, float *scratch) {
  const int levels = 1 << bits, half = levels / 2;
  const float centre = 0.5f * (float)(levels - 1);
  const ptrdiff_t per_block = 128 / bits, row_bytes = (columns * bits + 127) / 128 * 16;
  for (ptrdiff_t row = 0; row < rows; row++, x += columns, codes += row_bytes) {
    __builtin_memset(codes, 0, (size_t)row_bytes);
    for (ptrdiff_t first = 0; first < columns; first += group) {
      const ptrdiff_t n = columns - first < group ? columns - first : group;
      for (ptrdiff_t i = 0; i < n; i++) scratch[i] = __builtin_fabsf(x[first + i]);
      sort_floats(scratch, n);
      const float s = fit_scale(scratch, n, half);
      *scales++ = float_to_half_saturated(s);
      const float inverse = s > 0 ? 1.0f / s : 0;
      for (ptrdiff_t i = 0; i < n; i++) {
        const float value = x[first + i], q = __builtin_floorf(value * inverse) + (float)half;
        int code = q > (float)(levels - 1) ? levels - 1 : q > 0 ? (int)q : 0;
        const ptrdiff_t c = first + i, at = c % per_block;
        codes[c / per_block * 16 + at % LANES] |= (uint8_t)(code << (at / LANES * bits));
        const double error = (double)value - (double)(((float)code - centre) * s);
        *signal += (double)value * value;
        *noise += error * error;
      }
    }
  }
}
