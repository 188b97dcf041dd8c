/* strict_views.c: addresses of flat buffers for tests that only look at them: where the host may not look into the device's
 * memory, a copy that is as it was when it was asked for. Programs are linked with --wrap, so that brim_model_values and the
 * others end here. */
#include <pthread.h>
#include <stdlib.h>

#include "model/run/host.h"
#include "model/run/model.h"

float *__wrap_brim_model_values(brim_model *model);
float *__real_brim_model_values(brim_model *model);
float *__wrap_brim_model_gradients(brim_model *model);
float *__real_brim_model_gradients(brim_model *model);
float *__wrap_brim_model_state0(brim_model *model);
float *__real_brim_model_state0(brim_model *model);
float *__wrap_brim_model_state1(brim_model *model);
float *__real_brim_model_state1(brim_model *model);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static float *locked_view(brim_model *model, brim_flat which) {
  enum { MODELS = 64 };
  static struct {
    const brim_model *model;
    float *copy[4];
  } views[MODELS];
  static int next;
  int i = 0;
  while (i < MODELS && views[i].model != model)
    i++;
  if (i == MODELS) {
    i = next++ % MODELS;
    views[i].model = model;
  }
  if (which != BRIM_VALUES && !model->gradients)
    return NULL;
  const brim_trained_range all = {.count = model->program.flat_size};
  const brim_trained_range *ranges = which == BRIM_VALUES ? &all : model->trained.ranges;
  const int32_t range_count = which == BRIM_VALUES ? 1 : model->trained.count;
  const int64_t count = which == BRIM_VALUES ? all.count : model->trained.size;
  brim_error err;
  free(views[i].copy[which]);
  views[i].copy[which] = malloc((size_t)count * sizeof(float));
  for (int32_t k = 0; k < range_count; k++)
    if (!views[i].copy[which] ||
        brim_model_read(model, which, ranges[k].value, ranges[k].count, views[i].copy[which] + ranges[k].offset, &err))
      abort();
  return views[i].copy[which];
}

static float *view(brim_model *model, brim_flat which) {
  pthread_mutex_lock(&lock);
  float *copy = locked_view(model, which);
  pthread_mutex_unlock(&lock);
  return copy;
}

float *__wrap_brim_model_values(brim_model *model) {
  return brim_model_is_host(model) ? __real_brim_model_values(model) : view(model, BRIM_VALUES);
}
float *__wrap_brim_model_gradients(brim_model *model) {
  return brim_model_is_host(model) ? __real_brim_model_gradients(model) : view(model, BRIM_GRADIENTS);
}
float *__wrap_brim_model_state0(brim_model *model) {
  return brim_model_is_host(model) ? __real_brim_model_state0(model) : view(model, BRIM_STATE0);
}
float *__wrap_brim_model_state1(brim_model *model) {
  return brim_model_is_host(model) ? __real_brim_model_state1(model) : view(model, BRIM_STATE1);
}
