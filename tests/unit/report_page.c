/* Pages: what is text stays text, pictures are complete and small, and fewer points look like all of them. */
#include "base/memory.h"
#include "base/random.h"
#include "brim/report.h"
#include "report/downsample.h"
#include "report/page.h"
#include "report/scale.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *runtime;

/* The page as a file has it; the caller frees it with brim_runtime_release. */
static char *written(brim_page *page) {
  char path[4096], *text = NULL;
  size_t length;
  snprintf(path, sizeof path, "%s/page.html", scratch_folder());
  if (brim_page_write(page, path, NULL) != BRIM_OK || brim_file_read_all(runtime, path, 0, &text, &length, NULL) != BRIM_OK)
    return NULL;
  return text;
}

static int times(const char *text, const char *word) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
    count++;
  return count;
}

/* ---- text ------------------------------------------------------------------------------------------------- */

static void escapes(void) {
  static const char *const cases[][2] = {
      {"<script>alert('1 & \"2\"')</script>", "&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt;"},
      {"\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D"},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
      {"a\xFFz\xE2\x82", "a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"a\x01\x7F\tb\n", "a\xEF\xBF\xBD\xEF\xBF\xBD\tb\n"},
      {"left \xE2\x80\xAE turned", "left \xEF\xBF\xBD turned"},
  };
  brim_text out;
  brim_text_init(&out, runtime);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_text_clear(&out);
    brim_markup_string(&out, cases[i][0]);
    ok_string(out.data, cases[i][1], "text as text");
  }
  brim_text_clear(&out);
  brim_markup(&out, "a\0b", 3);
  ok_string(out.data,
            "a\xEF\xBF\xBD"
            "b",
            "a NUL byte is shown");
  brim_text_clear(&out);
  brim_markup_fitted(&out, "\xE6\xBC\xA2\xE5\xAD\x97<<", 5);
  ok_string(out.data, "\xE6\xBC\xA2\xE5\xAD\x97\xE2\x80\xA6", "cut between characters, by columns");
  brim_text_clear(&out);
  brim_markup_fitted(&out, "a<b", 3);
  ok_string(out.data, "a&lt;b", "what fits is whole");
  brim_text_free(&out);
}

/* Every way in which a user's text gets into a page. */
static void hostile_page(void) {
  static const char hostile[] = "</title><script>x</script>\"' onload=1 <img src=x>";
  const char *names[] = {hostile, "b"}, *labels[] = {hostile, "2"};
  const double x[] = {1, 2}, y[] = {3, 4};
  const uint64_t counts[] = {3, 1, 0, 4};
  const int32_t lengths[] = {3, 5};
  const brim_column columns[] = {{hostile, false}, {"n", true}};
  const brim_caption caption = {hostile, hostile};
  const brim_series series[] = {{hostile, x, y, 2}, {"b", x, y, 2}};
  brim_page *page;
  if (!ok(brim_page_new(runtime, hostile, &page, NULL) == BRIM_OK, "a page"))
    return;
  brim_page_section(page, hostile);
  brim_page_text(page, hostile);
  brim_page_advice(page, hostile);
  brim_page_passage(page, hostile, hostile, strlen(hostile));
  brim_page_figures(page, names, labels, 2);
  brim_page_table(page, hostile, columns, 2, labels, 1);
  brim_page_chart(page, caption, &(brim_chart){.x = {hostile}, .y = {hostile}, .series = series, .series_count = 2});
  brim_page_bars(page, caption, &(brim_bars){names, labels, y, 1, names, 2});
  brim_page_histogram(page, caption, &(brim_bins){0, 1, true, counts, 4, hostile, hostile});
  brim_page_confusion(page, caption, names, counts, 2);
  brim_page_blocks(page, caption, &(brim_block){lengths, 2, 5}, 1, 0);
  char *text = written(page);
  if (ok(text != NULL, "is written")) {
    ok_int(times(text, "<script"), 0, "no script got in");
    ok_int(times(text, "<img"), 0, "no image");
    ok_int(times(text, "</title>"), 1 + 5, "each title ends once");
    ok_int(times(text, "<svg viewBox=\"0 0 360"), 5, "five pictures");
    ok_int(times(text, "role=\"img\""), 5, "each says what it is");
    ok_int(times(text, "<details>"), 5, "each has its numbers");
    ok_int(times(text, "<figure"), times(text, "</figure>"), "figures are closed");
    ok_int(times(text, "<div"), times(text, "</div>"), "blocks are closed");
    ok_int(times(text, "<svg"), times(text, "</svg>"), "pictures are closed");
    ok(!strstr(text, "http://") && !strstr(text, "https://") && !strstr(text, "url("), "nothing from elsewhere");
    ok(!strstr(text, "nan") && !strstr(text, "inf "), "no number that is none");
  }
  brim_runtime_release(runtime, text);
  brim_page_free(page);
  brim_page_free(NULL);
}

