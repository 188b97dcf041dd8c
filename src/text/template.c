/* template.c: loading post-processors and computing truncation. */
#include "text/template.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include <string.h>

typedef struct loader {
  const brim_json_document *document;
  brim_processor *out;
  int depth;
  bool has_template;
  brim_error *err;
} loader;

static int add_piece(loader *l, brim_template *t, brim_piece_kind kind, int64_t type_id, int64_t id) {
  BRIM_TRY(brim_grow(l->out->runtime, (void **)&t->pieces, &t->capacity, t->count + 1, sizeof *t->pieces, l->err));
  t->pieces[t->count++] = (brim_template_piece){kind, (uint8_t)type_id, (int32_t)id};
  if (kind == BRIM_PIECE_SPECIAL)
    t->added++;
  else
    t->bare_types[kind] = (uint8_t)type_id;
  return BRIM_OK;
}

/* ---- TemplateProcessing ----------------------------------------------------------------------------------- */

static int load_special(loader *l, brim_template *t, const brim_json_value *specials, const brim_json_value *piece,
                        int64_t type_id) {
  const char *name;
  size_t length;
  BRIM_TRY(brim_fields_string(l->document, piece, "id", &name, &length, l->err));
  const brim_json_value *entry = NULL;
  for (const brim_json_value *key = brim_json_first(specials); key; key = brim_json_after(specials, key))
    if (key->length == length && memcmp(key->as.text, name, length) == 0)
      entry = brim_json_member(key);
  const brim_json_value *ids = brim_json_get(entry, "ids");
  if (!ids || ids->kind != BRIM_JSON_ARRAY)
    return brim_json_error(l->document, piece, l->err, BRIM_E_FORMAT, "the template's special token \"%.*s\" has no ids",
                           (int)(length < 100 ? length : 100), name);
  for (const brim_json_value *id = brim_json_first(ids); id; id = brim_json_after(ids, id)) {
    if (id->kind != BRIM_JSON_INT || id->as.integer < 0 || id->as.integer >= INT32_MAX)
      return brim_json_error(l->document, id, l->err, BRIM_E_FORMAT, "not an id");
    BRIM_TRY(add_piece(l, t, BRIM_PIECE_SPECIAL, type_id, id->as.integer));
  }
  return BRIM_OK;
}

static int load_piece(loader *l, brim_template *t, const brim_json_value *specials, const brim_json_value *value) {
  const brim_json_value *sequence = brim_json_get(value, "Sequence"), *special = brim_json_get(value, "SpecialToken");
  const brim_json_value *piece = sequence ? sequence : special;
  int64_t type_id = 0;
  if (!piece || value->length != 1)
    return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED,
                           "a template piece must be a Sequence or a SpecialToken");
  BRIM_TRY(brim_fields_known(l->document, piece, "template piece", "id type_id", l->err));
  BRIM_TRY(brim_json_read_int(l->document, piece, "type_id", 0, 255, &type_id, l->err));
  if (special)
    return load_special(l, t, specials, piece, type_id);
  bool a = brim_json_is_string(brim_json_get(piece, "id"), "A"), b = brim_json_is_string(brim_json_get(piece, "id"), "B");
  if (!a && !b)
    return brim_json_error(l->document, piece, l->err, BRIM_E_UNSUPPORTED, "a template's sequence must be A or B");
  return add_piece(l, t, a ? BRIM_PIECE_A : BRIM_PIECE_B, type_id, -1);
}

static int load_pieces(loader *l, const brim_json_value *value, const char *key, brim_template *t) {
  const brim_json_value *list = brim_json_get(value, key), *specials = brim_json_get(value, "special_tokens");
  size_t a = 0, b = 0;
  bool pair = strcmp(key, "pair") == 0;
  if (!list || list->kind != BRIM_JSON_ARRAY)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT, "the template needs an array \"%s\"", key);
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    BRIM_TRY(load_piece(l, t, specials, v));
  for (size_t i = 0; i < t->count; i++) {
    a += t->pieces[i].kind == BRIM_PIECE_A;
    b += t->pieces[i].kind == BRIM_PIECE_B;
  }
  if (a != 1 || b != pair)
    return brim_json_error(l->document, list, l->err, BRIM_E_UNSUPPORTED, "the template \"%s\" must hold each sequence once",
                           key);
  return BRIM_OK;
}

