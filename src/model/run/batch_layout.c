/* batch_layout.c: checks a batch against the model and lays it out: one slot a token when ragged, `width` slots a sequence when
 * padded. What padding holds is what Hugging Face puts there. */
#include <string.h>

#include "base/reduce_tree.h"
#include "base/status.h"
#include "model/run/fits.h"
#include "model/run/host.h"
#include "model/run/model.h"
#include "task/task.h"

static int32_t length_of(const brim_batch *batch, int32_t sequence) {
  return batch->offsets[sequence + 1] - batch->offsets[sequence];
}

/* ---- checks ----------------------------------------------------------------------------------------------- */

/* `row`: the one that the sequence is a text of. */
static int check_text(const brim_model *m, const brim_batch *batch, int32_t sequence, int32_t row, bool labels, brim_error *err) {
  const brim_sample text = brim_batch_text(batch, sequence, row);
  const brim_row_name name = {.row = text.row};
  BRIM_TRY(brim_row_fits(m, &text, 0, labels, name, err));
  if (batch->width != 0 && text.length > batch->width)
    return brim_row_error(err, BRIM_E_USAGE, name, "has %d tokens, more than the width %d of its batch", text.length,
                          batch->width);
  return BRIM_OK;
}

/* The model's losses compare each text, or each token, with a label. */
static int check_loss(const brim_batch *batch, bool labels, brim_error *err) {
  if (!labels || !batch->firsts || batch->token_labels)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE,
                        "the batch has rows of several texts, for which the model has no loss: compute it from its logits");
}

static int check_room(const brim_stage *stage, const brim_batch *batch, int64_t slots, brim_error *err) {
  const brim_model_limits *limits = &stage->limits;
  if (limits->max_slots == 0)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the model was not prepared for this kind of pass: call brim_model_prepare for it first");
  if (slots > limits->max_slots || batch->count > limits->max_sequences)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "a batch of %d rows and %lld slots is more than the model was prepared for, %d and %lld: prepare it for more",
        batch->count, (long long)slots, limits->max_sequences, (long long)limits->max_slots);
  return BRIM_OK;
}

static int check_longest(const brim_stage *stage, int32_t longest, brim_error *err) {
  if (longest > stage->limits.max_length)
    return brim_error_set(err, BRIM_E_USAGE,
                          "a row of %d slots is longer than the model was prepared for, %d: prepare it for longer ones", longest,
                          stage->limits.max_length);
  return BRIM_OK;
}

/* ---- slots ------------------------------------------------------------------------------------------------ */

/* fairseq's positions: tokens that are not padding are counted from pad_token_id + 1; padding has pad_token_id. */
static void write_positions(const brim_config *config, const int32_t *ids, int32_t count, int32_t *positions) {
  int32_t next = config->pad_id + 1;
  for (int32_t i = 0; i < count; i++) {
    if (!config->family->pad_positions)
      positions[i] = i;
    else
      positions[i] = ids[i] == config->pad_id ? config->pad_id : next++;
  }
}

/* One sequence into its slots, on the host; returns the slot after it. */
static int32_t lay_out_sequence(const brim_config *config, const brim_batch *batch, int32_t sequence, int32_t slot,
                                brim_slots *s) {
  const int32_t from = batch->offsets[sequence], length = length_of(batch, sequence);
  const int32_t room = batch->width ? batch->width : length, pad = config->pad_id < 0 ? 0 : config->pad_id;
  memcpy(s->ids + slot, batch->ids + from, (size_t)length * sizeof *s->ids);
  if (batch->type_ids && !config->ignores_types)
    memcpy(s->types + slot, batch->type_ids + from, (size_t)length);
  else
    memset(s->types + slot, 0, (size_t)length);
  for (int32_t i = length; i < room; i++) {
    s->ids[slot + i] = pad;
    s->types[slot + i] = 0;
  }
  for (int32_t i = 0; i < room; i++)
    s->sequence[slot + i] = sequence;
  write_positions(config, s->ids + slot, room, s->positions + slot);
  s->first[sequence] = s->offsets[sequence] = slot;
  s->lengths[sequence] = length;
  s->places[sequence] = batch->places ? batch->places[sequence] : (uint32_t)sequence;
  return slot + room;
}

