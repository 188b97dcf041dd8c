/* folder.h: folders that are complete or absent, lists, copies, removal. Public file functions are in brim/base.h. */
#ifndef BRIM_BASE_FOLDER_H
#define BRIM_BASE_FOLDER_H
#include "brim/base.h"

/* A folder is written under a temporary name (path.h), and gets its own by one of two calls: where nothing is to be lost, or in
 * the place of one that the caller knows. Free without either removes it. Files in it should be written with brim_file_*, which
 * syncs them. */
typedef struct brim_folder brim_folder;
int brim_folder_create(brim_runtime *runtime, const char *path, brim_folder **out, brim_error *err) BRIM_CHECK;
const char *brim_folder_path(const brim_folder *folder); /* where to write now */
/* Of a folder that is new or empty. What has come there in the meantime stays: BRIM_E_USAGE. The folder must still be freed, as
 * after the next; a second call does nothing. */
int brim_folder_commit_new(brim_folder *folder, brim_error *err) BRIM_CHECK;
/* In the place of the folder that is there: it is there, whole, until the new one is, and is the caller's to remove then: *former
 * is its temporary path in fresh memory; NULL: it is where it was. */
int brim_folder_replace(brim_folder *folder, char **former, brim_error *err) BRIM_CHECK;
void brim_folder_free(brim_folder *folder);

/* Removes a file or a folder with all it holds (links are not followed); fine if it is absent. */
int brim_remove_tree(brim_runtime *runtime, const char *path, brim_error *err) BRIM_CHECK;
/* Copies the bytes of a file; `to` is complete or as it was. */
int brim_copy_file(brim_runtime *runtime, const char *from, const char *to, brim_error *err) BRIM_CHECK;
/* Whether the name is taken in the folder, as brim_path_is_taken has it. */
int brim_folder_has(brim_runtime *runtime, const char *folder, const char *name, bool *has, brim_error *err) BRIM_CHECK;
/* Names in a folder, sorted by byte, without "." and "..". Freed with brim_names_free. */
int brim_list_folder(brim_runtime *runtime, const char *path, char ***names, size_t *count, brim_error *err) BRIM_CHECK;
void brim_names_free(brim_runtime *runtime, char **names, size_t count);

#endif
