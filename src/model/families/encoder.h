/* encoder.h: what families say in the same way: how weights are declared, and the steps of a layer of BERT. */
#ifndef BRIM_MODEL_ENCODER_H
#define BRIM_MODEL_ENCODER_H
#include "model/families/families.h"
#include "model/kinds/kinds.h"

/* A program while a family writes it. A weight's name is, for instance, "bert." + "encoder.layer.3." + "output.dense" +
 * ".weight". */
typedef struct brim_writing {
  brim_program *p;
  const brim_config *config;
  const brim_family_names *names;
  int32_t layer;  /* BRIM_NONE: names have no layer */
  int32_t shared; /* the number in the names of weights that several layers have; BRIM_NONE: each layer has its own */
  bool outside;   /* names do not have the encoder's prefix */
} brim_writing;
brim_writing brim_writing_of(brim_program *p, const brim_config *config);

/* ---- weights: the index of the first; a linear layer's or norm's bias is the next one, if it has one. `flags`: BRIM_WEIGHT_...
 */
int32_t brim_declare_named(const brim_writing *w, const char *module, const char *suffix, int64_t rows, int64_t columns,
                           int flags);
int32_t brim_declare_embedding(const brim_writing *w, const char *module, int32_t rows, int32_t width);
int32_t brim_declare_linear(const brim_writing *w, const char *module, int32_t out, int32_t in, int flags);
brim_normed brim_declare_norm(const brim_writing *w, const char *module, int32_t width);

/* ---- a step each, with the names and rates of the configuration. Sites of dropout are stable: they are part of what makes a run
 * reproducible */
enum { BRIM_SITE_ATTENTION_OUTPUT = 0, BRIM_SITE_OUTPUT = 1, BRIM_SITE_INNER = 2, BRIM_SITE_ATTENTION = 0x100 /* + head */ };
uint32_t brim_site_of_layer(int32_t layer, uint32_t site);

/* embedded = dropout(norm(word + position + type)), as wide as the embeddings. Begins the section. */
int32_t brim_write_embeddings(const brim_writing *w);
/* embedded = dropout(norm((word + position + type) W)), as wide as the layers; W is the matrix of `module`, without a bias. */
int32_t brim_write_projected_embeddings(const brim_writing *w, const char *module);
/* Begins the section of layer w->layer, whose input is x. */
void brim_begin_layer(const brim_writing *w, int32_t x);
/* Declares the weights of queries, keys and values, which adjoin, and their biases; the index of the queries'. */
int32_t brim_declare_heads(const brim_writing *w, int32_t *bias);
brim_projected brim_write_project(const brim_writing *w, int32_t x);
int32_t brim_write_attend(const brim_writing *w, brim_projected heads);
int32_t brim_write_join(const brim_writing *w, int32_t context, int32_t x, double dropout);
int32_t brim_write_feed_forward(const brim_writing *w, int32_t attended, double dropout);
/* All of a layer of BERT. */
int32_t brim_write_layer(const brim_writing *w, int32_t x);

/* Masked words: the masked tokens -> dense -> activation -> norm -> decoder, the loss of which is computed a block of words at a
 * time. Else first token, or pooled -> dropout -> dense -> activation -> dropout -> output -> loss. Rates may be 0; without
 * `drops_input` nothing is the default of the first, with a rate below 0 for the second. */
typedef struct brim_head {
  bool drops_input;
  double input_dropout, dropout;
  brim_activation activation;
  bool bare;             /* the dense layer has no bias */
  const char *norm;      /* of one after the activation; NULL: there is none */
  brim_activation words; /* of the dense layer of masked words */
} brim_head;
void brim_write_head(const brim_writing *w, int32_t x, brim_head head);

#endif
