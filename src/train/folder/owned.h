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
/* The same, or the link to the best of them, or a half-written one (under a temporary name, path.h, which a killed process
 * left). */
int brim_owned_in_checkpoints(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours,
                              brim_error *err) BRIM_CHECK;
/* The name of one that is half written or half removed: "step-N" made temporary (path.h), or "best", which was a copy. */
bool brim_owned_half_checkpoint(const char *name);
/* A link to "step-N", or to that or to such a link in some folder `checkpoints`. */
bool brim_owned_best(const char *path);

/* Does the folder hold a run: a log that begins as brim's do, a complete checkpoint, rows in folds, or any of these in
 * replaced-run? If it does not, *stranger is the first name in it that says the folder is somebody else's, in fresh memory; NULL:
 * nothing does. */
int brim_owned_run(brim_runtime *runtime, const char *folder, bool *run, char **stranger, brim_error *err) BRIM_CHECK;

/* May replaced-run in the folder be used: is it absent, empty or a run of brim's? */
int brim_owned_replaced(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;
/* What a run's folder has under a name. */
typedef enum brim_owned_name {
  BRIM_NAME_OTHER,       /* none that a run writes, renames or keeps */
  BRIM_NAME_FILE,        /* of the model, its tokenizer, its evaluation; report.html, what is being written or replaced */
  BRIM_NAME_MODULE,      /* "1_Pooling", "2_Dense": a folder of a module as brim names it */
  BRIM_NAME_LOG,         /* log.jsonl */
  BRIM_NAME_CHECKPOINTS, /* checkpoints */
  BRIM_NAME_TENSORBOARD, /* tensorboard */
  BRIM_NAME_ASKED,       /* trace.json, log.csv: written where asked for, and of the next run only where that asks too */
  BRIM_NAME_FOLDS,       /* folds.csv, folds.json */
  BRIM_NAME_FOLD,        /* "fold-0" */
  BRIM_NAME_PREDICTIONS  /* "predictions.jsonl", "predictions-dev.jsonl" */
} brim_owned_name;
/* Of the first name of a path below the folder: "checkpoints/step-2/config.json". By name alone: what is there is proved
 * elsewhere. */
brim_owned_name brim_owned_name_of(const char *path);

/* Did brim write this one of BRIM_NAME_ASKED? Of another name: no. */
int brim_owned_asked(brim_runtime *runtime, const char *folder, const char *name, bool *ours, brim_error *err) BRIM_CHECK;

/* Did brim write the folder's report.html? A page of brim's says so in its last line but two. */
int brim_owned_page(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;

/* Whether a run writes a file of this name; false for what is being written or replaced, which may be a folder. */
bool brim_owned_is_file(const char *name);

/* The folders of modules that are the model's in a folder: those that its modules.json lists. */
typedef struct brim_owned_modules {
  brim_runtime *runtime;
  const char *folder; /* borrowed */
  char **names;
  size_t count;
} brim_owned_modules;
int brim_owned_modules_open(brim_runtime *runtime, const char *folder, brim_owned_modules *out, brim_error *err) BRIM_CHECK;
void brim_owned_modules_close(brim_owned_modules *modules);
/* Is NAME one of them, no link, with what brim writes there and nothing else? */
int brim_owned_module(const brim_owned_modules *modules, const char *name, bool *ours, brim_error *err) BRIM_CHECK;
/* Is the folder's `tensorboard` no link, and is there nothing in it but brim's files? */
int brim_owned_tensorboard(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;

#endif
