/* config.h: config.json as Hugging Face writes it: what brim uses of it, and all of it for writing it back. */
#ifndef BRIM_MODEL_CONFIG_H
#define BRIM_MODEL_CONFIG_H
#include "base/json.h"
#include "brim/model.h"
#include "model/family.h"

enum { BRIM_MOST_LAYERS = 1 << 10 };

/* A dense layer after pooling, as sentence-transformers' folders have it. */
enum { BRIM_MOST_DENSE = 4 };
typedef struct brim_dense_module {
  char path[32]; /* its folder: "2_Dense" */
  int32_t in, out;
  bool biased;
  brim_activation activation;
} brim_dense_module;

/* The folder of sentence-transformers' module that has the weights of layers. */
#define BRIM_LAYERS_MODULE "1_WeightedLayerPooling"
/* Names of tensors: the weights of layers; what brings joined ones to the width of one. */
#define BRIM_LAYER_SHARES  "layer_weights"
#define BRIM_JOINED_WEIGHT "joined_layers"
/* The layers whose tokens the head sees. */
typedef struct brim_mixed {
  int32_t count; /* the last so many; 0: the last one alone */
  bool joined;   /* side by side; else their weighted mean */
} brim_mixed;

typedef struct brim_config {
  const brim_family *family;
  int32_t vocab_size, hidden, layers, heads, intermediate;
  int32_t groups;           /* ALBERT: of layers with the same weights */
  brim_distances distances; /* DeBERTa: of the distance embedding; and whether it has a norm, and there are positions too */
  bool norms_distances, has_positions;
  bool by_distance, shares_keys; /* DeBERTa: scores have terms by distance; by the weights of queries and keys of tokens */
  double pooler_dropout;         /* DeBERTa: of the head's input; its activation */
  brim_activation pooler_activation;
  int32_t embedding;        /* width of the embeddings */
  int32_t positions, types; /* rows of the embeddings; types 0: none */
  int32_t pad_id;           /* -1: none */
  brim_activation activation;
  brim_pooling pooling; /* of embeddings any, else cls, mean or max */
  brim_mixed mixed;     /* of texts and of embeddings */
  bool lists_layers;    /* the folder's modules.json does: a pooling of several layers */
  bool skips_prompts;   /* of embeddings: tokens of prompts are not pooled */
  int8_t pairs;         /* brim_model_pairs */
  bool ignores_types;   /* every token has type 0 */
  /* of encoders with rotary positions, gates and a residual stream */
  double theta[2];                          /* of layers that see all tokens; of those with a window */
  double factor[2];                         /* by which their positions are divided; 0: as 1 */
  int32_t window;                           /* tokens to each side that a layer with a window sees */
  uint64_t windowed[BRIM_MOST_LAYERS / 64]; /* a bit a layer */
  int32_t group;                            /* heads of queries that share one of keys and values */
  bool bare_norms, rms;                     /* norms without bias; without mean */
  bool attention_bias, inner_bias, head_bias;
  double inner_dropout; /* of what a gate gives */
  brim_activation head_activation;
  bool late;         /* tokens are pooled after the head's dense layer */
  bool tied;         /* masked words: the decoder is the embedding of words. Read where the task is theirs, as the next */
  bool legacy_words; /* DeBERTa: of its two heads of masked words the first */
  bool has_decoder_bias;
  double norm_eps, hidden_dropout, attention_dropout, head_dropout, initializer_range;
  brim_dense_module dense[BRIM_MOST_DENSE];
  int32_t dense_count;
  bool reranks;       /* sentence-transformers calls it a cross-encoder */
  bool bare_scores;   /* whose scores are its outputs, not their sigmoid */
  bool other_scores;  /* whose scores are made in a way that brim does not have */
  brim_labels labels; /* task, classes and their names */
  brim_json_document *document;
} brim_config;

/* Reads FOLDER/config.json. Absent keys have Hugging Face's defaults. `labels` NULL: as the file says (problem_type, id2label,
 * num_labels); else a copy of them. BRIM_E_UNSUPPORTED names what brim does not have, BRIM_E_FORMAT what makes no sense. */
int brim_config_load(brim_runtime *runtime, const char *folder, const brim_labels *labels, brim_config *out,
                     brim_error *err) BRIM_CHECK;
