/* The strict device finds what it is there for, and a step that fails on the device is as if it had not been. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../model_case.h"
#include "base/status.h"
#include "model/run/flat.h"
#include "model/run/model.h"
#include "strict_device.h"

static brim_ops_context c;
static const brim_ops *ops;

/* ---- callers that are wrong */

static void check_memory(void) {
  float *x = ops->alloc(&c, 100 * sizeof *x, true);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    volatile float looked = x[3]; /* reads device memory */
    _exit(looked == 0 ? 0 : 1);
  }
  int how = 0;
  waitpid(child, &how, 0);
  ok(child > 0 && (WIFSIGNALED(how) || (WIFEXITED(how) && WEXITSTATUS(how) != 0)), "who looks into the device's memory dies");
  ops->release(&c, x);
}

static void check_order(void) {
  float *x = ops->alloc(&c, 4 * sizeof *x, true), from[4] = {1, 2, 3, 4}, to[4] = {9, 9, 9, 9};
  brim_error err;
  ops->write(&c, x, from, sizeof from);
  ops->add(&c, &(brim_add){.count = 4, .x = x, .y = x});
  ops->read(&c, to, x, sizeof to);
  ok(to[0] != 2 && to[0] != 9, "who reads before the sync has neither the old nor the new");
  ok(ops->sync(&c, &err) == BRIM_OK && to[0] == 2 && to[3] == 8, "after it all is there, in order");
  ops->write(&c, x, from, sizeof from);
  from[1] = 7; /* changes a host buffer early */
  ok(ops->sync(&c, &err) != BRIM_OK, "who changes what is to be sent is told: %s", err.message);
  ops->release(&c, x);
}

/* A counter on the host that goes ahead of the device. */
static void check_commit(void) {
  float *x = ops->alloc(&c, sizeof *x, true), one = 1, value = -1;
  int committed = 0;
  brim_error err;
  ops->write(&c, x, &one, sizeof one);
  strict_fail(0);
  committed++; /* commits before sync */
  const int status = ops->sync(&c, &err);
  strict_fail(-1);
  ops->read(&c, &value, x, sizeof value);
  ok(status != BRIM_OK && ops->sync(&c, &err) == BRIM_OK && (int)value != committed,
     "a failure shows who committed before the sync: %d and %d", (int)value, committed);
  ops->release(&c, x);
}

/* ---- the model */

static bool same_buffers(brim_model *a, brim_model *b) {
  const size_t all = (size_t)brim_model_flat_size(a) * sizeof(float);
  return memcmp(brim_model_values(a), brim_model_values(b), all) == 0 &&
         memcmp(brim_model_state0(a), brim_model_state0(b), all) == 0 &&
         memcmp(brim_model_state1(a), brim_model_state1(b), all) == 0;
}

/* Forwards fail somewhere, and updates up to AdamW; each is made again, as if it had not been. (An update whose answer cannot be
 * read has been: such a device is of no more use.) */
