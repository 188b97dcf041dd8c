#include "judged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passages.h"

static int no_memory(cli_call *cli) {
  return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for what the model made of the rows");
}

/* One set while it is judged. */
typedef struct judge {
  const cli_verdict *v;
  int32_t outputs;
  uint64_t rows;
  uint64_t row_of[CLI_MOST_WRONG]; /* in the dataset */
  cli_judged *out;
} judge;

static const float *logits_of(const judge *j, uint64_t row) {
  return j->v->logits + row * (uint64_t)j->outputs;
}

/* The row's label, or the k-th of several. */
static double label_of(const judge *j, uint64_t row, int32_t k) {
  brim_sample sample;
  brim_dataset_sample(j->v->dataset, row, &sample);
  return (double)(sample.labels ? sample.labels[k] : sample.label);
}

/* ---- the most wrong --------------------------------------------------------------------------------------- */

static void note_loss(judge *j, uint64_t row, double loss) {
  cli_judged *out = j->out;
  int at = out->wrong_count;
  if (!(loss > 0) || (at == CLI_MOST_WRONG && loss <= out->wrong[at - 1].loss))
    return;
  at = at == CLI_MOST_WRONG ? at - 1 : out->wrong_count++;
  for (; at > 0 && out->wrong[at - 1].loss < loss; at--)
    out->wrong[at] = out->wrong[at - 1], j->row_of[at] = j->row_of[at - 1];
  out->wrong[at] = (cli_wrong_row){.row = brim_dataset_origin(j->v->dataset, row), .loss = loss};
  j->row_of[at] = row;
}

/* What the row costs, as training counts it; 0 for a row that is right. Counts it as well. */
static double judge_class(judge *j, uint64_t row) {
  const brim_outcome *o = &j->v->outcomes[row];
  j->out->classes[o->label].rows++;
  j->out->classes[o->predicted].predicted++;
  j->out->classes[o->label].both += o->label == o->predicted;
  return o->label == o->predicted ? 0 : o->loss;
}

static double judge_labels(judge *j, uint64_t row) {
  const float *logits = logits_of(j, row);
  double loss = 0;
  bool wrong = false;
  for (int32_t k = 0; k < j->outputs; k++) {
    const bool label = label_of(j, row, k) > 0.5, predicted = logits[k] > 0;
    const double score = brim_sigmoid(logits[k]);
    loss -= log(fmax(label ? score : 1 - score, 1e-300)), wrong = wrong || label != predicted;
    j->out->classes[k].rows += label;
    j->out->classes[k].predicted += predicted;
    j->out->classes[k].both += label && predicted;
  }
  return wrong ? loss / j->outputs : 0;
}

static double judge_values(judge *j, uint64_t row) {
  double loss = 0;
  for (int32_t k = 0; k < j->outputs; k++) {
    const double apart = label_of(j, row, k) - (double)logits_of(j, row)[k];
    loss += apart * apart;
  }
  return loss / j->outputs;
}

/* "good, warm", "0.25 1.5": what one side says of a row with several labels or values. */
static void join(const judge *j, uint64_t row, bool predicted, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (int32_t k = 0; k < j->outputs && used < size; k++) {
    const double label = label_of(j, row, k), logit = (double)logits_of(j, row)[k];
    if (j->v->task == BRIM_TASK_REGRESSION)
      used += (size_t)snprintf(text + used, size - used, "%s%.4g", used ? " " : "", predicted ? logit : label);
    else if (predicted ? logit > 0 : label > 0.5)
      used += (size_t)snprintf(text + used, size - used, "%s%.100s", used ? ", " : "", j->v->labels->names[k]);
  }
  if (!text[0])
    snprintf(text, size, "none");
}

static void describe(judge *j, uint64_t row, cli_wrong_row *wrong) {
  wrong->score = wrong->label_score = (double)NAN;
  if (j->v->task != BRIM_TASK_CLASSIFICATION) {
    join(j, row, false, wrong->label, sizeof wrong->label);
    join(j, row, true, wrong->predicted, sizeof wrong->predicted);
    return;
  }
  const brim_outcome *o = &j->v->outcomes[row];
  wrong->score = o->score, wrong->label_score = o->label_score;
  snprintf(wrong->label, sizeof wrong->label, "%s", j->v->labels->names[o->label]);
  snprintf(wrong->predicted, sizeof wrong->predicted, "%s", j->v->labels->names[o->predicted]);
}

