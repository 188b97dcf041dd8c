/* embed.c: a vector for each text: the encoder's last layer, or what it makes of several, pooled and so on as the model's folder
 * says. */
#include "train/answers/embed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/config.h"
#include "model/files/modules.h"
#include "model/run/ask.h"
#include "model/run/logits.h"
#include "task/task.h"
#include "text/prompt.h"
#include "train/answers/evaluate.h"
#include "train/answers/fit.h"
#include "train/folder/hashes.h"

struct brim_embedder {
  brim_runtime *runtime;
  brim_model *model;
  const brim_tokenizer *tokenizer;
  brim_model *own_model; /* these two: what it has loaded itself, or NULL */
  brim_tokenizer *own_tokenizer;
  brim_modules modules;
  brim_batch_encoder *encoder;
  brim_encodings encoded; /* of the last run */
};

/* ---- opening ------------------------------------------------------------------------------------------------- */

static int load_encoder(brim_embedder *e, const brim_model_options *options, brim_error *err) {
  BRIM_TRY(brim_model_load(e->runtime, e->modules.encoder, options, &e->own_model, err));
  e->model = e->own_model;
  BRIM_TRY(brim_tokenizer_load(e->runtime, e->modules.encoder, &e->own_tokenizer, err));
  e->tokenizer = e->own_tokenizer;
  return BRIM_OK;
}

static int copy_parameter(brim_embedder *e, const char *name, const float **out, brim_error *err) {
  const brim_parameter *p = NULL;
  for (int32_t i = 0; i < brim_model_parameter_count(e->model) && !p; i++)
    p = strcmp(brim_model_parameter(e->model, i)->name, name) == 0 ? brim_model_parameter(e->model, i) : NULL;
  if (!p)
    return brim_error_set(err, BRIM_E_INTERNAL, "the model has no weights %s", name);
  float *copy = brim_arena_alloc_array(&e->modules.arena, (size_t)p->count, sizeof *copy);
  *out = copy;
  return copy ? brim_model_read(e->model, BRIM_VALUES, p->offset, p->count, copy, err) : BRIM_NOMEM(err);
}

/* A dense layer as the model has it now. */
static int copy_dense(brim_embedder *e, const brim_dense_module *d, brim_module_step *step, brim_error *err) {
  const char *const names[2] = {"linear.weight", "linear.bias"};
  const float **const to[2] = {&step->weight, &step->bias};
  *step = (brim_module_step){.in = d->in, .out = d->out, .activation = brim_module_activation_of(d->activation), .path = d->path};
  for (int k = 0; k < 1 + d->biased; k++) {
    char full[sizeof d->path + 16];
    snprintf(full, sizeof full, "%s/%s", d->path, names[k]);
    BRIM_TRY(copy_parameter(e, full, to[k], err));
  }
  return BRIM_OK;
}

/* A model of embeddings may have been trained since its folder was read: its pooling and what follows it are its own. */
static int take_own_modules(brim_embedder *e, const char *folder, brim_error *err) {
  brim_modules *m = &e->modules;
  const brim_pool_list modes = brim_pooling_modes(brim_model_pooling(e->model));
  const brim_config *c = brim_model_config(e->model);
  if (!brim_model_shape(e->model)->bare)
    return m->mixes ? brim_error_at(err, BRIM_E_USAGE, folder, 0, -1,
                                    "vectors of this folder are of several layers, which a model of another task does not give")
                    : BRIM_OK;
  for (m->step_count = 0; m->step_count < c->dense_count; m->step_count++)
    BRIM_TRY(copy_dense(e, &c->dense[m->step_count], &m->steps[m->step_count], err));
  if (brim_model_normalizes(e->model))
    m->steps[m->step_count++] = (brim_module_step){0};
  return brim_modules_set_pooling(m, c->mixed, &modes, folder, err);
}

