/* fits.h: whether what is to be computed fits a model: the one check of each, and its words. */
#ifndef BRIM_MODEL_FITS_H
#define BRIM_MODEL_FITS_H
#include "brim/model.h"
#include "task/task.h"

/* A row: its length (rows are cut to `cut` tokens; 0: not), ids, types and, with `labels`, labels. BRIM_E_MISMATCH, and
 * BRIM_E_FORMAT for a row without tokens. */
int brim_row_fits(const brim_model *model, const brim_sample *row, int32_t cut, bool labels, brim_row_name name,
                  brim_error *err) BRIM_CHECK;
/* A text of a batch, which is row `row`'s, with that row's labels, as a row of a data set. */
brim_sample brim_batch_text(const brim_batch *batch, int32_t text, int32_t row);
/* So many tokens, which `what` has ("row 17 has"). */
int brim_length_fits(const brim_model *model, const char *what, int32_t length, int status, brim_error *err) BRIM_CHECK;
/* The model's device has these features: BRIM_E_UNSUPPORTED in the words of ops/list.h. */
int brim_features_fit(const brim_model *model, uint32_t features, brim_error *err) BRIM_CHECK;
#endif
