#include "copenblas.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cblas.h>)
#include <cblas.h>
_Static_assert((int)CblasRowMajor == COPENBLAS_ROW_MAJOR && (int)CblasNoTrans == COPENBLAS_NO_TRANSPOSE && (int)CblasTrans == COPENBLAS_TRANSPOSE,
               "CBLAS constants");
_Static_assert(sizeof(blasint) == sizeof(int), "an OpenBLAS with 32-bit integers");
#endif

copenblas copenblas_load(const char *core) {
  copenblas library = {0, 0};
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
  if (!handle) return library;
  void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
  if (set_threads) set_threads(1);
  library.sgemm = (copenblas_sgemm)dlsym(handle, "cblas_sgemm");
  library.configuration = (const char *(*)(void))dlsym(handle, "openblas_get_config");
  return library;
}
