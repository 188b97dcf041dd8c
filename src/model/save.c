/* save.c: what only the single-precision build has: the flat buffers as floats, and files of them. */
#include "base/folder.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/model.h"

float *brim_model_values(brim_model *model) {
  brim_model_catch_up(model);
  model->int8_made = false; /* they may be written to */
  return model->values;
}
float *brim_model_gradients(brim_model *model) {
  return model->gradients;
}
float *brim_model_moment1(brim_model *model) {
  brim_model_catch_up(model);
  return model->moment1;
}
float *brim_model_moment2(brim_model *model) {
  brim_model_catch_up(model);
  return model->moment2;
}

int brim_model_save(brim_model *model, const char *folder, brim_error *err) {
  const brim_parameters *p = &model->parameters;
  brim_model_catch_up(model);
  BRIM_TRY(brim_make_folder(model->runtime, folder, err));
  char *path = brim_path_join(model->runtime, folder, "model.safetensors");
  brim_tensor *tensors = brim_alloc_array(model->runtime, (size_t)p->count, sizeof *tensors);
  int status = path && tensors ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t i = 0; i < p->count && !status; i++)
    tensors[i] = (brim_tensor){.name = p->list[i].name,
                               .rank = p->list[i].rank,
                               .shape = {p->list[i].shape[0], p->list[i].shape[1]},
                               .data = model->values + p->list[i].offset};
  if (!status)
    status = brim_tensors_write(model->runtime, path, tensors, p->count, err);
  if (!status)
    status = brim_config_save(model->runtime, &model->config, folder, err);
  brim_release(model->runtime, tensors);
  brim_release(model->runtime, path);
  return status;
}
