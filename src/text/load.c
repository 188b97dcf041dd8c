/* load.c: from files to a tokenizer. */
#include "base/file.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "text/beginning.h"
#include "text/fast.h"
#include "text/fields.h"
#include "text/files.h"
#include "text/resolve.h"
#include "text/tokenizer.h"
#include "text/unicode_tables.h"
#include <string.h>

#define MERGES "merges.txt"

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

/* Types of all tokens become 0: its models take none. */
static bool clear_types(brim_template *template) {
  bool changed = template->bare_types[0] != 0 || template->bare_types[1] != 0;
  for (size_t i = 0; i < template->count; i++) {
    changed = changed || template->pieces[i].type_id != 0;
    template->pieces[i].type_id = 0;
  }
  template->bare_types[0] = template->bare_types[1] = 0;
  return changed;
}

/* As transformers 5 gives token_type_ids: where the files ask for them, else as the class does. A tokenizer.json without a class
 * gets none; one by itself has its own. */
static bool takes_no_types(const brim_tokenizer *t) {
  const brim_beside *beside = t->parent ? &t->parent->beside : &t->beside;
  const bool alone = !beside->config && !beside->map && !beside->added && !beside->model;
  return t->facts.types >= 0 ? t->facts.types == 0 : t->class ? !t->class->types : !alone;
}

/* What the files beside say that is not in a tokenizer.json. */
static void take_facts(brim_tokenizer *t) {
  t->pad_id = t->roles[BRIM_ROLE_PAD] >= 0 ? t->roles[BRIM_ROLE_PAD] : find_pad(t);
  t->added.splits_special = t->facts.split_special;
  if (takes_no_types(t)) {
    const bool single = clear_types(&t->processor.single), pair = clear_types(&t->processor.pair);
    if (single || pair)
      t->fingerprint = brim_hash_mix(t->fingerprint, 1);
  }
  if (t->facts.split_special)
    t->fingerprint = brim_hash_mix(t->fingerprint, 2);
}

/* "truncation" and "padding" are the caller's, but for the end that is cut where no other file says it. */
static void read_direction(brim_tokenizer *t, const brim_json_value *root) {
  t->facts.pads_left = brim_json_is_string(brim_json_get(brim_json_get(root, "padding"), "direction"), "Left");
  const brim_json_value *direction = brim_json_get(brim_json_get(root, "truncation"), "direction");
  if (t->facts.left < 0 && brim_json_is_string(direction, "Left"))
    t->facts.left = 1;
}

static int build(brim_tokenizer *t, const brim_json_document *document, const char *bytes, size_t length, brim_error *err) {
  const brim_json_value *root = brim_json_root(document);
  if (root->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, root, err, BRIM_E_FORMAT, "a tokenizer.json must hold an object");
  BRIM_TRY(brim_fields_known(document, root, "tokenizer",
                             "version truncation padding added_tokens normalizer pre_tokenizer post_processor decoder model",
                             err));
  BRIM_TRY(check_version(document, root, err));
  const bool nearest = t->class && !t->class->keeps;
  BRIM_TRY(brim_token_model_load(t->runtime, document, brim_json_get(root, "model"), bytes, length, nearest, &t->model, err));
  BRIM_TRY(brim_normalizer_load(t->runtime, document, brim_json_get(root, "normalizer"), &t->normalizer, err));
  BRIM_TRY(brim_pretokenizer_load(t->runtime, document, brim_json_get(root, "pre_tokenizer"), &t->pretokenizer, err));
  BRIM_TRY(brim_processor_load(t->runtime, document, brim_json_get(root, "post_processor"), &t->processor, err));
  BRIM_TRY(brim_decoder_load(t->runtime, document, brim_json_get(root, "decoder"), &t->decoder, err));
  BRIM_TRY(brim_added_load(t->runtime, document, brim_json_get(root, "added_tokens"), &t->model, &t->normalizer, &t->added, err));
  const uint64_t scores = nearest && t->model.family == BRIM_UNIGRAM; /* the same bytes give other ids */
  t->fingerprint = brim_hash64(bytes, length, brim_hash64(brim_unicode_profile, strlen(brim_unicode_profile), scores));
  if (!t->parent && !t->words)
    BRIM_TRY(brim_tokenizer_words_new(t->runtime, &t->words, err));
  take_facts(t);
  t->ends_at_spaces = brim_ends_at_spaces(t);
  return brim_fast_choose(t, err);
}

static int name_the_file(int status, const char *name, brim_error *err) {
  if (status != BRIM_OK && err && !err->file[0]) { /* what was found below the level of the document */
    brim_error inner = *err;
    brim_error_at(err, inner.code, name, inner.line, inner.byte, "%s", inner.message);
  }
  return status;
}

