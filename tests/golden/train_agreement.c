/* Ranks that would not train or evaluate the same: all of them end, say what differs and on which rank, and nothing is written.
 * Ranks are threads; what no two of one program can differ in is answered here in brim's place (tests/meson.build). */
#include "model/run/extents.h"
#include "rank_runs.h"
#include "train/folder/state.h"
#include "train/schedule.h"
#include "train/supply.h"

static const char *model_folder;
static bool host; /* the device's memory is the host's: it has slices */

static void agree_from(const brim_train_options *options, int32_t world, change_fn change, const char *what, const char *value) {
  rank_run runs[MOST_RANKS];
  char who[64];
  snprintf(who, sizeof who, "on rank %d,", (int)world - 1);
  run_ranks(world, model_folder, options, change, runs);
  bool same = true, named = true;
  for (int32_t r = 0; r < world; r++) {
    same = same && runs[r].status == BRIM_E_MISMATCH && runs[r].result.steps == 0;
    named = named && strstr(runs[r].err.message, what) && strstr(runs[r].err.message, who) &&
            strstr(runs[r].err.message, value) && strcmp(runs[r].err.message, runs[0].err.message) == 0;
  }
  free_runs(world, runs);
  ok(same && named && !case_exists(options->output), "%s, on one of %d ranks: %s", what, (int)world, runs[0].err.message);
  case_remove(options->output);
}

static void agree(int32_t world, change_fn change, const char *what, const char *value) {
  const brim_train_options options = case_options(scratch_file("agree"));
  agree_from(&options, world, change, what, value);
}

/* ---- every option ------------------------------------------------------------------------------------------ */

typedef struct option {
  const char *name, *common, *other; /* as the message has them: of the ranks, and of the last one */
  void (*all)(brim_train_options *options), (*one)(brim_train_options *options);
} option;

#define VALUE(name, member, value)                                                                                               \
  static void name(brim_train_options *o) {                                                                                      \
    o->member = value;                                                                                                           \
  }
VALUE(sorted, plan.batching, BRIM_SORTED)
VALUE(padded, plan.padding, BRIM_PAD_LONGEST)
VALUE(batch_of_4, plan.batch_size, 4)
VALUE(tokens_at_once, plan.max_tokens, 100)
VALUE(rows_at_once, plan.max_rows, 3)
VALUE(parts, plan.accumulate, 4)
VALUE(shorter, plan.max_length, 20)
VALUE(multiple, plan.pad_to_multiple_of, 8)
VALUE(ahead, plan.read_ahead, 20)
VALUE(rows_multiple, plan.required_batch_size_multiple, 2)
VALUE(drop, plan.drop_last, true)
VALUE(alone, plan.oversize, BRIM_OVERSIZE_ALONE)
VALUE(fill, plan.tail, BRIM_TAIL_FILL)
VALUE(slices_4, plan.slices, 4)
VALUE(linear_cost, plan.cost_linear, 2.0)
VALUE(square_cost, plan.cost_square, 2.0)
VALUE(plan_seed, plan.seed, 43)
VALUE(epochs_3, epochs, 3.0)
VALUE(steps_5, max_steps, 5)
VALUE(steps_6, max_steps, 6)
VALUE(rate, lr, 0.25)
VALUE(sgd, optimizer, "sgd")
static void sgd_of_half(brim_train_options *o) {
  o->optimizer = "sgd";
  o->momentum = 0.5;
}
VALUE(decays, weight_decay, 0.5)
static void decays_back(brim_train_options *o) {
  o->weight_decay = 0.5;
  o->decay_towards = "pretrained";
}
VALUE(mixed, mixout, 0.5)
VALUE(first_beta, beta1, 0.5)
VALUE(second_beta, beta2, 0.5)
VALUE(epsilon, eps, 0.5)
VALUE(decay, weight_decay, 0.5)
VALUE(unclipped, clip, 0.0)
VALUE(cosine, schedule, BRIM_SCHEDULE_COSINE)
VALUE(warm_steps, warmup_steps, 3)
VALUE(warm_share, warmup_ratio, 0.5)
VALUE(balanced, class_weights, "balanced")
VALUE(smooth, label_smoothing, 0.5)
VALUE(frozen, freeze, "embeddings")
VALUE(by_name, train_only, "classifier.*")
VALUE(by_layer, layer_lr_decay, 0.5)
VALUE(half, precision, BRIM_PRECISION_BF16)
VALUE(recompute, checkpoint_activations, true)
VALUE(seed_43, seed, 43)
VALUE(log_rhythm, log_every, 2)
VALUE(eval_rhythm, eval_every, 2)
VALUE(save_rhythm, save_every, 2)
VALUE(keep_2, keep_checkpoints, 2)
VALUE(by_loss, best_metric, "loss")
VALUE(patient, patience, 2)
static void least(brim_train_options *o) {
  o->patience = 2;
  o->min_delta = 0.5;
}
VALUE(average, swa_start, 0.5)
VALUE(average_rhythm, swa_every, 2)
VALUE(eval_random, eval.batching, BRIM_RANDOM)
VALUE(eval_padded, eval.padding, BRIM_PAD_LONGEST)
VALUE(eval_rows, eval.batch_size, 2)
VALUE(eval_tokens, eval.max_tokens, 50)

