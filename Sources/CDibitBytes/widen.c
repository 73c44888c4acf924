#include "cdibitbytes.h"

void dibit_widen_f16_portable(const void *halves, float *floats, size_t count) {
  const unsigned char *bytes = halves;
  for (size_t i = 0; i < count; i++) {
    uint16_t h;
    __builtin_memcpy(&h, bytes + 2 * i, 2);
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7FFF) << 13;
    // Normal: the exponent's bias moves from 15 to 127. Infinity and NaN: all exponent bits, payload kept. Subnormal: m/1024 is
    // added to 2^-14 as a fraction, then 2^-14 is taken away; exact, and no slow operation on a subnormal float.
    union { uint32_t u; float f; } small = {magnitude + (113u << 23)};
    small.f -= 0x1p-14f;
    const uint32_t value = magnitude < 1u << 23 ? small.u : magnitude >= 31u << 23 ? magnitude | 0xFFu << 23 : magnitude + (112u << 23);
    const union { uint32_t u; float f; } result = {value | sign};
    floats[i] = result.f;
  }
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static void accelerated(const void *halves, float *floats, size_t count) {
  const unsigned char *bytes = halves;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(floats + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(bytes + 2 * i))));
  dibit_widen_f16_portable(bytes + 2 * i, floats + i, count - i);
}
#endif

void dibit_widen_f16(const void *halves, float *floats, size_t count) {
#if defined(__x86_64__)
  // Asks about the operating system too, which must save the wide registers.
  if (__builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx")) {
    accelerated(halves, floats, count);
    return;
  }
#endif
  dibit_widen_f16_portable(halves, floats, count);
}
