/* The gradient of a step does not depend on how the step is computed, with dropout on: padded or ragged, whole or in parts, with
 * any number of threads, with the last layer for first tokens only or for all. And no padding is computed when there is none. */
#include "base/runtime.h"
#include "model_case.h"

#define BERT_DROPOUT       "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25"
#define ALBERT_DROPOUT     "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout_prob\":0.25"
#define EURO_DROPOUT       "\"attention_dropout\":0.3"
#define MODERN_DROPOUT     "\"embedding_dropout\":0.2,\"attention_dropout\":0.3,\"mlp_dropout\":0.15,\"classifier_dropout\":0.25"
#define DISTILBERT_DROPOUT "\"dropout\":0.2,\"attention_dropout\":0.3,\"seq_classif_dropout\":0.25"
#define DEBERTA_DROPOUT                                                                                                          \
  "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"pooler_dropout\":0.15,\"cls_dropout\":0.25"

static const brim_pass pass = {.training = true, .dropout = true, .seed = 11, .optimizer_step = 3};

typedef struct gradient {
  double loss;
  float *values;
  int64_t count;
} gradient;

static gradient copy_of(const brim_model *model, const float *values, double loss) {
  const size_t bytes = (size_t)model->program.flat_size * sizeof(float);
  gradient g = {.loss = loss, .values = malloc(bytes), .count = model->program.flat_size};
  if (!g.values)
    abort();
  memcpy(g.values, values, bytes);
  return g;
}

static gradient whole(brim_model *model, const brim_dataset *rows, int32_t width, const brim_pass *how) {
  brim_batch batch = {0};
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), width);
  const double loss = case_step(model, &batch, how);
  brim_batch_free(&batch);
  return copy_of(model, case_gradients_of(model), loss);
}

/* The same step in parts of `size` rows, and widths that differ from part to part. */
static gradient in_parts(brim_model *model, const brim_dataset *rows, uint32_t size, bool padded) {
  const uint32_t count = (uint32_t)brim_dataset_rows(rows);
  const int32_t longest = brim_dataset_longest(rows);
  const brim_model_limits limits = {
      .max_slots = (int64_t)size * (longest + 1), .max_sequences = (int32_t)size, .max_length = longest + 1, .training = true};
  brim_batch batch = {0};
  brim_error err = {0};
  double loss = 0;
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  brim_model_zero_gradients(model);
  for (uint32_t first = 0; first < count; first += size) {
    double part = 0;
    case_fill(&batch, rows, first, count - first < size ? count - first : size, padded ? longest + (first / size) % 2 : 0);
    if (brim_model_forward(model, &batch, &pass, &part, NULL, &err) || brim_model_backward(model, &batch, &pass, &err))
      case_stop("part", &err);
    loss += part;
  }
  brim_batch_free(&batch);
  return copy_of(model, case_gradients_of(model), loss);
}

/* Worst relative difference over the tensors; those of key biases, which are rounding, absolutely. */
static double apart(const brim_model *model, const gradient *a, const gradient *b) {
  double worst = fabs(a->loss - b->loss) / fabs(b->loss);
  for (int32_t i = 0; i < (int32_t)model->program.weight_count; i++) {
    const brim_parameter *p = &model->program.weights[i].is;
    double d = case_apart(a->values + p->offset, b->values + p->offset, p->count);
    for (int64_t k = 0; case_is_key_bias(p->name) && k < p->count; k++)
      d = fabs((double)a->values[p->offset + k]) < 1e-6 ? 0 : 1;
    worst = fmax(worst, d);
  }
  return worst;
}

static void check_apart(const brim_model *model, gradient got, const gradient *want, const char *name, const char *what) {
  const double d = apart(model, &got, want);
  ok(d <= 1e-5, "%s, %s: %s gives the same gradient to %.1e", name, model->ops->name, what, d);
  free(got.values);
}

