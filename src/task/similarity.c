/* similarity.c: vectors as a model's folder gives them, and the names of what compares them. */
#include <math.h>
#include <string.h>

#include "brim/embed.h"
#include "task/task.h"

static const char *const names[BRIM_SIMILARITIES] = {"cosine", "dot", "euclidean", "manhattan"};

const char *brim_similarity_names(void) {
  return "cosine|dot|euclidean|manhattan";
}

const char *brim_similarity_name(brim_similarity similarity) {
  return names[similarity];
}

bool brim_similarity_named(const char *name, size_t length, brim_similarity *out) {
  for (int i = 0; i < BRIM_SIMILARITIES; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
      *out = (brim_similarity)i;
      return true;
    }
  return false;
}

const char *brim_similarity_metric(brim_similarity own) {
  static const char *const metrics[BRIM_SIMILARITIES] = {"spearman", "spearman_dot", "spearman_euclidean", "spearman_manhattan"};
  return metrics[own];
}

int32_t brim_kept_dimensions(int32_t wanted, int32_t width) {
  return wanted > 0 && wanted < width ? wanted : width;
}

/* The norm is of all numbers, also of those that are cut off then: Normalize is one of the folder's modules, and the library cuts
 * what the last of them gives. */
int32_t brim_give_vector(const brim_meaning *meaning, const float *from, int32_t width, double *to) {
  const int32_t kept = brim_kept_dimensions(meaning->dimensions, width);
  double square = 0;
  for (int32_t k = 0; k < width && meaning->unit; k++)
    square += (double)from[k] * (double)from[k];
  const double length = meaning->unit ? fmax(sqrt(square), 1e-12) : 1;
  for (int32_t k = 0; k < kept; k++)
    to[k] = (double)from[k] / length;
  return kept;
}
