/* Labels of tokens: how they are read, kept, cut and refused, and that a step's loss is divided by those of the whole step. The
 * numbers themselves are compared with transformers' in model_gradients.c. */
#include "brim/train.h"
#include "data/facts.h"
#include "model_case.h"
#include "task/task.h"
#include "train/answers/evaluate.h"

static const char *const golden = "bert-tokens";

/* ---- rows ------------------------------------------------------------------------------------------------- */

static void check_rows(const brim_dataset *rows) {
  brim_error err = {0};
  brim_sample first, copy;
  brim_dataset *subset, *other;
  brim_dataset_sample(rows, 0, &first);
  ok(first.token_labels && first.token_labels[1] == 1 && first.token_labels[4] == 2 && !first.labels && isnan(first.label),
     "a label for each token, and none for the row");
  ok(brim_dataset_has_labels(rows) && brim_dataset_label_width(rows) == 1, "every row has labels");
  if (brim_dataset_subset(case_runtime, rows, (const uint64_t[]){1, 0}, 2, &subset, &err))
    case_stop("subset", &err);
  brim_dataset_sample(subset, 1, &copy);
  ok(copy.token_labels != first.token_labels && memcmp(copy.token_labels, first.token_labels, 5 * sizeof(int32_t)) == 0,
     "a subset has its rows'");
  int32_t changed[5];
  memcpy(changed, first.token_labels, sizeof changed);
  changed[0] = BRIM_NO_LABEL;
  brim_sample samples[2] = {first, first};
  samples[1].token_labels = changed;
  const uint64_t hash = brim_dataset_fingerprint(rows);
  ok(!brim_dataset_from_samples(case_runtime, samples, 2, NULL, &other, &err) && brim_dataset_fingerprint(other) != hash,
     "rows that a program gives");
  const uint64_t one = brim_dataset_fingerprint(other);
  brim_dataset_free(other);
  samples[1] = first;
  ok(!brim_dataset_from_samples(case_runtime, samples, 2, NULL, &other, &err) && brim_dataset_fingerprint(other) != one,
     "a label changes the fingerprint");
  brim_dataset_free(other);
  samples[1].token_labels = NULL;
  ok(brim_dataset_from_samples(case_runtime, samples, 2, NULL, &other, &err) == BRIM_E_USAGE, "refused: %s", err.message);
  changed[3] = -1;
  samples[1].token_labels = changed;
  ok(brim_dataset_from_samples(case_runtime, samples, 2, NULL, &other, &err) == BRIM_E_USAGE, "refused: %s", err.message);
  brim_dataset_free(subset);
}

static void check_json(void) {
  static const char *const wrong[] = {"[{\"ids\":[1,2],\"labels\":[1]}]", "[{\"ids\":[1,2],\"labels\":[1,-2]}]",
                                      "[{\"ids\":[1,2],\"labels\":[1,0.5]}]", "[{\"ids\":[1,2],\"labels\":7}]",
                                      "[{\"ids\":[1,2],\"labels\":[1,-100]},{\"ids\":[1]}]"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    brim_error err = {0};
    brim_dataset *rows;
    case_write(scratch_file("."), "wrong.json", wrong[i], strlen(wrong[i]));
    const int status = brim_dataset_read_json(case_runtime, scratch_file("wrong.json"), &rows, &err);
    ok(status == BRIM_E_FORMAT || status == BRIM_E_USAGE, "refused: %s", err.message);
  }
}

/* A row that is cut keeps its last token, and that one's label. */
static void check_cut(const brim_dataset *rows) {
  brim_error err = {0};
  brim_batch batch = {0};
  brim_sample row;
  const uint64_t list[] = {1};
  const uint32_t places[] = {0};
  const brim_planned part = {.count = 1, .rows = list, .places = places, .step_rows = 1, .tokens = 4, .slots = 4, .cut = 4};
  brim_dataset_sample(rows, 1, &row);
  if (brim_batch_fill(&batch, case_runtime, rows, &part, &err))
    case_stop("cut", &err);
  ok(batch.token_labels && memcmp(batch.token_labels, row.token_labels, 3 * sizeof(int32_t)) == 0 &&
         batch.token_labels[3] == row.token_labels[row.length - 1],
     "a cut row's labels");
  brim_batch_free(&batch);
}

/* ---- models ------------------------------------------------------------------------------------------------ */

