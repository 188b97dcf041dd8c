/* Training of some tensors, whichever they are: their weights are those of a model that computes all gradients, and of which only
 * these are used; all others stay as they are, bit for bit. */
#include <string.h>

#include "model/run/ask.h"
#include "model/run/flat.h"
#include "model_case.h"

enum { STEPS = 3, WAYS = 4 };

/* One way of training. */
typedef struct way {
  brim_precision precision;
  bool checkpoints;
  uint32_t parts; /* of a step */
  brim_optimizer_options optimizer;
  brim_update_options update;
} way;

static uint64_t drawn = 1;
static uint32_t draw(uint32_t below) {
  drawn = drawn * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(drawn >> 33) % below;
}

/* Names of tensors, each with a chance of one in `of`; at least one that is used. */
static char *draw_names(const brim_model *m, uint32_t of) {
  const brim_program *p = &m->program;
  char *names = calloc(p->weight_count, 128);
  size_t used = 0;
  bool any = false;
  for (size_t i = 0; i < p->weight_count; i++) {
    const bool last = i + 1 == p->weight_count && !any;
    if (draw(of) > 0 && !last)
      continue;
    used += (size_t)sprintf(names + used, "%s%s", used ? "," : "", p->weights[i].is.name);
    any = any || p->weights[i].used;
  }
  return names;
}

