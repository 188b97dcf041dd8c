/* model_late.c: rows of embeddings without a gradient miss updates until somebody reads them. Beside the model whose rows may be
 * late stands one that is told before every update that any row may have a gradient, so that none of its rows is ever late. */
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model_case.h"

enum { STEPS = 2 * BRIM_UPDATE_PAST + 23, CHOSEN = 3 };

typedef struct pair {
  brim_model *late, *prompt;
  brim_dataset *rows;
  brim_batch batch;
  uint64_t step;
} pair;

/* The optimizers, each with decay towards zero and towards the start. */
typedef struct way {
  const char *optimizer;
  bool returns;
} way;
static const way adamw = {"adamw", false};

static pair open_pair(const char *kernels, const way *w) {
  pair p = {.late = case_load(case_golden("bert-pair-3"), kernels),
            .prompt = case_load(case_golden("bert-pair-3"), kernels),
            .rows = case_rows("bert-pair-3")};
  const brim_optimizer_options options = {.name = w->optimizer, .returns = w->returns};
  brim_error err = {0};
  if (brim_model_use_optimizer(p.late, &options, &err) || brim_model_use_optimizer(p.prompt, &options, &err))
    case_stop("optimizer", &err);
  return p;
}

static void close_pair(pair *p) {
  brim_batch_free(&p->batch);
  brim_dataset_free(p->rows);
  brim_model_free(p->late);
  brim_model_free(p->prompt);
}

static void step_one(brim_model *model, const brim_batch *batch, const brim_update_options *options, bool prompt) {
  const brim_pass pass = {.training = true, .dropout = true, .optimizer_step = options->step};
  brim_error err = {0};
  double norm;
  case_step(model, batch, &pass);
  if (prompt)
    brim_model_gradients_written(model);
  if (brim_model_update(model, options, &norm, &err))
    case_stop("update", &err);
}

/* Rates, decays and clipping change from step to step, as schedules and callers may. */
static void step_both(pair *p) {
  const uint64_t step = ++p->step;
  const brim_update_options options = {.lr = 1e-3 / (double)(1 + step % 7),
                                       .beta1 = 0.9,
                                       .beta2 = step % 11 ? 0.999 : 0.99,
                                       .eps = 1e-8,
                                       .weight_decay = step % 4 ? 0.1 : 0,
                                       .momentum = 0.8,
                                       .layer_decay = step < 50 ? 0.9 : 0.8,
                                       .step = step};
  case_fill(&p->batch, p->rows, (uint32_t)(step * step % 6), 2, 0);
  step_one(p->late, &p->batch, &options, false);
  step_one(p->prompt, &p->batch, &options, true);
}

static bool same(const pair *p, const float *a, const float *b) {
  return memcmp(a, b, (size_t)p->late->program.flat_size * sizeof(float)) == 0;
}

static bool same_logits(pair *p) {
  const brim_pass pass = {0};
  brim_error err = {0};
  float late[2 * CHOSEN], prompt[2 * CHOSEN];
  case_fill(&p->batch, p->rows, (uint32_t)(p->step % 7), 2, 0);
  const brim_model_limits limits = case_limits(&p->batch, false);
  if (brim_model_prepare(p->late, &limits, &err) || brim_model_prepare(p->prompt, &limits, &err) ||
      brim_model_forward(p->late, &p->batch, &pass, NULL, late, &err) ||
      brim_model_forward(p->prompt, &p->batch, &pass, NULL, prompt, &err))
    case_stop("forward", &err);
  return memcmp(late, prompt, sizeof(float) * 2 * (size_t)p->late->config.labels.count) == 0;
}

/* More steps than rows may be late by. */
static void check_steps(const char *kernels, const way *w) {
  pair p = open_pair(kernels, w);
  int late = 0, wrong = 0;
  while (p.step < STEPS) {
    step_both(&p);
    late += !same(&p, case_values_of(p.late), case_values_of(p.prompt));
    if (p.step % 3 == 0)
      wrong += !same_logits(&p);
    if (p.step == 40)
      wrong += !same(&p, brim_model_values(p.late), brim_model_values(p.prompt));
  }
  ok(wrong == 0 && late > STEPS / 2,
     "%s, %s%s: %d steps: passes see what they would see without delay (%d wrong; rows late in %d)", p.late->ops->name,
     w->optimizer, w->returns ? " to the start" : "", STEPS, wrong, late);
  brim_model_catch_up(p.late);
  bool equal = same(&p, case_values_of(p.late), case_values_of(p.prompt));
  for (int i = 0; i < brim_optimizer_states(p.late->optimizer); i++)
    equal = equal && same(&p, case_states_of(p.late, i), case_states_of(p.prompt, i));
  ok(equal, "and then weights and states are the same bits");
  close_pair(&p);
}

