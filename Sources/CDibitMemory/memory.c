// A program's own malloc takes the place of glibc's for every library it loads, the Swift runtime included, which traps where it gets null.
// It forwards, and looks at the result: the heap stays glibc's, so what it gives, any free takes.
#include "cdibitmemory.h"
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { reserve_bytes = 1 << 20, stack_bytes = 1 << 20, mapped_bytes = 1 << 20 };

static atomic_int watcher;  // the process that watches; 0 for none
static atomic_int ending;
static int exit_code;
static void (*clean_up)(void);
static void *reserve;

// The stack of the first thread grows page by page, and where it cannot the process is killed: it takes what a command needs at once.
__attribute__((noinline)) static void grow_stack(void) {
  volatile char pages[stack_bytes];
  for (int at = 0; at < stack_bytes; at += 4096) pages[at] = 0;
}

void dibit_memory_watch(int code, void (*clean)(void)) {
  exit_code = code;
  clean_up = clean;
  // glibc would raise this bound with what is freed, and keep copies that a model was made from in a heap full of holes.
  mallopt(M_MMAP_THRESHOLD, mapped_bytes);
  reserve = malloc(reserve_bytes);
  // Asked for first: a stack that cannot grow ends the process without a word.
  void *stack = mmap(0, stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!reserve || stack == MAP_FAILED) dibit_memory_refused(reserve ? stack_bytes : reserve_bytes);
  munmap(stack, stack_bytes);
  grow_stack();
  atomic_store(&watcher, (int)getpid());
}

static void say(intptr_t bytes) {
  // No line of stdio's: its buffer would be allocated.
  char line[256];
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &limit);
  const char *start = isatty(STDERR_FILENO) ? "\r\033[K" : "";
  int length = limit.rlim_cur == RLIM_INFINITY
                   ? snprintf(line, sizeof line, "%serror: out of memory: %lld more bytes were refused\n", start, (long long)bytes)
                   : snprintf(line, sizeof line,
                              "%serror: out of memory: %lld more bytes were refused; this process may have %llu in all (ulimit -v)\n", start,
                              (long long)bytes, (unsigned long long)limit.rlim_cur);
  if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

void dibit_memory_refused(intptr_t bytes) {
  static _Thread_local int again;
  if (again) _exit(exit_code);
  again = 1;
  // Other threads wait for the end.
  if (atomic_exchange(&ending, 1))
    for (;;) pause();
  say(bytes);
  free(reserve);
  if (clean_up) clean_up();
  _exit(exit_code);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void *checked(void *memory, size_t bytes) {
  if (!memory && bytes > 0 && atomic_load_explicit(&watcher, memory_order_relaxed) == (int)getpid()) dibit_memory_refused((intptr_t)bytes);
  return memory;
}

// Weak: where a program has another malloc of its own, as tests have that count, that one stands.
#define WEAK __attribute__((weak))

WEAK void *malloc(size_t size) { return checked(__libc_malloc(size), size); }

WEAK void *calloc(size_t number, size_t size) { return checked(__libc_calloc(number, size), number == 0 ? 0 : size); }

WEAK void *realloc(void *old, size_t size) { return checked(__libc_realloc(old, size), size); }

WEAK void *memalign(size_t alignment, size_t size) { return checked(__libc_memalign(alignment, size), size); }

WEAK void *aligned_alloc(size_t alignment, size_t size) { return checked(__libc_memalign(alignment, size), size); }

WEAK int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *memory = checked(__libc_memalign(alignment, size), size);
  if (!memory && size > 0) return ENOMEM;
  *result = memory;
  return 0;
}

#endif
