/* ops_update.c: the gradient's norm, each rule and mixout of every table, over several steps, with embeddings of which few rows
 * are touched. */
#include "ops_case.h"

enum { DENSE = 40000, ODD = 37, ROW = 48, ROWS = 700, FLAT = DENSE + 48 + ROW * ROWS };

typedef struct setting {
  double decay, clip;
  brim_rule rule;
  bool returns; /* decay towards the values at the start */
} setting;

#define RULE_CASE(RULE, name, states, rests, starts) {#name, states},
static const struct {
  const char *name;
  int states;
} rules[] = {BRIM_RULES_LIST(RULE_CASE)};

static void steps(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {41};
  real *values = case_values(&m, &in, FLAT, 1), *gradients = case_fill(&m, FLAT, 0);
  real *start = case_fill(&m, FLAT, 0), *states[BRIM_MOST_STATES], norms[4];
  uint8_t *touched = case_alloc(&m, ROWS), *alive = case_alloc(&m, ROWS);
  memset(alive, 0, ROWS);
  memcpy(start, values, FLAT * sizeof *start);
  for (int k = 0; k < BRIM_MOST_STATES; k++)
    states[k] = case_fill(&m, FLAT, 0);
  const brim_update_range ranges[] = {
      {.offset = 0, .count = DENSE, .decay = true, .rate = 1, .returns = s->returns},
      {.offset = DENSE, .count = ODD, .rate = 0.25},
      {.offset = DENSE + 48,
       .count = ROW * ROWS,
       .decay = true,
       .returns = s->returns,
       .rate = 0.9,
       .row_size = ROW,
       .touched = touched,
       .alive = alive},
  };
  brim_update u = {.rule = s->rule,
                   .values = values,
                   .gradients = gradients,
                   .states = {states[0], states[1]},
                   .start = start,
                   .ranges = ranges,
                   .range_count = 3,
                   .step = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = s->decay, .momentum = 0.8},
                   .clip = s->clip};
  for (int step = 1; step <= 4; step++) {
    for (int64_t i = 0; i < DENSE + ODD; i++)
      gradients[i] = (real)(next_unit(&in) - 0.5);
    for (int64_t row = 0; row < ROWS; row++) {
      touched[row] = next_unit(&in) < 0.1;
      for (int64_t k = 0; touched[row] && k < ROW; k++)
        gradients[DENSE + 48 + row * ROW + k] = (real)(next_unit(&in) - 0.5);
    }
    double square;
    u.square = &square;
    ops->gradient_square(c, &u);
    norms[step - 1] = (real)square;
    u.step.correction1 = 1 - pow(u.step.beta1, step);
    u.step.correction2 = 1 - pow(u.step.beta2, step);
    u.step.number = (uint64_t)step;
    ops->update(c, &u);
  }
  emit(out, "squares", norms, 4);
  emit(out, "values", values, FLAT);
  emit(out, "gradients", gradients, FLAT);
  for (int k = 0; k < BRIM_MOST_STATES; k++)
    emit(out, k == 0 ? "first states" : "second states", states[k], FLAT);
  case_free(&m);
}

/* A step with a loss that is not finite changes nothing, whatever its gradient. */
static void losses(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const double *loss = parameters;
  case_memory m = {0};
  inputs in = {44};
  double list[] = {0.5, 0, -0.0}, alone, square;
  real *values = case_values(&m, &in, ODD, 1), *gradients = case_values(&m, &in, ODD, 1);
  real *moment1 = case_fill(&m, ODD, 0), *moment2 = case_fill(&m, ODD, 0), first = values[0];
  const brim_update_range range = {.count = ODD, .rate = 1};
  brim_update u = {.values = values,
                   .gradients = gradients,
                   .states[0] = moment1,
                   .states[1] = moment2,
                   .ranges = &range,
                   .range_count = 1,
                   .step = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .correction1 = 0.1, .correction2 = 0.001},
                   .square = &alone};
  list[1] = *loss;
  ops->gradient_square(c, &u);
  u.square = &square, u.losses = list, u.loss_count = 3;
  ops->gradient_square(c, &u);
  ops->update(c, &u);
  const bool right = isfinite(*loss) ? square == alone && values[0] != first : isnan(square) && values[0] == first;
  emit(out, "the gradient's square alone, or not a number", &(real){right ? 1 : (real)NAN}, 1);
  emit(out, "values", values, ODD);
  emit(out, "gradients", gradients, ODD);
  case_free(&m);
}

