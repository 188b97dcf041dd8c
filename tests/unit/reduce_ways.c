/* Every way from the ranks' gradients to their weights: the same bits, one decision where a rank fails, and a step that is done
 * again after it as if nothing had been. Ranks are threads; devices of their own are in tests/cuda. */
#include "base/status.h"
#include "dist/group.h"
#include "model_case.h"
#include "rank_case.h"
#include "reduce/reduce.h"

enum { STEPS = 4, WORLD = 3 };
static const char *model_folder;

typedef enum fault_kind { NONE, BEFORE_SUM, BEFORE_PARTS, AFTER_PARTS, NOT_A_NUMBER, CANCELLED } fault_kind;
static const char *const faults[] = {"none",     "before the first sum", "before its parts", "after its parts", "loss of NaN",
                                     "cancelled"};
enum { FAULTS = sizeof faults / sizeof *faults, FAULTY_STEP = 2, FAULTY_RANK = 1 };

typedef struct setting {
  const char *name, *way;
  int32_t world, slices;
  int64_t accumulate;
  bool messages, apart;
  fault_kind fault;
} setting;

typedef struct rank {
  member member;
  setting how;
  const brim_dataset *rows;
  const brim_group *group;
  brim_runtime *runtime;
  brim_model *model;
  brim_plan *plan;
  brim_reduce *reduce;
  brim_batch batch;
  int64_t size;
  float *weights, *states; /* states: of both moments, whole */
  double losses[STEPS];
  bool found_way, summed, refused; /* refused: the faulty step, with the same decision everywhere */
} rank;

static void must(int status, const char *what, const brim_error *err) {
  if (status)
    case_stop(what, err);
}

/* ---- a rank ----------------------------------------------------------------------------------------------- */

static void open_rank(rank *r, const brim_group *group, const brim_plan_options *plan) {
  brim_error err = {0};
  const uint64_t count = brim_dataset_rows(r->rows);
  must(brim_runtime_new(&(brim_runtime_options){.threads = 1}, &r->runtime, &err), "runtime", &err);
  must(brim_model_load(r->runtime, model_folder, &(brim_model_options){.seed = 1}, &r->model, &err), "model", &err);
  must(brim_plan_new(r->runtime, brim_dataset_lengths(r->rows), count, plan, 0, &r->plan, &err), "plan", &err);
  const brim_model_limits limits = {.max_slots = (int64_t)brim_dataset_tokens(r->rows),
                                    .max_sequences = (int32_t)count,
                                    .max_length = brim_dataset_longest(r->rows),
                                    .training = true,
                                    .slices = plan->slices};
  must(brim_model_prepare(r->model, &limits, &err), "prepare", &err);
  const brim_reduce_how how = {.runtime = r->runtime, .model = r->model, .group = group, .plan = plan};
  must(brim_reduce_open(&how, &r->reduce, &err), "reduce", &err);
  r->found_way = strcmp(brim_reduce_way_name(r->reduce), r->how.way) == 0;
  r->size = brim_model_flat_size(r->model);
  r->group = group;
}

static void close_rank(rank *r) {
  brim_reduce_close(r->reduce);
  brim_batch_free(&r->batch);
  brim_plan_free(r->plan);
  brim_model_free(r->model);
  brim_runtime_free(r->runtime);
}

static int answers(rank *r, double *norm, bool bad, brim_error *err) {
  brim_answers found;
  BRIM_TRY(brim_model_answers(r->model, &found, err));
  for (int32_t i = 0; i < found.count && bad; i++)
    found.losses[i] = (double)NAN;
  brim_reduce_losses(r->reduce, found.losses, found.count);
  *norm = found.norm;
  return BRIM_OK;
}

static int compute(rank *r, bool bad, brim_error *err) {
  const brim_pass pass = {.training = true};
  double norm;
  for (uint64_t i = 0; i < brim_plan_parts(r->plan); i++) {
    brim_planned part;
    brim_batch piece;
    brim_plan_part(r->plan, r->member.rank, i, &part);
    r->batch.count = 0;
    if (part.count > 0)
      BRIM_TRY(brim_batch_fill(&r->batch, r->runtime, r->rows, &part, err));
    for (int32_t first = 0; first < r->batch.count;) {
      if (brim_model_queue_full(r->model))
        BRIM_TRY(answers(r, &norm, bad, err));
      BRIM_TRY(brim_reduce_part(r->reduce, &r->batch, i + 1 == brim_plan_parts(r->plan), &first, &piece, err));
      BRIM_TRY(brim_model_queue_forward(r->model, &piece, &pass, err));
      BRIM_TRY(brim_model_backward(r->model, &piece, &pass, err));
    }
  }
  return brim_reduce_needs_losses(r->reduce) ? answers(r, &norm, bad, err) : BRIM_OK;
}

