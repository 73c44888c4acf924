// The same bodies for AVX2 with dot products of bytes.
#include "tables.h"
#if defined(__x86_64__)
#define DIBIT_TABLE dibit_table_avxvnni
#define DIBIT_F16C
#define DIBIT_VNNI256
#pragma clang attribute push(__attribute__((target("avx2,f16c,avxvnni"))), apply_to = function)
#include "body/table.inc.h"
#pragma clang attribute pop
#endif
