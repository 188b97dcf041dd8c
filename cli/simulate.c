/* simulate.c: brim plan --simulate: steps of one epoch on many ranks. */
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORLDS = 24, MOST_RANKS = 100000 };

typedef struct wish {
  double ranks, bandwidth, latency, speed, update;
  char model[1024];
} wish;

static int refuse(cli_call *cli, const char *what) {
  return brim_error_set(
      &cli->error, BRIM_E_USAGE,
      "--simulate %s: write ranks=1000,bandwidth=GBIT/S,latency=MICROSECONDS,model=DIR and, to measure nothing, "
      "speed=GFLOP/S,update=MILLISECONDS",
      what);
}

/* One "name=value", cut out of the option. */
static bool take(wish *w, const char *name, const char *value) {
  const struct {
    const char *name;
    double *to;
  } numbers[] = {
      {"ranks", &w->ranks}, {"bandwidth", &w->bandwidth}, {"latency", &w->latency}, {"speed", &w->speed}, {"update", &w->update}};
  if (strcmp(name, "model") == 0)
    return !*w->model && snprintf(w->model, sizeof w->model, "%s", value) < (int)sizeof w->model;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(name, numbers[i].name) == 0) {
      char *end;
      if (*numbers[i].to > 0) /* given twice */
        return false;
      *numbers[i].to = strtod(value, &end);
      return end != value && !*end && *numbers[i].to > 0 && *numbers[i].to < 1e12;
    }
  return false;
}

static int parse(cli_call *cli, wish *w) {
  char text[2048], *rest = text;
  if (snprintf(text, sizeof text, "%s", cli->values->simulate) >= (int)sizeof text)
    return refuse(cli, "is too long");
  for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
    char *value = strchr(word, '=');
    if (value)
      *value++ = 0;
    if (!value || !take(w, word, value))
      return refuse(cli, word);
  }
  if (w->ranks < 1 || w->bandwidth <= 0 || w->latency <= 0 || !*w->model)
    return refuse(cli, "needs ranks, bandwidth, latency and model");
  if (w->ranks > MOST_RANKS)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--simulate ranks=%.0f: at most %d", w->ranks, MOST_RANKS);
  return BRIM_OK;
}

/* 1, 2, 4, .. and the number itself. */
static int worlds_to(int32_t ranks, int32_t *worlds) {
  int count = 0;
  for (int32_t world = 1; world < ranks; world *= 2)
    worlds[count++] = world;
  worlds[count++] = ranks;
  return count;
}

static void put_json(brim_text *out, const brim_scaling *s, double pairs) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "ranks", (uint64_t)s->ranks);
  const struct {
    const char *name;
    double value;
  } cells[] = {{"rows", s->rows},
               {"compute", s->compute},
               {"balance", s->balance},
               {"bytes", s->bytes},
               {"communication", s->communication},
               {"exposed", s->exposed},
               {"update", s->update},
               {"step", s->step},
               {"sharded", s->sharded},
               {"pairs", pairs}};
  for (size_t i = 0; i < sizeof cells / sizeof *cells - (pairs <= 0); i++)
    brim_json_put_number(&json, cells[i].name, cells[i].value);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

static void put_table(brim_text *out, const brim_scaling *all, int count) {
  enum { COLUMNS = 9 };
  char texts[MOST_WORLDS * COLUMNS][24];
  const char *cells[MOST_WORLDS * COLUMNS];
  const brim_column columns[COLUMNS] = {{"ranks", true},      {"rows each", true}, {"balance", true},
                                        {"compute ms", true}, {"sending", true},   {"not hidden", true},
                                        {"update", true},     {"step ms", true},   {"speed", true}};
  for (int i = 0; i < count; i++) {
    const brim_scaling *s = &all[i];
    const double numbers[COLUMNS] = {
        s->ranks,         s->rows,         s->balance,    1e3 * s->compute,     1e3 * s->communication,
        1e3 * s->exposed, 1e3 * s->update, 1e3 * s->step, all[0].step / s->step};
    static const int digits[COLUMNS] = {0, 1, 3, 1, 1, 1, 1, 1, 2};
    for (int k = 0; k < COLUMNS; k++) {
      snprintf(texts[i * COLUMNS + k], sizeof texts[0], "%.*f", digits[k], numbers[k]);
      cells[i * COLUMNS + k] = texts[i * COLUMNS + k];
    }
  }
  brim_table_text(out, columns, COLUMNS, cells, count);
}

