/* parameters.h: which tensors a model has and where they lie in the flat buffers. */
#ifndef BRIM_MODEL_PARAMETERS_H
#define BRIM_MODEL_PARAMETERS_H
#include "base/arena.h"
#include "brim/model.h"
#include "model/config.h"

/* Offsets of a pair in the flat buffers: a linear layer's [out, in] and [out], or a layer norm's gamma and beta. */
typedef struct brim_pair_at {
  int64_t weight, bias;
} brim_pair_at;

/* Query, key and value lie one behind the other, weights and biases alike: together they are one [3H, H] and one [3H]. */
typedef struct brim_layer_at {
  brim_pair_at query, key, value, attention_output, attention_norm, up, down, output_norm;
} brim_layer_at;

typedef struct brim_parameters {
  brim_parameter *list;
  int32_t count, capacity;
  int32_t head_dense, head_output; /* index of their weights in the list; the biases follow */
  int64_t flat_size;
  int64_t word, position, type; /* tables; type -1: none */
  brim_pair_at embed_norm;
  brim_layer_at *layers;
  brim_pair_at dense, output; /* of the head */
} brim_parameters;

/* Everything lies in the arena. */
int brim_parameters_make(brim_arena *arena, const brim_config *config, brim_parameters *out, brim_error *err) BRIM_CHECK;

#endif
