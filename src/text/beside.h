/* beside.h: what stands beside a tokenizer.json or a vocabulary, as Hugging Face transformers 5 reads it: tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json, and what config.json says of the tokenizer. */
#ifndef BRIM_TEXT_BESIDE_H
#define BRIM_TEXT_BESIDE_H
#include "brim/text.h"
#include "text/class.h"

/* Members of tokenizer_config.json that are brim's own. */
#define BRIM_WINDOWS_KEY        "brim_windows"
#define BRIM_WINDOW_OVERLAP_KEY "brim_window_overlap"
#define BRIM_TRUNCATION_KEY     "brim_truncation"

typedef struct brim_beside {
  brim_json_document *config, *map, *added, *model; /* NULL: there is no such file */
} brim_beside;

enum { BRIM_BESIDE_FILES = 4 };
extern const char *const brim_beside_names[BRIM_BESIDE_FILES];
/* Reads those of the folder; all may be missing. On failure *out is still to be freed. */
int brim_beside_load(brim_runtime *runtime, const char *folder, brim_beside *out, brim_error *err) BRIM_CHECK;
void brim_beside_free(brim_beside *beside);

/* The class that builds the tokenizer, or NULL; *named: a file names it, it does not only follow from the type of the model. */
const brim_tokenizer_class *brim_beside_class(const brim_beside *beside, bool *named);
/* The name of a class that brim does not have, where a file names one; or NULL. */
const brim_json_value *brim_beside_other(const brim_beside *beside);
/* The members of tokenizer_config.json that do not change the pipeline; absent ones leave *out as it is. */
typedef struct brim_beside_facts {
  int64_t max_length;         /* model_max_length; 0: none, or no bound */
  int left;                   /* truncation_side; -1: not said */
  bool pads_left;             /* padding of tokenizer.json */
  int types;                  /* model_input_names has token_type_ids; -1: not said */
  bool split_special;         /* special tokens in a text are text */
  bool tidies, tidies_bpe;    /* clean_up_tokenization_spaces of decoded texts; also of BPE */
  brim_windowing windows;     /* of a run */
  brim_truncation truncation; /* of a run; 0: not said */
} brim_beside_facts;
int brim_beside_facts_read(const brim_beside *beside, brim_beside_facts *out, brim_error *err) BRIM_CHECK;

/* ---- added and special tokens -------------------------------------------------------------------------------- */

/* A token as files say it; texts belong to the documents. */
typedef struct brim_said_token {
  const char *text;
  size_t length;
  bool single_word, left_strip, right_strip, normalized, special;
  bool says_normalized;
  bool bare, typed; /* only a text; an object of type AddedToken */
  int64_t id;       /* -1: not known yet */
  int64_t said_id;  /* -1: no file says one */
  const char *file; /* that says it */
  size_t order;     /* among those of one list */
} brim_said_token;

/* Tokens in the order in which they are added, each text once. */
typedef struct brim_said_tokens {
  brim_runtime *runtime;
  brim_said_token *at;
  size_t count, capacity;
  brim_hashmap places;               /* by text */
  brim_said_token roles[BRIM_ROLES]; /* text NULL: there is none */
} brim_said_tokens;

/* All that are added to the vocabulary; `tokenizer` is the root of a tokenizer.json, or NULL with its document. On failure *out
 * is still to be freed. */
int brim_beside_tokens(brim_runtime *runtime, const brim_beside *beside, const brim_tokenizer_class *class,
                       const brim_json_document *document, const brim_json_value *tokenizer, brim_said_tokens *out,
                       brim_error *err) BRIM_CHECK;
void brim_said_tokens_free(brim_said_tokens *tokens);
brim_said_token *brim_said_find(const brim_said_tokens *tokens, const char *text, size_t length);
/* Ids: those that the vocabulary has (meet all of it first), else the next that are free; a file that says another one is
 * refused. The vocabulary, of the file `vocabulary`, has `count` entries. */
void brim_said_meet(brim_said_tokens *tokens, const char *text, size_t length, int32_t id);
int brim_said_number(brim_said_tokens *tokens, int32_t count, const char *vocabulary, brim_error *err) BRIM_CHECK;
/* "added_tokens", by id. */
int brim_said_write(const brim_said_tokens *tokens, brim_json_writer *json, brim_error *err) BRIM_CHECK;

#endif
