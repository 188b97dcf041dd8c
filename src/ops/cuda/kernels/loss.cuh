/* loss.cuh: losses as ref/loss.c has them, in double: one block, a thread every 256th row. */

/* Sum over the block's threads, in the order of warps; the first warp has it. */
DEVICE double block_sum(SHARED_AT(double) lines, double own) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  own = warp_sum(own);
  if (lane == 0)
    lines[warp] = own;
  __syncthreads();
  double sum = 0;
  if (warp == 0)
    for (int i = 0; i < (int)blockDim.x / WARP; i++)
      sum += lines[i];
  return sum;
}

DEVICE double class_weight(const cu_loss &a, int c) {
  return a.weights ? (double)a.weights[c] : 1.0;
}

DEVICE double cross_entropy(const cu_loss &a, int row, double mean, double scale) {
  const long long at = (long long)row * a.outputs;
  const int label = a.classes ? (int)a.classes[row] : (int)a.labels[row];
  if (label < 0) {
    for (int c = 0; a.dlogits && c < a.outputs; c++)
      a.dlogits[at + c] = 0;
    return 0;
  }
  const double own = (1 - a.smoothing) * class_weight(a, label), all = own + a.smoothing * mean;
  double top = a.logits[at], sum = 0, loss = 0;
  for (int c = 1; c < a.outputs; c++)
    top = fmax(top, (double)a.logits[at + c]);
  for (int c = 0; c < a.outputs; c++)
    sum += exp((double)a.logits[at + c] - top);
  const double lse = top + log(sum);
  for (int c = 0; c < a.outputs; c++) {
    const double smooth = a.smoothing > 0 ? a.smoothing * class_weight(a, c) / a.outputs : 0, z = a.logits[at + c];
    const double share = (c == label ? own : 0) + smooth;
    if (share > 0)
      loss += share * (lse - z);
    if (a.dlogits)
      a.dlogits[at + c] = (float)(scale * (all * exp(z - lse) - share));
  }
  return loss;
}

DEVICE double squared_error(const cu_loss &a, int row, double scale) {
  const long long at = (long long)row * a.outputs;
  double loss = 0;
  for (int c = 0; c < a.outputs; c++) {
    const double error = (double)a.logits[at + c] - (double)a.labels[at + c];
    loss += error * error;
    if (a.dlogits)
      a.dlogits[at + c] = (float)(scale * 2 * error / a.outputs);
  }
  return loss / a.outputs;
}

DEVICE double binary_cross_entropy(const cu_loss &a, int row, double scale) {
  const long long at = (long long)row * a.outputs;
  double loss = 0;
  for (int c = 0; c < a.outputs; c++) {
    const double z = a.logits[at + c], y = a.labels[at + c], weight = 1 + (class_weight(a, c) - 1) * y;
    const double small = exp(-fabs(z)), miss = (z > 0 ? small : 1) / (1 + small); /* sigmoid(-z) */
    loss += (1 - y) * z + weight * (log1p(small) + fmax(-z, 0.0));
    if (a.dlogits)
      a.dlogits[at + c] = (float)(scale * ((1 - y) - weight * miss) / a.outputs);
  }
  return loss / a.outputs;
}

KERNEL(loss, cu_loss) {
  SHARED(double, lines, BRIM_THREADS_loss / WARP);
  const double scale = 1 / a.divisor;
  double mean = 0, own = 0;
  for (int c = 0; c < a.outputs; c++)
    mean += class_weight(a, c);
  mean /= a.outputs;
  for (int row = threadIdx.x; row < a.n; row += blockDim.x)
    own += a.kind == 0   ? cross_entropy(a, row, mean, scale)
           : a.kind == 1 ? squared_error(a, row, scale)
                         : binary_cross_entropy(a, row, scale);
  const double sum = block_sum(lines, own);
  if (threadIdx.x == 0)
    a.loss[0] = sum / a.divisor;
}