/* No file beside says anything. */
static void know_nothing(brim_tokenizer *t) {
  t->facts = (brim_beside_facts){.left = -1, .types = -1};
  for (int i = 0; i < BRIM_ROLES; i++)
    t->roles[i] = -1;
}

int brim_tokenizer_parse(brim_tokenizer *out, const char *bytes, size_t length, const char *name, brim_error *err) {
  brim_json_document *document;
  if (out->file_count == 0)
    know_nothing(out);
  BRIM_TRY(brim_json_parse(out->runtime, bytes, length, name, &document, err));
  int status = name_the_file(build(out, document, bytes, length, err), name, err);
  brim_json_free(document);
  return status;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* What lies in a file's place as a rule: what Git keeps instead of it, or the page of a server that did not have it. */
static int refuse_other(const brim_tokenizer_file *f, const char *path, brim_error *err) {
  BRIM_TRY(brim_file_refuse_pointer(path, f->bytes, f->length, err));
  if (f->length && f->bytes[0] == '<' && memchr(f->bytes, '>', f->length < 64 ? f->length : 64) &&
      strncmp(f->bytes, "<s>", 3) != 0)
    return brim_error_at(err, BRIM_E_FORMAT, path, 1, -1, "this is a page of a server, not %s: fetch the file again", f->name);
  return BRIM_OK;
}

/* Keeps `path` under `name`; *file (may be NULL) points to it. */
static int keep(brim_tokenizer *t, const char *path, const char *name, brim_tokenizer_file **file, brim_error *err) {
  brim_tokenizer_file *f = &t->files[t->file_count];
  *f = (brim_tokenizer_file){.name = name};
  BRIM_TRY(brim_file_read_plain(t->runtime, path, FILE_LIMIT, &f->bytes, &f->length, err));
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
  int status = brim_path_is_taken(path) && !brim_path_is_folder(path) ? keep(t, path, name, file, err) : BRIM_OK;
  if (status == BRIM_OK && file && *file)
    status = refuse_other(*file, path, err);
  brim_release(t->runtime, path);
  return status;
}

/* The text becomes the first file, in the place of a tokenizer.json that was read. */
static void take_made(brim_tokenizer *t, const brim_text *made) {
  if (strcmp(t->files[0].name, "tokenizer.json") == 0) {
    brim_release(t->runtime, t->files[0].bytes);
  } else {
    memmove(t->files + 1, t->files, (size_t)t->file_count * sizeof *t->files);
    t->file_count++;
  }
  t->files[0] = (brim_tokenizer_file){"tokenizer.json", made->data, made->length};
}

/* The tokenizer of files[0] and what stands beside it; `document`: of a JSON among them, or NULL. */
static int load_resolved(brim_tokenizer *t, const char *path, const brim_vocabulary *from, const brim_json_document *document,
                         brim_error *err) {
  brim_resolved resolved;
  brim_text made;
  brim_text_init(&made, t->runtime);
  BRIM_TRY(brim_beside_facts_read(&t->beside, &t->facts, err));
  read_direction(t, document ? brim_json_root(document) : NULL);
  int status = brim_resolve(t->runtime, &t->beside, from, &resolved, &made, err);
  if (status != BRIM_OK) {
    brim_text_free(&made);
    return name_the_file(status, path, err);
  }
  t->class = resolved.class;
  memcpy(t->roles, resolved.roles, sizeof t->roles);
  if (made.length == 0)
    return name_the_file(build(t, document, t->files[0].bytes, t->files[0].length, err), path, err);
  take_made(t, &made);
  status = brim_tokenizer_parse(t, made.data, made.length, path, err);
  if (status != BRIM_OK && err) { /* places are not those of the file */
    err->line = 0;
    err->byte = -1;
  }
  return status;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_pairs(const char *path) {
  return ends_with(path, "vocab.json");
}

static bool is_vocabulary(const char *path) {
  return ends_with(path, "vocab.txt") || is_pairs(path);
}

bool brim_tokenizer_reads(const char *path, const char *name) {
  bool reads = is_pairs(path) && strcmp(name, MERGES) == 0;
  for (int i = 0; i < BRIM_BESIDE_FILES && is_vocabulary(path); i++)
    reads = reads || strcmp(name, brim_beside_names[i]) == 0;
  return reads;
}

static int load_vocabulary(brim_tokenizer *t, const char *path, const char *folder, bool bpe, brim_error *err) {
  brim_tokenizer_file *file, *merges = NULL;
  brim_json_document *document = NULL;
  BRIM_TRY(keep(t, path, bpe ? "vocab.json" : "vocab.txt", &file, err));
  BRIM_TRY(refuse_other(file, path, err));
  if (bpe)
    BRIM_TRY(keep_beside(t, folder, MERGES, &merges, err));
  if (bpe && !merges)
    return brim_error_at(err, BRIM_E_IO, path, 0, -1, "a vocab.json needs a merges.txt beside it");
  BRIM_TRY(brim_beside_load(t->runtime, folder, &t->beside, err));
  if (bpe)
    BRIM_TRY(brim_json_parse(t->runtime, file->bytes, file->length, path, &document, err));
  const brim_tokenizer_file copy = *file, other = merges ? *merges : (brim_tokenizer_file){0}; /* files move */
  const brim_vocabulary from = {document, &copy, merges ? &other : NULL};
  int status = load_resolved(t, path, &from, NULL, err);
  brim_json_free(document);
  return status;
}

/* `path` is a file; `folder` is where it lies. A tokenizer.json that is named itself stands alone: `alone`. */
static int load_file(brim_tokenizer *t, const char *path, const char *folder, bool alone, brim_error *err) {
  brim_tokenizer_file *file;
  brim_json_document *document;
  if (is_vocabulary(path))
    return load_vocabulary(t, path, folder, is_pairs(path), err);
  BRIM_TRY(keep(t, path, "tokenizer.json", &file, err));
  BRIM_TRY(refuse_other(file, path, err));
  if (!alone)
    BRIM_TRY(brim_beside_load(t->runtime, folder, &t->beside, err));
  const brim_tokenizer_file copy = *file;
  BRIM_TRY(brim_json_parse(t->runtime, copy.bytes, copy.length, path, &document, err));
  const brim_vocabulary from = {document, &copy, NULL};
  int status = load_resolved(t, path, &from, document, err);
  brim_json_free(document);
  return status;
}

static int refuse_folder(const brim_tokenizer *t, const char *folder, brim_error *err) {
  static const char *const pieces[] = {"spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    char *path = brim_path_join(t->runtime, folder, pieces[i]);
    if (!path)
      return BRIM_NOMEM(err);
    const bool there = brim_path_exists(path);
    brim_release(t->runtime, path);
    if (there)
      return brim_error_at(err, BRIM_E_IO, folder, 0, -1,
                           "the folder has %s, and no tokenizer.json. Python writes one: from transformers import AutoTokenizer; "
                           "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)",
                           pieces[i]);
  }
  return brim_error_at(err, BRIM_E_IO, folder, 0, -1, "the folder has no tokenizer.json, vocab.txt or vocab.json");
}

static int load_folder(brim_tokenizer *t, const char *folder, brim_error *err) {
  static const char *const mains[] = {"tokenizer.json", "vocab.txt", "vocab.json"};
  static const char *const others[] = {"vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model"};
  for (size_t i = 0; i < sizeof mains / sizeof *mains; i++) {
    char *path = brim_path_join(t->runtime, folder, mains[i]);
    if (!path)
      return BRIM_NOMEM(err);
    bool there = brim_path_is_taken(path);
    int status = there ? load_file(t, path, folder, false, err) : BRIM_OK;
    brim_release(t->runtime, path);
    if (!there)
      continue;
    for (size_t j = 0; i == 0 && status == BRIM_OK && j < sizeof others / sizeof *others; j++)
      status = keep_beside(t, folder, others[j], NULL, err);
    return status;
  }
  return refuse_folder(t, folder, err);
}

/* What is wrong with a file by its name alone is said of the file in its folder. */
static void name_folder(brim_runtime *runtime, const char *path, brim_error *err) {
  if (!err || !err->file[0] || strchr(err->file, '/') || strcmp(err->file, path) == 0)
    return;
  char *folder = brim_path_is_folder(path) ? brim_copy_string(runtime, path, strlen(path)) : brim_path_parent(runtime, path);
  char *file = folder && strcmp(folder, ".") != 0 ? brim_path_join(runtime, folder, err->file) : NULL;
  const size_t length = file ? strlen(file) : 0, most = sizeof err->file - 1;
  if (file)
    memcpy(err->file, file + (length > most ? length - most : 0), (length > most ? most : length) + 1);
  brim_release(runtime, folder);
  brim_release(runtime, file);
}

int brim_tokenizer_load(brim_runtime *runtime, const char *path, brim_tokenizer **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, path);
  brim_tokenizer *t = brim_alloc_zero(runtime, sizeof *t);
  if (!t)
    return BRIM_NOMEM(err);
  t->runtime = runtime;
  know_nothing(t);
  int status;
  if (brim_path_is_folder(path)) {
    status = load_folder(t, path, err);
  } else {
    size_t n = (size_t)(brim_path_name(path) - path);
    char *folder = n ? brim_copy_string(runtime, path, n) : brim_copy_string(runtime, ".", 1);
    status = folder ? load_file(t, path, folder, true, err) : BRIM_NOMEM(err);
    brim_release(runtime, folder);
  }
  if (status != BRIM_OK) {
    brim_tokenizer_free(t);
    name_folder(runtime, path, err);
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
  brim_beside_free(&t->beside);
  brim_tokenizer_words_free(t->runtime, t->words);
  brim_release(t->runtime, t);
}
