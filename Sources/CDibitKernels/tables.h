#ifndef DIBIT_TABLES_H
#define DIBIT_TABLES_H
#include "cdibit.h"
extern const dibit_kernels dibit_table_scalar, dibit_table_avx2, dibit_table_avxvnni, dibit_table_avx512, dibit_table_avx512bf16,
  dibit_table_amx, dibit_table_neon;
#endif
