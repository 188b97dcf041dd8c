/* stream.cuh: a warp a row: norms alone, sums of a stream, gated activations, rotary positions. */

KERNEL(prenorm_forward, cu_prenorm) {
  ROW_OF_WARP(row, lane, a.rows);
  const long long at = (long long)row * a.width;
  float total = 0;
  for (int i = lane; i < a.width && !a.rms; i += WARP)
    total += get(a.x, at + i);
  const moments m = moments_of(a.x, at, a.width, a.eps, total, lane);
  for (int i = lane; i < a.width; i += WARP)
    put(a.y, at + i, normed(get(a.x, at + i), m.mean, m.rstd, a.gamma, a.beta, i));
  if (lane == 0) {
    a.mean[row] = m.mean;
    a.rstd[row] = m.rstd;
  }
}

KERNEL(prenorm_rows, cu_prenorm) {
  ROW_OF_WARP(row, lane, a.rows);
  const long long at = (long long)row * a.width;
  const norm_slope slope = slope_of(a.x, a.dy, a.gamma, at, a.width, a.mean[row], a.rstd[row], a.rms, lane);
  for (int i = lane; i < a.width; i += WARP) {
    const float d = norm_gradient(slope, get(a.x, at + i), get(a.dy, at + i) * a.gamma[i]);
    a.dx[at + i] = a.add ? a.dx[at + i] + d : d;
  }
}

KERNEL(stream_sum, cu_stream_sum) {
  ROW_OF_WARP(row, lane, a.at.count);
  add_branch(a, a.x, a.y, row, lane);
  const long long at = (long long)row * a.width;
  for (int i = lane; is_there(a.copy) && i < a.width; i += WARP)
    put(a.copy, at + i, get(a.y, at + i));
}

/* ---- gate: a row of pre is u and g, or g and u */

KERNEL(gate_forward, cu_gate) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long at = (long long)row * a.width, u = 2 * at + (a.second ? a.width : 0), g = 2 * at + (a.second ? 0 : a.width);
  each_column(a.dropout, a.layout, a.at, row, a.width, lane, [&](int column, unsigned bits, int half) {
    put(a.y, at + column, dropped(a.dropout, bits, half, activated(a.act, get(a.pre, u + column)) * get(a.pre, g + column)));
  });
}

KERNEL(gate_backward, cu_gate) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long at = (long long)row * a.width, u = 2 * at + (a.second ? a.width : 0), g = 2 * at + (a.second ? 0 : a.width);
  each_column(a.dropout, a.layout, a.at, row, a.width, lane, [&](int column, unsigned bits, int half) {
    const float before = get(a.pre, u + column), other = get(a.pre, g + column), value = activated(a.act, before);
    const float d = dropped(a.dropout, bits, half, get(a.dy, at + column));
    put(a.dpre, u + column, d * other * activation_slope(a.act, a.act == 4 ? value : before));
    put(a.dpre, g + column, d * value);
  });
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
      const float x = get(a.x, at), y = get(a.x, at + half);
      put(a.x, at, x * cosine - y * sine);
      put(a.x, at + half, y * cosine + x * sine);
    }
  }
}
