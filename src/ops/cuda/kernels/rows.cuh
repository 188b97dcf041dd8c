/* rows.cuh: whole rows, a warp each; and values, a thread each. */

KERNEL(gather, cu_gather) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const long long from = slot_of(a.at, row) * a.x_stride, to = (long long)row * a.width;
  for (int i = lane; i < a.width; i += WARP)
    a.y[to + i] = a.x[from + i];
}

KERNEL(scatter, cu_scatter) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const long long to = slot_of(a.at, row) * a.dx_stride, from = (long long)row * a.width;
  for (int i = lane; i < a.width; i += WARP)
    a.dx[to + i] += a.dy[from + i];
}

KERNEL(drop, cu_drop) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const mask_row mask = mask_of(a.dropout, a.layout, slot_of(a.at, row));
  const long long at = (long long)row * a.width;
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane)
      a.y[at + column] = dropped(a.dropout, bits, half, a.x[at + column]);
  }
}

KERNEL(add, cu_add) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    a.y[i] += a.x[i];
}

/* To the nearest, to even between two; NaN stays NaN. */
DEVICE unsigned short narrowed(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x)
    return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

KERNEL(narrow, cu_narrow) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    a.y[i] = narrowed(a.x[i]);
}

KERNEL(widen, cu_widen) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    a.y[i] = __uint_as_float((unsigned)a.x[i] << 16);
}

/* ---- a text's tokens as one row: blocks (text, columns), a thread a column */

KERNEL(pool_forward, cu_pool) {
  const int s = blockIdx.x, column = blockIdx.y * blockDim.x + threadIdx.x;
  if (column >= a.width)
    return;
  const int first = a.layout.offsets[s], count = a.layout.lengths[s];
  const long long at = (long long)s * a.width + column;
  float sum = 0, best = 0;
  int chosen = first;
  for (int slot = first; slot < first + count; slot++) {
    const float x = a.x[(long long)slot * a.width + column];
    sum += x;
    if (slot == first || x > best || x != x) {
      best = x;
      chosen = slot;
    }
  }
  if (a.chosen)
    a.chosen[at] = chosen;
  a.y[at] = a.chosen ? best : sum / (float)count;
}

KERNEL(pool_backward, cu_pool) {
  const int slot = blockIdx.x, column = blockIdx.y * blockDim.x + threadIdx.x;
  if (column >= a.width)
    return;
  const int s = a.layout.sequence[slot], count = a.layout.lengths[s];
  const long long at = (long long)s * a.width + column;
  float share = slot - a.layout.offsets[s] < count ? 1.0f / (float)count : 0.0f;
  if (a.chosen)
    share = a.chosen[at] == slot ? 1.0f : 0.0f;
  a.dx[(long long)slot * a.width + column] = share == 0 ? 0.0f : a.dy[at] * share;
}
