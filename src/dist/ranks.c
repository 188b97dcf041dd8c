/* ranks.c: ranks begin and end together. */
#include "dist/ranks.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "dist/machine.h"

#define MAGIC "brimhi1"

enum { TIMEOUT = 20, PATIENCE_AT_START = 60, PATIENCE_AT_FAILURE = 10, PATIENCE_AT_END = 5, PAUSE = 2 }; /* seconds */

/* ---- who is there ----------------------------------------------------------------------------------------- */

static void fill_hello(brim_hello *h) {
  char build[BRIM_BUILD_SIZE];
  cpu_set_t cores;
  brim_build(build);
  *h = (brim_hello){.magic = MAGIC, .process = (int64_t)getpid()};
  snprintf(h->version, sizeof h->version, "%.30s (build %s)", brim_version(), build);
  if (gethostname(h->host, sizeof h->host - 1) != 0)
    snprintf(h->host, sizeof h->host, "unknown");
  h->machine = brim_machine_id();
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0)
    h->cores = brim_hash64(&cores, sizeof cores, h->machine);
}

static int pass_on(brim_ranks *r, bool sends, void *data, size_t bytes, int32_t rank, brim_error *err) {
  bool pending = true;
  brim_mpi_handle request;
  pthread_mutex_lock(&r->door);
  const int code = sends ? r->wire.send(r->wire.context, data, bytes, rank, TAG_HELLO, &request)
                         : r->wire.receive(r->wire.context, data, bytes, rank, TAG_HELLO, &request);
  pthread_mutex_unlock(&r->door);
  if (code)
    return brim_error_set(err, BRIM_E_IO, "MPI could not %s rank %d", sends ? "send to" : "receive from", (int)rank);
  return brim_exchange_wait(r, &request, &pending, 1, false, PATIENCE_AT_START, err);
}

/* Everybody to rank 0, and the table to everybody. */
static int say_hello(brim_ranks *r, brim_error *err) {
  const int32_t world = r->wire.world;
  fill_hello(&r->hellos[r->wire.rank]);
  if (r->wire.rank != 0) {
    BRIM_TRY(pass_on(r, true, &r->hellos[r->wire.rank], sizeof *r->hellos, 0, err));
    return pass_on(r, false, r->hellos, (size_t)world * sizeof *r->hellos, 0, err);
  }
  for (int32_t rank = 1; rank < world; rank++)
    BRIM_TRY(pass_on(r, false, &r->hellos[rank], sizeof *r->hellos, rank, err));
  for (int32_t rank = 1; rank < world; rank++)
    BRIM_TRY(pass_on(r, true, r->hellos, (size_t)world * sizeof *r->hellos, rank, err));
  return BRIM_OK;
}

static int check_hellos(const brim_ranks *r, brim_error *err) {
  const brim_hello *first = &r->hellos[0];
  for (int32_t rank = 0; rank < r->wire.world; rank++) {
    const brim_hello *h = &r->hellos[rank];
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0 || strcmp(h->version, first->version) != 0)
      return brim_error_set(err, BRIM_E_MISMATCH,
                            "rank %d on %.60s runs brim %.40s, rank 0 on %.60s brim %.40s: install the same on all", (int)rank,
                            h->host, h->version, first->host, first->version);
  }
  return BRIM_OK;
}

/* ---- begin ------------------------------------------------------------------------------------------------ */

static void free_ranks(brim_ranks *r) {
  pthread_cond_destroy(&r->wake);
  pthread_mutex_destroy(&r->door);
  brim_release(r->runtime, r->hellos);
  brim_release(r->runtime, r->peers);
  brim_release(r->runtime, r->requests);
  brim_release(r->runtime, r->pending);
  brim_release(r->runtime, r->sent);
  brim_release(r->runtime, r->received);
  brim_release(r->runtime, r);
}

static int begin(brim_ranks *r, brim_error *err) {
  const size_t world = (size_t)r->wire.world;
  r->hellos = brim_alloc_array_zero(r->runtime, world, sizeof *r->hellos);
  r->peers = brim_alloc_array_zero(r->runtime, world, sizeof *r->peers);
  r->requests = brim_alloc_array_zero(r->runtime, 2 * world, sizeof *r->requests);
  r->pending = brim_alloc_array_zero(r->runtime, 2 * world, sizeof *r->pending);
  if (!r->hellos || !r->peers || !r->requests || !r->pending)
    return BRIM_NOMEM(err);
  BRIM_TRY(say_hello(r, err));
  BRIM_TRY(check_hellos(r, err));
  return world > 1 ? brim_heartbeat_start(r, err) : BRIM_OK;
}

