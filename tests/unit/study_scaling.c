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

/* Two texts of a row are worth two rows of a text. */
static void rows_of_texts(brim_model *model) {
  int32_t lengths[TEXTS], whole[TEXTS / 2];
  uint64_t firsts[TEXTS / 2 + 1] = {0};
  for (int i = 0; i < TEXTS; i++)
    lengths[i] = 2 + i % 5 / 2 * 3;
  for (int r = 0; r < TEXTS / 2; r++)
    whole[r] = lengths[2 * r] + lengths[2 * r + 1], firsts[r + 1] = 2 * (uint64_t)(r + 1);
  const brim_plan_options of_texts = {.batch_size = TEXTS}, of_rows = {.batch_size = TEXTS / 2};
  brim_scaling_question q = {.runtime = case_runtime,
                             .lengths = {.rows = TEXTS, .lengths = lengths},
                             .plan = &of_texts,
                             .model = model,
                             .bandwidth = 1e6,
                             .latency = 1e-3,
                             .speed = 1e9,
                             .update = 1e-3};
  brim_scaling apart, together;
  brim_error err = {0};
  if (brim_scaling_of(&q, 1, &apart, &err))
    case_stop("scaling", &err);
  q.lengths = (brim_lengths){.rows = TEXTS / 2, .lengths = whole, .firsts = firsts, .text_lengths = lengths};
  q.plan = &of_rows;
  if (brim_scaling_of(&q, 1, &together, &err))
    case_stop("scaling", &err);
  ok_near(together.compute, apart.compute, 1e-9, "rows of two texts take what their texts take");
  ok_near(apart.compute, brim_model_flops(model, lengths, TEXTS, true) / q.speed, 1e-9, "which is their products at this speed");
  ok(together.rows == TEXTS / 2 && together.tokens_a_row == 2 * apart.tokens_a_row, "in half as many rows, twice as long");
  q.speed = q.update = 0;
  ok(brim_scaling_measure(&q, &err) == BRIM_OK && q.speed > 0 && q.update > 0, "and are measured too %s", err.message);
}

int main(void) {
  case_start(1);
  brim_model *model = load(case_golden("bert-pair-3"));
  sums(model);
  rows_of_texts(model);
  brim_model_free(model);
  brim_runtime_free(case_runtime);
  return tap_done();
}
