/* stop.h: ends reads that wait for a pipe or a terminal: those of all streams that were given it, also while they are being
 * opened, when nobody else knows them yet. */
#ifndef BRIM_BASE_STOP_H
#define BRIM_BASE_STOP_H
#include "brim/base.h"
#include <stdatomic.h>

typedef struct brim_stop {
  atomic_bool set;
  int wake; /* can be read from then on; -1: nobody can wait */
} brim_stop;

int brim_stop_init(brim_stop *stop, brim_error *err) BRIM_CHECK;
void brim_stop_free(brim_stop *stop);
/* From any thread. Reads that wait return BRIM_E_CANCELLED, and so do all later ones. */
void brim_stop_set(brim_stop *stop);

#endif
