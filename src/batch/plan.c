/* A plan: rows composed into steps (compose), each step shared out over ranks and parts (share), all of it written down. */
#include "batch/plan.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "base/status.h"
#include "batch/compose.h"
#include "batch/share.h"
#include "data/facts.h"
#include <string.h>

enum { AHEAD = 64, TOGETHER = 64 };

struct brim_plan {
  brim_runtime *runtime;
  int32_t world, cut;
  brim_budget budget; /* what a part takes is counted from its rows when it is asked for: there may be more parts than rows */
  uint64_t *rows;     /* [rows planned] */
  uint32_t *places;   /* [rows planned] */
  int32_t *lengths;   /* [rows planned] cut; NULL where rows have several texts, which are in the next */
  brim_row_size *several;
  uint32_t *parts; /* [world * part_count + 1] where each begins in the three: step by step, in each rank by rank */
  uint8_t *slices; /* [rows planned] which slice of its step each is in; NULL: there are none */
  uint64_t *steps; /* [step_count + 1] parts of one rank before each step */
  size_t part_room, step_room;
  uint64_t row_count, part_count, step_count;
  brim_drop *drops;
  size_t drop_room;
  brim_ledger ledger;
};

/* What the pieces below share while a plan is made. */
typedef struct making {
  brim_plan *plan;
  brim_recipe *recipe;
  brim_planned_rows rows;
  brim_composition composition;
  /* `together` steps from `step` on are shared out at once, each into its own */
  brim_share *shares;
  brim_error *errors;
  int *statuses;
  uint64_t together, step, batches; /* batches of all steps that are written */
} making;

/* Batches of a step. */
static uint64_t step_size(const making *m) {
  return m->recipe->options.batch_size ? 1 : m->recipe->accumulate;
}

static const uint32_t *batch_rows(const brim_composition *c, uint64_t batch, uint64_t *count) {
  uint64_t start = brim_composition_start(c, batch);
  *count = c->ends[batch] - start;
  return c->order + start;
}

static int drop_batch(making *m, uint64_t batch, const char *reason, brim_error *err) {
  brim_plan *plan = m->plan;
  uint64_t count;
  const uint32_t *rows = batch_rows(&m->composition, batch, &count);
  uint64_t dropped = plan->ledger.dropped;
  BRIM_TRY(brim_grow(plan->runtime, (void **)&plan->drops, &plan->drop_room, dropped + count, sizeof *plan->drops, err));
  for (uint64_t i = 0; i < count; i++)
    plan->drops[dropped + i] = (brim_drop){.row = rows[i], .reason = reason};
  plan->ledger.dropped += count;
  return BRIM_OK;
}

/* Writes down a part that holds `count` of the step's rows, those at `places`. */
static void write_part(making *m, const uint32_t *rows, const uint32_t *places, uint64_t count) {
  brim_plan *plan = m->plan;
  const brim_budget *budget = &m->recipe->budget;
  brim_ledger *ledger = &plan->ledger;
  brim_load load = {0};
  uint64_t hash = brim_hash_mix(ledger->hash, count);
  if (count == 0) {
    ledger->hash = hash;
    return;
  }
  for (uint64_t i = 0, at = plan->row_count; i < count; i++, at++) {
    uint32_t row = rows[places[i]];
    load = brim_load_add(budget, load, &m->rows.sizes, row);
    plan->rows[at] = row;
    plan->places[at] = places[i];
    if (plan->several)
      plan->several[at] = m->rows.sizes.several[row];
    else
      plan->lengths[at] = brim_budget_cut(budget, m->rows.sizes.keys[row]);
    if (m->rows.repeating)
      ledger->tokens_repeated += brim_dataset_row_repeated(m->rows.repeating, row);
    hash = brim_hash_mix(hash, (uint64_t)row << 32 | places[i]);
  }
  plan->row_count += count;
  ledger->hash = hash;
  ledger->batches++;
  ledger->tokens += (uint64_t)load.tokens;
  ledger->slots += (uint64_t)brim_budget_slots(budget, &load);
}

