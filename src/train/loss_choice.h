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
/* brim_empty_texts_count of all rows. */
int brim_count_empty(brim_runtime *runtime, const brim_dataset *dataset, const brim_tokenizer *tokenizer, uint64_t *out,
                     brim_error *err) BRIM_CHECK;
/* Rows with a label other than 1, which a loss that ignores labels takes for positives like the others. */
uint64_t brim_ignored_labels(const brim_dataset *dataset);
/* Whether all rows have one label, of which a loss that compares labels learns nothing. */
bool brim_equal_labels(const brim_dataset *dataset);
/* The name of the metric of a set (NULL: of none) that decides which checkpoint is the best. Of scores whose queries have one
 * document each there is no order to measure, and the loss decides. */
int brim_best_metric_of(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, const char **out,
                        brim_error *err) BRIM_CHECK;
/* Bytes of the loss where the host computes it, for steps and parts of this outlook; 0: the device does. */
int brim_loss_memory(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset,
                     const brim_loss_options *options, const brim_outlook *outlook, uint64_t *bytes, brim_error *err) BRIM_CHECK;

#endif
