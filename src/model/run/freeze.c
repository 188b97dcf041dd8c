/* freeze.c: what training leaves as it is. Sections are frozen from below, so that backward may stop at the lowest trained one
 * and gradients and moments are the end of the flat buffers. */
#include "model/run/freeze.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "model/run/model.h"

/* Digits alone, from 1 on. */
static bool read_layers(const char *text, int32_t *out) {
  int64_t count = 0;
  if (!brim_number_integer(text, strlen(text), &count) || count < 1 || count > BRIM_FREEZE_MOST_LAYERS)
    return false;
  *out = (int32_t)count;
  return true;
}

int brim_freeze_parse(const char *what, int32_t *out, brim_error *err) {
  static const char prefix[] = "layers:";
  int32_t layers = 0;
  *out = 0;
  if (!what || !*what)
    return BRIM_OK;
  if (strcmp(what, "encoder") == 0) {
    *out = BRIM_FREEZE_ENCODER;
    return BRIM_OK;
  }
  const bool prefixed = strncmp(what, prefix, strlen(prefix)) == 0;
  if (strcmp(what, "embeddings") != 0 && !read_layers(prefixed ? what + strlen(prefix) : what, &layers))
    return brim_error_set(err, BRIM_E_USAGE,
                          "freeze is \"%.40s\": use embeddings, layers:N (the embeddings and the lowest N layers, from 1 on) or "
                          "encoder (all but the head)",
                          what);
  *out = 1 + layers;
  return BRIM_OK;
}

/* So many sections from below. */
static void name_frozen(brim_model *m, int32_t frozen) {
  const int32_t layers = brim_layer_count(&m->program);
  if (frozen > 1 && frozen <= layers)
    snprintf(m->frozen_name, sizeof m->frozen_name, "layers:%d", frozen - 1);
  else
    snprintf(m->frozen_name, sizeof m->frozen_name, "%s", frozen > layers ? "encoder" : frozen ? "embeddings" : "");
}

/* Gradients and states of others are given back. */
static void train_these(brim_model *m, const bool *weights) {
  brim_model_catch_up(m);
  if (!brim_trained_set(&m->trained, &m->program, weights))
    return;
  brim_model_release_state(m);
  m->tape = (brim_tape){0};
}

int brim_model_freeze(brim_model *model, const char *what, brim_error *err) {
  const int32_t layers = brim_layer_count(&model->program);
  int32_t frozen;
  BRIM_TRY(brim_freeze_parse(what, &frozen, err));
  if (frozen == BRIM_FREEZE_ENCODER)
    frozen = 1 + layers;
  if (frozen > 1 + layers)
    return brim_error_set(err, BRIM_E_USAGE, "%d layers cannot be frozen: the model has %d", frozen - 1, layers);
  if (frozen - 1 > layers - model->reinit_layers)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "%d of %d layers cannot be frozen: the top %d are new (reinit_layers), and would stay random; freeze fewer", frozen - 1,
        layers, model->reinit_layers);
  if (brim_program_shares(&model->program, frozen))
    return brim_error_set(err, BRIM_E_USAGE,
                          "%d layers cannot be frozen alone: layers above have the same weights; take embeddings or encoder",
                          frozen - 1);
  bool *trained = brim_alloc_array(model->runtime, model->program.weight_count, sizeof *trained);
  if (!trained)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < model->program.weight_count; i++)
    trained[i] = model->program.weights[i].section >= frozen;
  train_these(model, trained);
  brim_release(model->runtime, trained);
  name_frozen(model, frozen);
  return BRIM_OK;
}

const char *brim_model_frozen(const brim_model *model) {
  return model->frozen_name;
}
