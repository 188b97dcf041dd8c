/* model.h: the three models. Each turns a piece of text (bytes) into tokens; all are immutable after load. */
#ifndef BRIM_TEXT_MODEL_H
#define BRIM_TEXT_MODEL_H
#include "base/hashmap.h"
#include "base/json.h"
#include "text/trie.h"

typedef enum brim_family { BRIM_WORDPIECE, BRIM_BPE, BRIM_UNIGRAM } brim_family;

/* A token of a piece: bytes [from, to) of it. */
typedef struct brim_piece_token {
  int32_t id;
  uint32_t from, to;
} brim_piece_token;

typedef struct brim_piece_tokens {
  brim_runtime *runtime;
  brim_piece_token *at;
  size_t count, capacity;
} brim_piece_tokens;

int brim_piece_tokens_add(brim_piece_tokens *tokens, int32_t id, size_t from, size_t to, brim_error *err) BRIM_CHECK;

typedef struct brim_wordpiece {
  brim_trie begin, inside; /* words' beginnings, and what follows the continuing prefix */
  int32_t unknown;         /* -1: none */
  uint32_t max_chars;      /* longer words are unknown */
} brim_wordpiece;

/* What two neighbours become. */
typedef struct brim_merge {
  uint64_t pair; /* left << 32 | right; UINT64_MAX: empty cell */
  uint32_t rank;
  int32_t id;
} brim_merge;

typedef struct brim_bpe {
  brim_runtime *runtime;
  brim_merge *merges; /* open addressing */
  size_t merge_mask;
  size_t merge_count;
  brim_trie whole; /* every token, for ignore_merges and for symbols */
  int32_t unknown; /* -1: none; -2: named but not in the vocabulary */
  bool fuse_unknown, byte_fallback, ignore_merges;
  int32_t byte_ids[256]; /* of <0xXX> */
  int32_t symbols[256];  /* byte level: the id of each byte's character, -1: none */
  char *prefix, *suffix;
  size_t prefix_length, suffix_length;
} brim_bpe;

typedef struct brim_unigram {
  brim_runtime *runtime;
  brim_trie trie;
  double *scores; /* by id */
  double unknown_score;
  int32_t unknown; /* -1: none */
  bool byte_fallback;
  int32_t byte_ids[256];
} brim_unigram;

typedef struct brim_token_model {
  brim_runtime *runtime;
  brim_family family;
  int32_t size;        /* one more than the highest id */
  brim_hashmap ids;    /* token -> id */
  const char **tokens; /* by id, NULL: none; they lie in `text` */
  uint32_t *lengths;
  char *text;
  brim_wordpiece wordpiece;
  brim_bpe bpe;
  brim_unigram unigram;
} brim_token_model;

/* nearest: scores are the nearest doubles, as in a class that transformers makes of them in Python; else see score.h. */
int brim_token_model_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                          const char *bytes, size_t length, bool nearest, brim_token_model *out, brim_error *err) BRIM_CHECK;
void brim_token_model_free(brim_token_model *model);

/* Working memory of a model, one a thread. */
typedef struct brim_symbol {
  int32_t id;
  int32_t previous, next; /* -1: none */
  uint32_t length;        /* 0: merged away */
} brim_symbol;
typedef struct brim_path_node {
  double score;
  int32_t id;
  uint32_t from; /* UINT32_MAX: not reached */
} brim_path_node;
typedef struct brim_token_model_work {
  brim_runtime *runtime;
  brim_symbol *symbols;
  size_t symbol_count, symbol_capacity;
  uint64_t *heap; /* rank << 32 | symbol */
  size_t heap_count, heap_capacity;
  brim_path_node *nodes;
  size_t node_capacity;
} brim_token_model_work;
void brim_token_model_work_free(brim_token_model_work *work);
/* Room for `count` symbols. */
int brim_token_model_work_reserve(brim_token_model_work *work, size_t count, brim_error *err) BRIM_CHECK;

/* Appends the tokens of bytes[0..length), valid UTF-8, to out. */
int brim_token_model_run(const brim_token_model *model, brim_token_model_work *work, const char *bytes, size_t length,
                         brim_piece_tokens *out, brim_error *err) BRIM_CHECK;

/* The above, one file each. `keys` has room for every token; loaders may reorder it. */
typedef struct brim_token_model_loader {
  const brim_json_document *document;
  const brim_json_value *value;
  const char *bytes; /* the file */
  size_t length;
  bool nearest; /* numbers are the nearest doubles: score.h */
  brim_token_model *model;
  brim_error *err;
} brim_token_model_loader;
int brim_wordpiece_load(brim_token_model_loader *loader) BRIM_CHECK;
void brim_wordpiece_free(brim_wordpiece *model);
int brim_wordpiece_run(const brim_wordpiece *model, const char *bytes, size_t length, brim_piece_tokens *out,
                       brim_error *err) BRIM_CHECK;
/* The longest token that text[at..length) begins with: its id and its end. -1: there is none. */
static inline int32_t brim_wordpiece_longest(const brim_wordpiece *model, const char *text, size_t at, size_t length,
                                             size_t *end) {
  const brim_trie *trie = at ? &model->inside : &model->begin;
  uint32_t node = BRIM_TRIE_ROOT;
  int32_t best = -1;
  for (size_t i = at; i < length; i++) {
    node = brim_trie_child(trie, node, (uint8_t)text[i]);
    if (!node)
      break;
    if (trie->units[node].value < 0)
      continue;
    best = trie->units[node].value;
    *end = i + 1;
  }
  return best;
}
int brim_bpe_load(brim_token_model_loader *loader) BRIM_CHECK;
void brim_bpe_free(brim_bpe *model);
int brim_bpe_run(const brim_bpe *model, brim_token_model_work *work, const char *bytes, size_t length, brim_piece_tokens *out,
                 brim_error *err) BRIM_CHECK;
/* The symbols in `work` after all merges; those with length 0 are gone. */
int brim_bpe_merge(const brim_bpe *model, brim_token_model_work *work, brim_error *err) BRIM_CHECK;
/* The same for the characters of bytes (BPE over bytes). */
int brim_bpe_merge_bytes(const brim_bpe *model, brim_token_model_work *work, const char *bytes, size_t length,
                         brim_error *err) BRIM_CHECK;
int brim_unigram_load(brim_token_model_loader *loader) BRIM_CHECK;
void brim_unigram_free(brim_unigram *model);
int brim_unigram_run(const brim_unigram *model, brim_token_model_work *work, const char *bytes, size_t length,
                     brim_piece_tokens *out, brim_error *err) BRIM_CHECK;

#endif
