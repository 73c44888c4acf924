// Pure compute over pointers and counts: no allocation, no threads, no globals that change, no I/O, no checks.
// Every function writes only what its row or task range names, so that callers can split work between threads.
// Matrices are row-major; `ld*` is the distance between rows in elements. Backward functions accumulate.
#ifndef CDIBIT_H
#define CDIBIT_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// AVX2 alone, with VNNI on its registers, AVX-512 with VNNI, that with products of BF16, that with tiles of bytes (AMX), and NEON with dot
/// products of bytes.
typedef enum {
  DIBIT_SCALAR = 0, DIBIT_AVX2 = 1, DIBIT_AVXVNNI = 2, DIBIT_AVX512 = 3, DIBIT_AVX512BF16 = 4, DIBIT_AMX = 5, DIBIT_NEON = 6
} dibit_isa;

/// Whether the CPU and the operating system both support an instruction set. Asks Linux to let this process use tiles.
int dibit_has_isa(dibit_isa isa);

/// The grids, a row for each: what it is called, bits of a code, and twice the code in the middle of its levels (code - middle) * scale. An
/// odd number leaves zero out; with an even one there is a level more below zero than above it, and a scale may be negative, but for 8 bits, whose
/// lowest code is no level. Six bits are a window on three neighbouring codes of two bits, of which a table makes a level; see trellis.inc.h. Every
/// kernel is compiled once for each row.
#define DIBIT_GRIDS(ROW, ...)               \
  ROW(DIBIT_GRID2, 2, 3, __VA_ARGS__)       \
  ROW(DIBIT_GRID4, 4, 15, __VA_ARGS__)      \
  ROW(DIBIT_GRID8, 8, 256, __VA_ARGS__)     \
  ROW(DIBIT_GRID2_FULL, 2, 4, __VA_ARGS__)  \
  ROW(DIBIT_GRID4_FULL, 4, 16, __VA_ARGS__) \
  ROW(DIBIT_GRID3, 3, 7, __VA_ARGS__)       \
  ROW(DIBIT_GRID3_FULL, 3, 8, __VA_ARGS__)  \
  ROW(DIBIT_GRID2_TRELLIS, 6, 16, __VA_ARGS__)

#define DIBIT_GRID_NAME(name, ...) name,
typedef enum { DIBIT_F32 = 0, DIBIT_F16 = 1, DIBIT_BF16 = 2, DIBIT_GRIDS(DIBIT_GRID_NAME) DIBIT_FORMATS } dibit_format;
#undef DIBIT_GRID_NAME

/// A weight matrix [rows, columns]; see docs/formats/model.md for the order of packed codes.
typedef struct {
  const void *elements;
  const uint16_t *_Nullable scales;  // F16, for the grids
  ptrdiff_t rows, columns, group;
  dibit_format format;
} dibit_weight;

/// Rows of rounded activations [rows, columns], `columns` a multiple of 64 with zeros behind the last input: x ~ code * 2 * scale, with a
/// scale for each 64 inputs. A code has one or two bytes, signed, 128 high + low: `codes` is [rows, planes, columns]. `sums` are those of
/// each 16 codes.
typedef struct {
  const int8_t *codes;
  const float *scales;
  const int32_t *sums;
  ptrdiff_t columns, planes;
} dibit_activations;

/// One sequence of an attention batch: query rows [row, row + rows) see the cache rows [prefix, prefix + prefix_rows),
/// then [own, own + past + i + 1) for the i-th query.
typedef struct {
  int32_t row, rows, prefix, prefix_rows, own, past;
} dibit_segment;

/// A `window` of 0 lets a query see everything before it, otherwise itself and the `window - 1` keys before it; a `soft_cap` of 0
/// leaves scores as they are, otherwise they become soft_cap tanh(score / soft_cap).
typedef struct {
  int32_t heads, kv_heads, head_size, window;
  float scale, soft_cap;
} dibit_heads;

