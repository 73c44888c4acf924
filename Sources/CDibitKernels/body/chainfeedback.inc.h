// Codes of a trellis whose errors are made up for by those that come later in the chain, as in feedback.inc.h: each way through the states has errors of its
// own, and what the inputs before it make of the next ones. Ways that meet are no longer compared as they would be if all were kept.

typedef struct { V at[STATES][CHAIN]; } chain_targets;

// Inputs of a panel, from one on.
typedef struct {
  const float *x;
  float *scales, *errors;
  uint8_t *codes;
} panel_block;

INLINE panel_block block_of(const dibit_panels *panels, ptrdiff_t panel, ptrdiff_t first) {
  const ptrdiff_t at = (panel * panels->inputs + first) * LANES;
  return (panel_block){panels->x + at, panels->scales + at, panels->errors + at, panels->codes + at};
}

// A chain of inputs that are rounded: what they are, and what is rounded once errors of inputs outside of the chain are made up for.
typedef struct {
  V x[CHAIN], target[CHAIN], scale[CHAIN];
  const float *energies;  // 0 where there is no input
  const float *factor;    // row p, at p * stride: what errors before input p add to it
  ptrdiff_t stride;
} chain_problem;

// Goes on by the `p`-th input from `before` to `after`; returns the best ways.
static W feedback_step(const chain_problem *c, int p, V *cost, const chain_targets *before, chain_targets *after) {
  const V scale = c->scale[p], x = c->x[p];
  const float energy = c->energies[p];
  const int is_input = energy > 0;
  V next[STATES];
  W ways = {0};
  float factor[CHAIN];
  for (int j = p + 1; j < CHAIN; j++) factor[j] = c->factor[j * c->stride + p];
  for (int last = 0; last < 4; last++) {  // the state before has this code last: four states that lead to four
    V error[4];
    VI first[4], third[4], upper[4];
    for (int code = 0; code < 4; code++) {
      const int state = last + 4 * code;
      V best = {0}, value = {0};
      W way = {0};
      for (int oldest = 0; oldest < 4; oldest++) {
        const int from = state_before(state, oldest);
        const V level = scale * trellis_values[window_into(state, oldest)], left = before->at[from][p] - level;
        const V all = is_input ? cost[from] + left * left * energy : code == 0 ? cost[from] : splat(__builtin_inff());
        const VI better = all < best;
        best = oldest == 0 ? all : select_v(better, all, best);
        value = oldest == 0 ? level : select_v(better, level, value);
        if (oldest > 0) way = ((W)better & (uint32_t)oldest) | (~(W)better & way);
      }
      next[state] = best;
      ways |= way << 2 * state;
      error[code] = is_input ? x - value : (V){0};
      first[code] = (VI)(way == 1), third[code] = (VI)(way == 3), upper[code] = (VI)(way > 1);
    }
    for (int j = p + 1; j < CHAIN; j++) {
      const V a = before->at[4 * last][j], b = before->at[4 * last + 1][j], d = before->at[4 * last + 2][j], e = before->at[4 * last + 3][j];
      for (int code = 0; code < 4; code++)
        after->at[last + 4 * code][j] =
          select_v(upper[code], select_v(third[code], e, d), select_v(first[code], b, a)) + error[code] * factor[j];
    }
  }
  for (int state = 0; state < STATES; state++) cost[state] = next[state];
  return ways;
}

// The codes of a chain whose ends meet in `state`.
static void chain_with_feedback(const chain_problem *c, W state, chain_codes *codes) {
  chain_targets targets[2];
  chain_ways ways;
  V cost[STATES];
  begin_chain(cost, state);
  for (int i = 0; i < STATES; i++)
    for (int p = 0; p < CHAIN; p++) targets[0].at[i][p] = c->target[p];
  for (int p = 0; p < CHAIN; p++) ways.at[p] = feedback_step(c, p, cost, &targets[p % 2], &targets[(p + 1) % 2]);
  trace_chain(&ways, state, codes);
}

// How much the states in which the ends may meet promise if errors are not made up for within the chain.
static void feedback_bounds(const chain_problem *c, V *bounds) {
  V u[CHAIN], weight[CHAIN];
  uint32_t inputs = 0;
  for (int p = 0; p < CHAIN; p++) {
    inputs |= (uint32_t)(c->energies[p] > 0) << p;
    u[p] = c->target[p] * inverse_v(c->scale[p]);
    weight[p] = c->scale[p] * c->scale[p] * c->energies[p];
  }
  chain_bounds(u, weight, inputs, bounds);
}

