/* said.c: the added and special tokens that files name, in the order in which transformers adds them. */
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "text/beside.h"
#include "text/fields.h"
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  const brim_beside *beside;
  const brim_tokenizer_class *class;
  brim_said_tokens *out;
  brim_said_tokens listed; /* of added_tokens_decoder and its forerunners: by id */
  brim_said_tokens named;  /* by names of their own ("image_token"); the places are those of the names */
  brim_said_tokens extra;
  brim_error *err;
} reader;

static void tokens_init(brim_said_tokens *tokens, brim_runtime *runtime) {
  *tokens = (brim_said_tokens){.runtime = runtime};
  brim_hashmap_init(&tokens->places, runtime);
}

void brim_said_tokens_free(brim_said_tokens *tokens) {
  if (!tokens->runtime)
    return;
  brim_release(tokens->runtime, tokens->at);
  brim_hashmap_free(&tokens->places);
  *tokens = (brim_said_tokens){0};
}

static int append(brim_said_tokens *tokens, const brim_said_token *token, brim_error *err) {
  BRIM_TRY(brim_grow(tokens->runtime, (void **)&tokens->at, &tokens->capacity, tokens->count + 1, sizeof *tokens->at, err));
  tokens->at[tokens->count++] = *token;
  return BRIM_OK;
}

brim_said_token *brim_said_find(const brim_said_tokens *tokens, const char *text, size_t length) {
  const int32_t place = brim_hashmap_get(&tokens->places, text, length, -1);
  return place < 0 ? NULL : &tokens->at[place];
}

/* A token that is there already gets the new flags, and stays special if it was. */
static int add(brim_said_tokens *tokens, const brim_said_token *token, brim_error *err) {
  if (token->length == 0)
    return BRIM_OK;
  brim_said_token *there = brim_said_find(tokens, token->text, token->length);
  if (there) {
    const bool special = there->special || token->special;
    *there = *token;
    there->special = special;
    return BRIM_OK;
  }
  BRIM_TRY(brim_hashmap_put(&tokens->places, token->text, token->length, (int32_t)tokens->count, NULL, NULL, err));
  return append(tokens, token, err);
}

static const brim_json_value *member(const brim_json_document *document, const char *key) {
  return document ? brim_json_get(brim_json_root(document), key) : NULL;
}

/* ---- reading one ---------------------------------------------------------------------------------------------- */

/* An object that says that it is a token. */
static bool is_typed(const brim_json_value *value) {
  return value->kind == BRIM_JSON_OBJECT && brim_json_is_string(brim_json_get(value, "__type"), "AddedToken");
}

/* "[E1]", or {"content": "[E1]", "lstrip": false, ...}. What is only a text is special. */
static int read_token(const brim_json_document *document, const brim_json_value *value, bool special, brim_said_token *out,
                      brim_error *err) {
  *out = (brim_said_token){.special = special, .typed = is_typed(value), .id = -1, .said_id = -1};
  if (value->kind == BRIM_JSON_STRING) {
    out->bare = true;
    out->text = value->as.text;
    out->length = value->length;
    out->special = true;
    return BRIM_OK;
  }
  if (value->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, value, err, BRIM_E_FORMAT,
                           "a token must be a text or an object with \"content\", this is %s",
                           brim_json_kind_name((brim_json_kind)value->kind));
  BRIM_TRY(brim_fields_string(document, value, "content", &out->text, &out->length, err));
  BRIM_TRY(brim_json_read_bool(document, value, "special", &out->special, err));
  out->special |= special;
  out->normalized = !out->special;
  BRIM_TRY(brim_json_read_bool(document, value, "normalized", &out->normalized, err));
  out->says_normalized = brim_json_get(value, "normalized") != NULL;
  BRIM_TRY(brim_json_read_bool(document, value, "single_word", &out->single_word, err));
  BRIM_TRY(brim_json_read_bool(document, value, "lstrip", &out->left_strip, err));
  return brim_json_read_bool(document, value, "rstrip", &out->right_strip, err);
}