static void check_steps(const char *golden) {
  brim_dataset *rows = case_rows(golden);
  brim_model *models[2];
  brim_batch batch = {0};
  brim_error err;
  case_fill(&batch, rows, 0, 2, 0);
  const brim_model_limits limits = case_limits(&batch, true);
  const brim_pass pass = {.training = true, .dropout = true, .seed = 3};
  for (int i = 0; i < 2; i++) {
    models[i] = case_load(case_golden(golden), ops->name);
    if (brim_model_prepare(models[i], &limits, &err))
      case_stop("prepare", &err);
  }
  int failed = 0, wrong = 0, told = 0;
  for (uint64_t step = 1; step <= 40; step++) {
    const brim_update_options adamw = {
        .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .clip = 1, .step = step};
    double losses[2] = {0}, norms[2] = {0};
    for (int i = 0; i < 2; i++) {
      brim_model *m = models[i];
      const bool forward = i == 1 && step % 2, update = i == 1 && step % 2 == 0;
      strict_fail(forward ? (long)(step * 2) : -1);
      int status = brim_model_forward(m, &batch, &pass, &losses[i], NULL, &err);
      strict_fail(-1);
      if (status && forward) {
        failed++;
        status = brim_model_forward(m, &batch, &pass, &losses[i], NULL, &err);
      }
      if (status || brim_model_backward(m, &batch, &pass, &err))
        case_stop("pass", &err);
      float *ignored = brim_model_values(m); /* waits */
      (void)ignored;
      strict_fail(update ? (long)(step / 2 % 3) : -1);
      status = brim_model_update(m, &adamw, &norms[i], &err);
      strict_fail(-1);
      told += update && status;
      if (status && update)
        status = brim_model_update(m, &adamw, &norms[i], &err);
      if (status)
        case_stop("update", &err);
    }
    wrong += losses[0] != losses[1] || norms[0] != norms[1] || !same_buffers(models[0], models[1]);
  }
  ok(wrong == 0, "%s: 40 steps, %d passes and %d updates failed and were made again: the same bits (%d wrong)", golden, failed,
     told, wrong);
  ok(failed > 5 && told > 5, "and failures were told");
  for (int i = 0; i < 2; i++)
    brim_model_free(models[i]);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

/* ---- a step that is queued */

enum { PARTS = 5 };
static const brim_update_options queued_step = {
    .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .clip = 1};

/* The parts of a step, the update, and answers: of each, or of all at once. Who asks for all at once forgets each batch early. */
static int step_of(brim_model *m, brim_dataset *rows, brim_batch *batch, uint64_t step, bool queued, brim_answers *out,
                   brim_error *err) {
  const brim_pass pass = {.training = true, .dropout = true, .seed = 3, .optimizer_step = step};
  brim_update_options adamw = queued_step;
  adamw.step = step;
  *out = (brim_answers){0};
  for (uint32_t i = 0; i < PARTS; i++) {
    case_fill(batch, rows, i % 2, 2 - i % 2, 0);
    BRIM_TRY(queued ? brim_model_queue_forward(m, batch, &pass, err)
                    : brim_model_forward(m, batch, &pass, &out->losses[out->count++], NULL, err));
    BRIM_TRY(brim_model_backward(m, batch, &pass, err));
  }
  if (!queued)
    return brim_model_update(m, &adamw, &out->norm, err);
  BRIM_TRY(brim_model_queue_update(m, &adamw, err));
  return brim_model_answers(m, out, err);
}

static void check_queued(const char *golden) {
  brim_dataset *rows = case_rows(golden);
  brim_model *models[2];
  brim_batch batch = {0};
  brim_error err;
  int wrong = 0, told = 0;
  long waits = 0;
  case_fill(&batch, rows, 0, 2, 0);
  const brim_model_limits limits = case_limits(&batch, true);
  for (int i = 0; i < 2; i++) {
    models[i] = case_load(case_golden(golden), ops->name);
    if (brim_model_prepare(models[i], &limits, &err))
      case_stop("prepare", &err);
  }
  for (uint64_t step = 1; step <= 2 * BRIM_UPDATE_PAST + 3; step++) {
    brim_answers answers[2];
    for (int i = 0; i < 2; i++) {
      const long before = strict_syncs();
      if (i == 1 && step % 7 == 0) { /* it fails somewhere: nothing has been */
        strict_fail((long)(step * 5 % 150));
        told += step_of(models[i], rows, &batch, step, true, &answers[i], &err) != BRIM_OK;
        strict_fail(-1);
        brim_model_zero_gradients(models[i]);
      }
      const long began = strict_syncs();
      if (step_of(models[i], rows, &batch, step, i == 1, &answers[i], &err))
        case_stop("step", &err);
      waits += i == 1 ? strict_syncs() - began : 0;
      wrong += i == 1 && before == began && strict_syncs() - began != 1;
    }
    wrong += answers[0].norm != answers[1].norm || answers[0].count != answers[1].count ||
             memcmp(answers[0].losses, answers[1].losses, PARTS * sizeof *answers[0].losses) != 0;
  }
  wrong += !same_buffers(models[0], models[1]);
  ok(wrong == 0 && told == 18, "%s: queued steps have the bits of steps that wait (%d wrong), also after %d failures", golden,
     wrong, told);
  ok(waits == 2 * BRIM_UPDATE_PAST + 3, "a step of %d parts waits for the device once: %ld", PARTS, waits);
  for (int i = 0; i < 2; i++)
    brim_model_free(models[i]);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

/* As many forwards as may wait, and one more. */
static void check_full(const char *golden) {
  const brim_pass pass = {.training = true};
  brim_model *m = case_load(case_golden(golden), ops->name);
  brim_dataset *rows = case_rows(golden);
  brim_batch batch = {0};
  brim_answers answers;
  brim_error err;
  int queued = 0;
  case_fill(&batch, rows, 0, 2, 0);
  const brim_model_limits limits = case_limits(&batch, true);
  if (brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  while (!brim_model_queue_full(m) && brim_model_queue_forward(m, &batch, &pass, &err) == BRIM_OK)
    queued++;
  ok(queued == BRIM_MOST_QUEUED && brim_model_queue_forward(m, &batch, &pass, &err) == BRIM_E_USAGE, "one more is refused: %s",
     err.message);
  ok(brim_model_answers(m, &answers, &err) == BRIM_OK && answers.count == queued && answers.losses[0] > 0 &&
         answers.losses[queued - 1] == answers.losses[0] && !brim_model_queue_full(m),
     "all are answered");
  brim_model_free(m);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

/* A loss that is not finite, beside a gradient that is. */
static void check_infinite(const char *golden) {
  static const double infinite = INFINITY;
  const brim_pass pass = {.training = true};
  brim_dataset *rows = case_rows(golden);
  brim_model *models[2];
  brim_batch batch = {0};
  brim_answers answers;
  brim_error err;
  brim_update_options adamw = queued_step;
  adamw.step = 1;
  case_fill(&batch, rows, 0, 2, 0);
  const brim_model_limits limits = case_limits(&batch, true);
  for (int i = 0; i < 2; i++) {
    models[i] = case_load(case_golden(golden), ops->name);
    if (brim_model_prepare(models[i], &limits, &err))
      case_stop("prepare", &err);
  }
  brim_model *m = models[1];
  int status = brim_model_queue_forward(m, &batch, &pass, &err);
  if (!status)
    status = brim_model_backward(m, &batch, &pass, &err);
  m->ops->write(&m->context, &m->answers[BRIM_ANSWER_LOSS], &infinite, sizeof infinite);
  if (!status)
    status = brim_model_queue_update(m, &adamw, &err);
  if (!status)
    status = brim_model_answers(m, &answers, &err);
  if (status)
    case_stop("step", &err);
  brim_model_zero_gradients(m);
  ok(!isfinite(answers.norm) && same_buffers(models[0], m), "after a loss that is not finite nothing is changed");
  brim_model_free(models[0]);
  brim_model_free(m);
  brim_batch_free(&batch);
  brim_dataset_free(rows);
}

int main(void) {
  brim_error err;
  case_start(2);
  c.runtime = case_runtime;
  ops = brim_ops_cpu(brim_runtime_cpu(case_runtime));
  if (ops->open(&c, &err))
    case_stop("open", &err);
  check_memory();
  check_order();
  check_commit();
  ops->close(&c);
  check_steps("bert-pair-3");
  check_steps("roberta-regression");
  check_queued("bert-pair-3");
  check_queued("roberta-regression");
  check_full("bert-pair-3");
  check_infinite("bert-pair-3");
  brim_runtime_free(case_runtime);
  return tap_done();
}
