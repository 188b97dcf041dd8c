/* events.c: what a run says. Fields of an event are the same in the log and for the callback. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/text.h"
#include "dist/group.h"
#include "train/average.h"
#include "train/folder/fields.h"
#include "train/loss_choice.h"
#include "train/trainer.h"

double brim_trainer_seconds(const brim_trainer *t) {
  return t->earlier + (brim_seconds_now() - t->start);
}

double brim_trainer_epochs_done(const brim_trainer *t) {
  return brim_supply_epochs(&t->supply, t->state.epoch, t->state.epoch_step);
}

static double tally_mean(const brim_tally *tally) {
  return tally->weight > 0.0 ? tally->loss / tally->weight : tally->rows > 0 ? 0.0 : (double)NAN; /* rows without a label: 0 */
}

int brim_trainer_hear(void *trainer, const brim_event *event) {
  brim_trainer *t = trainer;
  const int status = t->options.event ? t->options.event(t->options.event_context, event) : BRIM_OK;
  if (status < BRIM_DO_EVALUATE)
    return status;
  t->asked |= status;
  return BRIM_OK;
}

static int emit_here(brim_trainer *t, bool logged, const brim_event *event, brim_error *err) {
  if (t->options.group.rank != 0)
    return BRIM_OK;
  if (logged)
    BRIM_TRY(brim_log_append(&t->folder.log, event, err));
  const int status = brim_tell(brim_trainer_hear, t, event, err);
  if (status != BRIM_E_CANCELLED)
    return status;
  brim_runtime_cancel(t->runtime); /* what is under way ends as after Ctrl-C, with a checkpoint */
  return BRIM_OK;
}

/* To the log (if `logged`) and the callback, on rank 0. All ranks call it, and all learn when it failed. After sums of GPUs were
 * given up nobody is waited for: another rank may wait for its GPU, which waits for this one's, until it hears that this one has
 * left. */
static int emit(brim_trainer *t, bool logged, const char *kind, const brim_field *fields, int count, brim_error *err) {
  const brim_event event = {kind, fields, count};
  brim_profile_begin(t->options.profile, BRIM_WORK_LOG, kind);
  int status = emit_here(t, logged, &event, err);
  brim_profile_end(t->options.profile, 0);
  return brim_reduce_is_broken(t->reduce) ? status : brim_group_agree(&t->options.group, status, err);
}

int brim_trainer_emit_folder(brim_trainer *t, brim_error *err) {
  brim_field fields[BRIM_FOUND_FIELDS];
  const brim_event event = {"folder", fields, BRIM_FOUND_FIELDS};
  const int status = brim_run_found_fields(&t->found, fields) ? emit_here(t, false, &event, err) : BRIM_OK;
  return brim_group_agree(&t->options.group, status, err);
}

int brim_trainer_prune(brim_trainer *t, brim_error *err) {
  brim_run_found found;
  brim_field fields[BRIM_FOUND_FIELDS];
  int status = brim_checkpoint_prune(&t->folder, t->options.keep_checkpoints, t->state.best_step, &found, err);
  const brim_event event = {"folder", fields, BRIM_FOUND_FIELDS};
  if (!status && brim_run_found_fields(&found, fields))
    status = emit_here(t, false, &event, err);
  brim_run_found_free(&found);
  return status;
}

/* Values of all tensors, and of those that are trained. */
typedef struct parameters {
  int64_t all, trained, trained_tensors;
} parameters;

static parameters count_parameters(const brim_model *model) {
  parameters n = {0};
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const int64_t count = brim_model_parameter(model, i)->count;
    const bool trained = brim_model_is_trained(model, i);
    n.all += count;
    n.trained += trained ? count : 0;
    n.trained_tensors += trained;
  }
  return n;
}

