/* freeze.h: words that say what is frozen, or trained alone, before there is a model. */
#ifndef BRIM_MODEL_FREEZE_H
#define BRIM_MODEL_FREEZE_H
#include "base/status.h"

/* As brim_model_freeze and brim_model_train_only take them, but for what only a model knows; NULL: none. */
int brim_freeze_check(const char *words, brim_error *err) BRIM_CHECK;
int brim_train_only_check(const char *words, brim_error *err) BRIM_CHECK;

#endif
