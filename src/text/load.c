/* load.c: from files to a tokenizer. */
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "text/fast.h"
#include "text/fields.h"
#include "text/tokenizer.h"
#include "text/unicode_tables.h"
#include <string.h>

enum { FILE_LIMIT = 1 << 30 };

/* ---- tokenizer.json --------------------------------------------------------------------------------------- */

static int32_t find_id(const brim_tokenizer *t, const char *token) {
  return brim_tokenizer_token_id(t, token, strlen(token));
}

static int32_t find_pad(const brim_tokenizer *t) {
  static const char *const names[] = {"[PAD]", "<pad>", "<PAD>", "<|padding|>", "<|pad|>"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (find_id(t, names[i]) >= 0)
      return find_id(t, names[i]);
  return -1;
}

static int check_version(const brim_json_document *document, const brim_json_value *root, brim_error *err) {
  const brim_json_value *version = brim_json_get(root, "version");
  if (!version || brim_json_is_string(version, "1.0"))
    return BRIM_OK;
  return brim_json_error(document, version, err, BRIM_E_UNSUPPORTED, "only version \"1.0\" of tokenizer.json is supported");
}

static int build(brim_tokenizer *t, const brim_json_document *document, const char *bytes, size_t length, brim_error *err) {
  const brim_json_value *root = brim_json_root(document);
  if (root->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, root, err, BRIM_E_FORMAT, "a tokenizer.json must hold an object");
  BRIM_TRY(brim_fields_known(document, root, "tokenizer",
                             "version truncation padding added_tokens normalizer pre_tokenizer post_processor decoder model",
                             err));
  BRIM_TRY(check_version(document, root, err));
  BRIM_TRY(brim_token_model_load(t->runtime, document, brim_json_get(root, "model"), bytes, length, &t->model, err));
  BRIM_TRY(brim_normalizer_load(t->runtime, document, brim_json_get(root, "normalizer"), &t->normalizer, err));
  BRIM_TRY(brim_pretokenizer_load(t->runtime, document, brim_json_get(root, "pre_tokenizer"), &t->pretokenizer, err));
  BRIM_TRY(brim_processor_load(t->runtime, document, brim_json_get(root, "post_processor"), &t->processor, err));
  BRIM_TRY(brim_decoder_load(t->runtime, document, brim_json_get(root, "decoder"), &t->decoder, err));
  BRIM_TRY(brim_added_load(t->runtime, document, brim_json_get(root, "added_tokens"), &t->model, &t->normalizer, &t->added, err));
  BRIM_TRY(brim_fast_choose(t, err));
  t->pad_id = find_pad(t);
  t->fingerprint = brim_hash64(bytes, length, brim_hash64(brim_unicode_profile, strlen(brim_unicode_profile), 0));
  return BRIM_OK;
}

int brim_tokenizer_parse(brim_tokenizer *out, const char *bytes, size_t length, const char *name, brim_error *err) {
  brim_json_document *document;
  BRIM_TRY(brim_json_parse(out->runtime, bytes, length, name, &document, err));
  int status = build(out, document, bytes, length, err);
  if (status != BRIM_OK && err && !err->file[0]) { /* what was found below the level of the document */
    brim_error inner = *err;
    brim_error_at(err, inner.code, name, inner.line, inner.byte, "%s", inner.message);
  }
  brim_json_free(document);
  return status;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* Keeps `path` under `name`; *file (may be NULL) points to it. */
static int keep(brim_tokenizer *t, const char *path, const char *name, brim_tokenizer_file **file, brim_error *err) {
  brim_tokenizer_file *f = &t->files[t->file_count];
  *f = (brim_tokenizer_file){.name = name};
  BRIM_TRY(brim_file_read_all(t->runtime, path, FILE_LIMIT, &f->bytes, &f->length, err));
  t->file_count++;
  if (file)
    *file = f;
  return BRIM_OK;
}

/* The same for a file of a folder, if it is there. */
static int keep_beside(brim_tokenizer *t, const char *folder, const char *name, brim_tokenizer_file **file, brim_error *err) {
  if (file)
    *file = NULL;
  char *path = brim_path_join(t->runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  int status = brim_path_exists(path) && !brim_path_is_folder(path) ? keep(t, path, name, file, err) : BRIM_OK;
  brim_release(t->runtime, path);
  return status;
}

/* Files that carry settings or special tokens; `config` gets tokenizer_config.json. */
static int keep_settings(brim_tokenizer *t, const char *folder, brim_tokenizer_file **config, brim_error *err) {
  BRIM_TRY(keep_beside(t, folder, "tokenizer_config.json", config, err));
  BRIM_TRY(keep_beside(t, folder, "special_tokens_map.json", NULL, err));
  return keep_beside(t, folder, "added_tokens.json", NULL, err);
}

/* Makes a tokenizer.json out of older files, keeps it, and parses it. */
static int load_legacy(brim_tokenizer *t, const char *path, const brim_tokenizer_file *vocab, const brim_tokenizer_file *merges,
                       const brim_tokenizer_file *config, brim_error *err) {
  brim_text made;
  brim_text_init(&made, t->runtime);
  int status = merges ? brim_legacy_bpe(t->runtime, vocab, merges, config, &made, err)
                      : brim_legacy_wordpiece(t->runtime, vocab, config, &made, err);
  if (status == BRIM_OK)
    status = brim_text_status(&made, err);
  if (status == BRIM_OK)
    status = brim_tokenizer_parse(t, made.data, made.length, path, err);
  if (status != BRIM_OK) {
    brim_text_free(&made);
    return status;
  }
  t->files[t->file_count++] = (brim_tokenizer_file){"tokenizer.json", made.data, made.length};
  return BRIM_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* `path` is a file; `folder` is where it lies. */
static int load_file(brim_tokenizer *t, const char *path, const char *folder, brim_error *err) {
  brim_tokenizer_file *main, *merges = NULL, *config;
  if (ends_with(path, "vocab.txt")) {
    BRIM_TRY(keep(t, path, "vocab.txt", &main, err));
    BRIM_TRY(keep_settings(t, folder, &config, err));
    return load_legacy(t, path, main, NULL, config, err);
  }
  if (ends_with(path, "vocab.json")) {
    BRIM_TRY(keep(t, path, "vocab.json", &main, err));
    BRIM_TRY(keep_beside(t, folder, "merges.txt", &merges, err));
    if (!merges)
      return brim_error_at(err, BRIM_E_IO, path, 0, -1, "a vocab.json needs a merges.txt next to it");
    BRIM_TRY(keep_settings(t, folder, &config, err));
    return load_legacy(t, path, main, merges, config, err);
  }
  BRIM_TRY(keep(t, path, "tokenizer.json", &main, err));
  BRIM_TRY(keep_settings(t, folder, &config, err));
  return brim_tokenizer_parse(t, main->bytes, main->length, path, err);
}

static int load_folder(brim_tokenizer *t, const char *folder, brim_error *err) {
  static const char *const mains[] = {"tokenizer.json", "vocab.txt", "vocab.json"};
  static const char *const others[] = {"vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model"};
  for (size_t i = 0; i < sizeof mains / sizeof *mains; i++) {
    char *path = brim_path_join(t->runtime, folder, mains[i]);
    if (!path)
      return BRIM_NOMEM(err);
    bool there = brim_path_exists(path);
    int status = there ? load_file(t, path, folder, err) : BRIM_OK;
    brim_release(t->runtime, path);
    if (!there)
      continue;
    for (size_t j = 0; i == 0 && status == BRIM_OK && j < sizeof others / sizeof *others; j++)
      status = keep_beside(t, folder, others[j], NULL, err);
    return status;
  }
  return brim_error_at(err, BRIM_E_IO, folder, 0, -1, "the folder has no tokenizer.json, vocab.txt or vocab.json");
}

int brim_tokenizer_load(brim_runtime *runtime, const char *path, brim_tokenizer **out, brim_error *err) {
  *out = NULL;
  brim_tokenizer *t = brim_alloc_zero(runtime, sizeof *t);
  if (!t)
    return BRIM_NOMEM(err);
  t->runtime = runtime;
  int status;
  if (brim_path_is_folder(path)) {
    status = load_folder(t, path, err);
  } else {
    size_t n = (size_t)(brim_path_name(path) - path);
    char *folder = n ? brim_copy_string(runtime, path, n) : brim_copy_string(runtime, ".", 1);
    status = folder ? load_file(t, path, folder, err) : BRIM_NOMEM(err);
    brim_release(runtime, folder);
  }
  if (status != BRIM_OK) {
    brim_tokenizer_free(t);
    return status;
  }
  *out = t;
  return BRIM_OK;
}

void brim_tokenizer_free(brim_tokenizer *t) {
  if (!t)
    return;
  brim_token_model_free(&t->model);
  brim_trie_free(&t->known);
  brim_added_free(&t->added);
  brim_normalizer_free(&t->normalizer);
  brim_pretokenizer_free(&t->pretokenizer);
  brim_processor_free(&t->processor);
  brim_decoder_free(&t->decoder);
  for (int i = 0; i < t->file_count; i++)
    brim_release(t->runtime, t->files[i].bytes);
  brim_release(t->runtime, t);
}

int brim_tokenizer_save(const brim_tokenizer *t, const char *folder, brim_error *err) {
  BRIM_TRY(brim_make_folder(t->runtime, folder, err));
  for (int i = 0; i < t->file_count; i++) {
    char *path = brim_path_join(t->runtime, folder, t->files[i].name);
    if (!path)
      return BRIM_NOMEM(err);
    int status = brim_file_write_all(t->runtime, path, t->files[i].bytes, t->files[i].length, err);
    brim_release(t->runtime, path);
    BRIM_TRY(status);
  }
  return BRIM_OK;
}
