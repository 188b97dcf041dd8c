/* Reports when memory runs out: the reason comes back, nothing is left, and no half a page either. */
#include <unistd.h>

#include "brim/report.h"
#include "fault.h"
#include "report/event_log.h"
#include "report/page.h"
#include "report/tensorboard.h"

static char path[4096];

/* The file is not there, or all of it is. */
static bool whole_or_absent(void *context) {
  (void)context;
  char end[8] = {0};
  FILE *file = fopen(path, "r");
  if (!file)
    return true;
  const bool whole = fseek(file, -8, SEEK_END) == 0 && fread(end, 1, 8, file) == 8 && memcmp(end, "</html>\n", 8) == 0;
  fclose(file);
  unlink(path);
  return whole;
}

static int write_page(brim_runtime *runtime, void *context, brim_error *err) {
  (void)context;
  static const double x[] = {1, 2, 3}, y[] = {3, 1, 2};
  static const uint64_t counts[] = {3, 1, 0, 4};
  static const int32_t lengths[] = {3, 5};
  const char *names[] = {"a", "b"};
  const brim_caption caption = {"title", NULL};
  const brim_series series = {"loss", x, y, 3};
  brim_page *page;
  int status = brim_page_new(runtime, "a page", &page, err);
  if (status) {
    brim_page_free(page); /* NULL, as after every failure */
    return status;
  }
  brim_page_section(page, "section");
  brim_page_passage(page, "row 3", "text", 4);
  brim_page_chart(page, caption, &(brim_chart){.series = &series, .series_count = 1, .smooth = true});
  brim_page_bars(page, caption, &(brim_bars){names, names, x, 1, names, 2});
  brim_page_histogram(page, caption, &(brim_bins){0, 1, true, counts, 4, "tokens", "rows"});
  brim_page_confusion(page, caption, names, counts, 2);
  brim_page_blocks(page, caption, &(brim_block){lengths, 2, 5}, 1, 0);
  status = brim_page_write(page, path, err);
  brim_page_free(page);
  return status;
}

static int read_log(brim_runtime *runtime, void *context, brim_error *err) {
  brim_event_log *log;
  brim_text csv;
  const char *name = "run";
  int status = brim_event_log_read(runtime, context, &log, err);
  if (status)
    return status;
  brim_text_init(&csv, runtime);
  brim_event_log_csv((const brim_event_log *const *)&log, &name, 1, &csv);
  status = brim_text_status(&csv, err);
  brim_text_free(&csv);
  brim_event_log_free(log);
  return status;
}

static int write_tensorboard(brim_runtime *runtime, void *context, brim_error *err) {
  const brim_field fields[] = {{.name = "step", .kind = BRIM_VALUE_INT, .integer = 1},
                               {.name = "loss", .kind = BRIM_VALUE_REAL, .real = 0.5}};
  brim_tensorboard *t;
  int status = brim_tensorboard_new(runtime, context, &t, err);
  if (status)
    return status;
  brim_tensorboard_event(t, &(brim_event){"step", fields, 2});
  brim_tensorboard_event(t, &(brim_event){"eval", fields, 2});
  return brim_tensorboard_close(t, err);
}

int main(void) {
  snprintf(path, sizeof path, "%s", fault_file("page.html"));
  fault_check("a page", 1, write_page, whole_or_absent, NULL);
  ok(access(path, F_OK) == 0, "and at last it is there");
  fault_check("a log", 1, read_log, NULL,
              (void *)scratch_write("log.jsonl", "{\"event\":\"start\",\"a\":{\"b\":\"c\"}}\n{\"event\":\"step\",\"loss\":1}\n"
                                                 "{\"event\":\"step\",\"step\":1,\"list\":[1]}\n"));
  fault_check("TensorBoard", 1, write_tensorboard, NULL, (void *)fault_file("tensorboard"));
  fault_check("TensorBoard in place of another", 1, write_tensorboard, NULL, (void *)fault_file("tensorboard"));
  return tap_done();
}
