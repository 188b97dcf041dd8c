/* sentence.c: reads what a folder of sentence-transformers says of how its encoder is trained. */
#include "model/files/sentence.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/modules.h"
#include "model/files/parts.h"
#include "task/task.h"
#include "text/files.h"

#define SETTINGS "config_sentence_transformers.json"
enum { LIMIT = 1 << 20, MOST_COLUMNS = 1 << 16 };

/* ---- modules ------------------------------------------------------------------------------------------------- */

/* A run writes it there: what has the name already would be another file's, or another module's. */
static bool is_free_name(const brim_config *config, const char *name) {
  if (strchr(name, '/') || name[0] == '.' || name[0] == 0 || brim_is_model_part(name) || brim_is_tokenizer_file(name))
    return false;
  for (int32_t i = 0; i < config->dense_count; i++)
    if (strcmp(config->dense[i].path, name) == 0)
      return false;
  return true;
}

static int take_dense(const brim_module_step *step, const char *folder, brim_config *config, brim_error *err) {
  brim_dense_module *d = &config->dense[config->dense_count];
  brim_activation activation;
  const bool trained = brim_module_is_trained(step, &activation);
  if (!is_free_name(config, step->path))
    return brim_error_at(err, BRIM_E_FORMAT, folder, 0, -1,
                         "the Dense module's path \"%.40s\" is no name of a folder, or the name of something else in it",
                         step->path);
  if (config->dense_count == BRIM_MOST_DENSE || !trained || strlen(step->path) >= sizeof d->path)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, folder, 0, -1,
                         "the Dense module %.40s is not trained by brim: at most %d are, with Identity, Tanh, ReLU, GELU or SiLU",
                         step->path, BRIM_MOST_DENSE);
  *d = (brim_dense_module){.in = step->in, .out = step->out, .biased = step->bias != NULL, .activation = activation};
  memcpy(d->path, step->path, strlen(step->path));
  config->dense_count++;
  return BRIM_OK;
}

/* A folder that none of the others has. */
static void name_dense(const brim_config *config, brim_dense_module *d) {
  int number = 2 + config->dense_count;
  for (bool taken = true; taken; number++) {
    taken = false;
    snprintf(d->path, sizeof d->path, "%d_Dense", number);
    for (int32_t i = 0; i < config->dense_count; i++)
      taken = taken || strcmp(config->dense[i].path, d->path) == 0;
  }
}

/* A dense layer after those of the folder; its weights are new. */
static int add_dense(const brim_model_options *options, const char *folder, brim_config *config, int32_t width, brim_error *err) {
  const char *name = options->dense_activation ? options->dense_activation : "identity";
  const bool tanh = strcmp(name, "tanh") == 0;
  brim_dense_module *d = &config->dense[config->dense_count];
  if (!tanh && strcmp(name, "identity") != 0)
    return brim_error_set(err, BRIM_E_USAGE, "dense_activation is \"%.40s\": identity or tanh are expected", name);
  if (options->dense < 0 || options->dense > MOST_COLUMNS)
    return brim_error_set(err, BRIM_E_USAGE, "a dense layer of %d numbers: 1 to %d are expected", (int)options->dense,
                          MOST_COLUMNS);
  if (config->dense_count == BRIM_MOST_DENSE)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, folder, 0, -1, "the folder has %d Dense modules, and brim trains no more",
                         BRIM_MOST_DENSE);
  *d = (brim_dense_module){
      .in = width, .out = options->dense, .biased = true, .activation = tanh ? BRIM_ACT_TANH : BRIM_ACT_NONE};
  name_dense(config, d);
  config->dense_count++;
  return BRIM_OK;
}

/* Pooling, dense layers, and a norm at the end. */
static int take_modules(brim_sentence *s, const char *folder, const brim_model_options *options, brim_config *config,
                        brim_error *err) {
  brim_modules *m = &s->modules;
  const bool repools = options->pooling != BRIM_POOLING_CONFIG;
  const brim_pool_list modes = repools ? brim_pooling_modes(options->pooling) : m->modes;
  if (m->layers > 0 && m->layers != config->layers)
    return brim_error_at(err, BRIM_E_MISMATCH, folder, 0, -1, "WeightedLayerPooling is of %d layers, but the encoder has %d",
                         (int)m->layers, (int)config->layers);
  config->mixed = m->mixed;
  if (options->layers)
    BRIM_TRY(brim_mixed_parse(options->layers, strlen(options->layers), config->layers, &config->mixed, err));
  if (config->mixed.count != m->mixed.count)
    m->shares = NULL;
  if (repools || options->layers)
    BRIM_TRY(brim_modules_set_pooling(m, config->mixed, &modes, folder, err));
  for (int32_t i = 0; i < m->step_count; i++) {
    if (s->normalizes && m->steps[i].weight)
      return brim_error_at(err, BRIM_E_UNSUPPORTED, folder, 0, -1,
                           "the folder has a Dense module after Normalize, which brim uses (brim embed) but does not train");
    if (m->steps[i].weight)
      BRIM_TRY(take_dense(&m->steps[i], folder, config, err));
    else
      s->normalizes = true;
  }
  config->skips_prompts = m->without_prompt;
  config->pooling = brim_pooling_of_modes(&m->modes);
  if (options->dense_activation && !options->dense)
    return brim_error_set(err, BRIM_E_USAGE,
                          "dense_activation has no effect without dense: add it or leave out dense_activation");
  return options->dense ? add_dense(options, folder, config, m->width, err) : BRIM_OK;
}

