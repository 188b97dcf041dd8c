/* attention_matrix.cuh: the attention of attention.cuh for 16-bit values, by tensor cores. A block has 64 queries, or 64 keys, of
 * one head, 16 a warp, and takes what they meet 64 at a time; the next tile is on its way while one is computed. Heads have 32,
 * 64 or 128 columns in shared memory, zeros where theirs end. Of those with 128, the kernels of backward leave a block's own rows
 * there, since registers do not hold them, and all take 32 of the others at a time, for which there is room on every card.
 *
 * Keys and values that fit into `held` pairs of tiles stay there: forward takes 128 queries of such a text, 64 after 64, and the
 * kernel of queries its second way through the keys, without a copy or a barrier. The sums are the same in either case, and so
 * are the bits.
 *
 * What is rounded is what the other kernels round: probabilities before dropout, and p times the change without dropout's factor.
 * That factor is left out of dout v^T and of delta here, and multiplied at the end. */
#ifdef HAS_MATRICES
/* What a warp knows of itself. */
struct warp_lane {
  int warp, lane, line, pair;
};

DEVICE warp_lane lane_of_warp() {
  const int lane = threadIdx.x % WARP;
  const warp_lane w = {(int)threadIdx.x / WARP, lane, lane / 4, lane % 4 * 2};
  return w;
}

/* Rows that are taken at a time of what a block's own rows meet. */
#define MATRIX_STREAM(width) ((width) <= 64 ? MATRIX_TILE : MATRIX_TILE / 2)

/* Rows first, first + 1 and so on of a head on their way. */
template <int WIDTH, int ROWS = MATRIX_TILE>
DEVICE void copy_tile(const cu_attention &a, SHARED_AT(unsigned) to, GLOBAL(unsigned short) from, long long at, long long stride,
                      int first, int count) {
  enum { PIECES = WIDTH / 8 };
  for (int i = threadIdx.x; i < ROWS * PIECES; i += MATRIX_WARPS * WARP) {
    const int row = i / PIECES, column = i % PIECES * 8;
    const bool there = first + row < count && column < a.head_size;
    copy_row(to + row * MATRIX_ROOM(WIDTH) + column / 2, from + (there ? at + (first + row) * stride + column : at), there);
  }
}

/* A warp's own 16 rows as left sides: in registers, or in shared memory, where they stay. */
template <int WIDTH, bool HELD = WIDTH <= 64> struct own_rows {
  fragment of[WIDTH / MATRIX];
};

template <int WIDTH> struct own_rows<WIDTH, false> {
  SHARED_AT(unsigned) from;
};

template <int WIDTH> DEVICE void take_rows(own_rows<WIDTH, true> &own, SHARED_AT(unsigned) at, int lane) {
  UNROLL
  for (int k = 0; k < WIDTH / MATRIX; k++)
    own.of[k] = left_at(at + k * (MATRIX / 2), MATRIX_ROOM(WIDTH), lane);
}

template <int WIDTH> DEVICE void take_rows(own_rows<WIDTH, false> &own, SHARED_AT(unsigned) at, int) {
  own.from = at;
}

template <int WIDTH> DEVICE fragment left_side(const own_rows<WIDTH, true> &own, int k, int) {
  return own.of[k];
}

template <int WIDTH> DEVICE fragment left_side(const own_rows<WIDTH, false> &own, int k, int lane) {
  return left_at(own.from + k * (MATRIX / 2), MATRIX_ROOM(WIDTH), lane);
}

