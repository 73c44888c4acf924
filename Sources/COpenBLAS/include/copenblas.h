// OpenBLAS, loaded at run time. See docs/decisions/0001-openblas-is-loaded-at-run-time.md.
#ifndef COPENBLAS_H
#define COPENBLAS_H

enum { COPENBLAS_ROW_MAJOR = 101, COPENBLAS_NO_TRANSPOSE = 111, COPENBLAS_TRANSPOSE = 112 };

/// C = alpha op(A) op(B) + beta C, single precision; the CBLAS convention.
typedef void (*copenblas_sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *_Nonnull a,
                                int lda, const float *_Nonnull b, int ldb, float beta, float *_Nonnull c, int ldc);

typedef struct {
  copenblas_sgemm _Nullable sgemm;  // null when there is no usable library
  const char *_Nonnull (*_Nullable configuration)(void);  // version and kernel names
} copenblas;

/// Loads libopenblas with one thread per call and the kernels of `core` (an OPENBLAS_CORETYPE name, or null for the library's
/// own choice; a value that the user set wins). Call it once.
copenblas copenblas_load(const char *_Nullable core);

/// Why a library that is installed could not be loaded; null where it was, or there is none.
const char *_Nullable copenblas_fault(void);

/// Makes the library take work memory for `callers` calls at a time, which it keeps and uses again; 0 when the system refuses it. A call that
/// needs more asks the system again and again, without end. Not for several threads at once.
int copenblas_reserve(int callers);

#endif
