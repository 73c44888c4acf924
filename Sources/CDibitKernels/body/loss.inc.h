static float log_sum_exp(const float *x, ptrdiff_t n) {
  V largest = splat(-__builtin_inff()), lanes = {0};
  ptrdiff_t i = 0;
  for (; i + LANES <= n; i += LANES) largest = max_v(load(x + i), largest);
  float top = -__builtin_inff();
  for (int j = 0; j < LANES; j++) top = largest[j] > top ? largest[j] : top;
  for (ptrdiff_t j = i; j < n; j++) top = x[j] > top ? x[j] : top;
  for (i = 0; i + LANES <= n; i += LANES) lanes += exp_v(load(x + i) - top);
  if (i < n) {
    V e = {0};
    const V all = exp_v(load_some(x + i, n - i) - top);
    __builtin_memcpy(&e, &all, (size_t)(n - i) * sizeof(float));
    lanes += e;
  }
  return top + __builtin_logf(sum(lanes));
}

// losses[r] = log sum exp(logits) - logits[target]; with `gradient`, logits become weights[r] (softmax - onehot(target)).
// A negative target is ignored: its loss is 0 and its gradient row is 0.
static void cross_entropy(const int32_t *targets, const float *weights, ptrdiff_t rows, ptrdiff_t columns, float *logits, float *losses,
                          int gradient) {
  for (ptrdiff_t r = 0; r < rows; r++, logits += columns) {
    losses[r] = 0;
    if (targets[r] < 0) {
      if (gradient) __builtin_memset(logits, 0, (size_t)columns * sizeof(float));
      continue;
    }
    const float normaliser = log_sum_exp(logits, columns);
    losses[r] = normaliser - logits[targets[r]];
    if (!gradient) continue;
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      const ptrdiff_t some = columns - c < LANES ? columns - c : LANES;
      store_some(logits + c, exp_v(load_some(logits + c, some) - normaliser) * weights[r], some);
    }
    logits[targets[r]] -= weights[r];
  }
}

// losses[r] = sum p (log p - log q) with p = softmax(teacher) and q = softmax(logits); with `gradient`, logits become weights[r] (q - p).
static void divergence(const float *teacher, const float *weights, ptrdiff_t rows, ptrdiff_t columns, float *logits, float *losses,
                       int gradient) {
  for (ptrdiff_t r = 0; r < rows; r++, logits += columns, teacher += columns) {
    const float normaliser = log_sum_exp(logits, columns), reference = log_sum_exp(teacher, columns);
    V lanes = {0};
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      const ptrdiff_t some = columns - c < LANES ? columns - c : LANES;
      const V t = load_some(teacher + c, some) - reference, x = load_some(logits + c, some) - normaliser, p = exp_v(t);
      V products = {0};
      const V all = p * (t - x);
      __builtin_memcpy(&products, &all, (size_t)some * sizeof(float));
      lanes += products;
      if (gradient) store_some(logits + c, (exp_v(x) - p) * weights[r], some);
    }
    losses[r] = sum(lanes);
  }
}
