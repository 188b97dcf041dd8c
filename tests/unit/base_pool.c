/* The pool: every task once, nested and concurrent calls, no dependence on the number of threads. */
#include "base/pool.h"
#include "base/runtime.h"
#include "tap.h"
#include <pthread.h>
#include <stdatomic.h>

enum { MOST = 5000 };

typedef struct tally {
  brim_runtime *runtime;
  int threads;
  atomic_int seen[MOST];
  atomic_int inside[64]; /* tasks that a worker is in the midst of */
  atomic_bool wrong;
  int64_t inner;
} tally;

static void count_task(void *context, int64_t task, int worker) {
  tally *t = context;
  if (worker < 0 || worker >= t->threads || atomic_fetch_add(&t->inside[worker], 1) != 0)
    atomic_store(&t->wrong, true);
  atomic_fetch_add(&t->seen[task], 1);
  atomic_fetch_sub(&t->inside[worker], 1);
}

static bool each_once(tally *t, int64_t tasks, int times) {
  bool good = !atomic_load(&t->wrong);
  for (int64_t i = 0; i < MOST; i++) {
    good = good && atomic_load(&t->seen[i]) == (i < tasks ? times : 0);
    atomic_store(&t->seen[i], 0);
  }
  return good;
}

static tally shared;

static void many_jobs(brim_runtime *runtime, int threads) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, MOST};
  bool good = true;
  shared.threads = threads;
  shared.runtime = runtime;
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    brim_pool_run(runtime, sizes[s], count_task, &shared);
    good = each_once(&shared, sizes[s], 1) && good;
  }
  ok(good, "%d threads: every task once", threads);
  for (int i = 0; i < 3000; i++)
    brim_pool_run(runtime, i % 5, count_task, &shared);
  int total = 0;
  for (int i = 0; i < 4; i++)
    total += atomic_exchange(&shared.seen[i], 0);
  ok(total == 6000 && !atomic_load(&shared.wrong), "%d threads: thousands of tiny jobs in a row (%d tasks)", threads, total);
}

typedef struct nested {
  brim_runtime *runtime;
  atomic_int count;
  atomic_bool wrong;
  int outer[64];
} nested;

typedef struct inner_call {
  nested *all;
  int worker;
} inner_call;

static void inner_task(void *context, int64_t task, int worker) {
  inner_call *call = context;
  (void)task;
  atomic_fetch_add(&call->all->count, 1);
  if (worker != call->worker)
    atomic_store(&call->all->wrong, true);
}

static void outer_task(void *context, int64_t task, int worker) {
  (void)task;
  inner_call call = {context, worker};
  brim_pool_run(call.all->runtime, 10, inner_task, &call);
}

static void nested_calls(brim_runtime *runtime) {
  nested n = {.runtime = runtime};
  brim_pool_run(runtime, 200, outer_task, &n);
  ok(atomic_load(&n.count) == 2000 && !atomic_load(&n.wrong), "calls from tasks run inline, as the same worker");
}

static void *other_caller(void *context) {
  tally *t = context;
  for (int i = 0; i < 500; i++)
    brim_pool_run(t->runtime, 20, count_task, t);
  return NULL;
}

static void concurrent_callers(brim_runtime *runtime, int threads) {
  static tally own[3];
  pthread_t callers[3];
  bool good = true;
  for (int i = 0; i < 3; i++) {
    own[i].runtime = runtime;
    own[i].threads = threads;
    if (pthread_create(&callers[i], NULL, other_caller, &own[i]) != 0)
      exit(1);
  }
  for (int i = 0; i < 3; i++)
    pthread_join(callers[i], NULL);
  for (int i = 0; i < 3; i++)
    good = each_once(&own[i], 20, 500) && good;
  ok(good, "three callers at once: nobody waits, nothing is lost");
}

static void sleepy_task(void *context, int64_t task, int worker) {
  (void)worker;
  struct timespec pause = {0, (long)(task % 3) * 300000};
  nanosleep(&pause, NULL);
  atomic_fetch_add((atomic_int *)context, 1);
}

/* Long tasks and long gaps: threads and caller fall asleep and are woken. */
static void sleeping(brim_runtime *runtime) {
  atomic_int count = 0;
  bool good = true;
  struct timespec pause = {0, 2000000};
  for (int i = 1; i <= 20; i++) {
    brim_pool_run(runtime, 8, sleepy_task, &count);
    good = good && atomic_load(&count) == 8 * i;
    nanosleep(&pause, NULL);
  }
  ok(good, "tasks and gaps that are longer than the spinning");
}

int main(void) {
  static const int threads[] = {1, 2, 3, 8};
  for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
    brim_runtime *runtime;
    if (brim_runtime_new(&(brim_runtime_options){.threads = threads[i]}, &runtime, NULL) != BRIM_OK)
      return 1;
    many_jobs(runtime, threads[i]);
    nested_calls(runtime);
    concurrent_callers(runtime, threads[i]);
    sleeping(runtime);
    brim_runtime_free(runtime);
  }
  for (int i = 0; i < 50; i++) {
    brim_runtime *runtime;
    if (brim_runtime_new(&(brim_runtime_options){.threads = 4}, &runtime, NULL) != BRIM_OK)
      return 1;
    if (i % 2)
      brim_pool_run(runtime, 4, count_task, &shared);
    brim_runtime_free(runtime);
  }
  ok(true, "pools come and go");
  return tap_done();
}
