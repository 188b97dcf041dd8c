#include "model/run/gradient.h"

#include "model/run/host.h"
#include "model/run/model.h"

void brim_model_on_ready(brim_model *model, const brim_ready_hook *ready) {
  model->ready = ready;
}

brim_gradient_view brim_gradient_view_of(const brim_model *m) {
  return (brim_gradient_view){.values = brim_model_is_host(m) ? m->gradients : NULL,
                              .size = brim_gradient_size(m),
                              .ranges = m->ranges,
                              .range_count = m->range_count,
                              .rows = m->host_touched,
                              .row_count = m->embedding_rows,
                              .first = m->touched};
}

void brim_gradient_changed(brim_model *model, bool zero) {
  model->dirty = !zero;
}

real *brim_gradient_swap(brim_model *model, real *values) {
  real *before = model->gradients;
  model->gradients = values;
  return before;
}

int64_t brim_gradient_size(const brim_model *m) {
  return m->trained.size;
}

size_t brim_gradient_row_count(const brim_model *m) {
  size_t rows = 0;
  for (size_t i = 0; i < m->program.weight_count; i++)
    if (m->program.weights[i].is.sparse_rows && m->trained.weights[i])
      rows += (size_t)m->program.weights[i].is.shape[0];
  return rows;
}
