/* pooling.c: names of what a head sees, and what sentence-transformers says of it. */
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/config.h"

static const char *const names[] = {[BRIM_POOLING_CLS] = "cls", [BRIM_POOLING_MEAN] = "mean", [BRIM_POOLING_MAX] = "max"};
enum { NAMES = sizeof names / sizeof *names };

const char *brim_pooling_name(brim_pooling pooling) {
  return (unsigned)pooling < NAMES && names[pooling] ? names[pooling] : "unknown";
}

bool brim_pooling_parse(const char *name, brim_pooling *out) {
  for (int i = BRIM_POOLING_CLS; i < NAMES; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (brim_pooling)i;
      return true;
    }
  return false;
}

/* Of 1_Pooling/config.json: {"pooling_mode_mean_tokens": true, ..}, or {"pooling_mode": "mean"}. More than one mode is none. */
static brim_pooling mode_of(const brim_json_value *root) {
  static const char *const flags[] = {[BRIM_POOLING_CLS] = "pooling_mode_cls_token",
                                      [BRIM_POOLING_MEAN] = "pooling_mode_mean_tokens",
                                      [BRIM_POOLING_MAX] = "pooling_mode_max_tokens"};
  static const char *const others[] = {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                                       "pooling_mode_lasttoken"};
  brim_pooling found = BRIM_POOLING_CONFIG;
  int modes = 0;
  for (int i = BRIM_POOLING_CLS; i < NAMES; i++) {
    const brim_json_value *flag = brim_json_get(root, flags[i]);
    if ((flag && flag->kind == BRIM_JSON_BOOL && flag->as.integer) ||
        brim_json_is_string(brim_json_get(root, "pooling_mode"), names[i]))
      found = (brim_pooling)i, modes++;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const brim_json_value *flag = brim_json_get(root, others[i]);
    modes += flag && flag->kind == BRIM_JSON_BOOL && flag->as.integer;
  }
  return modes == 1 ? found : BRIM_POOLING_CONFIG;
}

/* A file of the folder; NULL where there is none, or it is another program's: what brim cannot read says nothing. */
static int load_file(brim_runtime *runtime, const char *folder, const char *name, brim_json_document **out, brim_error *err) {
  enum { LIMIT = 1 << 16 };
  *out = NULL;
  char *path = brim_path_join(runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  const int status = brim_path_exists(path) ? brim_json_load(runtime, path, LIMIT, out, err) : BRIM_OK;
  brim_release(runtime, path);
  return status == BRIM_E_MEMORY ? status : BRIM_OK;
}

int brim_pooling_made_for(brim_runtime *runtime, const char *folder, brim_pooling *out, brim_error *err) {
  static const char *const files[] = {"1_Pooling/config.json", "../1_Pooling/config.json"};
  const bool within = strcmp(brim_path_name(folder), "0_Transformer") == 0;
  brim_json_document *document;
  *out = BRIM_POOLING_CONFIG;
  BRIM_TRY(load_file(runtime, folder, files[within], &document, err));
  if (document)
    *out = mode_of(brim_json_root(document));
  brim_json_free(document);
  return BRIM_OK;
}

int brim_length_made_for(brim_runtime *runtime, const char *folder, int32_t *out, brim_error *err) {
  brim_json_document *document;
  brim_error ignored;
  int64_t length = 0;
  BRIM_TRY(load_file(runtime, folder, "sentence_bert_config.json", &document, err));
  if (document && brim_json_read_int(document, brim_json_root(document), "max_seq_length", 1, INT32_MAX, &length, &ignored))
    length = 0;
  brim_json_free(document);
  *out = (int32_t)length;
  return BRIM_OK;
}
