/* ranks.h: ranks that send one another messages: sums of them, and signs of life. */
#ifndef BRIM_DIST_RANKS_H
#define BRIM_DIST_RANKS_H
#include <pthread.h>
#include <stdatomic.h>

#include "dist/mpi.h"
#include "dist/tree.h"

/* What carries messages of bytes: MPI, or a test's own. Messages from one rank to another with one tag come in their order. No
 * call waits; two are never under way at a time. A request stays where it is until its test says done. */
typedef struct brim_wire {
  int32_t rank, world;
  void *context;
  int (*send)(void *context, const void *data, size_t bytes, int32_t to, int tag, brim_mpi_handle *request);
  int (*receive)(void *context, void *data, size_t bytes, int32_t from, int tag, brim_mpi_handle *request);
  int (*test)(void *context, brim_mpi_handle *request, bool *done);
} brim_wire;

enum { TAG_HELLO = 1, TAG_SUM, TAG_BEAT };

/* Who a rank is. Its size and place of `version` never change, so that any two versions of brim understand that they differ. */
typedef struct brim_hello {
  char magic[8], version[56], host[64];
  int64_t process;
  uint64_t machine; /* hash of host, boot and process namespace: equal where process numbers mean the same */
  uint64_t cores;   /* hash of the machine and the cores that this process may use */
} brim_hello;

typedef enum brim_beat_kind {
  BEAT_ALIVE,
  BEAT_FAIL,  /* from rank 0: `about` was lost or failed, with `status` and `text` */
  BEAT_LEAVE, /* to rank 0: this rank is at its end, with `status` and `text` */
  BEAT_GO     /* from rank 0: all are at their end */
} brim_beat_kind;

typedef struct brim_beat {
  int32_t kind, about, status, reserved;
  char text[640];
} brim_beat;

/* Rank 0 hears all others, and they rank 0. */
typedef struct brim_peer {
  brim_beat in, out, left_with; /* left_with: its BEAT_LEAVE */
  brim_mpi_handle receive, send;
  bool receiving, sending;
  double heard, spoken; /* when */
  bool lost, left;
  bool told, released; /* BEAT_FAIL or BEAT_LEAVE, and BEAT_GO, were sent */
} brim_peer;

struct brim_ranks {
  brim_runtime *runtime;
  brim_wire wire;
  brim_mpi *mpi;   /* of brim_ranks_open, or NULL */
  bool is_process; /* of brim_ranks_open_process */
  bool has_code;
  int code; /* of the process, if it has one */
  brim_group group;
  brim_ranks_options options;
  brim_hello *hellos;   /* [world] */
  pthread_mutex_t door; /* around the wire and everything below */

  /* exchange.c: sums */
  char *sent, *received; /* [world][piece] */
  size_t piece_bytes;
  brim_mpi_handle *requests; /* [2 * world], those to receive first; of two ranks' large sums, each message's two */
  bool *pending;

  /* heartbeat.c: signs of life */
  pthread_t heartbeat;
  pthread_cond_t wake;
  bool beating, stop;
  brim_peer *peers; /* [world] */
  double turn;      /* when the heartbeat looked last */
  double paused;    /* seconds for which this process was itself stopped, when it last was */
  atomic_bool broken;
  bool broke; /* by this rank, which could not send or receive */
  double broken_at;
  brim_beat cause;  /* of broken: about, status, text */
  brim_beat failed; /* the first end of a rank that failed, or status 0 */
  double failed_at;
  bool overdue, settled, leaving, releasing, go;
  brim_beat own; /* of settled: what this rank leaves with */
};

/* ranks.c: hellos of all, then the heartbeat. Takes the wire over; *out is freed by brim_ranks_close. */
int brim_ranks_new(brim_runtime *runtime, const brim_wire *wire, const brim_ranks_options *options, brim_ranks **out,
                   brim_error *err) BRIM_CHECK;

/* process.c: ends MPI, or the process, where MPI does not come to its end. */
void brim_process_end_mpi(brim_ranks *ranks);
void brim_process_tell(const char *message);

/* exchange.c. A message did not go, or has another size than was expected: all ranks end, and this one gets the reason. */
int brim_exchange_fail(brim_ranks *ranks, brim_error *err);
/* Waits until all requests are done: with the heartbeat's help it ends when a rank is lost, or else after `patience`
 * seconds (0: never). `large`: so are the messages. */
int brim_exchange_wait(brim_ranks *ranks, brim_mpi_handle *requests, bool *pending, int count, bool large, double patience,
                       brim_error *err) BRIM_CHECK;
int brim_exchange_sum(void *ranks, float *values, int64_t count, brim_error *err) BRIM_CHECK;
int brim_exchange_sum_double(void *ranks, double *values, int64_t count, brim_error *err) BRIM_CHECK;
int brim_exchange_gather(void *ranks, float *values, const int64_t *counts, brim_error *err) BRIM_CHECK;
int brim_exchange_sum_tree(void *ranks, const brim_tree_sum *sum, brim_error *err) BRIM_CHECK;

/* heartbeat.c. */
int brim_heartbeat_start(brim_ranks *ranks, brim_error *err) BRIM_CHECK;
/* Joins the thread. What is still under way stays so. */
void brim_heartbeat_stop(brim_ranks *ranks);
/* All ranks end: door is held. */
void brim_heartbeat_break(brim_ranks *ranks, int32_t about, int status, const char *text);
/* A rank is at its end and has failed. The others have a moment to come to theirs, where they failed together, before all break
 * off: door is held. */
void brim_heartbeat_failed(brim_ranks *ranks, int32_t rank, const brim_beat *end);
/* All other ranks are at their ends, or lost: of rank 0. */
bool brim_heartbeat_all_ended(const brim_ranks *ranks);
/* The reason, as an error of this rank. */
int brim_heartbeat_cause(brim_ranks *ranks, brim_error *err);

#endif
