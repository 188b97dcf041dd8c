/* Training with threads: every golden model, in fp32 and in bf16 where it has that, from a feed that prepares its windows
 * meanwhile: forward, backward, update, evaluation and prediction on four threads have the bits of one thread. And two ranks that
 * sum gradients during backward. For the thread sanitizer before all: it looks at what threads share here. */
#include <dirent.h>

#include "../data_tokenizer.h"
#include "../model_case.h"
#include "../rank_case.h"
#include "brim/train.h"
#include "data/dataset.h"

enum { SHARDS = 3, SHARD_ROWS = 24, STEPS = 3, RANKS = 2 };

/* Names of other families are passed over. */
static const char dropout[] = "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"dropout\":0.2,"
                              "\"attention_dropout\":0.3,\"mlp_dropout\":0.15,\"embedding_dropout\":0.25";

typedef struct outcome {
  int status;
  brim_error err;
  float *weights, *logits, *bytes; /* of prediction in the precision of training, and in int8 (NULL: the model has none) */
  size_t weight_count, logit_count;
  double loss;
} outcome;

/* ---- data --------------------------------------------------------------------------------------------------- */

static const char *write_shards(const brim_labels *labels) {
  static const char *folder;
  folder = folder ? folder : scratch_make_folder("shards");
  for (int f = 0; f < SHARDS; f++) {
    char name[64], text[4096] = "text,label\n";
    for (int r = 0; r < SHARD_ROWS; r++) {
      char *end = text + strlen(text);
      const int which = (r * r + f) % labels->count;
      end += sprintf(end, "%.*s,", 1 + (f * 31 + r * r * 7) % 30, "thequickbrownfoxjumpsoverthelazydog" + (r + f) % 6);
      if (labels->names)
        sprintf(end, "%s\n", labels->names[which]);
      else
        sprintf(end, "0.%d\n", r * 7 + f);
    }
    snprintf(name, sizeof name, "shards/%d.csv", f);
    scratch_write(name, text);
  }
  return folder;
}

static brim_train_options options_of(brim_precision precision) {
  brim_train_options o;
  brim_train_options_init(&o);
  o.plan.batch_size = 20;
  o.max_steps = STEPS;
  o.lr = 1e-3;
  o.weight_decay = 0.01;
  o.eval.batch_size = 4;
  o.precision = precision;
  o.checkpoint_activations = precision == BRIM_PRECISION_BF16;
  return o;
}

/* ---- one run ------------------------------------------------------------------------------------------------ */

static int train_from_feed(brim_model *model, const brim_dataset *eval, const brim_train_options *o, brim_train_result *result,
                           brim_error *err) {
  const char *shards = write_shards(brim_model_labels(model));
  brim_tokenizer *tokenizer = data_tokenizer();
  brim_feed *feed;
  const brim_feed_options how = {
      .source = {.need_label = true},
      .encode = {.max_length = 32},
      .labels = brim_model_labels(model),
      .plan = {.batching = BRIM_BUCKETED, .batch_size = 20, .max_tokens = 400, .read_ahead = 24, .seed = 3},
      .window = 24,
      .prefetch = 1};
  const brim_named_dataset named = {"dev", eval};
  int status = brim_feed_open(case_runtime, &shards, 1, tokenizer, &how, &feed, err);
  if (!status) {
    status = brim_train_feed(case_runtime, model, NULL, feed, &named, 1, o, result, err);
    brim_feed_close(feed);
  }
  brim_tokenizer_free(tokenizer);
  return status;
}

static float *predicted(brim_model *model, const brim_dataset *rows, brim_precision precision, size_t count, outcome *out) {
  brim_eval_options o;
  brim_eval_options_init(&o);
  o.batch_size = 4;
  o.precision = precision;
  float *logits = malloc(count * sizeof *logits);
  out->status = brim_predict(case_runtime, model, rows, &o, logits, &out->err);
  if (!out->status)
    return logits;
  free(logits);
  return NULL;
}