/* ---- in parts ---- */

enum { EMBEDDING = 30 * ROW, PARTED = DENSE + EMBEDDING + DENSE };

/* Two ranges that are cut at pieces, and a table between them: what each part comes to has the bits of the whole, and an update
 * leaves the values for others. */
static void parts(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  (void)parameters;
  case_memory m = {0};
  inputs in = {45};
  double square[2], sums[16], of_part[16];
  real *state[2][4];
  uint8_t *rows = case_alloc(&m, EMBEDDING / ROW);
  bool right = true;
  for (int64_t row = 0; row < EMBEDDING / ROW; row++)
    rows[row] = row % 3 == 1;
  for (int k = 0; k < 4; k++) {
    state[0][k] = k < 2 ? case_values(&m, &in, PARTED, 1) : case_fill(&m, PARTED, 0);
    state[1][k] = case_fill(&m, PARTED, 0);
    memcpy(state[1][k], state[0][k], PARTED * sizeof(real));
  }
  const brim_update_range whole[] = {{.count = DENSE, .rate = 1, .decay = true},
                                     {.offset = DENSE, .count = EMBEDDING, .rate = 1, .row_size = ROW, .touched = rows},
                                     {.offset = DENSE + EMBEDDING, .count = DENSE, .rate = 0.5}};
  brim_update_range cut[] = {whole[0], whole[1], whole[2], whole[2]};
  cut[2].count = 2 * BRIM_UPDATE_PIECE;
  cut[3].offset += cut[2].count, cut[3].count -= cut[2].count;
  brim_update u = {
      .ranges = whole,
      .range_count = 3,
      .clip = 1,
      .step = {
          .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01, .correction1 = 0.1, .correction2 = 0.001}};
  for (int k = 0; k < 2; k++) {
    u.values = state[k][0], u.gradients = state[k][1], u.states[0] = state[k][2], u.states[1] = state[k][3],
    u.square = &square[k];
    u.ranges = whole, u.range_count = 3;
    if (k == 0 || !ops->squares) {
      ops->gradient_square(c, &u);
      ops->update(c, &u);
      continue;
    }
    for (int64_t i = 0, piece = 0; i < 4; i++) {
      u.ranges = &cut[i], u.range_count = 1;
      ops->squares(c, &u, of_part);
      for (int64_t at = 0; at < brim_update_pieces(&cut[i]); at++)
        sums[piece++] = of_part[at];
    }
    u.ranges = whole, u.range_count = 3;
    ops->square_of(c, &u, sums);
    u.leaves = true;
    for (int i = 0; i < 4; i++) {
      u.ranges = &cut[i], u.range_count = 1;
      ops->update(c, &u);
    }
    for (int64_t i = 0; i < PARTED; i++)
      right = right && u.gradients[i] == (i < DENSE || i >= DENSE + EMBEDDING ? u.values[i] : state[0][1][i]);
  }
  right = right && square[0] == square[1];
  for (int k = 0; k < 4; k += k ? 1 : 2)
    right = right && memcmp(state[0][k], state[1][k], PARTED * sizeof(real)) == 0;
  emit(out, "the bits of the whole", &(real){right ? 1 : (real)NAN}, 1);
  emit(out, "values", state[0][0], PARTED);
  case_free(&m);
}

/* ---- a copy of 16 bits ---- */

/* A constant gradient, then none: the second moment falls as in double precision, which 16 bits could not hold (a step of 0.999
 * is below half of their last place). The copy is the values, rounded, after each step. */
