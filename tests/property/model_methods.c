/* Freezing and checkpoints of activations change what is kept and computed, and nothing else: gradients of what is trained are
 * those of training everything, with dropout on. */
#include "base/runtime.h"
#include "model/kind.h"
#include "model/run/ask.h"
#include "model/run/flat.h"
#include "model/run/gradient.h"
#include "model_case.h"

static const brim_pass pass = {.training = true, .dropout = true, .seed = 11, .optimizer_step = 3};

typedef struct job {
  const char *name, *folder, *kernels;
  brim_dataset *rows;
} job;

/* One forward and backward over all rows; the batch is of this width (0: ragged). */
typedef struct result {
  brim_model *model;
  double loss, flops;
  uint64_t memory;
} result;

static result compute_in(const job *j, brim_precision precision, const char *freeze, bool checkpoint, bool all_tokens,
                         int32_t width) {
  result r = {.model = case_load(j->folder, j->kernels)};
  brim_pass how = pass;
  brim_batch batch = {0};
  brim_error err = {0};
  case_fill(&batch, j->rows, 0, (uint32_t)brim_dataset_rows(j->rows), width);
  brim_model_limits limits = case_limits(&batch, true);
  limits.all_tokens = how.all_tokens = all_tokens;
  limits.checkpoint_activations = checkpoint;
  limits.precision = precision;
  if (brim_model_freeze(r.model, freeze, &err) || brim_model_prepare(r.model, &limits, &err))
    case_stop("prepare", &err);
  r.memory = brim_model_memory(r.model, &limits);
  if (brim_model_forward(r.model, &batch, &how, &r.loss, NULL, &err) || brim_model_backward(r.model, &batch, &how, &err))
    case_stop("step", &err);
  (void)case_values_of(r.model); /* and all of it is done */
  r.flops = r.model->context.stats.gemm_flops + r.model->context.stats.attention_flops;
  brim_batch_free(&batch);
  return r;
}

static result compute(const job *j, const char *freeze, bool checkpoint, bool all_tokens, int32_t width) {
  return compute_in(j, BRIM_PRECISION_FP32, freeze, checkpoint, all_tokens, width);
}

static int64_t trained_count(const brim_model *m) {
  return brim_gradient_size(m);
}

static bool same_gradient(const result *a, const result *b) {
  return a->loss == b->loss && trained_count(a->model) == trained_count(b->model) &&
         memcmp(case_gradients_of(a->model), case_gradients_of(b->model), (size_t)trained_count(a->model) * sizeof(real)) == 0;
}

/* ---- freezing --------------------------------------------------------------------------------------------- */

/* Worst relative difference of the trained tensors' gradients; key biases, whose gradients are rounding, absolutely. */
static double worst_tensor(const result *part, const result *all) {
  double worst = fabs(part->loss - all->loss);
  for (int32_t i = 0; i < (int32_t)part->model->program.weight_count; i++) {
    const brim_parameter *p = &part->model->program.weights[i].is;
    const real *got = case_gradient_of(part->model, p), *want = case_gradient_of(all->model, p);
    if (got && !case_is_key_bias(p->name))
      worst = fmax(worst, case_apart(got, want, p->count));
    for (int64_t k = 0; got && case_is_key_bias(p->name) && k < p->count; k++)
      worst = fmax(worst, fabs((double)got[k]));
  }
  return worst;
}

/* The layer of NAME, told from it alone: -1 for embeddings, `layers` for the head. A norm after all layers is the last one's. */
static int layer_of(const char *name, int32_t layers) {
  int layer = -1;
  const char *at = strstr(name, "layer");
  if (strstr(name, "embed") || strstr(name, "encoder.LayerNorm") || strstr(name, "relative_attention_bias"))
    return -1;
  if (strstr(name, "final_norm") || strstr(name, "model.norm"))
    return layers - 1;
  return at && (sscanf(at, "layer.%d.", &layer) == 1 || sscanf(at, "layers.%d.", &layer) == 1) ? layer : layers;
}

/* Whether NAME belongs to what is frozen. */
static bool name_is_frozen(const char *name, const char *freeze, int32_t layers) {
  const int layer = layer_of(name, layers);
  if (layer < 0 || layer == layers)
    return layer < 0;
  if (strcmp(freeze, "encoder") == 0)
    return true;
  return layer < (strncmp(freeze, "layers:", 7) == 0 && atoi(freeze + 7) <= layers ? atoi(freeze + 7) : 0);
}