/* From which number of ranks on it is faster than what brim does. */
static void put_first(brim_text *out, const char *what, int32_t first, int32_t most) {
  if (first)
    brim_text_printf(out, "%s would be faster from %d ranks on\n", what, (int)first);
  else
    brim_text_printf(out, "%s would be slower with any number up to %d\n", what, (int)most);
}

static int put_answers(cli_call *cli, const brim_scaling_question *q, int32_t ranks, brim_text *out) {
  int32_t worlds[MOST_WORLDS], sharded = 0, paired = 0;
  brim_scaling all[MOST_WORLDS];
  const int count = worlds_to(ranks, worlds);
  for (int i = 0; i < count; i++) {
    double pairs = 0;
    int status = brim_scaling_of(q, worlds[i], &all[i], &cli->error);
    if (!status && worlds[i] % 2 == 0)
      status = brim_scaling_in_pairs(q, worlds[i], &pairs, &cli->error);
    if (status)
      return status;
    sharded = !sharded && worlds[i] > 1 && all[i].sharded < all[i].step ? worlds[i] : sharded;
    paired = !paired && pairs > 0 && pairs < all[i].step ? worlds[i] : paired;
    if (cli->values->jsonl)
      put_json(out, &all[i], pairs);
  }
  if (cli->values->jsonl)
    return BRIM_OK;
  put_table(out, all, count);
  brim_text_printf(out, "\na rank computes %.1f GFLOP/s; the gradient has %.1f MB at most\n", q->speed / 1e9, all[0].bytes / 1e6);
  put_first(out, "sharded optimizer state", sharded, ranks);
  put_first(out, "tensor parallelism in pairs", paired, ranks);
  return BRIM_OK;
}

/* Encoders are published with a head of masked words: a classifier's is computed in its place. `measured`: it needs values. */
static int load_model(cli_call *cli, const char *folder, bool measured, brim_model **out) {
  static const char *const names[] = {"0", "1"};
  brim_model_info info;
  brim_labels labels = {0};
  int status = brim_model_describe(cli->runtime, folder, &info, &cli->error);
  if (!status && info.task == BRIM_TASK_AUTO)
    status = brim_labels_make(cli->runtime, brim_task_of_names(info.task), names, 2, &labels, &cli->error);
  const brim_model_options options = {.labels = labels.count ? &labels : NULL, .no_values = !measured};
  if (!status)
    status = brim_model_load(cli->runtime, folder, &options, out, &cli->error);
  brim_labels_free(&labels);
  return status;
}

int cli_simulate(cli_call *cli, brim_lengths lengths) {
  wish w = {0};
  brim_plan_options how;
  brim_model *model = NULL;
  int status = parse(cli, &w);
  if (!status)
    status = cli_plan_options(cli, &how);
  if (!status)
    status = load_model(cli, w.model, w.speed <= 0, &model);
  brim_scaling_question q = {.runtime = cli->runtime,
                             .lengths = lengths,
                             .plan = &how,
                             .model = model,
                             .folder = w.model,
                             .bandwidth = w.bandwidth * 1e9 / 8,
                             .latency = w.latency * 1e-6,
                             .speed = w.speed * 1e9,
                             .update = w.update * 1e-3};
  if (!status && w.speed <= 0)
    status = brim_scaling_measure(&q, &cli->error);
  brim_text out;
  brim_text_init(&out, cli->runtime);
  if (!status)
    status = put_answers(cli, &q, (int32_t)w.ranks, &out);
  if (!status)
    status = cli_write(cli, cli->values->output, &out);
  brim_text_free(&out);
  brim_model_free(model);
  return status;
}
