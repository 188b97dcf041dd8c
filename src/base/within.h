/* within.h: where the encoder is in a folder of sentence-transformers, whose modules.json lists it first. */
#ifndef BRIM_BASE_WITHIN_H
#define BRIM_BASE_WITHIN_H
#include "brim/base.h"

/* A module's path without "." and slashes that say nothing, in fresh memory; NULL where it would lead out of the folder. */
int brim_module_path(brim_runtime *runtime, const char *text, size_t length, char **path, brim_error *err) BRIM_CHECK;
/* The path of the first module as modules.json says, in fresh memory: "" is the folder itself; 0_Transformer where the file
 * cannot be read or says none, and the model is there, not in the folder. NULL: there is no modules.json. */
int brim_first_module(brim_runtime *runtime, const char *folder, char **path, brim_error *err) BRIM_CHECK;
/* The folder whose modules.json lists this one as its first module, in fresh memory; NULL: there is none. */
int brim_home_of_module(brim_runtime *runtime, const char *folder, char **home, brim_error *err) BRIM_CHECK;

#endif
