/* memory.c: plans and takes a model's memory: one block for training's state, one block that passes are carved from.
 *
 *   state block   gradients | moment 1 | moment 2 | ranges | past updates | bytes of rows: touched | alive | done | wanted
 *   int8 block    a table of the layers' quantized weights | the weights, layer by layer
 *   work block    what a training pass carves, or what a prediction carves, whichever is larger */
#include <string.h>

#include "base/memory.h"
#include "base/poison.h"
#include "base/status.h"
#include "model/model.h"

enum { LINE = 64 }; /* alignment of every piece */

/* Hands out pieces of a block; with base NULL it only counts. */
typedef struct carver {
  char *base;
  size_t used;
} carver;

/* With AddressSanitizer there is a guard behind every piece, which nobody may touch. */
static void *carve(carver *c, size_t count, size_t size) {
  const size_t bytes = count * size, room = (bytes + LINE - 1) / LINE * LINE + BRIM_RED_ZONE;
  char *piece = c->base ? c->base + c->used : NULL;
  if (piece) {
    brim_unpoison(piece, bytes);
    brim_poison(piece + bytes, room - bytes);
  }
  c->used += room;
  return piece;
}

static real *carve_reals(carver *c, int64_t rows, int64_t width) {
  return carve(c, (size_t)rows * (size_t)width, sizeof(real));
}

/* Room to move the beginning of a block to a line. */
static size_t block_size(const carver *c) {
  return c->used + LINE;
}

static char *align_block(void *block) {
  return (char *)(((uintptr_t)block + LINE - 1) / LINE * LINE);
}

/* ---- pieces of a pass ------------------------------------------------------------------------------------- */

static void carve_layout(carver *c, const brim_model_limits *limits, brim_slots *s) {
  const size_t slots = (size_t)limits->max_slots, n = (size_t)limits->max_sequences;
  s->ids = carve(c, slots, sizeof *s->ids);
  s->positions = carve(c, slots, sizeof *s->positions);
  s->sequence = carve(c, slots, sizeof *s->sequence);
  s->types = carve(c, slots, sizeof *s->types);
  s->first = carve(c, n, sizeof *s->first);
  s->offsets = carve(c, n + 1, sizeof *s->offsets);
  s->lengths = carve(c, n, sizeof *s->lengths);
  s->places = carve(c, n, sizeof *s->places);
}

/* A layer whose tensors have `rows` rows, and whose keys and values have `slots`. */
static void carve_kept_layer(carver *c, const brim_config *config, int64_t slots, int64_t rows, brim_layer_slots *l) {
  *l = (brim_layer_slots){0};
  l->qkv = carve_reals(c, slots, (rows < slots ? 2 : 3) * (int64_t)config->hidden);
  l->context = carve_reals(c, rows, config->hidden);
  l->lse = carve_reals(c, rows, config->heads);
  l->attention_sum = carve_reals(c, rows, config->hidden);
  l->attention_mean = carve_reals(c, rows, 1);
  l->attention_rstd = carve_reals(c, rows, 1);
  l->pre = carve_reals(c, rows, config->intermediate);
  l->output_sum = carve_reals(c, rows, config->hidden);
  l->output_mean = carve_reals(c, rows, 1);
  l->output_rstd = carve_reals(c, rows, 1);
}

/* Layers that keep nothing share all memory, sums lie in the memory of what they add to. */
static void carve_passing(carver *c, const brim_config *config, int64_t slots, int32_t layers, brim_slots *s) {
  brim_layer_slots one = {
      .qkv = s->wide,
      .context = s->branch,
      .lse = carve_reals(c, slots, config->heads),
      .attention_mean = carve_reals(c, slots, 1),
      .attention_rstd = carve_reals(c, slots, 1),
      .attention_sum = s->x,
      .output_sum = s->y,
  };
  one.output_mean = one.attention_mean;
  one.output_rstd = one.attention_rstd;
  for (int32_t i = 0; s->layers && i < layers; i++)
    s->layers[i] = one;
}

static brim_bfloat *carve_bfloats(carver *c, int64_t rows, int64_t width) {
  return carve(c, (size_t)rows * (size_t)width, sizeof(brim_bfloat));
}

