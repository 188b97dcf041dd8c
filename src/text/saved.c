/* saved.c: the tokenizer_config.json of a run: what the tokenizer was loaded with, and what of it decides ids said in full. */
#include "base/status.h"
#include "text/fields.h"
#include "text/tokenizer.h"
#include <stdio.h>
#include <string.h>

/* The class of transformers that takes a tokenizer.json as it stands, by the name that all its versions know. */
#define AS_IT_STANDS "PreTrainedTokenizerFast"

/* Members that brim decides, or that would lead elsewhere. */
static bool is_decided(const brim_json_value *key) {
  static const char *const keys[] = {"tokenizer_class",
                                     "added_tokens_decoder",
                                     "extra_special_tokens",
                                     "additional_special_tokens",
                                     "model_specific_special_tokens",
                                     "model_max_length",
                                     "max_len",
                                     "truncation_side",
                                     "padding_side",
                                     "split_special_tokens",
                                     "model_input_names",
                                     "add_prefix_space",
                                     "auto_map",
                                     "init_inputs",
                                     "fast_tokenizer_files",
                                     "tokenizer_file",
                                     "special_tokens_map_file",
                                     "name_or_path",
                                     BRIM_WINDOWS_KEY,
                                     BRIM_WINDOW_OVERLAP_KEY,
                                     BRIM_TRUNCATION_KEY};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (brim_fields_is(key->as.text, key->length, keys[i]))
      return true;
  for (int i = 0; i < BRIM_ROLES; i++)
    if (brim_fields_is(key->as.text, key->length, brim_role_names[i]))
      return true;
  return false;
}

static void put_value(brim_json_writer *json, const brim_json_value *value);

static void put_members(brim_json_writer *json, const brim_json_value *object) {
  for (const brim_json_value *key = brim_json_first(object); key; key = brim_json_after(object, key)) {
    brim_json_put_name(json, key->as.text, key->length);
    put_value(json, brim_json_member(key));
  }
}

static void put_value(brim_json_writer *json, const brim_json_value *value) {
  switch ((brim_json_kind)value->kind) {
  case BRIM_JSON_OBJECT:
    brim_json_open_object(json, NULL);
    put_members(json, value);
    brim_json_close_object(json);
    return;
  case BRIM_JSON_ARRAY:
    brim_json_open_array(json, NULL);
    for (const brim_json_value *v = brim_json_first(value); v; v = brim_json_after(value, v))
      put_value(json, v);
    brim_json_close_array(json);
    return;
  case BRIM_JSON_BOOL:
    brim_json_put_bool(json, NULL, value->as.integer != 0);
    return;
  case BRIM_JSON_INT:
    brim_json_put_integer(json, NULL, value->as.integer);
    return;
  case BRIM_JSON_REAL:
    brim_json_put_number(json, NULL, value->as.real);
    return;
  case BRIM_JSON_STRING:
    brim_json_put_bytes(json, NULL, value->as.text, value->length);
    return;
  default:
    brim_json_put_string(json, NULL, NULL);
    return;
  }
}

static bool is_name(const brim_json_value *key) {
  static const char end[] = "_token";
  return key->length >= sizeof end && memcmp(key->as.text + key->length - (sizeof end - 1), end, sizeof end - 1) == 0;
}

/* What a name like "image_token" means, if it is one of the special tokens: any other would be added. */
static const brim_added_token *named_token(const brim_added *added, const brim_json_value *value) {
  if (value->kind == BRIM_JSON_OBJECT && brim_json_is_string(brim_json_get(value, "__type"), "AddedToken"))
    value = brim_json_get(value, "content");
  const brim_added_token *token = value && value->kind == BRIM_JSON_STRING ? brim_added_find(added, value->as.text, value->length)
                                                                           : NULL;
  return token && token->special ? token : NULL;
}

/* Of tokenizer_config.json, as it was read. */
static void put_said(brim_json_writer *json, const brim_json_value *object, const brim_added *added) {
  for (const brim_json_value *key = brim_json_first(object); key; key = brim_json_after(object, key)) {
    const brim_json_value *value = brim_json_member(key);
    const bool names = is_name(key) && (value->kind == BRIM_JSON_STRING || value->kind == BRIM_JSON_OBJECT);
    const brim_added_token *token = names ? named_token(added, value) : NULL;
    if (is_decided(key) || (names && !token))
      continue;
    brim_json_put_name(json, key->as.text, key->length);
    if (token)
      brim_json_put_bytes(json, NULL, token->content, token->length);
    else
      put_value(json, value);
  }
}

/* All added tokens: no other file is asked for them then. */
static void put_added(brim_json_writer *json, const brim_added *added) {
  brim_json_open_object(json, "added_tokens_decoder");
  for (int32_t id = 0; id < added->size; id++) {
    const brim_added_token *t = brim_added_by_id(added, id);
    char name[16];
    if (!t)
      continue;
    snprintf(name, sizeof name, "%d", (int)id);
    brim_json_open_object(json, name);
    brim_json_put_bytes(json, "content", t->content, t->length);
    brim_json_put_bool(json, "lstrip", t->left_strip);
    brim_json_put_bool(json, "normalized", t->is_normalized);
    brim_json_put_bool(json, "rstrip", t->right_strip);
    brim_json_put_bool(json, "single_word", t->single_word);
    brim_json_put_bool(json, "special", t->special);
    brim_json_close_object(json);
  }
  brim_json_close_object(json);
}

/* The special token at that end of a text; -1: there is none. */
static int32_t end_of(const brim_template *template, bool last) {
  const size_t place = last ? template->count - 1 : 0;
  return template->count && template->pieces[place].kind == BRIM_PIECE_SPECIAL ? template->pieces[place].id : -1;
}

