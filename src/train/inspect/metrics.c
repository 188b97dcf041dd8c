/* metrics.c: metrics of numbers in a file, to compare with other programs: brim inspect metrics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/sort.h"
#include "base/status.h"
#include "brim/train.h"
#include "target/ranking.h"
#include "task/task.h"

enum { LIMIT = 256 << 20, MOST_CUTS = 16, CUT = 10 };

typedef struct entry {
  const brim_json_document *document;
  const brim_json_value *object;
  brim_arena *arena;
  brim_json_writer *out;
  brim_error *err;
} entry;

static int wrong(const entry *e, const brim_json_value *at, const char *what) {
  return brim_json_error(e->document, at ? at : e->object, e->err, BRIM_E_FORMAT, "%s", what);
}

static int member(const entry *e, const char *name, brim_json_kind kind, const brim_json_value **out) {
  *out = brim_json_get(e->object, name);
  return *out && (*out)->kind == kind ? BRIM_OK
                                      : brim_json_error(e->document, *out ? *out : e->object, e->err, BRIM_E_FORMAT,
                                                        "\"%s\" is needed, %s", name, brim_json_kind_name(kind));
}

static int take(const entry *e, size_t count, size_t size, void *out) {
  void *memory = brim_arena_alloc_array(e->arena, count + 1, size);
  memcpy(out, &memory, sizeof memory);
  return memory ? BRIM_OK : BRIM_NOMEM(e->err);
}

/* A list of numbers. */
static int numbers_of(const entry *e, const brim_json_value *list, double **out) {
  size_t i = 0;
  BRIM_TRY(take(e, list->length, sizeof **out, out));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    (*out)[i++] = brim_json_number(v);
  return BRIM_OK;
}

/* A list of vectors of one width, or the vectors of an object. */
static int vectors_of(const entry *e, const brim_json_value *list, int32_t *width, double **out) {
  const bool named = list->kind == BRIM_JSON_OBJECT;
  size_t i = 0;
  *out = NULL;
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    const brim_json_value *vector = named ? brim_json_member(v) : v;
    if (vector->kind != BRIM_JSON_ARRAY || vector->length == 0 || (*width && vector->length != (uint32_t)*width))
      return wrong(e, vector, "vectors are lists of numbers, all of one length");
    *width = (int32_t)vector->length;
    if (!*out)
      BRIM_TRY(take(e, (size_t)list->length * (size_t)*width, sizeof **out, out));
    for (const brim_json_value *n = brim_json_first(vector); n; n = brim_json_after(vector, n))
      (*out)[i++] = brim_json_number(n);
  }
  return *out ? BRIM_OK : wrong(e, list, "there are no vectors");
}

/* NaN is null. */
static void put(brim_json_writer *out, const char *name, double value) {
  brim_json_put_number(out, name, value);
}

static void put_named(brim_json_writer *out, const char *before, const char *name, const char *after, double value) {
  char full[80];
  snprintf(full, sizeof full, "%s%s%s", before, name, after);
  put(out, full, value);
}

/* ---- similarity ---------------------------------------------------------------------------------------------- */

static int pairs(entry *e) {
  const brim_json_value *first, *second, *labels;
  double *a, *b, *y, *values, *wanted, most[2] = {NAN, NAN};
  int32_t width = 0;
  void *work;
  BRIM_TRY(member(e, "first", BRIM_JSON_ARRAY, &first));
  BRIM_TRY(member(e, "second", BRIM_JSON_ARRAY, &second));
  BRIM_TRY(member(e, "labels", BRIM_JSON_ARRAY, &labels));
  if (first->length != second->length || first->length != labels->length)
    return wrong(e, labels, "there are other numbers of vectors and labels");
  BRIM_TRY(vectors_of(e, first, &width, &a));
  BRIM_TRY(vectors_of(e, second, &width, &b));
  BRIM_TRY(numbers_of(e, labels, &y));
  BRIM_TRY(take(e, labels->length, sizeof *values, &values));
  BRIM_TRY(take(e, labels->length, sizeof *wanted, &wanted));
  BRIM_TRY(take(e, labels->length, BRIM_CORRELATION_WORK, &work));
  for (int s = 0; s < BRIM_SIMILARITIES; s++) {
    for (uint32_t i = 0; i < labels->length; i++)
      values[i] = brim_similarity_of((brim_similarity)s, a + (size_t)i * (size_t)width, b + (size_t)i * (size_t)width, width);
    memcpy(wanted, y, labels->length * sizeof *wanted);
    const brim_correlation c = brim_correlate(values, wanted, labels->length, work);
    put_named(e->out, "pearson_", brim_similarity_name((brim_similarity)s), "", c.pearson);
    put_named(e->out, "spearman_", brim_similarity_name((brim_similarity)s), "", c.spearman);
    most[0] = fmax(most[0], c.pearson);
    most[1] = fmax(most[1], c.spearman);
  }
  put(e->out, "pearson_max", most[0]);
  put(e->out, "spearman_max", most[1]);
  return BRIM_OK;
}