int brim_trainer_emit_start(brim_trainer *t, brim_error *err) {
  brim_field options[BRIM_TRAIN_OPTION_FIELDS];
  brim_text text;
  brim_text_init(&text, t->runtime);
  brim_fields_put(&(brim_json_writer){.out = &text}, NULL, options, brim_train_option_fields(&t->options, options));
  int status = brim_text_status(&text, err);
  uint64_t windows = t->supply.feed ? brim_feed_memory(t->supply.feed) : 0;
  const brim_dataset *data = t->supply.dataset;
  uint64_t empty = 0;
  if (!status && data && t->tokenizer)
    status = brim_count_empty(t->runtime, data, t->tokenizer, &empty, err);
  const parameters n = count_parameters(t->model);
  const brim_field fields[] = {
      BRIM_FIELD_TEXT("version", brim_version()),
      BRIM_FIELD_TEXT("model", brim_model_type(t->model)),
      BRIM_FIELD_TEXT("kernels", t->identity.kernels),
      BRIM_FIELD_INT("parameters", n.all),
      BRIM_FIELD_INT("trained_parameters", n.trained),
      BRIM_FIELD_INT("trained_tensors", n.trained_tensors),
      data ? BRIM_FIELD_INT("rows", brim_dataset_rows(data)) : BRIM_FIELD_JSON("rows", "null"),
      data ? BRIM_FIELD_INT("tokens", brim_dataset_tokens(data)) : BRIM_FIELD_JSON("tokens", "null"),
      data ? BRIM_FIELD_INT("truncated", brim_dataset_truncated(data)) : BRIM_FIELD_JSON("truncated", "null"),
      data ? BRIM_FIELD_INT("tokens_lost", brim_dataset_lost(data)) : BRIM_FIELD_JSON("tokens_lost", "null"),
      data ? BRIM_FIELD_INT("tokens_repeated", brim_dataset_repeated(data)) : BRIM_FIELD_JSON("tokens_repeated", "null"),
      BRIM_FIELD_INT("total_steps", t->outlook.total_steps),
      BRIM_FIELD_INT("warmup_steps", t->warmup),
      BRIM_FIELD_INT("memory_held", t->memory.held),
      BRIM_FIELD_INT("memory_training", t->memory.training),
      BRIM_FIELD_INT("memory_planned", t->memory.held + t->memory.training),
      BRIM_FIELD_INT("slots_at_once", t->outlook.limits.max_slots),
      BRIM_FIELD_INT("memory_windows", windows),
      BRIM_FIELD_INT("memory_slices", t->memory.slices),
      BRIM_FIELD_INT("threads", brim_runtime_threads(t->runtime)),
      BRIM_FIELD_INT("world_size", t->options.group.world_size),
      BRIM_FIELD_JSON("options", text.data),
      BRIM_FIELD_JSON("given", t->options.options_json ? t->options.options_json : "null"),
      BRIM_FIELD_INT("empty_texts", empty),
      BRIM_FIELD_TEXT("loss", t->options.loss.name), /* where there are several */
      BRIM_FIELD_INT("equal_pairs", data && t->options.loss.name ? brim_equal_pairs(data) : 0),
      BRIM_FIELD_INT("ignored_labels", data && t->host_loss.how.ignores_labels ? brim_ignored_labels(data) : 0),
      BRIM_FIELD_INT("equal_labels", data && t->host_loss.how.orders_labels && brim_equal_labels(data)),
  };
  const int count = BRIM_FIELD_COUNT(fields) - (t->options.loss.name ? 0 : 4);
  if (!status)
    status = emit(t, t->state.step == 0 || (t->resumed.log_lost && t->folder.log.bytes == 0), "start", fields, count, err);
  brim_text_free(&text);
  return status;
}

