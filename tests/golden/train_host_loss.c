/* A loss that the host computes over all texts of a step: outputs and gradient are the same for any cutting of the step, any
 * number of ranks and threads, in every precision, with dropout on; weights then as with any other loss. Runs that end between
 * the two phases of a step, outputs and gradient, leave whole checkpoints and are resumed from there. The target is a test's:
 * each text's outputs against all others'. Ranks are threads here. */
#include <signal.h>
#include <sys/wait.h>

#include "model/run/logits.h"
#include "rank_case.h"
#include "target/target.h"
#include "train_case.h"

enum { MOST = 4096, SLICES = 8 };

/* ---- targets ------------------------------------------------------------------------------------------------- */

/* What the first call of a run saw and gave; later calls of its first step must see the same. */
typedef struct seen {
  pthread_mutex_t lock;
  bool any;
  int calls;
  int32_t rows;
  float values[MOST], gradient[MOST];
  double loss;
} seen;
static seen saw = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What happens between the outputs of a step and its gradient, at a call of the loss, of all ranks counted together; and at the
 * first outputs of one rank, which then have a number that is none. 0: never. */
static struct {
  int bad, cancelled, killed, damaged_rank;
} at;
static _Thread_local int32_t rank_here;
static _Thread_local bool damaged;

int __real_brim_model_read_logits(brim_model *model, float *logits, brim_error *err);
int __wrap_brim_model_read_logits(brim_model *model, float *logits, brim_error *err);
int __wrap_brim_model_read_logits(brim_model *model, float *logits, brim_error *err) {
  const int status = __real_brim_model_read_logits(model, logits, err);
  if (!damaged && at.damaged_rank == rank_here)
    logits[0] = NAN;
  damaged = damaged || at.damaged_rank == rank_here;
  return status;
}

static double product(const float *x, const float *y, int32_t width) {
  double sum = 0;
  for (int32_t k = 0; k < width; k++)
    sum += (double)x[k] * (double)y[k];
  return sum;
}

/* 1 / (B D) sum over i, j of (z_i . z_j - [y_i = y_j])^2, D the divisor, in the slow and obvious way. */
static int all_pairs(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss,
                     brim_error *err) {
  (void)err;
  *loss = 0;
  for (int32_t i = 0; i < o->rows; i++) {
    double by[16] = {0};
    const float *own = o->values + i * o->width;
    for (int32_t j = 0; j < o->rows; j++) {
      const float *other = o->values + j * o->width;
      const double error = product(own, other, o->width) - (o->labels[i * o->label_width] == o->labels[j * o->label_width]);
      *loss += error * error / (divisor * o->rows);
      for (int32_t k = 0; k < o->width; k++)
        by[k] += 4 * error * (double)other[k] / (divisor * o->rows);
    }
    for (int32_t k = 0; k < o->width; k++)
      gradient[i * o->width + k] = (float)by[k];
  }
  pthread_mutex_lock(&saw.lock);
  const size_t size = (size_t)(o->rows * o->width) * sizeof(float);
  if (!saw.any) {
    saw.any = true;
    saw.rows = o->rows;
    saw.loss = *loss;
    memcpy(saw.values, o->values, size);
    memcpy(saw.gradient, gradient, size);
  }
  saw.calls++;
  if (at.bad > 0 && saw.calls >= at.bad)
    *loss = NAN;
  if (saw.calls == at.cancelled)
    brim_runtime_cancel(runtime);
  if (saw.calls == at.killed)
    raise(SIGKILL);
  pthread_mutex_unlock(&saw.lock);
  return BRIM_OK;
}

static const brim_target of_step = {.scope = BRIM_LOSS_OF_STEP, .loss = all_pairs};
static const brim_target of_part = {.scope = BRIM_LOSS_OF_PART, .loss = all_pairs};
static const brim_target *wanted = &of_step;

const brim_target *__wrap_brim_target_of(brim_task task);
const brim_target *__wrap_brim_target_of(brim_task task) {
  (void)task;
  return wanted;
}

/* ---- runs ---------------------------------------------------------------------------------------------------- */

typedef struct rank_run {
  member member;
  const char *model;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  int status, threads;
  int64_t cancel_at, size;
  brim_runtime *runtime;
  float *weights;
} rank_run;

static int listen(void *context, const brim_event *event) {
  rank_run *run = context;
  if (run->cancel_at > 0 && strcmp(event->kind, "step") == 0 && brim_event_field(event, "step")->integer == run->cancel_at)
    brim_runtime_cancel(run->runtime);
  return 0;
}

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job = case_open(run->model, run->threads);
  rank_here = run->member.rank + 1;
  damaged = false;
  run->runtime = job.runtime;
  run->options.group = meeting_group(&run->member);
  run->options.event = listen, run->options.event_context = run;
  run->status = brim_train(job.runtime, job.model, NULL, job.train, NULL, 0, &run->options, &run->result, &run->err);
  run->weights = case_weights(&job);
  run->size = brim_model_flat_size(job.model);
  case_close(&job);
  return NULL;
}

