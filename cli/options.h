/* options.h: one option list per command drives parsing, --config, --help, the manual pages and shell completion.
 *
 * An option list is an array of cli_option closed by {0}. It may name other lists, whose options are then part of it: options
 * that several commands have are written once (shared.c). A value is stored in cli_values at `offset`; `to` says which fields of
 * the library's options it fills. */
#ifndef BRIM_CLI_OPTIONS_H
#define BRIM_CLI_OPTIONS_H

#include "brim/train.h"

typedef enum cli_kind {
  CLI_END = 0, /* closes a list */
  CLI_GROUP,   /* a heading in the help; `name` is its text */
  CLI_ROWS,    /* the options of `list` come here */
  CLI_FLAG,    /* bool, no value */
  CLI_INTEGER, /* int64_t */
  CLI_SEED,    /* uint64_t, all of its values */
  CLI_REAL,    /* double */
  CLI_TEXT,    /* const char * */
  CLI_CHOICE,  /* const char *, one of the words of `value`, which are separated by | */
  CLI_NAMES,   /* const char *, names with commas between them; may be given several times */
  CLI_LIST     /* cli_list: may be given several times */
} cli_kind;

/* The library's structs that options fill. */
typedef enum cli_struct {
  CLI_NOWHERE = 0,
  CLI_SOURCE, /* brim_source_options */
  CLI_ENCODE, /* brim_encode_options */
  CLI_PLAN,   /* brim_plan_options */
  CLI_FEED,   /* brim_feed_options */
  CLI_MODEL,  /* brim_model_options */
  CLI_TRAIN,  /* brim_train_options */
  CLI_EVAL    /* brim_eval_options */
} cli_struct;

typedef enum cli_type {
  CLI_PARSED = 0, /* by the option's `parse` */
  CLI_BOOL,
  CLI_INT32,
  CLI_INT64,
  CLI_UINT64,
  CLI_DOUBLE,
  CLI_STRING
} cli_type;

/* What a path is for (brim_check_outputs): what is written is compared with all that is read. */
typedef enum cli_path {
  CLI_NO_PATH = 0,
  CLI_READS_FILE = BRIM_READS_FILE,
  CLI_READS_DATA = BRIM_READS_DATA,
  CLI_READS_MODEL = BRIM_READS_MODEL,
  CLI_KEEPS = BRIM_KEEPS,
  CLI_WRITES_FILE = BRIM_WRITES_FILE,
  CLI_WRITES_RESUMABLE = BRIM_WRITES_RESUMABLE,
  CLI_WRITES_RUN = BRIM_WRITES_RUN
} cli_path;

/* A field that an option fills. */
typedef struct cli_target {
  cli_struct of;
  cli_type type;
  size_t at;
} cli_target;

enum { CLI_TARGETS = 3 };

typedef struct cli_option {
  cli_kind kind;
  const char *name;           /* without dashes */
  char letter;                /* 0: none */
  const char *aliases;        /* other long names, separated by spaces; NULL: none */
  const char *said;           /* what messages of the library call it; NULL: its name */
  const char *value;          /* what the help calls the value */
  const char *(*words)(void); /* CHOICE: gives `value`, where the library has a list */
  const char *also;           /* CHOICE: words that are accepted without being offered: the command says why they will not do */
  const char *fallback;       /* the default, parsed like a given value; NULL: 0, false or NULL */
  const char *shown;          /* the default as the help says it, where it is not a constant */
  double least, most;         /* INTEGER, REAL: allowed range when least < most */
  const char *implied;        /* TEXT: given without a value it means this; a value is then attached, --name=VALUE */
  bool required;
  cli_path path;
  const char *endings;  /* of a file that is written: those of what is written, the usual one first, a space after each; another
                         * format's is refused */
  const char *needs;    /* the options of which one must be given, a space between them, or this one has no effect and is refused;
                         * "batching=packed|sorted": with one of these values. ROWS: of those options that say nothing themselves */
  const char *excludes; /* the options, written likewise, that contradict it: together they are refused */
  size_t offset;        /* of the field in cli_values */
  cli_target to[CLI_TARGETS];
  bool (*parse)(const char *text, void *field); /* for targets that are CLI_PARSED; false: not a value */
  const char *expected;                         /* what the message says that `parse` wanted; NULL: it knows every word */
  const struct cli_option *list;                /* ROWS */
  const char *help;
} cli_option;

enum { CLI_OPTION_LIMIT = 192 }; /* of a command, headings too */

#define CLI_LIST_LIMIT 64
typedef struct cli_list {
  const char *items[CLI_LIST_LIMIT];
  int count;
} cli_list;

