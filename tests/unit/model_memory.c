/* Memory is what was planned and is taken once; and rows of tables that nobody reads. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/runtime.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model_case.h"

/* ---- an allocator that counts ---- */

static atomic_long taken_bytes, taken_blocks;

static void *count_allocate(void *context, size_t size) {
  (void)context;
  atomic_fetch_add(&taken_bytes, (long)size);
  atomic_fetch_add(&taken_blocks, 1);
  return malloc(size);
}
static void *count_resize(void *context, void *pointer, size_t size) {
  (void)context;
  atomic_fetch_add(&taken_bytes, (long)size);
  atomic_fetch_add(&taken_blocks, 1);
  return realloc(pointer, size);
}
static void count_release(void *context, void *pointer) {
  (void)context;
  free(pointer);
}

static void start_counting(void) {
  static const brim_allocator allocator = {count_allocate, count_resize, count_release, NULL};
  const brim_runtime_options options = {.threads = 2, .allocator = &allocator};
  brim_error err;
  if (brim_runtime_new(&options, &case_runtime, &err))
    case_stop("runtime", &err);
}

/* ---- memory ---- */

static void check_planned(const char *golden, const char *kernels, bool training, bool all_tokens, const char *freeze,
                          bool checkpoints, brim_precision precision) {
  brim_model *model = case_load(case_golden(golden), kernels);
  brim_error err;
  const brim_model_limits limits = {.max_slots = 333,
                                    .max_sequences = 9,
                                    .max_length = 60,
                                    .training = training,
                                    .all_tokens = all_tokens,
                                    .checkpoint_activations = checkpoints,
                                    .precision = precision};
  if (brim_model_freeze(model, freeze, &err))
    case_stop("freeze", &err);
  const uint64_t planned = brim_model_memory(model, &limits);
  atomic_store(&taken_bytes, 0);
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  ok((uint64_t)atomic_load(&taken_bytes) == planned, "%s, %s%s%s%s, %s frozen: %llu bytes are planned and taken", golden, kernels,
     training ? ", training" : "", all_tokens ? ", all tokens" : "", checkpoints ? ", checkpoints" : "",
     *freeze ? freeze : "nothing", (unsigned long long)planned);
  brim_model_free(model);
}

/* Each optimizer's states, the values at the start and those kept while they are mixed are planned, and taken. */
static void check_optimizers(const char *kernels) {
  static const struct {
    brim_optimizer_options is;
    int buffers; /* of what is trained, the gradient included */
  } cases[] = {{{.name = "adamw"}, 3},
               {{.name = "adamw", .returns = true}, 4},
               {{.name = "bert_adam", .mixout = 0.1}, 5},
               {{.name = "bert_adam", .returns = true, .mixout = 0.1}, 5},
               {{.name = "sgd"}, 2},
               {{.name = "sgd", .returns = true, .mixout = 0.2}, 4},
               {{.name = "madgrad"}, 4},
               {{.name = "madgrad", .returns = true, .mixout = 0.3}, 5}};
  const brim_model_limits limits = {.max_slots = 99, .max_sequences = 9, .max_length = 20, .training = true};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_model *model = case_load(case_golden("bert-pair-3"), kernels);
    brim_error err;
    if (brim_model_use_optimizer(model, &cases[i].is, &err) || brim_model_freeze(model, i % 2 ? "*LayerNorm*,*value*" : "", &err))
      case_stop("optimizer", &err);
    const uint64_t planned = brim_model_memory(model, &limits), state = brim_model_state_memory(model);
    const uint64_t least = (uint64_t)(cases[i].buffers * model->trained.size) * sizeof(real);
    atomic_store(&taken_bytes, 0);
    if (brim_model_prepare(model, &limits, &err))
      case_stop("prepare", &err);
    ok((uint64_t)atomic_load(&taken_bytes) == planned && state >= least && state < least + 16384,
       "%s, %s%s%s: %llu bytes of state, %d buffers of %lld values, and %llu in all are planned and taken", kernels,
       cases[i].is.name, cases[i].is.returns ? ", decay towards the start" : "", cases[i].is.mixout > 0 ? ", mixout" : "",
       (unsigned long long)state, cases[i].buffers, (long long)model->trained.size, (unsigned long long)planned);
    brim_model_free(model);
  }
}

