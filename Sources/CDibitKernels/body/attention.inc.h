// Keys go through in blocks; the sum over each is added to a row's result, so blocks start at the same keys for every row.
enum { KEY_BLOCK = 64 };

INLINE ptrdiff_t min_i(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
INLINE ptrdiff_t max_i(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

// The keys [first, seen) that a query of a segment sees.
typedef struct { ptrdiff_t first, seen; } key_range;

INLINE key_range keys_of(const dibit_heads *h, const dibit_segment *s, ptrdiff_t i) {
  const ptrdiff_t seen = s->prefix_rows + s->past + i + 1;
  return (key_range){h->window > 0 && seen > h->window ? seen - h->window : 0, seen};
}

// Rows of a tile are its queries, head by head within a token. Those in [row, end) need keys of the block that starts at `block`.
INLINE ptrdiff_t first_row_seeing(const dibit_segment *s, const dibit_tile *tile, ptrdiff_t block) {
  return max_i(0, block - (s->prefix_rows + s->past) - tile->row) * tile->heads;
}
INLINE ptrdiff_t end_row_seeing(const dibit_heads *h, const dibit_segment *s, const dibit_tile *tile, ptrdiff_t block) {
  const ptrdiff_t all = (ptrdiff_t)tile->rows * tile->heads;
  if (h->window <= 0) return all;
  // Query i sees key t when i < t - before + window.
  return max_i(0, min_i(all, (block + KEY_BLOCK - 1 - (s->prefix_rows + s->past) + h->window - tile->row) * tile->heads));
}

// scores = cap tanh(scale scores / cap)
static void cap_scores(const dibit_heads *h, float *scores, ptrdiff_t n) {
  for (ptrdiff_t t = 0; t < n; t += LANES) store(scores + t, tanh_v(load(scores + t) * h->scale / h->soft_cap) * h->soft_cap);
}

INLINE void fill(float *x, ptrdiff_t from, ptrdiff_t to, float value) {
  for (ptrdiff_t t = from; t < to; t++) x[t] = value;
}

// Scores become e^(score - largest) for the keys [first, seen) and zero in the rest of [0, n); returns the sum, and the shift.
INLINE float softmax_row(const dibit_heads *h, float *x, key_range keys, ptrdiff_t n, float *shift) {
  const float factor = h->soft_cap > 0 ? 1.0f : h->scale;
  const ptrdiff_t base = keys.first / LANES * LANES, end = round_up(keys.seen);
  if (h->soft_cap > 0) cap_scores(h, x + base, end - base);
  fill(x, base, keys.first, -__builtin_inff());
  fill(x, keys.seen, end, -__builtin_inff());
  V m = splat(-__builtin_inff());
  for (ptrdiff_t t = base; t < end; t += LANES) m = max_v(load(x + t), m);
  float largest = m[0];
  for (int i = 1; i < LANES; i++) largest = m[i] > largest ? m[i] : largest;
  largest *= factor;
  V total = {0};
  for (ptrdiff_t t = base; t < end; t += LANES) {
    const V e = exp_v(load(x + t) * factor - largest);  // e^-87 is all that keys out of sight add: nothing
    store(x + t, e);
    total += e;
  }
  if (keys.first > 0) __builtin_memset(x, 0, (size_t)keys.first * sizeof(float));
  if (n > keys.seen) __builtin_memset(x + keys.seen, 0, (size_t)(n - keys.seen) * sizeof(float));
  *shift = largest;
  return sum(total);
}

// Rows of a tile one after the other, padded with zeros to whole vectors.
static void gather_rows(const dibit_heads *h, const dibit_segment *s, const dibit_tile *tile, const float *x, float *out) {
  const ptrdiff_t D = h->head_size, P = round_up(D);
  for (ptrdiff_t i = tile->row; i < tile->row + tile->rows; i++)
    for (ptrdiff_t head = tile->head; head < tile->head + tile->heads; head++, out += P)
      for (ptrdiff_t d = 0; d < D; d += LANES) store(out + d, load_some(x + ((s->row + i) * h->heads + head) * D + d, D - d));
}

// A block's keys or values as floats: where they lie when few rows will read them once, else in `buffer`, without gaps. Up to `padded`
// rows are zero behind the last.
INLINE const float *block_rows(const dibit_heads *h, const dibit_segment *s, const dibit_kv *kv, ptrdiff_t kv_head, ptrdiff_t block,
                               ptrdiff_t count, ptrdiff_t padded, ptrdiff_t rows, float *buffer, ptrdiff_t *ld) {
  const ptrdiff_t D = h->head_size, P = round_up(D);
  const int in_one_piece = block >= s->prefix_rows || block + count <= s->prefix_rows;
  if (kv->format == DIBIT_KV_F32 && rows <= 4 && D == P && padded == count && in_one_piece) {
    *ld = h->kv_heads * D;
    return (const float *)kv->elements + key_row(s, block) * *ld + kv_head * D;
  }
  *ld = P;
  expand_keys(kv, s, block, count, kv_head, h->kv_heads, D, buffer);
  if (padded > count) __builtin_memset(buffer + count * P, 0, (size_t)((padded - count) * P) * sizeof(float));
  return buffer;
}

// y = softmax(scale q K^T) V over the keys each query may see. With P = round_up(head_size) and r = tile.rows tile.heads, `scratch`
// holds KEY_BLOCK P + round_up(r) + r (2 P + ld + LANES) floats, where ld is the most keys of a query rounded up to KEY_BLOCK.
static void attention(const dibit_heads *h, const dibit_segment *s, const dibit_tile *tile, const float *q, const dibit_kv *k,
                      const dibit_kv *v, float *y, float *log_sum_exp, float *scratch) {
  const ptrdiff_t D = h->head_size, P = round_up(D), rows = (ptrdiff_t)tile->rows * tile->heads;
  // Scores are addressed from `kept` on: no query of the tile sees the keys before it.
  const ptrdiff_t kept = keys_of(h, s, tile->row).first / KEY_BLOCK * KEY_BLOCK, limit = keys_of(h, s, tile->row + tile->rows - 1).seen;
  const ptrdiff_t ld = (limit - kept + KEY_BLOCK - 1) / KEY_BLOCK * KEY_BLOCK + LANES;  // no power of two: rows would share cache sets
  float *buffer = scratch, *queries = buffer + KEY_BLOCK * P, *out = queries + rows * P, *totals = out + rows * P;
  float *scores = totals + round_up(rows);
  gather_rows(h, s, tile, q, queries);
  for (ptrdiff_t block = kept; block < limit; block += KEY_BLOCK) {
    const ptrdiff_t count = min_i(KEY_BLOCK, limit - block), padded = round_up(count);
    const ptrdiff_t from = first_row_seeing(s, tile, block), to = end_row_seeing(h, s, tile, block);
    if (from >= to) continue;
    ptrdiff_t ldk;
    const float *keys = block_rows(h, s, k, tile->kv_head, block, count, padded, to - from, buffer, &ldk);
    dots(queries + from * P, P, to - from, keys, ldk, padded, P, scores + from * ld + block - kept, ld);
  }
  for (ptrdiff_t r = 0; r < rows; r++) {
    const ptrdiff_t i = tile->row + r / tile->heads;
    const key_range seen = keys_of(h, s, i);
    float shift;
    totals[r] = softmax_row(h, scores + r * ld, (key_range){seen.first - kept, seen.seen - kept}, ld, &shift);
    log_sum_exp[(s->row + i) * h->heads + tile->head + r % tile->heads] = shift + __builtin_logf(totals[r]);
  }
  __builtin_memset(out, 0, (size_t)(rows * P) * sizeof(float));
  for (ptrdiff_t block = kept; block < limit; block += KEY_BLOCK) {
    const ptrdiff_t count = min_i(KEY_BLOCK, limit - block);
    const ptrdiff_t from = first_row_seeing(s, tile, block), to = end_row_seeing(h, s, tile, block);
    if (from >= to) continue;
    ptrdiff_t ldv;
    const float *values = block_rows(h, s, v, tile->kv_head, block, count, count, to - from, buffer, &ldv);
    weigh(scores + from * ld + block - kept, ld, 1, to - from, values, ldv, count, P, out + from * P, P);
  }
  for (ptrdiff_t r = 0; r < rows; r++) {
    float *to = y + ((s->row + tile->row + r / tile->heads) * h->heads + tile->head + r % tile->heads) * D;
    for (ptrdiff_t d = 0; d < D; d += LANES) store_some(to + d, load(out + r * P + d) / totals[r], D - d);
  }
}

// p becomes e^(score - log_sum_exp) and ds, the products dy . v, becomes scale p (ds - delta), with the slope of the cap; both are zero
// for the other keys of [0, n).
INLINE void softmax_row_backward(const dibit_heads *h, float *p, float *ds, key_range keys, ptrdiff_t n, float log_sum_exp, float delta) {
  const float factor = h->soft_cap > 0 ? 1.0f : h->scale;
  const ptrdiff_t base = keys.first / LANES * LANES, end = round_up(keys.seen);
  if (h->soft_cap > 0) cap_scores(h, p + base, end - base);
  for (ptrdiff_t t = base; t < end; t += LANES) {
    const V x = load(p + t), e = exp_v(x * factor - log_sum_exp);
    V slope = e * (load(ds + t) - delta) * h->scale;
    if (h->soft_cap > 0) slope = slope * (1.0f - x / h->soft_cap * (x / h->soft_cap));
    store(p + t, e);
    store(ds + t, slope);
  }
  fill(p, 0, keys.first, 0), fill(ds, 0, keys.first, 0);
  fill(p, keys.seen, n, 0), fill(ds, keys.seen, n, 0);
}

// All query heads that share one key/value head of one segment. With p = softmax, dp = dy V^T:
//   dv += p^T dy,  ds = p (dp - rowsum(dy y)),  dq += scale ds K,  dk += scale ds^T Q
// and a soft cap multiplies ds by 1 - tanh^2. `tile_rows` queries go through at a time. With P = round_up(head_size), ld the segment's
// rows rounded up to KEY_BLOCK and r = tile_rows heads / kv_heads, `scratch` holds 4 ld P + 3 r P + 2 r (ld + LANES) floats.
static void attention_backward(const dibit_heads *h, const dibit_segment *s, ptrdiff_t kv_head, ptrdiff_t tile_rows, const float *dy,
                               const float *y, const float *q, const dibit_kv *k, const dibit_kv *v, const float *log_sum_exp, float *dq,
                               float *dk, float *dv, float *scratch) {
  const ptrdiff_t D = h->head_size, P = round_up(D), shared = h->heads / h->kv_heads, most = tile_rows * shared;
  const ptrdiff_t all = s->prefix_rows + s->past + s->rows, padded = (all + KEY_BLOCK - 1) / KEY_BLOCK * KEY_BLOCK, ld = padded + LANES;
  float *keys = scratch, *values = keys + padded * P, *dkeys = values + padded * P, *dvalues = dkeys + padded * P;
  float *queries = dvalues + padded * P, *gradients = queries + most * P, *dqueries = gradients + most * P, *p = dqueries + most * P,
        *ds = p + most * ld;
  expand_keys(k, s, 0, all, kv_head, h->kv_heads, D, keys);
  expand_keys(v, s, 0, all, kv_head, h->kv_heads, D, values);
  __builtin_memset(keys + all * P, 0, (size_t)((padded - all) * P) * sizeof(float));
  __builtin_memset(values + all * P, 0, (size_t)((padded - all) * P) * sizeof(float));
  __builtin_memset(dkeys, 0, (size_t)(2 * padded * P) * sizeof(float));
  for (ptrdiff_t row = 0; row < s->rows; row += tile_rows) {
    const dibit_tile tile = {.kv_head = (int32_t)kv_head, .head = (int32_t)(kv_head * shared), .heads = (int32_t)shared,
                             .row = (int32_t)row, .rows = (int32_t)min_i(tile_rows, s->rows - row)};
    const ptrdiff_t rows = tile.rows * shared;
    const ptrdiff_t kept = keys_of(h, s, row).first / KEY_BLOCK * KEY_BLOCK, limit = keys_of(h, s, row + tile.rows - 1).seen;
    gather_rows(h, s, &tile, q, queries);
    gather_rows(h, s, &tile, dy, gradients);
    __builtin_memset(dqueries, 0, (size_t)(rows * P) * sizeof(float));
    for (ptrdiff_t block = kept; block < limit; block += KEY_BLOCK) {
      const ptrdiff_t from = first_row_seeing(s, &tile, block), to = end_row_seeing(h, s, &tile, block);
      const ptrdiff_t n = round_up(min_i(KEY_BLOCK, limit - block));
      if (from >= to) continue;
      dots(queries + from * P, P, to - from, keys + block * P, P, n, P, p + from * ld + block - kept, ld);
      dots(gradients + from * P, P, to - from, values + block * P, P, n, P, ds + from * ld + block - kept, ld);
    }
    for (ptrdiff_t r = 0; r < rows; r++) {
      const ptrdiff_t i = row + r / shared, at = (s->row + i) * h->heads + tile.head + r % shared;
      const key_range seen = keys_of(h, s, i);
      const float delta = dot(dy + at * D, y + at * D, D);
      const key_range here = {seen.first - kept, seen.seen - kept};
      softmax_row_backward(h, p + r * ld, ds + r * ld, here, limit - kept, log_sum_exp[at], delta);
    }
    for (ptrdiff_t block = kept; block < limit; block += KEY_BLOCK) {
      const ptrdiff_t from = first_row_seeing(s, &tile, block), to = end_row_seeing(h, s, &tile, block);
      const ptrdiff_t n = min_i(KEY_BLOCK, limit - block);
      if (from >= to) continue;
      const ptrdiff_t at = from * ld + block - kept;
      weigh(ds + at, ld, 1, to - from, keys + block * P, P, n, P, dqueries + from * P, P);
      weigh(ds + at, 1, ld, n, queries + from * P, P, to - from, P, dkeys + block * P, P);
      weigh(p + at, 1, ld, n, gradients + from * P, P, to - from, P, dvalues + block * P, P);
    }
    for (ptrdiff_t r = 0; r < rows; r++) {
      float *to = dq + ((s->row + row + r / shared) * h->heads + tile.head + r % shared) * D;
      for (ptrdiff_t d = 0; d < D; d++) to[d] += dqueries[r * P + d];
    }
  }
  for (ptrdiff_t t = 0; t < all; t++) {
    const ptrdiff_t to = (key_row(s, t) * h->kv_heads + kv_head) * D;
    for (ptrdiff_t d = 0; d < D; d++) dk[to + d] += dkeys[t * P + d], dv[to + d] += dvalues[t * P + d];
  }
}
