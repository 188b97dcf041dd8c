/* encoder.h: an encoder for several readers, and what the dataset takes from one that has come to its end. */
#ifndef BRIM_DATA_ENCODER_H
#define BRIM_DATA_ENCODER_H
#include "data/select.h"

/* Moves the list of excluded rows out of the encoder, which must have returned BRIM_END. */
void brim_encoder_take_excluded(brim_encoder *encoder, brim_exclusions *out);

/* The number that the row behind the last one would have: excluded rows count. For an encoder that has returned BRIM_END. */
uint64_t brim_encoder_rows(const brim_encoder *encoder);

/* Goes on with another reader, which it takes, also when it fails; the words that it has seen stay known. */
int brim_encoder_restart(brim_encoder *encoder, brim_reader *reader, brim_error *err) BRIM_CHECK;
/* Ends its threads and closes its reader: only restart and close may follow. */
void brim_encoder_rest(brim_encoder *encoder);

#endif
