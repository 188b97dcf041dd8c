/* attention.cuh: softmax(scale q k^T) v within each text and head, for texts of any length: a block has 32 queries, or 32 keys,
 * of one head, and takes what they meet 32 at a time: with a window, only what is near enough. Eight neighbouring lanes share a
 * query: each has four keys of 32, those whose masks come from one block of random bits, and every eighth column of a head.
 * Scores may have terms by distance, for which each kernel has a second name.
 *
 * Backward computes the probabilities again from the log-sum-exp. The kernel of queries gives dq and each query's delta, the one
 * of keys dk and dv: no two blocks write the same row. */

enum { PAIR_TILE = 32, PAIR_LANES = 8, PAIR_KEYS = PAIR_TILE / PAIR_LANES, PAIR_ROOM = PAIR_TILE + 1, MOST_HEAD_SIZE = 128 };
enum { PAIR_COLUMNS = MOST_HEAD_SIZE / PAIR_LANES };

/* What a block works on: one head of one text; heads of queries that share keys and values are a group. */
struct head_of {
  int text, head, first; /* of the block's own queries or keys */
  int begin, keys, slots, queries;
  long long query_row, shift, shared; /* row of q where the text's queries begin; columns where the head's begin, in q and in k */
};

DEVICE head_of head_in(const cu_attention &a, int text, int head, int first) {
  head_of h;
  h.text = text;
  h.head = head;
  h.first = first;
  h.begin = a.layout.offsets[h.text];
  h.slots = a.layout.offsets[h.text + 1] - h.begin;
  h.keys = a.layout.lengths[h.text];
  h.queries = a.first_only && h.slots > 1 ? 1 : h.slots;
  h.query_row = a.first_only ? h.text : h.begin;
  h.shift = (long long)head * a.head_size;
  h.shared = (long long)(head / a.group) * a.head_size;
  return h;
}

DEVICE head_of head_at(const cu_attention &a, int head, int tile = PAIR_TILE) {
  return head_in(a, blockIdx.x / a.tiles, head, blockIdx.x % a.tiles * tile);
}

/* Of the rows of a tile from h.first on: the first tile of what they meet, and the end. */
DEVICE int first_met(const cu_attention &a, const head_of &h, int tile = PAIR_TILE) {
  return a.window > 0 && h.first > a.window ? (h.first - a.window) / tile * tile : 0;
}

DEVICE int end_met(const cu_attention &a, const head_of &h, int count, int tile = PAIR_TILE) {
  return a.window > 0 && count - h.first > a.window + tile ? h.first + a.window + tile : count;
}

/* With a window, rows of padding meet nothing. */
DEVICE bool meets(const cu_attention &a, const head_of &h, int query, int key) {
  if (query >= h.queries || key >= h.keys)
    return false;
  const int apart = query < key ? key - query : query - key;
  return a.window == 0 || (apart <= a.window && query < h.keys);
}

/* Rows first .. first + 31 of a head, zeros from `count` on. */
DEVICE void load_pair_tile(SHARED_AT(float) to, const cu_typed &from, long long at, long long stride, int first, int count,
                           int size) {
  for (int i = threadIdx.x; i < PAIR_TILE * size; i += blockDim.x) {
    const int row = i / size, column = i % size;
    to[row * (size + 1) + column] = first + row < count ? get(from, at + (first + row) * stride + column) : 0.0f;
  }
}

/* Key of 32 that is the u-th of a lane. */
DEVICE int key_of(int lane, int u) {
  return u / 2 * 16 + 2 * lane + u % 2;
}

/* ---- terms by distance: none, unless the kernel takes embeddings of them */

DEVICE const cu_attention &attention_of(const cu_attention &a) {
  return a;
}

DEVICE bool has_embeddings(const cu_attention &) {
  return false;
}

DEVICE GLOBAL(const float) key_embedding(const cu_attention &) {
  return {};
}

DEVICE GLOBAL(const float) query_embedding(const cu_attention &) {
  return {};
}

DEVICE void load_distances(const cu_attention &, const head_of &, GLOBAL(const float), int, SHARED_AT(float)) {}

DEVICE float with_bias(const cu_attention &, const head_of &, int, float score) {
  return score;
}

