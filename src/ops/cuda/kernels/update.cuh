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
        const double g = a.gradients[range.offset + i] * a.unscale;
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
  double sum = block_sum(lines, own);
  if (threadIdx.x != 0)
    return;
  for (int i = 0; i < a.loss_count; i++)
    sum += 0 * a.losses[i]; /* NaN unless it is finite */
  a.square[0] = sum;
}

/* AdamW of one value. */
DEVICE void update_value(GLOBAL(float) value, GLOBAL(float) moment1, GLOBAL(float) moment2, float g, float new1, float beta2,
                         float new2, float root, float eps, float keep, float step) {
  const float m1 = moment1[0];
  const float m = fmaf(g - m1, new1, m1), v = fmaf(g * g, new2, moment2[0] * beta2);
  value[0] = value[0] * keep - step * (m / (sqrtf(v) / root + eps));
  moment1[0] = m;
  moment2[0] = v;
}

/* A row of an embedding without a gradient is left alone when that changes nothing. Only threads of such rows look at `alive`. */
KERNEL(adamw, cu_update) {
  const double square = a.square[0];
  if (!(square - square == 0))
    return; /* not finite */
  const double least = a.clip > 0 ? a.clip / (sqrt(square) + 1e-6) : 1;
  const float clip = (float)(least < 1 ? least : 1) * a.unscale;
  for (int number = blockIdx.x; number < a.pieces; number += gridDim.x) {
    const piece p = piece_at(a, number);
    const cu_range &range = a.ranges[p.range];
    for (long long i = p.first + threadIdx.x; i < p.end; i += blockDim.x) {
      const bool touched = is_touched(range, i);
      const long long at = range.offset + i, value = at + range.frozen;
      if (!touched && range.done)
        continue;
      if (touched && range.done && i % range.row_size == 0)
        range.done[i / range.row_size] = (unsigned char)(range.done[i / range.row_size] + 1);
      if (!touched && !range.decay && range.alive && range.alive[i / range.row_size] == 0)
        continue;
      if (touched && range.alive && range.row_size > 0 && i % range.row_size == 0)
        range.alive[i / range.row_size] = 1;
      update_value(a.values + value, a.moment1 + at, a.moment2 + at, touched ? a.gradients[at] * clip : 0.0f, a.new1, a.beta2,
                   a.new2, a.root, a.eps, range.keep, range.step);
      if (range.copy)
        range.copy[i] = narrowed(a.values[value], a.fp16);
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

/* A block a row. Updates of a row that is not alive change nothing where there is no decay. */
KERNEL(catch_up, cu_late) {
  const long long row = blockIdx.x, first = row * a.row_size;
  if (a.wanted && a.wanted[row] == 0)
    return;
  const double square = a.square ? (double)a.square[0] : 0.0;
  const int done = a.done[row];
  const bool alive = !a.alive || a.alive[row] != 0;
  __syncthreads();
  if (done >= a.count || !(square - square == 0))
    return;
  for (long long i = first + threadIdx.x; i < first + a.row_size; i += blockDim.x)
    for (int k = done; k < a.count; k++) {
      const cu_step &s = a.past[k];
      if (s.decay || alive)
        update_value(a.values + i, a.moment1 + i, a.moment2 + i, 0.0f, s.new1, s.beta2, s.new2, s.root, s.eps, s.keep, s.step);
    }
  if (threadIdx.x == 0)
    a.done[row] = (unsigned char)a.count;
}
