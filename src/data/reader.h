/* reader.h: the inside of brim_reader. A format turns bytes into the values of the columns that are wanted; what is the same for
 * all formats (files, row numbers, selection, what a record must have) is in reader.c. */
#ifndef BRIM_DATA_READER_H
#define BRIM_DATA_READER_H
#include "base/ahead.h"
#include "base/json.h"
#include "base/stream.h"
#include "brim/data.h"
#include "data/select.h"
#include "data/source.h"
#include "data/split.h"
#include <pthread.h>

/* A wanted column, and its value in the present record. */
typedef struct brim_slot {
  char *name;     /* NULL: not wanted */
  bool given;     /* the caller named it */
  bool required;  /* every file must have it, and every record but for the label */
  int64_t column; /* csv, tsv: its number in the present file, -1 if the file lacks it */
  const char *bytes;
  size_t length;
  bool present;            /* the record has a value here (null is none) */
  bool is_string, is_list; /* is_list: items with a NUL behind each */
} brim_slot;

enum { BRIM_SLOT_TEXT, BRIM_SLOT_PAIR, BRIM_SLOT_LABEL, BRIM_SLOT_WHERE /* and on: one for each condition */ };

/* One kind of file. */
typedef struct brim_format_ops {
  /* At the beginning of a file, behind any byte order mark: reads a header, finds columns. */
  int (*begin)(brim_reader *reader, brim_error *err);
  /* Passes over the next record, counts its lines into reader->next_line, and sets the slots' values. BRIM_END at the file's end.
   * reader->record_byte and record_line say where the record begins, which blank lines before it move. */
  int (*next)(brim_reader *reader, brim_error *err);
  /* The error that a value which the present record must have is not there. */
  int (*missing)(brim_reader *reader, const brim_slot *slot, brim_error *err);
} brim_format_ops;

extern const brim_format_ops brim_table_format; /* csv and tsv */
extern const brim_format_ops brim_jsonl_format;
extern const brim_format_ops brim_txt_format;

struct brim_reader {
  brim_runtime *runtime;
  brim_source source;
  brim_slot *slots;
  int slot_count;
  bool no_header, need_label, empty_label;
  brim_text list; /* the items of a label that is a list */
  bool raw;       /* brim_reader_open_raw */
  size_t max_record;
  bool skip_damaged;
  brim_selection selection;

  /* The present file. The lock is for brim_reader_interrupt alone, which may come from another thread. */
  size_t file; /* source.count behind the last */
  const brim_format_ops *format;
  brim_stream *stream;
  pthread_mutex_t lock;
  bool interrupted;
  uint64_t consumed; /* by the files before this one */
  bool look_ahead;
  brim_ahead ahead; /* the next file, when this one is compressed */
  bool input_read;  /* standard input was opened */
  int failed;       /* a failure is final: next gives it again */
  brim_error failure;

  /* The record that next is reading, and the one behind it. */
  int64_t record_byte, record_line, next_line;
  uint64_t row;       /* of the next record */
  uint64_t first_row; /* of the present file */
  const char *bytes;  /* the record's own, up to its line end, which they may hold */
  size_t byte_count;
  brim_text header; /* raw: the present table's header line as it stands */

  /* Damage that is skipped. */
  bool passed; /* formats set it: the present record's end is behind us, whatever its values */
  bool cut;    /* the stream failed, with `cut_by`; what comes before that is still read */
  brim_error cut_by;
  char damage[1200]; /* of the present record; "": none */
  uint64_t left;     /* records to give before the end */
  bool leave;        /* the rest of the file is left out */

  /* What formats keep. */
  const char *line; /* jsonl: of the present record */
  size_t line_length;
  brim_split split;
  char *decoded;
  size_t decoded_capacity;
  int64_t columns;   /* of the present table */
  const char *model; /* the first table's name */
  bool model_has_pair;
  brim_json_reader json;
};

const char *brim_reader_file_name(const brim_reader *reader);
/* An error at byte `at` of the record's bytes. */
int brim_reader_fault(const brim_reader *reader, brim_error *err, const char *record, size_t at, const char *format, ...)
    BRIM_PRINTF(5, 6);
/* Refuses text that is not UTF-8: bytes[0, length) lies inside the record. */
int brim_reader_check_text(const brim_reader *reader, const char *record, const char *bytes, size_t length,
                           brim_error *err) BRIM_CHECK;
/* As brim_reader_open; `stop` ends it, and whatever call waits for a pipe. It must stay as long as the reader. */
int brim_reader_open_stoppable(brim_runtime *runtime, const char *const *paths, int path_count,
                               const brim_source_options *options, const brim_stop *stop, brim_reader **out,
                               brim_error *err) BRIM_CHECK;
/* A reader of whole records for those who copy them: it looks only for the columns that the options name or need. */
int brim_reader_open_raw(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                         brim_reader **out, brim_error *err) BRIM_CHECK;
/* The next record as it stands in its file, checked to be UTF-8; lines come without their LF, table rows with their line end if
 * they have one. Borrowed until the next call. BRIM_END after the last. */
int brim_reader_next_raw(brim_reader *reader, const char **bytes, size_t *length, brim_error *err) BRIM_CHECK;
/* Lines of a text file that lie whole and without damage in the stream's window, so that nothing has to be asked of each: every
 * one of them is a record. Borrowed until the next call. */
typedef struct brim_run {
  const char *bytes; /* [length] the last line ends with LF, too */
  size_t length;
  uint64_t most;          /* lines that may be taken */
  uint64_t row, file_row; /* of the first line */
  int64_t file_number, line, byte;
  const char *file;
} brim_run;

/* The run of at most `most` bytes that comes next. False: brim_reader_next has to look at the next record. Nothing is passed
 * over. */
bool brim_reader_run(brim_reader *reader, size_t most, brim_run *run);
/* Passes over the first lines of the run. */
void brim_reader_pass(brim_reader *reader, size_t length, uint64_t lines);
/* From now on excluded rows are counted (their numbers are missing) but not listed, and damaged ones come as records: for endless
 * reading in bounded memory. */
void brim_reader_forget_excluded(brim_reader *reader);
/* A thread of its own decompresses the beginning of the next file. Changes nothing but when. */
int brim_reader_look_ahead(brim_reader *reader, brim_error *err) BRIM_CHECK;
/* The end comes behind so many more records, damaged ones not counted. */
void brim_reader_end_after(brim_reader *reader, uint64_t records);
/* From any thread: a call that waits for a pipe fails with BRIM_E_CANCELLED, as do all later ones. */
void brim_reader_interrupt(brim_reader *reader);

#endif