/* Bytes that a token costs in training: 40 H a layer (F = 4H) beside what all layers share. */
static void check_cost(void) {
  const char *folder = case_variant("bert-pair-3", "cost", "");
  brim_model *model = case_load(folder, "cpu-plain");
  const int64_t hidden = 48, feed = 96, layers = 3;
  brim_model_limits few = {.max_slots = 1000, .max_sequences = 8, .max_length = 96, .training = true}, many = few;
  many.max_slots += 1000;
  const double token = (double)(brim_model_memory(model, &many) - brim_model_memory(model, &few)) / 1000;
  const double kept = 4.0 * (double)((layers - 1) * (6 * hidden + feed + 4 + 4) + 2 * hidden);
  const double shared = 4.0 * (double)(6 * hidden + 3 * hidden + 2) + 4 * 3 + 1;
  ok(token <= kept + shared + 1, "a token costs %.0f bytes: %.0f in the layers, %.0f beside them", token, kept, shared);
  brim_model_free(model);
}

/* In bf16 a token costs little more than half; of wider models, whose statistics weigh less, less. */
static void check_half_cost(const char *golden, int percent) {
  brim_model *model = case_load(case_golden(golden), "cpu-plain");
  int64_t cost[2];
  for (int i = 0; i < 2; i++) {
    brim_model_limits few = {.max_slots = 1000,
                             .max_sequences = 8,
                             .max_length = 60,
                             .training = true,
                             .precision = i ? BRIM_PRECISION_BF16 : BRIM_PRECISION_FP32},
                      many = few;
    many.max_slots += 1000;
    cost[i] = (int64_t)(brim_model_memory(model, &many) - brim_model_memory(model, &few)) / 1000;
  }
  /* ids, positions, sequence and type in host memory, where batches of a queued step wait: alike in both */
  const int64_t waiting = brim_model_is_host(model) ? 0 : BRIM_MOST_QUEUED * 13;
  ok(100 * (cost[1] - waiting) <= percent * (cost[0] - waiting), "%s in bf16: %lld bytes a token, where fp32 has %lld", golden,
     (long long)cost[1], (long long)cost[0]);
  brim_model_free(model);
}

/* Memory to train on 8,192 tokens, in one text or in texts of `length`. */
static double megabytes_of(const brim_model *model, int32_t length) {
  const brim_model_limits limits = {
      .max_slots = 8192, .max_sequences = 8192 / length, .max_length = length, .training = true, .all_tokens = true};
  return (double)brim_model_memory(model, &limits) / 1e6;
}

/* Nothing but the order of texts depends on their length where all layers have a window: a token costs the same in a long one.
 * And where scores have terms by distance, no table of pairs is held for a batch: [heads, length, length] would be 1,074 MB. */
static void check_long_texts(void) {
  static const char *const windows =
      "\"max_position_embeddings\":8192,\"layer_types\":[\"sliding_attention\",\"sliding_attention\","
      "\"sliding_attention\",\"sliding_attention\"]";
  brim_model *model = case_load(case_variant("modernbert-cls", "windows", windows), "cpu-plain");
  const double apart = megabytes_of(model, 1024), joined = megabytes_of(model, 8192);
  ok(joined <= 1.01 * apart, "with windows 8,192 tokens take %.2f MB in one text, %.2f in eight", joined, apart);
  brim_model_free(model);
  model = case_load(case_variant("deberta-v3-cls", "distances", "\"max_position_embeddings\":8192"), "cpu-plain");
  const double few = megabytes_of(model, 1024), all = megabytes_of(model, 8192), pairs = 4e-6 * 4 * 8192 * 8192;
  ok(all - few < 0.05 * pairs, "by distance %.1f MB in one text, %.1f in eight; all pairs would be %.0f", all, few, pairs);
  brim_model_free(model);
}

