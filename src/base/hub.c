/* hub.c: models that were fetched from the Hugging Face hub before, by their names. Nothing is ever fetched here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/within.h"

enum { LONGEST_NAME = 96, LONGEST_REVISION = 200 };

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* One part of a name: letters, digits, - . _, of which - and . are single, and neither first nor last. */
static bool is_component(const char *text, size_t length) {
  if (!length || !is_word(text[0]) || !is_word(text[length - 1]))
    return false;
  for (size_t i = 0; i < length; i++) {
    const bool mark = text[i] == '-' || text[i] == '.';
    if ((!mark && !is_word(text[i])) || (mark && text[i] == text[i + 1]))
      return false;
  }
  return true;
}

/* "model" or "owner/model". */
static bool is_name(const char *text, size_t length) {
  const char *slash = memchr(text, '/', length);
  const size_t first = slash ? (size_t)(slash - text) : length;
  return length <= LONGEST_NAME && is_component(text, first) && (!slash || is_component(slash + 1, length - first - 1));
}

/* A branch, a tag, "refs/pr/1" or a commit: no part of it leads out of a folder. */
static bool is_revision(const char *text) {
  const size_t length = strlen(text);
  bool fine = length > 0 && length <= LONGEST_REVISION && text[0] != '/' && text[length - 1] != '/';
  for (size_t i = 0; fine && i < length; i++)
    fine = (is_word(text[i]) || strchr("-./", text[i])) &&
           !(text[i] == '.' && (i == 0 || text[i - 1] == '.' || text[i - 1] == '/'));
  return fine;
}

/* ---- the cache -------------------------------------------------------------------------------------------- */

/* value + rest, of which a leading "~/" is the home folder. */
static void put_folder(brim_text *out, const char *value, const char *rest) {
  const char *home = getenv("HOME");
  if (value[0] == '~' && (value[1] == '/' || !value[1]) && home) {
    brim_text_string(out, home);
    value++;
  }
  brim_text_string(out, value);
  brim_text_string(out, rest);
}

/* As huggingface_hub finds it. */
static void put_cache(brim_text *out) {
  static const struct {
    const char *variable, *rest;
  } folders[] = {
      {"HF_HUB_CACHE", ""}, {"HUGGINGFACE_HUB_CACHE", ""}, {"HF_HOME", "/hub"}, {"XDG_CACHE_HOME", "/huggingface/hub"}};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    const char *value = getenv(folders[i].variable);
    if (value && *value) {
      put_folder(out, value, folders[i].rest);
      return;
    }
  }
  put_folder(out, "~", "/.cache/huggingface/hub");
}

/* CACHE/models--owner--model */
static void put_repository(brim_text *out, const char *name, size_t length) {
  put_cache(out);
  brim_text_string(out, "/models--");
  for (size_t i = 0; i < length; i++)
    if (name[i] == '/')
      brim_text_string(out, "--");
    else
      brim_text_append(out, &name[i], 1);
}

/* ---- a snapshot ------------------------------------------------------------------------------------------- */

static bool has(brim_text *path, const char *name) {
  const size_t length = path->length;
  brim_text_string(path, "/");
  brim_text_string(path, name);
  const bool there = !path->failed && brim_path_exists(path->data);
  if (!path->failed)
    path->data[path->length = length] = 0;
  return there;
}

/* Folders of sentence-transformers may have the model below: the first of the modules that modules.json names. */
static int go_within(brim_runtime *runtime, brim_text *folder, brim_error *err) {
  char *first = NULL;
  int status = folder->failed ? BRIM_NOMEM(err) : brim_first_module(runtime, folder->data, &first, err);
  const size_t length = folder->length;
  if (!status && first && *first) {
    brim_text_printf(folder, "%s%s", folder->data[length - 1] == '/' ? "" : "/", first);
    if (!has(folder, "config.json") && !folder->failed)
      folder->data[folder->length = length] = 0;
  }
  brim_release(runtime, first);
  return status;
}

/* The first thing that the folder lacks; NULL: it is complete as far as can be seen without reading it. A link to a file that is
 * still being fetched counts as none. */
static const char *missing(brim_text *folder, brim_hub_part part) {
  const bool tokenizer = has(folder, "tokenizer.json") || has(folder, "vocab.txt") || has(folder, "vocab.json");
  if (part == BRIM_HUB_TOKENIZER)
    return tokenizer ? NULL : "tokenizer.json";
  if (!has(folder, "config.json"))
    return "config.json";
  if (!has(folder, "model.safetensors") && !has(folder, "model.safetensors.index.json") && !has(folder, "pytorch_model.bin") &&
      !has(folder, "pytorch_model.bin.index.json"))
    return "model.safetensors";
  return NULL;
}