/* On the reference two ways of six, others for the next model. */
static void check_execution(const char *golden, const char *folder, int level, uint64_t number) {
  const char *kernels = level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name;
  brim_model *model = case_load(folder, kernels);
  brim_dataset *rows = case_rows(golden);
  const int32_t longest = brim_dataset_longest(rows);
  gradient want = whole(model, rows, 0, &pass);
  brim_pass all = pass, other = pass;
  all.all_tokens = true;
  other.optimizer_step++;
  if (level_takes(level, "ways", number, 3)) {
    check_apart(model, whole(model, rows, longest, &pass), &want, golden, "padding");
    check_apart(model, in_parts(model, rows, 3, false), &want, golden, "parts of three rows");
  }
  if (level_takes(level, "ways", number + 1, 3)) {
    check_apart(model, whole(model, rows, longest + 1, &pass), &want, golden, "more padding");
    check_apart(model, in_parts(model, rows, 1, false), &want, golden, "a part for each row");
  }
  if (level_takes(level, "ways", number + 2, 3)) {
    check_apart(model, in_parts(model, rows, 2, true), &want, golden, "padded parts of two rows");
    check_apart(model, whole(model, rows, 0, &all), &want, golden, "the last layer for all tokens");
  }
  gradient elsewhere = whole(model, rows, 0, &other);
  ok(apart(model, &elsewhere, &want) > 1e-2, "%s, %s: another step has other masks", golden, model->ops->name);
  free(elsewhere.values);
  free(want.values);
  brim_dataset_free(rows);
  brim_model_free(model);
}

/* ---- threads ---- */

/* Two steps with dropout and updates between; the values afterwards. */
static gradient train_two_steps(const char *golden, const char *folder, const char *kernels, int threads) {
  case_start(threads);
  brim_model *model = case_load(folder, kernels);
  brim_dataset *rows = case_rows(golden);
  brim_batch batch = {0};
  brim_error err = {0};
  double loss = 0, norm;
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), 0);
  for (uint64_t step = 1; step <= 2; step++) {
    const brim_update_options adamw = {
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01, .clip = 1, .step = step};
    loss += case_step(model, &batch, &pass);
    if (brim_model_update(model, &adamw, &norm, &err))
      case_stop("update", &err);
  }
  brim_model_catch_up(model);
  gradient g = copy_of(model, case_values_of(model), loss + norm);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
  brim_runtime_free(case_runtime);
  return g;
}

static void check_threads(const char *golden, const char *folder, const char *kernels) {
  static const int counts[] = {2, 3, 8};
  gradient want = train_two_steps(golden, folder, kernels, 1);
  bool same = true;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    gradient got = train_two_steps(golden, folder, kernels, counts[i]);
    same = same && got.loss == want.loss && memcmp(got.values, want.values, (size_t)want.count * sizeof(float)) == 0;
    free(got.values);
  }
  ok(same, "%s, %s: two steps give the same bits with 1, 2, 3 and 8 threads", golden, kernels);
  free(want.values);
}

/* ---- checkpoints ---- */

static gradient in_precision(const char *golden, const char *folder, const char *kernels, brim_precision precision,
                             bool checkpoints) {
  brim_model *model = case_load(folder, kernels);
  brim_dataset *rows = case_rows(golden);
  brim_batch batch = {0};
  brim_error err = {0};
  double loss = 0;
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), 0);
  brim_model_limits limits = case_limits(&batch, true);
  limits.precision = precision;
  limits.checkpoint_activations = checkpoints;
  if (brim_model_prepare(model, &limits, &err) || brim_model_forward(model, &batch, &pass, &loss, NULL, &err) ||
      brim_model_backward(model, &batch, &pass, &err))
    case_stop("checkpoints", &err);
  gradient g = copy_of(model, case_gradients_of(model), loss);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
  return g;
}