/* With checkpoints a further layer costs its input: 4 H a token. Frozen layers keep nothing at all. */
static void check_cheap_layers(void) {
  brim_model *model = case_load(case_variant("bert-pair-3", "cheap", ""), "cpu-plain");
  const int64_t hidden = 48, feed = 96, a_layer = 4 * (6 * hidden + feed + 4 + 4);
  brim_model_limits few = {.max_slots = 1000, .max_sequences = 8, .max_length = 96, .training = true, .all_tokens = true};
  brim_model_limits many = few;
  brim_error err;
  int64_t all[4]; /* of a thousand tokens, whose pieces are rounded up to lines */
  many.max_slots += 1000;
  for (int i = 0; i < 4; i++) {
    static const char *const freeze[] = {"", "", "embeddings", "layers:2"};
    few.checkpoint_activations = many.checkpoint_activations = i == 1;
    if (brim_model_freeze(model, freeze[i], &err))
      case_stop("freeze", &err);
    all[i] = (int64_t)(brim_model_memory(model, &many) - brim_model_memory(model, &few));
  }
  ok_int((all[0] - all[1] + 500) / 1000, 2 * (a_layer - 4 * hidden), "checkpoints: two layers of three cost their input alone");
  ok_int((all[0] - all[2] + 500) / 1000, 4 * (hidden + 2), "frozen embeddings do not keep their sum, nor its mean and deviation");
  few.precision = many.precision = BRIM_PRECISION_BF16;
  if (brim_model_freeze(model, "", &err))
    case_stop("freeze", &err);
  const int64_t half = (int64_t)(brim_model_memory(model, &many) - brim_model_memory(model, &few)) / 1000;
  const int64_t token = all[0] / 1000;
  /* ids, positions, sequence and type in host memory, where batches of a queued step wait: alike in both */
  const int64_t waiting = brim_model_is_host(model) ? 0 : BRIM_MOST_QUEUED * 13;
  ok(100 * (half - waiting) <= 56 * (token - waiting),
     "bf16: %lld bytes a token, where fp32 has %lld; with wider layers it is the half", (long long)half, (long long)token);
  few.precision = BRIM_PRECISION_FP16;
  ok(brim_model_prepare(model, &few, &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "bf16"), "fp16 is refused");
  ok_int((all[2] - all[3] + 500) / 1000, 2 * a_layer - 4 * hidden,
         "frozen layers keep nothing; what they pass through is larger than backward's by one hidden state");
  brim_model_free(model);
}

#define ALONE "%s has AdamW alone, without a way back to the pretrained weights: use --optimizer adamw, or another device"

