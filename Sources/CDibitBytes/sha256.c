#include "cdibitbytes.h"

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t big_endian(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

void dibit_sha256_portable(uint32_t *state, const uint8_t *blocks, size_t count) {
  for (; count > 0; count--, blocks += 64) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) w[i] = big_endian(blocks + 4 * i);
    for (int i = 16; i < 64; i++) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7] + (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) v[i] = state[i];
    for (int i = 0; i < 64; i += 8) {
      // The eight words move on by one position each round; instead of the words, their names rotate.
#pragma clang loop unroll(full)
      for (int j = 0; j < 8; j++) {
        const uint32_t a = v[-j & 7], b = v[(1 - j) & 7], c = v[(2 - j) & 7];
        const uint32_t e = v[(4 - j) & 7], f = v[(5 - j) & 7], g = v[(6 - j) & 7];
        uint32_t *d = &v[(3 - j) & 7], *h = &v[(7 - j) & 7];
        *h += (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[i + j] + w[i + j];
        *d += *h;
        *h += (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      }
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
  }
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

// SHA extensions: CPUID leaf 7, EBX bit 29; the code also needs SSE4.1 (leaf 1, ECX bit 19) and SSSE3 (bit 9).
int dibit_sha256_is_accelerated(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 19) || !(c & 1u << 9)) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29) != 0;
}

// The instructions keep the state as (A B E F) and (C D G H), high words first, and make two rounds from two sums w + k.
__attribute__((target("sha,sse4.1,ssse3"))) static void accelerated(uint32_t *state, const uint8_t *blocks, size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  const __m128i dcba = _mm_loadu_si128((const __m128i *)state), hgfe = _mm_loadu_si128((const __m128i *)(state + 4));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; count--, blocks += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
      __m128i *now = &w[i & 3];
      if (i < 4) {
        *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)blocks + i), swap);
      } else {
        // w[t] = s1(w[t-2]) + w[t-7] + s0(w[t-15]) + w[t-16], four at a time.
        const __m128i last = w[(i + 3) & 3], before = w[(i + 2) & 3];
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) & 3]), _mm_alignr_epi8(last, before, 4));
        *now = _mm_sha256msg2_epu32(sum, last);
      }
      const __m128i terms = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)constants + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, terms);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(terms, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
int dibit_sha256_is_accelerated(void) { return 0; }
#endif

void dibit_sha256(uint32_t *state, const uint8_t *blocks, size_t count) {
#if defined(__x86_64__)
  static const uint8_t unknown = 0, present = 1, absent = 2;
  static uint8_t known;
  uint8_t seen = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (seen == unknown) {
    seen = dibit_sha256_is_accelerated() ? present : absent;
    __atomic_store_n(&known, seen, __ATOMIC_RELAXED);
  }
  if (seen == present) {
    accelerated(state, blocks, count);
    return;
  }
#endif
  dibit_sha256_portable(state, blocks, count);
}