/* After an update with decay exactly the trained tensors are others, and the norm is theirs. */
static void check_update(const job *j, const result *part, const char *freeze) {
  brim_model *fresh = case_load(j->folder, j->kernels);
  const brim_update_options adamw = {
      .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .clip = 1, .step = 1};
  brim_error err = {0};
  double norm = 0, square = 0;
  const real *gradients = case_gradients_of(part->model), *before = case_values_of(fresh);
  for (int64_t i = 0; i < trained_count(part->model); i++)
    square += (double)gradients[i] * (double)gradients[i];
  if (brim_model_update(part->model, &adamw, &norm, &err))
    case_stop("update", &err);
  const real *after = case_values_of(part->model);
  int wrong = 0;
  for (int32_t i = 0; i < (int32_t)fresh->program.weight_count; i++) {
    const brim_parameter *p = &fresh->program.weights[i].is;
    const bool same = memcmp(before + p->offset, after + p->offset, (size_t)p->count * sizeof(real)) == 0;
    if (same != name_is_frozen(p->name, freeze, fresh->config.layers)) {
      printf("# %s is %s\n", p->name, same ? "as it was" : "another");
      wrong++;
    }
  }
  ok(wrong == 0 && fabs(norm - sqrt(square)) <= 1e-6 * norm, "%s, %s: an update moves what is not frozen by %s", j->name,
     j->kernels, freeze);
  brim_model_free(fresh);
}

/* Freezing embeddings spares the gradient of the first product's input, unless there is a norm between. */
static bool spares_products(const brim_model *model, const char *freeze) {
  const brim_program *p = &model->program;
  return strcmp(freeze, "embeddings") != 0 || strcmp(p->operations[p->sections[1].first].kind->name, "norm") != 0;
}

static void check_freeze(const job *j, const result *all, const char *freeze, int32_t width) {
  result part = compute(j, freeze, false, false, width), both = compute(j, freeze, true, false, width);
  const double apart = worst_tensor(&part, all);
  ok(apart <= 1e-6 && strcmp(brim_model_frozen(part.model), freeze) == 0,
     "%s, %s, width %d: freezing %s leaves the other gradients as they are (%.1e apart)", j->name, j->kernels, (int)width, freeze,
     apart);
  ok(part.memory < all->memory && (part.flops < all->flops) == spares_products(part.model, freeze),
     "which takes %.0f %% of the memory, %.0f %% of the products", 100.0 * (double)part.memory / (double)all->memory,
     100 * part.flops / all->flops);
  ok(same_gradient(&part, &both), "with checkpoints: the same bits");
  check_update(j, &part, freeze);
  brim_model_free(part.model);
  brim_model_free(both.model);
}

/* More frozen is less computed and held. */
static void check_order(const job *j) {
  static const char *const parts[] = {"", "embeddings", "layers:1", "encoder"};
  double flops = (double)INFINITY;
  uint64_t memory = UINT64_MAX;
  bool less = true;
  for (int i = 0; i < 4; i++) {
    result r = compute(j, parts[i], false, false, 0);
    less = less && (r.flops < flops) == spares_products(r.model, parts[i]) && r.memory < memory;
    flops = r.flops, memory = r.memory;
    brim_model_free(r.model);
  }
  ok(less, "%s, %s: the more is frozen, the less is computed and held", j->name, j->kernels);
}

static void check_words(const job *j) {
  static const struct {
    const char *text, *name;
    int status;
  } words[] = {
      {NULL, "", BRIM_OK},
      {"", "", BRIM_OK},
      {"2", "layers:2", BRIM_OK},
      {"embeddings", "embeddings", BRIM_OK},
      {"3", "encoder", BRIM_OK},
      {"layers:1", "layers:1", BRIM_OK},
      {"4", NULL, BRIM_E_USAGE},
      {"layers:4", NULL, BRIM_E_USAGE},
      {"0", NULL, BRIM_E_USAGE},
      {"-1", NULL, BRIM_E_USAGE},
      {"layers", NULL, BRIM_E_USAGE},
      {"head", NULL, BRIM_E_USAGE},
      {"layers:", NULL, BRIM_E_USAGE},
      {"99999999999", NULL, BRIM_E_USAGE},
      {"encoder", "encoder", BRIM_OK},
  };
  brim_model *model = case_load(j->folder, j->kernels);
  bool good = true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    brim_error err = {0};
    const int status = brim_model_freeze(model, words[i].text, &err);
    if (status == words[i].status && (status || strcmp(brim_model_frozen(model), words[i].name) == 0))
      continue;
    printf("# \"%s\": %d, \"%s\" %s\n", words[i].text ? words[i].text : "(null)", status, brim_model_frozen(model), err.message);
    good = false;
  }
  ok(good, "what may be frozen is said in words");
  brim_model_free(model);
}