/* The commit that a branch or tag names, as `path`.refs says; the revision itself where there is no such file. */
static int put_commit(brim_runtime *runtime, brim_text *path, const char *revision, brim_error *err) {
  enum { MOST = 256 };
  char *bytes = NULL;
  size_t length = path->length, read = 0;
  brim_text_printf(path, "/refs/%s", revision);
  if (path->failed)
    return BRIM_NOMEM(err);
  if (brim_path_exists(path->data))
    BRIM_TRY(brim_file_read_plain(runtime, path->data, MOST, &bytes, &read, err));
  while (read && strchr(" \r\n\t", bytes[read - 1]))
    bytes[--read] = 0;
  path->data[path->length = length] = 0;
  if (!bytes || (strlen(bytes) == read && is_revision(bytes) && !strchr(bytes, '/')))
    brim_text_printf(path, "/snapshots/%s", bytes ? bytes : revision);
  brim_release(runtime, bytes);
  return path->failed ? BRIM_NOMEM(err) : BRIM_OK;
}

/* ---- looking it up ---------------------------------------------------------------------------------------- */

typedef struct wanted {
  const char *name, *revision;
  size_t length;  /* of the name */
  char part[256]; /* of "name@revision" */
} wanted;

/* False: it is no name of the hub's. */
static bool cut_name(const char *name, const char *revision, wanted *out) {
  const char *at = strchr(name, '@');
  *out = (wanted){.name = name, .length = at ? (size_t)(at - name) : strlen(name), .revision = revision ? revision : "main"};
  if (at && !revision) {
    if (strlen(at + 1) >= sizeof out->part)
      return false;
    memcpy(out->part, at + 1, strlen(at + 1) + 1);
    out->revision = out->part;
  }
  return is_name(name, out->length) && is_revision(out->revision) && !(at && revision);
}

static int explain(brim_runtime *runtime, const wanted *w, const char *folder, const char *lacking, brim_error *err) {
  brim_text cache;
  char command[256];
  const bool branch = strcmp(w->revision, "main") != 0;
  brim_text_init(&cache, runtime);
  put_cache(&cache);
  snprintf(command, sizeof command, "hf download %.*s%s%.100s", (int)w->length, w->name, branch ? " --revision " : "",
           branch ? w->revision : "");
  int status;
  if (lacking)
    status = brim_error_at(err, BRIM_E_IO, folder, 0, -1,
                           "this copy of %.*s is incomplete: it has no %s; fetch the rest with `%s`", (int)w->length, w->name,
                           lacking, command);
  else
    status = brim_error_set(
        err, BRIM_E_IO,
        "%.*s: there is no such file or folder, and no model of that name%s%.100s in the Hugging Face cache %s; "
        "fetch it with `%s`",
        (int)w->length, w->name, branch ? " and revision " : "", branch ? w->revision : "", cache.data ? cache.data : "",
        command);
  brim_text_free(&cache);
  return status;
}

static int look_up(brim_runtime *runtime, const wanted *w, brim_hub_part part, brim_text *path, brim_error *err) {
  put_repository(path, w->name, w->length);
  const size_t repository = path->length;
  BRIM_TRY(put_commit(runtime, path, w->revision, err));
  if (path->length == repository || !brim_path_is_folder(path->data))
    return explain(runtime, w, NULL, NULL, err);
  BRIM_TRY(go_within(runtime, path, err));
  const char *lacking = missing(path, part);
  if (path->failed)
    return BRIM_NOMEM(err);
  return lacking ? explain(runtime, w, path->data, lacking, err) : BRIM_OK;
}

/* The name itself, or the folder below it that the model is in. */
static int take_folder(brim_runtime *runtime, const char *name, char **folder, brim_error *err) {
  brim_text path;
  brim_text_init(&path, runtime);
  brim_text_string(&path, name);
  const int status = *name ? go_within(runtime, &path, err) : BRIM_OK;
  *folder = status || path.failed ? NULL : brim_copy_string(runtime, path.data ? path.data : "", path.length);
  brim_text_free(&path);
  return status ? status : *folder ? BRIM_OK : BRIM_NOMEM(err);
}

int brim_hub_find(brim_runtime *runtime, const char *name, const char *revision, brim_hub_part part, char **folder,
                  brim_error *err) {
  BRIM_OUT(err, folder);
  BRIM_GIVEN(err, runtime, name);
  wanted w;
  if (brim_path_exists(name) || !cut_name(name, revision, &w)) {
    if (revision && !brim_path_exists(name))
      return brim_error_set(
          err, BRIM_E_USAGE,
          "%.100s at revision %.100s: this is not the name of a model on the Hugging Face hub (NAME or OWNER/NAME)", name,
          revision);
    return take_folder(runtime, name, folder, err);
  }
  brim_text path;
  brim_text_init(&path, runtime);
  int status = look_up(runtime, &w, part, &path, err);
  if (status == BRIM_OK) {
    *folder = brim_copy_string(runtime, path.data, path.length);
    status = *folder ? BRIM_OK : BRIM_NOMEM(err);
  }
  brim_text_free(&path);
  return status;
}
