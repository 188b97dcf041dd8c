/* resolve.c: what transformers makes of a tokenizer's files, as one tokenizer.json. */
#include "text/resolve.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include <stdio.h>
#include <string.h>

enum { CHARS_OF_A_WORD = 100 };

typedef struct resolver {
  brim_runtime *runtime;
  const brim_beside *beside;
  const brim_vocabulary *from;
  const brim_json_document *document; /* of tokenizer.json, or of vocab.json; NULL: vocab.txt */
  const brim_json_value *root;        /* of tokenizer.json */
  const brim_json_value *model, *vocab, *merges;
  const brim_tokenizer_class *class;
  bool named; /* a file says the class */
  brim_class_settings settings;
  brim_said_tokens tokens;
  brim_hashmap last;        /* of vocab.txt: ids of lines */
  brim_text sections;       /* all of the tokenizer.json but its model */
  brim_json_document *made; /* of those */
  brim_error *err;
} resolver;

/* ---- the vocabulary ------------------------------------------------------------------------------------------ */

static int open_vocabulary(resolver *r) {
  const brim_vocabulary *from = r->from;
  if (!from->document && !from->merges)
    return BRIM_OK;
  r->document = from->document;
  const brim_json_value *root = brim_json_root(r->document);
  if (from->merges) {
    r->vocab = root;
    return root->kind == BRIM_JSON_OBJECT
               ? BRIM_OK
               : brim_json_error(r->document, root, r->err, BRIM_E_FORMAT, "a vocab.json must hold an object");
  }
  r->root = root;
  r->model = brim_json_get(root, "model");
  r->vocab = brim_json_get(r->model, "vocab");
  r->merges = brim_json_get(r->model, "merges");
  return BRIM_OK;
}

/* Of old files that do not say it too: BPE has merges, Unigram's vocabulary is an array. */
static brim_family family_of(const resolver *r) {
  const brim_json_value *type = brim_json_get(r->model, "type");
  if (!r->root)
    return r->from->merges ? BRIM_BPE : BRIM_WORDPIECE;
  if (type)
    return brim_json_is_string(type, "BPE") ? BRIM_BPE : brim_json_is_string(type, "Unigram") ? BRIM_UNIGRAM : BRIM_WORDPIECE;
  return r->merges ? BRIM_BPE : r->vocab && r->vocab->kind == BRIM_JSON_ARRAY ? BRIM_UNIGRAM : BRIM_WORDPIECE;
}

/* Gives the tokens that the vocabulary has their ids; *count entries. */
static int meet_vocabulary(resolver *r, int32_t *count) {
  if (!r->vocab) {
    BRIM_TRY(brim_lines_number(r->from->file, &r->last, &r->tokens, r->err));
    *count = (int32_t)r->last.count;
    return BRIM_OK;
  }
  int32_t id = 0;
  for (const brim_json_value *v = brim_json_first(r->vocab); v; v = brim_json_after(r->vocab, v), id++) {
    const brim_json_value *text = v->kind == BRIM_JSON_ARRAY ? brim_json_first(v) : v;
    const brim_json_value *number = v->kind == BRIM_JSON_KEY ? brim_json_member(v) : NULL;
    if (number && number->kind == BRIM_JSON_INT && number->as.integer >= 0 && number->as.integer < INT32_MAX)
      brim_said_meet(&r->tokens, v->as.text, v->length, (int32_t)number->as.integer);
    if (v->kind == BRIM_JSON_ARRAY && text && text->kind == BRIM_JSON_STRING)
      brim_said_meet(&r->tokens, text->as.text, text->length, id);
  }
  *count = (int32_t)r->vocab->length;
  return BRIM_OK;
}

/* ---- whether a class can build from it ------------------------------------------------------------------------ */

/* The file's own sections are taken, not what the class builds. */
static bool takes_file(const resolver *r) {
  return r->root && (!r->class || r->class->keeps);
}

