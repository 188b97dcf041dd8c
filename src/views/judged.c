/* judged.c: what a model made of labelled rows, in little. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "data/facts.h"
#include "model/run/ask.h"
#include "task/task.h"
#include "train/answers/evaluate.h"
#include "views/views.h"

/* One set while it is judged. */
typedef struct judge {
  const brim_verdict *v;
  const brim_task_rules *rules;
  int32_t outputs;
  uint64_t count;         /* rows, or labelled tokens */
  const uint64_t *firsts; /* [rows + 1] of labelled tokens; NULL: rows are judged */
  brim_judged *out;
} judge;

/* What the model made of a row, or of a labelled token; *sample holds its label. */
static brim_answer answer_of(const judge *j, uint64_t item, brim_sample *sample) {
  brim_answer a = {.outputs = j->outputs, .names = (const char *const *)j->v->labels->names};
  if (j->v->outcomes) {
    a.outcome = &j->v->outcomes[item];
    return a;
  }
  brim_dataset_sample(j->v->dataset, item, sample);
  a.label = sample->labels ? sample->labels : &sample->label;
  a.logits = j->v->logits + item * (uint64_t)j->outputs;
  return a;
}

/* ---- the most wrong --------------------------------------------------------------------------------------- */

/* The row that a labelled token is in. */
static uint64_t row_of(const judge *j, uint64_t item) {
  uint64_t low = 0, high = brim_dataset_rows(j->v->dataset);
  if (!j->firsts)
    return item;
  while (low + 1 < high) { /* it begins at low or after it, and before high */
    const uint64_t middle = low + (high - low) / 2;
    if (j->firsts[middle] <= item)
      low = middle;
    else
      high = middle;
  }
  return low;
}

brim_wrong_row *brim_judged_note(brim_judged *out, uint64_t row, double loss) {
  int at = out->wrong_count;
  if (!(loss > 0) || (at == BRIM_MOST_WRONG && loss <= out->wrong[at - 1].loss))
    return NULL;
  at = at == BRIM_MOST_WRONG ? at - 1 : out->wrong_count++;
  for (; at > 0 && out->wrong[at - 1].loss < loss; at--)
    out->wrong[at] = out->wrong[at - 1];
  out->wrong[at] = (brim_wrong_row){.row = row, .word = -1, .loss = loss, .score = (double)NAN, .label_score = (double)NAN};
  return &out->wrong[at];
}

/* Which word of its row a labelled token belongs to. */
static void describe_word(const judge *j, uint64_t item, brim_wrong_row *wrong) {
  const uint64_t row = row_of(j, item);
  uint64_t before = item - j->firsts[row];
  brim_sample sample;
  int32_t at = 0;
  brim_dataset_sample(j->v->dataset, row, &sample);
  for (; at + 1 < sample.length && (sample.token_labels[at] == BRIM_NO_LABEL || before > 0); at++)
    before -= sample.token_labels[at] != BRIM_NO_LABEL;
  const int32_t own = sample.words ? sample.words[at] : -1; /* a label may be that of a special token */
  wrong->word = own >= 0 ? own : at;
  const char *text = own >= 0 ? sample.word_text : "";
  for (int32_t word = 0; word < own; word++)
    text += strlen(text) + 1;
  const size_t length = strlen(text), room = sizeof wrong->word_text - 1;
  memcpy(wrong->word_text, text, brim_utf8_valid(text, length < room ? length : room));
}

static void note_wrong(judge *j, uint64_t item, const brim_answer *a, double loss) {
  brim_wrong_row *wrong = loss > 0 ? brim_judged_note(j->out, brim_dataset_origin(j->v->dataset, row_of(j, item)), loss) : NULL;
  if (!wrong)
    return;
  if (j->firsts)
    describe_word(j, item, wrong);
  if (a->outcome)
    wrong->score = a->outcome->score, wrong->label_score = a->outcome->label_score;
  j->rules->say(a, false, wrong->label, sizeof wrong->label);
  j->rules->say(a, true, wrong->predicted, sizeof wrong->predicted);
}

