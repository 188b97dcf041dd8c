/* load.c: a model from its folder, and what can be asked about it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "model/files/sentence.h"
#include "model/kind.h"
#include "model/run/ask.h"
#include "model/run/model.h"
#include "task/task.h"

/* Modules that cannot be used matter to nobody who uses the encoder alone: words say why. */
static int describe_modules(brim_runtime *runtime, const char *folder, brim_model_info *out, brim_error *err) {
  brim_modules modules;
  brim_text words;
  brim_error why = {0};
  brim_text_init(&words, runtime);
  int status = brim_modules_find_encoder(runtime, folder, &modules, &why);
  if (!status && modules.listed)
    status = brim_modules_load(&modules, out->hidden, &why);
  if (!status && modules.listed)
    modules.max_length = modules.max_length > out->max_length ? out->max_length : modules.max_length,
    brim_modules_words(&modules, &words);
  else if (status && status != BRIM_E_MEMORY)
    brim_text_string(&words, why.message);
  brim_modules_free(&modules);
  if (!status)
    status = brim_text_status(&words, &why);
  if (words.length > 0)
    snprintf(out->modules, sizeof out->modules, "%.*s", (int)words.length, words.data);
  brim_text_free(&words);
  return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : BRIM_OK;
}

int brim_model_describe(brim_runtime *runtime, const char *folder, brim_model_info *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, folder);
  brim_config config;
  BRIM_TRY(brim_config_load_encoder(runtime, folder, &config, err));
  memcpy(out->type, config.family->type, strlen(config.family->type) + 1);
  out->max_length = brim_config_max_length(&config);
  out->vocab_size = config.vocab_size;
  out->type_count = config.ignores_types ? 0 : config.types;
  out->layers = config.layers;
  out->hidden = config.hidden;
  out->heads = config.heads;
  for (int32_t i = 0; i < config.layers; i++)
    out->window_layers += brim_config_has_window(&config, i);
  out->window = out->window_layers > 0 ? config.window : 0;
  out->task = brim_config_class_task(&config);
  if (brim_task_shape(out->task)->made) /* how pretrained encoders are published: a head for anything may follow */
    out->task = BRIM_TASK_AUTO;
  brim_config_free(&config);
  BRIM_TRY(brim_pooling_made_for(runtime, folder, &out->made_for, err));
  BRIM_TRY(describe_modules(runtime, folder, out, err));
  return brim_lengths_made_for(runtime, folder, out, err);
}

#ifdef BRIM_REAL_DOUBLE
static int choose_ops(brim_model *m, const brim_model_options *options, brim_error *err) {
  (void)options, (void)err;
  m->ops = brim_ops_ref();
  return BRIM_OK;
}

static int choose_tf32(brim_model *m, const brim_model_options *options, brim_error *err) {
  (void)m, (void)options, (void)err;
  return BRIM_OK;
}
#else
static int choose_ops(brim_model *m, const brim_model_options *options, brim_error *err) {
  if ((unsigned)options->device > BRIM_DEVICE_REFERENCE)
    return brim_error_set(err, BRIM_E_USAGE, "device %d does not exist", (int)options->device);
  if (options->kernels) {
    m->ops = brim_ops_find(m->runtime, options->kernels);
    return m->ops ? BRIM_OK
                  : brim_error_set(err, BRIM_E_UNSUPPORTED, "this build or this machine has no kernels named \"%s\"",
                                   options->kernels);
  }
  m->ops = options->device == BRIM_DEVICE_CUDA        ? brim_ops_cuda()
           : options->device == BRIM_DEVICE_REFERENCE ? brim_ops_ref()
                                                      : brim_ops_cpu(brim_runtime_cpu(m->runtime));
  return BRIM_OK;
}

/* As asked for, or as in the run whose kernels are wanted. */
static int choose_tf32(brim_model *m, const brim_model_options *options, brim_error *err) {
  m->context.tf32 = options->tf32 || (options->kernels && brim_ops_is_tf32(options->kernels));
  if (m->context.tf32 && m->ops != brim_ops_cuda())
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "products in TF32 are a GPU's: use the device cuda");
  return BRIM_OK;
}
#endif

/* Lists that outlive what prepare takes. */
static int take_lists(brim_model *m, brim_error *err) {
  m->ranges = brim_arena_alloc_array(&m->arena, m->program.weight_count, sizeof *m->ranges);
  m->range_weights = brim_arena_alloc_array(&m->arena, m->program.weight_count, sizeof *m->range_weights);
  m->past = brim_arena_alloc_array(&m->arena, BRIM_UPDATE_PAST, sizeof *m->past);
  m->packed = brim_arena_alloc_array(&m->arena, (size_t)m->program.packed_count, sizeof *m->packed);
  return m->ranges && m->range_weights && m->past && m->packed ? BRIM_OK : BRIM_NOMEM(err);
}