/// What a feed-forward does to its gate, or to its only projection.
typedef enum { DIBIT_SILU = 0, DIBIT_GELU = 1, DIBIT_GELU_TANH = 2 } dibit_activation;

/// The part of a segment that one call computes: some of its rows for some of the query heads that share one key/value head.
typedef struct {
  int32_t kv_head, head, heads, row, rows;
} dibit_tile;

typedef enum { DIBIT_KV_F32 = 0, DIBIT_KV_F16 = 1, DIBIT_KV_I8 = 2, DIBIT_KV_I8_SCALED = 3 } dibit_kv_format;

/// Keys or values [rows, kv_heads * head_size]; int8 codes count multiples of `scale`, or of `scales` [rows, kv_heads].
typedef struct {
  const void *elements;
  const float *_Nullable scales;
  float scale;
  dibit_kv_format format;
} dibit_kv;

typedef struct {
  float rate, beta1, beta2, epsilon, decay, correction1, correction2, gradient_scale;
} dibit_adamw;

/// Inputs of a trellis whose codes hang together, and where each lies among its neighbours: see trellis.inc.h.
enum { DIBIT_CHAIN = 32 };

/// What rounding to a trellis needs to know of inputs in the order of their chains: [n] what a squared error costs once those before it are made
/// up for, by the moments of all inputs and by those of the chain alone, 0 where a chain has no input; and [n, 32] by the chain's moments, what errors
/// of inputs before it in the chain add to an input, and its row of their inverse.
typedef struct {
  const float *energies, *own_energies, *within, *inverse;
} dibit_chains;

/// Panels, sixteen rows each, that are rounded together: at most that many.
enum { DIBIT_PANELS = 4 };

/// The weights of some panels in the order of rounding, their scales, what rounding lost and the codes it chose: [count, inputs, 16] each.
typedef struct {
  ptrdiff_t count, inputs;
  const float *x;
  float *scales, *errors;
  uint8_t *codes;
} dibit_panels;

/// Columns of a right matrix of pairs that lie together.
enum { DIBIT_PAIR_COLUMNS = 64 };

/// Bytes of working memory of a product of packed weights.
enum { DIBIT_GRID_SCRATCH = 4 * 1024 * 20 };

