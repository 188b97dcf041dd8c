/* files.h: the names of a tokenizer's files. */
#ifndef BRIM_TEXT_FILES_H
#define BRIM_TEXT_FILES_H
#include "brim/text.h"

/* Of the files that brim_tokenizer_save writes. Returns how many. */
enum { BRIM_MOST_TOKENIZER_FILES = 13 };
int brim_tokenizer_file_names(const brim_tokenizer *tokenizer, const char *names[BRIM_MOST_TOKENIZER_FILES]);
/* A file that some tokenizer is written as, or read from. */
bool brim_is_tokenizer_file(const char *name);

#endif
