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

// The exact least-squares scale of the 2-bit grid. With sorted magnitudes an assignment to the levels s/2 and 3s/2 is a split;
// for a split the best scale is p/q, p = sum(level * |x|), q = sum(level^2), and the error is sum(x^2) - p^2/q. The best split
// is consistent with nearest rounding, because rounding to nearest can only lower its error.
static float fit_2bit(const float *sorted, ptrdiff_t n) {
  double total = 0;
  for (ptrdiff_t i = 0; i < n; i++) total += sorted[i];
  double below = 0, best = -1, scale = 0;
  for (ptrdiff_t split = 0; split <= n; split++) {
    if (split > 0) below += sorted[split - 1];
    const double p = 0.5 * below + 1.5 * (total - below), q = 0.25 * (double)split + 2.25 * (double)(n - split);
    if (p * p / q > best) best = p * p / q, scale = p / q;
  }
  return (float)scale;
}

// Alternates nearest levels and least-squares scale from one start per possible top level; keeps the best.
// A group that lies on the grid has its largest magnitude on some level, so one start is its exact scale.
static float fit_by_iteration(const float *x, ptrdiff_t n, int half) {
  float largest = 0;
  double energy = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    largest = __builtin_fmaxf(largest, __builtin_fabsf(x[i]));
    energy += (double)x[i] * x[i];
  }
  if (largest == 0) return 0;
  double best = __builtin_inf();
  float scale = 0;
  for (int top = half - 1; top >= half / 2; top--) {
    float s = largest / ((float)top + 0.5f);
    for (int round = 0; round < 8; round++) {
      double p = 0, q = 0;
      const float inverse = 1.0f / s;
      for (ptrdiff_t i = 0; i < n; i++) {
        const float magnitude = __builtin_fabsf(x[i]);
        const float level = __builtin_fminf((float)(int)(magnitude * inverse), (float)(half - 1)) + 0.5f;
        p += level * magnitude;
        q += level * level;
      }
      const double error = energy - p * p / q;
      const float next = (float)(p / q);
      if (error < best) best = error, scale = next;
      if (next == s) break;
      s = next;
    }
  }
  return scale;
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
      float s;
      if (bits == 2) {
        for (ptrdiff_t i = 0; i < n; i++) scratch[i] = __builtin_fabsf(x[first + i]);
        sort_floats(scratch, n);
        s = fit_2bit(scratch, n);
      } else {
        s = fit_by_iteration(x + first, n, half);
      }
      const uint16_t stored = float_to_half_saturated(s);
      s = half_to_float(stored);
      *scales++ = stored;
      const float inverse = s > 0 ? 1.0f / s : 0;
      for (ptrdiff_t i = 0; i < n; i++) {
        const float value = x[first + i], q = __builtin_floorf(value * inverse) + (float)half;
        int code = q < 0 ? 0 : q > (float)(levels - 1) ? levels - 1 : (int)q;
        const ptrdiff_t c = first + i, at = c % per_block;
        codes[c / per_block * 16 + at % LANES] |= (uint8_t)(code << (at / LANES * bits));
        const double error = (double)value - (double)(((float)code - centre) * s);
        *signal += (double)value * value;
        *noise += error * error;
      }
    }
  }
}
