/* views_senseless.c: arguments and options that make no sense. Members of options are -1, no number or none that there is, in
 * turn: each is refused with a line, or does no harm; numbers and names as arguments likewise; an option that has no effect with
 * the rest of what is given is refused by name; a tokenizer of another model too. */
#include <limits.h>
#include <math.h>

#include "brim/brim.h"
#include "train_case.h"

static brim_runtime *runtime;
static brim_error err;

/* ---- members of options ------------------------------------------------------------------------------------- */

typedef enum kind { A_BOOL, AN_INT, A_LONG, A_COUNT, A_REAL, A_TEXT, AN_ENUM } kind;
typedef struct member {
  const char *name;
  size_t at;
  kind kind;
  bool free; /* any number is one */
} member;
#define KIND(x)                                                                                                                  \
  _Generic((x),                                                                                                                  \
      bool: A_BOOL,                                                                                                              \
      int: AN_INT,                                                                                                               \
      int64_t: A_LONG,                                                                                                           \
      uint64_t: A_COUNT,                                                                                                         \
      double: A_REAL,                                                                                                            \
      const char *: A_TEXT,                                                                                                      \
      default: AN_ENUM)
#define M(type, name)   {#name, offsetof(type, name), KIND(((type *)0)->name), false}
#define ANY(type, name) {#name, offsetof(type, name), KIND(((type *)0)->name), true}

/* The k-th value that makes no sense; false: there are no more. *wrong: it has to be refused. */
static bool put_value(void *options, const member *m, int k, char words[48], bool *wrong) {
  static const int ints[] = {-1, INT_MIN, INT_MAX};
  static const double reals[] = {-1, NAN, INFINITY, -INFINITY, 1e308};
  static const char *const texts[] = {"", "\xff\xfe", "no such name"};
  static const unsigned enums[] = {99, UINT_MAX};
  void *at = (char *)options + m->at;
  *wrong = !m->free;
  snprintf(words, 48, "value %d", k);
  switch (m->kind) {
  case A_BOOL:
    *wrong = false;
    return k == 0 && (*(bool *)at = !*(bool *)at, true);
  case AN_INT:
    *wrong = *wrong && k < 2;
    return k < 3 && (*(int *)at = ints[k], snprintf(words, 48, "%d", ints[k]), true);
  case A_LONG:
    *wrong = *wrong && k < 2;
    return k < 3 && (*(int64_t *)at = k == 0 ? -1 : k == 1 ? INT64_MIN : INT64_MAX, true);
  case A_COUNT:
    *wrong = false;
    return k == 0 && (*(uint64_t *)at = UINT64_MAX, true);
  case A_REAL:
    *wrong = *wrong && k < 2;
    return k < 5 && (*(double *)at = reals[k], snprintf(words, 48, "%g", reals[k]), true);
  case A_TEXT:
    *wrong = false;
    return k < 3 && (*(const char **)at = texts[k], snprintf(words, 48, "text %d", k), true);
  case AN_ENUM:
    return k < 2 && (*(unsigned *)at = enums[k], true);
  }
  return false;
}

