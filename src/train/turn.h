/* turn.h: a run in turns with others that train the same model. While it waits, its weights and the optimizer's states are kept
 * in memory; a turn continues from them as a resumed run does from a checkpoint, and its steps come out as if nothing had come
 * between. */
#ifndef BRIM_TRAIN_TURN_H
#define BRIM_TRAIN_TURN_H
#include "ops/rules.h"
#include "train/folder/state.h"

typedef struct brim_turns {
  brim_runtime *runtime;
  brim_train_options options; /* the first turn fills in what was left open. No `output` */
  uint64_t until;             /* the turn ends after this step of the run, if it is not the last */
  uint64_t held, besides; /* bytes: in memory before anybody trained, and what others keep meanwhile (a memory_limit counts it) */

  bool begun, over;       /* there was a turn; it was the last */
  brim_train_state state; /* its seconds are those of turns alone */
  brim_rank_times times;
  float *kept[1 + BRIM_MOST_STATES]; /* values and states, of the trained end; NULL: there is only one turn */
  float *average;                    /* of weights, or NULL */
} brim_turns;

/* Bytes that a run keeps while it waits. What is frozen is so from here on (options.freeze). */
int brim_turns_size(brim_model *model, const brim_train_options *options, uint64_t *bytes, brim_error *err) BRIM_CHECK;
/* Takes them; not needed by a run with one turn. */
int brim_turns_reserve(brim_turns *turns, const brim_model *model, brim_error *err) BRIM_CHECK;
void brim_turns_free(brim_turns *turns); /* what it holds, not the struct */

/* A turn. The first begins with the model's values; the last leaves its own there. *result counts all turns so far. Events are
 * those of brim_train, "start" in the first and "end" in the last. */
int brim_train_turn(brim_runtime *runtime, brim_model *model, const brim_dataset *train, brim_turns *turns,
                    brim_train_result *result, brim_error *err) BRIM_CHECK;
#endif