/* A token that no file names, and that the vocabulary lacks, has no meaning for the model. -1: there is none. */
static int missing_role(const resolver *r) {
  const brim_role needed[] = {BRIM_ROLE_UNK, r->class->first, r->class->last};
  for (size_t i = r->class->family != BRIM_WORDPIECE && !r->class->word_end;
       i < sizeof needed / sizeof *needed && r->class->ends != BRIM_ENDS_OWN; i++) {
    const brim_said_token *role = &r->tokens.roles[needed[i]];
    const brim_said_token *token = role->text ? brim_said_find(&r->tokens, role->text, role->length) : NULL;
    if (!token || (token->id < 0 && (role->text == r->class->roles[needed[i]] || needed[i] == BRIM_ROLE_UNK)))
      return (int)needed[i];
  }
  return -1;
}

/* The two files do not belong together; `what` is wrong between them. */
static int refuse_named(const resolver *r, const char *what, const char *name, size_t length) {
  const bool config = r->named && r->beside->config && brim_json_get(brim_json_root(r->beside->config), "tokenizer_class");
  return brim_error_at(
      r->err, BRIM_E_MISMATCH, r->from->file->name, 0, -1,
      "%s, and %s means a %.*s: tokenizer_config.json must name the right tokenizer_class (PreTrainedTokenizerFast "
      "takes a tokenizer.json as it stands)",
      what, config ? "tokenizer_config.json" : "config.json", (int)length, name);
}

static int refuse_class(const resolver *r, const char *what) {
  return refuse_named(r, what, r->class->name, strlen(r->class->name));
}

static int refuse_family(const resolver *r) {
  static const char *const families[] = {"WordPiece", "BPE", "Unigram"};
  char what[64];
  snprintf(what, sizeof what, "its model is %s", families[family_of(r)]);
  return refuse_class(r, what);
}

static int refuse_missing(const resolver *r, brim_role role) {
  const brim_said_token *said = &r->tokens.roles[role];
  char what[256];
  snprintf(what, sizeof what, "the vocabulary lacks the %s \"%.*s\"", brim_role_names[role],
           (int)(said->length < 100 ? said->length : 100), said->text ? said->text : "");
  if (r->root)
    return refuse_class(r, what);
  return brim_error_at(r->err, BRIM_E_FORMAT, r->from->file->name, 0, -1, "%s; name it in tokenizer_config.json", what);
}

/* Without a tokenizer.json such a class may add tokens at the ends; none of brim's does. */
static int refuse_added_ends(const resolver *r) {
  static const char *const keys[] = {"add_bos_token", "add_eos_token"};
  const brim_json_document *config = r->beside->config;
  bool added = false;
  for (size_t i = 0; i < 2 && config && !r->root && r->class && r->class->ends == BRIM_ENDS_OWN && !added; i++)
    BRIM_TRY(brim_json_read_bool(config, brim_json_root(config), keys[i], &added, r->err));
  return added ? refuse_class(r, "brim adds no token at the ends of texts without a tokenizer.json") : BRIM_OK;
}

/* As AutoTokenizer looks: whether the file says "ByteLevel" anywhere, and no code of the folder's own is named. */
static bool is_byte_llama(const resolver *r, const brim_json_value *name) {
  const brim_json_value *config = r->beside->config ? brim_json_root(r->beside->config) : NULL;
  const brim_json_value *code = config ? brim_json_get(config, "auto_map") : NULL;
  if (code && code->kind == BRIM_JSON_OBJECT)
    code = brim_json_get(code, "AutoTokenizer");
  return r->root && brim_class_is_llama(name->as.text, name->length) && (!code || code->kind == BRIM_JSON_NULL) &&
         strstr(r->from->file->bytes, "\"ByteLevel\"");
}

/* The class, and all tokens with their ids. */
static int choose_class(resolver *r) {
  int32_t count;
  const brim_json_value *other = brim_beside_other(r->beside);
  r->class = brim_beside_class(r->beside, &r->named);
  if (other && !is_byte_llama(r, other))
    return refuse_named(r, "brim does not build every kind of tokenizer", other->as.text, other->length);
  if (!r->root && (!r->class || (!r->named && r->class->family != family_of(r)))) {
    const char *name = r->from->merges ? "RobertaTokenizer" : "BertTokenizer";
    r->class = brim_class_named(name, strlen(name));
  }
  if (r->class && !takes_file(r) && r->class->family != family_of(r))
    return refuse_family(r);
  BRIM_TRY(refuse_added_ends(r));
  BRIM_TRY(brim_beside_tokens(r->runtime, r->beside, r->class, r->root ? r->document : NULL, r->root, &r->tokens, r->err));
  BRIM_TRY(meet_vocabulary(r, &count));
  const int missing = r->class ? missing_role(r) : -1;
  if (missing >= 0)
    return refuse_missing(r, (brim_role)missing);
  return brim_said_number(&r->tokens, count, r->from->file->name, r->err);
}

