/* step.c: one optimizer step: parts forward and backward, the sum over ranks, the update. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/ask.h"
#include "model/run/mixout.h"
#include "model/run/queue.h"
#include "train/answers/fit.h"
#include "train/average.h"
#include "train/loss_scale.h"
#include "train/trainer.h"

enum { NAMED = 8 }; /* rows that a message names */

/* A piece, as its answer is read. */
typedef struct step_piece {
  uint64_t named[NAMED]; /* its first rows */
  int32_t rows;
} step_piece;

/* What one step adds up over its parts. */
typedef struct step_sums {
  double loss; /* the step's mean loss */
  double norm; /* of the gradient */
  uint64_t tokens, slots;
  uint32_t rows;         /* of the step, over all ranks */
  double divisor;        /* of the loss: these rows, or the sum of their weights */
  double weight;         /* the same, but 0 where no row has a label */
  uint64_t named[NAMED]; /* the first rows of this rank, or of its first piece whose loss is not finite */
  uint64_t listed;
  bool bad;                            /* there is such a piece */
  step_piece pieces[BRIM_MOST_QUEUED]; /* that wait for their answers */
  int32_t waiting;
} step_sums;

static void note_rows(step_sums *sums, const step_piece *piece, bool bad) {
  if (sums->bad)
    return;
  if (bad)
    sums->listed = 0;
  sums->bad = bad;
  for (int32_t i = 0; i < piece->rows; i++, sums->listed++)
    if (sums->listed < NAMED)
      sums->named[sums->listed] = piece->named[i];
}

/* Waits for what the device has found so far. */
static int step_answers(brim_trainer *t, step_sums *sums, brim_error *err) {
  brim_answers answers;
  BRIM_TRY(brim_model_answers(t->model, &answers, err));
  for (int32_t i = 0; i < sums->waiting; i++)
    note_rows(sums, &sums->pieces[i], !isfinite(answers.losses[i]));
  brim_reduce_losses(t->reduce, answers.losses, sums->waiting);
  sums->waiting = 0;
  sums->norm = answers.norm;
  return BRIM_OK;
}

static brim_pass step_pass(const brim_trainer *t) {
  return (brim_pass){.training = true,
                     .dropout = true,
                     .seed = t->options.seed,
                     .optimizer_step = t->state.step + 1,
                     .class_weights = t->class_weights,
                     .label_smoothing = t->options.label_smoothing,
                     .loss_scale = brim_loss_scale(t)};
}

static step_piece piece_of(const brim_batch *batch) {
  step_piece piece = {.rows = batch->row_count};
  for (int32_t i = 0; i < batch->row_count && i < NAMED; i++)
    piece.named[i] = batch->rows[i];
  return piece;
}

static int step_compute(brim_trainer *t, const brim_batch *piece, step_sums *sums, brim_error *err) {
  const brim_pass pass = step_pass(t);
  BRIM_TRY(brim_model_queue_forward(t->model, piece, &pass, err));
  sums->pieces[sums->waiting++] = piece_of(piece);
  return brim_model_backward(t->model, piece, &pass, err);
}

static int step_part(brim_trainer *t, const brim_batch *part, bool last, step_sums *sums, brim_error *err) {
  for (int32_t first = 0; first < part->count;) {
    brim_batch piece;
    if (brim_model_queue_full(t->model))
      BRIM_TRY(step_answers(t, sums, err));
    BRIM_TRY(brim_reduce_part(t->reduce, part, last, &first, &piece, err));
    piece.divisor = t->supply.divisor;
    BRIM_TRY(step_compute(t, &piece, sums, err));
  }
  return BRIM_OK;
}

/* This rank's next part. The supply counts those of all ranks. */
static int step_next(brim_trainer *t, const brim_batch **part, bool *last, step_sums *sums, brim_error *err) {
  const bool first = !t->supply.open;
  brim_profile_begin(t->options.profile, BRIM_WORK_DATA, "batch");
  t->supply.number = t->state.step, t->supply.total = t->outlook.total_steps;
  int status = brim_supply_next(&t->supply, part, last, err);
  brim_profile_end(t->options.profile, 0);
  if (first)
    status = brim_supply_sum(&t->supply, t->reduce, status, err);
  sums->rows = t->supply.rows;
  sums->divisor = t->supply.divisor;
  sums->weight = t->supply.weight;
  sums->tokens = t->supply.tokens, sums->slots = t->supply.slots;
  return status;
}

