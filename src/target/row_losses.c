/* row_losses.c: losses that are means over rows, each of one row's texts alone. */
#include <math.h>

#include "target/vectors.h"

typedef struct row {
  const double *values; /* [texts, width] */
  double *gradient;
  const double *labels;
  const double *teacher; /* of the row, or of each text */
  int32_t texts, width, label_count, teacher_width;
  bool teacher_of_texts;
  double *work; /* [2, width] for cosines, [texts] for scores */
} row;

static const double *text_of(const row *r, int32_t k) {
  return r->values + (int64_t)k * r->width;
}

static double *gradient_of(const row *r, int32_t k) {
  return r->gradient + (int64_t)k * r->width;
}

static double cosine_row(const brim_vector_loss *loss, const row *r, double by) {
  const brim_cosine c = brim_cosine_of(text_of(r, 0), text_of(r, 1), r->width, BRIM_COSINE_EPS, r->work);
  const double error = c.value - r->labels[0];
  (void)loss;
  brim_cosine_add_gradient(&c, 2 * error * by, r->width, gradient_of(r, 0), gradient_of(r, 1));
  return error * error;
}

static double contrastive_row(const brim_vector_loss *loss, const row *r, double by) {
  const double shift = 1e-6, y = r->labels[0];
  const double d = brim_distance_of(loss->distance, text_of(r, 0), text_of(r, 1), r->width, BRIM_COSINE_EPS, shift, r->work);
  const double short_by = fmax(loss->margin - d, 0);
  brim_distance_add_gradient(loss->distance, text_of(r, 0), text_of(r, 1), r->width, BRIM_COSINE_EPS, shift,
                             (y * d - (1 - y) * short_by) * by, r->work, gradient_of(r, 0), gradient_of(r, 1));
  return (y * d * d + (1 - y) * short_by * short_by) / 2;
}

static double triplet_row(const brim_vector_loss *loss, const row *r, double by) {
  double d[3];
  for (int k = 1; k < 3; k++)
    d[k] = brim_distance_of(loss->distance, text_of(r, 0), text_of(r, k), r->width, BRIM_NORM_EPS, 0, r->work);
  const double value = d[1] - d[2] + loss->margin;
  for (int k = 1; k < 3 && value > 0; k++)
    brim_distance_add_gradient(loss->distance, text_of(r, 0), text_of(r, k), r->width, BRIM_NORM_EPS, 0, k == 1 ? by : -by,
                               r->work, gradient_of(r, 0), gradient_of(r, k));
  return fmax(value, 0);
}

/* A derivative by the product of the anchor with text k. */
static void add_product(const row *r, int32_t k, double by) {
  brim_add_scaled(gradient_of(r, 0), by, text_of(r, k), r->width);
  brim_add_scaled(gradient_of(r, k), by, text_of(r, 0), r->width);
}

static double margin_row(const brim_vector_loss *loss, const row *r, double by) {
  const int32_t negatives = r->texts - 2;
  const bool scores = r->label_count == negatives + 1;
  const double positive = brim_dot(text_of(r, 0), text_of(r, 1), r->width);
  double sum = 0;
  (void)loss;
  for (int32_t k = 0; k < negatives; k++) {
    const double wanted = scores ? r->labels[0] - r->labels[k + 1] : r->labels[k];
    const double error = positive - brim_dot(text_of(r, 0), text_of(r, k + 2), r->width) - wanted;
    add_product(r, 1, 2 * error * by / negatives);
    add_product(r, k + 2, -2 * error * by / negatives);
    sum += error * error;
  }
  return sum / negatives;
}

/* log softmax, in place. */
static void log_softmax(double *x, int32_t count) {
  const double sum = brim_log_sum(x, count);
  for (int32_t i = 0; i < count; i++)
    x[i] -= sum;
}

static double distill_row(const brim_vector_loss *loss, const row *r, double by) {
  const int32_t documents = r->texts - 1;
  double *own = r->work, *wanted = own + documents, value = 0;
  const double t = loss->temperature;
  for (int32_t k = 0; k < documents; k++) {
    own[k] = brim_dot(text_of(r, 0), text_of(r, k + 1), r->width) / t;
    wanted[k] = r->labels[k] / t;
  }
  log_softmax(own, documents);
  log_softmax(wanted, documents);
  for (int32_t k = 0; k < documents; k++) {
    value += exp(wanted[k]) * (wanted[k] - own[k]);
    add_product(r, k + 1, t * (exp(own[k]) - exp(wanted[k])) * by);
  }
  return t * t * value;
}

/* All texts of a row are to have the row's vector, or each its own. */
static double vectors_row(const brim_vector_loss *loss, const row *r, double by) {
  const double share = 1.0 / ((double)r->texts * r->teacher_width);
  double sum = 0;
  (void)loss;
  for (int32_t k = 0; k < r->texts; k++)
    for (int32_t i = 0; i < r->teacher_width; i++) {
      const double error = text_of(r, k)[i] - r->teacher[(r->teacher_of_texts ? (int64_t)k * r->teacher_width : 0) + i];
      gradient_of(r, k)[i] += 2 * error * by * share;
      sum += error * error;
    }
  return sum * share;
}

size_t brim_row_losses_work(int32_t most_texts, int32_t width) {
  return 2 * (size_t)(width > most_texts ? width : most_texts) * sizeof(double);
}

void brim_row_losses(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value) {
  static double (*const losses[BRIM_VECTOR_LOSSES])(const brim_vector_loss *, const row *, double) = {
      [BRIM_LOSS_COSINE] = cosine_row,     [BRIM_LOSS_CONTRASTIVE] = contrastive_row, [BRIM_LOSS_TRIPLET] = triplet_row,
      [BRIM_LOSS_MARGIN_MSE] = margin_row, [BRIM_LOSS_DISTILL_KL] = distill_row,      [BRIM_LOSS_MSE_VECTORS] = vectors_row,
  };
  double sum = 0;
  for (int32_t i = 0; i < rows->rows; i++) {
    const int64_t at = (int64_t)rows->firsts[i] * rows->width, teacher_at = rows->teacher_of_texts ? rows->firsts[i] : i;
    const row r = {.values = rows->values + at,
                   .gradient = gradient + at,
                   .labels = rows->labels ? rows->labels + (int64_t)i * rows->label_width : NULL,
                   .teacher = rows->teacher ? rows->teacher + teacher_at * rows->teacher_width : NULL,
                   .teacher_width = rows->teacher_width,
                   .teacher_of_texts = rows->teacher_of_texts,
                   .texts = rows->firsts[i + 1] - rows->firsts[i],
                   .width = rows->width,
                   .label_count = rows->label_width,
                   .work = work};
    sum += losses[loss->kind](loss, &r, 1.0 / rows->rows);
  }
  *value += sum / rows->rows;
}
