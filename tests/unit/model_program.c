/* A model's program and its schedules: what runs is what is written there, and no version of a value is where another one lives.
 */
#include "base/poison.h"
#include "model/kind.h"
#include "model/kinds/kinds.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model/run/logits.h"
#include "model_case.h"

static const brim_pass training = {.training = true, .dropout = true, .seed = 3, .optimizer_step = 2};

static brim_model *prepared(const char *folder, const brim_model_limits *limits, const char *freeze) {
  brim_model *model = case_load(folder, "cpu-plain");
  brim_error err = {0};
  if (brim_model_freeze(model, freeze, &err) || brim_model_prepare(model, limits, &err))
    case_stop("prepare", &err);
  return model;
}

/* ---- the schedule is what runs */

enum { MOST_RESULTS = 1 << 20 };

static void make_useless(brim_model *model, brim_region region) {
  const size_t size = model->train.asked.region_size[region];
  void *bytes = malloc(size + 1);
  if (!bytes)
    abort();
  memset(bytes, 0xff, size);
  case_put(model, model->train.slots.memory[region], bytes, size);
  free(bytes);
}

/* Everything that a step leaves: logits, loss, gradients. Values of an earlier run are made useless first. */
static int64_t run_step(brim_model *model, const brim_batch *batch, float *results) {
  brim_error err = {0};
  double loss = 0;
  const int64_t logits = (int64_t)batch->count * model->config.labels.count, weights = model->program.flat_size;
  brim_unpoison(model->work_block, model->work_size);
  make_useless(model, BRIM_TEMPORARY);
  make_useless(model, BRIM_KEPT);
  brim_model_gradients_written(model);
  brim_model_zero_gradients(model);
  if (brim_model_forward(model, batch, &training, &loss, results, &err) || brim_model_backward(model, batch, &training, &err))
    case_stop("step", &err);
  memcpy(results + logits, case_gradients_of(model), (size_t)weights * sizeof *results);
  results[logits + weights] = (float)loss;
  return logits + weights + 1;
}

typedef struct change {
  brim_model *model;
  const brim_batch *batch;
  float *wanted, *got;
  int64_t count;
} change;

static bool differs(const change *c) {
  return run_step(c->model, c->batch, c->got) != c->count || memcmp(c->got, c->wanted, (size_t)c->count * sizeof *c->got) != 0;
}

/* Rotary positions leave the first token of a text as it is, but the call is for any chosen token. */
static bool turns_nothing(const brim_call_schedule *s, const brim_call *call) {
  for (int32_t i = 0; call->op == BRIM_OP_rotate && i < call->fill_count; i++) {
    const brim_fill_in *in = &s->fills[call->first_fill + i];
    if (in->source == BRIM_FROM_ROWS && in->index == BRIM_ROW_CHOSEN)
      return true;
  }
  return false;
}

/* Each call is left out once. */
static void check_removed(const change *c) {
  brim_call_schedule *s = &c->model->train.asked;
  size_t unseen = 0, first = 0;
  for (size_t i = 0; i < s->call_count; i++) {
    const brim_call call = s->calls[i];
    if (turns_nothing(s, &call) || !tap_takes("calls", i))
      continue;
    s->calls[i].fill_count = 0;
    s->calls[i].op = BRIM_OP_COUNT;
    if (!differs(c) && unseen++ == 0)
      first = i;
    s->calls[i] = call;
  }
  ok(unseen == 0, "without any one of %zu calls the results are others (%zu are not missed; the first is %zu)", s->call_count,
     unseen, first);
}

/* Two calls of which one reads what the other writes. Dropout's mask and ReLU's slope are factors, which may be exchanged. */
static bool depends(const brim_call_schedule *s, const brim_call *later, const brim_call *earlier) {
  if (later->op == BRIM_OP_act_backward && earlier->op == BRIM_OP_dropout)
    return false;
  for (int32_t i = 0; i < later->fill_count; i++)
    for (int32_t k = 0; k < earlier->fill_count; k++) {
      const brim_fill_in *a = &s->fills[later->first_fill + i], *b = &s->fills[earlier->first_fill + k];
      if (a->source == BRIM_FROM_VERSION && b->source == BRIM_FROM_VERSION && a->index == b->index && a->access & BRIM_READS &&
          b->access & BRIM_WRITES)
        return true;
    }
  return false;
}

