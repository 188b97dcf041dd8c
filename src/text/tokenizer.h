/* tokenizer.h: what a tokenizer is made of. Text goes through these in order:
 *
 *   added tokens (raw) -> normalizer -> added tokens (normalised) -> pre-tokenizer -> model -> truncation, template
 *
 * exact.c walks this pipeline as written, with offsets, for any tokenizer. The fast paths (one file a family) fuse its steps
 * for the combinations that matter and give ids only; tests hold the two against each other. */
#ifndef BRIM_TEXT_TOKENIZER_H
#define BRIM_TEXT_TOKENIZER_H
#include "brim/text.h"
#include "text/added.h"
#include "text/beside.h"
#include "text/cache.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/template.h"

/* A file of the tokenizer, kept so that it can be saved byte for byte. */
typedef struct brim_tokenizer_file {
  const char *name; /* static */
  char *bytes;
  size_t length;
} brim_tokenizer_file;

#define BRIM_TOKENIZER_FILES 12

/* Which way ids are made. */
typedef enum brim_path { BRIM_PATH_EXACT, BRIM_PATH_BERT, BRIM_PATH_BYTES, BRIM_PATH_SPACED } brim_path;

/* Kinds of bytes. */
enum { BRIM_BYTE_WORD, BRIM_BYTE_BLANK, BRIM_BYTE_PUNCTUATION, BRIM_BYTE_OTHER };

/* fast_bert.c: what BertNormalizer does, and tables by byte. */
typedef struct brim_bert {
  bool clean, chinese, strip, lower;
  uint8_t kinds[256];
} brim_bert;

/* fast_spaced.c: which bytes separate words, and which words cannot be taken by themselves. */
typedef struct brim_spaced {
  bool blanks[256];
  bool plain[256];    /* ASCII bytes that the normalizer leaves alone */
  bool ascii_plain;   /* all visible ASCII is plain */
  bool guard_white;   /* words that begin with odd white space or the replacement */
  bool guard_inner;   /* words with odd white space anywhere */
  bool guard_joining; /* words that begin with what joins the space's grapheme */
  char lead[4];       /* the replacement, as UTF-8 */
  size_t lead_length;
} brim_spaced;

typedef struct brim_ids {
  brim_runtime *runtime;
  int32_t *at;
  size_t count, capacity;
} brim_ids;

/* Takes a section of valid UTF-8 (no raw added token in it) to ids, which are appended. */
typedef int (*brim_fused_fn)(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length,
                             brim_ids *ids, brim_error *err);

struct brim_tokenizer {
  brim_runtime *runtime;
  brim_token_model model;
  brim_added added;
  brim_normalizer normalizer;
  brim_pretokenizer pretokenizer;
  brim_processor processor;
  brim_decoder decoder;
  brim_path path;
  brim_fused_fn fused; /* of the path and the processor; NULL on the exact path */
  brim_bert bert;
  brim_spaced spaced;
  brim_trie known;     /* fast_bytes.c: raw bytes of the tokens that their own merges make */
  bool ends_at_spaces; /* of what is before the space of "a b", the ids do not depend on what follows: beginning.c */
  int32_t pad_id;
  uint64_t fingerprint;
  _Atomic uint64_t content;                        /* brim_tokenizer_content; 0: not computed yet */
  brim_tokenizer_file files[BRIM_TOKENIZER_FILES]; /* the first is tokenizer.json, as it was resolved */
  int file_count;
  brim_beside beside;
  brim_beside_facts facts;
  const brim_tokenizer_class *class;  /* that built it; NULL: it is taken as it stands */
  int32_t roles[BRIM_ROLES];          /* ids of the tokens that files name; -1: none */
  const brim_tokenizer *parent;       /* whose words this one encodes; NULL: it is none of these */
  struct brim_tokenizer_words *words; /* words.c */
};

/* A token of a text: bytes [from, to) of the original, and the word (pre-token) it belongs to. */
typedef struct brim_exact_token {
  int32_t id;
  uint32_t from, to;
  uint32_t word;
  bool added; /* an added token, found in the text */
} brim_exact_token;

typedef struct brim_exact_tokens {
  brim_runtime *runtime;
  brim_exact_token *at;
  size_t count, capacity;
} brim_exact_tokens;

struct brim_scratch {
  brim_runtime *runtime;
  brim_token_model_work work;
  brim_runes section, spare, form;
  brim_pieces pieces, spare_pieces;
  brim_piece_tokens piece_tokens;
  brim_exact_tokens exact;
  brim_text bytes;    /* a piece or a section as UTF-8 */
  brim_text clean[2]; /* texts whose malformed UTF-8 has been replaced */
  brim_text prompted; /* a text after its prompt */
  uint32_t *rune_of;  /* byte of `bytes` -> rune */
  size_t rune_of_capacity;
  brim_ids ids[2]; /* of the first and of the second text */
  brim_cache cache;
};

/* Parses the text of a tokenizer.json (`name` for messages) into *out, which is zeroed but for `runtime`. */
int brim_tokenizer_parse(brim_tokenizer *out, const char *bytes, size_t length, const char *name, brim_error *err) BRIM_CHECK;
/* The tokenizer for lists of words: the same, or one of its own for bytes whose words would lack the space before them. It
 * belongs to `tokenizer`. Any thread may ask. */
int brim_tokenizer_of_words(const brim_tokenizer *tokenizer, const brim_tokenizer **out, brim_error *err) BRIM_CHECK;
int brim_tokenizer_words_new(brim_runtime *runtime, struct brim_tokenizer_words **out, brim_error *err) BRIM_CHECK;
void brim_tokenizer_words_free(brim_runtime *runtime, struct brim_tokenizer_words *words);
/* tokenizer_config.json for transformers, so that it gives the same ids. */
int brim_tokenizer_config_write(const brim_tokenizer *tokenizer, const brim_tokenizer_saving *how, brim_text *out,
                                brim_error *err) BRIM_CHECK;

/* The whole pipeline for one text of valid UTF-8, step by step; tokens are appended to scratch->exact. */
int brim_exact_run(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length,
                   brim_error *err) BRIM_CHECK;
/* Valid UTF-8 for any bytes: the text itself, or a copy in scratch->clean[which] with U+FFFD for each malformed part. */
int brim_clean_utf8(brim_scratch *scratch, int which, const char **text, size_t *length, brim_error *err) BRIM_CHECK;
/* Length of the malformed part at bytes[0]: the beginning of a character that never ends well, or one byte. */
size_t brim_malformed_length(const uint8_t *bytes, size_t length);

#endif
