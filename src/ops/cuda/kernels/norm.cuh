/* norm.cuh: layer norm, a warp a row; gradients of its weights, 32 columns a block. */

DEVICE float normed(float x, float mean, float rstd, GLOBAL(const float) gamma, GLOBAL(const float) beta, int column) {
  return fmaf((x - mean) * rstd, (float)gamma[column], beta ? (float)beta[column] : 0.0f);
}

KERNEL(norm_forward, cu_norm) {
  ROW_OF_WARP(row, lane, a.rows);
  const float mean = a.mean[row], rstd = a.rstd[row];
  const long long at = (long long)row * a.width;
  for (int i = lane; i < a.width; i += WARP)
    put(a.y, at + i, normed(get(a.sum, at + i), mean, rstd, a.gamma, a.beta, i));
}

/* Mean and reciprocal deviation of a row from the sum of its values that this lane has, which reads again what it wrote. */
struct moments {
  float mean, rstd;
};

DEVICE moments moments_of(const cu_typed &x, long long at, int width, float eps, float own, int lane) {
  const float mean = warp_sum(own) / (float)width;
  float squares = 0;
  for (int i = lane; i < width; i += WARP) {
    const float apart = get(x, at + i) - mean;
    squares = fmaf(apart, apart, squares);
  }
  const moments m = {mean, 1.0f / sqrtf(warp_sum(squares) / (float)width + eps)};
  return m;
}

/* to = residual + dropout(branch), a row; this lane's share of their sum. */
template <class ARGS> DEVICE float add_branch(const ARGS &a, const cu_typed &branch, const cu_typed &to, int row, int lane) {
  const long long at = (long long)row * a.width;
  float total = 0;
  each_column(a.dropout, a.layout, a.at, row, a.width, lane, [&](int column, unsigned bits, int half) {
    const float sum = get(a.residual, at + column) + dropped(a.dropout, bits, half, get(branch, at + column));
    put(to, at + column, sum);
    total += as_stored(to, sum);
  });
  return total;
}

KERNEL(join_forward, cu_join) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long at = (long long)row * a.width;
  const float total = add_branch(a, a.branch, a.sum, row, lane);
  const moments m = moments_of(a.sum, at, a.width, a.eps, total, lane);
  for (int i = lane; i < a.width; i += WARP) {
    const float y = normed(get(a.sum, at + i), m.mean, m.rstd, a.gamma, a.beta, i);
    put(a.y, at + i, y);
    if (is_there(a.copy))
      put(a.copy, at + i, as_stored(a.y, y));
  }
  if (lane == 0) {
    a.mean[row] = m.mean;
    a.rstd[row] = m.rstd;
  }
}

/* The gradient of a norm's input: with n = (x - mean) * rstd and g = dy * gamma, rstd * (g - mean(g) - n * mean(g * n)); with rms
 * nothing was subtracted. */
struct norm_slope {
  float mean, rstd, g_mean, gn_mean;
};

DEVICE float norm_gradient(const norm_slope &s, float x, float g) {
  return s.rstd * (g - s.g_mean - (x - s.mean) * s.rstd * s.gn_mean);
}

DEVICE norm_slope slope_of(const cu_typed &x, const cu_typed &dy, GLOBAL(const float) gamma, long long at, int width,
                           float mean, float rstd, int rms, int lane) {
  float g_sum = 0, gn_sum = 0;
  for (int i = lane; i < width; i += WARP) {
    const float n = (get(x, at + i) - mean) * rstd, g = get(dy, at + i) * gamma[i];
    g_sum += rms ? 0 : g;
    gn_sum = fmaf(g, n, gn_sum);
  }
  const norm_slope s = {mean, rstd, warp_sum(g_sum) / (float)width, warp_sum(gn_sum) / (float)width};
  return s;
}

