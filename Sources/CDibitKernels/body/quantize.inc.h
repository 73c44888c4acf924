// Choosing codes for scales that scales.inc.h or a method chose, and what goes back through that choice in training.

// Codes of `n` neighbours with the same scale, and what they lose.
INLINE VI codes_of(int twice, const float *x, ptrdiff_t n, float s, energies *e) {
  const float lowest = has_zero(twice) && !is_full_range(twice) ? 1 : 0, highest = (float)(has_zero(twice) ? twice - 1 : twice);
  const V v = load_some(x, n);
  VI code;
  if (!(s > 0 || s < 0)) {
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

// Puts sixteen codes of up to 8 bits, but not 3, where they belong.
INLINE void put_codes_of(int bits, VI code, uint8_t *row, ptrdiff_t c) {
  const W moved = (W)code << code_shifts(bits);
  for (int block = 0; block < bits / 2; block++) {
    const uint32_t word = __builtin_reduce_or(moved & lanes_of_block(bits, block));
    __builtin_memcpy(row + (c / 16 * (bits / 2) + block) * 64, &word, 4);
  }
}

// Puts sixteen codes of a row of a panel where they belong from the `c`-th input on, four bytes in each block; see grid.inc.h.
INLINE void put_codes(int bits, VI code, uint8_t *row, ptrdiff_t c) {
  if (IS_TRELLIS(bits)) {
    const uint32_t none = 0;
    put_codes_of(2, code, row, c);
    if (c % 32 == 0) __builtin_memcpy(row + (c / 16 + 1) * 64, &none, 4);  // a second half may not come
    return;
  }
  if (bits == 3) {
    const ptrdiff_t half = c % 32 / 16;
    uint8_t *unit = row + c / 32 * 3 * 64;
    const uint32_t low = __builtin_reduce_or(((W)code & 3) << code_shifts(2)), none = 0;
    uint32_t third = __builtin_reduce_or(((W)code >> 2) << third_shifts(half)), before = 0;
    if (half) __builtin_memcpy(&before, unit + 2 * 64, 4);
    else __builtin_memcpy(unit + 64, &none, 4);  // a second half may not come
    third |= before;
    __builtin_memcpy(unit + half * 64, &low, 4);
    __builtin_memcpy(unit + 2 * 64, &third, 4);
    return;
  }
  put_codes_of(bits, code, row, c);
}

INLINE void choose_codes_of(int bits, int twice, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint16_t *scales,
                            uint8_t *codes, energies *e) {
  const ptrdiff_t panel = panel_blocks(bits, columns) * 64, panel_scales = (columns + group - 1) / group * 16;
  if (IS_TRELLIS(bits)) {
    choose_chain_codes(group, x, rows, columns, scales, codes, e);
    return;
  }
  clear_last_panel(rows, codes, panel);
  for (ptrdiff_t r = 0; r < rows; r++, x += columns) {
    const uint16_t *scale = scales + r / 16 * panel_scales + r % 16;
    uint8_t *to = codes + r / 16 * panel + r % 16 * 4;
    ptrdiff_t left = 0;
    float s = 0;
    for (ptrdiff_t c = 0; c < columns; c += LANES, left -= LANES) {
      if (left <= 0) s = half_to_float(*scale), scale += 16, left = group;
      put_codes(bits, codes_of(twice, x + c, columns - c, s, e), to, c);
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
  const ptrdiff_t panel = panel_blocks(bits, columns) * 64;
  clear_last_panel(rows, codes, panel);
  for (ptrdiff_t r = 0; r < rows; r++, chosen += columns) {
    uint8_t *to = codes + r / 16 * panel + r % 16 * 4;
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      VI code = {0};
      for (ptrdiff_t l = 0; l < LANES && c + l < columns; l++) code[l] = chosen[c + l];
      put_codes(bits, code, to, c);
    }
  }
}

// Packs codes that were chosen elsewhere, a byte for each: [rows, columns].
static void pack_codes(dibit_format grid, const uint8_t *chosen, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes) {
  FOR_GRID(grid, pack_codes_of, chosen, rows, columns, codes);
}

INLINE void round_backward_of(int bits, int twice, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint8_t *codes,
                              const uint16_t *scales, float *dx, float *dlog_scales) {
  const ptrdiff_t groups = (columns + group - 1) / group, panel = panel_blocks(bits, columns) * 64;
  const float highest = (float)last_index(twice) + (has_zero(twice) ? 0.5f : 1.0f), lowest = is_full_range(twice) ? -highest - 1 : -highest;
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, dx += columns) {
    for (ptrdiff_t g = 0; g < groups; g++) {
      const float s = half_to_float(scales[(r / 16 * groups + g) * 16 + r % 16]), inverse = s > 0 || s < 0 ? 1.0f / s : 0;
      const ptrdiff_t last = g + 1 < groups ? (g + 1) * group : columns;
      V total = {0};
      for (ptrdiff_t c = g * group; c < last; c += LANES) {
        const ptrdiff_t some = last - c < LANES ? last - c : LANES;
        const V u = load_some(x + c, some) * inverse, d = load_some(dx + c, some);
        const VI is_inside = (u < highest) & (u > lowest);
        // Codes as they are: the weight is its level times the scale.
        total += d * (IS_TRELLIS(bits) ? codes_v(codes + r / 16 * panel + r % 16 * 4, bits, c) - 0.5f * (float)twice : level_v(twice, u));
        store_some(dx + c, (V)((VI)d & is_inside), some);
      }
      dlog_scales[r * groups + g] = sum(total) * s;
    }
  }
}

// The gradient dx of what was rounded, turned into that of the floats x that were rounded to these codes and scales, [panels, groups, 16]. Overwrites
// dlog_scales [rows, groups] with the gradient of the logarithms of the scales. The first row begins a panel.
static void round_backward(dibit_format grid, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint8_t *codes,
                           const uint16_t *scales, float *dx, float *dlog_scales) {
  FOR_GRID(grid, round_backward_of, group, x, rows, columns, codes, scales, dx, dlog_scales);
}