DEVICE float with_distance(const cu_attention &, SHARED_AT(float), int, int, int, float x) {
  return x;
}

/* Row of `room` that has the distance of two rows of 32. */
DEVICE int distance_at(int query, int key) {
  return query - key + PAIR_TILE - 1;
}

DEVICE const cu_attention &attention_of(const cu_relative &r) {
  return r.of;
}

DEVICE bool has_embeddings(const cu_relative &r) {
  return (bool)r.keys;
}

DEVICE GLOBAL(const float) key_embedding(const cu_relative &r) {
  return r.keys;
}

DEVICE GLOBAL(const float) query_embedding(const cu_relative &r) {
  return r.queries;
}

/* How far from an embedding's first row, or its middle. */
DEVICE int far_of(const cu_distances &d, int size) {
  int low = 0, high = size <= d.exact ? 0 : d.steps;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (d.threshold[middle] <= size)
      low = middle + 1;
    else
      high = middle;
  }
  return size <= d.exact ? size : d.exact + low;
}

DEVICE int row_of_distance(const cu_distances &d, int distance) {
  const int far = far_of(d, distance < 0 ? -distance : distance), half = d.rows / 2;
  if (d.halves)
    return distance < 0 ? half + far : far;
  const int row = half + (distance < 0 ? -far : far);
  return row < 0 ? 0 : row < d.rows ? row : d.rows - 1;
}

/* The distances of a row of an embedding: from first to last, or below 0. */
struct reach {
  int below, first, last;
};

/* The smallest distance that is so far. */
DEVICE int nearest(const cu_distances &d, int far) {
  return far <= d.exact ? far : far - d.exact <= d.steps ? d.threshold[far - d.exact - 1] : 0x40000000;
}

DEVICE reach reach_of(const cu_distances &d, int row) {
  const int half = d.rows / 2, below = d.halves ? row >= half : row < half;
  const int far = d.halves ? row % half : below ? half - row : row - half;
  const bool end = !d.halves && (row == 0 || row == d.rows - 1); /* and all that is farther */
  reach r = {below, nearest(d, far), end ? 0x40000000 : nearest(d, far + 1) - 1};
  r.first = below && r.first == 0 ? 1 : r.first;
  return r;
}

/* The rows of the distances that 32 queries and 32 keys have, which begin `apart` from each other. */
DEVICE void load_distances(const cu_relative &r, const head_of &h, GLOBAL(const float) embedding, int apart,
                           SHARED_AT(float) room) {
  enum { EACH = BRIM_THREADS_relative_forward / (2 * PAIR_TILE) };
  const int d = threadIdx.x / EACH, size = r.of.head_size;
  if (d == 2 * PAIR_TILE - 1)
    return;
  const long long row = row_of_distance(r.distances, apart + d - (PAIR_TILE - 1)) * r.stride + h.shift;
  for (int i = threadIdx.x % EACH; i < size; i += EACH)
    room[d * (size + 1) + i] = embedding[row + i];
}

DEVICE float with_bias(const cu_relative &r, const head_of &h, int distance, float score) {
  return r.bias ? score + r.bias[(long long)row_of_distance(r.distances, distance) * r.heads + h.head] : score;
}

/* x, and a column of the distance of two rows of 32. */
DEVICE float with_distance(const cu_relative &r, SHARED_AT(float) room, int query, int key, int column, float x) {
  return r.keys ? x + room[distance_at(query, key) * (r.of.head_size + 1) + column] : x;
}

/* ---- of lanes */

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

/* Scores of a query and a lane's keys; those of pairs that do not meet are nothing. */
struct pair_scores {
  float s[PAIR_KEYS];
};

/* Products of row x with a lane's rows of y, where they are wanted. */
template <class ROW>
DEVICE pair_scores dots(SHARED_AT(float) x, SHARED_AT(float) y, int size, const bool (&wanted)[PAIR_KEYS], ROW row) {
  pair_scores of = {};
  for (int i = 0; i < size; i++) {
    const float left = x[i];
    UNROLL
    for (int u = 0; u < PAIR_KEYS; u++)
      if (wanted[u])
        of.s[u] = fmaf(left, (float)y[row(u) * (size + 1) + i], of.s[u]);
  }
  return of;
}