static brim_model *prepared(const char *folder, const char *kernels, const char *only, const way *w, const brim_dataset *rows) {
  brim_error err = {0};
  brim_batch batch = {0};
  brim_model *m = case_load(folder, kernels);
  case_fill(&batch, rows, 0, (uint32_t)brim_dataset_rows(rows), 0);
  brim_model_limits limits = case_limits(&batch, true);
  limits.all_tokens = false;
  limits.precision = w->precision;
  limits.checkpoint_activations = w->checkpoints;
  if (brim_model_train_only(m, only, NULL, &err) || brim_model_use_optimizer(m, &w->optimizer, &err) ||
      brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  brim_batch_free(&batch);
  return m;
}

static void compute(brim_model *m, const brim_dataset *rows, const way *w, uint64_t step) {
  const uint32_t count = (uint32_t)brim_dataset_rows(rows), size = (count + w->parts - 1) / w->parts;
  const brim_pass pass = {.training = true, .dropout = true, .seed = 7, .optimizer_step = step};
  brim_error err = {0};
  brim_batch batch = {0};
  double loss;
  for (uint32_t first = 0; first < count; first += size) {
    case_fill(&batch, rows, first, first + size < count ? size : count - first, 0);
    if (brim_model_forward(m, &batch, &pass, &loss, NULL, &err) || brim_model_backward(m, &batch, &pass, &err))
      case_stop("step", &err);
  }
  brim_batch_free(&batch);
}

static double update(brim_model *m, const way *w, uint64_t step) {
  brim_update_options options = w->update;
  brim_error err = {0};
  double norm = 0;
  options.step = step;
  if (brim_model_update(m, &options, &norm, &err))
    case_stop("update", &err);
  return norm;
}

/* A step of all tensors, of which only those of `some` are to change. */
static double slow_step(brim_model *all, const brim_model *some, const brim_dataset *rows, const way *w, const real *start,
                        const real *zeros, uint64_t step) {
  const brim_program *p = &all->program;
  brim_error err = {0};
  compute(all, rows, w, step);
  for (int32_t i = 0; i < (int32_t)p->weight_count; i++)
    if (!brim_model_is_trained(some, i))
      case_put(all, brim_model_gradient(all, p->weights[i].is.offset), zeros, (size_t)p->weights[i].is.count * sizeof(real));
  const double norm = update(all, w, step);
  for (int32_t i = 0; i < (int32_t)p->weight_count; i++) {
    const brim_parameter *is = &p->weights[i].is;
    if (!brim_model_is_trained(some, i) && brim_model_write(all, BRIM_VALUES, is->offset, is->count, start + is->offset, &err))
      case_stop("write", &err);
  }
  return norm;
}

/* The first tensor that is not as it should be, or NULL. *moved: of those that are trained and used, how many changed. */
static const char *compare(const brim_model *some, const real *got, const real *want, const real *start, int *moved) {
  *moved = 0;
  for (int32_t i = 0; i < (int32_t)some->program.weight_count; i++) {
    const brim_parameter *is = &some->program.weights[i].is;
    const size_t size = (size_t)is->count * sizeof(real);
    const bool trained = brim_model_is_trained(some, i);
    if (memcmp(got + is->offset, (trained ? want : start) + is->offset, size) != 0)
      return is->name;
    *moved += trained && memcmp(got + is->offset, start + is->offset, size) != 0;
  }
  return NULL;
}

static void check_set(const char *folder, const char *name, const char *kernels, const brim_dataset *rows, const way *w,
                      const char *only) {
  brim_model *some = prepared(folder, kernels, only, w, rows), *all = prepared(folder, kernels, NULL, w, rows);
  const size_t bytes = (size_t)some->program.flat_size * sizeof(real);
  real *start = malloc(bytes), *zeros = calloc(1, bytes);
  bool same = true;
  int moved, trained = 0;
  memcpy(start, case_values_of(some), bytes);
  for (uint64_t step = 1; step <= STEPS; step++) {
    const double want = slow_step(all, some, rows, w, start, zeros, step);
    compute(some, rows, w, step);
    same = update(some, w, step) == want && same;
  }
  for (int32_t i = 0; i < (int32_t)some->program.weight_count; i++)
    trained += brim_model_is_trained(some, i);
  brim_model_catch_up(some);
  brim_model_catch_up(all);
  const char *wrong = compare(some, case_values_of(some), case_values_of(all), start, &moved);
  ok(!wrong && same && (moved > 0 || trained < 4), "%s, %s, %s, %s: %d tensors of %d are trained, %d change%s%s", name, kernels,
     brim_precision_name(w->precision), brim_model_optimizer(some), trained, (int)some->program.weight_count, moved,
     wrong ? "; not right: " : "", wrong ? wrong : "");
  if (wrong || !same)
    printf("# trained: %s\n", only);
  free(start);
  free(zeros);
  brim_model_free(some);
  brim_model_free(all);
}

static void make_ways(way ways[WAYS]) {
  const brim_update_options usual = {
      .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6, .momentum = 0.9, .weight_decay = 0.1, .clip = 0.5};
  const way made[WAYS] = {
      {.precision = BRIM_PRECISION_FP32, .parts = 2, .update = usual},
      {.precision = BRIM_PRECISION_FP32, .checkpoints = true, .parts = 1, .optimizer = {.name = "madgrad"}, .update = usual},
      {.precision = BRIM_PRECISION_BF16, .parts = 1, .optimizer = {.returns = true}, .update = usual},
      {.precision = BRIM_PRECISION_FP32, .parts = 1, .optimizer = {.name = "sgd"}, .update = usual}};
  memcpy(ways, made, sizeof made);
  ways[2].update.layer_decay = 0.8;
  ways[3].update.weight_decay = 0;
}

/* Each tensor alone, in one of the ways: what is around it has no gradient. */
static void check_alone(const brim_model *m, const char *name, const char *kernels, const brim_dataset *rows,
                        const way ways[WAYS]) {
  enum { MANY = 3 };
  for (size_t i = 0; i < m->program.weight_count; i++)
    for (size_t k = 0; k < WAYS; k++)
      if (m->program.weights[i].used &&
          (tap_asks_all() || (i + k * MANY) % (MANY * WAYS) == tap_draw(name, i / MANY) % (MANY * WAYS)))
        check_set(case_golden(name), name, kernels, rows, &ways[k], m->program.weights[i].is.name);
}

static void check_model(const char *name, const char *kernels, int level, uint64_t number) {
  way ways[WAYS];
  static const uint32_t chances[] = {2, 12, 4, 30};
  if (!tap_takes_named(name))
    return;
  brim_dataset *rows = case_rows(name);
  const char *folder = case_golden(name);
  brim_model *m = case_load(folder, kernels);
  make_ways(ways);
  if (level == level_best())
    check_alone(m, name, kernels, rows, ways);
  for (size_t i = 0; i < WAYS; i++) {
    if (!level_takes(level, "ways", number + i, 2))
      continue;
    char *only = draw_names(m, chances[i]);
    check_set(folder, name, kernels, rows, &ways[i], only);
    free(only);
  }
  brim_model_free(m);
  brim_dataset_free(rows);
}

/* Kinds of tensors that people name, and the first embedding's norm alone, below which nothing has a gradient. */
static void check_named(const char *kernels) {
  static const char *const only[] = {"*.bias",
                                     "*LayerNorm*",
                                     "*query*",
                                     "*.key.bias",
                                     "*word_emb*,*layer.1.*",
                                     "*position_emb*",
                                     "bert.embeddings.LayerNorm.bias"};
  const way w = {.parts = 1, .update = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .weight_decay = 0.1, .clip = 1}};
  brim_dataset *rows = case_rows("bert-pair-3");
  for (size_t i = 0; i < sizeof only / sizeof *only; i++)
    check_set(case_golden("bert-pair-3"), only[i], kernels, rows, &w, only[i]);
  brim_dataset_free(rows);
}

