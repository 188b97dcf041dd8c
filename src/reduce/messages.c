/* messages.c: gradients are summed by the group's own functions, during backward: a thread sums buckets in an order that
 * is the same on all ranks, each as soon as it is ready. Bits are those of a sum afterwards, since each value is added up by
 * itself. Of embeddings only the rows that any rank's texts have are sent. */
#include <pthread.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "dist/group.h"
#include "model/ready.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "reduce/buckets.h"
#include "reduce/way.h"

/* Returns when the gradient from `from` on is ready; with BEGUN when backward has begun, which is when the rows of embeddings are
 * known. */
#define BEGUN (INT64_MAX - 1)
typedef struct waiting {
  void (*wait)(void *context, int64_t from);
  void *context;
} waiting;

static void wait_for(const waiting *w, int64_t from) {
  if (w)
    w->wait(w->context, from);
}

/* ---- rows of embeddings ----------------------------------------------------------------------------------- */

/* Of each rank, and of any. */
typedef struct rows {
  size_t bytes;    /* of a rank's bits */
  uint8_t *bits;   /* [world + 1][bytes] */
  int64_t *counts; /* [world] values of a rank's rows */
  float *packed;   /* the rows of all ranks, where they are gathered */
} rows;

static int join_rows(const brim_reduce *r, const brim_gradient_view *g, const rows *of, brim_error *err) {
  const size_t world = (size_t)r->how.group->world_size;
  uint8_t *any = of->bits + world * of->bytes;
  if (r->tree)
    brim_slice_sums_rows(r->tree, any);
  for (size_t i = 0; i < g->row_count; i++)
    any[i / 8] |= (uint8_t)((g->rows[i] != 0) << i % 8);
  BRIM_TRY(brim_group_gather(r->how.group, r->how.runtime, any, of->bytes, of->bits, err));
  for (size_t rank = 0; rank < world; rank++)
    for (size_t i = 0; i < of->bytes; i++)
      any[i] |= of->bits[rank * of->bytes + i];
  for (size_t i = 0; i < g->row_count; i++)
    g->rows[i] = any[i / 8] >> i % 8 & 1;
  return BRIM_OK;
}

static int take_rows(const brim_reduce *r, const brim_gradient_view *g, rows *of, brim_error *err) {
  const size_t world = (size_t)r->how.group->world_size;
  *of = (rows){.bytes = g->row_count / 8 + 1};
  of->bits = brim_alloc_array_zero(r->how.runtime, world + 1, of->bytes);
  of->counts = brim_alloc_array_zero(r->how.runtime, world, sizeof *of->counts);
  BRIM_TRY(brim_group_agree(r->how.group, of->bits && of->counts ? BRIM_OK : BRIM_NOMEM(err), err));
  return join_rows(r, g, of, err);
}

static void free_rows(brim_runtime *runtime, rows *of) {
  brim_release(runtime, of->bits);
  brim_release(runtime, of->counts);
  brim_release(runtime, of->packed);
}

int brim_reduce_join_rows(brim_reduce *r, brim_error *err) {
  const brim_gradient_view g = brim_gradient_view_of(r->how.model);
  rows of;
  const int status = take_rows(r, &g, &of, err);
  free_rows(r->how.runtime, &of);
  return status;
}

/* Whether ranks that send their own rows to all others send less than in sums of the rows of any: a rank sends each other one its
 * own values there, and here 2 / world of all; two ranks send each other all, which is as many. The same on all ranks. *all:
 * values of the rows of each. */
static bool is_less(const brim_group *group, const brim_gradient_view *g, const rows *of, int64_t *all) {
  int64_t of_any = 0;
  int32_t range = 0;
  for (int64_t offset, count; brim_bucket_next_embedding(g, &range, &offset, &count);)
    of_any += count;
  *all = 0;
  for (int32_t rank = 0; rank < group->world_size; rank++) {
    of->counts[rank] = brim_rows_size(g, of->bits + (size_t)rank * of->bytes);
    if (of->counts[rank] * group->world_size >= 2 * of_any)
      return false;
    *all += of->counts[rank];
  }
  return true;
}

/* of->packed: ranks send their own rows. Along a tree there is a sum of each slice, so they do not. */
static int choose_rows(const brim_reduce *r, const brim_gradient_view *g, rows *of, brim_error *err) {
  int64_t all;
  if (r->tree || !r->how.group->gather_values || !is_less(r->how.group, g, of, &all))
    return BRIM_OK;
  of->packed = brim_alloc_array(r->how.runtime, (size_t)all, sizeof *of->packed);
  return brim_group_agree(r->how.group, of->packed ? BRIM_OK : BRIM_NOMEM(err), err);
}

