#include "reduce/overlap.h"

#include "base/status.h"
#include "base/thread.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "reduce/sum.h"

/* ---- the thread ------------------------------------------------------------------------------------------- */

static void wait_for_piece(void *context, int64_t from) {
  brim_overlapped_sum *o = context;
  pthread_mutex_lock(&o->lock);
  while (o->complete > from)
    pthread_cond_wait(&o->changed, &o->lock);
  pthread_mutex_unlock(&o->lock);
}

static void *sum_steps(void *context) {
  brim_overlapped_sum *o = context;
  pthread_mutex_lock(&o->lock);
  for (;;) {
    while (!o->stop && (!o->begun || o->done))
      pthread_cond_wait(&o->changed, &o->lock);
    if (o->stop)
      break;
    pthread_mutex_unlock(&o->lock);
    int status = o->status; /* a group that failed goes on failing */
    if (!status)
      status = o->slices ? brim_slice_sums_add(o->slices, wait_for_piece, o, &o->error)
                         : brim_sum_gradient(o->group, o->runtime, o->model, wait_for_piece, o, &o->error);
    pthread_mutex_lock(&o->lock);
    o->status = status;
    o->done = true;
    pthread_cond_broadcast(&o->changed);
  }
  pthread_mutex_unlock(&o->lock);
  return NULL;
}

/* ---- who computes ----------------------------------------------------------------------------------------- */

/* The rows of tables that this step reads are known by now. */
static void on_complete(void *context, int64_t from) {
  brim_overlapped_sum *o = context;
  pthread_mutex_lock(&o->lock);
  o->begun = true;
  o->complete = from;
  pthread_cond_broadcast(&o->changed);
  pthread_mutex_unlock(&o->lock);
}

int brim_overlapped_sum_open(brim_overlapped_sum *o, brim_runtime *runtime, brim_model *model, const brim_group *group,
                             brim_slice_sums *slices, brim_error *err) {
  *o = (brim_overlapped_sum){.model = model, .group = group, .slices = slices, .ready = {on_complete, o}, .complete = INT64_MAX};
  if (group->world_size <= 1 || group->apart || !brim_model_is_host(model) || (slices && !slices->whole))
    return BRIM_OK;
  pthread_mutex_init(&o->lock, NULL);
  pthread_cond_init(&o->changed, NULL);
  o->runtime = runtime;
  const int status = brim_thread_start(&o->thread, sum_steps, o, err);
  if (status) {
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    o->runtime = NULL;
  }
  return status;
}

void brim_overlapped_sum_close(brim_overlapped_sum *o) {
  if (!o->runtime)
    return;
  pthread_mutex_lock(&o->lock);
  o->stop = true;
  pthread_cond_broadcast(&o->changed);
  pthread_mutex_unlock(&o->lock);
  pthread_join(o->thread, NULL);
  pthread_cond_destroy(&o->changed);
  pthread_mutex_destroy(&o->lock);
  *o = (brim_overlapped_sum){0};
}

void brim_overlapped_sum_begin(brim_overlapped_sum *o) {
  if (!o->runtime)
    return;
  brim_model_on_ready(o->model, &o->ready);
  o->last = true;
}

void brim_overlapped_sum_early(brim_overlapped_sum *o) {
  if (!o->runtime || !o->last || !o->slices)
    return;
  pthread_mutex_lock(&o->lock);
  o->begun = true;
  pthread_cond_broadcast(&o->changed);
  pthread_mutex_unlock(&o->lock);
}

int brim_overlapped_sum_end(brim_overlapped_sum *o, brim_error *err) {
  if (!o->runtime)
    return BRIM_OK;
  brim_model_on_ready(o->model, NULL);
  o->last = false;
  on_complete(o, 0);
  pthread_mutex_lock(&o->lock);
  while (!o->done)
    pthread_cond_wait(&o->changed, &o->lock);
  o->begun = o->done = false;
  o->complete = INT64_MAX;
  const int status = o->status;
  if (status)
    *err = o->error;
  pthread_mutex_unlock(&o->lock);
  return status;
}