/* Special tokens are searched for in the raw text, unless a file says otherwise. */
static void make_special(brim_said_token *token) {
  token->special = true;
  token->normalized = token->normalized && token->says_normalized;
}

/* ---- lists by id ------------------------------------------------------------------------------------------------ */

static int put_listed(reader *r, brim_said_token token, const char *file) {
  token.file = file;
  token.order = r->listed.count;
  return append(&r->listed, &token, r->err);
}

static int by_said_id(const void *a, const void *b) {
  const brim_said_token *x = a, *y = b;
  return x->said_id != y->said_id ? (x->said_id > y->said_id) - (x->said_id < y->said_id)
                                  : (x->order > y->order) - (x->order < y->order);
}

/* By id; of one id the last. */
static void sort_listed(reader *r) {
  brim_said_tokens *l = &r->listed;
  size_t kept = 0;
  if (l->count)
    qsort(l->at, l->count, sizeof *l->at, by_said_id);
  for (size_t i = 0; i < l->count; i++)
    if (i + 1 == l->count || l->at[i + 1].said_id != l->at[i].said_id)
      l->at[kept++] = l->at[i];
  l->count = kept;
}

/* {"44": {"content": "[E1]", ...}, ...} */
static int read_decoder(reader *r, const brim_json_value *map) {
  const brim_json_document *config = r->beside->config;
  if (map->kind != BRIM_JSON_OBJECT)
    return brim_json_error(config, map, r->err, BRIM_E_FORMAT, "\"added_tokens_decoder\" must be an object of tokens by id");
  for (const brim_json_value *key = brim_json_first(map); key; key = brim_json_after(map, key)) {
    brim_said_token token;
    BRIM_TRY(read_token(config, brim_json_member(key), false, &token, r->err));
    if (!brim_number_integer(key->as.text, key->length, &token.said_id) || token.said_id < 0 || token.said_id >= INT32_MAX)
      return brim_json_error(config, key, r->err, BRIM_E_FORMAT, "\"%.*s\" is not an id",
                             (int)(key->length < 100 ? key->length : 100), key->as.text);
    BRIM_TRY(put_listed(r, token, "tokenizer_config.json"));
  }
  return BRIM_OK;
}

static bool is_said(const brim_said_token *token, const char *text, size_t length) {
  return token->text && !token->typed && token->length == length && memcmp(token->text, text, length) == 0;
}

/* Files say so, but for objects of a type, which transformers takes for tokens only afterwards. */
static bool is_role_or_extra(const reader *r, const char *text, size_t length) {
  for (int i = 0; i < BRIM_ROLES; i++)
    if (is_said(&r->out->roles[i], text, length) && (!r->class || r->out->roles[i].text != r->class->roles[i]))
      return true;
  return brim_hashmap_has(&r->extra.places, text, length);
}

/* {"[E1]": 44, ...} */
static int read_added(reader *r) {
  const brim_json_document *added = r->beside->added;
  const brim_json_value *root = added ? brim_json_root(added) : NULL;
  for (const brim_json_value *key = brim_json_first(root); key; key = brim_json_after(root, key)) {
    const brim_json_value *id = brim_json_member(key);
    if (id->kind != BRIM_JSON_INT || id->as.integer < 0 || id->as.integer >= INT32_MAX)
      return brim_json_error(added, id, r->err, BRIM_E_FORMAT, "the id of \"%.*s\" must be a whole number from 0",
                             (int)(key->length < 100 ? key->length : 100), key->as.text);
    const bool special = is_role_or_extra(r, key->as.text, key->length);
    const brim_said_token token = {.text = key->as.text,
                                   .length = key->length,
                                   .special = special,
                                   .normalized = !special,
                                   .says_normalized = true,
                                   .id = -1,
                                   .said_id = id->as.integer};
    BRIM_TRY(put_listed(r, token, "added_tokens.json"));
  }
  return BRIM_OK;
}