/// One instruction set's bodies.
typedef struct {
  // Weights
  void (*expand)(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, ptrdiff_t col0, ptrdiff_t col1, float *out, ptrdiff_t ldo);
  void (*matvec)(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, const float *x, ptrdiff_t n, ptrdiff_t ldx, float *y, ptrdiff_t ldy,
                 float *scratch);
  // Rounding to a grid: scales, and the codes for given scales; see scales.inc.h and quantize.inc.h
  void (*fit_scales)(dibit_format grid, int scale_bits, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, uint16_t *scales,
                     float *scratch);
  void (*choose_codes)(dibit_format grid, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint16_t *scales,
                       uint8_t *codes, double *signal, double *noise);
  void (*pack_codes)(dibit_format grid, const uint8_t *chosen, ptrdiff_t rows, ptrdiff_t columns, uint8_t *codes);
  void (*round_backward)(dibit_format grid, ptrdiff_t group, const float *x, ptrdiff_t rows, ptrdiff_t columns, const uint8_t *codes,
                         const uint16_t *scales, float *dx, float *dlog_scales);
  // The same by what inputs are like: `factor` and `moments` [n, n], `chains` for a trellis alone; see feedback.inc.h and chainfeedback.inc.h
  void (*fit_important)(dibit_format grid, int scale_bits, ptrdiff_t n, const float *x, const float *importance, float *scales);
  void (*solve_factored)(ptrdiff_t panels, ptrdiff_t n, const float *a, float *x);
  void (*moment_energies)(ptrdiff_t panels, ptrdiff_t n, const float *moments, const float *x, double *energies);
  void (*round_feedback)(dibit_format grid, const dibit_panels *panels, const float *factor, const dibit_chains *_Nullable chains);
  void (*round_descent)(dibit_format grid, const dibit_panels *panels, const float *moments, const dibit_chains *_Nullable chains);
  void (*refit_scales)(dibit_format grid, int scale_bits, const dibit_panels *panels, ptrdiff_t groups, const int32_t *members,
                       const int32_t *ends, const float *moments);
  // Products of packed weights and int8 activations; see grid.inc.h. `scratch`: DIBIT_GRID_SCRATCH bytes, 64-byte aligned
  void (*quantize_activations)(int planes, const float *x, ptrdiff_t rows, ptrdiff_t columns, int8_t *codes, float *scales, int32_t *sums,
                               ptrdiff_t ld);
  void (*grid_matvec)(const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1, const dibit_activations *x, ptrdiff_t row, float *y);
  void (*grid_matmul)(const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1, const dibit_activations *x, ptrdiff_t row0, ptrdiff_t row1,
                      float *y, ptrdiff_t ldy, uint8_t *scratch);
  // Products in BF16 of pairs of inputs, summed in floats; see bfloat.inc.h
  void (*round_bfloat)(const float *x, ptrdiff_t rows, ptrdiff_t columns, float factor, uint16_t *out, ptrdiff_t padded, ptrdiff_t ldo);
  void (*pair_rows)(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t row1, ptrdiff_t col0, float factor, uint32_t *out);
  void (*pair_columns)(const dibit_weight *w, ptrdiff_t row0, ptrdiff_t col0, ptrdiff_t col1, uint32_t *out);
  void (*pair_matmul)(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t pairs, const uint32_t *a, ptrdiff_t row_stride, ptrdiff_t pair_stride,
                      const uint32_t *b, float *c, ptrdiff_t ldc, int accumulate);
  // C = beta C + alpha A B^T; C += alpha A B with A addressed by row and column strides (so that A^T needs no copy)
  void (*gemm_nt)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta,
                  float *c, ptrdiff_t ldc);
  void (*gemm_nn)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t row_stride, ptrdiff_t column_stride,
                  const float *b, ptrdiff_t ldb, float *c, ptrdiff_t ldc);
  // Elementwise
  void (*add)(const float *x, float *y, ptrdiff_t n);                  // y += x
  void (*scale)(float factor, float *y, ptrdiff_t n);                  // y *= factor
  double (*sum_of_squares)(const float *x, ptrdiff_t n);
  // y = x m, or y += x m: m is 0 or `factor`, drawn for each element from `key` and its index, `index` being that of the first
  void (*dropout)(uint64_t key, uint64_t index, uint32_t threshold, float factor, const float *x, float *y, ptrdiff_t n, int accumulate);
  void (*adamw)(const dibit_adamw *o, const float *gradient, float *moment1, float *moment2, float *parameter, ptrdiff_t n);
  // Layers
  // `offset` is added to the weight: 1 in gemma, 0 elsewhere
  void (*rms_norm)(const float *x, const float *weight, float offset, float epsilon, ptrdiff_t rows, ptrdiff_t columns, float *inverse_rms,
                   float *y);
  void (*rms_norm_dx)(const float *dy, const float *x, const float *weight, float offset, const float *inverse_rms, ptrdiff_t rows,
                      ptrdiff_t columns, float *dx);
  void (*rms_norm_dweight)(const float *dy, const float *x, const float *inverse_rms, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0,
                           ptrdiff_t col1, float *dweight);
  // `moments` is [rows, 2]: mean and inverse deviation
  void (*layer_norm)(const float *x, const float *weight, const float *bias, float epsilon, ptrdiff_t rows, ptrdiff_t columns, float *moments,
                     float *y);
  void (*layer_norm_dx)(const float *dy, const float *x, const float *weight, const float *moments, ptrdiff_t rows, ptrdiff_t columns,
                        float *dx);
  void (*layer_norm_dweight)(const float *dy, const float *x, const float *moments, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0,
                             ptrdiff_t col1, float *dweight);
  void (*add_bias)(const float *bias, ptrdiff_t rows, ptrdiff_t columns, float *y);                                  // y += bias in each row
  void (*sum_rows)(const float *dy, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0, ptrdiff_t col1, float *sums);  // sums += columns of dy
  void (*multiply_columns)(const float *factors, ptrdiff_t rows, ptrdiff_t columns, const float *x, float *y);        // y = x factors
  void (*sum_products)(const float *x, const float *y, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0, ptrdiff_t col1, float *sums);
  void (*rope)(const float *cosine, const float *sine, int interleaved, float direction, ptrdiff_t rows, ptrdiff_t heads,
               ptrdiff_t head_size, ptrdiff_t pairs, float *x);
  void (*gate)(dibit_activation kind, const float *gate, const float *up, float *y, ptrdiff_t n);
  void (*gate_backward)(dibit_activation kind, const float *dy, const float *gate, const float *up, float *dgate, float *dup, ptrdiff_t n);
  void (*activate)(dibit_activation kind, const float *x, float *y, ptrdiff_t n);
  void (*activate_backward)(dibit_activation kind, const float *dy, const float *x, float *dx, ptrdiff_t n);
  void (*soft_cap)(float cap, float *x, ptrdiff_t n);                                // x = cap tanh(x / cap)
  void (*soft_cap_backward)(float cap, const float *y, float *dy, ptrdiff_t n);      // dy *= 1 - (y / cap)^2
  void (*attention)(const dibit_heads *h, const dibit_segment *s, const dibit_tile *tile, const float *q, const dibit_kv *k,
                    const dibit_kv *v, float *y, float *log_sum_exp, float *scratch);
  void (*attention_backward)(const dibit_heads *h, const dibit_segment *s, ptrdiff_t kv_head, ptrdiff_t tile_rows, const float *dy,
                             const float *y, const float *q, const dibit_kv *k, const dibit_kv *v, const float *log_sum_exp, float *dq,
                             float *dk, float *dv, float *scratch);
  // Keys and values: x becomes what is stored
  void (*quantize_heads_i8)(float *x, int8_t *codes, float *scales, ptrdiff_t heads, ptrdiff_t head_size);
  void (*round_f16)(float *x, uint16_t *halves, ptrdiff_t n);
  void (*fake_quantize_i8)(float scale, float *x, int8_t *_Nullable codes, ptrdiff_t n);
  void (*fake_quantize_i8_backward)(float scale, const float *x, float *dx, ptrdiff_t n);
  void (*cross_entropy)(const int32_t *targets, const float *weights, ptrdiff_t rows, ptrdiff_t columns, float *logits, float *losses,
                        int gradient);
  void (*divergence)(const float *teacher, const float *weights, ptrdiff_t rows, ptrdiff_t columns, float *logits, float *losses,
                     int gradient);
  float (*log_sum_exp)(const float *x, ptrdiff_t n);
} dibit_kernels;

/// The bodies for `isa`; the caller checks that the CPU has it.
const dibit_kernels *dibit_kernels_for(dibit_isa isa);

/// Loads each of `count` bytes once, a multiple of 64 at an address that is one too; the result depends on all of them.
uint64_t dibit_machine_read(dibit_isa isa, const void *bytes, ptrdiff_t count);

/// Multiplies and adds bytes in registers for a while, with the best instructions of this CPU that `isa` includes; returns the number
/// of products.
ptrdiff_t dibit_machine_multiply_i8(dibit_isa isa, ptrdiff_t rounds);

/// As dibit_machine_multiply_i8, with floats.
ptrdiff_t dibit_machine_multiply_f32(dibit_isa isa, ptrdiff_t rounds);

/// Bytes of the largest cache; 0 where the system does not say.
ptrdiff_t dibit_machine_cache(void);

#pragma clang assume_nonnull end
#endif