static void check_saved(brim_model *model) {
  brim_error err = {0};
  size_t length;
  const char *folder = scratch_file("saved");
  char path[600];
  if (brim_model_save(model, NULL, NULL, folder, NULL, &err))
    case_stop("save", &err);
  snprintf(path, sizeof path, "%s/config.json", folder);
  char *config = case_read_file(path, &length);
  ok(strstr(config, "\"BertForTokenClassification\"") && !strstr(config, "problem_type"), "saved as transformers has it");
  brim_runtime_release(case_runtime, config);
  brim_model *again = case_load(folder, "cpu-plain");
  ok(brim_model_task(again) == BRIM_TASK_TOKENS && brim_model_outputs(again) == 5, "and read again");
  brim_model_free(again);
}

static void check_refusals(brim_model *model, const brim_dataset *rows) {
  brim_error err = {0};
  brim_metrics metrics;
  float logits[16];
  brim_eval_options options;
  brim_eval_options_init(&options);
  options.max_length = 4;
  ok(brim_predict(case_runtime, model, rows, &options, logits, &err) == BRIM_E_USAGE, "refused: %s", err.message);
  ok(brim_evaluate(case_runtime, model, rows, &options, &metrics, &err) == BRIM_E_USAGE, "refused: %s", err.message);
  options.max_length = 0, options.logits = logits;
  ok(brim_evaluate(case_runtime, model, rows, &options, &metrics, &err) == BRIM_E_USAGE, "refused: %s", err.message);
  brim_dataset *texts = case_rows("distilbert-4");
  brim_batch batch = {0};
  double loss;
  const brim_pass pass = {0};
  case_fill(&batch, texts, 0, 2, 0);
  const brim_model_limits limits = case_limits(&batch, false);
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  ok(brim_model_forward(model, &batch, &pass, &loss, NULL, &err) == BRIM_E_MISMATCH, "refused: %s", err.message);
  ok(brim_evaluate(case_runtime, model, texts, NULL, &metrics, &err) == BRIM_E_MISMATCH, "refused: %s", err.message);
  brim_model *other = case_load(case_golden("bert-pair-3"), "cpu-plain");
  brim_batch_free(&batch);
  case_fill(&batch, rows, 0, 1, 0);
  if (brim_model_prepare(other, &limits, &err))
    case_stop("prepare", &err);
  ok(brim_model_forward(other, &batch, &pass, &loss, NULL, &err) == BRIM_E_MISMATCH, "refused: %s", err.message);
  brim_model_free(other);
  brim_batch_free(&batch);
  brim_dataset_free(texts);
}

/* Rows of logits are tokens, whether the batch is padded or not. */
static void check_logits(brim_model *model, const brim_dataset *rows) {
  enum { MOST = 64 };
  brim_error err = {0};
  float got[2][MOST * 5];
  const int32_t width[] = {0, 45};
  for (int i = 0; i < 2; i++) {
    brim_batch batch = {0};
    const brim_pass pass = {0};
    case_fill(&batch, rows, 0, 3, width[i]);
    const brim_model_limits limits = case_limits(&batch, false);
    if (brim_model_prepare(model, &limits, &err) || brim_model_forward(model, &batch, &pass, NULL, got[i], &err))
      case_stop("forward", &err);
    ok(brim_model_logit_rows(model, &batch) == 44, "44 tokens, 44 rows of logits");
    brim_batch_free(&batch);
  }
  double worst = 0;
  for (int i = 0; i < 44 * 5; i++)
    worst = fmax(worst, fabs((double)got[0][i] - (double)got[1][i]));
  ok(worst < 1e-5, "padded and ragged: the same logits (%.1e apart)", worst);
}

/* ---- predictions and evaluation ---------------------------------------------------------------------------- */

enum { OUTPUTS = 5 };

/* The logits of all tokens, and what a row at a time says of them. */
typedef struct each {
  const brim_dataset *rows;
  const float *all;
  uint64_t next;
  double apart;
} each;

static int on_row(void *context, uint64_t row, const float *logits, brim_error *err) {
  (void)err;
  each *e = context;
  const int32_t count = brim_dataset_lengths(e->rows)[row] * OUTPUTS;
  e->apart = fmax(e->apart, row == e->next++ ? case_apart(logits, e->all, count) : HUGE_VAL);
  e->all += count;
  return BRIM_OK;
}

