#include "model/telling.h"

#include "model/model.h"
#include "model/partial.h"

enum { LEAST = 1 << 20 }; /* values of a piece, if as many adjoin */

void brim_model_tell(brim_model *model, const brim_telling *telling) {
  model->telling = telling;
}

bool brim_gradient_next_dense(const brim_model *m, int32_t *range, int64_t *offset, int64_t *count) {
  *count = 0;
  for (; *range < m->range_count && *count < LEAST; (*range)++) {
    const brim_update_range *r = &m->ranges[m->range_count - 1 - *range];
    const int64_t end = *count > 0 ? *offset + *count : r->offset + r->count;
    if (r->row_size <= 0)
      *offset = r->offset, *count = end - r->offset; /* gaps between tensors are zeros */
    else if (*count > 0)
      break;
  }
  return *count > 0;
}

bool brim_gradient_next_table(const brim_model *m, int32_t *range, int64_t *offset, int64_t *count) {
  while (*range < m->range_count && m->ranges[*range].row_size <= 0)
    ++*range;
  if (*range == m->range_count)
    return false;
  const brim_update_range *r = &m->ranges[(*range)++];
  *offset = r->offset;
  *count = brim_gradient_rows_of(m, r) * r->row_size;
  return true;
}
