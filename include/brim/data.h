/* brim/data.h: from files to encoded rows.
 *
 *   files -> brim_reader (records of text) -> brim_encoder (ids, in parallel, in order) -> brim_dataset (all rows in memory)
 *
 * Bad input never passes silently: text that is not UTF-8, a quote that is not closed, a ragged line, a missing value or a label
 * that does not fit is an error that names file, line and byte. */
#ifndef BRIM_DATA_H
#define BRIM_DATA_H
#include "brim/task.h"
#include "brim/text.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ---------------------------------------------------------------------------------------------- */

/* The formats:
 *  - csv: RFC 4180. A record ends at LF, CRLF or a lone CR outside quotes; line ends inside quotes are text and stay as they are.
 *    A quote inside an unquoted field is text. Empty lines are skipped. With BRIM_QUOTE_BACKSLASH a quote, a
 *    backslash, the delimiter or a line end (CR or LF) may have a backslash before it, inside quotes and outside, which is left
 *    out and makes text of it, as Spark, MySQL and pandas (escapechar) write them; other backslashes are text. Spark escapes only
 *    inside quotes: where its texts hold backslashes, have it write all in quotes (quoteAll).
 *  - tsv: columns between tabs, lines end at LF or CRLF, quotes are text; with the others the rules of csv with tabs. Empty lines
 *    are skipped.
 *  - jsonl: one object a line, or, where the file begins with [, one JSON array of objects. Text is a string; a label a string, a
 *    number, a boolean or a list of them; null is a missing value. Empty lines are skipped.
 *  - txt: one text a line, the line end (LF or CRLF) not part of it; an empty line is an empty text.
 *  - conll: words with a tag: one a line, columns between tabs or spaces, an empty line after each sentence, which is a row. All
 *    lines have as many columns. -DOCSTART- lines, and comments such as "# sent_id = 7" before a sentence, are skipped.
 *
 * A byte order mark at the beginning of a file is skipped. csv and tsv rows all have as many columns as the header. */
typedef enum brim_format {
  BRIM_FORMAT_AUTO = 0,
  BRIM_FORMAT_CSV,
  BRIM_FORMAT_TSV,
  BRIM_FORMAT_JSONL,
  BRIM_FORMAT_TXT,
  BRIM_FORMAT_CONLL
} brim_format;
typedef enum brim_quote { BRIM_QUOTE_AUTO = 0, BRIM_QUOTE_CSV, BRIM_QUOTE_NONE, BRIM_QUOTE_BACKSLASH } brim_quote;

/* A row is read only if the value of `column` is `value`, byte for byte (JSON numbers and booleans by their text). */
typedef struct brim_where {
  const char *column, *value;
} brim_where;

enum { BRIM_NONE_1 = 1, BRIM_NONE_100 = 2 }; /* the labels -1 and -100 */

/* A column of numbers, which becomes a block of its rows. Its values are lists such as [0.1, -2], as JSON has them, in csv and
 * tsv too. Of texts: a list with one for each text, or all numbers in one. Every row has a value, and as many numbers. */
typedef struct brim_block_column {
  const char *column;
  brim_block_shape shape; /* of rows or texts; its name is not "label". width 0: the first row says; a feed has to know */
} brim_block_column;

