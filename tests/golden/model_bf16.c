/* Gradients of models in bf16, beside those of PyTorch's autocast: how far each is from double precision (expected.safetensors
 * and autocast.json of a golden model; tools/make_autocast_golden.py). The geometric mean over the tensors may be 1.25 times
 * autocast's, and that of a tensor twice its own; for a few numbers autocast's is chance, and its mean stands in where that is
 * larger. */
#include "base/json.h"
#include "model/files/safetensors.h"
#include "model_case.h"

#ifdef BRIM_GOLDEN_KERNELS /* of another device */
static const char *const kernels[] = {BRIM_GOLDEN_KERNELS, BRIM_GOLDEN_KERNELS};
static const brim_precision precisions[] = {BRIM_PRECISION_BF16, BRIM_PRECISION_FP16};
#else
static const char *const kernels[] = {"ref", "cpu-plain", "cpu-avx2", "cpu-avx512", "cpu-amx"};
static const brim_precision precisions[] = {BRIM_PRECISION_BF16, BRIM_PRECISION_BF16, BRIM_PRECISION_BF16, BRIM_PRECISION_BF16,
                                            BRIM_PRECISION_BF16};
#endif
enum { KERNELS = sizeof kernels / sizeof *kernels };

static bool is_taken(int i) {
#ifndef BRIM_GOLDEN_KERNELS
  if (level_after(i - 2) != i - 1)
    return false;
#endif
  return brim_ops_find(case_runtime, kernels[i]) != NULL;
}

/* |got - want| / |want|, L2. */
static double apart(const brim_store *want, const char *name, const real *got, int64_t count) {
  brim_error err = {0};
  const brim_stored *t = brim_store_find(want, name, strlen(name));
  if (!t || t->count != count)
    return (double)INFINITY;
  real *values = malloc((size_t)count * sizeof *values);
  if (!values || brim_store_read(want, t, values, &err))
    case_stop(name, &err);
  double difference = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    difference += pow((double)got[i] - (double)values[i], 2);
    size += pow((double)values[i], 2);
  }
  free(values);
  return sqrt(difference / size);
}

static brim_model *run(const char *folder, const char *table, brim_precision precision, double *loss) {
  brim_model *model = case_load(folder, table);
  const brim_pass pass = {.training = true};
  brim_dataset *rows;
  brim_batch batch = {0};
  brim_error err = {0};
  char path[700];
  snprintf(path, sizeof path, "%s/batch.json", folder);
  if (brim_dataset_read_json(case_runtime, path, &rows, &err))
    case_stop(path, &err);
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), 0);
  brim_model_limits limits = case_limits(&batch, true);
  limits.precision = precision;
  limits.all_tokens = false;
  if (brim_model_prepare(model, &limits, &err) || brim_model_forward(model, &batch, &pass, loss, NULL, &err) ||
      brim_model_backward(model, &batch, &pass, &err))
    case_stop(folder, &err);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  return model;
}

typedef struct beside {
  double ours, theirs; /* geometric means */
  double worst;        /* ratio of a tensor */
  const char *name;
  int tensors;
} beside;

static beside compare(const brim_model *model, const brim_store *want, const brim_json_value *autocast) {
  enum { MOST = 100, FEW = 8 };
  double ratios[MOST], few[MOST]; /* of few numbers: our distance */
  const char *names[MOST];
  beside b = {.name = ""};
  for (size_t i = 0; i < model->program.weight_count; i++) {
    const brim_parameter *p = &model->program.weights[i].is;
    char name[300];
    snprintf(name, sizeof name, "grad.%s", p->name);
    if (case_is_key_bias(name))
      continue;
    const double ours = apart(want, name, case_gradient_of(model, p), p->count);
    const double theirs = brim_json_number(brim_json_get(autocast, name));
    ratios[b.tensors] = ours / theirs;
    few[b.tensors] = p->count < FEW ? ours : 0;
    names[b.tensors] = p->name;
    b.ours += log(ours);
    b.theirs += log(theirs);
    b.tensors++;
  }
  b.ours = exp(b.ours / b.tensors);
  b.theirs = exp(b.theirs / b.tensors);
  for (int i = 0; i < b.tensors; i++) {
    const double ratio = few[i] > 0 ? fmin(ratios[i], few[i] / b.theirs) : ratios[i];
    if (!(ratio <= b.worst)) {
      b.worst = ratio;
      b.name = names[i];
    }
  }
  return b;
}

static void check(const char *name) {
  const char *folder = case_golden(name);
  brim_json_document *document;
  brim_store *want;
  brim_error err = {0};
  char path[700];
  snprintf(path, sizeof path, "%s/autocast.json", folder);
  if (brim_json_load(case_runtime, path, 1 << 20, &document, &err))
    case_stop(path, &err);
  snprintf(path, sizeof path, "%s/expected.safetensors", folder);
  if (brim_store_open(case_runtime, path, &want, &err))
    case_stop(path, &err);
  for (int i = 0; i < KERNELS; i++) {
    double loss;
    if (!is_taken(i))
      continue;
    brim_model *model = run(folder, kernels[i], precisions[i], &loss);
    const beside b = compare(model, want, brim_json_root(document));
    ok(b.tensors > 20 && b.ours <= 1.25 * b.theirs && b.worst <= 2,
       "%s, %s, %s: gradients are %.1e from double precision, %.2f of autocast's distance; at most %.2f (%s)", name, kernels[i],
       brim_precision_name(precisions[i]), b.ours, b.ours / b.theirs, b.worst, b.name);
    brim_model_free(model);
  }
  brim_store_close(want);
  brim_json_free(document);
}

int main(void) {
  static const char *const names[] = {"albert-regression", "bert-odd-regression", "bert-pair-3",    "camembert-binary",
                                      "distilbert-4",      "electra-cls",         "roberta-binary", "roberta-regression",
                                      "modernbert-cls",    "eurobert-cls",        "nomic-cls",      "gte-cls",
                                      "jina-linear"};
  case_start(2);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check(names[i]);
  brim_runtime_free(case_runtime);
  return tap_done();
}
