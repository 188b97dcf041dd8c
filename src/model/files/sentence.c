/* sentence.c: reads what a folder of sentence-transformers says of how its encoder is trained. */
#include "model/files/sentence.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/modules.h"

#define SETTINGS "config_sentence_transformers.json"
enum { LIMIT = 1 << 20 };

/* ---- modules ------------------------------------------------------------------------------------------------- */

/* The pooling that is computed on the device; CONFIG: none. */
static brim_pooling pooling_of(const brim_modules *m) {
  static const brim_pooling same[BRIM_POOL_MODES] = {
      [BRIM_POOL_CLS] = BRIM_POOLING_CLS, [BRIM_POOL_MAX] = BRIM_POOLING_MAX, [BRIM_POOL_MEAN] = BRIM_POOLING_MEAN};
  return m->mode_count == 1 ? same[m->modes[0]] : BRIM_POOLING_CONFIG;
}

static int take_modules(brim_sentence *s, const brim_modules *m, const char *folder, brim_pooling wanted, brim_config *config,
                        brim_error *err) {
  for (int32_t i = 0; i < m->step_count; i++)
    if (m->steps[i].weight)
      return brim_error_at(err, BRIM_E_UNSUPPORTED, folder, 0, -1,
                           "the folder has a Dense module, which brim uses (brim embed) but does not train: train the encoder alone, "
                           "in a folder without modules.json");
  s->normalizes = m->step_count > 0;
  s->without_prompt = m->without_prompt;
  config->pooling = wanted != BRIM_POOLING_CONFIG ? wanted : pooling_of(m);
  if (config->pooling == BRIM_POOLING_CONFIG)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, folder, 0, -1,
                         "the folder pools by more than one way, or by one that brim uses (brim embed) but does not train: "
                         "choose the pooling cls, mean or max");
  return BRIM_OK;
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

static int read_settings(brim_sentence *s, const char *folder, brim_error *err) {
  char *path = brim_path_join(s->runtime, folder, SETTINGS);
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_exists(path))
    status = brim_file_read_all(s->runtime, path, LIMIT, &s->settings, &s->settings_length, err);
  brim_release(s->runtime, path);
  return status;
}

/* ---- rerankers ----------------------------------------------------------------------------------------------- */

static bool is_identity(const brim_json_value *class) {
  static const char name[] = "Identity";
  const size_t length = sizeof name - 1;
  return class && class->kind == BRIM_JSON_STRING && class->length >= length &&
         memcmp(class->as.text + class->length - length, name, length) == 0;
}

/* A file of another program's: what brim cannot read says nothing. */
static int read_newer(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) {
  brim_json_document *d = NULL;
  brim_error ignored;
  char *path = brim_path_join(runtime, folder, SETTINGS);
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_exists(path) && brim_json_load(runtime, path, LIMIT, &d, &ignored) == BRIM_E_MEMORY)
    status = BRIM_NOMEM(err);
  if (d && brim_json_is_string(brim_json_get(brim_json_root(d), "model_type"), "CrossEncoder")) {
    config->reranks = true;
    config->bare_scores = is_identity(brim_json_get(brim_json_root(d), "activation_fn"));
  }
  brim_json_free(d);
  brim_release(runtime, path);
  return status;
}

int brim_sentence_read_reranker(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) {
  const brim_json_value *root = brim_json_root(config->document), *member = brim_json_get(root, "sentence_transformers"),
                        *older = brim_json_get(root, "sbert_ce_default_activation_function");
  config->reranks = member || older;
  config->bare_scores = is_identity(older ? older : member ? brim_json_get(member, "activation_fn") : NULL);
  return config->reranks ? BRIM_OK : read_newer(runtime, folder, config, err);
}

const char *brim_sentence_activation(const brim_config *config) {
  return config->bare_scores ? "torch.nn.modules.linear.Identity" : "torch.nn.modules.activation.Sigmoid";
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

int brim_sentence_load(brim_sentence *out, brim_runtime *runtime, const char *folder, brim_pooling wanted, brim_config *config,
                       brim_error *err) {
  brim_modules m;
  *out = (brim_sentence){.runtime = runtime};
  int status = brim_modules_find_encoder(runtime, folder, &m, err);
  if (!status)
    status = brim_modules_load(&m, folder, config->hidden, err);
  if (!status)
    status = take_modules(out, &m, folder, wanted, config, err);
  brim_modules_free(&m);
  return status ? status : read_settings(out, folder, err);
}

void brim_sentence_free(brim_sentence *sentence) {
  if (sentence->runtime)
    brim_release(sentence->runtime, sentence->settings);
  *sentence = (brim_sentence){0};
}
