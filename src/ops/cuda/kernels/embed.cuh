/* embed.cuh: three tables summed, normalised (where there is a gamma), dropped out: a warp a slot. The gradient of a table: a block a slot and 256 columns;
 * the first slot of a row of the table adds up all of them, in their order. */

KERNEL(embed_forward, cu_embed) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.slots)
    return;
  const long long at = (long long)row * a.width;
  const long long word = (long long)a.ids[row] * a.width, position = a.position ? (long long)a.positions[row] * a.width : 0;
  const long long type = a.types ? (long long)a.types[row] * a.width : 0;
  float total = 0;
  for (int i = lane; i < a.width; i += WARP) {
    const float sum = a.word[word + i] + (a.position ? (float)a.position[position + i] : 0.0f) +
                      (a.type ? (float)a.type[type + i] : 0.0f);
    a.sum[at + i] = sum;
    total += sum;
  }
  const float mean = warp_sum(total) / (float)a.width;
  const float rstd = reciprocal_deviation(row_squares(a.sum + at, a.width, mean, lane), a.width, a.eps);
  const mask_row mask = mask_of(a.dropout, a.layout, row);
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane) {
      const float x = a.gamma ? normed(a.sum[at + column], mean, rstd, a.gamma, a.beta, column) : (float)a.sum[at + column];
      a.y[at + column] = dropped(a.dropout, bits, half, x);
    }
  }
  if (lane == 0 && a.gamma) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

DEVICE int table_row(const cu_table_gradient &a, int slot) {
  return a.index ? (int)a.index[slot] : a.bytes ? (int)a.bytes[slot] : 0;
}

KERNEL(table_gradient, cu_table_gradient) {
  enum { THREADS = BRIM_THREADS_table_gradient };
  SHARED(unsigned, same, THREADS / WARP);
  const int slot = blockIdx.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const int row = table_row(a, slot), column = blockIdx.y * THREADS + threadIdx.x;
  int earlier = 0;
  for (int i = threadIdx.x; i < slot; i += THREADS)
    earlier |= table_row(a, i) == row;
  if (__syncthreads_or(earlier))
    return;
  const long long to = (long long)row * a.width + column;
  float total = column < a.width ? (float)a.table[to] : 0.0f;
  for (int first = slot; first < a.slots; first += THREADS) {
    const int own = first + (int)threadIdx.x;
    const unsigned ballot = __ballot_sync(ALL_LANES, own < a.slots && table_row(a, own) == row);
    if (lane == 0)
      same[warp] = ballot;
    __syncthreads();
    for (int w = 0; w < THREADS / WARP; w++)
      for (unsigned bits = same[w]; bits; bits &= bits - 1)
        if (column < a.width)
          total += a.dsum[(long long)(first + w * WARP + __ffs((int)bits) - 1) * a.width + column];
    __syncthreads();
  }
  if (column < a.width)
    a.table[to] = total;
}
