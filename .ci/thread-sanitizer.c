// Tells the thread sanitizer of waiting for a Swift `Mutex`: libswiftSynchronization, which is not instrumented, leaves that to the kernel
// (FUTEX_LOCK_PI), so that what the lock guards would be reported. Loaded before all else (LD_PRELOAD) by .ci/sanitize.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// Synchronization._MutexHandle._lockSlow(UInt32) -> () and ._unlockSlow() -> ()
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);

typedef SWIFT void lock_slow_function(uint32_t thread, SELF void *mutex);
typedef SWIFT void unlock_slow_function(SELF void *mutex);
static lock_slow_function *lock_slow_of_library;
static unlock_slow_function *unlock_slow_of_library;

__attribute__((constructor)) static void find(void) {
  lock_slow_of_library = (lock_slow_function *)dlsym(RTLD_NEXT, LOCK_SLOW);
  unlock_slow_of_library = (unlock_slow_function *)dlsym(RTLD_NEXT, UNLOCK_SLOW);
}

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK_SLOW);
SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
  lock_slow_of_library(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK_SLOW);
SWIFT void unlock_slow(SELF void *mutex) {
  __tsan_release(mutex);
  unlock_slow_of_library(mutex);
}