static int open_embedder(brim_embedder *e, const char *folder, const brim_model_options *options, brim_error *err) {
  BRIM_TRY(brim_modules_find_encoder(e->runtime, folder, &e->modules, err));
  if (!e->model)
    BRIM_TRY(load_encoder(e, options, err));
  BRIM_TRY(brim_batch_encoder_new(e->runtime, e->tokenizer, &e->encoder, err));
  BRIM_TRY(brim_modules_load(&e->modules, brim_model_config(e->model)->hidden, err));
  return take_own_modules(e, folder, err);
}

static int new_embedder(const brim_embedder *of, const char *folder, const brim_model_options *options, brim_embedder **out,
                        brim_error *err) {
  brim_embedder *e = *out = brim_alloc_zero(of->runtime, sizeof *e);
  if (!e)
    return BRIM_NOMEM(err);
  *e = *of;
  const int status = open_embedder(e, folder, options, err);
  if (status) {
    brim_embedder_free(e);
    *out = NULL;
  }
  return status;
}

int brim_embedder_load(brim_runtime *runtime, const char *folder, const brim_model_options *options, brim_embedder **out,
                       brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, folder);
  return new_embedder(&(brim_embedder){.runtime = runtime}, folder, options, out, err);
}

int brim_embedder_over(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, const char *folder,
                       brim_embedder **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, model, tokenizer, folder);
  return new_embedder(&(brim_embedder){.runtime = runtime, .model = model, .tokenizer = tokenizer}, folder, NULL, out, err);
}

void brim_embedder_free(brim_embedder *e) {
  if (!e)
    return;
  brim_encodings_free(&e->encoded);
  brim_batch_encoder_free(e->encoder);
  brim_modules_free(&e->modules);
  brim_tokenizer_free(e->own_tokenizer);
  brim_model_free(e->own_model);
  brim_release(e->runtime, e);
}

int brim_encoder_folder(brim_runtime *runtime, const char *folder, brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, runtime, folder, out);
  brim_modules modules;
  int status = brim_modules_find_encoder(runtime, folder, &modules, err);
  if (!status) {
    brim_text_string(out, modules.encoder);
    status = brim_text_status(out, err);
  }
  brim_modules_free(&modules);
  return status;
}

brim_model *brim_embedder_model(const brim_embedder *e) {
  return e->model;
}

const brim_tokenizer *brim_embedder_tokenizer(const brim_embedder *e) {
  return e->tokenizer;
}

bool brim_embedder_has_modules(const brim_embedder *e) {
  return e->modules.listed;
}

bool brim_embedder_is_of_reranker(const brim_embedder *e) {
  return e->modules.scores;
}

int32_t brim_embedder_width(const brim_embedder *e) {
  return e->modules.width;
}

int32_t brim_embedder_dimensions(const brim_embedder *e, int32_t wanted) {
  return wanted > 0 ? wanted : brim_kept_dimensions(e->modules.truncated, e->modules.width);
}

int32_t brim_embedder_max_length(const brim_embedder *e) {
  return brim_length_of(e->modules.max_length, brim_tokenizer_max_length(e->tokenizer), brim_model_max_length(e->model));
}

const char *brim_embedder_similarity(brim_embedder *e) {
  return brim_modules_similarity(&e->modules);
}

brim_runtime *brim_embedder_runtime(const brim_embedder *e) {
  return e->runtime;
}

int brim_embedder_identity(brim_embedder *e, uint64_t *out, brim_error *err) {
  uint64_t tokenizer;
  BRIM_TRY(brim_model_weights_hash(e->model, out, err));
  BRIM_TRY(brim_tokenizer_content(e->tokenizer, false, &tokenizer, err));
  *out = brim_modules_hash(&e->modules, brim_hash_mix(*out, tokenizer));
  return BRIM_OK;
}

const char *brim_embedder_prompt(brim_embedder *e, const char *name) {
  const char *text = brim_modules_prompt(&e->modules, name);
  const bool usual = name && (strcmp(name, "query") == 0 || strcmp(name, "document") == 0);
  return !text && usual ? "" : text;
}

/* ---- one part ------------------------------------------------------------------------------------------------ */