/* A device that lacks a feature refuses what needs it, in words of its own, and nothing else; that takes no memory of passes. */
static void check_lacking(void) {
  static const struct {
    const char *golden;
    uint32_t feature;
    brim_precision precision;
    bool training;
    int32_t slices;
    const char *words;
    brim_optimizer_options optimizer;
  } cases[] = {
      {"bert-pair-3",
       BRIM_FEATURE_INT8,
       BRIM_PRECISION_INT8,
       false,
       0,
       "%s does not multiply bytes: predict in fp32 or bf16",
       {0}},
      {"bert-pair-3", BRIM_FEATURE_BF16, BRIM_PRECISION_BF16, true, 0, "%s does not multiply 16-bit values: use fp32", {0}},
      {"bert-pair-3", BRIM_FEATURE_HOST_MEMORY, BRIM_PRECISION_FP32, true, 4, "%s has no slices: train without them", {0}},
      {"mpnet-cls",
       BRIM_FEATURE_DISTANCES,
       BRIM_PRECISION_FP32,
       false,
       0,
       "%s has no attention by distance, which mpnet needs: use another device",
       {0}},
      {"bert-pair-3", BRIM_FEATURE_DISTANCES | BRIM_FEATURE_INT8 | BRIM_FEATURE_BF16, BRIM_PRECISION_FP32, true, 0, NULL, {0}},
      {"bert-pair-3",
       BRIM_FEATURE_BF16,
       BRIM_PRECISION_FP16,
       true,
       0,
       "fp16 needs a device with 16-bit arithmetic: use bf16 or fp32 on a CPU",
       {0}},
      {"bert-pair-3", BRIM_FEATURE_RULES, BRIM_PRECISION_FP32, true, 0, ALONE, {.name = "sgd"}},
      {"bert-pair-3", BRIM_FEATURE_RULES, BRIM_PRECISION_FP32, true, 0, ALONE, {.returns = true}},
      {"bert-pair-3", BRIM_FEATURE_RULES, BRIM_PRECISION_FP32, true, 0, ALONE, {.mixout = 0.1}},
      {"bert-pair-3", BRIM_FEATURE_RULES, BRIM_PRECISION_FP32, false, 0, NULL, {.mixout = 0.1}},
      {"bert-pair-3", BRIM_FEATURE_RULES, BRIM_PRECISION_FP32, true, 0, NULL, {.name = "bert_adam"}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_model *model = case_load(case_golden(cases[i].golden), "cpu-plain");
    const brim_ops *whole = model->ops;
    brim_ops less = *whole;
    char words[200] = "";
    brim_error err = {0};
    const brim_model_limits limits = {.max_slots = 40,
                                      .max_sequences = 4,
                                      .max_length = 10,
                                      .training = cases[i].training,
                                      .precision = cases[i].precision,
                                      .slices = cases[i].slices};
    if (brim_model_use_optimizer(model, &cases[i].optimizer, &err))
      case_stop("optimizer", &err);
    less.features &= ~cases[i].feature;
    model->ops = &less;
    if (cases[i].words)
      snprintf(words, sizeof words, cases[i].words, whole->name);
    const int status = brim_model_prepare(model, &limits, &err);
    model->ops = whole;
    ok(status == (cases[i].words ? BRIM_E_UNSUPPORTED : BRIM_OK) && strcmp(err.message, words) == 0 &&
           !model->work_block == (status != BRIM_OK),
       "lacking %x: %s", cases[i].feature, status ? err.message : "it is not needed");
    brim_model_free(model);
  }
}

static void check_steady(const char *kernels, brim_precision precision) {
  brim_model *model = case_load(case_golden("bert-pair-3"), kernels);
  brim_dataset *rows = case_rows("bert-pair-3");
  brim_batch small = {0}, large = {0};
  brim_error err;
  double loss, norm;
  float logits[64];
  const brim_pass training = {.training = true, .dropout = true}, predict = {.all_tokens = true};
  const brim_update_options adamw = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1, .step = 1};
  case_fill(&large, rows, 0, 8, 64);
  case_fill(&small, rows, 2, 3, 0);
  brim_model_limits limits = case_limits(&large, true);
  limits.precision = precision;
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  brim_model_zero_gradients(model);
  atomic_store(&taken_blocks, 0);
  int status = 0;
  for (int i = 0; i < 3; i++) {
    const brim_batch *batch = i % 2 ? &large : &small;
    status |= brim_model_forward(model, batch, &training, &loss, NULL, &err);
    status |= brim_model_backward(model, batch, &training, &err);
    status |= brim_model_update(model, &adamw, &norm, &err);
    status |= brim_model_forward(model, batch, &predict, NULL, logits, &err);
    brim_model_zero_gradients(model);
  }
  ok(status == 0 && atomic_load(&taken_blocks) == 0, "%s, %s: steps, predictions and updates allocate nothing", kernels,
     brim_precision_name(precision));
  brim_batch_free(&small);
  brim_batch_free(&large);
  brim_dataset_free(rows);
  brim_model_free(model);
}

