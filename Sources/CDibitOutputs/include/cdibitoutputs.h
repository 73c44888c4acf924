// The outputs of this process that are not whole yet, kept where they can be removed from any state of the process: the Swift runtime may
// hold locks of its own where memory ends, and code in Swift would wait for them.
#ifndef CDIBITOUTPUTS_H
#define CDIBITOUTPUTS_H

#include <stdbool.h>

#pragma clang assume_nonnull begin

/// Enters the file or directory `path`, once however often it is entered. False where there is no memory for it.
bool dibit_outputs_add(const char *path);

/// Forgets `path`, which is whole now or gone.
void dibit_outputs_remove(const char *path);

/// Removes `path`, a directory with what it holds, and forgets it then: without memory of the heap, whose end may be why it is not wanted.
void dibit_outputs_discard(const char *path);

/// Whether `path` is entered.
bool dibit_outputs_contains(const char *path);

/// Removes all that is entered, directories with what they hold, and forgets it. Links are removed and not followed.
void dibit_outputs_clean_up(void);

#pragma clang assume_nonnull end
#endif
