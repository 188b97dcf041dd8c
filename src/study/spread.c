#include "study/spread.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct step_sums {
  double rows, tokens;
} step_sums;

/* Adds a part's rows to its step; returns the sum of squares of their lengths. */
static double add_part(step_sums *step, const brim_planned *part, const brim_plan_options *options, const brim_lengths *lengths) {
  const bool several = lengths->firsts; /* of which nothing is cut */
  double squares = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    int32_t length = lengths->lengths[part->rows[i]];
    length = !several && options->max_length && length > options->max_length ? options->max_length : length;
    length = part->cut && length > part->cut ? part->cut : length;
    step->rows += 1, step->tokens += length;
    squares += (double)length * length;
  }
  return squares;
}

/* Variance between steps over all variance, each from sums: between = sum of t_s^2 / n_s - T^2 / N. */
static void fill(const step_sums *steps, uint64_t count, double squares, brim_strategy_study *out) {
  double rows = 0, tokens = 0, between = 0, square_rows = 0;
  for (uint64_t s = 0; s < count; s++) {
    rows += steps[s].rows, tokens += steps[s].tokens, square_rows += steps[s].rows * steps[s].rows;
    between += steps[s].rows > 0 ? steps[s].tokens * steps[s].tokens / steps[s].rows : 0;
  }
  if (rows == 0)
    return;
  const double all = squares - tokens * tokens / rows, mean = rows / (double)count;
  out->step_rows = mean;
  out->step_rows_deviation = sqrt(fmax(square_rows / (double)count - mean * mean, 0));
  out->length_bias = all > 1e-9 * squares ? fmin(fmax((between - tokens * tokens / rows) / all, 0), 1) : 0;
}

int brim_spread_measure(brim_runtime *runtime, const brim_plan *plan, const brim_plan_options *options,
                        const brim_lengths *lengths, brim_strategy_study *out, brim_error *err) {
  const uint64_t count = brim_plan_steps(plan);
  const int32_t world = options->world_size > 0 ? options->world_size : 1;
  double squares = 0;
  step_sums *steps = brim_alloc_array_zero(runtime, count, sizeof *steps);
  if (!steps)
    return BRIM_NOMEM(err);
  for (int32_t rank = 0; rank < world; rank++)
    for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      squares += add_part(&steps[part.step], &part, options, lengths);
      out->cost += part.cost;
    }
  fill(steps, count, squares, out);
  brim_release(runtime, steps);
  return BRIM_OK;
}
