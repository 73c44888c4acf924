static void add(const float *x, float *y, ptrdiff_t n) { axpy(1.0f, x, y, n); }

static void scale(float factor, float *y, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) y[i] *= factor;
}

static double sum_of_squares(const float *x, ptrdiff_t n) {
  double lanes[LANES] = {0}, total = 0;
  for (ptrdiff_t i = 0; i < n; i++) lanes[i % LANES] += (double)x[i] * x[i];
  for (int i = 0; i < LANES; i++) total += lanes[i];
  return total;
}

// The finaliser of SplitMix64 over a counter. Four elements share a draw: 16 of its bits below the threshold leave an element out.
static void dropout(uint64_t key, uint64_t index, uint32_t threshold, float factor, const float *x, float *y, ptrdiff_t n, int accumulate) {
  enum { DRAWS = 64 };
  for (ptrdiff_t i = 0; i < n;) {
    const uint64_t first = (index + (uint64_t)i) / 4;
    const ptrdiff_t lead = (ptrdiff_t)((index + (uint64_t)i) % 4), some = n - i < 4 * DRAWS - lead ? n - i : 4 * DRAWS - lead;
    uint64_t draws[DRAWS];
    for (int d = 0; d < DRAWS; d++) {
      uint64_t z = key + (first + (uint64_t)d) * 0x9E3779B97F4A7C15u;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      draws[d] = z ^ (z >> 31);
    }
    uint16_t bits[4 * DRAWS];
    __builtin_memcpy(bits, draws, sizeof bits);
    for (ptrdiff_t j = 0; j < some; j++) {
      const float kept = bits[lead + j] < threshold ? 0 : factor * x[i + j];
      y[i + j] = accumulate ? y[i + j] + kept : kept;
    }
    i += some;
  }
}

// Loshchilov and Hutter, "Decoupled weight decay regularization" (2019), algorithm 2.
static void adamw(const dibit_adamw *o, const float *gradient, float *moment1, float *moment2, float *parameter, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const float g = gradient[i] * o->gradient_scale;
    moment1[i] = o->beta1 * moment1[i] + (1 - o->beta1) * g;
    moment2[i] = o->beta2 * moment2[i] + (1 - o->beta2) * g * g;
    const float step = moment1[i] * o->correction1 / (__builtin_sqrtf(moment2[i] * o->correction2) + o->epsilon);
    parameter[i] -= o->rate * (step + o->decay * parameter[i]);
  }
}

// y = activation(gate) up
INLINE void gate_kind(dibit_activation kind, const float *gate, const float *up, float *y, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    store_some(y + i, activate_v(kind, load_some(gate + i, some), NULL) * load_some(up + i, some), some);
  }
}

// dgate = dy up activation'(gate), dup = dy activation(gate)
INLINE void gate_backward_kind(dibit_activation kind, const float *dy, const float *gate, const float *up, float *dgate, float *dup,
                               ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    V slope;
    const V a = activate_v(kind, load_some(gate + i, some), &slope), u = load_some(up + i, some), d = load_some(dy + i, some);
    store_some(dup + i, d * a, some);
    store_some(dgate + i, d * u * slope, some);
  }
}

INLINE void activate_kind(dibit_activation kind, const float *x, float *y, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    store_some(y + i, activate_v(kind, load_some(x + i, some), NULL), some);
  }
}

INLINE void activate_backward_kind(dibit_activation kind, const float *dy, const float *x, float *dx, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    V slope;
    activate_v(kind, load_some(x + i, some), &slope);
    store_some(dx + i, load_some(dy + i, some) * slope, some);
  }
}

// One loop for each activation, so that the choice is made once and not in the loop.
static void gate(dibit_activation kind, const float *gate, const float *up, float *y, ptrdiff_t n) {
  switch (kind) {
  case DIBIT_SILU: gate_kind(DIBIT_SILU, gate, up, y, n); break;
  case DIBIT_GELU: gate_kind(DIBIT_GELU, gate, up, y, n); break;
  case DIBIT_GELU_TANH: gate_kind(DIBIT_GELU_TANH, gate, up, y, n); break;
  }
}

static void gate_backward(dibit_activation kind, const float *dy, const float *gate, const float *up, float *dgate, float *dup, ptrdiff_t n) {
  switch (kind) {
  case DIBIT_SILU: gate_backward_kind(DIBIT_SILU, dy, gate, up, dgate, dup, n); break;
  case DIBIT_GELU: gate_backward_kind(DIBIT_GELU, dy, gate, up, dgate, dup, n); break;
  case DIBIT_GELU_TANH: gate_backward_kind(DIBIT_GELU_TANH, dy, gate, up, dgate, dup, n); break;
  }
}

static void activate(dibit_activation kind, const float *x, float *y, ptrdiff_t n) {
  switch (kind) {
  case DIBIT_SILU: activate_kind(DIBIT_SILU, x, y, n); break;
  case DIBIT_GELU: activate_kind(DIBIT_GELU, x, y, n); break;
  case DIBIT_GELU_TANH: activate_kind(DIBIT_GELU_TANH, x, y, n); break;
  }
}

static void activate_backward(dibit_activation kind, const float *dy, const float *x, float *dx, ptrdiff_t n) {
  switch (kind) {
  case DIBIT_SILU: activate_backward_kind(DIBIT_SILU, dy, x, dx, n); break;
  case DIBIT_GELU: activate_backward_kind(DIBIT_GELU, dy, x, dx, n); break;
  case DIBIT_GELU_TANH: activate_backward_kind(DIBIT_GELU_TANH, dy, x, dx, n); break;
  }
}

static void soft_cap(float cap, float *x, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    store_some(x + i, tanh_v(load_some(x + i, some) / cap) * cap, some);
  }
}

static void soft_cap_backward(float cap, const float *y, float *dy, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const float t = y[i] / cap;
    dy[i] *= 1.0f - t * t;
  }
}
