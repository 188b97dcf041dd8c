/* The ordered map: order, errors in order, closing at any time, use next to the pool, maps on maps. */
#include "base/ordered.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "tap.h"
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

typedef struct job {
  brim_runtime *runtime;
  int64_t count, next;   /* blocks to produce */
  int64_t produce_fails; /* serial number, -1: none */
  int64_t work_fails[2]; /* the same */
  atomic_bool producing;
  atomic_bool overlap;
  atomic_int live; /* blocks made and neither taken nor discarded */
  atomic_int worker_busy[16];
  int most_ahead, queue;
  atomic_int_fast64_t taken;
  bool slow, uses_pool;
  int64_t slow_at, asked;
  brim_ordered *upstream;
} job;

typedef struct block {
  int64_t serial, result;
} block;

static int produce(void *context, void **out, brim_error *err) {
  job *j = context;
  if (atomic_exchange(&j->producing, true))
    atomic_store(&j->overlap, true);
  int64_t serial = j->next;
  int status = BRIM_OK;
  j->asked++;
  if (serial - atomic_load(&j->taken) > j->queue)
    atomic_store(&j->overlap, true);
  if (serial == j->produce_fails) {
    status = brim_error_set(err, BRIM_E_FORMAT, "produce fails at %lld", (long long)serial);
  } else if (serial == j->count) {
    status = BRIM_END;
  } else if (j->upstream) {
    status = brim_ordered_next(j->upstream, out, err);
    j->next++;
  } else {
    block *b = malloc(sizeof *b);
    *b = (block){serial, 0};
    *out = b;
    atomic_fetch_add(&j->live, 1);
    j->next++;
  }
  atomic_store(&j->producing, false);
  return status;
}

static void add_one(void *context, int64_t task, int worker) {
  (void)task, (void)worker;
  atomic_fetch_add((atomic_int_fast64_t *)context, 1);
}

static int work(void *context, void *made, int worker, brim_error *err) {
  job *j = context;
  block *b = made;
  if (atomic_fetch_add(&j->worker_busy[worker], 1) != 0)
    atomic_store(&j->overlap, true);
  bool fails = b->serial == j->work_fails[0] || b->serial == j->work_fails[1];
  if ((j->slow && b->serial % 7 == 0) || fails) {
    struct timespec pause = {0, b->serial == j->slow_at ? 600000 : 200000};
    nanosleep(&pause, NULL);
  }
  b->result += b->serial * 3 + 1;
  if (j->uses_pool) {
    atomic_int_fast64_t sum = 0;
    brim_pool_run(j->runtime, 5, add_one, &sum);
    b->result += sum - 5;
  }
  atomic_fetch_sub(&j->worker_busy[worker], 1);
  if (fails)
    return brim_error_set(err, BRIM_E_MISMATCH, "work fails at %lld", (long long)b->serial);
  return BRIM_OK;
}

static void discard(void *context, void *made) {
  job *j = context;
  atomic_fetch_sub(&j->live, 1);
  free(made);
}

static job make_job(brim_runtime *runtime, int64_t count) {
  return (job){.runtime = runtime, .count = count, .produce_fails = -1, .work_fails = {-1, -1}, .slow_at = -1, .queue = 1 << 20};
}

static brim_ordered *open_map(job *j, int threads, int queue) {
  brim_ordered *o = NULL;
  brim_error err;
  brim_ordered_options options = {
      .threads = threads, .queue = queue, .produce = produce, .work = work, .discard = discard, .context = j};
  j->queue = queue ? queue : 2 * threads + 1;
  if (brim_ordered_new(j->runtime, &options, &o, &err) != BRIM_OK) {
    printf("Bail out! %s\n", err.message);
    exit(1);
  }
  return o;
}

/* Takes up to `most` blocks; the number that came, in order and with the right result. */
static int64_t take(job *j, brim_ordered *o, int64_t most, int64_t from, int64_t times, int *status, brim_error *err) {
  void *made;
  int64_t count = 0;
  *status = BRIM_OK;
  while (count < most && (*status = brim_ordered_next(o, &made, err)) == BRIM_OK) {
    block *b = made;
    bool good = b->serial == from + count && b->result == times * (b->serial * 3 + 1);
    atomic_fetch_add(&j->taken, 1);
    discard(j, b);
    if (!good)
      return -1;
    count++;
  }
  return count;
}

static void in_order(brim_runtime *runtime, int threads, int queue) {
  job j = make_job(runtime, 2000);
  brim_error err = {.code = 77};
  int status;
  j.slow = threads > 1;
  brim_ordered *o = open_map(&j, threads, queue);
  ok_int(take(&j, o, INT64_MAX, 0, 1, &status, &err), 2000, "all blocks in order");
  ok(status == BRIM_END && err.code == 77, "then the end, which is no error");
  const int64_t asked = j.asked;
  ok_int(take(&j, o, 1, 0, 1, &status, &err), 0, "and again");
  ok(j.asked == asked, "once it has ended nothing more is asked for");
  brim_ordered_free(o);
  ok(!atomic_load(&j.overlap), "%d threads, queue %d: one produce at a time, one block a worker, no more in flight than allowed",
     threads, queue);
  ok_int(atomic_load(&j.live), 0, "no block is lost");
}

