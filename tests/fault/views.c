/* Judged rows, what a run keeps of them and its page, when memory runs out: the reason comes back, and nothing is left. */
#include "fault.h"
#include "views_case.h"

static const char log_lines[] = "{\"event\":\"start\",\"a\":{\"b\":\"c\"}}\n"
                                "{\"event\":\"step\",\"step\":1,\"loss\":1,\"tokens\":4,\"slots\":4,\"seconds\":1}\n"
                                "{\"event\":\"eval\",\"step\":7,\"name\":\"dev\",\"loss\":0.5,\"accuracy\":0.25}\n"
                                "{\"event\":\"eval\",\"step\":7,\"name\":\"pairs\"}\n"
                                "{\"event\":\"cosines\",\"step\":3,\"name\":\"pairs\",\"positive\":0.5}\n"
                                "{\"event\":\"cosines\",\"step\":7,\"name\":\"pairs\",\"positive\":0.7}\n";

/* Pairs of texts, and the vectors that a model might have made of them. */
static int judge_pairs(brim_runtime *runtime, brim_runtime *plain, brim_judged *out, brim_error *err) {
  enum { ROWS = 8 };
  static const int32_t ids[] = {1, 2, 3}, lengths[] = {1, 2};
  brim_sample samples[ROWS];
  float vectors[2 * ROWS][2];
  brim_dataset *pairs;
  brim_labels labels;
  const brim_metrics metrics = brim_metrics_none(ROWS);
  for (int i = 0; i < ROWS; i++) {
    samples[i] = (brim_sample){.ids = ids, .length = 3, .text_lengths = lengths, .text_count = 2, .label = NAN};
    vectors[2 * i][0] = vectors[2 * i + 1][1] = 1;
    vectors[2 * i][1] = vectors[2 * i + 1][0] = (float)i;
  }
  if (brim_dataset_from_samples(plain, samples, ROWS, NULL, &pairs, err) ||
      brim_labels_make(plain, BRIM_TASK_EMBEDDING, NULL, 1, &labels, err))
    return BRIM_E_INTERNAL;
  const brim_verdict verdict = {.name = "pairs",
                                .step = 7,
                                .task = BRIM_TASK_EMBEDDING,
                                .labels = &labels,
                                .dataset = pairs,
                                .metrics = &metrics,
                                .logits = vectors[0],
                                .outputs = 2};
  int status = brim_judge(runtime, &verdict, out, err);
  if (!status)
    status = brim_judged_set_near_text(out, 0, false, "text", 4, NULL, 0, err);
  if (!status)
    status = brim_judged_set_near_text(out, 0, true, "other", 5, "pair", 4, err);
  brim_labels_free(&labels);
  brim_dataset_free(pairs);
  return status;
}

/* Three sets are judged and written, read again, and shown on a page. */
static int all_of_it(brim_runtime *runtime, void *context, brim_error *err) {
  static const char *const names[] = {"bad", "good", "so so"};
  static const float classes[] = {0, 1, 2}, logits[] = {0, 1, 0, 0, 1, 0, 9, 0, 0}, values[] = {1, 2}, predicted[] = {2, 2};
  brim_runtime *plain;
  brim_judged sets[3] = {0};
  const char *folder = context;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &plain, err))
    return BRIM_E_INTERNAL;
  brim_dataset *a = views_rows(plain, BRIM_TASK_CLASSIFICATION, names, 3, classes, 3, 1);
  brim_dataset *b = views_rows(plain, BRIM_TASK_REGRESSION, NULL, 1, values, 2, 1);
  int status = views_judge(runtime, "dev", a, logits, &sets[0], err);
  if (!status)
    status = views_judge(runtime, "test", b, predicted, &sets[1], err);
  if (!status)
    status = brim_judged_set_text(&sets[0], 0, "text", 4, "pair", 4, err);
  if (!status)
    status = judge_pairs(runtime, plain, &sets[2], err);
  if (!status)
    status = brim_judged_write(runtime, folder, sets, 3, err);
  if (!status)
    status = brim_report_write(runtime, &folder, 1, folder, err);
  for (int i = 0; i < 3; i++)
    brim_judged_free(&sets[i]);
  brim_dataset_free(a), brim_dataset_free(b);
  brim_runtime_free(plain);
  return status;
}

static int views(brim_runtime *runtime, void *context, brim_error *err) {
  brim_views *views;
  int status = brim_views_new(runtime, context, NULL, NULL, &views, err);
  if (!status)
    brim_views_close(views, false);
  return status;
}

int main(void) {
  const char *folder = fault_file("run");
  mkdir(folder, 0777);
  case_write(case_path(folder, "log.jsonl"), log_lines, strlen(log_lines));
  fault_check("judged rows and their page", 1, all_of_it, NULL, (void *)(uintptr_t)folder);
  ok(case_exists(case_path(folder, "report.html")), "and at last it is there");
  fault_check("views", 1, views, NULL, (void *)(uintptr_t)folder);
  return tap_done();
}