/* ---- confusions and values -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int by_rows(const void *a, const void *b) {
  const brim_confused *x = a, *y = b;
  if (x->rows != y->rows)
    return x->rows < y->rows ? 1 : -1;
  return x->label != y->label ? (x->label > y->label) - (x->label < y->label) : x->predicted - y->predicted;
}

/* Equal keys are neighbours: runs of them are counts. */
int brim_confused_make(brim_runtime *runtime, const brim_outcome *outcomes, uint64_t rows, size_t most, brim_confused **out,
                       size_t *count, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_OUT(err, count);
  BRIM_GIVEN(err, runtime);
  BRIM_ARRAY(err, outcomes, rows);
  size_t runs = 0, used = 0;
  uint64_t *keys = brim_alloc_array(runtime, (size_t)rows + 1, sizeof *keys);
  if (!keys)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < rows; i++)
    keys[i] = (uint64_t)outcomes[i].label << 32 | (uint32_t)outcomes[i].predicted;
  qsort(keys, rows, sizeof *keys, by_key);
  for (uint64_t i = 0; i < rows; i++)
    runs += i == 0 || keys[i] != keys[i - 1];
  brim_confused *confused = *out = brim_alloc_array(runtime, runs + 1, sizeof *confused);
  for (uint64_t i = 0, first = 0; confused && i < rows; i++) {
    if (i + 1 < rows && keys[i + 1] == keys[i])
      continue;
    const int32_t label = (int32_t)(keys[i] >> 32), predicted = (int32_t)(keys[i] & UINT32_MAX);
    if (most == 0 || label != predicted)
      confused[used++] = (brim_confused){label, predicted, i + 1 - first};
    first = i + 1;
  }
  brim_release(runtime, keys);
  if (!confused)
    return BRIM_NOMEM(err);
  if (most > 0)
    qsort(confused, used, sizeof *confused, by_rows);
  *count = most == 0 || used < most ? used : most;
  return BRIM_OK;
}

/* Rows at equal distances, as many as are kept. */
static int sample_values(judge *j, brim_error *err) {
  const uint64_t outputs = (uint64_t)j->outputs, room = BRIM_MOST_POINTS / outputs ? BRIM_MOST_POINTS / outputs : 1;
  const uint64_t points = j->count < room ? j->count : room;
  brim_judged *out = j->out;
  out->labels = brim_alloc_array(out->runtime, (size_t)(points * outputs) + 1, sizeof *out->labels);
  out->values = brim_alloc_array(out->runtime, (size_t)(points * outputs) + 1, sizeof *out->values);
  if (!out->labels || !out->values)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < points; i++) {
    const uint64_t row = (uint64_t)((double)i * (double)j->count / (double)points);
    brim_sample sample;
    const brim_answer a = answer_of(j, row, &sample);
    for (int32_t k = 0; k < j->outputs; k++) {
      out->labels[i * outputs + (uint64_t)k] = (double)a.label[k];
      out->values[i * outputs + (uint64_t)k] = (double)a.logits[k];
    }
  }
  out->points = points;
  return BRIM_OK;
}

