/* Predictions with products of bytes, of every golden model on every kernel: near those in fp32, the same bits for any threads,
 * batches and padding, with VNNI and without, and of the values that the model has now. */
#include "base/runtime.h"
#include "model/run/host.h"
#include "model_case.h"

enum { MOST_LOGITS = 256 };

typedef struct prediction {
  float logits[MOST_LOGITS];
  int64_t count;
  int32_t outputs;
} prediction;

/* All rows, `each` at a time (0: at once). */
static prediction predict_with(brim_model *model, const brim_dataset *rows, brim_precision precision, uint32_t each,
                               int32_t width) {
  const uint32_t n = (uint32_t)brim_dataset_rows(rows);
  prediction p = {.outputs = brim_model_outputs(model)};
  brim_batch batch = {0};
  brim_error err = {0};
  const brim_pass pass = {0};
  p.count = (int64_t)n * p.outputs;
  case_fill(&batch, rows, 0, n, width);
  brim_model_limits limits = case_limits(&batch, false);
  limits.precision = precision;
  if (p.count > MOST_LOGITS || brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  for (uint32_t first = 0; first < n; first += each ? each : n) {
    const uint32_t count = each && each < n - first ? each : n - first;
    case_fill(&batch, rows, first, count, width);
    if (brim_model_forward(model, &batch, &pass, NULL, p.logits + first * (uint32_t)p.outputs, &err))
      case_stop("forward", &err);
  }
  brim_batch_free(&batch);
  return p;
}

static bool same(const prediction *a, const prediction *b) {
  return a->count == b->count && memcmp(a->logits, b->logits, (size_t)a->count * sizeof *a->logits) == 0;
}

/* Rows whose largest logit is another, although it led by more than four times what they are apart. */
static int other_labels(const prediction *got, const prediction *want, double apart) {
  int others = 0;
  for (int64_t row = 0; row < want->count; row += want->outputs) {
    int best = 0, found = 0;
    double margin = (double)INFINITY;
    for (int i = 0; i < want->outputs; i++) {
      best = want->logits[row + i] > want->logits[row + best] ? i : best;
      found = got->logits[row + i] > got->logits[row + found] ? i : found;
    }
    for (int i = 0; i < want->outputs; i++)
      if (i != best)
        margin = fmin(margin, (double)(want->logits[row + best] - want->logits[row + i]));
    others += best != found && margin > 4 * apart;
  }
  return others;
}

static const char *kernels_of(int level) {
  return level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name;
}

static void check_near(const char *golden, const brim_dataset *rows, int level, double tolerance) {
  brim_model *model = case_load(case_golden(golden), kernels_of(level)), *oracle = case_load(case_golden(golden), "ref");
  const prediction wide = predict_with(oracle, rows, BRIM_PRECISION_FP32, 0, 0);
  const prediction bytes = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0),
                   slow = predict_with(oracle, rows, BRIM_PRECISION_INT8, 0, 0);
  double worst = 0, top = 0, other = 0;
  for (int64_t i = 0; i < wide.count; i++) {
    worst = fmax(worst, fabs((double)(bytes.logits[i] - wide.logits[i])));
    other = fmax(other, fabs((double)(bytes.logits[i] - slow.logits[i])));
    top = fmax(top, fabs((double)wide.logits[i]));
  }
  ok(worst > 0 && worst < tolerance * top, "%s, %s: logits in int8 are near fp32 (%.1e apart of %.1e)", golden, kernels_of(level),
     worst, top);
  ok(other < tolerance * top / 2, "and nearer to those of the reference (%.1e)", other);
  ok_int(other_labels(&bytes, &wide, worst), 0, "no label changes whose margin is large");
  brim_model_free(model);
  brim_model_free(oracle);
}

