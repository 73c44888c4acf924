// Rounding that knows which inputs carry energy. Sixteen rows of a weight, a panel, at a time: a vector holds one input of all of them, and
// what belongs to a panel is [n, 16].
//
// Nearly all of the work are sums over all inputs, of a matrix [n, n] that is larger than any cache: it is read once for several panels, and
// what belongs to a panel once for several rows of the matrix.

// Levels for given scales, and their codes.
INLINE V nearest_v(int twice, V x, V scale, VI *code) {
  const V level = level_v(twice, x * inverse_v(scale));
  *code = int_v(level + 0.5f * (float)twice);
  return level * scale;
}

#ifdef DIBIT_WIDE
enum { SUM_ROWS = 8 };  // what registers hold the sums of
#else
enum { SUM_ROWS = 4 };
#endif
enum { SUM_SPAN = 256 };  // inputs whose part of a block's rows stays in a cache
enum { SUM_BLOCK = CHAIN };   // rows whose sums are made together

// Of each panel the sums of a block's rows.
typedef struct { V at[DIBIT_PANELS][SUM_BLOCK]; } block_sums;

// sums[r] += sum(a[r][i] x[i]).
INLINE void add_span(int rows, const float *const *a, const float *x, ptrdiff_t first, ptrdiff_t n, V *sums) {
  V s[SUM_ROWS] = {{0}};
  for (ptrdiff_t i = first; i < first + n; i++) {
    const V value = load(x + i * LANES);
    _Pragma("clang loop unroll(full)") for (int r = 0; r < rows; r++) s[r] += splat(a[r][i]) * value;
  }
  for (int r = 0; r < rows; r++) sums[r] += s[r];
}

// Adds, to the sums of each panel, those of `rows` rows `a` times x: [panels, n, 16] over inputs from `from` to before `to`.
static void add_sums(int rows, const float *const *a, ptrdiff_t panels, ptrdiff_t n, const float *x, ptrdiff_t from, ptrdiff_t to,
                     block_sums *sums) {
  for (ptrdiff_t first = from; first < to; first += SUM_SPAN) {
    const ptrdiff_t count = least(SUM_SPAN, to - first);
    for (ptrdiff_t p = 0; p < panels; p++) {
      const float *values = x + p * n * LANES;
      int r = 0;
      for (; r + SUM_ROWS <= rows; r += SUM_ROWS) add_span(SUM_ROWS, a + r, values, first, count, &sums->at[p][r]);
      for (; r < rows; r++) add_span(1, a + r, values, first, count, &sums->at[p][r]);
    }
  }
}

// The same for `rows` rows from `row` on of a matrix [n, n], from zero, over all inputs but those from `from` to before `to`.
static void sums_around(const float *matrix, ptrdiff_t row, int rows, ptrdiff_t panels, ptrdiff_t n, const float *x, ptrdiff_t from,
                        ptrdiff_t to, block_sums *sums) {
  const float *a[SUM_BLOCK];
  for (int r = 0; r < rows; r++) a[r] = matrix + (row + r) * n;
  for (ptrdiff_t p = 0; p < panels; p++)
    for (int r = 0; r < rows; r++) sums->at[p][r] = (V){0};
  add_sums(rows, a, panels, n, x, 0, from, sums);
  add_sums(rows, a, panels, n, x, to, n, sums);
}

INLINE int rows_of_block(ptrdiff_t n, ptrdiff_t first) { return (int)least(SUM_BLOCK, n - first); }

