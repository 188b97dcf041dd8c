/* vectors.h: arithmetic of the losses of vectors. */
#ifndef BRIM_TARGET_VECTORS_H
#define BRIM_TARGET_VECTORS_H
#include "target/vector_rows.h"

/* Lengths below these count as these, as torch's normalize and CosineSimilarity have it. */
#define BRIM_NORM_EPS   1e-12
#define BRIM_COSINE_EPS 1e-8

double brim_dot(const double *x, const double *y, int32_t width);
/* y += a x */
void brim_add_scaled(double *y, double a, const double *x, int32_t width);
/* log of the sum of exp(x). */
double brim_log_sum(const double *x, int32_t count);
/* unit = x / max(|x|, eps); returns |x|. */
double brim_make_unit(const double *x, int32_t width, double eps, double *unit);
/* The gradient by x from that by its unit vector; the two may be the same memory. */
void brim_unit_gradient(const double *unit, double length, double eps, const double *by_unit, int32_t width, double *by_x);

/* cos(x, y) with units that the caller has room for; and what a derivative by it adds to the gradients by x and y. */
typedef struct brim_cosine {
  double value, lengths[2], eps;
  const double *units[2];
} brim_cosine;
brim_cosine brim_cosine_of(const double *x, const double *y, int32_t width, double eps, double *units);
void brim_cosine_add_gradient(const brim_cosine *cosine, double by_value, int32_t width, double *by_x, double *by_y);

/* D(x, y), and what a derivative by it adds. `shift` is added to each difference. `units` [2, width] is for cosines. */
double brim_distance_of(brim_distance distance, const double *x, const double *y, int32_t width, double eps, double shift,
                        double *units);
void brim_distance_add_gradient(brim_distance distance, const double *x, const double *y, int32_t width, double eps, double shift,
                                double by_value, double *units, double *by_x, double *by_y);

/* ---- each kind's own, over vectors as they are; work as brim_vector_loss_work says. They add to `gradient`. */
int brim_in_batch_loss(brim_runtime *runtime, const brim_vector_loss *loss, const brim_vector_rows *rows, void *work,
                       double *gradient, double *value, uint64_t *left_out);
size_t brim_in_batch_work(int32_t rows, int32_t texts, int32_t width);
void brim_cosent_loss(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value);
size_t brim_cosent_work(int32_t texts, int32_t width);
void brim_online_loss(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value);
size_t brim_online_work(int32_t rows, int32_t width);
void brim_row_losses(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value);
size_t brim_row_losses_work(int32_t most_texts, int32_t width);

#endif