static void failed_write(void) {
  brim_page *page;
  brim_error err = {0};
  if (brim_page_new(runtime, "t", &page, NULL) != BRIM_OK)
    return;
  ok_int(brim_page_write(page, "/nowhere/at/all.html", &err), BRIM_E_IO, "a folder that is not there");
  ok(strstr(err.file, "/nowhere/at/all.html") != NULL, "is named");
  brim_page_free(page);
}

/* ---- pictures --------------------------------------------------------------------------------------------- */

/* What the page holds so far. */
static const char *body(brim_page *page) {
  return page->out.data ? page->out.data : "";
}

static void small_pictures(void) {
  brim_page *page;
  if (brim_page_new(runtime, "t", &page, NULL) != BRIM_OK)
    return;
  const char *names[] = {"fixed", "none"}, *labels[] = {"20", "10"}, *parts[] = {"tokens", "padding"};
  const double values[] = {10, 10, 10, 0};
  brim_page_bars(page, (brim_caption){"slots", NULL}, &(brim_bars){names, labels, values, 2, parts, 2});
  ok(strstr(body(page), "<text x=\"2\" y=\"12\">fixed</text>"
                        "<rect class=\"f0\" x=\"2.0\" y=\"16\" width=\"130.0\" height=\"14\"/>"
                        "<rect class=\"waste\" x=\"132.0\" y=\"16\" width=\"130.0\" height=\"14\"/>"
                        "<text class=\"soft\" x=\"267.0\" y=\"27\">20</text>") != NULL,
     "a bar of two parts");
  ok(strstr(body(page), "<tr><th scope=\"row\"><bdi>none</bdi></th><td class=\"n\"><bdi>10</bdi></td>"
                        "<td class=\"n\"><bdi>0</bdi></td><td class=\"n\"><bdi>10</bdi></td></tr>") != NULL,
     "and its numbers");
  const brim_column columns[] = {{"name", false}, {"rows", true}};
  const char *cells[] = {"a", "3"};
  brim_text_clear(&page->out);
  brim_page_table(page, NULL, columns, 2, cells, 1);
  ok(strstr(body(page),
            "<thead><tr><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">rows</th></tr></thead>\n<tbody>\n"
            "<tr><th scope=\"row\"><bdi>a</bdi></th><td class=\"n\"><bdi>3</bdi></td></tr>\n</tbody></table></div>") != NULL,
     "a table: headings, and a row");
  const int32_t lengths[] = {2, 4};
  brim_text_clear(&page->out);
  brim_page_blocks(page, (brim_caption){"batch", NULL}, &(brim_block){lengths, 2, 4}, 1, 4);
  ok(strstr(body(page), "<path class=\"waste\" d=\"M64.12 104.0V24.0h114.28V104.0z\"/>") != NULL,
     "padding stands on the text, up to the width");
  ok(strstr(body(page), "<bdi>6</bdi></td><td class=\"n\"><bdi>8</bdi></td><td class=\"n\"><bdi>25.0 %</bdi>") != NULL,
     "tokens, slots and their difference");
  const double x[] = {0, 1, 2}, y[] = {0, (double)NAN, 1};
  const brim_series series = {"s", x, y, 3};
  brim_text_clear(&page->out);
  brim_page_chart(page, (brim_caption){"line", NULL}, &(brim_chart){.series = &series, .series_count = 1});
  ok(strstr(body(page), "<path class=\"l c0\" d=\"M46.0 184.0 348.0 24.0\"/>") != NULL, "a line passes over what is no number");
  ok(strstr(body(page), "<text class=\"soft mid\" x=\"46.0\" y=\"199\">0</text>") != NULL, "ticks begin where the axis does");
  const double flat[] = {0.693162, 0.693163, 0.693164};
  const brim_series same = {"s", x, flat, 3};
  brim_text_clear(&page->out);
  brim_page_chart(page, (brim_caption){"flat", NULL}, &(brim_chart){.series = &same, .series_count = 1});
  ok(!strstr(body(page), "0.693162</text>"), "what is nearly one value is drawn as one");
  brim_page_free(page);
}