/* A class that looks for what ends a text among its pieces, before it adds tokens, cannot be made where they lack it. */
static bool is_made_by_class(const brim_tokenizer *t) {
  const brim_role ends[] = {BRIM_ROLE_CLS, BRIM_ROLE_SEP};
  bool made = t->class != NULL;
  for (size_t i = 0; made && t->class->texts == BRIM_TEXTS_ALBERT && i < sizeof ends / sizeof *ends; i++) {
    const brim_added_token *token = brim_added_by_id(&t->added, t->roles[ends[i]]);
    made = token && brim_hashmap_get(&t->model.ids, token->content, token->length, -1) >= 0;
  }
  return made;
}

/* Where no file names a role: what plays it. Without a pad_token transformers could not make a batch. */
static int32_t guessed_role(const brim_tokenizer *t, brim_role role) {
  switch (role) {
  case BRIM_ROLE_PAD:
    return t->pad_id;
  case BRIM_ROLE_CLS:
    return end_of(&t->processor.single, false);
  case BRIM_ROLE_SEP:
    return end_of(&t->processor.single, true);
  case BRIM_ROLE_MASK: {
    const int32_t mask = brim_tokenizer_token_id(t, "[MASK]", 6);
    return mask >= 0 ? mask : brim_tokenizer_token_id(t, "<mask>", 6);
  }
  default:
    return -1;
  }
}

static void put_roles(brim_json_writer *json, const brim_tokenizer *t) {
  for (int i = 0; i < BRIM_ROLES; i++) {
    int32_t id = t->roles[i];
    if (id < 0 && !t->class)
      id = guessed_role(t, (brim_role)i);
    const brim_added_token *token = brim_added_by_id(&t->added, id); /* naming another one would add it */
    if (token)
      brim_json_put_bytes(json, brim_role_names[i], token->content, token->length);
    else if (t->class && t->class->roles[i])
      brim_json_put_string(json, brim_role_names[i], NULL);
  }
}

/* Special tokens without a role. The list is written where a class would have its own without one. */
static void put_extra(brim_json_writer *json, const brim_tokenizer *t) {
  brim_json_open_array(json, "additional_special_tokens");
  for (size_t i = 0; i < t->added.count; i++) {
    const brim_added_token *token = &t->added.tokens[i];
    bool plays = !token->special;
    for (int k = 0; k < BRIM_ROLES; k++)
      plays = plays || t->roles[k] == token->id;
    if (!plays)
      brim_json_put_bytes(json, NULL, token->content, token->length);
  }
  brim_json_close_array(json);
}

static bool gives_types(const brim_tokenizer *t) {
  if (t->facts.types >= 0)
    return t->facts.types > 0;
  return t->class ? t->class->types : brim_tokenizer_gives_types(t);
}

static void put_input_names(brim_json_writer *json, bool types) {
  brim_json_open_array(json, "model_input_names");
  brim_json_put_string(json, NULL, "input_ids");
  if (types)
    brim_json_put_string(json, NULL, "token_type_ids");
  brim_json_put_string(json, NULL, "attention_mask");
  brim_json_close_array(json);
}

static void put_prefix_space(brim_json_writer *json, const brim_tokenizer *t) {
  const brim_json_document *config = t->parent ? t->parent->beside.config : t->beside.config;
  const brim_json_value *said = config ? brim_json_get(brim_json_root(config), "add_prefix_space") : NULL;
  bool prefix = t->parent != NULL; /* the twin for words */
  for (size_t i = 0; i < t->pretokenizer.count; i++)
    prefix = prefix || t->pretokenizer.steps[i].kind == BRIM_SPLIT_PREFIX_SPACE;
  if (prefix || (said && said->kind == BRIM_JSON_BOOL))
    brim_json_put_bool(json, "add_prefix_space", prefix || said->as.integer);
}

int brim_tokenizer_config_write(const brim_tokenizer *t, const brim_tokenizer_saving *how, brim_text *out, brim_error *err) {
  const brim_json_document *config = t->parent ? t->parent->beside.config : t->beside.config;
  const int left = how->cutting.side ? how->cutting.side == BRIM_SIDE_LEFT : t->facts.left;
  const brim_truncation truncation = how->cutting.truncation ? how->cutting.truncation : t->facts.truncation;
  const int64_t longest = how->max_length ? how->max_length : t->facts.max_length;
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  put_added(&json, &t->added);
  put_roles(&json, t);
  if (t->class && t->class->unused[0])
    put_extra(&json, t);
  put_prefix_space(&json, t);
  if (config)
    put_said(&json, brim_json_root(config), &t->added);
  put_input_names(&json, gives_types(t) && !how->no_type_ids);
  if (longest)
    brim_json_put_integer(&json, "model_max_length", longest);
  if (how->windows.most > 1) {
    brim_json_put_integer(&json, BRIM_WINDOWS_KEY, how->windows.most);
    brim_json_put_integer(&json, BRIM_WINDOW_OVERLAP_KEY, how->windows.overlap);
  }
  if (t->facts.split_special)
    brim_json_put_bool(&json, "split_special_tokens", true);
  if (left >= 0)
    brim_json_put_string(&json, "truncation_side", left ? "left" : "right");
  const bool said = config && brim_json_get(brim_json_root(config), "padding_side");
  if (said || t->facts.pads_left) /* a text begins at the first position, as it was trained */
    brim_json_put_string(&json, "padding_side", "right");
  if (truncation)
    brim_json_put_string(&json, BRIM_TRUNCATION_KEY, brim_truncation_name(truncation));
  brim_json_put_string(&json, "tokenizer_class", is_made_by_class(t) ? t->class->name : AS_IT_STANDS);
  brim_json_close_object(&json);
  brim_text_append(out, "\n", 1);
  return brim_text_status(out, err);
}
