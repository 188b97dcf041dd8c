/* words.c: the tokenizer for lists of words. One for bytes knows the beginning of a word by the space before it, and words come
 * without; so it gets a twin that puts the space there, as transformers does with add_prefix_space. */
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/tokenizer.h"
#include <stdatomic.h>
#include <string.h>

struct brim_tokenizer_words {
  _Atomic(brim_tokenizer *) twin; /* NULL: nobody has asked yet */
};

/* It reads bytes, and nothing puts a space or a mark before a text. */
static bool lacks_space(const brim_tokenizer *t) {
  bool bytes = false;
  for (size_t i = 0; i < t->pretokenizer.count; i++) {
    const brim_split_kind kind = t->pretokenizer.steps[i].kind;
    if (kind == BRIM_SPLIT_PREFIX_SPACE || kind == BRIM_SPLIT_METASPACE)
      return false;
    bytes = bytes || kind == BRIM_SPLIT_BYTES;
  }
  for (size_t i = 0; i < t->normalizer.count; i++)
    if (t->normalizer.steps[i].kind == BRIM_NORMAL_PREPEND)
      return false;
  return bytes && t->words && t->file_count;
}

/* ---- the twin's tokenizer.json --------------------------------------------------------------------------------- */

typedef struct writer {
  const brim_tokenizer *from;
  brim_json_writer json;
  bool failed;
} writer;

static void put_raw(writer *w, const char *name, const brim_json_value *value) {
  const brim_tokenizer_file *file = &w->from->files[0];
  size_t length = 0;
  const char *bytes = brim_fields_raw(w->from->runtime, file->bytes, file->length, value, &length);
  w->failed = w->failed || !bytes;
  brim_json_put_json(&w->json, name, bytes ? bytes : "", length);
}

static bool is_key(const brim_json_value *key, const char *name) {
  return brim_fields_is(key->as.text, key->length, name);
}

/* An object with its add_prefix_space true. */
static void put_prefixed(writer *w, const char *name, const brim_json_value *object) {
  brim_json_open_object(&w->json, name);
  for (const brim_json_value *key = brim_json_first(object); key; key = brim_json_after(object, key)) {
    if (is_key(key, "add_prefix_space"))
      continue;
    brim_json_put_name(&w->json, key->as.text, key->length);
    put_raw(w, NULL, brim_json_member(key));
  }
  brim_json_put_bool(&w->json, "add_prefix_space", true);
  brim_json_close_object(&w->json);
}

static bool is_type(const brim_json_value *object, const char *type) {
  return brim_json_is_string(brim_json_get(object, "type"), type);
}

/* The first stage of a pre-tokenizer. */
static const brim_json_value *first_stage(const brim_json_value *pretokenizer) {
  return is_type(pretokenizer, "Sequence") ? brim_json_first(brim_json_get(pretokenizer, "pretokenizers")) : pretokenizer;
}

static void put_pretokenizer(writer *w, const brim_json_value *value) {
  if (!is_type(value, "Sequence")) {
    put_prefixed(w, "pre_tokenizer", value);
    return;
  }
  const brim_json_value *list = brim_json_get(value, "pretokenizers"), *first = brim_json_first(list);
  brim_json_open_object(&w->json, "pre_tokenizer");
  brim_json_put_string(&w->json, "type", "Sequence");
  brim_json_open_array(&w->json, "pretokenizers");
  put_prefixed(w, NULL, first);
  for (const brim_json_value *v = brim_json_after(list, first); v; v = brim_json_after(list, v))
    put_raw(w, NULL, v);
  brim_json_close_array(&w->json);
  brim_json_close_object(&w->json);
}

