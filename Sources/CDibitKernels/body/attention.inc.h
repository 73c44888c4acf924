// The first 2 pairs elements of a head rotate by position * frequency; direction -1 rotates back, which is the transposed, hence the
// backward, map. `cosine` and `sine` are [positions, pairs].
static void rope(const float *cosine, const float *sine, const int32_t *positions, int interleaved, float direction, ptrdiff_t rows,
                 ptrdiff_t heads, ptrdiff_t head_size, ptrdiff_t pairs, float *x) {
  const ptrdiff_t second = interleaved ? 1 : pairs, step = interleaved ? 2 : 1;
  for (ptrdiff_t r = 0; r < rows; r++) {
    const float *c = cosine + positions[r] * pairs, *s = sine + positions[r] * pairs;
    for (ptrdiff_t h = 0; h < heads; h++, x += head_size)
      for (ptrdiff_t p = 0; p < pairs; p++) {
        float *a = x + p * step, *b = a + second;
        const float u = *a, v = *b, t = direction * s[p];
        *a = u * c[p] - v * t;
        *b = u * t + v * c[p];
      }
  }
}

// The cache row of the t-th key that a segment's queries see.
INLINE ptrdiff_t key_row(const dibit_segment *s, ptrdiff_t t) { return t < s->prefix_rows ? s->prefix + t : s->own + (t - s->prefix_rows); }

// The first key that query `i` of a segment may see.
INLINE ptrdiff_t first_key(const dibit_heads *h, const dibit_segment *s, ptrdiff_t i) {
  const ptrdiff_t seen = s->prefix_rows + s->past + i + 1;
  return h->window > 0 && seen > h->window ? seen - h->window : 0;
}

// The first key that any query of a segment sees, rounded down to whole vectors: the keys before it are never read.
INLINE ptrdiff_t first_kept(const dibit_heads *h, const dibit_segment *s) { return first_key(h, s, 0) / LANES * LANES; }

// One head's keys or values from the `first`-th on with keys along the row, [head_size, ld], so that any head size fills the vectors;
// the columns from `keys` to `ld` are zero.
static void transpose_head(const dibit_kv *kv, const dibit_segment *s, ptrdiff_t first, ptrdiff_t keys, ptrdiff_t ldk, ptrdiff_t at, ptrdiff_t D, float *out,
                           ptrdiff_t ld) {
  for (ptrdiff_t t = 0; t < keys; t++) {
    const ptrdiff_t from = key_row(s, first + t) * ldk + at;
    if (kv->floats)
      for (ptrdiff_t d = 0; d < D; d++) out[d * ld + t] = kv->floats[from + d];
    else
      for (ptrdiff_t d = 0; d < D; d++) out[d * ld + t] = (float)kv->codes[from + d] * kv->scale;
  }
  for (ptrdiff_t t = keys; t < ld; t++)
    for (ptrdiff_t d = 0; d < D; d++) out[d * ld + t] = 0;
}

// out[t] = x . column t of `transposed`, for t < n; n is a multiple of LANES.
INLINE void row_times(const float *x, const float *transposed, ptrdiff_t D, ptrdiff_t ld, ptrdiff_t n, float *out) {
  ptrdiff_t t = 0;
  for (; t + 4 * LANES <= n; t += 4 * LANES) {
    V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (ptrdiff_t d = 0; d < D; d++) {
      const float *column = transposed + d * ld + t;
      const float xd = x[d];
      s0 += load(column) * xd, s1 += load(column + LANES) * xd, s2 += load(column + 2 * LANES) * xd, s3 += load(column + 3 * LANES) * xd;
    }
    store(out + t, s0), store(out + t + LANES, s1), store(out + t + 2 * LANES, s2), store(out + t + 3 * LANES, s3);
  }
  for (; t < n; t += LANES) {
    V s = {0};
    for (ptrdiff_t d = 0; d < D; d++) s += load(transposed + d * ld + t) * x[d];
    store(out + t, s);
  }
}

INLINE ptrdiff_t round_up(ptrdiff_t n) { return (n + LANES - 1) / LANES * LANES; }

// e^(factor x - shift) in place for the first n elements, zero up to the next multiple of LANES; returns the sum.
INLINE float exp_row(float *x, ptrdiff_t n, float factor, float shift) {
  V lanes = {0};
  for (ptrdiff_t t = 0; t < n; t += LANES) {
    V e = exp_v(load(x + t) * factor - shift);
    if (n - t < LANES) {
      V kept = {0};
      __builtin_memcpy(&kept, &e, (size_t)(n - t) * sizeof(float));
      e = kept;
    }
    store(x + t, e);
    lanes += e;
  }
  return sum(lanes);
}

// Zero for the keys [from, to).
INLINE void clear_keys(float *x, ptrdiff_t from, ptrdiff_t to) {
  if (to > from) __builtin_memset(x + from, 0, (size_t)(to - from) * sizeof(float));
}

// scores = cap tanh(scale scores / cap)
static void cap_scores(const dibit_heads *h, float *scores, ptrdiff_t n) {
  for (ptrdiff_t t = 0; t < n; t += LANES) store(scores + t, tanh_v(load(scores + t) * h->scale / h->soft_cap) * h->soft_cap);
}