static int load_template(loader *l, const brim_json_value *value) {
  BRIM_TRY(brim_fields_known(l->document, value, "TemplateProcessing", "single pair special_tokens", l->err));
  const brim_json_value *specials = brim_json_get(value, "special_tokens");
  if (specials && specials->kind != BRIM_JSON_OBJECT)
    return brim_json_error(l->document, specials, l->err, BRIM_E_FORMAT, "the template's \"special_tokens\" is %s, not an object",
                           brim_json_kind_name((brim_json_kind)specials->kind));
  BRIM_TRY(load_pieces(l, value, "single", &l->out->single));
  return load_pieces(l, value, "pair", &l->out->pair);
}

/* ---- BertProcessing, RobertaProcessing, ByteLevel ---------------------------------------------------------- */

/* ["token", id] */
static int load_marker(loader *l, const brim_json_value *value, const char *key, int64_t *id) {
  const brim_json_value *pair = brim_json_get(value, key);
  const brim_json_value *name = pair && pair->kind == BRIM_JSON_ARRAY && pair->length == 2 ? brim_json_first(pair) : NULL;
  const brim_json_value *number = name ? brim_json_after(pair, name) : NULL;
  if (!number || name->kind != BRIM_JSON_STRING || number->kind != BRIM_JSON_INT || number->as.integer < 0 ||
      number->as.integer >= INT32_MAX)
    return brim_json_error(l->document, pair ? pair : value, l->err, BRIM_E_FORMAT, "\"%s\" must be [\"token\", id]", key);
  *id = number->as.integer;
  return BRIM_OK;
}

static int load_markers(loader *l, const brim_json_value *value, bool roberta) {
  int64_t cls = -1, sep = -1;
  brim_template *single = &l->out->single, *pair = &l->out->pair;
  BRIM_TRY(load_marker(l, value, "cls", &cls));
  BRIM_TRY(load_marker(l, value, "sep", &sep));
  int64_t second = roberta ? 0 : 1;
  BRIM_TRY(add_piece(l, single, BRIM_PIECE_SPECIAL, 0, cls));
  BRIM_TRY(add_piece(l, single, BRIM_PIECE_A, 0, -1));
  BRIM_TRY(add_piece(l, single, BRIM_PIECE_SPECIAL, 0, sep));
  BRIM_TRY(add_piece(l, pair, BRIM_PIECE_SPECIAL, 0, cls));
  BRIM_TRY(add_piece(l, pair, BRIM_PIECE_A, 0, -1));
  BRIM_TRY(add_piece(l, pair, BRIM_PIECE_SPECIAL, 0, sep));
  if (roberta)
    BRIM_TRY(add_piece(l, pair, BRIM_PIECE_SPECIAL, 0, sep));
  BRIM_TRY(add_piece(l, pair, BRIM_PIECE_B, second, -1));
  return add_piece(l, pair, BRIM_PIECE_SPECIAL, second, sep);
}

static int load_roberta(loader *l, const brim_json_value *value) {
  l->out->trim_offsets = l->out->add_prefix_space = true;
  BRIM_TRY(brim_fields_known(l->document, value, "RobertaProcessing", "sep cls trim_offsets add_prefix_space", l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "trim_offsets", &l->out->trim_offsets, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "add_prefix_space", &l->out->add_prefix_space, l->err));
  return load_markers(l, value, true);
}

static int load_bert(loader *l, const brim_json_value *value) {
  BRIM_TRY(brim_fields_known(l->document, value, "BertProcessing", "sep cls", l->err));
  return load_markers(l, value, false);
}

static int load_bytes(loader *l, const brim_json_value *value) {
  bool regex = true;
  l->out->trim_offsets = l->out->add_prefix_space = true;
  BRIM_TRY(brim_fields_known(l->document, value, "ByteLevel post-processor", "add_prefix_space trim_offsets use_regex", l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "use_regex", &regex, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "trim_offsets", &l->out->trim_offsets, l->err));
  return brim_json_read_bool(l->document, value, "add_prefix_space", &l->out->add_prefix_space, l->err);
}

static int load_step(loader *l, const brim_json_value *value);

