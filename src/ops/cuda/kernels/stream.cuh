/* stream.cuh: a warp a row: norms alone, sums of a stream, gated activations, rotary positions. */

KERNEL(prenorm_forward, cu_prenorm) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.rows)
    return;
  const long long at = (long long)row * a.width;
  float total = 0;
  for (int i = lane; i < a.width && !a.rms; i += WARP)
    total += a.x[at + i];
  const float mean = warp_sum(total) / (float)a.width;
  const float rstd = reciprocal_deviation(row_squares(a.x + at, a.width, mean, lane), a.width, a.eps);
  for (int i = lane; i < a.width; i += WARP)
    a.y[at + i] = normed(a.x[at + i], mean, rstd, a.gamma, a.beta, i);
  if (lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

/* As norm_rows; with rms nothing was subtracted. */
KERNEL(prenorm_rows, cu_prenorm) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.rows)
    return;
  const float mean = a.mean[row], rstd = a.rstd[row];
  const long long at = (long long)row * a.width;
  float g_sum = 0, gn_sum = 0;
  for (int i = lane; i < a.width; i += WARP) {
    const float n = (a.x[at + i] - mean) * rstd, g = a.dy[at + i] * a.gamma[i];
    g_sum += a.rms ? 0 : g;
    gn_sum = fmaf(g, n, gn_sum);
  }
  const float g_mean = warp_sum(g_sum) / (float)a.width, gn_mean = warp_sum(gn_sum) / (float)a.width;
  for (int i = lane; i < a.width; i += WARP) {
    const float n = (a.x[at + i] - mean) * rstd, g = a.dy[at + i] * a.gamma[i];
    const float d = rstd * (g - g_mean - n * gn_mean);
    a.dx[at + i] = a.add ? a.dx[at + i] + d : d;
  }
}

KERNEL(stream_sum, cu_stream_sum) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const mask_row mask = mask_of(a.dropout, a.layout, slot_of(a.at, row));
  const long long at = (long long)row * a.width;
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane)
      a.y[at + column] = a.residual[at + column] + dropped(a.dropout, bits, half, a.x[at + column]);
  }
}

/* ---- gate: a row of pre is u and g, or g and u */

KERNEL(gate_forward, cu_gate) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const mask_row mask = mask_of(a.dropout, a.layout, slot_of(a.at, row));
  const long long at = (long long)row * a.width, u = 2 * at + (a.second ? a.width : 0), g = 2 * at + (a.second ? 0 : a.width);
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane)
      a.y[at + column] = dropped(a.dropout, bits, half, activated(a.act, a.pre[u + column]) * a.pre[g + column]);
  }
}

KERNEL(gate_backward, cu_gate) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const mask_row mask = mask_of(a.dropout, a.layout, slot_of(a.at, row));
  const long long at = (long long)row * a.width, u = 2 * at + (a.second ? a.width : 0), g = 2 * at + (a.second ? 0 : a.width);
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane) {
      const float before = a.pre[u + column], other = a.pre[g + column], value = activated(a.act, before);
      const float d = dropped(a.dropout, bits, half, a.dy[at + column]);
      a.dy[at + column] = d;
      a.dpre[u + column] = d * other * activation_slope(a.act, a.act == 4 ? value : before);
      a.dpre[g + column] = d * value;
    }
  }
}

/* ---- rotary positions: a lane has columns of all heads, whose angle is the same */

KERNEL(rotate, cu_rotary) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP, half = a.head_size / 2;
  if (row >= a.at.count)
    return;
  const int slot = slot_of(a.at, row), s = a.layout.sequence[slot], token = slot - a.layout.offsets[s];
  if (token >= a.layout.lengths[s])
    return;
  for (int i = lane; i < half; i += WARP) {
    const float angle = (float)token * a.frequency[i], cosine = cosf(angle), sine = a.back ? -sinf(angle) : sinf(angle);
    for (int head = 0; head < a.heads; head++) {
      const long long at = row * a.stride + (long long)head * a.head_size + i;
      const float x = a.x[at], y = a.x[at + half];
      a.x[at] = x * cosine - y * sine;
      a.x[at + half] = y * cosine + x * sine;
    }
  }
}
