/* run.c: tasks of one operation on the runtime's pool. */
#include "ops/cpu/cpu.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

typedef struct job {
  brim_task_fn fn;
  void *context;
} job;

/* Results below 1.2e-38 become 0 while a task runs: they mean nothing, but each would cost a hundred cycles. Set in every task,
 * so that it does not matter which thread runs it. */
static void run_task(void *context, int64_t task, int worker) {
  const job *j = context;
#if defined(__SSE2__)
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040); /* flush to zero, denormals are zero */
  j->fn(j->context, task, worker);
  _mm_setcsr(mode);
#else
  j->fn(j->context, task, worker);
#endif
}

void CPU(run)(brim_ops_context *c, int64_t tasks, brim_task_fn fn, void *context) {
  job j = {fn, context};
  if (tasks > 0)
    brim_pool_run(c->runtime, tasks, run_task, &j);
}