static const option options[] = {
    {"batching", "\"random\"", "\"sorted\"", NULL, sorted},
    {"padding", "\"none\"", "\"longest\"", NULL, padded},
    {"batch_size", "8", "4", NULL, batch_of_4},
    {"max_tokens", "null", "100", NULL, tokens_at_once},
    {"max_rows", "null", "3", NULL, rows_at_once},
    {"accumulate", "null", "4", NULL, parts},
    {"max_length", "null", "20", NULL, shorter},
    {"pad_to_multiple_of", "null", "8", NULL, multiple},
    {"read_ahead", "null", "20", NULL, ahead},
    {"required_batch_size_multiple", "null", "2", NULL, rows_multiple},
    {"drop_last", "false", "true", NULL, drop},
    {"oversize", "\"error\"", "\"alone\"", NULL, alone},
    {"tail", "\"resplit\"", "\"fill\"", NULL, fill},
    {"slices", "null", "4", NULL, slices_4},
    {"cost_linear", "null", "2", NULL, linear_cost},
    {"cost_square", "null", "2", NULL, square_cost},
    {"plan_seed", "42", "43", NULL, plan_seed},
    {"epochs", "2", "3", NULL, epochs_3},
    {"max_steps", "5", "6", steps_5, steps_6},
    {"lr", "0.003", "0.25", NULL, rate},
    {"optimizer", "null", "\"sgd\"", NULL, sgd},
    {"momentum", "0.9", "0.5", sgd, sgd_of_half},
    {"decay_towards", "null", "\"pretrained\"", decays, decays_back},
    {"mixout", "null", "0.5", NULL, mixed},
    {"beta1", "0.9", "0.5", NULL, first_beta},
    {"beta2", "0.999", "0.5", NULL, second_beta},
    {"eps", "1e-08", "0.5", NULL, epsilon},
    {"weight_decay", "0", "0.5", NULL, decay},
    {"clip", "1", "null", NULL, unclipped},
    {"schedule", "\"linear\"", "\"cosine\"", NULL, cosine},
    {"warmup_steps", "2", "3", NULL, warm_steps},
    {"warmup_ratio", "null", "0.5", NULL, warm_share},
    {"class_weights", "null", "\"balanced\"", NULL, balanced},
    {"label_smoothing", "0", "0.5", NULL, smooth},
    {"freeze", "null", "\"embeddings\"", NULL, frozen},
    {"train_only", "null", "\"classifier.*\"", NULL, by_name},
    {"layer_lr_decay", "1", "0.5", NULL, by_layer},
    {"precision", "\"fp32\"", "\"bf16\"", NULL, half},
    {"checkpoint_activations", "false", "true", NULL, recompute},
    {"seed", "42", "43", NULL, seed_43},
    {"log_every", "1", "2", NULL, log_rhythm},
    {"eval_every", "null", "2", NULL, eval_rhythm},
    {"save_every", "null", "2", NULL, save_rhythm},
    {"keep_checkpoints", "1", "2", NULL, keep_2},
    {"best_metric", "\"accuracy\"", "\"loss\"", NULL, by_loss},
    {"patience", "null", "2", NULL, patient},
    {"min_delta", "0", "0.5", patient, least},
    {"swa_start", "null", "0.5", NULL, average},
    {"swa_every", "null", "2", average, average_rhythm},
    {"eval_batching", "\"sorted\"", "\"random\"", NULL, eval_random},
    {"eval_padding", "\"none\"", "\"longest\"", NULL, eval_padded},
    {"eval_batch_size", "null", "2", NULL, eval_rows},
    {"eval_max_tokens", "null", "50", NULL, eval_tokens},
};
enum { OPTIONS = sizeof options / sizeof *options };
/* Refused before: where there is no fp16, no word is masked, and for a task with one loss. */
static const char *const elsewhere[] = {
    "mask_rate",       "loss_scale",        "loss_scale_steps", "loss",      "scale",      "margin",   "temperature",
    "positive_weight", "distance",          "directions",       "partition", "similarity", "hardness", "hardness_strength",
    "matryoshka",      "matryoshka_weights"};
