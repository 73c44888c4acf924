// Rounding to a trellis. Codes of two bits hang together in chains of 32 inputs of a row, in the order of the bits in which they lie: the level
// of an input depends on its own code and the two before it, and those before the first are the last ones of the chain, so that every code
// is read by three inputs and a chain by itself. So codes cannot be chosen one by one. What is least over all values of a chain is found by
// dynamic programming (Viterbi's algorithm) over the sixteen pairs of codes that the next level may hang on. Of the pairs in which the two ends of a
// chain may meet those are tried that promise most.
//
// Sixteen rows at a time: a lane is a row of a panel, and a vector one input of all of them. Behind the last input of a row codes are zero.

enum { CHAIN = DIBIT_CHAIN, STATES = 16 };

// Where the `p`-th code of a chain lies among its inputs: four fields of each byte, and four bytes of a row in each of two blocks.
INLINE ptrdiff_t chain_input(ptrdiff_t p) { return p / 16 * 16 + p % 4 * 4 + p % 16 / 4; }

// The codes of sixteen chains, one in each lane.
typedef struct { VI at[CHAIN]; } chain_codes;

// Of each state the best way to it, as two bits: the code before those that make the state.
typedef struct { W at[CHAIN]; } chain_ways;

// A state is two codes in a row, the older one in its lower bits; four windows end in it, whose oldest code differs.
INLINE int window_into(int state, int oldest) { return 4 * state + oldest; }
INLINE int state_before(int state, int oldest) { return window_into(state, oldest) % STATES; }

// Goes on from `cost` of all states by one input with the number `u` of scales, in which an error counts `weight` times; returns the best ways.
// What is the same for all levels is left out of the costs: weight u^2.
INLINE W chain_step(V *cost, V u, V weight) {
  const V slope = u * -2.0f * weight;
  V next[STATES];
  W ways = {0};
  for (int state = 0; state < STATES; state++) {
    V best = {0};
    W way = {0};
    for (int oldest = 0; oldest < 4; oldest++) {
      const float level = trellis_values[window_into(state, oldest)];
      const V all = cost[state_before(state, oldest)] + (weight * level + slope) * level;
      const VI better = all < best;
      best = oldest == 0 ? all : select_v(better, all, best);
      if (oldest > 0) way = ((W)better & (uint32_t)oldest) | (~(W)better & way);
    }
    next[state] = best;
    ways |= way << 2 * state;
  }
  for (int state = 0; state < STATES; state++) cost[state] = next[state];
  return ways;
}

// The same where there is no input: the code is zero.
INLINE W chain_skip(V *cost) {
  V next[STATES];
  W ways = {0};
  for (int state = 0; state < STATES; state++) {
    if (state >= 4) {
      next[state] = splat(__builtin_inff());
      continue;
    }
    V best = cost[state_before(state, 0)];
    W way = {0};
    for (int oldest = 1; oldest < 4; oldest++) {
      const V all = cost[state_before(state, oldest)];
      const VI better = all < best;
      best = select_v(better, all, best);
      way = ((W)better & (uint32_t)oldest) | (~(W)better & way);
    }
    next[state] = best;
    ways |= way << 2 * state;
  }
  for (int state = 0; state < STATES; state++) cost[state] = next[state];
  return ways;
}

INLINE W best_state(const V *cost) {
  V least = cost[0];
  W state = {0};
  for (int i = 1; i < STATES; i++) {
    const VI better = cost[i] < least;
    least = select_v(better, cost[i], least);
    state = ((W)better & (uint32_t)i) | (~(W)better & state);
  }
  return state;
}

INLINE W way_into(W ways, W state) { return ways >> (2 * state) & 3; }
INLINE W earlier_state(W state, W oldest) { return (4 * state + oldest) & (STATES - 1); }

// A chain begins and ends in `state`.
INLINE void begin_chain(V *cost, W state) {
  for (int i = 0; i < STATES; i++) cost[i] = select_v((VI)(state == (uint32_t)i), splat(0.0f), splat(__builtin_inff()));
}

// The codes on the best way to `state` at the end.
INLINE void trace_chain(const chain_ways *ways, W state, chain_codes *codes) {
  for (int p = CHAIN - 1; p >= 0; p--) {
    codes->at[p] = (VI)(state >> 2);
    state = earlier_state(state, way_into(ways->at[p], state));
  }
}