/* What a rank is told to do wrong in this step. */
static int wrong(const rank *r, fault_kind fault, fault_kind now, brim_error *err) {
  return fault == now ? brim_error_set(err, BRIM_E_DIVERGED, "rank %d is told to fail", (int)r->member.rank) : BRIM_OK;
}

static int step(rank *r, int number, fault_kind fault, brim_error *err) {
  const brim_update_options update = {
      .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01, .clip = 1, .step = (uint64_t)number + 1};
  double sums[] = {r->member.rank + 1.0, 0.25}, norm = (double)NAN;
  const int32_t world = r->how.world;
  brim_reduce_begin(r->reduce);
  int status = brim_reduce_sum(r->reduce, wrong(r, fault, BEFORE_SUM, err), sums, 2, err);
  r->summed = r->summed && (status || (sums[0] == world * (world + 1) / 2.0 && sums[1] == 0.25 * world));
  if (!status)
    status = wrong(r, fault, BEFORE_PARTS, err);
  if (!status)
    status = compute(r, fault == NOT_A_NUMBER, err);
  if (!status)
    status = wrong(r, fault, AFTER_PARTS, err);
  if (fault == CANCELLED)
    brim_runtime_cancel(r->runtime);
  BRIM_TRY(brim_reduce_finish(r->reduce, status, err));
  if (!isfinite(brim_reduce_result(r->reduce)->loss))
    return brim_error_set(err, BRIM_E_DIVERGED, "the loss is not finite");
  BRIM_TRY(brim_reduce_update(r->reduce, &update, err));
  BRIM_TRY(brim_reduce_gather(r->reduce, err));
  BRIM_TRY(answers(r, &norm, false, err));
  r->losses[number] = brim_reduce_result(r->reduce)->loss;
  status = isfinite(norm) ? BRIM_OK : brim_error_set(err, BRIM_E_DIVERGED, "the norm is not finite");
  return brim_group_agree(r->group, status, err); /* a step is over on all ranks before the next one begins */
}

/* A step that fails on one rank fails on all, each with its own reason or that of another, and leaves nothing. */
static void fail_step(rank *r, int number) {
  brim_error err = {0};
  const bool own = r->member.rank == FAULTY_RANK;
  const int status = step(r, number, own ? r->how.fault : NONE, &err);
  if (r->how.fault == CANCELLED) {
    r->refused = status == BRIM_E_CANCELLED || (!status && brim_reduce_result(r->reduce)->cancel);
    brim_runtime_resume(r->runtime);
  } else {
    const bool told = strstr(err.message, r->how.fault == NOT_A_NUMBER ? "not finite"
                                          : own                        ? "told to fail"
                                                                       : "another rank failed");
    r->refused = status && told;
  }
  if (status)
    brim_reduce_abandon(r->reduce);
}

static void *run(void *context) {
  rank *r = context;
  brim_error err = {0};
  const int32_t world = r->how.world;
  brim_group group = meeting_group(&r->member);
  const brim_plan_options plan = {.batching = BRIM_SEQUENTIAL,
                                  .batch_size = (int64_t)brim_dataset_rows(r->rows),
                                  .accumulate = (int64_t)r->how.accumulate,
                                  .slices = r->how.slices,
                                  .world_size = world};
  group.messages = r->how.messages, group.apart = r->how.apart;
  if (world == 1)
    group = brim_group_single();
  open_rank(r, &group, &plan);
  r->summed = true;
  for (int number = 0; number < STEPS; number++) {
    if (r->how.fault && number == FAULTY_STEP)
      fail_step(r, number);
    if (r->how.fault != CANCELLED || number != FAULTY_STEP)
      must(step(r, number, NONE, &err), "step", &err);
  }
  must(brim_reduce_states(r->reduce, &err), "states", &err);
  r->weights = malloc((size_t)r->size * sizeof(float));
  r->states = malloc((size_t)(2 * r->size) * sizeof(float));
  must(brim_model_read(r->model, BRIM_VALUES, 0, r->size, r->weights, &err), "values", &err);
  must(brim_model_read(r->model, BRIM_STATE0, 0, r->size, r->states, &err), "states", &err);
  must(brim_model_read(r->model, BRIM_STATE1, 0, r->size, r->states + r->size, &err), "states", &err);
  close_rank(r);
  return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static void run_ranks(const setting *how, const brim_dataset *rows, rank *ranks) {
  meeting all = {.world = how->world};
  pthread_t threads[WORLD];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)how->world);
  for (int32_t i = 0; i < how->world; i++) {
    ranks[i] = (rank){.member = {&all, i}, .how = *how, .rows = rows};
    if (pthread_create(&threads[i], NULL, run, &ranks[i]))
      abort();
  }
  for (int32_t i = 0; i < how->world; i++)
    pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&all.barrier);
}