typedef struct outcome {
  rank_run run; /* rank 0's */
  seen saw;
} outcome;

static outcome train(const char *model, int32_t world, int threads, const brim_train_options *options, int64_t cancel_at) {
  static rank_run runs[MOST_RANKS];
  meeting all = {.world = world};
  pthread_t thread[MOST_RANKS];
  saw.any = false;
  saw.calls = 0;
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .model = model, .options = *options, .threads = threads, .cancel_at = cancel_at};
    if (pthread_create(&thread[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(thread[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  for (int32_t r = 1; r < world; r++) {
    if (runs[r].status != runs[0].status || memcmp(runs[r].weights, runs[0].weights, (size_t)runs[0].size * sizeof(float)) != 0)
      runs[0].status = brim_error_set(&runs[0].err, BRIM_E_INTERNAL, "rank %d ended otherwise than rank 0", (int)r);
    free(runs[r].weights);
  }
  return (outcome){runs[0], saw};
}

static brim_train_options options_of(int64_t max_tokens, int32_t slices) {
  brim_train_options options = case_options(NULL);
  options.plan.batch_size = 20;
  options.plan.max_tokens = max_tokens;
  options.plan.slices = slices;
  options.lr = 1e-3;
  return options;
}

static bool same_outputs(const outcome *a, const outcome *b, int32_t width) {
  const size_t size = (size_t)(a->saw.rows * width) * sizeof(float);
  return a->saw.rows == b->saw.rows && memcmp(a->saw.values, b->saw.values, size) == 0 && a->saw.loss == b->saw.loss &&
         memcmp(a->saw.gradient, b->saw.gradient, size) == 0;
}

static bool same_weights(const outcome *a, const outcome *b) {
  return memcmp(a->run.weights, b->run.weights, (size_t)a->run.size * sizeof(float)) == 0;
}

/* ---- checks -------------------------------------------------------------------------------------------------- */

static void check_cuts(const char *model, const char *name, int32_t width) {
  const int64_t cuts[] = {160, 100, 60, 40};
  brim_train_options options = options_of(0, 0);
  const outcome whole = train(model, 1, 1, &options, 0);
  ok(whole.run.status == BRIM_OK && whole.saw.rows == 20, "%s: a step at once: %s", name, whole.run.err.message);
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
    for (int32_t world = 1; world <= 4; world += 1 + (i > 0)) {
      options = options_of(cuts[i], 0);
      const outcome cut = train(model, world, 1 + (int)i % 3, &options, 0);
      const double apart = case_distance(cut.run.weights, whole.run.weights, whole.run.size);
      ok(cut.run.status == BRIM_OK && same_outputs(&cut, &whole, width) && apart < 1e-4,
         "%s: in parts of %d tokens on %d ranks the first step is the same, and weights to %.1e%s", name, (int)cuts[i],
         (int)world, apart, cut.run.err.message);
      free(cut.run.weights);
    }
  free(whole.run.weights);
}

/* With slices weights have the same bits too. */
static void check_slices(const char *model, const char *name) {
  brim_train_options options = options_of(0, SLICES);
  const outcome one = train(model, 1, 1, &options, 0);
  ok(one.run.status == BRIM_OK, "%s: slices: %s", name, one.run.err.message);
  for (int32_t world = 1; world <= 4; world++) {
    options = options_of(world == 1 ? 100 : 0, SLICES);
    const outcome other = train(model, world, 2, &options, 0);
    ok(other.run.status == BRIM_OK && same_weights(&one, &other), "%s: with slices the same bits on %d ranks%s", name, (int)world,
       other.run.err.message);
    free(other.run.weights);
  }
  free(one.run.weights);
}

/* Of a step that is one part both scopes are one. */
static void check_part(const char *model) {
  const brim_train_options options = options_of(0, 0), slices = options_of(0, SLICES);
  const outcome step = train(model, 1, 1, &options, 0);
  wanted = &of_part;
  const outcome part = train(model, 1, 1, &options, 0);
  ok(part.run.status == BRIM_OK && same_weights(&step, &part), "the loss of a part is that of a step of one part");
  const outcome one = train(model, 1, 1, &slices, 0), three = train(model, 3, 1, &slices, 0);
  ok(one.run.status == BRIM_OK && three.run.status == BRIM_OK && same_weights(&one, &three),
     "losses of slices: the same bits on 3 ranks %s%s", one.run.err.message, three.run.err.message);
  ok(one.run.result.loss == three.run.result.loss, "and the same loss");
  wanted = &of_step;
  free(step.run.weights), free(part.run.weights), free(one.run.weights), free(three.run.weights);
}

static void check_resume(const char *model) {
  brim_train_options options = options_of(60, 0);
  const outcome whole = train(model, 1, 1, &options, 0);
  options.output = case_path(scratch_folder(), "run");
  const outcome cut = train(model, 1, 1, &options, 3);
  ok(cut.run.status == BRIM_E_CANCELLED, "cancelled in the third step");
  options.resume = true;
  const outcome rest = train(model, 1, 1, &options, 0);
  ok(rest.run.status == BRIM_OK && same_weights(&whole, &rest), "and resumed, with the same bits %s", rest.run.err.message);
  free(whole.run.weights), free(cut.run.weights), free(rest.run.weights);
}

/* A loss that is no number, or outputs of one rank, end the run on all ranks, whose weights stay as they were. */
static void check_diverged(const char *model) {
  const brim_train_options options = options_of(60, 0);
  case_job fresh = case_open(model, 1);
  for (int32_t world = 1; world <= 3; world++)
    for (int rank = 0; rank <= world; rank++) {
      at.bad = rank == 0, at.damaged_rank = rank;
      const outcome run = train(model, world, 1, &options, 0);
      ok(run.run.status == BRIM_E_DIVERGED && case_same_weights(&fresh, run.run.weights), "%d ranks, %s %d: %s", (int)world,
         rank ? "outputs of rank" : "the loss,", rank ? rank - 1 : 0, run.run.err.message);
      free(run.run.weights);
    }
  at.bad = at.damaged_rank = 0;
  case_close(&fresh);
}

/* Between the outputs of the third step and its gradient: by the user, or by SIGKILL in a process by itself. */
static void check_between(const char *model) {
  brim_train_options options = options_of(60, 0);
  options.save_every = 1;
  const outcome whole = train(model, 1, 1, &options, 0);
  for (int32_t world = 1; world <= 2; world++) {
    options.output = case_path(scratch_folder(), world == 1 ? "stopped" : "stopped-2");
    options.resume = false;
    at.cancelled = 2 * world + 1;
    const outcome cut = train(model, world, 1, &options, 0);
    at.cancelled = 0;
    options.resume = true;
    const outcome rest = train(model, world, 1, &options, 0);
    options.output = NULL, options.resume = false;
    const outcome straight = train(model, world, 1, &options, 0);
    ok(cut.run.status == BRIM_E_CANCELLED && rest.run.status == BRIM_OK && same_weights(&straight, &rest) &&
           rest.saw.calls < straight.saw.calls,
       "%d ranks, cancelled between the phases and resumed: the same bits %s", (int)world, rest.run.err.message);
    free(cut.run.weights), free(rest.run.weights), free(straight.run.weights);
  }
  options.output = case_path(scratch_folder(), "killed");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    at.killed = 3;
    _exit(train(model, 1, 1, &options, 0).run.status);
  }
  int state;
  waitpid(child, &state, 0);
  ok(WIFSIGNALED(state) && strcmp(case_names(case_path(options.output, "checkpoints")), "step-2") == 0,
     "killed between the phases: %s", case_names(case_path(options.output, "checkpoints")));
  options.resume = true;
  const outcome rest = train(model, 1, 1, &options, 0);
  ok(rest.run.status == BRIM_OK && same_weights(&whole, &rest), "and resumed: the same bits %s", rest.run.err.message);
  free(whole.run.weights), free(rest.run.weights);
}

/* Whatever else a run does: checkpointing, parts and accumulation change no output of a step. */
static void check_options(const char *model, int32_t width) {
  static const struct {
    const char *name, *freeze;
    brim_precision precision;
  } kinds[] = {{"fp32", NULL, BRIM_PRECISION_FP32},
               {"fp32, frozen embeddings", "embeddings", BRIM_PRECISION_FP32},
               {"bf16", NULL, BRIM_PRECISION_BF16},
               {"bf16, a frozen layer", "1", BRIM_PRECISION_BF16}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    brim_train_options options = options_of(0, 0);
    options.freeze = kinds[k].freeze, options.precision = kinds[k].precision;
    const outcome whole = train(model, 1, 1, &options, 0);
    ok(whole.run.status == BRIM_OK, "%s: %s", kinds[k].name, whole.run.err.message);
    for (int way = 1; way < 8; way++) {
      options.checkpoint_activations = way & 1;
      options.plan.max_tokens = way & 2 ? 60 : 0;
      options.plan.accumulate = way & 4 ? 3 : 0;
      const outcome other = train(model, 1 + way % 2, 1, &options, 0);
      const double apart = case_distance(other.run.weights, whole.run.weights, whole.run.size);
      ok(other.run.status == BRIM_OK && same_outputs(&other, &whole, width) && apart < 1e-3,
         "%s%s%s%s: the same outputs, and weights to %.1e %s", kinds[k].name, way & 1 ? ", checkpoints" : "",
         way & 2 ? ", parts" : "", way & 4 ? ", accumulated" : "", apart, other.run.err.message);
      free(other.run.weights);
    }
    free(whole.run.weights);
  }
}

int main(void) {
  const char *classes = case_model_folder("bert-pair-3"), *values = case_model_folder("bert-odd-regression");
  check_cuts(classes, "classes", 3);
  check_cuts(values, "values", 1);
  check_slices(classes, "classes");
  check_part(classes);
  check_resume(classes);
  check_diverged(classes);
  check_between(classes);
  check_options(classes, 3);
  return tap_done();
}
