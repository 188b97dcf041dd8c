/* scaling.c: what a step takes on many ranks, from a plan's shares and a model's sizes. docs/users/scaling.md has the formulas.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "batch/collate.h"
#include "brim/study.h"
#include "data/labels.h"
#include "model/run/flat.h"
#include "task/task.h"

#define BACKWARD    (2.0 / 3) /* of a step's products */
#define MESSAGE     2e-6      /* seconds of a processor for a message */
#define PIECE       2e6       /* bytes of the gradient that are summed at once */
#define PART        131072.0  /* bytes of a piece that two ranks send each other in a message: two are under way */
#define UPDATE      28.0      /* bytes of memory that AdamW moves for a value: four read, three written */
#define MEMORY_RATE 1e10      /* bytes a second */
enum { MOST_STEPS = 40, FEW_RANKS = 16 };

/* ---- sizes ------------------------------------------------------------------------------------------------ */

typedef struct sizes {
  double dense, rows, row_bytes; /* values; rows of embeddings, bytes of one */
} sizes;

static sizes sizes_of(const brim_model *model) {
  sizes s = {0};
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    if (brim_flat_trained_at(model, i) < 0)
      continue;
    if (p->sparse_rows && (double)p->shape[0] > s.rows)
      s.rows = (double)p->shape[0], s.row_bytes = (double)p->shape[1] * sizeof(float);
    else if (!p->sparse_rows)
      s.dense += (double)p->count;
  }
  return s;
}

/* ---- measured --------------------------------------------------------------------------------------------- */

/* The texts of a part's row i: the lengths, of which *count, are written down, cut. */
static const int32_t *texts_of(const brim_scaling_question *q, const brim_planned *part, uint32_t i, int32_t *cut,
                               uint32_t *count) {
  const uint64_t row = part->rows[i], *firsts = q->lengths.firsts;
  *count = firsts ? (uint32_t)(firsts[row + 1] - firsts[row]) : 1;
  if (firsts)
    return q->lengths.text_lengths + firsts[row];
  *cut = q->lengths.lengths[row];
  *cut = part->cut > 0 && *cut > part->cut ? part->cut : *cut;
  return cut;
}

/* A part's texts, with words in their order; as many rows, for which a loss is there. */
static int make_batch(const brim_scaling_question *q, const brim_planned *part, brim_batch *b, brim_error *err) {
  const int32_t words = brim_model_vocab_size(q->model);
  const brim_block_shape label = brim_labels_shape(brim_model_labels(q->model));
  BRIM_TRY(brim_batch_reserve(b, q->runtime, part->tokens, (int32_t)part->texts, false, &label, 1, err));
  b->count = b->row_count = 0, b->step_rows = part->texts;
  b->tokens = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    int32_t cut;
    uint32_t texts;
    const int32_t *lengths = texts_of(q, part, i, &cut, &texts);
    for (uint32_t t = 0; t < texts; t++, b->count++) {
      b->offsets[b->count] = (int32_t)b->tokens;
      for (int32_t k = lengths[t]; k > 0; k--, b->tokens++)
        b->ids[b->tokens] = (int32_t)(b->tokens * 7919 % words), b->type_ids[b->tokens] = 0;
      b->rows[b->count] = (uint64_t)b->count, b->places[b->count] = (uint32_t)b->count;
    }
  }
  memset(b->labels, 0, part->texts * (size_t)label.width * sizeof *b->labels);
  b->offsets[b->count] = (int32_t)b->tokens;
  b->row_count = b->count;
  b->slots = b->tokens;
  return BRIM_OK;
}

static int step(brim_scaling_question *q, const brim_batch *batch, double *computing, double *updating, brim_error *err) {
  const brim_pass pass = {.training = true, .dropout = true, .seed = 1, .optimizer_step = 1};
  const brim_update_options update = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1, .step = 1}; /* a rate of 0 */
  double loss, norm, begun = brim_seconds_now();
  BRIM_TRY(brim_model_forward(q->model, batch, &pass, &loss, NULL, err));
  BRIM_TRY(brim_model_backward(q->model, batch, &pass, err));
  *computing = brim_seconds_now() - begun;
  begun = brim_seconds_now();
  BRIM_TRY(brim_model_update(q->model, &update, &norm, err));
  *updating = brim_seconds_now() - begun;
  return BRIM_OK;
}