/* y = a b^T, 8 columns a fragment, 16 rows of b at a time; what begins at `limit` or after it is left at 0. */
template <int FP16, int WIDTH, int STEP, bool HELD>
DEVICE void multiply_columns(sums (&y)[STEP / 8], const own_rows<WIDTH, HELD> &a, SHARED_AT(unsigned) tile, int limit, int lane) {
  UNROLL
  for (int i = 0; i < STEP / 8; i++)
    for (int e = 0; e < 4; e++)
      y[i].of[e] = 0;
  UNROLL
  for (int k = 0; k < WIDTH / MATRIX; k++) {
    const fragment left = left_side<WIDTH>(a, k, lane);
    UNROLL
    for (int i = 0; i < STEP / MATRIX; i++)
      if (i * MATRIX < limit) {
        const fragment right = columns_at(tile + i * MATRIX * MATRIX_ROOM(WIDTH) + k * (MATRIX / 2), MATRIX_ROOM(WIDTH), lane);
        multiply_add(FP16, y[2 * i], left, right.of[0], right.of[1]);
        multiply_add(FP16, y[2 * i + 1], left, right.of[2], right.of[3]);
      }
  }
}

/* y += a b, where a is sums of 16 x STEP, as 16 bits. */
template <int FP16, int WIDTH, int STEP>
DEVICE void multiply_rows(sums (&y)[WIDTH / 8], const sums (&x)[STEP / 8], SHARED_AT(unsigned) tile, int limit, int lane) {
  UNROLL
  for (int i = 0; i < STEP / MATRIX; i++)
    if (i * MATRIX < limit) {
      const fragment left = left_of(FP16, x[2 * i], x[2 * i + 1]);
      UNROLL
      for (int n = 0; n < WIDTH / MATRIX; n++) {
        const fragment right = rows_at(tile + i * MATRIX * MATRIX_ROOM(WIDTH) + n * (MATRIX / 2), MATRIX_ROOM(WIDTH), lane);
        multiply_add(FP16, y[2 * n], left, right.of[0], right.of[1]);
        multiply_add(FP16, y[2 * n + 1], left, right.of[2], right.of[3]);
      }
    }
}

/* Eight bits of a query, of keys 2 block, 2 block + 1 and every 16th from there, in a stretch of 64: which are kept. */
DEVICE unsigned kept_keys(const cu_attention &a, const head_of &h, int query, int stretch, int block) {
  if (!a.dropout.on)
    return 0xff;
  const words w = philox(a.layout.places[h.text], a.dropout.site + (unsigned)h.head, (unsigned)query,
                         (unsigned)(stretch * PAIR_LANES + block), a.dropout.key0, a.dropout.key1);
  unsigned kept = 0;
  UNROLL
  for (int i = 0; i < 4; i++) /* keys 16 i: words 1 and 0, or 3 and 2; lower halves, then upper ones */
    for (int odd = 0; odd < 2; odd++)
      kept |= (unsigned)((w.of[(i % 2 ? 3 : 1) - odd] >> (i / 2 * 16) & 0xffff) >= a.dropout.threshold) << (2 * i + odd);
  return a.dropout.scale > 0 ? kept : 0;
}

/* Those of a lane's two queries, in a tile of 64 keys: bytes of its first query's two blocks, then the second's. */
DEVICE unsigned kept_pairs(const cu_attention &a, const head_of &h, int query, int first, int pair) {
  unsigned kept = 0;
  if (!a.dropout.on)
    return 0xffffffffu;
  UNROLL
  for (int i = 0; i < 4; i++)
    kept |= kept_keys(a, h, query + i / 2 * 8, first / MATRIX_TILE, pair / 2 + i % 2 * 4) << (8 * i);
  return kept;
}

/* Element e of the j-th fragment of a tile: its bit, and its row and column. */
DEVICE bool is_kept(unsigned kept, int j, int e) {
  return kept >> (16 * (e / 2) + 8 * (j % 2) + 2 * (j / 2) + e % 2) & 1;
}

DEVICE int row_of(int line, int e) {
  return line + e / 2 * 8;
}

DEVICE int column_of(int pair, int j, int e) {
  return j * 8 + pair + e % 2;
}

DEVICE float dropout_factor(const cu_attention &a) {
  return a.dropout.on && a.dropout.scale > 0 ? a.dropout.scale : 1.0f;
}