/* The same without labels, which a file for another task need not have right. */
int brim_config_load_encoder(brim_runtime *runtime, const char *folder, brim_config *out, brim_error *err) BRIM_CHECK;
/* Where the class of the model says its task, as ..ForTokenClassification does; AUTO elsewhere. */
brim_task brim_config_class_task(const brim_config *config);
/* What the file says of its labels, whatever those of `config` are. */
int brim_config_stored_labels(brim_runtime *runtime, const brim_config *config, brim_labels *out, brim_error *err) BRIM_CHECK;
void brim_config_free(brim_config *config);

/* The activation that a member names; without the member that of the default. */
int brim_config_read_activation(const brim_config *config, const char *key, const char *absent, brim_activation *out,
                                brim_error *err) BRIM_CHECK;
static inline bool brim_config_has_window(const brim_config *config, int32_t layer) {
  return config->windowed[layer / 64] >> layer % 64 & 1;
}
/* Whether the embedding of words is the decoder of masked words too: all of its rows have a gradient then. */
bool brim_config_ties(const brim_config *config);
/* Where the decoder of masked words is not tied: the bias that a tied one has, which transformers keeps in files though nothing
 * reads it. NULL: there is none. */
const char *brim_config_idle_bias(const brim_config *config);
/* Whether its masked words may have either of two heads, of which legacy_words says one. */
bool brim_config_has_two_heads(const brim_config *config);
/* Of the head: as many as labels are wide; one score, however many documents a row has labels of. */
int32_t brim_config_outputs(const brim_config *config);
int32_t brim_config_max_length(const brim_config *config);
/* The head looks at more than the first token, and the family's config.json has no name for that. */
bool brim_config_pools(const brim_config *config);
/* Its head is of texts, and looks at several layers. */
bool brim_config_mixes(const brim_config *config);
/* What it says of the encoder, as named values (config_fields.c). Returns their number. */
enum { BRIM_CONFIG_FIELDS = 39 };
int brim_config_fields(const brim_config *config, brim_field fields[BRIM_CONFIG_FIELDS]);
/* The file's members in their order, with architectures, labels, task and dtype as they are now. */
int brim_config_save(brim_runtime *runtime, const brim_config *config, const char *folder, brim_error *err) BRIM_CHECK;
/* A value of a file, as it is written back: `depth` levels inside. */
void brim_config_put_value(brim_text *out, const brim_json_value *value, int depth);
/* README.md with lines of Python, where transformers computes something else; one of brim's is removed where it does not.
 * A README.md that brim did not write is left as it is. `saving`: how the tokenizer was written. */
int brim_readme_save(brim_runtime *runtime, const brim_config *config, const brim_saving *saving, const char *folder,
                     brim_error *err) BRIM_CHECK;
/* "weighted", "weighted:4", "joined:4", "last": of a model of so many layers. */
int brim_mixed_parse(const char *text, size_t length, int32_t layers, brim_mixed *out, brim_error *err) BRIM_CHECK;
const char *brim_mixed_name(brim_mixed mixed, char name[BRIM_LAYERS_NAME]);
/* Numbers of a token that the head sees. */
int32_t brim_config_seen_width(const brim_config *config);
/* The modes of a pooling in their order, and back. */
brim_pool_list brim_pooling_modes(brim_pooling pooling);
brim_pooling brim_pooling_of_modes(const brim_pool_list *list);
/* Cls, mean or max: what tasks other than embeddings have. */
bool brim_pooling_is_simple(brim_pooling pooling);
/* brim_model_info.made_for. */
int brim_pooling_made_for(brim_runtime *runtime, const char *folder, brim_pooling *out, brim_error *err) BRIM_CHECK;
/* brim_model_info.made_length and scored_length. */
int brim_lengths_made_for(brim_runtime *runtime, const char *folder, brim_model_info *out, brim_error *err) BRIM_CHECK;
/* Where texts are cut, as sentence-transformers does it: max_seq_length (`made`) takes the place of model_max_length (`own`; 0:
 * not said), larger ones too, up to the model's positions. */
int32_t brim_length_of(int32_t made, int32_t own, int32_t most);

#endif
