// Sixteen floats at a time: one zmm, two ymm or four xmm registers. The summation order is fixed here and not by the ISA.
typedef float V __attribute__((vector_size(64)));
typedef int32_t VI __attribute__((vector_size(64)));
typedef uint32_t W __attribute__((vector_size(64)));
typedef V VU __attribute__((aligned(4)));  // the same, at any float's address
typedef W WU __attribute__((aligned(4)));
enum { LANES = 16 };

#define INLINE static inline __attribute__((always_inline))

INLINE ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

INLINE V load(const float *p) { return *(const VU *)p; }
INLINE void store(float *p, V v) { *(VU *)p = v; }
INLINE V splat(float x) { return x - (V){0}; }  // what is left of any x, -0 too, so that nothing is computed

// The first n floats, zeros behind them.
INLINE V load_some(const float *p, ptrdiff_t n) {
  if (n >= LANES) return load(p);
  V v = {0};
  __builtin_memcpy(&v, p, (size_t)n * sizeof(float));
  return v;
}
INLINE void store_some(float *p, V v, ptrdiff_t n) {
  if (n >= LANES) store(p, v);
  else __builtin_memcpy(p, &v, (size_t)n * sizeof(float));
}

// The lanes added as a balanced tree.
INLINE float sum(V v) {
  float a[8], b[4];
  for (int i = 0; i < 8; i++) a[i] = v[i] + v[i + 8];
  for (int i = 0; i < 4; i++) b[i] = a[i] + a[i + 4];
  return (b[0] + b[2]) + (b[1] + b[3]);
}

INLINE V select_v(VI mask, V yes, V no) { return (V)((mask & (VI)yes) | (~mask & (VI)no)); }
INLINE V max_v(V a, V b) { return select_v(a > b, a, b); }

// sum(a[i] x[i]) for vectors x, four sums so that they do not wait for each other.
INLINE V weighted_sum(const float *a, const float *x, ptrdiff_t n) {
  V s[4] = {{0}};
  ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) s[k] += splat(a[i + k]) * load(x + (i + k) * LANES);
  for (; i < n; i++) s[0] += splat(a[i]) * load(x + i * LANES);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// e^x within 2 units in the last place for x in [-87, 88], clamped outside: 2^n times a polynomial on [-ln2/2, ln2/2]
// (coefficients: Cephes, expf).
INLINE V exp_v(V x) {
  x = select_v(x < -87.0f, splat(-87.0f), select_v(x > 88.0f, splat(88.0f), x));
  V shifted = x * 1.44269504088896341f + 12582912.0f;  // adding 1.5 * 2^23 rounds to the nearest integer
  V n = shifted - 12582912.0f;
  V r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  V p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  V y = p * (r * r) + r + 1.0f;
  VI exponent = (__builtin_convertvector(n, VI) + 127) << 23;
  return y * (V)exponent;
}

INLINE V sigmoid_v(V x) { return 1.0f / (1.0f + exp_v(-x)); }

