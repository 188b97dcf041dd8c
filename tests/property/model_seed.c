/* A loss that the host computes: with the gradient of logits that the device's own loss leaves, backward has the same bits, for
 * every task, ragged and padded, frozen and with checkpoints; and what does not fit is refused. */
#include "model/run/logits.h"
#include "model_case.h"
#include "task/task.h"

enum { MOST = 4096 };

static void must(int status, const char *what, const brim_error *err) {
  if (status)
    case_stop(what, err);
}

/* The gradient that the loss of the last forward has left, of real rows alone. */
static void take_gradient(brim_model *m, real *out) {
  const brim_tape *tape = &m->tape;
  const int32_t width = brim_model_outputs(m), n = tape->layout.n;
  const bool tokens = brim_task_has_tokens(brim_model_task(m));
  const real *from = brim_version_address(tape->schedule, tape->schedule->seed, &tape->frame);
  const int64_t rows = tokens ? tape->layout.slots : n;
  const real *all = case_look(m, from, rows * width);
  for (int32_t i = 0; i < n; i++) {
    const int32_t first = tokens ? tape->laid->offsets[i] : i, count = tokens ? tape->laid->lengths[i] : 1;
    memcpy(out, all + (int64_t)first * width, (size_t)(count * width) * sizeof *out);
    out += count * width;
  }
}

typedef struct way {
  const char *golden, *name, *freeze;
  int32_t width;
  bool checkpoints;
} way;

static brim_model *load(const way *w, const brim_batch *batch) {
  brim_error err = {0};
  brim_model *m = case_load(case_golden(w->golden), NULL);
  brim_model_limits limits = case_limits(batch, true);
  limits.checkpoint_activations = w->checkpoints;
  must(brim_model_freeze(m, w->freeze, &err), "freeze", &err);
  must(brim_model_prepare(m, &limits, &err), "prepare", &err);
  return m;
}

static void check(way w) {
  const brim_pass pass = {.training = true, .dropout = true, .seed = 5, .optimizer_step = 2};
  static real gradient[MOST], logits[MOST];
  static float floats[MOST];
  brim_error err = {0};
  brim_batch batch = {0};
  brim_dataset *rows = case_rows(w.golden);
  double loss;
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), w.width);
  brim_model *device = load(&w, &batch), *host = load(&w, &batch);
  const int64_t count = device->trained.size;
  must(brim_model_forward(device, &batch, &pass, &loss, floats, &err), "forward with loss", &err);
  take_gradient(device, gradient);
  must(brim_model_backward(device, &batch, &pass, &err), "backward", &err);
  must(brim_model_forward(host, &batch, &pass, NULL, NULL, &err), "forward without loss", &err);
  must(brim_model_read_logits(host, logits, &err), "logits", &err);
  must(brim_model_seed(host, gradient, &err), "seed", &err);
  must(brim_model_backward(host, &batch, &pass, &err), "backward from a seed", &err);
  const size_t numbers = (size_t)brim_model_logit_rows(host, &batch) * (size_t)brim_model_outputs(host);
  ok(memcmp(logits, floats, numbers * sizeof *logits) == 0, "%s: the same logits", w.name);
  ok(memcmp(case_gradients_of(host), case_gradients_of(device), (size_t)count * sizeof(real)) == 0, "%s: the same gradient",
     w.name);
  brim_model_free(device);
  brim_model_free(host);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

/* Cross entropy by its formula, in double, beside the device's. */
static void check_formula(void) {
  const brim_pass pass = {.training = true};
  const way w = {.golden = "bert-pair-3"};
  static real logits[MOST], gradient[MOST], theirs[MOST];
  brim_error err = {0};
  brim_batch batch = {0};
  brim_dataset *rows = case_rows(w.golden);
  double loss, own = 0;
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), 0);
  brim_model *m = load(&w, &batch);
  const int32_t classes = brim_model_outputs(m);
  must(brim_model_forward(m, &batch, &pass, &loss, NULL, &err), "forward", &err);
  take_gradient(m, theirs);
  must(brim_model_forward(m, &batch, &pass, NULL, NULL, &err), "forward", &err);
  must(brim_model_read_logits(m, logits, &err), "logits", &err);
  for (int32_t i = 0; i < batch.count; i++) {
    const real *x = logits + i * classes;
    double sum = 0;
    for (int32_t c = 0; c < classes; c++)
      sum += exp((double)x[c]);
    own += (log(sum) - (double)x[(int32_t)batch.labels[i]]) / batch.step_rows;
    for (int32_t c = 0; c < classes; c++)
      gradient[i * classes + c] = (real)((exp((double)x[c]) / sum - (c == (int32_t)batch.labels[i])) / batch.step_rows);
  }
  ok(fabs(own - loss) < 1e-6, "the host's loss %.8f is the device's %.8f", own, loss);
  ok(case_apart(gradient, theirs, (int64_t)batch.count * classes) < 1e-6, "and so is its gradient");
  brim_model_free(m);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

static void check_refusals(void) {
  const brim_pass pass = {.training = true}, predicting = {0};
  const real gradient[8] = {0};
  const way w = {.golden = "bert-pair-3"};
  tiny t;
  brim_error err = {0};
  double loss;
  make_tiny(&t);
  brim_model *m = load(&w, &t.batch);
  ok(brim_model_seed(m, gradient, &err) == BRIM_E_USAGE, "no seed before a forward: %s", err.message);
  must(brim_model_forward(m, &t.batch, &predicting, NULL, NULL, &err), "forward", &err);
  ok(brim_model_seed(m, gradient, &err) == BRIM_E_USAGE, "none after a prediction");
  must(brim_model_forward(m, &t.batch, &pass, &loss, NULL, &err), "forward", &err);
  ok(brim_model_seed(m, gradient, &err) == BRIM_E_USAGE, "none beside the device's loss");
  must(brim_model_forward(m, &t.batch, &pass, NULL, NULL, &err), "forward", &err);
  ok(brim_model_backward(m, &t.batch, &pass, &err) == BRIM_E_USAGE, "no backward without a loss: %s", err.message);
  brim_model_free(m);
}

int main(void) {
  case_start(2);
  check((way){.golden = "bert-pair-3", .name = "classes"});
  check((way){.golden = "bert-pair-3", .name = "padded", .width = 70});
  check((way){.golden = "bert-pair-3", .name = "checkpoints", .checkpoints = true});
  check((way){.golden = "bert-pair-3", .name = "frozen", .freeze = "encoder"});
  check((way){.golden = "roberta-regression", .name = "values"});
  check((way){.golden = "bert-tokens", .name = "words"});
  check((way){.golden = "bert-tokens", .name = "words, padded", .width = 64});
  check((way){.golden = "modernbert-tokens", .name = "words of a ModernBERT"});
  check((way){.golden = "deberta-v3-cls", .name = "attention by distance"});
  check_formula();
  check_refusals();
  brim_runtime_free(case_runtime);
  return tap_done();
}