/* A model that was trained may freeze more and continue: its moments begin at zero. */
static void check_refreeze(const job *j) {
  result r = compute(j, "", false, false, 0), want = compute(j, "layers:1", false, false, 0);
  brim_batch batch = {0};
  brim_error err = {0};
  double loss;
  case_fill(&batch, j->rows, 0, (uint32_t)brim_dataset_rows(j->rows), 0);
  const brim_model_limits limits = case_limits(&batch, true);
  if (brim_model_freeze(r.model, "layers:1", &err))
    case_stop("freeze", &err);
  ok(brim_model_forward(r.model, &batch, &pass, &loss, NULL, &err) == BRIM_E_USAGE && !brim_model_gradients(r.model),
     "freezing gives the gradients back");
  if (brim_model_prepare(r.model, &limits, &err) || brim_model_forward(r.model, &batch, &pass, &r.loss, NULL, &err) ||
      brim_model_backward(r.model, &batch, &pass, &err))
    case_stop("step", &err);
  ok(same_gradient(&r, &want), "and what is trained then has the gradient of a fresh start");
  brim_batch_free(&batch);
  brim_model_free(r.model);
  brim_model_free(want.model);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------ */

static void check_checkpoints(const job *j, bool all_tokens, int32_t width) {
  result kept = compute(j, "", false, all_tokens, width), again = compute(j, "", true, all_tokens, width);
  ok(same_gradient(&kept, &again), "%s, %s, width %d%s: checkpoints give the same bits", j->name, j->kernels, (int)width,
     all_tokens ? ", all tokens" : "");
  ok(again.memory < kept.memory && again.flops > kept.flops, "for %.0f %% of the memory and %.0f %% of the products",
     100.0 * (double)again.memory / (double)kept.memory, 100 * again.flops / kept.flops);
  brim_model_free(kept.model);
  brim_model_free(again.model);
}

/* ---- precision -------------------------------------------------------------------------------------------- */

/* bf16 has 8 bits: its gradients are near those of fp32, not the same; checkpoints give the same bits as copies do. DistilBERT's
 * head has a ReLU: a unit near 0 may be on with one precision and off with the other, which is a large part of what four rows
 * come to. */
static void check_half(const job *j, const char *freeze, bool all_tokens, int32_t width) {
  result wide = compute(j, freeze, false, all_tokens, width),
         half = compute_in(j, BRIM_PRECISION_BF16, freeze, false, all_tokens, width),
         again = compute_in(j, BRIM_PRECISION_BF16, freeze, true, all_tokens, width);
  const double most = strcmp(half.model->config.family->type, "distilbert") == 0 ? 0.3 : 3e-2;
  double worst = fabs(half.loss - wide.loss) / wide.loss;
  for (int32_t i = 0; i < (int32_t)wide.model->program.weight_count; i++) {
    const brim_parameter *p = &wide.model->program.weights[i].is;
    const real *got = case_gradient_of(half.model, p), *want = case_gradient_of(wide.model, p);
    if (got && !case_is_key_bias(p->name))
      worst = fmax(worst, case_apart(got, want, p->count));
  }
  ok(worst < most && worst > 1e-5, "%s, %s, width %d%s, %s frozen: bf16 is near fp32 (%.1e apart)", j->name, j->kernels,
     (int)width, all_tokens ? ", all tokens" : "", *freeze ? freeze : "nothing", worst);
  ok(same_gradient(&half, &again), "and with checkpoints the same bits");
  brim_model_free(wide.model);
  brim_model_free(half.model);
  brim_model_free(again.model);
}

/* Logits of all rows, of a training pass or a prediction. */
static void logits_in(const job *j, brim_precision precision, bool training, float *logits) {
  brim_model *model = case_load(j->folder, j->kernels);
  const brim_pass how = {.training = training};
  brim_batch batch = {0};
  brim_error err = {0};
  double loss;
  case_fill(&batch, j->rows, 0, (uint32_t)brim_dataset_rows(j->rows), 0);
  brim_model_limits limits = case_limits(&batch, training);
  limits.precision = precision;
  if (brim_model_prepare(model, &limits, &err) || brim_model_forward(model, &batch, &how, training ? &loss : NULL, logits, &err))
    case_stop("logits", &err);
  brim_batch_free(&batch);
  brim_model_free(model);
}

/* A prediction in bf16 is what training in bf16 sees. */
static void check_half_prediction(const job *j, int32_t outputs) {
  const int64_t count = (int64_t)brim_dataset_rows(j->rows) * outputs;
  float *trained = calloc((size_t)count, sizeof *trained), *predicted = calloc((size_t)count, sizeof *predicted),
        *wide = calloc((size_t)count, sizeof *wide);
  logits_in(j, BRIM_PRECISION_BF16, true, trained);
  logits_in(j, BRIM_PRECISION_BF16, false, predicted);
  logits_in(j, BRIM_PRECISION_FP32, false, wide);
  const double apart = case_apart(predicted, trained, count), rounding = case_apart(predicted, wide, count);
  ok(apart == 0 && rounding > 1e-5 && rounding < 3e-2,
     "%s, %s: a prediction in bf16 is that of training in bf16 (%.1e apart; from fp32 %.1e)", j->name, j->kernels, apart,
     rounding);
  free(trained), free(predicted), free(wide);
}

/* ---- learning rates of layers ----------------------------------------------------------------------------- */

/* Parts above a tensor, told from its name: 0 for the head. */
static int parts_above(const char *name, int32_t layers) {
  return layers - layer_of(name, layers);
}

/* With a decay every tensor moves as it would with its own learning rate and none. */
static void check_layer_decay(const job *j, const char *freeze) {
  const double lr = 1e-2, decay = 0.7;
  result all = compute(j, freeze, false, false, 0);
  brim_update_options adamw = {
      .lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .clip = 1, .step = 1, .layer_decay = decay};
  brim_error err = {0};
  double norm;
  const int32_t layers = all.model->config.layers;
  int wrong = 0;
  if (brim_model_update(all.model, &adamw, &norm, &err))
    case_stop("update", &err);
  for (int above = 0; above <= layers + 1; above++) {
    result one = compute(j, freeze, false, false, 0);
    adamw.lr = lr * pow(decay, above);
    adamw.layer_decay = above % 2; /* 0 and 1 mean none */
    if (brim_model_update(one.model, &adamw, &norm, &err))
      case_stop("update", &err);
    const real *values = case_values_of(all.model), *others = case_values_of(one.model);
    for (int32_t i = 0; i < (int32_t)all.model->program.weight_count; i++) {
      const brim_parameter *p = &all.model->program.weights[i].is;
      const bool same = memcmp(values + p->offset, others + p->offset, (size_t)p->count * sizeof(real)) == 0;
      if (same != (parts_above(p->name, layers) == above || !all.model->trained.weights[i])) {
        printf("# %s, %d above\n", p->name, above);
        wrong++;
      }
    }
    brim_model_free(one.model);
  }
  ok(wrong == 0, "%s, %s, %s frozen: layers have learning rates of their own", j->name, j->kernels, *freeze ? freeze : "nothing");
  brim_model_free(all.model);
}

/* ---- token types ------------------------------------------------------------------------------------------ */

/* Types that are ignored are all 0. */
static void check_types(const char *kernels) {
  brim_model *model = case_load(case_golden("bert-pair-3"), kernels), *blind;
  const brim_model_options options = {.kernels = kernels, .no_type_ids = true};
  brim_error err = {0};
  tiny t;
  double zero, typed, ignored;
  make_tiny(&t);
  if (brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &blind, &err))
    case_stop("no types", &err);
  zero = case_step(model, &t.batch, &pass);
  memset(t.types, 1, sizeof t.types);
  typed = case_step(model, &t.batch, &pass);
  memset(t.types, 9, sizeof t.types); /* that the model does not even have */
  ignored = case_step(blind, &t.batch, &pass);
  ok(ignored == zero && typed != zero && brim_model_reads_types(model) && !brim_model_reads_types(blind),
     "%s: token types may be ignored (%.6f, %.6f)", kernels, zero, typed);
  brim_model_free(model);
  brim_model_free(blind);
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static void check_model(const char *golden, const char *dropout, const char *kernels, int level) {
  static const char *const parts[] = {"embeddings", "layers:1", "layers:2", "encoder"};
  static uint64_t number; /* on the reference every second one has padding */
  char name[80];
  snprintf(name, sizeof name, "%s-methods%d", golden, level);
  number++;
  if (!tap_takes_named(name))
    return;
  const job j = {golden, case_variant(golden, name, dropout), kernels, case_rows(golden)};
  brim_model *model = case_load(j.folder, kernels);
  const int32_t layers = model->config.layers, longest = brim_dataset_longest(j.rows);
  check_half_prediction(&j, brim_model_outputs(model));
  brim_model_free(model);
  for (int32_t width = 0; width <= longest; width += longest) {
    if (!level_takes(level, "widths", number + (width > 0), 2))
      continue;
    result all = compute(&j, "", false, false, width);
    for (int i = 0; i < 4; i++)
      if (i != 2 || layers > 2)
        check_freeze(&j, &all, parts[i], width);
    brim_model_free(all.model);
    check_checkpoints(&j, false, width);
    check_checkpoints(&j, true, width);
    check_half(&j, "", false, width);
    check_half(&j, "", true, width);
    check_half(&j, "embeddings", false, width);
    check_half(&j, "layers:1", false, width);
    check_half(&j, "encoder", false, width);
  }
  check_order(&j);
  if (level_takes(level, "decays", number, 2))
    check_layer_decay(&j, "");
  if (level_takes(level, "decays", number + 1, 2))
    check_layer_decay(&j, "layers:1");
  if (layers == 3 && level < 0) {
    check_words(&j);
    check_refreeze(&j);
  }
  brim_dataset_free(j.rows);
}

/* Layers with the same weights: frozen together or not at all; checkpoints and 16-bit storage as elsewhere. */
static void check_shared(const char *golden, const char *dropout, const char *kernels, int level) {
  char name[80];
  brim_error err = {0};
  snprintf(name, sizeof name, "%s-methods%d", golden, level);
  if (!tap_takes_named(name))
    return;
  const job j = {golden, case_variant(golden, name, dropout), kernels, case_rows(golden)};
  const brim_model_options top = {.kernels = kernels, .reinit_layers = 1};
  brim_model *model = case_load(j.folder, kernels), *other = NULL;
  for (int i = 1; i < model->config.layers; i++) {
    char parts[24];
    snprintf(parts, sizeof parts, "layers:%d", i);
    ok(brim_model_freeze(model, parts, &err) == BRIM_E_USAGE && strstr(err.message, "same weights"), "%s, %s: %s is refused",
       golden, kernels, parts);
  }
  ok(brim_model_freeze(model, "encoder", &err) == BRIM_OK && brim_model_freeze(model, "embeddings", &err) == BRIM_OK,
     "all layers, or none, may be frozen");
  ok(brim_model_load(case_runtime, j.folder, &top, &other, &err) == BRIM_E_USAGE && strstr(err.message, "same weights"),
     "a top layer cannot begin again alone");
  brim_model_free(model);
  for (int32_t width = 0; width <= 64; width += 64) {
    result all = compute(&j, "", false, false, width), some = compute(&j, "embeddings", false, false, width),
           head = compute(&j, "encoder", false, false, width);
    ok(worst_tensor(&some, &all) <= 1e-6 && worst_tensor(&head, &all) <= 1e-6 && head.memory < some.memory &&
           some.memory < all.memory,
       "%s, %s, width %d: freezing leaves the other gradients as they are", golden, kernels, (int)width);
    brim_model_free(all.model);
    brim_model_free(some.model);
    brim_model_free(head.model);
    check_checkpoints(&j, false, width);
    check_checkpoints(&j, true, width);
    check_half(&j, "", false, width);
    check_half(&j, "embeddings", true, width);
  }
  brim_dataset_free(j.rows);
}

int main(void) {
  static const char bert[] = "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25",
                    distilbert[] = "\"dropout\":0.2,\"attention_dropout\":0.3,\"seq_classif_dropout\":0.25";
  static const char deberta[] =
      "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"pooler_dropout\":0.15,\"cls_dropout\":0.25";
  static const char albert[] =
      "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout_prob\":0.25";
  static const char modern[] =
      "\"embedding_dropout\":0.2,\"attention_dropout\":0.3,\"mlp_dropout\":0.15,\"classifier_dropout\":0.25";
  case_start(2);
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
    const char *kernels = level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name;
    check_model("bert-pair-3", bert, kernels, level);
    check_types(kernels);
    check_model("roberta-regression", bert, kernels, level);
    check_model("distilbert-4", distilbert, kernels, level);
    if (level < (int)brim_runtime_cpu(case_runtime))
      continue;
    check_model("electra-cls", bert, kernels, level);
    check_model("mpnet-cls", bert, kernels, level);
    check_model("deberta-v3-cls", deberta, kernels, level);
    check_shared("albert-regression", albert, kernels, level);
    check_model("modernbert-cls", modern, kernels, level);
    check_model("gte-cls", bert, kernels, level);
    check_model("eurobert-cls", "\"attention_dropout\":0.3", kernels, level);
  }
  brim_runtime_free(case_runtime);
  return tap_done();
}
