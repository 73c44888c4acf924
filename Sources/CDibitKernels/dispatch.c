#include "tables.h"

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
  default: return 0;
  }
#else
  return 0;
#endif
}

const dibit_kernels *dibit_kernels_for(dibit_isa isa) {
#if defined(__x86_64__)
  if (isa == DIBIT_AVX512) return &dibit_table_avx512;
  if (isa == DIBIT_AVXVNNI) return &dibit_table_avxvnni;
  if (isa == DIBIT_AVX2) return &dibit_table_avx2;
#else
  (void)isa;
#endif
  return &dibit_table_scalar;
}