/* "added_tokens" of a tokenizer.json. */
static int read_own(reader *r, const brim_json_document *document, const brim_json_value *tokenizer, bool listed) {
  const brim_json_value *list = brim_json_get(tokenizer, "added_tokens");
  if (list && list->kind != BRIM_JSON_NULL && list->kind != BRIM_JSON_ARRAY)
    return brim_json_error(document, list, r->err, BRIM_E_FORMAT, "\"added_tokens\" must be an array");
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    brim_said_token token;
    if (v->kind != BRIM_JSON_OBJECT)
      return brim_json_error(document, v, r->err, BRIM_E_FORMAT, "an added token must be an object");
    BRIM_TRY(read_token(document, v, false, &token, r->err));
    BRIM_TRY(brim_json_read_int(document, v, "id", 0, INT32_MAX - 1, &token.said_id, r->err));
    token.file = "tokenizer.json";
    BRIM_TRY(listed ? put_listed(r, token, token.file) : add(r->out, &token, r->err));
  }
  return BRIM_OK;
}

/* ---- roles and extra tokens ------------------------------------------------------------------------------------- */

static bool ends_in_token(const brim_json_value *key) {
  return key->length > 6 && memcmp(key->as.text + key->length - 6, "_token", 6) == 0;
}

static int role_of(const brim_json_value *key) {
  for (int i = 0; i < BRIM_ROLES; i++)
    if (brim_fields_is(key->as.text, key->length, brim_role_names[i]))
      return i;
  return -1;
}

/* What the class makes of a text. */
static void make_role(const reader *r, brim_said_token *token, int role) {
  const bool mask = r->class && r->class->mask_left_strip && role == BRIM_ROLE_MASK;
  token->left_strip = mask;
  token->bare = !mask && !(r->class && r->class->role_objects);
}

static int read_role(reader *r, const brim_json_document *document, const brim_json_value *value, int role, bool special) {
  brim_said_token token;
  if (value->kind == BRIM_JSON_NULL) {
    r->out->roles[role] = (brim_said_token){.id = -1, .said_id = -1};
    return BRIM_OK;
  }
  if (value->kind != BRIM_JSON_STRING && value->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, value, r->err, BRIM_E_FORMAT, "\"%s\" must be a token, this is %s", brim_role_names[role],
                           brim_json_kind_name((brim_json_kind)value->kind));
  BRIM_TRY(read_token(document, value, special, &token, r->err));
  make_special(&token);
  if (token.bare)
    make_role(r, &token, role);
  r->out->roles[role] = token;
  return BRIM_OK;
}

static int read_roles(reader *r, const brim_json_document *document, bool special) {
  const brim_json_value *root = document ? brim_json_root(document) : NULL;
  for (const brim_json_value *key = brim_json_first(root); key; key = brim_json_after(root, key))
    if (role_of(key) >= 0)
      BRIM_TRY(read_role(r, document, brim_json_member(key), role_of(key), special));
  return BRIM_OK;
}

/* A token of another name; of one name the last, in the place of the first, which `nothing` may take too. */
static int put_named(reader *r, const brim_json_document *document, const brim_json_value *key, bool nothing) {
  const int32_t place = brim_hashmap_get(&r->named.places, key->as.text, key->length, -1);
  brim_said_token token = {0};
  if (!nothing)
    BRIM_TRY(read_token(document, brim_json_member(key), true, &token, r->err));
  if (place >= 0) {
    r->named.at[place] = token;
    return BRIM_OK;
  }
  BRIM_TRY(brim_hashmap_put(&r->named.places, key->as.text, key->length, (int32_t)r->named.count, NULL, NULL, r->err));
  return append(&r->named, &token, r->err);
}

static bool is_text(const brim_json_value *value) {
  return value->kind == BRIM_JSON_STRING;
}

static bool is_object(const brim_json_value *value) {
  return value->kind == BRIM_JSON_OBJECT;
}

static bool is_token(const brim_json_value *value) {
  return value->kind == BRIM_JSON_STRING || value->kind == BRIM_JSON_OBJECT;
}

