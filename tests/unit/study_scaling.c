/* What a step takes on many ranks: how sums are sent there. */
#include <math.h>

#include "brim/study.h"
#include "model_case.h"

enum { TEXTS = 48, OUTPUTS = 20000, TOKENS = 2 };

/* A small encoder with a head of 3.9 MB. */
static brim_model *load(const char *folder) {
  brim_labels labels;
  brim_model *model;
  brim_error err = {0};
  if (brim_labels_make(case_runtime, BRIM_TASK_REGRESSION, NULL, OUTPUTS, &labels, &err) ||
      brim_model_load(case_runtime, folder, &(brim_model_options){.labels = &labels}, &model, &err))
    case_stop(folder, &err);
  brim_labels_free(&labels);
  return model;
}

/* With links of so many bytes a second and seconds. */
static brim_scaling ask(brim_model *model, int32_t ranks, double bandwidth, double latency) {
  int32_t lengths[TEXTS];
  const brim_plan_options plan = {.batch_size = TEXTS};
  brim_scaling_question q = {.runtime = case_runtime,
                             .lengths = {.rows = TEXTS, .lengths = lengths},
                             .plan = &plan,
                             .model = model,
                             .bandwidth = bandwidth,
                             .latency = latency,
                             .speed = 1e9,
                             .update = 1e-3};
  brim_scaling out;
  brim_error err = {0};
  for (int i = 0; i < TEXTS; i++)
    lengths[i] = TOKENS;
  if (brim_scaling_of(&q, ranks, &out, &err))
    case_stop("scaling", &err);
  return out;
}

static void sums(brim_model *model) {
  const brim_scaling one = ask(model, 1, 1e6, 1);
  const double bytes = one.bytes, pieces = ceil(bytes / 2e6), messages = ceil(bytes / pieces / (1 << 17));
  ok(bytes > 4.0 * OUTPUTS * 48 && pieces > 1 && messages > 8 && one.communication == 0 && one.exposed == 0,
     "one rank sends nothing of a gradient of %.1f MB", bytes / 1e6);
  const brim_scaling of_two = ask(model, 2, 1e6, 1e-3);
  ok(of_two.bytes < bytes - 4, "two ranks send each other %.3f MB: of embeddings only their own rows", of_two.bytes / 1e6);
  ok_near(of_two.communication, of_two.bytes / 1e6 + pieces * 1e-3, 1e-3, "the link decides");
  ok_near(ask(model, 2, 1e15, 1).communication, pieces * ceil(messages / 2), 1e-3,
          "or the way, on which two messages are at a time");
  const brim_scaling of_three = ask(model, 3, 1e6, 1e-3);
  ok_near(of_three.communication, 2 * (of_three.bytes * 2 / 3 / 1e6 + pieces * 1e-3), 1e-3,
          "three send their parts, and what they have added up");
  ok_near(ask(model, 3, 1e15, 1).communication, 2 * pieces, 1e-3, "each at once");
  const brim_scaling two = ask(model, 2, 1e15, 1);
  ok(two.exposed > ceil(messages / 4) && two.exposed < two.communication + 5, "what comes last is not hidden");
}

int main(void) {
  case_start(1);
  brim_model *model = load(case_golden("bert-pair-3"));
  sums(model);
  brim_model_free(model);
  brim_runtime_free(case_runtime);
  return tap_done();
}
