/* cli.h: what every command works with. Public brim headers only. */
#ifndef BRIM_CLI_CLI_H
#define BRIM_CLI_CLI_H

#include "brim/brim.h"
#include "options.h"

/* One call of the program. A command returns a brim_status and leaves the reason in `error`; main.c prints it. */
typedef struct cli_call {
  const cli_command *command;
  cli_arguments arguments;
  const cli_values *values; /* of arguments */
  brim_runtime *runtime;
  brim_progress *progress;
  brim_views *views;                 /* of `brim train`, NULL elsewhere */
  struct cli_last_evals *last_evals; /* the same */
  brim_ranks *ranks;                 /* NULL: the only process (ranks.c) */
  brim_runtime *ranks_runtime;
  brim_group group; /* of ranks, or single */
  brim_error error;
  char hint[320];                   /* what to say after "interrupted", or a failure of files: what is kept */
  brim_where where[CLI_LIST_LIMIT]; /* the parts of --where; their columns are in arguments.kept */
  int where_count;
  bool runs;                 /* its options are read, and it is at work */
  bool words;                /* rows are words with a label each */
  brim_windowing windows;    /* of the run that predicts, unless --windows says otherwise */
  bool masks;                /* rows are texts some of whose tokens will be masked */
  bool whole_texts;          /* and texts are rows, not their windows */
  bool share_rows;           /* of several ranks: cli_ranks_share */
  brim_block_column teacher; /* --teacher-column */
  brim_prompts *prompts;     /* of the run that trains; NULL: none */
} cli_call;

/* A line on standard error, "brim: ...", unless --quiet. */
void cli_note(const cli_call *cli, const char *format, ...) BRIM_PRINTF(2, 3);
/* A message's options, as the command has them (advice.c); of what it lacks the command that has it is named. */
void cli_name_options(const cli_call *cli, char *text, size_t size);
/* "no memory for WHAT" */
int cli_no_memory(cli_call *cli, const char *what);
/* Lines for people to standard output: what would steer a terminal is taken out of them (brim_shown). */
int cli_show(cli_call *cli, brim_text *text);
/* Writes text to a file (complete or absent), or to standard output when path is NULL. */
int cli_write(cli_call *cli, const char *path, const brim_text *text);

/* Of --task; AUTO where it is not given. */
brim_task cli_task(const cli_call *cli);
/* What a task's rows are, from now on: that of --task, or a model's. */
void cli_take_task(cli_call *cli, brim_task task);
/* The library's options, filled by the command's option list. */
int cli_source_options(cli_call *cli, bool need_label, brim_source_options *out);
/* Of --windows and --max-windows, whether they are given or not. */
brim_windowing cli_windows(const cli_call *cli);
int cli_encode_options(cli_call *cli, int32_t max_length, brim_encode_options *out);
int cli_plan_options(cli_call *cli, brim_plan_options *out);

/* --precision: fp32 where the command has no such option; BRIM_E_UNSUPPORTED for what a CPU cannot. */
int cli_pick_precision(cli_call *cli, brim_precision *out);
/* --max-length, where the model has positions for `most` tokens; without the option these. */
int cli_pick_max_length(cli_call *cli, int32_t most, int32_t *out);
/* The same for rows; without the option what the folder says of them. */
int cli_cut_rows(cli_call *cli, const brim_model_info *info, brim_task task, const brim_tokenizer *tokenizer, int32_t *out);
int cli_refuse_fp16(cli_call *cli) BRIM_CHECK;
/* --device cuda: whether there is what it needs, before anything is read. */
int cli_check_device(cli_call *cli);

/* --model and --tokenizer become folders: names of the Hugging Face hub are looked up in its local cache (brim_hub_find). */
int cli_find_folders(cli_call *cli);

/* --tokenizer, or the files in the model's folder when it is not given. */
int cli_load_tokenizer(cli_call *cli, brim_tokenizer **out);

/* A tokenizer must not give ids that the model has no embedding for. */
int cli_check_vocabulary(cli_call *cli, const brim_tokenizer *tokenizer, int32_t vocab_size);

typedef struct cli_dataset_request {
  const char *const *paths;
  int path_count;
  const brim_tokenizer *tokenizer;
  int32_t max_length; /* 0: no limit */
  bool need_label;    /* labels must be there; otherwise they are not looked at */
  bool predicts;      /* what comes of texts is distinguished by their places */
  bool silent;        /* the caller says itself how many rows were cut */
  brim_task task;
  const brim_labels *labels; /* NULL: made from the data */
  const brim_model *model;   /* that is to see the rows; NULL: one that learns from them */
} cli_dataset_request;
/* Reads and encodes all rows, with progress, and says how many were cut. */
int cli_load_dataset(cli_call *cli, const cli_dataset_request *request, brim_dataset **out);

/* Of a model that was trained on single texts: a column of second texts that nobody asked for is not read, and a note says so. */
void cli_leave_out_pairs(const cli_call *cli, const brim_model *model, const char *const *paths, int count,
                         brim_source_options *source);
/* Says how many rows --min-chars and --where left out, if any, and the first with its reason. `rows`: records that are left. */
void cli_note_excluded(const cli_call *cli, const brim_exclusion *excluded, uint64_t count, uint64_t rows);
/* Says which files of folders among the paths are passed over, if any. */
int cli_note_passed_over(cli_call *cli, const char *const *paths, int count);
/* Says that labels of words which seem to say where entities are have no metrics of them, if it is so. */
void cli_note_entities(const cli_call *cli, const brim_labels *labels);

/* After a failure to read --model: says where a run that has no model at its top has one (infer.c). */
void cli_hint_at_model(cli_call *cli);

/* What is refused before a command begins (files.c): an output that is also an input or that cannot be written, standard input
 * that is named twice. An output that is a link becomes its target's name. */
int cli_check_files(cli_call *cli);

/* Forwards to the progress display; the context is the cli. */
int cli_progress(void *context, const brim_event *event);

/* Handlers for Ctrl-C, kill and a closed terminal: the first asks the runtime to stop, the second ends at once (signals.c). */
void cli_catch_signals(brim_runtime *runtime);
void cli_release_signals(void);
int cli_signal(void); /* the one that asked the runtime to stop; 0: none did */
/* Standard streams that the caller has closed become /dev/null: no file is opened under their numbers and gets what is printed.
 */
void cli_open_streams(void);
/* Whether whoever read standard output is gone. */
bool cli_reader_gone(void);

#endif
