/* logits.c: outputs to the host, and their gradient back. Texts have a row each; of tokens the real ones are read and written,
 * one after another, and the gradient of padding is 0. */
#include "model/run/logits.h"

#include "base/status.h"
#include "model/run/host.h"
#include "model/run/model.h"
#include "task/task.h"

static bool has_tokens(const brim_model *m) {
  return brim_model_shape(m)->outputs == BRIM_OUTPUTS_OF_TOKENS;
}

static real *version_of(const brim_model *m, int32_t version) {
  return brim_version_address(m->tape.schedule, version, &m->tape.frame);
}

bool brim_model_has_card(const brim_model *model, int32_t *card) {
  *card = model->context.card;
  return !brim_model_is_host(model);
}

void brim_model_copy_logits(brim_model *model, int32_t row, float *to) {
  const real *from = version_of(model, model->tape.schedule->logits);
  const brim_slots *laid = model->tape.laid;
  const int32_t width = brim_model_outputs(model);
  const int64_t first = has_tokens(model) ? laid->offsets[row] : row, count = has_tokens(model) ? laid->lengths[row] : 1;
  model->ops->copy(&model->context, to, from + first * width, (size_t)(count * width) * sizeof *from);
}

/* ---- rows that adjoin on the device: of texts all, of tokens those of each text */

typedef struct stretch {
  int64_t there, here, count; /* elements: where they begin on the device and on the host, and how many there are */
} stretch;

static int32_t stretch_count(const brim_model *m, bool tokens) {
  return tokens ? m->tape.layout.n : m->tape.layout.n > 0;
}

/* Texts, or masked tokens. */
static int64_t row_count(const brim_model *m) {
  return brim_model_masks(m) ? m->tape.chosen : m->tape.layout.n;
}

/* `before`: the one before; all 0 for the first. */
static stretch stretch_at(const brim_model *m, bool tokens, int32_t width, int32_t i, stretch before) {
  const brim_slots *laid = m->tape.laid;
  if (!tokens)
    return (stretch){0, 0, row_count(m) * width};
  return (stretch){(int64_t)laid->offsets[i] * width, before.here + before.count, (int64_t)laid->lengths[i] * width};
}

/* `count` numbers of the device as floats, after sync. */
static void read_floats(brim_model *m, const real *from, int64_t count, float *to) {
#ifdef BRIM_REAL_DOUBLE /* whose memory is the host's */
  (void)m;
  for (int64_t i = 0; i < count; i++)
    to[i] = (float)from[i];
#else
  m->ops->read(&m->context, to, from, (size_t)count * sizeof *to);
#endif
}

static void copy_floats(brim_model *m, const real *from, bool tokens, int32_t width, float *to) {
  stretch r = {0};
  for (int32_t i = 0; i < stretch_count(m, tokens); i++) {
    r = stretch_at(m, tokens, width, i, r);
    read_floats(m, from + r.there, r.count, to + r.here);
  }
}

void brim_model_copy_out(brim_model *model, float *logits) {
  copy_floats(model, version_of(model, model->tape.schedule->logits), has_tokens(model), brim_model_outputs(model), logits);
}

int brim_model_read_outcomes(brim_model *model, int32_t first, int32_t count, brim_outcome *outcomes, brim_error *err) {
  const brim_tape *tape = &model->tape;
  if (!tape->stage || tape->backward_done || (tape->layout.n > 0 && tape->schedule->outcomes == BRIM_NONE))
    return brim_error_set(err, BRIM_E_USAGE, "outcomes are there only after a forward pass of masked words without logits");
  if (first < 0 || count < 0 || count > tape->chosen - first)
    return brim_error_set(err, BRIM_E_USAGE, "masked words %d to %d: the batch has %d", (int)first, (int)(first + count),
                          (int)tape->chosen);
  if (count > 0)
    model->ops->read(&model->context, outcomes, (const brim_outcome *)version_of(model, tape->schedule->outcomes) + first,
                     (size_t)count * sizeof *outcomes);
  return brim_model_settle(model, err);
}

