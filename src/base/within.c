/* within.c: the encoder's folder within one of sentence-transformers, and the way back. */
#include "base/within.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/text.h"

#define OLDER "0_Transformer" /* where sentence-transformers 0 and 1 had the encoder */
enum { LIMIT = 1 << 20, MOST_PARTS = 8 };

/* A name of a path and its length; NULL: there is no further one. */
static const char *next_part(const char **at, const char *end, size_t *length) {
  while (*at < end && **at == '/')
    ++*at;
  const char *from = *at;
  while (*at < end && **at != '/')
    ++*at;
  *length = (size_t)(*at - from);
  return *length > 0 ? from : NULL;
}

int brim_module_path(brim_runtime *runtime, const char *text, size_t length, char **path, brim_error *err) {
  const char *at = text, *end = text + length, *part;
  size_t size;
  brim_text out;
  *path = NULL;
  bool inside = length == 0 || (text[0] != '/' && !memchr(text, 0, length));
  brim_text_init(&out, runtime);
  brim_text_string(&out, "");
  while (inside && (part = next_part(&at, end, &size))) {
    inside = !(size == 2 && memcmp(part, "..", 2) == 0);
    if (size == 1 && part[0] == '.')
      continue;
    if (out.length > 0)
      brim_text_string(&out, "/");
    brim_text_append(&out, part, size);
  }
  const int status = brim_text_status(&out, err);
  if (!status && inside)
    *path = brim_copy_string(runtime, out.data ? out.data : "", out.length);
  const bool failed = !status && inside && !*path;
  brim_text_free(&out);
  return failed ? BRIM_NOMEM(err) : status;
}

static bool has(brim_runtime *runtime, const char *folder, const char *name) {
  char *path = brim_path_join(runtime, folder, name);
  const bool there = path && brim_path_exists(path);
  brim_release(runtime, path);
  return there;
}

static int read_first(brim_runtime *runtime, const char *file, char **path, brim_error *err) {
  brim_json_document *d = NULL;
  brim_error ignored;
  const int status = brim_json_load(runtime, file, LIMIT, &d, &ignored);
  if (status)
    return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : BRIM_OK;
  const brim_json_value *root = brim_json_root(d);
  const brim_json_value *first = root->kind == BRIM_JSON_ARRAY ? brim_json_first(root) : NULL;
  const brim_json_value *said = first && first->kind == BRIM_JSON_OBJECT ? brim_json_get(first, "path") : NULL;
  const int found = said && said->kind == BRIM_JSON_STRING ? brim_module_path(runtime, said->as.text, said->length, path, err)
                                                           : BRIM_OK;
  brim_json_free(d);
  return found;
}

int brim_first_module(brim_runtime *runtime, const char *folder, char **path, brim_error *err) {
  char *file = brim_path_join(runtime, folder, "modules.json");
  *path = NULL;
  if (!file)
    return BRIM_NOMEM(err);
  const bool listed = brim_path_exists(file);
  const int status = listed ? read_first(runtime, file, path, err) : BRIM_OK;
  brim_release(runtime, file);
  if (status || !listed || *path)
    return status;
  const char *usual = !has(runtime, folder, "config.json") && has(runtime, folder, OLDER "/config.json") ? OLDER : "";
  *path = brim_copy_string(runtime, usual, strlen(usual));
  return *path ? BRIM_OK : BRIM_NOMEM(err);
}

/* `from`: where the names below `above` begin in `folder`. */
static int is_home(brim_runtime *runtime, const char *above, const char *folder, size_t from, bool *yes, brim_error *err) {
  char *said = NULL, *below = NULL;
  int status = brim_first_module(runtime, above, &said, err);
  if (!status && said && *said)
    status = brim_module_path(runtime, folder + from, strlen(folder + from), &below, err);
  *yes = said && below && strcmp(said, below) == 0;
  brim_release(runtime, said);
  brim_release(runtime, below);
  return status;
}

/* A path of modules.json may have several names, so that the home may be several folders above. */
int brim_home_of_module(brim_runtime *runtime, const char *folder, char **home, brim_error *err) {
  char *at = brim_copy_string(runtime, folder, strlen(folder));
  int status = at ? BRIM_OK : BRIM_NOMEM(err);
  *home = NULL;
  for (int i = 0; i < MOST_PARTS && !status; i++) {
    size_t end;
    const size_t from = brim_path_last(at, &end);
    char *above = brim_path_parent(runtime, at);
    bool found = false;
    status = above ? is_home(runtime, above, folder, from, &found, err) : BRIM_NOMEM(err);
    brim_release(runtime, at);
    at = above;
    if (found) {
      *home = at;
      return status;
    }
    if (from == 0)
      break;
  }
  brim_release(runtime, at);
  return status;
}