static void check_swapped(const change *c) {
  brim_call_schedule *s = &c->model->train.asked;
  int tried = 0, unseen = 0;
  for (size_t i = 0; i + 1 < s->call_count; i++) {
    const brim_call call = s->calls[i];
    if (!depends(s, &s->calls[i + 1], &call) || (int32_t)i + 1 == s->forward_count || turns_nothing(s, &call) ||
        turns_nothing(s, &s->calls[i + 1]))
      continue;
    s->calls[i] = s->calls[i + 1];
    s->calls[i + 1] = call;
    tried++;
    unseen += !differs(c);
    s->calls[i + 1] = s->calls[i];
    s->calls[i] = call;
  }
  ok(tried > 30 && unseen == 0, "in another order too: %d pairs, %d not missed", tried, unseen);
}

static void check_retyped(const change *c) {
  brim_call_schedule *s = &c->model->train.asked;
  for (size_t i = 0; i < s->call_count; i++)
    if (s->calls[i].op == BRIM_OP_linear_act_forward) {
      brim_activation *act = (brim_activation *)(s->operands + s->calls[i].operands + offsetof(brim_linear_act, act)),
                      kept = *act;
      *act = BRIM_ACT_RELU;
      ok(differs(c), "another activation in call %zu changes the results", i);
      *act = kept;
      break;
    }
  for (int32_t i = 0; i < s->calls[1].fill_count; i++) {
    brim_fill_in *in = &s->fills[s->calls[1].first_fill + i];
    if (in->source != BRIM_FROM_COUNT)
      continue;
    const int32_t kept = in->index;
    in->index = BRIM_ROW_TEXTS;
    ok(differs(c), "so do fewer rows of the first product");
    in->index = kept;
  }
  ok(!differs(c), "as it was, the results are what they were");
}

/* What is no number compares equal to itself in another run, and means that memory was read which nobody had written. */
static int64_t count_infinite(const float *x, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++)
    found += !isfinite(x[i]);
  return found;
}

static void check_is_run(const char *golden, const char *dropout) {
  brim_dataset *rows = case_rows(golden);
  brim_batch batch = {0};
  case_fill(&batch, rows, 0, 6, 0);
  brim_model_limits limits = case_limits(&batch, true);
  limits.all_tokens = false;
  brim_model *model = prepared(case_variant(golden, golden, dropout), &limits, "");
  ((int32_t *)(uintptr_t)batch.ids)[1] = model->config.pad_id; /* padding within a text: its row's gradient is cleared */
  change c = {.model = model,
              .batch = &batch,
              .wanted = malloc(MOST_RESULTS * sizeof(float)),
              .got = malloc(MOST_RESULTS * sizeof(float))};
  if (!c.wanted || !c.got || model->program.flat_size + 100 > MOST_RESULTS)
    abort();
  c.count = run_step(model, &batch, c.wanted);
  ok(count_infinite(c.wanted, c.count) == 0, "all %lld results are numbers", (long long)c.count);
  check_removed(&c);
  if (BRIM_RED_ZONE == 0) /* AddressSanitizer ends a call that reads what is not there yet */
    check_swapped(&c);
  check_retyped(&c);
  free(c.wanted);
  free(c.got);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
  brim_model_free(model);
}

/* ---- places */

