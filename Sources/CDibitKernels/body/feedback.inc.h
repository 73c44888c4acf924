// Rounding that knows which inputs carry energy. Sixteen rows of a weight, a panel, at a time: a vector holds one input of all of them, and
// `x`, `scales`, `errors` and `codes` are [n, 16].

// Levels for given scales, and their codes.
INLINE V nearest_v(int twice, V x, V scale, VI *code) {
  const V level = level_v(twice, x * inverse_v(scale));
  *code = int_v(level + 0.5f * (float)twice);
  return level * scale;
}

// Sixteen rows x of x (L L^T) = x, in place: `a` holds L, and its transpose above the diagonal.
static void solve_factored(ptrdiff_t n, const float *a, float *x) {
  for (ptrdiff_t k = 0; k < n; k++)
    store(x + k * LANES, (load(x + k * LANES) - weighted_sum(a + k * n, x, k)) * (1 / a[k * n + k]));
  for (ptrdiff_t k = n - 1; k >= 0; k--)
    store(x + k * LANES, (load(x + k * LANES) - weighted_sum(a + k * n + k + 1, x + (k + 1) * LANES, n - 1 - k)) * (1 / a[k * n + k]));
}

INLINE void put_lanes(uint8_t *codes, VI code) {
  for (int l = 0; l < LANES; l++) codes[l] = (uint8_t)code[l];
}

// The levels, in scales, of the codes of the k-th input.
INLINE V levels_of(int bits, int twice, const uint8_t *codes, ptrdiff_t k) {
  V level;
  for (int l = 0; l < LANES; l++) {
    if (!IS_TRELLIS(bits)) {
      level[l] = (float)codes[k * LANES + l] - 0.5f * (float)twice;
      continue;
    }
    const uint8_t *chain = codes + k / CHAIN * CHAIN * LANES + l;
    const ptrdiff_t p = k % CHAIN;
    const int window = chain[(p + CHAIN - 2) % CHAIN * LANES] | chain[(p + CHAIN - 1) % CHAIN * LANES] << 2 | chain[p * LANES] << 4;
    level[l] = trellis_values[window];
  }
  return level;
}

INLINE void round_feedback_of(int bits, int twice, ptrdiff_t n, const float *factor, const dibit_chains *chains, const float *x,
                              const float *scales, float *errors, uint8_t *codes) {
  if (IS_TRELLIS(bits)) {
    round_chain_feedback(n, factor, chains, x, scales, errors, codes);
    return;
  }
  for (ptrdiff_t k = 0; k < n; k++) {
    const V target = load(x + k * LANES) + weighted_sum(factor + k * n, errors, k);
    VI code;
    store(errors + k * LANES, load(x + k * LANES) - nearest_v(twice, target, load(scales + k * LANES), &code));
    put_lanes(codes + k * LANES, code);
  }
}

// Rounds inputs in their order, each with the errors of those before it made up for: what is rounded is x[k] + sum(factor[k, i] errors[i]),
// i < k. Overwrites the errors, x less its rounded value, and the codes. Inputs of a trellis come in whole chains.
static void round_feedback(dibit_format grid, ptrdiff_t n, const float *factor, const dibit_chains *chains, const float *x,
                           const float *scales, float *errors, uint8_t *codes) {
  FOR_GRID(grid, round_feedback_of, n, factor, chains, x, scales, errors, codes);
}

INLINE void round_descent_of(int bits, int twice, ptrdiff_t n, const float *moments, const dibit_chains *chains, const float *x,
                             const float *scales, float *errors, uint8_t *codes) {
  if (IS_TRELLIS(bits)) {
    round_chain_descent(n, moments, chains, x, scales, errors, codes);
    return;
  }
  for (ptrdiff_t k = 0; k < n; k++) {
    const V error = load(errors + k * LANES), weight = load(x + k * LANES);
    const float own = moments[k * n + k];
    if (!(own > 0)) continue;
    // Where the error would be least with all other inputs as they are.
    const V target = weight - error + weighted_sum(moments + k * n, errors, n) * (1 / own);
    VI code;
    store(errors + k * LANES, weight - nearest_v(twice, target, load(scales + k * LANES), &code));
    put_lanes(codes + k * LANES, code);
  }
}

// One sweep of coordinate descent on errors' moments errors: each input takes the level that is best as all others are.
static void round_descent(dibit_format grid, ptrdiff_t n, const float *moments, const dibit_chains *chains, const float *x,
                          const float *scales, float *errors, uint8_t *codes) {
  FOR_GRID(grid, round_descent_of, n, moments, chains, x, scales, errors, codes);
}