/* ---- sections --------------------------------------------------------------------------------------------------- */

static brim_marker marker_of(const resolver *r, brim_role role) {
  const brim_said_token *said = &r->tokens.roles[role], *token = brim_said_find(&r->tokens, said->text, said->length);
  return (brim_marker){said->text, said->length, (int32_t)token->id};
}

/* The file's own: its normalizer, or one of a sequence. */
static const brim_json_value *find_charsmap(const resolver *r) {
  const brim_json_value *normalizer = brim_json_get(r->root, "normalizer"), *list = brim_json_get(normalizer, "normalizers");
  const brim_json_value *found = brim_json_get(normalizer, "precompiled_charsmap");
  for (const brim_json_value *v = list && list->kind == BRIM_JSON_ARRAY ? brim_json_first(list) : NULL; v && !found;
       v = brim_json_after(list, v))
    found = brim_json_get(v, "precompiled_charsmap");
  return found && found->kind == BRIM_JSON_STRING ? found : NULL;
}

/* Sections of the file that the class leaves alone. */
static void copy_section(resolver *r, brim_json_writer *json, const char *name) {
  const brim_json_value *value = brim_json_get(r->root, name);
  size_t length = 0;
  const char *bytes = value ? brim_fields_raw(r->runtime, r->from->file->bytes, r->from->file->length, value, &length) : NULL;
  if (bytes)
    brim_json_put_json(json, name, bytes, length);
  else
    brim_json_put_string(json, name, NULL);
}

/* Some classes leave the file's post-processor as it is. */
static bool keeps_ends(const resolver *r) {
  const brim_json_value *ends = brim_json_get(r->root, "post_processor");
  return !r->class || r->class->ends == BRIM_ENDS_OWN ||
         (r->class->texts == BRIM_TEXTS_ALBERT && ends && ends->kind != BRIM_JSON_NULL);
}