// Queries of one head of one segment: y = softmax(scale q K^T) V over the keys each query may see.
// `scratch` holds (2 head_size + 1) times the most keys of a query, rounded up to LANES.
static void attention(const dibit_heads *h, const dibit_segment *s, ptrdiff_t head, const float *q, const dibit_kv *k, const dibit_kv *v,
                      float *y, float *log_sum_exp, float *scratch) {
  const ptrdiff_t D = h->head_size, ldq = h->heads * D, ldk = h->kv_heads * D, kept = first_kept(h, s);
  const ptrdiff_t at = head / (h->heads / h->kv_heads) * D, before = s->prefix_rows + s->past - kept, all = before + s->rows, ld = round_up(all);
  const float factor = h->soft_cap > 0 ? 1.0f : h->scale;
  float *keys = scratch, *values = keys + D * ld, *scores = values + D * ld;
  transpose_head(k, s, kept, all, ldk, at, D, keys, ld);
  transpose_head(v, s, kept, all, ldk, at, D, values, ld);
  for (ptrdiff_t i = 0; i < s->rows; i++) {
    // The keys [first, seen) count; vectors begin at `base`, where the scores of the keys before `first` become zero.
    const ptrdiff_t offset = (s->row + i) * ldq + head * D, seen = before + i + 1, n = round_up(seen);
    const ptrdiff_t first = first_key(h, s, i) - kept, base = first / LANES * LANES;
    row_times(q + offset, keys + base, D, ld, n - base, scores + base);
    if (h->soft_cap > 0) cap_scores(h, scores + base, n - base);
    float largest = scores[first];
    for (ptrdiff_t t = first + 1; t < seen; t++) largest = scores[t] > largest ? scores[t] : largest;
    largest *= factor;
    for (ptrdiff_t t = base; t < first; t++) scores[t] = -__builtin_inff();
    const float total = exp_row(scores + base, seen - base, factor, largest);  // e^-87 is all that the first ones add: nothing
    clear_keys(scores, base, first);
    for (ptrdiff_t d = 0; d < D; d++) y[offset + d] = dot(scores + base, values + d * ld + base, n - base) / total;
    log_sum_exp[(s->row + i) * h->heads + head] = largest + __builtin_logf(total);
  }
}

// All query heads that share one key/value head of one segment. With p = softmax, dp = dy V^T:
//   dv += p^T dy,  ds = p (dp - rowsum(dy y)),  dq += scale ds K,  dk += scale ds^T Q
// and a soft cap multiplies ds by 1 - tanh^2. `scratch` holds (4 head_size + 3) times the most keys of a query, rounded up to LANES.
static void attention_backward(const dibit_heads *h, const dibit_segment *s, ptrdiff_t kv_head, const float *dy, const float *y, const float *q,
                               const dibit_kv *k, const dibit_kv *v, const float *log_sum_exp, float *dq, float *dk, float *dv,
                               float *scratch) {
  const ptrdiff_t D = h->head_size, ldq = h->heads * D, ldk = h->kv_heads * D, shared = h->heads / h->kv_heads, kept = first_kept(h, s);
  const ptrdiff_t before = s->prefix_rows + s->past - kept, all = before + s->rows, ld = round_up(all);
  const float factor = h->soft_cap > 0 ? 1.0f : h->scale;
  float *keys = scratch, *values = keys + D * ld, *dkeys = values + D * ld, *dvalues = dkeys + D * ld, *p = dvalues + D * ld, *ds = p + ld,
        *capped = ds + ld;
  transpose_head(k, s, kept, all, ldk, kv_head * D, D, keys, ld);
  transpose_head(v, s, kept, all, ldk, kv_head * D, D, values, ld);
  __builtin_memset(dkeys, 0, (size_t)(2 * D * ld) * sizeof(float));
  for (ptrdiff_t head = kv_head * shared; head < (kv_head + 1) * shared; head++)
    for (ptrdiff_t i = 0; i < s->rows; i++) {
      const ptrdiff_t at = (s->row + i) * ldq + head * D, seen = before + i + 1, n = round_up(seen);
      const ptrdiff_t first = first_key(h, s, i) - kept, base = first / LANES * LANES;
      const float delta = dot(dy + at, y + at, D);
      row_times(q + at, keys + base, D, ld, n - base, p + base);
      if (h->soft_cap > 0) {
        cap_scores(h, p + base, n - base);
        __builtin_memcpy(capped + base, p + base, (size_t)(n - base) * sizeof(float));
      }
      exp_row(p + base, seen - base, factor, log_sum_exp[(s->row + i) * h->heads + head]);
      clear_keys(p, base, first);
      row_times(dy + at, values + base, D, ld, n - base, ds + base);
      for (ptrdiff_t t = base; t < n; t += LANES) store(ds + t, load(p + t) * (load(ds + t) - delta) * h->scale);
      if (h->soft_cap > 0)
        for (ptrdiff_t t = base; t < n; t += LANES) {
          const V c = load(capped + t) / h->soft_cap;
          store(ds + t, load(ds + t) * (1.0f - c * c));
        }
      for (ptrdiff_t d = 0; d < D; d++) {
        dq[at + d] += dot(ds + base, keys + d * ld + base, n - base);
        axpy(q[at + d], ds + base, dkeys + d * ld + base, n - base);
        axpy(dy[at + d], p + base, dvalues + d * ld + base, n - base);
      }
    }
  for (ptrdiff_t t = 0; t < all; t++) {
    const ptrdiff_t to = key_row(s, kept + t) * ldk + kv_head * D;
    for (ptrdiff_t d = 0; d < D; d++) dk[to + d] += dkeys[d * ld + t], dv[to + d] += dvalues[d * ld + t];
  }
}