/* Lengths of millions of rows lie anywhere in memory: those of the rows that come `AHEAD` places later are called for here. */
static void call_for_lengths(const making *m, uint64_t start, uint64_t count) {
  const brim_composition *c = &m->composition;
  for (uint64_t i = start + AHEAD; i < start + AHEAD + count && i < c->rows; i++)
    __builtin_prefetch(&m->rows.sizes.keys[c->order[i]]);
}

/* The rows of a step, which has `batches` batches. */
static const uint32_t *step_rows(const making *m, uint64_t step, uint64_t *batches, uint64_t *count) {
  const brim_composition *c = &m->composition;
  const uint64_t size = step_size(m), first = step * size, left = m->batches - first, start = brim_composition_start(c, first);
  *batches = left < size ? left : size;
  *count = c->ends[first + *batches - 1] - start;
  return c->order + start;
}

static void share_task(void *context, int64_t task, int worker) {
  (void)worker;
  making *m = context;
  const brim_composition *c = &m->composition;
  uint64_t batches, count, step = m->step + (uint64_t)task;
  const uint32_t *rows = step_rows(m, step, &batches, &count);
  call_for_lengths(m, (uint64_t)(rows - c->order), count);
  m->statuses[task] = brim_share_step(&m->shares[task], &m->rows.sizes, rows, count, c->ends + step * step_size(m),
                                      (uint32_t)(rows - c->order), batches, &m->errors[task]);
}

/* Writes down a step as it was shared out. */
static int write_step(making *m, uint64_t step, const brim_share *share, brim_error *err) {
  brim_plan *plan = m->plan;
  uint64_t batches, count, before = plan->part_count;
  const uint32_t *rows = step_rows(m, step, &batches, &count);
  uint64_t added = share->parts * (uint64_t)plan->world, held = before * (uint64_t)plan->world;
  BRIM_TRY(brim_grow(plan->runtime, (void **)&plan->parts, &plan->part_room, held + added + 1, sizeof *plan->parts, err));
  BRIM_TRY(brim_grow(plan->runtime, (void **)&plan->steps, &plan->step_room, plan->step_count + 2, sizeof *plan->steps, err));
  if (plan->slices)
    memcpy(plan->slices + plan->row_count, share->slices, count * sizeof *plan->slices);
  plan->ledger.hash = brim_hash_mix(plan->ledger.hash, count << 32 | share->parts);
  for (uint64_t p = 0, begin = 0; p < added; p++) {
    plan->parts[held + p] = (uint32_t)plan->row_count;
    write_part(m, rows, share->places + begin, share->ends[p] - begin);
    begin = share->ends[p];
  }
  plan->part_count += share->parts;
  plan->steps[plan->step_count++] = before;
  plan->steps[plan->step_count] = plan->part_count;
  plan->parts[held + added] = (uint32_t)plan->row_count;
  return BRIM_OK;
}

/* Drops what falls short: the batch that the end of the rows cut short, wherever it is, and an incomplete last step. */
static int drop_short(making *m, uint64_t *batches, brim_error *err) {
  brim_composition *c = &m->composition;
  uint64_t size = m->recipe->options.batch_size ? 1 : m->recipe->accumulate;
  if (c->unfinished != BRIM_NO_BATCH) {
    BRIM_TRY(brim_composition_move_last(c, c->unfinished, err));
    BRIM_TRY(drop_batch(m, --*batches, "drop_last: the batch is not full", err));
  }
  while (*batches % size)
    BRIM_TRY(drop_batch(m, --*batches, "drop_last: the step is not full", err));
  return BRIM_OK;
}

/* Many rows for many ranks take longer to share out than to hand to threads. A caller's own function is called by one thread. */
static uint64_t steps_together(const making *m, uint64_t steps) {
  enum { ROWS = 64 };
  const bool many = m->recipe->world > 1 && m->composition.rows / ROWS >= steps && steps >= TOGETHER;
  return many && !m->recipe->options.rows_for ? TOGETHER : 1;
}

