/* graph.c: the calls of a small part as one launch.
 *
 * A launch takes some microseconds of the host, and a small part's kernels hardly longer: the card waits. The calls of such a
 * part are captured instead, which takes the driver less, and handed over as a graph. Parts differ in how many rows they have, so
 * no graph serves twice as it is; but those with the same kernels in the same order are one class, and the graph that was made
 * for the class takes over the new operands. What is computed, and in which order, is the same.
 *
 * Graphs are a convenience: where the driver has none, a call cannot be captured or a capture comes to nothing, the calls are
 * launched one by one. What fails for another reason fails again then. */
#include <stdlib.h>
#include <string.h>

#include "ops/cuda/cuda.h"

/* Slots of a part up to which the card is taken to wait for launches: its products, 384 wide, take about as long as a launch
 * then.
 *
 * Captures are relaxed: cuBLASLt loads a product's kernels when it first needs them, which the other modes may forbid. */
enum { SMALL = 1024 };

void brim_cuda_open_graphs(brim_cuda *d) {
  const char *told = getenv("BRIM_CUDA_GRAPHS");
  const bool all = told && strcmp(told, "all") == 0, none = told && strcmp(told, "0") == 0;
  d->graphs.most = !d->driver.has_graphs || none ? 0 : all ? INT64_MAX : SMALL;
}

bool brim_cuda_begin(brim_ops_context *c, int64_t slots) {
  brim_cuda *d = c->device;
  if (c->profile || slots > d->graphs.most || !brim_cuda_ready(c))
    return false;
  d->graphs.capturing = d->driver.graph.cuStreamBeginCapture_v2(d->stream, CUDA_CAPTURE_RELAXED) == 0;
  if (!d->graphs.capturing)
    d->graphs.most = 0;
  d->graphs.class = 0xcbf29ce484222325u;
  return d->graphs.capturing;
}

void brim_cuda_note_call(brim_cuda *d, uint64_t what) {
  d->graphs.class = (d->graphs.class ^ what) * 0x100000001b3u;
}

/* ---- classes */

static void forget(brim_cuda *d, brim_cuda_graph *g) {
  if (g->made)
    d->driver.graph.cuGraphExecDestroy(g->made);
  *g = (brim_cuda_graph){0};
}

/* The class's entry, or the one that was taken longest ago, empty. A graph that may be running is waited for. */
static brim_cuda_graph *entry_of(brim_cuda *d) {
  brim_cuda_graphs *all = &d->graphs;
  for (int i = 0; i < BRIM_CUDA_CLASSES; i++)
    if (all->of[i].made && all->of[i].class == all->class)
      return &all->of[i];
  brim_cuda_graph *g = &all->of[all->next];
  all->next = (all->next + 1) % BRIM_CUDA_CLASSES;
  if (g->made)
    d->driver.cuStreamSynchronize(d->stream);
  forget(d, g);
  return g;
}

/* The class's graph with the operands of `captured`; NULL: there is none. */
static void *graph_for(brim_cuda *d, void *captured) {
  uint64_t result[8] = {0}; /* what did not fit: nobody looks */
  brim_cuda_graph *g = entry_of(d);
  if (g->made && d->driver.graph.cuGraphExecUpdate_v2(g->made, captured, result)) {
    d->driver.cuStreamSynchronize(d->stream);
    forget(d, g);
  }
  if (!g->made && d->driver.graph.cuGraphInstantiateWithFlags(&g->made, captured, 0))
    g->made = NULL;
  g->class = d->graphs.class;
  return g->made;
}

bool brim_cuda_end(brim_ops_context *c) {
  brim_cuda *d = c->device;
  void *captured = NULL, *made = NULL;
  if (!d->graphs.capturing)
    return false;
  d->graphs.capturing = false;
  const int code = d->driver.graph.cuStreamEndCapture(d->stream, &captured);
  if (!code && captured && d->status == BRIM_OK)
    made = graph_for(d, captured);
  if (made)
    brim_cuda_check(c, d->driver.graph.cuGraphLaunch(made, d->stream), "cuGraphLaunch");
  if (captured)
    d->driver.graph.cuGraphDestroy(captured);
  if (made)
    return false;
  d->graphs.most = 0;
  d->status = BRIM_OK; /* nothing of the part was queued yet, and nothing had failed before it */
  return true;
}

void brim_cuda_close_graphs(brim_cuda *d) {
  for (int i = 0; i < BRIM_CUDA_CLASSES; i++)
    forget(d, &d->graphs.of[i]);
}
