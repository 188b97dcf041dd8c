/* pooling.c: names of what a head sees, lists of them, and what sentence-transformers says of it. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/config.h"

/* ---- names --------------------------------------------------------------------------------------------------- */

enum { BITS = 3 }; /* of a number for each mode */

static const struct {
  const char *name;
  brim_pooling pooling;
} modes[BRIM_POOL_MODES] = {
    [BRIM_POOL_CLS] = {"cls", BRIM_POOLING_CLS},
    [BRIM_POOL_MAX] = {"max", BRIM_POOLING_MAX},
    [BRIM_POOL_MEAN] = {"mean", BRIM_POOLING_MEAN},
    [BRIM_POOL_MEAN_SQRT] = {"mean-sqrt", BRIM_POOLING_MEAN_SQRT},
    [BRIM_POOL_WEIGHTED_MEAN] = {"weighted-mean", BRIM_POOLING_WEIGHTED_MEAN},
    [BRIM_POOL_LAST] = {"last", BRIM_POOLING_LAST},
};

/* Each once, whatever the number is. */
brim_pool_list brim_pooling_modes(brim_pooling pooling) {
  brim_pool_list list = {0};
  for (unsigned left = (unsigned)pooling; left; left >>= BITS)
    for (int i = 0; i < BRIM_POOL_MODES; i++)
      if (modes[i].pooling == (left & ((1U << BITS) - 1)) && !brim_pool_has(&list, (brim_pool_mode)i))
        list.of[list.count++] = (brim_pool_mode)i;
  return list;
}

brim_pooling brim_pooling_of_modes(const brim_pool_list *list) {
  unsigned pooling = 0;
  for (int32_t i = 0; i < list->count; i++)
    pooling |= (unsigned)modes[list->of[i]].pooling << (BITS * i);
  return (brim_pooling)pooling;
}

const char *brim_pooling_name(brim_pooling pooling, char name[BRIM_POOLING_NAME]) {
  const brim_pool_list list = brim_pooling_modes(pooling);
  int at = snprintf(name, BRIM_POOLING_NAME, "%s", list.count > 0 ? modes[list.of[0]].name : "unknown");
  for (int32_t i = 1; i < list.count; i++)
    at += snprintf(name + at, BRIM_POOLING_NAME - (size_t)at, ",%s", modes[list.of[i]].name);
  return name;
}

static bool is_word(const char *text, size_t length, const char *name) {
  for (size_t i = 0; i < length; i++)
    if ((text[i] == '_' ? '-' : text[i]) != name[i]) /* the end of the name is no letter of the text */
      return false;
  return !name[length];
}

bool brim_pooling_parse(const char *name, brim_pooling *out) {
  bool wanted[BRIM_POOL_MODES] = {false};
  brim_pool_list list = {0};
  for (const char *at = name;; at++) {
    const size_t length = strcspn(at, ",");
    int which = 0;
    while (which < BRIM_POOL_MODES && !is_word(at, length, modes[which].name))
      which++;
    if (which == BRIM_POOL_MODES || wanted[which])
      return false;
    wanted[which] = true;
    at += length;
    if (!*at)
      break;
  }
  for (int i = 0; i < BRIM_POOL_MODES; i++)
    if (wanted[i])
      list.of[list.count++] = (brim_pool_mode)i;
  *out = brim_pooling_of_modes(&list);
  return true;
}

bool brim_pooling_is_simple(brim_pooling pooling) {
  return pooling == BRIM_POOLING_CLS || pooling == BRIM_POOLING_MEAN || pooling == BRIM_POOLING_MAX;
}

/* ---- what the folder was made for ---------------------------------------------------------------------------- */

/* Of 1_Pooling/config.json: {"pooling_mode_mean_tokens": true, ..}, or {"pooling_mode": "mean"}. More than one mode is none. */
static brim_pooling mode_of(const brim_json_value *root) {
  static const char *const flags[] = {[BRIM_POOLING_CLS] = "pooling_mode_cls_token",
                                      [BRIM_POOLING_MEAN] = "pooling_mode_mean_tokens",
                                      [BRIM_POOLING_MAX] = "pooling_mode_max_tokens"};
  static const char *const others[] = {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                                       "pooling_mode_lasttoken"};
  brim_pooling found = BRIM_POOLING_CONFIG;
  int count = 0;
  for (int i = BRIM_POOLING_CLS; i <= BRIM_POOLING_MAX; i++) {
    const brim_json_value *flag = brim_json_get(root, flags[i]);
    char name[BRIM_POOLING_NAME];
    if ((flag && flag->kind == BRIM_JSON_BOOL && flag->as.integer) ||
        brim_json_is_string(brim_json_get(root, "pooling_mode"), brim_pooling_name((brim_pooling)i, name)))
      found = (brim_pooling)i, count++;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const brim_json_value *flag = brim_json_get(root, others[i]);
    count += flag && flag->kind == BRIM_JSON_BOOL && flag->as.integer;
  }
  return count == 1 ? found : BRIM_POOLING_CONFIG;
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