static int write_sections(resolver *r) {
  static const char *const texts[] = {"normalizer", "pre_tokenizer", "decoder"};
  brim_json_writer json = {.out = &r->sections};
  brim_json_open_object(&json, NULL);
  brim_json_put_string(&json, "version", "1.0");
  brim_json_put_string(&json, "truncation", NULL);
  brim_json_put_string(&json, "padding", NULL);
  BRIM_TRY(brim_said_write(&r->tokens, &json, r->err));
  if (!takes_file(r))
    brim_class_write(&json, r->class, &r->settings, find_charsmap(r));
  for (size_t i = 0; takes_file(r) && i < sizeof texts / sizeof *texts; i++)
    copy_section(r, &json, texts[i]);
  if (keeps_ends(r))
    copy_section(r, &json, "post_processor");
  else
    brim_class_write_ends(&json, r->class, &r->settings, marker_of(r, r->class->first), marker_of(r, r->class->last));
  brim_json_close_object(&json);
  return brim_text_status(&r->sections, r->err);
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

static bool is_text_or(const brim_json_value *value, const char *fallback, const char *text, size_t length) {
  if (!value || value->kind == BRIM_JSON_NULL)
    return brim_fields_is(text, length, fallback);
  return value->kind == BRIM_JSON_STRING && value->length == length && memcmp(value->as.text, text, length) == 0;
}

static bool is_off(const brim_json_value *value) {
  return !value || value->kind == BRIM_JSON_NULL || (value->kind == BRIM_JSON_BOOL && !value->as.integer);
}

static bool is_no_text(const brim_json_value *value) {
  return !value || value->kind == BRIM_JSON_NULL || brim_json_is_string(value, "");
}

/* Pieces: the id of what is unknown, as each class fixes it. */
static int64_t unknown_piece(const resolver *r) {
  const brim_said_token *unk = &r->tokens.roles[BRIM_ROLE_UNK];
  const bool deberta = r->class->texts == BRIM_TEXTS_DEBERTA;
  if (r->class->texts == BRIM_TEXTS_ALBERT)
    return 1;
  if (r->class->texts == BRIM_TEXTS_PIECES && !r->class->unused[0])
    return 3;
  int64_t id = 0;
  for (const brim_json_value *v = brim_json_first(r->vocab); v && unk->text; v = brim_json_after(r->vocab, v), id++) {
    const brim_json_value *text = v->kind == BRIM_JSON_ARRAY ? brim_json_first(v) : NULL;
    const brim_json_value *score = text ? brim_json_after(v, text) : NULL;
    if (text && text->kind == BRIM_JSON_STRING && text->length == unk->length &&
        memcmp(text->as.text, unk->text, unk->length) == 0 && (!deberta || (score && brim_json_number(score) == 0)))
      return id;
  }
  return !deberta ? 0 : r->settings.unk_id >= 0 ? r->settings.unk_id : 1;
}

/* The file's model, but for its vocabulary, is what the class makes. */
static bool same_model(const resolver *r) {
  const brim_said_token *unk = &r->tokens.roles[BRIM_ROLE_UNK];
  const brim_json_value *m = r->model, *chars = brim_json_get(m, "max_input_chars_per_word"), *id = brim_json_get(m, "unk_id");
  switch (r->class->family) {
  case BRIM_WORDPIECE:
    return is_text_or(brim_json_get(m, "unk_token"), "[UNK]", unk->text, unk->length) &&
           is_text_or(brim_json_get(m, "continuing_subword_prefix"), "##", "##", 2) &&
           (!chars || brim_json_number(chars) == CHARS_OF_A_WORD);
  case BRIM_BPE:
    return (r->class->word_end
                ? brim_json_is_string(brim_json_get(m, "end_of_word_suffix"), r->class->word_end) &&
                      is_text_or(brim_json_get(m, "unk_token"), "", unk->text, unk->length)
                : is_no_text(brim_json_get(m, "end_of_word_suffix")) && is_no_text(brim_json_get(m, "unk_token"))) &&
           is_no_text(brim_json_get(m, "continuing_subword_prefix")) && is_off(brim_json_get(m, "dropout")) &&
           is_off(brim_json_get(m, "fuse_unk")) && is_off(brim_json_get(m, "byte_fallback")) &&
           is_off(brim_json_get(m, "ignore_merges"));
  default:
    return id && id->kind == BRIM_JSON_INT && id->as.integer == unknown_piece(r) && is_off(brim_json_get(m, "byte_fallback"));
  }
}

static void put_raw(const resolver *r, brim_json_writer *json, const char *name, const brim_json_value *value) {
  size_t length = 0;
  const char *bytes = value ? brim_fields_raw(r->runtime, r->from->file->bytes, r->from->file->length, value, &length) : NULL;
  if (bytes)
    brim_json_put_json(json, name, bytes, length);
}

static int write_class_model(resolver *r, brim_json_writer *json) {
  static const char *const types[] = {"WordPiece", "BPE", "Unigram"};
  const brim_said_token *unk = &r->tokens.roles[BRIM_ROLE_UNK];
  brim_json_open_object(json, "model");
  brim_json_put_string(json, "type", types[r->class->family]);
  if (r->class->family == BRIM_WORDPIECE) {
    brim_json_put_bytes(json, "unk_token", unk->text, unk->length);
    brim_json_put_string(json, "continuing_subword_prefix", "##");
    brim_json_put_integer(json, "max_input_chars_per_word", CHARS_OF_A_WORD);
  } else if (r->class->family == BRIM_BPE) {
    static const char *const nothing[] = {"dropout", "continuing_subword_prefix"};
    static const char *const off[] = {"fuse_unk", "byte_fallback", "ignore_merges"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
      brim_json_put_string(json, nothing[i], NULL);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
      brim_json_put_bool(json, off[i], false);
    brim_json_put_string(json, "end_of_word_suffix", r->class->word_end);
    if (r->class->word_end)
      brim_json_put_bytes(json, "unk_token", unk->text, unk->length);
    else
      brim_json_put_string(json, "unk_token", NULL);
  } else {
    brim_json_put_integer(json, "unk_id", unknown_piece(r));
    brim_json_put_bool(json, "byte_fallback", false);
  }
  if (r->vocab)
    put_raw(r, json, "vocab", r->vocab);
  else
    brim_lines_write(json, r->from->file, &r->last);
  if (r->from->merges)
    BRIM_TRY(brim_merges_write(json, r->from->merges, r->err));
  else if (r->class->family == BRIM_BPE)
    put_raw(r, json, "merges", r->merges);
  brim_json_close_object(json);
  return BRIM_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static bool same_tokens(const brim_said_tokens *a, const brim_said_tokens *b) {
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++) {
    const brim_said_token *x = &a->at[i], *y = brim_said_find(b, x->text, x->length);
    if (!y || x->single_word != y->single_word || x->left_strip != y->left_strip || x->right_strip != y->right_strip ||
        x->normalized != y->normalized || x->special != y->special)
      return false;
  }
  return true;
}

/* The tokens of the file alone are those that were found. */
static int compare_tokens(resolver *r, bool *same) {
  static const brim_beside nothing = {0};
  brim_said_tokens own;
  int status = brim_beside_tokens(r->runtime, &nothing, NULL, r->document, r->root, &own, r->err);
  *same = status == BRIM_OK && same_tokens(&own, &r->tokens);
  brim_said_tokens_free(&own);
  return status;
}

/* The file's sections mean what the class makes. */
static int compare_sections(resolver *r, bool *same) {
  const brim_json_value *root = brim_json_root(r->made);
  BRIM_TRY(brim_normalizer_compare(r->runtime, r->document, brim_json_get(r->root, "normalizer"), r->made,
                                   brim_json_get(root, "normalizer"), same, r->err));
  if (*same)
    BRIM_TRY(brim_pretokenizer_compare(r->runtime, r->document, brim_json_get(r->root, "pre_tokenizer"), r->made,
                                       brim_json_get(root, "pre_tokenizer"), same, r->err));
  if (*same)
    BRIM_TRY(brim_processor_compare(r->runtime, r->document, brim_json_get(r->root, "post_processor"), r->made,
                                    brim_json_get(root, "post_processor"), same, r->err));
  return BRIM_OK;
}

static int is_same(resolver *r, bool *same) {
  *same = false;
  if (!r->root || (!takes_file(r) && !same_model(r)))
    return BRIM_OK;
  BRIM_TRY(compare_tokens(r, same));
  if (!*same || !r->class)
    return BRIM_OK;
  BRIM_TRY(brim_json_parse(r->runtime, r->sections.data, r->sections.length, "tokenizer.json", &r->made, r->err));
  return compare_sections(r, same);
}

/* The sections with the model as their last member. */
static int compose(resolver *r, brim_text *out) {
  brim_json_writer json = {.out = out, .comma = true};
  brim_text_append(out, r->sections.data, r->sections.length - 1);
  if (!takes_file(r))
    BRIM_TRY(write_class_model(r, &json));
  else
    put_raw(r, &json, "model", r->model);
  brim_text_append(out, "}", 1);
  return brim_text_status(out, r->err);
}

static int resolve(resolver *r, brim_text *out) {
  bool same;
  BRIM_TRY(open_vocabulary(r));
  BRIM_TRY(choose_class(r));
  if (r->class)
    BRIM_TRY(brim_class_settings_read(r->class, r->beside->config, &r->settings, r->err));
  BRIM_TRY(write_sections(r));
  BRIM_TRY(is_same(r, &same));
  return same ? BRIM_OK : compose(r, out);
}

int brim_resolve(brim_runtime *runtime, const brim_beside *beside, const brim_vocabulary *vocabulary, brim_resolved *out,
                 brim_text *made, brim_error *err) {
  resolver r = {.runtime = runtime, .beside = beside, .from = vocabulary, .err = err};
  brim_hashmap_init(&r.last, runtime);
  brim_text_init(&r.sections, runtime);
  int status = resolve(&r, made);
  out->class = r.class;
  for (int i = 0; i < BRIM_ROLES; i++) {
    const brim_said_token *role = &r.tokens.roles[i];
    const brim_said_token *token = status == BRIM_OK && role->text ? brim_said_find(&r.tokens, role->text, role->length) : NULL;
    out->roles[i] = token ? (int32_t)token->id : -1;
  }
  brim_json_free(r.made);
  brim_text_free(&r.sections);
  brim_hashmap_free(&r.last);
  brim_said_tokens_free(&r.tokens);
  return status;
}