/* The set that layers with copies share: what of attention is kept before the rest is there lies where the rest will be. */
static void carve_shared_layer(carver *c, const brim_config *config, int64_t slots, brim_layer_slots *l) {
  const int64_t hidden = config->hidden, intermediate = config->intermediate;
  *l = (brim_layer_slots){.attention_sum = carve_reals(c, slots, hidden), .output_sum = carve_reals(c, slots, hidden)};
  l->pre = carve_reals(c, slots, intermediate < 3 * hidden ? 3 * hidden : intermediate);
  l->qkv = l->pre;
  l->context = l->output_sum;
}

/* A copy of the shared set in 16 bits; sums that must stay exact are the layer's own. */
static void carve_narrow_layer(carver *c, const brim_config *config, int64_t slots, int64_t rows, brim_layer_slots *l) {
  brim_narrow_slots *n = &l->narrow;
  n->qkv = carve_bfloats(c, slots, (rows < slots ? 2 : 3) * (int64_t)config->hidden);
  n->context = carve_bfloats(c, rows, config->hidden);
  n->attention_sum = carve_bfloats(c, rows, config->hidden);
  n->pre = carve_bfloats(c, rows, config->intermediate);
  n->output_sum = carve_bfloats(c, rows, config->hidden);
  l->lse = carve_reals(c, rows, config->heads);
  l->attention_mean = carve_reals(c, rows, 1);
  l->attention_rstd = carve_reals(c, rows, 1);
  l->output_mean = carve_reals(c, rows, 1);
  l->output_rstd = carve_reals(c, rows, 1);
}

/* As in training, for a prediction in 16 bits; the branch is not in use between layers. */
static void round_inputs(brim_slots *s, int32_t layers) {
  for (int32_t i = 0; s->layers && i < layers; i++)
    s->layers[i].narrow.input = (brim_bfloat *)s->branch;
}

/* Two layers, of which the last keeps little, take no less memory with copies and what the copies are made of. */
static bool is_narrow(const brim_model_limits *limits, const brim_config *config, int32_t lowest) {
  return limits->precision == BRIM_PRECISION_BF16 && lowest < config->layers - 2;
}

/* Layers from `lowest` on: each with a set of its own, or with its input alone and one set for all. */
static void carve_kept(carver *c, const brim_config *config, const brim_model_limits *limits, int32_t lowest, brim_slots *s) {
  const int64_t slots = limits->max_slots;
  const int32_t last = config->layers - 1;
  const bool all_tokens = limits->all_tokens || config->pooling != BRIM_POOLING_CLS;
  const int64_t last_rows = all_tokens || limits->max_sequences > slots ? slots : limits->max_sequences;
  const bool narrow = is_narrow(limits, config, lowest), again = limits->checkpoint_activations && lowest < last;
  brim_layer_slots shared = {0}, unused; /* while counting there are no slots yet */
  if (again)
    carve_kept_layer(c, config, slots, slots, &shared);
  else if (narrow)
    carve_shared_layer(c, config, slots, &shared);
  for (int32_t i = lowest; i <= last; i++) {
    brim_layer_slots *layer = s->layers ? &s->layers[i] : &unused;
    const int64_t rows = i == last ? last_rows : slots;
    *layer = shared;
    if (narrow && !again)
      carve_narrow_layer(c, config, slots, rows, layer);
    else if (!again)
      carve_kept_layer(c, config, slots, rows, layer);
    if (narrow)
      layer->narrow.input = carve_bfloats(c, slots, config->hidden);
    else if (i == lowest || again)
      layer->input = carve_reals(c, slots, config->hidden);
  }
}

static void carve_training(carver *c, const brim_model *m, const brim_model_limits *limits, brim_slots *s) {
  const brim_config *config = &m->config;
  const int64_t slots = limits->max_slots, n = limits->max_sequences;
  const int32_t lowest = brim_model_lowest_layer(m);
  s->dlogits = carve_reals(c, n, config->labels.count);
  s->head_gradient = carve_reals(c, n, config->hidden);
  if (lowest < config->layers)
    s->gradient = carve_reals(c, slots, config->hidden);
  const bool narrow = is_narrow(limits, config, lowest);
  s->embed_sum = m->frozen || narrow ? s->y : carve_reals(c, slots, config->hidden);
  if (narrow && !m->frozen)
    s->narrow_embed_sum = carve_bfloats(c, slots, config->hidden);
  if (lowest > 0)
    carve_passing(c, config, slots, lowest, s);
  carve_kept(c, config, limits, lowest, s);
}