static int gather_rows(const brim_group *group, const brim_gradient_view *g, const rows *of, float *gradients, brim_error *err) {
  float *own = of->packed;
  for (int32_t rank = 0; rank < group->rank; rank++)
    own += of->counts[rank];
  brim_rows_copy(g, of->bits + (size_t)group->rank * of->bytes, gradients, own);
  BRIM_TRY(group->gather_values(group->context, of->packed, of->counts, err));
  brim_rows_add(g, of->bits, of->bytes, group->world_size, of->packed, gradients);
  return BRIM_OK;
}

/* ---- a sum ------------------------------------------------------------------------------------------------ */

static int sum_bucket(const brim_reduce *r, float *gradients, brim_tree_call call, int64_t offset, int64_t count,
                      brim_error *err) {
  const brim_group *group = r->how.group;
  if (count == 0)
    return BRIM_OK;
  return r->tree ? brim_slice_sums_add(r->tree, gradients, call, offset, count, err)
                 : group->sum(group->context, gradients + offset, count, err);
}

/* In the order in which backward completes them. */
static int sum_dense(const brim_reduce *r, const brim_gradient_view *g, float *gradients, brim_tree_call call, const waiting *w,
                     brim_error *err) {
  int32_t range = 0;
  for (int64_t offset, count; brim_bucket_next(g, &range, &offset, &count);) {
    wait_for(w, offset);
    BRIM_TRY(sum_bucket(r, gradients, call, offset, count, err));
  }
  wait_for(w, 0);
  return BRIM_OK;
}

/* The rows that any rank's texts have. */
static int sum_rows(const brim_reduce *r, const brim_gradient_view *g, float *gradients, brim_error *err) {
  int status = BRIM_OK;
  int32_t range = 0;
  if (r->tree)
    brim_slice_sums_pack(r->tree, g);
  brim_rows_pack(g, gradients);
  for (int64_t offset, count; !status && brim_bucket_next_embedding(g, &range, &offset, &count);)
    status = sum_bucket(r, gradients, BRIM_TREE_ALL, offset, count, err);
  brim_rows_unpack(g, gradients);
  return status;
}

static int sum_mapped(const brim_reduce *r, const brim_gradient_view *g, const rows *of, bool dense, brim_tree_call call,
                      const waiting *w, brim_error *err) {
  float *gradients;
  BRIM_TRY(brim_flat_map(r->how.model, BRIM_GRADIENTS, &gradients, err));
  int status = dense ? sum_dense(r, g, gradients, call, w, err) : BRIM_OK;
  if (!status)
    status = of->packed ? gather_rows(r->how.group, g, of, gradients, err) : sum_rows(r, g, gradients, err);
  if (!status)
    return brim_flat_unmap_summed(r->how.model, gradients, err);
  brim_flat_unmap(r->how.model, gradients);
  return status;
}

/* While this rank's last part is under way: the sums of slices that wait are sent in its forward. */
static int sum_early(const brim_reduce *r, const brim_gradient_view *g, const waiting *w, brim_tree_call *rest, brim_error *err) {
  BRIM_TRY(brim_slice_sums_find_owners(r->tree, err));
  if (brim_slice_sums_any_waits(r->tree)) {
    *rest = BRIM_TREE_LATE;
    BRIM_TRY(sum_dense(r, g, NULL, BRIM_TREE_EARLY, NULL, err));
  }
  wait_for(w, BEGUN);
  return BRIM_OK;
}

static int sum(const brim_reduce *r, bool dense, const waiting *w, brim_error *err) {
  const brim_gradient_view g = brim_gradient_view_of(r->how.model);
  brim_tree_call call = BRIM_TREE_ALL;
  rows of;
  if (w && r->tree)
    BRIM_TRY(sum_early(r, &g, w, &call, err));
  int status = take_rows(r, &g, &of, err);
  if (!status)
    status = choose_rows(r, &g, &of, err);
  if (!status)
    status = sum_mapped(r, &g, &of, dense, call, w, err);
  free_rows(r->how.runtime, &of);
  return status;
}

int brim_reduce_by_messages(brim_reduce *r, bool dense, brim_error *err) {
  return sum(r, dense, NULL, err);
}

/* ---- a thread that sums during backward ------------------------------------------------------------------- */

