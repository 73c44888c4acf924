// Counts heap allocations, for tests that assert that there are none.
#ifndef CALLOCATIONCOUNT_H
#define CALLOCATIONCOUNT_H

/// Heap allocations of the calling thread since it began; -1 where they are not counted, under a sanitizer or another libc than glibc.
long allocation_count_of_thread(void);

/// Heap allocations of all threads since the process began; -1 likewise.
long allocation_count_of_process(void);

/// Writes a backtrace to standard error for each allocation of this thread: to find what a failing test allocates.
void allocation_trace(int on);

#endif
