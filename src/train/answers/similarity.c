/* similarity.c: how well similarities of vectors go along with the scores of pairs of texts. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "target/ranking.h"
#include "task/task.h"
#include "train/answers/embed.h"

enum { PAIRS = 4096 }; /* of a window */

typedef struct pairs {
  brim_runtime *runtime;
  brim_embedder *embedder;
  const brim_embed_options *options;
  brim_similarity_report *report;
  int32_t width;
  brim_text bytes; /* texts of the window: of each pair the first, then the second */
  size_t starts[2 * PAIRS + 1];
  brim_string texts[2 * PAIRS];
  uint64_t numbers[2 * PAIRS]; /* of their records */
  uint64_t count;              /* pairs in the window */
  float *vectors;              /* [2 PAIRS, width] */
  double *scores;              /* [pairs] */
  double *values[BRIM_SIMILARITIES];
  size_t score_capacity, capacities[BRIM_SIMILARITIES];
  double *wide; /* [2, width] two vectors */
  brim_error *err;
} pairs;

static int compare_window(pairs *p) {
  brim_embed_options how = *p->options;
  how.numbers = p->numbers;
  p->starts[2 * p->count] = p->bytes.length;
  BRIM_TRY(brim_text_status(&p->bytes, p->err));
  for (uint64_t i = 0; i < 2 * p->count; i++)
    p->texts[i] = (brim_string){p->bytes.data ? p->bytes.data + p->starts[i] : "", p->starts[i + 1] - p->starts[i]};
  BRIM_TRY(brim_embedder_run(p->embedder, p->texts, 2 * p->count, &how, p->vectors, &p->report->counts, p->err));
  for (uint64_t i = 0; i < p->count; i++) {
    for (int32_t k = 0; k < 2 * p->width; k++)
      p->wide[k] = (double)p->vectors[2 * i * (uint64_t)p->width + (uint64_t)k];
    for (int s = 0; s < BRIM_SIMILARITIES; s++)
      p->values[s][p->report->pairs - p->count + i] = brim_similarity_of((brim_similarity)s, p->wide, p->wide + p->width,
                                                                         p->width);
  }
  brim_text_clear(&p->bytes);
  p->count = 0;
  return BRIM_OK;
}

static int take_score(pairs *p, const brim_record *record) {
  const size_t count = (size_t)p->report->pairs + 1;
  BRIM_TRY(brim_grow(p->runtime, (void **)&p->scores, &p->score_capacity, count, sizeof *p->scores, p->err));
  for (int s = 0; s < BRIM_SIMILARITIES; s++)
    BRIM_TRY(brim_grow(p->runtime, (void **)&p->values[s], &p->capacities[s], count, sizeof **p->values, p->err));
  if (!brim_number_real(record->label, record->label_length, &p->scores[count - 1]))
    return brim_error_at(p->err, BRIM_E_FORMAT, record->file, record->line, -1, "a score is a number, not \"%.*s\"",
                         (int)(record->label_length < 80 ? record->label_length : 80), record->label);
  p->report->pairs++;
  return BRIM_OK;
}

static int take_pair(pairs *p, const brim_record *record) {
  if (!record->pair)
    return brim_error_at(p->err, BRIM_E_FORMAT, record->file, record->line, -1, "there is no second text");
  BRIM_TRY(take_score(p, record));
  for (uint64_t i = 0; i < 2; i++) {
    p->starts[2 * p->count + i] = p->bytes.length;
    p->numbers[2 * p->count + i] = record->row;
    brim_text_append(&p->bytes, i ? record->pair : record->text, i ? record->pair_length : record->text_length);
  }
  return ++p->count == PAIRS ? compare_window(p) : BRIM_OK;
}

/* Ranks take the places of numbers, so the scores are copied for each similarity. */
static int correlate(pairs *p) {
  const uint64_t count = p->report->pairs;
  double *wanted = brim_alloc_array(p->runtime, count, sizeof *wanted);
  void *work = brim_alloc_array(p->runtime, count, BRIM_CORRELATION_WORK);
  const int status = wanted && work ? BRIM_OK : BRIM_NOMEM(p->err);
  for (int s = 0; s < BRIM_SIMILARITIES && !status; s++) {
    memcpy(wanted, p->scores, count * sizeof *wanted);
    const brim_correlation c = brim_correlate(p->values[s], wanted, count, work);
    p->report->of[s].name = brim_similarity_name((brim_similarity)s);
    p->report->of[s].pearson = c.pearson;
    p->report->of[s].spearman = c.spearman;
  }
  brim_release(p->runtime, wanted);
  brim_release(p->runtime, work);
  return status;
}

static int compare_all(pairs *p, brim_reader *reader) {
  brim_record record;
  int status;
  p->vectors = brim_alloc_array(p->runtime, (size_t)2 * PAIRS, (size_t)p->width * sizeof *p->vectors);
  p->wide = brim_alloc_array(p->runtime, 2, (size_t)p->width * sizeof *p->wide);
  if (!p->vectors || !p->wide)
    return BRIM_NOMEM(p->err);
  while (!(status = brim_reader_next(reader, &record, p->err)))
    BRIM_TRY(take_pair(p, &record));
  if (status != BRIM_END)
    return status;
  BRIM_TRY(compare_window(p));
  return p->report->pairs > 1 ? correlate(p) : brim_error_set(p->err, BRIM_E_FORMAT, "a correlation needs two pairs or more");
}

int brim_evaluate_similarity(brim_embedder *embedder, brim_reader *reader, const brim_embed_options *options,
                             brim_similarity_report *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, embedder, reader);
  static const brim_embed_options defaults = {0};
  const double begin = brim_seconds_now();
  brim_runtime *runtime = brim_embedder_runtime(embedder);
  pairs *p = brim_alloc_zero(runtime, sizeof *p);
  if (!p)
    return BRIM_NOMEM(err);
  p->runtime = runtime, p->embedder = embedder, p->options = options ? options : &defaults, p->report = out, p->err = err;
  p->width = brim_embedder_dimensions(embedder, p->options->dimensions);
  brim_text_init(&p->bytes, runtime);
  const int status = compare_all(p, reader);
  brim_text_free(&p->bytes);
  for (int s = 0; s < BRIM_SIMILARITIES; s++)
    brim_release(runtime, p->values[s]);
  brim_release(runtime, p->vectors);
  brim_release(runtime, p->scores);
  brim_release(runtime, p->wide);
  brim_release(runtime, p);
  out->seconds = brim_seconds_now() - begin;
  return status;
}
