#include "cdibitbuild.h"

#ifndef DIBIT_COMMIT
#define DIBIT_COMMIT 0
#endif
#ifndef DIBIT_IS_MODIFIED
#define DIBIT_IS_MODIFIED 0
#endif

uint32_t dibit_build_commit(void) { return DIBIT_COMMIT; }

bool dibit_build_is_modified(void) { return DIBIT_IS_MODIFIED; }