/* In the log only where the run is not what it would have been. */
int brim_trainer_emit_resume(brim_trainer *t, brim_error *err) {
  const brim_resumed *r = &t->resumed;
  const brim_field fields[] = {
      BRIM_FIELD_INT("step", t->state.step),
      BRIM_FIELD_INT("total_steps", t->outlook.total_steps),
      BRIM_FIELD_REAL("epoch", brim_trainer_epochs_done(t)),
      r->longer ? BRIM_FIELD_INT("former_steps", r->former_steps) : BRIM_FIELD_JSON("former_steps", "null"),
      r->longer ? BRIM_FIELD_REAL("lr", r->rate) : BRIM_FIELD_JSON("lr", "null"),
      r->longer ? BRIM_FIELD_REAL("former_lr", r->former_rate) : BRIM_FIELD_JSON("former_lr", "null"),
      BRIM_FIELD_TEXT("kernels", t->identity.kernels),
      r->other_kernels ? BRIM_FIELD_TEXT("former_kernels", r->former_kernels) : BRIM_FIELD_JSON("former_kernels", "null"),
      BRIM_FIELD_BOOL("log_lost", r->log_lost),
      BRIM_FIELD_INT("average_first", t->average_first),
      BRIM_FIELD_INT("former_average_first", r->longer ? brim_average_first(&t->options, r->former_steps) : t->average_first),
  };
  return emit(t, r->longer || r->other_kernels || r->log_lost, "resume", fields, BRIM_FIELD_COUNT(fields), err);
}

static int emit_progress(brim_trainer *t, double loss, brim_error *err) {
  double seconds = brim_seconds_now() - t->start;
  const brim_field fields[] = {
      BRIM_FIELD_TEXT("phase", "train"),
      BRIM_FIELD_INT("done", t->state.step),
      BRIM_FIELD_INT("total", t->outlook.total_steps),
      BRIM_FIELD_REAL("rate", seconds > 0.0 ? (double)t->tokens_here / seconds : 0.0),
      BRIM_FIELD_TEXT("unit", "tokens/s"),
      BRIM_FIELD_REAL("loss", loss),
  };
  return emit(t, false, "progress", fields, BRIM_FIELD_COUNT(fields), err);
}

int brim_trainer_emit_step(brim_trainer *t, double loss, double lr, double norm, brim_error *err) {
  uint64_t every = t->options.log_every > 0 ? t->options.log_every : 1;
  brim_tally *since = &t->state.since_log;
  if (t->state.step % every == 0 || t->state.step == t->outlook.total_steps) {
    brim_field fields[14] = {
        BRIM_FIELD_INT("step", t->state.step),
        BRIM_FIELD_REAL("epoch", brim_trainer_epochs_done(t)),
        BRIM_FIELD_REAL("loss", tally_mean(since)),
        BRIM_FIELD_REAL("lr", lr),
        BRIM_FIELD_REAL("grad_norm", norm),
        BRIM_FIELD_INT("rows", since->rows),
        BRIM_FIELD_INT("tokens", since->tokens),
        BRIM_FIELD_INT("slots", since->slots),
        BRIM_FIELD_REAL("seconds", brim_trainer_seconds(t)),
        BRIM_FIELD_INT("memory_peak", brim_process_peak()),
    };
    int count = 10;
    if (t->state.loss_scale > 0) { /* of the next step */
      fields[count++] = BRIM_FIELD_REAL("loss_scale", t->state.loss_scale);
      fields[count++] = BRIM_FIELD_INT("skipped", t->state.skipped);
    }
    if (t->options.loss.name && strcmp(t->options.loss.name, "in-batch") == 0) { /* of all rows together */
      fields[count++] = BRIM_FIELD_INT("negatives", t->state.negatives);
      fields[count++] = BRIM_FIELD_INT("equal_texts", t->state.left_out);
    }
    BRIM_TRY(emit(t, true, "step", fields, count, err));
    t->state.negatives = t->state.left_out = 0;
    *since = (brim_tally){0};
  }
  return emit_progress(t, loss, err);
}

/* The caller's metrics, each in the place of brim's of that name, or after them. Returns the number of fields. */
static int put_own(brim_field *fields, int count, const brim_own_metric *own, int own_count) {
  for (int i = 0; i < own_count; i++) {
    int at = 5;
    while (at < count && strcmp(fields[at].name, own[i].name) != 0)
      at++;
    fields[at] = BRIM_FIELD_REAL(own[i].name, own[i].value);
    count += at == count;
  }
  return count;
}

