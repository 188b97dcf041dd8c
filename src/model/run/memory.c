/* memory.c: plans and takes a model's memory: one block for training's state, one block that passes are carved from.
 *
 *   state block   gradients | states of the optimizer | values at the start | values kept of a step | bytes of rows: touched |
 * alive | done | wanted int8 block    quantized weights, one by one narrow block  weights of products in 16 bits:
 * narrow_weights.c work block    a batch as it is laid out | the device's workspace | values that come and go | values that are
 * kept
 *
 * The work block is as large as a training pass or a prediction needs, whichever is larger. All are in the device's memory. Where
 * that is not the host's, the host has a copy of what it writes: the laid out batch, and the rows that it marks. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/poison.h"
#include "base/status.h"
#include "model/kind.h"
#include "model/run/ask.h"
#include "model/run/fits.h"
#include "model/run/gradient.h"
#include "model/run/host.h"
#include "model/run/mixout.h"
#include "model/run/model.h"
#include "task/task.h"

enum { LINE = 64 };                        /* alignment of every piece */
enum { HOST_ROWS = 1 + BRIM_MOST_QUEUED }; /* bytes on the host for a row of an embedding, where it marks them in host memory */

/* Hands out pieces of a block; with base NULL it only counts. */
typedef struct carver {
  char *base;
  size_t used;
  bool foreign; /* a device's own memory, of which AddressSanitizer knows nothing */
} carver;