/* The share of anchors that are more like their positive, by more than the margin. */
static int triplets(entry *e) {
  static const char *const columns[] = {"anchor", "positive", "negative"};
  const brim_json_value *list = NULL;
  double *v[3], margin = 0, most = NAN;
  int32_t width = 0;
  for (int i = 0; i < 3; i++) {
    BRIM_TRY(member(e, columns[i], BRIM_JSON_ARRAY, &list));
    BRIM_TRY(vectors_of(e, list, &width, &v[i]));
  }
  BRIM_TRY(brim_json_read_real(e->document, e->object, "margin", &margin, e->err));
  for (int s = 0; s < BRIM_SIMILARITIES; s++) {
    double right = 0;
    for (size_t i = 0; i < list->length; i++) {
      const size_t at = i * (size_t)width;
      const double positive = brim_similarity_of((brim_similarity)s, v[0] + at, v[1] + at, width);
      right += positive > brim_similarity_of((brim_similarity)s, v[0] + at, v[2] + at, width) + margin;
    }
    put_named(e->out, "", brim_similarity_name((brim_similarity)s), "_accuracy", right / list->length);
    most = fmax(most, right / list->length);
  }
  put(e->out, "max_accuracy", most);
  return BRIM_OK;
}

/* ---- retrieval ----------------------------------------------------------------------------------------------- */

typedef struct found {
  const brim_json_value **names; /* of documents */
  const double *scores;
} found;

/* Less alike; or alike, and later by name as a string. */
static bool is_worse(const void *a, const void *b, const void *context) {
  const found *f = context;
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  if (f->scores[x] != f->scores[y])
    return f->scores[x] < f->scores[y];
  const brim_json_value *m = f->names[x], *n = f->names[y];
  const int order = memcmp(m->as.text, n->as.text, m->length < n->length ? m->length : n->length);
  return order != 0 ? order > 0 : m->length > n->length;
}

typedef struct retrieval {
  brim_similarity similarity;
  const brim_json_value *corpus, *relevant;
  const double *documents;
  const brim_json_value **names;
  double *scores;
  uint32_t *order;
  bool *hits;
  int32_t width;
  uint64_t cuts[MOST_CUTS], cut_count, most, queries;
  brim_retrieval sums[MOST_CUTS];
} retrieval;

static bool lists(const brim_json_value *list, const brim_json_value *name) {
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    if (v->length == name->length && memcmp(v->as.text, name->as.text, name->length) == 0)
      return true;
  return false;
}

static void add(brim_retrieval *sum, const brim_retrieval *one) {
  sum->accuracy += one->accuracy;
  sum->precision += one->precision;
  sum->recall += one->recall;
  sum->ndcg += one->ndcg;
  sum->mrr += one->mrr;
  sum->map += one->map;
}

/* One query: its documents in order, what of them is relevant, and the metrics at each cut. */
static void search(retrieval *r, const double *query, const brim_json_value *relevant, brim_json_writer *out) {
  const uint32_t count = r->corpus->length, shown = r->most < count ? (uint32_t)r->most : count;
  const found f = {r->names, r->scores};
  for (uint32_t d = 0; d < count; d++) {
    r->scores[d] = brim_similarity_of(r->similarity, query, r->documents + (size_t)d * (size_t)r->width, r->width);
    r->order[d] = d;
  }
  brim_sort(r->order, count, sizeof *r->order, is_worse, &f);
  for (uint32_t i = 0; i < shown; i++) {
    const brim_json_value *name = r->names[r->order[i]];
    r->hits[i] = lists(relevant, name);
    brim_json_put_bytes(out, NULL, name->as.text, name->length);
  }
  for (uint64_t c = 0; c < r->cut_count; c++) {
    const brim_retrieval one = brim_retrieval_at(r->hits, shown, relevant->length, r->cuts[c]);
    add(&r->sums[c], &one);
  }
  r->queries++;
}

