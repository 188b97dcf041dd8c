/* agreement.h: before the first step, ranks make sure that they are about to train the same. */
#ifndef BRIM_TRAIN_AGREEMENT_H
#define BRIM_TRAIN_AGREEMENT_H
#include "train/trainer.h"

/* One digest of version, kernels, model, data, evaluation sets and options over all ranks. BRIM_E_MISMATCH on every rank names
 * what differs and on which ranks. Every rank calls it, after all that it compares is known and before anything is written. */
int brim_trainer_agree(const brim_trainer *trainer, brim_error *err) BRIM_CHECK;

#endif