static int measure_part(brim_scaling_question *q, const brim_planned *part, brim_batch *batch, brim_error *err) {
  enum { TURNS = 4 }; /* the first warms up */
  const brim_model_limits limits = {
      .max_slots = part->tokens, .max_sequences = (int32_t)part->texts, .max_length = (int32_t)part->tokens, .training = true};
  double least = INFINITY, least_update = INFINITY;
  if (brim_model_shape(q->model)->outputs != BRIM_OUTPUTS_OF_TEXTS)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "simulate: give speed and update of a model whose labels are of tokens");
  BRIM_TRY(make_batch(q, part, batch, err));
  brim_model_limits fit = limits;
  const int32_t longest = brim_model_max_length(q->model);
  fit.max_length = fit.max_length > longest ? longest : fit.max_length;
  BRIM_TRY(brim_model_prepare(q->model, &fit, err));
  for (int i = 0; i < TURNS; i++) {
    double computing, updating;
    BRIM_TRY(step(q, batch, &computing, &updating, err));
    least = i > 0 && computing < least ? computing : least;
    least_update = i > 0 && updating < least_update ? updating : least_update;
  }
  int32_t *lengths = brim_alloc_array(q->runtime, part->texts, sizeof *lengths);
  if (!lengths)
    return BRIM_NOMEM(err);
  for (int32_t i = 0; i < batch->count; i++)
    lengths[i] = batch->offsets[i + 1] - batch->offsets[i];
  if (q->speed <= 0)
    q->speed = brim_model_flops(q->model, lengths, part->texts, true) / least;
  if (q->update <= 0)
    q->update = least_update;
  brim_release(q->runtime, lengths);
  return BRIM_OK;
}

int brim_scaling_measure(brim_scaling_question *q, brim_error *err) {
  BRIM_GIVEN_AS(err, "question", q);
  brim_plan *plan;
  brim_planned part;
  brim_batch batch = {0};
  brim_plan_options how = *q->plan;
  how.world_size = 1;
  BRIM_TRY(brim_plan_new_of(q->runtime, &q->lengths, &how, 0, &plan, err));
  brim_plan_part(plan, 0, 0, &part);
  const int status = measure_part(q, &part, &batch, err);
  brim_batch_free(&batch);
  brim_plan_free(plan);
  return status;
}

/* ---- reckoned --------------------------------------------------------------------------------------------- */

/* Over the first steps of the epoch: products of the slowest rank and of all, tokens and rows. */
typedef struct shares {
  double slowest, all, tokens, rows;
  uint64_t steps;
} shares;

static int add_shares(const brim_scaling_question *q, const brim_plan *plan, int32_t world, double *of_ranks, shares *s,
                      brim_error *err) {
  brim_planned part;
  uint64_t step = 0;
  memset(of_ranks, 0, (size_t)world * sizeof *of_ranks);
  for (uint64_t i = 0; i <= brim_plan_parts(plan); i++) {
    const bool end = i == brim_plan_parts(plan);
    if (!end)
      brim_plan_part(plan, 0, i, &part);
    if (end || part.step != step) {
      double most = 0;
      for (int32_t rank = 0; rank < world; rank++)
        most = of_ranks[rank] > most ? of_ranks[rank] : most, s->all += of_ranks[rank];
      s->slowest += most;
      memset(of_ranks, 0, (size_t)world * sizeof *of_ranks);
      if (++s->steps == MOST_STEPS || end)
        break;
      step = part.step;
    }
    for (int32_t rank = 0; rank < world; rank++) {
      brim_plan_part(plan, rank, i, &part);
      for (uint32_t k = 0; k < part.count; k++) {
        int32_t cut;
        uint32_t texts;
        const int32_t *lengths = texts_of(q, &part, k, &cut, &texts);
        of_ranks[rank] += brim_model_flops(q->model, lengths, texts, true);
      }
      s->tokens += (double)part.tokens, s->rows += part.count;
    }
  }
  return isnan(s->all) ? BRIM_NOMEM(err) : BRIM_OK;
}

static int find_shares(const brim_scaling_question *q, int32_t world, shares *s, brim_error *err) {
  brim_plan *plan;
  brim_plan_options how = *q->plan;
  how.world_size = world;
  *s = (shares){0};
  BRIM_TRY(brim_plan_new_of(q->runtime, &q->lengths, &how, 0, &plan, err));
  double *of_ranks = brim_alloc_array(q->runtime, (size_t)world, sizeof *of_ranks);
  const int status = of_ranks ? add_shares(q, plan, world, of_ranks, s, err) : BRIM_NOMEM(err);
  brim_release(q->runtime, of_ranks);
  brim_plan_free(plan);
  return status;
}

