// Products of packed weights and many rows of activations on tiles.
//
// Four inputs of a panel's sixteen rows are one row of a tile, as they lie when unpacked; here bytes hold twice the code less the highest
// one, so that a sum needs no correction. A tile of sixteen rows of activations times one of up to 64 inputs of a panel leaves whole sums,
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

INLINE void unpack_signed(int bits, const uint8_t *codes, ptrdiff_t blocks, uint8_t *out) {
  typedef int8_t B __attribute__((vector_size(BLOCK)));
  const uint32_t mask = bits == 2 ? 0x03030303 : 0x0F0F0F0F;
  const int8_t levels = (int8_t)((1 << bits) - 1);
  for (ptrdiff_t b = 0; b < blocks; b++, codes += BLOCK) {
    const W block = *(const WU *)codes;
    for (int f = 0; f < 8 / bits; f++, out += BLOCK) *(WU *)out = (W)((B)((block >> (bits * f) & mask) << 1) - levels);
  }
}

INLINE void add_scaled(VI sums, float half_step, V scales, V *total) {
  *total += __builtin_convertvector(sums, V) * (scales * half_step);
}

// Adds the first `inputs` unpacked inputs of one panel. A last step may take in more, whose activations are zero. Two products at a time,
// of two steps or of both bytes, use different tiles and need not wait for each other.
INLINE void tile_product(int planes, ptrdiff_t step, const uint8_t *unpacked, const V *scales, const tile_of_rows *x, ptrdiff_t inputs,
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
      for (int t = 0; t < AMX_ROWS; t++) add_scaled((sums[0][t] << 7) + sums[1][t], half_steps[t], scales[0], &total[t]);
      continue;
    }
    for (int t = 0; t < AMX_ROWS; t++) add_scaled(sums[0][t], half_steps[t], scales[0], &total[t]);
    half_steps = x->half_steps[next / ACTIVATION_GROUP];
    if (next < inputs)
      for (int t = 0; t < AMX_ROWS; t++) add_scaled(sums[1][t], half_steps[t], scales[PANELS], &total[t]);
  }
}

INLINE void tile_matmul_of(int bits, int planes, ptrdiff_t step, const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1,
                           const dibit_activations *x, ptrdiff_t row0, ptrdiff_t row1, float *y, ptrdiff_t ldy, uint8_t *scratch) {
  const ptrdiff_t per_block = 32 / bits, blocks = (w->columns + 15) / 16 * (bits / 2);
  const ptrdiff_t groups = (w->columns + w->group - 1) / w->group;
  V *scales = (V *)(scratch + PANELS * DEPTH * LANES);
  tile_of_rows some;
  for (ptrdiff_t p0 = panel0; p0 < panel1; p0 += PANELS) {
    const ptrdiff_t panels = least(PANELS, panel1 - p0);
    for (ptrdiff_t k0 = 0; k0 < w->columns; k0 += DEPTH) {
      const ptrdiff_t b0 = k0 / per_block, b1 = least(b0 + DEPTH / per_block, blocks), k1 = b1 * per_block;
      for (ptrdiff_t p = 0; p < panels; p++) {
        unpack_signed(bits, (const uint8_t *)w->elements + ((p0 + p) * blocks + b0) * BLOCK, b1 - b0, scratch + p * DEPTH * LANES);
        for (ptrdiff_t k = k0; k < k1; k += step)
          scales[(k - k0) / step * PANELS + p] = halves(w->scales + ((p0 + p) * groups + k / w->group) * LANES);
      }
      for (ptrdiff_t r = row0; r < row1; r += AMX_ROWS) {
        const ptrdiff_t rows = least(AMX_ROWS, row1 - r);
        gather_activations(planes, x, r, rows, k0, k1, &some);
        for (ptrdiff_t p = p0; p < p0 + panels; p++) {
          const ptrdiff_t outputs = w->rows - p * LANES;
          float *to = y + (r - row0) * ldy + p * LANES;
          V total[AMX_ROWS];
          for (int t = 0; t < AMX_ROWS; t++) total[t] = k0 == 0 || t >= rows ? (V){0} : load_some(to + t * ldy, outputs);
          tile_product(planes, step, scratch + (p - p0) * DEPTH * LANES, scales + (p - p0), &some, k1 - k0, total);
          for (int t = 0; t < AMX_ROWS; t++)
            if (t < rows) store_some(to + t * ldy, total[t], outputs);
        }
      }
    }
  }
}

static void tile_matmul(const dibit_weight *w, ptrdiff_t panel0, ptrdiff_t panel1, const dibit_activations *x, ptrdiff_t row0,
                        ptrdiff_t row1, float *y, ptrdiff_t ldy, uint8_t *scratch) {
  const ptrdiff_t inputs = scale_step(w);
  tile_shapes shapes = {.palette = 1};
  for (int t = 0; t < 6; t++) {  // sums, activations and weights, two tiles each
    shapes.widths[t] = (uint16_t)(t / 2 == 1 ? inputs : BLOCK);
    shapes.rows[t] = (uint8_t)(t / 2 == 2 ? inputs / 4 : AMX_ROWS);
  }
  TILES_SHAPE(&shapes);
  GRID_CASES(tile_matmul_of, w, x, w, panel0, panel1, x, row0, row1, y, ldy, scratch);
  TILES_RELEASE();  // gives the thread's tiles back: they cost at every switch while they are in use
}