static void predict(brim_model *model, const brim_dataset *rows, brim_precision precision, outcome *out) {
  if (brim_model_shape(model)->made) /* logits would be as wide as a vocabulary */
    return;
  out->logit_count = brim_dataset_rows(rows);
  if (brim_model_task(model) == BRIM_TASK_TOKENS) {
    out->logit_count = 0;
    for (uint64_t i = 0; i < brim_dataset_rows(rows); i++)
      out->logit_count += (size_t)brim_dataset_lengths(rows)[i];
  }
  out->logit_count *= (size_t)brim_model_outputs(model);
  out->bytes = predicted(model, rows, BRIM_PRECISION_INT8, out->logit_count, out);
  out->logits = predicted(model, rows, precision, out->logit_count, out);
}

static outcome run(const char *golden, const char *folder, brim_precision precision, int threads) {
  outcome out = {0};
  brim_train_result result = {0};
  const brim_train_options o = options_of(precision);
  case_start(threads);
  data_runtime = case_runtime;
  brim_model *model = case_load(folder, brim_ops_cpu((brim_cpu_level)level_best())->name);
  brim_dataset *rows = case_rows(golden);
  rows->pairs = false; /* not known: a feed has single texts, and of these the bits alone matter */
  const brim_task task = brim_model_task(model);
  if (task == BRIM_TASK_TOKENS || task == BRIM_TASK_MASKED) /* feeds have one label a row */
    out.status = brim_train(case_runtime, model, NULL, rows, &(brim_named_dataset){"dev", rows}, task == BRIM_TASK_TOKENS, &o,
                            &result, &out.err);
  else
    out.status = train_from_feed(model, rows, &o, &result, &out.err);
  if (!out.status) {
    out.loss = result.loss;
    out.weight_count = (size_t)brim_model_flat_size(model);
    out.weights = malloc(out.weight_count * sizeof(float));
    memcpy(out.weights, brim_model_values(model), out.weight_count * sizeof(float));
    predict(model, rows, precision, &out);
  }
  brim_dataset_free(rows);
  brim_model_free(model);
  brim_runtime_free(case_runtime);
  return out;
}

static void outcome_free(outcome *o) {
  free(o->weights), free(o->logits), free(o->bytes);
}

/* ---- every model -------------------------------------------------------------------------------------------- */

static bool same_floats(const float *a, const float *b, size_t count) {
  return !a == !b && (!a || memcmp(a, b, count * sizeof *a) == 0);
}

/* False: the model has no such precision. */
static bool check(const char *golden, const char *folder, brim_precision precision) {
  outcome four = run(golden, folder, precision, 4);
  const bool refused = precision != BRIM_PRECISION_FP32 && four.status == BRIM_E_UNSUPPORTED;
  if (!refused) {
    outcome one = run(golden, folder, precision, 1);
    ok(!four.status && !one.status && four.weight_count > 0 && same_floats(four.weights, one.weights, one.weight_count) &&
           four.loss == one.loss,
       "%s, %s: %d steps on four threads have the bits of one %s", golden, brim_precision_name(precision), STEPS,
       four.err.message);
    ok((four.logits || four.logit_count == 0) && same_floats(four.logits, one.logits, one.logit_count) &&
           same_floats(four.bytes, one.bytes, one.logit_count),
       "%s, %s: and so has what is predicted%s", golden, brim_precision_name(precision), four.bytes ? ", in int8 too" : "");
    outcome_free(&one);
  }
  outcome_free(&four);
  return !refused;
}

static void check_models(void) {
  char path[600];
  struct dirent **names;
  int models = 0, half = 0;
  snprintf(path, sizeof path, "%s/tests/golden/models", tap_source());
  const int count = scandir(path, &names, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    const char *name = names[i]->d_name;
    if (name[0] != '.') {
      char variant[300];
      case_start(1);
      snprintf(variant, sizeof variant, "%s-threads", name);
      const char *folder = case_variant(name, variant, dropout);
      brim_runtime_free(case_runtime);
      if (tap_takes_of(name, 0, 2)) /* or else, under sanitizers, the other */
        models += check(name, folder, BRIM_PRECISION_FP32);
      if (tap_takes_of(name, 1, 2))
        half += check(name, folder, BRIM_PRECISION_BF16);
    }
    free(names[i]);
  }
  if (count >= 0)
    free(names);
  ok(tap_takes_all() ? models >= 17 && half >= 17 : models + half >= 17, "%d models in fp32, %d in bf16", models, half);
}

