/* relative_scores.c: what scores take from the products of queries and keys with embeddings, and what these get of their
 * gradients.
 *
 * The score of a query and a key has of_keys[key][row] and of_queries[query][row], with the row of their distance. Along the
 * queries of a key, or the keys of a query, distances follow each other; where the rows of neighbours are the same or follow each
 * other too, those of VEC distances are VEC or fewer: one vector, dealt to the distances, or added up from them. What is
 * found along keys is turned about, since scores lie along queries. */
#include "ops/cpu/relative.h"
#include "ops/cpu/transpose.h"

/* Distance of a query of the block to a key, as an index. */
static int64_t distance_of(const relative_head *r, const attention_block *b, int64_t query, int64_t key) {
  return b->first + query - key + r->keys - 1;
}

/* Of a key or a query, whose products begin at `from`: those with the rows of VEC distances. */
BRIM_INLINE vec take(const relative_head *r, const float *from, int64_t distance) {
  const int32_t *row = r->row + distance;
  return vdeal(vload(from + (row[0] - r->first)), iload(row) - row[0]);
}

/* Adds the gradients x of the distances begin .. VEC - 1 of VEC to those of their rows: of each row the first distance first, or
 * the last. Rows that none of them has stay what they are. */
BRIM_INLINE void give(const bool last_first, const attention_work *w, const relative_head *r, int64_t distance, int32_t begin,
                      vec x, float *to) {
  const int32_t row = r->row[distance], from = (int32_t)(r->from + distance), *starts = w->row_starts + row;
  const ivec none = {0};
  ivec low = imax(iload(starts) - from, none + begin), high = imin(iload(starts + 1) - from, none + VEC);
  vec sum = vload(to + (row - r->first)), some;
  while (vdeal_between(x, last_first ? high - 1 : low, low, high, &some)) {
    sum += some;
    if (last_first)
      high -= 1;
    else
      low += 1;
  }
  vstore(to + (row - r->first), sum);
}

/* Some queries of a block and some keys: VEC each, or as many as are left. */
typedef struct square {
  int64_t query, queries, key, keys;
} square;

static const float *products_of(const float *of, const relative_head *r, int64_t from) {
  return of + from * r->room;
}

/* `scores`: of the first key. */
static void add_square(const attention_block *b, const square *s, const relative_head *r, float *scores) {
  float along_keys[VEC * VEC];
  vec of_queries[VEC];
  for (int64_t i = 0; i < VEC; i++) /* the last key is the nearest */
    vstore(along_keys + i * VEC, i < s->queries ? take(r, products_of(r->of_queries, r, s->query + i),
                                                       distance_of(r, b, s->query + i, s->key + VEC - 1))
                                                : vzero());
  transpose((const char *)along_keys, VEC * (int64_t)sizeof(float), of_queries);
  for (int64_t j = 0; j < s->keys; j++) {
    float *p = scores + j * QUERY_BLOCK + s->query;
    const vec of_key = take(r, products_of(r->of_keys, r, s->key + j), distance_of(r, b, s->query, s->key + j));
    vstore(p, vload(p) + vfirst_n(of_key + of_queries[VEC - 1 - j], s->queries, vzero()));
  }
}

/* The same for any rows. */
static void add_scattered(const attention_block *b, int64_t key, int64_t keys, const relative_head *r, float *scores) {
  for (int64_t j = 0; j < keys; j++) {
    const int32_t *row = r->row + distance_of(r, b, 0, key + j);
    const float *of_key = products_of(r->of_keys, r, key + j);
    float *p = scores + j * QUERY_BLOCK;
    for (int64_t i = 0; i < b->queries; i++)
      p[i] += of_key[row[i] - r->first] + products_of(r->of_queries, r, i)[row[i] - r->first];
  }
}

void CPU(relative_add)(const attention_work *w, const attention_block *b, int64_t first, int64_t keys, const relative_head *r,
                       float *scores) {
  for (int64_t j = 0; r->of->bias && j < keys; j++) {
    const float *bias = r->bias + distance_of(r, b, 0, first + j);
    float *p = scores + j * QUERY_BLOCK;
    for (int64_t i = 0; i < b->queries; i += VEC)
      vstore_n(p + i, vload_n(p + i, b->queries - i) + vload_n(bias + i, b->queries - i), b->queries - i);
  }
  if (!r->of->keys)
    return;
  if (!w->steady) {
    add_scattered(b, first, keys, r, scores);
    return;
  }
  for (int64_t j = 0; j < keys; j += VEC)
    for (int64_t i = 0; i < b->queries; i += VEC) {
      const square s = {i, least(VEC, b->queries - i), first + j, least(VEC, keys - j)};
      add_square(b, &s, r, scores + j * QUERY_BLOCK);
    }
}

/* `ds`: of the first key. Where there are fewer keys, what follows them in memory is turned about too, and taken by nobody. Where
 * there are fewer queries, there are zeros. */
static void give_square(const attention_work *w, const attention_block *b, const square *s, const float *ds, relative_head *r) {
  const int64_t row = QUERY_BLOCK * (int64_t)sizeof *ds;
  vec along_keys[VEC];
  for (int64_t j = 0; j < s->keys; j++)
    give(false, w, r, distance_of(r, b, s->query, s->key + j), 0, vload(ds + j * QUERY_BLOCK + s->query),
         r->dof_keys + (s->key + j) * r->room);
  transpose((const char *)(ds + (VEC - 1) * QUERY_BLOCK + s->query), -row, along_keys);
  for (int64_t i = 0; i < s->queries; i++)
    give(true, w, r, distance_of(r, b, s->query + i, s->key + VEC - 1), (int32_t)(VEC - s->keys), along_keys[i],
         r->dof_queries + (s->query + i) * r->room);
}

static void give_scattered(const attention_block *b, const float *ds, relative_head *r) {
  for (int64_t j = 0; j < r->keys; j++) {
    const int32_t *row = r->row + distance_of(r, b, 0, j);
    const float *d = ds + j * QUERY_BLOCK;
    for (int64_t i = 0; i < b->queries; i++) {
      r->dof_keys[j * r->room + row[i] - r->first] += d[i];
      r->dof_queries[i * r->room + row[i] - r->first] += d[i];
    }
  }
}

void CPU(relative_add_up)(const attention_work *w, const attention_block *b, const float *ds, relative_head *r) {
  for (int64_t j = 0; r->of->dbias && j < r->keys; j++) {
    float *dbias = r->dbias + distance_of(r, b, 0, j);
    const float *d = ds + j * QUERY_BLOCK;
    for (int64_t i = 0; i < b->queries; i += VEC)
      vstore_n(dbias + i, vload_n(dbias + i, b->queries - i) + vload_n(d + i, b->queries - i), b->queries - i);
  }
  if (!r->of->keys)
    return;
  if (!w->steady) {
    give_scattered(b, ds, r);
    return;
  }
  for (int64_t j = 0; j < r->keys; j += VEC)
    for (int64_t i = 0; i < b->queries; i += VEC) {
      const square s = {i, least(VEC, b->queries - i), j, least(VEC, r->keys - j)};
      give_square(w, b, &s, ds + j * QUERY_BLOCK, r);
    }
}
