#define _GNU_SOURCE
#include "cdibitthreads.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void dibit_futex_wait(const void *word, uint32_t expected) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0); }

void dibit_futex_wake(const void *word, int threads) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0); }

int dibit_affinity(uint64_t *mask, size_t words) { return sched_getaffinity(0, words * sizeof *mask, (cpu_set_t *)mask); }

intptr_t dibit_thread_count(intptr_t more) {
  static _Thread_local intptr_t count;
  return count += more;
}

// A closure is two words, called by the convention that Clang knows as `swiftcall` with its context in a register of its own. One that
// does not escape lies on the stack of whoever made it. Swift would store it only in a copy on the heap, for each loop anew.
typedef __attribute__((swiftcall)) void body_code(intptr_t task, intptr_t worker, __attribute__((swift_context)) void *context);

/// ThreadPool.swift declares it: calls `borrow` with a closure, which lives so long.
__attribute__((swiftcall)) void dibit_body_lend(
    const void *code, void *context, void *argument, void (*borrow)(const dibit_body *body, void *argument)) {
  const dibit_body body = {code, context};
  borrow(&body, argument);
}

void dibit_body_run(const dibit_body *body, intptr_t task, intptr_t worker) { ((body_code *)body->code)(task, worker, body->context); }
