/* file.h: a file over a descriptor. Public file functions are in brim/base.h. */
#ifndef BRIM_BASE_FILE_H
#define BRIM_BASE_FILE_H
#include "brim/base.h"

/* A file to write over a descriptor that is the caller's and stays open: neither renamed nor synced. */
int brim_file_over(brim_runtime *runtime, int descriptor, brim_file **out, brim_error *err) BRIM_CHECK;

#endif