int brim_ranks_new(brim_runtime *runtime, const brim_wire *wire, const brim_ranks_options *options, brim_ranks **out,
                   brim_error *err) {
  pthread_condattr_t monotonic;
  *out = NULL;
  brim_ranks *r = brim_alloc_zero(runtime, sizeof *r);
  if (!r)
    return BRIM_NOMEM(err);
  r->runtime = runtime, r->wire = *wire;
  if (options)
    r->options = *options;
  if (r->options.timeout <= 0)
    r->options.timeout = TIMEOUT;
  const char *overlap = getenv("BRIM_OVERLAP"), *shared = getenv("BRIM_SHARED");
  r->group = (brim_group){.rank = wire->rank,
                          .world_size = wire->world,
                          .sum = brim_exchange_sum,
                          .sum_double = brim_exchange_sum_double,
                          .sum_tree = brim_exchange_sum_tree,
                          .apart = overlap && strcmp(overlap, "none") == 0,
                          .messages = shared && strcmp(shared, "none") == 0,
                          .gather_values = brim_exchange_gather,
                          .context = r};
  pthread_mutex_init(&r->door, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&r->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  const int status = begin(r, err);
  if (status) {
    free_ranks(r);
    return status;
  }
  *out = r;
  return BRIM_OK;
}

static int mpi_send(void *mpi, const void *data, size_t bytes, int32_t to, int tag, brim_mpi_handle *request) {
  return ((brim_mpi *)mpi)->kind->send(mpi, data, bytes, to, tag, request);
}

static int mpi_receive(void *mpi, void *data, size_t bytes, int32_t from, int tag, brim_mpi_handle *request) {
  return ((brim_mpi *)mpi)->kind->receive(mpi, data, bytes, from, tag, request);
}

static int mpi_test(void *mpi, brim_mpi_handle *request, bool *done) {
  return ((brim_mpi *)mpi)->kind->test(mpi, request, done);
}

int brim_ranks_open(brim_runtime *runtime, const brim_ranks_options *options, brim_ranks **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  brim_mpi *mpi = brim_alloc_zero(runtime, sizeof *mpi);
  if (!mpi)
    return BRIM_NOMEM(err);
  int status = brim_mpi_load(options ? options->library : NULL, mpi, err);
  if (!status)
    status = brim_mpi_start(mpi, err);
  const brim_wire wire = {
      .rank = mpi->rank, .world = mpi->size, .context = mpi, .send = mpi_send, .receive = mpi_receive, .test = mpi_test};
  if (!status)
    status = brim_ranks_new(runtime, &wire, options, out, err);
  if (status)
    brim_release(runtime, mpi);
  else
    (*out)->mpi = mpi;
  return status;
}

const brim_group *brim_ranks_group(const brim_ranks *r) {
  return &r->group;
}

const char *brim_ranks_library(const brim_ranks *r) {
  return r->mpi ? r->mpi->name : "";
}

int32_t brim_ranks_sharing(const brim_ranks *r) {
  int32_t count = 0;
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    count += r->hellos[rank].cores == r->hellos[r->wire.rank].cores;
  return count;
}

/* ---- end -------------------------------------------------------------------------------------------------- */

static const char *after(const brim_error *err, const char *text) {
  const size_t length = strlen(text);
  return strncmp(err->message, text, length) == 0 ? err->message + length : NULL;
}

/* A rank that only says that another one failed, or repeats what it heard, has nothing to say but what follows,
 * "; the checkpoint of step 20 is kept ...". NULL: all of it is its own. */
static const char *said_besides(const brim_ranks *r, const brim_error *err) {
  const char *rest = after(err, BRIM_FAILED_ELSEWHERE);
  return rest || r->broke || !atomic_load(&r->broken) ? rest : after(err, r->cause.text);
}

static bool all_released(const brim_ranks *r) {
  bool all = true;
  for (int32_t rank = 1; rank < r->wire.world; rank++)
    all = all && (r->peers[rank].lost || (r->peers[rank].released && !r->peers[rank].sending));
  return all;
}

/* Door is held, and open in between. True: it came. `from`: when patience begins to run out, which it does only where a rank
 * failed, or `always`. */
static bool wait_for(brim_ranks *r, bool (*what)(const brim_ranks *), double patience, bool always) {
  double since = brim_seconds_now();
  while (!what(r)) {
    const bool failing = always || atomic_load(&r->broken) || r->own.status || r->failed.status;
    if (!failing)
      since = brim_seconds_now();
    if (brim_seconds_now() - since > patience)
      return false;
    pthread_mutex_unlock(&r->door);
    usleep(2000);
    pthread_mutex_lock(&r->door);
  }
  return true;
}

static bool may_go(const brim_ranks *r) {
  return r->go || r->peers[0].lost;
}

static int cause_of(const brim_ranks *r, brim_error *err, const char *besides) {
  return brim_error_set(err, r->cause.status ? r->cause.status : BRIM_E_IO, "%s%s", r->cause.text, besides);
}

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), size = strlen(end);
  return length >= size && strcmp(text + length - size, end) == 0;
}

