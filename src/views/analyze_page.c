/* analyze_page.c: the pictures of an analysis: lengths, truncation, labels, strategies, batches, folds, texts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "report/page.h"
#include "study/internal.h"
#include "views/views.h"

enum { MOST_STRATEGIES = 32, CURVE_POINTS = 400, ENDS = BRIM_SHOWN_ENDS };

static void put_figures(brim_page *page, const brim_study *study) {
  const char *names[] = {"rows", "tokens", "mean length", "median", "90 % up to", "longest", "cut"};
  char text[7][32];
  const char *values[7];
  brim_count_text((int64_t)study->rows, text[0], sizeof text[0]);
  brim_count_text((int64_t)study->tokens, text[1], sizeof text[1]);
  snprintf(text[2], sizeof text[2], "%.1f", study->mean);
  snprintf(text[3], sizeof text[3], "%.0f", study->median);
  snprintf(text[4], sizeof text[4], "%d", (int)study->percentiles[90]);
  snprintf(text[5], sizeof text[5], "%d", (int)study->longest);
  snprintf(text[6], sizeof text[6], "%.1f %%", study->rows ? 100.0 * (double)study->truncated / (double)study->records : 0.0);
  for (int i = 0; i < 7; i++)
    values[i] = text[i];
  brim_page_figures(page, names, values, 7);
}

/* ---- lengths ---------------------------------------------------------------------------------------------- */

static int compare_lengths(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Lengths after truncation, as the documents plot them: as they come, and sorted. */
static int put_order(brim_page *page, const brim_analysis *a, brim_error *err) {
  const uint64_t rows = brim_dataset_texts(a->dataset);
  const int32_t *lengths = brim_dataset_text_lengths(a->dataset);
  double *x = brim_alloc_array(page->runtime, rows, sizeof *x), *y = brim_alloc_array(page->runtime, rows, sizeof *y);
  const bool room = x && y;
  for (uint64_t i = 0; room && i < rows; i++)
    x[i] = (double)i, y[i] = (double)lengths[i];
  const brim_series series = {"rows", x, y, rows};
  const brim_chart chart = {.x = {"row", true, false}, .y = {"tokens", true, false}, .series = &series, .series_count = 1};
  if (room) {
    brim_page_chart(page, (brim_caption){"Lengths in file order", "Tokens of each row, after truncation."}, &chart);
    qsort(y, rows, sizeof *y, compare_lengths);
    brim_page_chart(page, (brim_caption){"Lengths sorted", "The same rows, shortest first."}, &chart);
  }
  brim_release(page->runtime, x);
  brim_release(page->runtime, y);
  return room ? BRIM_OK : BRIM_NOMEM(err);
}

/* Shares of rows kept whole, and of tokens kept, at any --max-length up to the longest text. */
static int put_truncation(brim_page *page, const brim_survey *survey, brim_error *err) {
  double x[CURVE_POINTS], rows_kept[CURVE_POINTS], tokens_kept[CURVE_POINTS];
  int32_t longest = 1;
  double tokens = 0;
  for (uint64_t i = 0; i < survey->rows; i++) {
    longest = survey->lengths[i] > longest ? survey->lengths[i] : longest;
    tokens += survey->lengths[i];
  }
  if (tokens <= 0)
    return BRIM_OK;
  uint64_t *counts = brim_alloc_array_zero(page->runtime, (size_t)longest + 1, sizeof *counts);
  if (!counts)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < survey->rows; i++)
    counts[survey->lengths[i]]++;
  double whole = 0, within = 0; /* rows up to a length, and their tokens */
  int points = 0;
  const double stride = fmax(1, (double)longest / (CURVE_POINTS - 1));
  for (int32_t length = 0; length <= longest; length++) {
    whole += (double)counts[length], within += (double)counts[length] * length;
    if (length < (int32_t)(points * stride) && length < longest)
      continue;
    x[points] = length;
    rows_kept[points] = 100 * whole / (double)survey->rows;
    tokens_kept[points++] = 100 * (within + ((double)survey->rows - whole) * length) / tokens;
    if (points == CURVE_POINTS)
      break;
  }
  brim_release(page->runtime, counts);
  const brim_series series[] = {{"rows kept whole", x, rows_kept, (size_t)points},
                                {"tokens kept", x, tokens_kept, (size_t)points}};
  brim_page_chart(
      page, (brim_caption){"What a max length keeps", "Share of rows that are not cut, and of all tokens that stay."},
      &(brim_chart){.x = {"max length", true, false}, .y = {"percent", true, false}, .series = series, .series_count = 2});
  return BRIM_OK;
}

