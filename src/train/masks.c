#include "train/masks.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "brim/train.h"
#include "data/facts.h"
#include "data/relabel.h"

/* Of the chosen tokens. */
#define MASKED 0.8
#define RANDOM 0.1

/* Numbers of one stream of a row: units have the first 2^32. */
#define SHARES ((uint64_t)1 << 32) /* whether a token is masked, random or kept */
#define TOKENS ((uint64_t)2 << 32) /* which token is random */
#define WINDOW ((uint64_t)3 << 32) /* the stream of a text's later window */

int brim_masks_init(brim_masks *m, brim_runtime *runtime, const brim_tokenizer *tokenizer, int32_t ids, const char *rates,
                    brim_error *err) {
  *m = (brim_masks){.runtime = runtime, .mask_share = MASKED, .random_share = RANDOM};
  BRIM_TRY(brim_mask_rates(rates, &m->first_rate, &m->last_rate, err));
  m->rate = m->first_rate;
  if (!tokenizer)
    return brim_error_set(err, BRIM_E_USAGE, "masked words need the model's tokenizer, whose mask token is read in their place");
  m->mask_id = brim_tokenizer_mask_id(tokenizer);
  if (m->mask_id < 0 || m->mask_id >= ids)
    return brim_error_set(err, BRIM_E_USAGE, "the tokenizer has no mask token: masked words need one, such as [MASK]");
  const int32_t own = brim_tokenizer_vocab_size(tokenizer);
  m->ids = own < ids ? own : ids;
  return BRIM_OK;
}

int brim_masks_reserve(brim_masks *m, int32_t longest, brim_error *err) {
  return brim_grow(m->runtime, (void **)&m->units, &m->room, (size_t)longest, sizeof *m->units, err);
}

void brim_masks_free(brim_masks *m) {
  if (m->runtime)
    brim_release(m->runtime, m->units);
  *m = (brim_masks){0};
}

int brim_mask_rates(const char *text, double *first, double *last, brim_error *err) {
  char *end;
  *first = *last = BRIM_MASK_RATE;
  if (!text)
    return BRIM_OK;
  *first = *last = strtod(text, &end);
  const bool falls = end != text && *end == ':';
  if (falls)
    *last = strtod(text = end + 1, &end);
  if (end == text || *end || !(*first > 0 && *first < 1) || !(*last > 0 && *last < 1))
    return brim_error_set(err, BRIM_E_USAGE,
                          "mask_rate: a share of the tokens between 0 and 1, or two for the first and the last "
                          "step, such as 0.15 or 0.3:0.15");
  return BRIM_OK;
}

static int32_t wanted_of(double rate, int32_t tokens) {
  const double wanted = floor(rate * tokens + 0.5);
  return tokens == 0 ? 0 : wanted < 1 ? 1 : wanted > tokens ? tokens : (int32_t)wanted;
}

void brim_masks_at_step(brim_masks *m, uint64_t step, uint64_t total) {
  const double share = total > 1 && step < total ? (double)step / (double)(total - 1) : total > 1 ? 1 : 0;
  m->rate = m->first_rate + (m->last_rate - m->first_rate) * share;
}

double brim_masks_highest(const brim_masks *m) {
  return m->first_rate > m->last_rate ? m->first_rate : m->last_rate;
}

/* ---- which are chosen ---------------------------------------------------------------------------------------- */

typedef struct numbered_row {
  const int32_t *numbers;
  int32_t length, whole;
} numbered_row;

static int32_t number_at(const numbered_row *r, int32_t token) {
  return r->numbers[token == r->length - 1 ? r->whole - 1 : token];
}

/* Into m->units; *tokens: those that are in one. */
static int32_t find_units(brim_masks *m, const numbered_row *r, int32_t *tokens) {
  int32_t count = 0;
  *tokens = 0;
  for (int32_t i = 0; i < r->length; i++) {
    const int32_t number = number_at(r, i);
    if (number == BRIM_NO_LABEL)
      continue;
    ++*tokens;
    if (i > 0 && count > 0 && number_at(r, i - 1) == number)
      m->units[count - 1].count++;
    else
      m->units[count++] = (brim_mask_unit){.first = i, .count = 1};
  }
  return count;
}

/* Windows of a text have one name in a stream; their numbers continue from one to the next. */
static brim_random stream_of(const brim_masks *m, uint64_t row, const numbered_row *r) {
  const brim_random rows = brim_random_make(m->seed, m->epoch, BRIM_PURPOSE_MASKS);
  const brim_random own = brim_random_make(brim_random_u64(&rows, row), m->epoch, BRIM_PURPOSE_MASKS);
  const int32_t first = brim_first_number(r->numbers, r->length);
  return first <= 0 ? own : brim_random_make(brim_random_u64(&own, WINDOW + (uint64_t)first), m->epoch, BRIM_PURPOSE_MASKS);
}

static bool comes_after(const void *a, const void *b, const void *context) {
  const brim_mask_unit *x = a, *y = b;
  (void)context;
  return x->hash != y->hash ? x->hash > y->hash : x->first > y->first;
}

