/* attention.h: what both directions of attention share.
 *
 * A task is one head of one sequence; the longest sequences come first. It packs the head's keys and values into its worker's
 * scratch and runs over blocks of queries with all keys at once, so scores exist for one block only. */
#ifndef BRIM_OPS_CPU_ATTENTION_H
#define BRIM_OPS_CPU_ATTENTION_H
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"

enum { QUERY_BLOCK = 4 * TILE_ROWS }; /* of the backward pass */

typedef struct attention_work {
  const brim_attention *a;
  const int32_t *order; /* [n] sequences, longest first */
  float *scratch;
  int64_t scratch_size; /* values a worker */
  int64_t key_room;     /* row length of a block of scores */
  int64_t head_room;    /* head size, rounded up to whole panels */
  int64_t rows;         /* of q and out */
} attention_work;

/* One head of one sequence. */
typedef struct attention_head {
  int64_t head, queries, keys, slots, size;
  int64_t first_query; /* row of q, out, dq */
  int64_t first_key;   /* row of k, v */
  const float *q, *k, *v;
  float *lse;
  uint32_t site, place;
} attention_head;

/* Divides c->workspace and sorts the sequences. */
attention_work CPU(attention_work)(brim_ops_context *c, const brim_attention *a, int64_t scratch_size);
attention_head CPU(attention_head)(const attention_work *w, int64_t task);
/* Panels of k^T (or v^T): [key_room / TILE_COLUMNS][size, TILE_COLUMNS]. */
void CPU(attention_pack_transposed)(const attention_head *h, const float *x, int64_t stride, float *panels);
/* Panels of x as it lies: [head_room / TILE_COLUMNS][rows, TILE_COLUMNS]. */
void CPU(attention_pack)(int64_t rows, int64_t size, const float *x, int64_t stride, float *panels);
/* Rows of x (stride, [rows, size]) times transposed panels: out [rows, keys], row length key_room. */
void CPU(attention_scores)(const attention_work *w, const attention_head *h, int64_t rows, const float *x, int64_t stride,
                           const float *panels, float *out);
/* Operations of that many products of queries and keys. */
double CPU(attention_flops)(const brim_attention *a, double products);
/* Values of scratch that a head needs, for the longest key row. */
int64_t CPU(attention_forward_scratch)(int64_t max_length, int64_t size);
int64_t CPU(attention_backward_scratch)(int64_t max_length, int64_t size);
int64_t CPU(attention_key_room)(int64_t max_length);
#endif