static int put_lengths(brim_page *page, const brim_analysis *a, brim_error *err) {
  brim_page_section(page, "Lengths");
  brim_page_histogram(page, (brim_caption){"Rows by length", "Number of rows of each length in tokens, after truncation."},
                      &(brim_bins){0, 1, true, a->study->histogram, (int64_t)a->study->longest + 1, "tokens", "rows"});
  BRIM_TRY(put_order(page, a, err));
  return put_truncation(page, a->survey, err);
}

/* ---- labels ----------------------------------------------------------------------------------------------- */

enum { VALUE_BINS = 30 };

static void put_values(brim_page *page, const brim_survey *survey) {
  uint64_t counts[VALUE_BINS] = {0};
  double low = survey->values[0], high = low;
  for (uint64_t i = 0; i < survey->labelled; i++)
    low = fmin(low, survey->values[i]), high = fmax(high, survey->values[i]);
  const double width = high > low ? (high - low) / VALUE_BINS : 1;
  for (uint64_t i = 0; i < survey->labelled; i++) {
    const int bin = (int)((survey->values[i] - low) / width);
    counts[bin < VALUE_BINS ? bin : VALUE_BINS - 1]++;
  }
  brim_page_histogram(page, (brim_caption){"Labels", "Number of rows by the value of their label."},
                      &(brim_bins){low, width, false, counts, VALUE_BINS, "label", "rows"});
}

static void put_labels(brim_page *page, const brim_survey *survey) {
  const char *names[BRIM_MOST_SURVEYED + 1], *labels[BRIM_MOST_SURVEYED + 1];
  char text[BRIM_MOST_SURVEYED + 1][32];
  double values[BRIM_MOST_SURVEYED + 1];
  if (!survey->labelled)
    return;
  brim_page_section(page, "Labels");
  if (survey->decimals) {
    put_values(page, survey);
    return;
  }
  int count = survey->class_count;
  for (int i = 0; i < count; i++)
    names[i] = survey->classes[i], values[i] = (double)survey->counts[i];
  if (survey->other)
    names[count] = "(all others)", values[count++] = (double)survey->other;
  for (int i = 0; i < count; i++) {
    brim_count_text((int64_t)values[i], text[i], sizeof text[i]);
    labels[i] = text[i];
  }
  brim_page_bars(page, (brim_caption){"Rows of each class", NULL},
                 &(brim_bars){.names = names, .labels = labels, .values = values, .count = count, .parts = 1});
}

/* ---- strategies ------------------------------------------------------------------------------------------- */

static void strategy_name(const brim_strategy_study *s, char *buffer, size_t size) {
  snprintf(buffer, size, "%s + %s", brim_batching_name(s->batching), brim_padding_name(s->padding));
}

enum { STRATEGY_COLUMNS = 8 };

static void put_strategy_table(brim_page *page, const brim_study *study, char (*names)[64]) {
  static const brim_column columns[STRATEGY_COLUMNS] = {
      {"strategy", false},        {"slots", true},   {"tokens", true},         {"padding", true},
      {"compute of fixed", true}, {"batches", true}, {"rows of a step", true}, {"length bias", true}};
  char text[MOST_STRATEGIES][STRATEGY_COLUMNS][48];
  const char *cells[MOST_STRATEGIES * STRATEGY_COLUMNS];
  for (int i = 0; i < study->strategy_count; i++) {
    const brim_strategy_study *s = &study->strategies[i];
    brim_count_text((int64_t)s->ledger.slots, text[i][1], sizeof text[i][1]);
    brim_count_text((int64_t)s->ledger.tokens, text[i][2], sizeof text[i][2]);
    snprintf(text[i][3], sizeof text[i][3], "%.2f %%", 100 * s->padding_share);
    snprintf(text[i][4], sizeof text[i][4], "%.1f %%", 100 * s->cost / study->strategies[0].cost);
    brim_count_text((int64_t)s->ledger.batches, text[i][5], sizeof text[i][5]);
    snprintf(text[i][6], sizeof text[i][6], "%.1f ± %.1f", s->step_rows, s->step_rows_deviation);
    snprintf(text[i][7], sizeof text[i][7], "%.1f %%", 100 * s->length_bias);
    cells[i * STRATEGY_COLUMNS] = names[i];
    for (int c = 1; c < STRATEGY_COLUMNS; c++)
      cells[i * STRATEGY_COLUMNS + c] = text[i][c];
  }
  brim_page_table(page, "an epoch with every strategy", columns, STRATEGY_COLUMNS, cells, study->strategy_count);
}