static void empty_pictures(void) {
  brim_page *page;
  if (brim_page_new(runtime, "t", &page, NULL) != BRIM_OK)
    return;
  const double one[] = {5}, none[] = {(double)NAN};
  const brim_series series[] = {{"none", one, none, 1}, {"empty", NULL, NULL, 0}};
  const uint64_t zero[] = {0, 0};
  const brim_caption caption = {"nothing", NULL};
  brim_page_chart(page, caption, &(brim_chart){.series = series, .series_count = 2});
  brim_page_chart(page, caption, &(brim_chart){.series = NULL, .series_count = 0, .points = true});
  brim_page_histogram(page, caption, &(brim_bins){0, 1, true, zero, 2, "x", "rows"});
  brim_page_histogram(page, caption, &(brim_bins){0, 1, true, zero, 0, "x", "rows"});
  brim_page_bars(page, caption, &(brim_bars){.parts = 1});
  brim_page_blocks(page, caption, NULL, 0, 0);
  brim_page_confusion(page, caption, NULL, NULL, 0);
  char *text = written(page);
  ok(text && !strstr(text, "nan") && !strstr(text, "inf\"") && !strstr(text, "-nan"), "empty pictures are pictures too");
  brim_runtime_release(runtime, text);
  brim_page_free(page);
}

static void scales(void) {
  char text[32];
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0"},        {0.05, "0.05"}, {400, "400"},   {1500, "1500"}, {12000, "12k"},
               {2.5e6, "2.5M"}, {5e-5, "5e-5"}, {-0.5, "-0.5"}, {3e9, "3G"},    {1e20, "1e20"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_scale_text(cases[i].value, 0, text, sizeof text);
    ok_string(text, cases[i].text, "a short number");
  }
  brim_scale_text(0.6931, 0.0001, text, sizeof text);
  ok_string(text, "0.6931", "as many digits as neighbours need");
  brim_scale_text(1000000, 1000, text, sizeof text);
  ok_string(text, "1M", "and no more");
  brim_scale s = brim_scale_make(0.13, 0.87, false, true, 5, 100, 0);
  ok_near(s.low, 0, 1e-12, "round ends below");
  ok_near(s.high, 1, 1e-12, "and above");
  ok_int(s.tick_count, 6, "at 0, 0.2, .. 1");
  ok_near(brim_scale_at(&s, 0.25), 75, 1e-9, "a quarter of the way");
  s = brim_scale_make(1e-5, 1e-1, true, false, 5, 0, 100);
  ok_int(s.tick_count, 5, "powers of ten");
  ok_near(brim_scale_at(&s, 1e-3), 50, 1e-9, "half way by logarithms");
  s = brim_scale_make(3, 3, false, true, 5, 0, 100);
  ok(s.low < 3 && s.high > 3 && s.tick_count > 1, "one value has room");
}

/* ---- many points ------------------------------------------------------------------------------------------ */

enum { MANY = 100000 };

