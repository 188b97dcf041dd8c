/* What the lengths of a data set mean: their distribution, and what every strategy would compute. */
#include "base/memory.h"
#include "base/status.h"
#include "batch/plan.h"
#include "data/facts.h"
#include "study/internal.h"
#include "study/spread.h"
#include <string.h>

enum { READ_AHEAD = 10000 };

/* From the most slots to the fewest. What is left out changes nothing: ragged slots are the tokens and max_length slots are rows
 * times width, however rows are brought together. */
static const struct {
  brim_batching batching;
  brim_padding padding;
} combinations[] = {
    {BRIM_RANDOM, BRIM_PAD_MAX_LENGTH}, {BRIM_SEQUENTIAL, BRIM_PAD_LONGEST}, {BRIM_RANDOM, BRIM_PAD_LONGEST},
    {BRIM_UNIFORM, BRIM_PAD_LONGEST},   {BRIM_BUCKETED, BRIM_PAD_LONGEST},   {BRIM_SORTED, BRIM_PAD_LONGEST},
    {BRIM_RANDOM, BRIM_PAD_NONE},       {BRIM_PACKED, BRIM_PAD_NONE},
};

static int32_t cut(const brim_plan_options *options, int32_t length) {
  return options->max_length && length > options->max_length ? options->max_length : length;
}

/* The smallest length that `rank` (from 1) texts do not exceed. */
static int32_t length_at(const brim_study *study, uint64_t rank) {
  uint64_t seen = 0;
  for (int32_t length = 0; length < study->longest; length++) {
    seen += study->histogram[length];
    if (seen >= rank)
      return length;
  }
  return study->longest;
}

/* Nearest rank: at least p % of the texts are no longer than percentiles[p]. */
static void fill_percentiles(brim_study *study) {
  const uint64_t texts = study->texts;
  if (texts == 0)
    return;
  for (uint64_t p = 0; p <= 100; p++) {
    uint64_t rank = texts / 100 * p + (texts % 100 * p + 99) / 100;
    study->percentiles[p] = length_at(study, rank ? rank : 1);
  }
  study->shortest = study->percentiles[0];
  study->mean = (double)study->tokens / (double)texts;
  study->median = 0.5 * (length_at(study, (texts + 1) / 2) + (double)length_at(study, texts / 2 + 1));
}

static int study_lengths(const brim_dataset *dataset, const brim_plan_options *options, brim_study *study, brim_error *err) {
  const int32_t *lengths = brim_dataset_text_lengths(dataset);
  uint64_t cut_rows = 0, cut_tokens = 0;
  study->rows = brim_dataset_rows(dataset);
  study->texts = brim_dataset_texts(dataset);
  for (uint64_t i = 0; i < study->texts; i++) {
    int32_t length = cut(options, lengths[i]);
    if (length > study->longest)
      study->longest = length;
    study->tokens += (uint64_t)length;
    cut_rows += length < lengths[i];
    cut_tokens += (uint64_t)(lengths[i] - length);
  }
  /* A shorter cut than that of the data also cuts every row that was cut before. */
  study->truncated = cut_rows ? cut_rows : brim_dataset_truncated(dataset);
  study->lost = brim_dataset_lost(dataset) + cut_tokens;
  study->repeated = brim_dataset_repeated(dataset);
  study->windows = brim_dataset_has_pairs(dataset) ? (brim_windowing){0} : brim_dataset_windows(dataset);
  study->records = brim_dataset_records(dataset);
  study->histogram = brim_alloc_array_zero(study->runtime, (size_t)study->longest + 1, sizeof *study->histogram);
  if (!study->histogram)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < study->texts; i++)
    study->histogram[cut(options, lengths[i])]++;
  fill_percentiles(study);
  return BRIM_OK;
}

/* What a combination needs and the caller did not say is taken from the lengths. */
brim_plan_options brim_study_strategy_options(const brim_study *study, const brim_plan_options *options, int index) {
  brim_plan_options o = *options;
  o.batching = combinations[index].batching;
  o.padding = combinations[index].padding;
  int32_t longest = o.max_length ? o.max_length : study->longest ? study->longest : 1;
  if (o.padding == BRIM_PAD_MAX_LENGTH)
    o.max_length = longest;
  if (o.read_ahead == 0)
    o.read_ahead = READ_AHEAD;
  const int64_t texts = study->rows ? (int64_t)((study->texts + study->rows - 1) / study->rows) : 1; /* of a row, rounded up */
  if (texts > 1)
    o.oversize = BRIM_OVERSIZE_ALONE; /* which rows of many texts are */
  if (o.batching == BRIM_PACKED) {
    if (o.max_tokens == 0)
      o.max_tokens = o.batch_size * longest * texts;
    o.batch_size = 0;
    o.read_ahead = options->read_ahead;
  }
  return o;
}

static int study_strategy(brim_study *study, const brim_dataset *dataset, const brim_plan_options *options, int index,
                          brim_error *err) {
  brim_strategy_study *out = &study->strategies[index];
  brim_plan_options o = brim_study_strategy_options(study, options, index);
  brim_plan *plan;
  const brim_lengths lengths = brim_lengths_of(dataset);
  BRIM_TRY(brim_plan_new_of(study->runtime, &lengths, &o, 0, &plan, err));
  brim_plan_ledger(plan, &out->ledger);
  int status = brim_spread_measure(study->runtime, plan, &o, &lengths, out, err);
  brim_plan_free(plan);
  if (status)
    return status;
  out->ledger.drops = NULL;
  out->batching = o.batching;
  out->padding = o.padding;
  out->padding_share = out->ledger.slots ? 1 - (double)out->ledger.tokens / (double)out->ledger.slots : 0;
  return BRIM_OK;
}

static int study_all(const brim_dataset *dataset, const brim_plan_options *options, brim_study *study, brim_error *err) {
  enum { COUNT = sizeof combinations / sizeof *combinations };
  BRIM_TRY(brim_plan_options_check(options, err));
  BRIM_TRY(study_lengths(dataset, options, study, err));
  study->strategies = brim_alloc_array_zero(study->runtime, COUNT, sizeof *study->strategies);
  if (!study->strategies)
    return BRIM_NOMEM(err);
  for (; study->strategy_count < COUNT; study->strategy_count++)
    BRIM_TRY(study_strategy(study, dataset, options, study->strategy_count, err));
  return BRIM_OK;
}

int brim_study_dataset(brim_runtime *runtime, const brim_dataset *dataset, const brim_plan_options *options, brim_study *out,
                       brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, dataset, options);
  out->runtime = runtime;
  int status = study_all(dataset, options, out, err);
  if (status != BRIM_OK)
    brim_study_free(out);
  return status;
}

void brim_study_free(brim_study *study) {
  if (!study || !study->runtime)
    return;
  brim_release(study->runtime, study->histogram);
  brim_release(study->runtime, study->strategies);
  memset(study, 0, sizeof *study);
}