// The levels of the codes of a chain, in scales.
INLINE V chain_level(const chain_codes *codes, int p) {
  const W window = (W)(codes->at[(p + CHAIN - 2) % CHAIN] | codes->at[(p + CHAIN - 1) % CHAIN] << 2 | codes->at[p] << 4);
  return float_v((VI)(trellis_levels(window) & 0xFF)) - (float)TRELLIS_MIDDLE;
}

// Goes back from `cost` behind an input, of all states, to before it.
INLINE void chain_step_back(V *cost, V u, V weight) {
  const V slope = u * -2.0f * weight;
  V next[STATES];
  for (int state = 0; state < STATES; state++) {
    V best = {0};
    for (int code = 0; code < 4; code++) {
      const float level = trellis_values[state + STATES * code];
      const V all = cost[state / 4 + 4 * code] + (weight * level + slope) * level;
      best = code == 0 ? all : min_v(best, all);
    }
    next[state] = best;
  }
  for (int state = 0; state < STATES; state++) cost[state] = next[state];
}

INLINE void chain_skip_back(V *cost) {
  V next[STATES];
  for (int state = 0; state < STATES; state++) next[state] = cost[state / 4];
  for (int state = 0; state < STATES; state++) cost[state] = next[state];
}

// For each state in which the ends may meet, the least that the two halves beside it cost if their other ends need not: never more than the chain
// costs with it. `inputs` are those that there are, a bit for each.
static void chain_bounds(const V *u, const V *weight, uint32_t inputs, V *bounds) {
  V behind[STATES];
  for (int i = 0; i < STATES; i++) bounds[i] = behind[i] = (V){0};
  for (int p = CHAIN / 2; p < CHAIN; p++) {
    if (inputs >> p & 1) chain_step(bounds, u[p], weight[p]);
    else chain_skip(bounds);
  }
  for (int p = CHAIN / 2 - 1; p >= 0; p--) {
    if (inputs >> p & 1) chain_step_back(behind, u[p], weight[p]);
    else chain_skip_back(behind);
  }
  for (int i = 0; i < STATES; i++) bounds[i] += behind[i];
}

// The state with the least bound, which is taken out.
INLINE W take_best_state(V *bounds) {
  const W state = best_state(bounds);
  for (int i = 0; i < STATES; i++) bounds[i] = select_v((VI)(state == (uint32_t)i), splat(__builtin_inff()), bounds[i]);
  return state;
}

INLINE V cost_of_state(const V *cost, W state) {
  V found = cost[0];
  for (int i = 1; i < STATES; i++) found = select_v((VI)(state == (uint32_t)i), cost[i], found);
  return found;
}

// The inputs that there are of a chain that has so many, a bit for each place.
INLINE uint32_t chain_inputs(ptrdiff_t inputs) {
  uint32_t places = 0;
  for (int p = 0; p < CHAIN; p++) places |= (uint32_t)(chain_input(p) < inputs) << p;
  return places;
}

// The codes with the least sum of weight (level - u)^2 over the inputs of a chain, in their order there. Two states are tried, those that promise most:
// of normally distributed numbers the sum is 0.95 % more than with all sixteen, where the first of them alone has 2.8 % more.
static void best_chain(const V *u, const V *weight, uint32_t inputs, chain_codes *codes) {
  V bounds[STATES], least;
  chain_bounds(u, weight, inputs, bounds);
  for (int attempt = 0; attempt < 2; attempt++) {
    const W state = take_best_state(bounds);
    V cost[STATES];
    chain_ways ways;
    begin_chain(cost, state);
    for (int p = 0; p < CHAIN; p++) ways.at[p] = inputs >> p & 1 ? chain_step(cost, u[p], weight[p]) : chain_skip(cost);
    const V total = cost_of_state(cost, state);
    if (attempt == 0) {
      least = total;
      trace_chain(&ways, state, codes);
      continue;
    }
    const VI better = total < least;
    if (!__builtin_reduce_or(better)) break;
    chain_codes others;
    trace_chain(&ways, state, &others);
    for (int p = 0; p < CHAIN; p++) codes->at[p] = (better & others.at[p]) | (~better & codes->at[p]);
  }
}

// Less than any sum of squares of a chain by what is the same for all codes, weight u^2: what its best codes cost if its ends need not meet.
static V chain_cost(const V *u, const V *weight, uint32_t inputs) {
  V cost[STATES] = {{0}};
  for (int p = 0; p < CHAIN; p++)
    if (inputs >> p & 1) chain_step(cost, u[p], weight[p]);
  V least = cost[0];
  for (int i = 1; i < STATES; i++) least = min_v(least, cost[i]);
  return least;
}

