/* brim/report.h: renders events and generic tables: progress bar, JSON lines, text tables. Knows nothing of models. */
#ifndef BRIM_REPORT_H
#define BRIM_REPORT_H
#include <stdio.h>
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A progress display on a stream: a bar on a terminal, about ten lines a phase otherwise (none for a phase of less than a second).
 * Reads events of kind "progress" (phase, done, total, rate, unit, loss); others are ignored. */
typedef struct brim_progress brim_progress;
BRIM_API int brim_progress_new(brim_runtime *runtime, FILE *stream, bool quiet, brim_progress **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_progress_event(void *progress, const brim_event *event); /* a brim_event_fn */
BRIM_API void brim_progress_clear(brim_progress *progress); /* removes the bar, so that a line can be printed */
BRIM_API void brim_progress_free(brim_progress *progress);

typedef struct brim_column { const char *title; bool right; } brim_column;
/* An aligned text table (UTF-8 aware) into `out`. cells: [rows * columns], borrowed. */
BRIM_API void brim_table_text(brim_text *out, const brim_column *columns, int column_count, const char *const *cells, int row_count);
/* A histogram of counts[0..count) as lines of blocks: at most `lines` bins of a round size, the longest bar `width` columns. */
BRIM_API void brim_histogram_text(brim_text *out, const uint64_t *counts, int64_t count, int lines, int width);
/* "1:02:03" or "2:03"; "-:--" for what is no duration. */
BRIM_API void brim_duration_text(double seconds, char *buffer, size_t size);
/* 6,358,424 */
BRIM_API void brim_count_text(int64_t value, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