KERNEL(norm_rows, cu_norm_gradient) {
  ROW_OF_WARP(row, lane, a.at.count);
  const long long at = (long long)row * a.width;
  const norm_slope slope = slope_of(a.sum, a.dy, a.gamma, at, a.width, a.mean[row], a.rstd[row], 0, lane);
  each_column(a.dropout, a.layout, a.at, row, a.width, lane, [&](int column, unsigned bits, int half) {
    const float d = norm_gradient(slope, get(a.sum, at + column), get(a.dy, at + column) * a.gamma[column]);
    a.dsum[at + column] = d;
    if (is_there(a.dbranch))
      put(a.dbranch, at + column, dropped(a.dropout, bits, half, d));
  });
}

/* ---- sums of columns: a warp has every eighth row of 32 columns and of the rows of a block; the eight sums are added in order,
 * and so are those of blocks, by another call */

enum { COLUMN_WARPS = 8 };

DEVICE float finish_column(SHARED_AT(float) lines, float own, int warp, int lane) {
  lines[warp * WARP + lane] = own;
  __syncthreads();
  float sum = 0;
  if (warp == 0)
    for (int i = 0; i < COLUMN_WARPS; i++)
      sum += lines[i * WARP + lane];
  return sum;
}

KERNEL(norm_columns, cu_norm_gradient) {
  SHARED(float, of_gamma, COLUMN_WARPS *WARP);
  SHARED(float, of_beta, COLUMN_WARPS *WARP);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, column = blockIdx.x * WARP + lane, first = blockIdx.y * a.each,
            end = first + a.each < a.at.count ? first + a.each : a.at.count;
  float gamma = 0, beta = 0;
  for (int row = first + warp; row < end && column < a.width; row += COLUMN_WARPS * BATCH) {
    unsigned sums[BATCH], dys[BATCH];
    float mean[BATCH], rstd[BATCH];
    UNROLL
    for (int n = 0; n < BATCH; n++) {
      const int at = row + n * COLUMN_WARPS;
      const long long i = (long long)at * a.width + column;
      sums[n] = at < end ? bits_at(a.sum, i) : 0;
      dys[n] = at < end ? bits_at(a.dy, i) : 0;
      mean[n] = at < end ? (float)a.mean[at] : 0.0f;
      rstd[n] = at < end ? (float)a.rstd[at] : 0.0f;
    }
    UNROLL
    for (int n = 0; n < BATCH; n++) {
      const float dy = value_of(a.dy, dys[n]);
      gamma = fmaf(dy, (value_of(a.sum, sums[n]) - mean[n]) * rstd[n], gamma);
      beta += dy;
    }
  }
  gamma = finish_column(of_gamma, gamma, warp, lane);
  beta = finish_column(of_beta, beta, warp, lane);
  if (warp > 0 || column >= a.width)
    return;
  if (a.block_sums) {
    a.block_sums[2ll * blockIdx.y * a.width + column] = gamma;
    a.block_sums[(2ll * blockIdx.y + 1) * a.width + column] = beta;
    return;
  }
  if (a.dgamma)
    a.dgamma[column] += gamma;
  if (a.dbeta)
    a.dbeta[column] += beta;
}

KERNEL(column_sums, cu_columns) {
  SHARED(float, lines, COLUMN_WARPS *WARP);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, column = blockIdx.x * WARP + lane;
  const long long first = blockIdx.y * a.each, end = first + a.each < a.rows ? first + a.each : a.rows;
  float sum = 0;
  for (long long row = first + warp; row < end && column < a.width; row += COLUMN_WARPS * BATCH) {
    unsigned bits[BATCH];
    UNROLL
    for (int n = 0; n < BATCH; n++) {
      const long long at = row + n * COLUMN_WARPS;
      bits[n] = at < end && (!a.bytes || a.bytes[at] == a.only) ? bits_at(a.x, at * a.stride + column) : 0;
    }
    UNROLL
    for (int n = 0; n < BATCH; n++)
      sum += value_of(a.x, bits[n]);
  }
  sum = finish_column(lines, sum, warp, lane);
  if (warp > 0 || column >= a.width)
    return;
  if (a.block_sums)
    a.block_sums[blockIdx.y * (long long)a.width + column] = sum;
  else
    a.y[column] += sum;
}