/* Where rankings are cut: "at", or the cuts that expected metrics name, or 1, 3, 5 and 10. */
static void find_cuts(const entry *e, retrieval *r) {
  const brim_json_value *at = brim_json_get(e->object, "at");
  const brim_json_value *expected = brim_json_get(brim_json_get(e->object, "expected"), "metrics");
  static const uint64_t usual[] = {1, 3, 5, 10};
  for (const brim_json_value *v = at ? brim_json_first(at) : NULL; v && r->cut_count < MOST_CUTS; v = brim_json_after(at, v))
    r->cuts[r->cut_count++] = (uint64_t)brim_json_number(v);
  for (const brim_json_value *k = !at && expected ? brim_json_first(expected) : NULL; k && r->cut_count < MOST_CUTS;
       k = brim_json_after(expected, k))
    if (k->length > 9 && memcmp(k->as.text, "accuracy@", 9) == 0)
      r->cuts[r->cut_count++] = strtoull(k->as.text + 9, NULL, 10);
  for (size_t i = 0; i < 4 && r->cut_count < 4 && !at && !expected; i++)
    r->cuts[r->cut_count++] = usual[i];
  for (uint64_t c = 0; c < r->cut_count; c++)
    r->most = r->cuts[c] > r->most ? r->cuts[c] : r->most;
}

static void put_metrics(const retrieval *r, brim_json_writer *out) {
  static const struct {
    const char *name;
    size_t offset;
  } metrics[] = {{"accuracy", offsetof(brim_retrieval, accuracy)}, {"precision", offsetof(brim_retrieval, precision)},
                 {"recall", offsetof(brim_retrieval, recall)},     {"ndcg", offsetof(brim_retrieval, ndcg)},
                 {"mrr", offsetof(brim_retrieval, mrr)},           {"map", offsetof(brim_retrieval, map)}};
  brim_json_open_object(out, "metrics");
  for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
    for (uint64_t c = 0; c < r->cut_count; c++) {
      char name[40];
      double sum;
      memcpy(&sum, (const char *)&r->sums[c] + metrics[m].offset, sizeof sum);
      snprintf(name, sizeof name, "%s@%llu", metrics[m].name, (unsigned long long)r->cuts[c]);
      put(out, name, sum / (double)r->queries);
    }
  brim_json_close_object(out);
}

/* Queries without a relevant document are left out. */
static int search_all(const entry *e, retrieval *r, const brim_json_value *queries, const double *vectors) {
  brim_json_open_object(e->out, "ranking");
  for (const brim_json_value *k = brim_json_first(queries); k; k = brim_json_after(queries, k), vectors += r->width) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(k->length < 255 ? k->length : 255), k->as.text);
    const brim_json_value *relevant = brim_json_get(r->relevant, name);
    if (!relevant || relevant->kind != BRIM_JSON_ARRAY || relevant->length == 0)
      continue;
    brim_json_open_array(e->out, name);
    search(r, vectors, relevant, e->out);
    brim_json_close_array(e->out);
  }
  brim_json_close_object(e->out);
  return r->queries > 0 ? BRIM_OK : wrong(e, r->relevant, "no query has a relevant document");
}

