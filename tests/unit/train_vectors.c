/* The loss of a teacher's vectors: by hand, and its gradient by differences; one vector a row, or one for each text. */
#include "base/runtime.h"
#include "tap.h"
#include "target/vector_loss.h"

enum { ROWS = 2, TEXTS = 5, WIDTH = 3, TAUGHT = 2 };
static const int32_t firsts[ROWS + 1] = {0, 2, TEXTS};
static double values[TEXTS * WIDTH] = {0.5, -1, 2, 1, 0.25, -3, -0.5, 1.5, 1, 2, 0, 1, 1, 1, -1};
static const double teacher[TEXTS * TAUGHT] = {1, 0, -1, 0.5, 2, 2, 0.25, 1, -2, 0};

static double compute(const brim_vector_rows *rows, double *gradient) {
  brim_vector_loss loss;
  brim_error err;
  double value = NAN;
  char work[512];
  if (!brim_vector_loss_named("mse-vectors", strlen("mse-vectors"), &loss) ||
      brim_vector_loss_work(&loss, ROWS, TEXTS, WIDTH) > sizeof work ||
      brim_vector_loss_compute(NULL, &loss, rows, work, gradient, &value, NULL, &err))
    return NAN;
  return value;
}

static void check(bool of_texts) {
  const brim_vector_rows rows = {.rows = ROWS,
                                 .width = WIDTH,
                                 .firsts = firsts,
                                 .values = values,
                                 .teacher = teacher,
                                 .teacher_width = TAUGHT,
                                 .teacher_of_texts = of_texts};
  double gradient[TEXTS * WIDTH], ignored[TEXTS * WIDTH], wanted = 0, worst = 0;
  const double h = 1e-5, value = compute(&rows, gradient);
  for (int r = 0; r < ROWS; r++)
    for (int t = firsts[r]; t < firsts[r + 1]; t++)
      for (int i = 0; i < TAUGHT; i++) {
        const double error = values[t * WIDTH + i] - teacher[(of_texts ? t : r) * TAUGHT + i];
        wanted += error * error / (ROWS * TAUGHT * (firsts[r + 1] - firsts[r]));
      }
  for (int i = 0; i < TEXTS * WIDTH; i++) {
    const double was = values[i];
    values[i] = was + h;
    const double above = compute(&rows, ignored);
    values[i] = was - h;
    worst = fmax(worst, fabs((above - compute(&rows, ignored)) / (2 * h) - gradient[i]));
    values[i] = was;
  }
  ok(fabs(value - wanted) < 1e-14 && worst < 1e-9, "a vector of each %s: the loss by hand, the gradient by differences (%.1e)",
     of_texts ? "text" : "row", worst);
}

static void check_refused(void) {
  brim_vector_loss loss;
  brim_error err;
  double gradient[TEXTS * WIDTH], value;
  char work[512];
  brim_vector_rows rows = {.rows = ROWS, .width = WIDTH, .firsts = firsts, .values = values};
  if (!brim_vector_loss_named("mse-vectors", strlen("mse-vectors"), &loss))
    return;
  ok(brim_vector_loss_compute(NULL, &loss, &rows, work, gradient, &value, NULL, &err) == BRIM_E_MISMATCH, "none: %s",
     err.message);
  rows.teacher = teacher, rows.teacher_width = WIDTH + 1;
  ok(brim_vector_loss_compute(NULL, &loss, &rows, work, gradient, &value, NULL, &err) == BRIM_E_MISMATCH, "longer ones: %s",
     err.message);
}

int main(void) {
  check(false);
  check(true);
  check_refused();
  return tap_done();
}
