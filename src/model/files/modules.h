/* modules.h: what sentence-transformers' folders put after an encoder: pooling, dense layers, a norm; and the prompts that they
 * name. Formats: sentence-transformers 2 to 6 (modules.json, N_Pooling, N_Dense, N_Normalize, sentence_bert_config.json,
 * config_sentence_transformers.json). A folder without modules.json is an encoder whose tokens are averaged, as there. */
#ifndef BRIM_MODEL_MODULES_H
#define BRIM_MODEL_MODULES_H
#include "base/arena.h"
#include "base/json.h"
#include "brim/model.h"
#include "model/config.h"
#include "ops/ops.h"

enum { BRIM_MOST_STEPS = 8 };
/* After pooling: a dense layer, or a norm that brings vectors to length 1. */
typedef struct brim_module_step {
  int32_t in, out;     /* a norm has the same */
  const float *weight; /* [out, in]; NULL: a norm */
  const float *bias;   /* [out], or NULL */
  int32_t activation;  /* index in modules.c's table */
  const char *path;    /* its folder, such as "2_Dense" */
} brim_module_step;
/* FOLDER/PATH/NAME; NULL where there is no such file. */
int brim_module_json(brim_runtime *runtime, const char *folder, const char *path, const char *name, brim_json_document **out,
                     brim_error *err) BRIM_CHECK;
/* As files call a mode: "mean_sqrt_len_tokens", and in the older form "pooling_mode_mean_sqrt_len_tokens". */
const char *brim_module_mode(brim_pool_mode mode);
const char *brim_module_flag(brim_pool_mode mode);
/* Adds those of 1_Pooling/config.json: {"pooling_mode": "mean"}, or a list of them; or the older {"pooling_mode_mean_tokens":
 * true, ..}, where none, if the mean is not even false, is the mean. */
int brim_module_modes(const brim_json_document *d, brim_pool_list *modes, brim_error *err) BRIM_CHECK;
/* What the module Transformer of an encoder's folder is made with: sentence_bert_config.json, or the first of its older names
 * that says something; NULL: there is none. */
int brim_module_transformer(brim_runtime *runtime, const char *encoder, brim_json_document **out, brim_error *err) BRIM_CHECK;
/* Tokens at which it cuts texts; 0: it says none. */
int brim_module_length(const brim_json_document *d, int32_t *out, brim_error *err) BRIM_CHECK;
/* The same of a folder whose vectors are wanted: BRIM_E_UNSUPPORTED names what else it says that would make others. */
int brim_module_read_transformer(brim_runtime *runtime, const char *encoder, int32_t *length, brim_error *err) BRIM_CHECK;
/* Whether training has a dense layer's activation, and which it is there; and back: the index, and torch's class. */
bool brim_module_is_trained(const brim_module_step *step, brim_activation *as);
int32_t brim_module_activation_of(brim_activation activation);
const char *brim_module_activation_path(brim_activation activation);
const char *brim_module_activation_name(brim_activation activation); /* "Tanh" */

typedef struct brim_modules {
  brim_runtime *runtime;
  brim_arena arena;
  const char *home;     /* the folder of modules.json, if there is one */
  const char *encoder;  /* the folder of its config.json */
  bool listed;          /* there is a modules.json */
  bool mixes;           /* it lists a module of layers */
  bool scores;          /* the folder is of a cross-encoder, whose modules are not read */
  brim_mixed mixed;     /* which it says of a model of `layers` layers */
  int32_t layers;       /* 0: it does not say */
  const float *shares;  /* [mixed.count] weights of the layers; NULL: side by side */
  brim_pool_list modes; /* of pooling, in the order that the file lists */
  bool without_prompt;  /* tokens of the prompt, and special ones before it, are not pooled */
  brim_module_step steps[BRIM_MOST_STEPS];
  int32_t step_count;
  int32_t token;                 /* numbers of a token of the encoder */
  int32_t hidden, width, widest; /* of one as it is pooled; of the vectors; of any step */
  int32_t max_length;            /* that the folder gives; 0: none */
  int32_t truncated;             /* vectors are cut to so many numbers where nothing is said; 0: none */
  brim_json_document *settings;  /* config_sentence_transformers.json, or NULL */
} brim_modules;

/* `folder`: of the model, or the encoder's own within an old one. `hidden`: of the encoder's tokens. BRIM_E_UNSUPPORTED names a
 * module or an option that brim lacks. */
int brim_modules_find_encoder(brim_runtime *runtime, const char *folder, brim_modules *out, brim_error *err) BRIM_CHECK;
int brim_modules_load(brim_modules *modules, int32_t hidden, brim_error *err) BRIM_CHECK;
/* Prompts and what else config_sentence_transformers.json says, without the modules. */
int brim_modules_load_settings(brim_modules *modules, brim_error *err) BRIM_CHECK;
void brim_modules_free(brim_modules *modules);
/* Other layers and modes than the folder's; vectors that a dense layer does not take are BRIM_E_MISMATCH. `folder`: as errors
 * name it. */
int brim_modules_set_pooling(brim_modules *modules, brim_mixed mixed, const brim_pool_list *modes, const char *folder,
                             brim_error *err) BRIM_CHECK;
/* The name of the class of layers side by side, and of the file of Python that the folder has it in. */
#define BRIM_JOINED_CLASS "JoinedLayers"
#define BRIM_JOINED_FILE  "joined_layers"
/* All of it in words: brim_model_info.modules. */
void brim_modules_words(const brim_modules *modules, brim_text *out);

#define BRIM_SIMILARITY_SETTING "similarity_fn_name"
/* A string of config_sentence_transformers.json, or NULL. */
const char *brim_modules_setting(brim_modules *modules, const char *name);
/* The name of what the folder's vectors are compared by, as config_sentence_transformers.json says; "cosine" where it says
 * nothing. */
const char *brim_modules_similarity(brim_modules *modules);
/* Of all that brim_modules_apply does. */
uint64_t brim_modules_hash(const brim_modules *modules, uint64_t seed);
/* The text of a prompt; of NULL the folder's default. NULL: there is none of that name. */
const char *brim_modules_prompt(brim_modules *modules, const char *name);
/* "query, document" */
void brim_modules_prompt_names(const brim_modules *modules, brim_text *out);
/* A text's vector from those of its tokens [count, hidden], the first `skipped` of which are not pooled. work: [widest, 2]. */
void brim_modules_apply(const brim_modules *modules, const float *tokens, int32_t count, int32_t skipped, double *work,
                        float *vector);

#endif