/* ---- confusions and values -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int by_rows(const void *a, const void *b) {
  const cli_confused *x = a, *y = b;
  if (x->rows != y->rows)
    return x->rows < y->rows ? 1 : -1;
  return x->label != y->label ? (x->label > y->label) - (x->label < y->label) : x->predicted - y->predicted;
}

/* Equal keys stand side by side: runs of them are counts. */
int cli_confused_make(cli_call *cli, const brim_outcome *outcomes, uint64_t rows, size_t most, cli_confused **out,
                      size_t *count) {
  size_t runs = 0, used = 0;
  uint64_t *keys = calloc(rows + 1, sizeof *keys);
  *out = NULL, *count = 0;
  if (!keys)
    return no_memory(cli);
  for (uint64_t i = 0; i < rows; i++)
    keys[i] = (uint64_t)outcomes[i].label << 32 | (uint32_t)outcomes[i].predicted;
  qsort(keys, rows, sizeof *keys, by_key);
  for (uint64_t i = 0; i < rows; i++)
    runs += i == 0 || keys[i] != keys[i - 1];
  cli_confused *confused = *out = calloc(runs ? runs : 1, sizeof *confused);
  for (uint64_t i = 0, first = 0; confused && i < rows; i++) {
    if (i + 1 < rows && keys[i + 1] == keys[i])
      continue;
    const int32_t label = (int32_t)(keys[i] >> 32), predicted = (int32_t)(keys[i] & UINT32_MAX);
    if (most == 0 || label != predicted)
      confused[used++] = (cli_confused){label, predicted, i + 1 - first};
    first = i + 1;
  }
  free(keys);
  if (!confused)
    return no_memory(cli);
  if (most > 0)
    qsort(confused, used, sizeof *confused, by_rows);
  *count = most == 0 || used < most ? used : most;
  return BRIM_OK;
}

/* Rows at equal distances, as many as are kept. */
static int sample_values(cli_call *cli, judge *j) {
  const uint64_t outputs = (uint64_t)j->outputs, room = CLI_MOST_POINTS / outputs ? CLI_MOST_POINTS / outputs : 1;
  const uint64_t points = j->rows < room ? j->rows : room;
  cli_judged *out = j->out;
  out->labels = calloc(points * outputs + 1, sizeof *out->labels);
  out->values = calloc(points * outputs + 1, sizeof *out->values);
  if (!out->labels || !out->values)
    return no_memory(cli);
  for (uint64_t i = 0; i < points; i++) {
    const uint64_t row = (uint64_t)((double)i * (double)j->rows / (double)points);
    for (int32_t k = 0; k < j->outputs; k++) {
      out->labels[i * outputs + (uint64_t)k] = label_of(j, row, k);
      out->values[i * outputs + (uint64_t)k] = (double)logits_of(j, row)[k];
    }
  }
  out->points = points;
  return BRIM_OK;
}

static bool copy_names(judge *j) {
  const size_t count = (size_t)j->outputs;
  cli_judged *out = j->out;
  out->names = calloc(count, sizeof *out->names);
  out->classes = calloc(count, sizeof *out->classes);
  for (size_t i = 0; out->names && out->classes && i < count; i++)
    if (!(out->names[i] = strdup(j->v->labels->names[i])))
      return false;
  return out->names && out->classes;
}

/* ---- in order --------------------------------------------------------------------------------------------- */

static int judge_rows(cli_call *cli, judge *j) {
  const brim_task task = j->v->task;
  double (*const one)(judge *, uint64_t) = task == BRIM_TASK_CLASSIFICATION ? judge_class
                                           : task == BRIM_TASK_REGRESSION   ? judge_values
                                                                            : judge_labels;
  for (uint64_t row = 0; row < j->rows; row++)
    note_loss(j, row, one(j, row));
  for (int i = 0; i < j->out->wrong_count; i++)
    describe(j, j->row_of[i], &j->out->wrong[i]);
  if (task == BRIM_TASK_CLASSIFICATION)
    return cli_confused_make(cli, j->v->outcomes, j->rows, j->outputs <= CLI_MOST_CLASSES ? 0 : CLI_MOST_CONFUSED,
                             &j->out->confused, &j->out->confused_count);
  return task == BRIM_TASK_REGRESSION ? sample_values(cli, j) : BRIM_OK;
}

int cli_judge(cli_call *cli, const cli_verdict *v, cli_judged *out) {
  brim_field fields[BRIM_METRIC_FIELDS];
  judge j = {.v = v, .outputs = v->labels->count, .rows = brim_dataset_rows(v->dataset), .out = out};
  *out = (cli_judged){.step = v->step, .rows = j.rows, .task = v->task, .outputs = j.outputs};
  snprintf(out->name, sizeof out->name, "%s", v->name);
  brim_metrics_fields(v->task, v->metrics, fields);
  for (int i = 0; i < BRIM_METRIC_FIELDS; i++)
    out->metrics[i] = fields[i].real;
  const bool room = v->task == BRIM_TASK_REGRESSION || copy_names(&j);
  return room ? judge_rows(cli, &j) : no_memory(cli);
}

void cli_judged_free(cli_judged *judged) {
  for (int32_t i = 0; judged->names && i < judged->outputs; i++)
    free(judged->names[i]);
  free(judged->names);
  free(judged->classes);
  free(judged->confused);
  free(judged->labels);
  free(judged->values);
  for (int i = 0; i < judged->wrong_count; i++)
    free(judged->wrong[i].text);
  *judged = (cli_judged){0};
}

int cli_judged_read_texts(cli_call *cli, cli_judged *judged, const char *const *paths, int path_count) {
  cli_passage passages[CLI_MOST_WRONG] = {0};
  for (int i = 0; i < judged->wrong_count; i++)
    passages[i].row = judged->wrong[i].row;
  int status = judged->wrong_count ? cli_passages_read(cli, paths, path_count, passages, judged->wrong_count) : BRIM_OK;
  for (int i = 0; i < judged->wrong_count; i++) { /* theirs now */
    free(judged->wrong[i].text);
    judged->wrong[i].text = passages[i].text, judged->wrong[i].length = passages[i].length;
  }
  return status;
}
