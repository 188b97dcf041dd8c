/* made_for.c: what sentence-transformers says of a folder that is read as another model: its pooling, and where texts are cut. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/within.h"
#include "model/config.h"
#include "model/files/modules.h"
#include "task/rules.h"
#include "task/task.h"

/* NULL where there is no such file, or it is another program's: what brim cannot read says nothing. */
static int load_file(brim_runtime *runtime, const char *folder, const char *path, const char *name, brim_json_document **out,
                     brim_error *err) {
  const int status = brim_module_json(runtime, folder, path, name, out, err);
  return status == BRIM_E_MEMORY ? status : BRIM_OK;
}

int brim_pooling_made_for(brim_runtime *runtime, const char *folder, brim_pooling *out, brim_error *err) {
  char *home;
  brim_json_document *document;
  brim_pool_list modes = {0};
  brim_error ignored;
  BRIM_TRY(brim_home_of_module(runtime, folder, &home, err));
  const int status = load_file(runtime, home ? home : folder, "1_Pooling", "config.json", &document, err);
  brim_release(runtime, home);
  BRIM_TRY(status);
  *out = BRIM_POOLING_CONFIG;
  if (document && brim_module_modes(document, &modes, &ignored) == BRIM_OK && modes.count == 1)
    *out = brim_pooling_of_modes(&modes);
  if (!brim_pooling_is_simple(*out))
    *out = BRIM_POOLING_CONFIG;
  brim_json_free(document);
  return BRIM_OK;
}

/* That of a cross-encoder is of pairs: sentence-transformers makes other modules where a folder is read as the other kind. */
static int read_lengths(brim_runtime *runtime, const brim_modules *m, brim_model_info *out, brim_error *err) {
  brim_json_document *document, *settings = NULL;
  brim_error ignored;
  int32_t length = 0;
  int status = brim_module_transformer(runtime, m->encoder, &document, &ignored);
  if (status == BRIM_E_MEMORY)
    return BRIM_NOMEM(err);
  status = load_file(runtime, m->home, "", "config_sentence_transformers.json", &settings, err);
  if (!status && document && brim_module_length(document, &length, &ignored))
    length = 0;
  if (!status && settings && brim_json_is_string(brim_json_get(brim_json_root(settings), "model_type"), "CrossEncoder"))
    out->scored_length = length;
  else if (!status)
    out->made_length = length;
  brim_json_free(settings);
  brim_json_free(document);
  return status;
}

int brim_lengths_made_for(brim_runtime *runtime, const char *folder, brim_model_info *out, brim_error *err) {
  brim_modules modules;
  brim_error ignored;
  out->made_length = out->scored_length = 0;
  int status = brim_modules_find_encoder(runtime, folder, &modules, &ignored);
  if (status == BRIM_E_MEMORY)
    status = BRIM_NOMEM(err);
  else
    status = !status && modules.listed ? read_lengths(runtime, &modules, out, err) : BRIM_OK;
  brim_modules_free(&modules);
  return status;
}

int32_t brim_length_of(int32_t made, int32_t own, int32_t most) {
  const int32_t said = made > 0 ? made : own;
  return said > 0 && said < most ? said : most;
}

int32_t brim_model_info_length(const brim_model_info *info, brim_task task, int32_t own) {
  const brim_task_rules *rules = brim_task_rules_of(task); /* NULL of AUTO */
  const int32_t made = rules && rules->folder == BRIM_FOLDER_OF_ENCODER         ? info->made_length
                       : rules && rules->folder == BRIM_FOLDER_OF_CROSS_ENCODER ? info->scored_length
                                                                                : 0;
  return brim_length_of(made, own, info->max_length);
}