int brim_trainer_emit_eval(brim_trainer *t, const char *name, const brim_metrics *m, const brim_own_metric *own, int own_count,
                           bool averaged, bool logged, brim_error *err) {
  brim_field fields[8 + BRIM_METRIC_FIELDS + BRIM_MOST_OWN_METRICS] = {
      BRIM_FIELD_INT("step", t->state.step), BRIM_FIELD_REAL("epoch", brim_trainer_epochs_done(t)),
      BRIM_FIELD_TEXT("name", name),         BRIM_FIELD_BOOL("averaged", averaged),
      BRIM_FIELD_INT("rows", m->rows),
  };
  int count = 5 + brim_metrics_fields(brim_model_task(t->model), m, fields + 5);
  count = put_own(fields, count, own, own_count);
  fields[count++] = BRIM_FIELD_INT("tokens", m->tokens);
  fields[count++] = BRIM_FIELD_INT("slots", m->slots);
  fields[count++] = BRIM_FIELD_REAL("seconds", m->seconds);
  return emit(t, logged, "eval", fields, count, err);
}

/* Of sorted numbers. */
static double quantile(const double *sorted, size_t count, double share) {
  return count ? sorted[(size_t)(share * (double)(count - 1) + 0.5)] : (double)NAN;
}

static bool is_after(const void *a, const void *b, const void *context) {
  (void)context;
  return *(const double *)a > *(const double *)b;
}

/* Cosines of what belongs together (`right`), or of what does not: of rows of one label, or of the best of the others. */
static size_t pick(const brim_found_rows *found, bool right, double *out) {
  size_t count = 0;
  for (uint64_t i = 0; i < found->count; i++) {
    const brim_row_found *f = &found->rows[i];
    const bool pair = isnan(f->label);
    const double value = pair && !right ? f->rival : f->predicted;
    if (isfinite(value) && (pair || f->label == right))
      out[count++] = value;
  }
  brim_sort(out, count, sizeof *out, is_after, NULL);
  return count;
}

int brim_trainer_emit_cosines(brim_trainer *t, const char *name, const brim_found_rows *found, bool logged, brim_error *err) {
  static const double shares[] = {0.25, 0.5, 0.75};
  static const char *const names[] = {"positive_low", "positive", "positive_high", "negative_low", "negative", "negative_high"};
  brim_field fields[9] = {BRIM_FIELD_INT("step", t->state.step), BRIM_FIELD_TEXT("name", name),
                          BRIM_FIELD_INT("rows", found->count)};
  double *cosines = brim_alloc_array(t->runtime, (size_t)found->count + 1, sizeof *cosines);
  if (!cosines) /* the others are in emit */
    return brim_group_agree(&t->options.group, BRIM_NOMEM(err), err);
  for (int side = 0; side < 2; side++) {
    const size_t count = pick(found, side == 0, cosines);
    for (int q = 0; q < 3; q++)
      fields[3 + 3 * side + q] = BRIM_FIELD_REAL(names[3 * side + q], quantile(cosines, count, shares[q]));
  }
  brim_release(t->runtime, cosines);
  return emit(t, logged, "cosines", fields, 9, err);
}

int brim_trainer_emit_epoch(brim_trainer *t, brim_error *err) {
  const brim_tally *since = &t->state.since_epoch;
  const brim_field fields[] = {
      BRIM_FIELD_INT("step", t->state.step),
      BRIM_FIELD_REAL("epoch", brim_trainer_epochs_done(t)),
      BRIM_FIELD_REAL("loss", tally_mean(since)),
      BRIM_FIELD_INT("rows", since->rows),
      BRIM_FIELD_INT("tokens", since->tokens),
      BRIM_FIELD_INT("slots", since->slots),
      BRIM_FIELD_REAL("seconds", brim_trainer_seconds(t)),
  };
  return emit(t, true, "epoch", fields, BRIM_FIELD_COUNT(fields), err);
}

int brim_trainer_emit_checkpoint(brim_trainer *t, brim_error *err) {
  const brim_field fields[] = {
      BRIM_FIELD_INT("step", t->state.step),
      BRIM_FIELD_BOOL("best", t->state.best_step == t->state.step && t->state.step > 0),
      BRIM_FIELD_BOOL("interrupted", !t->state.scheduled),
  };
  return emit(t, true, "checkpoint", fields, BRIM_FIELD_COUNT(fields), err);
}