/* All weights, from a line on, and the answers. */
static int take_values(brim_model *m, brim_error *err) {
  enum { LINE = 64 };
  const size_t bytes = (size_t)m->program.flat_size * sizeof *m->values;
  m->values_block = m->ops->alloc(&m->context, bytes + LINE, false);
  m->answers = m->ops->alloc(&m->context, BRIM_ANSWERS * sizeof *m->answers, true);
  if (!m->values_block || !m->answers)
    return brim_model_no_memory(m, bytes, err);
  m->values = (real *)(((uintptr_t)m->values_block + LINE - 1) / LINE * LINE);
  m->ops->clear(&m->context, m->values, bytes);
  return BRIM_OK;
}

/* Of tasks other than embeddings. */
static int take_pooling(brim_pooling pooling, brim_config *config, brim_error *err) {
  char name[BRIM_POOLING_NAME];
  if (brim_task_shape(config->labels.task)->outputs != BRIM_OUTPUTS_OF_TEXTS)
    return brim_error_set(err, BRIM_E_USAGE, "pooling has no effect on the task %s, whose head sees every token: leave it out",
                          brim_task_name(config->labels.task));
  if (!brim_pooling_is_simple(pooling))
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "pooling %s is of embeddings: other tasks have cls, mean or max, one of them",
                          brim_pooling_name(pooling, name));
  config->pooling = pooling;
  config->late = false;
  return BRIM_OK;
}

/* Likewise. */
static int take_layers(const char *layers, brim_config *config, brim_error *err) {
  if (brim_task_rules_of(config->labels.task)->head != BRIM_HEAD_OF_TEXTS)
    return brim_error_set(err, BRIM_E_USAGE, "layers have no effect on the task %s, whose head sees tokens: leave them out",
                          brim_task_name(config->labels.task));
  BRIM_TRY(brim_mixed_parse(layers, strlen(layers), config->layers, &config->mixed, err));
  config->late = config->late && config->mixed.count == 0;
  return BRIM_OK;
}

static int load(brim_model *m, const char *folder, const brim_model_options *options, brim_error *err) {
  BRIM_TRY(choose_ops(m, options, err));
  m->context.card = options->card;
  BRIM_TRY(choose_tf32(m, options, err));
  const int opened = m->ops->open(&m->context, err);
  if (opened) {
    m->ops = NULL;
    return opened;
  }
  const brim_pool_list modes = brim_pooling_modes(options->pooling);
  if (brim_pooling_of_modes(&modes) != options->pooling)
    return brim_error_set(err, BRIM_E_USAGE, "the number %d is no pooling: brim_pooling_parse makes them", (int)options->pooling);
  BRIM_TRY(brim_config_load(m->runtime, folder, options->labels, &m->config, err));
  if (brim_task_rules_of(m->config.labels.task)->folder == BRIM_FOLDER_OF_ENCODER)
    BRIM_TRY(brim_sentence_load(&m->sentence, m->runtime, folder, options, &m->config, err));
  else if (options->dense || options->dense_activation)
    return brim_error_set(err, BRIM_E_USAGE, "dense and dense_activation are of embeddings: leave them out");
  else if (options->pooling != BRIM_POOLING_CONFIG)
    BRIM_TRY(take_pooling(options->pooling, &m->config, err));
  if (options->layers && !m->sentence)
    BRIM_TRY(take_layers(options->layers, &m->config, err));
  m->config.ignores_types = m->config.ignores_types || options->no_type_ids;
  BRIM_TRY(brim_weights_find_head(m->runtime, folder, &m->config, err));
  BRIM_TRY(brim_program_make(&m->program, m->runtime, &m->arena, &m->config, err));
  if (options->reinit_layers < 0 || options->reinit_layers > brim_layer_count(&m->program))
    return brim_error_set(err, BRIM_E_USAGE, "reinit_layers is %d, but the model has %d layers", options->reinit_layers,
                          brim_layer_count(&m->program));
  if (options->reinit_layers > 0 &&
      brim_program_shares(&m->program, (int32_t)m->program.section_count - 1 - options->reinit_layers))
    return brim_error_set(err, BRIM_E_USAGE,
                          "reinit_layers is %d: these layers cannot be new alone, since layers below have the same weights",
                          options->reinit_layers);
  m->reinit_layers = options->reinit_layers;
  BRIM_TRY(brim_trained_init(&m->trained, &m->program, &m->arena, err));
  BRIM_TRY(brim_model_reserve_schedules(m, err));
  BRIM_TRY(take_lists(m, err));
  if (!options->no_values)
    BRIM_TRY(take_values(m, err));
  return brim_weights_load(m, folder, options, err);
}

