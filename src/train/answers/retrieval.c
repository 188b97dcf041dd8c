/* retrieval.c: how well a model's vectors find relevant documents: all documents are looked through, a window at a time.
 *
 *   queries that have a relevant document -> vectors -> for each window of the corpus: vectors -> each query's best documents */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "base/status.h"
#include "target/ranking.h"
#include "task/task.h"
#include "train/answers/beir.h"
#include "train/answers/embed.h"

enum {
  WINDOW_TEXTS = 8192, /* documents that are embedded together */
  WINDOW_BYTES = 16 << 20,
  GROUP = 16, /* queries of a task, which it compares with so many documents at a time as a cache holds */
  BLOCK = 64
};

typedef struct found {
  double score;
  uint32_t document;
} found;

/* Texts that wait to be embedded. */
typedef struct window {
  brim_text bytes;
  size_t starts[WINDOW_TEXTS];
  brim_string texts[WINDOW_TEXTS];
  uint64_t count;
  float *vectors; /* [WINDOW_TEXTS, width] */
} window;

typedef struct search {
  brim_runtime *runtime;
  brim_embedder *embedder;
  const brim_retrieval_options *options;
  brim_retrieval_report *report;
  brim_beir_file queries, corpus;
  brim_relevant relevant;
  brim_similarity similarity;
  int32_t width;
  uint64_t most; /* documents of a ranking */
  window window;
  uint64_t *kept; /* [report->queries] numbers of those queries that have a relevant document */
  size_t kept_capacity;
  double *asked;     /* [queries, width] their vectors, as they are compared */
  double *documents; /* [WINDOW_TEXTS, width] those of the window */
  uint32_t first;    /* the window's first document */
  found *best;       /* [queries, most] best first */
  uint64_t *found;   /* [queries] so many of them */
  brim_text names;   /* ids of documents, one after the other */
  size_t *name_ends; /* [documents] */
  int32_t *meant;    /* [documents] numbers in relevant.documents; -1: no line names it */
  size_t name_capacity, meant_capacity;
  brim_error *err;
} search;

/* ---- similarities -------------------------------------------------------------------------------------------- */

/* Eight sums, so that the processor adds several numbers at once: the same for equal vectors, wherever they are. */
#define SUM_OF(term)                                                                                                             \
  double sums[8] = {0}, rest = 0;                                                                                                \
  int32_t k = 0;                                                                                                                 \
  for (; k + 8 <= width; k += 8)                                                                                                 \
    for (int32_t i = 0; i < 8; i++)                                                                                              \
      sums[i] += term(x[k + i], y[k + i]);                                                                                       \
  for (; k < width; k++)                                                                                                         \
    rest += term(x[k], y[k]);                                                                                                    \
  return (((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))) + rest
#define PRODUCT(a, b)    ((a) * (b))
#define SQUARE(a, b)     (((a) - (b)) * ((a) - (b)))
#define DIFFERENCE(a, b) fabs((a) - (b))

static double sum_products(const double *x, const double *y, int32_t width) {
  SUM_OF(PRODUCT);
}
static double sum_squares(const double *x, const double *y, int32_t width) {
  SUM_OF(SQUARE);
}
static double sum_differences(const double *x, const double *y, int32_t width) {
  SUM_OF(DIFFERENCE);
}

static double compare(const search *s, const double *x, const double *y) {
  if (s->similarity == BRIM_SIMILARITY_EUCLIDEAN)
    return -sqrt(sum_squares(x, y, s->width));
  if (s->similarity == BRIM_SIMILARITY_MANHATTAN)
    return -sum_differences(x, y, s->width);
  return sum_products(x, y, s->width);
}

/* Vectors as they are compared: for cosines of length 1. */
static void take_vectors(const search *s, const float *from, uint64_t count, double *to) {
  for (uint64_t i = 0; i < count; i++, from += s->width, to += s->width) {
    for (int32_t k = 0; k < s->width; k++)
      to[k] = (double)from[k];
    const double length = s->similarity == BRIM_SIMILARITY_COSINE ? fmax(sqrt(sum_products(to, to, s->width)), 1e-12) : 1;
    for (int32_t k = 0; k < s->width; k++)
      to[k] /= length;
  }
}

/* ---- the best documents -------------------------------------------------------------------------------------- */

static brim_string name_of(const search *s, uint32_t document) {
  const size_t first = document ? s->name_ends[document - 1] : 0;
  return (brim_string){s->names.data + first, s->name_ends[document] - first};
}