static float *predict(brim_model *model, const brim_dataset *rows, brim_padding padding, brim_precision precision) {
  brim_error err = {0};
  brim_eval_options options;
  brim_eval_options_init(&options);
  options.padding = padding, options.precision = precision, options.batch_size = 3;
  float *logits = malloc(brim_dataset_tokens(rows) * OUTPUTS * sizeof *logits);
  if (!logits || brim_predict(case_runtime, model, rows, &options, logits, &err))
    case_stop("predict", &err);
  return logits;
}

/* Of every token in the order of the rows: those that forward gives of a row by itself. */
static void check_predict(brim_model *model, const brim_dataset *rows) {
  const int64_t count = (int64_t)brim_dataset_tokens(rows) * OUTPUTS;
  const brim_pass pass = {0};
  brim_error err = {0};
  float *logits = predict(model, rows, BRIM_PAD_NONE, BRIM_PRECISION_FP32), *alone = malloc((size_t)count * sizeof *alone);
  float *padded = predict(model, rows, BRIM_PAD_LONGEST, BRIM_PRECISION_FP32);
  float *bf16 = predict(model, rows, BRIM_PAD_NONE, BRIM_PRECISION_BF16), *at = alone;
  float *int8 = predict(model, rows, BRIM_PAD_NONE, BRIM_PRECISION_INT8);
  for (uint32_t i = 0; alone && i < brim_dataset_rows(rows); i++) {
    brim_batch batch = {0};
    case_fill(&batch, rows, i, 1, 0);
    const brim_model_limits limits = case_limits(&batch, false);
    if (brim_model_prepare(model, &limits, &err) || brim_model_forward(model, &batch, &pass, NULL, at, &err))
      case_stop("forward", &err);
    at += (int64_t)batch.offsets[1] * OUTPUTS;
    brim_batch_free(&batch);
  }
  ok(alone && at == alone + count && case_apart(logits, alone, count) < 1e-5, "logits of all tokens, in order");
  ok(case_apart(padded, logits, count) < 1e-5, "padded: the same");
  const double far[] = {case_apart(bf16, logits, count), case_apart(int8, logits, count)};
  ok(far[0] > 0 && far[0] < 0.05 && far[1] > 0 && far[1] < 0.05, "bf16 and int8 are near: %.1e, %.1e", far[0], far[1]);
  each e = {.rows = rows, .all = logits};
  ok(!brim_predict_each(case_runtime, model, rows, NULL, 2, on_row, &e, &err) && e.next == brim_dataset_rows(rows) &&
         e.apart < 1e-5,
     "a row at a time: %s", err.message);
  free(logits), free(alone), free(padded), free(bf16), free(int8);
}

/* Every labelled token has an outcome, and the metrics are those of the logits. */
static void check_evaluate(brim_model *model, const brim_dataset *rows) {
  const uint64_t *firsts = brim_dataset_token_labels(rows), count = firsts[brim_dataset_rows(rows)];
  brim_outcome *outcomes = malloc(count * sizeof *outcomes), *o = outcomes;
  float *logits = predict(model, rows, BRIM_PAD_NONE, BRIM_PRECISION_FP32), *at = logits;
  uint64_t confusion[OUTPUTS * OUTPUTS], diagonal = 0, all = 0;
  brim_metrics got, expected;
  brim_error err = {0};
  brim_eval_options options;
  brim_eval_options_init(&options);
  options.outcomes = outcomes, options.confusion = confusion;
  if (!outcomes || brim_evaluate(case_runtime, model, rows, &options, &got, &err) ||
      brim_metrics_compute(case_runtime, BRIM_TASK_TOKENS, OUTPUTS, (brim_meaning){0}, logits, rows, &expected, &err))
    case_stop("evaluate", &err);
  double apart = 0;
  for (uint64_t row = 0; row < brim_dataset_rows(rows); row++) {
    brim_sample sample;
    brim_dataset_sample(rows, row, &sample);
    apart += o != outcomes + firsts[row];
    for (int32_t i = 0; i < sample.length; i++, at += OUTPUTS)
      if (sample.token_labels[i] != BRIM_NO_LABEL) {
        const brim_outcome one = brim_outcome_of(at, OUTPUTS, sample.token_labels[i]);
        apart += fabs(o->loss - one.loss) + (o->label != one.label) + (o->predicted != one.predicted), o++;
      }
  }
  ok(o == outcomes + count && apart < 1e-4, "an outcome for each labelled token (%.1e apart)", apart);
  ok(fabs(got.loss - expected.loss) < 1e-6 && got.accuracy == expected.accuracy && got.f1_macro == expected.f1_macro &&
         got.rows == brim_dataset_rows(rows),
     "their metrics: loss %g, accuracy %g", got.loss, got.accuracy);
  for (int i = 0; i < OUTPUTS * OUTPUTS; i++)
    all += confusion[i], diagonal += i % (OUTPUTS + 1) ? 0 : confusion[i];
  ok(all == count && (double)diagonal == round(got.accuracy * (double)count), "the confusion counts them");
  free(outcomes), free(logits);
}