static void falling(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { VALUES = CASE_ON_HOST ? 20011 : 1301, RISE = 20, FALL = 400 };
  const bool with_copy = *(const bool *)parameters;
  case_memory m = {0};
  inputs in = {43};
  real *values = case_values(&m, &in, VALUES, 1), *gradients = case_fill(&m, VALUES, 0);
  real *moment1 = case_fill(&m, VALUES, 0), *moment2 = case_fill(&m, VALUES, 0);
  brim_bfloat *copy = case_alloc(&m, VALUES * sizeof *copy), *rounded = case_alloc(&m, VALUES * sizeof *rounded);
  const brim_update_range range = {.count = VALUES, .decay = true, .rate = 1, .copy = with_copy ? copy : NULL};
  brim_update u = {.values = values,
                   .gradients = gradients,
                   .states[0] = moment1,
                   .states[1] = moment2,
                   .ranges = &range,
                   .range_count = 1,
                   .step = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01}};
  double second = 0, square;
  bool right = true;
  u.square = &square;
  for (int step = 1; step <= RISE + FALL; step++) {
    const double g = step <= RISE ? 0.25 : 0;
    for (int64_t i = 0; i < VALUES; i++)
      gradients[i] = (real)g;
    u.step.correction1 = 1 - pow(u.step.beta1, step);
    u.step.correction2 = 1 - pow(u.step.beta2, step);
    ops->gradient_square(c, &u);
    ops->update(c, &u);
    second = second * 0.999 + 0.001 * g * g;
    ops->narrow(c, &(brim_to_bfloat){.count = VALUES, .x = values, .y = rounded});
    right = right && (!with_copy || memcmp(copy, rounded, VALUES * sizeof *copy) == 0);
  }
  for (int64_t i = 0; i < VALUES; i++)
    right = right && fabs((double)moment2[i] / second - 1) < 2e-5;
  emit(out, "second moment as it should be, copy as the values", &(real){right ? 1 : (real)NAN}, 1);
  emit(out, "values", values, VALUES);
  emit(out, "second moments", moment2, VALUES);
  case_free(&m);
}

/* ---- late rows ---- */

enum { LATE_ROWS = 90, LATE_STEPS = 3 * BRIM_UPDATE_PAST + 20, WIDE = 52, NARROW = 7, LATE = LATE_ROWS * (WIDE + NARROW) };

/* Two tables, whose rows are updated in every step, or late. */
typedef struct embeddings {
  real values[LATE], gradients[LATE], start[LATE], states[BRIM_MOST_STATES][LATE];
  uint8_t touched[2 * LATE_ROWS], alive[2 * LATE_ROWS], done[2 * LATE_ROWS], wanted[2 * LATE_ROWS];
  brim_update_step past[BRIM_UPDATE_PAST];
  brim_update_range ranges[2];
  brim_update u;
} embeddings;

/* A tenth of the values is too small for a normal float, but where rows are walked: in every step, with a gradient of 0 where
 * there is none, without a look at what may be left out. */
typedef enum pace { LATE_ONES, PROMPT, WALKED } pace;
static void make_embeddings(embeddings *t, pace how, bool small, const setting *s) {
  const bool late = how == LATE_ONES;
  inputs in = {77};
  memset(t, 0, sizeof *t);
  for (int64_t i = 0; i < LATE; i++)
    t->values[i] = (real)((next_unit(&in) - 0.5) * (small && next_unit(&in) < 0.1 ? 1e-38 : 1));
  for (int i = 0; i < 2; i++)
    t->ranges[i] = (brim_update_range){.offset = i ? LATE_ROWS * WIDE : 0,
                                       .count = LATE_ROWS * (i ? NARROW : WIDE),
                                       .decay = i == 0,
                                       .rate = 0.75,
                                       .row_size = i ? NARROW : WIDE,
                                       .returns = s->returns,
                                       .touched = how == WALKED ? NULL : t->touched + i * LATE_ROWS,
                                       .alive = how == WALKED ? NULL : t->alive + i * LATE_ROWS,
                                       .done = late ? t->done + i * LATE_ROWS : NULL,
                                       .wanted = t->wanted + i * LATE_ROWS};
  memcpy(t->start, t->values, sizeof t->start);
  t->u = (brim_update){.rule = s->rule,
                       .values = t->values,
                       .gradients = t->gradients,
                       .states = {t->states[0], t->states[1]},
                       .start = t->start,
                       .ranges = t->ranges,
                       .range_count = 2,
                       .past = t->past};
}

