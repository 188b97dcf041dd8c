/* clock.c: how long the card takes for what it is given, where a profile asks.
 *
 * What a kernel, product or transfer takes is between two events of the computing stream, which are read when the host has waited
 * for all, once a step. An event is work too, of a microsecond or two: a profiled run is slower than one that is not, and
 * what follows an event does not begin before what precedes it has ended. Nothing becomes a graph (graph.c), in which there is no
 * event to read. A clock that fails stops; the run continues. */
#include "base/memory.h"
#include "base/profile.h"
#include "brim/profile.h"
#include "ops/cuda/cuda.h"

enum { MARKS = 4096 }; /* a step of 24 layers has about 1,500 */

typedef struct brim_cuda_mark {
  void *begin, *end; /* events; NULL: not made yet */
  const char *name;
} brim_cuda_mark;

static void add_up(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_clock *clock = &d->clock;
  for (int i = 0; i < clock->count && c->profile; i++) {
    const brim_cuda_mark *m = &clock->marks[i];
    float milliseconds = 0;
    if (d->driver.cuEventElapsedTime(&milliseconds, m->begin, m->end) == 0)
      brim_profile_add(c->profile, BRIM_WORK_CARD, m->name, 1e-3 * (double)milliseconds);
  }
  clock->count = 0;
}

/* The next mark, with its events; NULL: there is none, and no clock any more. */
static brim_cuda_mark *next_mark(brim_ops_context *c) {
  brim_cuda *d = c->device;
  const brim_cuda_driver *driver = &d->driver;
  brim_cuda_clock *clock = &d->clock;
  if (!clock->marks)
    clock->marks = brim_alloc_zero(c->runtime, MARKS * sizeof *clock->marks);
  if (clock->marks && clock->count == MARKS) {
    if (driver->cuEventSynchronize(clock->marks[MARKS - 1].end))
      return NULL;
    add_up(c);
  }
  brim_cuda_mark *m = clock->marks ? &clock->marks[clock->count] : NULL;
  if (!m || (!m->begin && driver->cuEventCreate(&m->begin, 0)) || (!m->end && driver->cuEventCreate(&m->end, 0)))
    return NULL;
  return m;
}

void brim_cuda_clock_begin(brim_ops_context *c, const char *name) {
  brim_cuda *d = c->device;
  brim_cuda_clock *clock = &d->clock;
  if (!c->profile || clock->stopped || clock->open || d->status)
    return;
  brim_cuda_mark *m = d->driver.cuEventElapsedTime ? next_mark(c) : NULL;
  clock->open = m && d->driver.cuEventRecord(m->begin, d->stream) == 0;
  clock->stopped = !clock->open;
  if (m)
    m->name = name;
}

void brim_cuda_clock_end(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_clock *clock = &d->clock;
  if (!clock->open)
    return;
  clock->open = false;
  clock->stopped = d->driver.cuEventRecord(clock->marks[clock->count].end, d->stream) != 0;
  clock->count += !clock->stopped;
}

void brim_cuda_clock_read(brim_ops_context *c) {
  brim_cuda *d = c->device;
  if (d->status == BRIM_OK)
    add_up(c);
  else
    d->clock.count = 0;
}

void brim_cuda_clock_close(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_mark *marks = d->clock.marks;
  for (int i = 0; marks && i < MARKS; i++) {
    if (marks[i].begin)
      d->driver.cuEventDestroy_v2(marks[i].begin);
    if (marks[i].end)
      d->driver.cuEventDestroy_v2(marks[i].end);
  }
  brim_release(c->runtime, marks);
  d->clock = (brim_cuda_clock){0};
}
