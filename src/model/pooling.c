/* pooling.c: names of what a head sees. */
#include <string.h>

#include "brim/model.h"

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