int brim_model_load(brim_runtime *runtime, const char *folder, const brim_model_options *options, brim_model **out,
                    brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, folder);
  static const brim_model_options defaults = {.device = BRIM_DEVICE_CPU};
  brim_model *m = brim_alloc_zero(runtime, sizeof *m);
  if (!m)
    return BRIM_NOMEM(err);
  m->runtime = m->context.runtime = runtime;
  m->optimizer = brim_optimizer_find(NULL);
  brim_arena_init(&m->arena, runtime, 0);
  const int status = load(m, folder, options ? options : &defaults, err);
  if (status)
    brim_model_free(m);
  else
    *out = m;
  return status;
}

void brim_model_free(brim_model *model) {
  if (!model)
    return;
  if (model->ops) {
    brim_model_release_memory(model);
    model->ops->release(&model->context, model->values_block);
    model->ops->release(&model->context, model->answers);
    model->ops->close(&model->context);
  }
  brim_sentence_free(model->sentence);
  brim_release(model->runtime, model->frozen_words);
  brim_release(model->runtime, model->only_words);
  brim_program_free(&model->program);
  brim_config_free(&model->config);
  brim_arena_free(&model->arena);
  brim_release(model->runtime, model);
}

/* ---- questions -------------------------------------------------------------------------------------------- */

int brim_model_unused_count(const brim_model *model) {
  return model->unused_count;
}
const char *brim_model_unused_name(const brim_model *model, int index) {
  return model->unused[index];
}
int brim_model_initialized_count(const brim_model *model) {
  return model->initialized_count;
}
const char *brim_model_initialized_name(const brim_model *model, int index) {
  return model->initialized[index];
}
const char *brim_model_former_class(const brim_model *model, int32_t index) {
  return model->former_classes && index >= 0 && index < model->config.labels.count ? model->former_classes[index] : NULL;
}
int32_t brim_model_max_length(const brim_model *model) {
  return brim_config_max_length(&model->config);
}
int32_t brim_model_outputs(const brim_model *model) {
  return brim_model_shape(model)->bare ? model->program.values[model->program.logits].width : brim_config_outputs(&model->config);
}
int64_t brim_model_logit_rows(const brim_model *model, const brim_batch *batch) {
  const int32_t tokens = batch->offsets[batch->count];
  const brim_outputs_of of = brim_model_shape(model)->outputs;
  if (of == BRIM_OUTPUTS_OF_LABELLED && batch->token_labels)
    return brim_token_labels_count(batch->token_labels, tokens, tokens);
  return of == BRIM_OUTPUTS_OF_TEXTS ? batch->count : tokens;
}
brim_task brim_model_task(const brim_model *model) {
  return model->config.labels.task;
}
const brim_shape *brim_model_shape(const brim_model *model) {
  return brim_task_shape(model->config.labels.task);
}
const brim_labels *brim_model_labels(const brim_model *model) {
  return &model->config.labels;
}
int32_t brim_model_vocab_size(const brim_model *model) {
  return model->config.vocab_size;
}
int32_t brim_model_hidden_size(const brim_model *model) {
  return model->program.values[model->program.hidden].width;
}
void brim_model_set_tokenizer(brim_model *model, uint64_t content) {
  model->tokenizer = content;
}

uint64_t brim_model_tokenizer(const brim_model *model) {
  return model->tokenizer;
}

int brim_model_pairs(const brim_model *model) {
  return model->config.pairs;
}

void brim_model_set_pairs(brim_model *model, int pairs) {
  model->config.pairs = brim_model_shape(model)->several_texts ? -1 : (int8_t)pairs; /* those say by themselves what is joined */
}

