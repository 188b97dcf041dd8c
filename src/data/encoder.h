/* encoder.h: what the dataset takes from an encoder that has come to its end. */
#ifndef BRIM_DATA_ENCODER_H
#define BRIM_DATA_ENCODER_H
#include "data/select.h"

/* Moves the list of excluded rows out of the encoder, which must have returned BRIM_END. */
void brim_encoder_take_excluded(brim_encoder *encoder, brim_exclusions *out);

/* The number that the row behind the last one would have: excluded rows count. For an encoder that has returned BRIM_END. */
uint64_t brim_encoder_rows(const brim_encoder *encoder);

#endif