enum { ELSEWHERE = sizeof elsewhere / sizeof *elsewhere };

static const option *changed;

static void change_option(case_job *job, rank_run *run) {
  (void)job;
  changed->one(&run->options);
}

/* The order has the run's seed where both are given. */
static const char *given_as(const char *name) {
  return strcmp(name, "plan_seed") == 0 ? "seed" : name;
}

static void every_option(void) {
  for (int i = 0; i < OPTIONS; i++) {
    changed = &options[i];
    brim_train_options common = case_options(scratch_file("agree"));
    char what[96], value[96];
    if (changed->one == slices_4 && !host)
      continue;
    if (changed->all)
      changed->all(&common);
    snprintf(what, sizeof what, " same: %s: %s on", given_as(changed->name), changed->other);
    snprintf(value, sizeof value, ", %s on rank 0", changed->common);
    agree_from(&common, 2 + i % 2, change_option, what, value);
  }
}

/* What a checkpoint keeps of the options is what ranks agree on. */
static void no_option_is_missing(void) {
  const brim_train_options defaults = case_options(NULL);
  brim_field fields[BRIM_TRAIN_OPTION_FIELDS];
  const int count = brim_train_option_fields(&defaults, fields);
  for (int i = 0; i < count; i++) {
    bool found = false;
    for (int k = 0; k < ELSEWHERE; k++)
      found = found || strcmp(fields[i].name, elsewhere[k]) == 0;
    for (int k = 0; k < OPTIONS; k++)
      found = found || strcmp(fields[i].name, options[k].name) == 0;
    if (!found)
      ok(false, "%s has no case here", fields[i].name);
  }
  ok(count == OPTIONS + ELSEWHERE, "%d options, each with a case", count);
}

static void resume(case_job *job, rank_run *run) {
  (void)job;
  run->options.resume = true;
}

static void anyway(case_job *job, rank_run *run) {
  (void)job;
  run->options.resume_anyway = true;
}

static void over(case_job *job, rank_run *run) {
  (void)job;
  run->options.overwrite = true;
}

static void no_folder(case_job *job, rank_run *run) {
  (void)job;
  run->options.output = NULL;
}

static void sums_after(case_job *job, rank_run *run) {
  (void)job;
  run->options.group.apart = true;
}

static void other_options(void) {
  agree(2, resume, "resume: true", "false on rank 0");
  brim_train_options resumed = case_options(scratch_file("agree"));
  resumed.resume = true;
  agree_from(&resumed, 2, anyway, "resume_anyway: true", "false on rank 0");
  agree(3, over, "overwrite: true", "false on rank 0");
  agree(2, no_folder, "output: not given", "given on rank 0");
  agree(2, sums_after, "sums of gradients: after backward", "during backward on rank 0");
}

/* ---- data ------------------------------------------------------------------------------------------------- */

static brim_dataset *rows_of(const case_job *job, uint64_t rows, int longest, uint64_t seed) {
  return case_dataset(job->runtime, rows, longest, brim_model_vocab_size(job->model), brim_model_outputs(job->model), seed);
}

static void replace(brim_dataset **dataset, brim_dataset *with) {
  brim_dataset_free(*dataset);
  *dataset = with;
}

static void other_text(case_job *job, rank_run *run) {
  (void)run;
  replace(&job->train, rows_of(job, 44, 30, 3));
}

static void fewer_rows(case_job *job, rank_run *run) {
  (void)run;
  replace(&job->train, rows_of(job, 40, 30, 1));
}

static void other_eval(case_job *job, rank_run *run) {
  (void)run;
  replace(&job->eval, rows_of(job, 30, 20, 5));
}

static void fewer_eval(case_job *job, rank_run *run) {
  (void)run;
  replace(&job->eval, rows_of(job, 29, 20, 2));
}

static void no_eval(case_job *job, rank_run *run) {
  (void)run;
  replace(&job->eval, NULL);
}

static void other_name(case_job *job, rank_run *run) {
  (void)job;
  run->eval = "test";
}

