/* save.c: what only the single-precision build has: the flat buffers as floats, and files of them. */
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/parts.h"
#include "model/files/safetensors.h"
#include "model/files/sentence.h"
#include "model/run/ask.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model/run/model.h"
#include "text/files.h"

float *brim_model_values(brim_model *model) {
  brim_model_catch_up(model);
  model->int8_made = model->half_made = false; /* they may be written to */
  return brim_model_is_host(model) ? model->values : NULL;
}
float *brim_model_gradients(brim_model *model) {
  return brim_model_is_host(model) ? model->gradients : NULL;
}
float *brim_model_state0(brim_model *model) {
  brim_model_catch_up(model);
  return brim_model_is_host(model) ? model->states[0] : NULL;
}
float *brim_model_state1(brim_model *model) {
  brim_model_catch_up(model);
  return brim_model_is_host(model) ? model->states[1] : NULL;
}

/* *at: where these elements of the parameter table are in a buffer. */
static int find_elements(const brim_model *m, brim_flat which, int64_t offset, int64_t count, real **at, brim_error *err) {
  const brim_trained_range all = {.count = m->program.flat_size}, *ranges = which == BRIM_VALUES ? &all : m->trained.ranges;
  const int32_t range_count = which == BRIM_VALUES ? 1 : m->trained.count;
  if (!m->values)
    return brim_model_no_values(err);
  if ((unsigned)which > BRIM_STATE1 || !brim_flat_at(m, which))
    return brim_error_set(err, BRIM_E_USAGE,
                          "the model has no such buffer: prepare it for training first, with an optimizer that keeps it");
  for (int32_t i = 0; i < range_count; i++) {
    const int64_t first = offset < 0 ? -1 : offset - ranges[i].value;
    if (first < 0 || count < 0 || count > ranges[i].count - first)
      continue;
    *at = brim_flat_at(m, which) + ranges[i].offset + first;
    return BRIM_OK;
  }
  return brim_error_set(err, BRIM_E_USAGE,
                        "%lld elements from %lld on are not in this buffer: all of them must be %s, in one range",
                        (long long)count, (long long)offset, which == BRIM_VALUES ? "there" : "trained");
}

int brim_model_read(brim_model *model, brim_flat which, int64_t offset, int64_t count, float *to, brim_error *err) {
  BRIM_GIVEN(err, model);
  BRIM_ARRAY(err, to, count);
  real *at = NULL;
  BRIM_TRY(find_elements(model, which, offset, count, &at, err));
  if (which != BRIM_GRADIENTS)
    brim_model_catch_up(model);
  model->ops->read(&model->context, to, at, (size_t)count * sizeof(float));
  return model->ops->sync(&model->context, err);
}

int brim_model_write(brim_model *model, brim_flat which, int64_t offset, int64_t count, const float *from, brim_error *err) {
  BRIM_GIVEN(err, model);
  BRIM_ARRAY(err, from, count);
  real *at = NULL;
  BRIM_TRY(find_elements(model, which, offset, count, &at, err));
  if (which != BRIM_GRADIENTS)
    brim_model_catch_up(model);
  model->ops->write(&model->context, at, from, (size_t)count * sizeof(float));
  BRIM_TRY(model->ops->sync(&model->context, err));
  if (which == BRIM_GRADIENTS)
    brim_model_gradients_written(model);
  else
    brim_model_state_written(model);
  return BRIM_OK;
}

int brim_model_set_similarity(brim_model *model, const char *name, brim_error *err) {
  return model->sentence ? brim_sentence_set_similarity(model->sentence, name, err) : BRIM_OK;
}

int brim_model_set_prompts(brim_model *model, const char *const names[BRIM_MOST_PROMPTS],
                           const char *const texts[BRIM_MOST_PROMPTS], const int32_t tokens[BRIM_MOST_PROMPTS], brim_error *err) {
  if (!model->sentence)
    return brim_error_set(err, BRIM_E_USAGE, "prompts are of models of embeddings");
  BRIM_TRY(brim_sentence_set_prompts(model->sentence, names, texts, err));
  memcpy(model->prompt_tokens, tokens, sizeof model->prompt_tokens);
  return BRIM_OK;
}

/* The bias of an untied decoder once more, under the name where transformers looks for the one that it does not read. */
static int32_t add_idle_bias(const brim_config *config, brim_tensor *tensors, int32_t count) {
  const char *name = brim_config_idle_bias(config);
  for (int32_t i = 0; i < count && name; i++)
    if (strcmp(tensors[i].name, config->family->names->words.untied_bias) == 0) {
      tensors[count] = tensors[i];
      tensors[count].name = name;
      return count + 1;
    }
  return count;
}

bool brim_model_takes_words(const brim_model *model) {
  return brim_model_shape(model)->words;
}

/* Weights, and what of them is in folders of modules. */
static int write_weights(brim_model *model, const char *folder, brim_error *err) {
  const brim_program *p = &model->program;
  float *values = NULL;
  char *path = brim_path_join(model->runtime, folder, "model.safetensors");
  brim_tensor *tensors = brim_alloc_array(model->runtime, p->weight_count + 1, sizeof *tensors);
  int status = path && tensors ? brim_flat_map(model, BRIM_VALUES, &values, err) : BRIM_NOMEM(err);
  for (int32_t i = 0; i < (int32_t)p->weight_count && !status; i++)
    tensors[i] = (brim_tensor){.name = p->weights[i].is.name,
                               .rank = p->weights[i].is.rank,
                               .shape = {p->weights[i].is.shape[0], p->weights[i].is.shape[1]},
                               .data = values + p->weights[i].is.offset};
  if (!status)
    status = brim_tensors_write(model->runtime, path, tensors, add_idle_bias(&model->config, tensors, (int32_t)p->weight_count),
                                err);
  if (!status)
    status = brim_sentence_save(model->sentence, model->runtime, &model->config, tensors, (int32_t)p->weight_count, folder, err);
  if (values)
    brim_flat_unmap(model, values);
  brim_release(model->runtime, tensors);
  brim_release(model->runtime, path);
  return status;
}

static int write_tokenizer(const brim_model *model, const brim_tokenizer *tokenizer, const brim_saving *saving,
                           const char *folder, brim_error *err) {
  const brim_tokenizer_saving how = {.max_length = saving->max_length,
                                     .words = brim_model_takes_words(model),
                                     .no_type_ids = !brim_model_reads_types(model),
                                     .windows = saving->windows,
                                     .cutting = saving->cutting};
  return brim_tokenizer_write(tokenizer, folder, &how, err); /* brim_model_look has looked */
}

int brim_model_save(brim_model *model, const brim_tokenizer *tokenizer, const brim_saving *saving, const char *folder,
                    brim_saved *saved, brim_error *err) {
  BRIM_GIVEN(err, model, folder);
  brim_saved ignored;
  brim_saving how = saving ? *saving : (brim_saving){0};
  if (!model->values)
    return brim_model_no_values(err);
  BRIM_TRY(brim_make_folder(model->runtime, folder, err));
  BRIM_TRY(brim_model_look(model, tokenizer, folder, saved ? saved : &ignored, err));
  if (tokenizer)
    BRIM_TRY(write_tokenizer(model, tokenizer, &how, folder, err));
  BRIM_TRY(write_weights(model, folder, err));
  BRIM_TRY(brim_config_save(model->runtime, &model->config, folder, err));
  if (tokenizer && !how.cutting.truncation)
    how.cutting.truncation = brim_tokenizer_truncation(tokenizer);
  return brim_readme_save(model->runtime, &model->config, &how, folder, err);
}
