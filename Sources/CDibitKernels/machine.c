// What the machine can do at most, so that a measured rate can be given as a share of it: reading memory, and multiplying and adding
// in registers. The loops use the best instructions of each tier's CPUs, also those that the tier's own bodies leave alone.
#define _GNU_SOURCE
#include "cdibit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Independent chains: more than latency times throughput of any CPU of these tiers, and few enough for its registers.
enum { CHAINS = 12 };

// The compiler must neither guess `x` nor leave out what made it.
#define KEEP(x) __asm__ volatile("" : "+v"(x))

typedef uint64_t words __attribute__((vector_size(64)));

// One load for each 64 bytes; the result depends on all of them.
static inline __attribute__((always_inline)) uint64_t read_words(const words *p, ptrdiff_t n) {
  words a = {0}, b = {0}, c = {0}, d = {0};
  ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4) a ^= p[i], b ^= p[i + 1], c ^= p[i + 2], d ^= p[i + 3];
  for (; i < n; i++) a ^= p[i];
  a ^= b ^ c ^ d;
  uint64_t all = 0;
  for (int l = 0; l < 8; l++) all ^= a[l];
  return all;
}

static uint64_t read_scalar(const words *p, ptrdiff_t n) { return read_words(p, n); }

#if defined(__x86_64__)
#define TARGET(features) __attribute__((target(features), min_vector_width(512)))

TARGET("avx2") static uint64_t read_avx2(const words *p, ptrdiff_t n) { return read_words(p, n); }
TARGET("avx512f,avx512dq") static uint64_t read_avx512(const words *p, ptrdiff_t n) { return read_words(p, n); }

// A product of four bytes each and its sum, as kernels without VNNI make it: three instructions; one with it.
TARGET("avx2") static ptrdiff_t multiply_i8_avx2(ptrdiff_t rounds) {
  __m256i sums[CHAINS], a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-2);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int i = 0; i < CHAINS; i++) sums[i] = _mm256_set1_epi32(i);
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP(a);
      sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  for (int i = 0; i < CHAINS; i++) KEEP(sums[i]);
  return rounds * CHAINS * 32;
}

TARGET("avx2,avxvnni") static ptrdiff_t multiply_i8_avxvnni(ptrdiff_t rounds) {
  __m256i sums[CHAINS], a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-2);
  for (int i = 0; i < CHAINS; i++) sums[i] = _mm256_set1_epi32(i);
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP(a);
      sums[i] = _mm256_dpbusd_avx_epi32(sums[i], a, b);
    }
  for (int i = 0; i < CHAINS; i++) KEEP(sums[i]);
  return rounds * CHAINS * 32;
}

TARGET("avx512f,avx512vnni") static ptrdiff_t multiply_i8_avx512(ptrdiff_t rounds) {
  __m512i sums[CHAINS], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2);
  for (int i = 0; i < CHAINS; i++) sums[i] = _mm512_set1_epi32(i);
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP(a);
      sums[i] = _mm512_dpbusd_epi32(sums[i], a, b);
    }
  for (int i = 0; i < CHAINS; i++) KEEP(sums[i]);
  return rounds * CHAINS * 64;
}

TARGET("avx2,fma") static ptrdiff_t multiply_f32_avx2(ptrdiff_t rounds) {
  __m256 sums[CHAINS], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.5f);
  for (int i = 0; i < CHAINS; i++) sums[i] = _mm256_set1_ps((float)i);
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP(a);
      sums[i] = _mm256_fmadd_ps(sums[i], a, b);
    }
  for (int i = 0; i < CHAINS; i++) KEEP(sums[i]);
  return rounds * CHAINS * 8;
}

TARGET("avx512f") static ptrdiff_t multiply_f32_avx512(ptrdiff_t rounds) {
  __m512 sums[CHAINS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.5f);
  for (int i = 0; i < CHAINS; i++) sums[i] = _mm512_set1_ps((float)i);
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP(a);
      sums[i] = _mm512_fmadd_ps(sums[i], a, b);
    }
  for (int i = 0; i < CHAINS; i++) KEEP(sums[i]);
  return rounds * CHAINS * 16;
}
#endif

