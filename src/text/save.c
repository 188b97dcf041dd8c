/* save.c: a tokenizer's files, by name and as they are written. */
#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "text/files.h"
#include "text/tokenizer.h"

#define CONFIG "tokenizer_config.json"

bool brim_is_tokenizer_file(const char *name) {
  static const char *const names[] = {"tokenizer.json",    CONFIG,         "special_tokens_map.json",
                                      "added_tokens.json", "vocab.txt",    "vocab.json",
                                      "merges.txt",        "spiece.model", "sentencepiece.bpe.model"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

_Static_assert(BRIM_MOST_TOKENIZER_FILES > BRIM_TOKENIZER_FILES, "files, and tokenizer_config.json");

int brim_tokenizer_file_names(const brim_tokenizer *t, const char *names[BRIM_MOST_TOKENIZER_FILES]) {
  const brim_tokenizer *whole = t->parent ? t->parent : t;
  int count = 0;
  for (int i = 0; i < whole->file_count; i++)
    names[count++] = whole->files[i].name;
  names[count++] = CONFIG;
  return count;
}

/* ---- what is there ------------------------------------------------------------------------------------------ */

/* Whether the folder's tokenizer gives these ids: what its other files say is the same then. */
static int is_same(const brim_tokenizer *t, bool words, const char *folder, bool *same, brim_error *err) {
  brim_tokenizer *there;
  brim_error why;
  uint64_t wanted, content;
  *same = false;
  BRIM_TRY(brim_tokenizer_content(t, words, &wanted, err));
  int status = brim_tokenizer_load(t->runtime, folder, &there, &why);
  if (status)
    return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : BRIM_OK;
  status = brim_tokenizer_content(there, words, &content, err);
  *same = !status && content == wanted;
  brim_tokenizer_free(there);
  return status;
}

/* brim writes neither: its tokenizer.json has what they say. */
int brim_tokenizer_look(const brim_tokenizer *t, bool words, const char *folder, brim_error *err) {
  static const char *const names[] = {"added_tokens.json", "special_tokens_map.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool there, same;
    BRIM_TRY(brim_folder_has(t->runtime, folder, names[i], &there, err));
    if (!there)
      continue;
    BRIM_TRY(is_same(t, words, folder, &same, err));
    return same ? BRIM_OK
                : brim_error_at(err, BRIM_E_USAGE, folder, 0, -1,
                                "%s in this folder is of another tokenizer, and would be read with this one: remove it, or name "
                                "another folder",
                                names[i]);
  }
  return BRIM_OK;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static int save_one(const brim_tokenizer *t, const char *folder, const char *name, const char *bytes, size_t length,
                    brim_error *err) {
  char *path = brim_path_join(t->runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  int status = brim_file_write_own(t->runtime, path, bytes, length, err);
  brim_release(t->runtime, path);
  return status;
}

int brim_tokenizer_write(const brim_tokenizer *t, const char *folder, const brim_tokenizer_saving *how, brim_error *err) {
  if (how->words)
    BRIM_TRY(brim_tokenizer_of_words(t, &t, err));
  brim_text config;
  brim_text_init(&config, t->runtime);
  int status = brim_tokenizer_config_write(t, how, &config, err);
  if (status == BRIM_OK)
    status = save_one(t, folder, t->files[0].name, t->files[0].bytes, t->files[0].length, err);
  if (status == BRIM_OK)
    status = save_one(t, folder, CONFIG, config.data, config.length, err);
  brim_text_free(&config);
  const brim_tokenizer *whole = t->parent ? t->parent : t;
  for (int i = 1; i < whole->file_count && status == BRIM_OK; i++)
    status = save_one(t, folder, whole->files[i].name, whole->files[i].bytes, whole->files[i].length, err);
  return status;
}

int brim_tokenizer_save(const brim_tokenizer *t, const char *folder, const brim_tokenizer_saving *how, brim_error *err) {
  BRIM_GIVEN_AS(err, "tokenizer, folder", t, folder);
  static const brim_tokenizer_saving defaults = {0};
  how = how ? how : &defaults;
  BRIM_TRY(brim_make_folder(t->runtime, folder, err));
  BRIM_TRY(brim_tokenizer_look(t, how->words, folder, err));
  return brim_tokenizer_write(t, folder, how, err);
}
