#include "model/ready.h"

#include "model/run/model.h"
#include "model/run/pending.h"

/* Values of a piece, if as many adjoin: a share of what is left, so that the last ones, which nothing hides, are small. */
enum { LEAST = 1 << 19, SHARE = 4, REST = 1 << 14 };

void brim_model_on_ready(brim_model *model, const brim_ready_hook *ready) {
  model->ready = ready;
}

/* Of the ranges that are left, but for embeddings. */
static int64_t dense_values(const brim_model *m, int32_t range) {
  int64_t values = 0;
  for (; range < m->range_count; range++) {
    const brim_update_range *r = &m->ranges[m->range_count - 1 - range];
    values += r->row_size <= 0 ? r->count : 0;
  }
  return values;
}

bool brim_gradient_next_dense(const brim_model *m, int32_t *range, int64_t *offset, int64_t *count) {
  int64_t rest = dense_values(m, *range);
  const int64_t least = rest / SHARE < LEAST ? rest / SHARE : LEAST;
  *count = 0;
  for (; *range < m->range_count && (*count < least || rest < REST); (*range)++) {
    const brim_update_range *r = &m->ranges[m->range_count - 1 - *range];
    const int64_t end = *count > 0 ? *offset + *count : r->offset + r->count;
    if (r->row_size <= 0)
      *offset = r->offset, *count = end - r->offset, rest -= r->count; /* gaps between tensors are zeros */
    else if (*count > 0)
      break;
  }
  return *count > 0;
}

bool brim_gradient_next_embedding(const brim_model *m, int32_t *range, int64_t *offset, int64_t *count) {
  while (*range < m->range_count && m->ranges[*range].row_size <= 0)
    ++*range;
  if (*range == m->range_count)
    return false;
  const brim_update_range *r = &m->ranges[(*range)++];
  *offset = r->offset;
  *count = brim_gradient_rows_of(m, r) * r->row_size;
  return true;
}