/* Every step has numbers of its own; some have no decay, some no rate, as in a warm-up. */
static void next_step(inputs *in, brim_update *u, int step) {
  u->step = (brim_update_step){.lr = step % 9 == 1 ? 0 : 1e-3 * next_unit(in),
                               .beta1 = 0.8 + 0.1 * next_unit(in),
                               .beta2 = 0.99 + 0.009 * next_unit(in),
                               .eps = 1e-8 * (1 + next_unit(in)),
                               .weight_decay = step % 5 == 2 ? 0 : next_unit(in),
                               .correction1 = 1 - pow(0.9, step),
                               .correction2 = 1 - pow(0.999, step),
                               .momentum = 0.5 + 0.4 * next_unit(in),
                               .number = (uint64_t)step};
  u->clip = step % 3 ? 0.5 : 0;
}

static void touch_some(inputs *in, embeddings *a, embeddings *b) {
  for (int64_t row = 0; row < 2 * LATE_ROWS; row++) {
    const int64_t size = row < LATE_ROWS ? WIDE : NARROW;
    const int64_t first = row < LATE_ROWS ? row * WIDE : LATE_ROWS * WIDE + (row - LATE_ROWS) * NARROW;
    /* the last rows never, and some others rarely */
    a->touched[row] = b->touched[row] = row % LATE_ROWS < LATE_ROWS - 5 && next_unit(in) < (row % 3 ? 0.1 : 0.01);
    for (int64_t k = 0; a->touched[row] && k < size; k++)
      a->gradients[first + k] = b->gradients[first + k] = (real)((next_unit(in) - 0.5) * 1e-3);
  }
}

static bool same_row(const embeddings *a, const embeddings *b, int64_t row) {
  const int64_t size = row < LATE_ROWS ? WIDE : NARROW;
  const int64_t first = row < LATE_ROWS ? row * WIDE : LATE_ROWS * WIDE + (row - LATE_ROWS) * NARROW;
  const size_t bytes = (size_t)size * sizeof(real);
  return memcmp(a->values + first, b->values + first, bytes) == 0 &&
         memcmp(a->states[0] + first, b->states[0] + first, bytes) == 0 &&
         memcmp(a->states[1] + first, b->states[1] + first, bytes) == 0;
}

/* Rows that are wanted now and then, and all of them when the past is full: those must be what they are without delay. */
static void catch_up_some(const brim_ops *ops, brim_ops_context *c, inputs *in, embeddings *late, const embeddings *dense,
                          int *wrong) {
  const bool all = late->u.past_count == BRIM_UPDATE_PAST || next_unit(in) < 0.01;
  for (int64_t row = 0; row < 2 * LATE_ROWS; row++)
    late->wanted[row] = row % LATE_ROWS > 2 && next_unit(in) < 0.05;
  late->u.all = all;
  ops->catch_up(c, &late->u);
  for (int64_t row = 0; row < 2 * LATE_ROWS; row++)
    if (all || late->wanted[row])
      *wrong += !same_row(late, dense, row) || late->done[row] != late->u.past_count;
  if (all) {
    memset(late->done, 0, sizeof late->done);
    late->u.past_count = 0;
  }
}

static void late_rows_of(const brim_ops *ops, brim_ops_context *c, int threads, const setting *s, pace other) {
  case_memory m = {0};
  embeddings *late = case_alloc(&m, sizeof *late), *dense = case_alloc(&m, sizeof *dense);
  inputs in = {5};
  int wrong = 0, waited = 0;
  make_embeddings(late, LATE_ONES, other != WALKED, s);
  make_embeddings(dense, other, other != WALKED, s);
  late->u.square = case_alloc(&m, sizeof *late->u.square);
  for (int step = 1; step <= LATE_STEPS; step++) {
    next_step(&in, &late->u, step);
    touch_some(&in, late, dense);
    ops->gradient_square(c, &late->u);
    dense->u.step = late->u.step, dense->u.clip = late->u.clip, dense->u.square = late->u.square;
    ops->update(c, &late->u);
    ops->update(c, &dense->u);
    late->past[late->u.past_count] = late->u.step;
    late->past[late->u.past_count++].lr *= 0.75;
    for (int64_t row = 0; row < LATE_ROWS; row++)
      waited += !same_row(late, dense, row);
    catch_up_some(ops, c, &in, late, dense, &wrong);
  }
  late->u.all = true;
  ops->catch_up(c, &late->u);
  ok(wrong == 0 && memcmp(late->values, dense->values, sizeof late->values) == 0 &&
         memcmp(late->states[0], dense->states[0], sizeof late->states[0]) == 0 &&
         memcmp(late->states[1], dense->states[1], sizeof late->states[1]) == 0 &&
         memcmp(late->gradients, dense->gradients, sizeof late->gradients) == 0,
     "%s, %d threads, %s%s: rows that are late have the bits of those that are %s (%d wrong)", ops->name, threads,
     rules[s->rule].name, s->returns ? " with decay towards the start" : "", other == WALKED ? "walked" : "not", wrong);
  ok(waited > LATE_STEPS * LATE_ROWS / 4, "and they were late: %d times", waited);
  case_free(&m);
}