typedef struct messages {
  brim_reduce *reduce;
  bool overlaps; /* there is a thread */
  brim_ready_hook ready;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool begun, done, stop; /* of the step's sum */
  int64_t complete;       /* the gradient is, from here on */
  int status;
  brim_error error;
} messages;

static void wait_for_bucket(void *context, int64_t from) {
  messages *m = context;
  pthread_mutex_lock(&m->lock);
  while (m->complete > from)
    pthread_cond_wait(&m->changed, &m->lock);
  pthread_mutex_unlock(&m->lock);
}

static void *sum_steps(void *context) {
  messages *m = context;
  const waiting w = {wait_for_bucket, m};
  pthread_mutex_lock(&m->lock);
  for (;;) {
    while (!m->stop && (!m->begun || m->done))
      pthread_cond_wait(&m->changed, &m->lock);
    if (m->stop)
      break;
    pthread_mutex_unlock(&m->lock);
    int status = m->status; /* a group that failed keeps failing */
    if (!status)
      status = sum(m->reduce, true, &w, &m->error);
    pthread_mutex_lock(&m->lock);
    m->status = status;
    m->done = true;
    pthread_cond_broadcast(&m->changed);
  }
  pthread_mutex_unlock(&m->lock);
  return NULL;
}

/* The rows of embeddings that this step reads are known by now. */
static void on_ready(void *context, int64_t from) {
  messages *m = context;
  pthread_mutex_lock(&m->lock);
  m->begun = true;
  m->complete = from;
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->lock);
}

static int start_thread(messages *m, brim_error *err) {
  pthread_mutex_init(&m->lock, NULL);
  pthread_cond_init(&m->changed, NULL);
  const int status = brim_thread_start(&m->thread, sum_steps, m, err);
  m->overlaps = !status;
  if (status) {
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
  }
  return status;
}

static void stop_thread(messages *m) {
  pthread_mutex_lock(&m->lock);
  m->stop = true;
  pthread_cond_broadcast(&m->changed);
  pthread_mutex_unlock(&m->lock);
  pthread_join(m->thread, NULL);
  pthread_cond_destroy(&m->changed);
  pthread_mutex_destroy(&m->lock);
}

/* ---- the way ---------------------------------------------------------------------------------------------- */

/* Sums of slices that a rank adds after its last backward cannot be sent during it. */
static bool can_overlap(const brim_reduce *r) {
  return !r->how.group->apart && brim_model_is_host(r->how.model) && (!r->tree || brim_slice_sums_are_whole(r->tree));
}

static int messages_open(brim_reduce *r, brim_error *err) {
  messages *m = r->state = brim_alloc_zero(r->how.runtime, sizeof *m);
  r->way = &brim_reduce_messages;
  if (!m)
    return brim_group_agree(r->how.group, BRIM_NOMEM(err), err);
  *m = (messages){.reduce = r, .ready = {on_ready, m}, .complete = INT64_MAX};
  return brim_group_agree(r->how.group, can_overlap(r) ? start_thread(m, err) : BRIM_OK, err);
}

static void messages_close(brim_reduce *r) {
  messages *m = r->state;
  if (m && m->overlaps)
    stop_thread(m);
  brim_release(r->how.runtime, m);
}

/* Buckets that this backward completes are summed; of slices, sums that wait for it are complete, and are sent from now on. The
 * group is the thread's until messages_join. */
static void messages_last(brim_reduce *r) {
  messages *m = r->state;
  if (!m->overlaps)
    return;
  brim_model_on_ready(r->how.model, &m->ready);
  if (r->tree)
    on_ready(m, INT64_MAX);
}

/* Also where this rank failed: the others wait for its share, whatever it is. */
static int messages_join(brim_reduce *r, int status, brim_error *err) {
  messages *m = r->state;
  if (!m->overlaps)
    return status;
  brim_model_on_ready(r->how.model, NULL);
  on_ready(m, 0);
  pthread_mutex_lock(&m->lock);
  while (!m->done)
    pthread_cond_wait(&m->changed, &m->lock);
  m->begun = m->done = false;
  m->complete = INT64_MAX;
  if (!status && m->status) {
    status = m->status;
    *err = m->error;
  }
  pthread_mutex_unlock(&m->lock);
  return status;
}

static int messages_sum(brim_reduce *r, brim_error *err) {
  const messages *m = r->state;
  return m->overlaps ? BRIM_OK : brim_reduce_by_messages(r, true, err);
}

const brim_reduce_way brim_reduce_messages = {.name = "messages",
                                              .open = messages_open,
                                              .close = messages_close,
                                              .last = messages_last,
                                              .join = messages_join,
                                              .sum = messages_sum};