const char *brim_model_type(const brim_model *model) {
  return model->config.family->type;
}
brim_pooling brim_model_pooling(const brim_model *model) {
  return model->config.pooling;
}
const char *brim_model_layers(const brim_model *model, char name[BRIM_LAYERS_NAME]) {
  return brim_mixed_name(model->config.mixed, name);
}
const brim_config *brim_model_config(const brim_model *model) {
  return &model->config;
}
const char *brim_model_dense(const brim_model *model, char names[BRIM_DENSE_NAMES]) {
  size_t used = 0;
  names[0] = 0;
  for (int32_t i = 0; i < model->config.dense_count && used < BRIM_DENSE_NAMES; i++)
    used += (size_t)snprintf(names + used, BRIM_DENSE_NAMES - used, "%s%s", i ? "," : "",
                             brim_module_activation_name(model->config.dense[i].activation));
  for (size_t i = 0; names[i]; i++)
    names[i] = (char)tolower((unsigned char)names[i]);
  return names;
}
bool brim_model_normalizes(const brim_model *model) {
  return model->sentence && model->sentence->normalizes;
}
brim_meaning brim_model_meaning(const brim_model *model) {
  const brim_sentence *s = model->sentence;
  const bool scores = brim_task_rules_of(brim_model_task(model))->folder == BRIM_FOLDER_OF_CROSS_ENCODER;
  brim_meaning meaning = {.values = scores && model->config.bare_scores};
  if (s)
    meaning.unit = s->normalizes, meaning.dimensions = s->modules.truncated, meaning.similarity = s->similarity;
  return meaning;
}
bool brim_model_scores_bare(const brim_model *model) {
  return model->config.bare_scores;
}
void brim_model_set_scores_bare(brim_model *model, bool bare) {
  model->config.bare_scores = bare;
}
bool brim_model_reads_types(const brim_model *model) {
  return model->config.types > 0 && !model->config.ignores_types;
}
int brim_model_config_fields(const brim_model *model, brim_field fields[BRIM_MODEL_CONFIG_FIELDS]) {
  _Static_assert((int)BRIM_MODEL_CONFIG_FIELDS == (int)BRIM_CONFIG_FIELDS, "the numbers in ask.h and config.h differ");
  return brim_config_fields(&model->config, fields);
}
void brim_model_set_profile(brim_model *model, brim_profile *profile) {
  if (model->context.inner)
    model->ops = model->context.inner;
  model->context.inner = NULL;
  model->context.profile = NULL;
  if (!profile)
    return;
  brim_ops_profile(&model->context, profile, model->ops, &model->timed);
  model->ops = &model->timed;
}
const char *brim_model_kernels(const brim_model *model) {
  return model->ops->exact_name ? model->ops->exact_name(&model->context, false) : model->ops->name;
}
const char *brim_model_kernels_for(const brim_model *model, brim_precision precision) {
#ifdef BRIM_REAL_DOUBLE
  (void)precision;
  return model->ops->name;
#else
  return brim_ops_class(model->ops, &model->context, brim_precision_is_half(precision));
#endif
}
int32_t brim_model_parameter_count(const brim_model *model) {
  return (int32_t)model->program.weight_count;
}
const brim_parameter *brim_model_parameter(const brim_model *model, int32_t index) {
  return &model->program.weights[index].is;
}
int64_t brim_model_flat_size(const brim_model *model) {
  return model->program.flat_size;
}

/* It multiplies 16-bit values in a precision that has them. */
static bool is_half(const brim_kind *kind) {
  return kind->half.weights || kind->half.out;
}

/* Of the layers, for a text of so many tokens; or of what multiplies 16-bit values. Backward takes twice what forward does. */
static double text_flops(const brim_call_schedule *s, double length, bool half) {
  const double rows[BRIM_ROW_KINDS] = {[BRIM_ROW_TEXTS] = 1, [BRIM_ROW_CHOSEN] = 1, [BRIM_ROW_TOKENS] = length};
  double total = 0;
  for (size_t i = 0; i < s->program->operation_count; i++) {
    const brim_operation *o = &s->program->operations[i];
    if (s->program->sections[o->section].layer && o->kind->flops && (!half || is_half(o->kind)))
      total += (s->trained[i] ? 3 : 1) * o->kind->flops(s, o, rows, length);
  }
  return total;
}

static bool plan_all(const brim_model *model, bool training) {
  const brim_variant variant = {.training = training, .all_rows = true, .trained = &model->trained};
  brim_error ignored;
  return brim_schedule_make(model->plan, &model->program, &variant, &ignored) == BRIM_OK;
}

double brim_model_flops(const brim_model *model, const int32_t *lengths, uint64_t count, bool training) {
  double total = 0;
  if (!plan_all(model, training))
    return (double)NAN;
  for (uint64_t i = 0; i < count; i++)
    total += text_flops(model->plan, lengths[i], false);
  return total;
}

double brim_model_half_share(const brim_model *model, int32_t length) {
  return plan_all(model, true) ? text_flops(model->plan, length, true) / text_flops(model->plan, length, false) : (double)NAN;
}
