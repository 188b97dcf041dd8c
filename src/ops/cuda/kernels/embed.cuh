/* embed.cuh: three embeddings summed, normalised (where there is a gamma), dropped out: a warp a slot. The gradient of an embedding: a
 * block a slot and 256 columns; the first slot of a row of the embedding adds up all of them, in their order. */

KERNEL(embed_forward, cu_embed) {
  ROW_OF_WARP(row, lane, a.slots);
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
  const cu_typed sums = {a.sum, {}, 0};
  const cu_rows all = {a.slots, {}};
  const moments m = moments_of(sums, at, a.width, a.eps, total, lane);
  each_column(a.dropout, a.layout, all, row, a.width, lane, [&](int column, unsigned bits, int half) {
    const float sum = a.sum[at + column];
    a.y[at + column] = dropped(a.dropout, bits, half, a.gamma ? normed(sum, m.mean, m.rstd, a.gamma, a.beta, column) : sum);
  });
  if (lane == 0 && a.gamma) {
    a.mean[row] = m.mean;
    a.rstd[row] = m.rstd;
  }
}

DEVICE int embedding_row(const cu_embedding_gradient &a, int slot) {
  return a.index ? (int)a.index[slot] : a.bytes ? (int)a.bytes[slot] : 0;
}

KERNEL(embedding_gradient, cu_embedding_gradient) {
  enum { THREADS = BRIM_THREADS_embedding_gradient };
  SHARED(unsigned, same, THREADS / WARP);
  SHARED(int, slots, THREADS); /* of a stretch of THREADS, those that have the row */
  const int slot = blockIdx.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const int row = embedding_row(a, slot), column = blockIdx.y * THREADS + threadIdx.x;
  int earlier = 0;
  for (int i = threadIdx.x; i < slot; i += THREADS)
    earlier |= embedding_row(a, i) == row;
  if (__syncthreads_or(earlier))
    return;
  const long long to = (long long)row * a.width + column;
  float total = column < a.width ? (float)a.embedding[to] : 0.0f;
  for (int first = slot; first < a.slots; first += THREADS) {
    const int own = first + (int)threadIdx.x;
    const bool has = own < a.slots && embedding_row(a, own) == row;
    const unsigned ballot = __ballot_sync(ALL_LANES, has);
    int before = __popc(ballot & ((1u << lane) - 1)), count = 0;
    if (lane == 0)
      same[warp] = ballot;
    __syncthreads();
    for (int w = 0; w < THREADS / WARP; w++) {
      const int some = __popc((unsigned)same[w]);
      before += w < warp ? some : 0;
      count += some;
    }
    if (has)
      slots[before] = own;
    __syncthreads();
    for (int i = 0; i < count; i += BATCH) {
      float x[BATCH];
      UNROLL
      for (int n = 0; n < BATCH; n++)
        x[n] = i + n < count && column < a.width ? (float)a.dsum[(long long)slots[i + n] * a.width + column] : 0.0f;
      UNROLL
      for (int n = 0; n < BATCH; n++)
        total += x[n];
    }
  }
  if (column < a.width)
    a.embedding[to] = total;
}
