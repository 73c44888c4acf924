// What happens when the system has no more memory: one line on standard error and an exit code, in place of a trap somewhere.
#ifndef CDIBITMEMORY_H
#define CDIBITMEMORY_H

#include <stdint.h>

#pragma clang assume_nonnull begin

/// From now on memory that is refused to this process ends it: malloc and its relatives never return null, in no library. `clean` is called
/// once, behind the line: it may allocate a little, and must wait for no lock, for the thread may be anywhere, in the Swift runtime too. The
/// exit code is `code`. Processes that are forked later are left alone. Large blocks are mapped one by one from now on, and go back to the
/// system when they are freed.
void dibit_memory_watch(int code, void (*clean)(void));

/// Ends the process as above, because `bytes` bytes were refused.
_Noreturn void dibit_memory_refused(intptr_t bytes);

#pragma clang assume_nonnull end
#endif
