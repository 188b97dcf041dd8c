/* template.h: the post-processor: which special tokens go where, and which type ids. */
#ifndef BRIM_TEXT_TEMPLATE_H
#define BRIM_TEXT_TEMPLATE_H
#include "base/json.h"
#include "brim/text.h"

typedef enum brim_piece_kind { BRIM_PIECE_A, BRIM_PIECE_B, BRIM_PIECE_SPECIAL } brim_piece_kind;

typedef struct brim_template_piece {
  brim_piece_kind kind;
  uint8_t type_id;
  int32_t id; /* SPECIAL */
} brim_template_piece;

typedef struct brim_template {
  brim_template_piece *pieces;
  size_t count, capacity;
  int32_t added;         /* special tokens among the pieces */
  uint8_t bare_types[2]; /* type ids of A and B without special tokens */
} brim_template;

typedef struct brim_processor {
  brim_runtime *runtime;
  brim_template single, pair;
  bool trim_offsets;     /* ByteLevel and RobertaProcessing take the spaces off offsets */
  bool add_prefix_space; /* ... but for the one that was added */
} brim_processor;

int brim_processor_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                        brim_processor *out, brim_error *err) BRIM_CHECK;
/* Every token of a text has type 0. */
bool brim_template_is_plain(const brim_template *template);
void brim_processor_free(brim_processor *processor);
/* *same: the post-processors of two files mean the same, however they are written. */
int brim_processor_compare(brim_runtime *runtime, const brim_json_document *a_document, const brim_json_value *a,
                           const brim_json_document *b_document, const brim_json_value *b, bool *same,
                           brim_error *err) BRIM_CHECK;

/* How many tokens of A and B are kept. */
typedef struct brim_kept {
  size_t a, b;
} brim_kept;
/* The reference's truncation of a and b tokens to `room`. BRIM_E_MISMATCH when only_first or only_second cannot reach it. */
int brim_truncate(brim_truncation strategy, bool pair, size_t a, size_t b, size_t room, brim_kept *kept,
                  brim_error *err) BRIM_CHECK;

#endif
