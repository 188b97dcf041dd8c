/* checkpoint.h: a whole training state in one folder, which is itself a model that others can open. */
#ifndef BRIM_TRAIN_CHECKPOINT_H
#define BRIM_TRAIN_CHECKPOINT_H
#include "train/folder/folder.h"
#include "train/folder/state.h"
#include "train/supply.h"

/* Writes checkpoints/step-N under a temporary name, syncs it and renames it into place: the checkpoints before it stay as they
 * were when that fails. */
int brim_checkpoint_save(const brim_run_folder *folder, brim_model *model, const brim_tokenizer *tokenizer,
                         const brim_saving *saving, const brim_train_state *state, const float *average,
                         const brim_train_identity *identity, const brim_supply *supply, brim_error *err) BRIM_CHECK;
/* BRIM_E_USAGE: the name of a checkpoint after that step has been taken by something else, or (best) that of the link. */
int brim_checkpoint_room(const brim_run_folder *folder, uint64_t step, bool best, brim_error *err) BRIM_CHECK;
/* Weights and moments into the model (prepared for training), the state, and the supply's position. A model that this fails for
 * is not to be used. */
int brim_checkpoint_load(const brim_run_folder *folder, uint64_t step, brim_model *model, const brim_train_identity *identity,
                         brim_train_state *state, brim_train_former *former, float *average, brim_supply *supply,
                         brim_error *err) BRIM_CHECK;
/* Whether brim_checkpoint_load_weights will find those of the best step, as far as is quickly seen. */
int brim_checkpoint_check_best(const brim_run_folder *folder, uint64_t step, const brim_train_identity *identity,
                               brim_error *err) BRIM_CHECK;
/* The best weights alone, and the state that they were of. */
int brim_checkpoint_load_weights(const brim_run_folder *folder, uint64_t step, brim_model *model,
                                 const brim_train_identity *identity, brim_train_state *state, brim_error *err) BRIM_CHECK;

#endif