/* Of one score, the one whose id comes first as a string. */
static bool is_better(const search *s, const found *a, const found *b) {
  if (a->score != b->score)
    return a->score > b->score;
  const brim_string x = name_of(s, a->document), y = name_of(s, b->document);
  const size_t common = x.length < y.length ? x.length : y.length;
  const int order = common ? memcmp(x.bytes, y.bytes, common) : 0;
  return order != 0 ? order < 0 : x.length < y.length;
}

static void offer(const search *s, uint64_t query, const found *one) {
  found *best = s->best + query * s->most;
  uint64_t at = s->found[query];
  if (at == s->most && !is_better(s, one, &best[at - 1]))
    return;
  at -= at == s->most;
  s->found[query] = at + 1;
  for (; at > 0 && is_better(s, one, &best[at - 1]); at--)
    best[at] = best[at - 1];
  best[at] = *one;
}

static void search_group(void *context, int64_t group, int worker) {
  const search *s = context;
  const uint64_t first = (uint64_t)group * GROUP;
  const uint64_t end = first + GROUP < s->report->queries ? first + GROUP : s->report->queries;
  (void)worker;
  for (uint64_t block = 0; block < s->window.count; block += BLOCK)
    for (uint64_t q = first; q < end; q++)
      for (uint64_t d = block; d < block + BLOCK && d < s->window.count; d++) {
        const found one = {compare(s, s->asked + q * (uint64_t)s->width, s->documents + d * (uint64_t)s->width),
                           s->first + (uint32_t)d};
        offer(s, q, &one);
      }
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

static void add_text(window *w, const brim_text *text) {
  w->starts[w->count++] = w->bytes.length;
  brim_text_append(&w->bytes, text->data ? text->data : "", text->length);
}

static bool is_full(const window *w) {
  return w->count == WINDOW_TEXTS || w->bytes.length >= WINDOW_BYTES;
}

static int embed_window(search *s, const char *prompt) {
  window *w = &s->window;
  brim_embed_options how = s->options->embed;
  how.prompt = prompt;
  how.numbers = NULL;
  BRIM_TRY(brim_text_status(&w->bytes, s->err));
  for (uint64_t i = 0; i < w->count; i++)
    w->texts[i] = (brim_string){w->bytes.data ? w->bytes.data + w->starts[i] : "",
                                (i + 1 < w->count ? w->starts[i + 1] : w->bytes.length) - w->starts[i]};
  return brim_embedder_run(s->embedder, w->texts, w->count, &how, w->vectors, &s->report->counts, s->err);
}

static void clear_window(window *w) {
  brim_text_clear(&w->bytes);
  w->count = 0;
}

/* ---- queries ------------------------------------------------------------------------------------------------- */

static uint64_t relevant_count(const search *s, uint64_t query) {
  size_t first, end;
  brim_relevant_of(&s->relevant, query, &first, &end);
  return end - first;
}

static int embed_queries(search *s, uint64_t *done) {
  const char *prompt = s->options->query_prompt ? s->options->query_prompt : brim_embedder_prompt(s->embedder, "query");
  BRIM_TRY(embed_window(s, prompt));
  take_vectors(s, s->window.vectors, s->window.count, s->asked + *done * (uint64_t)s->width);
  *done += s->window.count;
  clear_window(&s->window);
  return BRIM_OK;
}

/* Twice: which queries there are says what is relevant to them, and that says which of them are embedded. */
static int name_queries(search *s) {
  int status;
  BRIM_TRY(brim_beir_open(s->runtime, s->options->queries, &s->queries, s->err));
  while (!(status = brim_beir_next(&s->queries, s->err)))
    ;
  return status == BRIM_END ? BRIM_OK : status;
}

static int keep_queries(search *s) {
  for (uint64_t query = 0; query < s->queries.count; query++)
    if (relevant_count(s, query) > 0) {
      BRIM_TRY(brim_grow(s->runtime, (void **)&s->kept, &s->kept_capacity, s->report->queries + 1, sizeof *s->kept, s->err));
      s->kept[s->report->queries++] = query;
    }
  s->report->without = s->queries.count - s->report->queries;
  s->report->relevant = s->relevant.count;
  s->asked = brim_alloc_array(s->runtime, s->report->queries, (size_t)s->width * sizeof *s->asked);
  s->best = brim_alloc_array(s->runtime, s->report->queries, s->most * sizeof *s->best);
  s->found = brim_alloc_array_zero(s->runtime, s->report->queries, sizeof *s->found);
  return s->asked && s->best && s->found ? BRIM_OK : BRIM_NOMEM(s->err);
}

static int read_queries(search *s) {
  brim_beir_file again;
  uint64_t done = 0, next = 0;
  int status = brim_beir_open(s->runtime, s->options->queries, &again, s->err);
  while (!status && next < s->report->queries && !(status = brim_beir_next(&again, s->err))) {
    if (again.count - 1 != s->kept[next])
      continue;
    next++;
    add_text(&s->window, &again.text);
    if (is_full(&s->window))
      status = embed_queries(s, &done);
  }
  brim_beir_close(&again);
  if (status == BRIM_END)
    return brim_error_at(s->err, BRIM_E_MISMATCH, s->options->queries, 0, -1, "the file changed while it was read");
  return status ? status : embed_queries(s, &done);
}

/* ---- documents ----------------------------------------------------------------------------------------------- */

static int search_window(search *s) {
  const char *prompt = s->options->document_prompt ? s->options->document_prompt : brim_embedder_prompt(s->embedder, "document");
  BRIM_TRY(embed_window(s, prompt));
  take_vectors(s, s->window.vectors, s->window.count, s->documents);
  brim_pool_run(s->runtime, (int64_t)((s->report->queries + GROUP - 1) / GROUP), search_group, s);
  s->first += (uint32_t)s->window.count;
  clear_window(&s->window);
  return brim_check_cancel(s->runtime, s->err);
}

static int add_document(search *s) {
  const brim_beir_file *f = &s->corpus;
  const size_t number = (size_t)f->count - 1;
  const char *id = f->id.data ? f->id.data : "";
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->name_ends, &s->name_capacity, number + 1, sizeof *s->name_ends, s->err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->meant, &s->meant_capacity, number + 1, sizeof *s->meant, s->err));
  brim_text_append(&s->names, id, f->id.length);
  s->name_ends[number] = s->names.length;
  s->meant[number] = brim_hashmap_get(&s->relevant.documents, id, f->id.length, -1);
  add_text(&s->window, &f->text);
  BRIM_TRY(brim_text_status(&s->names, s->err));
  return is_full(&s->window) ? search_window(s) : BRIM_OK;
}