/* ---- whoever reads ---- */

static void read_values(pair *p) {
  (void)brim_model_values(p->late);
}
static void read_state0(pair *p) {
  (void)brim_model_state0(p->late);
}
static void read_state1(pair *p) {
  (void)brim_model_state1(p->late);
}
static void write_nothing(pair *p) {
  brim_model_state_written(p->late);
}
static void save(pair *p) {
  brim_error err = {0};
  if (brim_model_save(p->late, NULL, NULL, scratch_file("late"), NULL, &err))
    case_stop("save", &err);
}
/* Gives states back, and with them what would be needed later. */
static void freeze(pair *p) {
  brim_error err = {0};
  if (brim_model_freeze(p->late, "embeddings", &err))
    case_stop("freeze", &err);
}

static void check_reader(void (*read)(pair *), const char *name) {
  pair p = open_pair("cpu-plain", &adamw);
  while (p.step < 5)
    step_both(&p);
  const bool before = same(&p, case_values_of(p.late), case_values_of(p.prompt));
  read(&p);
  ok(!before && same(&p, case_values_of(p.late), case_values_of(p.prompt)), "%s brings all rows up to date", name);
  close_pair(&p);
}

/* Weights and states that are written take the place of what was missed. */
static void check_written(void) {
  pair p = open_pair("cpu-plain", &adamw);
  while (p.step < 5)
    step_both(&p);
  brim_model *fresh = case_load(case_golden("bert-pair-3"), "cpu-plain");
  const size_t bytes = (size_t)fresh->program.flat_size * sizeof(float);
  brim_model *models[] = {p.late, p.prompt};
  float *none = calloc(1, bytes);
  for (int i = 0; i < 2; i++) {
    const int64_t count = fresh->program.flat_size;
    brim_error err = {0};
    if (brim_model_is_host(models[i])) {
      memcpy(brim_model_values(models[i]), case_values_of(fresh), bytes);
      memset(brim_model_state0(models[i]), 0, bytes);
      memset(brim_model_state1(models[i]), 0, bytes);
      brim_model_state_written(models[i]);
    } else if (brim_model_write(models[i], BRIM_VALUES, 0, count, case_values_of(fresh), &err) ||
               brim_model_write(models[i], BRIM_STATE0, 0, count, none, &err) ||
               brim_model_write(models[i], BRIM_STATE1, 0, count, none, &err)) {
      case_stop("write", &err);
    }
  }
  free(none);
  brim_model_catch_up(p.late);
  ok(same(&p, case_values_of(p.late), case_values_of(fresh)), "what is written stays");
  while (p.step < 9)
    step_both(&p);
  ok(same(&p, brim_model_values(p.late), case_values_of(p.prompt)), "and is resumed");
  brim_model_free(fresh);
  close_pair(&p);
}

int main(void) {
  case_start(2);
  static const way ways[] = {{"adamw", false}, {"adamw", true},    {"bert_adam", false}, {"sgd", false},
                             {"sgd", true},    {"madgrad", false}, {"madgrad", true}};
  enum { WAYS = sizeof ways / sizeof *ways };
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level))
    for (size_t i = 0; i < (level == level_best() ? WAYS : 1); i++) /* rules at each level: tests of operations */
      if (tap_takes_of("ways", (uint64_t)(level + 1) * WAYS + i, level == level_best() ? WAYS : 1))
        check_steps(level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name, &ways[i]);
  check_reader(read_values, "the address of the values");
  check_reader(read_state0, "that of the first states");
  check_reader(read_state1, "that of the second states");
  check_reader(write_nothing, "writing");
  check_reader(save, "saving");
  check_reader(freeze, "freezing");
  check_written();
  brim_runtime_free(case_runtime);
  return tap_done();
}