/* With AddressSanitizer there is a guard after every piece, which nobody may touch. */
static void *carve(carver *c, size_t count, size_t size) {
  const size_t bytes = count * size, room = (bytes + LINE - 1) / LINE * LINE + BRIM_RED_ZONE;
  char *piece = c->base ? c->base + c->used : NULL;
  if (piece && !c->foreign) {
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

/* Of a block on the model's device. */
static carver carver_of(const brim_model *m, void *block) {
  return (carver){.base = align_block(block), .foreign = !brim_model_is_host(m)};
}

bool brim_model_masks(const brim_model *model) {
  return brim_model_shape(model)->outputs == BRIM_OUTPUTS_OF_LABELLED;
}

int64_t brim_model_most_chosen(const brim_model *model, const brim_model_limits *limits) {
  if (!brim_model_masks(model))
    return 0;
  if (!(limits->chosen_share > 0))
    return limits->max_slots;
  const double most = ceil(limits->chosen_share * (double)limits->max_slots) + (double)limits->max_sequences;
  return most < (double)limits->max_slots ? (int64_t)most : limits->max_slots;
}

/* ---- pieces of a pass ------------------------------------------------------------------------------------- */

static void carve_layout(carver *c, const brim_model *m, const brim_model_limits *limits, brim_slots *s) {
  const size_t slots = (size_t)limits->max_slots, n = (size_t)limits->max_sequences;
  s->ids = carve(c, slots, sizeof *s->ids);
  s->positions = carve(c, slots, sizeof *s->positions);
  s->sequence = carve(c, slots, sizeof *s->sequence);
  s->types = carve(c, slots, sizeof *s->types);
  s->first = carve(c, n, sizeof *s->first);
  s->offsets = carve(c, n + 1, sizeof *s->offsets);
  s->lengths = carve(c, n, sizeof *s->lengths);
  s->places = carve(c, n, sizeof *s->places);
  s->skipped = m->config.skips_prompts ? carve(c, n, sizeof *s->skipped) : NULL;
  const bool tokens = brim_model_shape(m)->outputs == BRIM_OUTPUTS_OF_TOKENS;
  s->labels = NULL;
  s->class_weights = NULL;
  const size_t chosen = (size_t)brim_model_most_chosen(m, limits);
  s->classes = tokens || chosen > 0 ? carve(c, tokens ? slots : chosen, sizeof *s->classes) : NULL;
  s->chosen = chosen > 0 ? carve(c, chosen, sizeof *s->chosen) : NULL;
  if (brim_model_is_host(m))
    return;
  s->labels = carve(c, n * (size_t)brim_labels_width(&m->config.labels), sizeof *s->labels);
  s->class_weights = carve(c, (size_t)m->config.labels.count, sizeof *s->class_weights);
}

static void carve_slots(const brim_model *m, const brim_model_limits *limits, const uint64_t regions[BRIM_REGIONS], carver *c,
                        brim_slots *s) {
  brim_ops_limits ops = brim_program_limits(&m->program);
  ops.max_slots = limits->max_slots;
  ops.max_sequences = limits->max_sequences;
  ops.max_length = limits->max_length;
  ops.int8 = limits->precision == BRIM_PRECISION_INT8;
  ops.bf16 = brim_precision_is_half(limits->precision);
  ops.slices = limits->training && limits->slices > 1 ? limits->slices : 0;
  carve_layout(c, m, limits, s);
  s->workspace_size = m->ops->workspace(&m->context, &ops);
  s->workspace = carve(c, s->workspace_size, 1);
  for (int i = 0; i < BRIM_REGIONS; i++)
    s->memory[i] = carve(c, regions[i], 1);
}

/* ---- schedules --------------------------------------------------------------------------------------------- */

static brim_variant variant_of(const brim_model *m, const brim_model_limits *limits, bool all_rows) {
  return (brim_variant){.training = limits->training,
                        .all_rows = all_rows,
                        .logits = limits->logits && !limits->training,
                        .checkpoints = limits->checkpoint_activations,
                        .precision = limits->precision,
                        .trained = &m->trained};
}

/* Room for schedules of any variant, so that those made later take none. */
int brim_model_reserve_schedules(brim_model *model, brim_error *err) {
  model->plan = brim_arena_alloc(&model->arena, sizeof *model->plan);
  if (!model->plan)
    return BRIM_NOMEM(err);
  *model->plan = (brim_call_schedule){0};
  brim_call_schedule *schedules[] = {&model->train.asked, &model->train.all, &model->predict.asked, &model->predict.all,
                                     model->plan};
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
    BRIM_TRY(brim_schedule_reserve(schedules[i], &model->program, err));
  return BRIM_OK;
}

/* The schedule for these limits, with its offsets; regions become as large as it needs. */
static int plan(const brim_model *m, const brim_model_limits *limits, bool all_rows, brim_call_schedule *s,
                uint64_t regions[BRIM_REGIONS], brim_error *err) {
  const brim_variant variant = variant_of(m, limits, all_rows);
  const int64_t texts = limits->max_sequences < limits->max_slots ? limits->max_sequences : limits->max_slots;
  const int64_t rows[BRIM_ROW_KINDS] = {[BRIM_ROW_TEXTS] = texts,
                                        [BRIM_ROW_CHOSEN] = brim_model_masks(m) ? brim_model_most_chosen(m, limits) : texts,
                                        [BRIM_ROW_TOKENS] = limits->max_slots,
                                        [BRIM_ROW_DISTANCES] = brim_program_limits(&m->program).distances};
  BRIM_TRY(brim_schedule_make(s, &m->program, &variant, err));
  brim_schedule_assign_offsets(s, rows);
  for (int i = 0; i < BRIM_REGIONS; i++)
    regions[i] = s->region_size[i] > regions[i] ? s->region_size[i] : regions[i];
  return BRIM_OK;
}

/* A prediction may ask for all tokens at any time, training only where that was said. */
static bool may_ask_for_all(const brim_model_limits *limits) {
  return !limits->training || limits->all_tokens;
}

static int plan_both(const brim_model *m, const brim_model_limits *limits, brim_call_schedule *asked, brim_call_schedule *all,
                     uint64_t regions[BRIM_REGIONS], brim_error *err) {
  BRIM_TRY(plan(m, limits, false, asked, regions, err));
  return may_ask_for_all(limits) ? plan(m, limits, true, all, regions, err) : BRIM_OK;
}

/* Adds to *features what the passes need of the device. */
static int stage_size(const brim_model *m, const brim_model_limits *limits, size_t *size, uint32_t *features, brim_error *err) {
  uint64_t regions[BRIM_REGIONS] = {0};
  carver count = {0};
  brim_slots unused = {0};
  BRIM_TRY(plan_both(m, limits, m->plan, m->plan, regions, err));
  carve_slots(m, limits, regions, &count, &unused);
  *size = block_size(&count);
  *features |= m->plan->features;
  return BRIM_OK;
}

/* Laid out batches on the host, where that is another memory. */
static void carve_laid(carver *c, const brim_model *m, const brim_model_limits *limits, brim_slots laid[BRIM_MOST_QUEUED]) {
  for (int i = 0; i < (limits->training ? BRIM_MOST_QUEUED : 1); i++)
    carve_layout(c, m, limits, &laid[i]);
}

static size_t layout_size(const brim_model *m, const brim_model_limits *limits) {
  carver count = {0};
  brim_slots unused[BRIM_MOST_QUEUED];
  if (brim_model_is_host(m))
    return 0;
  carve_laid(&count, m, limits, unused);
  return block_size(&count);
}

/* What is prepared for training serves predictions too. */
static brim_model_limits without_training(const brim_model_limits *limits) {
  brim_model_limits predict = *limits;
  predict.training = false;
  return predict;
}

static int work_size(const brim_model *m, const brim_model_limits *limits, size_t *size, uint32_t *features, brim_error *err) {
  const brim_model_limits predict = without_training(limits);
  size_t for_training = 0;
  if (limits->training)
    BRIM_TRY(stage_size(m, limits, &for_training, features, err));
  BRIM_TRY(stage_size(m, &predict, size, features, err));
  *size = for_training > *size ? for_training : *size;
  return BRIM_OK;
}

/* ---- training's state ------------------------------------------------------------------------------------- */

typedef struct state_pieces {
  real *gradients, *states[BRIM_MOST_STATES], *start, *kept;
  uint8_t *touched, *alive, *done, *wanted;
  size_t embedding_rows;
} state_pieces;

static bool has_start(const brim_model *m) {
  return brim_optimizer_starts(m->optimizer) || m->returns || m->mixout > 0;
}

static state_pieces carve_state(const brim_model *m, carver *c) {
  const int64_t trained = m->trained.size;
  state_pieces s = {.embedding_rows = brim_gradient_row_count(m)};
  s.gradients = carve_reals(c, trained, 1);
  for (int i = 0; i < brim_optimizer_states(m->optimizer); i++)
    s.states[i] = carve_reals(c, trained, 1);
  s.start = has_start(m) ? carve_reals(c, trained, 1) : NULL;
  s.kept = m->mixout > 0 ? carve_reals(c, trained, 1) : NULL;
  s.touched = carve(c, s.embedding_rows, 1);
  s.alive = carve(c, s.embedding_rows, 1);
  s.done = carve(c, s.embedding_rows, 1);
  s.wanted = carve(c, s.embedding_rows, 1);
  return s;
}

bool brim_model_is_pretrained(const brim_model *m, const brim_parameter *p) {
  for (int32_t i = 0; i < m->initialized_count; i++)
    if (m->initialized[i] == p->name)
      return false;
  return true;
}

/* A decoder that is tied to the embedding of words is a table too. */
static bool is_table(const brim_weight *w) {
  return w->is.sparse_rows || w->selected != BRIM_BY_NOTHING;
}

/* Mixout is for matrices. */
static bool is_mixed(const brim_model *m, const brim_weight *w) {
  return w->is.rank == 2 && !is_table(w) && brim_model_is_pretrained(m, &w->is);
}

brim_update_reach brim_model_update_reach(const brim_model *m) {
  brim_update_reach reach = {0};
  for (size_t i = 0; i < m->program.weight_count; i++) {
    const brim_weight *w = &m->program.weights[i];
    if (!m->trained.weights[i] || !w->used)
      continue;
    reach.decays |= w->is.decay;
    reach.returns |= w->is.decay && brim_model_is_pretrained(m, &w->is);
    reach.mixes |= is_mixed(m, w);
    reach.lowers |= w->section + 1 < (int32_t)m->program.section_count;
  }
  return reach;
}

static void make_ranges(brim_model *m) {
  size_t row = 0;
  m->range_count = 0;
  for (int32_t i = 0; i < (int32_t)m->program.weight_count; i++) {
    const brim_parameter *p = &m->program.weights[i].is;
    if (!m->trained.weights[i])
      continue;
    m->range_weights[m->range_count] = i;
    brim_update_range *range = &m->ranges[m->range_count++];
    const int64_t offset = brim_trained_at(&m->trained, p->offset);
    *range = (brim_update_range){.offset = offset,
                                 .frozen = p->offset - offset,
                                 .count = p->count,
                                 .decay = p->decay,
                                 .rate = 1,
                                 .returns = m->returns && brim_model_is_pretrained(m, p),
                                 .mixed = m->mixout > 0 && is_mixed(m, &m->program.weights[i])};
    if (!p->sparse_rows)
      continue;
    range->row_size = p->shape[1];
    range->touched = m->touched + row;
    range->alive = m->alive + row;
    if (m->ops->features & BRIM_FEATURE_LATE_ROWS)
      range->done = m->done + row, range->wanted = m->wanted + row;
    row += (size_t)p->shape[0];
  }
}

void brim_model_mark_start(brim_model *model) {
  for (int32_t i = 0; model->start && i < model->trained.count; i++) {
    const brim_trained_range *range = &model->trained.ranges[i];
    model->ops->copy(&model->context, model->start + range->offset, model->values + range->value,
                     (size_t)range->count * sizeof *model->start);
  }
}

int brim_model_no_memory(const brim_model *model, size_t size, brim_error *err) {
  if (brim_model_is_host(model))
    return BRIM_NOMEM(err);
  return brim_error_set(err, BRIM_E_MEMORY,
                        "the GPU has not the %.1f MB of memory that are needed besides what it holds: compute less at once, or "
                        "see what else uses it",
                        (double)size / 1e6);
}

int brim_model_no_values(brim_error *err) {
  return brim_error_set(err, BRIM_E_USAGE, "the model was loaded to ask about it, without values: load it without no_values");
}

/* Zeroed: no gradient, no moments, no row touched, alive or late. */
static int take_state(brim_model *m, brim_error *err) {
  carver c = {0};
  carve_state(m, &c);
  const size_t size = block_size(&c);
  void *block = m->ops->alloc(&m->context, size, true);
  if (!block)
    return brim_model_no_memory(m, size, err);
  c = carver_of(m, block);
  const state_pieces s = carve_state(m, &c);
  m->state_block = block;
  m->state_size = size;
  m->gradients = s.gradients;
  memcpy(m->states, s.states, sizeof m->states);
  m->start = s.start;
  m->kept = s.kept;
  m->touched = s.touched;
  m->alive = s.alive;
  m->done = s.done;
  m->wanted = s.wanted;
  m->past_count = 0;
  m->embedding_rows = s.embedding_rows;
  m->dirty = false;
  make_ranges(m);
  brim_model_mark_start(m);
  m->host_touched = m->touched;
  m->host_wanted = m->wanted;
  if (brim_model_is_host(m) || m->embedding_rows == 0)
    return BRIM_OK;
  m->rows_block = m->host_touched = brim_alloc_array_zero(m->runtime, m->embedding_rows, HOST_ROWS);
  if (!m->rows_block) {
    brim_model_release_state(m);
    return BRIM_NOMEM(err);
  }
  m->host_wanted = m->host_touched + m->embedding_rows;
  return BRIM_OK;
}

/* ---- quantized weights ------------------------------------------------------------------------------------ */

/* With `packed` NULL it only counts. */
static void carve_int8(const brim_model *m, carver *c, void **packed) {
  const brim_program *p = &m->program;
  int32_t next = 0;
  for (size_t i = 0; i < p->operation_count; i++) {
    brim_product products[BRIM_MOST_PRODUCTS];
    const brim_operation *o = &p->operations[i];
    const int count = o->kind->products && o->first_packed == next ? o->kind->products(p, o, products) : 0;
    next += count;
    for (int k = 0; k < count; k++) {
      void *piece = carve(c, m->ops->int8_size(products[k].in, products[k].out), 1);
      if (packed)
        packed[o->first_packed + k] = piece;
    }
  }
}

static size_t int8_size(const brim_model *m) {
  carver count = {0};
  if (m->ops->features & BRIM_FEATURE_INT8)
    carve_int8(m, &count, NULL);
  return block_size(&count);
}

static int take_int8(brim_model *m, brim_error *err) {
  const size_t size = int8_size(m);
  void *block = m->ops->alloc(&m->context, size, false);
  if (!block)
    return brim_model_no_memory(m, size, err);
  carver c = carver_of(m, block);
  m->int8_block = block;
  m->int8_size = size;
  carve_int8(m, &c, m->packed);
  m->int8_made = false;
  return BRIM_OK;
}

/* ---- entry ------------------------------------------------------------------------------------------------ */

uint64_t brim_model_state_memory(const brim_model *model) {
  carver count = {0};
  const size_t rows = carve_state(model, &count).embedding_rows;
  return block_size(&count) + (brim_model_is_host(model) ? 0 : HOST_ROWS * rows);
}

uint64_t brim_model_memory(const brim_model *model, const brim_model_limits *limits) {
  const uint64_t state = limits->training ? brim_model_state_memory(model) : 0;
  brim_error ignored;
  uint32_t features = 0;
  size_t work;
  if (work_size(model, limits, &work, &features, &ignored))
    return UINT64_MAX;
  return work + layout_size(model, limits) + state + (limits->precision == BRIM_PRECISION_INT8 ? int8_size(model) : 0) +
         (brim_precision_is_half(limits->precision) ? brim_model_half_size(model) : 0);
}

static int check_limits(const brim_model *m, const brim_model_limits *limits, brim_error *err) {
  if (limits->max_slots < 1 || limits->max_slots > INT32_MAX || limits->max_sequences < 1 || limits->max_length < 1)
    return brim_error_set(err, BRIM_E_USAGE, "a model must be prepared for at least one token, and at most 2147483647 at once");
  if ((unsigned)limits->precision > BRIM_PRECISION_INT8)
    return brim_error_set(err, BRIM_E_USAGE, "precision %d does not exist", (int)limits->precision);
  if (!(limits->chosen_share >= 0 && limits->chosen_share <= 1) || limits->slices < 0)
    return brim_error_set(err, BRIM_E_USAGE, "chosen_share is %g and slices %d: a share of 0 to 1, and at least 0 are possible",
                          limits->chosen_share, (int)limits->slices);
  if (limits->precision == BRIM_PRECISION_INT8 && limits->training)
    return brim_error_set(err, BRIM_E_USAGE, "int8 is for predictions: train in fp32 or bf16");
  if (limits->precision == BRIM_PRECISION_INT8 && brim_program_limits(&m->program).intermediate >= 1 << 17)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "int8 has sums of 32 bits: layers must be narrower than 131072");
  return brim_length_fits(m, "texts may have", limits->max_length, BRIM_E_USAGE, err);
}

static int make_stage(const brim_model *m, const brim_model_limits *limits, brim_stage *stage, brim_error *err) {
  carver c = carver_of(m, m->work_block);
  uint64_t regions[BRIM_REGIONS] = {0};
  stage->limits.max_slots = 0;
  BRIM_TRY(plan_both(m, limits, &stage->asked, &stage->all, regions, err));
  carve_slots(m, limits, regions, &c, &stage->slots);
  carver laid = {.base = m->layout_block ? align_block(m->layout_block) : NULL};
  for (int i = 0; i < BRIM_MOST_QUEUED; i++)
    stage->laid[i] = stage->slots;
  if (!brim_model_is_host(m))
    carve_laid(&laid, m, limits, stage->laid);
  stage->limits = *limits;
  return BRIM_OK;
}

/* Makes the block usable as this stage carves it: only AddressSanitizer needs to know. A run guards the regions. */
static void guard_stage(const brim_model *m, const brim_stage *stage) {
  if (BRIM_RED_ZONE == 0)
    return;
  carver c = carver_of(m, m->work_block);
  brim_slots same[BRIM_MOST_QUEUED];
  brim_unpoison(m->work_block, m->work_size);
  carve_layout(&c, m, &stage->limits, same);
  carve(&c, stage->slots.workspace_size, 1);
  if (!m->layout_block)
    return;
  carver laid = {.base = align_block(m->layout_block)};
  brim_unpoison(m->layout_block, m->layout_size);
  carve_laid(&laid, m, &stage->limits, same);
}

void brim_model_enter(brim_model *model, const brim_stage *stage) {
  guard_stage(model, stage);
  model->context.workspace = stage->slots.workspace;
  model->context.workspace_size = stage->slots.workspace_size;
}

void brim_model_touch_memory(brim_model *model) {
  if (!model->work_block)
    return;
  brim_unpoison(model->work_block, model->work_size);
  model->ops->clear(&model->context, model->work_block, model->work_size);
}

static void release_work(brim_model *m) {
  if (m->work_block)
    brim_unpoison(m->work_block, m->work_size);
  m->ops->release(&m->context, m->work_block);
  m->work_block = NULL;
  m->work_size = 0;
}

void brim_model_release_state(brim_model *model) {
  brim_model_mix_answered(model, false);
  if (model->state_block)
    brim_unpoison(model->state_block, model->state_size);
  model->ops->release(&model->context, model->state_block);
  brim_release(model->runtime, model->rows_block);
  model->state_block = model->rows_block = NULL;
  model->range_count = model->past_count = 0;
  model->embedding_rows = 0;
  model->dirty = false;
  model->gradients = model->start = model->kept = NULL;
  memset(model->states, 0, sizeof model->states);
  model->mixing.on = false;
  model->train.limits.max_slots = 0;
}

void brim_model_release_memory(brim_model *model) {
  brim_call_schedule *schedules[] = {&model->train.asked, &model->train.all, &model->predict.asked, &model->predict.all,
                                     model->plan};
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
    if (schedules[i] && schedules[i]->runtime)
      brim_schedule_free(schedules[i]);
  release_work(model);
  brim_release(model->runtime, model->layout_block);
  model->layout_block = NULL;
  model->layout_size = 0;
  brim_model_release_int8(model);
  brim_model_release_half(model);
  brim_model_release_state(model);
}

/* The host's copy of what is laid out, for both stages. */
static int take_layout(brim_model *m, size_t size, brim_error *err) {
  if (size <= m->layout_size)
    return BRIM_OK;
  void *block = brim_resize(m->runtime, m->layout_block, size);
  if (!block)
    return BRIM_NOMEM(err);
  m->layout_block = block;
  m->layout_size = size;
  return BRIM_OK;
}

static int take_work(brim_model *m, size_t size, brim_error *err) {
  release_work(m);
  m->train.limits.max_slots = m->predict.limits.max_slots = 0;
  m->work_block = m->ops->alloc(&m->context, size, false);
  if (!m->work_block)
    return brim_model_no_memory(m, size, err);
  m->work_size = size;
  return BRIM_OK;
}

static uint32_t features_of_training(const brim_model *m, const brim_model_limits *limits) {
  const bool rules = m->optimizer->rule != BRIM_RULE_ADAMW || has_start(m);
  return (limits->slices > 0 ? BRIM_FEATURE_HOST_MEMORY : 0) | (rules ? BRIM_FEATURE_RULES : 0);
}

bool brim_model_predicts_within(const brim_model *model, const brim_model_limits *limits) {
  const brim_model_limits *p = &model->predict.limits;
  return !limits->training && p->max_slots >= limits->max_slots && p->max_sequences >= limits->max_sequences &&
         p->max_length >= limits->max_length && p->precision == limits->precision && p->logits == limits->logits &&
         p->chosen_share == limits->chosen_share;
}

int brim_model_plan(const brim_model *model, const brim_model_limits *limits, const brim_call_schedule **out, brim_error *err) {
  uint64_t regions[BRIM_REGIONS] = {0};
  BRIM_TRY(check_limits(model, limits, err));
  BRIM_TRY(plan(model, limits, limits->all_tokens, model->plan, regions, err));
  *out = model->plan;
  return brim_features_fit(model, model->plan->features | (limits->training ? features_of_training(model, limits) : 0), err);
}

int brim_model_prepare(brim_model *model, const brim_model_limits *limits, brim_error *err) {
  BRIM_GIVEN(err, model, limits);
  if (!model->values)
    return brim_model_no_values(err);
  BRIM_TRY(check_limits(model, limits, err));
  const brim_model_limits train = limits->training ? *limits : model->train.limits, predict = without_training(limits);
  uint32_t features = limits->training ? features_of_training(model, limits) : 0;
  size_t size, before = 0;
  BRIM_TRY(work_size(model, limits, &size, &features, err));
  BRIM_TRY(brim_features_fit(model, features, err));
  if (train.max_slots > 0)
    BRIM_TRY(work_size(model, &train, &before, &features, err));
  size = before > size ? before : size;
  model->tape = (brim_tape){0};
  if (limits->training && !model->state_block)
    BRIM_TRY(take_state(model, err));
  if (predict.precision == BRIM_PRECISION_INT8 && !model->int8_block)
    BRIM_TRY(take_int8(model, err));
  const brim_precision trained = train.max_slots > 0 ? train.precision : predict.precision;
  if (trained != predict.precision && brim_precision_is_half(trained) && brim_precision_is_half(predict.precision))
    return brim_error_set(err, BRIM_E_USAGE, "a model has 16-bit weights of one type: train and predict in %s",
                          brim_precision_name(trained));
  const bool half = brim_precision_is_half(predict.precision) || brim_precision_is_half(trained);
  const bool fp16 = trained == BRIM_PRECISION_FP16 || predict.precision == BRIM_PRECISION_FP16;
  model->half_made = model->half_made && model->context.fp16 == fp16;
  model->context.fp16 = fp16;
  if (half && !model->half_block)
    BRIM_TRY(brim_model_take_half(model, err));
  if (size > model->work_size)
    BRIM_TRY(take_work(model, size, err));
  const size_t laid[] = {layout_size(model, &predict), train.max_slots > 0 ? layout_size(model, &train) : 0};
  BRIM_TRY(take_layout(model, laid[laid[1] > laid[0]], err));
  if (train.max_slots > 0)
    BRIM_TRY(make_stage(model, &train, &model->train, err));
  BRIM_TRY(make_stage(model, &predict, &model->predict, err));
  if (predict.precision != BRIM_PRECISION_INT8)
    brim_model_release_int8(model);
  if (!half)
    brim_model_release_half(model);
  return BRIM_OK;
}
