/* made_for.c: what sentence-transformers says of a folder that is read as another model: its pooling, and where texts are cut. */
#include <string.h>

#include "base/path.h"
#include "base/status.h"
#include "model/config.h"
#include "model/files/modules.h"

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

int brim_length_made_for(brim_runtime *runtime, const char *folder, int32_t *out, brim_error *err) {
  brim_json_document *document;
  brim_error ignored;
  int64_t length = 0;
  BRIM_TRY(load_file(runtime, folder, "", "sentence_bert_config.json", &document, err));
  if (document && brim_json_read_int(document, brim_json_root(document), "max_seq_length", 1, INT32_MAX, &length, &ignored))
    length = 0;
  brim_json_free(document);
  *out = (int32_t)length;
  return BRIM_OK;
}