// The panels x of x (L L^T) = x, in place: `a` holds L, and its transpose above the diagonal.
static void solve_factored(ptrdiff_t panels, ptrdiff_t n, const float *a, float *x) {
  block_sums sums;
  for (ptrdiff_t first = 0; first < n; first += SUM_BLOCK) {
    const int rows = rows_of_block(n, first);
    sums_around(a, first, rows, panels, n, x, first, n, &sums);
    for (ptrdiff_t p = 0; p < panels; p++) {
      float *block = x + (p * n + first) * LANES;
      for (int r = 0; r < rows; r++) {
        const float *row = a + (first + r) * n + first;
        store(block + r * LANES, (load(block + r * LANES) - sums.at[p][r] - weighted_sum(row, block, r)) * (1 / row[r]));
      }
    }
  }
  for (ptrdiff_t first = (n - 1) / SUM_BLOCK * SUM_BLOCK; first >= 0; first -= SUM_BLOCK) {
    const int rows = rows_of_block(n, first);
    sums_around(a, first, rows, panels, n, x, 0, first + rows, &sums);
    for (ptrdiff_t p = 0; p < panels; p++) {
      float *block = x + (p * n + first) * LANES;
      for (int r = rows - 1; r >= 0; r--) {
        const float *row = a + (first + r) * n + first;
        const V later = weighted_sum(row + r + 1, block + (r + 1) * LANES, rows - 1 - r);
        store(block + r * LANES, (load(block + r * LANES) - sums.at[p][r] - later) * (1 / row[r]));
      }
    }
  }
}

