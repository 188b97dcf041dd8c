/* evaluation_agreement.h: before the first part, ranks make sure that they are about to predict the same. */
#ifndef BRIM_TRAIN_EVALUATION_AGREEMENT_H
#define BRIM_TRAIN_EVALUATION_AGREEMENT_H
#include "brim/train.h"

/* One digest over all ranks of what is predicted: rows, weights and what cuts the rows into parts. BRIM_E_MISMATCH as of
 * brim_trainer_agree. */
int brim_evaluation_agree(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                          brim_error *err) BRIM_CHECK;

#endif