// A group of inputs that share a scale, of sixteen rows: numbers and how much their errors count, in the order of their chains, with
// zeros where a chain has no input.
typedef struct {
  const V *x, *weight;
  ptrdiff_t inputs;
} chain_group;

// The scale that is best for the codes which are best for `scale`.
static V refined_scale(const chain_group *g, V scale) {
  const V inverse = inverse_v(scale);
  V p = {0}, q = {0};
  for (ptrdiff_t first = 0; first < g->inputs; first += CHAIN) {
    const V *x = g->x + first, *weight = g->weight + first;
    V u[CHAIN];
    for (int i = 0; i < CHAIN; i++) u[i] = x[i] * inverse;
    chain_codes codes;
    best_chain(u, weight, chain_inputs(g->inputs - first), &codes);
    for (int i = 0; i < CHAIN; i++) {
      const V level = chain_level(&codes, i), share = level * weight[i];
      p += share * x[i];
      q += share * level;
    }
  }
  return select_v(q > 0.0f, p / max_v(q, splat(SMALLEST)), scale);
}

// How much a scale saves of the sum of squares.
static V scale_gain(const chain_group *g, V scale) {
  const V inverse = inverse_v(scale);
  V gain = {0};
  for (ptrdiff_t first = 0; first < g->inputs; first += CHAIN) {
    V u[CHAIN];
    for (int i = 0; i < CHAIN; i++) u[i] = g->x[first + i] * inverse;
    gain += chain_cost(u, g->weight + first, chain_inputs(g->inputs - first));
  }
  return gain * scale * scale * -1.0f;
}

// Scales with nearly the least sum of squares. Of a normal distribution it is 0.30 deviations; where a few numbers stand out, up to where the
// largest is the last level.
static V chain_scale(const chain_group *g) {
  enum { RUNGS = 12 };
  const ptrdiff_t length = (g->inputs + CHAIN - 1) / CHAIN * CHAIN;
  V square = {0}, all = {0}, top = {0};
  for (ptrdiff_t i = 0; i < length; i++) {
    square += g->weight[i] * g->x[i] * g->x[i];
    all += g->weight[i];
    top = max_v(top, abs_v(g->x[i]));
  }
  const V deviation = __builtin_elementwise_sqrt(square / max_v(all, splat(SMALLEST)));
  const V begin = deviation * 0.18f, end = min_v(max_v(deviation * 0.46f, top * (1.0f / TRELLIS_LAST)), deviation * 1.8f);
  V best = begin, gain = splat(-1.0f);
  for (int rung = 0; rung < RUNGS; rung++) {
    const V scale = begin + (end - begin) * ((float)rung / (RUNGS - 1)), saved = scale_gain(g, scale);
    const VI better = saved > gain;
    best = select_v(better, scale, best);
    gain = select_v(better, saved, gain);
  }
  const V step = (end - begin) * (1.0f / (RUNGS - 1)), middle = best;
  for (int side = -1; side <= 1; side += 2) {
    const V scale = middle + step * (0.4f * (float)side), saved = scale_gain(g, scale);
    const VI better = saved > gain;
    best = select_v(better, scale, best);
    gain = select_v(better, saved, gain);
  }
  for (int round = 0; round < 2; round++) best = refined_scale(g, best);
  return best;
}

// The F16 scale with which a row of the group has levels alone that are whole numbers up to the last one, where there is one, and its codes find
// them all: weights that lie on the trellis come back exactly. Of several the largest.
static V exact_chain_scale(const chain_group *g, VI *is) {
  const ptrdiff_t length = (g->inputs + CHAIN - 1) / CHAIN * CHAIN;
  V top = {0}, result = {0};
  for (ptrdiff_t i = 0; i < length; i++) top = max_v(top, abs_v(g->x[i]));
  *is = (VI){0};
  for (int level = 1; level <= TRELLIS_LAST; level++) {
    const V scale = stored_v(top / (float)level), inverse = inverse_v(scale);
    VI fits = ~*is;
    for (ptrdiff_t i = 0; i < length && __builtin_reduce_or(fits); i++) {
      const V ratio = g->x[i] * inverse, whole = (ratio + 12582912.0f) - 12582912.0f;  // adding 1.5 * 2^23 rounds to the nearest integer
      fits &= whole * scale == g->x[i];
    }
    if (!__builtin_reduce_or(fits)) continue;
    for (ptrdiff_t first = 0; first < g->inputs; first += CHAIN) {
      V u[CHAIN];
      for (int i = 0; i < CHAIN; i++) u[i] = g->x[first + i] * inverse;
      chain_codes codes;
      best_chain(u, g->weight + first, chain_inputs(g->inputs - first), &codes);
      for (int i = 0; i < CHAIN; i++)
        if (first + chain_input(i) < g->inputs) fits &= chain_level(&codes, i) * scale == g->x[first + i];
    }
    result = select_v(fits, scale, result);
    *is |= fits;
    if (__builtin_reduce_and(*is)) break;
  }
  return result;
}