INLINE W last_state(const chain_codes *codes) { return (W)(codes->at[CHAIN - 2] | codes->at[CHAIN - 1] << 2); }

// The energy of the errors of a chain with these codes, and of inputs outside of it.
static V chain_loss(const chain_problem *c, const chain_codes *codes) {
  V loss = {0}, errors[CHAIN];
  for (int p = 0; p < CHAIN; p++) {
    const V value = chain_level(codes, p) * c->scale[p];
    errors[p] = c->energies[p] > 0 ? c->x[p] - value : (V){0};
    V left = c->target[p] - value;
    for (int i = 0; i < p; i++) left += errors[i] * c->factor[p * c->stride + i];
    loss += left * left * c->energies[p];
  }
  return loss;
}

INLINE void load_chain_codes(const uint8_t *from, chain_codes *codes) {
  for (int p = 0; p < CHAIN; p++)
    for (int l = 0; l < LANES; l++) codes->at[p][l] = from[p * LANES + l];
}

INLINE void store_chain_codes(const chain_codes *codes, uint8_t *to) {
  for (int p = 0; p < CHAIN; p++)
    for (int l = 0; l < LANES; l++) to[p * LANES + l] = (uint8_t)codes->at[p][l];
}

INLINE void load_chain(const float *from, V *to) {
  for (int p = 0; p < CHAIN; p++) to[p] = load(from + p * LANES);
}

// Rounds the chain at input `first`, whose errors those of the chains before it add `sums` to.
static void round_chain_feedback(ptrdiff_t n, ptrdiff_t first, const float *factor, const dibit_chains *chains, const panel_block *block,
                                 const V *sums) {
  chain_problem c = {.energies = chains->energies + first, .factor = factor + first * n + first, .stride = n};
  load_chain(block->x, c.x);
  load_chain(block->scales, c.scale);
  for (int p = 0; p < CHAIN; p++) c.target[p] = c.x[p] + sums[p];
  V bounds[STATES], least = splat(__builtin_inff());
  feedback_bounds(&c, bounds);
  chain_codes best = {0};
  for (int attempt = 0; attempt < 2; attempt++) {
    chain_codes chosen;
    chain_with_feedback(&c, take_best_state(bounds), &chosen);
    const V loss = chain_loss(&c, &chosen);
    const VI better = loss < least;
    least = select_v(better, loss, least);
    for (int p = 0; p < CHAIN; p++) best.at[p] = (better & chosen.at[p]) | (~better & best.at[p]);
  }
  for (int p = 0; p < CHAIN; p++) {
    const V error = c.x[p] - chain_level(&best, p) * c.scale[p];
    store(block->errors + p * LANES, c.energies[p] > 0 ? error : (V){0});
  }
  store_chain_codes(&best, block->codes);
}

// Gives the chain at input `first` the codes that are best, as far as they are found, as all others are: `pull` are the moments of its inputs
// with the errors of all others.
static void round_chain_descent(ptrdiff_t first, const dibit_chains *chains, const panel_block *block, const V *pull) {
  chain_problem c = {.energies = chains->own_energies + first, .factor = chains->within + first * CHAIN, .stride = CHAIN};
  V weight[CHAIN];
  load_chain(block->x, weight);
  load_chain(block->scales, c.scale);
  // Where the errors of the chain would be least with all others as they are: -H^-1 pull, with the chain's own moments H.
  for (int p = 0; p < CHAIN; p++) {
    V away = {0};
    for (int i = 0; i < CHAIN; i++) away += pull[i] * chains->inverse[(first + p) * CHAIN + i];
    c.x[p] = c.target[p] = weight[p] + away;
  }
  chain_codes best;
  load_chain_codes(block->codes, &best);
  V bounds[STATES], least = chain_loss(&c, &best);
  feedback_bounds(&c, bounds);
  // Where the ends meet now, and where they promise most.
  W state = last_state(&best);
  for (int attempt = 0; attempt < 2; attempt++) {
    chain_codes chosen;
    chain_with_feedback(&c, state, &chosen);
    const V loss = chain_loss(&c, &chosen);
    const VI better = loss < least;
    least = select_v(better, loss, least);
    const W other = take_best_state(bounds), second = take_best_state(bounds), is_same = (W)(other == state);
    state = (is_same & second) | (~is_same & other);
    for (int p = 0; p < CHAIN; p++) best.at[p] = (better & chosen.at[p]) | (~better & best.at[p]);
  }
  for (int p = 0; p < CHAIN; p++)
    if (c.energies[p] > 0) store(block->errors + p * LANES, weight[p] - chain_level(&best, p) * c.scale[p]);
  store_chain_codes(&best, block->codes);
}