/* In int8 the first prediction makes the weights, in memory that prepare took; training is refused; fp32 gives it back. */
static void check_bytes(const char *kernels) {
  brim_model *model = case_load(case_golden("bert-pair-3"), kernels);
  brim_dataset *rows = case_rows("bert-pair-3");
  brim_batch batch = {0};
  brim_error err;
  float logits[64];
  const brim_pass predict = {0};
  case_fill(&batch, rows, 0, 8, 0);
  brim_model_limits limits = case_limits(&batch, false);
  limits.precision = BRIM_PRECISION_INT8;
  int status = brim_model_prepare(model, &limits, &err);
  const bool there = model->int8_block != NULL;
  atomic_store(&taken_blocks, 0);
  status |= brim_model_forward(model, &batch, &predict, NULL, logits, &err);
  model->int8_made = false;
  status |= brim_model_forward(model, &batch, &predict, NULL, logits, &err);
  status |= brim_model_prepare(model, &limits, &err);
  ok(status == 0 && there && atomic_load(&taken_blocks) == 0, "%s, int8: predictions allocate nothing", kernels);
  limits.training = true;
  ok(brim_model_prepare(model, &limits, &err) == BRIM_E_USAGE && strstr(err.message, "fp32 or bf16") && model->int8_block,
     "and training is refused");
  limits.training = false;
  limits.precision = BRIM_PRECISION_FP32;
  ok(brim_model_prepare(model, &limits, &err) == BRIM_OK && !model->int8_block, "fp32 gives the bytes back");
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
}

/* Training, then a larger prediction, then training again: moments stay, results are those of a model that never predicted. */
static void check_prepared_again(void) {
  brim_model *one = case_load(case_golden("bert-pair-3"), "cpu-plain"), *two = case_load(case_golden("bert-pair-3"), "cpu-plain");
  brim_dataset *rows = case_rows("bert-pair-3");
  brim_batch few = {0}, all = {0};
  brim_error err;
  double norm;
  float logits[64];
  const brim_pass training = {.training = true, .dropout = true}, predict = {0};
  case_fill(&few, rows, 0, 3, 0);
  case_fill(&all, rows, 0, 8, 90);
  const brim_model_limits limits = case_limits(&all, false);
  for (uint64_t step = 1; step <= 3; step++) {
    const brim_update_options adamw = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1, .step = step};
    double loss;
    case_step(one, &few, &training);
    if (step == 1)
      case_step(two, &few, &training);
    else if (brim_model_forward(two, &few, &training, &loss, NULL, &err) || brim_model_backward(two, &few, &training, &err))
      case_stop("training after a prediction", &err);
    if (brim_model_update(one, &adamw, &norm, &err) || brim_model_update(two, &adamw, &norm, &err))
      case_stop("update", &err);
    if (brim_model_prepare(two, &limits, &err) || brim_model_forward(two, &all, &predict, NULL, logits, &err))
      case_stop("predict", &err);
  }
  ok(memcmp(case_values_of(one), case_values_of(two), (size_t)one->program.flat_size * sizeof(float)) == 0,
     "predictions between training steps change nothing");
  brim_batch_free(&few);
  brim_batch_free(&all);
  brim_dataset_free(rows);
  brim_model_free(one);
  brim_model_free(two);
}

/* ---- rows of tables ---- */

static bool all_zero(const float *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (x[i] != 0)
      return false;
  return true;
}

static void check_zeroed(void) {
  brim_model *model = case_load(case_golden("roberta-regression"), "cpu-plain");
  brim_dataset *rows = case_rows("roberta-regression");
  brim_batch batch = {0};
  const brim_pass pass = {.training = true};
  case_fill(&batch, rows, 0, 4, 0);
  case_step(model, &batch, &pass);
  brim_model_zero_gradients(model);
  ok(all_zero(case_gradients_of(model), model->program.flat_size), "zeroing what was touched leaves nothing");
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
}

