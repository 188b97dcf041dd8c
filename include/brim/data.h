/* brim/data.h: from files to encoded rows. */
#ifndef BRIM_DATA_H
#define BRIM_DATA_H
#include "brim/text.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum brim_format { BRIM_FORMAT_AUTO = 0, BRIM_FORMAT_CSV, BRIM_FORMAT_TSV, BRIM_FORMAT_JSONL, BRIM_FORMAT_TXT } brim_format;
typedef enum brim_quote { BRIM_QUOTE_AUTO = 0, BRIM_QUOTE_CSV, BRIM_QUOTE_NONE } brim_quote;

typedef struct brim_source_options {
  brim_format format;        /* AUTO: from the name (.csv .tsv .jsonl .txt, then .gz or .zst); TXT for standard input */
  brim_quote quote;          /* AUTO: csv is quoted, tsv is not */
  bool no_header;            /* columns are then named by number, from 0 */
  const char *text_column;   /* NULL: "text" ("0" without a header) */
  const char *pair_column;   /* NULL: "text_pair" if there is such a column */
  const char *label_column;  /* NULL: "label" if there is such a column */
  bool need_label;           /* a missing label column or value is an error */
} brim_source_options;

/* One record; pointers are borrowed until the next call. */
typedef struct brim_record {
  const char *text; size_t text_length;
  const char *pair; size_t pair_length;    /* pair NULL: a single text */
  const char *label; size_t label_length;  /* label NULL: none. JSON numbers and booleans come as their text */
  bool label_is_string;                    /* JSON: it was a string. csv, tsv: always true */
  uint64_t row;                            /* 0-based over all files of the source */
  int64_t line;                            /* 1-based line where the record begins in its file */
  int64_t byte;                            /* offset where it begins, uncompressed */
  const char *file;
} brim_record;

/* Reads records in file order. `paths` may be files, globs, or "-". */
typedef struct brim_reader brim_reader;
BRIM_API int brim_reader_open(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                              brim_reader **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_reader_next(brim_reader *reader, brim_record *record, brim_error *err) BRIM_CHECK; /* BRIM_END after the last */
BRIM_API void brim_reader_close(brim_reader *reader);
/* Bytes of input consumed and in total (compressed size; total 0 if unknown): for progress. */
BRIM_API void brim_reader_progress(const brim_reader *reader, uint64_t *consumed, uint64_t *total);

/* Encodes a reader's records in parallel blocks and yields them in input order: the same for any thread count. Takes the reader. */
typedef struct brim_encoder brim_encoder;
typedef struct brim_encoded {      /* borrowed until the next call */
  const int32_t *ids; const uint8_t *type_ids; size_t length; size_t lost;
  uint64_t row; int64_t line; const char *file;
  const char *label; size_t label_length; bool label_is_string;
} brim_encoded;
BRIM_API int brim_encoder_new(brim_runtime *runtime, brim_reader *reader, const brim_tokenizer *tokenizer,
                              const brim_encode_options *options, brim_encoder **out, brim_error *err) BRIM_CHECK;
BRIM_API int brim_encoder_next(brim_encoder *encoder, brim_encoded *row, brim_error *err) BRIM_CHECK;
BRIM_API void brim_encoder_close(brim_encoder *encoder);

typedef enum brim_task { BRIM_TASK_AUTO = 0, BRIM_TASK_CLASSIFICATION, BRIM_TASK_REGRESSION } brim_task;

/* How label texts become numbers: ids in order of first use of the sorted names (strings), or the integers themselves. */
typedef struct brim_labels {
  brim_task task;
  int32_t count;       /* classes; 1 for regression */
  char **names;        /* [count]: id2label; NULL for regression */
  bool integers;       /* the labels in the file are the integers 0..count-1 */
  brim_runtime *runtime;
} brim_labels;
BRIM_API void brim_labels_free(brim_labels *labels);

typedef struct brim_dataset_options {
  brim_source_options source;
  brim_encode_options encode;
  brim_task task;               /* AUTO: integers and strings classify, decimals regress, a mixture is refused */
  const brim_labels *labels;    /* not NULL: use this mapping (evaluation); an unknown label is an error with its place */
  brim_event_fn progress;       /* NULL: none. Kind "progress": phase, done, total, rows, tokens, seconds */
  void *progress_context;
} brim_dataset_options;

/* All rows of a source, encoded once, in compact memory. Immutable after load: shareable between threads. */
typedef struct brim_dataset brim_dataset;
BRIM_API int brim_dataset_load(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                               const brim_dataset_options *options, brim_dataset **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_dataset_free(brim_dataset *dataset);
BRIM_API uint64_t brim_dataset_rows(const brim_dataset *dataset);
BRIM_API uint64_t brim_dataset_tokens(const brim_dataset *dataset);      /* after truncation */
BRIM_API uint64_t brim_dataset_truncated(const brim_dataset *dataset);   /* rows that were cut */
BRIM_API uint64_t brim_dataset_lost(const brim_dataset *dataset);        /* tokens that were cut */
BRIM_API const int32_t *brim_dataset_lengths(const brim_dataset *dataset); /* [rows] */
BRIM_API bool brim_dataset_has_pairs(const brim_dataset *dataset);
BRIM_API const brim_labels *brim_dataset_labels(const brim_dataset *dataset); /* NULL if there were no labels */
BRIM_API uint64_t brim_dataset_fingerprint(const brim_dataset *dataset); /* of ids, types and labels */

/* One row; pointers are borrowed for the life of the dataset. type_ids is NULL when all are 0. */
typedef struct brim_sample {
  const int32_t *ids; const uint8_t *type_ids; int32_t length;
  float label;      /* class id or value; NaN if there is none */
  uint64_t row;
} brim_sample;
BRIM_API void brim_dataset_sample(const brim_dataset *dataset, uint64_t row, brim_sample *out);

/* A dataset from rows that the caller has: copies. Used for JSON batches and by embedding programs. labels may be NULL. */
BRIM_API int brim_dataset_from_samples(brim_runtime *runtime, const brim_sample *samples, uint64_t count, const brim_labels *labels,
                                       brim_dataset **out, brim_error *err) BRIM_CHECK;
/* Reads [{"ids":[..],"type_ids":[..],"label":..},...]. */
BRIM_API int brim_dataset_read_json(brim_runtime *runtime, const char *path, brim_dataset **out, brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
