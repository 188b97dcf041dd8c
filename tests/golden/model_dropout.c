/* A training pass with dropout against Hugging Face's models with the same masks (tools/make_dropout_golden.py): dropout stands
 * where it stands there, and the masks are those that the documented key gives. */
#include "base/json.h"
#include "base/runtime.h"
#include "model_case.h"

typedef struct golden {
  const char *name;
  brim_json_document *document;
  const brim_json_value *root;
  const char *folder; /* with the rates of dropout in its config.json */
} golden;

static double number(const golden *g, const char *key) {
  return brim_json_number(brim_json_get(g->root, key));
}

static golden open_golden(const char *name) {
  golden g = {.name = name};
  brim_error err = {0};
  char path[600], extra[512] = "", variant[64];
  snprintf(path, sizeof path, "%s/dropout.json", case_golden(name));
  if (brim_json_load(case_runtime, path, 0, &g.document, &err))
    case_stop(path, &err);
  g.root = brim_json_root(g.document);
  const brim_json_value *rates = brim_json_get(g.root, "config");
  for (const brim_json_value *key = brim_json_first(rates); key; key = brim_json_after(rates, key))
    snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "%s\"%.*s\":%.17g", *extra ? "," : "", (int)key->length,
             key->as.text, brim_json_number(brim_json_member(key)));
  snprintf(variant, sizeof variant, "dropout-%s", name);
  g.folder = case_variant(name, variant, extra);
  return g;
}

static double worst_logit(const golden *g, const float *logits, int32_t outputs) {
  const brim_json_value *rows = brim_json_get(g->root, "logits");
  double worst = rows && rows->length > 0 ? 0 : 1;
  for (const brim_json_value *row = brim_json_first(rows); row; row = brim_json_after(rows, row), logits += outputs) {
    const brim_json_value *value = brim_json_first(row);
    for (int32_t i = 0; i < outputs; i++, value = brim_json_after(row, value))
      worst = fmax(worst, fabs((double)logits[i] - brim_json_number(value)));
  }
  return worst;
}

/* L2 norm and sum of g[i] cos(i), both relative to the norm; of a key's bias, whose gradient is zero, absolute. */
static double gradient_error(const golden *g, const brim_model *model, const brim_parameter *p) {
  const brim_json_value *want = brim_json_get(brim_json_get(g->root, "gradients"), p->name);
  if (!want || want->length != 2)
    return (double)INFINITY;
  const double want_norm = brim_json_number(brim_json_first(want)),
               want_sum = brim_json_number(brim_json_after(want, brim_json_first(want)));
  const real *gradient = case_gradient_of(model, p);
  double square = 0, sum = 0;
  for (int64_t i = 0; i < p->count; i++) {
    const double x = (double)gradient[i];
    square += x * x;
    sum += x * cos((double)i);
  }
  const double scale = case_is_key_bias(p->name) ? 1 : want_norm;
  return fmax(fabs(sqrt(square) - want_norm), fabs(sum - want_sum)) / scale;
}

static void check(const golden *g, const char *kernels, int32_t width) {
  brim_model *model = case_load(g->folder, kernels);
  brim_dataset *rows = case_rows(g->name);
  brim_batch batch = {0};
  brim_error err = {0};
  const brim_pass pass = {
      .training = true, .dropout = true, .seed = (uint64_t)number(g, "seed"), .optimizer_step = (uint64_t)number(g, "step")};
  float logits[256];
  double worst = 0, again;
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), width);
  const double loss = case_step(model, &batch, &pass);
  if (brim_model_forward(model, &batch, &pass, &again, logits, &err))
    case_stop("forward", &err);
  const double logit = worst_logit(g, logits, brim_model_outputs(model)), want = number(g, "loss");
  const char *where = "";
  for (int32_t i = 0; i < (int32_t)model->program.weight_count; i++) {
    const brim_parameter *p = &model->program.weights[i].is;
    const double error = gradient_error(g, model, p);
    where = error > worst ? p->name : where;
    worst = fmax(worst, error);
  }
  ok(logit <= 1e-5 && fabs(loss - want) <= 2e-6 * fabs(want) && worst <= 1e-5 && again == loss,
     "%s, %s, %s: logits %.1e, loss %.1e, gradients %.1e (%s)", g->name, model->ops->name, width ? "padded" : "ragged", logit,
     fabs(loss - want) / fabs(want), worst, where);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
}

int main(void) {
  static const char *const names[] = {
      "bert-pair-3",       "bert-odd-regression", "roberta-regression", "distilbert-4",   "electra-cls",
      "albert-regression", "mpnet-cls",           "deberta-v3-cls",     "modernbert-cls", "nomic-cls",
      "gte-cls",           "eurobert-cls",        "jina-linear"};
  case_start(2);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    golden g = open_golden(names[i]);
    for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
      const char *kernels = level < 0 ? NULL : brim_ops_cpu((brim_cpu_level)level)->name;
      brim_dataset *rows = case_rows(names[i]);
      if (level_takes(level, "widths", i, 2))
        check(&g, kernels, 0);
      if (level_takes(level, "widths", i + 1, 2))
        check(&g, kernels, brim_dataset_longest(rows));
      brim_dataset_free(rows);
    }
    brim_json_free(g.document);
  }
  brim_runtime_free(case_runtime);
  return tap_done();
}