// energies[p] = x moments x, over the sixteen rows of each panel, for symmetric moments.
static void moment_energies(ptrdiff_t panels, ptrdiff_t n, const float *moments, const float *x, double *energies) {
  block_sums sums;
  for (ptrdiff_t p = 0; p < panels; p++) energies[p] = 0;
  for (ptrdiff_t first = 0; first < n; first += SUM_BLOCK) {
    const int rows = rows_of_block(n, first);
    sums_around(moments, first, rows, panels, n, x, first, n, &sums);
    for (ptrdiff_t p = 0; p < panels; p++) {
      const float *block = x + (p * n + first) * LANES;
      for (int r = 0; r < rows; r++) {
        const float *row = moments + (first + r) * n + first;
        const V value = load(block + r * LANES), before = sums.at[p][r] + weighted_sum(row, block, r);
        energies[p] += (double)sum(value * (before + before + value * row[r]));
      }
    }
  }
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

INLINE void round_feedback_of(int bits, int twice, const dibit_panels *of, const float *factor, const dibit_chains *chains) {
  const ptrdiff_t n = of->inputs;
  block_sums sums;
  for (ptrdiff_t first = 0; first < n; first += SUM_BLOCK) {
    const int rows = rows_of_block(n, first);
    sums_around(factor, first, rows, of->count, n, of->errors, first, n, &sums);
    for (ptrdiff_t p = 0; p < of->count; p++) {
      const panel_block block = block_of(of, p, first);
      if (IS_TRELLIS(bits)) {
        round_chain_feedback(n, first, factor, chains, &block, sums.at[p]);
        continue;
      }
      for (int r = 0; r < rows; r++) {
        const V weight = load(block.x + r * LANES);
        const V target = weight + sums.at[p][r] + weighted_sum(factor + (first + r) * n + first, block.errors, r);
        VI code;
        store(block.errors + r * LANES, weight - nearest_v(twice, target, load(block.scales + r * LANES), &code));
        put_lanes(block.codes + r * LANES, code);
      }
    }
  }
}

// Rounds inputs in their order, each with the errors of those before it made up for: what is rounded is x[k] + sum(factor[k, i] errors[i]),
// i < k. Overwrites the errors, x less its rounded value, and the codes. Inputs of a trellis come in whole chains.
static void round_feedback(dibit_format grid, const dibit_panels *of, const float *factor, const dibit_chains *chains) {
  FOR_GRID(grid, round_feedback_of, of, factor, chains);
}

INLINE void round_descent_of(int bits, int twice, const dibit_panels *of, const float *moments, const dibit_chains *chains) {
  const ptrdiff_t n = of->inputs;
  block_sums sums;
  for (ptrdiff_t first = 0; first < n; first += SUM_BLOCK) {
    const int rows = rows_of_block(n, first);
    sums_around(moments, first, rows, of->count, n, of->errors, first, first + rows, &sums);
    for (ptrdiff_t p = 0; p < of->count; p++) {
      const panel_block block = block_of(of, p, first);
      if (IS_TRELLIS(bits)) {
        round_chain_descent(first, chains, &block, sums.at[p]);
        continue;
      }
      for (int r = 0; r < rows; r++) {
        const V error = load(block.errors + r * LANES), weight = load(block.x + r * LANES);
        const float *row = moments + (first + r) * n + first;
        if (!(row[r] > 0)) continue;
        // Where the error would be least with all other inputs as they are.
        const V target = weight - error + (sums.at[p][r] + weighted_sum(row, block.errors, rows)) * (1 / row[r]);
        VI code;
        store(block.errors + r * LANES, weight - nearest_v(twice, target, load(block.scales + r * LANES), &code));
        put_lanes(block.codes + r * LANES, code);
      }
    }
  }
}

// One sweep of coordinate descent on errors' moments errors: each input takes the level that is best as all others are.
static void round_descent(dibit_format grid, const dibit_panels *of, const float *moments, const dibit_chains *chains) {
  FOR_GRID(grid, round_descent_of, of, moments, chains);
}

// Gives a group of inputs of a panel another scale, by how much the errors' moments errors fall with its codes as they are: by `pull`, per
// change of the scale, less half of `own`, per square of the change.
INLINE void change_scale(int bits, int twice, int scale_bits, const panel_block *panel, ptrdiff_t count, const int32_t *members, V pull,
                         V own) {
  const V scale = load(panel->scales + members[0] * LANES);
  V found = scale + select_v(own > 0.0f, pull / max_v(own, splat(SMALLEST)), splat(0.0f));
  for (int l = 0; l < LANES; l++) found[l] = coarse(found[l], scale_bits);
  // A scale keeps its sign, and what is far from it comes from errors that are all there is.
  const V magnitude = abs_v(scale), same = select_v(scale < 0.0f, -found, found);
  found = select_v(same > magnitude * 0.5f, select_v(same < magnitude * 2.0f, found, scale), scale);
  for (ptrdiff_t a = 0; a < count; a++) {
    float *error = panel->errors + members[a] * LANES;
    store(error, load(error) - (found - scale) * levels_of(bits, twice, panel->codes, members[a]));
    store(panel->scales + members[a] * LANES, found);
  }
}

INLINE void refit_scales_of(int bits, int twice, int scale_bits, const dibit_panels *of, ptrdiff_t groups, const int32_t *members,
                            const int32_t *ends, const float *moments) {
  const ptrdiff_t n = of->inputs;
  for (ptrdiff_t g = 0, start = 0; g < groups; start = ends[g], g++) {
    V pull[DIBIT_PANELS] = {{0}}, own[DIBIT_PANELS] = {{0}};
    for (ptrdiff_t t = start; t < ends[g]; t += SUM_BLOCK) {
      const int count = (int)least(SUM_BLOCK, ends[g] - t);
      const float *a[SUM_BLOCK];
      for (int r = 0; r < count; r++) a[r] = moments + members[t + r] * n;
      block_sums sums = {{{{0}}}};
      add_sums(count, a, of->count, n, of->errors, 0, n, &sums);
      for (ptrdiff_t p = 0; p < of->count; p++) {
        const uint8_t *codes = of->codes + p * n * LANES;
        V levels[SUM_BLOCK];
        for (int r = 0; r < count; r++) {
          levels[r] = levels_of(bits, twice, codes, members[t + r]);
          pull[p] += levels[r] * sums.at[p][r];
        }
        for (ptrdiff_t i = start; i < ends[g]; i++) {
          const float *row = moments + members[i] * n;
          V product = {0};
          for (int r = 0; r < count; r++) product += splat(row[members[t + r]]) * levels[r];
          own[p] += levels_of(bits, twice, codes, members[i]) * product;
        }
      }
    }
    for (ptrdiff_t p = 0; p < of->count; p++) {
      const panel_block panel = block_of(of, p, 0);
      change_scale(bits, twice, scale_bits, &panel, ends[g] - start, members + start, pull[p], own[p]);
    }
  }
}

// One sweep over the groups of inputs that share a scale: with the codes as they are, each group gets the scale with the least
// errors' moments errors. Group g has the inputs members[ends[g - 1]] to members[ends[g] - 1].
static void refit_scales(dibit_format grid, int scale_bits, const dibit_panels *of, ptrdiff_t groups, const int32_t *members,
                         const int32_t *ends, const float *moments) {
  FOR_GRID(grid, refit_scales_of, scale_bits, of, groups, members, ends, moments);
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
