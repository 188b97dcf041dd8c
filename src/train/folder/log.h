/* log.h: log.jsonl, one event a line. The file is also the lock of its run folder. */
#ifndef BRIM_TRAIN_LOG_H
#define BRIM_TRAIN_LOG_H
#include "brim/base.h"

/* Lines are whole or absent: a line that could not be written is taken back. */
typedef struct brim_log_file {
  brim_runtime *runtime;
  int file; /* descriptor; -1: no log */
  char *path;
  brim_text line;
  uint64_t bytes; /* length so far */
} brim_log_file;

/* Opens or creates the log and locks it against other runs until close. BRIM_E_USAGE when another run holds it. */
int brim_log_open(brim_runtime *runtime, const char *path, brim_log_file *log, brim_error *err) BRIM_CHECK;
/* Does the log's name still mean the file that is open? True where there is no log. */
bool brim_log_in_place(const brim_log_file *log);
void brim_log_close(brim_log_file *log);
int brim_log_append(brim_log_file *log, const brim_event *event, brim_error *err) BRIM_CHECK;
/* Keeps whole lines within the first `bytes`. */
int brim_log_cut(brim_log_file *log, uint64_t bytes, brim_error *err) BRIM_CHECK;
/* What the log says from now on. */
int brim_log_replace(brim_log_file *log, const char *bytes, size_t length, brim_error *err) BRIM_CHECK;
/* Whether its end has an "eval" event of this step and set, of the weights themselves. False where there is no log. */
int brim_log_has_eval(const brim_log_file *log, uint64_t step, const char *name, bool *has, brim_error *err) BRIM_CHECK;
int brim_log_sync(brim_log_file *log, brim_error *err) BRIM_CHECK;

#endif
