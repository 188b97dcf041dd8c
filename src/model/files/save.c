/* save.c: what only the single-precision build has: the flat buffers as floats, and files of them. */
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/safetensors.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model/run/model.h"

float *brim_model_values(brim_model *model) {
  brim_model_catch_up(model);
  model->int8_made = model->half_made = false; /* they may be written to */
  return brim_model_is_host(model) ? model->values : NULL;
}
float *brim_model_gradients(brim_model *model) {
  return brim_model_is_host(model) ? model->gradients : NULL;
}
float *brim_model_state0(brim_model *model) {
  brim_model_catch_up(model);
  return brim_model_is_host(model) ? model->states[0] : NULL;
}
float *brim_model_state1(brim_model *model) {
  brim_model_catch_up(model);
  return brim_model_is_host(model) ? model->states[1] : NULL;
}

static int check_range(const brim_model *m, brim_flat which, int64_t offset, int64_t count, brim_error *err) {
  const int64_t from = which == BRIM_VALUES ? 0 : m->trained;
  if (!brim_flat_at(m, which))
    return brim_error_set(err, BRIM_E_USAGE,
                          "the model has no such buffer: prepare it for training first, with an optimizer that keeps it");
  if (offset < from || count < 0 || count > m->program.flat_size - offset)
    return brim_error_set(err, BRIM_E_USAGE,
                          "%lld elements from %lld on are outside this buffer, which has those from %lld to %lld",
                          (long long)count, (long long)offset, (long long)from, (long long)m->program.flat_size);
  return BRIM_OK;
}

/* Where the element of a parameter at `offset` is in a buffer. */
static real *address_of(const brim_model *m, brim_flat which, int64_t offset) {
  return brim_flat_at(m, which) + (offset - (which == BRIM_VALUES ? 0 : m->trained));
}

int brim_model_read(brim_model *model, brim_flat which, int64_t offset, int64_t count, float *to, brim_error *err) {
  BRIM_TRY(check_range(model, which, offset, count, err));
  if (which != BRIM_GRADIENTS)
    brim_model_catch_up(model);
  model->ops->read(&model->context, to, address_of(model, which, offset), (size_t)count * sizeof(float));
  return model->ops->sync(&model->context, err);
}

int brim_model_write(brim_model *model, brim_flat which, int64_t offset, int64_t count, const float *from, brim_error *err) {
  BRIM_TRY(check_range(model, which, offset, count, err));
  if (which != BRIM_GRADIENTS)
    brim_model_catch_up(model);
  model->ops->write(&model->context, address_of(model, which, offset), from, (size_t)count * sizeof(float));
  BRIM_TRY(model->ops->sync(&model->context, err));
  if (which == BRIM_GRADIENTS)
    brim_model_gradients_written(model);
  else
    brim_model_state_written(model);
  return BRIM_OK;
}

int brim_model_save(brim_model *model, const char *folder, brim_error *err) {
  const brim_program *p = &model->program;
  float *values = NULL;
  BRIM_TRY(brim_make_folder(model->runtime, folder, err));
  char *path = brim_path_join(model->runtime, folder, "model.safetensors");
  brim_tensor *tensors = brim_alloc_array(model->runtime, p->weight_count, sizeof *tensors);
  int status = path && tensors ? brim_flat_map(model, BRIM_VALUES, &values, err) : BRIM_NOMEM(err);
  for (int32_t i = 0; i < (int32_t)p->weight_count && !status; i++)
    tensors[i] = (brim_tensor){.name = p->weights[i].is.name,
                               .rank = p->weights[i].is.rank,
                               .shape = {p->weights[i].is.shape[0], p->weights[i].is.shape[1]},
                               .data = values + p->weights[i].is.offset};
  if (!status)
    status = brim_tensors_write(model->runtime, path, tensors, (int32_t)p->weight_count, err);
  if (!status)
    status = brim_sentence_save(&model->sentence, model->runtime, &model->config, tensors, (int32_t)p->weight_count, folder, err);
  if (values)
    brim_flat_unmap(model, values);
  if (!status)
    status = brim_config_save(model->runtime, &model->config, folder, err);
  if (!status)
    status = brim_readme_save(model->runtime, &model->config, folder, err);
  brim_release(model->runtime, tensors);
  brim_release(model->runtime, path);
  return status;
}