static void carve_prediction(carver *c, const brim_model *m, const brim_model_limits *limits, brim_slots *s) {
  s->embed_sum = s->y;
  carve_passing(c, &m->config, limits->max_slots, m->config.layers, s);
  if (is_narrow(limits, &m->config, 0))
    round_inputs(s, m->config.layers);
}

static void carve_slots(const brim_model *m, const brim_model_limits *limits, carver *c, brim_slots *s) {
  const brim_config *config = &m->config;
  const int64_t slots = limits->max_slots, n = limits->max_sequences, hidden = config->hidden;
  const brim_ops_limits ops = {.max_slots = slots,
                               .max_sequences = limits->max_sequences,
                               .max_length = limits->max_length,
                               .hidden = config->hidden,
                               .intermediate = config->intermediate,
                               .heads = config->heads,
                               .int8 = limits->precision == BRIM_PRECISION_INT8};
  *s = (brim_slots){.layers = s->layers};
  carve_layout(c, limits, s);
  s->embed_mean = carve_reals(c, slots, 1);
  s->embed_rstd = carve_reals(c, slots, 1);
  s->x = carve_reals(c, slots, hidden);
  s->y = carve_reals(c, slots, hidden);
  s->branch = carve_reals(c, slots, hidden);
  s->wide = carve_reals(c, slots, config->intermediate < 3 * hidden ? 3 * hidden : config->intermediate);
  s->first_input = carve_reals(c, n, hidden);
  s->first_query = carve_reals(c, n, hidden);
  if (config->pooling == BRIM_POOLING_MAX)
    s->chosen = carve(c, (size_t)(n * hidden), sizeof *s->chosen);
  s->head_input = carve_reals(c, n, hidden);
  s->head_hidden = carve_reals(c, n, hidden);
  s->head_dropped = carve_reals(c, n, hidden);
  s->logits = carve_reals(c, n, config->labels.count);
  if (limits->training)
    carve_training(c, m, limits, s);
  else
    carve_prediction(c, m, limits, s);
  s->workspace_size = m->ops->workspace(&m->context, &ops);
  s->workspace = carve(c, s->workspace_size, 1);
}

static size_t stage_size(const brim_model *m, const brim_model_limits *limits) {
  carver count = {0};
  brim_slots unused = {0};
  carve_slots(m, limits, &count, &unused);
  return block_size(&count);
}

/* What is prepared for training serves predictions too. */
static brim_model_limits without_training(const brim_model_limits *limits) {
  brim_model_limits predict = *limits;
  predict.training = false;
  return predict;
}

static size_t work_size(const brim_model *m, const brim_model_limits *limits) {
  const brim_model_limits predict = without_training(limits);
  const size_t for_training = limits->training ? stage_size(m, limits) : 0, for_prediction = stage_size(m, &predict);
  return for_training > for_prediction ? for_training : for_prediction;
}

/* ---- training's state ------------------------------------------------------------------------------------- */

typedef struct state_pieces {
  real *gradients, *moment1, *moment2;
  brim_update_range *ranges;
  uint8_t *touched, *alive, *done, *wanted;
  size_t table_rows;
  brim_update_step *past;
  int32_t first; /* trained parameter */
} state_pieces;

/* Of what is trained: the parameters from some index on. */
static state_pieces carve_state(const brim_model *m, carver *c) {
  const brim_parameters *p = &m->parameters;
  const int64_t trained = p->flat_size - m->trained;
  state_pieces s = {0};
  while (p->list[s.first].offset < m->trained)
    s.first++;
  s.gradients = carve_reals(c, trained, 1);
  s.moment1 = carve_reals(c, trained, 1);
  s.moment2 = carve_reals(c, trained, 1);
  s.ranges = carve(c, (size_t)(p->count - s.first), sizeof *s.ranges);
  for (int32_t i = s.first; i < p->count; i++)
    if (p->list[i].sparse_rows)
      s.table_rows += (size_t)p->list[i].shape[0];
  s.past = carve(c, s.table_rows > 0 ? BRIM_UPDATE_PAST : 0, sizeof *s.past);
  s.touched = carve(c, s.table_rows, 1);
  s.alive = carve(c, s.table_rows, 1);
  s.done = carve(c, s.table_rows, 1);
  s.wanted = carve(c, s.table_rows, 1);
  return s;
}

