/* options.h: options of training as the model takes them. */
#ifndef BRIM_TRAIN_OPTIONS_H
#define BRIM_TRAIN_OPTIONS_H
#include "brim/train.h"

brim_optimizer_options brim_train_optimizer(const brim_train_options *options);
/* What is to be recorded is one JSON value. */
int brim_options_json_check(brim_runtime *runtime, const brim_train_options *options, brim_error *err) BRIM_CHECK;
/* What says nothing where nothing is evaluated; `metric`: best_metric was given. */
int brim_options_check_unevaluated(const brim_train_options *options, bool metric, brim_error *err) BRIM_CHECK;
/* What is frozen, and the optimizer: what decides how much memory training's state takes. */
int brim_train_prepare_model(brim_model *model, const brim_train_options *options, brim_error *err) BRIM_CHECK;
#endif
