/* flat.c: the flat buffers, for those who are not operations. */
#include "model/run/flat.h"

#include "base/memory.h"
#include "base/status.h"
#include "model/run/host.h"
#include "model/run/model.h"

real *brim_flat_at(const brim_model *m, brim_flat which) {
  real *const buffers[] = {
      [BRIM_VALUES] = m->values, [BRIM_GRADIENTS] = m->gradients, [BRIM_STATE0] = m->states[0], [BRIM_STATE1] = m->states[1]};
  return buffers[which];
}

static size_t bytes_of(const brim_model *m, brim_flat which) {
  return (size_t)(which == BRIM_VALUES ? m->program.flat_size : m->trained.size) * sizeof(real);
}

int64_t brim_flat_trained_at(const brim_model *m, int32_t parameter) {
  return m->trained.weights[parameter] ? brim_trained_at(&m->trained, m->program.weights[parameter].is.offset) : -1;
}

int brim_flat_map(brim_model *model, brim_flat which, real **out, brim_error *err) {
  real *const at = brim_flat_at(model, which);
  *out = NULL;
  if (!model->values)
    return brim_model_no_values(err);
  if (which != BRIM_GRADIENTS)
    brim_model_catch_up(model);
  if (!at)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the model has no such buffer: prepare it for training first, with an optimizer that keeps it");
  if (brim_model_is_host(model)) {
    *out = at;
    return model->ops->sync(&model->context, err);
  }
  real *copy = brim_alloc(model->runtime, bytes_of(model, which));
  if (!copy)
    return BRIM_NOMEM(err);
  model->ops->read(&model->context, copy, at, bytes_of(model, which));
  const int status = model->ops->sync(&model->context, err);
  if (status)
    brim_release(model->runtime, copy);
  else
    *out = copy;
  return status;
}

void brim_flat_unmap(brim_model *model, real *mapped) {
  if (!brim_model_is_host(model))
    brim_release(model->runtime, mapped);
}

static int write_back(brim_model *model, brim_flat which, real *mapped, brim_error *err) {
  int status = BRIM_OK;
  if (!brim_model_is_host(model)) {
    model->ops->write(&model->context, brim_flat_at(model, which), mapped, bytes_of(model, which));
    status = model->ops->sync(&model->context, err);
  }
  brim_flat_unmap(model, mapped);
  return status;
}

int brim_flat_unmap_summed(brim_model *model, real *mapped, brim_error *err) {
  model->dirty = true;
  return write_back(model, BRIM_GRADIENTS, mapped, err);
}

int brim_flat_unmap_written(brim_model *model, brim_flat which, real *mapped, brim_error *err) {
  BRIM_TRY(write_back(model, which, mapped, err));
  if (which == BRIM_GRADIENTS)
    brim_model_gradients_written(model);
  else
    brim_model_state_written(model);
  return BRIM_OK;
}

void brim_flat_clear(brim_model *model, brim_flat which) {
  model->ops->clear(&model->context, brim_flat_at(model, which), bytes_of(model, which));
}

bool brim_flat_has_ranks(const brim_model *model) {
  return model->ops->ranks_join != NULL;
}

int brim_flat_ranks_key(brim_model *model, char key[BRIM_RANKS_KEY], brim_error *err) {
  return model->ops->ranks_key(&model->context, key, err);
}

int brim_flat_ranks_join(brim_model *model, const char key[BRIM_RANKS_KEY], int32_t rank, int32_t world, brim_error *err) {
  return model->ops->ranks_join(&model->context, key, rank, world, err);
}

void brim_flat_ranks_leave(brim_model *model, bool broken) {
  model->ops->ranks_leave(&model->context, broken);
}

/* Rows of embeddings that no text of this rank has are zeros. */
void brim_flat_ranks_sum(brim_model *model, int64_t offset, int64_t count) {
  model->ops->ranks_sum(&model->context, brim_flat_at(model, BRIM_GRADIENTS) + offset, count);
}

void brim_flat_ranks_wait(brim_model *model) {
  model->ops->ranks_wait(&model->context);
  model->dirty = true;
}
