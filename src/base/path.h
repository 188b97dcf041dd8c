/* path.h: names of files and folders. */
#ifndef BRIM_BASE_PATH_H
#define BRIM_BASE_PATH_H
#include "brim/base.h"

/* "folder/name" in fresh memory, or NULL. */
char *brim_path_join(brim_runtime *runtime, const char *folder, const char *name);
const char *brim_path_name(const char *path); /* after the last slash */
/* Where the last name of a path begins and ends, slashes at its end left out. */
size_t brim_path_last(const char *path, size_t *end);
bool brim_path_exists(const char *path);
bool brim_path_is_folder(const char *path);
bool brim_path_is_read_once(const char *path); /* "-", or a pipe or a device */
bool brim_path_is_file(const char *path);      /* no folder, pipe or device, which who opens it may wait for */
bool brim_path_is_link(const char *path);
/* Whether the name is taken: a link to nothing, too. Who opens it says what is wrong with it. */
bool brim_path_is_taken(const char *path);

char *brim_path_parent(brim_runtime *runtime, const char *path); /* the folder that holds the name, in fresh memory, or NULL */

/* "PATH.tmp-k3xq0ab5dz1m" in fresh memory, or NULL; a different one at every call, for names that are made with O_EXCL or mkdir.
 * The last six letters follow from the rest of the name, so no other program's file is taken for one of brim's. */
char *brim_temporary_name(brim_runtime *runtime, const char *path);
bool brim_is_temporary(const char *name);                      /* did brim make this name (without a folder)? */
bool brim_is_temporary_of(const char *name, const char *path); /* and for this path? */
/* Makes sure that the names in the folder survive a power cut; or the name `path` itself (a rename to it). */
int brim_sync_folder(const char *path, brim_error *err) BRIM_CHECK;
int brim_sync_parent(brim_runtime *runtime, const char *path, brim_error *err) BRIM_CHECK;

#endif
