/* score_loss.c: losses of scores. */
#include "target/score_loss.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "target/vectors.h"
#include "task/task.h"

/* A group of scores, and its labels. */
typedef struct group {
  const double *z, *y;
  double *by; /* the gradient by z */
  int32_t count, label_count;
  double share; /* of the group's value in the loss */
} group;

/* log(1 + exp(x)) */
static double softplus(double x) {
  return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double bce(const brim_score_loss *loss, const group *g) {
  double value = 0;
  for (int32_t i = 0; i < g->count; i++) {
    const double z = g->z[i], y = g->y[i], w = loss->positive_weight;
    value += w * y * softplus(-z) + (1 - y) * softplus(z);
    g->by[i] = ((1 - y) * brim_sigmoid(z) - w * y * brim_sigmoid(-z)) * g->share;
  }
  return value;
}

static double mse(const brim_score_loss *loss, const group *g) {
  double value = 0;
  (void)loss;
  for (int32_t i = 0; i < g->count; i++) {
    const double error = g->z[i] - g->y[i];
    value += error * error;
    g->by[i] = 2 * error * g->share;
  }
  return value;
}

static double cross_entropy(const brim_score_loss *loss, const group *g) {
  const double sum = brim_log_sum(g->z, g->count);
  const int32_t right = (int32_t)g->y[0];
  (void)loss;
  for (int32_t i = 0; i < g->count; i++)
    g->by[i] = (exp(g->z[i] - sum) - (i == right)) * g->share;
  return sum - g->z[right];
}

static double in_group(const brim_score_loss *loss, const group *g) {
  double first = 0;
  for (int32_t i = 0; i < g->count; i++) { /* the gradient's memory holds what is compared, meanwhile */
    g->by[i] = loss->scale * (loss->identity ? g->z[i] : brim_sigmoid(g->z[i]));
    first = i == 0 ? g->by[i] : first;
  }
  const double sum = brim_log_sum(g->by, g->count);
  for (int32_t i = 0; i < g->count; i++) {
    const double s = brim_sigmoid(g->z[i]), slope = loss->scale * (loss->identity ? 1 : s * (1 - s));
    g->by[i] = (exp(g->by[i] - sum) - (i == 0)) * slope * g->share;
  }
  return sum - first;
}

static double list_net(const brim_score_loss *loss, const group *g) {
  const double sum = brim_log_sum(g->z, g->count), wanted_sum = brim_log_sum(g->y, g->count);
  double value = 0;
  (void)loss;
  for (int32_t i = 0; i < g->count; i++) {
    const double wanted = exp(g->y[i] - wanted_sum);
    value += wanted * (sum - g->z[i]);
    g->by[i] = (exp(g->z[i] - sum) - wanted) * g->share;
  }
  return value;
}

static double margin_mse(const brim_score_loss *loss, const group *g) {
  const int32_t others = g->count - 1;
  const bool scores = g->label_count == g->count;
  double value = 0;
  (void)loss;
  g->by[0] = 0;
  for (int32_t k = 0; k < others; k++) {
    const double error = g->z[0] - g->z[k + 1] - (scores ? g->y[0] - g->y[k + 1] : g->y[k]);
    value += error * error / others;
    g->by[0] += 2 * error / others * g->share;
    g->by[k + 1] = -2 * error / others * g->share;
  }
  return value;
}

/* ---- by name ------------------------------------------------------------------------------------------------- */

typedef struct kind {
  const char *name, *also;
  double (*of_group)(const brim_score_loss *loss, const group *g);
  bool by_score; /* a mean over scores, not groups */
  brim_score_loss defaults;
} kind;

static const kind kinds[BRIM_SCORE_LOSSES] = {
    [BRIM_SCORE_BCE] = {"bce", NULL, bce, true, {.positive_weight = 1}},
    [BRIM_SCORE_MSE] = {"mse", NULL, mse, true, {0}},
    [BRIM_SCORE_CROSS_ENTROPY] = {"cross-entropy", NULL, cross_entropy, false, {0}},
    [BRIM_SCORE_IN_GROUP] = {"in-group", "mnrl", in_group, false, {.scale = 10}},
    [BRIM_SCORE_LIST_NET] = {"list-net", NULL, list_net, false, {0}},
    [BRIM_SCORE_MARGIN_MSE] = {"margin-mse", NULL, margin_mse, false, {0}},
};

static bool is(const char *name, const char *text, size_t length) {
  return name && strlen(name) == length && memcmp(name, text, length) == 0;
}

bool brim_score_loss_named(const char *name, size_t length, brim_score_loss *out) {
  for (int k = 0; k < BRIM_SCORE_LOSSES; k++)
    if (is(kinds[k].name, name, length) || is(kinds[k].also, name, length)) {
      *out = kinds[k].defaults;
      out->kind = (brim_score_loss_kind)k;
      return true;
    }
  return false;
}

const char *brim_score_loss_name(brim_score_loss_kind which) {
  return kinds[which].name;
}

/* How many labels a group of so many scores has: one of two numbers. */
static bool has_labels(brim_score_loss_kind which, const group *g) {
  if (which == BRIM_SCORE_IN_GROUP)
    return true;
  if (!g->y)
    return false;
  if (which == BRIM_SCORE_CROSS_ENTROPY)
    return g->label_count == 1 && g->y[0] >= 0 && g->y[0] < g->count && g->y[0] == floor(g->y[0]);
  return g->label_count == g->count || (which == BRIM_SCORE_MARGIN_MSE && g->label_count == g->count - 1);
}

int brim_score_loss_compute(const brim_score_loss *loss, const brim_score_rows *rows, double *gradient, double *value,
                            brim_error *err) {
  const kind *k = &kinds[loss->kind];
  const int32_t parts = k->by_score ? rows->firsts[rows->groups] : rows->groups;
  *value = 0;
  for (int32_t i = 0; i < rows->groups; i++) {
    const int32_t at = rows->firsts[i], count = rows->firsts[i + 1] - at;
    const double *labels = rows->labels ? rows->labels + (rows->label_width ? (int64_t)i * rows->label_width : at) : NULL;
    const group g = {rows->scores + at, labels, gradient + at, count, rows->label_width ? rows->label_width : count, 1.0 / parts};
    if (count < 1 + (loss->kind == BRIM_SCORE_MARGIN_MSE) || !has_labels(loss->kind, &g))
      return brim_error_set(err, BRIM_E_MISMATCH, "group %d has %d scores and %d labels, which are not what the loss %s needs", i,
                            count, labels ? g.label_count : 0, k->name);
    *value += k->of_group(loss, &g) / parts;
  }
  return BRIM_OK;
}
