/* ask.h: what training alone asks of a model. */
#ifndef BRIM_MODEL_ASK_H
#define BRIM_MODEL_ASK_H
#include "brim/model.h"

struct brim_config;
/* What it was made from (model/config.h). */
const struct brim_config *brim_model_config(const brim_model *model);
/* Whether vectors are brought to length 1 after pooling, as the folder's modules say. */
bool brim_model_normalizes(const brim_model *model);
/* What its vectors are compared by, which its folder will say: "cosine" or "dot". */
int brim_model_set_similarity(brim_model *model, const char *name, brim_error *err) BRIM_CHECK;
/* What vectors go through in its dense layers after pooling, in their order: "identity,tanh"; "": it has none. */
enum { BRIM_DENSE_NAMES = 40 };
const char *brim_model_dense(const brim_model *model, char names[BRIM_DENSE_NAMES]);
/* Of embeddings: what each text of a row begins with, and further ones with the last, under these names (NULL: nothing), and with
 * so many tokens: those are not pooled where the folder says so. What is saved has these prompts among its own. */
int brim_model_set_prompts(brim_model *model, const char *const names[BRIM_MOST_PROMPTS],
                           const char *const texts[BRIM_MOST_PROMPTS], const int32_t tokens[BRIM_MOST_PROMPTS],
                           brim_error *err) BRIM_CHECK;
/* Of a reranker: a score is its output, not the sigmoid of it. */
void brim_model_set_scores_bare(brim_model *model, bool bare);
/* What options of an update find among the tensors that are trained: weights that decay; those that were there at the start, of
 * them those that decay, and matrices that mixout takes; tensors below the head, whose rates a decay by layer lowers. */
typedef struct brim_update_reach {
  bool decays, returns, mixes, lowers;
} brim_update_reach;
brim_update_reach brim_model_update_reach(const brim_model *model);
/* brim_model_pairs, from now on. */
void brim_model_set_pairs(brim_model *model, int pairs);
/* Whether its rows are lists of words, which tokenizers may encode otherwise. */
bool brim_model_takes_words(const brim_model *model);
/* The tokenizer gives the ids that the model knows, where that is known: BRIM_E_MISMATCH. */
int brim_tokenizer_fits(const brim_model *model, const brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;
/* Whether it embeds the types of tokens. */
bool brim_model_reads_types(const brim_model *model);
/* Whether predictions of batches within these limits need no further brim_model_prepare. */
bool brim_model_predicts_within(const brim_model *model, const brim_model_limits *limits);
/* What its config.json says, as named values: brim_config_fields. */
enum { BRIM_MODEL_CONFIG_FIELDS = 39 };
int brim_model_config_fields(const brim_model *model, brim_field fields[BRIM_MODEL_CONFIG_FIELDS]);
/* From now on the time of every operation is counted in the profile; NULL: no longer. No result changes. */
void brim_model_set_profile(brim_model *model, brim_profile *profile);
/* What a run of this precision records in its checkpoints, and has to find again: brim_model_kernels, and for 16-bit products
 * their way where it decides the bits ("cpu-avx512-amx": those of runs that were begun before products of fp32 were AMX's too,
 * "cpu-amx"). */
const char *brim_model_kernels_for(const brim_model *model, brim_precision precision);

#endif