static void check_same(const char *golden, const brim_dataset *rows, int level) {
  prediction want = {0};
  bool threads = true;
  for (int count = 1; count <= 3; count++)
    for (int vnni = 0; vnni < 2; vnni++) {
      brim_runtime *runtime = case_runtime;
      case_start(count);
      if (!vnni)
        memset(case_runtime->dot_bytes, 0, sizeof case_runtime->dot_bytes);
      brim_model *model = case_load(case_golden(golden), kernels_of(level));
      const prediction got = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
      if (!want.count)
        want = got;
      threads = threads && same(&got, &want);
      brim_model_free(model);
      brim_runtime_free(case_runtime);
      case_runtime = runtime;
    }
  ok(threads, "%s, %s: the same bits for 1 to 3 threads, with VNNI and without", golden, kernels_of(level));
  brim_model *model = case_load(case_golden(golden), kernels_of(level));
  const int32_t longest = brim_dataset_longest(rows), most = brim_model_max_length(model),
                width = longest + 3 < most ? longest + 3 : most;
  const prediction alone = predict_with(model, rows, BRIM_PRECISION_INT8, 1, 0),
                   threes = predict_with(model, rows, BRIM_PRECISION_INT8, 3, 0),
                   padded = predict_with(model, rows, BRIM_PRECISION_INT8, 0, width);
  ok(same(&alone, &want) && same(&threes, &want) && same(&padded, &want),
     "whatever rows are computed together, with padding or not");
  brim_model_free(model);
}

/* By the address where there is one, else by the call for it. */
static void set_values(brim_model *model, int64_t first, const float *from, int64_t count) {
  brim_error err = {0};
  if (brim_model_is_host(model))
    memcpy(brim_model_values(model) + first, from, (size_t)count * sizeof *from);
  else if (brim_model_write(model, BRIM_VALUES, first, count, from, &err))
    case_stop("write", &err);
}

/* ---- of the present values */

static void check_changed(const char *golden, const brim_dataset *rows, int level) {
  brim_model *model = case_load(case_golden(golden), kernels_of(level)),
             *fresh = case_load(case_golden(golden), kernels_of(level));
  const brim_adamw adamw = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1, .step = 1};
  const brim_pass training = {.training = true};
  brim_error err = {0};
  brim_batch batch = {0};
  double norm;
  case_fill(&batch, rows, 0, 2, 0);
  case_step(model, &batch, &training);
  const prediction before = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
  const prediction again = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
  case_step(model, &batch, &training);
  const prediction kept = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
  ok(same(&again, &before) && same(&kept, &before), "%s, %s: the same weights give the same predictions", golden,
     kernels_of(level));
  if (brim_model_update(model, &adamw, &norm, &err))
    case_stop("update", &err);
  const prediction after = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
  set_values(fresh, 0, case_values_of(model), model->program.flat_size);
  const prediction theirs = predict_with(fresh, rows, BRIM_PRECISION_INT8, 0, 0);
  ok(same(&after, &theirs) && !same(&after, &before), "an update makes them again");
  float *values = brim_model_is_host(model) ? brim_model_values(model) : NULL, halves[100];
  predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
  const int64_t first = brim_weight_at(&model->program, model->program.operations[4].weights.of[0]); /* of a feed-forward */
  for (int i = 0; i < 100; i++)
    halves[i] = 0.5f;
  if (values) { /* by a pointer from before */
    memcpy(values + first, halves, sizeof halves);
    brim_model_state_written(model);
  } else {
    set_values(model, first, halves, 100);
  }
  set_values(fresh, 0, case_values_of(model), model->program.flat_size);
  const prediction written = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0),
                   same_values = predict_with(fresh, rows, BRIM_PRECISION_INT8, 0, 0);
  ok(same(&written, &same_values) && !same(&written, &after), "and so do values that were written");
  const prediction wide = predict_with(model, rows, BRIM_PRECISION_FP32, 0, 0),
                   half = predict_with(model, rows, BRIM_PRECISION_INT8, 0, 0);
  ok(same(&half, &written) && !same(&wide, &written), "fp32 in between changes nothing");
  brim_batch_free(&batch);
  brim_model_free(model);
  brim_model_free(fresh);
}

int main(void) {
  static const struct {
    const char *name;
    double tolerance; /* of the largest logit; random weights, in which no error is forgotten */
  } models[] = {{"bert-pair-3", 0.04},  {"bert-odd-regression", 0.04}, {"roberta-regression", 0.04},
                {"distilbert-4", 0.04}, {"modernbert-cls", 0.04},      {"gte-cls", 0.04},
                {"eurobert-cls", 0.04}};
  case_start(2);
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    brim_dataset *rows = case_rows(models[i].name);
    for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
      check_near(models[i].name, rows, level, models[i].tolerance);
      check_same(models[i].name, rows, level);
      check_changed(models[i].name, rows, level);
    }
    brim_dataset_free(rows);
  }
  brim_runtime_free(case_runtime);
  return tap_done();
}