/* All parts of this rank, queued. */
static int step_parts(brim_trainer *t, step_sums *sums, brim_error *err) {
  for (bool last = false; !last;) {
    const brim_batch *part;
    BRIM_TRY(step_next(t, &part, &last, sums, err));
    BRIM_TRY(step_part(t, part, last, sums, err));
  }
  return brim_reduce_needs_losses(t->reduce) ? step_answers(t, sums, err) : BRIM_OK;
}

/* ---- losses that the host computes ---------------------------------------------------------------------------- */

static int check_labels(const brim_trainer *t, const brim_batch *batch, brim_error *err) {
  const int32_t at = brim_host_loss_misfit(&t->host_loss, batch);
  char name[480];
  if (at < 0)
    return BRIM_OK;
  brim_supply_row_text(&t->supply, batch->rows[at / t->host_loss.label_width], name, sizeof name);
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "%s: the label is %g, and the loss %s takes labels %s: divide them, or name "
                        "another loss",
                        name, (double)batch->labels[at], t->options.loss.name,
                        t->host_loss.how.labels == BRIM_RANGE_SIGNED   ? "from -1 to 1"
                        : t->host_loss.how.labels == BRIM_RANGE_BINARY ? "0 and 1 alone"
                                                                       : "from 0 to 1");
}

/* Outputs of a batch, for the host. */
static int host_forward(brim_trainer *t, const brim_batch *batch, step_sums *sums, brim_error *err) {
  const brim_pass pass = step_pass(t);
  const step_piece piece = piece_of(batch);
  bool finite;
  BRIM_TRY(check_labels(t, batch, err));
  BRIM_TRY(brim_model_forward(t->model, batch, &pass, NULL, NULL, err));
  BRIM_TRY(brim_host_loss_take(&t->host_loss, t->model, batch, &finite, err));
  note_rows(sums, &piece, !finite);
  return BRIM_OK;
}

static int host_backward(brim_trainer *t, const brim_batch *batch, brim_error *err) {
  const brim_pass pass = step_pass(t);
  BRIM_TRY(brim_host_loss_seed(&t->host_loss, t->model, batch, pass.loss_scale > 0 ? pass.loss_scale : 1, err));
  return brim_model_backward(t->model, batch, &pass, err);
}

static bool has_one_slice(const brim_batch *batch) {
  return !batch->slices || batch->count == 0 || batch->slices[0] == batch->slices[batch->count - 1];
}

/* -1: there are none. */
static int32_t slice_of(const brim_batch *batch, int32_t row) {
  return batch->slices ? batch->slices[batch->firsts ? batch->firsts[row] : row] : -1;
}

/* Rows from `first` on that are of one slice. */
static int32_t slice_end(const brim_batch *batch, int32_t first) {
  int32_t end = first + 1;
  while (end < batch->row_count && slice_of(batch, end) == slice_of(batch, first))
    end++;
  return end;
}

/* The losses of a piece's slices, each for itself. */
static int host_losses(brim_trainer *t, const brim_batch *piece, brim_error *err) {
  for (int32_t first = 0, end; first < piece->row_count; first = end) {
    double loss;
    end = slice_end(piece, first);
    BRIM_TRY(brim_host_loss_of_rows(&t->host_loss, piece, first, end - first, t->supply.divisor, &loss, err));
    brim_reduce_loss(t->reduce, slice_of(piece, first), loss);
  }
  return BRIM_OK;
}

/* Each part has its own loss. */
static int step_parts_on_host(brim_trainer *t, step_sums *sums, brim_error *err) {
  for (bool last = false; !last;) {
    const brim_batch *part;
    BRIM_TRY(step_next(t, &part, &last, sums, err));
    BRIM_TRY(brim_host_loss_begin(&t->host_loss, sums->rows, err));
    for (int32_t first = 0; first < part->count;) {
      brim_batch piece;
      BRIM_TRY(brim_reduce_part(t->reduce, part, last, &first, &piece, err));
      BRIM_TRY(host_forward(t, &piece, sums, err));
      BRIM_TRY(host_losses(t, &piece, err));
      BRIM_TRY(host_backward(t, &piece, err));
    }
  }
  return BRIM_OK;
}

/* The outputs of all parts of this rank, which are kept. */
static int step_outputs(brim_trainer *t, step_sums *sums, brim_error *err) {
  bool begun = false;
  for (bool last = false; !last;) {
    const brim_batch *part;
    BRIM_TRY(step_next(t, &part, &last, sums, err));
    if (!begun)
      BRIM_TRY(brim_host_loss_begin(&t->host_loss, sums->rows, err));
    begun = true;
    if (part->count == 0)
      continue;
    BRIM_TRY(brim_host_loss_keep(&t->host_loss, part, &part, err));
    brim_batch whole = *part;
    whole.slices = NULL; /* their outputs are the same at once and one by one */
    BRIM_TRY(host_forward(t, &whole, sums, err));
  }
  return BRIM_OK;
}