/* One number of each rank, as a JSON array. */
static void put_times(brim_text *out, const brim_rank_times *all, int32_t world, size_t offset) {
  brim_text_clear(out);
  for (int32_t rank = 0; rank < world; rank++) {
    brim_text_string(out, rank ? "," : "[");
    brim_text_json_number(out, *(const double *)((const char *)&all[rank] + offset));
  }
  brim_text_string(out, "]");
}

static int emit_times(brim_trainer *t, const brim_rank_times *all, brim_text texts[3], brim_error *err) {
  const int32_t world = t->options.group.world_size;
  int32_t slowest = 0;
  double sum = 0;
  for (int32_t rank = 0; rank < world; rank++) {
    slowest = all[rank].compute > all[slowest].compute ? rank : slowest;
    sum += all[rank].compute;
  }
  put_times(&texts[0], all, world, offsetof(brim_rank_times, compute));
  put_times(&texts[1], all, world, offsetof(brim_rank_times, wait));
  put_times(&texts[2], all, world, offsetof(brim_rank_times, communication));
  int status = BRIM_OK;
  for (int i = 0; i < 3 && !status; i++)
    status = brim_text_status(&texts[i], err);
  BRIM_TRY(brim_group_agree(&t->options.group, status, err));
  const brim_field fields[] = {
      BRIM_FIELD_INT("processes", world),
      BRIM_FIELD_INT("slowest", slowest),
      BRIM_FIELD_REAL("balance", sum > 0 ? all[slowest].compute * world / sum : 1.0),
      BRIM_FIELD_JSON("compute", texts[0].data),
      BRIM_FIELD_JSON("wait", texts[1].data),
      BRIM_FIELD_JSON("communication", texts[2].data),
  };
  return emit(t, true, "ranks", fields, BRIM_FIELD_COUNT(fields), err);
}

int brim_trainer_emit_ranks(brim_trainer *t, brim_error *err) {
  const brim_group *group = &t->options.group;
  brim_text texts[3];
  if (group->world_size <= 1)
    return BRIM_OK;
  brim_rank_times *all = brim_alloc_array(t->runtime, (size_t)group->world_size, sizeof *all);
  for (int i = 0; i < 3; i++)
    brim_text_init(&texts[i], t->runtime);
  int status = brim_group_agree(group, all ? BRIM_OK : BRIM_NOMEM(err), err);
  if (!status)
    status = brim_group_gather(group, t->runtime, &t->times, sizeof t->times, all, err);
  if (!status)
    status = emit_times(t, all, texts, err);
  for (int i = 0; i < 3; i++)
    brim_text_free(&texts[i]);
  brim_release(t->runtime, all);
  return status;
}

int brim_trainer_emit_end(brim_trainer *t, const char *failure, brim_error *err) {
  const brim_field fields[] = {
      BRIM_FIELD_INT("step", t->state.step),
      BRIM_FIELD_REAL("epoch", brim_trainer_epochs_done(t)),
      BRIM_FIELD_REAL("loss", t->state.since_epoch.rows ? tally_mean(&t->state.since_epoch) : t->state.last_loss),
      BRIM_FIELD_INT("rows", t->state.run.rows),
      BRIM_FIELD_INT("tokens", t->state.run.tokens),
      BRIM_FIELD_INT("slots", t->state.run.slots),
      BRIM_FIELD_REAL("best_metric", t->state.best),
      t->state.best_step ? BRIM_FIELD_INT("best_step", t->state.best_step) : BRIM_FIELD_JSON("best_step", "null"),
      BRIM_FIELD_BOOL("stopped_early", t->state.stopped),
      BRIM_FIELD_INT("model_step", t->model_step ? t->model_step : t->state.step),
      BRIM_FIELD_REAL("seconds", brim_trainer_seconds(t)),
      failure ? BRIM_FIELD_TEXT("failure", failure) : BRIM_FIELD_JSON("failure", "null"),
  };
  return emit(t, true, "end", fields, BRIM_FIELD_COUNT(fields), err);
}
