// Products of packed weights and many rows of activations on tiles.
//
// Four inputs of a panel's sixteen rows are one row of a tile, as they lie when unpacked; here less the middle one, so that a sum needs
// no correction. A tile of sixteen rows of activations times one of up to 64 inputs of a panel leaves whole sums,
// which scales then turn into floats as in grid.inc.h and in the same order.
#include "amxtiles.inc.h"

enum { AMX_ROWS = 16, AMX_GROUPS = DEPTH / ACTIVATION_GROUP };

// Sixteen rows of activations, up to DEPTH inputs of one or two bytes each, with zeros for rows that are missing. Rows of a matrix may lie
// a power of two apart, so that few of them would stay in the first-level cache together.
typedef struct {
  _Alignas(64) int8_t codes[2][AMX_GROUPS][AMX_ROWS][ACTIVATION_GROUP];
  float half_steps[AMX_GROUPS][AMX_ROWS];
} tile_of_rows;

INLINE void gather_activations(int planes, const dibit_activations *x, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t k0, ptrdiff_t k1,
                               tile_of_rows *to) {
  for (ptrdiff_t t = 0; t < AMX_ROWS; t++)
    for (ptrdiff_t k = k0, g = 0; k < k1; k += ACTIVATION_GROUP, g++) {
      for (int p = 0; p < planes; p++) {
        if (t < rows) __builtin_memcpy(to->codes[p][g][t], x->codes + ((row + t) * planes + p) * x->columns + k, ACTIVATION_GROUP);
        else __builtin_memset(to->codes[p][g][t], 0, ACTIVATION_GROUP);
      }
      to->half_steps[g][t] = t < rows ? x->scales[((row + t) * x->columns + k) / ACTIVATION_GROUP] : 0;
    }
}

INLINE const int8_t *tile_from(const tile_of_rows *x, int plane, ptrdiff_t k) {
  return x->codes[plane][k / ACTIVATION_GROUP][0] + k % ACTIVATION_GROUP;
}

INLINE void add_scaled(int once, VI sums, float half_step, V scales, V *total) {
  *total += __builtin_convertvector(sums << once, V) * (scales * half_step);
}

// Adds the first `inputs` unpacked inputs of one panel. A last step may take in more, whose activations are zero. Two products at a time,
// of two steps or of both bytes, use different tiles and need not wait for each other. Sums of codes that were unpacked `once` are doubled.
INLINE void tile_product(int once, int planes, ptrdiff_t step, const uint8_t *unpacked, const V *scales, const tile_of_rows *x, ptrdiff_t inputs,
                         V total[AMX_ROWS]) {
  VI sums[2][AMX_ROWS];
  const ptrdiff_t steps = planes == 1 ? 2 : 1;
  for (ptrdiff_t k = 0; k < inputs; k += steps * step, scales += steps * PANELS) {
    const ptrdiff_t next = planes == 1 ? k + step : k;
    TILE_ZERO(0);
    TILE_LOAD(2, tile_from(x, 0, k), ACTIVATION_GROUP);
    TILE_LOAD(4, unpacked + k * LANES, BLOCK);
    TILE_DOT(0, 2, 4);
    TILE_STORE(0, sums[0], sizeof(VI));
    if (next < inputs) {
      TILE_ZERO(1);
      TILE_LOAD(3, tile_from(x, planes - 1, next), ACTIVATION_GROUP);
      if (planes == 1) {
        TILE_LOAD(5, unpacked + next * LANES, BLOCK);
        TILE_DOT(1, 3, 5);
      } else {
        TILE_DOT(1, 3, 4);
      }
      TILE_STORE(1, sums[1], sizeof(VI));
    }
    const float *half_steps = x->half_steps[k / ACTIVATION_GROUP];
    if (planes == 2) {
      for (int t = 0; t < AMX_ROWS; t++) add_scaled(once, (sums[0][t] << 7) + sums[1][t], half_steps[t], scales[0], &total[t]);
      continue;
    }
    for (int t = 0; t < AMX_ROWS; t++) add_scaled(once, sums[0][t], half_steps[t], scales[0], &total[t]);
    half_steps = x->half_steps[next / ACTIVATION_GROUP];
    if (next < inputs)
      for (int t = 0; t < AMX_ROWS; t++) add_scaled(once, sums[1][t], half_steps[t], scales[PANELS], &total[t]);
  }
}

// For the rows [row0, row1) of activations and some unpacked panels, adds up the inputs [k0, k1).
INLINE void tile_rows(int once, int planes, ptrdiff_t step, ptrdiff_t panels, const uint8_t *unpacked, const V *scales, const dibit_activations *x,
                      ptrdiff_t row0, ptrdiff_t row1, ptrdiff_t k0, ptrdiff_t k1, ptrdiff_t outputs, float *y, ptrdiff_t ldy) {
  tile_of_rows some;
  for (ptrdiff_t r = row0; r < row1; r += AMX_ROWS, y += AMX_ROWS * ldy) {
    const ptrdiff_t rows = least(AMX_ROWS, row1 - r);
    gather_activations(planes, x, r, rows, k0, k1, &some);
    for (ptrdiff_t p = 0; p < panels; p++) {
      float *to = y + p * LANES;
      const ptrdiff_t left = outputs - p * LANES;
      V total[AMX_ROWS];
      for (int t = 0; t < AMX_ROWS; t++) total[t] = k0 == 0 || t >= rows ? (V){0} : load_some(to + t * ldy, left);
      tile_product(once, planes, step, unpacked + p * DEPTH * LANES, scales + p, &some, k1 - k0, total);
      for (int t = 0; t < AMX_ROWS; t++)
        if (t < rows) store_some(to + t * ldy, total[t], left);
    }
  }
}

INLINE void shape_tiles(ptrdiff_t inputs) {
  tile_shapes shapes = {.palette = 1};
  for (int t = 0; t < 6; t++) {  // sums, activations and weights, two tiles each
    shapes.widths[t] = (uint16_t)(t / 2 == 1 ? inputs : BLOCK);
    shapes.rows[t] = (uint8_t)(t / 2 == 2 ? inputs / 4 : AMX_ROWS);
  }
  TILES_SHAPE(&shapes);
}