static void late_rows(const brim_ops *ops, brim_ops_context *c, int threads) {
  for (int rule = 0; rule < BRIM_RULES; rule++)
    for (int returns = 0; returns < 2; returns++)
      for (int other = PROMPT; other <= WALKED; other++)
        if (CASE_ON_HOST || (rule == BRIM_RULE_ADAMW && !returns && other == PROMPT))
          late_rows_of(ops, c, threads, &(setting){.rule = (brim_rule)rule, .returns = returns}, (pace)other);
}

/* Rows with a state that is not 0, however small. */
static void alive(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { MARKED = 90, COLUMNS = 150 };
  (void)parameters;
  case_memory m = {0};
  inputs in = {73};
  int wrong = 0;
  uint8_t *marks = case_alloc(&m, MARKED);
  real *moment1 = case_fill(&m, MARKED * COLUMNS, 0), *moment2 = case_fill(&m, MARKED * COLUMNS, 0), got[MARKED];
  for (int i = 0; i < MARKED; i++)
    (i % 2 ? moment1 : moment2)[i * COLUMNS + (int)(next_unit(&in) * COLUMNS)] = i % 5 ? (real)1e-30 : 0;
  moment1[0] = moment2[MARKED * COLUMNS - 1] = 1;
  const brim_update_range range = {.count = MARKED * COLUMNS, .row_size = COLUMNS, .alive = marks};
  ops->mark_alive(c, &(brim_update){.states[0] = moment1, .states[1] = moment2, .ranges = &range, .range_count = 1});
  for (int i = 0; i < MARKED; i++) {
    got[i] = (real)marks[i];
    wrong += marks[i] != (i % 5 != 0 || i == 0);
  }
  emit(out, "alive", got, MARKED);
  emit(out, "as they should be", &(real){wrong ? (real)NAN : 1}, 1);
  case_free(&m);
}

#ifndef BRIM_CASE_CUDA
static void check_late(const brim_ops *ops, int threads) {
  static double sums[1024];
  brim_ops_context c = {.workspace = sums, .workspace_size = sizeof sums};
  const brim_runtime_options options = {.threads = threads};
  if (brim_runtime_new(&options, &c.runtime, NULL))
    abort();
  late_rows(ops, &c, threads);
  brim_runtime_free(c.runtime);
}

static void check_all_late(void) {
#ifdef BRIM_REAL_DOUBLE
  check_late(case_counted(brim_ops_ref()), 1);
#else
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
    const brim_ops *ops = level < 0 ? brim_ops_ref() : brim_ops_cpu((brim_cpu_level)level);
    check_late(case_counted(ops), 1);
    check_late(case_counted(ops), 3);
  }
#endif
}
#endif

/* ---- mixout ---- */

/* What is mixed is the start, or the start and so much more of what was learnt; the gradient is 0, or so much more. In parts,
 * from wherever they are cut, it is the same. */
