/* reader.h: the inside of brim_reader, in four layers, each of which asks only the one before it (reader_texts.c: what records of
 * several texts have besides):
 *
 *  a format           bytes of the stream -> values of the wanted columns          table.c, lines.c
 *  the present file   opens it, reads what comes before its first record           reader_file.c
 *  damage             whole records of a stream that fails, and what is left out   reader_damage.c
 *  records            file after file, row numbers, selection, places              reader.c */
#ifndef BRIM_DATA_READER_H
#define BRIM_DATA_READER_H
#include "base/ahead.h"
#include "base/json.h"
#include "base/stream.h"
#include "brim/data.h"
#include "data/csv_scan.h"
#include "data/select.h"
#include "data/source.h"
#include <pthread.h>

/* A wanted column, and its value in the present record. */
typedef struct brim_slot {
  char *name;                /* NULL: not wanted */
  const char *const *others; /* names that it may have instead, best first, to NULL; NULL: none */
  int found;                 /* JSON: which of them the present record has, 0 is `name` */
  bool given;                /* the caller named it */
  bool seen;                 /* a file's header or a record had it */
  bool required;             /* every file must have it, and every record but for the label */
  int64_t column;            /* csv, tsv: its number in the present file, -1 if the file lacks it */
  const char *bytes;
  size_t length;
  bool present;      /* the record has a value here (null is none) */
  bool is_list;      /* items, each with a NUL after it */
  size_t null_item;  /* of a list of texts the first item that is null, from 1 on; 0: none is */
  const char *forms; /* a brim_label_form for the value, or for each item; NULL: BRIM_FORM_TEXT */
} brim_slot;

/* And on: one for each condition, then those of blocks and of a row's further texts. */
enum { BRIM_SLOT_TEXT, BRIM_SLOT_PAIR, BRIM_SLOT_LABEL, BRIM_SLOT_WHERE };

/* One kind of file. */
typedef struct brim_format_ops {
  /* At the beginning of a file, after any byte order mark: reads a header, finds columns. */
  int (*begin)(brim_reader *reader, brim_error *err);
  /* Passes over the next record, counts its lines into reader->next_line, and sets the slots' values. BRIM_END at the file's end.
   * reader->record_byte and record_line say where the record begins, which empty lines before it move. Sets reader->passed when
   * the record's end is known, whatever its values are. */
  int (*next)(brim_reader *reader, brim_error *err);
  /* The error that a value which the present record must have is not there. */
  int (*missing)(brim_reader *reader, const brim_slot *slot, brim_error *err);
} brim_format_ops;

extern const brim_format_ops brim_table_format; /* csv and tsv */
extern const brim_format_ops brim_jsonl_format; /* a file that begins with [ is read by the next */
extern const brim_format_ops brim_array_format;
extern const brim_format_ops brim_txt_format;
extern const brim_format_ops brim_conll_format;

/* Where a reader is. A call to brim_reader_next goes from one state to another until there is a record:
 *
 *  CLOSED --> OPEN      the file's beginning was read
 *         --> CUT       its stream failed, but the beginning is whole                       (skip_damaged)
 *         --> LEFT_OUT  not even that                                                       (skip_damaged)
 *  OPEN   --> OPEN      a record, or one that is damaged and has an end
 *         --> CUT       the stream failed: what came before that is read on                 (skip_damaged)
 *         --> LEFT_OUT  damage after which no record can be found                           (skip_damaged)
 *         --> CLOSED    the file's end: the next file's turn; DONE after the last
 *  CUT    --> CUT       a record that is whole
 *         --> LEFT_OUT  the place where the stream failed
 *  LEFT_OUT --> CLOSED  that was reported; the next file's turn; DONE after the last
 *  any    --> FAILED    any other failure */
