/* ops_update.c: the gradient's norm and AdamW of every table, over several steps, with embeddings of which few rows are touched.
 */
#include "ops_case.h"

enum { DENSE = 40000, ODD = 37, ROW = 48, ROWS = 700, FLAT = DENSE + 48 + ROW * ROWS };

typedef struct setting {
  double decay, clip;
} setting;

static void steps(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {41};
  real *values = case_values(&m, &in, FLAT, 1), *gradients = case_fill(&m, FLAT, 0);
  real *moment1 = case_fill(&m, FLAT, 0), *moment2 = case_fill(&m, FLAT, 0), norms[4];
  uint8_t *touched = case_alloc(&m, ROWS), *alive = case_alloc(&m, ROWS);
  memset(alive, 0, ROWS);
  const brim_update_range ranges[] = {
      {.offset = 0, .count = DENSE, .decay = true, .rate = 1},
      {.offset = DENSE, .count = ODD, .rate = 0.25},
      {.offset = DENSE + 48,
       .count = ROW * ROWS,
       .decay = true,
       .rate = 0.9,
       .row_size = ROW,
       .touched = touched,
       .alive = alive},
  };
  brim_update u = {.values = values,
                   .gradients = gradients,
                   .moment1 = moment1,
                   .moment2 = moment2,
                   .ranges = ranges,
                   .range_count = 3,
                   .lr = 1e-2,
                   .beta1 = 0.9,
                   .beta2 = 0.999,
                   .eps = 1e-8,
                   .weight_decay = s->decay,
                   .clip = s->clip};
  for (int step = 1; step <= 4; step++) {
    for (int64_t i = 0; i < DENSE + ODD; i++)
      gradients[i] = (real)(next_unit(&in) - 0.5);
    for (int64_t row = 0; row < ROWS; row++) {
      touched[row] = next_unit(&in) < 0.1;
      for (int64_t k = 0; touched[row] && k < ROW; k++)
        gradients[DENSE + 48 + row * ROW + k] = (real)(next_unit(&in) - 0.5);
    }
    const double square = ops->gradient_square(c, &u);
    norms[step - 1] = (real)square;
    u.norm = sqrt(square);
    u.correction1 = 1 - pow(u.beta1, step);
    u.correction2 = 1 - pow(u.beta2, step);
    ops->adamw(c, &u);
  }
  emit(out, "squares", norms, 4);
  emit(out, "values", values, FLAT);
  emit(out, "gradients", gradients, FLAT);
  emit(out, "first moments", moment1, FLAT);
  emit(out, "second moments", moment2, FLAT);
  case_free(&m);
}

int main(void) {
  static const setting settings[] = {{0, 0}, {0, 1}, {0.01, 1}, {0.1, 1e9}};
  const brim_ops_limits limits = {
      .max_slots = 1, .max_sequences = 1, .max_length = 1, .hidden = 8, .intermediate = 8, .heads = 1};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char name[64];
    snprintf(name, sizeof name, "4 steps, decay %g, clip %g", settings[i].decay, settings[i].clip);
    check_case(name, &limits, steps, &settings[i], 2e-6);
  }
  return tap_done();
}
