/* steps.h: what training alone asks of a feed. */
#ifndef BRIM_FEED_STEPS_H
#define BRIM_FEED_STEPS_H
#include "brim/feed.h"

/* *over: no batch of the present epoch is left. May have to wait for the next window. */
int brim_feed_epoch_over(brim_feed *feed, bool *over, brim_error *err) BRIM_CHECK;
/* The share of the present epoch that was handed out, between 0 and 1, by bytes of its files; a compressed file counts when it is
 * read to its end. The same wherever the run was interrupted. */
double brim_feed_share(const brim_feed *feed);
/* From the next step on batch->divisor is the sum of class_weights[label] over the rows or labelled tokens of the whole step, of
 * all ranks (1 where it is 0); NULL: it is 0 again, but of labels of tokens their number. With rank_slices it is of this rank's
 * share of the step. Of a classification, else BRIM_E_USAGE. [labels->count], borrowed until it is changed or the feed is closed.
 * Between two steps only. */
int brim_feed_weigh(brim_feed *feed, const double *class_weights, brim_error *err) BRIM_CHECK;
/* Masked words: what of a row's tokens is to be found is decided when its batch is made. From the next step on batch->divisor is
 * the sum of `units` over the rows of the whole step (brim_class_counter), of all ranks; `make` changes each batch, once, in
 * which rows have the names that `units` was given. NULL: no longer. Between two steps only. */
typedef struct brim_feed_maker {
  uint64_t (*units)(void *context, const brim_sample *row, int32_t length, uint64_t name);
  void (*make)(void *context, brim_batch *batch);
  void *context;
} brim_feed_maker;
void brim_feed_make(brim_feed *feed, const brim_feed_maker *maker);
/* Of the step that is under way, or the next one. */
uint64_t brim_feed_epoch(const brim_feed *feed);
/* That sum, or number, of the step that is under way, which may be 0; 0 too where the loss divides by the rows. */
double brim_feed_weight(const brim_feed *feed);
/* The most rows that a step may have, over all ranks. */
int64_t brim_feed_step_rows(const brim_feed *feed);
/* brim_tokenizer_content of the tokenizer that encodes its rows. */
uint64_t brim_feed_tokenizer(const brim_feed *feed);
/* 1: a row so far was a pair of texts; 0: none was; -1: no row has come yet. */
int brim_feed_pairs(const brim_feed *feed);
/* The blocks that its batches have; returns their number. */
int brim_feed_blocks(const brim_feed *feed, brim_block_shape shapes[BRIM_MOST_BLOCKS]);
/* As the feed has them: what was left open is filled in. */
const brim_feed_options *brim_feed_how(const brim_feed *feed);

#endif