static void data(void) {
  agree(2, other_text, "texts or labels of the training data", "");
  agree(3, fewer_rows, "rows of the training data: 40", "44 on rank 0");
  agree(2, no_eval, "number of evaluation sets: 0", "1 on rank 0");
  agree(2, other_name, "name of an evaluation set: test", "dev on rank 0");
  agree(3, fewer_eval, "rows of the evaluation set dev: 29", "30 on rank 0");
  agree(2, other_eval, "texts or labels of the evaluation set dev", "");
}

/* ---- the model -------------------------------------------------------------------------------------------- */

static void reload(case_job *job, rank_run *run, const char *folder, const brim_model_options *how) {
  brim_model_free(job->model);
  job->model = NULL;
  if (brim_model_load(job->runtime, folder, how, &job->model, &run->err)) {
    printf("Bail out! %s\n", run->err.message);
    exit(99);
  }
  replace(&job->train, rows_of(job, 44, 30, 1));
  replace(&job->eval, rows_of(job, 30, 20, 2));
}

static void reload_with_classes(case_job *job, rank_run *run, const char *folder, int32_t count) {
  static const char *const names[] = {"a", "b", "c", "d"};
  brim_labels labels;
  if (brim_labels_make(job->runtime, BRIM_TASK_CLASSIFICATION, names, count, &labels, &run->err))
    abort();
  reload(job, run, folder, &(brim_model_options){.seed = 1, .labels = &labels});
  brim_labels_free(&labels);
}

static const char *electra, *larger; /* folders */

static void other_type(case_job *job, rank_run *run) {
  reload(job, run, electra, &(brim_model_options){.seed = 1});
}

static void more_outputs(case_job *job, rank_run *run) {
  reload_with_classes(job, run, run->model, 4);
}

static void other_shape(case_job *job, rank_run *run) {
  reload_with_classes(job, run, larger, 3);
}

static void other_pooling(case_job *job, rank_run *run) {
  reload(job, run, run->model, &(brim_model_options){.seed = 1, .pooling = BRIM_POOLING_MEAN});
}

static void other_layers(case_job *job, rank_run *run) {
  reload(job, run, run->model, &(brim_model_options){.seed = 1, .layers = "joined:2"});
}

static void no_types(case_job *job, rank_run *run) {
  reload(job, run, run->model, &(brim_model_options){.seed = 1, .no_type_ids = true});
}

static void other_weight(case_job *job, rank_run *run) {
  (void)run;
  float weight;
  brim_error err;
  if (brim_model_read(job->model, BRIM_VALUES, 7, 1, &weight, &err))
    abort();
  weight += 1e-3f;
  if (brim_model_write(job->model, BRIM_VALUES, 7, 1, &weight, &err))
    abort();
}

static void plain_kernels(case_job *job, rank_run *run) {
  case_close(job);
  if (case_open_with(job, model_folder, 1, NULL, "plain", &run->err))
    abort();
  job->train = rows_of(job, 44, 30, 1);
  job->eval = rows_of(job, 30, 20, 2);
}

static void models(bool plain) {
  agree(2, other_type, " same: model: electra", "bert on rank 0");
  agree(2, more_outputs, "number of the model's outputs: 4", "3 on rank 0");
  agree(2, other_shape, "number of the model's weights: ", "");
  agree(2, other_pooling, "pooling: mean", "cls on rank 0");
  agree(2, other_layers, "layers: joined:2", "last on rank 0");
  agree(2, no_types, "no_type_ids: true", "false on rank 0");
  agree(4, other_weight, " weights of the model: ", "");
  if (plain)
    tap_skip("kernels", "this machine has plain ones only");
  else
    agree(2, plain_kernels, ": kernels: cpu-plain", "");
}

/* ---- what one program cannot differ in -------------------------------------------------------------------- */

typedef enum other { NOTHING, VERSION, BUILD, STEPS, WARMUP, TOKENS } other;
static _Thread_local other answers; /* of this rank */

const char *__real_brim_version(void);
const char *__wrap_brim_version(void);
const char *__wrap_brim_version(void) {
  return answers == VERSION ? "0.0.1" : __real_brim_version();
}

void __real_brim_build(char text[BRIM_BUILD_SIZE]);
void __wrap_brim_build(char text[BRIM_BUILD_SIZE]);
void __wrap_brim_build(char text[BRIM_BUILD_SIZE]) {
  __real_brim_build(text);
  if (answers == BUILD)
    memset(text, 'f', BRIM_BUILD_SIZE - 1);
}