static void make_ranges(brim_model *m, int32_t first) {
  size_t row = 0;
  m->range_count = m->parameters.count - first;
  for (int32_t i = 0; i < m->range_count; i++) {
    const brim_parameter *p = &m->parameters.list[first + i];
    m->ranges[i] = (brim_update_range){.offset = p->offset - m->trained, .count = p->count, .decay = p->decay, .rate = 1};
    if (!p->sparse_rows)
      continue;
    m->ranges[i].row_size = p->shape[1];
    m->ranges[i].touched = m->touched + row;
    m->ranges[i].alive = m->alive + row;
    m->ranges[i].done = m->done + row;
    m->ranges[i].wanted = m->wanted + row;
    row += (size_t)p->shape[0];
  }
}

/* Zeroed: no gradient, no moments, no row touched, alive or late. */
static int take_state(brim_model *m, brim_error *err) {
  carver c = {0};
  carve_state(m, &c);
  const size_t size = block_size(&c);
  void *block = brim_alloc_zero(m->runtime, size);
  if (!block)
    return BRIM_NOMEM(err);
  c = (carver){.base = align_block(block)};
  const state_pieces s = carve_state(m, &c);
  m->state_block = block;
  m->state_size = size;
  m->gradients = s.gradients;
  m->moment1 = s.moment1;
  m->moment2 = s.moment2;
  m->ranges = s.ranges;
  m->touched = s.touched;
  m->alive = s.alive;
  m->done = s.done;
  m->wanted = s.wanted;
  m->past = s.past;
  m->past_count = 0;
  m->table_rows = s.table_rows;
  m->dirty = false;
  make_ranges(m, s.first);
  return BRIM_OK;
}

/* ---- quantized weights ------------------------------------------------------------------------------------ */

static brim_int8 carve_int8(const brim_model *m, carver *c, int32_t in, int32_t out) {
  return (brim_int8){.in = in, .out = out, .packed = carve(c, m->ops->int8_size(in, out), 1)};
}

static brim_int8_layer *carve_int8_layers(const brim_model *m, carver *c) {
  const int32_t hidden = m->config.hidden, intermediate = m->config.intermediate;
  brim_int8_layer *layers = carve(c, (size_t)m->config.layers, sizeof *layers), unused;
  for (int32_t i = 0; i < m->config.layers; i++) {
    brim_int8_layer *layer = layers ? &layers[i] : &unused;
    layer->query = carve_int8(m, c, hidden, hidden);
    layer->keys_values = carve_int8(m, c, hidden, 2 * hidden);
    layer->attention_output = carve_int8(m, c, hidden, hidden);
    layer->up = carve_int8(m, c, hidden, intermediate);
    layer->down = carve_int8(m, c, intermediate, hidden);
  }
  return layers;
}

static size_t int8_size(const brim_model *m) {
  carver count = {0};
  carve_int8_layers(m, &count);
  return block_size(&count);
}

static int take_int8(brim_model *m, brim_error *err) {
  const size_t size = int8_size(m);
  void *block = brim_alloc(m->runtime, size);
  if (!block)
    return BRIM_NOMEM(err);
  carver c = {.base = align_block(block)};
  m->int8_block = block;
  m->int8_size = size;
  m->int8_layers = carve_int8_layers(m, &c);
  m->int8_made = false;
  return BRIM_OK;
}

/* ---- entry ------------------------------------------------------------------------------------------------ */

uint64_t brim_model_state_memory(const brim_model *model) {
  carver count = {0};
  carve_state(model, &count);
  return block_size(&count);
}

uint64_t brim_model_memory(const brim_model *model, const brim_model_limits *limits) {
  const uint64_t state = limits->training ? brim_model_state_memory(model) : 0;
  return work_size(model, limits) + state + (limits->precision == BRIM_PRECISION_INT8 ? int8_size(model) : 0);
}