/* Where slices end, where there are several. */
static int lay_out_slices(brim_model *m, const brim_stage *stage, const brim_batch *batch, bool training, brim_error *err) {
  brim_slice_ends *s = &m->slices;
  s->count = 0;
  for (int32_t i = 0; training && batch->slices && i < batch->count; i++) {
    if (i == 0 || batch->slices[i] != batch->slices[i - 1])
      s->names[s->count++] = batch->slices[i];
    s->texts[s->count - 1] = i + 1;
    s->slots[s->count - 1] = stage->laid[m->queued].offsets[i + 1];
  }
  if (s->count < 2) {
    s->count = 0;
    return BRIM_OK;
  }
  if (s->count > stage->limits.slices || !brim_model_joins_slices(m))
    return brim_error_set(err, BRIM_E_USAGE, "a batch has %d slices, but the model was prepared for %d at once", s->count,
                          brim_model_joins_slices(m) ? stage->limits.slices : 1);
  if (brim_reduce_tree_joins(s->names, s->count, s->joins) > brim_reduce_tree_depth(stage->limits.slices))
    return brim_error_set(err, BRIM_E_USAGE,
                          "a batch has %d slices with empty ones between them, but the model was prepared for %d: prepare it for "
                          "all slices of a step",
                          s->count, stage->limits.slices);
  return BRIM_OK;
}

/* Labels of tokens; padding has none. */
static void write_classes(const brim_batch *batch, int32_t sequence, brim_slots *s) {
  const int32_t from = batch->offsets[sequence], length = length_of(batch, sequence), slot = s->offsets[sequence];
  memcpy(s->classes + slot, batch->token_labels + from, (size_t)length * sizeof *s->classes);
  for (int32_t i = length; i < batch->width; i++)
    s->classes[slot + i] = BRIM_NO_LABEL;
}

/* Slots and labels of masked tokens: those with a label; without labels, where logits are asked for, all that are no padding. */
static int lay_out_chosen(brim_model *m, const brim_stage *stage, const brim_batch *batch, brim_slots *s, brim_error *err) {
  const int64_t most = brim_model_most_chosen(m, &stage->limits);
  const bool all = !batch->token_labels && stage->limits.logits;
  int32_t *chosen = &m->tape.chosen;
  for (int32_t i = 0; i < batch->count; i++)
    for (int32_t k = 0; k < length_of(batch, i); k++) {
      const int32_t label = batch->token_labels ? batch->token_labels[batch->offsets[i] + k] : BRIM_NO_LABEL;
      if (label == BRIM_NO_LABEL && !all)
        continue;
      if (*chosen == most)
        return brim_error_set(err, BRIM_E_USAGE,
                              "a batch has more than the %lld masked words that the model was prepared for: prepare it for more",
                              (long long)most);
      s->chosen[*chosen] = s->offsets[i] + k;
      s->classes[(*chosen)++] = label;
    }
  return BRIM_OK;
}

