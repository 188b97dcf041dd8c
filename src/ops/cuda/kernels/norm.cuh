/* norm.cuh: layer norm, a warp a row; gradients of its weights, 32 columns a block. */

DEVICE float normed(float x, float mean, float rstd, GLOBAL(const float) gamma, GLOBAL(const float) beta, int column) {
  return fmaf((x - mean) * rstd, (float)gamma[column], beta ? (float)beta[column] : 0.0f);
}

DEVICE float reciprocal_deviation(float squares, int width, float eps) {
  return 1.0f / sqrtf(squares / (float)width + eps);
}

KERNEL(norm_forward, cu_norm) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.rows)
    return;
  const float mean = a.mean[row], rstd = a.rstd[row];
  const long long at = (long long)row * a.width;
  for (int i = lane; i < a.width; i += WARP)
    a.y[at + i] = normed(a.sum[at + i], mean, rstd, a.gamma, a.beta, i);
}

/* Sum of squares of what a row's values are apart from their mean; each lane reads what it wrote. */
DEVICE float row_squares(GLOBAL(const float) x, int width, float mean, int lane) {
  float squares = 0;
  for (int i = lane; i < width; i += WARP) {
    const float apart = x[i] - mean;
    squares = fmaf(apart, apart, squares);
  }
  return warp_sum(squares);
}

KERNEL(join_forward, cu_join) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const mask_row mask = mask_of(a.dropout, a.layout, slot_of(a.at, row));
  const long long at = (long long)row * a.width;
  float total = 0;
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane) {
      const float sum = a.residual[at + column] + dropped(a.dropout, bits, half, a.branch[at + column]);
      a.sum[at + column] = sum;
      total += sum;
    }
  }
  const float mean = warp_sum(total) / (float)a.width;
  const float rstd = reciprocal_deviation(row_squares(a.sum + at, a.width, mean, lane), a.width, a.eps);
  for (int i = lane; i < a.width; i += WARP)
    a.y[at + i] = normed(a.sum[at + i], mean, rstd, a.gamma, a.beta, i);
  if (lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

/* With n = (x - mean) * rstd and g = dy * gamma: dsum = rstd * (g - mean(g) - n * mean(g * n)). */
KERNEL(norm_rows, cu_norm_gradient) {
  const int row = blockIdx.x * ROWS_OF(blockDim.x) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= a.at.count)
    return;
  const float mean = a.mean[row], rstd = a.rstd[row];
  const long long at = (long long)row * a.width;
  float g_sum = 0, gn_sum = 0;
  for (int i = lane; i < a.width; i += WARP) {
    const float n = (a.sum[at + i] - mean) * rstd, g = a.dy[at + i] * a.gamma[i];
    g_sum += g;
    gn_sum = fmaf(g, n, gn_sum);
  }
  const float g_mean = warp_sum(g_sum) / (float)a.width, gn_mean = warp_sum(gn_sum) / (float)a.width;
  const mask_row mask = mask_of(a.dropout, a.layout, slot_of(a.at, row));
  for (int first = 0; first < a.width; first += 2 * WARP) {
    const unsigned bits = mask_bits(a.dropout, mask, first / (2 * WARP), lane);
    FOR_COLUMNS(column, half, first, a.width, lane) {
      const float n = (a.sum[at + column] - mean) * rstd, g = a.dy[at + column] * a.gamma[column];
      const float d = rstd * (g - g_mean - n * gn_mean);
      a.dsum[at + column] = d;
      if (a.dbranch)
        a.dbranch[at + column] = dropped(a.dropout, bits, half, d);
    }
  }
}

/* ---- sums of columns: a warp has every eighth row of 32 columns; the eight sums are added in order */

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
  SHARED(float, of_gamma, COLUMN_WARPS * WARP);
  SHARED(float, of_beta, COLUMN_WARPS * WARP);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, column = blockIdx.x * WARP + lane;
  float gamma = 0, beta = 0;
  for (int row = warp; row < a.at.count && column < a.width; row += COLUMN_WARPS) {
    const long long i = (long long)row * a.width + column;
    const float dy = a.dy[i];
    gamma = fmaf(dy, (a.sum[i] - a.mean[row]) * a.rstd[row], gamma);
    beta += dy;
  }
  gamma = finish_column(of_gamma, gamma, warp, lane);
  beta = finish_column(of_beta, beta, warp, lane);
  if (warp > 0 || column >= a.width)
    return;
  if (a.dgamma)
    a.dgamma[column] += gamma;
  if (a.dbeta)
    a.dbeta[column] += beta;
}

KERNEL(column_sums, cu_columns) {
  SHARED(float, lines, COLUMN_WARPS * WARP);
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, column = blockIdx.x * WARP + lane;
  float sum = 0;
  for (long long row = warp; row < a.rows && column < a.width; row += COLUMN_WARPS)
    sum += a.x[row * a.stride + column];
  sum = finish_column(lines, sum, warp, lane);
  if (warp == 0 && column < a.width)
    a.y[column] += sum;
}
