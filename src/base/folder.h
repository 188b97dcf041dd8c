/* folder.h: folders that are complete or absent, lists, copies, removal. Public file functions are in brim/base.h. */
#ifndef BRIM_BASE_FOLDER_H
#define BRIM_BASE_FOLDER_H
#include "brim/base.h"

/* A folder is written under a temporary name (path.h) and renamed by commit; free without commit removes it. An
existing
     * folder of that name is replaced: it is there, whole, until the new one is. Files in it should be written with brim_file_*,
 * which syncs them.
 */
typedef struct brim_folder brim_folder;
int brim_folder_create(brim_runtime *runtime, const char *path, brim_folder **out, brim_error *err) BRIM_CHECK;
const char *brim_folder_path(const brim_folder *folder);                 /* where to write now */
int brim_folder_commit(brim_folder *folder, brim_error *err) BRIM_CHECK; /* the folder must still be freed */
/* The same, for a folder that is new or empty: what has come there since is never replaced, which is BRIM_E_USAGE. */
int brim_folder_commit_new(brim_folder *folder, brim_error *err) BRIM_CHECK;
void brim_folder_free(brim_folder *folder);

/* Removes a file or a folder with all it holds (links are not followed); fine if it is absent. */
int brim_remove_tree(brim_runtime *runtime, const char *path, brim_error *err) BRIM_CHECK;
/* Copies the bytes of a file; `to` is complete or as it was. */
int brim_copy_file(brim_runtime *runtime, const char *from, const char *to, brim_error *err) BRIM_CHECK;
/* Names in a folder, sorted by byte, without "." and "..". Freed with brim_names_free. */
int brim_list_folder(brim_runtime *runtime, const char *path, char ***names, size_t *count, brim_error *err) BRIM_CHECK;
void brim_names_free(brim_runtime *runtime, char **names, size_t count);

#endif
