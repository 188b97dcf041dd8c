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

static void write_string(brim_text *out, const char *text, size_t length) {
  brim_text_json_string(out, text, length);
}

static const char *truth(bool value) {
  return value ? "true" : "false";
}

/* "added_tokens": the special tokens that have an id, by id. */
static void write_added(brim_text *out, const special *specials) {
  bool done[ROLES] = {false}, first = true;
  brim_text_string(out, "\"added_tokens\":[");
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
    brim_text_printf(out, "%s{\"id\":%lld,\"content\":", first ? "" : ",", (long long)t->id);
    write_string(out, t->text, t->length);
    brim_text_printf(out, ",\"single_word\":false,\"lstrip\":%s,\"rstrip\":false,\"normalized\":false,\"special\":true}",
                     truth(t->left_strip));
    first = false;
  }
  brim_text_string(out, "],");
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

static void write_special_piece(brim_text *out, const special *t, int type_id) {
  brim_text_string(out, "{\"SpecialToken\":{\"id\":");
  write_string(out, t->text, t->length);
  brim_text_printf(out, ",\"type_id\":%d}}", type_id);
}

static void write_special_entry(brim_text *out, const special *t) {
  write_string(out, t->text, t->length);
  brim_text_string(out, ":{\"id\":");
  write_string(out, t->text, t->length);
  brim_text_printf(out, ",\"ids\":[%lld],\"tokens\":[", (long long)t->id);
  write_string(out, t->text, t->length);
  brim_text_string(out, "]}");
}

static void write_bert_template(brim_text *out, const special *cls, const special *sep) {
  brim_text_string(out, "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[");
  write_special_piece(out, cls, 0);
  brim_text_string(out, ",{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},");
  write_special_piece(out, sep, 0);
  brim_text_string(out, "],\"pair\":[");
  write_special_piece(out, cls, 0);
  brim_text_string(out, ",{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},");
  write_special_piece(out, sep, 0);
  brim_text_string(out, ",{\"Sequence\":{\"id\":\"B\",\"type_id\":1}},");
  write_special_piece(out, sep, 1);
  brim_text_string(out, "],\"special_tokens\":{");
  write_special_entry(out, cls);
  brim_text_string(out, ",");
  write_special_entry(out, sep);
  brim_text_string(out, "}},");
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

/* "vocab": every line with its number; of equal lines the last counts. */
static int write_vocab(const brim_tokenizer_file *vocab, settings *s, brim_hashmap *last, brim_text *out, brim_error *err) {
  line l;
  size_t at = 0;
  for (int32_t id = 0; next_line(vocab, &at, &l); id++) {
    if (brim_utf8_valid(l.text, l.length) != l.length)
      return brim_error_at(err, BRIM_E_FORMAT, vocab->name, id + 1, l.text - vocab->bytes, "malformed UTF-8");
    BRIM_TRY(brim_hashmap_put(last, l.text, l.length, id, NULL, NULL, err));
  }
  bool first = true;
  at = 0;
  brim_text_string(out, "\"vocab\":{");
  for (int32_t id = 0; next_line(vocab, &at, &l); id++) {
    if (brim_hashmap_get(last, l.text, l.length, -1) != id)
      continue;
    if (!first)
      brim_text_string(out, ",");
    first = false;
    write_string(out, l.text, l.length);
    brim_text_printf(out, ":%d", (int)id);
  }
  brim_text_string(out, "}");
  for (int i = 0; i < ROLES; i++)
    s->specials[i].id = brim_hashmap_get(last, s->specials[i].text, s->specials[i].length, -1);
  return BRIM_OK;
}

static int write_wordpiece(const brim_tokenizer_file *vocab, settings *s, brim_hashmap *last, brim_text *model, brim_text *out,
                           brim_error *err) {
  BRIM_TRY(write_vocab(vocab, s, last, model, err));
  const special *unk = role(s->specials, "unk_token"), *cls = role(s->specials, "cls_token"),
                *sep = role(s->specials, "sep_token");
  BRIM_TRY(need(unk, vocab, err));
  BRIM_TRY(need(cls, vocab, err));
  BRIM_TRY(need(sep, vocab, err));
  BRIM_TRY(brim_text_status(model, err));
  brim_text_string(out, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,");
  write_added(out, s->specials);
  brim_text_printf(
      out,
      "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":%s,\"strip_accents\":%s,"
      "\"lowercase\":%s},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},",
      truth(s->chinese), s->accents < 0 ? "null" : truth(s->accents > 0), truth(s->lower));
  write_bert_template(out, cls, sep);
  brim_text_string(out, "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
                        "\"model\":{\"type\":\"WordPiece\",\"unk_token\":");
  write_string(out, unk->text, unk->length);
  brim_text_string(out, ",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,");
  brim_text_append(out, model->data, model->length);
  brim_text_string(out, "}}");
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
  brim_text model;
  brim_hashmap_init(&last, runtime);
  brim_text_init(&model, runtime);
  int status = read_settings(runtime, config, &s, err);
  if (status == BRIM_OK)
    status = write_wordpiece(vocab, &s, &last, &model, out, err);
  brim_hashmap_free(&last);
  brim_text_free(&model);
  brim_json_free(s.document);
  return status;
}

/* ---- vocab.json and merges.txt ------------------------------------------------------------------------------ */

static int write_merges(const brim_tokenizer_file *merges, brim_text *out, brim_error *err) {
  line l;
  size_t at = 0;
  bool first = true;
  brim_text_string(out, "\"merges\":[");
  for (int64_t number = 1; next_line(merges, &at, &l); number++) {
    if (l.length == 0 || (l.length >= 8 && memcmp(l.text, "#version", 8) == 0))
      continue;
    const char *blank = memchr(l.text, ' ', l.length);
    size_t left = blank ? (size_t)(blank - l.text) : 0;
    if (!blank || memchr(blank + 1, ' ', l.length - left - 1) || brim_utf8_valid(l.text, l.length) != l.length)
      return brim_error_at(err, BRIM_E_FORMAT, merges->name, number, l.text - merges->bytes,
                           "a merge must be two tokens with a space between them");
    brim_text_string(out, first ? "[" : ",[");
    first = false;
    write_string(out, l.text, left);
    brim_text_string(out, ",");
    write_string(out, blank + 1, l.length - left - 1);
    brim_text_string(out, "]");
  }
  brim_text_string(out, "]");
  return brim_text_status(out, err);
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
  brim_text_string(out, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,");
  write_added(out, s->specials);
  brim_text_printf(out,
                   "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":%s,\"trim_offsets\":true,"
                   "\"use_regex\":true},\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[",
                   truth(s->prefix_space));
  write_string(out, sep->text, sep->length);
  brim_text_printf(out, ",%lld],\"cls\":[", (long long)sep->id);
  write_string(out, cls->text, cls->length);
  brim_text_printf(out, ",%lld],\"trim_offsets\":true,\"add_prefix_space\":%s},", (long long)cls->id, truth(s->prefix_space));
  brim_text_string(out,
                   "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},"
                   "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,"
                   "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":");
  brim_text_append(out, vocab->bytes, vocab->length);
  brim_text_string(out, ",");
  BRIM_TRY(write_merges(merges, out, err));
  brim_text_string(out, "}}");
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