/* ---- training ---------------------------------------------------------------------------------------------- */

static int on_event(void *context, const brim_event *event) {
  double *first = context;
  if (strcmp(event->kind, "step") == 0 && isnan(*first))
    *first = brim_event_field(event, "loss")->real;
  return BRIM_OK;
}

static float *train(const brim_dataset *rows, int64_t max_tokens, double *first_loss) {
  brim_error err = {0};
  brim_model *model = case_load(case_golden(golden), "cpu-plain");
  brim_train_result result;
  brim_train_options options;
  brim_train_options_init(&options);
  options.plan.batch_size = (int64_t)brim_dataset_rows(rows);
  options.plan.max_tokens = max_tokens;
  options.max_steps = 4;
  options.lr = 1e-3;
  options.event = on_event;
  options.event_context = first_loss;
  *first_loss = (double)NAN;
  if (brim_train(case_runtime, model, NULL, rows, NULL, 0, &options, &result, &err))
    case_stop("train", &err);
  const int64_t count = brim_model_flat_size(model);
  float *values = malloc((size_t)count * sizeof *values);
  if (!values || brim_model_read(model, BRIM_VALUES, 0, count, values, &err))
    case_stop("read", &err);
  brim_model_free(model);
  return values;
}

/* Of a batch of all rows, whose divisor is its own. */
static double mean_loss(brim_model *model, const brim_dataset *rows) {
  brim_error err = {0};
  brim_batch batch = {0};
  double loss = 0;
  const brim_pass pass = {0};
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), 0);
  const brim_model_limits limits = case_limits(&batch, false);
  if (brim_model_prepare(model, &limits, &err) || brim_model_forward(model, &batch, &pass, &loss, NULL, &err))
    case_stop("loss", &err);
  brim_batch_free(&batch);
  return loss;
}

/* Parts of a step have other shares of labelled tokens than of rows. */
static void check_parts(const brim_dataset *rows) {
  brim_model *model = case_load(case_golden(golden), "cpu-plain");
  const int64_t count = brim_model_flat_size(model);
  double losses[2];
  float *before = malloc((size_t)count * sizeof *before), *whole = train(rows, 0, &losses[0]),
        *parts = train(rows, 80, &losses[1]);
  brim_error err = {0};
  if (!before || brim_model_read(model, BRIM_VALUES, 0, count, before, &err))
    case_stop("read", &err);
  const double apart = case_apart(parts, whole, count), moved = case_apart(whole, before, count);
  ok(moved > 1e-3 && apart < moved / 200, "a step in parts is the step: %.1e apart, %.1e from the beginning", apart, moved);
  const double mean = mean_loss(model, rows);
  ok(fabs(losses[0] - mean) < 1e-6 && fabs(losses[1] - mean) < 1e-6, "the loss is the mean over labelled tokens: %g", mean);
  free(before);
  free(whole);
  free(parts);
  brim_model_free(model);
}

int main(void) {
  case_start(2);
  brim_dataset *rows = case_rows(golden);
  brim_model *model = case_load(case_golden(golden), "cpu-plain");
  ok(brim_model_task(model) == BRIM_TASK_TOKENS, "the task follows from the class of the model");
  check_rows(rows);
  check_json();
  check_cut(rows);
  check_saved(model);
  check_logits(model, rows);
  check_predict(model, rows);
  check_evaluate(model, rows);
  check_refusals(model, rows);
  check_parts(rows);
  brim_model_free(model);
  brim_dataset_free(rows);
  brim_runtime_free(case_runtime);
  return tap_done();
}
