// Pairs of a head rotate by position * frequency; direction -1 rotates back, which is the transposed, hence the backward, map.
// `cosine` and `sine` are [positions, head_size / 2].
static void rope(const float *cosine, const float *sine, const int32_t *positions, int interleaved, float direction, ptrdiff_t rows,
                 ptrdiff_t heads, ptrdiff_t head_size, float *x) {
  const ptrdiff_t pairs = head_size / 2, second = interleaved ? 1 : pairs, step = interleaved ? 2 : 1;
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

// One head's vector of a cache row: where it lies, or decoded into `out`.
INLINE const float *kv_row(const dibit_kv *kv, ptrdiff_t at, ptrdiff_t n, float *out) {
  if (kv->floats) return kv->floats + at;
  for (ptrdiff_t i = 0; i < n; i++) out[i] = (float)kv->codes[at + i] * kv->scale;
  return out;
}

// Queries of one head of one segment: y = softmax(scale q K^T) V over the keys each query may see.
// `scratch` holds the longest row of scores rounded up to LANES, then 2 head_size floats.
static void attention(const dibit_heads *h, const dibit_segment *s, ptrdiff_t head, const float *q, const dibit_kv *k, const dibit_kv *v,
                      float *y, float *log_sum_exp, float *scratch) {
  const ptrdiff_t D = h->head_size, ldq = h->heads * D, ldk = h->kv_heads * D;
  const ptrdiff_t kv_at = head / (h->heads / h->kv_heads) * D;
  const ptrdiff_t longest = (s->prefix_rows + s->past + s->rows + LANES - 1) / LANES * LANES;
  float *scores = scratch, *row = scratch + longest, *decoded = row + D;
  for (ptrdiff_t i = 0; i < s->rows; i++) {
    const float *query = q + (s->row + i) * ldq + head * D;
    const ptrdiff_t keys = s->prefix_rows + s->past + i + 1;
    float largest = -__builtin_inff();
    for (ptrdiff_t t = 0; t < keys; t++) {
      scores[t] = dot(query, kv_row(k, key_row(s, t) * ldk + kv_at, D, decoded), D) * h->scale;
      if (scores[t] > largest) largest = scores[t];
    }
    V lanes = {0};
    for (ptrdiff_t t = 0; t < keys; t += LANES) {
      const ptrdiff_t some = keys - t < LANES ? keys - t : LANES;
      V e = {0};
      const V all = exp_v(load_some(scores + t, some) - largest);
      __builtin_memcpy(&e, &all, (size_t)some * sizeof(float));
      store(scores + t, e);
      lanes += e;
    }
    const float total = sum(lanes);
    for (ptrdiff_t d = 0; d < D; d++) row[d] = 0;
    for (ptrdiff_t t = 0; t < keys; t++) axpy(scores[t], kv_row(v, key_row(s, t) * ldk + kv_at, D, decoded), row, D);
    float *out = y + (s->row + i) * ldq + head * D;
    for (ptrdiff_t d = 0; d < D; d++) out[d] = row[d] / total;
    log_sum_exp[(s->row + i) * h->heads + head] = largest + __builtin_logf(total);
  }
}

// All query heads that share one key/value head of one segment. With p = softmax, dp = dy V^T:
//   dv += p^T dy,  ds = p (dp - rowsum(dy y)),  dq += scale ds K,  dk += scale ds^T Q
static void attention_backward(const dibit_heads *h, const dibit_segment *s, ptrdiff_t kv_head, const float *dy, const float *y, const float *q,
                               const float *k, const float *v, const float *log_sum_exp, float *dq, float *dk, float *dv) {
  const ptrdiff_t D = h->head_size, ldq = h->heads * D, ldk = h->kv_heads * D, shared = h->heads / h->kv_heads;
  for (ptrdiff_t head = kv_head * shared; head < (kv_head + 1) * shared; head++)
    for (ptrdiff_t i = 0; i < s->rows; i++) {
      const ptrdiff_t at = (s->row + i) * ldq + head * D;
      const float delta = dot(dy + at, y + at, D), normaliser = log_sum_exp[(s->row + i) * h->heads + head];
      const ptrdiff_t keys = s->prefix_rows + s->past + i + 1;
      for (ptrdiff_t t = 0; t < keys; t += LANES) {
        const ptrdiff_t some = keys - t < LANES ? keys - t : LANES;
        V scores = {0}, dp = {0};
        for (ptrdiff_t j = 0; j < some; j++) {
          const ptrdiff_t kv = key_row(s, t + j) * ldk + kv_head * D;
          scores[j] = dot(q + at, k + kv, D);
          dp[j] = dot(dy + at, v + kv, D);
        }
        const V p = exp_v(scores * h->scale - normaliser), ds = p * (dp - delta) * h->scale;
        for (ptrdiff_t j = 0; j < some; j++) {
          const ptrdiff_t kv = key_row(s, t + j) * ldk + kv_head * D;
          axpy(p[j], dy + at, dv + kv, D);
          axpy(ds[j], k + kv, dq + at, D);
          axpy(ds[j], q + at, dk + kv, D);
        }
      }
    }
}