/* The rows of padding have no gradient, even when a text holds the padding token. */
static void check_padding_row(const char *golden, int32_t pad) {
  brim_model *model = case_load(case_golden(golden), "cpu-plain");
  const brim_pass pass = {.training = true};
  tiny t;
  make_tiny(&t);
  t.ids[1] = pad;
  t.batch.width = 3;
  t.batch.slots = 6;
  case_step(model, &t.batch, &pass);
  const int64_t hidden = model->config.hidden;
  bool good = all_zero(case_gradients_of(model) + case_offset(model, "word_embeddings.weight") + pad * hidden, hidden) &&
              !all_zero(case_gradients_of(model) + case_offset(model, "word_embeddings.weight") + 5 * hidden, hidden);
  if (model->config.family->pad_positions)
    good = good && all_zero(case_gradients_of(model) + case_offset(model, "position_embeddings.weight") + pad * hidden, hidden);
  ok(good, "%s: the padding token's row has no gradient", golden);
  brim_model_free(model);
}

/* Updating only rows that were ever touched gives the same bits as updating all. */
static void check_sparse_update(double decay) {
  brim_model *sparse = case_load(case_golden("bert-pair-3"), "cpu-plain"),
             *dense = case_load(case_golden("bert-pair-3"), "cpu-plain");
  brim_dataset *rows = case_rows("bert-pair-3");
  brim_batch batch = {0};
  brim_error err;
  double norm, other;
  bool same_norm = true;
  const brim_pass pass = {.training = true, .dropout = true};
  for (uint64_t step = 1; step <= 4; step++) {
    const brim_update_options adamw = {
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = decay, .clip = 1, .step = step};
    case_fill(&batch, rows, (uint32_t)(2 * step - 2), 2, 0);
    case_step(sparse, &batch, &pass);
    case_step(dense, &batch, &pass);
    brim_model_gradients_written(dense);
    if (step == 3) /* as after a resume */
      brim_model_state_written(sparse);
    if (brim_model_update(sparse, &adamw, &norm, &err) || brim_model_update(dense, &adamw, &other, &err))
      case_stop("update", &err);
    same_norm = same_norm && fabs(norm - other) <= 1e-12 * other;
  }
  const size_t bytes = (size_t)dense->program.flat_size * sizeof(float);
  brim_model_catch_up(sparse);
  ok(same_norm && memcmp(case_values_of(sparse), case_values_of(dense), bytes) == 0 &&
         memcmp(case_states_of(sparse, 1), case_states_of(dense, 1), bytes) == 0 &&
         all_zero(case_gradients_of(sparse), sparse->program.flat_size),
     "updating touched rows is updating all, decay %g", decay);
  int64_t alive = 0;
  uint8_t *marks = malloc(sparse->embedding_rows);
  sparse->ops->read(&sparse->context, marks, sparse->alive, sparse->embedding_rows);
  if (sparse->ops->sync(&sparse->context, &err))
    case_stop("read", &err);
  for (size_t i = 0; i < sparse->embedding_rows; i++)
    alive += marks[i];
  free(marks);
  ok(alive > 0 && alive < 400, "%lld rows take part", (long long)alive);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(sparse);
  brim_model_free(dense);
}

static void check_diverged(void) {
  brim_model *model = case_load(case_golden("bert-pair-3"), "cpu-plain"), *kept = case_load(case_golden("bert-pair-3"), NULL);
  const brim_pass pass = {.training = true};
  const brim_update_options adamw = {.lr = 1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1, .step = 1};
  brim_error err;
  double norm;
  tiny t;
  make_tiny(&t);
  case_step(model, &t.batch, &pass);
  static const float nan_value = NAN;
  case_put(model, model->gradients + case_offset(model, "classifier.weight"), &nan_value, sizeof nan_value);
  const size_t bytes = (size_t)model->program.flat_size * sizeof(float);
  ok(brim_model_update(model, &adamw, &norm, &err) == BRIM_E_DIVERGED &&
         memcmp(case_values_of(model), case_values_of(kept), bytes) == 0 &&
         all_zero(case_states_of(model, 0), model->program.flat_size),
     "a gradient that is not finite changes nothing");
  brim_model_zero_gradients(model);
  ok(all_zero(case_gradients_of(model), model->program.flat_size), "and can be thrown away");
  brim_model_free(model);
  brim_model_free(kept);
}

