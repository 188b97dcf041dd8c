/* Steps of training on the emulated card: how often the host waits in one, that nothing is allocated and all transfers are of
 * pinned memory, and the same bits whatever runs early or late. */
#include "../train_case.h"
#include "fake_cuda.h"
#include "model/run/model.h"

enum { STEPS = 6, PARTS = 2, ROWS = 48, SYNCS_OF_PASS = 0 };

typedef struct counted {
  long now[FAKE_COUNTS], step[STEPS][FAKE_COUNTS];
  int steps;
} counted;

typedef struct outcome {
  counted counts;
  float *weights;
  int64_t size;
  uint64_t digest; /* of what ran */
  long captures, graphs, launches;
} outcome;

static int note(void *context, const brim_event *event) {
  counted *c = context;
  const bool step = strcmp(event->kind, "step") == 0;
  for (int i = 0; i < FAKE_COUNTS; i++) {
    const long now = fake_cuda_count((fake_cuda_what)i);
    if (step && c->steps < STEPS)
      c->step[c->steps][i] = now - c->now[i];
    c->now[i] = now;
  }
  c->steps += step;
  return BRIM_OK;
}

static void need(int status, const brim_error *err) {
  if (status == BRIM_OK)
    return;
  printf("Bail out! %s\n", err->message);
  exit(99);
}

/* Steps of one epoch, each cut into so many parts. */
static outcome train_profiled(const char *folder, uint64_t seed, int parts, brim_profile *profile) {
  outcome out = {0};
  case_job job = {0};
  brim_error err = {0};
  brim_train_options options = case_options(NULL);
  const brim_runtime_options threads = {.threads = 1};
  const brim_model_options on_card = {.seed = 1, .device = BRIM_DEVICE_CUDA};
  fake_cuda_seed(seed);
  fake_cuda_digest();
  const long captures = fake_cuda_count(FAKE_CAPTURES), graphs = fake_cuda_count(FAKE_GRAPHS),
             launches = fake_cuda_count(FAKE_GRAPH_LAUNCHES);
  need(brim_runtime_new(&threads, &job.runtime, &err), &err);
  need(brim_model_load(job.runtime, folder, &on_card, &job.model, &err), &err);
  job.train = case_dataset(job.runtime, ROWS, 30, brim_model_vocab_size(job.model), brim_model_outputs(job.model), 1);
  options.epochs = 1;
  options.log_every = 1;
  options.profile = profile;
  options.plan.accumulate = parts;
  options.event = note;
  options.event_context = &out.counts;
  need(case_train(&job, &options, NULL, &err), &err);
  out.size = brim_model_flat_size(job.model);
  out.weights = malloc((size_t)out.size * sizeof *out.weights);
  need(brim_model_read(job.model, BRIM_VALUES, 0, out.size, out.weights, &err), &err);
  case_close(&job);
  out.digest = fake_cuda_digest();
  out.captures = fake_cuda_count(FAKE_CAPTURES) - captures;
  out.graphs = fake_cuda_count(FAKE_GRAPHS) - graphs;
  out.launches = fake_cuda_count(FAKE_GRAPH_LAUNCHES) - launches;
  return out;
}

static outcome train(const char *folder, uint64_t seed, int parts) {
  return train_profiled(folder, seed, parts, NULL);
}

static bool same(const outcome *a, const outcome *b) {
  return a->size == b->size && memcmp(a->weights, b->weights, (size_t)a->size * sizeof *a->weights) == 0;
}

static void show(const outcome *o, const char *what) {
  for (int i = 0; i < STEPS; i++)
    printf(
        "# %s, step %d: %ld waits for the card, %ld for memory of transfers, %ld allocations, %ld transfers (%ld not pinned)\n",
        what, i + 1, o->counts.step[i][FAKE_SYNCS], o->counts.step[i][FAKE_SLOT_WAITS], o->counts.step[i][FAKE_ALLOCATIONS],
        o->counts.step[i][FAKE_PINNED], o->counts.step[i][FAKE_PAGEABLE]);
}

/* In every step. */
static bool all(const outcome *o, fake_cuda_what what, long count) {
  for (int i = 0; i < STEPS; i++)
    if (o->counts.step[i][what] != count)
      return false;
  return o->counts.steps == STEPS;
}

