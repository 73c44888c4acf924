#define _GNU_SOURCE
#include "cdibitthreads.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void dibit_futex_wait(const void *word, uint32_t expected) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0); }

void dibit_futex_wake(const void *word, int threads) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0); }

int dibit_affinity(uint64_t *mask, size_t words) { return sched_getaffinity(0, words * sizeof *mask, (cpu_set_t *)mask); }
