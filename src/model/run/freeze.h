/* freeze.h: which sections are frozen, before there is a model. */
#ifndef BRIM_MODEL_FREEZE_H
#define BRIM_MODEL_FREEZE_H
#include "base/status.h"

enum { BRIM_FREEZE_MOST_LAYERS = 1 << 20, BRIM_FREEZE_ENCODER = BRIM_FREEZE_MOST_LAYERS + 2 };

/* "embeddings" -> 1, "layers:N" or "N" -> 1 + N, "encoder" -> BRIM_FREEZE_ENCODER, NULL or "" -> 0; else BRIM_E_USAGE. */
int brim_freeze_parse(const char *what, int32_t *out, brim_error *err) BRIM_CHECK;

#endif
