/* resolve.h: one tokenizer.json out of all the files of a tokenizer, so that what is loaded, kept and saved is one text. */
#ifndef BRIM_TEXT_RESOLVE_H
#define BRIM_TEXT_RESOLVE_H
#include "text/tokenizer.h"

/* Where the vocabulary is: in a tokenizer.json, or in older files. */
typedef struct brim_vocabulary {
  const brim_json_document *document; /* NULL: older files */
  const brim_tokenizer_file *file;    /* tokenizer.json, vocab.txt, or vocab.json */
  const brim_tokenizer_file *merges;  /* beside vocab.json */
} brim_vocabulary;

typedef struct brim_resolved {
  const brim_tokenizer_class *class; /* what builds the tokenizer; NULL: tokenizer.json is taken as it stands */
  int32_t roles[BRIM_ROLES];         /* ids; -1: none is known */
} brim_resolved;

/* Writes the tokenizer.json that transformers means by the vocabulary and what stands beside it; nothing, if that is the one
 * which is there. */
int brim_resolve(brim_runtime *runtime, const brim_beside *beside, const brim_vocabulary *vocabulary, brim_resolved *out,
                 brim_text *made, brim_error *err) BRIM_CHECK;

/* ---- vocabulary.c: older vocabularies ------------------------------------------------------------------------ */

/* Line numbers of vocab.txt: of equal lines the last. Ids of `tokens` that it has are met. */
int brim_lines_number(const brim_tokenizer_file *file, brim_hashmap *last, brim_said_tokens *tokens, brim_error *err) BRIM_CHECK;
/* "vocab" and "merges" of a model that is being written. */
void brim_lines_write(brim_json_writer *json, const brim_tokenizer_file *file, const brim_hashmap *last);
int brim_merges_write(brim_json_writer *json, const brim_tokenizer_file *file, brim_error *err) BRIM_CHECK;

#endif
