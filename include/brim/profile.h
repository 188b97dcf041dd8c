/* brim/profile.h: where the time of a run goes.
 *
 * Spans open and close like brackets, on the thread that calls brim; the pool's threads work inside them. A profile changes no
 * result. What is computed inside an evaluation or a checkpoint counts as that. */
#ifndef BRIM_PROFILE_H
#define BRIM_PROFILE_H
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum brim_work {
  BRIM_WORK_START = 0, /* reading files, encoding, taking memory, planning */
  BRIM_WORK_PRODUCT,   /* matrix products, with the bias, activation or residual and norm that are done in the same pass */
  BRIM_WORK_ATTENTION,
  BRIM_WORK_ELEMENTWISE, /* activations, dropout, rows moved */
  BRIM_WORK_NORM,        /* layer norms that are no part of a product */
  BRIM_WORK_EMBEDDING,
  BRIM_WORK_LOSS,
  BRIM_WORK_OPTIMIZER, /* norm of the gradient and AdamW */
  BRIM_WORK_DATA,      /* batches out of the data set, plans of an epoch */
  BRIM_WORK_EVALUATION,
  BRIM_WORK_CHECKPOINT, /* checkpoints and the final model */
  BRIM_WORK_RANKS,      /* other processes: waiting for them, and the gradient's way to and from them */
  BRIM_WORK_LOG,        /* events: the log, the progress bar */
  BRIM_WORK_FRAME,      /* a step: in the trace, but what counts is what is inside */
  BRIM_WORK_CARD,       /* what a GPU did meanwhile, by its own clock: no part of the host's time */
  BRIM_WORK_COUNT
} brim_work;
BRIM_API const char *brim_work_name(brim_work work); /* "products"; static storage */

typedef struct brim_profile brim_profile;
/* Its clock starts now. Takes all its memory (2.5 MiB) at once. */
BRIM_API int brim_profile_new(brim_runtime *runtime, brim_profile **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_profile_free(brim_profile *profile);

/* `profile` NULL: nothing happens. `name` lives as long as the profile. At most 8 spans are open at once. */
BRIM_API void brim_profile_begin(brim_profile *profile, brim_work work, const char *name);
/* `flops`: floating-point operations of the span, 0 where they do not matter. */
BRIM_API void brim_profile_end(brim_profile *profile, double flops);

/* All spans of one name, in the order in which the names came up. */
typedef struct brim_profile_row {
  const char *name;
  brim_work work;
  uint64_t calls;
  double seconds, flops;
  double cpu_seconds; /* of all threads of the process; frames only */
} brim_profile_row;
BRIM_API int brim_profile_row_count(const brim_profile *profile);
BRIM_API const brim_profile_row *brim_profile_row_at(const brim_profile *profile, int index);
/* From brim_profile_new to the end of the last span. What the rows leave of it is brim's own bookkeeping. */
BRIM_API double brim_profile_seconds(const brim_profile *profile);

/* The trace as JSON for chrome://tracing and ui.perfetto.dev: the first 65,536 spans, and under "otherData" the rows and how many
 * spans were left out. The file is complete or as it was. */
BRIM_API int brim_profile_write(const brim_profile *profile, const char *path, brim_error *err) BRIM_CHECK;
/* The same in a run's folder: what has the name, be it a link, a pipe or a device, is replaced. */
BRIM_API int brim_profile_write_own(const brim_profile *profile, const char *path, brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