static void put_strategy_bars(brim_page *page, const brim_study *study, char (*names)[64]) {
  static const char *const parts[] = {"tokens", "padding"};
  const char *titles[MOST_STRATEGIES], *labels[2][MOST_STRATEGIES];
  char text[2][MOST_STRATEGIES][32];
  double slots[MOST_STRATEGIES * 2], cost[MOST_STRATEGIES], bias[MOST_STRATEGIES];
  for (int i = 0; i < study->strategy_count; i++) {
    const brim_strategy_study *s = &study->strategies[i];
    titles[i] = names[i];
    slots[2 * i] = (double)s->ledger.tokens, slots[2 * i + 1] = (double)(s->ledger.slots - s->ledger.tokens);
    cost[i] = 100 * s->cost / study->strategies[0].cost, bias[i] = 100 * s->length_bias;
    snprintf(text[0][i], sizeof text[0][i], "%.1f %%", cost[i]);
    snprintf(text[1][i], sizeof text[1][i], "%.1f %%", bias[i]);
    labels[0][i] = text[0][i], labels[1][i] = text[1][i];
  }
  char padding[MOST_STRATEGIES][32];
  const char *padded[MOST_STRATEGIES];
  for (int i = 0; i < study->strategy_count; i++) {
    snprintf(padding[i], sizeof padding[i], "%.1f %% padding", 100 * study->strategies[i].padding_share);
    padded[i] = padding[i];
  }
  brim_bars bars = {titles, padded, slots, study->strategy_count, parts, 2};
  brim_page_bars(page, (brim_caption){"What is computed in an epoch", "Slots: those with a token, and those without."}, &bars);
  bars = (brim_bars){titles, labels[0], cost, study->strategy_count, NULL, 1};
  brim_page_bars(page,
                 (brim_caption){"Compute against fixed padding", "FLOPs of training a BERT of base shape, attention included."},
                 &bars);
  bars = (brim_bars){titles, labels[1], bias, study->strategy_count, NULL, 1};
  brim_page_bars(page,
                 (brim_caption){"Length bias of a step",
                                "Share of the variance of lengths that lies between steps: random batches have "
                                "a few percent, sorted ones nearly all."},
                 &bars);
}

/* ---- batches ---------------------------------------------------------------------------------------------- */

enum { SHOWN_ROWS = 128, SHOWN_BATCHES = 16 };

/* The first batches of an epoch. */
static void put_blocks(brim_page *page, const brim_analysis *a, const brim_plan *plan, const char *name) {
  int32_t lengths[SHOWN_ROWS];
  brim_block blocks[SHOWN_BATCHES];
  const brim_lengths all = brim_lengths_of(a->dataset);
  int used = 0, rows = 0;
  const int32_t cut = a->how->max_length, tallest = cut ? cut : a->study->longest;
  for (uint64_t i = 0; i < brim_plan_parts(plan) && used < SHOWN_BATCHES; i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    if (part.count == 0 || (rows && rows + (int)part.texts > SHOWN_ROWS))
      break;
    blocks[used] = (brim_block){lengths + rows, 0, part.width};
    for (uint32_t r = 0; r < part.count; r++) {
      const uint64_t row = part.rows[r], end = all.firsts ? all.firsts[row + 1] : row + 1;
      for (uint64_t t = all.firsts ? all.firsts[row] : row; t < end && rows < SHOWN_ROWS; t++, blocks[used].count++) {
        const int32_t length = all.text_lengths[t];
        lengths[rows++] = cut && length > cut ? cut : length;
      }
    }
    used++;
  }
  brim_page_blocks(page, (brim_caption){name, "A bar a row, as high as it is long; padding is on top of it."}, blocks, used,
                   tallest);
}

typedef enum measure { BY_WIDTH, BY_ROWS, BY_TOKENS } measure;

static int64_t measured(const brim_planned *part, measure by) {
  const int32_t widest = part->width ? part->width : part->longest;
  return by == BY_ROWS ? part->count : by == BY_TOKENS ? part->tokens : widest;
}

static int put_batch_histogram(brim_page *page, const brim_plan *plan, const char *name, measure by, const char *what,
                               brim_error *err) {
  const uint64_t parts = brim_plan_parts(plan);
  brim_planned part;
  int64_t most = 0;
  for (uint64_t i = 0; i < parts; i++) {
    brim_plan_part(plan, 0, i, &part);
    const int64_t value = measured(&part, by);
    most = value > most ? value : most;
  }
  uint64_t *counts = brim_alloc_array_zero(page->runtime, (size_t)most + 1, sizeof *counts);
  if (!counts)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < parts; i++) {
    brim_plan_part(plan, 0, i, &part);
    if (part.count)
      counts[measured(&part, by)]++;
  }
  brim_page_histogram(page, (brim_caption){name, what}, &(brim_bins){0, 1, true, counts, most + 1, what, "batches"});
  brim_release(page->runtime, counts);
  return BRIM_OK;
}