static int make_shares(making *m, uint64_t together, brim_error *err) {
  m->shares = brim_alloc_array_zero(m->plan->runtime, together, sizeof *m->shares);
  m->errors = brim_alloc_array_zero(m->plan->runtime, together, sizeof *m->errors);
  m->statuses = brim_alloc_array_zero(m->plan->runtime, together, sizeof *m->statuses);
  if (!m->shares || !m->errors || !m->statuses)
    return BRIM_NOMEM(err);
  for (; m->together < together; m->together++)
    brim_share_init(&m->shares[m->together], m->plan->runtime, m->recipe);
  return BRIM_OK;
}

static void free_shares(making *m) {
  for (uint64_t i = 0; i < m->together; i++)
    brim_share_free(&m->shares[i]);
  brim_release(m->plan->runtime, m->shares);
  brim_release(m->plan->runtime, m->errors);
  brim_release(m->plan->runtime, m->statuses);
}

static int share_and_write(making *m, uint64_t count, brim_error *err) {
  if (count > 1)
    brim_pool_run(m->plan->runtime, (int64_t)count, share_task, m);
  else
    share_task(m, 0, 0);
  for (uint64_t i = 0; i < count; i++) {
    if (m->statuses[i] != BRIM_OK) {
      if (err)
        *err = m->errors[i];
      return m->statuses[i];
    }
    BRIM_TRY(write_step(m, m->step + i, &m->shares[i], err));
  }
  return BRIM_OK;
}

/* Batches become steps: one each with batch_size, `accumulate` in a row otherwise. */
static int write_steps(making *m, brim_error *err) {
  brim_plan *plan = m->plan;
  uint64_t size = step_size(m), batches = m->composition.batches;
  if (m->recipe->drop)
    BRIM_TRY(drop_short(m, &batches, err));
  m->batches = batches;
  uint64_t steps = (batches + size - 1) / size, parts = steps * (uint64_t)plan->world;
  if (parts < batches)
    parts = batches;
  BRIM_TRY(brim_grow(plan->runtime, (void **)&plan->parts, &plan->part_room, parts + 1, sizeof *plan->parts, err));
  BRIM_TRY(brim_grow(plan->runtime, (void **)&plan->steps, &plan->step_room, steps + 1, sizeof *plan->steps, err));
  plan->parts[0] = 0;
  plan->steps[0] = 0;
  BRIM_TRY(make_shares(m, steps_together(m, steps), err));
  for (; m->step < steps; m->step += m->together) {
    BRIM_TRY(brim_check_cancel(plan->runtime, err));
    BRIM_TRY(share_and_write(m, steps - m->step < m->together ? steps - m->step : m->together, err));
  }
  return BRIM_OK;
}

static int take_room(making *m, uint64_t rows, brim_error *err) {
  brim_plan *plan = m->plan;
  const bool slices = m->recipe->options.slices > 0, several = m->rows.sizes.several;
  plan->rows = brim_alloc_array(plan->runtime, rows, sizeof *plan->rows);
  plan->places = brim_alloc_array(plan->runtime, rows, sizeof *plan->places);
  if (several)
    plan->several = brim_alloc_array(plan->runtime, rows, sizeof *plan->several);
  else
    plan->lengths = brim_alloc_array(plan->runtime, rows, sizeof *plan->lengths);
  if (slices)
    plan->slices = brim_alloc_array(plan->runtime, rows, sizeof *plan->slices);
  const bool sizes = several ? plan->several != NULL : plan->lengths != NULL;
  return plan->rows && plan->places && sizes && (!slices || plan->slices) ? BRIM_OK : BRIM_NOMEM(err);
}

static int make(making *m, const brim_lengths *lengths, brim_error *err) {
  brim_plan *plan = m->plan;
  brim_ledger *ledger = &plan->ledger;
  const uint64_t rows = lengths->rows;
  BRIM_TRY(brim_planned_rows_make(&m->rows, plan->runtime, m->recipe, lengths, err));
  plan->budget = m->recipe->budget;
  ledger->rows_truncated = m->rows.truncated;
  ledger->tokens_lost = m->rows.lost;
  BRIM_TRY(brim_compose(&m->composition, plan->runtime, m->recipe, &m->rows.sizes, rows, err));
  BRIM_TRY(take_room(m, rows, err));
  BRIM_TRY(write_steps(m, err));
  ledger->rows_read = rows;
  ledger->rows_planned = plan->row_count;
  ledger->steps = plan->step_count;
  return BRIM_OK;
}