/* What stands before the bytes splits the text (as Llama's files do): the space comes with the normalizer. */
static void put_prepending(writer *w, const brim_json_value *normalizer) {
  brim_json_open_object(&w->json, "normalizer");
  brim_json_put_string(&w->json, "type", "Sequence");
  brim_json_open_array(&w->json, "normalizers");
  if (normalizer && normalizer->kind == BRIM_JSON_OBJECT)
    put_raw(w, NULL, normalizer);
  brim_json_open_object(&w->json, NULL);
  brim_json_put_string(&w->json, "type", "Prepend");
  brim_json_put_string(&w->json, "prepend", " ");
  brim_json_close_object(&w->json);
  brim_json_close_array(&w->json);
  brim_json_close_object(&w->json);
}

static int write_twin(const brim_tokenizer *t, const brim_json_document *document, brim_text *out, brim_error *err) {
  writer w = {.from = t, .json = {.out = out}};
  const brim_json_value *root = brim_json_root(document);
  const bool first = is_type(first_stage(brim_json_get(root, "pre_tokenizer")), "ByteLevel");
  brim_json_open_object(&w.json, NULL);
  if (!first)
    put_prepending(&w, brim_json_get(root, "normalizer"));
  for (const brim_json_value *key = brim_json_first(root); key; key = brim_json_after(root, key)) {
    const brim_json_value *value = brim_json_member(key);
    if (!first && is_key(key, "normalizer"))
      continue;
    if (first && is_key(key, "pre_tokenizer")) {
      put_pretokenizer(&w, value);
    } else if (is_key(key, "post_processor") && (is_type(value, "RobertaProcessing") || is_type(value, "ByteLevel"))) {
      put_prefixed(&w, "post_processor", value);
    } else {
      brim_json_put_name(&w.json, key->as.text, key->length);
      put_raw(&w, NULL, value);
    }
  }
  brim_json_close_object(&w.json);
  return w.failed ? BRIM_NOMEM(err) : brim_text_status(out, err);
}

/* ---- the twin ----------------------------------------------------------------------------------------------------- */

static int fill_twin(const brim_tokenizer *t, brim_tokenizer *twin, brim_error *err) {
  brim_json_document *document;
  brim_text text;
  brim_text_init(&text, t->runtime);
  *twin = (brim_tokenizer){.runtime = t->runtime, .facts = t->facts, .class = t->class, .parent = t};
  memcpy(twin->roles, t->roles, sizeof t->roles);
  BRIM_TRY(brim_json_parse(t->runtime, t->files[0].bytes, t->files[0].length, t->files[0].name, &document, err));
  int status = write_twin(t, document, &text, err);
  brim_json_free(document);
  if (status != BRIM_OK) {
    brim_text_free(&text);
    return status;
  }
  twin->files[twin->file_count++] = (brim_tokenizer_file){"tokenizer.json", text.data, text.length};
  return brim_tokenizer_parse(twin, text.data, text.length, t->files[0].name, err);
}

int brim_tokenizer_of_words(const brim_tokenizer *t, const brim_tokenizer **out, brim_error *err) {
  *out = t;
  if (!lacks_space(t))
    return BRIM_OK;
  brim_tokenizer *twin = atomic_load(&t->words->twin), *nobody = NULL;
  if (twin) {
    *out = twin;
    return BRIM_OK;
  }
  twin = brim_alloc_zero(t->runtime, sizeof *twin);
  if (!twin)
    return BRIM_NOMEM(err);
  int status = fill_twin(t, twin, err);
  if (status == BRIM_OK && !atomic_compare_exchange_strong(&t->words->twin, &nobody, twin)) {
    *out = nobody; /* another thread was first */
    brim_tokenizer_free(twin);
    return BRIM_OK;
  }
  if (status != BRIM_OK)
    brim_tokenizer_free(twin);
  else
    *out = twin;
  return status;
}

int brim_tokenizer_words_new(brim_runtime *runtime, struct brim_tokenizer_words **out, brim_error *err) {
  *out = brim_alloc_zero(runtime, sizeof **out);
  return *out ? BRIM_OK : BRIM_NOMEM(err);
}

void brim_tokenizer_words_free(brim_runtime *runtime, struct brim_tokenizer_words *words) {
  if (!words)
    return;
  brim_tokenizer_free(atomic_load(&words->twin));
  brim_release(runtime, words);
}
