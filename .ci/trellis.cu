// The levels of the best codes of chains of 32 weights, as body/trellis.inc.h chooses them, for qat-settings.py: a thread is a chain. Compiled as C++ it is a loop.
#ifdef __CUDACC__
#define EACH __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#else
#define EACH static inline
#define UNROLL
#endif
typedef unsigned int word;
typedef unsigned long long codes;

EACH float level(int a, int b, int c) {
  const float sets[16] = {-7, -2, 4, 1, 0, 7, -3, 2, -2, 3, 0, -5, 1, 4, -4, -1};
  return sets[4 * b + (a ^ c)];
}
EACH int input(int p) { return p / 16 * 16 + p % 4 * 4 + p % 16 / 4; }
EACH word forward(float *cost, float u) {
  float next[16];
  word ways = 0;
UNROLL
  for (int s = 0; s < 16; s++) {
    float best = 0;
    word way = 0;
UNROLL
    for (int a = 0; a < 4; a++) {
      const float l = level(a, s % 4, s / 4), all = cost[4 * (s % 4) + a] + l * (l - 2 * u);
      if (a == 0 || all < best) { best = all; way = a; }
    }
    next[s] = best;
    ways |= way << 2 * s;
  }
UNROLL
  for (int s = 0; s < 16; s++) cost[s] = next[s];
  return ways;
}
EACH void back(float *cost, float u) {
  float next[16];
UNROLL
  for (int s = 0; s < 16; s++) {
    float best = 0;
UNROLL
    for (int c = 0; c < 4; c++) {
      const float l = level(s % 4, s / 4, c), all = cost[s / 4 + 4 * c] + l * (l - 2 * u);
      if (c == 0 || all < best) best = all;
    }
    next[s] = best;
  }
UNROLL
  for (int s = 0; s < 16; s++) cost[s] = next[s];
}
EACH void chain(const float *x, float scale, signed char *levels) {
  const float inverse = scale != 0 ? 1 / scale : 0;
  float u[32], cost[16], behind[16];
  word ways[32];
  for (int p = 0; p < 32; p++) u[p] = x[input(p)] * inverse;
UNROLL
  for (int s = 0; s < 16; s++) cost[s] = behind[s] = 0;
#pragma unroll 1
  for (int p = 16; p < 32; p++) forward(cost, u[p]);
#pragma unroll 1
  for (int p = 15; p >= 0; p--) back(behind, u[p]);
UNROLL
  for (int s = 0; s < 16; s++) behind[s] += cost[s];
  float least = 0;
  codes chosen = 0;
#pragma unroll 1
  for (int attempt = 0; attempt < 2; attempt++) {
    int state = 0;
    float bound = behind[0];
UNROLL
    for (int s = 1; s < 16; s++) if (behind[s] < bound) { bound = behind[s]; state = s; }
UNROLL
    for (int s = 0; s < 16; s++) { cost[s] = s == state ? 0.0f : 1e30f; behind[s] = s == state ? 1e30f : behind[s]; }
#pragma unroll 1
    for (int p = 0; p < 32; p++) ways[p] = forward(cost, u[p]);
    float total = 0;
UNROLL
    for (int s = 0; s < 16; s++) total = s == state ? cost[s] : total;
    codes own = 0;
    for (int p = 31; p >= 0; p--) {
      own |= (codes)(state >> 2) << 2 * p;
      state = (4 * state + (ways[p] >> 2 * state & 3)) & 15;
    }
    if (attempt == 0 || total < least) { least = total; chosen = own; }
  }
  for (int p = 0; p < 32; p++) {
    const int a = chosen >> (p + 30) % 32 * 2 & 3, b = chosen >> (p + 31) % 32 * 2 & 3, c = chosen >> p * 2 & 3;
    levels[input(p)] = (signed char)level(a, b, c);
  }
}
#ifdef __CUDACC__
__global__ void all(const float *x, const float *scales, signed char *levels, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) chain(x + 32 * i, scales[i / 2], levels + 32 * i);
}
extern "C" int choose(const float *x, const float *scales, signed char *levels, long long count, void *stream) {
  all<<<(count + 127) / 128, 128, 0, (cudaStream_t)stream>>>(x, scales, levels, count);
  return cudaGetLastError();
}
#else
extern "C" int choose(const float *x, const float *scales, signed char *levels, long long count, void *stream) {
#pragma omp parallel for
  for (long long i = 0; i < count; i++) chain(x + 32 * i, scales[i / 2], levels + 32 * i);
  return 0;
}
#endif
