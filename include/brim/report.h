/* brim/report.h: renders events and generic tables and series: progress bar, text tables, HTML pages. Knows nothing of models. */
#ifndef BRIM_REPORT_H
#define BRIM_REPORT_H
#include "brim/base.h"
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

/* A progress display on a stream: a bar on a terminal, otherwise about ten lines a phase, at round counts (none for a phase of
 * less than a second). Both have the rate, the loss, the time passed and left, and the most memory that the process has had.
 * Reads events of kind "progress" (phase, done, total, rate, unit, loss); others are ignored. */
typedef struct brim_progress brim_progress;
BRIM_API int brim_progress_new(brim_runtime *runtime, FILE *stream, bool quiet, brim_progress **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_progress_event(void *progress, const brim_event *event); /* a brim_event_fn */
BRIM_API void brim_progress_clear(brim_progress *progress);                /* removes the bar, so that a line can be printed */
BRIM_API void brim_progress_free(brim_progress *progress);

typedef struct brim_column {
  const char *title;
  bool right;
} brim_column;
/* An aligned text table (UTF-8 aware) into `out`. cells: [rows * columns], borrowed. */
BRIM_API void brim_table_text(brim_text *out, const brim_column *columns, int column_count, const char *const *cells,
                              int row_count);
/* A histogram of counts[0..count) as lines of blocks: at most `lines` bins of a round size, the longest bar `width` columns. */
BRIM_API void brim_histogram_text(brim_text *out, const uint64_t *counts, int64_t count, int lines, int width);
/* Makes text of the user's (labels, names of files) fit for a terminal, in its place: what would steer it or break a table
 * becomes
 * "?": control characters, marks that turn the direction, malformed bytes, and unless `lines` line ends and tabs. Returns the new
 * length; text[length] must be there and becomes 0. */
BRIM_API size_t brim_shown(char *text, size_t length, bool lines);
/* Hours, minutes, seconds: "1:02:03", "0:02:03"; "-:--:--" for what is no duration. */
BRIM_API void brim_duration_text(double seconds, char *buffer, size_t size);
/* A loss or a metric, into the buffer, which is returned: 0.6931; from a million on 1.375e+74; nan. */
enum { BRIM_METRIC_TEXT = 24 };
BRIM_API const char *brim_metric_text(double value, char buffer[BRIM_METRIC_TEXT]);
/* 6,358,424 */
BRIM_API void brim_count_text(int64_t value, char *buffer, size_t size);

/* ---- pages ------------------------------------------------------------------------------------------------ */

/* A page of HTML that needs nothing else: no network, no script; style and pictures (SVG) are inside. It is light or dark as the
 * reader's system is, fits a phone and a wide screen, and every picture has a title, a description and its numbers as a table.
 *
 * Text is UTF-8 and is always shown as text: markup in it is escaped, its direction is its own, malformed bytes become U+FFFD.
 * Everything given is read during the call only. Calls that add cannot fail; brim_page_write says if memory ran out. */
typedef struct brim_page brim_page;
BRIM_API int brim_page_new(brim_runtime *runtime, const char *title, brim_page **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_page_free(brim_page *page);
/* Writes the file: complete or absent. The page may grow further and be written again. */
BRIM_API int brim_page_write(brim_page *page, const char *path, brim_error *err) BRIM_CHECK;
/* The same into a run's folder: what has the name, be it a link, a pipe or a device, is replaced and never followed. */
BRIM_API int brim_page_write_own(brim_page *page, const char *path, brim_error *err) BRIM_CHECK;

BRIM_API void brim_page_section(brim_page *page, const char *title);
BRIM_API void brim_page_text(brim_page *page, const char *text); /* a paragraph */
/* Few numbers that matter, large. */
BRIM_API void brim_page_figures(brim_page *page, const char *const *names, const char *const *values, int count);
/* cells: [rows * columns]. `caption` may be NULL. */
BRIM_API void brim_page_table(brim_page *page, const char *caption, const brim_column *columns, int column_count,
                              const char *const *cells, int row_count);

/* What every picture has. `description` is for those who do not see it; NULL: the title has to do. */
typedef struct brim_caption {
  const char *title, *description;
} brim_caption;

typedef struct brim_axis {
  const char *title;
  bool zero;          /* begins at 0, or ends there */
  bool log;           /* logarithmic; what is not above 0 is not drawn */
  double least, most; /* values that there can be, where least < most: the axis ends there, whatever rounds it */
} brim_axis;
/* Points that are not finite are passed over. For lines, x must not fall. */
typedef struct brim_series {
  const char *name;
  const double *x, *y;
  size_t count;
} brim_series;
typedef struct brim_chart {
  brim_axis x, y;
  const brim_series *series;
  int series_count;
  bool points;   /* points instead of lines */
  bool smooth;   /* a running mean, the values themselves are faint lines under it */
  bool diagonal; /* a line where x = y */
} brim_chart;
/* However many points there are, each series takes at most some 15 kB: lines keep the first, least, greatest and last value of
 * every column of the picture (M4: Jugel et al., VLDB 2014), so that no peak is lost; of points that fall together one is drawn.
 */
BRIM_API void brim_page_chart(brim_page *page, brim_caption caption, const brim_chart *chart);

/* Horizontal bars, one a name, each of `parts` values that follow each other. */
typedef struct brim_bars {
  const char *const *names, *const *labels; /* [count]; labels: what is written after a bar */
  const double *values;
  int count; /* [count * parts], not negative */
  const char *const *part_names;
  int parts; /* [parts]; part_names is not read when there is one */
} brim_bars;
BRIM_API void brim_page_bars(brim_page *page, brim_caption caption, const brim_bars *bars);

/* counts[i] values in [first + i * width, first + (i + 1) * width); many bins are joined to fewer. `whole`: the values are whole
 * numbers (and width is 1), and a bin's name is its values. */
typedef struct brim_bins {
  double first, width;
  bool whole;
  const uint64_t *counts;
  int64_t count;
  const char *title, *counted; /* of the values, and of what is counted: "tokens", "rows" */
} brim_bins;
BRIM_API void brim_page_histogram(brim_page *page, brim_caption caption, const brim_bins *bins);

/* ---- logs of events --------------------------------------------------------------------------------------- */

/* A file of events, one JSON object a line ({"event":"step","step":1,"loss":0.7}), as columns: RUN/log.jsonl. Members of objects
 * within are named with a point between ("options.batch_size"), arrays are kept as JSON text. A last line without its end is
 * being written and is left out; anything else that is no event is BRIM_E_FORMAT with its line. Immutable. */
typedef struct brim_event_log brim_event_log;
/* CSV: a line an event of the kinds "step", "eval" and "epoch" in the file's order, a column a field that one of them has, after
 * `run` (the name given) and `event`. The first line has the names; what an event does not have is empty. */
BRIM_API void brim_event_log_csv(const brim_event_log *const *logs, const char *const *names, int count, brim_text *out);

#ifdef __cplusplus
}
#endif
#endif
