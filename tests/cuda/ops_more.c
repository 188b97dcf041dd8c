/* ops_more.c: what the processor's cases leave out: every loss with weights and smoothing, more ranges than a launch takes, a
 * gradient that is not finite, rows with moments. */
#include "ops_case.h"

static void all_losses(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { ROWS = 300, CLASSES = 5 };
  case_memory m = {0};
  inputs in = {71};
  (void)parameters;
  real *logits = case_values(&m, &in, ROWS * CLASSES, 4), *d = case_fill(&m, ROWS * CLASSES, 7);
  float *labels = case_alloc(&m, ROWS * CLASSES * sizeof *labels);
  double weights[CLASSES] = {0.5, 2, 1, 0.25, 3}, loss = 0;
  for (int kind = 0; kind < 3; kind++) {
    for (int i = 0; i < ROWS * CLASSES; i++)
      labels[i] = (float)(next_unit(&in) * (kind == BRIM_LOSS_CROSS_ENTROPY ? CLASSES : kind == BRIM_LOSS_BINARY ? 2 : 1));
    for (int i = 0; i < ROWS * CLASSES && kind != BRIM_LOSS_SQUARED_ERROR; i++)
      labels[i] = floorf(labels[i]);
    for (int without = 0; without < 2; without++) {
      ops->loss(c, &(brim_loss){.n = ROWS,
                                .outputs = CLASSES,
                                .kind = (brim_loss_kind)kind,
                                .logits = logits,
                                .labels = labels,
                                .weights = without || kind == BRIM_LOSS_SQUARED_ERROR ? NULL : weights,
                                .smoothing = without ? 0 : 0.1,
                                .divisor = 123,
                                .loss = &loss,
                                .dlogits = d});
      emit(out, "loss", &(real){(real)loss}, 1);
      emit(out, "dlogits", d, ROWS * CLASSES);
    }
  }
  int32_t *classes = case_alloc(&m, ROWS * sizeof *classes);
  for (int i = 0; i < ROWS; i++)
    classes[i] = i % 7 ? (int32_t)(next_unit(&in) * CLASSES) : -100;
  ops->loss(c, &(brim_loss){.n = ROWS,
                            .outputs = CLASSES,
                            .kind = BRIM_LOSS_CROSS_ENTROPY,
                            .logits = logits,
                            .classes = classes,
                            .divisor = 9,
                            .loss = &loss,
                            .dlogits = d});
  emit(out, "loss of classes", &(real){(real)loss}, 1);
  emit(out, "dlogits of classes", d, ROWS * CLASSES);
  case_free(&m);
}

/* More slots than a block has threads; rows of the table that come once, early and late, or never. */
static void many_slots(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { SLOTS = 700, WORDS = 500, WIDE = 9 };
  const int lengths[] = {SLOTS};
  case_memory m = {0};
  inputs in = {74};
  (void)parameters;
  const brim_layout layout = case_layout(&m, 1, lengths, 0);
  int32_t *ids = case_alloc(&m, SLOTS * sizeof *ids);
  for (int i = 0; i < SLOTS; i++)
    ids[i] = i < SLOTS / 2 ? i : (int32_t)(next_unit(&in) * WORDS);
  real *dword = case_values(&m, &in, WORDS * WIDE, 1);
  ops->embed_backward(c, &(brim_embed){.layout = layout,
                                       .ids = ids,
                                       .word = dword,
                                       .hidden = WIDE,
                                       .sum = case_fill(&m, SLOTS * WIDE, 7),
                                       .dout = case_values(&m, &in, SLOTS * WIDE, 1),
                                       .dsum = case_fill(&m, SLOTS * WIDE, 7),
                                       .dword = dword});
  emit(out, "dword", dword, WORDS * WIDE);
  case_free(&m);
}

/* More rows than a block sums up: gradients of a bias, of a norm, and of types, as many as are told or not. */
static void many_rows(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { ROWS = 700, WIDE = 40, FEW = 12, TYPES = 3 };
  const int lengths[] = {ROWS};
  case_memory m = {0};
  inputs in = {78};
  (void)parameters;
  const brim_layout layout = case_layout(&m, 1, lengths, 0);
  int32_t *ids = case_alloc(&m, ROWS * sizeof *ids);
  uint8_t *types = case_alloc(&m, ROWS);
  for (int i = 0; i < ROWS; i++)
    ids[i] = i % 5, types[i] = (uint8_t)(next_unit(&in) * TYPES);
  real *db = case_values(&m, &in, FEW, 1), *dw = case_values(&m, &in, FEW * WIDE, 1);
  ops->linear_backward(c, &(brim_linear_gradient){.rows = ROWS,
                                                  .in = WIDE,
                                                  .out = FEW,
                                                  .x = case_values(&m, &in, ROWS * WIDE, 0.1),
                                                  .x_stride = WIDE,
                                                  .dy = case_values(&m, &in, ROWS * FEW, 0.1),
                                                  .dy_stride = FEW,
                                                  .dw = dw,
                                                  .db = db});
  emit(out, "db", db, FEW);
  emit(out, "dw", dw, FEW * WIDE);
  real *sum = case_values(&m, &in, ROWS * WIDE, 1), *mean = case_fill(&m, ROWS, 0), *rstd = case_fill(&m, ROWS, 1.5),
       *dout = case_values(&m, &in, ROWS * WIDE, 0.1), *gamma = case_values(&m, &in, WIDE, 1), *word = case_fill(&m, 5 * WIDE, 0);
  for (int told = 0; told < 3; told++) { /* the last: all of one type */
    real *dtype = case_values(&m, &in, TYPES * WIDE, 1), *dgamma = case_values(&m, &in, WIDE, 1),
         *dbeta = case_values(&m, &in, WIDE, 1);
    ops->embed_backward(c, &(brim_embed){.layout = layout,
                                         .ids = ids,
                                         .type_ids = told < 2 ? types : NULL,
                                         .types = told ? TYPES : 0,
                                         .word = word,
                                         .type = word,
                                         .gamma = gamma,
                                         .hidden = WIDE,
                                         .sum = sum,
                                         .mean = mean,
                                         .rstd = rstd,
                                         .dout = dout,
                                         .dsum = case_fill(&m, ROWS * WIDE, 7),
                                         .dtype = dtype,
                                         .dgamma = dgamma,
                                         .dbeta = told ? NULL : dbeta});
    emit(out, "dtype", dtype, TYPES * WIDE);
    emit(out, "dgamma", dgamma, WIDE);
    emit(out, "dbeta", dbeta, WIDE);
  }
  case_free(&m);
}