/* Members of a file that end in "_token" and are no roles, where `takes` their value; objects by themselves are tokens if they
 * are typed. */
static int read_named(reader *r, const brim_json_document *document, bool (*takes)(const brim_json_value *)) {
  const brim_json_value *root = document ? brim_json_root(document) : NULL;
  for (const brim_json_value *key = brim_json_first(root); key; key = brim_json_after(root, key))
    if (ends_in_token(key) && role_of(key) < 0 && takes(brim_json_member(key)))
      BRIM_TRY(put_named(r, document, key, takes == is_object && !is_typed(brim_json_member(key))));
  return BRIM_OK;
}

/* An object of them. */
static int read_names(reader *r, const brim_json_document *document, const char *name) {
  const brim_json_value *names = member(document, name);
  if (names && names->kind == BRIM_JSON_OBJECT)
    for (const brim_json_value *key = brim_json_first(names); key; key = brim_json_after(names, key))
      BRIM_TRY(put_named(r, document, key, false));
  return BRIM_OK;
}

static void default_roles(reader *r) {
  for (int i = 0; i < BRIM_ROLES; i++)
    r->out->roles[i] = (brim_said_token){.id = -1, .said_id = -1};
  for (int i = 0; r->class && i < BRIM_ROLES; i++)
    if (r->class->roles[i]) {
      r->out->roles[i].text = r->class->roles[i];
      r->out->roles[i].length = strlen(r->class->roles[i]);
      r->out->roles[i].special = true;
      make_role(r, &r->out->roles[i], i);
    }
}

static bool says_something(const brim_json_value *value) {
  return value && value->kind != BRIM_JSON_NULL && (value->kind != BRIM_JSON_ARRAY || value->length) &&
         (value->kind != BRIM_JSON_OBJECT || value->length);
}

/* `places` has the texts that is_role_or_extra may meet: of several with one text, one that is of no type is enough. */
static int put_extra(reader *r, const brim_said_token *token) {
  if (!token->typed)
    BRIM_TRY(brim_hashmap_put(&r->extra.places, token->text, token->length, (int32_t)r->extra.count, NULL, NULL, r->err));
  return append(&r->extra, token, r->err);
}

/* A list of tokens; those of an object have names. */
static int read_extra(reader *r, const brim_json_document *document, const brim_json_value *list, const char *key) {
  if (!says_something(list) || list->kind == BRIM_JSON_OBJECT)
    return BRIM_OK;
  if (list->kind != BRIM_JSON_ARRAY)
    return brim_json_error(document, list, r->err, BRIM_E_FORMAT, "\"%s\" must be a list of tokens", key);
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    const bool special = !is_typed(v) || (document == r->beside->map && strcmp(key, "extra_special_tokens") == 0);
    brim_said_token token;
    BRIM_TRY(read_token(document, v, special, &token, r->err));
    BRIM_TRY(put_extra(r, &token));
  }
  return BRIM_OK;
}

static const char extra_key[] = "extra_special_tokens", older_key[] = "additional_special_tokens";

/* As transformers orders them: what it finds among the settings, then what it took from tokenizer_config.json before. */
static int read_all_named(reader *r, const brim_json_document *map) {
  const brim_json_document *config = r->beside->config;
  BRIM_TRY(read_named(r, config, is_object));
  BRIM_TRY(read_named(r, map, is_token));
  BRIM_TRY(read_named(r, config, is_text));
  BRIM_TRY(read_names(r, config, extra_key));
  return read_names(r, map, extra_key);
}

/* What tokenizer_config.json and the map call extra; *said: one of them does, with whatever value that is no object. The older
 * name stands for it in tokenizer_config.json. */
