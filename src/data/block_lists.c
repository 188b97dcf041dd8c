/* block_lists.c: lists of numbers in a column of a file. */
#include <math.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/blocks.h"

typedef struct list {
  brim_numbers *to;
  brim_runtime *runtime;
  const brim_block_shape *shape;
  int depth;
  size_t lists, loose;   /* lists in the list, and numbers among them */
  size_t begin, longest; /* of the list at hand, and of the first one */
} list;

static int add_number(list *l, const brim_json_token *token, brim_error *err) {
  brim_numbers *n = l->to;
  const float value = (float)token->real;
  const bool whole = token->kind == BRIM_JSON_INT && token->integer >= INT32_MIN && token->integer <= INT32_MAX;
  if (l->shape->integers && !whole)
    return brim_error_set(err, BRIM_E_FORMAT, "%s: %.*s is no whole number of 32 bits", l->shape->name, (int)token->length,
                          token->text);
  if (!isfinite(value))
    return brim_error_set(err, BRIM_E_FORMAT, "%s: %.*s is too large", l->shape->name, (int)token->length, token->text);
  BRIM_TRY(brim_grow(l->runtime, &n->at, &n->room, n->count + 1, BRIM_NUMBER, err));
  if (l->shape->integers)
    ((int32_t *)n->at)[n->count++] = (int32_t)token->integer;
  else
    ((float *)n->at)[n->count++] = value;
  l->loose += l->depth < 2;
  return BRIM_OK;
}

/* A list in the list has ended: each is of one text, and as long as the others. */
static int end_list(list *l, brim_error *err) {
  const size_t length = l->to->count - l->begin;
  l->longest = l->lists == 0 ? length : l->longest;
  l->lists++;
  if (length == l->longest && length > 0)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_FORMAT,
                        "%s: the first list has %zu numbers and list %zu has %zu: each has as many, at least 1", l->shape->name,
                        l->longest, l->lists, length);
}

static int refuse(const list *l, brim_error *err) {
  return brim_error_set(err, BRIM_E_FORMAT, "%s: a list of numbers is expected, such as [0.1, -2]%s", l->shape->name,
                        l->shape->per == BRIM_PER_TEXT ? ", or one of such lists, one for each text" : "");
}

static int take(list *l, const brim_json_token *token, brim_error *err) {
  const int deepest = l->shape->per == BRIM_PER_TEXT ? 2 : 1;
  if (token->kind == BRIM_JSON_INT || token->kind == BRIM_JSON_REAL)
    return add_number(l, token, err);
  if (token->kind == BRIM_JSON_ARRAY_END)
    return l->depth-- == 2 ? end_list(l, err) : BRIM_OK;
  if (token->kind != BRIM_JSON_ARRAY || l->depth == deepest)
    return refuse(l, err);
  l->depth++;
  l->begin = l->to->count;
  return BRIM_OK;
}

int brim_numbers_read(brim_numbers *numbers, brim_runtime *runtime, const brim_block_shape *shape, brim_string text,
                      brim_error *err) {
  list l = {.to = numbers, .runtime = runtime, .shape = shape};
  brim_json_reader json;
  brim_json_token token = {.kind = BRIM_JSON_NULL};
  brim_error why;
  int status = BRIM_OK;
  brim_json_reader_init(&json, runtime, NULL);
  brim_json_reader_start(&json, text.bytes, text.length, 0, 0);
  while (status == BRIM_OK) {
    status = brim_json_next(&json, &token, &why);
    if (status != BRIM_OK)
      status = status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : refuse(&l, err);
    else if (token.kind == BRIM_JSON_END)
      break;
    else
      status = take(&l, &token, err);
  }
  brim_json_reader_free(&json);
  if (status == BRIM_OK && l.lists > 0 && l.loose > 0)
    status = refuse(&l, err);
  return status;
}
