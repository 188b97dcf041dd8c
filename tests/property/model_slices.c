/* Several slices at once have the very gradients and losses of one after the other, added along the tree: random texts and
 * slices, empty ones among them, every family, fp32 and bf16, with dropout, freezing and checkpoints of activations. */
#include "base/reduce_tree.h"
#include "base/runtime.h"
#include "model/run/flat.h"
#include "model/run/gradient.h"
#include "model/run/queue.h"
#include "model_case.h"

enum { ROWS = 40, MOST = 24, LONGEST = 60 };

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state >> 33) % below;
}

/* The rows of a step. */
typedef struct texts {
  int32_t ids[ROWS * LONGEST], token_labels[ROWS * LONGEST], offsets[ROWS + 1];
  uint8_t types[ROWS * LONGEST], slices[ROWS];
  float labels[ROWS * 8];
  uint64_t rows[ROWS];
  uint32_t places[ROWS];
  int32_t count, width;
  bool token_task;
} texts;

static void make_texts(texts *t, const brim_model *m, bool small) {
  const brim_labels *labels = &m->config.labels;
  const int32_t positions = brim_config_max_length(&m->config), longest = positions < LONGEST ? positions : LONGEST;
  t->count = small ? 1 + (int32_t)draw(6) : ROWS;
  t->width = brim_labels_width(labels);
  t->token_task = brim_task_has_tokens(labels->task);
  for (int32_t i = 0, slice = 0; i < t->count; i++) {
    const int32_t length = 1 + (int32_t)draw((uint32_t)longest), at = t->offsets[i];
    t->offsets[i + 1] = at + length;
    for (int32_t k = at; k < at + length; k++) {
      t->ids[k] = 1 + (int32_t)draw((uint32_t)m->config.vocab_size - 1);
      t->types[k] = m->config.types > 1 && draw(3) == 0;
      t->token_labels[k] = draw(4) == 0 ? BRIM_NO_LABEL : (int32_t)draw((uint32_t)labels->count);
    }
    for (int32_t c = 0; c < t->width; c++)
      t->labels[i * t->width + c] = (float)draw(2);
    slice += i == 0 ? (int32_t)draw(3) : draw(3) > 0 ? 0 : 1 + (int32_t)draw(3);
    t->slices[i] = (uint8_t)(slice < MOST ? slice : MOST - 1);
    t->rows[i] = (uint64_t)i, t->places[i] = (uint32_t)(i * 7 % ROWS);
  }
}

/* Rows from `first` on as a batch; `offsets` is its own. */
static brim_batch batch_of(texts *t, int32_t first, int32_t count, int32_t *offsets) {
  const int32_t at = t->offsets[first];
  for (int32_t i = 0; i <= count; i++)
    offsets[i] = t->offsets[first + i] - at;
  return (brim_batch){.count = count,
                      .tokens = offsets[count],
                      .slots = offsets[count],
                      .ids = t->ids + at,
                      .type_ids = t->types + at,
                      .offsets = offsets,
                      .label_width = t->width,
                      .labels = t->labels + (int64_t)first * t->width,
                      .token_labels = t->token_task ? t->token_labels + at : NULL,
                      .rows = t->rows + first,
                      .places = t->places + first,
                      .slices = t->slices + first,
                      .step_rows = (uint32_t)t->count,
                      .divisor = 11};
}

typedef struct way {
  brim_precision precision;
  const char *freeze;
  bool checkpoint;
} way;

static const brim_pass pass = {.training = true, .dropout = true, .seed = 5, .optimizer_step = 2};

static void compute(brim_model *m, brim_batch *batch, double *loss) {
  brim_error err = {0};
  brim_answers answers;
  if (brim_model_queue_forward(m, batch, &pass, &err) || brim_model_backward(m, batch, &pass, &err) ||
      brim_model_answers(m, &answers, &err))
    case_stop("step", &err);
  *loss = answers.losses[0];
}