static int read_extras(reader *r, const brim_json_document *map, bool *said) {
  const brim_json_document *config = r->beside->config;
  const brim_json_value *own = member(config, extra_key), *others = member(map, extra_key);
  if (!says_something(own) && member(config, older_key))
    own = member(config, older_key);
  const brim_json_value *last = others ? others : own;
  *said = last && last->kind != BRIM_JSON_OBJECT;
  if (own && (!others || others->kind == BRIM_JSON_ARRAY))
    BRIM_TRY(read_extra(r, config, own, extra_key));
  return read_extra(r, map, others, extra_key);
}

/* The older name, or what the class has, where nothing else is said. */
static int read_older_extras(reader *r, const brim_json_document *map) {
  const bool left = says_something(member(r->beside->config, extra_key)); /* tokenizer_config.json's older list as it is */
  const brim_json_document *from = member(map, older_key) ? map : left ? r->beside->config : NULL;
  const brim_json_value *older = member(from, older_key);
  if (older && older->kind != BRIM_JSON_NULL)
    return read_extra(r, from, older, older_key);
  for (size_t i = 0; r->class && r->class->unused[i]; i++) {
    const char *text = r->class->unused[i];
    const brim_said_token token = {.text = text, .length = strlen(text), .special = true, .bare = true, .id = -1, .said_id = -1};
    BRIM_TRY(put_extra(r, &token));
  }
  return BRIM_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static bool same_text(const brim_said_token *a, const brim_said_token *b) {
  return a->text && b->text && a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* What the text of a role or a name is called in the lists is its token, with its flags. */
static void take_flags(reader *r) {
  for (size_t k = 0; k < r->listed.count; k++) {
    brim_said_token *listed = &r->listed.at[k];
    for (int i = 0; i < BRIM_ROLES; i++)
      if (same_text(listed, &r->out->roles[i])) {
        make_special(listed);
        r->out->roles[i] = *listed;
      }
    for (size_t i = 0; i < r->named.count; i++)
      if (same_text(listed, &r->named.at[i]))
        make_special(listed);
  }
}

static bool same_token(const brim_said_token *a, const brim_said_token *b) {
  return same_text(a, b) && a->bare == b->bare && a->single_word == b->single_word && a->left_strip == b->left_strip &&
         a->right_strip == b->right_strip && a->normalized == b->normalized && a->special == b->special;
}

/* A token that the first `listed` of *r->out lack; of one text the last is added, but for one that was there before. */
static int add_said(reader *r, const brim_said_token *token, size_t listed, brim_said_tokens *before) {
  const brim_said_token *there = token->text ? brim_said_find(r->out, token->text, token->length) : NULL;
  if (!token->text || (there && (size_t)(there - r->out->at) < listed))
    return BRIM_OK;
  for (size_t i = 0; there && i < before->count; i++)
    if (same_token(&before->at[i], token))
      return BRIM_OK;
  BRIM_TRY(append(before, token, r->err));
  return add(r->out, token, r->err);
}

/* The order is transformers': tokens by id, then roles, then those of other names, then extra ones. */
static int collect(reader *r, const brim_json_document *document, const brim_json_value *tokenizer) {
  brim_said_tokens before = {.runtime = r->out->runtime};
  if (!r->class || r->class->keeps)
    BRIM_TRY(read_own(r, document, tokenizer, false));
  sort_listed(r);
  take_flags(r);
  for (size_t i = 0; i < r->listed.count; i++)
    BRIM_TRY(add(r->out, &r->listed.at[i], r->err));
  const size_t listed = r->out->count;
  int status = BRIM_OK;
  for (int i = 0; i < BRIM_ROLES && status == BRIM_OK; i++)
    status = add_said(r, &r->out->roles[i], listed, &before);
  for (size_t i = 0; i < r->named.count && status == BRIM_OK; i++)
    status = add_said(r, &r->named.at[i], listed, &before);
  for (size_t i = 0; i < r->extra.count && status == BRIM_OK; i++)
    status = add_said(r, &r->extra.at[i], listed, &before);
  brim_release(before.runtime, before.at);
  return status;
}

static int read_all(reader *r, const brim_json_document *document, const brim_json_value *tokenizer) {
  const brim_json_value *decoder = member(r->beside->config, "added_tokens_decoder");
  const brim_json_document *map = decoder ? NULL : r->beside->map; /* the newer list has the word over the older files */
  bool said = false;
  default_roles(r);
  BRIM_TRY(read_roles(r, r->beside->config, false));
  BRIM_TRY(read_roles(r, map, true));
  BRIM_TRY(read_all_named(r, map));
  BRIM_TRY(read_extras(r, map, &said));
  if (decoder) {
    BRIM_TRY(read_decoder(r, decoder));
  } else {
    BRIM_TRY(read_added(r));
    BRIM_TRY(read_own(r, document, tokenizer, true));
  }
  if (!said)
    BRIM_TRY(read_older_extras(r, map));
  return collect(r, document, tokenizer);
}

int brim_beside_tokens(brim_runtime *runtime, const brim_beside *beside, const brim_tokenizer_class *class,
                       const brim_json_document *document, const brim_json_value *tokenizer, brim_said_tokens *out,
                       brim_error *err) {
  reader r = {.beside = beside, .class = class, .out = out, .err = err};
  tokens_init(out, runtime);
  brim_said_tokens *const read[] = {&r.listed, &r.named, &r.extra};
  for (size_t i = 0; i < sizeof read / sizeof *read; i++)
    tokens_init(read[i], runtime);
  int status = read_all(&r, document, tokenizer);
  for (size_t i = 0; i < sizeof read / sizeof *read; i++)
    brim_said_tokens_free(read[i]);
  return status;
}

/* ---- ids ---------------------------------------------------------------------------------------------------------- */

void brim_said_meet(brim_said_tokens *tokens, const char *text, size_t length, int32_t id) {
  brim_said_token *token = brim_said_find(tokens, text, length);
  if (token)
    token->id = id;
}

int brim_said_number(brim_said_tokens *tokens, int32_t count, const char *vocabulary, brim_error *err) {
  int64_t top = -1;
  for (size_t i = 0; i < tokens->count; i++) {
    brim_said_token *t = &tokens->at[i];
    if (t->id < 0)
      t->id = top >= count ? top + 1 : count;
    if (t->id > top)
      top = t->id;
    if (t->said_id >= 0 && t->said_id != t->id)
      return brim_error_at(err, BRIM_E_FORMAT, t->file, 0, -1, "the id of \"%.*s\" is %lld here, and %lld by its place in %s",
                           (int)(t->length < 100 ? t->length : 100), t->text, (long long)t->said_id, (long long)t->id,
                           vocabulary);
  }
  return BRIM_OK;
}

static int by_id(const void *a, const void *b) {
  const brim_said_token *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

static void put_token(brim_json_writer *json, const brim_said_token *t) {
  brim_json_open_object(json, NULL);
  brim_json_put_integer(json, "id", t->id);
  brim_json_put_bytes(json, "content", t->text, t->length);
  brim_json_put_bool(json, "single_word", t->single_word);
  brim_json_put_bool(json, "lstrip", t->left_strip);
  brim_json_put_bool(json, "rstrip", t->right_strip);
  brim_json_put_bool(json, "normalized", t->normalized);
  brim_json_put_bool(json, "special", t->special);
  brim_json_close_object(json);
}

int brim_said_write(const brim_said_tokens *tokens, brim_json_writer *json, brim_error *err) {
  brim_said_token *sorted = brim_alloc_array(tokens->runtime, tokens->count + 1, sizeof *sorted);
  if (!sorted)
    return BRIM_NOMEM(err);
  if (tokens->count) {
    memcpy(sorted, tokens->at, tokens->count * sizeof *sorted);
    qsort(sorted, tokens->count, sizeof *sorted, by_id);
  }
  brim_json_open_array(json, "added_tokens");
  for (size_t i = 0; i < tokens->count; i++)
    put_token(json, &sorted[i]);
  brim_json_close_array(json);
  brim_release(tokens->runtime, sorted);
  return BRIM_OK;
}
