/* shared.h: what option lists are written with, and the lists that several commands name (shared.c). */
#ifndef BRIM_CLI_SHARED_H
#define BRIM_CLI_SHARED_H

#include "brim/brim.h"
#include "options.h"

/* One option of a list. Ranges of numbers are inclusive; what follows them is .help, .fallback, .shown, .letter, .aliases,
 * .required, .needs, .excludes, .to. */
#define HEADING(text)           {.kind = CLI_GROUP, .name = text}
#define ROWS(other)             {.kind = CLI_ROWS, .list = other}
#define ROWS_WITH(need, other)  {.kind = CLI_ROWS, .list = other, .needs = need} /* .needs of those rows that have none */
#define FLAG(label, field, ...) {.kind = CLI_FLAG, .name = label, CLI_FIELD(field), __VA_ARGS__}
#define INTEGER(label, field, what, low, high, ...)                                                                              \
  {.kind = CLI_INTEGER, .name = label, CLI_FIELD(field), .value = what, .least = low, .most = high, __VA_ARGS__}
#define SEED(label, field, ...) {.kind = CLI_SEED, .name = label, CLI_FIELD(field), .value = "N", __VA_ARGS__}
#define REAL(label, field, what, low, high, ...)                                                                                 \
  {.kind = CLI_REAL, .name = label, CLI_FIELD(field), .value = what, .least = low, .most = high, __VA_ARGS__}
#define TEXT(label, field, what, ...)    {.kind = CLI_TEXT, .name = label, CLI_FIELD(field), .value = what, __VA_ARGS__}
#define CHOICE(label, field, words, ...) {.kind = CLI_CHOICE, .name = label, CLI_FIELD(field), .value = words, __VA_ARGS__}
#define NAMES(label, field, what, ...)   {.kind = CLI_NAMES, .name = label, CLI_FIELD(field), .value = what, __VA_ARGS__}
#define LIST(label, field, what, ...)    {.kind = CLI_LIST, .name = label, CLI_FIELD(field), .value = what, __VA_ARGS__}

/* The words of --task: "classification|regression|..". */
#define CLI_TASK_WORD(constant, file, name) "|" name
#define CLI_TASKS                           (&(BRIM_EACH_TASK(CLI_TASK_WORD))[1])

/* Fields of the library's structs for `.to`. A field that is no number, truth value or text is one for the row's `.parse`. */
#define CLI_TYPE_OF(field)                                                                                                       \
  _Generic((field),                                                                                                              \
      bool: CLI_BOOL,                                                                                                            \
      int32_t: CLI_INT32,                                                                                                        \
      int64_t: CLI_INT64,                                                                                                        \
      uint64_t: CLI_UINT64,                                                                                                      \
      double: CLI_DOUBLE,                                                                                                        \
      const char *: CLI_STRING,                                                                                                  \
      default: CLI_PARSED)
#define CLI_TARGET(kind, type, field) {kind, CLI_TYPE_OF(((type *)0)->field), offsetof(type, field)}
#define SOURCE(field)                 CLI_TARGET(CLI_SOURCE, brim_source_options, field)
#define ENCODE(field)                 CLI_TARGET(CLI_ENCODE, brim_encode_options, field)
#define PLAN(field)                   CLI_TARGET(CLI_PLAN, brim_plan_options, field)
#define FEED(field)                   CLI_TARGET(CLI_FEED, brim_feed_options, field)
#define MODEL(field)                  CLI_TARGET(CLI_MODEL, brim_model_options, field)
#define TRAIN(field)                  CLI_TARGET(CLI_TRAIN, brim_train_options, field)
#define EVAL(field)                   CLI_TARGET(CLI_EVAL, brim_eval_options, field)
/* The same for a field that `.parse` fills although its type is one of those. */
#define PARSED(kind, type, field) {kind, CLI_PARSED, offsetof(type, field)}

#define CLI_MANY      1e18 /* no upper bound */
#define CLI_BATCHINGS "sequential|random|uniform|sorted|bucketed|packed"

/* Whether `path` is a share of the training rows, such as 10%, and no file of that name. */
bool cli_is_share(const char *path, double *share);

/* Words of the library as values of options. */
bool cli_parse_batching(const char *text, void *field);
bool cli_parse_padding(const char *text, void *field);
bool cli_parse_format(const char *text, void *field);
bool cli_parse_delimiter(const char *text, void *field);
bool cli_parse_quote(const char *text, void *field);

/* Every command */
extern const cli_option cli_general_options[];
/* Data files: their columns, which rows are read, labels, the cache of encoded rows */
extern const cli_option cli_selection_options[], cli_column_options[], cli_single_column_options[], cli_text_options[],
    cli_label_option[], cli_missing_label_option[], cli_cache_option[];
/* Text */
extern const cli_option cli_tokenizer_option[], cli_needed_tokenizer_option[], cli_windows_options[], cli_truncation_options[];
/* Batches */
extern const cli_option cli_batch_size_option[], cli_max_tokens_option[], cli_accumulate_option[], cli_padding_option[],
    cli_seed_option[];
extern const cli_option cli_batch_options[], cli_stream_options[], cli_fold_options[];
/* A training job: `brim train` and `brim compare` */
extern const cli_option cli_words_option[], cli_rows_option[], cli_job_input_options[], cli_job_task_option[],
    cli_job_task_options[], cli_job_length_options[];
extern const cli_option cli_precision_option[], cli_trained_options[], cli_method_options[], cli_vector_loss_options[],
    cli_loss_options[], cli_mask_options[], cli_optimizer_options[], cli_machine_options[];
/* Where to compute */
extern const cli_option cli_device_option[];
bool cli_is_cuda(const char *device); /* false: NULL, another */
/* A trained model and rows to run it on: `brim evaluate` and `brim predict` */
extern const cli_option cli_inference_options[];

#endif