template <class ARGS>
DEVICE pair_scores scores_of(const ARGS &r, const head_of &h, int first_query, int first, int own, int lane, SHARED_AT(float) q,
                             SHARED_AT(float) k, SHARED_AT(float) room) {
  const cu_attention &a = attention_of(r);
  const int size = a.head_size;
  bool wanted[PAIR_KEYS];
  for (int u = 0; u < PAIR_KEYS; u++)
    wanted[u] = has_embeddings(r) || meets(a, h, first_query + own, first + key_of(lane, u));
  pair_scores of = dots(q + own * (size + 1), k, size, wanted, [&](int u) { return key_of(lane, u); });
  if (has_embeddings(r)) {
    load_distances(r, h, key_embedding(r), first_query - first, room);
    __syncthreads();
    const pair_scores more = dots(q + own * (size + 1), room, size, wanted, [&](int u) { return distance_at(own, key_of(lane, u)); });
    for (int u = 0; u < PAIR_KEYS; u++)
      of.s[u] += more.s[u];
    __syncthreads();
    load_distances(r, h, query_embedding(r), first_query - first, room);
    __syncthreads();
    for (int u = 0; u < PAIR_KEYS; u++)
      of.s[u] += dot(k + key_of(lane, u) * (size + 1), room + distance_at(own, key_of(lane, u)) * (size + 1), size);
  }
  for (int u = 0; u < PAIR_KEYS; u++)
    of.s[u] = with_bias(r, h, first_query + own - first - key_of(lane, u), a.scale * of.s[u]);
  return of;
}