static void free_ranks(int32_t world, rank *ranks) {
  for (int32_t i = 0; i < world; i++)
    free(ranks[i].weights), free(ranks[i].states);
}

static bool same(const rank *a, const rank *b) {
  const size_t bytes = (size_t)a->size * sizeof(float);
  return memcmp(a->weights, b->weights, bytes) == 0 && memcmp(a->states, b->states, 2 * bytes) == 0 &&
         memcmp(a->losses, b->losses, sizeof a->losses) == 0;
}

static bool near(const rank *a, const rank *b) {
  double apart = 0, size = 0;
  for (int64_t i = 0; i < a->size; i++) {
    apart += pow((double)a->weights[i] - (double)b->weights[i], 2);
    size += pow((double)b->weights[i], 2);
  }
  return sqrt(apart / size) < 1e-4;
}

static void check_way(const setting *how, const brim_dataset *rows, const rank *want, bool bits) {
  rank ranks[WORLD];
  run_ranks(how, rows, ranks);
  bool alike = true, refused = true, found = true;
  for (int32_t i = 0; i < how->world; i++) {
    alike = alike && same(&ranks[i], &ranks[0]);
    found = found && ranks[i].found_way && ranks[i].summed;
    refused = refused && ranks[i].refused == (how->fault != NONE);
  }
  ok(found, "%s: %d ranks take this way, and sum what they must know first", how->name, (int)how->world);
  if (how->fault)
    ok(refused, "%s: a rank that fails (%s) fails the step for all", how->name, faults[how->fault]);
  ok(alike && (bits ? same(&ranks[0], want) : near(&ranks[0], want)), "%s%s%s: the weights of all ranks", how->name,
     how->fault ? ", done again after " : "", how->fault ? faults[how->fault] : "");
  free_ranks(how->world, ranks);
}

static const setting ways[] = {
    {"messages during backward", "messages", WORLD, .messages = true},
    {"messages after backward", "messages", WORLD, .messages = true, .apart = true},
    {"shared memory", "shared memory", WORLD, .messages = false},
};
enum { WAYS = sizeof ways / sizeof *ways, CUTS = 4 };

/* How a step is cut. 0 slices: the bits are those of the number of ranks, else of none. */
static const struct {
  int32_t slices;
  int64_t accumulate;
} cuts[CUTS] = {{0, 0}, {0, 3}, {8, 0}, {8, 3}};

/* Under sanitizers each way takes one cut, with some ranks. */
static bool takes(int way, int cut, int32_t world) {
  return tap_takes_of("ways", (uint64_t)(((way * CUTS) + cut) * (WORLD - 1) + world - 2), CUTS * (WORLD - 1));
}

static void check_cut(const brim_dataset *rows, int cut) {
  const int32_t slices = cuts[cut].slices;
  const int64_t accumulate = cuts[cut].accumulate;
  const setting alone = {"alone", "alone", 1, slices, .accumulate = accumulate};
  rank one, base[WORLD];
  setting how = ways[0];
  run_ranks(&alone, rows, &one);
  ok(one.found_way && one.summed, "%d slices, %d parts: alone", (int)slices, (int)accumulate);
  how.slices = slices, how.accumulate = accumulate;
  run_ranks(&how, rows, base);
  for (int i = 0; i < WAYS; i++)
    for (int32_t world = 2; world <= WORLD; world++) {
      if (!takes(i, cut, world))
        continue;
      how = ways[i];
      how.world = world, how.slices = slices, how.accumulate = accumulate;
      check_way(&how, rows, slices ? &one : world == WORLD ? &base[0] : &one, slices > 0 || world == WORLD);
    }
  for (int i = 0; i < WAYS && accumulate == 0; i++)
    for (int fault = NONE + 1; fault < FAULTS; fault++) {
      if (!tap_takes_of("faults", (uint64_t)((cut * WAYS + i) * (FAULTS - 1) + fault - 1), FAULTS - 1))
        continue;
      how = ways[i];
      how.slices = slices, how.fault = (fault_kind)fault;
      check_way(&how, rows, &base[0], true);
    }
  free_ranks(1, &one), free_ranks(WORLD, base);
}

int main(void) {
  case_start(1);
  model_folder = case_golden("bert-pair-3");
  brim_dataset *rows = case_rows("bert-pair-3");
  for (int i = 0; i < CUTS; i++)
    check_cut(rows, i);
  brim_dataset_free(rows);
  brim_runtime_free(case_runtime);
  return tap_done();
}
