/* vector_loss.c: losses of vectors by name; what rows they need; and Matryoshka, which any of them may be inside. */
#include "target/vector_loss.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "target/vectors.h"

typedef struct kind {
  const char *name, *also;
  int32_t least_texts, most_texts; /* of a row; 0: any number */
  bool labelled;
  brim_vector_loss defaults;
} kind;

static const kind kinds[BRIM_VECTOR_LOSSES] = {
    [BRIM_LOSS_IN_BATCH] = {"in-batch", "mnrl", 2, 0, false, {.scale = 20, .directions = BRIM_QUERY_TO_DOC}},
    [BRIM_LOSS_COSENT] = {"cosent", NULL, 2, 2, true, {.scale = 20}},
    [BRIM_LOSS_ANGLE] = {"angle", NULL, 2, 0, false, {.scale = 20}},
    [BRIM_LOSS_COSINE] = {"cosine", NULL, 2, 2, true, {0}},
    [BRIM_LOSS_CONTRASTIVE] = {"contrastive", NULL, 2, 2, true, {.margin = 0.5}},
    [BRIM_LOSS_ONLINE_CONTRASTIVE] = {"online-contrastive", NULL, 2, 2, true, {.margin = 0.5}},
    [BRIM_LOSS_TRIPLET] = {"triplet", NULL, 3, 3, false, {.margin = 5, .distance = BRIM_DISTANCE_EUCLIDEAN}},
    [BRIM_LOSS_MARGIN_MSE] = {"margin-mse", NULL, 3, 0, true, {0}},
    [BRIM_LOSS_DISTILL_KL] = {"distill-kl", NULL, 3, 0, true, {.temperature = 1}},
    [BRIM_LOSS_MSE_VECTORS] = {"mse-vectors", NULL, 1, 0, false, {0}},
};

static bool is(const char *name, const char *text, size_t length) {
  return name && strlen(name) == length && memcmp(name, text, length) == 0;
}

bool brim_vector_loss_named(const char *name, size_t length, brim_vector_loss *out) {
  for (int k = 0; k < BRIM_VECTOR_LOSSES; k++)
    if (is(kinds[k].name, name, length) || is(kinds[k].also, name, length)) {
      *out = kinds[k].defaults;
      out->kind = (brim_vector_loss_kind)k;
      return true;
    }
  return false;
}

const char *brim_vector_loss_name(brim_vector_loss_kind which) {
  return kinds[which].name;
}

void brim_vector_loss_needs(brim_vector_loss_kind which, int32_t *least, int32_t *most, bool *labelled) {
  *least = kinds[which].least_texts;
  *most = kinds[which].most_texts;
  *labelled = kinds[which].labelled;
}

/* ---- checks -------------------------------------------------------------------------------------------------- */

/* How many labels a row of so many texts may have: both numbers are right. */
static void labels_wanted(brim_vector_loss_kind which, int32_t texts, int32_t wanted[2]) {
  wanted[0] = which == BRIM_LOSS_MARGIN_MSE ? texts - 2 : which == BRIM_LOSS_DISTILL_KL ? texts - 1 : 1;
  wanted[1] = which == BRIM_LOSS_MARGIN_MSE ? texts - 1 : wanted[0];
}

static int check_row(const brim_vector_loss *loss, const brim_vector_rows *rows, int32_t r, brim_error *err) {
  const kind *k = &kinds[loss->kind];
  const unsigned long long number = rows->numbers ? rows->numbers[r] : (unsigned long long)r;
  const int32_t texts = rows->firsts[r + 1] - rows->firsts[r];
  int32_t wanted[2];
  if (texts < k->least_texts || (k->most_texts && texts > k->most_texts))
    return brim_error_set(err, BRIM_E_MISMATCH, "row %llu has %d texts, but the loss %s needs %d%s", number, texts, k->name,
                          k->least_texts, k->most_texts ? "" : " or more");
  if (!k->labelled)
    return BRIM_OK;
  labels_wanted(loss->kind, texts, wanted);
  if (!rows->labels || (rows->label_width != wanted[0] && rows->label_width != wanted[1]))
    return brim_error_set(err, BRIM_E_MISMATCH, "row %llu has %d labels, but the loss %s needs %d for its %d texts", number,
                          rows->labels ? rows->label_width : 0, k->name, wanted[0], texts);
  for (int32_t i = 0; i < rows->label_width; i++)
    if (!isfinite(rows->labels[(int64_t)r * rows->label_width + i]))
      return brim_error_set(err, BRIM_E_MISMATCH, "row %llu has no label, which the loss %s needs", number, k->name);
  return BRIM_OK;
}

static int check_teacher(const brim_vector_rows *rows, brim_error *err) {
  if (!rows->teacher)
    return brim_error_set(err, BRIM_E_MISMATCH, "the loss mse-vectors needs a teacher's vectors, which come with the rows");
  if (rows->teacher_width > rows->width)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the teacher's vectors have %d numbers, and the model's %d: a teacher may have fewer, not more",
                          rows->teacher_width, rows->width);
  return BRIM_OK;
}