typedef enum brim_reader_state {
  BRIM_READER_CLOSED = 0, /* the next record opens `file` */
  BRIM_READER_OPEN,       /* after the beginning of `file` */
  BRIM_READER_CUT,        /* the same; the stream failed with `cut_by`, and only what came before that is left to read */
  BRIM_READER_LEFT_OUT,   /* `file` is closed, and the rest of it is left out */
  BRIM_READER_DONE,       /* `file` is source.count */
  BRIM_READER_FAILED      /* with `failure`, which every later call gives again */
} brim_reader_state;

struct brim_reader {
  brim_runtime *runtime;
  brim_reader_state state;
  brim_error failure;
  brim_source source;
  brim_slot *slots;
  int slot_count;
  bool no_header, need_label, skip_unlabelled, empty_label, words;
  int none_labels;
  brim_text list, word_list; /* the items of a label and of a text that are lists, a NUL after each */
  brim_text forms;           /* of the items of a label */
  bool raw;                  /* brim_reader_open_raw */

  /* Columns of numbers, whose slots follow those of conditions. */
  int block_count; /* besides the label */
  brim_block_shape shapes[BRIM_MOST_BLOCKS];

  /* Rows of several texts: their further columns are the last slots. */
  int further_slots;
  bool paired, aligned;
  int32_t most_texts;   /* 0: any number */
  brim_text *lists;     /* [further_slots] the items of each that is a list, a NUL after each */
  brim_string *further; /* of the present record */
  size_t further_count, further_room;

  size_t max_record;
  bool skip_damaged;
  brim_selection selection;

  /* The present file. The lock is for brim_reader_interrupt alone, which may come from another thread. */
  size_t file; /* source.count after the last */
  const brim_format_ops *format;
  brim_stream *stream; /* NULL unless OPEN or CUT */
  pthread_mutex_t lock;
  bool interrupted;
  uint64_t consumed; /* by the files before this one */
  bool look_ahead;
  brim_ahead ahead; /* the next file, when this one is compressed */
  bool input_read;  /* standard input was opened */

  /* The record that next is reading, and the one after it. */
  int64_t record_byte, record_line, next_line;
  uint64_t row;       /* of the next record */
  uint64_t first_row; /* of the present file */
  uint64_t most;      /* records to give before the end */
  bool passed;        /* the present record's end is known */
  const char *bytes;  /* the record's own, up to its line end, which they may hold */
  size_t byte_count;
  brim_text header; /* raw: the present table's header line as it is */
  brim_text names;  /* of the present table's columns, a NUL after each; "" without a header */

  /* Damage that is skipped. */
  brim_error cut_by;
  char damage[1200]; /* of the present record; "": none */

  /* What formats keep. */
  const char *line;   /* jsonl: of the present record */
  int64_t array_byte; /* JSON arrays: after the [ */
  size_t line_length;
  brim_csv_scan scan;
  char *decoded;
  size_t decoded_capacity;
  int64_t columns;   /* of the present table */
  const char *model; /* the first table's name */
  bool model_has_pair;
  brim_json_reader json;
};

const char *brim_reader_file_name(const brim_reader *reader);

/* ---- rows of several texts (reader_texts.c) ---- */

/* Checks what the options say of text columns. */
int brim_reader_check_columns(const brim_source_options *options, brim_error *err) BRIM_CHECK;
/* Whether the slot is of a block. */
bool brim_reader_is_block(const brim_reader *reader, const brim_slot *slot);
/* The number of a further text's slot among these, or -1. */
int brim_reader_further(const brim_reader *reader, const brim_slot *slot);
/* After the last record: a further text's column that no file had is BRIM_E_USAGE. */
int brim_reader_check_seen(const brim_reader *reader, brim_error *err) BRIM_CHECK;
/* Whether each text of the present record that is there is long enough. */
bool brim_reader_texts_long_enough(const brim_reader *reader);
/* Fills in the record's texts, of which there is the first. */
int brim_reader_take_texts(brim_reader *reader, brim_record *record, brim_error *err) BRIM_CHECK;

/* ---- the present file (reader_file.c) ---- */

