/* file.h: a file over a descriptor. Public file functions are in brim/base.h. */
#ifndef BRIM_BASE_FILE_H
#define BRIM_BASE_FILE_H
#include "brim/base.h"

/* A file to write over a descriptor that is the caller's and stays open: neither renamed nor synced. */
int brim_file_over(brim_runtime *runtime, int descriptor, brim_file **out, brim_error *err) BRIM_CHECK;
/* Of brim_file_continue's `keep`: nothing is cut yet. The caller looks at what is there, which nobody else writes meanwhile, and
 * cuts it before it writes. */
#define BRIM_FILE_ALL UINT64_MAX
int brim_file_cut(brim_file *file, uint64_t keep, brim_error *err) BRIM_CHECK;
/* What Git LFS keeps in a file's place is BRIM_E_FORMAT. */
int brim_file_refuse_pointer(const char *path, const char *bytes, size_t length, brim_error *err) BRIM_CHECK;

/* A file of a folder that brim fills: what has its name, be it a link, a pipe or a device, is replaced and never opened. */
int brim_file_create_own(brim_runtime *runtime, const char *path, brim_file **out, brim_error *err) BRIM_CHECK;
int brim_file_write_own(brim_runtime *runtime, const char *path, const void *bytes, size_t length, brim_error *err) BRIM_CHECK;

/* A file to read in a folder of a run, a model or a tokenizer: a pipe or a device there is BRIM_E_FORMAT, and is never waited
 * for. */
int brim_file_open_plain(const char *path, int *descriptor, brim_error *err) BRIM_CHECK;
/* brim_file_read_all of such a file. */
int brim_file_read_plain(brim_runtime *runtime, const char *path, size_t limit, char **bytes, size_t *length,
                         brim_error *err) BRIM_CHECK;
/* Its first bytes, as many as there are; 0 where it is no file or cannot be read. */
size_t brim_file_head(const char *path, char *bytes, size_t most);

#endif