/* Embeddings of distances below layers that have no gradient otherwise; and layers that are computed again with these frozen. */
static void check_distances(const char *kernels, int level) {
  static const struct {
    const char *model, *only;
  } sets[] = {{"deberta-v3-cls", "deberta.encoder.rel_embeddings.weight"},
              {"deberta-v3-cls", "deberta.encoder.LayerNorm.*"},
              {"deberta-v3-cls", "*.dense.*"},
              {"deberta-v3-cls", "deberta.encoder.layer.0.output.dense.bias"},
              {"mpnet-cls", "*relative_attention_bias*"}};
  way ways[WAYS];
  make_ways(ways);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    brim_dataset *rows = case_rows(sets[i].model);
    for (size_t k = 0; k < WAYS; k++)
      if (level_takes(level, "distances", k + i, 2))
        check_set(case_golden(sets[i].model), sets[i].only, kernels, rows, &ways[k], sets[i].only);
    brim_dataset_free(rows);
  }
}

/* What is frozen by name costs as little as what is frozen by sections. */
static void check_costs(const char *kernels) {
  static const struct {
    const char *freeze, *only;
  } same[] = {{"encoder", "*pooler*,classifier.*"}, {"layers:1", "*layer.[12].*,*pooler*,classifier.*"}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    brim_error err = {0};
    tiny t;
    make_tiny(&t);
    const brim_pass pass = {.training = true};
    double flops[2];
    uint64_t state[2], work[2];
    for (int k = 0; k < 2; k++) {
      brim_model *m = case_load(case_golden("bert-pair-3"), kernels);
      const brim_model_limits limits = case_limits(&t.batch, true);
      if (k ? brim_model_train_only(m, same[i].only, NULL, &err) : brim_model_freeze(m, same[i].freeze, &err))
        case_stop("freeze", &err);
      (void)case_step(m, &t.batch, &pass);
      flops[k] = m->context.stats.gemm_flops + m->context.stats.attention_flops;
      state[k] = brim_model_state_memory(m);
      work[k] = brim_model_memory(m, &limits);
      brim_model_free(m);
    }
    ok(flops[0] == flops[1] && state[0] == state[1] && work[0] == work[1],
       "%s: %s frozen, or the rest trained by name: %.0f FLOPs, %llu bytes of state, %llu of memory", kernels, same[i].freeze,
       flops[1], (unsigned long long)state[1], (unsigned long long)work[1]);
  }
}

/* ---- words --------------------------------------------------------------------------------------------------- */

static void check_refused(brim_model *m, const char *only, const char *freeze, const char *because) {
  brim_error err = {0};
  const int status = brim_model_train_only(m, only, freeze, &err);
  ok(status == BRIM_E_USAGE && strstr(err.message, because), "only \"%s\", frozen \"%s\": %s", only ? only : "",
     freeze ? freeze : "", err.message);
}

static void check_words(void) {
  brim_model *m = case_load(case_golden("bert-pair-3"), NULL);
  brim_error err = {0};
  check_refused(m, NULL, "*qeury*", "no tensor is called *qeury*");
  check_refused(m, "query.weight", NULL, "did you mean *query.weight*");
  check_refused(m, "embeddings", NULL, "names of tensors");
  check_refused(m, NULL, "encoders", "freeze is \"encoders\"");
  check_refused(m, "*LayerNorm*", "*.weight, *.bias", "nothing would be trained");
  check_refused(m, "*layer.0.*", "layers:1", "nothing would be trained");
  ok(strcmp(brim_model_frozen(m), "") == 0 && m->trained.count == 1, "after a refusal all is trained, as before");
  if (brim_model_train_only(m, "*.bias,*query*, *.bias", " 1,embeddings,classifier.bias", &err))
    case_stop("train only", &err);
  ok(strcmp(brim_model_trained_only(m), "*.bias,*query*") == 0 && strcmp(brim_model_frozen(m), "layers:1,classifier.bias") == 0,
     "the words of a choice do not depend on their order: only %s, frozen %s", brim_model_trained_only(m), brim_model_frozen(m));
  brim_model_free(m);
}

int main(void) {
  enum { FEW = 3 };
  static const char *const names[] = {"bert-pair-3", "deberta-v3-cls", "modernbert-cls", "bert-odd-regression",
                                      "bert-tokens", "distilbert-4",   "roberta-binary", "albert-regression",
                                      "electra-cls", "eurobert-cls",   "gte-cls",        "jina-linear",
                                      "mpnet-cls",   "nomic-cls"};
  case_start(2);
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
    const char *kernels = level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name;
    for (size_t i = 0; i < (level == (int)brim_runtime_cpu(case_runtime) ? sizeof names / sizeof *names : FEW); i++)
      check_model(names[i], kernels, level, i);
    check_named(kernels);
    check_distances(kernels, level);
    check_costs(kernels);
  }
  check_words();
  brim_runtime_free(case_runtime);
  return tap_done();
}
