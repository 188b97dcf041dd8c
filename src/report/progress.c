/* progress.c: how far a long call is: a bar on a terminal, a line at about ten round counts elsewhere. */
#include "brim/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/status.h"
#include "report/width.h"

enum { MOST_PHASES = 4, LEAST_BAR = 6, MOST_BAR = 24, LARGEST_COUNT = 100000 };
static const double REDRAW_SECONDS = 0.1, QUIET_SECONDS = 1.0; /* a phase shorter than this prints no lines */

/* A phase continues after another one came between: training after an evaluation. */
typedef struct phase {
  char name[32];
  double started;
  int64_t first; /* done at its first event: a resumed run does not begin at 0 */
  int64_t last;  /* done at its last event */
  int64_t lines; /* due so far */
} phase;

struct brim_progress {
  brim_runtime *runtime;
  FILE *stream;
  bool quiet, terminal, drawn;
  double shown; /* when the bar was drawn last */
  phase phases[MOST_PHASES];
};

/* One "progress" event. */
typedef struct reading {
  const char *phase, *unit;
  int64_t done, total;
  double rate, loss;
} reading;

static bool cursor_moves(void) {
  const char *kind = getenv("TERM");
  return !kind || strcmp(kind, "dumb") != 0;
}

int brim_progress_new(brim_runtime *runtime, FILE *stream, bool quiet, brim_progress **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, stream);
  brim_progress *progress = *out = brim_alloc_zero(runtime, sizeof **out);
  if (!progress)
    return BRIM_NOMEM(err);
  progress->runtime = runtime;
  progress->stream = stream;
  progress->quiet = quiet;
  progress->terminal = isatty(fileno(stream)) == 1 && cursor_moves();
  return BRIM_OK;
}

void brim_progress_free(brim_progress *progress) {
  if (!progress)
    return;
  brim_progress_clear(progress);
  brim_release(progress->runtime, progress);
}

void brim_progress_clear(brim_progress *progress) {
  if (progress->drawn) {
    fputs("\r\033[K", progress->stream);
    fflush(progress->stream);
  }
  progress->drawn = false;
}

/* ---- reading an event ------------------------------------------------------------------------------------- */

static int64_t integer_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  return field && field->kind == BRIM_VALUE_INT ? field->integer : 0;
}

static double real_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  return field && field->kind == BRIM_VALUE_REAL ? field->real : (double)NAN;
}

static const char *text_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  return field && field->kind == BRIM_VALUE_TEXT && field->text ? field->text : "";
}

static reading read_event(const brim_event *event) {
  return (reading){.phase = text_of(event, "phase"),
                   .unit = text_of(event, "unit"),
                   .done = integer_of(event, "done"),
                   .total = integer_of(event, "total"),
                   .rate = real_of(event, "rate"),
                   .loss = real_of(event, "loss")};
}

/* ---- drawing ---------------------------------------------------------------------------------------------- */