static int copy_names(judge *j, brim_error *err) {
  const size_t count = (size_t)j->outputs;
  brim_judged *out = j->out;
  out->names = brim_alloc_array_zero(out->runtime, count, sizeof *out->names);
  out->classes = brim_alloc_array_zero(out->runtime, count, sizeof *out->classes);
  if (!out->names || !out->classes)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < count; i++) {
    const char *name = j->v->labels->names[i];
    if (!(out->names[i] = brim_copy_string(out->runtime, name, strlen(name))))
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

/* ---- in order --------------------------------------------------------------------------------------------- */

static int judge_rows(judge *j, brim_error *err) {
  for (uint64_t item = 0; item < j->count; item++) {
    brim_sample sample;
    const brim_answer a = answer_of(j, item, &sample);
    note_wrong(j, item, &a, j->rules->cost(&a, j->out->classes));
  }
  if (j->v->outcomes)
    return brim_confused_make(j->out->runtime, j->v->outcomes, j->count, j->outputs <= BRIM_MOST_CLASSES ? 0 : BRIM_MOST_CONFUSED,
                              &j->out->confused, &j->out->confused_count, err);
  return j->out->names ? BRIM_OK : sample_values(j, err);
}

/* What is judged is of these labels: nothing is counted outside of them. */
static int check_outputs(const judge *j, brim_error *err) {
  const brim_verdict *v = j->v;
  bool fit = j->rules->shape.one_class == (v->outcomes != NULL);
  if (!v->outcomes)
    fit = fit && v->logits && brim_dataset_label_width(v->dataset) == brim_labels_width(v->labels);
  for (uint64_t i = 0; v->outcomes && fit && i < j->count; i++) {
    const brim_outcome *o = &v->outcomes[i];
    fit = o->label >= 0 && o->label < j->outputs && o->predicted >= 0 && o->predicted < j->outputs;
  }
  return fit ? BRIM_OK
             : brim_error_set(err, BRIM_E_MISMATCH, "%s: what was predicted is not of the %d labels of the task %s", v->name,
                              (int)j->outputs, brim_task_name(v->task));
}

int brim_judge(brim_runtime *runtime, const brim_verdict *v, brim_judged *out, brim_error *err) {
  brim_field fields[BRIM_METRIC_FIELDS];
  const uint64_t rows = brim_dataset_rows(v->dataset), *firsts = brim_dataset_token_labels(v->dataset);
  judge j = {.v = v,
             .rules = brim_task_rules_of(v->task),
             .outputs = v->labels->count,
             .count = firsts ? firsts[rows] : rows,
             .firsts = firsts,
             .out = out};
  *out = (brim_judged){.step = v->step,
                       .rows = rows,
                       .stamp = brim_dataset_stamp(v->dataset),
                       .task = v->task,
                       .outputs = j.outputs,
                       .runtime = runtime};
  snprintf(out->name, sizeof out->name, "%s", v->name);
  const int count = brim_metrics_fields(v->task, v->metrics, fields);
  for (int i = 0; i < count; i++)
    out->metrics[i] = fields[i].real;
  if (brim_finds_rows(v->task))
    return brim_judge_found(runtime, v, out, err);
  BRIM_TRY(check_outputs(&j, err));
  if (v->labels->names)
    BRIM_TRY(copy_names(&j, err));
  return judge_rows(&j, err);
}

/* Windows of a text have one answer. */
bool brim_is_judged(brim_task task, const brim_dataset *dataset) {
  return brim_finds_rows(task) ||
         (brim_task_shape(task)->judged && (!brim_dataset_firsts(dataset) || brim_dataset_has_windows(dataset)));
}

static int judge_fitted(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *given,
                        brim_metrics *metrics, brim_judged *out, brim_error *err) {
  const bool one = brim_model_shape(model)->one_class, found = brim_finds_rows(brim_model_task(model));
  const uint64_t *firsts = brim_dataset_token_labels(dataset);
  if (!brim_is_judged(brim_model_task(model), dataset))
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "masked words, and rows of several texts, are not judged row by row");
  const size_t rows = (size_t)(found    ? brim_dataset_texts(dataset)
                               : firsts ? firsts[brim_dataset_rows(dataset)]
                                        : brim_dataset_rows(dataset)) +
                      1,
               outputs = (size_t)brim_model_outputs(model);
  brim_metrics unwanted;
  brim_eval_options options;
  brim_eval_options_init(&options);
  if (given)
    options = *given;
  options.confusion = NULL;
  void *room = NULL;
  metrics = metrics ? metrics : &unwanted;
  if (one && !options.outcomes)
    room = options.outcomes = brim_alloc_array(runtime, rows, sizeof *options.outcomes);
  else if (!one && !options.logits)
    room = options.logits = brim_alloc_array(runtime, rows, outputs * sizeof *options.logits);
  if (one ? !options.outcomes : !options.logits)
    return BRIM_NOMEM(err);
  int status = brim_evaluate(runtime, model, dataset, &options, metrics, err);
  const brim_verdict verdict = {.name = "",
                                .task = brim_model_task(model),
                                .labels = brim_model_labels(model),
                                .dataset = dataset,
                                .metrics = metrics,
                                .logits = options.logits,
                                .outcomes = options.outcomes,
                                .outputs = brim_model_outputs(model),
                                .meaning = brim_model_meaning(model)};
  if (!status)
    status = brim_judge(runtime, &verdict, out, err);
  brim_release(runtime, room);
  return status;
}