// One sweep over the groups of inputs that share a scale: with the codes as they are, each group gets the scale with the least
// errors' moments errors. Group g has the inputs members[ends[g - 1]] to members[ends[g] - 1].
INLINE void refit_scales_of(int bits, int twice, int scale_bits, ptrdiff_t n, ptrdiff_t groups, const int32_t *members, const int32_t *ends,
                            const float *moments, const uint8_t *codes, float *scales, float *errors) {
  (void)bits;
  enum { TILE = 128 };
  for (ptrdiff_t g = 0, first = 0; g < groups; first = ends[g], g++) {
    V pull = {0}, own = {0};
    // Levels are looked up once for all that they meet: all of a group unless that is a whole row.
    for (ptrdiff_t t = first; t < ends[g]; t += TILE) {
      const ptrdiff_t count = ends[g] - t < TILE ? ends[g] - t : TILE;
      V levels[TILE];
      for (ptrdiff_t b = 0; b < count; b++) levels[b] = levels_of(bits, twice, codes, members[t + b]);
      for (ptrdiff_t a = first; a < ends[g]; a++) {
        const float *row = moments + members[a] * n;
        V product = {0};
        for (ptrdiff_t b = 0; b < count; b++) product += splat(row[members[t + b]]) * levels[b];
        own += levels_of(bits, twice, codes, members[a]) * product;
      }
      for (ptrdiff_t b = 0; b < count; b++) pull += levels[b] * weighted_sum(moments + members[t + b] * n, errors, n);
    }
    const V scale = load(scales + members[first] * LANES);
    V found = scale + select_v(own > 0.0f, pull / max_v(own, splat(SMALLEST)), splat(0.0f));
    for (int l = 0; l < LANES; l++) found[l] = coarse(found[l], scale_bits);
    // A scale keeps its sign, and what is far from it comes from errors that are all there is.
    const V magnitude = abs_v(scale), same = select_v(scale < 0.0f, -found, found);
    found = select_v(same > magnitude * 0.5f, select_v(same < magnitude * 2.0f, found, scale), scale);
    for (ptrdiff_t a = first; a < ends[g]; a++) {
      float *error = errors + members[a] * LANES;
      store(error, load(error) - (found - scale) * levels_of(bits, twice, codes, members[a]));
      store(scales + members[a] * LANES, found);
    }
  }
}

static void refit_scales(dibit_format grid, int scale_bits, ptrdiff_t n, ptrdiff_t groups, const int32_t *members, const int32_t *ends,
                         const float *moments, const uint8_t *codes, float *scales, float *errors) {
  FOR_GRID(grid, refit_scales_of, scale_bits, n, groups, members, ends, moments, codes, scales, errors);
}

INLINE void assign_important(int twice, ptrdiff_t n, const float *x, const float *importance, V scale, V *p, V *q) {
  const V inverse = inverse_v(scale);
  V sums = {0}, squares = {0};
  for (ptrdiff_t i = 0; i < n; i++) {
    const V value = load(x + i * LANES), level = level_v(twice, value * inverse);
    const V share = load(importance + i * LANES) * level;
    sums += share * value;
    squares += share * level;
  }
  *p = sums;
  *q = max_v(squares, splat(SMALLEST));
}

INLINE void fit_important_of(int bits, int twice, int scale_bits, ptrdiff_t n, const float *x, const float *importance, float *scales) {
  if (IS_TRELLIS(bits)) {
    const chain_group group = {(const V *)x, (const V *)importance, n};
    const V scale = chain_scale(&group);
    for (int l = 0; l < LANES; l++) scales[l] = coarse(scale[l], scale_bits);
    return;
  }
  enum { RUNGS = 96 };
  const int sides = is_full_range(twice) ? 2 : 1;
  V mean = {0}, top = {0}, weighted = {0}, all = {0};
  for (ptrdiff_t i = 0; i < n; i++) {
    const V magnitude = abs_v(load(x + i * LANES)), share = load(importance + i * LANES);
    mean += magnitude;
    weighted += share * magnitude;
    all += share;
    top = max_v(top, magnitude);
  }
  mean *= 1 / (float)(n > 0 ? n : 1);
  weighted = select_v(all > 0.0f, weighted / max_v(all, splat(SMALLEST)), mean);
  // Few levels: from half the smaller mean, where most lies beyond the last level, to where the largest is the last. Many levels leave
  // little to gain by cutting off.
  const float last = (float)last_index(twice) + (has_zero(twice) ? 0.0f : 0.5f);
  const V end = top * (1 / last);
  const V begin = twice > 63 ? end * 0.5f : twice > 4 ? end * 0.2f : min_v(min_v(mean, weighted) * 0.5f, end);
  const V step = (end - begin) * (1 / (float)(RUNGS - 1));
  V best = {0}, gain = splat(-1.0f);
  for (int rung = 0; rung < sides * RUNGS; rung++) {
    V scale = (begin + step * (float)(rung % RUNGS)) * (rung < RUNGS ? 1.0f : -1.0f);
    for (int round = 0; round < 2; round++) {
      V p, q;
      assign_important(twice, n, x, importance, scale, &p, &q);
      const V s = p / q, g = s * p;
      const VI better = g > gain;
      best = select_v(better, s, best);
      gain = select_v(better, g, gain);
      scale = s;
    }
  }
  for (int l = 0; l < LANES; l++) scales[l] = coarse(best[l], scale_bits);
}

// Scales of `n` inputs that share one in each of sixteen rows, with nearly the least error weighted by `importance`: [n, 16]. Of a trellis
// they come in the order of whole chains, at an address that is a multiple of 64, and count nothing where a chain has no input.
static void fit_important(dibit_format grid, int scale_bits, ptrdiff_t n, const float *x, const float *importance, float *scales) {
  FOR_GRID(grid, fit_important_of, scale_bits, n, x, importance, scales);
}
