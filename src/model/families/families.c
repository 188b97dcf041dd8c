/* families.c: finds a family by its model_type. */
#include "model/families/families.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS(name) &brim_family_##name,
static const brim_family *const families[] = {BRIM_FAMILIES(ADDRESS)};
enum { FAMILIES = sizeof families / sizeof *families };

const brim_family *brim_family_find(const char *type, size_t length) {
  for (size_t i = 0; i < FAMILIES; i++)
    if (strlen(families[i]->type) == length && memcmp(families[i]->type, type, length) == 0)
      return families[i];
  return NULL;
}

const char *brim_family_list(char text[BRIM_FAMILY_LIST]) {
  size_t used = 0;
  for (size_t i = 0; i < FAMILIES && used < BRIM_FAMILY_LIST; i++)
    used += (size_t)snprintf(text + used, BRIM_FAMILY_LIST - used, "%s%s", i ? ", " : "", families[i]->type);
  return text;
}
