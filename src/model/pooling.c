/* pooling.c: names of what a head sees, and lists of them. */
#include <stdio.h>
#include <string.h>

#include "model/config.h"

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