// In registers of 128 bits, which every 64-bit CPU has. There KEEP needs a constraint that names them on any architecture.
typedef float floats __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));
#if defined(__aarch64__)
#define KEEP_SMALL(x) __asm__ volatile("" : "+w"(x))
#elif defined(__x86_64__)
#define KEEP_SMALL(x) __asm__ volatile("" : "+x"(x))
#else
#define KEEP_SMALL(x) __asm__ volatile("" : "+m"(x))
#endif

static ptrdiff_t multiply_f32_scalar(ptrdiff_t rounds) {
  floats sums[CHAINS], a = (floats){0} + 0.999f, b = (floats){0} + 0.5f;
  for (int i = 0; i < CHAINS; i++) sums[i] = (floats){0} + (float)i;
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP_SMALL(a);
      sums[i] = sums[i] * a + b;
    }
  for (int i = 0; i < CHAINS; i++) KEEP_SMALL(sums[i]);
  return rounds * CHAINS * 4;
}

// Bytes that were widened before, as portable code multiplies them.
static ptrdiff_t multiply_i8_scalar(ptrdiff_t rounds) {
  ints sums[CHAINS], a = (ints){0} + 3, b = (ints){0} - 2;
  for (int i = 0; i < CHAINS; i++) sums[i] = (ints){0} + i;
  for (ptrdiff_t r = 0; r < rounds; r++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
      KEEP_SMALL(a);
      sums[i] += a * b;
    }
  for (int i = 0; i < CHAINS; i++) KEEP_SMALL(sums[i]);
  return rounds * CHAINS * 4;
}

uint64_t dibit_machine_read(dibit_isa isa, const void *bytes, ptrdiff_t count) {
  const words *p = (const words *)bytes;
  const ptrdiff_t n = count / (ptrdiff_t)sizeof(words);
#if defined(__x86_64__)
  if (isa >= DIBIT_AVX512) return read_avx512(p, n);
  if (isa >= DIBIT_AVX2) return read_avx2(p, n);
#else
  (void)isa;
#endif
  return read_scalar(p, n);
}

ptrdiff_t dibit_machine_multiply_i8(dibit_isa isa, ptrdiff_t rounds) {
#if defined(__x86_64__)
  if (isa >= DIBIT_AVX512) return multiply_i8_avx512(rounds);
  if (isa == DIBIT_AVXVNNI) return multiply_i8_avxvnni(rounds);
  if (isa >= DIBIT_AVX2) return multiply_i8_avx2(rounds);
#else
  (void)isa;
#endif
  return multiply_i8_scalar(rounds);
}

ptrdiff_t dibit_machine_multiply_f32(dibit_isa isa, ptrdiff_t rounds) {
#if defined(__x86_64__)
  if (isa >= DIBIT_AVX512) return multiply_f32_avx512(rounds);
  if (isa >= DIBIT_AVX2) return multiply_f32_avx2(rounds);
#else
  (void)isa;
#endif
  return multiply_f32_scalar(rounds);
}

// A file with a size such as 32768K; 0 where there is none.
static ptrdiff_t size_in(const char *path) {
  char text[32] = {0};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  char *unit = text;
  const long size = count > 0 ? strtol(text, &unit, 10) : 0;
  return size <= 0 || size > 1 << 30 ? 0 : (ptrdiff_t)size << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
}

// What one CPU may use: the C library's figure is the sum of all caches of the machine, also of those of other guests.
ptrdiff_t dibit_machine_cache(void) {
  ptrdiff_t largest = size_in("/sys/devices/system/cpu/cpu0/cache/index3/size");
  if (largest > 0) return largest;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const int levels[] = {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE};
  for (int i = 0; i < 3; i++) {
    const long size = sysconf(levels[i]);
    if (size > largest) largest = size;
  }
#endif
  return largest;
}
