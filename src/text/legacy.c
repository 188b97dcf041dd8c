/* legacy.c: a tokenizer.json for the files that were used before it: vocab.txt (BERT), vocab.json with merges.txt (RoBERTa).
 *
 * What tokenizer_config.json does not say is as in Hugging Face transformers: lower case, no accents, spaced Chinese characters.
 */
#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/fields.h"
#include "text/tokenizer.h"
#include <string.h>

enum { ROLES = 5 };

/* A special token and the place it has in tokenizer_config.json. */
typedef struct special {
  const char *role;
  const char *text;
  size_t length;
  int64_t id;
  bool left_strip;
} special;

/* The config's settings. Absent ones are as transformers has them. */
typedef struct settings {
  brim_json_document *document; /* NULL: no config */
  bool lower, chinese, prefix_space;
  int accents; /* -1: as lower */
  special specials[ROLES];
} settings;

/* "[CLS]" or {"content": "[CLS]", ...} */
static int read_special(const settings *s, const brim_json_value *root, special *out, brim_error *err) {
  const brim_json_value *value = brim_json_get(root, out->role);
  if (!value || value->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  if (value->kind == BRIM_JSON_STRING) {
    out->text = value->as.text;
    out->length = value->length;
    return BRIM_OK;
  }
  BRIM_TRY(brim_json_read_string(s->document, value, "content", &out->text, &out->length, err));
  return brim_json_read_bool(s->document, value, "lstrip", &out->left_strip, err);
}

static int read_settings(brim_runtime *runtime, const brim_tokenizer_file *config, settings *s, brim_error *err) {
  for (int i = 0; i < ROLES; i++)
    s->specials[i].length = strlen(s->specials[i].text);
  if (!config)
    return BRIM_OK;
  BRIM_TRY(brim_json_parse(runtime, config->bytes, config->length, config->name, &s->document, err));
  const brim_json_value *root = brim_json_root(s->document);
  bool accents = false;
  BRIM_TRY(brim_json_read_bool(s->document, root, "do_lower_case", &s->lower, err));
  BRIM_TRY(brim_json_read_bool(s->document, root, "tokenize_chinese_chars", &s->chinese, err));
  BRIM_TRY(brim_json_read_bool(s->document, root, "add_prefix_space", &s->prefix_space, err));
  BRIM_TRY(brim_json_read_bool(s->document, root, "strip_accents", &accents, err));
  const brim_json_value *said = brim_json_get(root, "strip_accents");
  if (said && said->kind == BRIM_JSON_BOOL)
    s->accents = accents;
  for (int i = 0; i < ROLES; i++)
    BRIM_TRY(read_special(s, root, &s->specials[i], err));
  return BRIM_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

/* "added_tokens": the special tokens that have an id, by id. */
static void put_added(brim_json_writer *json, const special *specials) {
  bool done[ROLES] = {false};
  brim_json_open_array(json, "added_tokens");
  for (;;) {
    int next = -1;
    for (int i = 0; i < ROLES; i++)
      if (!done[i] && specials[i].id >= 0 && (next < 0 || specials[i].id < specials[next].id))
        next = i;
    if (next < 0)
      break;
    done[next] = true;
    const special *t = &specials[next];
    bool twin = false; /* one token may have two roles */
    for (int i = 0; i < ROLES; i++)
      twin = twin || (i != next && done[i] && specials[i].id == t->id);
    if (twin)
      continue;
    brim_json_open_object(json, NULL);
    brim_json_put_integer(json, "id", t->id);
    brim_json_put_bytes(json, "content", t->text, t->length);
    brim_json_put_bool(json, "single_word", false);
    brim_json_put_bool(json, "lstrip", t->left_strip);
    brim_json_put_bool(json, "rstrip", false);
    brim_json_put_bool(json, "normalized", false);
    brim_json_put_bool(json, "special", true);
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
}

/* What every tokenizer.json begins with. */
static void open_file(brim_json_writer *json, const special *specials) {
  brim_json_open_object(json, NULL);
  brim_json_put_string(json, "version", "1.0");
  brim_json_put_string(json, "truncation", NULL);
  brim_json_put_string(json, "padding", NULL);
  put_added(json, specials);
}

static const special *role(const special *specials, const char *name) {
  for (int i = 0; i < ROLES; i++)
    if (strcmp(specials[i].role, name) == 0)
      return &specials[i];
  return NULL;
}

static int need(const special *t, const brim_tokenizer_file *vocab, brim_error *err) {
  if (t->id >= 0)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, vocab->name, 0, -1,
                       "the vocabulary lacks the %s \"%.*s\"; name it in tokenizer_config.json", t->role,
                       (int)(t->length < 100 ? t->length : 100), t->text);
}

/* {"SpecialToken":{"id":"[CLS]","type_id":0}}, {"Sequence":{"id":"A","type_id":0}} */
static void put_piece(brim_json_writer *json, const char *kind, const char *id, size_t length, int type_id) {
  brim_json_open_object(json, NULL);
  brim_json_open_object(json, kind);
  brim_json_put_bytes(json, "id", id, length);
  brim_json_put_integer(json, "type_id", type_id);
  brim_json_close_object(json);
  brim_json_close_object(json);
}

static void put_special_entry(brim_json_writer *json, const special *t) {
  brim_json_put_name(json, t->text, t->length);
  brim_json_open_object(json, NULL);
  brim_json_put_bytes(json, "id", t->text, t->length);
  brim_json_open_array(json, "ids");
  brim_json_put_integer(json, NULL, t->id);
  brim_json_close_array(json);
  brim_json_open_array(json, "tokens");
  brim_json_put_bytes(json, NULL, t->text, t->length);
  brim_json_close_array(json);
  brim_json_close_object(json);
}

static void put_bert_template(brim_json_writer *json, const special *cls, const special *sep) {
  brim_json_open_object(json, "post_processor");
  brim_json_put_string(json, "type", "TemplateProcessing");
  for (int pair = 0; pair < 2; pair++) {
    brim_json_open_array(json, pair ? "pair" : "single");
    put_piece(json, "SpecialToken", cls->text, cls->length, 0);
    put_piece(json, "Sequence", "A", 1, 0);
    put_piece(json, "SpecialToken", sep->text, sep->length, 0);
    if (pair) {
      put_piece(json, "Sequence", "B", 1, 1);
      put_piece(json, "SpecialToken", sep->text, sep->length, 1);
    }
    brim_json_close_array(json);
  }
  brim_json_open_object(json, "special_tokens");
  put_special_entry(json, cls);
  put_special_entry(json, sep);
  brim_json_close_object(json);
  brim_json_close_object(json);
}

/* ---- vocab.txt -------------------------------------------------------------------------------------------- */

typedef struct line {
  const char *text;
  size_t length;
} line;

/* The next line: ended by '\n' alone (tokens may hold any other separator), with an optional '\r' before it. */
static bool next_line(const brim_tokenizer_file *file, size_t *at, line *out) {
  if (*at >= file->length)
    return false;
  const char *begin = file->bytes + *at, *end = memchr(begin, '\n', file->length - *at);
  size_t length = end ? (size_t)(end - begin) : file->length - *at;
  *at += length + 1;
  if (length && begin[length - 1] == '\r')
    length--;
  *out = (line){begin, length};
  return true;
}

/* Notes each line's number, of equal lines the last, and the ids of the special tokens. */
static int number_lines(const brim_tokenizer_file *vocab, settings *s, brim_hashmap *last, brim_error *err) {
  line l;
  size_t at = 0;
  for (int32_t id = 0; next_line(vocab, &at, &l); id++) {
    if (brim_utf8_valid(l.text, l.length) != l.length)
      return brim_error_at(err, BRIM_E_FORMAT, vocab->name, id + 1, l.text - vocab->bytes, "malformed UTF-8");
    BRIM_TRY(brim_hashmap_put(last, l.text, l.length, id, NULL, NULL, err));
  }
  for (int i = 0; i < ROLES; i++)
    s->specials[i].id = brim_hashmap_get(last, s->specials[i].text, s->specials[i].length, -1);
  return BRIM_OK;
}

static void put_vocab(brim_json_writer *json, const brim_tokenizer_file *vocab, const brim_hashmap *last) {
  line l;
  size_t at = 0;
  brim_json_open_object(json, "vocab");
  for (int32_t id = 0; next_line(vocab, &at, &l); id++)
    if (brim_hashmap_get(last, l.text, l.length, -1) == id) {
      brim_json_put_name(json, l.text, l.length);
      brim_json_put_integer(json, NULL, id);
    }
  brim_json_close_object(json);
}

static void put_bert_texts(brim_json_writer *json, const settings *s) {
  brim_json_open_object(json, "normalizer");
  brim_json_put_string(json, "type", "BertNormalizer");
  brim_json_put_bool(json, "clean_text", true);
  brim_json_put_bool(json, "handle_chinese_chars", s->chinese);
  if (s->accents < 0)
    brim_json_put_string(json, "strip_accents", NULL);
  else
    brim_json_put_bool(json, "strip_accents", s->accents > 0);
  brim_json_put_bool(json, "lowercase", s->lower);
  brim_json_close_object(json);
  brim_json_open_object(json, "pre_tokenizer");
  brim_json_put_string(json, "type", "BertPreTokenizer");
  brim_json_close_object(json);
}

static int write_wordpiece(const brim_tokenizer_file *vocab, settings *s, brim_hashmap *last, brim_text *out, brim_error *err) {
  BRIM_TRY(number_lines(vocab, s, last, err));
  const special *unk = role(s->specials, "unk_token"), *cls = role(s->specials, "cls_token"),
                *sep = role(s->specials, "sep_token");
  BRIM_TRY(need(unk, vocab, err));
  BRIM_TRY(need(cls, vocab, err));
  BRIM_TRY(need(sep, vocab, err));
  brim_json_writer json = {.out = out};
  open_file(&json, s->specials);
  put_bert_texts(&json, s);
  put_bert_template(&json, cls, sep);
  brim_json_open_object(&json, "decoder");
  brim_json_put_string(&json, "type", "WordPiece");
  brim_json_put_string(&json, "prefix", "##");
  brim_json_put_bool(&json, "cleanup", true);
  brim_json_close_object(&json);
  brim_json_open_object(&json, "model");
  brim_json_put_string(&json, "type", "WordPiece");
  brim_json_put_bytes(&json, "unk_token", unk->text, unk->length);
  brim_json_put_string(&json, "continuing_subword_prefix", "##");
  brim_json_put_integer(&json, "max_input_chars_per_word", 100);
  put_vocab(&json, vocab, last);
  brim_json_close_object(&json);
  brim_json_close_object(&json);
  return brim_text_status(out, err);
}

int brim_legacy_wordpiece(brim_runtime *runtime, const brim_tokenizer_file *vocab, const brim_tokenizer_file *config,
                          brim_text *out, brim_error *err) {
  settings s = {.lower = true,
                .chinese = true,
                .accents = -1,
                .specials = {{.role = "pad_token", .text = "[PAD]"},
                             {.role = "unk_token", .text = "[UNK]"},
                             {.role = "cls_token", .text = "[CLS]"},
                             {.role = "sep_token", .text = "[SEP]"},
                             {.role = "mask_token", .text = "[MASK]"}}};
  brim_hashmap last;
  brim_hashmap_init(&last, runtime);
  int status = read_settings(runtime, config, &s, err);
  if (status == BRIM_OK)
    status = write_wordpiece(vocab, &s, &last, out, err);
  brim_hashmap_free(&last);
  brim_json_free(s.document);
  return status;
}

/* ---- vocab.json and merges.txt ------------------------------------------------------------------------------ */

static int put_merges(brim_json_writer *json, const brim_tokenizer_file *merges, brim_error *err) {
  line l;
  size_t at = 0;
  brim_json_open_array(json, "merges");
  for (int64_t number = 1; next_line(merges, &at, &l); number++) {
    if (l.length == 0 || (l.length >= 8 && memcmp(l.text, "#version", 8) == 0))
      continue;
    const char *space = memchr(l.text, ' ', l.length);
    size_t left = space ? (size_t)(space - l.text) : 0;
    if (!space || memchr(space + 1, ' ', l.length - left - 1) || brim_utf8_valid(l.text, l.length) != l.length)
      return brim_error_at(err, BRIM_E_FORMAT, merges->name, number, l.text - merges->bytes,
                           "a merge must be two tokens with a space between them");
    brim_json_open_array(json, NULL);
    brim_json_put_bytes(json, NULL, l.text, left);
    brim_json_put_bytes(json, NULL, space + 1, l.length - left - 1);
    brim_json_close_array(json);
  }
  brim_json_close_array(json);
  return BRIM_OK;
}

/* A stage that looks at words as bytes. */
static void put_byte_level(brim_json_writer *json, const char *name, bool prefix_space) {
  brim_json_open_object(json, name);
  brim_json_put_string(json, "type", "ByteLevel");
  brim_json_put_bool(json, "add_prefix_space", prefix_space);
  brim_json_put_bool(json, "trim_offsets", true);
  brim_json_put_bool(json, "use_regex", true);
  brim_json_close_object(json);
}

static void put_roberta_ends(brim_json_writer *json, const special *cls, const special *sep, bool prefix_space) {
  brim_json_open_object(json, "post_processor");
  brim_json_put_string(json, "type", "RobertaProcessing");
  for (int last = 1; last >= 0; last--) {
    const special *t = last ? sep : cls;
    brim_json_open_array(json, last ? "sep" : "cls");
    brim_json_put_bytes(json, NULL, t->text, t->length);
    brim_json_put_integer(json, NULL, t->id);
    brim_json_close_array(json);
  }
  brim_json_put_bool(json, "trim_offsets", true);
  brim_json_put_bool(json, "add_prefix_space", prefix_space);
  brim_json_close_object(json);
}

static int put_bpe_model(brim_json_writer *json, const brim_tokenizer_file *vocab, const brim_tokenizer_file *merges,
                         brim_error *err) {
  brim_json_open_object(json, "model");
  brim_json_put_string(json, "type", "BPE");
  brim_json_put_string(json, "dropout", NULL);
  brim_json_put_string(json, "unk_token", NULL);
  brim_json_put_string(json, "continuing_subword_prefix", NULL);
  brim_json_put_string(json, "end_of_word_suffix", NULL);
  brim_json_put_bool(json, "fuse_unk", false);
  brim_json_put_bool(json, "byte_fallback", false);
  brim_json_put_bool(json, "ignore_merges", false);
  brim_json_put_json(json, "vocab", vocab->bytes, vocab->length);
  BRIM_TRY(put_merges(json, merges, err));
  brim_json_close_object(json);
  return BRIM_OK;
}

static int write_bpe(const brim_tokenizer_file *vocab, const brim_tokenizer_file *merges, const brim_json_document *document,
                     settings *s, brim_text *out, brim_error *err) {
  const brim_json_value *root = brim_json_root(document);
  if (root->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, root, err, BRIM_E_FORMAT, "a vocab.json must hold an object");
  for (const brim_json_value *key = brim_json_first(root); key; key = brim_json_after(root, key))
    for (int i = 0; i < ROLES; i++)
      if (key->length == s->specials[i].length && memcmp(key->as.text, s->specials[i].text, key->length) == 0 &&
          brim_json_member(key)->kind == BRIM_JSON_INT)
        s->specials[i].id = brim_json_member(key)->as.integer;
  const special *cls = role(s->specials, "cls_token"), *sep = role(s->specials, "sep_token");
  BRIM_TRY(need(cls, vocab, err));
  BRIM_TRY(need(sep, vocab, err));
  brim_json_writer json = {.out = out};
  open_file(&json, s->specials);
  brim_json_put_string(&json, "normalizer", NULL);
  put_byte_level(&json, "pre_tokenizer", s->prefix_space);
  put_roberta_ends(&json, cls, sep, s->prefix_space);
  put_byte_level(&json, "decoder", true);
  BRIM_TRY(put_bpe_model(&json, vocab, merges, err));
  brim_json_close_object(&json);
  return brim_text_status(out, err);
}

int brim_legacy_bpe(brim_runtime *runtime, const brim_tokenizer_file *vocab, const brim_tokenizer_file *merges,
                    const brim_tokenizer_file *config, brim_text *out, brim_error *err) {
  settings s = {.specials = {{.role = "cls_token", .text = "<s>", .id = -1},
                             {.role = "pad_token", .text = "<pad>", .id = -1},
                             {.role = "sep_token", .text = "</s>", .id = -1},
                             {.role = "unk_token", .text = "<unk>", .id = -1},
                             {.role = "mask_token", .text = "<mask>", .id = -1, .left_strip = true}}};
  brim_json_document *document = NULL;
  int status = read_settings(runtime, config, &s, err);
  if (status == BRIM_OK)
    status = brim_json_parse(runtime, vocab->bytes, vocab->length, vocab->name, &document, err);
  if (status == BRIM_OK)
    status = write_bpe(vocab, merges, document, &s, out, err);
  brim_json_free(document);
  brim_json_free(s.document);
  return status;
}