typedef int (*asked_fn)(void *options);
/* What the function makes of each member's values: a line where it is refused, and no harm where it is not. */
static void try_members(const char *name, void *options, size_t size, const member *members, size_t count, asked_fn ask) {
  int bad = 0, tried = 0;
  void *usual = malloc(size);
  char words[48];
  memcpy(usual, options, size);
  for (size_t i = 0; i < count; i++)
    for (int k = 0;; k++, tried++) {
      bool wrong;
      memcpy(options, usual, size);
      if (!put_value(options, &members[i], k, words, &wrong))
        break;
      err = (brim_error){0};
      const int status = ask(options);
      if (status ? !*err.message || status == BRIM_E_INTERNAL || err.code != status : wrong)
        bad++, printf("# %s.%s %s: status %d, \"%s\"\n", name, members[i].name, words, status, err.message);
    }
  memcpy(options, usual, size);
  free(usual);
  ok(bad == 0, "%s: %d values of %d members", name, tried, (int)count);
}
#define MEMBERS(options, ask, ...)                                                                                               \
  do {                                                                                                                           \
    const member members[] = {__VA_ARGS__};                                                                                      \
    try_members(#options, &(options), sizeof(options), members, sizeof members / sizeof *members, ask);                          \
  } while (0)

static case_job job;
static brim_tokenizer *tokenizer;
static const char *data, *folder;

static int ask_runtime(void *options) {
  brim_runtime *made;
  const int status = brim_runtime_new(options, &made, &err);
  brim_runtime_free(made);
  return status;
}

static int ask_plan(void *options) {
  static const int32_t lengths[] = {3, 4, 5, 6, 7, 8, 9, 10};
  brim_plan *made;
  const int status = brim_plan_new(runtime, lengths, 8, options, 0, &made, &err);
  brim_plan_free(made);
  return status;
}

static int ask_source(void *options) {
  brim_reader *reader;
  brim_record record;
  int status = brim_reader_open(runtime, &data, 1, options, &reader, &err);
  while (!status)
    status = brim_reader_next(reader, &record, &err);
  brim_reader_close(reader);
  return status == BRIM_END ? BRIM_OK : status;
}

static int ask_encode(void *options) {
  brim_scratch *scratch;
  brim_encoding encoding = {0};
  int status = brim_encode_options_check(tokenizer, options, false, &err);
  if (!status)
    status = brim_scratch_new(runtime, tokenizer, &scratch, &err);
  if (!status) {
    status = brim_tokenizer_encode(tokenizer, scratch, "a b c d", 7, NULL, 0, options, &encoding, &err);
    brim_scratch_free(scratch);
  }
  brim_encoding_free(&encoding);
  return status;
}

static int ask_dataset(void *options) {
  brim_dataset *made;
  const int status = brim_dataset_load(runtime, &data, 1, tokenizer, options, &made, &err);
  brim_dataset_free(made);
  return status;
}

static int ask_feed(void *options) {
  brim_feed *feed;
  const brim_batch *batch;
  int status = brim_feed_open(runtime, &data, 1, tokenizer, options, &feed, &err);
  if (!status)
    status = brim_feed_next(feed, &batch, &err);
  brim_feed_close(feed);
  return status == BRIM_END ? BRIM_OK : status;
}

static int ask_model(void *options) {
  brim_model *made;
  const int status = brim_model_load(runtime, folder, options, &made, &err);
  brim_model_free(made);
  return status;
}

static int ask_limits(void *options) {
  return brim_model_prepare(job.model, options, &err);
}

static int ask_optimizer(void *options) {
  return brim_optimizer_check(options, &err);
}

static int ask_predict(void *options) {
  static float logits[44 * 8];
  return brim_predict(job.runtime, job.model, job.train, options, logits, &err);
}

static int ask_train(void *options) {
  return brim_train_options_check(options, &err);
}

static int ask_mask(void *options) {
  brim_dataset *made;
  const int status = brim_dataset_mask(runtime, job.train, tokenizer, 0, options, &made, &err);
  brim_dataset_free(made);
  return status;
}

static void members_of_data(void) {
  brim_runtime_options alone = {.threads = 1};
  brim_plan_options plan = {.batch_size = 2};
  brim_source_options source = {0};
  brim_encode_options encode = {.max_length = 8};
  brim_dataset_options dataset = {.encode = {.max_length = 8}};
  brim_feed_options feed = {.encode = {.max_length = 8}, .plan = {.batch_size = 2}, .epochs = 1};
  MEMBERS(alone, ask_runtime, M(brim_runtime_options, cpu));
  MEMBERS(plan, ask_plan, M(brim_plan_options, batching), M(brim_plan_options, padding), M(brim_plan_options, batch_size),
          M(brim_plan_options, max_tokens), M(brim_plan_options, max_rows), M(brim_plan_options, accumulate),
          M(brim_plan_options, max_length), M(brim_plan_options, pad_to_multiple_of), M(brim_plan_options, read_ahead),
          M(brim_plan_options, required_batch_size_multiple), M(brim_plan_options, drop_last), M(brim_plan_options, oversize),
          M(brim_plan_options, seed), M(brim_plan_options, world_size), M(brim_plan_options, slices), M(brim_plan_options, tail),
          M(brim_plan_options, cost_linear), M(brim_plan_options, cost_square));
  MEMBERS(source, ask_source, M(brim_source_options, format), M(brim_source_options, quote), M(brim_source_options, delimiter),
          M(brim_source_options, no_header), M(brim_source_options, text_column), M(brim_source_options, pair_column),
          M(brim_source_options, text_column_count), M(brim_source_options, least_columns), M(brim_source_options, most_texts),
          M(brim_source_options, paired), M(brim_source_options, aligned), M(brim_source_options, label_column),
          M(brim_source_options, words), M(brim_source_options, need_label), ANY(brim_source_options, none_labels),
          M(brim_source_options, min_chars), M(brim_source_options, where_count), M(brim_source_options, max_record),
          M(brim_source_options, block_count));
  MEMBERS(encode, ask_encode, M(brim_encode_options, max_length), M(brim_encode_options, no_special_tokens),
          M(brim_encode_options, truncation), M(brim_encode_options, truncation_side), M(brim_encode_options, numbering),
          M(brim_encode_options, max_windows), M(brim_encode_options, window_overlap), M(brim_encode_options, cut_pairs),
          M(brim_encode_options, prompts[0]), M(brim_encode_options, stops));
  MEMBERS(dataset, ask_dataset, M(brim_dataset_options, task), M(brim_dataset_options, encode.max_length),
          M(brim_dataset_options, encode.truncation), M(brim_dataset_options, encode.truncation_side),
          M(brim_dataset_options, encode.numbering), M(brim_dataset_options, encode.max_windows),
          M(brim_dataset_options, encode.window_overlap), M(brim_dataset_options, source.min_chars));
  MEMBERS(feed, ask_feed, M(brim_feed_options, rank), M(brim_feed_options, rank_slices), M(brim_feed_options, prefetch),
          M(brim_feed_options, first_epoch), M(brim_feed_options, epochs), M(brim_feed_options, window),
          M(brim_feed_options, repeat), M(brim_feed_options, plan.world_size), M(brim_feed_options, plan.batch_size),
          M(brim_feed_options, encode.max_length));
}

static void members_of_models(void) {
  brim_model_options model = {0};
  brim_model_limits limits = {.max_slots = 64, .max_sequences = 4, .max_length = 16};
  brim_optimizer_options optimizer = {0};
  brim_eval_options predict;
  brim_train_options train;
  brim_mask_options mask;
  brim_eval_options_init(&predict);
  brim_train_options_init(&train);
  brim_mask_options_init(&mask);
  MEMBERS(model, ask_model, M(brim_model_options, device), M(brim_model_options, kernels), M(brim_model_options, pooling),
          M(brim_model_options, layers), M(brim_model_options, dense), M(brim_model_options, dense_activation),
          M(brim_model_options, no_type_ids), M(brim_model_options, reinit_layers), M(brim_model_options, tf32));
  MEMBERS(limits, ask_limits, M(brim_model_limits, max_slots), M(brim_model_limits, max_sequences),
          M(brim_model_limits, max_length), M(brim_model_limits, training), M(brim_model_limits, all_tokens),
          M(brim_model_limits, checkpoint_activations), M(brim_model_limits, precision), M(brim_model_limits, chosen_share),
          M(brim_model_limits, logits), M(brim_model_limits, slices));
  MEMBERS(optimizer, ask_optimizer, M(brim_optimizer_options, name), M(brim_optimizer_options, returns),
          M(brim_optimizer_options, mixout));
  MEMBERS(predict, ask_predict, M(brim_eval_options, batching), M(brim_eval_options, padding), M(brim_eval_options, batch_size),
          M(brim_eval_options, max_tokens), M(brim_eval_options, max_length), M(brim_eval_options, precision),
          M(brim_eval_options, group.rank), ANY(brim_eval_options, group.world_size));
  MEMBERS(train, ask_train, M(brim_train_options, epochs), M(brim_train_options, precision), M(brim_train_options, loss_scale),
          M(brim_train_options, optimizer), M(brim_train_options, lr), M(brim_train_options, beta1), M(brim_train_options, beta2),
          M(brim_train_options, eps), M(brim_train_options, weight_decay), M(brim_train_options, clip),
          M(brim_train_options, momentum), M(brim_train_options, decay_towards), M(brim_train_options, mixout),
          M(brim_train_options, layer_lr_decay), M(brim_train_options, schedule), M(brim_train_options, warmup_ratio),
          M(brim_train_options, loss.scale), M(brim_train_options, loss.margin), M(brim_train_options, loss.temperature),
          M(brim_train_options, loss.positive_weight), M(brim_train_options, loss.hardness_strength),
          M(brim_train_options, mask_rate), M(brim_train_options, label_smoothing), M(brim_train_options, eval_when),
          M(brim_train_options, save_when), M(brim_train_options, keep_checkpoints), M(brim_train_options, best_metric),
          M(brim_train_options, best_is_small), M(brim_train_options, final), M(brim_train_options, min_delta),
          M(brim_train_options, swa_start), M(brim_train_options, eval.batch_size), M(brim_train_options, eval.max_tokens),
          M(brim_train_options, eval.batching), M(brim_train_options, eval.padding), M(brim_train_options, eval.max_length),
          M(brim_train_options, eval.precision), M(brim_train_options, resume), M(brim_train_options, resume_anyway),
          M(brim_train_options, overwrite), M(brim_train_options, group.rank), M(brim_train_options, plan.batch_size),
          M(brim_train_options, freeze), M(brim_train_options, train_only));
  MEMBERS(mask, ask_mask, M(brim_mask_options, rate), M(brim_mask_options, mask_share), M(brim_mask_options, random_share));
}

/* ---- numbers and names as arguments ------------------------------------------------------------------------- */

/* A call that makes no sense: a line, and a status. */
#define SENSELESS(call)                                                                                                          \
  do {                                                                                                                           \
    err = (brim_error){0};                                                                                                       \
    const int status = (call);                                                                                                   \
    ok(status > BRIM_END && status != BRIM_E_INTERNAL && err.code == status && *err.message, "%s: %s", #call, err.message);      \
  } while (0)

static void arguments(void) {
  static const char *const two[] = {"a", "b"}, *const empty[] = {""}, *const missing[] = {NULL};
  const brim_source_options source = {0};
  const brim_dataset_options from = {0};
  const brim_shard_options shard = {0};
  const brim_train_options train = case_options(NULL);
  const brim_named_dataset unnamed = {NULL, job.eval}, absent = {"dev", NULL};
  const uint64_t outside[] = {UINT64_MAX};
  const int32_t folds_of[] = {0, -1}, negative[] = {-1};
  const brim_path path = {.use = (brim_path_use)99, .name = "x", .path = "x"};
  brim_text text;
  brim_text_columns columns;
  brim_labels labels;
  brim_reader *reader;
  brim_dataset *made, *other;
  brim_plan *plan;
  brim_folds folds;
  brim_shard_result cut;
  brim_gemm_speed speed;
  brim_file *file;
  char *bytes;
  size_t length;
  float number = 0;
  uint64_t counts[64];
  brim_text_init(&text, runtime);
  SENSELESS(brim_file_create(runtime, "", &file, &err));
  SENSELESS(brim_file_continue(runtime, "", 0, &file, &err));
  SENSELESS(brim_file_read_all(runtime, "", 0, &bytes, &length, &err));
  SENSELESS(brim_make_folder(runtime, "", &err));
  SENSELESS(brim_tokenizer_load(runtime, "", &(brim_tokenizer *){0}, &err));
  SENSELESS(brim_model_load(runtime, "", NULL, &(brim_model *){0}, &err));
  SENSELESS(brim_model_describe(runtime, "", &(brim_model_info){0}, &err));
  SENSELESS(brim_model_save(job.model, NULL, NULL, "", NULL, &err));
  SENSELESS(brim_embedder_load(runtime, "", NULL, &(brim_embedder *){0}, &err));
  SENSELESS(brim_reader_open(runtime, empty, 1, &source, &reader, &err));
  SENSELESS(brim_reader_open(runtime, missing, 1, &source, &reader, &err));
  SENSELESS(brim_reader_open(runtime, empty, 0, &source, &reader, &err));
  SENSELESS(brim_dataset_load(runtime, missing, 1, tokenizer, &from, &made, &err));
  SENSELESS(brim_shard(runtime, &data, 1, &shard, "", &cut, &err));
  SENSELESS(brim_text_columns_find(runtime, &data, 1, &source, (brim_task)99, &columns, &err));
  SENSELESS(brim_text_columns_among(runtime, two, 2, &source, (brim_task)99, &columns, &err));
  SENSELESS(brim_text_columns_among(runtime, two, 2, &(brim_source_options){.text_column_count = 1}, BRIM_TASK_EMBEDDING,
                                    &columns, &err));
  const brim_source_options nowhere = {.blocks = &(brim_block_column){.shape = {.name = "b"}}, .block_count = 1};
  SENSELESS(brim_text_columns_among(runtime, two, 2, &nowhere, BRIM_TASK_EMBEDDING, &columns, &err));
  SENSELESS(brim_text_columns_find(runtime, &data, 1, &nowhere, BRIM_TASK_EMBEDDING, &columns, &err));
  SENSELESS(brim_labels_make(runtime, (brim_task)99, two, 2, &labels, &err));
  SENSELESS(brim_labels_make(runtime, BRIM_TASK_CLASSIFICATION, two, -1, &labels, &err));
  SENSELESS(brim_labels_make(runtime, BRIM_TASK_CLASSIFICATION, NULL, 2, &labels, &err));
  SENSELESS(brim_labels_make(runtime, BRIM_TASK_CLASSIFICATION, missing, 1, &labels, &err));
  SENSELESS(brim_labels_scan(runtime, &data, 1, &source, (brim_task)99, NULL, NULL, &labels, NULL, &err));
  SENSELESS(brim_dataset_subset(runtime, job.train, outside, 1, &made, &err));
  SENSELESS(brim_dataset_unpack(runtime, "x", 1, &made, &err));
  SENSELESS(brim_plan_new(runtime, negative, 1, &train.plan, 0, &plan, &err));
  SENSELESS(brim_device_gemm_speed(runtime, (brim_product_kind)99, 8, 8, 8, &speed, &err));
  SENSELESS(brim_device_gemm_speed(runtime, BRIM_PRODUCT_FP32, -1, 8, 8, &speed, &err));
  SENSELESS(brim_model_read(job.model, (brim_flat)99, 0, 1, &number, &err));
  SENSELESS(brim_model_read(job.model, BRIM_VALUES, -1, 1, &number, &err));
  SENSELESS(brim_model_read(job.model, BRIM_VALUES, INT64_MAX, INT64_MAX, &number, &err));
  SENSELESS(brim_model_write(job.model, BRIM_GRADIENTS, INT64_MIN, 1, &number, &err));
  SENSELESS(brim_model_write(job.model, BRIM_VALUES, INT64_MIN, 1, &number, &err));
  SENSELESS(brim_model_freeze(job.model, "no such", &err));
  SENSELESS(brim_folds_shuffle(runtime, 4, -1, 1, &folds, &err));
  SENSELESS(brim_folds_shuffle(runtime, UINT64_MAX, 2, 1, &folds, &err));
  SENSELESS(brim_folds_given(runtime, folds_of, 2, 0, &folds, &err));
  SENSELESS(brim_folds_stratify(runtime, job.train, INT32_MAX, 1, &folds, &err));
  SENSELESS(brim_hold_out(runtime, job.train, (double)NAN, 1, &made, &other, &err));
  SENSELESS(brim_confusion_count((brim_task)99, 2, &number, job.train, counts, &err));
  SENSELESS(brim_confusion_count(BRIM_TASK_CLASSIFICATION, -1, &number, job.train, counts, &err));
  SENSELESS(brim_inspect_gradients(job.runtime, job.model, job.train, (brim_padding)99, scratch_file("g"), &err));
  SENSELESS(brim_inspect_metrics(runtime, "no such", data, &text, &err));
  SENSELESS(brim_check_outputs(runtime, &path, 1, false, &err));
  SENSELESS(brim_report_write(runtime, empty, 1, "", &err));
  SENSELESS(brim_report_write(runtime, empty, 0, scratch_folder(), &err));
  SENSELESS(brim_train(job.runtime, job.model, NULL, job.train, &unnamed, 1, &train, NULL, &err));
  SENSELESS(brim_train(job.runtime, job.model, NULL, job.train, &absent, 1, &train, NULL, &err));
  brim_text_free(&text);
}

/* Modules whose numbers or names contradict the encoder's folder. */
static void contradicting_modules(void) {
  static const char transformer[] = "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},";
  const char *vectors = scratch_make_folder("vectors");
  brim_embedder *over;
  char list[300];
  scratch_make_folder("vectors/1_Pooling");
  scratch_write("vectors/config.json", "{\"model_type\":\"bert\",\"architectures\":[\"BertModel\"],\"hidden_size\":48}");
  scratch_write("vectors/1_Pooling/config.json", "{\"word_embedding_dimension\":48,\"pooling_mode_mean_tokens\":true}");
  snprintf(list, sizeof list, "%s{\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}]", transformer);
  scratch_write("vectors/modules.json", list);
  ok(!brim_embedder_over(runtime, job.model, tokenizer, vectors, &over, &err), "modules that fit");
  brim_embedder_free(over);
  scratch_write("vectors/1_Pooling/config.json", "{\"word_embedding_dimension\":17,\"pooling_mode_mean_tokens\":true}");
  SENSELESS(brim_embedder_over(runtime, job.model, tokenizer, vectors, &over, &err));
  snprintf(list, sizeof list, "%s{\"path\":1,\"type\":\"sentence_transformers.models.Pooling\"}]", transformer);
  scratch_write("vectors/modules.json", list);
  SENSELESS(brim_embedder_over(runtime, job.model, tokenizer, vectors, &over, &err));
}

/* ---- options without effect --------------------------------------------------------------------------------- */

static bool is_refused(const brim_train_options *options, const char *words) {
  const brim_named_dataset dev = {"dev", job.eval};
  err = (brim_error){0};
  const int status = brim_train(job.runtime, job.model, NULL, job.train, &dev, 0, options, NULL, &err);
  if (status == BRIM_E_USAGE && strstr(err.message, words))
    return true;
  printf("# status %d: \"%s\"\n", status, err.message);
  return false;
}

#define IDLE(words, ...)                                                                                                         \
  do {                                                                                                                           \
    brim_train_options o = case_options(NULL);                                                                                   \
    o.max_steps = 1;                                                                                                             \
    __VA_ARGS__;                                                                                                                 \
    ok(is_refused(&o, words), "refused: %s", #__VA_ARGS__);                                                                      \
  } while (0)

static void without_effect(void) {
  IDLE("best_metric needs an evaluation set", o.best_metric = "accuracy");
  IDLE("eval_every needs an evaluation set", o.eval_every = 2);
  IDLE("patience needs an evaluation set", o.patience = 2);
  IDLE("min_delta has no effect without patience", o.min_delta = 0.1);
  IDLE("mask_rate is for masked words", o.mask_rate = "0.3");
  IDLE("resume has no effect without output", o.resume = true);
  IDLE("overwrite has no effect without output", o.overwrite = true);
  IDLE("continued (resume) or replaced (overwrite)", o.output = "run", o.resume = o.overwrite = true);
  IDLE("eval_when by steps has no effect without eval_every", o.eval_when = BRIM_EVERY_STEPS);
  IDLE("best_is_small has no effect without own_metrics", o.best_is_small = true);
  IDLE("swa_every has no effect without swa_start", o.swa_every = 2);
}

/* A tokenizer that gives other ids than the model's is not written with it, nor trained with. */
static void foreign_tokenizer(void) {
  const char *to = scratch_file("saved");
  brim_train_options options = case_options(NULL);
  options.max_steps = 1;
  brim_model_set_tokenizer(job.model, 17);
  int status = brim_model_save(job.model, tokenizer, NULL, to, NULL, &err);
  ok(status == BRIM_E_MISMATCH && strstr(err.message, "the tokenizer gives other ids") &&
         !case_exists(case_path(to, "config.json")),
     "a foreign tokenizer is not saved: %s", err.message);
  status = brim_train(job.runtime, job.model, tokenizer, job.train, NULL, 0, &options, NULL, &err);
  ok(status == BRIM_E_MISMATCH && strstr(err.message, "the tokenizer gives other ids"), "nor trained with: %s", err.message);
  brim_model_set_tokenizer(job.model, 0);
  ok(!brim_model_save(job.model, tokenizer, NULL, to, NULL, &err), "one that may be the model's is saved");
}

int main(void) {
  const brim_runtime_options alone = {.threads = 1};
  if (brim_runtime_new(&alone, &runtime, &err))
    return 99;
  data = scratch_write("data.csv", "text,label\na b c,0\nd e,1\na,0\nb c d e f,1\n");
  scratch_write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\n");
  if (brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, &err))
    return 99;
  folder = case_model_folder("bert-pair-3");
  job = case_open(folder, 1);
  members_of_data();
  members_of_models();
  arguments();
  contradicting_modules();
  without_effect();
  foreign_tokenizer();
  case_close(&job);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(runtime);
  return tap_done();
}
