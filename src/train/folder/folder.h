/* folder.h: the run folder: who may write there, and its checkpoints. */
#ifndef BRIM_TRAIN_FOLDER_H
#define BRIM_TRAIN_FOLDER_H
#include "brim/train.h"
#include "train/folder/log.h"

typedef struct brim_run_folder {
  brim_runtime *runtime;
  char *output;      /* NULL: nothing is written */
  char *checkpoints; /* output/checkpoints */
  brim_log_file log;
  bool made, log_made; /* there was none before */
} brim_run_folder;

/* Makes the folder, takes its lock, and judges what is there: a run is resumed (`resume`) or replaced (`overwrite`), anything
 * else is refused unless `overwrite`. A log.jsonl that is a link is then replaced by a copy, and no folder of a run may be one.
 * What is not brim's own (owned.h) is never removed; a log.jsonl or replaced-run of another program is refused in any case.
 * `output` NULL: everything below does nothing. */
int brim_run_folder_open(brim_runtime *runtime, const char *output, bool resume, bool overwrite, brim_run_folder *out,
                         brim_error *err) BRIM_CHECK;
/* The same folder for a rank that writes nothing: no lock, no log. */
int brim_run_folder_watch(brim_runtime *runtime, const char *output, brim_run_folder *out, brim_error *err) BRIM_CHECK;
/* What was found in a folder before a run begins: what it will write over, and, where it replaces, what stays. */
typedef struct brim_run_found {
  brim_saved saved;
  brim_text others; /* files that are not the run's, at most MOST_NAMED of them by name */
  size_t other_count;
} brim_run_found;
/* The model and its tokenizer (NULL: none) are those that the run will end with: what brim_model_save would refuse is refused
 * now, and a module whose folder a run has for itself. `model` NULL: there will be none in the folder itself. *out is zero, or
 * what brim_checkpoint_prune found, and to be freed, after a failure too. */
int brim_run_folder_look(const brim_run_folder *folder, const brim_model *model, const brim_tokenizer *tokenizer, bool overwrite,
                         brim_run_found *out, brim_error *err) BRIM_CHECK;
void brim_run_found_free(brim_run_found *found);
/* The "folder" event of it; false: there is nothing to say. */
enum { BRIM_FOUND_FIELDS = 5 };
bool brim_run_found_fields(const brim_run_found *found, brim_field fields[BRIM_FOUND_FIELDS]);
/* Is the folder still the one that was opened? BRIM_E_MISMATCH when it was removed, and perhaps begun again by another run, so
 * that the lock is on a file that nobody sees: to be asked before anything is written by name. Always so for a rank that watches.
 */
int brim_run_folder_held(const brim_run_folder *folder, brim_error *err) BRIM_CHECK;
/* Where a run that is being replaced is, and what is to become of it: the table is in replace.c. */
typedef enum brim_replacing { BRIM_RUN_HERE, BRIM_RUN_LEAVING, BRIM_RUN_MOVING, BRIM_RUN_REPLACED } brim_replacing;
typedef enum brim_change { BRIM_CHANGE_OVERWRITE, BRIM_CHANGE_RESUME, BRIM_CHANGE_RESTORE } brim_change;
/* With the lock in hand. */
int brim_run_folder_change(brim_run_folder *folder, brim_change change, brim_error *err) BRIM_CHECK;
/* The run failed before it began: its log is emptied, and what it was to replace is put back. A failure leaves that in
 * replaced-run, and so does the end of the process on the way: the folder holds a run as long as replaced-run is there. Does
 * nothing for a rank that watches. */
int brim_run_folder_restore(brim_run_folder *folder, brim_error *err) BRIM_CHECK;
/* A run in folds has its end: the tokenizer and the curves of a run without folds that it replaced are removed. */
int brim_run_folder_clear(const brim_run_folder *folder, brim_error *err) BRIM_CHECK;
/* The run has a checkpoint or its end: what it replaced (in replaced-run) is removed. */
int brim_run_folder_settle(const brim_run_folder *folder, brim_error *err) BRIM_CHECK;
/* A run that never began, whose log is empty, leaves no folder where there was none. */
void brim_run_folder_close(brim_run_folder *folder);

/* Steps of the complete checkpoints in `checkpoints`, rising. Freed with brim_release. A missing folder has none. */
int brim_checkpoint_steps(brim_runtime *runtime, const char *checkpoints, uint64_t **steps, size_t *count,
                          brim_error *err) BRIM_CHECK;
/* "checkpoints/step-N" in fresh memory, or NULL. */
char *brim_checkpoint_path(brim_runtime *runtime, const char *checkpoints, uint64_t step);
/* Makes checkpoints/best point at step-N (0: leaves it, and so is what is not brim's), or away where that is gone. */
int brim_checkpoint_link_best(const brim_run_folder *folder, uint64_t step, brim_error *err) BRIM_CHECK;
/* Removes all but the `keep` newest (0: keeps all) and `best` (0: none). What is not brim's own stays, and so does the folder of
 * a checkpoint that it is in: *found, to be freed after a failure too, says so. */
int brim_checkpoint_prune(const brim_run_folder *folder, int32_t keep, uint64_t best, brim_run_found *found,
                          brim_error *err) BRIM_CHECK;
/* What killed processes left of checkpoints. */
int brim_checkpoint_clean(const brim_run_folder *folder, brim_error *err) BRIM_CHECK;

#endif
