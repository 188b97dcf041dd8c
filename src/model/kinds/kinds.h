/* kinds.h: what a family can say. Each function appends one operation and returns the value that it makes.
 *
 * A norm, and a linear layer, is two weights, one declared right after the other: `norm` and `linear` are the index of the first,
 * the bias is the next one; where the first is declared as bare, there is no bias. */
#ifndef BRIM_MODEL_KINDS_H
#define BRIM_MODEL_KINDS_H
#include "model/program.h"

/* Rate and site; the rate may be 0. */
typedef struct brim_drop_at {
  double rate;
  uint32_t site;
} brim_drop_at;

typedef struct brim_normed {
  int32_t norm;
  double eps;
  bool rms; /* without mean: for brim_append_norm */
} brim_normed;

/* embedded = dropout(norm(word + position + type)). Embeddings: BRIM_NONE for no positions, no types; norm BRIM_NONE: none. Rows
 * of the embeddings of words and positions that have no gradient, as with PyTorch's padding_idx: BRIM_NONE for none. */
typedef struct brim_embeddings {
  int32_t word, position, type;
  int32_t empty_word, empty_position;
} brim_embeddings;
int32_t brim_append_lookup(brim_program *p, brim_embeddings embeddings, brim_normed norm, brim_drop_at drop);

/* queries = x Wq, keys and values = x [Wk Wv]. The three weights adjoin, and so do their three biases; `weight` and `bias` are
 * the queries'. */
typedef struct brim_projected {
  int32_t queries, keys_values;
} brim_projected;
brim_projected brim_append_project(brim_program *p, int32_t x, int32_t weight, int32_t bias);

/* The same by one matrix, or three that adjoin, from `weight` on; as many biases from `bias` on, or none (BRIM_NONE). With a
 * theta queries and keys are turned by their positions (rotary). */
typedef struct brim_heads {
  int32_t count;  /* of queries */
  int32_t group;  /* of them that share one head of keys and values; 0: as 1 */
  int32_t window; /* a query sees keys that are at most so many tokens away; 0: all */
  double theta;   /* 0: no rotary positions */
  double factor;  /* positions are divided by it; 0: as 1 */
} brim_heads;
brim_projected brim_append_project_heads(brim_program *p, int32_t x, int32_t weight, int32_t matrices, int32_t bias,
                                         brim_heads heads);

/* context = dropout(softmax(queries keys^T / sqrt(width of a head))) values */
int32_t brim_append_attend(brim_program *p, brim_projected x, int32_t heads, brim_drop_at drop);

/* The same with terms of the scores by distance (ops.h): a bias, which is a weight [rows, heads]; and queries and keys of
 * distances, a value of rows of distances as wide as both. BRIM_NONE: not there. */
typedef struct brim_by_distance {
  brim_distances distances;
  int32_t bias, embeddings;
} brim_by_distance;
/* norm(embedding), rows of distances; norm BRIM_NONE: the embedding as it is. */
int32_t brim_append_distances(brim_program *p, int32_t distances, brim_normed norm);
/* Queries and keys of distances, side by side: dropout(distances) [Wq Wk], the weights as brim_append_project's. */
int32_t brim_append_projected_distances(brim_program *p, int32_t distances, int32_t weight, int32_t bias, brim_drop_at drop);
/* How many rows of the distance embedding texts of so many slots reach, from row *first on; 0: there is none. */
int32_t brim_distances_reached(const brim_program *p, int32_t longest, int32_t *first);
int32_t brim_append_relative(brim_program *p, brim_projected x, brim_by_distance by, int32_t heads, brim_drop_at drop);
int32_t brim_append_attend_heads(brim_program *p, brim_projected x, brim_heads heads, brim_drop_at drop);

/* A residual stream: norm(x); and residual + dropout(branch W + b). */
int32_t brim_append_norm(brim_program *p, int32_t x, brim_normed norm);
int32_t brim_append_add(brim_program *p, int32_t branch, int32_t residual, int32_t linear, brim_drop_at drop);
/* dropout(activation(u) * g), where u and g are the halves of x W + b: u the first, or the second with `second`. W is one matrix,
 * or two that adjoin (`matrices`), whose biases follow both. */
typedef struct brim_gating {
  int32_t linear, matrices;
  bool second;
  brim_activation activation;
  brim_drop_at drop;
} brim_gating;
int32_t brim_append_gate(brim_program *p, int32_t x, brim_gating gating);

/* norm(residual + dropout(branch W + b)) */
int32_t brim_append_join(brim_program *p, int32_t branch, int32_t residual, int32_t linear, brim_drop_at drop, brim_normed norm);

/* norm(x + dropout(activation(x Wup + b) Wdown + b)) */
int32_t brim_append_feed_forward(brim_program *p, int32_t x, int32_t up, brim_activation activation, int32_t down,
                                 brim_drop_at drop, brim_normed norm);

/* The tokens of so many layers as one value: their mean, in which layer k weighs shares[k] by the sum of all; or, where `shares`
 * is BRIM_NONE, side by side. At most BRIM_MOST_LISTED. */
int32_t brim_append_layers(brim_program *p, const int32_t *layers, int32_t count, int32_t shares);

/* From tokens to texts: the first token of each; or the mean, or the largest of each column. */
int32_t brim_append_choose(brim_program *p, int32_t x);
/* The masked tokens of all texts, which the pass lists. */
int32_t brim_append_masked(brim_program *p, int32_t x);
int32_t brim_append_pool(brim_program *p, int32_t x, bool largest);
/* Several ways side by side, or one that brim_append_pool has not; tokens of prompts are left out where the pass says which. */
int32_t brim_append_pool_joined(brim_program *p, int32_t x, brim_pool_list modes);

int32_t brim_append_drop(brim_program *p, int32_t x, brim_drop_at drop);
/* activation(x W + b) */
int32_t brim_append_dense(brim_program *p, int32_t x, int32_t linear, brim_activation activation);
/* x W + b: the last one's value is the program's logits. */
int32_t brim_append_scores(brim_program *p, int32_t x, int32_t linear);
/* The loss of masked words over all of a vocabulary: softmax(x W^T + b), W [words, width of x]; bias may be BRIM_NONE. The logits
 * are made a block of words at a time; the program's logits are there only in passes that ask for them. */
void brim_append_vocabulary(brim_program *p, int32_t x, int32_t weight, int32_t bias);
/* The task's, from the scores and the batch's labels. */
void brim_append_loss(brim_program *p, int32_t scores, brim_task task);

#endif
