/* Tables, histograms, numbers and the progress display. */
#include "brim/report.h"
#include "tap.h"

#include "report/width.h"

#include <time.h>
#include <unistd.h>

static brim_runtime *runtime;

static void numbers(void) {
  char text[32];
  brim_count_text(0, text, sizeof text);
  ok_string(text, "0", "zero");
  brim_count_text(999, text, sizeof text);
  ok_string(text, "999", "no comma");
  brim_count_text(6358424, text, sizeof text);
  ok_string(text, "6,358,424", "commas");
  brim_count_text(INT64_MIN, text, sizeof text);
  ok_string(text, "-9,223,372,036,854,775,808", "the smallest number");
  brim_count_text(1234567, text, 4);
  ok_string(text, "1,2", "cut to the buffer");
  brim_duration_text(123.4, text, sizeof text);
  ok_string(text, "0:02:03", "minutes, under an hour too");
  brim_duration_text(3723, text, sizeof text);
  ok_string(text, "1:02:03", "hours");
  brim_duration_text(59.6, text, sizeof text);
  ok_string(text, "0:01:00", "rounded");
  brim_duration_text((double)NAN, text, sizeof text);
  ok_string(text, "-:--:--", "no duration");
}

static void widths(void) {
  ok_int(brim_display_width("abc"), 3, "ASCII");
  ok_int(brim_display_width("e\xCC\x81t\xC3\xA9"), 3, "combining marks take no room");
  ok_int(brim_display_width("\xE6\xBC\xA2\xE5\xAD\x97"), 4, "Chinese characters take two columns");
  ok_int(brim_display_width("\xF0\x9F\x98\x80"), 2, "emoji too");
  ok_int(brim_display_width("a\xFF"), 2, "a stray byte takes one");
}

static void tables(void) {
  const brim_column columns[] = {{"name", false}, {"count", true}};
  const char *cells[] = {"a", "1,000", "\xE6\xBC\xA2", "7"};
  brim_text out;
  brim_text_init(&out, runtime);
  brim_table_text(&out, columns, 2, cells, 2);
  ok_string(out.data,
            "name  count\n"
            "a     1,000\n"
            "\xE6\xBC\xA2        7\n",
            "aligned, numbers to the right");
  brim_text_clear(&out);
  const brim_column left[] = {{"count", true}, {"name", false}};
  const char *words[] = {"10", "short"};
  brim_table_text(&out, left, 2, words, 1);
  ok_string(out.data, "count  name\n   10  short\n", "no spaces at the end of a line");
  brim_text_free(&out);
}

static void histograms(void) {
  const uint64_t counts[] = {0, 0, 4, 8, 0, 1};
  brim_text out;
  brim_text_init(&out, runtime);
  brim_histogram_text(&out, counts, 6, 10, 4);
  ok_string(out.data, "2  ██ 4\n3  ████ 8\n4  0\n5  ▌ 1\n", "a line a value");
  brim_text_clear(&out);
  brim_histogram_text(&out, counts, 6, 3, 2);
  ok_string(out.data, "2-3  ██ 12\n4-5  ▏ 1\n", "bins of a round size; the smallest count still shows");
  brim_text_clear(&out);
  uint64_t many[1000] = {[999] = 1};
  brim_histogram_text(&out, many, 1000, 10, 2);
  ok_string(out.data, "900-999  ██ 1\n", "begins where there is something");
  brim_text_clear(&out);
  brim_histogram_text(&out, counts, 2, 10, 4);
  ok_int(out.length, 0, "nothing to show");
  brim_text_free(&out);
}

static int tell(brim_progress *progress, const char *phase, int64_t done, int64_t total) {
  const brim_field fields[] = {
      {.name = "phase", .kind = BRIM_VALUE_TEXT, .text = phase},     {.name = "done", .kind = BRIM_VALUE_INT, .integer = done},
      {.name = "total", .kind = BRIM_VALUE_INT, .integer = total},   {.name = "rate", .kind = BRIM_VALUE_REAL, .real = 2410.4},
      {.name = "unit", .kind = BRIM_VALUE_TEXT, .text = "tokens/s"}, {.name = "loss", .kind = BRIM_VALUE_REAL, .real = 0.5}};
  return brim_progress_event(progress, &(brim_event){"progress", fields, 6});
}

