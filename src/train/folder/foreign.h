/* foreign.h: what in the folders of checkpoints is not brim's own, and stays where brim's own is removed. */
#ifndef BRIM_TRAIN_FOREIGN_H
#define BRIM_TRAIN_FOREIGN_H
#include "brim/base.h"

/* Names in the folder of a checkpoint, or of half of one, that are not of a checkpoint's files; to be freed with brim_names_free.
 * What no folder is has none. */
int brim_foreign_names(brim_runtime *runtime, const char *path, char ***names, size_t *count, brim_error *err) BRIM_CHECK;
/* Is it a copy of a checkpoint, as what followed the link to the best makes one: complete, and nothing else in it? */
int brim_foreign_is_copy(brim_runtime *runtime, const char *path, bool *is, brim_error *err) BRIM_CHECK;
/* Is checkpoints/NAME brim's (owned.h), or such a copy in the place of the link to the best? */
int brim_foreign_in_checkpoints(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours,
                                brim_error *err) BRIM_CHECK;
/* Is checkpoints/NAME a folder that a checkpoint may be written into: nothing in it has a name that a checkpoint needs? */
int brim_foreign_leaves_room(brim_runtime *runtime, const char *path, bool *room, brim_error *err) BRIM_CHECK;

/* Moves FROM into the folder TO, which is made, under NAME, or "NAME.1" where that is taken. */
int brim_foreign_move(brim_runtime *runtime, const char *from, const char *to, const char *name, brim_error *err) BRIM_CHECK;
/* Moves what is foreign in the checkpoint `path` to `checkpoints`/step-N of the same N. */
int brim_foreign_rescue(brim_runtime *runtime, const char *path, const char *checkpoints, brim_error *err) BRIM_CHECK;

/* Removes checkpoints/NAME, a checkpoint or what a killed process left of one. What is foreign in it stays in step-N: when a
 * process is killed in between, the same call for the temporary name continues. */
int brim_foreign_discard(brim_runtime *runtime, const char *checkpoints, const char *name, brim_error *err) BRIM_CHECK;

/* "notes.txt, data.csv and 3 more": at most `most` names, in words, and how many there are. */
typedef struct brim_foreign_list {
  brim_text *text;
  size_t count, most;
} brim_foreign_list;
void brim_foreign_say(brim_foreign_list *list, const char *folder, const char *name); /* folder: "" or "checkpoints/step-4/" */
int brim_foreign_say_end(brim_foreign_list *list, brim_error *err) BRIM_CHECK;
/* All that is foreign in checkpoints of brim's in a folder `checkpoints`. */
int brim_foreign_say_all(brim_runtime *runtime, const char *checkpoints, brim_foreign_list *list, brim_error *err) BRIM_CHECK;
/* And in one of them. */
int brim_foreign_say_in(brim_runtime *runtime, const char *checkpoints, const char *name, brim_foreign_list *list,
                        brim_error *err) BRIM_CHECK;

/* What is in a folder besides a run, its checkpoints among it: at most `most` names in words, and how many; "" and 0. */
int brim_foreign_others(brim_runtime *runtime, const char *folder, int most, brim_text *names, size_t *count,
                        brim_error *err) BRIM_CHECK;
/* Is the folder a run (or one that never began) and nothing else? Something else in it is BRIM_E_USAGE, which names it. What is
 * no folder is not ours. */
int brim_foreign_none(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) BRIM_CHECK;

#endif