/* Two lines of 16 rows, times a factor each, which begin at `at`. */
template <int FP16, int WIDTH>
DEVICE void put_rows(const cu_attention &a, GLOBAL(unsigned short) to, long long at, long long stride, int rows,
                     const sums (&y)[WIDTH / 8], float factor0, float factor1, int line, int pair) {
  UNROLL
  for (int n = 0; n < WIDTH / 8; n++)
    for (int half = 0; half < 2; half++) {
      const int row = line + 8 * half;
      const float factor = half ? factor1 : factor0;
      if (row < rows && 8 * n < a.head_size)
        word_at(to + (at + row * stride + 8 * n + pair))[0] = packed(FP16, y[n].of[2 * half] * factor,
                                                                     y[n].of[2 * half + 1] * factor);
    }
}

template <int FP16, int WIDTH> DEVICE void matrix_forward(const cu_attention &a) {
  DYNAMIC_SHARED(unsigned, tiles);
  enum { ROOM = MATRIX_ROOM(WIDTH), ROWS = MATRIX_STREAM(WIDTH), TILE = ROWS * ROOM, STEP = WIDTH == 64 ? 64 : 32 };
  head_of h = head_at(a, blockIdx.y, MATRIX_TILE);
  const bool stays = a.window == 0 && h.keys <= a.held * ROWS; /* keys and values, for twice as many queries */
  h.first *= stays ? 2 : 1;
  if (h.first >= h.queries)
    return;
  const warp_lane w = lane_of_warp();
  const int own = w.warp * MATRIX, start = first_met(a, h, MATRIX_TILE), end = end_met(a, h, h.keys, MATRIX_TILE);
  const long long rows_at_head = h.begin * a.kv_stride + h.shared, queries_at = h.query_row * a.q_stride + h.shift;
  SHARED_AT(unsigned) queries = tiles + a.held * 2 * TILE;
  own_rows<WIDTH, true> q;
  copy_tile<WIDTH>(a, queries, a.q.half, queries_at, a.q_stride, h.first, h.queries);
  SHARED_AT(unsigned) to = tiles + start / ROWS % 2 * 2 * TILE;
  copy_tile<WIDTH, ROWS>(a, to, a.k.half, rows_at_head, a.kv_stride, start, h.keys);
  copy_tile<WIDTH, ROWS>(a, to + TILE, a.v.half, rows_at_head, a.kv_stride, start, h.keys);
  for (bool again = false;; again = true, h.first += MATRIX_TILE) {
    const bool more = stays && !again && h.first + MATRIX_TILE < h.queries;
    const int query = h.first + own + w.line;
    const bool works = h.first + own < h.queries;
    sums out[WIDTH / 8] = {};
    float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
    unsigned kept = 0;
    close_copies();
    await_copies(0);
    __syncthreads();
    take_rows<WIDTH>(q, queries + own * ROOM, w.lane);
    for (int first = start; first < end; first += ROWS) {
      if (!again) {
        SHARED_AT(unsigned) next = tiles + (stays ? first / ROWS + 1 : (first / ROWS + 1) % 2) * 2 * TILE;
        if (first + ROWS < end) {
          copy_tile<WIDTH, ROWS>(a, next, a.k.half, rows_at_head, a.kv_stride, first + ROWS, h.keys);
          copy_tile<WIDTH, ROWS>(a, next + TILE, a.v.half, rows_at_head, a.kv_stride, first + ROWS, h.keys);
        }
        close_copies();
        await_copies(1);
        __syncthreads();
        if (first == 0 && more) /* all warps have taken theirs */
          copy_tile<WIDTH>(a, queries, a.q.half, queries_at, a.q_stride, h.first + MATRIX_TILE, h.queries);
      }
      if (works && (WIDTH <= 64 || first % MATRIX_TILE == 0))
        kept = kept_pairs(a, h, query, first, w.pair);
      ROLLED
      for (int row = 0; row < ROWS && first + row < end && works; row += STEP) {
        SHARED_AT(unsigned) k = tiles + (stays ? first / ROWS : first / ROWS % 2) * 2 * TILE + row * ROOM;
        const int limit = end - first - row, within = row + (WIDTH <= 64 ? 0 : first % MATRIX_TILE);
        sums s[STEP / 8];
        multiply_columns<FP16, WIDTH, STEP>(s, q, k, limit, w.lane);
        float most[2] = {top[0], top[1]}, rest[2];
        UNROLL
        for (int j = 0; j < STEP / 8; j++)
          for (int e = 0; e < 4; e++) {
            const bool there = meets(a, h, row_of(query, e), first + row + column_of(w.pair, j, e));
            s[j].of[e] = there ? a.scale * s[j].of[e] : -INFINITY;
            most[e / 2] = fmaxf(most[e / 2], s[j].of[e]);
          }
        UNROLL
        for (int i = 0; i < 2; i++) {
          most[i] = line_max(most[i]);
          const float from = most[i] == -INFINITY ? 0 : most[i]; /* no key so far */
          rest[i] = expf(top[i] - from);                         /* of what was summed so far */
          top[i] = most[i];
          most[i] = from;
          sum[i] *= rest[i];
        }
        UNROLL
        for (int j = 0; j < STEP / 8; j++)
          for (int e = 0; e < 4; e++) {
            const float x = expf(s[j].of[e] - most[e / 2]);
            sum[e / 2] += x;
            s[j].of[e] = is_kept(kept, within / 8 + j, e) ? x : 0.0f;
          }
        UNROLL
        for (int n = 0; n < WIDTH / 8; n++)
          for (int e = 0; e < 4; e++)
            out[n].of[e] *= rest[e / 2];
        multiply_rows<FP16, WIDTH, STEP>(out, s, k + TILE, limit, w.lane);
      }
      if (!stays)
        __syncthreads();
    }
    float factor[2];
    UNROLL
    for (int i = 0; i < 2; i++) {
      const int own_query = query + 8 * i;
      sum[i] = line_sum(sum[i]);
      factor[i] = sum[i] > 0 ? dropout_factor(a) / sum[i] : 0;
      if (w.pair == 0 && own_query < h.queries)
        a.lse[h.head * a.rows + h.query_row + own_query] = sum[i] > 0 ? top[i] + logf(sum[i]) : 0;
    }
    put_rows<FP16, WIDTH>(a, a.out.half, (h.query_row + h.first + own) * a.out_stride + h.shift, a.out_stride,
                          h.queries - h.first - own, out, factor[0], factor[1], w.line, w.pair);
    if (!more)
      return;
  }
}