int brim_judge_dataset(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *given,
                       brim_metrics *metrics, brim_judged *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, model, dataset);
  brim_dataset *mapped;
  *out = (brim_judged){.runtime = runtime};
  BRIM_TRY(brim_dataset_fit(runtime, model, dataset, given ? given->max_length : 0, true, "data", &mapped, err));
  const int status = judge_fitted(runtime, model, mapped ? mapped : dataset, given, metrics, out, err);
  brim_dataset_free(mapped);
  return status;
}

void brim_judged_free(brim_judged *judged) {
  if (!judged || !judged->runtime)
    return;
  brim_runtime *runtime = judged->runtime;
  for (int32_t i = 0; judged->names && i < judged->outputs; i++)
    brim_release(runtime, judged->names[i]);
  for (int i = 0; i < judged->wrong_count; i++)
    brim_release(runtime, judged->wrong[i].text);
  for (int i = 0; i < judged->near_count; i++) {
    brim_release(runtime, judged->near[i].text);
    brim_release(runtime, judged->near[i].other_text);
  }
  brim_release(runtime, judged->names);
  brim_release(runtime, judged->classes);
  brim_release(runtime, judged->confused);
  brim_release(runtime, judged->labels);
  brim_release(runtime, judged->values);
  *judged = (brim_judged){0};
}

/* ---- texts ------------------------------------------------------------------------------------------------ */

static void hand_over(brim_runtime *runtime, const brim_passage *from, char **text, size_t *length) {
  brim_release(runtime, *text);
  *text = from->text, *length = from->length;
}

int brim_judged_read_texts(brim_judged *judged, const char *const *paths, int path_count, const brim_source_options *source,
                           brim_error *err) {
  BRIM_GIVEN(err, judged, source);
  BRIM_STRINGS(err, paths, path_count);
  brim_passage passages[BRIM_MOST_WRONG + 2 * BRIM_MOST_NEAR] = {0}, *at = passages;
  const int count = judged->wrong_count + 2 * judged->near_count;
  for (int i = 0; i < judged->wrong_count; i++)
    (at++)->row = judged->wrong[i].row;
  for (int i = 0; i < judged->near_count; i++) {
    (at++)->row = judged->near[i].row;
    (at++)->row = judged->near[i].other;
  }
  if (count == 0)
    return BRIM_OK;
  const int status = brim_passages_read(judged->runtime, paths, path_count, source, judged->stamp, passages, count, err);
  at = passages;
  for (int i = 0; i < judged->wrong_count; i++) /* theirs now */
    hand_over(judged->runtime, at++, &judged->wrong[i].text, &judged->wrong[i].length);
  for (int i = 0; i < judged->near_count; i++) {
    hand_over(judged->runtime, at++, &judged->near[i].text, &judged->near[i].length);
    hand_over(judged->runtime, at++, &judged->near[i].other_text, &judged->near[i].other_length);
  }
  return status;
}

int brim_judged_set_text(brim_judged *judged, int index, const char *text, size_t length, const char *pair, size_t pair_length,
                         brim_error *err) {
  BRIM_GIVEN(err, judged);
  BRIM_ARRAY(err, text, length);
  brim_passage passage = {0};
  if (index < 0 || index >= judged->wrong_count)
    return brim_error_set(err, BRIM_E_USAGE, "there are %d wrong rows, not one of number %d", judged->wrong_count, index);
  BRIM_TRY(brim_passage_set(judged->runtime, &passage, text, length, pair, pair_length, err));
  brim_release(judged->runtime, judged->wrong[index].text);
  judged->wrong[index].text = passage.text, judged->wrong[index].length = passage.length;
  return BRIM_OK;
}

int brim_judged_set_near_text(brim_judged *judged, int index, bool other, const char *text, size_t length, const char *pair,
                              size_t pair_length, brim_error *err) {
  BRIM_GIVEN(err, judged);
  BRIM_ARRAY(err, text, length);
  brim_passage passage = {0};
  if (index < 0 || index >= judged->near_count)
    return brim_error_set(err, BRIM_E_USAGE, "there are %d neighbours, not one of number %d", judged->near_count, index);
  brim_near_row *near = &judged->near[index];
  BRIM_TRY(brim_passage_set(judged->runtime, &passage, text, length, pair, pair_length, err));
  hand_over(judged->runtime, &passage, other ? &near->other_text : &near->text, other ? &near->other_length : &near->length);
  return BRIM_OK;
}
