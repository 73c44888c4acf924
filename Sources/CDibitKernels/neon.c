// The bodies for 64-bit ARM with dot products of bytes.
#include "tables.h"
#if defined(__aarch64__)
#include <arm_neon.h>
#define DIBIT_TABLE dibit_table_neon
#define DIBIT_F16C
#define DIBIT_DOTPROD
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#include "body/table.inc.h"
#pragma clang attribute pop
#endif
