// The levels of a trellis, one for each window on three neighbouring codes of two bits, the oldest in the lowest bits: the code in the middle names a
// set of four levels, and the exclusive or of the two beside it one of the four. Levels are stored as codes of 4 bits of full range are, 8 more
// than what a weight is in scales.
//
// Within a set levels lie far apart, and which code means which of them depends on the code two places before it. So a row of codes has as many values
// as plain ones of two bits, and they lie closer to what is to be rounded than any four levels would let them (Marcellin and Fischer, "Trellis coded
// quantization", 1990; with windows on the bits themselves, Tseng et al., "QTIP", 2024). The sets were fitted to normally distributed numbers in
// chains of 32, by Lloyd's iteration from 30 random ones, and then to whole numbers of up to 7: 10.76 dB, where without that step they have 10.80, a
// level for each of the 64 windows 10.77, and four levels alone 9.3 at most.
#define TRELLIS_SETS(ROW) ROW(-7, -2, 4, 1) ROW(0, 7, -3, 2) ROW(-2, 3, 0, -5) ROW(1, 4, -4, -1)
enum { TRELLIS_MIDDLE = 8, TRELLIS_LAST = 7, TRELLIS_WINDOWS = 64 };

// Windows that end in each of the four codes, and windows of the oldest code 0 alone.
#define TRELLIS_END0(a, b, c, d) a, b, c, d,
#define TRELLIS_END1(a, b, c, d) b, a, d, c,
#define TRELLIS_END2(a, b, c, d) c, d, a, b,
#define TRELLIS_END3(a, b, c, d) d, c, b, a,
static const float trellis_values[TRELLIS_WINDOWS] = {TRELLIS_SETS(TRELLIS_END0) TRELLIS_SETS(TRELLIS_END1) TRELLIS_SETS(TRELLIS_END2)
                                                        TRELLIS_SETS(TRELLIS_END3)};

#if defined(DIBIT_VBMI)
#define TRELLIS_CODE(x) (x) + TRELLIS_MIDDLE,
#define TRELLIS_CODES0(a, b, c, d) TRELLIS_CODE(a) TRELLIS_CODE(b) TRELLIS_CODE(c) TRELLIS_CODE(d)
#define TRELLIS_CODES1(a, b, c, d) TRELLIS_CODES0(b, a, d, c)
#define TRELLIS_CODES2(a, b, c, d) TRELLIS_CODES0(c, d, a, b)
#define TRELLIS_CODES3(a, b, c, d) TRELLIS_CODES0(d, c, b, a)
static const _Alignas(64) uint8_t trellis_bytes[TRELLIS_WINDOWS] = {TRELLIS_SETS(TRELLIS_CODES0) TRELLIS_SETS(TRELLIS_CODES1)
                                                                      TRELLIS_SETS(TRELLIS_CODES2) TRELLIS_SETS(TRELLIS_CODES3)};

// The level of each byte, a window; the upper two bits of a byte are not looked at.
INLINE W trellis_levels(W windows) {
  typedef char C __attribute__((vector_size(64)));
  return (W)__builtin_ia32_permvarqi512(*(const C *)trellis_bytes, (C)windows);
}
#else
#define TRELLIS_COLUMN0(a, b, c, d) (a) + TRELLIS_MIDDLE,
#define TRELLIS_COLUMN1(a, b, c, d) (b) + TRELLIS_MIDDLE,
#define TRELLIS_COLUMN2(a, b, c, d) (c) + TRELLIS_MIDDLE,
#define TRELLIS_COLUMN3(a, b, c, d) (d) + TRELLIS_MIDDLE,
static const _Alignas(16) uint8_t trellis_bytes[16] = {TRELLIS_SETS(TRELLIS_COLUMN0) TRELLIS_SETS(TRELLIS_COLUMN1)
                                                         TRELLIS_SETS(TRELLIS_COLUMN2) TRELLIS_SETS(TRELLIS_COLUMN3)};

// The level of each byte: a set in its lowest two bits, and one of the four in the next two; the others are zero.
INLINE W trellis_choices(W choices) {
#if defined(DIBIT_VNNI512)
  typedef char C __attribute__((vector_size(64)));
  typedef long long Q __attribute__((vector_size(16)));
  const Q q = *(const Q *)trellis_bytes;
  return (W)__builtin_ia32_pshufb512((C)__builtin_shufflevector(q, q, 0, 1, 0, 1, 0, 1, 0, 1), (C)choices);
#elif defined(DIBIT_MADD256) || defined(DIBIT_VNNI256)
  typedef char C __attribute__((vector_size(32)));
  typedef long long Q __attribute__((vector_size(16)));
  union { W whole; C half[2]; } v = {choices};
  const Q q = *(const Q *)trellis_bytes;
  for (int h = 0; h < 2; h++) v.half[h] = __builtin_ia32_pshufb256((C)__builtin_shufflevector(q, q, 0, 1, 0, 1), v.half[h]);
  return v.whole;
#elif defined(DIBIT_DOTPROD)
  union { W whole; uint8x16_t quarter[4]; } v = {choices};
  const uint8x16_t table = vld1q_u8(trellis_bytes);
  for (int i = 0; i < 4; i++) v.quarter[i] = vqtbl1q_u8(table, v.quarter[i]);
  return v.whole;
#else
  union { W whole; uint8_t byte[64]; } v = {choices};
  for (int i = 0; i < 64; i++) v.byte[i] = trellis_bytes[v.byte[i]];
  return v.whole;
#endif
}

// The level of each byte, a window; its upper two bits are not looked at.
INLINE W trellis_levels(W windows) {
  return trellis_choices((windows >> 2 & 0x03030303) | ((windows >> 2 ^ windows << 2) & 0x0C0C0C0C));
}
#endif

// The levels of the fields 4 f to 4 f + 3 of sixteen rows, of which `own` holds this block and `other` the other one of the two of a chain.
INLINE W trellis_field(W own, W other, int f) {
#if defined(DIBIT_VBMI)
  // A window ends with the code that it belongs to: those of the first two fields begin in the byte before.
  return trellis_levels((f < 2 ? own << 4 | other >> 28 : own) >> f % 2 * 2);
#else
  // Sets are the codes themselves, one place later, and choices their exclusive or with those two places before: of odd fields they lie side by
  // side once every other pair of bits is taken from either.
  const W choices = own ^ (own << 4 | other >> 28);
  const W both = f % 2 ? (own & 0x33333333) | (choices & 0xCCCCCCCC)
                       : ((own << 2 | other >> 30) & 0x33333333) | (choices << 2 & 0xCCCCCCCC);
  return trellis_choices(both >> f / 2 * 4 & 0x0F0F0F0F);
#endif
}
