#include "copenblas.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if __has_include(<cblas.h>)
#include <cblas.h>
_Static_assert((int)CblasRowMajor == COPENBLAS_ROW_MAJOR && (int)CblasNoTrans == COPENBLAS_NO_TRANSPOSE && (int)CblasTrans == COPENBLAS_TRANSPOSE,
               "CBLAS constants");
_Static_assert(sizeof(blasint) == sizeof(int), "an OpenBLAS with 32-bit integers");
#endif

static const char *fault;
// The library's own: work memory for a call, from memory that it keeps.
static void *(*allocate)(int);
static void (*release)(void *);

static copenblas_sgemm product;
// Calls that are under way, and whether the process ends: then the library's destructor takes back the work memory that they read.
static atomic_uint calls;
static const unsigned ends = 1u << 31;

static void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
                  float beta, float *c, int ldc) {
  if (atomic_fetch_add_explicit(&calls, 1, memory_order_acquire) & ends) {
    atomic_fetch_sub_explicit(&calls, 1, memory_order_relaxed);
    for (;;) pause();
  }
  product(order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  atomic_fetch_sub_explicit(&calls, 1, memory_order_release);
}

// Destructors run after this. A call takes milliseconds; only one that a signal's handler ended the process in never returns.
static void await_calls(void) {
  atomic_fetch_or_explicit(&calls, ends, memory_order_relaxed);
  for (int looks = 0; looks < 20000 && atomic_load_explicit(&calls, memory_order_acquire) != ends; looks++) usleep(100);
}

const char *copenblas_fault(void) { return fault; }

copenblas copenblas_load(const char *core) {
  copenblas library = {0};
  // The library chooses kernels and starts its threads while it is loaded, so the environment must say so before.
  const int chose = core && !getenv("OPENBLAS_CORETYPE");
  if (chose) setenv("OPENBLAS_CORETYPE", core, 1);
  // One thread even if the user set another number for other programs: the pool's threads call the library side by side.
  const char *set = getenv("OPENBLAS_NUM_THREADS");
  char *threads = set ? strdup(set) : NULL;
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (chose) unsetenv("OPENBLAS_CORETYPE");
  if (threads) setenv("OPENBLAS_NUM_THREADS", threads, 1);
  else unsetenv("OPENBLAS_NUM_THREADS");
  free(threads);
  if (!handle) {
    const char *reason = dlerror();
    // A library that is not installed is no fault.
    if (reason && !strstr(reason, "No such file")) fault = strdup(reason);
    return library;
  }
  void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
  if (set_threads) set_threads(1);
  product = (copenblas_sgemm)dlsym(handle, "cblas_sgemm");
  library.sgemm = product && atexit(await_calls) == 0 ? sgemm : NULL;
  library.configuration = (const char *(*)(void))dlsym(handle, "openblas_get_config");
  allocate = (void *(*)(int))dlsym(handle, "blas_memory_alloc");
  release = (void (*)(void *))dlsym(handle, "blas_memory_free");
  return library;
}

// Bytes of address space that the process has taken; 0 when the system does not say.
static size_t taken(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%lu", &pages) != 1) pages = 0;
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// Whether the system would give so much now.
static int is_free(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

int copenblas_reserve(int callers) {
  // What one call takes: 128 MB in the builds for x86-64, less in others, and measured from the first on.
  static size_t each = (size_t)256 << 20;
  static int held;
  // Beside what the library takes in one piece, its tables and the heap may grow a little.
  const size_t slack = (size_t)1 << 20;
  if (callers <= held) return 1;
  if (!allocate || !release) {
    if (!is_free((size_t)callers * each)) return 0;
    held = callers;
    return 1;
  }
  void **memory = calloc((size_t)callers, sizeof *memory);
  if (!memory) return 0;
  // Side by side, so that each is another piece; released, the library keeps them.
  int count = 0;
  while (count < callers && is_free(each + slack)) {
    const size_t before = taken();
    if (!(memory[count] = allocate(0))) break;
    const size_t after = taken();
    if (count >= held && after > before) each = after - before;
    count += 1;
  }
  for (int index = 0; index < count; index++) release(memory[index]);
  free(memory);
  if (count > held) held = count;
  return held >= callers;
}
