// The same bodies for AVX2. FMA is left out of the target: the bodies never ask for it.
#include "tables.h"
#if defined(__x86_64__)
#define DIBIT_TABLE dibit_table_avx2
#define DIBIT_F16C
#define DIBIT_MADD256
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#include "body/table.inc.h"
#pragma clang attribute pop
#endif