static void errors_in_order(brim_runtime *runtime, int threads) {
  bool good = true;
  for (int trial = 0; trial < 40; trial++) {
    job j = make_job(runtime, 100);
    brim_error err = {0};
    int status;
    j.work_fails[0] = 30 + trial % 3;
    j.work_fails[1] = 31;
    j.slow_at = 30 + trial / 3 % 2; /* which of them fails first by the clock */
    j.produce_fails = trial % 2 ? 33 : 20;
    int64_t first = j.produce_fails < j.work_fails[0] ? j.produce_fails : j.work_fails[0] < 31 ? j.work_fails[0] : 31;
    brim_ordered *o = open_map(&j, threads, 0);
    good = good && take(&j, o, INT64_MAX, 0, 1, &status, &err) == first;
    good = good && status == (first == 20 ? BRIM_E_FORMAT : BRIM_E_MISMATCH);
    char want[64];
    snprintf(want, sizeof want, "%s fails at %lld", first == 20 ? "produce" : "work", (long long)first);
    good = good && strcmp(err.message, want) == 0;
    err = (brim_error){0};
    nanosleep(&(struct timespec){0, 1000000}, NULL); /* the slow one fails now */
    void *made;
    good = good && brim_ordered_next(o, &made, &err) == status && !made && strcmp(err.message, want) == 0;
    brim_ordered_free(o);
    good = good && atomic_load(&j.live) == 0;
  }
  ok(good, "%d threads: the first error by serial number, after all blocks before it, again and again", threads);
}

/* Closing after any number of blocks neither hangs nor loses one. */
static void thrash(brim_runtime *runtime) {
  bool good = true;
  for (int trial = 0; trial < 300; trial++) {
    job j = make_job(runtime, trial % 11 ? 50 : INT64_MAX);
    brim_error err;
    int status;
    int threads = trial % 5, queue = trial % 4;
    j.slow = trial % 2;
    brim_ordered *o = open_map(&j, threads, queue);
    int64_t most = trial % 60;
    int64_t want = j.count < most ? j.count : most;
    good = good && take(&j, o, most, 0, 1, &status, &err) == want;
    brim_ordered_free(o);
    good = good && atomic_load(&j.live) == 0 && !atomic_load(&j.overlap);
  }
  ok(good, "three hundred maps, closed anywhere");
}

static void compute_task(void *context, int64_t task, int worker) {
  (void)worker;
  double *out = context;
  for (int i = 1; i < 200; i++)
    out[task] += 1.0 / i;
}

/* The map runs ahead while the pool computes, and its work uses the pool too: neither waits for the other. */
static void beside_pool(brim_runtime *runtime) {
  job j = make_job(runtime, 400);
  brim_error err;
  int status;
  double sums[64] = {0};
  int64_t got = 0;
  j.uses_pool = true;
  brim_ordered *o = open_map(&j, 3, 0);
  do {
    brim_pool_run(runtime, 64, compute_task, sums);
    got += take(&j, o, 1, got, 1, &status, &err);
  } while (status == BRIM_OK);
  ok(got == 400 && status == BRIM_END, "pool and map at once");
  brim_ordered_free(o);
}

static void stacked(brim_runtime *runtime) {
  job first = make_job(runtime, 500), second = make_job(runtime, INT64_MAX);
  brim_error err;
  int status;
  first.slow = true;
  brim_ordered *lower = open_map(&first, 2, 0);
  second.upstream = lower;
  brim_ordered *upper = open_map(&second, 2, 0);
  ok_int(take(&second, upper, INT64_MAX, 0, 2, &status, &err), 500, "a map on a map");
  ok_int(status, BRIM_END, "the end comes through");
  brim_ordered_free(upper);
  brim_ordered_free(lower);
  ok_int(atomic_load(&first.live) + atomic_load(&second.live), 0, "all blocks are gone");
}

typedef struct waiting {
  int pipe[2];
} waiting;

static int wait_for_pipe(void *context, void **out, brim_error *err) {
  waiting *w = context;
  char byte;
  *out = NULL;
  return read(w->pipe[0], &byte, 1) == 0 ? BRIM_END : brim_error_set(err, BRIM_E_IO, "interrupted");
}

static void interrupt_pipe(void *context) {
  waiting *w = context;
  ssize_t n = write(w->pipe[1], "", 1);
  (void)n;
}

static void waiting_input(void) {
  brim_runtime *runtime;
  brim_ordered *o;
  waiting w;
  void *made;
  brim_error err;
  if (pipe(w.pipe) != 0 || brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    exit(1);
  brim_ordered_options options = {.threads = 2, .produce = wait_for_pipe, .interrupt = interrupt_pipe, .context = &w};
  ok_int(brim_ordered_new(runtime, &options, &o, &err), BRIM_OK, "a map that waits for input");
  brim_runtime_cancel(runtime);
  ok_int(brim_ordered_next(o, &made, &err), BRIM_E_CANCELLED, "cancelling ends the wait");
  brim_ordered_free(o);
  ok(true, "closing interrupts what waits");
  options.threads = -1;
  ok_int(brim_ordered_new(runtime, &options, &o, &err), BRIM_E_USAGE, "a negative number of threads");
  ok(o == NULL, "gives nothing");
  brim_ordered_free(NULL);
  brim_runtime_free(runtime);
}

int main(void) {
  brim_runtime *runtime;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 3}, &runtime, NULL) != BRIM_OK)
    return 1;
  for (int threads = 0; threads < 5; threads++) {
    in_order(runtime, threads, 0);
    in_order(runtime, threads, 1);
    errors_in_order(runtime, threads);
  }
  thrash(runtime);
  beside_pool(runtime);
  stacked(runtime);
  brim_runtime_free(runtime);
  waiting_input();
  return tap_done();
}
