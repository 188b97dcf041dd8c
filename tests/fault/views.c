/* Judged rows, what a run keeps of them and its page, when memory runs out: the reason comes back, and nothing is left. */
#include "fault.h"
#include "views_case.h"

static const char log_lines[] = "{\"event\":\"start\",\"a\":{\"b\":\"c\"}}\n"
                                "{\"event\":\"step\",\"step\":1,\"loss\":1,\"tokens\":4,\"slots\":4,\"seconds\":1}\n"
                                "{\"event\":\"eval\",\"step\":7,\"name\":\"dev\",\"loss\":0.5,\"accuracy\":0.25}\n";

/* Two sets are judged and written, read again, and shown on a page. */
static int all_of_it(brim_runtime *runtime, void *context, brim_error *err) {
  static const char *const names[] = {"bad", "good", "so so"};
  static const float classes[] = {0, 1, 2}, logits[] = {0, 1, 0, 0, 1, 0, 9, 0, 0}, values[] = {1, 2}, predicted[] = {2, 2};
  brim_runtime *plain;
  brim_judged sets[2] = {0};
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
    status = brim_judged_write(runtime, folder, sets, 2, err);
  if (!status)
    status = brim_report_write(runtime, &folder, 1, folder, err);
  brim_judged_free(&sets[0]), brim_judged_free(&sets[1]);
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