/* To the device. What was laid out stays as it is until the forward has its answer. */
static void send(brim_model *m, const brim_slots *from, const brim_slots *to, const brim_batch *batch, int32_t slots) {
  const size_t r = (size_t)slots, n = (size_t)batch->count, chosen = (size_t)m->tape.chosen;
  const struct {
    void *to;
    const void *from;
    size_t size;
  } pieces[] = {{to->ids, from->ids, r * sizeof *to->ids},
                {to->positions, from->positions, r * sizeof *to->positions},
                {to->sequence, from->sequence, r * sizeof *to->sequence},
                {to->types, from->types, r},
                {to->first, from->first, n * sizeof *to->first},
                {to->offsets, from->offsets, (n + 1) * sizeof *to->offsets},
                {to->lengths, from->lengths, n * sizeof *to->lengths},
                {to->places, from->places, n * sizeof *to->places},
                {to->skipped, from->skipped, to->skipped ? n * sizeof *to->skipped : 0},
                {to->classes, from->classes,
                 (to->chosen    ? chosen
                  : to->classes ? r
                                : 0) *
                     sizeof *to->classes},
                {to->chosen, from->chosen, (to->chosen ? chosen : 0) * sizeof *to->chosen}};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    if (pieces[i].size > 0)
      m->ops->write(&m->context, pieces[i].to, pieces[i].from, pieces[i].size);
}

/* Of text `number` of its row. */
static int32_t prompt_of(int32_t number) {
  return number < BRIM_MOST_PROMPTS ? number : BRIM_MOST_PROMPTS - 1;
}

static int lay_out(brim_model *m, brim_stage *stage, const brim_batch *batch, bool labels, brim_error *err) {
  brim_slots *s = &stage->laid[m->queued];
  const brim_slots *device = &stage->slots;
  const int32_t *prompts = batch->prompted ? batch->prompt_tokens : m->prompt_tokens;
  int32_t slot = 0, longest = 0;
  for (int32_t i = 0, row = 0; i < batch->count; i++) {
    row = !batch->firsts ? i : i == batch->firsts[row + 1] ? row + 1 : row;
    BRIM_TRY(check_text(m, batch, i, row, labels, err));
    longest = length_of(batch, i) > longest ? length_of(batch, i) : longest;
    slot = lay_out_sequence(&m->config, batch, i, slot, s);
    if (s->skipped)
      s->skipped[i] = prompts[prompt_of(batch->firsts ? i - batch->firsts[row] : 0)];
    if (labels && s->classes && !s->chosen)
      write_classes(batch, i, s);
  }
  s->offsets[batch->count] = slot;
  if (s->chosen)
    BRIM_TRY(lay_out_chosen(m, stage, batch, s, err));
  BRIM_TRY(check_longest(stage, batch->width ? batch->width : longest, err));
  if (!brim_model_is_host(m))
    send(m, s, device, batch, slot);
  m->tape.layout = (brim_layout){.n = batch->count,
                                 .slots = slot,
                                 .tokens = batch->offsets[batch->count],
                                 .max_length = longest,
                                 .offsets = device->offsets,
                                 .lengths = device->lengths,
                                 .places = device->places,
                                 .sequence = device->sequence};
  return BRIM_OK;
}

int brim_model_lay_out(brim_model *model, const brim_batch *batch, const brim_pass *pass, bool labels, brim_error *err) {
  brim_stage *stage = pass->training ? &model->train : &model->predict;
  const int64_t slots = batch->width ? (int64_t)batch->count * batch->width : batch->offsets[batch->count];
  model->tape = (brim_tape){0};
  BRIM_TRY(check_room(stage, batch, slots, err));
  if (labels && brim_model_shape(model)->bare)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the loss of embeddings is of all rows of a step: brim_train computes it, no pass does");
  BRIM_TRY(check_loss(batch, labels, err));
  if (pass->all_tokens && pass->training && !stage->limits.all_tokens)
    return brim_error_set(err, BRIM_E_USAGE, "the model was not prepared to compute the last layer for all tokens");
  BRIM_TRY(brim_length_fits(model, "the batch is padded to", batch->width, BRIM_E_USAGE, err));
  brim_model_enter(model, stage);
  BRIM_TRY(lay_out(model, stage, batch, labels, err));
  BRIM_TRY(lay_out_slices(model, stage, batch, pass->training, err));
  model->tape.stage = stage;
  model->tape.laid = &stage->laid[model->queued];
  model->tape.training = pass->training;
  model->tape.all_tokens = pass->all_tokens;
  return BRIM_OK;
}
