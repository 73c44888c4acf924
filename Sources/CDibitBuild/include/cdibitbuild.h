// Which sources the program was built from. `make build` passes it in the environment; other builds do not know.
#ifndef CDIBITBUILD_H
#define CDIBITBUILD_H

#include <stdbool.h>
#include <stdint.h>

/// The first seven hexadecimal digits of the commit as a number; 0 when it is not known.
uint32_t dibit_build_commit(void);

/// Whether the sources differed from that commit.
bool dibit_build_is_modified(void);

#endif