template <int FP16, int WIDTH> DEVICE void matrix_queries(const cu_attention &a) {
  DYNAMIC_SHARED(unsigned, tiles);
  enum { ROOM = MATRIX_ROOM(WIDTH), OWN = MATRIX_TILE * ROOM, ROWS = MATRIX_STREAM(WIDTH), TILE = ROWS * ROOM, STEP = 32 };
  const head_of h = head_at(a, blockIdx.y, MATRIX_TILE);
  if (h.first >= h.queries)
    return;
  const warp_lane w = lane_of_warp();
  const int own = w.warp * MATRIX, query = h.first + own + w.line, start = first_met(a, h, MATRIX_TILE),
            end = end_met(a, h, h.keys, MATRIX_TILE);
  const bool works = h.first + own < h.queries;
  const long long rows_at_head = h.begin * a.kv_stride + h.shared, row = h.query_row + query;
  SHARED_AT(unsigned) stream = tiles + (WIDTH <= 64 ? 0 : 2 * OWN);
  own_rows<WIDTH> q, dout;
  sums dq[WIDTH / 8] = {};
  float lse[2], whole[2] = {0, 0}, total[2] = {0, 0}, delta[2] = {0, 0};
  for (int i = 0; i < 2; i++)
    lse[i] = query + 8 * i < h.queries ? (float)a.lse[h.head * a.rows + row + 8 * i] : 0.0f;
  copy_tile<WIDTH>(a, tiles, a.q.half, h.query_row * a.q_stride + h.shift, a.q_stride, h.first, h.queries);
  copy_tile<WIDTH>(a, tiles + OWN, a.dout.half, h.query_row * a.out_stride + h.shift, a.out_stride, h.first, h.queries);
  close_copies();
  await_copies(0);
  __syncthreads();
  take_rows<WIDTH>(q, tiles + own * ROOM, w.lane);
  take_rows<WIDTH>(dout, tiles + OWN + own * ROOM, w.lane);
  __syncthreads();
  const int count = end > start ? (end - start + ROWS - 1) / ROWS : 0; /* of tiles, which are met twice */
  unsigned kept = 0;
  const bool stay = count <= a.held;
  const int room = stay ? count : 2, copies = stay ? count : 2 * count;
  for (int turn = -1; turn < 2 * count; turn++) {
    const int sent = turn + 1;
    if (sent < copies) {
      SHARED_AT(unsigned) next = stream + sent % room * 2 * TILE;
      copy_tile<WIDTH, ROWS>(a, next, a.k.half, rows_at_head, a.kv_stride, start + sent % count * ROWS, h.keys);
      copy_tile<WIDTH, ROWS>(a, next + TILE, a.v.half, rows_at_head, a.kv_stride, start + sent % count * ROWS, h.keys);
    }
    close_copies();
    if (turn < 0)
      continue;
    if (turn < copies) {
      await_copies(1);
      __syncthreads();
    }
    const int first = start + turn % count * ROWS, again = turn >= count, within = WIDTH <= 64 ? 0 : first % MATRIX_TILE;
    if (works && within == 0)
      kept = kept_pairs(a, h, query, first, w.pair);
    if (turn == count)
      for (int i = 0; i < 2; i++) {
        whole[i] = line_sum(whole[i]);
        total[i] = line_sum(total[i]);
        delta[i] = whole[i] > 0 ? total[i] / whole[i] : 0;
      }
    for (int row = 0; row < ROWS && first + row < end && works; row += STEP) {
      SHARED_AT(unsigned) k = stream + turn % room * 2 * TILE + row * ROOM;
      const int limit = end - first - row;
      sums s[STEP / 8], dp[STEP / 8];
      multiply_columns<FP16, WIDTH, STEP>(s, q, k, limit, w.lane);
      multiply_columns<FP16, WIDTH, STEP>(dp, dout, k + TILE, limit, w.lane);
      UNROLL
      for (int j = 0; j < STEP / 8; j++)
        for (int e = 0; e < 4; e++) {
          const bool there = meets(a, h, row_of(query, e), first + row + column_of(w.pair, j, e));
          const float p = there ? expf(a.scale * s[j].of[e] - lse[e / 2]) : 0.0f;
          const float change = there && is_kept(kept, (within + row) / 8 + j, e) ? dp[j].of[e] : 0.0f;
          if (!again) {
            whole[e / 2] += p;
            total[e / 2] = fmaf(p, change, total[e / 2]);
          }
          s[j].of[e] = there ? p * (change - delta[e / 2]) : 0.0f;
        }
      if (again)
        multiply_rows<FP16, WIDTH, STEP>(dq, s, k, limit, w.lane);
    }
    if (!stay)
      __syncthreads();
  }
  if (!works)
    return;
  const float factor = a.scale * dropout_factor(a);
  put_rows<FP16, WIDTH>(a, a.dq.half, (h.query_row + h.first + own) * a.q_stride + h.shift, a.q_stride,
                        h.queries - h.first - own, dq, factor, factor, w.line, w.pair);
  for (int i = 0; i < 2; i++)
    if (w.pair == 0 && query + 8 * i < h.queries)
      a.delta[h.head * a.rows + row + 8 * i] = delta[i];
}

