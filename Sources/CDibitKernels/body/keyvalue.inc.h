// Keys and values as they are stored. Readers see floats in rows that are padded with zeros to whole vectors.

INLINE ptrdiff_t round_up(ptrdiff_t n) { return (n + LANES - 1) / LANES * LANES; }

// The cache row of the t-th key that a segment's queries see.
INLINE ptrdiff_t key_row(const dibit_segment *s, ptrdiff_t t) { return t < s->prefix_rows ? s->prefix + t : s->own + (t - s->prefix_rows); }

// Sixteen codes, or the first n and zeros.
INLINE V signed_codes_v(const int8_t *codes, ptrdiff_t n) {
  typedef int8_t B __attribute__((vector_size(16)));
  B bytes = {0};
  if (n >= LANES) __builtin_memcpy(&bytes, codes, LANES);
  else __builtin_memcpy(&bytes, codes, (size_t)n);
  return __builtin_convertvector(__builtin_convertvector(bytes, VI), V);
}

// Sixteen halves, or the first n and zeros; exact, as half_to_float.
INLINE V halves_v(const uint16_t *halves, ptrdiff_t n) {
  typedef uint16_t S __attribute__((vector_size(32)));
  S shorts = {0};
  if (n >= LANES) __builtin_memcpy(&shorts, halves, 2 * LANES);
  else __builtin_memcpy(&shorts, halves, 2 * (size_t)n);
  const VI bits = __builtin_convertvector(shorts, VI);
  const V magnitude = (V)((bits & 0x7FFF) << 13) * 0x1p112f;
  const VI special = ((bits & 0x7C00) == 0x7C00) & 0x7F800000;
  return (V)((VI)magnitude | special | (bits & 0x8000) << 16);
}

// Elements [d, d + 16) of one head of one row, zeros from `D` on.
INLINE V kv_vector(dibit_kv_format format, const void *elements, ptrdiff_t at, float scale, ptrdiff_t d, ptrdiff_t D) {
  switch (format) {
  case DIBIT_KV_F32: return load_some((const float *)elements + at + d, D - d);
  case DIBIT_KV_F16: return halves_v((const uint16_t *)elements + at + d, D - d);
  case DIBIT_KV_I8:
  case DIBIT_KV_I8_SCALED: break;
  }
  return signed_codes_v((const int8_t *)elements + at + d, D - d) * scale;
}

// Rows between what is read and what is asked for.
enum { PREFETCHED = 16 };

INLINE uintptr_t kv_bytes(dibit_kv_format format) { return format == DIBIT_KV_F32 ? 4 : format == DIBIT_KV_F16 ? 2 : 1; }

INLINE void expand_keys_as(dibit_kv_format format, const dibit_kv *kv, const dibit_segment *s, ptrdiff_t first, ptrdiff_t count,
                           ptrdiff_t kv_head, ptrdiff_t kv_heads, ptrdiff_t D, float *restrict out) {
  for (ptrdiff_t t = first; t < first + count; t++) {
    const ptrdiff_t at = key_row(s, t) * kv_heads + kv_head;
    const float scale = format == DIBIT_KV_I8_SCALED ? kv->scales[at] : kv->scale;
    // Rows of all heads lie between those of one: the hardware does not see what comes. An address of no memory is ignored.
    const uintptr_t ahead = (uintptr_t)((key_row(s, t + PREFETCHED) * kv_heads + kv_head) * D) * kv_bytes(format);
    __builtin_prefetch((const void *)((uintptr_t)kv->elements + ahead));
    for (ptrdiff_t d = 0; d < D; d += LANES, out += LANES) store(out, kv_vector(format, kv->elements, at * D, scale, d, D));
  }
}

// One head's keys or values [first, first + count) of a segment as floats, [count, round_up(D)].
static void expand_keys(const dibit_kv *kv, const dibit_segment *s, ptrdiff_t first, ptrdiff_t count, ptrdiff_t kv_head, ptrdiff_t kv_heads,
                        ptrdiff_t D, float *out) {
  switch (kv->format) {
  case DIBIT_KV_F32: expand_keys_as(DIBIT_KV_F32, kv, s, first, count, kv_head, kv_heads, D, out); break;
  case DIBIT_KV_F16: expand_keys_as(DIBIT_KV_F16, kv, s, first, count, kv_head, kv_heads, D, out); break;
  case DIBIT_KV_I8: expand_keys_as(DIBIT_KV_I8, kv, s, first, count, kv_head, kv_heads, D, out); break;
  case DIBIT_KV_I8_SCALED: expand_keys_as(DIBIT_KV_I8_SCALED, kv, s, first, count, kv_head, kv_heads, D, out); break;
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

// One scale for each of `heads` runs of D elements: scale = max|x| / 127, codes = round(x / scale), ties to even; x becomes
// codes * scale. A run that holds something that is not finite gets a scale that is not, so that nothing hides it.
static void quantize_heads_i8(float *x, int8_t *codes, float *scales, ptrdiff_t heads, ptrdiff_t D) {
  const VI magnitude = (VI){0} + 0x7FFFFFFF;
  for (ptrdiff_t h = 0; h < heads; h++, x += D, codes += D) {
    V largest = {0}, odd = {0};
    for (ptrdiff_t d = 0; d < D; d += LANES) {
      const V v = load_some(x + d, D - d);
      largest = max_v(largest, (V)((VI)v & magnitude));
      odd += v - v;
    }
    float top = 0;
    for (int i = 0; i < LANES; i++) top = largest[i] > top ? largest[i] : top;
    const float scale = top / 127.0f + sum(odd), divisor = scale != 0 ? scale : 1.0f;
    scales[h] = scale;
    for (ptrdiff_t d = 0; d < D; d += LANES) {
      const ptrdiff_t n = D - d < LANES ? D - d : LANES;
      V q = load_some(x + d, n) / divisor;
      q = select_v(q > -127.0f, q, splat(-127.0f));
      q = select_v(q < 127.0f, q, splat(127.0f));
      q = (q + 12582912.0f) - 12582912.0f;  // adding 1.5 * 2^23 rounds to the nearest integer
      store_some(x + d, q * scale, n);
      typedef int8_t B __attribute__((vector_size(16)));
      const B bytes = __builtin_convertvector(__builtin_convertvector(q, VI), B);
      __builtin_memcpy(codes + d, &bytes, (size_t)n);
    }
  }
}

// Halves, ties to even; x becomes what they hold. Finite values stay finite.
static void round_f16(float *x, uint16_t *halves, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    union { float f; uint32_t u; } bits = {x[i]};
    const int special = (bits.u & 0x7F800000) == 0x7F800000;
    const uint16_t odd = (uint16_t)((bits.u >> 16 & 0x8000) | ((bits.u & 0x7FFFFF) ? 0x7E00 : 0x7C00));
    halves[i] = special ? odd : float_to_half_saturated(x[i]);
    x[i] = half_to_float(halves[i]);
  }
}
