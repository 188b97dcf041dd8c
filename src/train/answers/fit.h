/* fit.h: the one check that encoded rows and a model belong together; brim_dataset_fit in brim/train.h is the whole of it. */
#ifndef BRIM_TRAIN_FIT_H
#define BRIM_TRAIN_FIT_H
#include "brim/train.h"

/* Where it is not known which tokenizer the model's rows are encoded with, it is this one; NULL: that stays unknown. Another one
 * than the model's is BRIM_E_MISMATCH. */
int brim_model_take_tokenizer(brim_model *model, const brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;
/* Rows that the tokenizer of this content encoded (0: not known) are the model's. */
int brim_tokenizers_fit(const brim_model *model, uint64_t rows, const char *name, brim_error *err) BRIM_CHECK;
/* Each row by itself: its length, tokens and, with `labels`, labels. */
int brim_rows_fit(const brim_model *model, const brim_dataset *dataset, int32_t cut, bool labels, const char *name,
                  brim_error *err) BRIM_CHECK;
/* Each set has a name and rows. */
int brim_sets_check(const brim_named_dataset *sets, int count, brim_error *err) BRIM_CHECK;
/* brim_dataset_fit of rows of this kind (brim_dataset_pairs_known; -1: any), whatever the model was trained on. */
int brim_dataset_fit_of(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, int pairs, int32_t cut,
                        bool labels, const char *name, brim_dataset **mapped, brim_error *err) BRIM_CHECK;
/* The rows are of this kind, likewise. */
int brim_pairs_fit(const brim_dataset *dataset, int pairs, const char *name, brim_error *err) BRIM_CHECK;

#endif
