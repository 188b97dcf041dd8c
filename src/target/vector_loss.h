/* vector_loss.h: losses of texts' vectors, over all rows of a step, with their gradients. Plain sums in double.
 *
 * A row has texts: anchor, positive, negatives; or two with a label. Notation: a, p, n its vectors, B rows, norm(x) = x /
 * max(|x|, e), cos(a, b) = norm(a) . norm(b). Formulas are those of sentence-transformers 6.2 (sentence_transformer/losses),
 * whose values they have; where equal texts meet, rows say so and they are no negatives of each other. */
#ifndef BRIM_TARGET_VECTOR_LOSS_H
#define BRIM_TARGET_VECTOR_LOSS_H
#include "target/vector_rows.h"

/* "in-batch" (also "mnrl"), "cosent", "angle", "cosine", "contrastive", "online-contrastive", "triplet", "margin-mse",
 * "distill-kl", "mse-vectors"; false for any other name.
 * *out is that loss with the defaults of sentence-transformers. */
bool brim_vector_loss_named(const char *name, size_t length, brim_vector_loss *out);

const char *brim_vector_loss_name(brim_vector_loss_kind kind);
/* Texts that a row must have (most 0: any number), and whether it must have a label. */
void brim_vector_loss_needs(brim_vector_loss_kind kind, int32_t *least, int32_t *most, bool *labelled);

/* Bytes of `work` for so many rows and texts. */
size_t brim_vector_loss_work(const brim_vector_loss *loss, int32_t rows, int32_t texts, int32_t width);
/* The loss and its gradient by the values, [texts, width], which is written. Results do not depend on the number of threads.
 * *left_out (or NULL): candidates that were left out for their texts. BRIM_E_MISMATCH names a row with too few texts or a label
 * that is missing. */
int brim_vector_loss_compute(brim_runtime *runtime, const brim_vector_loss *loss, const brim_vector_rows *rows, void *work,
                             double *gradient, double *value, uint64_t *left_out, brim_error *err) BRIM_CHECK;

#endif