/* Opens file number `file` and reads up to its first record: OPEN. */
int brim_reader_begin_file(brim_reader *reader, size_t file, brim_error *err) BRIM_CHECK;
/* Reads again what comes before the first record: the stream is at the file's beginning. */
int brim_reader_read_beginning(brim_reader *reader, brim_error *err) BRIM_CHECK;
/* Frees the stream, if there is one. The state is the caller's. */
void brim_reader_close_stream(brim_reader *reader);

/* ---- damage (reader_damage.c); without skip_damaged every failure goes through ---- */

/* Opens file number `file`; damage after its header does not stop it: OPEN or CUT. */
int brim_reader_open_file(brim_reader *reader, size_t file, brim_error *err) BRIM_CHECK;
/* The slots from the next record of the file that is OPEN or CUT. BRIM_E_FORMAT: damage. */
int brim_reader_next_values(brim_reader *reader, brim_error *err) BRIM_CHECK;
/* Turns a BRIM_E_FORMAT of these two into reader->damage: of the record alone, or of all that is left of the file: LEFT_OUT. */
void brim_reader_take_damage(brim_reader *reader, const brim_error *failure);

/* ---- for formats ---- */

/* An error at byte `at` of the record's bytes. */
int brim_reader_fault(const brim_reader *reader, brim_error *err, const char *record, size_t at, const char *format, ...)
    BRIM_PRINTF(5, 6);
/* Refuses a file whose first line ends with it and holds a CR: its lines end in CR alone, and it would be read as one. `line` has
 * its line end. */
int brim_reader_refuse_lone_cr(const brim_reader *reader, const char *line, size_t length, brim_error *err) BRIM_CHECK;
/* Does a file of JSON begin with an array? Nothing is passed over. */
bool brim_reader_is_array(brim_reader *reader);
/* Does the JSON object that begins here continue after these bytes? */
bool brim_json_is_open(const char *bytes, size_t length);
/* Fills the slots from the JSON object in reader->line. */
int brim_reader_take_object(brim_reader *reader, brim_error *err) BRIM_CHECK;
/* Refuses text that is not UTF-8: bytes[0, length) is inside the record. */
/* The same for bytes that do not lie in the record, from that line and byte of the file on. */
int brim_reader_check_line(const brim_reader *reader, const char *bytes, size_t length, int64_t line, int64_t byte,
                           brim_error *err) BRIM_CHECK;
int brim_reader_check_text(const brim_reader *reader, const char *record, const char *bytes, size_t length,
                           brim_error *err) BRIM_CHECK;
/* As brim_reader_open; `stop` ends it, and whatever call waits for a pipe. It must stay as long as the reader. */
int brim_reader_open_stoppable(brim_runtime *runtime, const char *const *paths, int path_count,
                               const brim_source_options *options, const brim_stop *stop, brim_reader **out,
                               brim_error *err) BRIM_CHECK;
/* A reader of whole records for those who copy them: it looks only for the columns that the options name or need. */
int brim_reader_open_raw(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                         brim_reader **out, brim_error *err) BRIM_CHECK;
/* The next record as it is in its file, checked to be UTF-8; lines come without their LF, table rows with their line end if
 * they have one, objects of an array as one line. Borrowed until the next call. BRIM_END after the last. */
int brim_reader_next_raw(brim_reader *reader, const char **bytes, size_t *length, brim_error *err) BRIM_CHECK;
/* Lines of a text file that are whole and without damage in the stream's window, so that nothing has to be asked of each: every
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
/* Another thread decompresses the beginning of the next file. Changes nothing but when. */
int brim_reader_look_ahead(brim_reader *reader, brim_error *err) BRIM_CHECK;
/* The end comes after so many more records, damaged ones not counted. */
void brim_reader_end_after(brim_reader *reader, uint64_t records);
/* From any thread: a call that waits for a pipe fails with BRIM_E_CANCELLED, as do all later ones. */
void brim_reader_interrupt(brim_reader *reader);

#endif