static void mixout(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { WHOLE = 3 * BRIM_UPDATE_PIECE + 77, FIRST = BRIM_UPDATE_PIECE + 37 };
  const double p = *(const double *)parameters;
  const uint32_t key[2] = {5, 6};
  case_memory m = {0};
  inputs in = {46};
  real *values = case_values(&m, &in, WHOLE, 1), *start = case_values(&m, &in, WHOLE, 1), *kept = case_fill(&m, WHOLE, 0);
  real *gradients = case_values(&m, &in, WHOLE, 1), *before = case_fill(&m, WHOLE, 0), *slope = case_fill(&m, WHOLE, 0);
  int64_t dropped = 0, wrong = 0;
  const brim_update_range ranges[] = {{.count = FIRST, .mixed = true},
                                      {.offset = FIRST, .count = ODD},
                                      {.offset = FIRST + ODD, .count = WHOLE - FIRST - ODD, .mixed = true}};
  const brim_update_range cut[] = {{.count = 1 << 10, .mixed = true},
                                   {.offset = 1 << 10, .count = FIRST - (1 << 10), .mixed = true}};
  brim_mixout op = {.values = values,
                    .gradients = gradients,
                    .kept = kept,
                    .start = start,
                    .ranges = ranges,
                    .range_count = 3,
                    .dropout = brim_dropout_make(p, key, 0)};
  const real scale = op.dropout.scale;
  memcpy(before, values, WHOLE * sizeof *before);
  memcpy(slope, gradients, WHOLE * sizeof *slope);
  ops->mixout_forward(c, &op);
  op.ranges = &cut[1], op.range_count = 1;
  ops->mixout_backward(c, &op);
  op.ranges = cut;
  ops->mixout_backward(c, &op);
  op.ranges = &ranges[1], op.range_count = 2;
  ops->mixout_backward(c, &op);
  for (int64_t i = 0; i < WHOLE; i++) {
    const bool mixed = i < FIRST || i >= FIRST + ODD, drop = mixed && gradients[i] == 0;
    const real whole = mixed ? start[i] + (before[i] - start[i]) * scale : before[i];
    dropped += drop;
    wrong += mixed && kept[i] != before[i];
    wrong += drop ? values[i] != start[i] : !(fabs((double)(values[i] - whole)) <= 1e-6 * fabs((double)scale));
    wrong += !drop && gradients[i] != (mixed ? slope[i] * scale : slope[i]);
  }
  const double share = (double)dropped / (WHOLE - ODD);
  emit(out, "start or more, in the right share", &(real){wrong == 0 && fabs(share - p) < 0.01 ? 1 : (real)NAN}, 1);
  emit(out, "values", values, WHOLE);
  emit(out, "gradients", gradients, WHOLE);
  ops_compared(false); /* with the formula, number by number */
  case_free(&m);
}

CASES(update) {
  static const setting settings[] = {{.clip = 0}, {.clip = 1}, {.decay = 0.01, .clip = 1}, {.decay = 0.1, .clip = 1e9}};
  const brim_ops_limits limits = {
      .max_slots = 1, .max_sequences = 1, .max_length = 1, .hidden = 8, .intermediate = 8, .heads = 1};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char name[64];
    snprintf(name, sizeof name, "4 steps, decay %g, clip %g", settings[i].decay, settings[i].clip);
    check_case(name, &limits, steps, &settings[i], 2e-6);
  }
  for (int rule = 0; rule < BRIM_RULES && CASE_ON_HOST; rule++)
    for (int i = 0; i < 4; i++) {
      char name[64];
      const setting s = {i > 0 ? 0.1 : 0, i == 1, (brim_rule)rule, i == 3};
      snprintf(name, sizeof name, "4 steps of %s, decay %g%s, clip %g", rules[rule].name, s.decay,
               s.returns ? " to the start" : "", s.clip);
      check_case(name, &limits, steps, &s, 2e-6);
    }
  static const double shares[] = {0.1, 0.7};
  for (int i = 0; i < 2 && CASE_ON_HOST; i++)
    check_case(i ? "mixout of 0.7" : "mixout of 0.1", &limits, mixout, &shares[i], 2e-6);
  static const bool copies[] = {false, true};
  for (int i = 0; i < 2; i++)
    check_case(copies[i] ? "a gradient, then none, with a copy in 16 bits" : "a gradient, then none", &limits, falling,
               &copies[i], 1e-5);
  static const double some_losses[] = {3, -1e300, INFINITY, -INFINITY, (double)NAN};
  for (int i = 0; i < 5; i++) {
    char name[64];
    snprintf(name, sizeof name, "losses of a step, one of them %g", some_losses[i]);
    check_case(name, &limits, losses, &some_losses[i], 2e-6);
  }
  check_case("in parts", &limits, parts, NULL, 2e-6);
  check_case("rows with moments", &limits, alive, NULL, 0);
#ifdef BRIM_CASE_CUDA
  on_the_card(&limits, late_rows);
#else
  check_all_late();
#endif
}