static int check_limits(const brim_model *m, const brim_model_limits *limits, brim_error *err) {
  const int32_t longest = brim_config_max_length(&m->config);
  if (limits->max_slots < 1 || limits->max_slots > INT32_MAX || limits->max_sequences < 1 || limits->max_length < 1)
    return brim_error_set(err, BRIM_E_USAGE, "a model must be prepared for at least one token, and at most 2147483647 at once");
  if (limits->precision == BRIM_PRECISION_FP16)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "fp16 needs a device with 16-bit arithmetic: take bf16 or fp32 on a CPU");
  if (limits->precision == BRIM_PRECISION_INT8 && limits->training)
    return brim_error_set(err, BRIM_E_USAGE, "int8 is for predictions: train in fp32 or bf16");
  if (limits->precision == BRIM_PRECISION_INT8 && (m->config.hidden >= 1 << 17 || m->config.intermediate >= 1 << 17))
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "int8 has sums of 32 bits: layers must be narrower than 131072");
  if (limits->max_length > longest)
    return brim_error_set(err, BRIM_E_USAGE, "texts of %d tokens do not fit: the model has positions for %d; set max_length",
                          limits->max_length, longest);
  return BRIM_OK;
}

static void carve_stage(const brim_model *m, const brim_model_limits *limits, brim_stage *stage) {
  carver c = {.base = align_block(m->work_block)};
  stage->limits = *limits;
  carve_slots(m, limits, &c, &stage->slots);
}

/* Makes the block usable as this stage carves it: only AddressSanitizer needs to be told. */
static void guard_stage(const brim_model *m, const brim_stage *stage) {
  if (BRIM_RED_ZONE == 0)
    return;
  carver c = {.base = align_block(m->work_block)};
  brim_slots same = {.layers = stage->slots.layers};
  brim_unpoison(m->work_block, m->work_size);
  carve_slots(m, &stage->limits, &c, &same);
}

void brim_model_enter(brim_model *model, const brim_stage *stage) {
  guard_stage(model, stage);
  model->context.workspace = stage->slots.workspace;
  model->context.workspace_size = stage->slots.workspace_size;
}

static void release_work(brim_model *m) {
  if (m->work_block)
    brim_unpoison(m->work_block, m->work_size);
  brim_release(m->runtime, m->work_block);
  m->work_block = NULL;
  m->work_size = 0;
}

void brim_model_release_state(brim_model *model) {
  if (model->state_block)
    brim_unpoison(model->state_block, model->state_size);
  brim_release(model->runtime, model->state_block);
  model->state_block = NULL;
  model->gradients = model->moment1 = model->moment2 = NULL;
  model->train.limits.max_slots = 0;
}

void brim_model_release_memory(brim_model *model) {
  release_work(model);
  brim_model_release_int8(model);
  brim_model_release_state(model);
}

static int take_work(brim_model *m, size_t size, brim_error *err) {
  release_work(m);
  m->train.limits.max_slots = m->predict.limits.max_slots = 0;
  m->work_block = brim_alloc(m->runtime, size);
  if (!m->work_block)
    return BRIM_NOMEM(err);
  m->work_size = size;
  return BRIM_OK;
}

int brim_model_prepare(brim_model *model, const brim_model_limits *limits, brim_error *err) {
  BRIM_TRY(check_limits(model, limits, err));
  const brim_model_limits train = limits->training ? *limits : model->train.limits, predict = without_training(limits);
  size_t size = work_size(model, limits);
  if (train.max_slots > 0 && work_size(model, &train) > size)
    size = work_size(model, &train);
  model->tape = (brim_tape){0};
  if (limits->training && !model->state_block)
    BRIM_TRY(take_state(model, err));
  if (predict.precision == BRIM_PRECISION_INT8 && !model->int8_block)
    BRIM_TRY(take_int8(model, err));
  if (size > model->work_size)
    BRIM_TRY(take_work(model, size, err));
  if (train.max_slots > 0)
    carve_stage(model, &train, &model->train);
  carve_stage(model, &predict, &model->predict);
  if (predict.precision != BRIM_PRECISION_INT8)
    brim_model_release_int8(model);
  return BRIM_OK;
}