static int load_sequence(loader *l, const brim_json_value *value) {
  const brim_json_value *list;
  BRIM_TRY(brim_fields_sequence(l->document, value, "Sequence post-processor", "processors", &l->depth, &list, l->err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    BRIM_TRY(load_step(l, v));
  l->depth--;
  return BRIM_OK;
}

static int load_step(loader *l, const brim_json_value *value) {
  const char *type;
  size_t length;
  BRIM_TRY(brim_fields_type(l->document, value, "post-processor", &type, &length, l->err));
  if (brim_fields_is(type, length, "Sequence"))
    return load_sequence(l, value);
  if (brim_fields_is(type, length, "ByteLevel"))
    return load_bytes(l, value);
  if (l->has_template)
    return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED,
                           "two post-processors that add tokens are not supported");
  l->has_template = true;
  if (brim_fields_is(type, length, "TemplateProcessing"))
    return load_template(l, value);
  if (brim_fields_is(type, length, "BertProcessing"))
    return load_bert(l, value);
  if (brim_fields_is(type, length, "RobertaProcessing"))
    return load_roberta(l, value);
  return brim_json_error(l->document, value, l->err, BRIM_E_UNSUPPORTED, "the post-processor \"%.*s\" is not supported",
                         (int)(length < 100 ? length : 100), type);
}

int brim_processor_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                        brim_processor *out, brim_error *err) {
  *out = (brim_processor){.runtime = runtime};
  loader l = {.document = document, .out = out, .err = err};
  if (value && value->kind != BRIM_JSON_NULL)
    BRIM_TRY(load_step(&l, value));
  if (l.has_template)
    return BRIM_OK;
  BRIM_TRY(add_piece(&l, &out->single, BRIM_PIECE_A, 0, -1));
  BRIM_TRY(add_piece(&l, &out->pair, BRIM_PIECE_A, 0, -1));
  return add_piece(&l, &out->pair, BRIM_PIECE_B, 1, -1);
}

bool brim_template_is_plain(const brim_template *template) {
  bool plain = template->bare_types[0] == 0;
  for (size_t i = 0; i < template->count; i++)
    plain = plain && template->pieces[i].type_id == 0;
  return plain;
}

void brim_processor_free(brim_processor *processor) {
  if (!processor->runtime)
    return;
  brim_release(processor->runtime, processor->single.pieces);
  brim_release(processor->runtime, processor->pair.pieces);
  *processor = (brim_processor){0};
}

static bool same_template(const brim_template *a, const brim_template *b) {
  bool same = a->count == b->count && a->bare_types[0] == b->bare_types[0] && a->bare_types[1] == b->bare_types[1];
  for (size_t i = 0; same && i < a->count; i++)
    same = a->pieces[i].kind == b->pieces[i].kind && a->pieces[i].type_id == b->pieces[i].type_id &&
           a->pieces[i].id == b->pieces[i].id;
  return same;
}

static bool same_processor(const brim_processor *a, const brim_processor *b) {
  return same_template(&a->single, &b->single) && same_template(&a->pair, &b->pair) && a->trim_offsets == b->trim_offsets &&
         a->add_prefix_space == b->add_prefix_space;
}

int brim_processor_compare(brim_runtime *runtime, const brim_json_document *a_document, const brim_json_value *a,
                           const brim_json_document *b_document, const brim_json_value *b, bool *same, brim_error *err) {
  brim_processor x = {0}, y = {0};
  int status = brim_processor_load(runtime, a_document, a, &x, err);
  if (status == BRIM_OK)
    status = brim_processor_load(runtime, b_document, b, &y, err);
  *same = status == BRIM_OK && same_processor(&x, &y);
  brim_processor_free(&x);
  brim_processor_free(&y);
  return status;
}

/* ---- truncation ------------------------------------------------------------------------------------------- */

static brim_kept longest_first(size_t a, size_t b, size_t room) {
  bool swap = a > b;
  size_t small = swap ? b : a, large = small > room ? small : small > room - small ? small : room - small;
  if (small + large > room) {
    small = room / 2;
    large = small + room % 2;
  }
  brim_kept kept = {swap ? large : small, swap ? small : large};
  if (kept.a > a)
    kept.a = a;
  if (kept.b > b)
    kept.b = b;
  return kept;
}

int brim_truncate(brim_truncation strategy, bool pair, size_t a, size_t b, size_t room, brim_kept *kept, brim_error *err) {
  *kept = (brim_kept){a, b};
  if (a + b <= room)
    return BRIM_OK;
  if (room == 0) {
    *kept = (brim_kept){0, 0};
    return BRIM_OK;
  }
  size_t excess = a + b - room;
  if (strategy == BRIM_LONGEST_FIRST) {
    *kept = pair ? longest_first(a, b, room) : (brim_kept){room, 0};
    return BRIM_OK;
  }
  if (strategy == BRIM_ONLY_SECOND && !pair)
    return brim_error_set(err, BRIM_E_MISMATCH, "only_second truncation needs a second text");
  size_t *target = strategy == BRIM_ONLY_FIRST ? &kept->a : &kept->b;
  if (*target <= excess)
    return brim_error_set(err, BRIM_E_MISMATCH, "nothing would be left of the %s text after truncation",
                          strategy == BRIM_ONLY_FIRST ? "first" : "second");
  *target -= excess;
  return BRIM_OK;
}
