/* look.c: what is where a model is to be written. A folder's own links and files of another model are no mistake of the file
 * system: who saves is asked before anything has changed. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/parts.h"
#include "model/run/ask.h"
#include "model/run/model.h"
#include "text/files.h"

typedef struct look {
  const brim_model *model;
  const char *folder;
  brim_saved *found;
  brim_error *err;
} look;

/* A file is written under another name and renamed: a link is replaced. */
static int look_at_file(look *l, const char *path, const char *name) {
  struct stat info;
  if (lstat(path, &info) != 0)
    return BRIM_OK;
  if (S_ISDIR(info.st_mode))
    return brim_error_at(l->err, BRIM_E_USAGE, path, 0, -1, "this is a folder, and the model's file has its name: name another");
  if (S_ISLNK(info.st_mode) && l->found->links++ == 0)
    snprintf(l->found->link, sizeof l->found->link, "%.79s", name);
  return BRIM_OK;
}

/* Through a link files of somebody else's would be replaced. */
static int look_at_folder(look *l, const char *path, const char *name) {
  static const char *const files[] = {"config.json", "model.safetensors"};
  struct stat info;
  char inside[200];
  if (lstat(path, &info) != 0)
    return BRIM_OK;
  if (S_ISLNK(info.st_mode))
    return brim_error_at(l->err, BRIM_E_USAGE, path, 0, -1,
                         "this is a link, and a model's folders are its own: remove the link, or name another folder");
  if (!S_ISDIR(info.st_mode))
    return brim_error_at(l->err, BRIM_E_USAGE, path, 0, -1,
                         "this is a file, and a folder of the model has its name: name another");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(inside, sizeof inside, "%.80s/%s", name, files[i]);
    char *file = brim_path_join(l->model->runtime, path, files[i]);
    const int status = file ? look_at_file(l, file, inside) : BRIM_NOMEM(l->err);
    brim_release(l->model->runtime, file);
    BRIM_TRY(status);
  }
  return BRIM_OK;
}

static int look_at_part(look *l, const brim_part *part) {
  char *path = brim_path_join(l->model->runtime, l->folder, part->name);
  int status = path ? BRIM_OK : BRIM_NOMEM(l->err);
  const bool readme = strcmp(part->name, "README.md") == 0;
  bool ours = true;
  if (!status && readme && brim_path_is_taken(path))
    status = brim_readme_is_ours(l->model->runtime, l->folder, &ours, l->err);
  if (readme)
    l->found->own_readme = !ours;
  else if (!status)
    status = (part->folder ? look_at_folder : look_at_file)(l, path, part->name);
  brim_release(l->model->runtime, path);
  return status;
}

/* What programs look at by its name, whatever config.json says. */
static int look_for_other_model(const look *l, const brim_part *parts, int count) {
  static const char *const names[] = {"modules.json", "config_sentence_transformers.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool there, written = false;
    for (int k = 0; k < count; k++)
      written = written || strcmp(names[i], parts[k].name) == 0;
    BRIM_TRY(brim_folder_has(l->model->runtime, l->folder, names[i], &there, l->err));
    if (!written && there)
      return brim_error_at(l->err, BRIM_E_USAGE, l->folder, 0, -1,
                           "%s in this folder is of another model, and would be read with this one: remove it, or name another "
                           "folder",
                           names[i]);
  }
  return BRIM_OK;
}

int brim_tokenizer_fits(const brim_model *model, const brim_tokenizer *tokenizer, brim_error *err) {
  const uint64_t own = brim_model_tokenizer(model);
  uint64_t content;
  if (!own)
    return BRIM_OK;
  BRIM_TRY(brim_tokenizer_content(tokenizer, brim_model_takes_words(model), &content, err));
  if (content == own)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "the tokenizer gives other ids (its content is %016llx) than the model's (%016llx): give the model's own",
                        (unsigned long long)content, (unsigned long long)own);
}

int brim_model_look(const brim_model *model, const brim_tokenizer *tokenizer, const char *folder, brim_saved *found,
                    brim_error *err) {
  look l = {model, folder, found, err};
  brim_part parts[BRIM_MOST_PARTS];
  const char *names[BRIM_MOST_TOKENIZER_FILES];
  const int count = brim_config_parts(&model->config, parts), files = tokenizer ? brim_tokenizer_file_names(tokenizer, names) : 0;
  *found = (brim_saved){0};
  if (tokenizer)
    BRIM_TRY(brim_tokenizer_fits(model, tokenizer, err));
  if (!brim_path_is_folder(folder))
    return BRIM_OK;
  for (int i = 0; i < count; i++)
    BRIM_TRY(look_at_part(&l, &parts[i]));
  for (int i = 0; i < files; i++)
    BRIM_TRY(look_at_part(&l, &(brim_part){names[i], false}));
  BRIM_TRY(look_for_other_model(&l, parts, count));
  return tokenizer ? brim_tokenizer_look(tokenizer, brim_model_takes_words(model), folder, err) : BRIM_OK;
}
