// What is done to every byte of a file, with the CPU's own instructions where it has them: digests and wider floats.
#ifndef CDIBITBYTES_H
#define CDIBITBYTES_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// The compression function of SHA-256 (FIPS 180-4): adds `count` blocks of 64 bytes to the eight words of `state`.
void dibit_sha256(uint32_t *state, const uint8_t *blocks, size_t count);

/// The same for any CPU.
void dibit_sha256_portable(uint32_t *state, const uint8_t *blocks, size_t count);

/// Whether the CPU has instructions for it.
int dibit_sha256_is_accelerated(void);

/// The floats with the values of `count` IEEE halves at any address. A NaN stays one; a signalling NaN may become quiet.
void dibit_widen_f16(const void *halves, float *floats, size_t count);

/// The same for any CPU.
void dibit_widen_f16_portable(const void *halves, float *floats, size_t count);

#pragma clang assume_nonnull end
#endif