/* Different words of so many tokens: Heaps, "Information Retrieval" (1978), with his constants for English. */
static double words_of(double tokens, double rows) {
  const double words = 10 * pow(tokens, 0.6);
  return words < rows ? words : rows;
}

/* Rows of embeddings as in a sum over ranks: each rank sends its own ones to all others where that is less. */
static double rows_sent(double tokens, double rows, int32_t world) {
  const double all = words_of(tokens, rows), own = words_of(tokens / world, rows) * world / 2;
  return world > 1 && own < all ? own : all;
}

/* Sums of a few numbers, of which a step has four. */
static double agreeing(const brim_scaling_question *q, int32_t world) {
  return world == 1 ? 0 : 4 * (world <= FEW_RANKS ? 1 : 2) * (q->latency + MESSAGE * (world - 1));
}

/* Half of a sum: each rank sends to all others, and the gradient but for its own shard goes through its link. */
static double half_sum(const brim_scaling_question *q, int32_t world, double bytes) {
  const double pieces = ceil(bytes / PIECE), sent = bytes * (world - 1) / world;
  return world == 1 ? 0 : sent / q->bandwidth + pieces * (q->latency + MESSAGE * (world - 1));
}

/* Two ranks send each other all of a piece. Where a message is longer on its way than it takes the link, that waits for turns of
 * two. */
static double sum_of_two(const brim_scaling_question *q, double bytes) {
  const double pieces = ceil(bytes / PIECE), messages = ceil(bytes / pieces / PART);
  const double one = bytes / pieces / messages / q->bandwidth + MESSAGE;
  return pieces * fmax(messages * one + q->latency, ceil(messages / 2) * (one + q->latency));
}

static double whole_sum(const brim_scaling_question *q, int32_t world, double bytes) {
  return world == 2 ? sum_of_two(q, bytes) : 2 * half_sum(q, world, bytes);
}

static double beyond(double communication, double hidden, double least) {
  return communication - hidden > least ? communication - hidden : least;
}

int brim_scaling_of(const brim_scaling_question *q, int32_t world, brim_scaling *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN_AS(err, "question", q);
  const sizes z = sizes_of(q->model);
  shares s;
  BRIM_TRY(find_shares(q, world, &s, err));
  const double steps = (double)s.steps, tokens = s.tokens / steps, rows = words_of(tokens, z.rows);
  const double of_embeddings = rows_sent(tokens, z.rows, world) * z.row_bytes, bytes = z.dense * sizeof(float) + of_embeddings;
  const double computed = s.slowest / steps / q->speed, hidden = BACKWARD * s.all / steps / world / q->speed;
  const double last = of_embeddings + PIECE / 2 < bytes ? of_embeddings + PIECE / 2 : bytes; /* comes when backward ends */
  const double sum = whole_sum(q, world, bytes), half = half_sum(q, world, bytes);
  const double update = q->update > 0 ? q->update : (z.dense + rows * z.row_bytes / sizeof(float)) * UPDATE / MEMORY_RATE;
  *out = (brim_scaling){.ranks = world,
                        .rows = s.rows / steps / world,
                        .tokens_a_row = s.tokens / s.rows,
                        .compute = computed,
                        .balance = s.all > 0 ? s.slowest * world / s.all : 1,
                        .bytes = bytes,
                        .communication = sum,
                        .exposed = beyond(sum, hidden, whole_sum(q, world, last)) + agreeing(q, world),
                        .update = update};
  out->step = computed + out->exposed + update;
  /* Weights can only be gathered after the update, when nothing is left to hide it. */
  out->sharded = computed + beyond(half, hidden, half_sum(q, world, last)) + half + agreeing(q, world) + update / world;
  return BRIM_OK;
}

/* Each pair of ranks has the rows of one and half of every product; a layer sums its activations four times, two of them forward,
 * and nothing hides it. */
int brim_scaling_in_pairs(const brim_scaling_question *q, int32_t world, double *seconds, brim_error *err) {
  BRIM_OUT(err, seconds);
  BRIM_GIVEN_AS(err, "question", q);
  brim_scaling half;
  brim_model_info info;
  BRIM_TRY(brim_model_describe(q->runtime, q->folder, &info, err));
  BRIM_TRY(brim_scaling_of(q, world / 2, &half, err));
  const double tokens = half.rows * half.balance * half.tokens_a_row;
  const double sum = 2 * (q->latency + MESSAGE + tokens * info.hidden * sizeof(float) / 2 / q->bandwidth);
  *seconds = half.step - half.compute / 2 - half.update / 2 + 4 * info.layers * sum;
  return BRIM_OK;
}