/* A noisy fall with single peaks that must not be lost. */
static void fill_many(double *x, double *y) {
  const brim_random random = brim_random_make(1, 0, BRIM_PURPOSE_SAMPLE);
  for (size_t i = 0; i < MANY; i++) {
    x[i] = (double)(i + 1);
    y[i] = exp(-(double)i / 30000) + 0.1 * brim_random_normal(&random, i);
  }
  y[77777] = 9.0, y[4242] = -7.0, y[500] = (double)NAN;
}

static void thinned(const double *x, const double *y) {
  enum { COLUMNS = 200 };
  size_t kept[4 * COLUMNS];
  const size_t used = brim_downsample(x, y, MANY, 1, MANY, COLUMNS, kept);
  bool rising = true, extremes = true, high = false, low = false, number = true;
  for (size_t i = 0; i < used; i++) {
    rising = rising && (i == 0 || kept[i] > kept[i - 1]);
    high = high || kept[i] == 77777, low = low || kept[i] == 4242, number = number && kept[i] != 500;
  }
  ok(used <= 4 * COLUMNS && used > 3 * COLUMNS, "%zu points of %d", used, MANY);
  ok(rising, "in order, each once");
  ok(high && low, "the peaks are there");
  ok(number, "what is no number is not");
  ok(kept[0] == 0 && kept[used - 1] == MANY - 1, "both ends too");
  /* The least and the greatest of every column are those of all its points. */
  for (int c = 0; c < COLUMNS; c++) {
    double all[2] = {HUGE_VAL, -HUGE_VAL}, some[2] = {HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < MANY; i++)
      if ((int)((x[i] - 1) / (MANY - 1) * COLUMNS) == c && isfinite(y[i]))
        all[0] = fmin(all[0], y[i]), all[1] = fmax(all[1], y[i]);
    for (size_t i = 0; i < used; i++)
      if ((int)((x[kept[i]] - 1) / (MANY - 1) * COLUMNS) == c)
        some[0] = fmin(some[0], y[kept[i]]), some[1] = fmax(some[1], y[kept[i]]);
    extremes = extremes && all[0] == some[0] && all[1] == some[1];
  }
  ok(extremes, "every column keeps its least and its greatest value");
  ok_int(brim_downsample(x, y, 3, 1, MANY, COLUMNS, kept), 3, "few points are all kept");
  ok_int(brim_downsample(x, y, 0, 0, 1, COLUMNS, kept), 0, "none are none");
}

static void means(void) {
  const double y[] = {1, (double)NAN, 3, 3};
  double mean[4];
  brim_running_mean(y, 4, 1, mean);
  ok_near(mean[0], 1, 0, "begins with the first value, not with 0");
  ok(isnan(mean[1]), "a gap stays a gap");
  ok(mean[2] > 2 && mean[2] < 3 && mean[3] > mean[2], "and follows the values");
}

static void many(void) {
  double *x = malloc(MANY * sizeof *x), *y = malloc(MANY * sizeof *y);
  brim_page *page = NULL;
  if (x && y && brim_page_new(runtime, "many", &page, NULL) == BRIM_OK) {
    fill_many(x, y);
    thinned(x, y);
    const brim_series series[] = {{"a", x, y, MANY}, {"b", x, y, MANY}};
    for (int i = 0; i < 6; i++)
      brim_page_chart(page, (brim_caption){"loss", NULL}, &(brim_chart){.series = series, .series_count = 2, .smooth = true});
    brim_page_chart(page, (brim_caption){"points", NULL}, &(brim_chart){.series = series, .series_count = 2, .points = true});
    ok(page->out.length < 600000, "seven pictures of 200,000 points each take %zu bytes", page->out.length);
  }
  brim_page_free(page);
  free(x);
  free(y);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL))
    return 1;
  escapes();
  hostile_page();
  failed_write();
  small_pictures();
  empty_pictures();
  scales();
  means();
  many();
  brim_runtime_free(runtime);
  return tap_done();
}
