#include "model/run/fits.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "model/run/model.h"

int brim_length_fits(const brim_model *model, const char *what, int32_t length, int status, brim_error *err) {
  const int32_t most = brim_config_max_length(&model->config);
  if (length <= most)
    return BRIM_OK;
  return brim_error_set(err, status, "%s %d tokens, but the model has positions for %d: use max_length %d", what, length, most,
                        most);
}

int brim_features_fit(const brim_model *model, uint32_t features, brim_error *err) {
#define REFUSAL(name, words) words,
  static const char *const refusals[BRIM_FEATURES] = {BRIM_FEATURES_LIST(REFUSAL)};
#undef REFUSAL
  const uint32_t lacking = features & ~model->ops->features;
  for (int i = 0; i < BRIM_FEATURES; i++)
    if (refusals[i] && lacking & 1u << i)
      return brim_error_set(err, BRIM_E_UNSUPPORTED, refusals[i], model->ops->name, brim_model_type(model));
  return BRIM_OK;
}

static int length_fits(const brim_model *m, int32_t length, brim_row_name name, brim_error *err) {
  char what[200];
  snprintf(what, sizeof what, "%s%srow %llu has", name.set ? name.set : "", name.set ? ": " : "", name.row);
  return length < 1 ? brim_row_error(err, BRIM_E_FORMAT, name, "has no tokens")
                    : brim_length_fits(m, what, length, BRIM_E_MISMATCH, err);
}

static int tokens_fit(const brim_model *m, const brim_sample *row, brim_row_name name, brim_error *err) {
  const int32_t types = m->config.ignores_types ? 0 : m->config.types, words = m->config.vocab_size;
  for (int32_t i = 0; i < row->length; i++) {
    if (row->ids[i] < 0 || row->ids[i] >= words)
      return brim_row_error(err, BRIM_E_MISMATCH, name, "has token id %d, but the model has ids 0 to %d: use its own tokenizer",
                            row->ids[i], words - 1);
    if (types > 0 && row->type_ids && row->type_ids[i] >= types)
      return brim_row_error(err, BRIM_E_MISMATCH, name,
                            "has token type %d, but the model has types 0 to %d: use its own tokenizer", row->type_ids[i],
                            types - 1);
  }
  return BRIM_OK;
}

static int labels_fit(const brim_model *m, const brim_sample *row, brim_row_name name, brim_error *err) {
  const brim_labels *labels = &m->config.labels;
  if (row->token_labels)
    return brim_token_labels_fit(labels->task, labels->count, row->token_labels, row->length, name, err);
  return brim_label_fits(labels->task, labels->count, row->labels ? row->labels : &row->label, row->labels ? row->label_width : 1,
                         false, name, err);
}

int brim_row_fits(const brim_model *model, const brim_sample *row, int32_t cut, bool labels, brim_row_name name,
                  brim_error *err) {
  for (int32_t i = 0; i < (row->text_lengths ? row->text_count : 1); i++) {
    const int32_t length = row->text_lengths ? row->text_lengths[i] : cut > 0 && row->length > cut ? cut : row->length;
    BRIM_TRY(length_fits(model, length, name, err));
  }
  BRIM_TRY(tokens_fit(model, row, name, err));
  return labels ? labels_fit(model, row, name, err) : BRIM_OK;
}

brim_sample brim_batch_text(const brim_batch *batch, int32_t text, int32_t row) {
  const int32_t from = batch->offsets[text], width = batch->label_width > 0 ? batch->label_width : 1;
  return (brim_sample){.ids = batch->ids + from,
                       .type_ids = batch->type_ids ? batch->type_ids + from : NULL,
                       .length = batch->offsets[text + 1] - from,
                       .labels = batch->labels ? batch->labels + (int64_t)row * width : NULL,
                       .label = (float)NAN,
                       .label_width = width,
                       .token_labels = batch->token_labels ? batch->token_labels + from : NULL,
                       .row = batch->rows ? batch->rows[row] : (uint64_t)row};
}