/* Gradients of slices, each alone, added along the tree into the first. Returns whether their losses are those given. */
static bool one_by_one(brim_model *m, texts *t, real **sums, const double *losses) {
  const int64_t size = brim_gradient_size(m);
  int32_t names[MOST], firsts[MOST + 1], count = 0, offsets[ROWS + 1], at[MOST], depth = 0;
  uint8_t joins[MOST];
  bool same = true;
  for (int32_t i = 0; i < t->count; i++)
    if (i == 0 || t->slices[i] != t->slices[i - 1])
      names[count] = t->slices[i], firsts[count++] = i;
  firsts[count] = t->count;
  (void)brim_reduce_tree_joins(names, count, joins);
  for (int32_t k = 0; k < count; k++) {
    brim_batch batch = batch_of(t, firsts[k], firsts[k + 1] - firsts[k], offsets);
    double loss;
    brim_model_zero_gradients(m);
    compute(m, &batch, &loss);
    same = same && (count == 1 || memcmp(&loss, &losses[k], sizeof loss) == 0);
    memcpy(sums[k], case_gradients_of(m), (size_t)size * sizeof(real));
    at[depth++] = k;
    for (int j = joins[k]; j > 0; j--, depth--)
      for (int64_t i = 0; i < size; i++)
        sums[at[depth - 2]][i] += sums[at[depth - 1]][i];
  }
  return same && depth == 1;
}

/* Names the first tensor that differs. */
static const char *compare(const brim_model *m, const real *got, const real *want) {
  for (size_t i = 0; i < m->program.weight_count; i++) {
    const brim_parameter *p = &m->program.weights[i].is;
    const int64_t from = brim_flat_trained_at(m, (int32_t)i);
    if (from >= 0 && memcmp(got + from, want + from, (size_t)p->count * sizeof(real)) != 0)
      return p->name;
  }
  return NULL;
}

