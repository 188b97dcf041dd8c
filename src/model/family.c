/* family.c: names of config.json's members in a family. */
#include "model/family.h"

#include <string.h>

const brim_renamed *brim_family_renamed(const brim_family *family, const char *key, size_t length) {
  for (const brim_renamed *r = family->older; r && r->older; r++)
    if (strlen(r->older) == length && memcmp(r->older, key, length) == 0)
      return r;
  return NULL;
}

const char *brim_family_key(const brim_family *family, const brim_json_value *root, const char *key) {
  if (brim_json_get(root, key))
    return key;
  for (const brim_renamed *r = family->older; r && r->older; r++)
    if (r->newer && strcmp(r->newer, key) == 0 && brim_json_get(root, r->older))
      return r->older;
  return key;
}