/* Rows that are of no text have masks too. */
static void free_rows(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { ROWS = 37, WIDE = 100 };
  case_memory m = {0};
  inputs in = {75};
  const uint32_t key[2] = {11, 12};
  (void)parameters;
  real *y = case_fill(&m, ROWS * WIDE, 7);
  ops->dropout(c, &(brim_dropout_rows){.at = {.count = ROWS},
                                       .width = WIDE,
                                       .dropout = brim_dropout_make(0.3, key, 5),
                                       .x = case_values(&m, &in, ROWS * WIDE, 1),
                                       .y = y});
  emit(out, "dropped", y, ROWS * WIDE);
  case_free(&m);
}

enum { RANGES = 70, SIZE = 131 };

static brim_update many_ranges(case_memory *m, inputs *in, brim_update_range *ranges, double *square) {
  for (int i = 0; i < RANGES; i++)
    ranges[i] = (brim_update_range){.offset = i * SIZE, .count = SIZE - i % 3, .decay = i % 2, .rate = 1 - i * 0.01};
  return (brim_update){
      .values = case_values(m, in, RANGES * SIZE, 1),
      .gradients = case_values(m, in, RANGES * SIZE, 1),
      .states[0] = case_values(m, in, RANGES * SIZE, 0.1),
      .states[1] = case_fill(m, RANGES * SIZE, (real)0.01),
      .ranges = ranges,
      .range_count = RANGES,
      .step =
          {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .correction1 = 0.1, .correction2 = 0.001},
      .clip = 1,
      .square = square};
}

static void ranges(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const bool broken = *(const bool *)parameters;
  case_memory m = {0};
  inputs in = {72};
  brim_update_range list[RANGES];
  double square = 0;
  const brim_update u = many_ranges(&m, &in, list, &square);
  if (broken)
    u.gradients[RANGES * SIZE / 2] = (real)INFINITY;
  ops->gradient_square(c, &u);
  ops->update(c, &u);
  emit(out, "square", &(real){broken ? isfinite(square) : (real)square}, 1);
  if (broken)
    u.gradients[RANGES * SIZE / 2] = 0;
  emit(out, "values", u.values, RANGES * SIZE);
  emit(out, "gradients", u.gradients, RANGES * SIZE);
  emit(out, "first moments", u.states[0], RANGES * SIZE);
  emit(out, "second moments", u.states[1], RANGES * SIZE);
  case_free(&m);
}

static void alive(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { ROWS = 90, WIDE = 150 };
  case_memory m = {0};
  inputs in = {73};
  (void)parameters;
  uint8_t *marks = case_alloc(&m, ROWS);
  real *moment1 = case_fill(&m, ROWS * WIDE, 0), *moment2 = case_fill(&m, ROWS * WIDE, 0), got[ROWS];
  for (int i = 0; i < ROWS; i++)
    (i % 2 ? moment1 : moment2)[i * WIDE + (int)(next_unit(&in) * WIDE)] = i % 5 ? (real)1e-9 : 0;
  moment1[0] = moment2[ROWS * WIDE - 1] = 1;
  const brim_update_range range = {.count = ROWS * WIDE, .row_size = WIDE, .alive = marks};
  ops->mark_alive(c, &(brim_update){.states[0] = moment1, .states[1] = moment2, .ranges = &range, .range_count = 1});
  for (int i = 0; i < ROWS; i++)
    got[i] = (real)marks[i];
  emit(out, "alive", got, ROWS);
  case_free(&m);
}

int main(void) {
  static const bool broken[] = {false, true};
  const brim_ops_limits limits = {
      .max_slots = 1, .max_sequences = 1, .max_length = 1, .hidden = 8, .intermediate = 8, .heads = 1};
  brim_ops_limits large = limits, distant = limits;
  large.max_slots = distant.distances = 700;
  check_case("losses", &limits, all_losses, NULL, 1e-6);
  check_case("70 ranges", &limits, ranges, &broken[0], 1e-6);
  check_case("a gradient that is not finite", &limits, ranges, &broken[1], 0);
  check_case("rows with moments", &limits, alive, NULL, 0);
  check_case("a table, 700 slots", &limits, many_slots, NULL, 1e-6);
  check_case("sums of 700 rows, in pieces", &large, many_rows, NULL, 1e-5);
  check_case("sums of 700 rows, without room for pieces", &limits, many_rows, NULL, 1e-5);
  ok(brim_ops_cuda()->workspace(NULL, &distant) == brim_ops_cuda()->workspace(NULL, &large),
     "few slots, and a table of 700 distances: there is room for pieces, which must not depend on the slots");
  check_case("rows of no text", &limits, free_rows, NULL, 0);
  return tap_done();
}