int brim_model_hidden(brim_model *model, const brim_batch *batch, float *hidden, brim_error *err) {
  BRIM_GIVEN(err, model, batch, hidden);
  const brim_tape *tape = &model->tape;
  if (!tape->stage || !tape->all_tokens || tape->layout.n != batch->count || tape->backward_done)
    return brim_error_set(err, BRIM_E_USAGE, "hidden states exist only after a forward pass of this batch with all_tokens");
  if (batch->count > 0)
    copy_floats(model, version_of(model, tape->schedule->hidden), true, brim_model_hidden_size(model), hidden);
  return brim_model_settle(model, err);
}

bool brim_model_maps_hidden(const brim_model *model) {
  return brim_model_is_host(model) && sizeof(real) == sizeof(float);
}

bool brim_model_gives_first(const brim_model *model) {
  const brim_call_schedule *s = &model->predict.asked;
  return brim_model_maps_hidden(model) && s->hidden != BRIM_NONE && s->versions[s->hidden].rows == BRIM_ROW_CHOSEN;
}

int brim_model_map_hidden(brim_model *model, const float **out, brim_error *err) {
  const brim_tape *tape = &model->tape;
  *out = NULL;
  if (!tape->stage || tape->backward_done || tape->schedule->hidden == BRIM_NONE)
    return brim_error_set(err, BRIM_E_USAGE, "there are no hidden states: no pass has computed them");
  if (brim_model_maps_hidden(model)) {
    const void *at = version_of(model, tape->schedule->hidden);
    *out = at;
  }
  return brim_model_settle(model, err);
}

/* ---- losses that the host computes */

int brim_model_read_logits(brim_model *model, real *logits, brim_error *err) {
  const bool tokens = has_tokens(model);
  stretch r = {0};
  if (!model->tape.stage || model->tape.backward_done)
    return brim_error_set(err, BRIM_E_USAGE, "logits are there only after a forward pass, and before its backward");
  for (int32_t i = 0; i < stretch_count(model, tokens); i++) {
    r = stretch_at(model, tokens, brim_model_outputs(model), i, r);
    model->ops->read(&model->context, logits + r.here, version_of(model, model->tape.schedule->logits) + r.there,
                     (size_t)r.count * sizeof *logits);
  }
  return brim_model_settle(model, err);
}

/* Padding between the tokens of a padded batch. */
static void zero_gradient(brim_model *m, real *at) {
  const brim_zero op = {.count = (int64_t)m->tape.layout.slots * brim_model_outputs(m), .x = at};
  m->ops->zero(&m->context, &op);
}

static void write_gradient(brim_model *m, const real *gradient) {
  const bool tokens = has_tokens(m);
  real *to = version_of(m, m->tape.schedule->seed);
  stretch r = {0};
  if (tokens && m->tape.layout.slots > m->tape.layout.tokens)
    zero_gradient(m, to);
  for (int32_t i = 0; i < stretch_count(m, tokens); i++) {
    r = stretch_at(m, tokens, brim_model_outputs(m), i, r);
    m->ops->write(&m->context, to + r.there, gradient + r.here, (size_t)r.count * sizeof *gradient);
  }
}

int brim_model_seed(brim_model *model, const real *gradient, brim_error *err) {
  brim_tape *tape = &model->tape;
  if (!tape->stage || !tape->training || tape->backward_done || tape->frame.loss)
    return brim_error_set(err, BRIM_E_USAGE, "a gradient of logits must follow a training forward pass that computes no loss");
  if (tape->layout.n > 0 && tape->schedule->seed == BRIM_NONE)
    return brim_error_set(err, BRIM_E_USAGE, "the model has nothing to train: its logits have no gradient");
  if (tape->layout.n > 0)
    write_gradient(model, gradient);
  tape->seeded = true;
  return BRIM_OK;
}
