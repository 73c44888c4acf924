// Operations on tiles, registers of sixteen rows of 64 bytes. DIBIT_TILES_EMULATED does them in plain C, so that products on tiles can be
// compared with the other tiers' on a CPU without AMX.

// What LDTILECFG reads: the width in bytes and the number of rows of each tile.
typedef struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t widths[16];
  uint8_t rows[16];
} tile_shapes;
_Static_assert(sizeof(tile_shapes) == 64, "the layout that the CPU reads");

#if defined(DIBIT_TILES_EMULATED)
static _Thread_local struct {
  tile_shapes shapes;
  uint8_t bytes[8][16][64];
} tiles;

INLINE void TILES_SHAPE(const tile_shapes *shapes) { tiles.shapes = *shapes; }
INLINE void TILES_RELEASE(void) { tiles.shapes = (tile_shapes){0}; }
INLINE void TILE_ZERO(int t) { __builtin_memset(tiles.bytes[t], 0, sizeof tiles.bytes[t]); }
INLINE void TILE_LOAD(int t, const void *p, ptrdiff_t stride) {
  TILE_ZERO(t);
  for (int r = 0; r < tiles.shapes.rows[t]; r++) __builtin_memcpy(tiles.bytes[t][r], (const char *)p + r * stride, tiles.shapes.widths[t]);
}
INLINE void TILE_STORE(int t, void *p, ptrdiff_t stride) {
  for (int r = 0; r < tiles.shapes.rows[t]; r++) __builtin_memcpy((char *)p + r * stride, tiles.bytes[t][r], tiles.shapes.widths[t]);
}
INLINE void TILE_DOT(int c, int a, int b) {
  for (int m = 0; m < tiles.shapes.rows[c]; m++)
    for (int n = 0; n < tiles.shapes.widths[c] / 4; n++) {
      int32_t sum;
      __builtin_memcpy(&sum, tiles.bytes[c][m] + 4 * n, 4);
      for (int k = 0; k < tiles.shapes.widths[a] / 4; k++)
        for (int j = 0; j < 4; j++) sum += (int8_t)tiles.bytes[a][m][4 * k + j] * (int8_t)tiles.bytes[b][k][4 * n + j];
      __builtin_memcpy(tiles.bytes[c][m] + 4 * n, &sum, 4);
    }
}
#else
// Macros, because the number of a tile is part of the instruction.
#define TILES_SHAPE(shapes) __builtin_ia32_tile_loadconfig(shapes)
#define TILES_RELEASE() __builtin_ia32_tilerelease()
#define TILE_ZERO(t) __builtin_ia32_tilezero(t)
#define TILE_LOAD(t, p, stride) __builtin_ia32_tileloadd64(t, p, stride)
#define TILE_STORE(t, p, stride) __builtin_ia32_tilestored64(t, p, stride)
#define TILE_DOT(c, a, b) __builtin_ia32_tdpbssd(c, a, b)  // signed bytes of a, four neighbours at a time, times signed bytes of b
#endif
