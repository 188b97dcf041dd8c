#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COLUMNS = 5, MOST_LINES = 96, CELL = 48 };

/* A line for each kind of work, the longest first; under it a line for each operation. */
typedef struct table {
  const brim_profile *profile;
  double seconds; /* of the whole run */
  bool card;      /* a card computed: the host's times are those of calls, and say nothing of speed */
  char text[MOST_LINES][COLUMNS][CELL];
  int lines;
} table;

static void put_line(table *t, const char *indent, const brim_profile_row *row) {
  if (t->lines == MOST_LINES)
    return;
  char (*cells)[CELL] = t->text[t->lines++];
  snprintf(cells[0], CELL, "%s%s", indent, row->name);
  snprintf(cells[1], CELL, "%.1f %%", t->seconds > 0 ? 100 * row->seconds / t->seconds : 0.0);
  snprintf(cells[2], CELL, "%.3f", row->seconds);
  if (row->calls)
    brim_count_text((int64_t)row->calls, cells[3], CELL);
  if (row->flops > 0 && row->seconds > 0 && !t->card)
    snprintf(cells[4], CELL, "%.0f", 1e-9 * row->flops / row->seconds);
}

static int longer_first(const void *a, const void *b) {
  const brim_profile_row *x = a, *y = b;
  return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : strcmp(x->name, y->name);
}

static void put_rows(table *t, brim_work work) {
  brim_profile_row rows[MOST_LINES];
  int count = 0;
  for (int i = 0; i < brim_profile_row_count(t->profile) && count < MOST_LINES; i++) {
    const brim_profile_row *row = brim_profile_row_at(t->profile, i);
    if (row->work == work && row->calls)
      rows[count++] = *row;
  }
  qsort(rows, (size_t)count, sizeof *rows, longer_first);
  for (int i = 0; i < count; i++)
    put_line(t, "  ", &rows[i]);
}

/* The sums of each kind of work. */
static int add_up(const brim_profile *profile, brim_profile_row sums[BRIM_WORK_COUNT]) {
  int count = 0;
  for (int work = 0; work < BRIM_WORK_FRAME; work++) {
    brim_profile_row sum = {.name = brim_work_name((brim_work)work), .work = (brim_work)work};
    for (int i = 0; i < brim_profile_row_count(profile); i++) {
      const brim_profile_row *row = brim_profile_row_at(profile, i);
      if ((int)row->work == work)
        sum.calls += row->calls, sum.seconds += row->seconds, sum.flops += row->flops;
    }
    if (sum.calls)
      sums[count++] = sum;
  }
  qsort(sums, (size_t)count, sizeof *sums, longer_first);
  return count;
}

/* What a card did meanwhile, by its own clock. */
static brim_profile_row card_of(const table *t) {
  brim_profile_row sum = {.name = "on the card, at the same time"};
  for (int i = 0; i < brim_profile_row_count(t->profile); i++) {
    const brim_profile_row *row = brim_profile_row_at(t->profile, i);
    if (row->work == BRIM_WORK_CARD)
      sum.calls += row->calls, sum.seconds += row->seconds;
  }
  return sum;
}

static void fill(table *t) {
  brim_profile_row sums[BRIM_WORK_COUNT], rest = {.name = "everything else"};
  const int count = add_up(t->profile, sums);
  const brim_profile_row card = card_of(t);
  t->card = card.calls > 0;
  rest.seconds = t->seconds = brim_profile_seconds(t->profile);
  for (int i = 0; i < count; i++) {
    rest.seconds -= sums[i].seconds;
    put_line(t, "", &sums[i]);
    put_rows(t, sums[i].work);
  }
  put_line(t, "", &rest);
  if (t->card) {
    put_line(t, "", &card);
    put_rows(t, BRIM_WORK_CARD);
  }
}

static void print_table(const cli_call *cli, const brim_profile *profile) {
  static const brim_column columns[COLUMNS] = {
      {"work", false}, {"share", true}, {"seconds", true}, {"calls", true}, {"GFLOP/s", true}};
  const char *cells[MOST_LINES * COLUMNS];
  brim_text out;
  table t = {.profile = profile};
  fill(&t);
  for (int i = 0; i < t.lines * COLUMNS; i++)
    cells[i] = t.text[i / COLUMNS][i % COLUMNS];
  brim_text_init(&out, cli->runtime);
  brim_table_text(&out, columns, COLUMNS, cells, t.lines);
  if (cli->progress)
    brim_progress_clear(cli->progress);
  if (out.length)
    fwrite(out.data, 1, out.length, stderr);
  brim_text_free(&out);
}

int cli_profile_end(cli_call *cli, const brim_profile *profile, int status) {
  const char *path = cli->values->profile;
  if (!cli->values->quiet)
    print_table(cli, profile);
  struct stat there;
  if (status && cli->values->own_trace && lstat(path, &there) == 0)
    return status; /* a run that never began brought back what it was to replace, and its trace */
  brim_error late;
  const int written = (cli->values->own_trace ? brim_profile_write_own : brim_profile_write)(profile, path, &late);
  if (!written)
    cli_note(cli, "the trace is in %s: open it in chrome://tracing or ui.perfetto.dev", path);
  if (status || !written)
    return status;
  cli->error = late;
  return written;
}