static double share_of(const reading *r) {
  const double share = r->total > 0 ? (double)r->done / (double)r->total : 0.0;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

static int terminal_columns(FILE *stream) {
  struct winsize size;
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* ", peak 412 MiB": the most memory that the process has had. */
static void put_peak(brim_text *out) {
  const double mebibytes = (double)brim_process_peak() / (1 << 20);
  if (mebibytes > 0)
    brim_text_printf(out, mebibytes < 1024 ? ", peak %.0f MiB" : ", peak %.1f GiB",
                     mebibytes < 1024 ? mebibytes : mebibytes / 1024);
}

/* "2,410 tokens/s  loss 0.412  0:00:32, 0:00:41 left, peak 412 MiB": the parts that exist. */
static void describe(const phase *p, const reading *r, bool with_peak, brim_text *out) {
  char text[48];
  const double elapsed = brim_seconds_now() - p->started, share = share_of(r);
  const double begun = r->total > 0 ? (double)p->first / (double)r->total : 0.0;
  if (r->total > 0)
    brim_text_printf(out, "%3.0f %%", 100.0 * share);
  if (r->total > 0 && r->total <= LARGEST_COUNT)
    brim_text_printf(out, "  %lld/%lld", (long long)r->done, (long long)r->total);
  if (isfinite(r->rate) && r->rate > 0) {
    brim_count_text((int64_t)r->rate, text, sizeof text);
    brim_text_printf(out, "  %s %s", text, r->unit);
  }
  if (isfinite(r->loss))
    brim_text_printf(out, "  loss %s", brim_metric_text(r->loss, text));
  brim_duration_text(elapsed, text, sizeof text);
  brim_text_printf(out, "  %s", text);
  if (share > begun && share < 1) {
    brim_duration_text(elapsed * (1 - share) / (share - begun), text, sizeof text);
    brim_text_printf(out, ", %s left", text);
  }
  if (with_peak)
    put_peak(out);
}

static void put_bar(brim_text *out, int columns, double share) {
  const int full = (int)(share * columns);
  for (int i = 0; i < columns; i++)
    brim_text_string(out, i < full ? "█" : "░");
  brim_text_string(out, " ");
}

/* One line that is shorter than the terminal: the bar takes what the words leave, or stays away. */
static void draw(brim_progress *p, const phase *at, const reading *r) {
  brim_text words, line;
  brim_text_init(&words, p->runtime);
  brim_text_init(&line, p->runtime);
  describe(at, r, true, &words);
  brim_text_printf(&line, "%s  ", r->phase);
  if (!words.failed && !line.failed) {
    const int width = terminal_columns(p->stream) - 1 - brim_display_width(line.data);
    if (brim_display_width(words.data) > width) { /* the least important part goes first */
      brim_text_clear(&words);
      describe(at, r, false, &words);
    }
    const int room = width - brim_display_width(words.data);
    if (r->total > 0 && room > LEAST_BAR)
      put_bar(&line, room - 1 < MOST_BAR ? room - 1 : MOST_BAR, share_of(r));
    brim_text_append(&line, words.data, words.length);
    if (room >= 0 && !line.failed) {
      fprintf(p->stream, "\r%s\033[K", line.data);
      fflush(p->stream);
      p->drawn = true;
    }
  }
  brim_text_free(&words);
  brim_text_free(&line);
}

/* Lines to print by now: one at each multiple of a round number, about ten in all, and one at the end. */
static int64_t lines_due(const reading *r) {
  static const int64_t steps[] = {1, 2, 5};
  int64_t every = 1;
  if (r->total <= 0)
    return 0;
  if (r->total > LARGEST_COUNT) /* bytes: nobody reads these as counts */
    return (int64_t)((double)r->done / (double)r->total * 10);
  for (int64_t tens = 1, i = 0; every * 10 < r->total; i++) {
    tens = i && i % 3 == 0 ? tens * 10 : tens;
    every = tens * steps[i % 3];
  }
  return r->done / every + (r->done >= r->total && r->total % every != 0);
}

static void print_line(brim_progress *p, phase *at, const reading *r, double time) {
  const int64_t lines = lines_due(r);
  const bool due = lines > at->lines;
  at->lines = lines;
  if (!due || time - at->started < QUIET_SECONDS)
    return;
  brim_text line;
  brim_text_init(&line, p->runtime);
  describe(at, r, true, &line);
  if (!line.failed)
    fprintf(p->stream, "%s  %s\n", r->phase, line.data);
  fflush(p->stream);
  brim_text_free(&line);
}

/* The phase of that name; begun again when it is not known, or when it has been here before and was further. */
static phase *find_phase(brim_progress *p, const reading *r, double time) {
  int at = 0;
  while (at < MOST_PHASES - 1 && p->phases[at].name[0] &&
         strncmp(p->phases[at].name, r->phase, sizeof p->phases[at].name - 1) != 0)
    at++;
  phase *found = &p->phases[at];
  const bool known = strncmp(found->name, r->phase, sizeof found->name - 1) == 0;
  if (!known || r->done < found->last) {
    *found = (phase){.started = time, .first = r->done, .lines = lines_due(r)};
    snprintf(found->name, sizeof found->name, "%s", r->phase);
  }
  found->last = r->done;
  return found;
}

int brim_progress_event(void *progress, const brim_event *event) {
  brim_progress *p = progress;
  if (p->quiet || strcmp(event->kind, "progress") != 0)
    return BRIM_OK;
  const reading r = read_event(event);
  const double time = brim_seconds_now();
  phase *at = find_phase(p, &r, time);
  if (!p->terminal) {
    print_line(p, at, &r, time);
  } else if (r.total > 0 && r.done >= r.total) {
    brim_progress_clear(p);
  } else if (time - p->shown >= REDRAW_SECONDS) {
    draw(p, at, &r);
    p->shown = time;
  }
  return BRIM_OK;
}