/* The chosen units come first: returns how many; *tokens: theirs. */
static int32_t choose(brim_masks *m, const brim_random *random, const numbered_row *r, int32_t *tokens) {
  int32_t all, taken = 0;
  const int32_t count = find_units(m, r, &all), wanted = wanted_of(m->rate, all);
  *tokens = 0;
  for (int32_t i = 0; i < count; i++)
    m->units[i].hash = brim_random_u64(random, (uint64_t)number_at(r, m->units[i].first));
  brim_sort(m->units, (size_t)count, sizeof *m->units, comes_after, NULL);
  for (int32_t i = 0; i < count && *tokens < wanted; i++) {
    if (*tokens + m->units[i].count > wanted)
      continue;
    *tokens += m->units[i].count;
    m->units[taken++] = m->units[i];
  }
  if (taken == 0 && wanted > 0) /* each word has more tokens: the beginning of one */
    m->units[taken++].count = *tokens = wanted;
  return taken;
}

int32_t brim_masks_count(brim_masks *m, uint64_t row, const int32_t *numbers, int32_t length, int32_t whole) {
  const numbered_row r = {numbers, length, whole};
  int32_t all, tokens;
  if (find_units(m, &r, &all) == all) /* single tokens */
    return wanted_of(m->rate, all);
  const brim_random random = stream_of(m, row, &r);
  choose(m, &random, &r, &tokens);
  return tokens;
}

/* ---- what is read in their place ------------------------------------------------------------------------------ */

static int32_t replaced(const brim_masks *m, const brim_random *random, int32_t id, int32_t token) {
  const double share = brim_random_unit(random, SHARES + (uint64_t)token);
  if (share < m->mask_share)
    return m->mask_id;
  return share < m->mask_share + m->random_share ? (int32_t)brim_random_below(random, TOKENS + (uint64_t)token, (uint64_t)m->ids)
                                                 : id;
}

void brim_masks_row(brim_masks *m, uint64_t row, int32_t *ids, int32_t *numbers, int32_t length) {
  const numbered_row r = {numbers, length, length};
  const brim_random random = stream_of(m, row, &r);
  int32_t tokens;
  const int32_t units = choose(m, &random, &r, &tokens);
  for (int32_t i = 0; i < length; i++)
    numbers[i] = BRIM_NO_LABEL;
  for (int32_t u = 0; u < units; u++)
    for (int32_t i = m->units[u].first; i < m->units[u].first + m->units[u].count; i++) {
      numbers[i] = ids[i];
      ids[i] = replaced(m, &random, ids[i], i);
    }
}

void brim_masks_make(brim_masks *m, brim_batch *batch) {
  for (int32_t i = 0; i < batch->count; i++) {
    const int32_t from = batch->offsets[i];
    brim_masks_row(m, batch->rows[i], batch->ids + from, batch->token_labels + from, batch->offsets[i + 1] - from);
  }
}

/* ---- evaluation ---------------------------------------------------------------------------------------------- */

#define EVALUATION UINT64_MAX /* an epoch that no training has */

static void mask_row(void *context, uint64_t row, int32_t *ids, int32_t *labels, int32_t length) {
  brim_masks_row(context, row, ids, labels, length);
}

int brim_masks_fit(const brim_dataset *dataset, const char *name, brim_error *err) {
  const uint64_t rows = brim_dataset_rows(dataset), *tokens = brim_dataset_token_labels(dataset);
  if (!brim_dataset_is_numbered(dataset))
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "%s: masked words need rows whose tokens are numbered: load them for masked words (numbering)", name);
  if (rows > 0 && tokens[rows] == 0)
    return brim_error_set(err, BRIM_E_MISMATCH, "%s: no row has a token besides special ones: there is nothing to mask", name);
  return BRIM_OK;
}

static int make_dataset(brim_masks *own, const brim_dataset *numbered, const char *name, brim_dataset **out, brim_error *err) {
  *out = NULL;
  own->rate = own->last_rate;
  BRIM_TRY(brim_masks_fit(numbered, name, err));
  int status = brim_masks_reserve(own, brim_dataset_longest(numbered), err);
  if (!status)
    status = brim_dataset_remask(own->runtime, numbered, mask_row, own, out, err);
  brim_masks_free(own);
  return status;
}

int brim_masks_dataset(const brim_masks *m, const brim_dataset *numbered, const char *name, brim_dataset **out, brim_error *err) {
  brim_masks own = *m;
  own.units = NULL, own.room = 0;
  own.seed = 0, own.epoch = EVALUATION;
  return make_dataset(&own, numbered, name, out, err);
}

void brim_mask_options_init(brim_mask_options *options) {
  *options = (brim_mask_options){.mask_share = MASKED, .random_share = RANDOM, .epoch = EVALUATION};
}

int brim_dataset_mask(brim_runtime *runtime, const brim_dataset *dataset, const brim_tokenizer *tokenizer, int32_t ids,
                      const brim_mask_options *options, brim_dataset **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, dataset, tokenizer, options);
  brim_masks masks;
  if (!(options->mask_share >= 0 && options->random_share >= 0 && options->mask_share + options->random_share <= 1 + 1e-9))
    return brim_error_set(err, BRIM_E_USAGE,
                          "mask_share %g and random_share %g: they are shares of the chosen tokens, together at most 1",
                          options->mask_share, options->random_share);
  BRIM_TRY(brim_masks_init(&masks, runtime, tokenizer, ids > 0 ? ids : INT32_MAX, options->rate, err));
  masks.mask_share = options->mask_share, masks.random_share = options->random_share;
  masks.seed = options->seed, masks.epoch = options->epoch;
  return make_dataset(&masks, dataset, "data", out, err);
}
