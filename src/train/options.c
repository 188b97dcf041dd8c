/* options.c: the defaults of training and the one place that judges options. Messages name the option and say what to do. */
#include "batch/plan.h"
#include "brim/train.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/ask.h"
#include "model/run/freeze.h"
#include "model/run/optimizer.h"
#include "task/task.h"
#include "train/masks.h"
#include "train/options.h"

static const char *const final_names[] = {"auto", "last", "best"};

const char *brim_final_name(brim_final final) {
  return (int) final < BRIM_FINAL_AUTO || final > BRIM_FINAL_BEST ? "unknown" : final_names[final];
}

bool brim_final_parse(const char *name, brim_final *out) {
  for (int i = BRIM_FINAL_AUTO; name && i <= BRIM_FINAL_BEST; i++)
    if (strcmp(name, final_names[i]) == 0)
      return *out = (brim_final)i, true;
  return false;
}

void brim_train_options_init(brim_train_options *options) {
  *options = (brim_train_options){
      .plan = {.batching = BRIM_RANDOM, .padding = BRIM_PAD_NONE, .batch_size = 16, .seed = 42, .world_size = 1},
      .epochs = 1.0,
      .lr = 5e-5,
      .beta1 = 0.9,
      .beta2 = 0.999,
      .eps = 1e-8,
      .clip = 1.0,
      .momentum = 0.9,
      .layer_lr_decay = 1.0,
      .log_every = 1,
      .keep_checkpoints = 1,
      .eval = {.batching = BRIM_SORTED, .padding = BRIM_PAD_NONE},
      .seed = 42,
      .group = brim_group_single(),
  };
}

/* A number that must lie in [low, high] (or [low, high) when `open`). NaN lies nowhere. */
typedef struct option_range {
  const char *name;
  double value, low, high;
  bool open;
  const char *advice;
} option_range;

static int option_check(const option_range *o, brim_error *err) {
  if (o->value >= o->low && (o->open ? o->value < o->high : o->value <= o->high))
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "%s is %g: %s", o->name, o->value, o->advice);
}

/* "accuracy" or "mismatched/accuracy": the name after the last slash. */
static int options_check_metric(const brim_train_options *o, brim_error *err) {
  char names[BRIM_METRIC_NAMES];
  const char *metric = o->best_metric, *slash = metric ? strrchr(metric, '/') : NULL;
  if (!metric || o->own_metrics || brim_metric_find(BRIM_TASK_AUTO, slash ? slash + 1 : metric))
    return BRIM_OK;
  brim_metric_names(BRIM_TASK_AUTO, names, sizeof names);
  return brim_error_set(err, BRIM_E_USAGE, "best_metric is \"%.40s\": use one of %s, or SET/METRIC", metric, names);
}

/* How evaluation sets are computed: what a plan would refuse is refused under the option's name. */
static int options_check_eval(const brim_eval_options *eval, brim_error *err) {
  if (eval->batch_size < 0 || eval->max_tokens < 0 || eval->max_length < 0)
    return brim_error_set(err, BRIM_E_USAGE, "eval: batch_size, max_tokens and max_length must be at least 0 (0: chosen)");
  if (eval->precision != BRIM_PRECISION_FP32)
    return brim_error_set(err, BRIM_E_USAGE, "eval: a run evaluates in fp32; brim_evaluate takes bf16 and int8");
  if ((int)eval->batching < BRIM_SEQUENTIAL || eval->batching > BRIM_PACKED || (int)eval->padding < BRIM_PAD_NONE ||
      eval->padding > BRIM_PAD_MAX_LENGTH)
    return brim_error_set(err, BRIM_E_USAGE, "eval: batching %d with padding %d does not exist", (int)eval->batching,
                          (int)eval->padding);
  return BRIM_OK;
}

brim_optimizer_options brim_train_optimizer(const brim_train_options *options) {
  return (brim_optimizer_options){.name = options->optimizer,
                                  .returns = options->decay_towards && strcmp(options->decay_towards, "pretrained") == 0,
                                  .mixout = options->mixout};
}

/* What says nothing unless something else is given. */
static int options_check_needs(const brim_train_options *o, brim_error *err) {
  const bool every_steps = o->eval_when == BRIM_EVERY_STEPS;
  const struct {
    const char *name, *needed;
    bool given, there;
  } needs[] = {{"decay_towards", "weight_decay", brim_train_optimizer(o).returns, o->weight_decay > 0},
               {"swa_every", "swa_start", o->swa_every > 0, o->swa_start > 0.0},
               {"resume_anyway", "resume", o->resume_anyway, o->resume},
               {"resume", "output", o->resume, o->output},
               {"overwrite", "output", o->overwrite, o->output},
               {"min_delta", "patience", o->min_delta > 0.0, o->patience > 0},
               {"best_is_small", "own_metrics", o->best_is_small, o->own_metrics},
               {"eval_when by steps", "eval_every", every_steps, o->eval_every > 0}};
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (needs[i].given && !needs[i].there)
      return brim_error_set(err, BRIM_E_USAGE, "%s has no effect without %s: add it, or leave both out", needs[i].name,
                            needs[i].needed);
  return BRIM_OK;
}

