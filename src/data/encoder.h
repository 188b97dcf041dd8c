/* encoder.h: an encoder for several readers, and what the dataset takes from one that has come to its end. */
#ifndef BRIM_DATA_ENCODER_H
#define BRIM_DATA_ENCODER_H
#include "data/select.h"
#include "text/encode.h"

/* Rows that follow each other in memory, with ids alone: nothing is there to be asked of each. */
typedef struct brim_coded_row {
  size_t text, text_length, pair, pair_length, label, label_length, forms, damage; /* the encoder's */
  size_t further, further_count, first_text, texts;                                /* likewise; texts 0: it is one */
  bool label_is_list;
  uint64_t row, file_row;
  int64_t line, byte, file_number;
  const char *file;
  size_t ids, lost;
  uint64_t query; /* as in brim_sample */
} brim_coded_row;

typedef struct brim_coded_run {
  const brim_coded_row *rows; /* [count] */
  const int32_t *lengths;     /* [count] none is 0 */
  const int32_t *ids;         /* of all */
  size_t count, tokens;
} brim_coded_run;

/* The run of at most `most` rows of at most `longest` tokens that begins with the row that brim_encoder_next gave last, if that
 * is in one: nothing is damaged, and there are no pairs, no further texts and no labels. Borrowed as that row is; nothing is
 * passed over. */
void brim_encoder_run(const brim_encoder *encoder, uint64_t most, int64_t longest, brim_coded_run *out);
/* Passes over the rows of the run that follow that one. */
void brim_encoder_pass(brim_encoder *encoder, const brim_coded_run *run);

/* What pairs of one query have in common, however they are cut: brim_sample.query. */
uint64_t brim_query_of(brim_string text, brim_string pair);
/* brim_encode_numbered, with BRIM_NO_LABEL for special tokens: what a data set keeps as labels of tokens. */
int brim_number_tokens(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                       const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers,
                       brim_text_lengths *lengths, brim_error *err) BRIM_CHECK;
/* Each window of a text whose words are masked is a row: how many a record gives, and each of them. What was cut off the
 * text counts for the first. */
int32_t brim_masked_rows(const brim_encoded *row);
const brim_encoded *brim_masked_row(const brim_encoded *row, int32_t number, brim_encoded *own); /* the row, or in *own */

/* After BRIM_END: brim_reader_check_seen. */
int brim_encoder_check_seen(const brim_encoder *encoder, brim_error *err) BRIM_CHECK;

/* Moves the list of excluded rows out of the encoder, which must have returned BRIM_END. */
void brim_encoder_take_excluded(brim_encoder *encoder, brim_exclusions *out);

/* The number that the row after the last one would have: excluded rows count. For an encoder that has returned BRIM_END. */
uint64_t brim_encoder_rows(const brim_encoder *encoder);

/* Continues with another reader, which it takes, also when it fails; the words that it has seen stay known. */
int brim_encoder_restart(brim_encoder *encoder, brim_reader *reader, brim_error *err) BRIM_CHECK;
/* Ends its threads and closes its reader: only restart and close may follow. */
void brim_encoder_rest(brim_encoder *encoder);

#endif
