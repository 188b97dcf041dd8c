/* attention.cuh: softmax(scale q k^T) v within each text and head, for texts of any length: a block has 32 queries, or 32 keys, of
 * one head, and takes what they meet 32 at a time: with a window, only what is near enough. Eight neighbouring lanes share a query: each has four keys of 32, those whose
 * masks come from one block of random bits, and every eighth column of a head.
 *
 * Backward computes the probabilities again from the log-sum-exp. The kernel of queries gives dq and each query's delta, the one of
 * keys dk and dv: no two blocks write the same row. */

enum { PAIR_TILE = 32, PAIR_LANES = 8, PAIR_KEYS = PAIR_TILE / PAIR_LANES, PAIR_ROOM = PAIR_TILE + 1, MOST_HEAD_SIZE = 128 };
enum { PAIR_COLUMNS = MOST_HEAD_SIZE / PAIR_LANES };

/* What a block works on: one head of one text; heads of queries that share keys and values are a group. */
struct head_of {
  int text, head, first; /* of the block's own queries or keys */
  int begin, keys, slots, queries;
  long long query_row, shift, shared; /* row of q where the text's queries begin; columns where the head's begin, in q and in k */
};

DEVICE head_of head_at(const cu_attention &a, int head) {
  head_of h;
  h.text = blockIdx.x / a.tiles;
  h.head = head;
  h.first = blockIdx.x % a.tiles * PAIR_TILE;
  h.begin = a.layout.offsets[h.text];
  h.slots = a.layout.offsets[h.text + 1] - h.begin;
  h.keys = a.layout.lengths[h.text];
  h.queries = a.first_only && h.slots > 1 ? 1 : h.slots;
  h.query_row = a.first_only ? h.text : h.begin;
  h.shift = (long long)head * a.head_size;
  h.shared = (long long)(head / a.group) * a.head_size;
  return h;
}

/* Of the 32 rows from h.first on: the first tile of what they meet, and the end. */
DEVICE int first_met(const cu_attention &a, const head_of &h) {
  return a.window > 0 && h.first > a.window ? (h.first - a.window) / PAIR_TILE * PAIR_TILE : 0;
}

DEVICE int end_met(const cu_attention &a, const head_of &h, int count) {
  return a.window > 0 && count - h.first > a.window + PAIR_TILE ? h.first + a.window + PAIR_TILE : count;
}

/* With a window, rows of padding meet nothing. */
DEVICE bool meets(const cu_attention &a, const head_of &h, int query, int key) {
  if (query >= h.queries || key >= h.keys)
    return false;
  const int apart = query < key ? key - query : query - key;
  return a.window == 0 || (apart <= a.window && query < h.keys);
}

/* Rows first .. first + 31 of a head, zeros from `count` on. */
DEVICE void load_pair_tile(SHARED_AT(float) to, GLOBAL(const float) from, long long stride, int first, int count, int size) {
  for (int i = threadIdx.x; i < PAIR_TILE * size; i += blockDim.x) {
    const int row = i / size, column = i % size;
    to[row * (size + 1) + column] = first + row < count ? (float)from[(first + row) * stride + column] : 0.0f;
  }
}

/* Key of 32 that is the u-th of a lane. */
DEVICE int key_of(int lane, int u) {
  return u / 2 * 16 + 2 * lane + u % 2;
}

DEVICE float dot(SHARED_AT(float) x, SHARED_AT(float) y, int size) {
  float sum = 0;
  for (int i = 0; i < size; i++)
    sum = fmaf((float)x[i], (float)y[i], sum);
  return sum;
}

/* Random bits of a lane's keys among the 32 from `first` on. */
DEVICE words pair_words(const cu_attention &a, const head_of &h, int query, int first, int lane) {
  words w = {{0, 0, 0, 0}};
  if (a.dropout.on)
    w = philox(a.layout.places[h.text], a.dropout.site + (unsigned)h.head, (unsigned)query,
               (unsigned)(first / (2 * PAIR_TILE) * PAIR_LANES + lane), a.dropout.key0, a.dropout.key1);
  return w;
}

DEVICE float dropped_key(const cu_attention &a, const words &w, int first, int u, float x) {
  return dropped(a.dropout, u == 0 ? w.of[1] : u == 1 ? w.of[0] : u == 2 ? w.of[3] : w.of[2], first / PAIR_TILE % 2, x);
}

/* Over the eight lanes of a query. */
DEVICE float pair_sum(float x) {
  for (int apart = PAIR_LANES / 2; apart > 0; apart /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

DEVICE float pair_max(float x) {
  for (int apart = PAIR_LANES / 2; apart > 0; apart /= 2)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, apart));
  return x;
}