uint64_t __real_brim_warmup_steps(const brim_train_options *o, uint64_t total);
uint64_t __wrap_brim_warmup_steps(const brim_train_options *o, uint64_t total);
uint64_t __wrap_brim_warmup_steps(const brim_train_options *o, uint64_t total) {
  return __real_brim_warmup_steps(o, total) + (answers == WARMUP);
}

int __real_brim_supply_outlook(brim_supply *supply, brim_outlook *out, brim_error *err);
int __wrap_brim_supply_outlook(brim_supply *supply, brim_outlook *out, brim_error *err);
int __wrap_brim_supply_outlook(brim_supply *supply, brim_outlook *out, brim_error *err) {
  const int status = __real_brim_supply_outlook(supply, out, err);
  out->total_steps += answers == STEPS;
  out->limits.max_slots += answers == TOKENS;
  return status;
}

#define ANSWER(name, what)                                                                                                       \
  static void name(case_job *job, rank_run *run) {                                                                               \
    (void)job, (void)run;                                                                                                        \
    answers = what;                                                                                                              \
  }
ANSWER(other_version, VERSION)
ANSWER(other_build, BUILD)
ANSWER(other_steps, STEPS)
ANSWER(other_warmup, WARMUP)
ANSWER(other_tokens, TOKENS)

static void programs(void) {
  agree(2, other_version, "version of brim: 0.0.1", "on rank 0");
  agree(3, other_build, "build of brim: ffffffffffffffff", "on rank 0");
  agree(2, other_steps, "number of steps: 13", "12 on rank 0");
  agree(2, other_warmup, "number of warm-up steps: 3", "2 on rank 0");
  agree(3, other_tokens, "tokens computed at once: ", "on rank 0");
}

/* ---- evaluation ------------------------------------------------------------------------------------------- */

static void fewer_at_once(case_job *job, rank_run *run) {
  (void)job;
  run->options.eval.batch_size = 2;
}

/* The kernels follow from it, where there is AMX by name too. */
static void half_evaluation(case_job *job, rank_run *run) {
  (void)job;
  run->options.eval.precision = BRIM_PRECISION_BF16;
}

static void *evaluate_rank(void *context) {
  rank_run *run = context;
  case_job job = case_open(run->model, 1);
  brim_metrics metrics;
  run->thread = pthread_self();
  if (run->change)
    run->change(&job, run);
  run->options.eval.group = run_group(run);
  run->status = brim_evaluate(job.runtime, job.model, job.eval, &run->options.eval, &metrics, &run->err);
  case_close(&job);
  return NULL;
}

static void evaluations_agree(int32_t world, change_fn change, const char *what) {
  rank_run runs[MOST_RANKS];
  pthread_t threads[MOST_RANKS];
  meeting all = {.world = world};
  char want[96];
  bool good = true;
  snprintf(want, sizeof want, "rank %d has other %s than rank 0", (int)world - 1, what);
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .model = model_folder, .options = case_options(NULL)};
    runs[r].change = r == world - 1 ? change : NULL;
    if (pthread_create(&threads[r], NULL, evaluate_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++) {
    pthread_join(threads[r], NULL);
    good = good && runs[r].status == BRIM_E_MISMATCH && strstr(runs[r].err.message, want);
  }
  pthread_barrier_destroy(&all.barrier);
  ok(good, "evaluation: %s", runs[0].err.message);
}

static void evaluations(bool plain) {
  evaluations_agree(2, other_build, "build of brim or kernels");
  if (!plain)
    evaluations_agree(2, plain_kernels, "build of brim or kernels");
  evaluations_agree(3, other_weight, "weights of the model");
  evaluations_agree(2, other_eval, "rows");
  evaluations_agree(2, fewer_at_once, "options");
  evaluations_agree(2, half_evaluation, "options");
}

int main(void) {
  static char folders[3][512];
  const char *const names[] = {"bert-pair-3", "electra-cls", "bert-odd-regression"};
  for (int i = 0; i < 3; i++) {
    const char *folder = case_model_folder(names[i]);
    if (!folder) {
      tap_skip("agreement", "there are no golden models");
      return tap_done();
    }
    snprintf(folders[i], sizeof folders[i], "%s", folder);
  }
  model_folder = folders[0], electra = folders[1], larger = folders[2];
  case_job job = case_open(model_folder, 1);
  const bool plain = strcmp(brim_model_kernels(job.model), "plain") == 0;
  host = brim_extents_can(job.model);
  case_close(&job);
  every_option();
  no_option_is_missing();
  other_options();
  data();
  models(plain);
  programs();
  evaluations(plain);
  return tap_done();
}