/* Pages of the passes' memory that are there. */
static size_t resident(char *from, size_t pages, size_t page) {
  unsigned char *there = malloc(pages);
  size_t count = 0;
  if (!there || mincore(from, pages * page, there))
    return 0;
  for (size_t i = 0; i < pages; i++)
    count += there[i] & 1;
  free(there);
  return count;
}

/* Who times steps writes to their memory first: a page is given when it is first touched, which takes longer than to compute on
 * it. The pages are taken away before, so that it does not matter what malloc did to them. */
static void check_touched(void) {
  const brim_model_limits limits = {.max_slots = 4000, .max_sequences = 50, .max_length = 90, .training = true};
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  brim_model *model = case_load(case_golden("bert-pair-3"), NULL);
  brim_error err;
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  char *block = model->work_block, *first = (char *)(((uintptr_t)block + page - 1) / page * page);
  const size_t pages = (size_t)(block + model->work_size - first) / page;
  const bool taken = madvise(first, pages * page, MADV_DONTNEED) == 0 && resident(first, pages, page) == 0;
  brim_model_touch_memory(model);
  ok(taken && resident(first, pages, page) == pages, "all %zu pages of a step's memory are there after they are touched", pages);
  brim_model_free(model);
}

int main(void) {
  start_counting();
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
    const char *kernels = level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name;
    check_planned("bert-pair-3", kernels, true, false, "", false, BRIM_PRECISION_FP32);
    check_planned("bert-odd-regression", kernels, true, true, "", true, BRIM_PRECISION_FP32);
    check_planned("distilbert-4", kernels, false, false, "", false, BRIM_PRECISION_FP32);
    check_planned("bert-pair-3", kernels, true, false, "embeddings", true, BRIM_PRECISION_FP32);
    check_planned("roberta-regression", kernels, true, false, "layers:1", false, BRIM_PRECISION_FP32);
    check_planned("distilbert-4", kernels, true, true, "encoder", false, BRIM_PRECISION_FP32);
    check_planned("bert-pair-3", kernels, true, false, "*word*,*query*,*layer.1.*", false, BRIM_PRECISION_FP32);
    check_planned("modernbert-cls", kernels, true, false, "*Wi*,*tok*", true, BRIM_PRECISION_BF16);
    check_planned("bert-pair-3", kernels, true, false, "", false, BRIM_PRECISION_BF16);
    check_planned("bert-pair-3", kernels, true, true, "layers:1", true, BRIM_PRECISION_BF16);
    check_planned("modernbert-cls", kernels, true, false, "", false, BRIM_PRECISION_BF16);
    check_planned("eurobert-cls", kernels, true, true, "layers:1", true, BRIM_PRECISION_BF16);
    check_planned("distilbert-4", kernels, false, false, "", false, BRIM_PRECISION_INT8);
    check_planned("bert-odd-regression", kernels, false, true, "", false, BRIM_PRECISION_INT8);
    check_optimizers(kernels);
    check_bytes(kernels);
    check_steady(kernels, BRIM_PRECISION_FP32);
    check_steady(kernels, BRIM_PRECISION_BF16);
  }
  check_cost();
  check_half_cost("modernbert-cls", 56);
  check_half_cost("eurobert-cls", 56);
  check_half_cost("nomic-cls", 56);
  check_half_cost("gte-cls", 56);
  check_long_texts();
  check_cheap_layers();
  check_lacking();
  check_prepared_again();
  check_zeroed();
  check_touched();
  check_padding_row("bert-pair-3", 0);
  check_padding_row("roberta-regression", 1);
  check_sparse_update(0);
  check_sparse_update(0.01);
  check_diverged();
  brim_runtime_free(case_runtime);
  return tap_done();
}
