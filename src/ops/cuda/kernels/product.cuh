/* product.cuh: a matrix product of any strides: blocks of 64 x 64, 16 deep; a thread has 4 x 4. The sum over k is one chain. */

enum { TILE = 64, DEPTH = 16, TILE_ROOM = TILE + 1, OWN = 4 };

/* A tile of [TILE, DEPTH], transposed. Neighbouring threads read neighbours: along k where that is dense, else along m. */
DEVICE void load_product_tile(SHARED_AT(float) to, const cu_typed &from, long long first, long long count, long long step,
                              long long first_k, long long count_k, long long step_k) {
  for (int i = threadIdx.x; i < TILE * DEPTH; i += blockDim.x) {
    const int m = step_k == 1 ? i / DEPTH : i % TILE, k = step_k == 1 ? i % DEPTH : i / TILE;
    const bool there = first + m < count && first_k + k < count_k;
    to[k * TILE_ROOM + m] = there ? get(from, (first + m) * step + (first_k + k) * step_k) : 0.0f;
  }
}

KERNEL(product, cu_product) {
  SHARED(float, of_a, DEPTH *TILE_ROOM);
  SHARED(float, of_b, DEPTH *TILE_ROOM);
  const long long m = (long long)blockIdx.x * TILE, n = (long long)blockIdx.y * TILE;
  const int left = threadIdx.x % (TILE / OWN) * OWN, top = threadIdx.x / (TILE / OWN) * OWN;
  const bool works = m + top < a.m && n + left < a.n;
  float sum[OWN][OWN] = {};
  for (long long k = 0; k < a.k; k += DEPTH) {
    load_product_tile(of_a, a.a, m, a.m, a.a_m, k, a.k, a.a_k);
    load_product_tile(of_b, a.b, n, a.n, a.b_n, k, a.k, a.b_k);
    __syncthreads();
    for (int d = 0; d < DEPTH && works; d++) {
      float x[OWN], y[OWN];
      for (int i = 0; i < OWN; i++) {
        x[i] = of_a[d * TILE_ROOM + top + i];
        y[i] = of_b[d * TILE_ROOM + left + i];
      }
      for (int i = 0; i < OWN; i++)
        for (int j = 0; j < OWN; j++)
          sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < OWN; i++)
    for (int j = 0; j < OWN; j++) {
      const long long row = m + top + i, column = n + left + j;
      if (row >= a.m || column >= a.n)
        continue;
      float y = sum[i][j];
      if (a.bias)
        y += a.bias[column];
      if (a.add)
        y += get(a.y, row * a.y_m + column);
      put(a.y, row * a.y_m + column, y);
    }
}