/* All zero is a good default. Strings are copied by brim_reader_open. */
typedef struct brim_source_options {
  brim_format format; /* AUTO: from the name (.csv .tsv .jsonl .json .txt .conll .bio .iob2, then .gz, .zst, .xz or .bz2); TXT for
                         standard input */
  brim_quote quote;   /* AUTO: csv is quoted, tsv is not */
  int delimiter;      /* csv, tsv: the ASCII character between columns; 0: a comma in csv, a tab in tsv */
  bool no_header;     /* csv, tsv: columns are named by number, from 0 */
  const char *text_column; /* NULL: "text" ("0" without a header) */
  const char *pair_column; /* NULL: "text_pair" if there is such a column */
  bool no_pairs;           /* and then there are no pairs, whether there is such a column or not */
  /* Rows of several texts, in place of these two: the columns of their texts, in order. In JSON any but the first may be a list
   * of texts, each item of which is one, though it is empty; null is an error. With `paired` the first column's text is the first
   * half of a pair with each of the others'. */
  const char *const *text_columns; /* [text_column_count] NULL and 0: rows are one text, or one pair */
  int text_column_count;
  int least_columns;  /* the first of them, which every file and row has; 0: all. Of the others a file may have none, and a text
                         that is null or empty is not there */
  bool seen_columns;  /* of a dataset: one of these columns that no row of the source has is an error, after the last row */
  int32_t most_texts; /* a row of more is an error; 0: of a dataset any number, of a feed a text a column */
  bool paired;
  bool aligned; /* a further column whose value is null or empty, before one that has a text, is an error: what comes of the row's
                   texts is distinguished by their places */
  const char *label_column; /* NULL: "label" or "labels" if there is such a column */
  bool words; /* labels are of words: a text is a list of them (a string is split at white space), a label one of as many tags,
                 and the columns are "tokens", "words" or "text", and "ner_tags", "tags", "labels" or "label"; of conll the first
                 and the last, or by their numbers. Of datasets the task says it */
  bool need_label;         /* a missing label column or value is an error */
  int none_labels;         /* BRIM_NONE_.. or'ed, with need_label: rows of these labels are excluded. brim_dataset_load and
                              brim_feed_open set it by the mapping */
  bool skip_unlabelled;    /* with need_label: a row without a label is excluded, not an error; the column must be there */
  bool empty_label;        /* an empty label is one: none of many labels. brim_dataset_load sets it for multi-label data */
  int64_t min_chars;       /* rows with a text of fewer characters after stripping spaces at both ends are excluded; 0: none */
  const brim_where *where; /* [where_count]: rows for which one of them does not hold are excluded */
  int where_count;
  int64_t max_record; /* bytes of the longest record, a guard against a quote that is never closed; 0: 1 GiB */
  bool skip_damaged;  /* what cannot be read is left out and named among the excluded rows, not an error. See below */
  const brim_block_column *blocks; /* [block_count] columns of numbers, besides the label */
  int block_count;                 /* at most BRIM_MOST_BLOCKS - 1 */
} brim_source_options;

/* Damage, with skip_damaged: a record that is whole but makes no sense (a ragged row, text that is not UTF-8, broken JSON) is
 * left out alone. Where nothing says where the next record begins (cut or damaged compressed data, a quote that is never closed,
 * a record longer than max_record, a header that is not there) the rest of the file is left out. Either counts as one row; whole
 * records before the damage are kept, the one that it cuts is not. gzip reports a wrong checksum only at the end of a member: the
 * rows of that member are kept then, and the damage counts after them. A missing file or value is an error still, and a
 * list of numbers that is none. */

/* What a label was where it was read: whether its text may be a number. */
typedef enum brim_label_form {
  BRIM_FORM_TEXT = 't', /* a field of csv, tsv or conll, or a word of a string: it says nothing of its type */
  BRIM_FORM_NAME = 's', /* a string of JSON, Arrow or Python: never a number */
  BRIM_FORM_NUMBER = 'n',
  BRIM_FORM_BOOLEAN = 'b',
  BRIM_FORM_NONE = '-' /* null in a list, whose item is empty */
} brim_label_form;

/* One record; pointers are borrowed until the next call on the reader, `file` until close. */
typedef struct brim_record {
  const char *text;
  size_t text_length; /* with brim_source_options.words a NUL follows each word */
  const char *pair;
  size_t pair_length;         /* pair NULL: a single text */
  const brim_string *further; /* [further_count] a row's texts after the first; where there is a pair, of pairs with `text` */
  size_t further_count;
  const char *label;
  size_t label_length;     /* label NULL: none, empty or null. JSON numbers, booleans: their text */
  const char *label_forms; /* JSON: a brim_label_form for the label, or for each item of the list; NULL: BRIM_FORM_TEXT */
  bool label_is_list;      /* JSON: it was an array; the text of each item is followed by a NUL */
  brim_string blocks[BRIM_MOST_BLOCKS]; /* values of brim_source_options.blocks, from 1 on; bytes NULL: there is none */
  uint64_t row;                         /* 0-based over all files of the source, excluded rows counted too */
  int64_t file_number;
  uint64_t file_row; /* the file's index and the row's number in it, likewise */
  int64_t line;      /* 1-based line where the record begins in its file */
  int64_t byte;      /* offset where it begins, uncompressed */
  const char *file;
  const char *damage; /* what a feed gets in place of a damaged row: why, and no text; NULL elsewhere */
} brim_record;