/* What backward makes again has the bits of what it would have kept, also where the head sees several layers. */
static void check_checkpoints(const char *golden, const char *folder, const char *kernels) {
  static const brim_precision precisions[] = {BRIM_PRECISION_FP32, BRIM_PRECISION_BF16};
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
    gradient kept = in_precision(golden, folder, kernels, precisions[i], false),
             again = in_precision(golden, folder, kernels, precisions[i], true);
    ok(kept.loss == again.loss && memcmp(kept.values, again.values, (size_t)kept.count * sizeof(float)) == 0,
       "%s, %s, %s: with checkpoints the gradient has the same bits", golden, kernels, brim_precision_name(precisions[i]));
    free(kept.values);
    free(again.values);
  }
}

/* ---- padding ---- */

static void check_rows(const char *golden, const char *kernels) {
  brim_model *model = case_load(case_golden(golden), kernels);
  brim_dataset *rows = case_rows(golden);
  const int64_t tokens = (int64_t)brim_dataset_tokens(rows), n = (int64_t)brim_dataset_rows(rows);
  const int32_t longest = brim_dataset_longest(rows);
  gradient ragged = whole(model, rows, 0, &pass);
  const brim_ops_stats none = model->context.stats;
  model->context.stats = (brim_ops_stats){0};
  gradient padded = whole(model, rows, longest, &pass);
  ok(none.gemm_max_rows == tokens, "%s, %s: no product has more rows than there are tokens (%lld of %lld)", golden, kernels,
     (long long)none.gemm_max_rows, (long long)tokens);
  ok(model->context.stats.gemm_max_rows == n * longest && model->context.stats.gemm_flops > none.gemm_flops,
     "%s, %s: padding is computed when it is asked for", golden, kernels);
  free(ragged.values);
  free(padded.values);
  brim_dataset_free(rows);
  brim_model_free(model);
}

int main(void) {
  static const struct {
    const char *golden, *extra;
  } cases[] = {{"bert-pair-3", BERT_DROPOUT},
               {"bert-odd-regression", BERT_DROPOUT},
               {"roberta-regression", BERT_DROPOUT},
               {"bert-pair-3", BERT_DROPOUT ",\"brim_pooling\":\"mean\""},
               {"roberta-regression", BERT_DROPOUT ",\"brim_pooling\":\"max\""},
               {"bert-pair-3", BERT_DROPOUT ",\"brim_layers\":\"weighted\""},
               {"bert-pair-3", BERT_DROPOUT ",\"brim_layers\":\"joined:2\",\"brim_pooling\":\"mean\""},
               {"distilbert-4", DISTILBERT_DROPOUT},
               {"electra-cls", BERT_DROPOUT},
               {"albert-regression", ALBERT_DROPOUT},
               {"albert-regression", ALBERT_DROPOUT ",\"brim_layers\":\"weighted:2\""},
               {"deberta-v3-cls", DEBERTA_DROPOUT ",\"brim_layers\":\"weighted\",\"brim_pooling\":\"mean\""},
               {"mpnet-cls", BERT_DROPOUT},
               {"deberta-v3-cls", DEBERTA_DROPOUT},
               {"modernbert-cls", MODERN_DROPOUT},
               {"nomic-cls", BERT_DROPOUT},
               {"gte-cls", BERT_DROPOUT},
               {"eurobert-cls", EURO_DROPOUT}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[64];
    if (!tap_takes("variants", i))
      continue;
    case_start(2);
    snprintf(name, sizeof name, "variant-%d", (int)i);
    const char *folder = case_variant(cases[i].golden, name, cases[i].extra);
    const int best = level_best();
    for (int level = level_after(-2); level < LEVEL_END; level = level_after(level))
      check_execution(cases[i].golden, folder, level, i);
    check_rows(cases[i].golden, brim_ops_cpu((brim_cpu_level)best)->name);
    if (level_takes(LEVEL_REF, "rows", i, 4))
      check_rows(cases[i].golden, brim_ops_ref()->name);
    check_checkpoints(cases[i].golden, folder, brim_ops_cpu((brim_cpu_level)best)->name);
    brim_runtime_free(case_runtime);
    for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
      check_threads(cases[i].golden, folder, brim_ops_cpu((brim_cpu_level)level)->name);
  }
  return tap_done();
}
