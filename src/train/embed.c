/* embed.c: a vector for each text: the encoder's last layer, pooled and so on as the model's folder says. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/files/modules.h"
#include "task/task.h"
#include "train/evaluate.h"

struct brim_embedder {
  brim_runtime *runtime;
  brim_model *model;
  brim_modules modules;
};

int brim_embedder_load(brim_runtime *runtime, const char *folder, const brim_model_options *options, brim_embedder **out,
                       brim_error *err) {
  brim_embedder *e = *out = brim_alloc_zero(runtime, sizeof *e);
  if (!e)
    return BRIM_NOMEM(err);
  e->runtime = runtime;
  int status = brim_modules_find_encoder(runtime, folder, &e->modules, err);
  if (!status)
    status = brim_model_load(runtime, e->modules.encoder, options, &e->model, err);
  if (!status)
    status = brim_modules_load(&e->modules, folder, brim_model_hidden_size(e->model), err);
  if (status) {
    brim_embedder_free(e);
    *out = NULL;
  }
  return status;
}

void brim_embedder_free(brim_embedder *e) {
  if (!e)
    return;
  brim_modules_free(&e->modules);
  brim_model_free(e->model);
  brim_release(e->runtime, e);
}

brim_model *brim_embedder_model(const brim_embedder *e) {
  return e->model;
}

const char *brim_embedder_encoder(const brim_embedder *e) {
  return e->modules.encoder;
}

bool brim_embedder_has_modules(const brim_embedder *e) {
  return e->modules.listed;
}

int32_t brim_embedder_width(const brim_embedder *e) {
  return e->modules.width;
}

int32_t brim_embedder_max_length(const brim_embedder *e) {
  const int32_t most = brim_model_max_length(e->model), own = e->modules.max_length;
  return own > 0 && own < most ? own : most;
}

const char *brim_embedder_prompt(brim_embedder *e, const char *name) {
  return brim_modules_prompt(&e->modules, name);
}

/* ---- one part ------------------------------------------------------------------------------------------------ */

typedef struct job {
  const brim_embedder *embedder;
  const brim_embed_options *options;
  const brim_planned *part;
  const brim_batch *batch;
  float *hidden;  /* [tokens of a part, hidden] */
  double *work;   /* [rows of a part, 2, widest] */
  float *whole;   /* [rows of a part, width]: before they are cut */
  int32_t width;  /* that is wanted */
  float *vectors; /* [rows of all parts, that width] */
} job;

/* The first numbers of a vector, and brought to length 1 where that is asked for. */
static void put_vector(const job *j, const float *from, float *to) {
  double square = 0;
  for (int32_t k = 0; k < j->width; k++)
    square += (double)from[k] * (double)from[k];
  const double length = j->options->normalize ? fmax(sqrt(square), 1e-12) : 1;
  for (int32_t k = 0; k < j->width; k++)
    to[k] = (float)((double)from[k] / length);
}

static void do_row(void *context, int64_t row, int worker) {
  const job *j = context;
  const brim_modules *m = &j->embedder->modules;
  const int32_t first = j->batch->offsets[row], count = j->batch->offsets[row + 1] - first;
  float *whole = j->whole + row * m->width;
  (void)worker;
  brim_modules_apply(m, j->hidden + (int64_t)first * m->hidden, count, j->options->prompt_tokens, j->work + row * 2 * m->widest,
                     whole);
  put_vector(j, whole, j->vectors + j->part->rows[row] * (uint64_t)j->width);
}

static int embed_part(job *j, brim_batch *batch, const brim_dataset *dataset, brim_error *err) {
  const brim_pass pass = {.all_tokens = true};
  brim_embedder *e = (brim_embedder *)(uintptr_t)j->embedder;
  BRIM_TRY(brim_batch_fill(batch, e->runtime, dataset, j->part, err));
  BRIM_TRY(brim_model_forward(e->model, batch, &pass, NULL, NULL, err));
  BRIM_TRY(brim_model_hidden(e->model, batch, j->hidden, err));
  brim_pool_run(e->runtime, batch->count, do_row, j);
  for (int32_t i = 0; i < batch->count; i++)
    BRIM_TRY(brim_outputs_finite(j->vectors + j->part->rows[i] * (uint64_t)j->width, j->width,
                                 brim_dataset_origin(dataset, j->part->rows[i]), err));
  return BRIM_OK;
}

/* ---- all parts ----------------------------------------------------------------------------------------------- */

static int embed_parts(job *j, const brim_plan *plan, const brim_dataset *dataset, brim_error *err) {
  brim_batch batch = {0};
  int status = BRIM_OK;
  j->batch = &batch;
  for (uint64_t i = 0; i < brim_plan_parts(plan) && !status; i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    j->part = &part;
    status = brim_check_cancel(j->embedder->runtime, err);
    if (!status && part.count > 0)
      status = embed_part(j, &batch, dataset, err);
  }
  brim_batch_free(&batch);
  return status;
}

static int embed_planned(job *j, const brim_plan *plan, const brim_dataset *dataset, brim_error *err) {
  const brim_embedder *e = j->embedder;
  const brim_modules *m = &e->modules;
  brim_model_limits limits = {.precision = j->options->precision, .all_tokens = true};
  brim_limits_widen(&limits, plan, 1);
  const size_t rows = (size_t)limits.max_sequences;
  j->hidden = brim_alloc_array(e->runtime, (size_t)limits.max_slots, (size_t)m->hidden * sizeof *j->hidden);
  j->work = brim_alloc_array(e->runtime, rows, 2 * (size_t)m->widest * sizeof *j->work);
  j->whole = brim_alloc_array(e->runtime, rows, (size_t)m->width * sizeof *j->whole);
  int status = j->hidden && j->work && j->whole ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    status = brim_model_prepare(e->model, &limits, err);
  if (!status)
    status = embed_parts(j, plan, dataset, err);
  brim_release(e->runtime, j->hidden);
  brim_release(e->runtime, j->work);
  brim_release(e->runtime, j->whole);
  return status;
}

int brim_embedder_run(brim_embedder *e, const brim_dataset *dataset, const brim_embed_options *given, float *vectors,
                      brim_error *err) {
  const brim_embed_options options = given ? *given : (brim_embed_options){0};
  const brim_plan_options how = {.batching = BRIM_SORTED,
                                 .batch_size = options.batch_size > 0 ? options.batch_size : 32,
                                 .max_tokens = options.max_tokens,
                                 .oversize = BRIM_OVERSIZE_ALONE};
  job j = {.embedder = e, .options = &options, .vectors = vectors};
  brim_plan *plan;
  j.width = options.dimensions > 0 ? options.dimensions : e->modules.width;
  if (j.width > e->modules.width)
    return brim_error_set(err, BRIM_E_USAGE, "dimensions %d: the vectors have %d numbers", j.width, e->modules.width);
  brim_dataset *mapped; /* no labels are looked at */
  BRIM_TRY(brim_dataset_fit(e->runtime, e->model, dataset, 0, false, "data", &mapped, err));
  BRIM_TRY(brim_plan_new(e->runtime, brim_dataset_lengths(dataset), brim_dataset_rows(dataset), &how, 0, &plan, err));
  const int status = embed_planned(&j, plan, dataset, err);
  brim_plan_free(plan);
  return status;
}
