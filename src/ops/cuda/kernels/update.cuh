/* update.cuh: the gradient's sum of squares and AdamW over the flat buffers, a block some pieces of some ranges. */

/* The piece of a number, as values of its range. */
struct piece {
  int range;
  long long first, end;
};

DEVICE piece piece_at(const cu_update &a, int number) {
  piece p = {0, 0, 0};
  while (p.range + 1 < a.range_count && a.ranges[p.range + 1].first_piece <= number)
    p.range++;
  const cu_range &range = a.ranges[p.range];
  p.first = (long long)(number - range.first_piece) * CU_PIECE;
  p.end = p.first + CU_PIECE < range.count ? p.first + CU_PIECE : range.count;
  return p;
}

DEVICE bool is_touched(const cu_range &range, long long i) {
  return range.row_size == 0 || !range.touched || range.touched[i / range.row_size] != 0;
}

KERNEL(gradient_square, cu_update) {
  SHARED(double, lines, BRIM_THREADS_gradient_square / WARP);
  double own = 0;
  for (int number = blockIdx.x; number < a.pieces; number += gridDim.x) {
    const piece p = piece_at(a, number);
    const cu_range &range = a.ranges[p.range];
    for (long long i = p.first + threadIdx.x; i < p.end; i += blockDim.x)
      if (is_touched(range, i)) {
        const double g = a.gradients[range.offset + i];
        own += g * g;
      }
  }
  const double sum = block_sum(lines, own);
  if (threadIdx.x == 0)
    a.sums[blockIdx.x] += sum;
}

KERNEL(finish_square, cu_finish) {
  SHARED(double, lines, BRIM_THREADS_finish_square / WARP);
  double own = 0;
  for (int i = threadIdx.x; i < a.count; i += blockDim.x)
    own += a.sums[i];
  const double sum = block_sum(lines, own);
  if (threadIdx.x == 0)
    a.square[0] = sum;
}

/* A row of a table without a gradient is left alone when that changes nothing. Only threads of rows without one look at `alive`. */
KERNEL(adamw, cu_update) {
  const double square = a.square[0];
  if (!(square - square == 0))
    return; /* not finite */
  const double least = a.clip > 0 ? a.clip / (sqrt(square) + 1e-6) : 1;
  const float clip = (float)(least < 1 ? least : 1);
  for (int number = blockIdx.x; number < a.pieces; number += gridDim.x) {
    const piece p = piece_at(a, number);
    const cu_range &range = a.ranges[p.range];
    for (long long i = p.first + threadIdx.x; i < p.end; i += blockDim.x) {
      const bool touched = is_touched(range, i);
      const long long at = range.offset + i;
      if (!touched && !range.decay && range.alive && range.alive[i / range.row_size] == 0)
        continue;
      if (touched && range.alive && range.row_size > 0 && i % range.row_size == 0)
        range.alive[i / range.row_size] = 1;
      const float g = touched ? a.gradients[at] * clip : 0.0f, m1 = a.moment1[at];
      const float m = fmaf(g - m1, a.new1, m1), v = fmaf(g * g, a.new2, a.moment2[at] * a.beta2);
      const float x = a.values[at] * range.keep - range.step * (m / (sqrtf(v) / a.root + a.eps));
      a.moment1[at] = m;
      a.moment2[at] = v;
      a.values[at] = x;
      if (range.copy)
        range.copy[i] = narrowed(x);
      if (touched)
        a.gradients[at] = 0;
    }
  }
}

KERNEL(mark_alive, cu_alive) {
  const long long first = blockIdx.x * a.row_size;
  int any = 0;
  for (long long i = threadIdx.x; i < a.row_size; i += blockDim.x)
    any |= a.moment1[first + i] != 0 || a.moment2[first + i] != 0;
  any = __syncthreads_or(any);
  if (threadIdx.x == 0)
    a.alive[blockIdx.x] = any ? 1 : 0;
}
