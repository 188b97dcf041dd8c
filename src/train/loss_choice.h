/* loss_choice.h: what follows from rows where options leave it open: the loss, and what decides the best. */
#ifndef BRIM_TRAIN_LOSS_CHOICE_H
#define BRIM_TRAIN_LOSS_CHOICE_H
#include "train/trainer.h"

/* Which loss the host computes, if it does: t->host_loss is made for it, and options.loss.name says it. */
int brim_trainer_choose_loss(brim_trainer *t, brim_error *err) BRIM_CHECK;
/* The same for rows in memory; *out is to be freed. BRIM_E_USAGE: the model's task has no such losses. */
int brim_choose_loss(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset,
                     const brim_loss_options *options, brim_host_loss *out, brim_error *err) BRIM_CHECK;
/* Rows whose first two texts have the same tokens: they teach little. */
uint64_t brim_equal_pairs(const brim_dataset *dataset);
/* The name of the metric of a set that decides which checkpoint is the best; NULL: of no set. */
const char *brim_best_metric_of(brim_task task, const brim_dataset *dataset);

#endif