/* Keys are rows here, and queries columns. */
template <int FP16, int WIDTH> DEVICE void matrix_keys(const cu_attention &a) {
  DYNAMIC_SHARED(unsigned, tiles);
  enum { ROOM = MATRIX_ROOM(WIDTH), OWN = MATRIX_TILE * ROOM, ROWS = MATRIX_STREAM(WIDTH), TILE = ROWS * ROOM };
  enum { STEP = WIDTH <= 64 ? 32 : 16, SHARES = MATRIX_WARPS * WARP / ROWS, EACH = 8 / SHARES };
  head_of h = head_at(a, blockIdx.y * a.group, MATRIX_TILE);
  if (h.first >= h.slots)
    return;
  const warp_lane w = lane_of_warp();
  const int own = w.warp * MATRIX, key = h.first + own + w.line, start = first_met(a, h, MATRIX_TILE),
            end = end_met(a, h, h.queries, MATRIX_TILE);
  const bool works = h.first + own < h.keys;
  const long long rows_at_head = h.begin * a.kv_stride + h.shared;
  SHARED_AT(unsigned) stream = tiles + (WIDTH <= 64 ? 0 : 2 * OWN);
  SHARED_AT(unsigned) lse = stream + 4 * TILE; /* and, of each query of a tile, its delta, and which of its keys are kept */
  SHARED_AT(unsigned) delta = lse + ROWS;
  SHARED_AT(unsigned) kept = delta + ROWS;
  own_rows<WIDTH> k, v;
  sums dk[WIDTH / 8] = {}, dv[WIDTH / 8] = {};
  copy_tile<WIDTH>(a, tiles, a.k.half, rows_at_head, a.kv_stride, h.first, h.keys);
  copy_tile<WIDTH>(a, tiles + OWN, a.v.half, rows_at_head, a.kv_stride, h.first, h.keys);
  close_copies();
  await_copies(0);
  __syncthreads();
  take_rows<WIDTH>(k, tiles + own * ROOM, w.lane);
  take_rows<WIDTH>(v, tiles + OWN + own * ROOM, w.lane);
  __syncthreads();
  const int count = end > start ? (end - start + ROWS - 1) / ROWS : 0; /* of tiles of each head of the group */
  const int member_head = h.head;
  const long long member_shift = h.shift;
  for (int turn = -1; turn < a.group * count; turn++) {
    const int sent = turn + 1;
    if (sent < a.group * count) {
      const long long shift = member_shift + sent / count * a.head_size;
      SHARED_AT(unsigned) next = stream + sent % 2 * 2 * TILE;
      copy_tile<WIDTH, ROWS>(a, next, a.q.half, h.query_row * a.q_stride + shift, a.q_stride, start + sent % count * ROWS,
                             h.queries);
      copy_tile<WIDTH, ROWS>(a, next + TILE, a.dout.half, h.query_row * a.out_stride + shift, a.out_stride,
                             start + sent % count * ROWS, h.queries);
    }
    close_copies();
    if (turn < 0)
      continue;
    const int first = start + turn % count * ROWS, mine = threadIdx.x % ROWS, share = threadIdx.x / ROWS;
    h.head = member_head + turn / count;
    const long long row = h.head * a.rows + h.query_row + first + mine;
    if (share < 2)
      (share ? delta : lse)[mine] = first + mine < h.queries ? __float_as_uint((float)(share ? a.delta : a.lse)[row]) : 0;
    unsigned bits = 0;
    for (int i = 0; i < EACH; i++)
      bits |= kept_keys(a, h, first + mine, h.first / MATRIX_TILE, share * EACH + i) << (8 * i);
    kept[SHARES * mine + share] = bits;
    await_copies(1);
    __syncthreads();
    for (int row = 0; row < ROWS && first + row < end && works; row += STEP) {
      SHARED_AT(unsigned) q = stream + turn % 2 * 2 * TILE + row * ROOM;
      const int limit = end - first - row;
      sums s[STEP / 8], dp[STEP / 8];
      multiply_columns<FP16, WIDTH, STEP>(s, k, q, limit, w.lane);
      multiply_columns<FP16, WIDTH, STEP>(dp, v, q + TILE, limit, w.lane);
      UNROLL
      for (int j = 0; j < STEP / 8; j++)
        for (int e = 0; e < 4; e++) {
          const int column = row + column_of(w.pair, j, e);
          const bool there = meets(a, h, first + column, row_of(key, e));
          const float p = there ? expf(a.scale * s[j].of[e] - __uint_as_float(lse[column])) : 0.0f;
          const unsigned bits = kept[SHARES * column + (w.line / 2 + e / 2 * 4) / EACH];
          const bool is = there && (bits >> (w.line / 2 % EACH * 8 + w.warp * 2 + w.line % 2) & 1);
          s[j].of[e] = is ? p : 0.0f;
          dp[j].of[e] = there ? p * ((is ? dp[j].of[e] : 0.0f) - __uint_as_float(delta[column])) : 0.0f;
        }
      multiply_rows<FP16, WIDTH, STEP>(dv, s, q + TILE, limit, w.lane);
      multiply_rows<FP16, WIDTH, STEP>(dk, dp, q, limit, w.lane);
    }
    __syncthreads();
  }
  const float factor = dropout_factor(a), of_scores = a.scale * factor;
  const long long at = (h.begin + h.first + own) * a.kv_stride + h.shared;
  const int rows = h.slots - h.first - own;
  put_rows<FP16, WIDTH>(a, a.dk.half, at, a.kv_stride, rows, dk, of_scores, of_scores, w.line, w.pair);
  put_rows<FP16, WIDTH>(a, a.dv.half, at, a.kv_stride, rows, dv, factor, factor, w.line, w.pair);
}

