/* heartbeat.c: a thread that sends rank 0 a sign that this rank lives, and hears whether rank 0 does; rank 0's hears and answers
 * all. So a rank that was killed, stopped or cut off is noticed by one that waits for it, and a rank that fails is heard of by
 * all. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "dist/group.h"
#include "dist/ranks.h"

#define MOST_INTERVAL  1.0  /* seconds between two signs of life */
#define LEAST_INTERVAL 0.02 /* while this rank waits for the others' ends */
#define GRACE          0.5  /* seconds in which ranks that fail together come to their ends */
#define OVERDUE        6.0  /* seconds in which a rank should notice that another one is lost */

static bool is_heard(const brim_ranks *r, int32_t rank) {
  return rank != r->wire.rank && (r->wire.rank == 0 || rank == 0);
}

/* ---- the end of all --------------------------------------------------------------------------------------- */

void brim_heartbeat_break(brim_ranks *r, int32_t about, int status, const char *text) {
  if (atomic_load(&r->broken))
    return;
  r->cause = (brim_beat){.kind = BEAT_FAIL, .about = about, .status = status};
  snprintf(r->cause.text, sizeof r->cause.text, "%s", text);
  r->broken_at = brim_seconds_now();
  atomic_store(&r->broken, true);
  pthread_cond_signal(&r->wake);
}

int brim_heartbeat_cause(brim_ranks *r, brim_error *err) {
  pthread_mutex_lock(&r->door);
  const int status = brim_error_set(err, r->cause.status ? r->cause.status : BRIM_E_IO, "%s", r->cause.text);
  pthread_mutex_unlock(&r->door);
  return status;
}

static void lose(brim_ranks *r, int32_t rank, const char *why) {
  char text[640];
  const brim_hello *h = &r->hellos[rank];
  r->peers[rank].lost = true;
  if (r->paused > r->options.timeout)
    snprintf(text, sizeof text, "rank %d was stopped for %.0f seconds, and the other ranks have ended without it",
             (int)r->wire.rank, r->paused);
  else
    snprintf(text, sizeof text, "rank %d (process %lld on %.60s) %s", (int)rank, (long long)h->process, h->host, why);
  brim_heartbeat_break(r, rank, BRIM_E_IO, text);
}

/* ---- hearing ---------------------------------------------------------------------------------------------- */

void brim_heartbeat_failed(brim_ranks *r, int32_t rank, const brim_beat *end) {
  if (r->failed.status)
    return;
  r->failed = (brim_beat){.about = rank, .status = end->status};
  if (rank > 0 && end->text[0])
    snprintf(r->failed.text, sizeof r->failed.text, "rank %d: %.600s", (int)rank, end->text);
  else
    snprintf(r->failed.text, sizeof r->failed.text, "%s", end->text[0] ? end->text : BRIM_FAILED_ELSEWHERE);
  r->failed_at = brim_seconds_now();
}

bool brim_heartbeat_all_ended(const brim_ranks *r) {
  bool all = true;
  for (int32_t rank = 1; rank < r->wire.world; rank++)
    all = all && (r->peers[rank].left || r->peers[rank].lost);
  return all;
}

static void break_after_failure(brim_ranks *r, double now) {
  if (r->failed.status && now - r->failed_at > GRACE && !(r->settled && brim_heartbeat_all_ended(r)))
    brim_heartbeat_break(r, r->failed.about, r->failed.status, r->failed.text);
}

static void hear_end(brim_ranks *r, int32_t rank, const brim_beat *b) {
  r->peers[rank].left = true, r->peers[rank].left_with = *b;
  if (b->status)
    brim_heartbeat_failed(r, rank, b);
}

/* One message; false: there is none. */
static bool hear_one(brim_ranks *r, int32_t rank) {
  brim_peer *p = &r->peers[rank];
  bool done = false;
  if (p->receiving && !r->wire.test(r->wire.context, &p->receive, &done) && done) {
    const brim_beat b = p->in;
    p->receiving = false, p->heard = brim_seconds_now();
    if (b.kind == BEAT_FAIL)
      brim_heartbeat_break(r, b.about, b.status, b.text);
    else if (b.kind == BEAT_LEAVE)
      hear_end(r, rank, &b);
    else if (b.kind == BEAT_GO)
      r->go = p->left = true;
  }
  if (!p->receiving && !p->left)
    p->receiving = !r->wire.receive(r->wire.context, &p->in, sizeof p->in, rank, TAG_BEAT, &p->receive);
  return done;
}

static void hear(brim_ranks *r, int32_t rank) {
  while (hear_one(r, rank))
    continue;
}

/* ---- speaking --------------------------------------------------------------------------------------------- */