const float *brim_sentence_weight(const brim_sentence *s, const char *name) {
  if (strcmp(name, BRIM_LAYERS_MODULE "/" BRIM_LAYER_SHARES) == 0)
    return s->modules.shares;
  for (int32_t i = 0; i < s->modules.step_count; i++) {
    const brim_module_step *step = &s->modules.steps[i];
    const size_t length = step->path ? strlen(step->path) : 0;
    if (step->weight && strncmp(name, step->path, length) == 0 && name[length] == '/')
      return strcmp(name + length + 1, "linear.weight") == 0 ? step->weight : step->bias;
  }
  return NULL;
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

/* Those of a cross-encoder would have the library pass over the modules. */
static int read_settings(brim_sentence *s, brim_error *err) {
  if (s->modules.scores)
    return BRIM_OK;
  char *path = brim_path_join(s->runtime, s->modules.home, SETTINGS);
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_is_taken(path))
    status = brim_file_read_plain(s->runtime, path, LIMIT, &s->settings, &s->settings_length, err);
  brim_release(s->runtime, path);
  return status;
}

/* ---- rerankers ----------------------------------------------------------------------------------------------- */

static bool ends_with(const brim_json_value *text, const char *end) {
  const size_t length = strlen(end);
  return text->length >= length && memcmp(text->as.text + text->length - length, end, length) == 0;
}

/* Of torch's classes brim has two. Where none is named, it is the sigmoid. */
static bool read_activation(const brim_json_value *class, brim_config *config) {
  if (!class || class->kind != BRIM_JSON_STRING)
    return false;
  config->bare_scores = ends_with(class, "Identity");
  config->other_scores = !config->bare_scores && !ends_with(class, "Sigmoid");
  return true;
}

/* A file of another program's: what brim cannot read says nothing. *said: what scores are made with. */
static int read_newer(brim_runtime *runtime, const char *folder, brim_config *config, bool *said, brim_error *err) {
  brim_json_document *d;
  const int status = brim_module_json(runtime, folder, "", SETTINGS, &d, err);
  if (d && brim_json_is_string(brim_json_get(brim_json_root(d), "model_type"), "CrossEncoder")) {
    config->reranks = true;
    *said = read_activation(brim_json_get(brim_json_root(d), "activation_fn"), config);
  }
  brim_json_free(d);
  return status == BRIM_E_MEMORY ? status : BRIM_OK;
}

/* The newest place that says it counts, as for the library. */
int brim_sentence_read_reranker(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) {
  const brim_json_value *root = brim_json_root(config->document), *member = brim_json_get(root, "sentence_transformers"),
                        *older = brim_json_get(root, "sbert_ce_default_activation_function");
  bool said = false;
  config->reranks = member || older;
  BRIM_TRY(read_newer(runtime, folder, config, &said, err));
  if (!said && !(member && read_activation(brim_json_get(member, "activation_fn"), config)))
    read_activation(older, config);
  return BRIM_OK;
}

int brim_sentence_find_layers(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) {
  brim_modules modules;
  brim_error ignored;
  const int status = brim_modules_find_encoder(runtime, folder, &modules, &ignored);
  config->lists_layers = !status && modules.mixes;
  brim_modules_free(&modules);
  return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : BRIM_OK;
}

int brim_sentence_refuse_others(brim_runtime *runtime, const char *folder, brim_error *err) {
  brim_modules modules;
  const int status = brim_modules_find_encoder(runtime, folder, &modules, err);
  brim_modules_free(&modules);
  return status == BRIM_E_UNSUPPORTED || status == BRIM_E_MEMORY ? status : BRIM_OK;
}

const char *brim_sentence_activation(const brim_config *config) {
  return config->bare_scores ? "torch.nn.modules.linear.Identity" : "torch.nn.modules.activation.Sigmoid";
}

void brim_sentence_compare(brim_sentence *s, const char *similarity) {
  if (!brim_similarity_named(similarity, strlen(similarity), &s->similarity))
    s->similarity = BRIM_SIMILARITY_COSINE;
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

int brim_sentence_load(brim_sentence **out, brim_runtime *runtime, const char *folder, const brim_model_options *options,
                       brim_config *config, brim_error *err) {
  brim_sentence *s = *out = brim_alloc_zero(runtime, sizeof *s);
  if (!s)
    return BRIM_NOMEM(err);
  s->runtime = runtime;
  BRIM_TRY(brim_modules_find_encoder(runtime, folder, &s->modules, err));
  BRIM_TRY(brim_modules_load(&s->modules, config->hidden, err));
  BRIM_TRY(take_modules(s, folder, options, config, err));
  brim_sentence_compare(s, brim_modules_similarity(&s->modules));
  return read_settings(s, err);
}

void brim_sentence_free(brim_sentence *sentence) {
  if (!sentence)
    return;
  brim_release(sentence->runtime, sentence->settings);
  brim_modules_free(&sentence->modules);
  brim_release(sentence->runtime, sentence);
}
