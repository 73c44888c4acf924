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

static void swiglu(const float *gate, const float *up, float *y, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    const V g = load_some(gate + i, some);
    store_some(y + i, g * sigmoid_v(g) * load_some(up + i, some), some);
  }
}

static void swiglu_backward(const float *dy, const float *gate, const float *up, float *dgate, float *dup, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += LANES) {
    const ptrdiff_t some = n - i < LANES ? n - i : LANES;
    const V g = load_some(gate + i, some), u = load_some(up + i, some), d = load_some(dy + i, some), s = sigmoid_v(g);
    store_some(dup + i, load_some(dup + i, some) + d * (g * s), some);
    store_some(dgate + i, load_some(dgate + i, some) + d * u * (s * (1.0f + g * (1.0f - s))), some);
  }
}

// codes = clip(round(x / scale), -128, 127), ties to even; x becomes codes * scale.
static void fake_quantize_i8(float scale, float *x, int8_t *codes, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const float q = __builtin_fminf(__builtin_fmaxf(__builtin_rintf(x[i] / scale), -128.0f), 127.0f);
    x[i] = q * scale;
    if (codes) codes[i] = (int8_t)q;
  }
}

// Straight through, but nothing passes where the code is at the end of its range.
static void fake_quantize_i8_backward(float scale, const float *x, float *dx, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++)
    if (x[i] <= -128.0f * scale || x[i] >= 127.0f * scale) dx[i] = 0;
}