/* Dropout is keyed by place, so that a second forward is the first. */
static int step_part_again(brim_trainer *t, const brim_batch *part, bool last, bool done, brim_error *err) {
  const brim_pass pass = step_pass(t);
  for (int32_t first = 0; first < part->count;) {
    brim_batch piece;
    BRIM_TRY(brim_reduce_part(t->reduce, part, last, &first, &piece, err));
    if (!done)
      BRIM_TRY(brim_model_forward(t->model, &piece, &pass, NULL, NULL, err));
    BRIM_TRY(host_backward(t, &piece, err));
  }
  return BRIM_OK;
}

/* One loss over the texts of all parts and all ranks: forward of all, the loss, on every rank alike, and each part again with its
 * rows of the gradient. Where a rank has one part, its forward is the last one, and is not computed again. */
static int step_whole(brim_trainer *t, step_sums *sums, brim_error *err) {
  brim_host_loss *h = &t->host_loss;
  double loss;
  BRIM_TRY(brim_group_agree(&t->options.group, step_outputs(t, sums, err), err));
  BRIM_TRY(brim_host_loss_share(h, &t->options.group, err));
  BRIM_TRY(brim_host_loss_of_step(h, sums->divisor, &loss, err));
  brim_reduce_loss_of_all(t->reduce, loss);
  const bool done = h->kept_count == 1 && has_one_slice(&h->kept[0]);
  for (int32_t i = 0; i < h->kept_count; i++)
    BRIM_TRY(step_part_again(t, &h->kept[i], i + 1 == h->kept_count, done, err));
  return BRIM_OK;
}

static int step_compute_parts(brim_trainer *t, step_sums *sums, brim_error *err) {
  const brim_loss_scope scope = t->host_loss.target->scope;
  return (scope == BRIM_LOSS_OF_STEP ? step_whole : scope == BRIM_LOSS_OF_PART ? step_parts_on_host : step_parts)(t, sums, err);
}

/* With mixout all passes of a step see the same mixed weights. */
static int step_compute_mixed(brim_trainer *t, step_sums *sums, brim_error *err) {
  if (t->options.mixout > 0.0)
    BRIM_TRY(brim_group_agree(&t->options.group, brim_model_mix(t->model, t->options.seed, t->state.step + 1, err), err));
  const int status = step_compute_parts(t, sums, err);
  brim_model_unmix(t->model);
  return status;
}

/* Names the part at fault when it is known; otherwise the rows of the step on this rank. */
static int step_diverged(brim_trainer *t, const char *what, const step_sums *sums, brim_error *err) {
  char rows[480] = "", more[40] = "", kept[64] = "";
  size_t used = 0;
  for (uint64_t i = 0; i < sums->listed && i < NAMED && used + 4 < sizeof rows; i++) {
    used += (size_t)snprintf(rows + used, sizeof rows - used, "%s", i ? ", " : "");
    used += brim_supply_row_text(&t->supply, sums->named[i], rows + used, sizeof rows - used);
  }
  if (sums->listed > NAMED)
    snprintf(more, sizeof more, " and %llu more", (unsigned long long)(sums->listed - NAMED));
  if (t->saved_step != BRIM_NO_STEP)
    snprintf(kept, sizeof kept, "; checkpoint step-%llu is kept", (unsigned long long)t->saved_step);
  return brim_error_set(
      err, BRIM_E_DIVERGED,
      "step %llu: the %s is not a finite number (rows %s%s of the training data): lower the learning rate or look at "
      "these rows%s",
      (unsigned long long)t->state.step + 1, what, rows, more, kept);
}

/* The device decides whether there is an update: it has the losses that were not answered, and the gradient. */
static int step_update(brim_trainer *t, double lr, brim_error *err) {
  const brim_train_options *o = &t->options;
  const brim_update_options update = {.lr = lr,
                                      .beta1 = o->beta1,
                                      .beta2 = o->beta2,
                                      .eps = o->eps,
                                      .weight_decay = o->weight_decay,
                                      .momentum = o->momentum,
                                      .clip = o->clip,
                                      .layer_decay = o->layer_lr_decay,
                                      .step = t->state.step + 1 - t->state.skipped,
                                      .loss_scale = brim_loss_scale(t)};
  return brim_reduce_update(t->reduce, &update, err);
}