static int read_corpus(search *s) {
  int status;
  BRIM_TRY(brim_beir_open(s->runtime, s->options->corpus, &s->corpus, s->err));
  while (!(status = brim_beir_next(&s->corpus, s->err)))
    BRIM_TRY(add_document(s));
  if (status != BRIM_END)
    return status;
  s->report->documents = s->corpus.count;
  if (s->corpus.count == 0)
    return brim_error_at(s->err, BRIM_E_FORMAT, s->options->corpus, 0, -1, "there are no documents");
  return search_window(s);
}

/* ---- the report ---------------------------------------------------------------------------------------------- */

static void find_cuts(search *s) {
  static const uint64_t usual[] = {1, 3, 5, 10, 100, 0};
  const uint64_t *at = s->options->at[0] ? s->options->at : usual;
  for (int i = 0; i < BRIM_MOST_CUTS && at[i]; i++) {
    s->report->at[s->report->at_count++].k = at[i];
    s->most = at[i] > s->most ? at[i] : s->most;
  }
}

static void add_query(search *s, uint64_t query, const bool *hits, uint64_t relevant) {
  for (int i = 0; i < s->report->at_count; i++) {
    brim_ranking_metrics *sum = &s->report->at[i];
    const brim_retrieval one = brim_retrieval_at(hits, s->found[query], relevant, sum->k);
    sum->accuracy += one.accuracy, sum->precision += one.precision, sum->recall += one.recall;
    sum->ndcg += one.ndcg, sum->mrr += one.mrr, sum->map += one.map;
  }
}

/* Sums become means by one division, so that all of n is 1. */
static void divide(search *s) {
  const double queries = (double)s->report->queries;
  for (int i = 0; i < s->report->at_count; i++) {
    brim_ranking_metrics *m = &s->report->at[i];
    m->accuracy /= queries, m->precision /= queries, m->recall /= queries;
    m->ndcg /= queries, m->mrr /= queries, m->map /= queries;
  }
}

static bool is_relevant(const search *s, uint64_t query, int32_t document) {
  size_t first, end;
  brim_relevant_of(&s->relevant, query, &first, &end);
  for (; first < end; first++)
    if ((uint32_t)s->relevant.pairs[first] == (uint32_t)document)
      return true;
  return false;
}