static int options_check_rhythm(const brim_train_options *o, brim_error *err) {
  if ((int)o->final < BRIM_FINAL_AUTO || o->final > BRIM_FINAL_BEST || (int)o->eval_when < BRIM_EACH_EPOCH ||
      o->eval_when > BRIM_NEVER || (int)o->save_when < BRIM_EACH_EPOCH || o->save_when > BRIM_NEVER)
    return brim_error_set(err, BRIM_E_USAGE, "final %d, eval_when %d or save_when %d does not exist", (int)o->final,
                          (int)o->eval_when, (int)o->save_when);
  BRIM_TRY(options_check_needs(o, err));
  if (o->resume && o->overwrite)
    return brim_error_set(err, BRIM_E_USAGE, "a run is continued (resume) or replaced (overwrite): leave out one of both");
  if (o->final == BRIM_FINAL_BEST && o->swa_start > 0.0)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the model is the best one (keep) or the average of the last ones (swa_start): leave out one of both");
  return BRIM_OK;
}

/* A number that is not its default, and that the optimizer does not look at. */
static int options_check_idle(const brim_train_options *o, brim_error *err) {
  brim_train_options usual;
  brim_train_options_init(&usual);
  const brim_optimizer *by = brim_optimizer_find(o->optimizer);
  const struct {
    const char *name;
    double given, usual;
    bool used;
  } numbers[] = {{"momentum", o->momentum, usual.momentum, by->momentum},
                 {"beta1", o->beta1, usual.beta1, !by->momentum},
                 {"beta2", o->beta2, usual.beta2, !by->momentum},
                 {"eps", o->eps, usual.eps, by->rule != BRIM_RULE_SGD}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (numbers[i].given != numbers[i].usual && numbers[i].given != 0 && !numbers[i].used) /* 0: as a run fills it in */
      return brim_error_set(err, BRIM_E_USAGE, "%s is %g, but %.40s has none: leave it out, or name another optimizer",
                            numbers[i].name, numbers[i].given, by->name);
  return BRIM_OK;
}

int brim_train_options_check(const brim_train_options *options, brim_error *err) {
  BRIM_GIVEN(err, options);
  const brim_train_options *o = options;
  const option_range ranges[] = {
      {"lr", o->lr, 0.0, 1e6, false, "the learning rate must be a number of at least 0, such as 5e-5"},
      {"beta1", o->beta1, 0.0, 1.0, true, "it must be at least 0 and below 1 (usually 0.9)"},
      {"beta2", o->beta2, 0.0, 1.0, true, "it must be at least 0 and below 1 (usually 0.999)"},
      {"eps", o->eps, 1e-30, 1.0, false, "it must be a small number above 0 (usually 1e-8)"},
      {"weight_decay", o->weight_decay, 0.0, 1e6, false, "it must be a number of at least 0, such as 0.01"},
      {"clip", o->clip, 0.0, HUGE_VAL, false, "the largest gradient norm must be at least 0 (0: no clipping)"},
      {"momentum", o->momentum, 0.0, 1.0, true, "it must be at least 0 and below 1 (usually 0.9)"},
      {"layer_lr_decay", o->layer_lr_decay, 1e-3, 1.0, false, "it must lie between 0.001 and 1 (1: every layer learns alike)"},
      {"warmup_ratio", o->warmup_ratio, 0.0, 1.0, false, "the share of warm-up steps must lie between 0 and 1"},
      {"label_smoothing", o->label_smoothing, 0.0, 1.0, true, "it must be at least 0 and below 1 (often 0.1)"},
      {"min_delta", o->min_delta, 0.0, HUGE_VAL, true, "the least improvement must be a number of at least 0"},
      {"swa_start", o->swa_start, 0.0, 1.0, true, "the share of steps before averaging must be at least 0 and below 1"},
      {"loss_scale", o->loss_scale, 0.0, 0x1p40, false, "it must be a power of two up to 2^40"},
      {"scale", o->loss.scale, 0.0, 1e6, false, "it must be a number of at least 0 (0: the loss's own)"},
      {"margin", o->loss.margin, 0.0, 1e6, false, "it must be a number of at least 0 (0: the loss's own)"},
      {"temperature", o->loss.temperature, 0.0, 1e6, false, "it must be a number of at least 0 (0: the loss's own)"},
      {"positive_weight", o->loss.positive_weight, 0.0, 1e6, false, "it must be a number of at least 0 (0: the loss's own)"},
      {"hardness_strength", o->loss.hardness_strength, 0.0, 1e6, false, "it must be a number of at least 0 (0: the loss's own)"},
      {"keep_checkpoints", (double)o->keep_checkpoints, 0.0, 1e9, false, "it must be at least 0 (0: keep all)"},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    int status = option_check(&ranges[i], err);
    if (status)
      return status;
  }
  if (o->max_steps == 0 && !(o->epochs > 0.0 && o->epochs <= 1e9))
    return brim_error_set(err, BRIM_E_USAGE, "epochs is %g: give a number above 0 (a fraction is fine), or max_steps", o->epochs);
  BRIM_TRY(brim_group_check(&o->group, err));
  if ((int)o->schedule < BRIM_SCHEDULE_LINEAR || o->schedule > BRIM_SCHEDULE_CONSTANT)
    return brim_error_set(err, BRIM_E_USAGE, "schedule %d does not exist: use linear, cosine or constant", (int)o->schedule);
  if ((unsigned)o->precision > BRIM_PRECISION_INT8)
    return brim_error_set(err, BRIM_E_USAGE, "precision %d does not exist: use one of brim/model.h", (int)o->precision);
  if (o->precision == BRIM_PRECISION_INT8)
    return brim_error_set(err, BRIM_E_USAGE, "precision: int8 is for predictions: train in fp32 or bf16");
  int exponent;
  if (o->loss_scale > 0 && (o->loss_scale < 1 || frexp(o->loss_scale, &exponent) != 0.5))
    return brim_error_set(err, BRIM_E_USAGE, "loss_scale is %g: it must be a power of two from 1 on, such as 65536",
                          o->loss_scale);
  if ((o->loss_scale > 0 || o->loss_scale_steps > 0) && o->precision != BRIM_PRECISION_FP16)
    return brim_error_set(err, BRIM_E_USAGE, "loss_scale is for fp16: %s has no need of it", brim_precision_name(o->precision));
  if (o->decay_towards && strcmp(o->decay_towards, "zero") != 0 && strcmp(o->decay_towards, "pretrained") != 0)
    return brim_error_set(err, BRIM_E_USAGE, "decay_towards is \"%.40s\": use zero or pretrained", o->decay_towards);
  const brim_optimizer_options optimizer = brim_train_optimizer(o);
  double first, last;
  BRIM_TRY(brim_mask_rates(o->mask_rate, &first, &last, err));
  int status = brim_optimizer_check(&optimizer, err);
  if (!status)
    status = options_check_idle(o, err);
  if (!status)
    status = options_check_rhythm(o, err);
  if (!status)
    status = options_check_metric(o, err);
  if (!status)
    status = options_check_eval(&o->eval, err);
  if (!status)
    status = brim_freeze_check(o->freeze, err);
  if (!status)
    status = brim_train_only_check(o->train_only, err);
  return status ? status : brim_plan_options_check(&o->plan, err);
}

int brim_options_check_unevaluated(const brim_train_options *o, bool metric, brim_error *err) {
  const char *idle = o->patience > 0 ? "patience" : metric ? "best_metric" : o->eval_every > 0 ? "eval_every" : NULL;
  return idle ? brim_error_set(err, BRIM_E_USAGE, "%s needs an evaluation set to look at: give one, or leave it out", idle)
              : BRIM_OK;
}

int brim_options_json_check(brim_runtime *runtime, const brim_train_options *options, brim_error *err) {
  const char *text = options->options_json;
  brim_json_document *document = NULL;
  if (!text)
    return BRIM_OK;
  const int status = brim_json_parse(runtime, text, strlen(text), "options_json", &document, err);
  brim_json_free(document);
  return status;
}

/* Options that reach none of what is trained: much may be frozen. */
static int options_check_reach(const brim_model *model, const brim_train_options *o, brim_error *err) {
  const brim_update_reach reach = brim_model_update_reach(model);
  const struct {
    const char *name, *why;
    bool given, used;
  } options[] = {{"mixout", "no matrix that is trained was there at the start", o->mixout > 0, reach.mixes},
                 {"weight_decay", "nothing that is trained decays: biases and norms do not", o->weight_decay > 0, reach.decays},
                 {"decay_towards", "nothing that is trained and decays was there at the start", brim_train_optimizer(o).returns,
                  reach.returns},
                 {"layer_lr_decay", "the head alone is trained, which has the whole rate", o->layer_lr_decay < 1, reach.lowers}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (options[i].given && !options[i].used)
      return brim_error_set(err, BRIM_E_USAGE, "%s has no effect, since %s: leave it out, or freeze less", options[i].name,
                            options[i].why);
  return BRIM_OK;
}

int brim_train_prepare_model(brim_model *model, const brim_train_options *options, brim_error *err) {
  const brim_optimizer_options optimizer = brim_train_optimizer(options);
  BRIM_TRY(brim_model_train_only(model, options->train_only, options->freeze, err));
  BRIM_TRY(options_check_reach(model, options, err));
  return brim_model_use_optimizer(model, &optimizer, err);
}