/* The same picture of every strategy side by side. */
static int put_batches(brim_page *page, const brim_analysis *a, char (*names)[64], brim_plan *const *plans, brim_error *err) {
  static const char *const titles[] = {"Width of the batches", "Rows of the batches", "Tokens of the batches"};
  static const char *const whats[] = {"longest row of a batch, padding included", "rows of a batch", "tokens of a batch"};
  int status = BRIM_OK;
  brim_page_section(page, "The first batches of an epoch");
  for (int i = 0; i < a->study->strategy_count; i++)
    put_blocks(page, a, plans[i], names[i]);
  for (int by = BY_WIDTH; by <= BY_TOKENS; by++) {
    brim_page_section(page, titles[by]);
    for (int i = 0; i < a->study->strategy_count && !status; i++)
      status = put_batch_histogram(page, plans[i], names[i], (measure)by, whats[by], err);
  }
  return status;
}

static int plan_and_put_batches(brim_page *page, const brim_analysis *a, char (*names)[64], brim_error *err) {
  brim_plan *plans[MOST_STRATEGIES] = {0};
  int status = BRIM_OK;
  for (int i = 0; i < a->study->strategy_count && !status; i++) {
    const brim_plan_options how = brim_study_strategy_options(a->study, a->how, i);
    const brim_lengths lengths = brim_lengths_of(a->dataset);
    status = brim_plan_new_of(page->runtime, &lengths, &how, 0, &plans[i], err);
  }
  if (!status)
    status = put_batches(page, a, names, plans, err);
  for (int i = 0; i < MOST_STRATEGIES; i++)
    brim_plan_free(plans[i]);
  return status;
}

/* ---- folds ------------------------------------------------------------------------------------------------ */

enum { MOST_FOLDS = 10, FOLD_COLUMNS = 5 };

static void put_folds(brim_page *page, const brim_overlap *overlap) {
  static const brim_column columns[FOLD_COLUMNS] = {
      {"fold", true}, {"training only", true}, {"both", true}, {"held out only", true}, {"unseen of held-out tokens", true}};
  char text[MOST_FOLDS][FOLD_COLUMNS][32];
  const char *cells[MOST_FOLDS * FOLD_COLUMNS];
  const int count = overlap->count < MOST_FOLDS ? overlap->count : MOST_FOLDS;
  for (int i = 0; i < count; i++) {
    const brim_fold_overlap *f = &overlap->folds[i];
    const uint64_t counts[] = {(uint64_t)i, f->train_types - f->both_types, f->both_types, f->unseen_types};
    for (int c = 0; c < 4; c++)
      brim_count_text((int64_t)counts[c], text[i][c], sizeof text[i][c]);
    snprintf(text[i][4], sizeof text[i][4], "%.2f %%",
             f->valid_tokens ? 100.0 * (double)f->unseen_tokens / (double)f->valid_tokens : 0.0);
    for (int c = 0; c < FOLD_COLUMNS; c++)
      cells[i * FOLD_COLUMNS + c] = text[i][c];
  }
  brim_page_section(page, "Folds: tokens that training does not show");
  brim_page_table(page, "kinds of tokens in the training rows, in the held-out rows, and in both", columns, FOLD_COLUMNS, cells,
                  count);
}

/* ---- texts ------------------------------------------------------------------------------------------------ */

static void add_text(brim_shown_texts *list, const brim_dataset *dataset, uint64_t row, const char *why) {
  const uint64_t origin = brim_dataset_origin(dataset, row);
  for (int i = 0; i < list->count; i++)
    if (list->passages[i].row == origin)
      return;
  snprintf(list->captions[list->count], sizeof list->captions[0], "%s: row %llu, %d tokens", why, (unsigned long long)origin,
           (int)brim_dataset_lengths(dataset)[row]);
  list->passages[list->count++] = (brim_passage){.row = origin};
}

