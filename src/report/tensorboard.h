/* tensorboard.h: events as TensorBoard's files. */
#ifndef BRIM_REPORT_TENSORBOARD_H
#define BRIM_REPORT_TENSORBOARD_H
#include "brim/report.h"

/* Writes events as scalars into folder/events.out.tfevents.SECONDS.brim, for TensorBoard to watch: the numbers of "step" events
 * as train/FIELD, of "eval" events as eval/NAME/FIELD, at their step. A file is begun by the first of them and replaces those of
 * an earlier run; after a "resume" event it is another file, which takes back what they say of later steps. Nothing
 * is written to a NULL folder. */
typedef struct brim_tensorboard brim_tensorboard;
int brim_tensorboard_new(brim_runtime *runtime, const char *folder, brim_tensorboard **out, brim_error *err) BRIM_CHECK;
/* A brim_event_fn that always returns BRIM_OK: after a failure nothing more is written, and close returns it. */
int brim_tensorboard_event(void *tensorboard, const brim_event *event);
/* Frees it in any case; the first failure, if there was one. */
int brim_tensorboard_close(brim_tensorboard *tensorboard, brim_error *err);

#endif