/* What graphs are is seen in nothing but how the card got its work. */
static void test_graphs(const char *folder, const outcome *in_graphs) {
  enum { PASSES = 2 * STEPS, BROKEN = 3 };
  setenv("BRIM_CUDA_GRAPHS", "0", 1);
  outcome plain = train(folder, 0, 1);
  unsetenv("BRIM_CUDA_GRAPHS");
  fake_cuda_graphs(false, -1);
  outcome without = train(folder, 0, 1);
  fake_cuda_graphs(true, BROKEN);
  outcome broken = train(folder, 0, 1);
  fake_cuda_graphs(true, -1);
  fake_cuda_uncaptured(BROKEN);
  outcome refused = train(folder, 0, 1);
  fake_cuda_uncaptured(-1);
  ok(in_graphs->launches == PASSES && in_graphs->captures == PASSES && in_graphs->graphs < PASSES / 2,
     "%d passes are %ld launches of %ld graphs", PASSES, in_graphs->launches, in_graphs->graphs);
  ok(plain.captures == 0 && same(&plain, in_graphs) && plain.digest == in_graphs->digest,
     "without graphs the same calls run in the same order, with the same bits");
  ok(without.launches == 0 && same(&without, in_graphs) && without.digest == in_graphs->digest,
     "and so they do where the driver refuses to capture");
  ok(broken.launches == BROKEN && broken.captures == BROKEN + 1 && same(&broken, in_graphs) && broken.digest == in_graphs->digest,
     "a capture that comes to nothing is done again, call by call, and is the last one");
  ok(refused.launches == BROKEN && refused.captures == BROKEN + 1 && same(&refused, in_graphs) &&
         refused.digest == in_graphs->digest,
     "and so is one in which a call fails");
  free(plain.weights), free(without.weights), free(broken.weights), free(refused.weights);
}

/* What the card did by its own clock: every call once, in no graph, and the bits and waits of a run without a profile. */
static void test_profile(const char *folder, const outcome *plain) {
  brim_runtime *runtime;
  brim_profile *profile;
  brim_error err = {0};
  need(brim_runtime_new(NULL, &runtime, &err), &err);
  need(brim_profile_new(runtime, &profile, &err), &err);
  const long ran = fake_cuda_count(FAKE_RUN), launches = fake_cuda_launches();
  outcome timed = train_profiled(folder, 0, 1, profile);
  const long all_run = fake_cuda_count(FAKE_RUN) - ran, all_launched = fake_cuda_launches() - launches;
  long kernels = 0, losses = 0, others = 0;
  double seconds = 0;
  for (int i = 0; i < brim_profile_row_count(profile); i++) {
    const brim_profile_row *row = brim_profile_row_at(profile, i);
    if (row->work != BRIM_WORK_CARD)
      continue;
    const bool other = strchr(row->name, ' ') || strcmp(row->name, "clear") == 0 || strcmp(row->name, "copy") == 0;
    *(other ? &others : &kernels) += (long)row->calls;
    losses += strcmp(row->name, "loss") == 0 ? (long)row->calls : 0;
    seconds += row->seconds;
  }
  ok(same(&timed, plain) && timed.captures == 0 && all(&timed, FAKE_SYNCS, SYNCS_OF_PASS + 1) && all(&timed, FAKE_SLOT_WAITS, 0),
     "a profiled run has the same bits and waits as often, without graphs");
  ok(losses == STEPS && kernels > 100 && kernels <= all_launched && others > STEPS && kernels + others <= all_run,
     "the card's clock has %ld kernels of %ld that were launched, and %ld transfers", kernels, all_launched, others);
  ok(seconds > 0 && seconds < brim_profile_seconds(profile), "they took no longer than the run");
  free(timed.weights);
  brim_profile_free(profile);
  brim_runtime_free(runtime);
}

int main(void) {
  const char *folder = case_model_folder("bert-pair-3");
  outcome whole = train(folder, 0, 1), early = train(folder, 1, 1), parts = train(folder, 0, PARTS),
          other = train(folder, 1, PARTS);
  show(&whole, "whole");
  show(&parts, "in parts");
  ok(all(&whole, FAKE_SYNCS, SYNCS_OF_PASS + 1), "a step of one part waits %d times for the card", SYNCS_OF_PASS + 1);
  ok(all(&parts, FAKE_SYNCS, SYNCS_OF_PASS * PARTS + 1), "and one of %d parts %d times", PARTS, SYNCS_OF_PASS * PARTS + 1);
  ok(all(&whole, FAKE_ALLOCATIONS, 0) && all(&parts, FAKE_ALLOCATIONS, 0), "no step takes memory, of the card or of the host");
  ok(all(&whole, FAKE_PAGEABLE, 0) && all(&parts, FAKE_PAGEABLE, 0), "all transfers of a step are of pinned memory");
  ok(all(&whole, FAKE_SLOT_WAITS, 0) && all(&parts, FAKE_SLOT_WAITS, 0), "and none waits for the one before");
  ok(same(&whole, &early) && same(&parts, &other), "transfers that run early give the bits of transfers that run late");
  test_graphs(folder, &whole);
  test_profile(folder, &whole);
  ok_int(fake_cuda_left(), 0, "nothing is left");
  outcome *outcomes[] = {&whole, &early, &parts, &other};
  for (int i = 0; i < 4; i++)
    free(outcomes[i]->weights);
  return tap_done();
}
