// y = x (w + offset) / rms(x), rms(x) = sqrt(mean(x^2) + epsilon)
static void rms_norm(const float *x, const float *weight, float offset, float epsilon, ptrdiff_t rows, ptrdiff_t columns, float *inverse_rms,
                     float *y) {
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, y += columns) {
    const float inverse = 1.0f / __builtin_sqrtf(dot(x, x, columns) / (float)columns + epsilon);
    inverse_rms[r] = inverse;
    for (ptrdiff_t c = 0; c < columns; c++) y[c] = x[c] * inverse * (weight[c] + offset);
  }
}

// With i = 1/rms and g = dy (w + offset):  dx += i (g - x i^2 mean(g x))
static void rms_norm_dx(const float *dy, const float *x, const float *weight, float offset, const float *inverse_rms, ptrdiff_t rows,
                        ptrdiff_t columns, float *dx) {
  for (ptrdiff_t r = 0; r < rows; r++, dy += columns, x += columns, dx += columns) {
    V lanes = {0};
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      const ptrdiff_t some = columns - c < LANES ? columns - c : LANES;
      lanes += load_some(dy + c, some) * (load_some(weight + c, some) + offset) * load_some(x + c, some);
    }
    const float inverse = inverse_rms[r], projection = sum(lanes) / (float)columns * inverse * inverse;
    for (ptrdiff_t c = 0; c < columns; c++) dx[c] += inverse * (dy[c] * (weight[c] + offset) - x[c] * projection);
  }
}

// dw += sum over rows of dy x / rms, for the columns [col0, col1)
static void rms_norm_dweight(const float *dy, const float *x, const float *inverse_rms, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0,
                             ptrdiff_t col1, float *dweight) {
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t c = col0; c < col1; c++) dweight[c] += dy[r * columns + c] * x[r * columns + c] * inverse_rms[r];
}

// y = (x - mean) w / sqrt(mean((x - mean)^2) + epsilon) + b
static void layer_norm(const float *x, const float *weight, const float *bias, float epsilon, ptrdiff_t rows, ptrdiff_t columns, float *moments,
                       float *y) {
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, y += columns) {
    V lanes = {0}, squares = {0};
    for (ptrdiff_t c = 0; c < columns; c += LANES) lanes += load_some(x + c, columns - c < LANES ? columns - c : LANES);
    const float mean = sum(lanes) / (float)columns;
    for (ptrdiff_t c = 0; c < columns; c++) y[c] = x[c] - mean;
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      const V centred = load_some(y + c, columns - c < LANES ? columns - c : LANES);
      squares += centred * centred;
    }
    const float inverse = 1.0f / __builtin_sqrtf(sum(squares) / (float)columns + epsilon);
    moments[2 * r] = mean, moments[2 * r + 1] = inverse;
    for (ptrdiff_t c = 0; c < columns; c++) y[c] = y[c] * inverse * weight[c] + bias[c];
  }
}

// With i = 1/deviation, z = (x - mean) i and g = dy w:  dx += i (g - mean(g) - z mean(g z))
static void layer_norm_dx(const float *dy, const float *x, const float *weight, const float *moments, ptrdiff_t rows, ptrdiff_t columns,
                          float *dx) {
  for (ptrdiff_t r = 0; r < rows; r++, dy += columns, x += columns, dx += columns) {
    const float mean = moments[2 * r], inverse = moments[2 * r + 1];
    V sums = {0}, products = {0};
    for (ptrdiff_t c = 0; c < columns; c += LANES) {
      const ptrdiff_t some = columns - c < LANES ? columns - c : LANES;
      const V g = load_some(dy + c, some) * load_some(weight + c, some);
      sums += g;
      products += g * ((load_some(x + c, some) - mean) * inverse);
    }
    const float average = sum(sums) / (float)columns, projection = sum(products) / (float)columns;
    for (ptrdiff_t c = 0; c < columns; c++) dx[c] += inverse * (dy[c] * weight[c] - average - (x[c] - mean) * inverse * projection);
  }
}

// dw += sum over rows of dy (x - mean) / deviation, for the columns [col0, col1)
static void layer_norm_dweight(const float *dy, const float *x, const float *moments, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0,
                               ptrdiff_t col1, float *dweight) {
  for (ptrdiff_t r = 0; r < rows; r++) {
    const float mean = moments[2 * r], inverse = moments[2 * r + 1];
    for (ptrdiff_t c = col0; c < col1; c++) dweight[c] += dy[r * columns + c] * ((x[r * columns + c] - mean) * inverse);
  }
}

static void add_bias(const float *bias, ptrdiff_t rows, ptrdiff_t columns, float *y) {
  for (ptrdiff_t r = 0; r < rows; r++, y += columns)
    for (ptrdiff_t c = 0; c < columns; c++) y[c] += bias[c];
}

static void multiply_columns(const float *factors, ptrdiff_t rows, ptrdiff_t columns, const float *x, float *y) {
  for (ptrdiff_t r = 0; r < rows; r++, x += columns, y += columns)
    for (ptrdiff_t c = 0; c < columns; c++) y[c] = x[c] * factors[c];
}

static void sum_products(const float *x, const float *y, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0, ptrdiff_t col1, float *sums) {
  for (ptrdiff_t c = col0; c < col1; c++) sums[c] = 0;
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t c = col0; c < col1; c++) sums[c] += x[r * columns + c] * y[r * columns + c];
}

static void sum_rows(const float *dy, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t col0, ptrdiff_t col1, float *sums) {
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t c = col0; c < col1; c++) sums[c] += dy[r * columns + c];
}