static size_t read_back(FILE *stream, char *text, size_t size) {
  rewind(stream);
  const size_t length = fread(text, 1, size - 1, stream);
  text[length] = 0;
  return length;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A phase that is through in less than a second prints nothing. On a busy machine it may take longer: then once more. */
static bool quick_is_silent(void) {
  for (int left = 100; left; left--) {
    char text[64];
    FILE *stream = tmpfile();
    brim_progress *p = NULL;
    if (brim_progress_new(runtime, stream, false, &p, NULL))
      return false;
    const double begun = now();
    for (int i = 0; i <= 100; i++)
      tell(p, "quick", i, 100);
    const double took = now() - begun;
    const size_t length = read_back(stream, text, sizeof text);
    brim_progress_free(p);
    fclose(stream);
    if (took < 0.9)
      return length == 0;
  }
  return false;
}

/* ", 0:00:01, 0:00:10 left": what has gone by and what is left, which is nine times that at a tenth; as long as it really was. */
static bool right_times(const char *line, double least, double most) {
  const char *at = strstr(line, "loss 0.5000  ");
  int h, m, s, lh, lm, ls, end = 0;
  if (!at || sscanf(at, "loss 0.5000  %d:%2d:%2d, %d:%2d:%2d left,%n", &h, &m, &s, &lh, &lm, &ls, &end) != 6 || !end)
    return false;
  const double gone = h * 3600 + m * 60 + s, left = lh * 3600 + lm * 60 + ls;
  return gone >= least - 0.5 && gone <= most + 0.5 && left >= 9 * least - 0.5 && left <= 9 * most + 0.5;
}

static void progress(void) {
  char text[4096];
  FILE *stream = tmpfile();
  brim_progress *p = NULL;
  ok_int(brim_progress_new(runtime, stream, false, &p, NULL), BRIM_OK, "a display on a file");
  ok(quick_is_silent(), "a quick phase prints nothing");
  const double before = now();
  tell(p, "slow", 0, 200);
  const double begun = now();
  usleep(1100000);
  const double least = now() - begun;
  for (int i = 1; i <= 200; i++)
    tell(p, "slow", i, 200);
  const double most = now() - before;
  read_back(stream, text, sizeof text);
  int lines = 0;
  for (const char *c = text; *c; c++)
    lines += *c == '\n';
  ok_int(lines, 10, "a slow one prints ten lines");
  ok(strncmp(text, "slow   10 %  20/200  2,410 tokens/s  loss 0.5000  0:", 52) == 0, "with rate and loss");
  ok(right_times(text, least, most), "with what has gone by and what is left: %.*s", (int)strcspn(text, "\n"), text);
  ok(strstr(text, ", peak ") && strstr(text, " MiB\n"), "and the most memory so far");
  brim_progress_free(p);
  fclose(stream);
}

/* Steps that are no multiple of ten: lines stand at round counts all the same. */
static void round_counts(void) {
  char text[4096];
  FILE *stream = tmpfile();
  brim_progress *p = NULL;
  if (brim_progress_new(runtime, stream, false, &p, NULL) != BRIM_OK)
    return;
  tell(p, "odd", 0, 1563);
  usleep(1100000);
  for (int i = 1; i <= 1563; i++)
    tell(p, "odd", i, 1563);
  read_back(stream, text, sizeof text);
  static const char *const wanted[] = {" 200/1563",  " 400/1563",  " 600/1563",  " 800/1563",
                                       " 1000/1563", " 1200/1563", " 1400/1563", " 1563/1563"};
  int lines = 0, found = 0;
  for (const char *c = text; *c; c++)
    lines += *c == '\n';
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    found += strstr(text, wanted[i]) != NULL;
  ok_int(lines, 8, "about ten lines");
  ok_int(found, 8, "at round counts and at the end");
  brim_progress_free(p);
  fclose(stream);
}

static void quiet_progress(void) {
  char text[64];
  FILE *stream = tmpfile();
  brim_progress *p = NULL;
  ok_int(brim_progress_new(runtime, stream, true, &p, NULL), BRIM_OK, "a quiet display");
  tell(p, "slow", 0, 2);
  tell(p, "slow", 2, 2);
  ok_int(read_back(stream, text, sizeof text), 0, "prints nothing");
  ok_int(brim_progress_event(p, &(brim_event){"step", NULL, 0}), BRIM_OK, "other events are passed over");
  brim_progress_free(p);
  brim_progress_free(NULL);
  fclose(stream);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL))
    return 1;
  numbers();
  widths();
  tables();
  histograms();
  progress();
  round_counts();
  quiet_progress();
  brim_runtime_free(runtime);
  return tap_done();
}
