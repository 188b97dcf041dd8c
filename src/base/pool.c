/* One job at a time. Its tasks are handed out by an atomic counter. Threads join a job while it is open and the caller waits only
 * for those that joined, so a thread that is slow to wake delays nobody. Between jobs a thread spins a little before it sleeps,
 * because a training step makes hundreds of short calls in a row. */
#include "base/pool.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "base/thread.h"
#include <pthread.h>
#include <stdatomic.h>

#define SPIN_SECONDS 40e-6

/* `state`: number of the job, whether it may still be joined, how many threads are inside. */
#define JOB    (UINT64_C(1) << 32)
#define OPEN   (UINT64_C(1) << 31)
#define INSIDE (OPEN - 1)

typedef struct brim_worker {
  struct brim_pool *pool;
  pthread_t thread;
  int number;
} brim_worker;

struct brim_pool {
  brim_runtime *runtime;
  int started; /* own threads */
  bool spin;   /* pointless when there are more threads than cores */
  atomic_bool busy;
  brim_task_fn fn; /* the job: written before it is opened */
  void *context;
  int64_t tasks;
  _Alignas(64) atomic_int_fast64_t next; /* task */
  _Alignas(64) atomic_uint_fast64_t state;
  atomic_bool stop, caller_sleeps;
  atomic_int sleepers;
  pthread_mutex_t mutex;
  pthread_cond_t wake, done;
  brim_worker workers[];
};

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

typedef bool (*test_fn)(struct brim_pool *pool, uint64_t seen);

/* True as soon as `ready` holds, false when that takes too long. */
static bool spin_until(test_fn ready, struct brim_pool *pool, uint64_t seen) {
  if (ready(pool, seen))
    return true;
  if (!pool->spin)
    return false;
  const double end = brim_seconds_now() + SPIN_SECONDS;
  do {
    for (int i = 0; i < 32; i++) {
      relax();
      if (ready(pool, seen))
        return true;
    }
  } while (brim_seconds_now() < end);
  return false;
}

/* A job other than the one seen last can be joined, or the pool ends. */
static bool job_waits(struct brim_pool *pool, uint64_t seen) {
  uint64_t state = atomic_load(&pool->state);
  return ((state & OPEN) && state / JOB != seen) || atomic_load(&pool->stop);
}

static bool nobody_inside(struct brim_pool *pool, uint64_t seen) {
  (void)seen;
  return (atomic_load(&pool->state) & INSIDE) == 0;
}

static void run_tasks(struct brim_pool *pool, int worker) {
  brim_task_fn fn = pool->fn;
  void *context = pool->context;
  for (;;) {
    int64_t task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (task >= pool->tasks)
      return;
    fn(context, task, worker);
  }
}

/* A thread announces that it sleeps before it looks for the last time; a caller opens the job before it looks for sleepers. One
 * of the two sees the other. */
static void sleep_until_job(struct brim_pool *pool, uint64_t seen) {
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->sleepers, 1);
  while (!job_waits(pool, seen))
    pthread_cond_wait(&pool->wake, &pool->mutex);
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->mutex);
}

static bool join_job(struct brim_pool *pool, uint64_t *seen) {
  uint64_t state = atomic_load(&pool->state);
  while ((state & OPEN) && state / JOB != *seen)
    if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
      *seen = state / JOB;
      return true;
    }
  return false;
}

static void leave_job(struct brim_pool *pool) {
  uint64_t before = atomic_fetch_sub(&pool->state, 1);
  if ((before & INSIDE) != 1 || !atomic_load(&pool->caller_sleeps))
    return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *context) {
  brim_worker *worker = context;
  struct brim_pool *pool = worker->pool;
  uint64_t seen = 0;
  for (;;) {
    if (!spin_until(job_waits, pool, seen))
      sleep_until_job(pool, seen);
    if (atomic_load(&pool->stop))
      return NULL;
    if (!join_job(pool, &seen))
      continue;
    run_tasks(pool, worker->number);
    leave_job(pool);
  }
}

static void open_job(struct brim_pool *pool, int64_t tasks, brim_task_fn fn, void *context) {
  pool->fn = fn;
  pool->context = context;
  pool->tasks = tasks;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  uint64_t job = atomic_load(&pool->state) / JOB + 1;
  atomic_store(&pool->state, (job & UINT32_MAX) * JOB | OPEN);
  int sleepers = atomic_load(&pool->sleepers);
  if (!sleepers)
    return;
  pthread_mutex_lock(&pool->mutex);
  if (tasks - 1 < sleepers)
    for (int64_t i = 0; i < tasks - 1; i++)
      pthread_cond_signal(&pool->wake);
  else
    pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

static void close_job(struct brim_pool *pool) {
  atomic_fetch_and(&pool->state, ~OPEN);
  if (spin_until(nobody_inside, pool, 0))
    return;
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->caller_sleeps, true);
  while (!nobody_inside(pool, 0))
    pthread_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->caller_sleeps, false);
  pthread_mutex_unlock(&pool->mutex);
}

/* The number under which a thread that cannot have the pool runs: its own if it is one of the pool's, inside a task. */
static int number_of_self(const struct brim_pool *pool) {
  pthread_t self = pthread_self();
  for (int i = 0; i < pool->started; i++)
    if (pthread_equal(pool->workers[i].thread, self))
      return pool->workers[i].number;
  return 0;
}

void brim_pool_run(brim_runtime *runtime, int64_t tasks, brim_task_fn fn, void *context) {
  struct brim_pool *pool = runtime->pool;
  bool idle = false;
  bool mine = tasks > 1 && pool->started && atomic_compare_exchange_strong(&pool->busy, &idle, true);
  if (!mine) {
    int number = pool->started && atomic_load(&pool->busy) ? number_of_self(pool) : 0;
    for (int64_t task = 0; task < tasks; task++)
      fn(context, task, number);
    return;
  }
  open_job(pool, tasks, fn, context);
  run_tasks(pool, 0);
  close_job(pool);
  atomic_store(&pool->busy, false);
}

int brim_pool_new(brim_runtime *runtime, int threads, struct brim_pool **out, brim_error *err) {
  *out = NULL;
  size_t workers = threads > 1 ? (size_t)threads - 1 : 0;
  struct brim_pool *pool = brim_alloc_aligned(runtime, sizeof *pool + workers * sizeof pool->workers[0]);
  if (!pool)
    return BRIM_NOMEM(err);
  *pool = (struct brim_pool){.runtime = runtime, .spin = threads <= brim_cores_allowed()};
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
  for (size_t i = 0; i < workers; i++) {
    pool->workers[i] = (brim_worker){.pool = pool, .number = (int)i + 1};
    int status = brim_thread_start(&pool->workers[i].thread, worker_main, &pool->workers[i], err);
    if (status != BRIM_OK) {
      brim_pool_free(pool);
      return status;
    }
    pool->started++;
  }
  *out = pool;
  return BRIM_OK;
}

void brim_pool_forked(struct brim_pool *pool) {
  pool->started = 0;
  atomic_store(&pool->busy, false);
  atomic_store(&pool->sleepers, 0);
  pthread_mutex_init(&pool->mutex, NULL); /* as the fork left them they may count waiting threads */
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
}

void brim_pool_free(struct brim_pool *pool) {
  if (!pool)
    return;
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->started; i++)
    pthread_join(pool->workers[i].thread, NULL);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  brim_release_aligned(pool->runtime, pool);
}