static int retrieve(entry *e) {
  retrieval r = {0};
  const brim_json_value *queries, *similarity;
  double *vectors, *documents;
  size_t i = 0;
  BRIM_TRY(member(e, "similarity", BRIM_JSON_STRING, &similarity));
  BRIM_TRY(member(e, "queries", BRIM_JSON_OBJECT, &queries));
  BRIM_TRY(member(e, "corpus", BRIM_JSON_OBJECT, &r.corpus));
  BRIM_TRY(member(e, "relevant", BRIM_JSON_OBJECT, &r.relevant));
  if (!brim_similarity_named(similarity->as.text, similarity->length, &r.similarity))
    return wrong(e, similarity, "a similarity is cosine, dot, euclidean or manhattan");
  BRIM_TRY(vectors_of(e, queries, &r.width, &vectors));
  BRIM_TRY(vectors_of(e, r.corpus, &r.width, &documents));
  BRIM_TRY(take(e, r.corpus->length, sizeof *r.names, &r.names));
  BRIM_TRY(take(e, r.corpus->length, sizeof *r.scores, &r.scores));
  BRIM_TRY(take(e, r.corpus->length, sizeof *r.order, &r.order));
  BRIM_TRY(take(e, r.corpus->length, sizeof *r.hits, &r.hits));
  for (const brim_json_value *k = brim_json_first(r.corpus); k; k = brim_json_after(r.corpus, k))
    r.names[i++] = k;
  r.documents = documents;
  find_cuts(e, &r);
  BRIM_TRY(search_all(e, &r, queries, vectors));
  put_metrics(&r, e->out);
  return BRIM_OK;
}

/* ---- reranking ----------------------------------------------------------------------------------------------- */

static void put_reranking(brim_json_writer *out, const char *name, brim_reranking r, double count) {
  brim_json_open_object(out, name);
  put(out, "mrr@10", r.mrr / count);
  put(out, "ndcg@10", r.ndcg / count);
  put(out, "map", r.map / count);
  brim_json_close_object(out);
}

static int rerank(entry *e) {
  const brim_json_value *queries;
  brim_reranking sum = {0};
  BRIM_TRY(member(e, "queries", BRIM_JSON_ARRAY, &queries));
  brim_json_open_array(e->out, "per_query");
  for (const brim_json_value *q = brim_json_first(queries); q; q = brim_json_after(queries, q)) {
    const brim_json_value *scores = brim_json_get(q, "scores"), *gains = brim_json_get(q, "relevant");
    double *z, *y;
    uint64_t *order;
    if (!scores || !gains || scores->length != gains->length || scores->length == 0)
      return wrong(e, q, "a query has \"scores\", and as many numbers in \"relevant\"");
    BRIM_TRY(numbers_of(e, scores, &z));
    BRIM_TRY(numbers_of(e, gains, &y));
    BRIM_TRY(take(e, scores->length, sizeof *order, &order));
    const brim_reranking one = brim_reranking_of(z, y, scores->length, CUT, order);
    put_reranking(e->out, NULL, one, 1);
    sum.mrr += one.mrr, sum.ndcg += one.ndcg, sum.map += one.map;
  }
  brim_json_close_array(e->out);
  put_reranking(e->out, "mean", sum, queries->length);
  return BRIM_OK;
}

/* ---- entries ------------------------------------------------------------------------------------------------- */

static int write_entries(const brim_json_document *document, brim_runtime *runtime, const brim_json_value *list,
                         int (*of)(entry *), brim_text *out, brim_error *err) {
  for (const brim_json_value *v = list ? brim_json_first(list) : NULL; v; v = brim_json_after(list, v)) {
    brim_arena arena;
    brim_json_writer json = {.out = out};
    entry e = {document, v, &arena, &json, err};
    const size_t before = out->length;
    brim_arena_init(&arena, runtime, 0);
    brim_json_open_object(&json, NULL);
    const int status = of(&e);
    brim_json_close_object(&json);
    brim_text_string(out, "\n");
    brim_arena_free(&arena);
    out->length = status ? before : out->length;
    BRIM_TRY(status);
  }
  return BRIM_OK;
}

int brim_inspect_metrics(brim_runtime *runtime, const char *kind, const char *path, brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, runtime, kind, path, out);
  brim_json_document *document;
  BRIM_TRY(brim_json_load_named(runtime, path, LIMIT, &document, err));
  const brim_json_value *root = brim_json_root(document);
  int status = BRIM_OK;
  if (strcmp(kind, "similarity") == 0) {
    status = write_entries(document, runtime, brim_json_get(root, "pairs"), pairs, out, err);
    if (!status)
      status = write_entries(document, runtime, brim_json_get(root, "triplets"), triplets, out, err);
  } else {
    status = write_entries(document, runtime, root, strcmp(kind, "retrieval") == 0 ? retrieve : rerank, out, err);
  }
  brim_json_free(document);
  return status;
}
