/* loss_scale.h: the factor of the loss in fp16, which a step's gradient moves: brim_train_options says how. All ranks have the
 * same norm, and so the same factor. */
#ifndef BRIM_TRAIN_LOSS_SCALE_H
#define BRIM_TRAIN_LOSS_SCALE_H
#include "train/trainer.h"

/* Of the next step; 0: there is none. */
double brim_loss_scale(const brim_trainer *t);
/* After a gradient that is not finite: forgets it, and halves the factor for the steps that follow. False: it is 1 already, or
 * there is none. */
bool brim_loss_scale_halve(brim_trainer *t);
/* After each step, which was a `good` one or halved the factor. */
void brim_loss_scale_served(brim_trainer *t, bool good);
#endif
