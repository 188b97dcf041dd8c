/* added.h: tokens that are cut out of the text before the model sees it. */
#ifndef BRIM_TEXT_ADDED_H
#define BRIM_TEXT_ADDED_H
#include "base/json.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/trie.h"

typedef struct brim_added_token {
  char *content; /* as in the file */
  size_t length;
  char *normalized; /* what is searched for when it is not the content; else NULL */
  size_t normalized_length;
  int32_t id;
  bool single_word, left_strip, right_strip, is_normalized, special;
} brim_added_token;

enum { BRIM_ADDED_FIRSTS = 4 };

/* Tokens of one pass: over the raw text, or over the normalised text. */
typedef struct brim_added_set {
  brim_trie trie; /* value: index into tokens */
  size_t count;
  bool first[256], second[256]; /* bytes that tokens begin with; a token of one byte allows any second */
  uint8_t firsts[BRIM_ADDED_FIRSTS];
  int first_count; /* -1: there are too many to look for each */
} brim_added_set;

typedef struct brim_added {
  brim_runtime *runtime;
  brim_added_token *tokens;
  size_t count, capacity;
  brim_added_set raw, normalized;
  brim_hashmap by_content; /* index into tokens */
  int32_t *by_id;          /* [size] the same; -1: no added token */
  int32_t size;            /* one more than the highest id, of the model's too */
  bool splits_special;     /* special tokens in a text are text */
} brim_added;

/* `list` is "added_tokens" (may be NULL). Ids follow the reference: the model's, else the next free one; a file that says
 * otherwise is refused. On failure *out is still to be freed. */
int brim_added_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *list,
                    const brim_token_model *model, const brim_normalizer *normalizer, brim_added *out,
                    brim_error *err) BRIM_CHECK;
void brim_added_free(brim_added *added);
/* The token of that text, of that id, or NULL. */
const brim_added_token *brim_added_find(const brim_added *added, const char *text, size_t length);
const brim_added_token *brim_added_by_id(const brim_added *added, int32_t id);

/* Walks through a text from left to right. */
typedef struct brim_added_scan {
  const brim_added *added;
  const brim_added_set *set;
  const char *text;
  size_t length;
  size_t at;      /* where the search continues */
  size_t covered; /* everything before this has been given out */
} brim_added_scan;
typedef struct brim_added_match {
  size_t begin, end; /* with the spaces that the token swallows */
  int32_t id;
} brim_added_match;

static inline brim_added_scan brim_added_start(const brim_added *added, const brim_added_set *set, const char *text,
                                               size_t length) {
  return (brim_added_scan){added, set, text, length, 0, 0};
}
/* The next token; the text from `covered` before the call to match->begin (if larger) is plain. False at the end. */
bool brim_added_next(brim_added_scan *scan, brim_added_match *match);

#endif
