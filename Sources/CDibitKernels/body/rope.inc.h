// c x + s swap(x) for sixteen elements: pairs that lie side by side share a cosine and a sine.
INLINE V rotate_neighbours(V x, V c, V s) {
  return x * c + __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14) * s;
}

// Neighbours rotate: the cosine of each pair twice, and its sine with either sign, so that all lanes do the same. The sum of an odd lane
// is written the other way round, which changes no bit.
INLINE ptrdiff_t rope_neighbours(const float *c, const float *s, float direction, ptrdiff_t pairs, float *x) {
  const V sign = {-direction, direction, -direction, direction, -direction, direction, -direction, direction,
                  -direction, direction, -direction, direction, -direction, direction, -direction, direction};
  ptrdiff_t p = 0;
  for (; p + LANES <= pairs; p += LANES) {
    const V cs = load(c + p), ss = load(s + p);
    float *at = x + 2 * p;
    const V c0 = __builtin_shufflevector(cs, cs, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const V c1 = __builtin_shufflevector(cs, cs, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15);
    const V s0 = __builtin_shufflevector(ss, ss, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const V s1 = __builtin_shufflevector(ss, ss, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15);
    store(at, rotate_neighbours(load(at), c0, s0 * sign));
    store(at + LANES, rotate_neighbours(load(at + LANES), c1, s1 * sign));
  }
  return p;
}

// Elements that lie `pairs` apart rotate.
INLINE ptrdiff_t rope_halves(const float *c, const float *s, float direction, ptrdiff_t pairs, float *x) {
  ptrdiff_t p = 0;
  for (; p + LANES <= pairs; p += LANES) {
    const V u = load(x + p), v = load(x + pairs + p), cs = load(c + p), t = load(s + p) * direction;
    store(x + p, u * cs - v * t);
    store(x + pairs + p, u * t + v * cs);
  }
  return p;
}

// The first 2 pairs elements of a head rotate by position * frequency; direction -1 rotates back, which is the transposed, hence the
// backward, map. `cosine` and `sine` are [rows, pairs].
static void rope(const float *c, const float *s, int interleaved, float direction, ptrdiff_t rows, ptrdiff_t heads, ptrdiff_t head_size,
                 ptrdiff_t pairs, float *x) {
  const ptrdiff_t second = interleaved ? 1 : pairs, step = interleaved ? 2 : 1;
  for (ptrdiff_t r = 0; r < rows; r++, c += pairs, s += pairs)
    for (ptrdiff_t h = 0; h < heads; h++, x += head_size) {
      ptrdiff_t p = interleaved ? rope_neighbours(c, s, direction, pairs, x) : rope_halves(c, s, direction, pairs, x);
      for (; p < pairs; p++) {
        float *a = x + p * step, *b = a + second;
        const float u = *a, v = *b, t = direction * s[p];
        *a = u * c[p] - v * t;
        *b = u * t + v * c[p];
      }
    }
}