KERNEL(attention_forward, cu_attention) {
  DYNAMIC_SHARED(memory);
  const head_of h = head_at(a, blockIdx.y);
  if (h.first >= h.queries)
    return;
  const int size = a.head_size, tile = PAIR_TILE * (size + 1);
  SHARED_AT(float) q = memory;
  SHARED_AT(float) k = q + tile;
  SHARED_AT(float) v = k + tile;
  SHARED_AT(float) p = v + tile;
  const int own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES, query = h.first + own;
  float top = -INFINITY, sum = 0, out[PAIR_COLUMNS] = {};
  load_pair_tile(q, a.q + h.query_row * a.q_stride + h.shift, a.q_stride, h.first, h.queries, size);
  const int end = end_met(a, h, h.keys);
  for (int first = first_met(a, h); first < end; first += PAIR_TILE) {
    __syncthreads();
    load_pair_tile(k, a.k + h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
    load_pair_tile(v, a.v + h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
    __syncthreads();
    float s[PAIR_KEYS], most = -INFINITY, part = 0;
    for (int u = 0; u < PAIR_KEYS; u++) {
      const int key = key_of(lane, u);
      s[u] = meets(a, h, query, first + key) ? a.scale * dot(q + own * (size + 1), k + key * (size + 1), size) : -INFINITY;
      most = fmaxf(most, s[u]);
    }
    most = fmaxf(top, pair_max(most));
    const float from = most == -INFINITY ? 0 : most; /* no key so far */
    const float rest = expf(top - from);             /* of what was summed so far */
    const words w = pair_words(a, h, query, first, lane);
    for (int u = 0; u < PAIR_KEYS; u++) {
      const float x = expf(s[u] - from);
      part += x;
      p[own * PAIR_ROOM + key_of(lane, u)] = dropped_key(a, w, first, u, x);
    }
    top = most;
    sum = fmaf(sum, rest, pair_sum(part));
    __syncthreads();
    UNROLL
    for (int i = 0; i < PAIR_COLUMNS; i++) {
      const int column = lane + i * PAIR_LANES;
      float more = 0;
      for (int key = 0; key < PAIR_TILE && column < size; key++)
        more = fmaf((float)p[own * PAIR_ROOM + key], (float)v[key * (size + 1) + column], more);
      out[i] = fmaf(out[i], rest, more);
    }
  }
  if (query >= h.queries)
    return;
  const long long row = h.query_row + query;
  UNROLL
  for (int i = 0; i < PAIR_COLUMNS; i++) {
    const int column = lane + i * PAIR_LANES;
    if (column < size)
      a.out[row * a.out_stride + h.shift + column] = sum > 0 ? out[i] / sum : 0;
  }
  if (lane == 0)
    a.lse[h.head * a.rows + row] = sum > 0 ? top + logf(sum) : 0;
}

/* Probabilities and dropout(dout v^T) of a query and a lane's keys; 0 where there is no such query or key. */
struct pair_terms {
  float p[PAIR_KEYS], dp[PAIR_KEYS];
};

DEVICE pair_terms terms_of(const cu_attention &a, const head_of &h, const words &w, int query, int first, int lane, float lse,
                           SHARED_AT(float) q, SHARED_AT(float) dout, SHARED_AT(float) k, SHARED_AT(float) v) {
  pair_terms t;
  for (int u = 0; u < PAIR_KEYS; u++) {
    const int key = key_of(lane, u), at = key * (a.head_size + 1);
    const bool there = meets(a, h, query, first + key);
    t.p[u] = there ? expf(a.scale * dot(q, k + at, a.head_size) - lse) : 0.0f;
    t.dp[u] = there ? dropped_key(a, w, first, u, dot(dout, v + at, a.head_size)) : 0.0f;
  }
  return t;
}

/* ds = scale * p * (dp - delta), delta = sum(p * dp) / sum(p); dq = ds k. */
KERNEL(attention_queries, cu_attention) {
  DYNAMIC_SHARED(memory);
  const head_of h = head_at(a, blockIdx.y);
  if (h.first >= h.queries)
    return;
  const int size = a.head_size, tile = PAIR_TILE * (size + 1);
  SHARED_AT(float) q = memory;
  SHARED_AT(float) dout = q + tile;
  SHARED_AT(float) k = dout + tile;
  SHARED_AT(float) v = k + tile;
  SHARED_AT(float) ds = v + tile;
  const int own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES, query = h.first + own;
  const long long row = h.query_row + query;
  const float lse = query < h.queries ? (float)a.lse[h.head * a.rows + row] : 0.0f;
  float whole = 0, total = 0, dq[PAIR_COLUMNS] = {};
  load_pair_tile(q, a.q + h.query_row * a.q_stride + h.shift, a.q_stride, h.first, h.queries, size);
  load_pair_tile(dout, a.dout + h.query_row * a.out_stride + h.shift, a.out_stride, h.first, h.queries, size);
  const int end = end_met(a, h, h.keys);
  for (int again = 0; again < 2; again++) {
    const float delta = again && whole > 0 ? total / whole : 0;
    for (int first = first_met(a, h); first < end; first += PAIR_TILE) {
      __syncthreads();
      load_pair_tile(k, a.k + h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
      load_pair_tile(v, a.v + h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
      __syncthreads();
      const words w = pair_words(a, h, query, first, lane);
      const pair_terms t =
          terms_of(a, h, w, query, first, lane, lse, q + own * (size + 1), dout + own * (size + 1), k, v);
      if (!again) {
        float p = 0, dp = 0;
        for (int u = 0; u < PAIR_KEYS; u++) {
          p += t.p[u];
          dp = fmaf(t.p[u], t.dp[u], dp);
        }
        whole += p;
        total += dp;
        continue;
      }
      for (int u = 0; u < PAIR_KEYS; u++)
        ds[own * PAIR_ROOM + key_of(lane, u)] = a.scale * t.p[u] * (t.dp[u] - delta);
      __syncthreads();
      UNROLL
      for (int i = 0; i < PAIR_COLUMNS; i++) {
        const int column = lane + i * PAIR_LANES;
        for (int key = 0; key < PAIR_TILE && column < size; key++)
          dq[i] = fmaf((float)ds[own * PAIR_ROOM + key], (float)k[key * (size + 1) + column], dq[i]);
      }
    }
    if (!again) {
      whole = pair_sum(whole);
      total = pair_sum(total);
    }
  }
  if (query >= h.queries)
    return;
  UNROLL
  for (int i = 0; i < PAIR_COLUMNS; i++) {
    const int column = lane + i * PAIR_LANES;
    if (column < size)
      a.dq[row * a.q_stride + h.shift + column] = dq[i];
  }
  if (lane == 0)
    a.delta[h.head * a.rows + row] = whole > 0 ? total / whole : 0;
}

/* dv = (dropped p)^T dout; dk = ds^T q; of all heads of a group, one after the other. */
KERNEL(attention_keys, cu_attention) {
  DYNAMIC_SHARED(memory);
  head_of h = head_at(a, blockIdx.y * a.group);
  if (h.first >= h.slots)
    return;
  const int size = a.head_size, tile = PAIR_TILE * (size + 1);
  SHARED_AT(float) q = memory;
  SHARED_AT(float) dout = q + tile;
  SHARED_AT(float) k = dout + tile;
  SHARED_AT(float) v = k + tile;
  SHARED_AT(float) kept = v + tile;
  SHARED_AT(float) ds = kept + PAIR_TILE * PAIR_ROOM;
  const int own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES, end = end_met(a, h, h.queries);
  float dk[PAIR_COLUMNS] = {}, dv[PAIR_COLUMNS] = {};
  load_pair_tile(k, a.k + h.begin * a.kv_stride + h.shared, a.kv_stride, h.first, h.keys, size);
  load_pair_tile(v, a.v + h.begin * a.kv_stride + h.shared, a.kv_stride, h.first, h.keys, size);
  for (int member = 0; member < a.group; member++) {
    for (int first = first_met(a, h); first < end; first += PAIR_TILE) {
      const int query = first + own;
      const long long row = h.head * a.rows + h.query_row + query;
      const float lse = query < h.queries ? (float)a.lse[row] : 0.0f, delta = query < h.queries ? (float)a.delta[row] : 0.0f;
      __syncthreads();
      load_pair_tile(q, a.q + h.query_row * a.q_stride + h.shift, a.q_stride, first, h.queries, size);
      load_pair_tile(dout, a.dout + h.query_row * a.out_stride + h.shift, a.out_stride, first, h.queries, size);
      __syncthreads();
      const words w = pair_words(a, h, query, h.first, lane);
      const pair_terms t = terms_of(a, h, w, query, h.first, lane, lse, q + own * (size + 1), dout + own * (size + 1), k, v);
      for (int u = 0; u < PAIR_KEYS; u++) {
        kept[own * PAIR_ROOM + key_of(lane, u)] = dropped_key(a, w, h.first, u, t.p[u]);
        ds[own * PAIR_ROOM + key_of(lane, u)] = a.scale * t.p[u] * (t.dp[u] - delta);
      }
      __syncthreads();
      UNROLL
      for (int i = 0; i < PAIR_COLUMNS; i++) {
        const int column = lane + i * PAIR_LANES;
        for (int j = 0; j < PAIR_TILE && column < size; j++) {
          dv[i] = fmaf((float)kept[j * PAIR_ROOM + own], (float)dout[j * (size + 1) + column], dv[i]);
          dk[i] = fmaf((float)ds[j * PAIR_ROOM + own], (float)q[j * (size + 1) + column], dk[i]);
        }
      }
    }
    h.head++;
    h.shift += size;
  }
  if (h.first + own >= h.slots)
    return;
  UNROLL
  for (int i = 0; i < PAIR_COLUMNS; i++) {
    const int column = lane + i * PAIR_LANES;
    const long long at = (h.begin + h.first + own) * a.kv_stride + h.shared + column;
    if (column < size) {
      a.dk[at] = dk[i];
      a.dv[at] = dv[i];
    }
  }
}
