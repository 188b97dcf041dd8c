/* owned.h: what in a folder is brim's own, proved by what it holds. Only that is ever replaced or removed; links are not
 * followed. */
#ifndef BRIM_TRAIN_OWNED_H
#define BRIM_TRAIN_OWNED_H
#include "brim/base.h"

#define BRIM_LOG_NAME      "log.jsonl"
#define BRIM_STEP_PREFIX   "step-"
#define BRIM_REPLACED_RUN  "replaced-run"
#define BRIM_REPLACED_MARK "complete" /* in replaced-run: all of the run is there */

/* "step-12" -> 12. Anything after the digits makes it something else. */
bool brim_owned_step_of(const char *name, uint64_t *step);

/* What log.jsonl of a folder is: none (or empty, or half of its first word), brim's, or another program's. */
typedef enum brim_owned_log { BRIM_LOG_NONE, BRIM_LOG_OURS, BRIM_LOG_FOREIGN } brim_owned_log;
int brim_owned_log_of(brim_runtime *runtime, const char *folder, brim_owned_log *kind, brim_error *err) BRIM_CHECK;

/* Is checkpoints/NAME brim's: a complete checkpoint, whose state.json has the digest of its bytes? */
int brim_owned_checkpoint(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours,
                          brim_error *err) BRIM_CHECK;
/* The same, or the link to the best of them, or a half-written one (under a temporary name, path.h, which a killed process left).
 */
int brim_owned_in_checkpoints(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours,
                              brim_error *err) BRIM_CHECK;
/* The name of one that is half written or half removed: "step-N" made temporary (path.h). */
bool brim_owned_half_checkpoint(const char *name);
/* A link to "step-N". */
bool brim_owned_best(const char *path);

/* Does the folder hold a run: a log that begins as brim's do, a complete checkpoint, rows in folds, or any of these in
 * replaced-run? If it does not, *stranger is the first name in it that says the folder is somebody else's, in fresh memory; NULL:
 * nothing does. */
int brim_owned_run(brim_runtime *runtime, const char *folder, bool *run, char **stranger, brim_error *err) BRIM_CHECK;

/* May replaced-run in the folder be used: is it absent, empty or a run of brim's? */
int brim_owned_replaced(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;
/* Does a run write, rename or keep this, a path below its folder: "checkpoints/step-2/config.json", "report.html"? By name alone.
 */
bool brim_owned_path(const char *path);
/* "1_Pooling", "2_Dense": the names of folders that brim writes modules of vectors into. */
bool brim_owned_module(const char *name);
/* Is the folder a run (or one that never began) and nothing else? Something else in it is BRIM_E_USAGE, which names it. What is
 * no folder is not ours. */
int brim_owned_all(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;

#endif