/* Every option of every command. A command sees the fields that its list names; the others stay zero. */
typedef struct cli_values {
  /* general */
  bool help, quiet, json, jsonl, overwrite, unbuffered, sort;
  const char *config, *output, *cpu;
  int64_t threads;
  /* data */
  const char *columns, *text_column, *pair_column, *label_column, *missing_label, *format, *delimiter, *quote, *cache;
  bool no_header;
  int64_t min_chars, max_record, records;
  bool skip_damaged;
  cli_list train, eval, test, where, labels, column_prompt;
  bool stream, repeat, rank_slices;
  cli_list weight;
  int64_t shuffle_window, prefetch;
  const char *shard_format;
  /* text */
  const char *tokenizer, *truncation, *truncation_side;
  bool no_special_tokens;
  int64_t max_length, windows, max_windows;
  /* batches */
  const char *batching, *padding, *oversize, *tail, *lengths, *simulate;
  int64_t batch_size, max_tokens, max_rows, accumulate, slices, read_ahead, pad_to_multiple_of, required_multiple;
  bool drop_last;
  uint64_t seed, fold_seed;
  int64_t epoch, rank, world_size, rank_timeout;
  /* training */
  const char *model, *task, *precision, *device, *best_metric, *schedule, *freeze, *train_only, *pooling, *layers,
      *dense_activation, *optimizer, *decay_towards;
  const char *class_weights, *mask_rate, *eval_batching, *eval_padding;
  double loss_scale, epochs, lr, beta1, beta2, eps, weight_decay, clip, warmup_ratio, layer_lr_decay, label_smoothing, min_delta,
      swa_start, momentum, mixout;
  const char *keep;
  int64_t max_steps, warmup_steps, log_every, eval_every, save_every, keep_checkpoints, eval_batch_size, dense, reinit_layers,
      patience, swa_every, loss_scale_steps;
  const char *loss, *inner, *distance, *directions, *partition, *similarity, *hardness, *matryoshka, *matryoshka_weights,
      *teacher_column;
  double scale, margin, temperature, positive_weight, hardness_strength;
  const char *memory_limit;
  bool whole_words, resume, resume_anyway, keep_head, checkpoint_activations, no_type_ids, tf32, no_speed;
  const char *profile;
  bool own_trace; /* its name is brim's, in the folder of the run */
  /* folds */
  int64_t folds;
  bool stratify;
  const char *fold_column;
  const char *compared, *precisions; /* lists */
  /* embed */
  const char *prompt, *query_prompt, *document_prompt, *corpus, *queries, *relevant, *at, *scored_pairs;
  int64_t dimensions;
  bool normalize;
  /* inspect */
  const char *batch, *hyperparameters, *pass, *kind, *words;
  double mask_share, random_share;
  bool all_tokens, tensors;
  /* report */
  cli_list data;
  const char *csv, *html;
  int64_t samples;
  /* help */
  bool manual, markdown;
} cli_values;

#define CLI_FIELD(field) .offset = offsetof(cli_values, field)

struct cli_call;
typedef struct cli_command {
  const char *name;     /* may be two words: "inspect gradients" */
  const char *summary;  /* one line, no full stop */
  const char *operands; /* as the usage line shows them, "" for none */
  int least_operands, most_operands;
  cli_path operands_are;
  const char *description; /* paragraphs separated by a line end */
  const cli_option *options;
  const char *example; /* one command line */
  int (*run)(struct cli_call *cli);
  bool hidden; /* not listed in `brim help` */
} cli_command;

/* How an option was given last: the text NULL: it was not; the name NULL: by a file. */
typedef struct cli_given_as {
  const char *name, *text;
} cli_given_as;

/* What the command line and the config file said. */
typedef struct cli_arguments {
  cli_values values;
  cli_given_as given_as[CLI_OPTION_LIMIT];
  cli_option options[CLI_OPTION_LIMIT]; /* the command's list with all that it names, closed by {0} */
  bool given[CLI_OPTION_LIMIT];         /* options[i] was given (command line or config file) */
  const char *operands[1024];
  int operand_count;
  char *kept[256]; /* copies of the texts that came from --config */
  int kept_count;
} cli_arguments;

/* Copies a list, and the lists that it names, into one that is closed by {0}. */
void cli_join(const cli_option *list, cli_option out[CLI_OPTION_LIMIT]);

/* Fills *arguments from argv[0..count) (the words after the command's name): the command line first, then --config for what it
 * left open, then defaults; then ranges, required options, options that need or exclude others and the number of operands are
 * checked. With --help nothing is required. */
int cli_parse(brim_runtime *runtime, const cli_command *command, int count, char **argv, cli_arguments *arguments,
              brim_error *err);
void cli_arguments_free(cli_arguments *arguments);

/* Copies the values of all options that fill a field of that struct: those that were given and those that have a default. The
 * other fields stay as they are. `out` is a struct of the kind that `of` names. */
int cli_fill(const cli_arguments *arguments, cli_struct of, void *out, brim_error *err);

/* Whether the option was given rather than defaulted. */
bool cli_given(const cli_arguments *arguments, const char *name);
/* Whether it was given, and not as it is by default. */
bool cli_says(const cli_arguments *arguments, const char *name);
/* The option of that name or alias, or NULL. */
const cli_option *cli_find_option(const cli_option *options, const char *name, size_t length);
/* "; did you mean --batch-size?" or "" in buffer. */
void cli_suggest_option(const cli_option *options, const char *name, size_t length, char *buffer, size_t size);
/* The name closest to `word` among `candidates` (NULL-terminated), or NULL when none is near. */
const char *cli_nearest(const char *word, size_t length, const char *const *candidates);
/* cli_store for a value that was given, and not as nothing. NAMES are added to those before. Of another option that is given
 * again under the same `name` the last value counts, as in a script that adds to its own options; under another name, or again in
 * a file (`name` NULL), it is refused. */
int cli_give(cli_arguments *arguments, const cli_option *option, const char *name, const char *text, brim_error *err);
/* Stores one value (FLAG: "true" or "false"). `text` is kept by pointer. What is wrong with it goes to err without a file or
 * line. */
int cli_store(const cli_option *option, const char *text, cli_values *values, brim_error *err);
/* Reads a JSON object of option names into what was not given (config.c). */
int cli_read_config(brim_runtime *runtime, const cli_command *command, cli_arguments *arguments, brim_error *err);
/* The options that were given, on the command line or in the config file, as a JSON object: what a run records of how it was
 * started. */
void cli_options_json(const cli_arguments *arguments, brim_text *out);

#endif