/* The shortest or longest row that is not in the list yet; of equal ones, the first in the file. */
static uint64_t extreme(const brim_dataset *dataset, const brim_shown_texts *list, bool longest) {
  const int32_t *lengths = brim_dataset_lengths(dataset);
  uint64_t best = UINT64_MAX;
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    bool taken = false;
    for (int i = 0; i < list->count; i++)
      taken = taken || list->passages[i].row == brim_dataset_origin(dataset, row);
    if (taken)
      continue;
    if (best == UINT64_MAX || (longest ? lengths[row] > lengths[best] : lengths[row] < lengths[best]))
      best = row;
  }
  return best;
}

void brim_shown_texts_pick(const brim_dataset *dataset, uint64_t seed, int samples, brim_shown_texts *list) {
  const brim_random random = brim_random_make(seed, 0, BRIM_PURPOSE_SAMPLE);
  *list = (brim_shown_texts){0};
  for (int i = 0; i < 2 * ENDS; i++) {
    const uint64_t row = extreme(dataset, list, i >= ENDS);
    if (row != UINT64_MAX)
      add_text(list, dataset, row, i >= ENDS ? "longest" : "shortest");
  }
  for (int i = 0; i < samples && i < BRIM_MOST_SAMPLES; i++)
    add_text(list, dataset, brim_random_below(&random, (uint64_t)i, brim_dataset_rows(dataset)), "drawn at random");
}

static void put_texts(brim_page *page, const brim_shown_texts *list) {
  brim_page_section(page, "Texts");
  for (int i = 0; i < list->count; i++)
    if (list->passages[i].text)
      brim_page_passage(page, list->captions[i], list->passages[i].text, list->passages[i].length);
}

/* ---- in order --------------------------------------------------------------------------------------------- */

static const brim_strategy_study *find(const brim_study *study, brim_batching batching, brim_padding padding) {
  for (int i = 0; i < study->strategy_count; i++)
    if (study->strategies[i].batching == batching && study->strategies[i].padding == padding)
      return &study->strategies[i];
  return NULL;
}

void brim_study_advice(brim_text *out, const brim_study *study, int32_t max_length, const char *gap) {
  const brim_strategy_study *fixed = find(study, BRIM_RANDOM, BRIM_PAD_MAX_LENGTH),
                            *longest = find(study, BRIM_RANDOM, BRIM_PAD_LONGEST),
                            *none = find(study, BRIM_RANDOM, BRIM_PAD_NONE);
  const double rows = 100.0 * (double)study->truncated / (double)study->records,
               tokens = 100.0 * (double)study->lost / (double)(study->lost + study->tokens - study->repeated);
  const char *of = study->records < study->rows ? "text" : "row";
  if (study->truncated && study->windows.most > 1)
    brim_text_printf(out, "%d windows of %d tokens cut %.1f %% of the %ss and %.1f %% of the tokens", (int)study->windows.most,
                     (int)max_length, rows, of, tokens);
  else if (study->windows.most > 1)
    brim_text_printf(out, "no %s is longer than %d windows of %d tokens", of, (int)study->windows.most, (int)max_length);
  else if (study->truncated)
    brim_text_printf(out, "max length %d cuts %.1f %% of the rows and %.1f %% of the tokens", (int)max_length, rows, tokens);
  else
    brim_text_printf(out, "no row is longer than %d tokens, so a max length of %d cuts nothing", (int)study->longest,
                     (int)study->longest);
  if (fixed && longest && none)
    brim_text_printf(out, ";%srandom + none saves %.1f %% of the compute of fixed padding and %.1f %% of dynamic padding's", gap,
                     100 * (1 - none->cost / fixed->cost), 100 * (1 - none->cost / longest->cost));
  brim_text_string(out, ".");
}

int brim_page_analysis(brim_page *page, const brim_analysis *a, brim_error *err) {
  BRIM_GIVEN_AS(err, "page, analysis", page, a);
  char names[MOST_STRATEGIES][64];
  brim_text advice;
  for (int i = 0; i < a->study->strategy_count; i++)
    strategy_name(&a->study->strategies[i], names[i], sizeof names[i]);
  put_figures(page, a->study);
  brim_text_init(&advice, page->runtime);
  brim_study_advice(&advice, a->study, a->how->max_length, " ");
  if (advice.data)
    brim_page_advice(page, advice.data);
  brim_text_free(&advice);
  BRIM_TRY(put_lengths(page, a, err));
  put_labels(page, a->survey);
  brim_page_section(page, "Strategies");
  put_strategy_table(page, a->study, names);
  put_strategy_bars(page, a->study, names);
  BRIM_TRY(plan_and_put_batches(page, a, names, err));
  if (a->overlap)
    put_folds(page, a->overlap);
  put_texts(page, a->texts);
  return BRIM_OK;
}
