/* profile.c: see brim/profile.h. */
#include "brim/profile.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/profile.h"
#include "base/status.h"

enum { MOST_ROWS = 64, MOST_OPEN = 8, MOST_SPANS = 1 << 16 };

typedef struct span {
  double start, flops;
  float seconds;
  int32_t row;
} span;

typedef struct open_span {
  brim_work work;
  const char *name;
  double start, cpu; /* cpu: of frames */
} open_span;

struct brim_profile {
  brim_runtime *runtime;
  double origin, end;
  open_span open[MOST_OPEN];
  int depth;
  brim_profile_row rows[MOST_ROWS];
  int row_count;
  uint64_t left_out; /* spans that are in the rows but not in the trace */
  int span_count;
  span spans[MOST_SPANS];
};

/* A call into the system, so frames only. */
static double cpu_seconds(brim_work work) {
  return work == BRIM_WORK_FRAME ? brim_clock_seconds(CLOCK_PROCESS_CPUTIME_ID) : 0;
}

const char *brim_work_name(brim_work work) {
  static const char *const names[BRIM_WORK_COUNT] = {"start",      "products", "attention", "elementwise", "norm",
                                                     "embedding",  "loss",     "optimizer", "data",        "evaluation",
                                                     "checkpoint", "ranks",    "log",       "frame",       "card"};
  return (unsigned)work < BRIM_WORK_COUNT ? names[work] : "unknown";
}

int brim_profile_new(brim_runtime *runtime, brim_profile **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  *out = brim_alloc_zero(runtime, sizeof **out);
  if (!*out)
    return BRIM_NOMEM(err);
  (*out)->runtime = runtime;
  (*out)->origin = (*out)->end = brim_seconds_now();
  return BRIM_OK;
}

void brim_profile_free(brim_profile *profile) {
  if (profile)
    brim_release(profile->runtime, profile);
}

/* ---- spans ------------------------------------------------------------------------------------------------ */

void brim_profile_begin(brim_profile *p, brim_work work, const char *name) {
  if (!p)
    return;
  if (p->depth < MOST_OPEN)
    p->open[p->depth] = (open_span){.work = work, .name = name, .cpu = cpu_seconds(work), .start = brim_seconds_now()};
  p->depth++;
}

/* The row of a name; when there is no room, the last row takes it. */
static int find_row(brim_profile *p, brim_work work, const char *name) {
  for (int i = 0; i < p->row_count; i++)
    if (p->rows[i].work == work && (p->rows[i].name == name || strcmp(p->rows[i].name, name) == 0))
      return i;
  if (p->row_count == MOST_ROWS)
    return MOST_ROWS - 1;
  p->rows[p->row_count] = (brim_profile_row){.name = name, .work = work};
  return p->row_count++;
}

/* Whether the open spans around it are frames only. */
static bool counts(const brim_profile *p) {
  for (int i = 0; i < p->depth; i++)
    if (p->open[i].work != BRIM_WORK_FRAME)
      return false;
  return true;
}

void brim_profile_end(brim_profile *p, double flops) {
  if (!p || p->depth == 0 || --p->depth >= MOST_OPEN)
    return;
  const open_span *o = &p->open[p->depth];
  p->end = brim_seconds_now();
  const double seconds = p->end - o->start;
  const int row = find_row(p, o->work, o->name);
  if (counts(p)) {
    p->rows[row].calls++;
    p->rows[row].seconds += seconds;
    p->rows[row].flops += flops;
    p->rows[row].cpu_seconds += cpu_seconds(o->work) - o->cpu;
  }
  if (p->span_count == MOST_SPANS)
    p->left_out++;
  else
    p->spans[p->span_count++] = (span){.start = o->start - p->origin, .seconds = (float)seconds, .row = row, .flops = flops};
}

void brim_profile_add(brim_profile *p, brim_work work, const char *name, double seconds) {
  brim_profile_row *row = &p->rows[find_row(p, work, name)];
  row->calls++;
  row->seconds += seconds;
}

/* ---- answers ---------------------------------------------------------------------------------------------- */

int brim_profile_row_count(const brim_profile *profile) {
  return profile->row_count;
}

const brim_profile_row *brim_profile_row_at(const brim_profile *profile, int index) {
  return &profile->rows[index];
}

double brim_profile_seconds(const brim_profile *profile) {
  return profile->end - profile->origin;
}

static void open_row(brim_json_writer *json, const brim_profile_row *row) {
  brim_json_begin_line(json);
  brim_json_open_object(json, NULL);
  brim_json_put_string(json, "name", row->name);
  brim_json_put_string(json, "cat", brim_work_name(row->work));
}

/* A "complete" event of the trace event format; times are microseconds. */
static void put_span(brim_json_writer *json, const brim_profile *p, const span *s) {
  open_row(json, &p->rows[s->row]);
  brim_json_put_string(json, "ph", "X");
  brim_json_put_integer(json, "pid", 1);
  brim_json_put_integer(json, "tid", 1);
  brim_json_put_printf(json, "ts", "%.1f", 1e6 * s->start);
  brim_json_put_printf(json, "dur", "%.1f", 1e6 * (double)s->seconds);
  if (s->flops > 0 && s->seconds > 0) {
    brim_json_open_object(json, "args");
    brim_json_put_printf(json, "GFLOP/s", "%.0f", 1e-9 * s->flops / (double)s->seconds);
    brim_json_close_object(json);
  }
  brim_json_close_object(json);
}

static void put_row(brim_json_writer *json, const brim_profile_row *row) {
  open_row(json, row);
  brim_json_put_count(json, "calls", row->calls);
  brim_json_put_printf(json, "seconds", "%.6f", row->seconds);
  brim_json_put_printf(json, "flops", "%.0f", row->flops);
  if (row->work == BRIM_WORK_FRAME)
    brim_json_put_printf(json, "cpu_seconds", "%.6f", row->cpu_seconds);
  brim_json_close_object(json);
}

static void put_trace(brim_text *out, const brim_profile *p) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_string(&json, "brim", brim_version()); /* owned.c knows a trace by its beginning */
  brim_json_put_string(&json, "displayTimeUnit", "ms");
  brim_json_open_array(&json, "traceEvents");
  for (int i = 0; i < p->span_count; i++)
    put_span(&json, p, &p->spans[i]);
  brim_json_close_array(&json);
  brim_json_begin_line(&json);
  brim_json_open_object(&json, "otherData");
  brim_json_put_printf(&json, "seconds", "%.6f", brim_profile_seconds(p));
  brim_json_put_count(&json, "left_out", p->left_out);
  brim_json_open_array(&json, "rows");
  for (int i = 0; i < p->row_count; i++)
    put_row(&json, &p->rows[i]);
  brim_json_close_array(&json);
  brim_json_close_object(&json);
  brim_json_close_object(&json);
  brim_text_append(out, "\n", 1);
}

static int write_trace(const brim_profile *profile, const char *path, bool own, brim_error *err) {
  brim_text out;
  brim_text_init(&out, profile->runtime);
  put_trace(&out, profile);
  int status = brim_text_status(&out, err);
  if (!status)
    status = (own ? brim_file_write_own : brim_file_write_all)(profile->runtime, path, out.data, out.length, err);
  brim_text_free(&out);
  return status;
}

int brim_profile_write(const brim_profile *profile, const char *path, brim_error *err) {
  BRIM_GIVEN(err, profile, path);
  return write_trace(profile, path, false, err);
}

int brim_profile_write_own(const brim_profile *profile, const char *path, brim_error *err) {
  BRIM_GIVEN(err, profile, path);
  return write_trace(profile, path, true, err);
}