/* Rank 0, which has no failure itself: that of the first rank which has one, or what was noticed. `besides` follows. */
static int tell(brim_ranks *r, int status, brim_error *err, const char *besides) {
  for (int32_t rank = 1; rank < r->wire.world; rank++) {
    const brim_beat *b = &r->peers[rank].left_with;
    if (r->peers[rank].left && b->status && b->text[0])
      return brim_error_set(err, b->status, "rank %d: %s%s", (int)rank, b->text, ends_with(b->text, besides) ? "" : besides);
  }
  return atomic_load(&r->broken) ? cause_of(r, err, besides) : status;
}

int brim_ranks_settle(brim_ranks *r, int status, brim_error *err, bool *speaks) {
  BRIM_OUT(err, speaks);
  BRIM_GIVEN_AS(err, "ranks", r);
  *speaks = r->wire.rank == 0;
  if (r->wire.world <= 1 || r->settled)
    return status;
  pthread_mutex_lock(&r->door);
  const char *rest = status ? said_besides(r, err) : "";
  char besides[sizeof err->message];
  snprintf(besides, sizeof besides, "%s", rest ? rest : "");
  r->own = (brim_beat){.kind = BEAT_LEAVE, .about = r->wire.rank, .status = status};
  if (!rest)
    brim_error_text(err, r->own.text, sizeof r->own.text);
  r->settled = r->leaving = true;
  if (status && r->wire.rank == 0)
    brim_heartbeat_failed(r, 0, &r->own);
  pthread_cond_signal(&r->wake);
  if (r->wire.rank == 0) {
    wait_for(r, brim_heartbeat_all_ended, PATIENCE_AT_FAILURE, false);
    if (rest)
      status = tell(r, status, err, besides);
  } else if (r->peers[0].lost) {
    *speaks = r->wire.rank == 1;
    if (!status)
      r->own.status = status = cause_of(r, err, "");
  }
  const bool yields = r->peers[0].lost && !*speaks;
  pthread_mutex_unlock(&r->door);
  if (yields)
    sleep(PAUSE); /* many launchers end all ranks as soon as one ends: the one that speaks comes first */
  return status;
}

/* Rank 0 was lost after this rank had settled, in good order: nobody has said it yet. */
static void tell_late(const brim_ranks *r) {
  if (!r->is_process || !r->settled || r->own.status || !r->peers[0].lost)
    return;
  if (r->wire.rank == 1)
    brim_process_tell(r->cause.text);
  else
    sleep(PAUSE); /* as in brim_ranks_settle */
}

void brim_ranks_end_with(brim_ranks *r, int code) {
  r->has_code = true, r->code = code;
}

bool brim_ranks_close(brim_ranks *r) {
  if (!r)
    return true;
  bool whole = true;
  pthread_mutex_lock(&r->door);
  if (r->wire.world > 1 && r->settled) {
    r->releasing = true;
    pthread_cond_signal(&r->wake);
    whole = r->wire.rank == 0 ? wait_for(r, all_released, PATIENCE_AT_END, true)
                              : wait_for(r, may_go, PATIENCE_AT_FAILURE, false);
  }
  pthread_mutex_unlock(&r->door);
  brim_heartbeat_stop(r);
  if (atomic_load(&r->broken))
    tell_late(r);
  if (!whole || atomic_load(&r->broken))
    return false; /* messages may be under way, out of and into this memory: it stays */
  if (r->mpi) {
    brim_process_end_mpi(r);
    brim_release(r->runtime, r->mpi);
  }
  free_ranks(r);
  return true;
}
