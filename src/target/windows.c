/* windows.c: losses of rows whose texts are windows of a long one: those of the device, of the mean of the windows' logits. A
 * part has whole rows, so that each is computed where it is. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "target/target.h"
#include "task/task.h"

/* The loss of one row's mean logits z [width], and its gradient by them; divided by nothing. */
typedef double (*row_loss)(const double *z, const float *label, int32_t width, double *gradient);

static double cross_entropy(const double *z, const float *label, int32_t width, double *gradient) {
  const int32_t class = (int32_t)*label;
  double top = z[0], sum = 0;
  for (int32_t k = 1; k < width; k++)
    top = z[k] > top ? z[k] : top;
  for (int32_t k = 0; k < width; k++)
    sum += exp(z[k] - top);
  for (int32_t k = 0; k < width; k++)
    gradient[k] = exp(z[k] - top) / sum - (k == class);
  return brim_log_sum_exp(top, sum) - z[class];
}

static double squared_error(const double *z, const float *label, int32_t width, double *gradient) {
  double loss = 0;
  for (int32_t k = 0; k < width; k++) {
    const double error = z[k] - (double)label[k];
    loss += error * error / width;
    gradient[k] = 2 * error / width;
  }
  return loss;
}

static double binary(const double *z, const float *label, int32_t width, double *gradient) {
  double loss = 0;
  for (int32_t k = 0; k < width; k++) {
    loss += brim_binary_loss(z[k], (double)label[k], 1) / width;
    gradient[k] = (1 / (1 + exp(-z[k])) - (double)label[k]) / width;
  }
  return loss;
}

double brim_mean_of_windows(const float *values, int32_t windows, int32_t width) {
  double sum = 0;
  for (int32_t t = 0; t < windows; t++)
    sum += (double)values[(int64_t)t * width];
  return sum / windows;
}

/* The gradient of a mean is the same for each of its windows. */
static int loss_of(row_loss of_row, brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss,
                   brim_error *err) {
  double *mean = brim_alloc_array(runtime, 2 * (size_t)o->width, sizeof *mean), *by = mean + o->width;
  if (!mean)
    return BRIM_NOMEM(err);
  *loss = 0;
  for (int32_t r = 0; r < o->rows; r++) {
    const int32_t first = o->firsts ? o->firsts[r] : r, count = o->firsts ? o->firsts[r + 1] - first : 1;
    for (int32_t k = 0; k < o->width; k++)
      mean[k] = brim_mean_of_windows(o->values + (int64_t)first * o->width + k, count, o->width);
    *loss += of_row(mean, o->labels + (int64_t)r * o->label_width, o->width, by) / divisor;
    for (int32_t t = first; t < first + count; t++)
      for (int32_t k = 0; k < o->width; k++)
        gradient[(int64_t)t * o->width + k] = (float)(by[k] / (divisor * count));
  }
  brim_release(runtime, mean);
  return BRIM_OK;
}

#define LOSS(name)                                                                                                               \
  static int loss_##name(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss,            \
                         brim_error *err) {                                                                                      \
    return loss_of(name, runtime, o, divisor, gradient, loss, err);                                                              \
  }
LOSS(cross_entropy)
LOSS(squared_error)
LOSS(binary)

const brim_target *brim_target_of_windows(brim_task task) {
  static const brim_target targets[] = {[BRIM_LOSS_CROSS_ENTROPY] = {.scope = BRIM_LOSS_OF_PART, .loss = loss_cross_entropy},
                                        [BRIM_LOSS_SQUARED_ERROR] = {.scope = BRIM_LOSS_OF_PART, .loss = loss_squared_error},
                                        [BRIM_LOSS_BINARY] = {.scope = BRIM_LOSS_OF_PART, .loss = loss_binary}};
  const brim_task_rules *rules = brim_task_rules_of(task);
  const bool own = brim_target_of(task) && brim_target_of(task)->scope != BRIM_LOSS_ON_DEVICE;
  return !rules || rules->shape.outputs != BRIM_OUTPUTS_OF_TEXTS || own ? NULL : &targets[rules->loss];
}

bool brim_target_has_windows(brim_task task) {
  return brim_task_has_tokens(task) || brim_target_of_windows(task);
}
