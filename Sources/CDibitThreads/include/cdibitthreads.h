// What Swift cannot say about threads: the CPU's hint for loops that wait, Linux's futex, the CPUs of a thread, and closures that other
// threads call but nobody keeps.
#ifndef CDIBITTHREADS_H
#define CDIBITTHREADS_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// Tells the CPU that this loop waits for another thread.
static inline void dibit_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");  // `yield` does nothing on most cores; this takes about as long as x86's pause
#endif
}

/// Sleeps until `dibit_futex_wake(word)` if `*word` is `expected`; returns now and then for no reason.
void dibit_futex_wait(const void *word, uint32_t expected);

/// Wakes up to `threads` sleepers on `word`.
void dibit_futex_wake(const void *word, int threads);

/// Sets bit `i` of `mask`, `words` words of zeros, if the calling thread may run on CPU `i`; -1 when the system does not say.
int dibit_affinity(uint64_t *mask, size_t words);

/// Adds `more` to a count that the calling thread has for itself, and gives it back; it begins at zero.
intptr_t dibit_thread_count(intptr_t more);

/// A Swift closure `(Int, Int) -> Void`: its code, and its context where it captures anything.
typedef struct {
  const void *code;
  void *_Nullable context;
} dibit_body;

/// Calls the closure.
void dibit_body_run(const dibit_body *body, intptr_t task, intptr_t worker);

#pragma clang assume_nonnull end
#endif
