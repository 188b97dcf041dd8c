/* relative.h: terms of attention's scores by distance, for the kernels of attention.
 *
 * Of a head of a text: the rows of the tables that its distances reach, packed, with the products of all keys and query rows. A
 * block of queries then has its products with key rows, and each score takes its two. Backward adds the gradients of scores up by
 * key and row, and by row and query; the rest is products again. */
#ifndef BRIM_OPS_CPU_RELATIVE_H
#define BRIM_OPS_CPU_RELATIVE_H
#include "ops/cpu/attention.h"

struct relative_head {
  const brim_relative *of;
  int64_t head, keys, distances; /* of the text: distances are counted from 1 - keys */
  int64_t first, rows, room;     /* reached rows of the tables; rounded up to whole panels */
  int32_t *row;                  /* [distances], less `first` */
  float *bias;                   /* [distances], in powers of two */
  float *key_rows, *query_rows;  /* packed, [room, head_room] */
  float *panels;                 /* of query_rows */
  float *of_keys;                /* [keys, room] */
  float *of_queries;             /* [rows, QUERY_BLOCK] of a block */
  /* backward */
  float *dbias;                   /* [distances] */
  float *dof_keys, *dof_queries;  /* as above */
  float *dkey_rows, *dquery_rows; /* [rows of the tables, head_room], of all texts */
  float *dsums;                   /* [rows of the tables], likewise */
};

/* Values of scratch for texts of so many slots. */
int64_t CPU(relative_scratch)(int64_t longest, int64_t size, int64_t rows);
/* As attention_work: a worker's scratch ends with that of the terms. */
attention_work CPU(relative_work)(brim_ops_context *c, const brim_relative *r, int64_t scratch_size);
/* Divides a worker's scratch; with gradients: nothing is added up yet. */
void CPU(relative_open)(const attention_work *w, bool gradients, int worker, relative_head *r);
/* Goes on to a text, whose packed keys these are. */
void CPU(relative_begin)(const attention_work *w, const attention_head *h, bool gradients, const float *keys, relative_head *r);
/* Products of a block's queries, as panels. */
void CPU(relative_queries)(const attention_work *w, const attention_block *b, const float *panels, relative_head *r);
/* Adds to the scores of some keys. */
void CPU(relative_add)(const attention_block *b, int64_t first, int64_t keys, const relative_head *r, float *scores);
/* From the gradients ds [keys, QUERY_BLOCK] of a block's scores: adds to those of the block's queries. */
void CPU(relative_gradients)(const attention_work *w, const attention_block *b, const float *ds, const float *queries, float *dq,
                             relative_head *r);
/* After a text's last block: adds to the gradients of its keys. */
void CPU(relative_end)(const attention_work *w, const float *keys, float *dk, relative_head *r);
/* After the last text. */
void CPU(relative_close)(const attention_work *w, const relative_head *r);
#endif
