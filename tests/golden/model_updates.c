/* model_updates.c: what each optimizer makes of some weights, against PyTorch and the papers' formulas in double precision
 * (tools/make_update_golden.py). */
#include <math.h>

#include "base/json.h"
#include "model_case.h"

enum { MOST = 64 };

static double number(const brim_json_value *of, const char *name) {
  return brim_json_number(brim_json_get(of, name));
}

static int32_t numbers(const brim_json_value *list, float out[MOST]) {
  int32_t count = 0;
  for (const brim_json_value *v = brim_json_first(list); v && count < MOST; v = brim_json_after(list, v))
    out[count++] = (float)brim_json_number(v);
  return count;
}

/* A matrix that the file has, so that its values at the start are pretrained. */
static int64_t place_of(const brim_model *model) {
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++)
    if (strstr(brim_model_parameter(model, i)->name, "layer.0.attention.output.dense.weight"))
      return brim_model_parameter(model, i)->offset;
  abort();
}

static void use(brim_model *model, const brim_json_value *c, char name[32]) {
  const brim_json_value *optimizer = brim_json_get(c, "optimizer");
  snprintf(name, 32, "%.*s", (int)optimizer->length, optimizer->as.text);
  const brim_optimizer_options options = {.name = name, .returns = brim_json_get(c, "returns")->as.integer};
  brim_error err = {0};
  if (brim_model_use_optimizer(model, &options, &err))
    case_stop("optimizer", &err);
}

/* Only these weights have a gradient. */
static void run_steps(brim_model *model, int64_t at, const brim_json_value *c) {
  float gradient[MOST];
  const brim_json_value *rates = brim_json_get(c, "lr"), *rate = brim_json_first(rates), *list = brim_json_get(c, "gradients");
  brim_error err = {0};
  double norm;
  uint64_t step = 0;
  for (const brim_json_value *g = brim_json_first(list); g && rate;
       g = brim_json_after(list, g), rate = brim_json_after(rates, rate)) {
    const brim_update_options options = {.lr = brim_json_number(rate),
                                         .beta1 = number(c, "beta1"),
                                         .beta2 = number(c, "beta2"),
                                         .eps = number(c, "eps"),
                                         .weight_decay = number(c, "weight_decay"),
                                         .momentum = number(c, "momentum"),
                                         .step = ++step};
    const int32_t count = numbers(g, gradient);
    if (brim_model_write(model, BRIM_GRADIENTS, at, count, gradient, &err) || brim_model_update(model, &options, &norm, &err))
      case_stop("update", &err);
  }
}

static void check(const char *kernels, const brim_json_value *c) {
  brim_model *model = case_load(case_golden("bert-pair-3"), kernels);
  const brim_model_limits limits = {.max_slots = 8, .max_sequences = 1, .max_length = 8, .training = true};
  float values[MOST], after[MOST], got[MOST];
  brim_error err = {0};
  double worst = 0;
  char name[32];
  const int64_t at = place_of(model);
  const int32_t count = numbers(brim_json_get(c, "values"), values);
  use(model, c, name);
  if (brim_model_write(model, BRIM_VALUES, at, count, values, &err) || brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  run_steps(model, at, c);
  if (brim_model_read(model, BRIM_VALUES, at, count, got, &err) || numbers(brim_json_get(c, "after"), after) != count)
    case_stop("read", &err);
  for (int32_t i = 0; i < count; i++)
    worst = fmax(worst, fabs((double)got[i] - (double)after[i]) / (1e-2 + fabs((double)after[i])));
  ok(count > 0 && worst < 2e-6, "%s, %s, decay %g%s: off by %.1e at the most", model->ops->name, name, number(c, "weight_decay"),
     brim_json_get(c, "returns")->as.integer ? " to the start" : "", worst);
  brim_model_free(model);
}

int main(void) {
  case_start(2);
  char path[600];
  brim_error err = {0};
  brim_json_document *golden;
  const char *source = getenv("BRIM_SOURCE");
  snprintf(path, sizeof path, "%s/tests/golden/updates.json", source ? source : ".");
  if (brim_json_load(case_runtime, path, 1 << 20, &golden, &err))
    case_stop(path, &err);
  const brim_json_value *cases = brim_json_get(brim_json_root(golden), "cases");
  for (const brim_json_value *c = brim_json_first(cases); c; c = brim_json_after(cases, c))
    for (int level = level_after(-2); level < LEVEL_END; level = level_after(level))
      check(level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name, c);
  brim_json_free(golden);
  brim_runtime_free(case_runtime);
  return tap_done();
}