/* What there is to say to a rank, the most urgent first; false: nothing yet. */
static bool next_word(brim_ranks *r, brim_peer *p, double now, double interval, brim_beat *out) {
  if (r->wire.rank == 0 && atomic_load(&r->broken) && !p->told && !p->left) {
    *out = r->cause;
    out->text[sizeof out->text - 1] = 0;
    p->told = true;
    return true;
  }
  if (r->wire.rank != 0 && r->leaving && !p->told) {
    *out = r->own;
    p->told = true;
    return true;
  }
  if (r->wire.rank == 0 && r->releasing && !p->released) {
    *out = (brim_beat){.kind = BEAT_GO};
    p->released = true;
    return true;
  }
  *out = (brim_beat){.kind = BEAT_ALIVE};
  return now - p->spoken >= interval && !p->released && !(r->wire.rank != 0 && p->told);
}

static void speak(brim_ranks *r, int32_t rank, double now, double interval) {
  brim_peer *p = &r->peers[rank];
  bool done = true;
  if (p->lost || (p->sending && (r->wire.test(r->wire.context, &p->send, &done) || !done)))
    return;
  p->sending = false;
  if (!next_word(r, p, now, interval, &p->out))
    return;
  p->sending = !r->wire.send(r->wire.context, &p->out, sizeof p->out, rank, TAG_BEAT, &p->send);
  p->spoken = now;
}

/* ---- watching --------------------------------------------------------------------------------------------- */

/* A process of this machine that was killed: nobody has to wait for its silence. One whose parent has not looked yet is a zombie.
 */
static bool process_gone(int64_t process) {
  char path[64], line[512];
  if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
    return true;
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  const char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  const bool gone = end && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
  fclose(file);
  return gone;
}

static void watch(brim_ranks *r, int32_t rank, double now) {
  brim_peer *p = &r->peers[rank];
  char why[160];
  if (p->lost || p->left)
    return;
  if (r->hellos[rank].machine == r->hellos[r->wire.rank].machine && process_gone(r->hellos[rank].process)) {
    hear(r, rank); /* its last words may just have come */
    if (!p->left)
      lose(r, rank, "is gone: it was killed or has crashed");
  } else if (now - p->heard > r->options.timeout) {
    snprintf(why, sizeof why, "has given no sign of life for %.3g seconds: it was stopped, or its machine or network is down",
             now - p->heard);
    lose(r, rank, why);
  }
}

/* A process that was itself stopped for a while, and continues, has heard nobody: the others get their time again. */
static void forgive(brim_ranks *r, double now) {
  if (now - r->turn > r->options.timeout / 2) {
    r->paused = now - r->turn;
    for (int32_t rank = 0; rank < r->wire.world; rank++)
      r->peers[rank].heard = now;
  }
  r->turn = now;
}

/* ---- the thread ------------------------------------------------------------------------------------------- */

/* The lowest rank that is left says what happened. */
static bool speaks(const brim_ranks *r) {
  return r->wire.rank == (r->peers[0].lost ? 1 : 0);
}

static bool is_overdue(brim_ranks *r, double now) {
  if (r->overdue || r->settled || !atomic_load(&r->broken) || now - r->broken_at < OVERDUE)
    return false;
  r->overdue = true;
  return true;
}

static void sleep_until(brim_ranks *r, double seconds) {
  const struct timespec until = brim_time_after(seconds);
  pthread_cond_timedwait(&r->wake, &r->door, &until);
}

static void *beat(void *context) {
  brim_ranks *r = context;
  const double most = r->options.timeout / 10, interval = most < MOST_INTERVAL ? most : MOST_INTERVAL;
  pthread_mutex_lock(&r->door);
  while (!r->stop) {
    const double now = brim_seconds_now();
    forgive(r, now);
    for (int32_t rank = 0; rank < r->wire.world; rank++)
      if (is_heard(r, rank)) {
        hear(r, rank);
        speak(r, rank, now, interval);
        watch(r, rank, now);
      }
    break_after_failure(r, now);
    if (is_overdue(r, now)) {
      char text[640];
      const bool says = speaks(r);
      snprintf(text, sizeof text, "%s", r->cause.text);
      pthread_mutex_unlock(&r->door);
      if (r->options.overdue)
        r->options.overdue(r->options.context, text, says);
      pthread_mutex_lock(&r->door);
    }
    sleep_until(r, r->settled || r->failed.status || atomic_load(&r->broken) ? LEAST_INTERVAL : interval / 2);
  }
  pthread_mutex_unlock(&r->door);
  return NULL;
}

int brim_heartbeat_start(brim_ranks *r, brim_error *err) {
  const double now = brim_seconds_now();
  for (int32_t rank = 0; rank < r->wire.world; rank++)
    r->peers[rank].heard = now;
  r->turn = now;
  BRIM_TRY(brim_thread_start(&r->heartbeat, beat, r, err));
  r->beating = true;
  return BRIM_OK;
}

void brim_heartbeat_stop(brim_ranks *r) {
  if (!r->beating)
    return;
  pthread_mutex_lock(&r->door);
  r->stop = true;
  pthread_cond_signal(&r->wake);
  pthread_mutex_unlock(&r->door);
  pthread_join(r->heartbeat, NULL);
  r->beating = false;
}
