// The bodies for AVX-512 with BF16, with products of packed weights and many rows on tiles.
#include "tables.h"
#if defined(__x86_64__)
#define DIBIT_TABLE dibit_table_amx
#define DIBIT_F16C
#define DIBIT_VNNI512
#define DIBIT_WIDE 1
#define DIBIT_BFLOAT
#define DIBIT_VBMI
#define DIBIT_TILES
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vnni,avx512bf16,avx512vbmi,f16c,amx-tile,amx-int8"), min_vector_width(512))), apply_to = function)
#include "body/table.inc.h"
#pragma clang attribute pop
#endif
