/* class.h: the classes of Hugging Face transformers that build a tokenizer from a vocabulary and settings, whatever else its
 * tokenizer.json says: what each of them builds, as transformers 5 does. */
#ifndef BRIM_TEXT_CLASS_H
#define BRIM_TEXT_CLASS_H
#include "base/json.h"
#include "text/model.h"

/* Named special tokens, in the order in which transformers adds them. */
typedef enum brim_role {
  BRIM_ROLE_BOS,
  BRIM_ROLE_EOS,
  BRIM_ROLE_UNK,
  BRIM_ROLE_SEP,
  BRIM_ROLE_PAD,
  BRIM_ROLE_CLS,
  BRIM_ROLE_MASK,
  BRIM_ROLES
} brim_role;
extern const char *const brim_role_names[BRIM_ROLES]; /* "bos_token", ... */

/* Normalizer and pre-tokenizer of a class. */
typedef enum brim_class_texts {
  BRIM_TEXTS_BERT,
  BRIM_TEXTS_HERBERT, /* as BERT's, with no setting */
  BRIM_TEXTS_BYTES,
  BRIM_TEXTS_PIECES, /* the file's own precompiled_charsmap, words by white space, Metaspace */
  BRIM_TEXTS_ALBERT,
  BRIM_TEXTS_DEBERTA
} brim_class_texts;

/* Where its special tokens go. */
typedef enum brim_class_ends {
  BRIM_ENDS_BERT,    /* cls A sep, cls A sep B sep with types */
  BRIM_ENDS_HERBERT, /* as BERT's, of ids 0 and 2 */
  BRIM_ENDS_ROBERTA, /* RobertaProcessing */
  BRIM_ENDS_DOUBLE,  /* first A last, first A last last B last, all of type 0 */
  BRIM_ENDS_OWN      /* as the file says, or nowhere */
} brim_class_ends;

typedef struct brim_tokenizer_class {
  const char *name; /* without "Fast" */
  brim_family family;
  brim_class_texts texts;
  brim_class_ends ends;
  brim_role first, last;         /* what begins and ends a text */
  const char *roles[BRIM_ROLES]; /* tokens that no file names */
  bool lower, prefix_space;      /* do_lower_case, add_prefix_space where no file says them */
  bool always_lower;             /* do_lower_case says nothing */
  bool keeps;                    /* a tokenizer.json as it is, but for its post-processor */
  bool types;                    /* its models take token_type_ids */
  bool role_objects;             /* roles that are only texts become objects */
  bool mask_left_strip;          /* of a mask that is only a text */
  const char *word_end;          /* of BPE whose words are no bytes: what their last pieces end with, or NULL */
  const char *unused[4];         /* special tokens besides, where no file names any; ends with NULL */
} brim_tokenizer_class;

/* The class of that name ("Fast" at its end or not) and of that model_type; NULL: tokenizer.json is taken as it stands. */
const brim_tokenizer_class *brim_class_named(const char *name, size_t length);
const brim_tokenizer_class *brim_class_of_model(const char *model_type, size_t length);
/* A class of transformers that is not here. */
bool brim_class_is_other(const char *name, size_t length);
/* A byte-level tokenizer.json of this class is taken as it is. */
bool brim_class_is_llama(const char *name, size_t length);
/* Models of that type have tokenizer.json taken as it stands, whatever class is named. */
bool brim_class_is_none(const char *model_type, size_t length);

/* Settings of tokenizer_config.json that decide ids. */
typedef struct brim_class_settings {
  bool lower, chinese, prefix_space, trim_offsets, keep_accents, split_punctuation;
  int accents;    /* strip_accents; -1: as lower */
  int64_t unk_id; /* of DeBERTa's pieces; -1: not said */
} brim_class_settings;
/* `config` may be NULL. */
int brim_class_settings_read(const brim_tokenizer_class *class, const brim_json_document *config, brim_class_settings *out,
                             brim_error *err) BRIM_CHECK;

typedef struct brim_marker {
  const char *text;
  size_t length;
  int32_t id;
} brim_marker;

/* "normalizer", "pre_tokenizer" and "decoder" into an open object. `charsmap`: the file's own, or NULL. */
void brim_class_write(brim_json_writer *json, const brim_tokenizer_class *class, const brim_class_settings *settings,
                      const brim_json_value *charsmap);
/* "post_processor". */
void brim_class_write_ends(brim_json_writer *json, const brim_tokenizer_class *class, const brim_class_settings *settings,
                           brim_marker first, brim_marker last);

#endif
