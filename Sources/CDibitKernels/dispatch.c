#include "tables.h"

dibit_isa dibit_detected_isa(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    return DIBIT_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return DIBIT_AVX2;
#endif
  return DIBIT_SCALAR;
}

const dibit_kernels *dibit_kernels_for(dibit_isa isa) {
#if defined(__x86_64__)
  if (isa == DIBIT_AVX512) return &dibit_table_avx512;
  if (isa == DIBIT_AVX2) return &dibit_table_avx2;
#else
  (void)isa;
#endif
  return &dibit_table_scalar;
}
