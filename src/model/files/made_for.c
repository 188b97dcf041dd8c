/* made_for.c: what sentence-transformers says of a folder that is read as another model: its pooling, and where texts are cut. */
#include <math.h>
#include <string.h>

#include "base/path.h"
#include "base/status.h"
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
  const bool within = strcmp(brim_path_name(folder), "0_Transformer") == 0;
  brim_json_document *document;
  brim_pool_list modes = {0};
  brim_error ignored;
  BRIM_TRY(load_file(runtime, folder, within ? "../1_Pooling" : "1_Pooling", "config.json", &document, err));
  *out = BRIM_POOLING_CONFIG;
  if (document && brim_module_modes(document, &modes, &ignored) == BRIM_OK && modes.count == 1)
    *out = brim_pooling_of_modes(&modes);
  if (!brim_pooling_is_simple(*out))
    *out = BRIM_POOLING_CONFIG;
  brim_json_free(document);
  return BRIM_OK;
}

int brim_module_length(const brim_json_document *d, int32_t *out, brim_error *err) {
  const brim_json_value *value = brim_json_get(brim_json_root(d), "max_seq_length");
  double length = 0;
  *out = 0;
  BRIM_TRY(brim_json_read_real(d, brim_json_root(d), "max_seq_length", &length, err));
  if (!value || value->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  if (!(length >= 1) || (length < INT32_MAX && length != floor(length)))
    return brim_json_error(d, value, err, BRIM_E_FORMAT, "\"max_seq_length\" must be a whole number, at least 1");
  *out = length < INT32_MAX ? (int32_t)length : INT32_MAX;
  return BRIM_OK;
}

/* That of a cross-encoder is of pairs: sentence-transformers makes other modules where a folder is read as the other kind. */
static int read_lengths(brim_runtime *runtime, const brim_modules *m, brim_model_info *out, brim_error *err) {
  brim_json_document *document, *settings = NULL;
  brim_error ignored;
  int32_t length = 0;
  BRIM_TRY(load_file(runtime, m->encoder, "", "sentence_bert_config.json", &document, err));
  const int status = load_file(runtime, m->home, "", "config_sentence_transformers.json", &settings, err);
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
