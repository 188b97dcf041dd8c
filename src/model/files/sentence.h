/* sentence.h: what a folder of sentence-transformers has besides a model: what its encoder is trained with, and is written back.
 *
 *   a model of embeddings  modules.json, 1_Pooling/config.json, sentence_bert_config.json, config_sentence_transformers.json
 *   a reranker             config_sentence_transformers.json, and a member of config.json
 *
 * Written in the form that sentence-transformers 2 to 6 read. */
#ifndef BRIM_MODEL_SENTENCE_H
#define BRIM_MODEL_SENTENCE_H
#include "model/config.h"
#include "model/files/modules.h"
#include "model/files/safetensors.h"

typedef struct brim_sentence {
  brim_runtime *runtime;
  brim_modules modules;       /* of the folder */
  bool normalizes;            /* vectors are brought to length 1 */
  brim_similarity similarity; /* what vectors are compared by */
  char *settings;             /* config_sentence_transformers.json as it was; NULL: there was none */
  size_t settings_length;
} brim_sentence;

/* Of embeddings: what the folder's modules say, into *out (to be freed, after a failure too) and config, but for what the options
 * say otherwise: another pooling, a dense layer more. A folder of an encoder alone has the mean of its tokens.
 * BRIM_E_UNSUPPORTED: a module or a pooling that is not trained. */
int brim_sentence_load(brim_sentence **out, brim_runtime *runtime, const char *folder, const brim_model_options *options,
                       brim_config *config, brim_error *err) BRIM_CHECK;
void brim_sentence_free(brim_sentence *sentence);
/* The weight of a module: "2_Dense/linear.weight"; NULL: there is none. */
const float *brim_sentence_weight(const brim_sentence *sentence, const char *name);
/* Puts prompts among those that are saved; a name of NULL is none. */
int brim_sentence_set_prompts(brim_sentence *sentence, const char *const names[BRIM_MOST_PROMPTS],
                              const char *const texts[BRIM_MOST_PROMPTS], brim_error *err) BRIM_CHECK;
/* What vectors are compared by, from now on, by its name; the settings stay as they are. */
void brim_sentence_compare(brim_sentence *sentence, const char *similarity);
/* The same, and says in the settings which similarity vectors were trained with, where the settings say another: "cosine" or
 * "dot". */
int brim_sentence_set_similarity(brim_sentence *sentence, const char *name, brim_error *err) BRIM_CHECK;
/* Dense layers are among the tensors. Nothing, for other tasks. */
int brim_sentence_save(const brim_sentence *sentence, brim_runtime *runtime, const brim_config *config,
                       const brim_tensor *tensors, int32_t tensor_count, const char *folder, brim_error *err) BRIM_CHECK;
/* Whether the folder is a cross-encoder, by config_sentence_transformers.json or by a member of config.json: config->reranks, and
 * bare_scores. */
int brim_sentence_read_reranker(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) BRIM_CHECK;
/* Whether modules.json lists a pooling of several layers: config->lists_layers. What brim cannot read says nothing. */
int brim_sentence_find_layers(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) BRIM_CHECK;
/* BRIM_E_UNSUPPORTED: modules.json begins with a module that is no encoder. */
int brim_sentence_refuse_others(brim_runtime *runtime, const char *folder, brim_error *err) BRIM_CHECK;
/* torch's class of what scores are made with. */
const char *brim_sentence_activation(const brim_config *config);

#endif
