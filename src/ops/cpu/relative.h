/* relative.h: terms of attention's scores by distance, for the kernels of attention.
 *
 * Of a head of a text: the rows of the embeddings that its distances reach, packed, with the products of all keys and query rows.
 * A block of queries then has its products with key rows, and each score takes its two (relative_scores.c). Backward adds the
 * gradients of scores up by key and row, and by query and row; the rest is products again. */
#ifndef BRIM_OPS_CPU_RELATIVE_H
#define BRIM_OPS_CPU_RELATIVE_H
#include "ops/cpu/attention.h"

struct relative_head {
  const brim_relative *of;
  int64_t head, keys, distances; /* of the text: distances are counted from 1 - keys */
  int64_t first, rows, room;     /* reached rows of the embeddings; rounded up to whole panels */
  const int32_t *row;            /* [distances] of the embeddings; VEC more on each side may be read */
  int64_t from;                  /* the index of the first of them among the call's distances */
  float *bias;                   /* [distances], in powers of two */
  float *key_rows, *query_rows;  /* packed, [room, head_room] */
  float *panels;                 /* of key_rows */
  float *of_keys;                /* [keys, room] */
  float *of_queries;             /* [QUERY_BLOCK, room] of a block */
  /* backward */
  float *dbias;                   /* [distances] */
  float *dof_keys, *dof_queries;  /* as above */
  float *dkey_rows, *dquery_rows; /* [rows of the embeddings, head_room], of all texts */
  float *dsums;                   /* [rows of the embeddings], likewise */
};

/* Values of scratch for texts of so many slots: those that all workers share, and those of each. */
int64_t CPU(relative_shared)(int64_t longest, int64_t rows);
int64_t CPU(relative_scratch)(int64_t longest, int64_t size, int64_t rows);
/* As attention_work: what workers share comes first, and a worker's scratch ends with that of the terms. */
attention_work CPU(relative_work)(brim_ops_context *c, const brim_relative *r, int64_t scratch_size);
/* Divides a worker's scratch; with gradients: nothing is added up yet. */
void CPU(relative_open)(const attention_work *w, bool gradients, int worker, relative_head *r);
/* The next text, whose packed keys these are. */
void CPU(relative_begin)(const attention_work *w, const attention_head *h, bool gradients, const float *keys, relative_head *r);
/* Products of a block's queries, which are packed. */
void CPU(relative_queries)(const attention_work *w, const attention_block *b, const float *queries, relative_head *r);
/* Adds to the scores of some keys. */
void CPU(relative_add)(const attention_work *w, const attention_block *b, int64_t first, int64_t keys, const relative_head *r,
                       float *scores);
/* Adds the gradients ds [keys, QUERY_BLOCK] of a block's scores to those of the terms: dbias, dof_keys, dof_queries. */
void CPU(relative_add_up)(const attention_work *w, const attention_block *b, const float *ds, relative_head *r);
/* From ds: adds to those of the block's queries. */
void CPU(relative_gradients)(const attention_work *w, const attention_block *b, const float *ds, const float *queries, float *dq,
                             relative_head *r);
/* After a text's last block: adds to the gradients of its keys. */
void CPU(relative_end)(const attention_work *w, const float *keys, float *dk, relative_head *r);
/* After the last text. */
void CPU(relative_close)(const attention_work *w, const relative_head *r);
#endif