/* The reason where the label says that there is none (brim_source_options.none_labels). */
#define BRIM_NONE_REASON "the label, -1 or -100, says that there is none"
/* A row that min_chars, where, skip_unlabelled or skip_damaged left out, and why: one line such as "fewer than 3 characters". */
typedef struct brim_exclusion {
  uint64_t row;
  int64_t line;
  const char *file, *reason;
  bool damaged;
} brim_exclusion;

/* Reads records in file order. `paths` may be files, globs (*, ?, [..], and ** in the place of any folders; matches sorted by
 * byte, none is an error), folders (their data files, sorted) or "-". The same file twice is BRIM_E_USAGE. Each csv or tsv file
 * has its own header; columns are found by name in each, and a pair column is in all of them or in none. All files are looked for
 * before anything is read. */
typedef struct brim_reader brim_reader;
BRIM_API int brim_reader_open(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                              brim_reader **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_reader_next(brim_reader *reader, brim_record *record, brim_error *err) BRIM_CHECK; /* BRIM_END after the last */
BRIM_API void brim_reader_close(brim_reader *reader);
/* The files of a folder that are no data by their names, and that a source therefore passes over: *count, and the first of their
 * names into `names` with commas between. 0 of what is no folder. */
BRIM_API int brim_source_passed_over(brim_runtime *runtime, const char *path, brim_text *names, uint64_t *count,
                                     brim_error *err) BRIM_CHECK;
/* Of names in `folder` that say how many files there are (as "data-00001-of-00003.csv" does): that none of them is missing whose
 * name `pattern` means (a glob; NULL: any), and none there twice. Each line names `folder`. What is given by a folder or a glob
 * is checked so when it is opened; a file that is named itself is not. */
BRIM_API int brim_source_check_numbered(brim_runtime *runtime, const char *folder, const char *const *names, size_t count,
                                        const char *pattern, brim_error *err) BRIM_CHECK;
/* The rows left out so far, damaged ones too, in order; borrowed until the next call on the reader. */
BRIM_API const brim_exclusion *brim_reader_excluded(const brim_reader *reader, uint64_t *count);

/* Which columns of a source are the texts of a row, and which is its label: as `given` names them, else as data sets of
 * sentence-transformers do, by the headers or first objects of all files: anchor, positive and negatives; query, document or
 * passage; question, answer; sentence1, sentence2; else all columns in order but a label (score, label, ..) and ids. */
enum { BRIM_MOST_TEXT_COLUMNS = 64 };
typedef struct brim_text_columns {
  const char *names[BRIM_MOST_TEXT_COLUMNS]; /* [count] texts, in order: first what is asked or compared with, then the rest */
  int count, least;                          /* least: the first of them, which all rows have */
  const char *label;                         /* NULL: there is none */
  const char *unread; /* the first column that is none of these, nor "id" or the like; NULL: there is none */
  int unread_count;
  bool paired;    /* rerankers: the first is one half of a pair with each of the others */
  bool one_pair;  /* rerankers: two columns, and the second has no lists in the first rows of JSON: a row is one pair */
  bool beginning; /* found by the first megabyte of JSON: rows after it may have columns that none
                     before it has, but for negatives, which were looked for */
  /* private */
  void *memory;
  brim_runtime *runtime;
} brim_text_columns;
/* For embeddings and rerankers. BRIM_E_USAGE: there are not two texts, and the columns that there are. Names may be borrowed from
 * `given`. A pipe that was looked into is still read from its beginning by whoever opens its path next; brim_text_columns_free
 * closes one that nobody has opened by then. */
BRIM_API int brim_text_columns_find(brim_runtime *runtime, const char *const *paths, int path_count,
                                    const brim_source_options *given, brim_task task, brim_text_columns *out,
                                    brim_error *err) BRIM_CHECK;
/* The same of rows that the caller holds, whose columns have these names, in order; borrowed. */
BRIM_API int brim_text_columns_among(brim_runtime *runtime, const char *const *columns, int column_count,
                                     const brim_source_options *given, brim_task task, brim_text_columns *out,
                                     brim_error *err) BRIM_CHECK;
BRIM_API void brim_text_columns_free(brim_text_columns *columns);

/* ---- shards ----------------------------------------------------------------------------------------------- */

typedef enum brim_shard_format { BRIM_SHARD_GZIP = 0, BRIM_SHARD_ZSTD } brim_shard_format;

/* All zero is a good default. */
typedef struct brim_shard_options {
  brim_source_options source; /* columns matter only where text_column, min_chars or where ask for them */
  brim_shard_format format;
  uint64_t records;       /* of a shard; 0: 10,000 */
  brim_event_fn progress; /* NULL: none. Kind "progress": phase "shard", done and total (bytes), unit, rows */
  void *progress_context;
} brim_shard_options;

typedef struct brim_shard_result {
  uint64_t shards, records, excluded; /* excluded: by min_chars and where */
} brim_shard_result;

/* Copies the records of a source, byte for byte and in their order, into compressed files of `records` each:
 * shard-000000.csv.gz, shard-000001.csv.gz, .. in `folder`, csv and tsv each with the header. The same input gives the same bytes
 * for any number of threads. The folder appears when all is written, or not at all; one that holds anything is BRIM_E_USAGE. The
 * files of the source must be of one format and have one header. `result` may be NULL. */
BRIM_API int brim_shard(brim_runtime *runtime, const char *const *paths, int path_count, const brim_shard_options *options,
                        const char *folder, brim_shard_result *result, brim_error *err) BRIM_CHECK;

/* ---- encoding --------------------------------------------------------------------------------------------- */

/* Encodes a reader's records in parallel blocks and yields them in input order: rows, and the first error, are the same for any
 * thread count. Takes the reader, also when it fails. */
typedef struct brim_encoder brim_encoder;
typedef struct brim_encoded { /* borrowed until the next call; `file` until close */
  const int32_t *ids;
  const uint8_t *type_ids;
  const int32_t *words;   /* [length] with brim_source_options.words: the number of the token's word, -1 of special tokens */
  const int32_t *numbers; /* [length] with brim_encode_options.numbering; BRIM_NO_LABEL of special tokens */
  const char *text;       /* with words: those of the record, a NUL after each */
  size_t text_length;
  size_t length; /* tokens of all its texts, one after another */
  size_t lost;
  const int32_t *text_lengths; /* [text_count] tokens of each, none of them 0 unless `length` is; NULL: it is one text */
  int32_t text_count;
  uint64_t row;
  int64_t line, byte;
  const char *file;
  int64_t file_number;
  uint64_t file_row;
  bool pair;
  const char *label;
  size_t label_length;
  const char *label_forms;
  bool label_is_list;
  const void *blocks[BRIM_MOST_BLOCKS]; /* [block_numbers] the numbers of each further block, from 1 on */
  size_t block_numbers[BRIM_MOST_BLOCKS];
  const char *damage; /* as in brim_record */
  uint64_t query;     /* as in brim_sample */
} brim_encoded;
BRIM_API int brim_encoder_new(brim_runtime *runtime, brim_reader *reader, const brim_tokenizer *tokenizer,
                              const brim_encode_options *options, brim_encoder **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_encoder_next(brim_encoder *encoder, brim_encoded *row, brim_error *err) BRIM_CHECK; /* or BRIM_END */
BRIM_API void brim_encoder_close(brim_encoder *encoder);
/* Bytes of input consumed and in total (compressed size; total 0 if unknown), up to the row that next gave last (in steps of a
 * block): for progress. */
BRIM_API void brim_encoder_progress(const brim_encoder *encoder, uint64_t *consumed, uint64_t *total);
/* As brim_reader_excluded; count is 0 until next has returned BRIM_END. */
BRIM_API const brim_exclusion *brim_encoder_excluded(const brim_encoder *encoder, uint64_t *count);

/* ---- labels ----------------------------------------------------------------------------------------------- */

/* How label texts become numbers.
 *
 * A label is an integer (a sign and digits), a decimal (with a point or an exponent), a boolean or a name. A string of JSON,
 * Arrow or Python is a name, whatever it looks like; a number of theirs is a number; a field of a file (csv, tsv, conll) is what
 * it looks like. Without a task, the first label decides: integers, booleans and names classify, decimals regress, and a label of
 * another kind is an error that names its line. With a task, classification takes every text as a class, and regression needs
 * finite numbers (spaces around them do not count).
 *
 * Classes are numbers only where each of them is one: a number of JSON, or a field in plain writing (no sign +, no needless zero,
 * no space). Then they are numbered by value, and 1.0 is the class 1. Else each is the text as written, by byte: 007 and 7 are
 * two, as are 1.10 and 1.1. Integers 0..count-1 thus stay as they are; other integers (1..5, gaps) keep their text as name.
 * Predictions give integers and booleans as such (brim_labels.form): they are labels of the same kind as the rows' own.
 *
 * Among classes, a row whose label is -100 (as number or field) has none and is excluded (to regression it is a value, to
 * multi-label data a name). So is one of -1 among classes that are exactly 0, 1,
 * ..: data sets mark rows without a label so. But with 0 and 1 alone, -1 is a class if the task was given. With a known mapping
 * both are none unless they name a class.
 *
 * Lists: a JSON array of integers or strings makes multi-label data, one of decimals regression with as many outputs as it has
 * items (in every row); but where the first row's has nothing but booleans, or 0.0 and 1.0, and the task is not regression, it
 * says of each label whether the row has it (multi-hot), and the labels are named 0, 1, ... Integers 0 and 1 that are both in
 * every row are an error: such rows are hardly lists of names. In csv and tsv a list is written a|b, and is one only with a task:
 * multi-label (spaces around items do not count, an empty field is a row without labels) or regression (1.5|2.5).
 *
 * Words: a list with a tag for each, of which each is a class; -100 and null are none. A word's tag is the label of its first
 * token, as in Hugging Face's recipe; its other tokens, special tokens, and what truncation cut off have none. With a known
 * mapping whose names are not all numbers, an integer that is no class's name is the class of that number. */
typedef struct brim_labels {
  brim_task task;       /* CLASSIFICATION, REGRESSION or MULTI_LABEL */
  int32_t count;        /* classes, labels or values: a model's outputs */
  char **names;         /* [count] by class id, UTF-8, NUL-terminated: config.json's id2label; NULL for regression */
  brim_label_form form; /* what predictions give: BRIM_FORM_NUMBER where all names are plain integers, BRIM_FORM_BOOLEAN where all
                     are "false" and "true", else, and of strings, BRIM_FORM_NAME */
  bool strings;         /* labels were strings of JSON, Arrow or Python: names that look like numbers or booleans are none.
                           config.json: brim_label_strings */
  uint64_t *rows; /* [count + 1] of brim_labels_scan: the rows of each class or with each label, or words of each, then all; NULL:
                     not counted */
  uint64_t none;  /* of brim_labels_scan: rows whose label says that there is none, or words whose label is null; they are in no
                     count */
  brim_runtime *runtime;
} brim_labels;
/* A mapping from names in the order of their ids (a model's id2label); copies. Regression: names NULL. Two equal names, or no
 * class, are BRIM_E_FORMAT. What was counted is not copied. */
BRIM_API int brim_labels_make(brim_runtime *runtime, brim_task task, const char *const *names, int32_t count, brim_labels *out,
                              brim_error *err) BRIM_CHECK;
BRIM_API int brim_labels_copy(brim_runtime *runtime, const brim_labels *labels, brim_labels *out, brim_error *err) BRIM_CHECK;
/* Says whether the names are strings, whatever they look like. */
BRIM_API void brim_labels_set_strings(brim_labels *labels, bool strings);
/* The first two classes whose names look alike, as a rule by somebody's slip: they differ only in spaces, capitals, characters
 * that are not seen (zero width), Unicode's forms of the same letters, or how a number is written ("pos" and " Pos", "07" and
 * "7"). -1 and -1: there are none. */
BRIM_API int brim_labels_alike(brim_runtime *runtime, const brim_labels *labels, int32_t *one, int32_t *other,
                               brim_error *err) BRIM_CHECK;
/* The first class whose name looks like something else: a number as people write it ("0,5", "1,400", "7%"; all names are numbers
 * then), a label that is missing ("NA", "NULL"), or of many labels several in one ("a,b", where "a" is one, too). -1: there is
 * none. *meaning: what it looks like, and how that is written; static. */
BRIM_API int32_t brim_labels_odd(const brim_labels *labels, const char **meaning);
/* The mapping of a source whose rows are too many to keep: one pass over all records, in which nothing is encoded. Every record
 * needs a label. `progress` may be NULL; kind "progress", phase "labels", done and total (bytes), rows. `rows` may be NULL: of
 * values, whose task is given, the first record says all then, and no other is read; but for a reranker's, of which rows may have
 * different numbers. */
BRIM_API int brim_labels_scan(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                              brim_task task, brim_event_fn progress, void *context, brim_labels *out, uint64_t *rows,
                              brim_error *err) BRIM_CHECK;
/* Numbers that make a row's label: an output each for MULTI_LABEL (0 or 1) and REGRESSION (values), 1 (the class) else. */
BRIM_API int32_t brim_labels_width(const brim_labels *labels);
BRIM_API void brim_labels_free(brim_labels *labels); /* what it holds, not the struct */

/* ---- datasets --------------------------------------------------------------------------------------------- */

typedef struct brim_dataset_options {
  brim_source_options source; /* without need_label, labels are not looked at and the dataset has none */
  brim_encode_options encode;
  brim_task task;            /* AUTO: integers and strings classify, decimals regress, a mixture is refused */
  const brim_labels *labels; /* not NULL: use this mapping and its task (evaluation); an unknown label is an error that
                                gives its place and the known labels */
  brim_event_fn progress;    /* NULL: none. Kind "progress": phase "encode", done and total (bytes), unit, rows, tokens,
                                seconds. With a cache also kind "cache": path, used, rows and reason (why not; "" when there
                                was none yet) */
  void *progress_context;
  const char *cache; /* NULL: none. A folder, made if need be: rows that it holds are not encoded again */
} brim_dataset_options;

/* All rows of a source, encoded once, in compact memory: 4 bytes a token, 1 more in rows whose type_ids are not all 0, and about
 * 16 a row, 8 more where rows are pairs, and 4 a text and 8 a row where rows have several. Immutable after load: shareable
 * between threads. No rows at all is BRIM_E_FORMAT, a row or text without any token too.
 *
 * A cache holds a file for each set of paths, tokenizer and options, which is mapped into memory: 8 bytes a row are allocated,
 * the rest is the system's to keep or to drop. It is used only if the bytes of all data files, of the tokenizer and the options
 * are those that it was made from, and if it is undamaged (all of it is looked at); otherwise rows are encoded again, the file is
 * replaced as a whole, and the event says why. A cache that cannot be written is no error. Standard input and pipes are not
 * kept. */
typedef struct brim_dataset brim_dataset;
BRIM_API int brim_dataset_load(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                               const brim_dataset_options *options, brim_dataset **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_dataset_free(brim_dataset *dataset);
BRIM_API uint64_t brim_dataset_rows(const brim_dataset *dataset);
BRIM_API uint64_t brim_dataset_tokens(const brim_dataset *dataset);    /* after truncation */
BRIM_API uint64_t brim_dataset_truncated(const brim_dataset *dataset); /* rows that were cut */
BRIM_API uint64_t brim_dataset_lost(const brim_dataset *dataset);      /* tokens that were cut */
/* [rows] tokens that were cut off each; NULL: nothing was, or it is not known. */
BRIM_API const uint32_t *brim_dataset_losses(const brim_dataset *dataset);
/* Of the tokens, those that a window has from the one before: they are in two. */
BRIM_API uint64_t brim_dataset_repeated(const brim_dataset *dataset);
BRIM_API const int32_t *brim_dataset_lengths(const brim_dataset *dataset); /* [rows] tokens of all texts of each */
BRIM_API int32_t brim_dataset_longest(const brim_dataset *dataset);        /* tokens of the longest text */
/* Texts of all rows: as many as rows, unless rows have several. */
BRIM_API uint64_t brim_dataset_texts(const brim_dataset *dataset);
/* Where each row's texts begin among those of all rows: [rows + 1], the last is their number. NULL: each row is one text. */
BRIM_API const uint64_t *brim_dataset_firsts(const brim_dataset *dataset);
/* [texts] tokens of each; where each row is one text, the lengths of rows. */
BRIM_API const int32_t *brim_dataset_text_lengths(const brim_dataset *dataset);
/* K: the most texts that a row may have. Text t of the row at place p of its step has the place p * K + t, so that dropout is
 * another with another K. It is the number of columns that the rows came from, or the texts of a row, whichever is more. */
BRIM_API int32_t brim_dataset_most_texts(const brim_dataset *dataset);
/* How the texts of a row, or the rows of masked words, were made of long texts (brim_encode_options.max_windows); most 0: they
 * were not. */
BRIM_API brim_windowing brim_dataset_windows(const brim_dataset *dataset);
BRIM_API bool brim_dataset_has_pairs(const brim_dataset *dataset);            /* from_samples: some type_id is not 0 */
BRIM_API bool brim_dataset_has_labels(const brim_dataset *dataset);           /* every row has one */
BRIM_API const brim_labels *brim_dataset_labels(const brim_dataset *dataset); /* NULL if there is no mapping */
/* Says whether the files that the rows are from are still the same (brim_passages_read). 0: not known. */
BRIM_API uint64_t brim_dataset_stamp(const brim_dataset *dataset);
BRIM_API uint64_t brim_dataset_fingerprint(const brim_dataset *dataset); /* of ids, type_ids, texts and labels in order */
/* brim_tokenizer_content of the tokenizer that encoded the rows; 0: not known, as of encoded rows that came from elsewhere until
 * it is set, which has to be done before others see them. */
BRIM_API uint64_t brim_dataset_tokenizer(const brim_dataset *dataset);
BRIM_API void brim_dataset_set_tokenizer(brim_dataset *dataset, uint64_t content);
/* Words whose label is null. */
BRIM_API uint64_t brim_dataset_unlabelled_words(const brim_dataset *dataset);
/* The row's number in its source (brim_record.row): differs from `row` only after an excluded one, and where each
 * window of a text whose words are masked is a row: they follow each other, and have one number. */
BRIM_API uint64_t brim_dataset_origin(const brim_dataset *dataset, uint64_t row);
/* Records that the rows are of: fewer than rows, where several windows of one are rows. */
BRIM_API uint64_t brim_dataset_records(const brim_dataset *dataset);
/* The rows that options.source left out, in order; borrowed for the life of the dataset. */
BRIM_API const brim_exclusion *brim_dataset_excluded(const brim_dataset *dataset, uint64_t *count);

/* Where a row's labelled tokens begin among those of all rows: [rows + 1], the last is their number. NULL where labels are of
 * rows. */
BRIM_API const uint64_t *brim_dataset_token_labels(const brim_dataset *dataset);

/* The blocks that its rows have: their number, at least 1, and what each is, the label's first. A data set without labels has
 * one of which no row has any number. *shapes is borrowed for the life of the dataset. */
BRIM_API int brim_dataset_blocks(const brim_dataset *dataset, const brim_block_shape **shapes);

/* One row; pointers are borrowed for the life of the dataset. type_ids is NULL when all are 0. */
typedef struct brim_sample {
  const int32_t *ids;
  const uint8_t *type_ids;
  int32_t length;              /* tokens of all its texts, which lie one after another */
  const int32_t *text_lengths; /* [text_count] tokens of each; NULL: the row is one text, and text_count is not looked at */
  int32_t text_count;
  float label; /* class id or value; NaN if there is none, or several */
  const float *labels;
  int32_t label_width;         /* [label_width] all of them; NULL and 0: `label` alone */
  const int32_t *token_labels; /* [length] classes of tokens, or their numbers (brim_encode_options.numbering); BRIM_NO_LABEL for
                                  none; not NULL: there is no other label */
  const int32_t *words;        /* [length] the number of the token's word, -1 of special tokens; NULL: it was not read as words */
  const char *word_text;       /* the row's words, also those that were cut off, a NUL after each */
  size_t word_text_length;
  /* The row's numbers of each block: [width] of a row, [text_count, width] or [length, width]; NULL: none. Of the first block
   * these are `labels` or `token_labels`, which are looked at where a sample is given. */
  const void *blocks[BRIM_MOST_BLOCKS];
  uint64_t row;   /* index in the dataset */
  uint64_t query; /* of a pair: equal where first texts were, before they were cut; 0: not known */
} brim_sample;
BRIM_API void brim_dataset_sample(const brim_dataset *dataset, uint64_t row, brim_sample *out);

/* A dataset from rows that the caller has: copies. Used by embedding programs. `row` is not read. labels may be NULL: the labels
 * are then class ids or values as the model takes them. A negative id, an empty row, lengths of texts that are not those of its
 * row, a label outside the mapping or a token of a word that its row does not have is BRIM_E_USAGE. */
BRIM_API int brim_dataset_from_samples(brim_runtime *runtime, const brim_sample *samples, uint64_t count,
                                       const brim_labels *labels, brim_dataset **out, brim_error *err) BRIM_CHECK;
/* The same, whose samples have `further_count` blocks besides the label, from blocks[1] on. */
BRIM_API int brim_dataset_from_rows(brim_runtime *runtime, const brim_sample *samples, uint64_t count, const brim_labels *labels,
                                    const brim_block_shape *further, int further_count, brim_dataset **out,
                                    brim_error *err) BRIM_CHECK;
/* One text of the caller's. The pointers stay valid until the call that asked for them returns. */
typedef struct brim_text_row {
  const char *text;
  size_t text_length; /* text NULL: there is none, which is an error unless min_chars excludes the row */
  const char *pair;
  size_t pair_length;         /* NULL: a single text */
  const brim_string *further; /* [further_count] as in brim_record; the strings too stay valid */
  size_t further_count;
  const char *label;
  size_t label_length;                  /* as a file would have it; NULL: none */
  bool label_is_list;                   /* items with a NUL after each, as in brim_record; of labels of tokens, so is the text */
  const char *label_forms;              /* as in brim_record */
  const void *blocks[BRIM_MOST_BLOCKS]; /* [block_numbers] the numbers of brim_source_options.blocks, from 1 on */
  size_t block_numbers[BRIM_MOST_BLOCKS];
  bool lacks_pair; /* there should be a second text, and there is none: as text NULL */
} brim_text_row;
/* Fills *out, which is zeroed, with row `index`. A pure function: asked in any order, more than once and from any thread. */
typedef int (*brim_text_row_fn)(void *context, uint64_t index, brim_text_row *out, brim_error *err);
/* A dataset from `count` texts in memory, encoded where they lie, in parallel; labels follow the rules of files. Of
 * options.source, need_label, skip_unlabelled, min_chars, most_texts and blocks are looked at; options.progress is not called.
 * Rows and errors are the same for any number of threads; an error names the row. No rows is BRIM_E_USAGE. */
BRIM_API int brim_dataset_from_texts(brim_runtime *runtime, brim_text_row_fn rows, void *context, uint64_t count,
                                     const brim_tokenizer *tokenizer, const brim_dataset_options *options, brim_dataset **out,
                                     brim_error *err) BRIM_CHECK;
/* Some rows of a data set, in the order given, with their origins and the mapping of labels: copies. What was cut or left out
 * when it was read is not counted again. A row number outside is BRIM_E_USAGE. */
BRIM_API int brim_dataset_subset(brim_runtime *runtime, const brim_dataset *dataset, const uint64_t *rows, uint64_t count,
                                 brim_dataset **out, brim_error *err) BRIM_CHECK;
/* Gives the classes other names, in the order of their ids, as many as there are: rows and their numbers stay as they are. */
BRIM_API int brim_dataset_name_classes(brim_dataset *dataset, const char *const *names, int32_t count,
                                       brim_error *err) BRIM_CHECK;
/* All that a data set is, as bytes (released with brim_runtime_release), and one that is the same in every way, made of such
 * bytes, which it copies. They are of this version of brim and this kind of machine (else BRIM_E_MISMATCH) and have a checksum
 * (BRIM_E_FORMAT where it does not fit). */
BRIM_API int brim_dataset_pack(brim_runtime *runtime, const brim_dataset *dataset, void **bytes, size_t *size,
                               brim_error *err) BRIM_CHECK;
BRIM_API int brim_dataset_unpack(brim_runtime *runtime, const void *bytes, size_t size, brim_dataset **out,
                                 brim_error *err) BRIM_CHECK;
/* Reads [{"ids":[..],"type_ids":[..],"label":..},...]; type_ids and label may be absent. Labels of tokens are "labels", as many
 * as ids, -100 for none. Errors have the byte. There is no mapping: labels are class ids or values as the model takes them. */
BRIM_API int brim_dataset_read_json(brim_runtime *runtime, const char *path, brim_dataset **out, brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
