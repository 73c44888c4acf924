// A program's own malloc takes the place of glibc's for every library it loads, the Swift runtime included: it counts and forwards.
#include "callocationcount.h"
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

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
extern void __libc_free(void *);

static _Thread_local long thread_count;
static _Thread_local int traces;
static atomic_long process_count;

static void count(void) {
  thread_count += 1;
  atomic_fetch_add_explicit(&process_count, 1, memory_order_relaxed);
  if (traces) {
    traces = 0;  // a backtrace may allocate
    void *frames[24];
    backtrace_symbols_fd(frames, backtrace(frames, 24), 2);
    traces = 1;
  }
}

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  count();
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
  count();
  void *made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *result = made;
  return 0;
}

void free(void *old) { __libc_free(old); }

long allocation_count_of_thread(void) { return thread_count; }

long allocation_count_of_process(void) { return atomic_load_explicit(&process_count, memory_order_relaxed); }

void allocation_trace(int on) {
  void *frame;
  backtrace(&frame, 1);  // loads what it needs
  traces = on;
}

#else

long allocation_count_of_thread(void) { return -1; }

long allocation_count_of_process(void) { return -1; }

void allocation_trace(int on) { (void)on; }

#endif