/* ---- ranks -------------------------------------------------------------------------------------------------- */

typedef struct rank {
  const char *folder, *rows;
  int32_t slices;
  brim_group group;
  brim_runtime *runtime;
  brim_model *model;
  int status;
  brim_error err;
} rank;

static void *train_rank(void *context) {
  rank *r = context;
  brim_train_result result;
  brim_dataset *rows = NULL;
  brim_train_options o = options_of(BRIM_PRECISION_FP32);
  o.plan.slices = r->slices;
  o.group = r->group;
  const brim_model_options options = {.seed = 1};
  r->status = brim_runtime_new(&(brim_runtime_options){.threads = 2}, &r->runtime, &r->err);
  if (!r->status)
    r->status = brim_model_load(r->runtime, r->folder, &options, &r->model, &r->err);
  if (!r->status)
    r->status = brim_dataset_read_json(r->runtime, r->rows, &rows, &r->err);
  if (!r->status)
    r->status = brim_train(r->runtime, r->model, NULL, rows, NULL, 0, &o, &result, &r->err);
  brim_dataset_free(rows);
  return NULL;
}

/* The weights, which both ranks must have. */
static float *train_ranks(const char *folder, int32_t slices, bool messages) {
  meeting all = {.world = RANKS};
  member members[RANKS];
  rank ranks[RANKS] = {0};
  pthread_t threads[RANKS];
  char path[600];
  snprintf(path, sizeof path, "%s/batch.json", case_golden("bert-pair-3"));
  pthread_barrier_init(&all.barrier, NULL, RANKS);
  for (int i = 0; i < RANKS; i++) {
    members[i] = (member){&all, i};
    ranks[i] = (rank){.folder = folder, .rows = path, .slices = slices, .group = meeting_group(&members[i])};
    ranks[i].group.messages = messages;
    if (pthread_create(&threads[i], NULL, train_rank, &ranks[i]))
      abort();
  }
  for (int i = 0; i < RANKS; i++)
    pthread_join(threads[i], NULL);
  const bool fine = !ranks[0].status && !ranks[1].status;
  const size_t count = fine ? (size_t)brim_model_flat_size(ranks[0].model) : 0;
  ok(fine && same_floats(brim_model_values(ranks[0].model), brim_model_values(ranks[1].model), count),
     "two ranks, %d slices, by %s: the same bits on both %s", (int)slices, messages ? "messages" : "shared memory",
     ranks[0].err.message);
  float *weights = fine ? malloc(count * sizeof *weights) : NULL;
  if (weights)
    memcpy(weights, brim_model_values(ranks[0].model), count * sizeof *weights);
  for (int i = 0; i < RANKS; i++) {
    brim_model_free(ranks[i].model);
    brim_runtime_free(ranks[i].runtime);
  }
  pthread_barrier_destroy(&all.barrier);
  return weights;
}

static void check_ranks(void) {
  case_start(1);
  const char *folder = case_variant("bert-pair-3", "ranks", dropout);
  brim_model *model = case_load(folder, NULL);
  const size_t count = (size_t)brim_model_flat_size(model);
  brim_model_free(model);
  brim_runtime_free(case_runtime);
  for (int32_t slices = 0; slices <= 8; slices += 8) {
    float *sent = train_ranks(folder, slices, true), *shared = train_ranks(folder, slices, false);
    ok(sent && same_floats(sent, shared, count), "%d slices: by messages and by shared memory the same bits", (int)slices);
    free(sent), free(shared);
  }
}

int main(void) {
  check_models();
  check_ranks();
  return tap_done();
}