static bool meet(const brim_value_version *a, const brim_value_version *b) {
  return a->first >= 0 && b->first >= 0 && a->region == b->region && a->first <= b->last && b->first <= a->last &&
         a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

/* One that replaces another begins in the call that reads the other for the last time. */
static bool replaces(const brim_call_schedule *s, const brim_value_version *a, const brim_value_version *b) {
  return b->replaces == a - s->versions && a->last == b->first && a->offset == b->offset && a->size == b->size;
}

static int count_meetings(const brim_call_schedule *s) {
  int count = 0;
  for (size_t i = 0; i < s->version_count; i++) {
    const brim_value_version *a = &s->versions[i];
    count += a->first >= 0 && a->offset + a->size > s->region_size[a->region];
    for (size_t k = i + 1; k < s->version_count; k++) {
      const brim_value_version *b = &s->versions[k];
      count += meet(a, b) && !replaces(s, a, b) && !replaces(s, b, a);
    }
  }
  return count;
}

static void check_places(const char *golden) {
  static const char *const freeze[] = {"", "embeddings", "layers:1", "encoder"};
  static const brim_precision precisions[] = {BRIM_PRECISION_FP32, BRIM_PRECISION_BF16, BRIM_PRECISION_INT8};
  int meetings = 0, schedules = 0;
  for (int i = 0; i < 4 * 2 * 3 * 2; i++) {
    const brim_model_limits limits = {.max_slots = i % 5 ? 301 : 3,
                                      .max_sequences = i % 7 ? 11 : 1,
                                      .max_length = 40,
                                      .training = precisions[i / 8 % 3] != BRIM_PRECISION_INT8,
                                      .checkpoint_activations = i / 4 % 2,
                                      .precision = precisions[i / 8 % 3],
                                      .all_tokens = i / 24};
    brim_model *model = prepared(case_golden(golden), &limits, freeze[i % 4]);
    const brim_call_schedule *all[] = {&model->train.asked, &model->train.all, &model->predict.asked, &model->predict.all};
    for (int k = 0; k < 4; k++) {
      schedules += all[k]->call_count > 0;
      meetings += count_meetings(all[k]);
    }
    brim_model_free(model);
  }
  ok(schedules > 100 && meetings == 0, "%s: in %d schedules no two versions that live at once share memory", golden, schedules);
}

/* ---- weights have a use, and places that follow each other */

static void check_weights(const char *golden) {
  brim_model *model = case_load(case_golden(golden), NULL);
  const brim_program *p = &model->program;
  bool good = p->flat_size % 16 == 0;
  int64_t end = 0;
  for (size_t i = 0; i < p->weight_count; i++) {
    const brim_weight *w = &p->weights[i];
    good = good && w->used && w->section >= 0 && w->is.offset >= end && w->is.offset < end + 16 &&
           w->is.sparse_rows == (w->selected != BRIM_BY_NOTHING);
    good = good && (i == 0 || w->section >= p->weights[i - 1].section);
    end = w->is.offset + w->is.count;
  }
  ok(good && end <= p->flat_size, "%s: %zu weights, each with a use, in the order of their parts", golden, p->weight_count);
  brim_model_free(model);
}

/* Working memory is made for the largest product: queries', keys' and values' gradients are one, of a weight that has no name. */
static void check_limits(void) {
  enum { HIDDEN = 48, COLUMNS = 64, INTERMEDIATE = 96 };
  brim_model *model = case_load(case_golden("bert-pair-3"), NULL);
  const brim_ops_limits limits = brim_program_limits(&model->program);
  ok(limits.hidden == HIDDEN && limits.intermediate == INTERMEDIATE, "limits of one side are the model's");
  ok_int(limits.longest, 3 * HIDDEN, "the longest side is that of three matrices");
  ok_int((long long)limits.weight, 3 * HIDDEN * COLUMNS, "so is the largest weight");
  brim_model_free(model);
}

/* ---- what is told to be complete is what it is in the end */

typedef struct told {
  brim_model *model;
  real *values; /* [trained values], as they were when they were told */
  int64_t from, size;
  int times;
} told;

static void note_told(void *context, int64_t from) {
  told *t = context;
  if (t->from > from && brim_model_is_host(t->model)) /* elsewhere what completes them is only queued */
    memcpy(t->values + from, t->model->gradients + from, (size_t)(t->from - from) * sizeof(real));
  t->from = from;
  t->times++;
}

static void check_told(const char *golden, const char *third) {
  const char *const freeze[] = {"", "embeddings", third, ""};
  brim_dataset *rows = case_rows(golden);
  brim_batch batch = {0};
  bool same = true;
  int64_t least = INT64_MAX;
  case_fill(&batch, rows, 0, 4, 0);
  for (int i = 0; i < 4; i++) {
    brim_model_limits limits = case_limits(&batch, true);
    limits.all_tokens = false;
    limits.checkpoint_activations = i % 2;
    limits.precision = i == 3 ? BRIM_PRECISION_BF16 : BRIM_PRECISION_FP32;
    brim_model *model = prepared(case_golden(golden), &limits, freeze[i]);
    brim_error err = {0};
    double loss;
    told t = {.model = model, .size = model->trained.size};
    t.from = t.size;
    t.values = malloc((size_t)t.size * sizeof *t.values);
    const brim_ready_hook telling = {note_told, &t};
    brim_model_on_ready(model, &telling);
    if (!t.values || brim_model_forward(model, &batch, &training, &loss, NULL, &err) ||
        brim_model_backward(model, &batch, &training, &err))
      case_stop("step", &err);
    same = same && t.from == 0;
    if (brim_model_is_host(model))
      same = same && memcmp(t.values, model->gradients, (size_t)t.size * sizeof *t.values) == 0;
    least = t.times < least ? t.times : least;
    free(t.values);
    brim_model_free(model);
  }
  ok(same && least > 2, "%s: gradients are complete when backward tells it", golden);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

static bool writes_values(const brim_call_schedule *s, const brim_call *call) {
  for (int32_t i = 0; i < call->fill_count; i++) {
    const brim_fill_in *in = &s->fills[call->first_fill + i];
    if (in->source == BRIM_FROM_VERSION && (in->access & BRIM_WRITES))
      return true;
  }
  return false;
}

static bool is_product(const brim_call *call) {
  return call->op == BRIM_OP_linear_backward || call->op == BRIM_OP_bf16_backward;
}

/* A product's gradient of its weight is complete before the gradient of its input is computed, which takes as long again. In the
 * last layer that of queries waits for keys and values, which adjoin it. */
static void check_weights_first(const char *golden, brim_precision precision) {
  const brim_model_limits limits = {
      .max_slots = 40, .max_sequences = 4, .max_length = 20, .training = true, .precision = precision};
  brim_model *model = prepared(case_golden(golden), &limits, "");
  const brim_call_schedule *s = &model->train.asked;
  int apart = 0, early = 0, together = 0;
  for (size_t i = (size_t)s->forward_count; i + 1 < s->call_count; i++) {
    const brim_call *call = &s->calls[i], *next = call + 1;
    if (!is_product(call) || !call->changes_to)
      continue;
    together += writes_values(s, call);
    if (is_product(next) && next->operation == call->operation && !next->changes_to)
      apart++, early += call->complete < call->changes_to;
  }
  ok(apart > 4 && early == apart - 1 && !together, "%s: %d gradients of weights are complete before those of inputs begin",
     golden, apart);
  brim_model_free(model);
}

/* ---- the list of operations, for readers */

static const char *list_of(const char *folder, const brim_model_limits *limits, brim_text *text) {
  brim_error err;
  brim_model *model = case_load(folder, NULL);
  brim_text_init(text, case_runtime);
  if (brim_model_list_program(model, limits, text, &err))
    case_stop(folder, &err);
  brim_text_append(text, "", 1);
  brim_model_free(model);
  return text->data;
}

static void check_listing(void) {
  brim_text text;
  brim_model_limits limits = {.max_slots = 20000, .max_sequences = 5000, .max_length = 16, .training = true};
  const char *folder = case_variant("albert-regression", "longer", "\"num_hidden_layers\":5");
  const char *list = list_of(folder, &limits, &text);
  ok(strstr(list, "layer 2 to layer 3: as layer 1\n") && strstr(list, "\nlayer 4\n"),
     "layers that are alike are listed once; the last, of first tokens, is not");
  /* 2 x 5000 texts x 48 x 48; 2 x 20000 tokens x 48 x 3 x 48 */
  ok(strstr(list, "  dense         texts                    0.02 ") &&
         strstr(list, "  project       tokens                   0.28 "),
     "what products take follows from their rows");
  brim_text_free(&text);
  limits.checkpoint_activations = true;
  list = list_of(folder, &limits, &text);
  ok(strstr(list, "\nlayer 0, computed again in backward\n") && strstr(list, "layer 1 to layer 3: as layer 0\n") &&
         strstr(list, "\nlayer 4\n"),
     "so with checkpoints");
  brim_text_free(&text);
}

/* ---- rows of distances: only those that texts reach are multiplied */

/* Operations of the products of a forward and backward pass over two texts of these lengths. */
static double products_of(brim_model *model, int32_t first, int32_t second) {
  tiny t;
  make_tiny(&t);
  for (int32_t i = 0; i < first + second; i++)
    t.ids[i] = i + 5;
  t.offsets[1] = first;
  t.offsets[2] = first + second;
  t.batch.tokens = t.batch.slots = first + second;
  const double before = model->context.stats.gemm_flops;
  case_step(model, &t.batch, &training);
  brim_error err;
  if (brim_model_settle(model, &err)) /* a device may count when it computes */
    case_stop("wait", &err);
  return model->context.stats.gemm_flops - before;
}

static void check_reached(void) {
  brim_model *model = case_load(case_golden("deberta-v3-cls"), "cpu-plain");
  brim_model *other = case_load(case_golden("bert-pair-3"), "cpu-plain");
  int32_t first[3];
  const int32_t one = brim_distances_reached(&model->program, 1, &first[0]),
                some = brim_distances_reached(&model->program, 4, &first[1]),
                most = brim_distances_reached(&model->program, 96, &first[2]);
  ok(one == 1 && first[0] == 16 && some == 7 && first[1] == 13 && most == 31 && first[2] == 1,
     "texts reach a few rows of a table of distances around its middle: %d, %d, %d", one, some, most);
  ok(brim_distances_reached(&other->program, 40, &first[0]) == 0, "a model without distances has none");
  const brim_operation far = {.terms = {.distances = {BRIM_DISTANCE_CENTERED, 2048, 0}}};
  const brim_program wide = {.operations = (brim_operation *)(uintptr_t)&far, .operation_count = 1};
  ok(brim_distances_reached(&wide, 100, &first[0]) == 2048,
     "of a table whose rows are summed in pieces all are taken: the pieces stay the same");
  /* 3 layers; forward, and the gradients of both sides; 13 rows for 7 tokens, 7 rows for 4 */
  ok_near(products_of(model, 7, 1) - products_of(model, 4, 4), 3.0 * 3 * 2 * (13 - 7) * 48 * 96, 0,
          "only those are multiplied, forward and backward");
  brim_model_free(model);
  brim_model_free(other);
}

int main(void) {
  static const char *const goldens[] = {"deberta-v3-cls",   "bert-pair-3",  "mpnet-cls",   "bert-odd-regression",
                                        "camembert-binary", "distilbert-4", "electra-cls", "roberta-binary",
                                        "modernbert-cls",   "nomic-cls",    "gte-cls",     "eurobert-cls"};
  case_start(1);
  check_listing();
  check_reached();
  check_limits();
  check_is_run("bert-pair-3", "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25");
  check_is_run("electra-cls", "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25");
  check_is_run("modernbert-cls",
               "\"embedding_dropout\":0.2,\"attention_dropout\":0.3,\"mlp_dropout\":0.15,\"classifier_dropout\":0.25");
  check_is_run("gte-cls", "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"classifier_dropout\":0.25");
  check_is_run("eurobert-cls", "\"attention_dropout\":0.3");
  check_is_run("deberta-v3-cls",
               "\"hidden_dropout_prob\":0.2,\"attention_probs_dropout_prob\":0.3,\"pooler_dropout\":0.15,\"cls_dropout\":0.25");
  check_is_run("distilbert-4", "\"dropout\":0.2,\"attention_dropout\":0.3,\"seq_classif_dropout\":0.25");
  for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
    if (!tap_takes("goldens", i))
      continue;
    check_weights(goldens[i]);
    check_places(goldens[i]);
    check_told(goldens[i], "layers:1");
  }
  check_weights("albert-regression");
  check_told("albert-regression", ""); /* whose layers share their weights */
  check_weights_first("bert-pair-3", BRIM_PRECISION_FP32);
  check_weights_first("bert-pair-3", BRIM_PRECISION_BF16);
  brim_runtime_free(case_runtime);
  return tap_done();
}
