/* source.h: from the paths that a caller gives to the list of files to read. */
#ifndef BRIM_DATA_SOURCE_H
#define BRIM_DATA_SOURCE_H
#include "brim/data.h"

typedef struct brim_source_file {
  char *path; /* "-" is standard input */
  brim_format format;
  bool quoted;
  bool backslash; /* with quoted: BRIM_QUOTE_BACKSLASH */
  char delimiter;
  int64_t size; /* on disk; -1 for pipes and terminals */
  uint64_t device, inode;
  uint64_t stamp; /* brim_source_stamp of this file */
} brim_source_file;

typedef struct brim_source {
  brim_runtime *runtime;
  brim_source_file *files;
  size_t count, capacity;
  bool deep; /* the present glob has `**`: folders that it matches are looked through anyway */
} brim_source;

/* Numbers and arrays of the options, each by itself. */
int brim_source_options_check(const brim_source_options *options, brim_error *err) BRIM_CHECK;
/* Expands globs and folders, looks every file up, finds formats and refuses doubles. Fails with *source freed. */
int brim_source_find(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     brim_source *source, brim_error *err) BRIM_CHECK;
void brim_source_free(brim_source *source);

/* Says whether files are still those that were looked up: by device, inode, size and time. 0: one is a pipe or a terminal. */
uint64_t brim_source_stamp(const brim_source *source);
/* Whether all are so now. */
bool brim_source_stayed(const brim_source *source);
/* The most texts that a row may have, as far as the options say it: at least 1. */
int32_t brim_source_most_texts(const brim_source_options *options);
/* The path as messages show it. */
const char *brim_source_name(const brim_source_file *file);

#endif
