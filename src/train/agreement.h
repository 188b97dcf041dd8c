/* agreement.h: before the first step, ranks make sure that they are about to train the same. */
#ifndef BRIM_TRAIN_AGREEMENT_H
#define BRIM_TRAIN_AGREEMENT_H
#include "train/trainer.h"

/* One digest of version, kernels, model, data, evaluation sets and options over all ranks. BRIM_E_MISMATCH on every rank names
 * what differs and on which ranks. Every rank calls it, after all that it compares is known and before anything is written. */
int brim_trainer_agree(const brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* The same for rows that are predicted: rows, weights and what cuts the rows into parts. */
int brim_evaluation_agree(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                          brim_error *err) BRIM_CHECK;
/* *value becomes the largest of all ranks. */
int brim_group_largest(const brim_group *group, brim_runtime *runtime, uint64_t *value, brim_error *err) BRIM_CHECK;

#endif