/* ---- one loss ------------------------------------------------------------------------------------------------ */

static size_t plain_work(const brim_vector_loss *loss, int32_t rows, int32_t texts, int32_t width) {
  switch (loss->kind) {
  case BRIM_LOSS_IN_BATCH:
    return brim_in_batch_work(rows, texts, width);
  case BRIM_LOSS_COSENT:
  case BRIM_LOSS_ANGLE:
    return brim_cosent_work(texts, width);
  case BRIM_LOSS_ONLINE_CONTRASTIVE:
    return brim_online_work(rows, width);
  default:
    return brim_row_losses_work(texts, width);
  }
}

/* Adds to value and gradient. */
static int plain(brim_runtime *runtime, const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient,
                 double *value, uint64_t *left_out) {
  switch (loss->kind) {
  case BRIM_LOSS_IN_BATCH:
    return brim_in_batch_loss(runtime, loss, rows, work, gradient, value, left_out);
  case BRIM_LOSS_COSENT:
  case BRIM_LOSS_ANGLE:
    brim_cosent_loss(loss, rows, work, gradient, value);
    return BRIM_OK;
  case BRIM_LOSS_ONLINE_CONTRASTIVE:
    brim_online_loss(loss, rows, work, gradient, value);
    return BRIM_OK;
  default:
    brim_row_losses(loss, rows, work, gradient, value);
    return BRIM_OK;
  }
}

/* ---- Matryoshka ---------------------------------------------------------------------------------------------- */

/* Room for the vectors that are cut, their gradient, and their lengths. */
static size_t cut_work(const brim_vector_loss *loss, int32_t texts, int32_t width) {
  return loss->dimension_count > 0 ? ((size_t)texts * (2 * (size_t)width + 1)) * sizeof(double) : 0;
}

size_t brim_vector_loss_work(const brim_vector_loss *loss, int32_t rows, int32_t texts, int32_t width) {
  return cut_work(loss, texts, width) + plain_work(loss, rows, texts, width);
}

/* The loss of the first `width` numbers of each vector, brought to length 1. */
static int cut_loss(brim_runtime *runtime, const brim_vector_loss *loss, const brim_vector_rows *rows, int32_t width,
                    double weight, void *work, double *gradient, double *value, uint64_t *left_out) {
  const int32_t texts = rows->firsts[rows->rows];
  double *units = work, *by_unit = units + (int64_t)texts * rows->width, *lengths = by_unit + (int64_t)texts * rows->width,
         own = 0;
  brim_vector_rows short_rows = *rows;
  short_rows.values = units;
  short_rows.width = width;
  for (int32_t t = 0; t < texts; t++)
    lengths[t] = brim_make_unit(rows->values + (int64_t)t * rows->width, width, BRIM_NORM_EPS, units + (int64_t)t * width);
  memset(by_unit, 0, (size_t)texts * (size_t)width * sizeof *by_unit);
  const int status = plain(runtime, loss, &short_rows, lengths + texts, by_unit, &own, left_out);
  for (int32_t t = 0; t < texts; t++) {
    double *by = by_unit + (int64_t)t * width;
    brim_unit_gradient(units + (int64_t)t * width, lengths[t], BRIM_NORM_EPS, by, width, by);
    brim_add_scaled(gradient + (int64_t)t * rows->width, weight, by, width);
  }
  *value += weight * own;
  return status;
}

int brim_vector_loss_compute(brim_runtime *runtime, const brim_vector_loss *loss, const brim_vector_rows *rows, void *work,
                             double *gradient, double *value, uint64_t *left_out, brim_error *err) {
  uint64_t ignored = 0;
  *value = 0;
  if (left_out)
    *left_out = 0;
  memset(gradient, 0, (size_t)rows->firsts[rows->rows] * (size_t)rows->width * sizeof *gradient);
  if (rows->rows == 0)
    return BRIM_OK;
  if (loss->kind == BRIM_LOSS_MSE_VECTORS)
    BRIM_TRY(check_teacher(rows, err));
  for (int32_t r = 0; r < rows->rows; r++)
    BRIM_TRY(check_row(loss, rows, r, err));
  for (int32_t k = 0; k < loss->dimension_count; k++)
    if (loss->dimensions[k] < 1 || loss->dimensions[k] > rows->width)
      return brim_error_set(err, BRIM_E_USAGE, "vectors have %d numbers, so that the first %d of them are none", rows->width,
                            loss->dimensions[k]);
  if (loss->dimension_count == 0)
    return plain(runtime, loss, rows, work, gradient, value, left_out ? left_out : &ignored);
  for (int32_t k = 0; k < loss->dimension_count; k++) {
    uint64_t once = 0;
    BRIM_TRY(cut_loss(runtime, loss, rows, loss->dimensions[k], loss->weights[k], work, gradient, value, &once));
    if (left_out)
      *left_out = once;
  }
  return BRIM_OK;
}
