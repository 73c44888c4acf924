// The compression function of SHA-256 (FIPS 180-4) over whole blocks.
#ifndef CDIBITDIGEST_H
#define CDIBITDIGEST_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Adds `count` blocks of 64 bytes to the eight words of `state`, with the CPU's own instructions where it has them.
void dibit_sha256(uint32_t *state, const uint8_t *blocks, size_t count);

/// The same for any CPU.
void dibit_sha256_portable(uint32_t *state, const uint8_t *blocks, size_t count);

/// Whether the CPU has instructions for it.
int dibit_sha256_is_accelerated(void);

#pragma clang assume_nonnull end
#endif