// Up to 32 inputs of up to sixteen rows, from input `c` on, in the order of a chain.
INLINE void gather_chain(const float *x, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t c, V *to) {
  for (ptrdiff_t half = 0; half < 2; half++) {
    V r[LANES];
    for (ptrdiff_t l = 0; l < LANES; l++) {
      const ptrdiff_t left = columns - c - half * LANES;
      r[l] = l < rows && left > 0 ? load_some(x + l * columns + c + half * LANES, left) : (V){0};
    }
    transpose(r);
    for (ptrdiff_t p = 0; p < LANES; p++) to[half * LANES + p] = r[chain_input(p)];
  }
}

// Scales of panels as fit_scales makes them; `scratch` holds 32 floats for each input of a group, to the next whole chain.
static void fit_chain_scales(int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint16_t *scales,
                             float *scratch) {
  const ptrdiff_t groups = (columns + group - 1) / group, length = (least(group, columns) + CHAIN - 1) / CHAIN * CHAIN;
  V *numbers = (V *)scratch, *weights = numbers + length;
  for (ptrdiff_t row = 0; row < rows; row += LANES, x += LANES * columns)
    for (ptrdiff_t g = 0; g < groups; g++, scales += LANES) {
      const chain_group inputs = {numbers, weights, least(group, columns - g * group)};
      for (ptrdiff_t first = 0; first < inputs.inputs; first += CHAIN) {
        gather_chain(x, least(rows - row, LANES), columns, g * group + first, numbers + first);
        for (ptrdiff_t p = 0; p < CHAIN; p++) {
          numbers[first + p] = fitted_v(2 * TRELLIS_MIDDLE, numbers[first + p]);
          weights[first + p] = splat(first + chain_input(p) < inputs.inputs ? 1.0f : 0.0f);
        }
      }
      VI is;
      V scale = exact_chain_scale(&inputs, &is);
      if (!__builtin_reduce_and(is)) scale = select_v(is, scale, chain_scale(&inputs));
      for (ptrdiff_t l = 0; l < LANES; l++) scales[l] = row + l < rows ? float_to_half_saturated(coarse(scale[l], scale_bits)) : 0;
    }
}

// Codes of panels as choose_codes makes them.
static void choose_chain_codes(ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint16_t *scales, uint8_t *codes,
                               energies *e) {
  const ptrdiff_t groups = (columns + group - 1) / group;
  const VI lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  V ones[CHAIN];
  for (int p = 0; p < CHAIN; p++) ones[p] = splat(1.0f);
  for (ptrdiff_t row = 0; row < rows; row += LANES, x += LANES * columns, scales += groups * LANES) {
    const W is_row = (W)(lane < (int32_t)least(rows - row, LANES));
    for (ptrdiff_t c = 0; c < columns; c += CHAIN, codes += 2 * 64) {
      V numbers[CHAIN], u[CHAIN], scale;
      for (int l = 0; l < LANES; l++) scale[l] = half_to_float(scales[c / group * LANES + l]);
      const V inverse = inverse_v(scale);
      gather_chain(x, least(rows - row, LANES), columns, c, numbers);
      for (int p = 0; p < CHAIN; p++) u[p] = numbers[p] * inverse;
      chain_codes chosen;
      best_chain(u, ones, chain_inputs(columns - c), &chosen);
      W words[2] = {{0}};
      for (int p = 0; p < CHAIN; p++) {
        words[p / 16] |= (W)chosen.at[p] << (p % 16 * 2);
        if (c + chain_input(p) >= columns) continue;
        const V value = (V)((W)(chain_level(&chosen, p) * scale) & is_row);
        const VD exact = __builtin_convertvector(numbers[p], VD), lost = exact - __builtin_convertvector(value, VD);
        e->signal += exact * exact;
        e->noise += lost * lost;
      }
      for (int half = 0; half < 2; half++) *(WU *)(codes + half * 64) = words[half] & is_row;
    }
  }
}
