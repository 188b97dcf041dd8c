/* Reports when memory runs out: the reason comes back, nothing is left, and no half a page either. */
#include <unistd.h>

#include "brim/report.h"
#include "fault.h"
#include "scratch.h"

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
  if (status)
    return status;
  brim_page_section(page, "section");
  brim_page_passage(page, "row 3", "text", 4);
  brim_page_chart(page, caption, &(brim_chart){.series = &series, .series_count = 1, .smooth = true});
  brim_page_bars(page, caption, &(brim_bars){names, names, x, 1, names, 2});
  brim_page_histogram(page, caption, &(brim_bins){0, 1, true, counts, 4, "tokens"});
  brim_page_confusion(page, caption, names, counts, 2);
  brim_page_blocks(page, caption, &(brim_block){lengths, 2, 5}, 1, 0);
  brim_page_venn(page, caption, &(brim_venn){"left", "right", 1, 2, 3});
  status = brim_page_write(page, path, err);
  brim_page_free(page);
  return status;
}

int main(void) {
  snprintf(path, sizeof path, "%s/page.html", scratch_folder());
  fault_check("a page", 1, write_page, whole_or_absent, NULL);
  ok(access(path, F_OK) == 0, "and at last it is there");
  return tap_done();
}
