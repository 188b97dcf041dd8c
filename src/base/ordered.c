#include "base/ordered.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "base/thread.h"
#include <pthread.h>

#define CANCEL_CHECK_SECONDS 0.05

typedef struct slot {
  void *block;
  bool done;
} slot;

typedef struct thread_start {
  brim_ordered *ordered;
  pthread_t thread;
  int number;
} thread_start;

/* Serial numbers: [0, taken) were handed out, [taken, produced) are in flight in slots[serial % queue]. Nothing from `last` on is
 * handed out: there the stream ended or a call failed. Of several failures the one with the least serial number counts, and that
 * is the same for any timing, because all blocks before it are finished and handed out first. */
struct brim_ordered {
  brim_runtime *runtime;
  brim_ordered_options options;
  int queue, started;
  pthread_mutex_t mutex;
  pthread_cond_t room, ready; /* a thread may produce; the next block is done */
  int64_t produced, taken, last;
  int last_status;
  brim_error last_error;
  bool producing, stop;
  slot *slots;
  thread_start *threads;
};

static void note_failure(brim_ordered *o, int64_t serial, int status, const brim_error *error) {
  if (serial >= o->last)
    return;
  o->last = serial;
  o->last_status = status;
  o->last_error = *error;
}

static int report_last(const brim_ordered *o, brim_error *err) {
  if (o->last_status != BRIM_END && err)
    *err = o->last_error;
  return o->last_status;
}

static void discard(brim_ordered *o, void *block) {
  if (block && o->options.discard)
    o->options.discard(o->options.context, block);
}

/* Makes one block and works on it. Entered and left with the mutex; false when this thread has no more to do. */
static bool make_block(brim_ordered *o, int worker) {
  while (!o->stop && o->produced < o->last && (o->producing || o->produced - o->taken >= o->queue))
    pthread_cond_wait(&o->room, &o->mutex);
  if (o->stop || o->produced >= o->last)
    return false;
  int64_t serial = o->produced;
  void *block = NULL;
  brim_error error = {0};
  o->producing = true;
  pthread_mutex_unlock(&o->mutex);
  int status = o->options.produce(o->options.context, &block, &error);
  pthread_mutex_lock(&o->mutex);
  o->producing = false;
  if (status == BRIM_OK)
    o->produced++;
  pthread_cond_signal(&o->room);
  if (status == BRIM_OK && o->options.work) {
    pthread_mutex_unlock(&o->mutex);
    status = o->options.work(o->options.context, block, worker, &error);
    if (status != BRIM_OK)
      discard(o, block);
    pthread_mutex_lock(&o->mutex);
  }
  if (status == BRIM_OK) {
    o->slots[serial % o->queue] = (slot){block, true};
  } else {
    note_failure(o, serial, status, &error);
    pthread_cond_broadcast(&o->room);
  }
  pthread_cond_signal(&o->ready);
  return true;
}

static void *thread_main(void *context) {
  thread_start *self = context;
  brim_ordered *o = self->ordered;
  pthread_mutex_lock(&o->mutex);
  while (make_block(o, self->number))
    continue;
  pthread_mutex_unlock(&o->mutex);
  return NULL;
}

/* Cancelling happens in signal handlers, which cannot signal a condition: so the wait looks up now and then. */
static int wait_ready(brim_ordered *o, brim_error *err) {
  while (o->taken < o->last && !o->slots[o->taken % o->queue].done) {
    BRIM_TRY(brim_check_cancel(o->runtime, err));
    const struct timespec until = brim_time_after(CANCEL_CHECK_SECONDS);
    pthread_cond_timedwait(&o->ready, &o->mutex, &until);
  }
  return BRIM_OK;
}

int brim_ordered_next(brim_ordered *o, void **block, brim_error *err) {
  *block = NULL;
  BRIM_TRY(brim_check_cancel(o->runtime, err));
  pthread_mutex_lock(&o->mutex);
  if (!o->started && o->taken < o->last)
    make_block(o, 0);
  int status = wait_ready(o, err);
  if (status == BRIM_OK && o->taken == o->last) {
    status = report_last(o, err);
  } else if (status == BRIM_OK) {
    slot *s = &o->slots[o->taken % o->queue];
    *block = s->block;
    *s = (slot){0};
    o->taken++;
    pthread_cond_signal(&o->room);
  }
  pthread_mutex_unlock(&o->mutex);
  return status;
}

static int start_threads(brim_ordered *o, brim_error *err) {
  for (int i = 0; i < o->options.threads; i++) {
    o->threads[i] = (thread_start){.ordered = o, .number = i};
    BRIM_TRY(brim_thread_start(&o->threads[i].thread, thread_main, &o->threads[i], err));
    o->started++;
  }
  return BRIM_OK;
}

int brim_ordered_new(brim_runtime *runtime, const brim_ordered_options *options, brim_ordered **out, brim_error *err) {
  *out = NULL;
  if (options->threads < 0 || options->threads > 1024 || options->queue < 0)
    return brim_error_set(err, BRIM_E_USAGE, "%d threads and a queue of %d make no sense", options->threads, options->queue);
  brim_ordered *o = brim_alloc_zero(runtime, sizeof *o);
  if (!o)
    return BRIM_NOMEM(err);
  o->runtime = runtime;
  o->options = *options;
  o->queue = options->queue ? options->queue : 2 * options->threads + 1;
  o->last = INT64_MAX;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&o->mutex, NULL);
  pthread_cond_init(&o->room, NULL);
  pthread_cond_init(&o->ready, &monotonic);
  pthread_condattr_destroy(&monotonic);
  o->slots = brim_alloc_array_zero(runtime, (size_t)o->queue, sizeof *o->slots);
  o->threads = brim_alloc_array_zero(runtime, (size_t)options->threads, sizeof *o->threads);
  int status = o->slots && o->threads ? start_threads(o, err) : BRIM_NOMEM(err);
  if (status != BRIM_OK) {
    brim_ordered_free(o);
    return status;
  }
  *out = o;
  return BRIM_OK;
}

void brim_ordered_free(brim_ordered *o) {
  if (!o)
    return;
  pthread_mutex_lock(&o->mutex);
  o->stop = true;
  pthread_cond_broadcast(&o->room);
  pthread_mutex_unlock(&o->mutex);
  if (o->started && o->options.interrupt)
    o->options.interrupt(o->options.context);
  for (int i = 0; i < o->started; i++)
    pthread_join(o->threads[i].thread, NULL);
  for (int i = 0; o->slots && i < o->queue; i++)
    if (o->slots[i].done)
      discard(o, o->slots[i].block);
  pthread_cond_destroy(&o->ready);
  pthread_cond_destroy(&o->room);
  pthread_mutex_destroy(&o->mutex);
  brim_release(o->runtime, o->threads);
  brim_release(o->runtime, o->slots);
  brim_release(o->runtime, o);
}