int brim_plan_new(brim_runtime *runtime, const int32_t *lengths, uint64_t rows, const brim_plan_options *options, uint64_t epoch,
                  brim_plan **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, options);
  BRIM_ARRAY(err, lengths, rows);
  return brim_plan_new_of(runtime, &(brim_lengths){.rows = rows, .lengths = lengths}, options, epoch, out, err);
}

int brim_plan_new_of(brim_runtime *runtime, const brim_lengths *lengths, const brim_plan_options *options, uint64_t epoch,
                     brim_plan **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, lengths, options);
  brim_recipe recipe;
  BRIM_TRY(brim_recipe_make(options, epoch, &recipe, err));
  if (lengths->rows > UINT32_MAX - 1)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "%llu rows are too many for one plan (at most 4,294,967,294): plan them in pieces",
                          (unsigned long long)lengths->rows);
  brim_plan *plan = brim_alloc_zero(runtime, sizeof *plan);
  if (!plan)
    return BRIM_NOMEM(err);
  plan->runtime = runtime;
  plan->world = recipe.world;
  making m = {.plan = plan, .recipe = &recipe, .composition.runtime = runtime};
  int status = make(&m, lengths, err);
  plan->cut = plan->ledger.rows_truncated ? recipe.budget.limit : 0;
  brim_composition_free(&m.composition);
  free_shares(&m);
  brim_planned_rows_free(&m.rows);
  if (status != BRIM_OK) {
    brim_plan_free(plan);
    return status;
  }
  *out = plan;
  return BRIM_OK;
}

void brim_plan_free(brim_plan *plan) {
  if (!plan)
    return;
  brim_release(plan->runtime, plan->rows);
  brim_release(plan->runtime, plan->places);
  brim_release(plan->runtime, plan->lengths);
  brim_release(plan->runtime, plan->several);
  brim_release(plan->runtime, plan->parts);
  brim_release(plan->runtime, plan->slices);
  brim_release(plan->runtime, plan->steps);
  brim_release(plan->runtime, plan->drops);
  brim_release(plan->runtime, plan);
}

uint64_t brim_plan_steps(const brim_plan *plan) {
  return plan->step_count;
}

uint64_t brim_plan_parts(const brim_plan *plan) {
  return plan->part_count;
}

uint64_t brim_plan_step_of(const brim_plan *plan, uint64_t index) {
  if (plan->part_count == plan->step_count)
    return index;
  uint64_t low = 0, high = plan->step_count;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (plan->steps[middle] <= index) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

void brim_plan_part(const brim_plan *plan, int32_t rank, uint64_t index, brim_planned *out) {
  uint64_t step = brim_plan_step_of(plan, index), world = (uint64_t)plan->world, before = plan->steps[step],
           after = plan->steps[step + 1], at = before * world + (uint64_t)rank * (after - before) + (index - before);
  const uint32_t *parts = plan->parts, *part = &parts[at];
  brim_load load = {0};
  for (uint64_t i = part[0]; i < part[1]; i++)
    load = plan->several ? brim_load_add_texts(load, &plan->several[i]) : brim_load_add_text(load, plan->lengths[i]);
  *out = (brim_planned){.step = step,
                        .rank = rank,
                        .count = (uint32_t)load.rows,
                        .texts = (uint32_t)load.texts,
                        .rows = plan->rows + part[0],
                        .places = plan->places + part[0],
                        .step_rows = parts[after * world] - parts[before * world],
                        .width = load.rows ? (int32_t)brim_budget_width(&plan->budget, load.longest) : 0,
                        .longest = load.longest,
                        .tokens = load.tokens,
                        .slots = brim_budget_slots(&plan->budget, &load),
                        .cut = plan->cut,
                        .slices = plan->slices ? plan->slices + part[0] : NULL,
                        .cost = brim_budget_cost(&plan->budget, &load)};
}

void brim_plan_ledger(const brim_plan *plan, brim_ledger *out) {
  *out = plan->ledger;
  out->drops = plan->drops;
}
