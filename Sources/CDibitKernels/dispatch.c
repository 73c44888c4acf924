#include "tables.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Tiles: AMX-TILE and AMX-INT8 are bits 24 and 25 of EDX in leaf 7 of CPUID; the system keeps their configuration and data if bits 17 and
// 18 of XCR0 are set, which can be read if OSXSAVE is, bit 27 of ECX in leaf 1.
static int has_tiles(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d >> 24 & 3) != 3) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3;
}

// Linux makes room for tile data in a process that asks for it, once for all of its threads; asking again does nothing.
static int may_use_tiles(void) {
  enum { request_permission = 0x1023, tile_data = 18 };  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// Products on tiles are used only where they agree with the other bodies, bit for bit: here sixteen outputs of 192 inputs, in three groups,
// for nineteen rows of activations of one byte and of two.
static int tiles_agree(void) {
  enum { inputs = 192, group = 64, rows = 19, outputs = 16 };
  _Alignas(64) uint8_t scratch[DIBIT_GRID_SCRATCH], elements[outputs * inputs / 4];
  _Alignas(64) int8_t codes[2 * rows * inputs];
  uint16_t scales[inputs / group * outputs];
  int32_t sums[rows * inputs / 16];
  float x[rows * inputs], half_steps[rows * inputs / group], tiled[rows * outputs], expected[rows * outputs];
  uint32_t random = 1;
  for (int i = 0; i < outputs * inputs / 4; i++) elements[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
  for (int i = 0; i < inputs / group * outputs; i++) scales[i] = (uint16_t)(0x2800 + ((random = random * 1664525 + 1013904223) >> 22));
  for (int i = 0; i < rows * inputs; i++) x[i] = (float)(int32_t)(random = random * 1664525 + 1013904223);
  const dibit_weight weight = {elements, scales, outputs, inputs, group, DIBIT_GRID2};
  const dibit_kernels *k = &dibit_table_avx512;
  for (int planes = 1; planes <= 2; planes++) {
    k->quantize_activations(planes, x, rows, inputs, codes, half_steps, sums, inputs);
    const dibit_activations activations = {codes, half_steps, sums, inputs, planes};
    dibit_table_amx.grid_matmul(&weight, 0, 1, &activations, 0, rows, tiled, outputs, scratch);
    for (int r = 0; r < rows; r++) k->grid_matvec(&weight, 0, 1, &activations, r, expected + r * outputs);
    if (memcmp(tiled, expected, sizeof tiled) != 0) return 0;
  }
  return 1;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

int dibit_has_isa(dibit_isa isa) {
  if (isa == DIBIT_SCALAR) return 1;
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
  case DIBIT_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  case DIBIT_AVXVNNI: return __builtin_cpu_supports("avxvnni") && __builtin_cpu_supports("f16c");
  case DIBIT_AVX512:
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vnni");
  case DIBIT_AVX512BF16: return dibit_has_isa(DIBIT_AVX512) && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi");
  case DIBIT_AMX: return dibit_has_isa(DIBIT_AVX512BF16) && has_tiles() && may_use_tiles() && tiles_agree();
  default: return 0;
  }
#elif defined(__aarch64__)
  return isa == DIBIT_NEON && (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return 0;
#endif
}

const dibit_kernels *dibit_kernels_for(dibit_isa isa) {
#if defined(__x86_64__)
  if (isa == DIBIT_AMX) return &dibit_table_amx;
  if (isa == DIBIT_AVX512BF16) return &dibit_table_avx512bf16;
  if (isa == DIBIT_AVX512) return &dibit_table_avx512;
  if (isa == DIBIT_AVXVNNI) return &dibit_table_avxvnni;
  if (isa == DIBIT_AVX2) return &dibit_table_avx2;
#elif defined(__aarch64__)
  if (isa == DIBIT_NEON) return &dibit_table_neon;
#else
  (void)isa;
#endif
  return &dibit_table_scalar;
}
