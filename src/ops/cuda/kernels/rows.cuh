/* rows.cuh: whole rows, a warp each; and values, a thread each. */

KERNEL(gather, cu_gather) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long from = slot_of(a.at, row) * a.x_stride, to = (long long)row * a.width;
  for (int i = lane; i < a.width; i += WARP)
    a.y[to + i] = a.x[from + i];
}

KERNEL(scatter, cu_scatter) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long to = slot_of(a.at, row) * a.dx_stride, from = (long long)row * a.width;
  for (int i = lane; i < a.width; i += WARP)
    a.dx[to + i] += a.dy[from + i];
}

KERNEL(drop, cu_drop) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long at = (long long)row * a.width;
  each_column(a.dropout, a.layout, a.at, row, a.width, lane,
              [&](int column, unsigned bits, int half) { a.y[at + column] = dropped(a.dropout, bits, half, a.x[at + column]); });
}

KERNEL(add, cu_add) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    a.y[i] += a.x[i];
}

KERNEL(convert, cu_convert) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    put(a.y, i, get(a.x, i));
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