typedef struct job {
  brim_embedder *embedder;
  const brim_embed_options *options;
  const brim_dataset *dataset;
  const brim_planned *part;
  const brim_batch *batch;
  int32_t width, prompt_tokens; /* of a vector, as wanted; with which each text begins */
  bool first_only;              /* first tokens are all that is pooled, and that the model computes in its last layer */
  const float *states;          /* [tokens of the part, hidden], or [texts, hidden] */
  float *hidden;                /* room for them where they are not in the host's memory */
  double *work;                 /* [texts of a part, 2, widest] */
  float *whole;                 /* [texts of a part, width of the modules]: before they are cut */
  float *vectors;               /* [texts, width] */
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

static void pool_text(void *context, int64_t text, int worker) {
  const job *j = context;
  const brim_modules *m = &j->embedder->modules;
  const int32_t first = j->first_only ? (int32_t)text : j->batch->offsets[text];
  const int32_t count = j->first_only ? 1 : j->batch->offsets[text + 1] - first;
  float *whole = j->whole + text * m->width;
  (void)worker;
  brim_modules_apply(m, j->states + (int64_t)first * m->hidden, count, j->prompt_tokens, j->work + text * 2 * m->widest, whole);
  put_vector(j, whole, j->vectors + j->part->rows[text] * (uint64_t)j->width);
}

static uint64_t number_of(const brim_embed_options *options, uint64_t text) {
  return options->numbers ? options->numbers[text] : text;
}

static int embed_part(job *j, brim_batch *batch, brim_error *err) {
  brim_embedder *e = j->embedder;
  const brim_pass pass = {.all_tokens = !j->first_only};
  BRIM_TRY(brim_batch_fill(batch, e->runtime, j->dataset, j->part, err));
  BRIM_TRY(brim_model_forward(e->model, batch, &pass, NULL, NULL, err));
  BRIM_TRY(brim_model_map_hidden(e->model, &j->states, err));
  if (!j->states) {
    BRIM_TRY(brim_model_hidden(e->model, batch, j->hidden, err));
    j->states = j->hidden;
  }
  brim_pool_run(e->runtime, batch->count, pool_text, j);
  for (int32_t i = 0; i < batch->count; i++)
    BRIM_TRY(brim_outputs_finite(j->vectors + j->part->rows[i] * (uint64_t)j->width, j->width,
                                 number_of(j->options, j->part->rows[i]), err));
  return BRIM_OK;
}

/* ---- all parts ----------------------------------------------------------------------------------------------- */

static int embed_parts(job *j, const brim_plan *plan, brim_error *err) {
  brim_batch batch = {0};
  int status = BRIM_OK;
  j->batch = &batch;
  for (uint64_t i = 0; i < brim_plan_parts(plan) && !status; i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    j->part = &part;
    status = brim_check_cancel(j->embedder->runtime, err);
    if (!status && part.count > 0)
      status = embed_part(j, &batch, err);
  }
  brim_batch_free(&batch);
  return status;
}

/* Of a pooling by the first token alone the last layer is computed for that token alone, where the model's head does so too. */
static bool pools_first(const brim_embedder *e) {
  const brim_modules *m = &e->modules;
  return m->modes.count == 1 && m->modes.of[0] == BRIM_POOL_CLS && !m->without_prompt && brim_model_gives_first(e->model);
}

/* Twice as much or more, up to what one text takes: texts that come one by one, each a little longer, find the model ready. */
static int64_t rounded_up(int64_t count, int64_t most) {
  int64_t room = 1;
  while (room < count)
    room *= 2;
  return room < most || count > most ? room : most;
}

/* A model that is ready for as much stays as it is: to prepare it costs more than a short text. */
static int make_ready(const brim_embedder *e, const brim_model_limits *limits, brim_error *err) {
  const int32_t longest = brim_model_max_length(e->model);
  brim_model_limits room = *limits;
  if (brim_model_predicts_within(e->model, limits))
    return BRIM_OK;
  if (limits->max_sequences == 1) {
    room.max_slots = rounded_up(limits->max_slots, longest);
    room.max_length = (int32_t)rounded_up(limits->max_length, longest);
  }
  return brim_model_prepare(e->model, &room, err);
}

static int embed_planned(job *j, const brim_plan *plan, brim_error *err) {
  const brim_embedder *e = j->embedder;
  const brim_modules *m = &e->modules;
  brim_model_limits limits = {.precision = j->options->precision, .all_tokens = true};
  brim_limits_widen(&limits, plan, 1);
  const size_t texts = (size_t)limits.max_sequences;
  j->work = brim_alloc_array(e->runtime, texts, 2 * (size_t)m->widest * sizeof *j->work);
  j->whole = brim_alloc_array(e->runtime, texts, (size_t)m->width * sizeof *j->whole);
  int status = j->work && j->whole ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    status = make_ready(e, &limits, err);
  j->first_only = !status && pools_first(e);
  if (!status && !brim_model_maps_hidden(e->model)) {
    j->hidden = brim_alloc_array(e->runtime, (size_t)limits.max_slots, (size_t)m->hidden * sizeof *j->hidden);
    status = j->hidden ? BRIM_OK : BRIM_NOMEM(err);
  }
  if (!status)
    status = embed_parts(j, plan, err);
  brim_release(e->runtime, j->hidden);
  brim_release(e->runtime, j->work);
  brim_release(e->runtime, j->whole);
  return status;
}

static int embed_dataset(job *j, brim_error *err) {
  const brim_embedder *e = j->embedder;
  const brim_plan_options how = {.batching = BRIM_SORTED,
                                 .batch_size = j->options->batch_size > 0 ? j->options->batch_size : 32,
                                 .max_tokens = j->options->max_tokens,
                                 .oversize = BRIM_OVERSIZE_ALONE};
  brim_plan *plan;
  if (brim_dataset_firsts(j->dataset))
    return brim_error_set(err, BRIM_E_USAGE, "the rows have several texts, and a vector is of one: give each text a row");
  BRIM_TRY(brim_tokenizers_fit(e->model, brim_dataset_tokenizer(j->dataset), "data", err));
  BRIM_TRY(brim_rows_fit(e->model, j->dataset, 0, false, "data", err)); /* single texts have a vector, whatever the task */
  BRIM_TRY(brim_plan_new(e->runtime, brim_dataset_lengths(j->dataset), brim_dataset_rows(j->dataset), &how, 0, &plan, err));
  const int status = embed_planned(j, plan, err);
  brim_plan_free(plan);
  return status;
}

/* ---- tokens -------------------------------------------------------------------------------------------------- */

static int encode(brim_embedder *e, const brim_string *texts, uint64_t count, int32_t max_length, brim_error *err) {
  const brim_encode_options how = {.max_length = max_length, .stops = true};
  return brim_batch_encoder_run(e->encoder, texts, NULL, (size_t)count, &how, &e->encoded, err);
}

/* The same texts, each after the prompt. */
static int put_prompt(const char *prompt, const brim_string *texts, uint64_t count, brim_text *bytes, brim_string *out,
                      brim_error *err) {
  const size_t length = strlen(prompt);
  for (uint64_t i = 0; i < count; i++) {
    brim_text_append(bytes, prompt, length);
    brim_text_append(bytes, texts[i].bytes, texts[i].length);
  }
  BRIM_TRY(brim_text_status(bytes, err));
  for (uint64_t i = 0, at = 0; i < count; i++) {
    out[i] = (brim_string){bytes->data + at, length + texts[i].length};
    at += out[i].length;
  }
  return BRIM_OK;
}

static int encode_after_prompt(brim_embedder *e, const char *prompt, const brim_string *texts, uint64_t count, int32_t max_length,
                               brim_error *err) {
  brim_text bytes;
  brim_text_init(&bytes, e->runtime);
  brim_string *joined = brim_alloc_array(e->runtime, (size_t)count, sizeof *joined);
  int status = joined ? put_prompt(prompt, texts, count, &bytes, joined, err) : BRIM_NOMEM(err);
  if (!status)
    status = encode(e, joined, count, max_length, err);
  brim_text_free(&bytes);
  brim_release(e->runtime, joined);
  return status;
}

static int make_dataset(brim_embedder *e, const brim_embed_options *options, brim_dataset **out, brim_error *err) {
  const brim_encodings *c = &e->encoded;
  uint64_t content;
  brim_sample *samples = brim_alloc_array_zero(e->runtime, c->count, sizeof *samples);
  int status = samples ? BRIM_OK : BRIM_NOMEM(err);
  for (size_t i = 0; i < c->count && !status; i++) {
    samples[i] = (brim_sample){.ids = c->ids + c->starts[i],
                               .type_ids = c->type_ids + c->starts[i],
                               .length = (int32_t)(c->starts[i + 1] - c->starts[i]),
                               .label = NAN};
    if (samples[i].length == 0)
      status = brim_error_set(err, BRIM_E_FORMAT, "text %llu gives no token: leave such texts out",
                              (unsigned long long)number_of(options, i));
  }
  if (!status)
    status = brim_dataset_from_samples(e->runtime, samples, c->count, NULL, out, err);
  if (!status)
    status = brim_tokenizer_content(e->tokenizer, false, &content, err);
  if (!status)
    brim_dataset_set_tokenizer(*out, content);
  brim_release(e->runtime, samples);
  return status;
}

static void count_texts(const brim_encodings *c, brim_embed_counts *counts) {
  counts->texts += c->count;
  counts->unread += c->unread;
  for (size_t i = 0; i < c->count; i++) {
    counts->cut += c->lost[i] > 0;
    counts->lost += c->lost[i];
  }
}

/* ---- texts --------------------------------------------------------------------------------------------------- */

static int check_options(const brim_embedder *e, const brim_embed_options *o, brim_error *err) {
  const int32_t most = brim_model_max_length(e->model);
  if (o->dimensions > e->modules.width)
    return brim_error_set(err, BRIM_E_USAGE, "dimensions %d: the model's vectors have %d numbers", (int)o->dimensions,
                          (int)e->modules.width);
  if (o->dimensions < 0 || o->max_length < 0 || o->batch_size < 0)
    return brim_error_set(err, BRIM_E_USAGE, "dimensions, batch_size and max_length must not be negative");
  if ((unsigned)o->precision > BRIM_PRECISION_INT8)
    return brim_error_set(err, BRIM_E_USAGE, "the precision is none of those of brim/model.h");
  if (o->max_length > most)
    return brim_error_set(err, BRIM_E_USAGE, "a maximum length of %d: the model takes at most %d tokens", (int)o->max_length,
                          (int)most);
  return BRIM_OK;
}

int brim_embedder_run(brim_embedder *e, const brim_string *texts, uint64_t count, const brim_embed_options *given, float *vectors,
                      brim_embed_counts *counts, brim_error *err) {
  BRIM_GIVEN_AS(err, "embedder", e);
  BRIM_ARRAY(err, texts, count);
  BRIM_ARRAY(err, vectors, count);
  const brim_embed_options options = given ? *given : (brim_embed_options){0};
  const char *prompt = options.prompt ? options.prompt : "";
  const int32_t max_length = options.max_length > 0 ? options.max_length : brim_embedder_max_length(e);
  job j = {.embedder = e, .options = &options, .vectors = vectors};
  brim_dataset *dataset = NULL;
  BRIM_TRY(check_options(e, &options, err));
  if (count == 0)
    return BRIM_OK;
  j.width = brim_embedder_dimensions(e, options.dimensions);
  if (*prompt) {
    BRIM_TRY(brim_prompt_tokens(e->runtime, e->tokenizer, prompt, max_length, &j.prompt_tokens, err));
    BRIM_TRY(encode_after_prompt(e, prompt, texts, count, max_length, err));
  } else {
    BRIM_TRY(encode(e, texts, count, max_length, err));
  }
  int status = make_dataset(e, &options, &dataset, err);
  j.dataset = dataset;
  if (!status)
    status = embed_dataset(&j, err);
  if (!status && counts)
    count_texts(&e->encoded, counts);
  brim_dataset_free(dataset);
  return status;
}
