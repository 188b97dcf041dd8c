/* train_predict.c: predictions a row at a time, in windows. */
#include "train_case.h"

enum { ROWS = 30, MOST_OUTPUTS = 8 };

typedef struct seen {
  uint64_t rows, stop;
  int outputs;
  float logits[ROWS * MOST_OUTPUTS];
  int64_t done, total;
  bool in_order, rising;
} seen;

static int on_row(void *context, uint64_t row, const float *logits, brim_error *err) {
  seen *s = context;
  if (row == s->stop)
    return brim_error_set(err, BRIM_E_IO, "the disk is full");
  s->in_order = s->in_order && row == s->rows;
  memcpy(s->logits + s->rows++ * (uint64_t)s->outputs, logits, (size_t)s->outputs * sizeof *logits);
  return BRIM_OK;
}

static int on_event(void *context, const brim_event *event) {
  seen *s = context;
  const int64_t done = brim_event_field(event, "done")->integer;
  s->rising = s->rising && done >= s->done && strcmp(event->kind, "progress") == 0;
  s->done = done, s->total = brim_event_field(event, "total")->integer;
  return BRIM_OK;
}

static seen run(const case_job *job, uint64_t at_once, uint64_t stop, int *status, brim_error *err) {
  seen s = {.stop = stop, .outputs = brim_model_outputs(job->model), .in_order = true, .rising = true};
  brim_eval_options options;
  brim_eval_options_init(&options);
  options.event = on_event, options.event_context = &s;
  *status = brim_predict_each(job->runtime, job->model, job->eval, &options, at_once, on_row, &s, err);
  return s;
}

int main(void) {
  case_job job = case_open(case_model_folder("bert-pair-3"), 1);
  const size_t outputs = (size_t)brim_model_outputs(job.model);
  float want[ROWS * MOST_OUTPUTS];
  brim_error err = {0};
  int status;
  ok_int(brim_predict(job.runtime, job.model, job.eval, NULL, want, &err), BRIM_OK, "all at once");
  seen s = run(&job, 0, UINT64_MAX, &status, &err);
  ok(!status && s.rows == ROWS && s.in_order, "one by one, in order");
  ok(memcmp(s.logits, want, ROWS * outputs * sizeof *want) == 0, "the same bits where one window holds all");
  ok(s.done == ROWS && s.total == ROWS && s.rising, "progress to the last row");
  s = run(&job, 7, UINT64_MAX, &status, &err);
  double apart = 0;
  for (size_t i = 0; i < ROWS * outputs; i++)
    apart = fmax(apart, fabs((double)s.logits[i] - (double)want[i]));
  ok(!status && s.rows == ROWS && s.in_order && apart < 1e-5, "in windows of seven: %g apart", apart);
  ok(s.done == ROWS && s.total == ROWS && s.rising, "progress over all windows");
  s = run(&job, 7, 16, &status, &err);
  ok(status == BRIM_E_IO && s.rows == 16, "what the function says ends it");
  ok_string(err.message, "the disk is full", "with its words");
  const int64_t size = brim_model_flat_size(job.model);
  float *damaged = malloc((size_t)size * sizeof *damaged);
  for (int64_t i = 0; i < size; i++)
    damaged[i] = (float)NAN;
  ok_int(brim_model_write(job.model, BRIM_VALUES, 0, size, damaged, &err), BRIM_OK, "weights are written");
  free(damaged);
  s = run(&job, 7, UINT64_MAX, &status, &err);
  ok(status == BRIM_E_DIVERGED && s.rows == 0 && strncmp(err.message, "row 0", 5) == 0, "no row of a damaged model: %s",
     err.message);
  case_close(&job);
  return tap_done();
}