#define MATRIX_BODY(kernel, width) (a.q.fp16 ? kernel<1, width>(a) : kernel<0, width>(a))
#else
#define MATRIX_BODY(kernel, width) (void)0 /* sm_75: never launched */
#endif

KERNEL_SHARED(matrix_forward_32, cu_attention, CU_BLOCKS_NARROW) {
  MATRIX_BODY(matrix_forward, 32);
}

KERNEL_SHARED(matrix_forward_64, cu_attention, CU_BLOCKS_WIDE) {
  MATRIX_BODY(matrix_forward, 64);
}

KERNEL_SHARED(matrix_forward_128, cu_attention, CU_BLOCKS_WIDE) {
  MATRIX_BODY(matrix_forward, 128);
}

KERNEL_SHARED(matrix_queries_32, cu_attention, CU_BLOCKS_NARROW) {
  MATRIX_BODY(matrix_queries, 32);
}

KERNEL_SHARED(matrix_queries_64, cu_attention, CU_BLOCKS_WIDE) {
  MATRIX_BODY(matrix_queries, 64);
}

KERNEL_SHARED(matrix_queries_128, cu_attention, CU_BLOCKS_WIDE) {
  MATRIX_BODY(matrix_queries, 128);
}

KERNEL_SHARED(matrix_keys_32, cu_attention, CU_BLOCKS_NARROW) {
  MATRIX_BODY(matrix_keys, 32);
}

KERNEL_SHARED(matrix_keys_64, cu_attention, CU_BLOCKS_WIDE) {
  MATRIX_BODY(matrix_keys, 64);
}

KERNEL_SHARED(matrix_keys_128, cu_attention, CU_BLOCKS_WIDE) {
  MATRIX_BODY(matrix_keys, 128);
}