static void check_way(const char *name, const char *folder, const char *kernels, const way *w, bool slow) {
  static texts t;
  brim_model *m = case_load(folder, kernels);
  brim_error err = {0};
  if (brim_model_freeze(m, w->freeze, &err))
    case_stop("freeze", &err);
  const brim_model_limits limits = {
      .max_slots = ROWS * LONGEST,
      .max_sequences = ROWS,
      .max_length = brim_config_max_length(&m->config) < LONGEST ? brim_config_max_length(&m->config) : LONGEST,
      .training = true,
      .checkpoint_activations = w->checkpoint,
      .precision = w->precision,
      .slices = MOST};
  if (brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  const int64_t size = brim_gradient_size(m);
  real *sums[MOST];
  for (int i = 0; i < MOST; i++)
    sums[i] = malloc((size_t)size * sizeof(real) + 1);
  const char *wrong = NULL;
  for (int round = 0; round < 6 && !wrong; round++) {
    int32_t offsets[ROWS + 1];
    double loss, losses[MOST] = {0}, sum = 0;
    const int32_t *names;
    const double *told;
    make_texts(&t, m, round % 2 || (slow && round > 0));
    brim_batch all = batch_of(&t, 0, t.count, offsets);
    brim_model_zero_gradients(m);
    compute(m, &all, &loss);
    real *joined = malloc((size_t)size * sizeof(real) + 1);
    memcpy(joined, case_gradients_of(m), (size_t)size * sizeof(real));
    const int32_t count = brim_model_slice_losses(m, &names, &told);
    memcpy(losses, told, (size_t)count * sizeof *losses);
    for (int32_t k = 0; k < count; k++)
      sum += losses[k];
    if (count > 0 && memcmp(&sum, &loss, sizeof sum) != 0)
      wrong = "the loss";
    if (!one_by_one(m, &t, sums, losses))
      wrong = "a slice's loss";
    wrong = wrong ? wrong : compare(m, joined, sums[0]);
    free(joined);
  }
  ok(!wrong, "%s, %s, %s%s%s%s: slices at once have the bits of one after the other%s%s", name, kernels,
     brim_precision_name(w->precision), *w->freeze ? ", frozen: " : "", w->freeze, w->checkpoint ? ", checkpoints" : "",
     wrong ? ", but not " : "", wrong ? wrong : "");
  for (int i = 0; i < MOST; i++)
    free(sums[i]);
  brim_model_free(m);
}

/* On the reference steps are large once, and small five times. */
static void check_model(const char *golden, const char *extra, const char *kernels, int level, bool many) {
  static const way ways[] = {{BRIM_PRECISION_FP32, "", false},        {BRIM_PRECISION_BF16, "", false},
                             {BRIM_PRECISION_FP32, "layers:1", true}, {BRIM_PRECISION_BF16, "embeddings", true},
                             {BRIM_PRECISION_FP32, "encoder", false}, {BRIM_PRECISION_FP32, "*e*.weight", false}};
  char name[64];
  snprintf(name, sizeof name, "%s-slices-%s", golden, kernels);
  const char *folder = case_variant(golden, name, extra);
  for (size_t i = 0; i < (many ? sizeof ways / sizeof *ways : 2); i++)
    if (tap_takes(name, i))
      check_way(golden, folder, kernels, &ways[i], level == LEVEL_REF && !tap_asks_all());
}

/* Where weights are used twice, or tables summed over texts, slices are computed one by one. */
static void check_refused(const char *golden) {
  static texts t;
  brim_model *m = case_load(case_golden(golden), brim_ops_ref()->name);
  const brim_model_limits limits = {
      .max_slots = ROWS * LONGEST, .max_sequences = ROWS, .max_length = 8, .training = true, .slices = MOST};
  brim_error err = {0};
  int32_t offsets[ROWS + 1];
  if (brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  make_texts(&t, m, true);
  t.count = 2;
  t.offsets[1] = 3, t.offsets[2] = 5, t.slices[0] = 0, t.slices[1] = 4;
  brim_batch batch = batch_of(&t, 0, 2, offsets);
  ok(!brim_model_joins_slices(m) && brim_model_queue_forward(m, &batch, &pass, &err) == BRIM_E_USAGE, "%s: %s", golden,
     err.message);
  t.slices[1] = 0;
  double loss;
  compute(m, &batch, &loss);
  ok(loss > 0, "%s: one slice is computed", golden);
  brim_model_free(m);
}

/* Four slices of which the sums all wait: as many as of any eight neighbours. */
static void check_room(const char *golden) {
  static texts t;
  brim_model *m = case_load(case_golden(golden), brim_ops_ref()->name);
  brim_model_limits limits = {
      .max_slots = ROWS * LONGEST, .max_sequences = ROWS, .max_length = LONGEST, .training = true, .slices = 4};
  brim_error err = {0};
  int32_t offsets[ROWS + 1];
  if (brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  make_texts(&t, m, false);
  t.count = 4;
  t.slices[0] = 0, t.slices[1] = 16, t.slices[2] = 24, t.slices[3] = 28;
  brim_batch batch = batch_of(&t, 0, 4, offsets);
  ok(brim_model_queue_forward(m, &batch, &pass, &err) == BRIM_E_USAGE, "%s: %s", golden, err.message);
  limits.slices = 32;
  if (brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  double loss;
  compute(m, &batch, &loss);
  ok(loss > 0, "%s: prepared for all slices of the step, they are computed", golden);
  brim_model_free(m);
}

int main(void) {
  static const char bert[] = "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25";
  static const char distilbert[] = "\"dropout\":0.2,\"attention_dropout\":0.3,\"seq_classif_dropout\":0.25";
  static const char modern[] =
      "\"embedding_dropout\":0.2,\"attention_dropout\":0.3,\"mlp_dropout\":0.15,\"classifier_dropout\":0.25";
  case_start(2);
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
    const char *kernels = level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name;
    const bool best = level == (int)brim_runtime_cpu(case_runtime);
    check_model("bert-pair-3", bert, kernels, level, level >= 0);
    if (level >= 0)
      check_model("modernbert-cls", modern, kernels, level, best);
    if (!best)
      continue;
    check_model("bert-tokens", bert, kernels, level, true);
    check_model("bert-odd-regression", bert, kernels, level, false);
    check_model("roberta-regression", bert, kernels, level, false);
    check_model("camembert-binary", bert, kernels, level, false);
    check_model("distilbert-4", distilbert, kernels, level, true);
    check_model("electra-cls", bert, kernels, level, true);
    check_model("gte-cls", bert, kernels, level, false);
    check_model("eurobert-cls", "\"attention_dropout\":0.3", kernels, level, false);
    check_model("jina-linear", "", kernels, level, false);
    check_model("nomic-cls", "", kernels, level, false);
    check_model("modernbert-tokens", modern, kernels, level, false);
  }
  check_refused("albert-regression");
  check_refused("mpnet-cls");
  check_refused("deberta-v3-cls");
  check_room("bert-pair-3");
  brim_runtime_free(case_runtime);
  return tap_done();
}
