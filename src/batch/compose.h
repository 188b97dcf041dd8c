/* compose.h: who goes together. Every strategy puts all rows into an order and cuts it into batches: with batch_size a batch is
 * an optimizer step, with max_tokens alone it is what is computed at once. */
#ifndef BRIM_BATCH_COMPOSE_H
#define BRIM_BATCH_COMPOSE_H
#include "batch/recipe.h"

#define BRIM_NO_BATCH UINT64_MAX

typedef struct brim_composition {
  brim_runtime *runtime;
  const brim_recipe *recipe;
  brim_row_sizes sizes; /* [rows], borrowed */
  uint64_t rows;
  uint32_t *order;   /* [rows] batch after batch */
  uint32_t *scratch; /* [rows] */
  uint32_t *ends;    /* [batches] end of each batch in `order` */
  size_t batches, capacity;
  uint64_t unfinished; /* the batch that ended for want of rows, or BRIM_NO_BATCH: drop_last drops it */
} brim_composition;

/* Runs the recipe's strategy over all rows. The composition must be freed whatever comes back. */
int brim_compose(brim_composition *c, brim_runtime *runtime, const brim_recipe *recipe, const brim_row_sizes *sizes,
                 uint64_t rows, brim_error *err) BRIM_CHECK;
void brim_composition_free(brim_composition *c);

/* ---- for the strategies ---- */

/* Appends a batch that ends at position `end` of the order. */
int brim_composition_end(brim_composition *c, uint64_t end, brim_error *err) BRIM_CHECK;
static inline uint64_t brim_composition_start(const brim_composition *c, uint64_t batch) {
  return batch ? c->ends[batch - 1] : 0;
}
/* Cuts order[begin, end) from the front into batches that the recipe's compose budget holds. The last one is left out when it has
 * room for more and `keep_tail` is set: *tail is then its first position (otherwise `end`). */
int brim_composition_cut(brim_composition *c, uint64_t begin, uint64_t end, bool keep_tail, uint64_t *tail,
                         brim_error *err) BRIM_CHECK;
/* Puts the batches from `first` on into random order, the rows inside each as they are. */
int brim_composition_shuffle(brim_composition *c, uint64_t first, brim_error *err) BRIM_CHECK;
/* The batches after `batch` move up by one, it becomes the last. */
int brim_composition_move_last(brim_composition *c, uint64_t batch, brim_error *err) BRIM_CHECK;
/* Puts the batches from `first` on into the order first + which[0], first + which[1], ... */
void brim_composition_arrange(brim_composition *c, uint64_t first, const uint32_t *which, uint32_t *new_ends);

int brim_compose_uniform(brim_composition *c, brim_error *err) BRIM_CHECK;
int brim_compose_sorted(brim_composition *c, brim_error *err) BRIM_CHECK;
int brim_compose_bucketed(brim_composition *c, brim_error *err) BRIM_CHECK;
int brim_compose_packed(brim_composition *c, brim_error *err) BRIM_CHECK;

#endif
