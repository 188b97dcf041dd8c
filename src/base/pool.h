/* pool.h: the runtime's threads. A parallel for; see ordered.h for pipelines of blocks.
 *
 * The caller takes part as worker 0, the pool's own threads are workers 1 .. threads-1. Which worker does which task depends on
 * timing, so a result must depend on the task number alone; `worker` serves to find scratch memory. */
#ifndef BRIM_BASE_POOL_H
#define BRIM_BASE_POOL_H
#include "brim/base.h"

typedef void (*brim_task_fn)(void *context, int64_t task, int worker);

/* Calls fn(context, t, worker) for every t in 0 .. tasks-1 and returns when all are done. Never fails and never allocates.
 * A call from inside a task runs inline, as the worker of that task. When another thread is already using the pool the call runs
 * inline too, as worker 0 (so scratch that is found by worker must belong to the object at hand, not to the runtime). Between
 * calls the threads spin for some microseconds, then sleep. */
void brim_pool_run(brim_runtime *runtime, int64_t tasks, brim_task_fn fn, void *context);

/* Used by the runtime. */
struct brim_pool;
int brim_pool_new(brim_runtime *runtime, int threads, struct brim_pool **out, brim_error *err) BRIM_CHECK;
void brim_pool_free(struct brim_pool *pool);
/* In the child of a fork: forgets the threads, which only the parent has. */
void brim_pool_forked(struct brim_pool *pool);

#endif