// Within 2 units in the last place (Cephes, tanhf): a polynomial near zero, where 1 - 2 / (e^2x + 1) would cancel.
INLINE V tanh_v(V x) {
  const VI sign = (VI)x & (int32_t)0x80000000;
  const V a = (V)((VI)x ^ sign), z = x * x;
  V p = splat(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z + -5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z + -3.33332819422e-1f;
  const V near = p * z * x + x, far = 1.0f - 2.0f / (exp_v(a + a) + 1.0f);
  return select_v(a < 0.625f, near, (V)((VI)far | sign));
}

// Within 2 units in the last place (Cephes, erff and erfcf).
INLINE V erf_v(V x) {
  const VI sign = (VI)x & (int32_t)0x80000000;
  const V a = (V)((VI)x ^ sign), z = x * x, b = select_v(a < 1.0f, splat(1.0f), a), q = 1.0f / b, y = q * q;
  V n = splat(7.853861353153693e-5f);
  n = n * z + -8.010193625184903e-4f;
  n = n * z + 5.188327685732524e-3f;
  n = n * z + -2.685381193529856e-2f;
  n = n * z + 1.128358514861418e-1f;
  n = n * z + -3.761262582423300e-1f;
  n = n * z + 1.128379165726710e0f;
  V p = splat(2.326819970068386e-2f);
  p = p * y + -1.387039388740657e-1f;
  p = p * y + 3.687424674597105e-1f;
  p = p * y + -5.824733027278666e-1f;
  p = p * y + 6.210004621745983e-1f;
  p = p * y + -4.944515323274145e-1f;
  p = p * y + 3.404879937665872e-1f;
  p = p * y + -2.741127028184656e-1f;
  p = p * y + 5.638259427386472e-1f;
  V r = splat(-1.047766399936249e1f);
  r = r * y + 1.297719955372516e1f;
  r = r * y + -7.495518717768503e0f;
  r = r * y + 2.921019019210786e0f;
  r = r * y + -1.015265279202700e0f;
  r = r * y + 4.218463358204948e-1f;
  r = r * y + -2.820767439740514e-1f;
  r = r * y + 5.641895067754075e-1f;
  const V far = 1.0f - exp_v(-(b * b)) * q * select_v(b < 2.0f, p, r);
  return select_v(a < 1.0f, n * x, (V)((VI)far | sign));
}

// activation(x), and with `slope` its derivative.
INLINE V activate_v(dibit_activation kind, V x, V *slope) {
  if (kind == DIBIT_SILU) {
    const V s = sigmoid_v(x);
    if (slope) *slope = s * (1.0f + x * (1.0f - s));
    return x * s;
  }
  if (kind == DIBIT_GELU) {
    const V half = 0.5f * (1.0f + erf_v(x * 0.70710678118654752440f));
    if (slope) *slope = half + x * (exp_v(-0.5f * (x * x)) * 0.39894228040143267794f);
    return x * half;
  }
  const V square = x * x, t = tanh_v(0.79788456080286535588f * (x + 0.044715f * (square * x)));
  if (slope)
    *slope = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (0.79788456080286535588f * (1.0f + 3 * 0.044715f * square));
  return 0.5f * x * (1.0f + t);
}

INLINE float dot(const float *restrict x, const float *restrict y, ptrdiff_t n) {
  V a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
  ptrdiff_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    a0 += load(x + i) * load(y + i);
    a1 += load(x + i + LANES) * load(y + i + LANES);
    a2 += load(x + i + 2 * LANES) * load(y + i + 2 * LANES);
    a3 += load(x + i + 3 * LANES) * load(y + i + 3 * LANES);
  }
  for (; i + LANES <= n; i += LANES) a0 += load(x + i) * load(y + i);
  if (i < n) a1 += load_some(x + i, n - i) * load_some(y + i, n - i);
  return sum((a0 + a1) + (a2 + a3));
}

// y += a x
INLINE void axpy(float a, const float *restrict x, float *restrict y, ptrdiff_t n) {
  ptrdiff_t i = 0;
  for (; i + LANES <= n; i += LANES) store(y + i, load(y + i) + load(x + i) * a);
  if (i < n) store_some(y + i, load_some(y + i, n - i) + load_some(x + i, n - i) * a, n - i);
}

// Exact for every half, subnormals included: the exponent is moved by a multiplication that cannot round.
INLINE float half_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7FFF) << 13;
  union { uint32_t u; float f; } bits = {magnitude};
  bits.f *= 0x1p112f;
  if ((h & 0x7C00) == 0x7C00) bits.u |= 0x7F800000u;
  bits.u |= sign;
  return bits.f;
}

// Round to nearest, ties to even; finite values beyond 65504 give 65504, because a scale must stay finite.
INLINE uint16_t float_to_half_saturated(float x) {
  union { float f; uint32_t u; } bits = {x};
  uint16_t sign = (uint16_t)(bits.u >> 16 & 0x8000);
  bits.u &= 0x7FFFFFFF;
  if (bits.f >= 65504.0f) return sign | 0x7BFF;
  if (bits.f < 0x1p-14f) {  // subnormal half: the addition rounds at the right place
    union { float f; uint32_t u; } shifted = {bits.f + 0.5f};
    return sign | (uint16_t)(shifted.u - 0x3F000000u);
  }
  return sign | (uint16_t)((bits.u - 0x38000000u + 0xFFF + (bits.u >> 13 & 1)) >> 13);
}

// Sums of squares of what is rounded and of what that loses.
typedef double VD __attribute__((vector_size(128)));

typedef struct { VD signal, noise; } energies;

INLINE double sum_d(VD v) {
  double a[8], b[4];
  for (int i = 0; i < 8; i++) a[i] = v[i] + v[i + 8];
  for (int i = 0; i < 4; i++) b[i] = a[i] + a[i + 4];
  return (b[0] + b[2]) + (b[1] + b[3]);
}