static void count_missing(search *s, bool *there) {
  for (uint64_t d = 0; d < s->report->documents; d++)
    if (s->meant[d] >= 0)
      there[s->meant[d]] = true;
  for (size_t i = 0; i < s->relevant.count; i++)
    s->report->missing += !there[(uint32_t)s->relevant.pairs[i]];
}

static int judge(search *s) {
  bool *hits = brim_alloc_array_zero(s->runtime, s->most + 1, sizeof *hits);
  bool *there = brim_alloc_array_zero(s->runtime, s->relevant.documents.count + 1, sizeof *there);
  const int status = hits && there ? BRIM_OK : BRIM_NOMEM(s->err);
  for (uint64_t q = 0; q < s->report->queries && !status; q++) {
    for (uint64_t i = 0; i < s->found[q]; i++) {
      const int32_t document = s->meant[s->best[q * s->most + i].document];
      hits[i] = document >= 0 && is_relevant(s, s->kept[q], document);
    }
    add_query(s, q, hits, relevant_count(s, s->kept[q]));
  }
  if (!status) {
    divide(s);
    count_missing(s, there);
  }
  brim_release(s->runtime, hits);
  brim_release(s->runtime, there);
  return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------------- */

static int pick_similarity(search *s) {
  const char *name = s->options->similarity ? s->options->similarity : brim_embedder_similarity(s->embedder);
  if (!brim_similarity_named(name, strlen(name), &s->similarity))
    return brim_error_set(s->err, BRIM_E_USAGE, "there is no similarity \"%s\": there are %s", name, brim_similarity_names());
  s->report->similarity = brim_similarity_name(s->similarity);
  return BRIM_OK;
}

static int open_search(search *s) {
  const brim_retrieval_options *o = s->options;
  if (!o->corpus || !o->queries || !o->relevant)
    return brim_error_set(s->err, BRIM_E_USAGE, "retrieval needs three files: corpus, queries and relevant");
  BRIM_TRY(pick_similarity(s));
  find_cuts(s);
  s->width = brim_embedder_dimensions(s->embedder, s->options->embed.dimensions);
  s->window.vectors = brim_alloc_array(s->runtime, WINDOW_TEXTS, (size_t)s->width * sizeof *s->window.vectors);
  s->documents = brim_alloc_array(s->runtime, WINDOW_TEXTS, (size_t)s->width * sizeof *s->documents);
  return s->window.vectors && s->documents ? BRIM_OK : BRIM_NOMEM(s->err);
}

static int search_all(search *s) {
  BRIM_TRY(open_search(s));
  BRIM_TRY(name_queries(s));
  BRIM_TRY(brim_relevant_load(s->runtime, s->options->relevant, &s->queries.ids, &s->relevant, s->err));
  BRIM_TRY(keep_queries(s));
  BRIM_TRY(read_queries(s));
  BRIM_TRY(read_corpus(s));
  return judge(s);
}

static void free_search(search *s) {
  void *blocks[] = {s->window.vectors, s->kept, s->asked, s->documents, s->best, s->found, s->name_ends, s->meant};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    brim_release(s->runtime, blocks[i]);
  brim_beir_close(&s->queries);
  brim_beir_close(&s->corpus);
  brim_relevant_free(&s->relevant);
  brim_text_free(&s->window.bytes);
  brim_text_free(&s->names);
  brim_release(s->runtime, s);
}

int brim_evaluate_retrieval(brim_embedder *embedder, const brim_retrieval_options *options, brim_retrieval_report *out,
                            brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, embedder, options);
  if (options->queries && brim_path_is_read_once(options->queries)) /* they are read twice */
    return brim_error_set(err, BRIM_E_USAGE, "%s: queries are read twice, and a pipe only once: give a file", options->queries);
  const double begin = brim_seconds_now();
  brim_runtime *runtime = brim_embedder_runtime(embedder);
  search *s = brim_alloc_zero(runtime, sizeof *s);
  if (!s)
    return BRIM_NOMEM(err);
  s->runtime = s->queries.runtime = s->corpus.runtime = s->relevant.runtime = runtime;
  s->embedder = embedder, s->options = options, s->report = out, s->err = err;
  brim_text_init(&s->window.bytes, runtime);
  brim_text_init(&s->names, runtime);
  const int status = search_all(s);
  free_search(s);
  out->seconds = brim_seconds_now() - begin;
  return status;
}
