/* pooling.c: names of what a head sees: ways of pooling, and layers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "model/config.h"
#include "model/program.h"

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
  for (unsigned left = (unsigned)pooling <= BRIM_POOLING_MOST ? (unsigned)pooling : 0; left; left >>= BITS)
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
  for (const char *at = name ? name : "";; at++) {
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

/* ---- layers --------------------------------------------------------------------------------------------------- */

static const char *const ways[2] = {"weighted", "joined"};

int brim_mixed_parse(const char *text, size_t length, int32_t layers, brim_mixed *out, brim_error *err) {
  char word[BRIM_LAYERS_NAME] = "";
  char *end = word;
  *out = (brim_mixed){0};
  if (length < sizeof word)
    memcpy(word, text, length);
  if (strcmp(word, "last") == 0)
    return BRIM_OK;
  if (strcmp(word, ways[0]) == 0)
    out->count = layers, end += length;
  for (int way = 0; way < 2 && out->count == 0; way++) {
    const size_t size = strlen(ways[way]);
    if (strncmp(word, ways[way], size) == 0 && word[size] == ':' && word[size + 1] >= '1' && word[size + 1] <= '9') {
      const long count = strtol(word + size + 1, &end, 10);
      *out = (brim_mixed){.count = count < INT32_MAX ? (int32_t)count : INT32_MAX, .joined = way == 1};
    }
  }
  if (out->count == 0 || *end)
    return brim_error_set(err, BRIM_E_USAGE, "layers are \"%.*s\": weighted, weighted:N, joined:N or last are expected",
                          (int)(length < 40 ? length : 40), text);
  if (out->count > layers + 1 || out->count > BRIM_MOST_LISTED)
    return brim_error_set(err, BRIM_E_USAGE, "the last %d layers: the model has %d, and %d with the embeddings%s",
                          (int)out->count, (int)layers, (int)layers + 1,
                          layers < BRIM_MOST_LISTED ? "" : "; at most 32 are taken");
  return BRIM_OK;
}

const char *brim_mixed_name(brim_mixed mixed, char name[BRIM_LAYERS_NAME]) {
  if (mixed.count > 0)
    snprintf(name, BRIM_LAYERS_NAME, "%s:%d", ways[mixed.joined], (int)mixed.count);
  else
    snprintf(name, BRIM_LAYERS_NAME, "last");
  return name;
}

int32_t brim_config_seen_width(const brim_config *config) {
  return config->hidden * (config->mixed.joined ? config->mixed.count : 1);
}