template <class ARGS> DEVICE void attention_forward(const ARGS &r) {
  DYNAMIC_SHARED(float, memory);
  const cu_attention &a = attention_of(r);
  const head_of h = head_at(a, blockIdx.y);
  if (h.first >= h.queries)
    return;
  const int size = a.head_size, tile = PAIR_TILE * (size + 1);
  SHARED_AT(float) q = memory;
  SHARED_AT(float) k = q + tile;
  SHARED_AT(float) v = k + tile;
  SHARED_AT(float) p = v + tile;
  SHARED_AT(float) room = p + PAIR_TILE * PAIR_ROOM;
  const int own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES, query = h.first + own;
  float top = -INFINITY, sum = 0, out[PAIR_COLUMNS] = {};
  load_pair_tile(q, a.q, h.query_row * a.q_stride + h.shift, a.q_stride, h.first, h.queries, size);
  const int end = end_met(a, h, h.keys);
  for (int first = first_met(a, h); first < end; first += PAIR_TILE) {
    __syncthreads();
    load_pair_tile(k, a.k, h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
    load_pair_tile(v, a.v, h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
    __syncthreads();
    pair_scores of = scores_of(r, h, h.first, first, own, lane, q, k, room);
    float most = -INFINITY, sum_here = 0;
    for (int u = 0; u < PAIR_KEYS; u++) {
      of.s[u] = meets(a, h, query, first + key_of(lane, u)) ? of.s[u] : -INFINITY;
      most = fmaxf(most, of.s[u]);
    }
    most = fmaxf(top, pair_max(most));
    const float from = most == -INFINITY ? 0 : most; /* no key so far */
    const float rest = expf(top - from);             /* of what was summed so far */
    const words w = pair_words(a, h, query, first, lane);
    for (int u = 0; u < PAIR_KEYS; u++) {
      const float x = expf(of.s[u] - from);
      sum_here += x;
      p[own * PAIR_ROOM + key_of(lane, u)] = dropped_key(a, w, first, u, as_stored(a.q, x));
    }
    top = most;
    sum = fmaf(sum, rest, pair_sum(sum_here));
    __syncthreads();
    float more[PAIR_COLUMNS] = {};
    ROLLED
    for (int key = 0; key < PAIR_TILE; key++) {
      const float x = p[own * PAIR_ROOM + key];
      UNROLL
      for (int i = 0; i < PAIR_COLUMNS; i++)
        if (lane + i * PAIR_LANES < size)
          more[i] = fmaf(x, (float)v[key * (size + 1) + lane + i * PAIR_LANES], more[i]);
    }
    UNROLL
    for (int i = 0; i < PAIR_COLUMNS; i++)
      out[i] = fmaf(out[i], rest, more[i]);
  }
  if (query >= h.queries)
    return;
  const long long row = h.query_row + query;
  UNROLL
  for (int i = 0; i < PAIR_COLUMNS; i++) {
    const int column = lane + i * PAIR_LANES;
    if (column < size)
      put(a.out, row * a.out_stride + h.shift + column, sum > 0 ? out[i] / sum : 0);
  }
  if (lane == 0)
    a.lse[h.head * a.rows + row] = sum > 0 ? top + logf(sum) : 0;
}

/* Probabilities and dropout(dout v^T) of a query and a lane's keys; 0 where there is no such query or key. */
struct pair_terms {
  float p[PAIR_KEYS], dp[PAIR_KEYS];
};

DEVICE pair_terms terms_of(const cu_attention &a, const head_of &h, const words &w, const pair_scores &of, int query, int first,
                           int lane, float lse, SHARED_AT(float) dout, SHARED_AT(float) v) {
  pair_terms t;
  bool there[PAIR_KEYS];
  for (int u = 0; u < PAIR_KEYS; u++)
    there[u] = meets(a, h, query, first + key_of(lane, u));
  const pair_scores change = dots(dout, v, a.head_size, there, [&](int u) { return key_of(lane, u); });
  for (int u = 0; u < PAIR_KEYS; u++) {
    t.p[u] = there[u] ? expf(of.s[u] - lse) : 0.0f;
    t.dp[u] = there[u] ? dropped_key(a, w, first, u, change.s[u]) : 0.0f;
  }
  return t;
}

/* scale * p * change; in 16 bits what is rounded is p times the change without dropout's factor. */
DEVICE float score_gradient(const cu_attention &a, float p, float change) {
  if (!a.q.half)
    return a.scale * p * change;
  const float factor = a.dropout.on && a.dropout.scale > 0 ? a.dropout.scale : 1.0f;
  return a.scale * factor * as_stored(a.q, p * change / factor);
}

/* ds = scale * p * (dp - delta), delta = sum(p * dp) / sum(p); dq = ds k. */
template <class ARGS> DEVICE void attention_queries(const ARGS &r) {
  DYNAMIC_SHARED(float, memory);
  const cu_attention &a = attention_of(r);
  const head_of h = head_at(a, blockIdx.y);
  if (h.first >= h.queries)
    return;
  const int size = a.head_size, tile = PAIR_TILE * (size + 1);
  SHARED_AT(float) q = memory;
  SHARED_AT(float) dout = q + tile;
  SHARED_AT(float) k = dout + tile;
  SHARED_AT(float) v = k + tile;
  SHARED_AT(float) ds = v + tile;
  SHARED_AT(float) room = ds + PAIR_TILE * PAIR_ROOM;
  const int own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES, query = h.first + own;
  const long long row = h.query_row + query;
  const float lse = query < h.queries ? (float)a.lse[h.head * a.rows + row] : 0.0f;
  float whole = 0, total = 0, dq[PAIR_COLUMNS] = {};
  load_pair_tile(q, a.q, h.query_row * a.q_stride + h.shift, a.q_stride, h.first, h.queries, size);
  load_pair_tile(dout, a.dout, h.query_row * a.out_stride + h.shift, a.out_stride, h.first, h.queries, size);
  const int end = end_met(a, h, h.keys);
  for (int again = 0; again < 2; again++) {
    const float delta = again && whole > 0 ? total / whole : 0;
    for (int first = first_met(a, h); first < end; first += PAIR_TILE) {
      __syncthreads();
      load_pair_tile(k, a.k, h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
      load_pair_tile(v, a.v, h.begin * a.kv_stride + h.shared, a.kv_stride, first, h.keys, size);
      __syncthreads();
      const words w = pair_words(a, h, query, first, lane);
      const pair_scores of = scores_of(r, h, h.first, first, own, lane, q, k, room);
      const pair_terms t = terms_of(a, h, w, of, query, first, lane, lse, dout + own * (size + 1), v);
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
      if (has_embeddings(r)) {
        __syncthreads();
        load_distances(r, h, key_embedding(r), h.first - first, room);
      }
      for (int u = 0; u < PAIR_KEYS; u++)
        ds[own * PAIR_ROOM + key_of(lane, u)] = score_gradient(a, t.p[u], t.dp[u] - delta);
      __syncthreads();
      ROLLED
      for (int key = 0; key < PAIR_TILE; key++) {
        const float x = ds[own * PAIR_ROOM + key];
        UNROLL
        for (int i = 0; i < PAIR_COLUMNS; i++) {
          const int column = lane + i * PAIR_LANES;
          if (column < size)
            dq[i] = fmaf(x, with_distance(r, room, own, key, column, k[key * (size + 1) + column]), dq[i]);
        }
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
      put(a.dq, row * a.q_stride + h.shift + column, dq[i]);
  }
  if (lane == 0)
    a.delta[h.head * a.rows + row] = whole > 0 ? total / whole : 0;
}

/* dv = (dropped p)^T dout; dk = ds^T q; of all heads of a group, one after the other. */
template <class ARGS> DEVICE void attention_keys(const ARGS &r) {
  DYNAMIC_SHARED(float, memory);
  const cu_attention &a = attention_of(r);
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
  SHARED_AT(float) room = ds + PAIR_TILE * PAIR_ROOM;
  const int own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES, end = end_met(a, h, h.queries);
  float dk[PAIR_COLUMNS] = {}, dv[PAIR_COLUMNS] = {};
  load_pair_tile(k, a.k, h.begin * a.kv_stride + h.shared, a.kv_stride, h.first, h.keys, size);
  load_pair_tile(v, a.v, h.begin * a.kv_stride + h.shared, a.kv_stride, h.first, h.keys, size);
  for (int member = 0; member < a.group; member++) {
    for (int first = first_met(a, h); first < end; first += PAIR_TILE) {
      const int query = first + own;
      const long long row = h.head * a.rows + h.query_row + query;
      const float lse = query < h.queries ? (float)a.lse[row] : 0.0f, delta = query < h.queries ? (float)a.delta[row] : 0.0f;
      __syncthreads();
      load_pair_tile(q, a.q, h.query_row * a.q_stride + h.shift, a.q_stride, first, h.queries, size);
      load_pair_tile(dout, a.dout, h.query_row * a.out_stride + h.shift, a.out_stride, first, h.queries, size);
      __syncthreads();
      const words w = pair_words(a, h, query, h.first, lane);
      const pair_scores of = scores_of(r, h, first, h.first, own, lane, q, k, room);
      const pair_terms t = terms_of(a, h, w, of, query, h.first, lane, lse, dout + own * (size + 1), v);
      for (int u = 0; u < PAIR_KEYS; u++) {
        kept[own * PAIR_ROOM + key_of(lane, u)] = dropped_key(a, w, h.first, u, as_stored(a.q, t.p[u]));
        ds[own * PAIR_ROOM + key_of(lane, u)] = score_gradient(a, t.p[u], t.dp[u] - delta);
      }
      __syncthreads();
      ROLLED
      for (int j = 0; j < PAIR_TILE; j++) {
        const float x = kept[j * PAIR_ROOM + own], y = ds[j * PAIR_ROOM + own];
        UNROLL
        for (int i = 0; i < PAIR_COLUMNS; i++) {
          const int column = lane + i * PAIR_LANES;
          if (column < size) {
            dv[i] = fmaf(x, (float)dout[j * (size + 1) + column], dv[i]);
            dk[i] = fmaf(y, with_distance(r, room, j, own, column, q[j * (size + 1) + column]), dk[i]);
          }
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
      put(a.dk, at, dk[i]);
      put(a.dv, at, dv[i]);
    }
  }
}

KERNEL(attention_forward, cu_attention) {
  attention_forward(a);
}

KERNEL(attention_queries, cu_attention) {
  attention_queries(a);
}

KERNEL(attention_keys, cu_attention) {
  attention_keys(a);
}

KERNEL(relative_forward, cu_relative) {
  attention_forward(a);
}

KERNEL(relative_queries, cu_relative) {
  attention_queries(a);
}

KERNEL(relative_keys, cu_relative) {
  attention_keys(a);
}

/* ---- gradients of the embeddings: a block a row and head, which goes through all pairs that are so far apart, 32 at a time */

/* Where a pair is in memory, and what a score's gradient needs. */
struct distant_pair {
  long long q, row, k; /* of the query in q and dq, its row, of the key */
  int query, key;
};

DEVICE float pair_gradient(const cu_relative &r, const head_of &h, const distant_pair &x, int embedding_row, int lane) {
  const cu_attention &a = r.of;
  const long long embedding = embedding_row * r.stride + h.shift, out = x.row * a.out_stride + h.shift;
  float score = 0, dp = 0;
  for (int i = lane; i < a.head_size; i += PAIR_LANES) {
    const float q = get(a.q, x.q + i), k = get(a.k, x.k + i);
    score = fmaf(q, k, score);
    if (has_embeddings(r)) {
      score = fmaf(q, (float)r.keys[embedding + i], score);
      score = fmaf(k, (float)r.queries[embedding + i], score);
    }
    dp = fmaf(get(a.dout, out + i), get(a.v, x.k + i), dp);
  }
  score = a.scale * pair_sum(score) + (r.bias ? (float)r.bias[(long long)embedding_row * r.heads + h.head] : 0.0f);
  dp = pair_sum(dp);
  const long long at = h.head * a.rows + x.row;
  const words w = pair_words(a, h, x.query, x.key / PAIR_TILE * PAIR_TILE, x.key % 16 / 2);
  const float kept = dropped_key(a, w, x.key / PAIR_TILE * PAIR_TILE, x.key % PAIR_TILE / 16 * 2 + x.key % 2, dp);
  return expf(score - a.lse[at]) * (kept - a.delta[at]);
}

KERNEL(relative_embeddings, cu_relative) {
  SHARED(float, ds, PAIR_TILE);
  const cu_attention &t = a.of;
  const int embedding_row = blockIdx.x, own = threadIdx.x / PAIR_LANES, lane = threadIdx.x % PAIR_LANES;
  const int column = threadIdx.x % MOST_HEAD_SIZE, of_keys = threadIdx.x < MOST_HEAD_SIZE;
  const reach far = reach_of(a.distances, embedding_row);
  float sum = 0, bias = 0;
  for (int s = 0; s < t.texts; s++) {
    const head_of h = head_in(t, s, blockIdx.y, 0);
    const int last = far.last < h.slots - 1 ? far.last : h.slots - 1;
    for (int apart = far.first; apart <= last; apart++) {
      const int to_query = far.below ? 0 : apart, to_key = far.below ? apart : 0;
      const int count = h.queries - to_query < h.keys - to_key ? h.queries - to_query : h.keys - to_key;
      for (int first = 0; first < count; first += PAIR_TILE) {
        const int i = first + own < count ? first + own : count - 1;
        const distant_pair x = {(h.query_row + i + to_query) * t.q_stride + h.shift, h.query_row + i + to_query,
                                (h.begin + i + to_key) * t.kv_stride + h.shared, i + to_query, i + to_key};
        const float gradient = pair_gradient(a, h, x, embedding_row, lane);
        if (lane == 0)
          ds[own] = first + own < count ? gradient : 0.0f;
        __syncthreads();
        for (int j = 0; j < PAIR_TILE && first + j < count; j++) {
          bias += ds[j];
          if (has_embeddings(a) && column < t.head_size)
            sum = fmaf((float)ds[j],
                       of_keys ? get(t.q, (h.query_row + first + j + to_query) * t.q_stride + h.shift + column)
                               : get(t.k, (h.begin + first + j + to_key) * t.kv_stride + h.shared + column),
                       sum);
        }
        __syncthreads();
      }
    }
  }
  const long long to = embedding_row * a.stride + (long long)blockIdx.y * t.head_size + column;
  if (has_embeddings(a) && column < t.head_size)
    (of_keys ? a.dkeys : a.dqueries)[to] = t.scale * sum;
  if (a.dbias && threadIdx.x == 0)
    a.dbias[(long long)embedding_row * a.heads + blockIdx.y] += bias;
}
