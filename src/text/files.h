/* files.h: the names of a tokenizer's files. */
#ifndef BRIM_TEXT_FILES_H
#define BRIM_TEXT_FILES_H
#include "brim/text.h"

/* Of the files that brim_tokenizer_save writes. Returns how many. */
enum { BRIM_MOST_TOKENIZER_FILES = 13 };
int brim_tokenizer_file_names(const brim_tokenizer *tokenizer, const char *names[BRIM_MOST_TOKENIZER_FILES]);
/* A file that some tokenizer is written as, or read from. */
bool brim_is_tokenizer_file(const char *name);
/* Whether a file of this name, next to the tokenizer's file `path`, is read with it. */
bool brim_tokenizer_reads(const char *path, const char *name);
/* Texts are put into lower case. */
bool brim_tokenizer_lowers(const brim_tokenizer *tokenizer);
/* What brim_tokenizer_save refuses before it writes: files of another tokenizer in the folder that would be read with this one.
 */
int brim_tokenizer_look(const brim_tokenizer *tokenizer, bool words, const char *folder, brim_error *err) BRIM_CHECK;
/* What it writes then, into a folder that is there. */
int brim_tokenizer_write(const brim_tokenizer *tokenizer, const char *folder, const brim_tokenizer_saving *how,
                         brim_error *err) BRIM_CHECK;

#endif