/* The gradient of all ranks becomes every rank's weights. A device may have losses that it was not asked for. */
static int step_apply(brim_trainer *t, step_sums *sums, double lr, brim_error *err) {
  const brim_reduced *reduced = brim_reduce_result(t->reduce);
  if (isfinite(reduced->loss)) {
    BRIM_TRY(step_update(t, lr, err));
    BRIM_TRY(brim_reduce_gather(t->reduce, err));
  }
  BRIM_TRY(step_answers(t, sums, err));
  sums->loss = reduced->loss;
  if (!isfinite(sums->loss))
    return step_diverged(t, "loss", sums, err);
  return isfinite(sums->norm) || brim_loss_scale_halve(t) ? BRIM_OK : step_diverged(t, "gradient", sums, err);
}

static void tally_add(brim_tally *tally, const step_sums *sums) {
  tally->loss += sums->loss * sums->weight;
  tally->weight += sums->weight;
  tally->rows += sums->rows;
  tally->tokens += sums->tokens;
  tally->slots += sums->slots;
}

/* The first rows of a stream say what it has: what it is evaluated on has to be the same. */
static int note_pairs(brim_trainer *t, brim_error *err) {
  if (brim_model_pairs(t->model) >= 0)
    return BRIM_OK;
  const int pairs = brim_supply_pairs(&t->supply);
  for (int i = 0; i < t->eval_count; i++)
    BRIM_TRY(brim_pairs_fit(t->evals[i].dataset, pairs, t->evals[i].name, err));
  brim_model_set_pairs(t->model, pairs);
  return BRIM_OK;
}

static int step_done(brim_trainer *t, const step_sums *sums, brim_error *err) {
  tally_add(&t->state.run, sums);
  tally_add(&t->state.since_epoch, sums);
  tally_add(&t->state.since_log, sums);
  t->state.negatives += t->host_loss.found.negatives;
  t->state.left_out += t->host_loss.found.left_out;
  t->tokens_here += sums->tokens;
  t->state.step++;
  t->state.epoch_step++;
  t->state.pending = true;
  brim_loss_scale_served(t, isfinite(sums->norm));
  if (t->average && t->state.step >= t->average_first && (t->state.step - t->average_first) % t->average_every == 0) {
    BRIM_TRY(brim_average_add(t->runtime, t->model, t->average, t->state.averaged, err));
    t->state.averaged++;
  }
  BRIM_TRY(note_pairs(t, err));
  return brim_supply_step_done(&t->supply, err);
}

static double step_rate(const brim_trainer *t) {
  const brim_train_options *o = &t->options;
  return brim_learning_rate(o->schedule, o->lr, t->state.step + 1, t->warmup, t->outlook.total_steps);
}

/* Computes the parts, reduces, updates. */
static int step_compute_all(brim_trainer *t, step_sums *sums, double lr, brim_error *err) {
  const double begun = brim_seconds_now();
  brim_reduce_begin(t->reduce);
  int status = step_compute_mixed(t, sums, err);
  t->times.compute += brim_seconds_now() - begun;
  status = brim_reduce_finish(t->reduce, status, err);
  if (!status)
    status = step_apply(t, sums, lr, err);
  t->times.wait += brim_reduce_result(t->reduce)->waited;
  t->times.communication += brim_reduce_result(t->reduce)->sent;
  return status;
}

static int step_run(brim_trainer *t, brim_error *err) {
  step_sums sums = {0};
  const double lr = step_rate(t);
  const int status = step_compute_all(t, &sums, lr, err);
  if (status) {
    brim_reduce_abandon(t->reduce);
    return status;
  }
  BRIM_TRY(brim_group_agree(&t->options.group, step_done(t, &sums, err), err));
  BRIM_TRY(brim_trainer_emit_step(t, sums.loss, lr, sums.norm, err));
  t->state.log_bytes = t->folder.log.bytes;
  t->safe = t->state;
  /* ranks decide together, in their next step */
  const bool cancel = t->options.group.world_size == 1 ? brim_runtime_cancelled(t->runtime)
                                                       : brim_reduce_result(t->reduce)->cancel;
  return cancel ? brim_error_cancelled(err) : BRIM_OK;
}

int brim_trainer_step(brim_trainer *t, brim_error *err) {
  brim_profile_begin(t->options.profile, BRIM_WORK_FRAME, "step");
  int status = step_run(t, err);
  brim_profile_end(t->options.profile, 0);
  return status;
}
