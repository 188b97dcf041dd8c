/* brim/dist.h: ranks: the processes that train, evaluate or predict together.
 *
 * A brim_group is all that training knows of them. brim_ranks_open makes one of the processes that an MPI launcher has started
 * (mpirun, mpiexec, srun); anybody may make another. */
#ifndef BRIM_DIST_H
#define BRIM_DIST_H
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

struct brim_tree_sum;

/* 16 hex digits that other sources, compilers or their options change: two builds of one version may add up in different orders,
 * so ranks need the same one. */
enum { BRIM_BUILD_SIZE = 17 };
BRIM_API void brim_build(char text[BRIM_BUILD_SIZE]);

/* A group of ranks. `sum` adds count floats over all ranks, in place, in an order that does not depend on timing. A failure of
 * any of these functions is one of the group: what it sums later fails too. */
typedef struct brim_group {
  int32_t rank, world_size;
  int (*sum)(void *context, float *values, int64_t count, brim_error *err);
  int (*sum_double)(void *context, double *values, int64_t count, brim_error *err);
  void *context;
  int (*sum_tree)(void *context, const struct brim_tree_sum *sum, brim_error *err); /* brim's own; NULL: by sum_double */
  bool apart;    /* gradients are summed after backward, by its thread; else another thread sums pieces of them meanwhile. Two
                    threads never call a group at once */
  bool messages; /* ranks of one machine share no memory: all goes through these functions */
  /* Every rank calls it with the same counts, some of which may be 0: rank r's counts[r] values follow those of the ranks before
   * it, and each rank has written its own. All ranks have this function or none; NULL: sums take its place. */
  int (*gather_values)(void *context, float *values, const int64_t *counts, brim_error *err);
} brim_group;

/* The group of one process: sums are the identity. */
BRIM_API brim_group brim_group_single(void);

/* ---- launchers -------------------------------------------------------------------------------------------- */

/* What the environment says of the launcher that started this process. Nothing is loaded or asked. */
typedef struct brim_launch {
  const char *launcher; /* "Open MPI", "MPICH", "PMIx"; NULL: the process was started alone. Static storage */
  int32_t rank;
  int32_t world_size; /* 1 without a launcher; 0: the launcher does not say, MPI does */
} brim_launch;
/* BRIM_MPI=none in the environment: started alone, whatever else it says. */
BRIM_API brim_launch brim_launch_find(void);

/* ---- MPI -------------------------------------------------------------------------------------------------- */

typedef struct brim_ranks_options {
  const char *library; /* path of the MPI library; NULL: what BRIM_MPI names, or what the launcher belongs to */
  double timeout;      /* seconds without a sign of life after which a rank counts as lost; 0: 20 */
  /* From another thread, when a rank was lost or has failed and this one has not come to brim_ranks_settle for a while: the
   * process may be in a long calculation or hang itself. `speaks`: this rank is the one to say it. NULL: nothing happens. */
  void (*overdue)(void *context, const char *message, bool speaks);
  void *context;
} brim_ranks_options;

/* The processes of a launcher, joined by MPI, which is found when the program runs and not when it is built: see
 * docs/users/scaling.md. One thread a rank sends and hears signs of life. */
typedef struct brim_ranks brim_ranks;

/* Every rank calls it. BRIM_E_UNSUPPORTED: no MPI library was found, or it is not that of the launcher; BRIM_E_MISMATCH: a rank
 * has another version of brim. If the program has begun to use MPI (mpi4py), its MPI is joined. `options` NULL: all zero. */
BRIM_API int brim_ranks_open(brim_runtime *runtime, const brim_ranks_options *options, brim_ranks **out,
                             brim_error *err) BRIM_CHECK;
/* Seconds in which a rank that speaks for all ends the job: another one, which ends too, waits so long with its message. */
enum { BRIM_RANKS_PAUSE = 4 };
/* For a program that is a rank and nothing else. As brim_ranks_open; when this rank does not come to its end although another one
 * is lost, or MPI has not begun after 25 seconds (or the timeout, if that is more), a message goes to standard error and the
 * process ends with 1. When MPI does not come to its end within 15 seconds, rank 0 says so, and the process ends with the code
 * that brim_ranks_end_with was given, or else 0, or 1 where a rank failed. When rank 0 is lost after this rank has settled,
 * brim_ranks_close says so. SIGUSR1, which a launcher may send then, is ignored unless the program handles it. timeout 0: 20
 * seconds.
 */
BRIM_API int brim_ranks_open_process(brim_runtime *runtime, double timeout, brim_ranks **out, brim_error *err) BRIM_CHECK;
/* Good as long as `ranks`. */
BRIM_API const brim_group *brim_ranks_group(const brim_ranks *ranks);
/* "Open MPI v4.1.4" and the path of its library. */
BRIM_API const char *brim_ranks_library(const brim_ranks *ranks);
/* Ranks that run on as many cores as this process is allowed to use: they share these. At least 1. */
BRIM_API int32_t brim_ranks_sharing(const brim_ranks *ranks);
/* The end of the work, which every rank calls with its status. Rank 0 waits for the others, and they for rank 0; where a rank
 * fails, all others fail from then on. Returns this rank's own status, or that of the rank that failed. *speaks: this rank is the
 * one to print *err, which has the message of the rank that failed, and names it. */
BRIM_API int brim_ranks_settle(brim_ranks *ranks, int status, brim_error *err, bool *speaks);
/* Before brim_ranks_close: the code with which the process would end after it. */
BRIM_API void brim_ranks_end_with(brim_ranks *ranks, int code);
/* After brim_ranks_settle and what is printed then. Ends MPI, unless the program had begun it; MPI cannot begin again in a
 * process. Where a rank failed it returns false without having ended it: the process should then end by _exit, which waits for
 * nobody. */
BRIM_API bool brim_ranks_close(brim_ranks *ranks);

/* For those who want to know: finds and loads the MPI library without starting it, and writes its path and kind, or why there is
 * none, to text. */
BRIM_API bool brim_ranks_probe(char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
