/* way.h: a way in which gradients come together, between the files of this folder. */
#ifndef BRIM_REDUCE_WAY_H
#define BRIM_REDUCE_WAY_H
#include "model/run/queue.h"
#include "reduce/reduce.h"
#include "reduce/tree.h"

/* What a way does at each call of reduce.h; NULL: nothing. */
typedef struct brim_reduce_way {
  const char *name;
  /* Every rank calls it, on several. r->way stays as it is where it is no way for all of them; else it is set, and closed in the
   * end. */
  int (*open)(brim_reduce *r, brim_error *err);
  void (*close)(brim_reduce *r);
  void (*begin)(brim_reduce *r);
  /* Before this rank's last forward of a step, if it has one, and after all parts that it has, if none failed. */
  void (*last)(brim_reduce *r);
  void (*over)(brim_reduce *r);
  /* Before the decision of all, whatever this rank's own `status` is: what the others wait for. */
  int (*join)(brim_reduce *r, int status, brim_error *err);
  /* After it: the gradient of all slices and ranks. */
  int (*sum)(brim_reduce *r, brim_error *err);
  int (*update)(brim_reduce *r, const brim_adamw *options, brim_error *err); /* NULL: of the whole gradient */
  int (*gather)(brim_reduce *r, brim_error *err);
  void (*abandon)(brim_reduce *r);
  int (*states)(brim_reduce *r, brim_error *err);
} brim_reduce_way;

extern const brim_reduce_way brim_reduce_messages, brim_reduce_shards, brim_reduce_devices;

struct brim_reduce {
  brim_reduce_how how;
  const brim_reduce_way *way;
  void *state;           /* the way's own */
  brim_slice_sums *tree; /* with plan->slices, whatever the way is */
  brim_reduced result;
  bool broken;                                  /* nobody is to be met any more */
  bool known;                                   /* the loss is that of the whole step */
  int32_t asked[BRIM_MOST_QUEUED], asked_count; /* the slices of pieces without a loss so far; < 0: none, or several */
};

/* messages.c: the gradient becomes the sum of those of all ranks; only its embeddings do, where `dense` is false. */
int brim_reduce_by_messages(brim_reduce *r, bool dense, brim_error *err) BRIM_CHECK;
/* Rows of embeddings that have a gradient on any rank have one on all. */
int brim_reduce_join_rows(brim_reduce *r, brim_error *err) BRIM_CHECK;
#endif
