/* brim/text.h: tokenizers. Exact ids of Hugging Face tokenizers 0.23.3 (profile "hf-0.23").
 *
 * A tokenizer is immutable after load and may be shared by any number of threads; each thread brings its own scratch. */
#ifndef BRIM_TEXT_H
#define BRIM_TEXT_H
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_tokenizer brim_tokenizer;
typedef struct brim_scratch brim_scratch;

/* Loads a folder, or one file of it (tokenizer.json, vocab.txt, or vocab.json with merges.txt beside it). A folder is read as
 * transformers 5 reads it: tokenizer.json if present, else the older files, with tokenizer_config.json, special_tokens_map.json,
 * added_tokens.json and the classes that tokenizer_config.json or config.json names (docs/developers/tokenizers.md); files that
 * contradict each other otherwise are an error that names both. A tokenizer.json that is named itself is taken as it stands.
 * Padding and truncation of tokenizer.json are ignored. Anything unknown in it is BRIM_E_UNSUPPORTED naming it. */
BRIM_API int brim_tokenizer_load(brim_runtime *runtime, const char *path, brim_tokenizer **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_tokenizer_free(brim_tokenizer *tokenizer);

/* One more than the highest id, added tokens included. */
BRIM_API int32_t brim_tokenizer_vocab_size(const brim_tokenizer *tokenizer);
/* "wordpiece", "bpe", "unigram". */
BRIM_API const char *brim_tokenizer_family(const brim_tokenizer *tokenizer);
/* Id of the padding token, or -1. */
BRIM_API int32_t brim_tokenizer_pad_id(const brim_tokenizer *tokenizer);
/* Id of the token that masks another, or -1. */
BRIM_API int32_t brim_tokenizer_mask_id(const brim_tokenizer *tokenizer);
/* Id of a token's text, or -1. */
BRIM_API int32_t brim_tokenizer_token_id(const brim_tokenizer *tokenizer, const char *token, size_t length);
/* The token of an id (NULL if there is none); borrowed, *length bytes. */
BRIM_API const char *brim_tokenizer_token(const brim_tokenizer *tokenizer, int32_t id, size_t *length);
/* Special tokens that the template adds to a single text (pair = false) or a pair. */
BRIM_API int32_t brim_tokenizer_added(const brim_tokenizer *tokenizer, bool pair);
/* Some tokens have type 1, as those of a second text: transformers would give token_type_ids, and not all of them 0. */
BRIM_API bool brim_tokenizer_gives_types(const brim_tokenizer *tokenizer);
/* 64-bit hash of everything that decides ids: part of cache keys and saved state. */
BRIM_API uint64_t brim_tokenizer_fingerprint(const brim_tokenizer *tokenizer);
/* 64-bit hash by which tokenizers that give the same ids are equal, whatever their files look like: of all tokens with their ids,
 * and of what becomes of some texts; `words`: of lists of words, which may be encoded otherwise. Never 0. Computed once; any
 * thread may ask. */
BRIM_API int brim_tokenizer_content(const brim_tokenizer *tokenizer, bool words, uint64_t *out, brim_error *err) BRIM_CHECK;
/* Tokens that its models take at most, as tokenizer_config.json says (model_max_length); 0: it does not say. */
BRIM_API int32_t brim_tokenizer_max_length(const brim_tokenizer *tokenizer);
/* Which text of a pair is cut; 0: the one that the tokenizer says (brim_tokenizer_truncation). */
typedef enum brim_truncation {
  BRIM_TRUNCATION_OF_TOKENIZER = 0,
  BRIM_LONGEST_FIRST,
  BRIM_ONLY_FIRST,
  BRIM_ONLY_SECOND
} brim_truncation;
/* Which end of a text is cut; 0: brim_tokenizer_truncates_left. */
typedef enum brim_truncation_side { BRIM_SIDE_OF_TOKENIZER = 0, BRIM_SIDE_RIGHT = 1, BRIM_SIDE_LEFT = 2 } brim_truncation_side;
/* How texts are cut that are longer than their rows may be. */
typedef struct brim_cutting {
  brim_truncation truncation;
  brim_truncation_side side;
} brim_cutting;
/* The end that is cut where the caller does not say it: truncation_side of tokenizer_config.json. */
BRIM_API bool brim_tokenizer_truncates_left(const brim_tokenizer *tokenizer);
/* The text of a pair that is cut where the caller does not say it: as the rows of the run whose folder this is, else
 * BRIM_LONGEST_FIRST. */
BRIM_API brim_truncation brim_tokenizer_truncation(const brim_tokenizer *tokenizer);
BRIM_API const char *brim_truncation_name(brim_truncation truncation); /* "longest_first"; "tokenizer" of 0 */

/* Windows of a text that is longer than max_length (brim_encode_options). */
typedef struct brim_windowing {
  int32_t most;    /* of a row; 0 and 1: there are none */
  int32_t overlap; /* tokens */
} brim_windowing;
/* Those of the run whose folder this is; most 0: none. */
BRIM_API brim_windowing brim_tokenizer_windows(const brim_tokenizer *tokenizer);

/* What a run adds to its tokenizer. */
typedef struct brim_tokenizer_saving {
  int32_t max_length;     /* tokens that rows were cut to; 0: what the tokenizer says */
  bool words;             /* rows are lists of words: bytes get a space before each, also for whoever loads the folder */
  bool no_type_ids;       /* the model takes no token_type_ids */
  brim_windowing windows; /* of long rows, for brim alone: transformers cuts them */
  brim_cutting cutting;   /* of those that are cut, where the rows said it; the text for brim alone */
} brim_tokenizer_saving;
/* Writes the tokenizer files of a run folder: tokenizer.json as brim reads it with all that stands beside it, a
 * tokenizer_config.json with which transformers gives the same ids, and vocabularies found at load, byte for byte. `how` NULL:
 * nothing is added. BRIM_E_USAGE: files of another tokenizer that would be read with this one (added_tokens.json,
 * special_tokens_map.json), before anything is written. */
BRIM_API int brim_tokenizer_save(const brim_tokenizer *tokenizer, const char *folder, const brim_tokenizer_saving *how,
                                 brim_error *err) BRIM_CHECK;

/* Per-thread working memory: 5 MB at first, at most about 30 MB besides what the longest text takes. Most of it is a cache of
 * words that grows with what it sees; it never changes a result. It is made for one tokenizer; with another it works too, but
 * starts again at every change. */
BRIM_API int brim_scratch_new(brim_runtime *runtime, const brim_tokenizer *tokenizer, brim_scratch **out,
                              brim_error *err) BRIM_CHECK;
BRIM_API void brim_scratch_free(brim_scratch *scratch);

/* What rows of data say of their tokens besides, in the place of labels, special tokens of the template having none: the number
 * of the token in its row, or of the word that it is of, as the pre-tokenizer cuts words (those of a second text count on). */
typedef enum brim_numbering { BRIM_NUMBER_NOTHING = 0, BRIM_NUMBER_TOKENS, BRIM_NUMBER_WORDS } brim_numbering;
enum { BRIM_MOST_PROMPTS = 8 };
typedef struct brim_encode_options {
  int32_t max_length; /* tokens, special tokens included; 0: no limit. Below the special tokens: BRIM_E_USAGE */
  bool no_special_tokens;
  brim_truncation truncation;
  brim_truncation_side truncation_side;
  brim_numbering
      numbering; /* of brim_dataset_load, brim_dataset_from_texts and feeds: for masked words. Words are found slower */
  /* Rows of a data set, of single texts: one of more than max_length tokens becomes so many windows at most, each with its
   * special tokens, as the texts of one row. A window begins `window_overlap` tokens before the end of the one before it (as
   * tokenizers' stride and run_qa's doc_stride have it); what the last has no room for is cut, at the truncation side. 0 and 1:
   * none. A row that is a pair or has several texts is BRIM_E_USAGE; with `cut_pairs` pairs of `numbering` are cut instead. */
  int32_t max_windows, window_overlap;
  bool cut_pairs;
  const char *prompts[BRIM_MOST_PROMPTS]; /* what the texts of a row begin with, each its own, and further ones with the last;
                                             NULL: nothing. Not of pairs, nor of windows. Borrowed, UTF-8 */
  bool stops; /* of a single text of more than BRIM_COUNTED bytes that is cut at its end, what comes after the cut is not
     tokenized where the tokenizer's words end at spaces: ids are the same, brim_encoding.unread says what was left */
} brim_encode_options;
#define BRIM_COUNTED (1 << 16)

/* Checks options against the tokenizer once, before a run. `pair`: pairs will come. */
BRIM_API int brim_encode_options_check(const brim_tokenizer *tokenizer, const brim_encode_options *options, bool pair,
                                       brim_error *err) BRIM_CHECK;

/* The result of one text or pair; arrays grow as needed and are reused. Zero-initialise once, free at the end. */
typedef struct brim_encoding {
  int32_t *ids;      /* [length] */
  uint8_t *type_ids; /* [length] */
  size_t length;
  size_t capacity;
  size_t lost;           /* tokens cut by truncation */
  size_t unread;         /* bytes after these that were not tokenized: with brim_encode_options.stops */
  brim_runtime *runtime; /* set by the first encode */
} brim_encoding;
BRIM_API void brim_encoding_free(brim_encoding *encoding);

/* Encodes a text, or a pair if `pair` is not NULL. Invalid UTF-8 is read as U+FFFD per maximal invalid run, as Python's
 * errors="replace" does. */
BRIM_API int brim_tokenizer_encode(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t text_length,
                                   const char *pair, size_t pair_length, const brim_encode_options *options, brim_encoding *out,
                                   brim_error *err) BRIM_CHECK;

/* ---- many texts ------------------------------------------------------------------------------------------- */

typedef struct brim_string {
  const char *bytes; /* any bytes, read as brim_tokenizer_encode reads them */
  size_t length;
} brim_string;

/* The ids of many texts, one row after the other. Zero-initialise once, free at the end; the arrays are reused. */
typedef struct brim_encodings {
  int32_t *ids;      /* [starts[count]]; row i is ids[starts[i] .. starts[i + 1]) */
  uint8_t *type_ids; /* the same */
  size_t *starts;    /* [count + 1] */
  size_t *lost;      /* [count] tokens cut by truncation */
  size_t unread;     /* bytes of all texts that were not tokenized: brim_encode_options.stops */
  size_t count;
  size_t capacity, row_capacity;
  brim_runtime *runtime;
} brim_encodings;
BRIM_API void brim_encodings_free(brim_encodings *encodings);

/* Encodes arrays of texts on the runtime's threads. It keeps a scratch for each of them and up to 64 MiB for tokens, so later
 * arrays are faster than the first. One thread at a time may use it; the tokenizer must outlive it. */
typedef struct brim_batch_encoder brim_batch_encoder;
BRIM_API int brim_batch_encoder_new(brim_runtime *runtime, const brim_tokenizer *tokenizer, brim_batch_encoder **out,
                                    brim_error *err) BRIM_CHECK;
BRIM_API void brim_batch_encoder_free(brim_batch_encoder *encoder);

/* Row i of *out is what brim_tokenizer_encode makes of texts[i] and pairs[i]: the same bytes for any number of threads. `pairs`
 * may be NULL, and so may pairs[i].bytes: a text without a pair. `options` NULL: the defaults. On failure the error names the
 * first text that cannot be encoded ("text 17: ...", counted from 0) and *out has no rows. */
BRIM_API int brim_batch_encoder_run(brim_batch_encoder *encoder, const brim_string *texts, const brim_string *pairs, size_t count,
                                    const brim_encode_options *options, brim_encodings *out, brim_error *err) BRIM_CHECK;

/* ---- offsets, decoding ------------------------------------------------------------------------------------ */

/* Where the tokens of an encoding come from; arrays parallel to its ids. Zero-initialise once, free at the end. */
typedef struct brim_offsets {
  uint32_t *from, *to; /* [length] bytes of the text it comes from; 0, 0 for special tokens of the template */
  int32_t *words;      /* [length] number of the pre-token within its text; -1: special */
  int8_t *sources;     /* [length] 0: the text, 1: the pair, -1: special */
  size_t length;
  size_t capacity;
  brim_runtime *runtime;
} brim_offsets;
BRIM_API void brim_offsets_free(brim_offsets *offsets);

/* As brim_tokenizer_encode, with offsets: the same ids, but slower. Offsets count bytes of the text as it was given; where that
 * was malformed UTF-8, of the text with U+FFFD in its place. */
BRIM_API int brim_tokenizer_encode_offsets(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text,
                                           size_t text_length, const char *pair, size_t pair_length,
                                           const brim_encode_options *options, brim_encoding *out, brim_offsets *offsets,
                                           brim_error *err) BRIM_CHECK;

/* Appends the text of ids to *out, as the file's decoder says. Ids that have no token are passed over. */
BRIM_API int brim_tokenizer_decode(const brim_tokenizer *tokenizer, const int32_t *ids, size_t count, bool skip_special_tokens,
                                   brim_text *out, brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
