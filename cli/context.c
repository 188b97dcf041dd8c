#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "columns.h"
#include "shared.h"

void cli_note(const cli_call *cli, const char *format, ...) {
  if (cli->values->quiet)
    return;
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (cli->progress)
    brim_progress_clear(cli->progress);
  brim_shown(text, strlen(text), false);
  fprintf(stderr, "brim: %s\n", text);
}

int cli_no_memory(cli_call *cli, const char *what) {
  return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for %s", what);
}

int cli_show(cli_call *cli, brim_text *text) {
  if (text->data)
    text->length = brim_shown(text->data, text->length, true);
  return cli_write(cli, NULL, text);
}

int cli_write(cli_call *cli, const char *path, const brim_text *text) {
  int status = brim_text_status(text, &cli->error);
  if (status || cli->group.rank > 0) /* the first of several ranks writes for all */
    return status;
  if (cli->progress)
    brim_progress_clear(cli->progress);
  return brim_file_write_all(cli->runtime, path ? path : "-", text->data, text->length, &cli->error);
}

/* Of a JSON array of numbers. */
static double mean_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  double sum = 0;
  int count = 0;
  for (const char *at = field ? field->text : ""; *at && at[1]; count++) {
    char *end;
    sum += strtod(at + 1, &end);
    at = end;
  }
  return count ? sum / count : 0;
}

static void note_ranks(cli_call *cli, const brim_event *event) {
  cli_note(cli,
           "rank %lld of %lld computed longest, %.2f of the mean; on average %.1f s of computing, %.1f s of waiting, %.1f s for "
           "gradients",
           (long long)brim_event_field(event, "slowest")->integer, (long long)brim_event_field(event, "processes")->integer,
           brim_event_field(event, "balance")->real, mean_of(event, "compute"), mean_of(event, "wait"),
           mean_of(event, "communication"));
}

int cli_progress(void *context, const brim_event *event) {
  cli_call *cli = context;
  if (strcmp(event->kind, "ranks") == 0)
    note_ranks(cli, event);
  return brim_progress_event(cli->progress, event);
}

/* ---- options ---------------------------------------------------------------------------------------------- */

/* COLUMN=VALUE, split at the first =; later calls find them split. */
static int cut_where(cli_call *cli) {
  const cli_list *list = &cli->values->where;
  cli_arguments *arguments = &cli->arguments;
  for (; cli->where_count < list->count; cli->where_count++) {
    const char *item = list->items[cli->where_count], *equals = strchr(item, '=');
    if (!equals || equals == item)
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--where %s: expected COLUMN=VALUE, for example --where split=train",
                            item);
    char *column = strndup(item, (size_t)(equals - item));
    if (!column || arguments->kept_count == (int)(sizeof arguments->kept / sizeof *arguments->kept)) {
      free(column);
      return cli_no_memory(cli, "--where");
    }
    arguments->kept[arguments->kept_count++] = column;
    cli->where[cli->where_count] = (brim_where){.column = column, .value = equals + 1};
  }
  return BRIM_OK;
}

/* The option's values are the tasks' names. */
brim_task cli_task(const cli_call *cli) {
  brim_task task = BRIM_TASK_AUTO;
  if (cli->values->task)
    brim_task_parse(cli->values->task, &task);
  return task;
}

void cli_take_task(cli_call *cli, brim_task task) {
  const brim_shape *shape = brim_task_shape(task);
  cli->words = shape->words, cli->masks = shape->made;
}

int cli_source_options(cli_call *cli, bool need_label, brim_source_options *out) {
  *out = (brim_source_options){.need_label = need_label, .words = cli->words};
  int status = cli_fill(&cli->arguments, CLI_SOURCE, out, &cli->error);
  if (!status)
    status = cut_where(cli);
  out->where = cli->where, out->where_count = cli->where_count;
  if (cli->values->teacher_column) {
    cli->teacher = (brim_block_column){.column = cli->values->teacher_column, .shape = {.name = "teacher", .per = BRIM_PER_ROW}};
    out->blocks = &cli->teacher, out->block_count = 1;
  }
  return status;
}

/* Windows there are by --windows, and of masked words. */
static int check_max_windows(cli_call *cli) {
  if (!cli->values->max_windows || cli_given(&cli->arguments, "windows") || (cli->masks && !cli->whole_texts))
    return BRIM_OK;
  return brim_error_set(&cli->error, BRIM_E_USAGE,
                        "--max-windows has no effect without --windows: add --windows or leave out --max-windows");
}

enum { WINDOWS = 16, MASKED_WINDOWS = 1024 /* the most that --max-windows takes */ };

brim_windowing cli_windows(const cli_call *cli) {
  const cli_values *v = cli->values;
  const int32_t usual = cli->masks ? MASKED_WINDOWS : WINDOWS;
  return (brim_windowing){v->max_windows ? (int32_t)v->max_windows : usual, (int32_t)v->windows};
}

/* Each of masked words is a row, and no text is too long for them; nor is any where there is no limit. */
static brim_windowing windows_of(const cli_call *cli, int32_t max_length) {
  const bool given = cli_given(&cli->arguments, "windows");
  return given || (cli->masks && !cli->whole_texts && max_length > 0) ? cli_windows(cli)
         : cli->masks                                                 ? (brim_windowing){0}
                                                                      : cli->windows;
}

int cli_encode_options(cli_call *cli, int32_t max_length, brim_encode_options *out) {
  const brim_windowing windows = windows_of(cli, max_length);
  const brim_numbering numbering = cli->values->whole_words ? BRIM_NUMBER_WORDS : BRIM_NUMBER_TOKENS;
  *out = (brim_encode_options){.numbering = cli->masks ? numbering : BRIM_NUMBER_NOTHING};
  const int status = cli_fill(&cli->arguments, CLI_ENCODE, out, &cli->error);
  out->max_length = max_length;
  if (windows.most > 1)
    out->max_windows = windows.most, out->window_overlap = windows.overlap;
  /* Masked words are in windows where nothing is said, and pairs have none. */
  out->cut_pairs = cli->masks && !cli_given(&cli->arguments, "windows") && !cli->values->max_windows;
  return status ? status : check_max_windows(cli);
}

int cli_plan_options(cli_call *cli, brim_plan_options *out) {
  *out = (brim_plan_options){0};
  int status = cli_fill(&cli->arguments, CLI_PLAN, out, &cli->error);
  /* A token budget alone makes batches of that size: the default of rows would cut them again. */
  if (cli->values->max_tokens > 0 && !cli_given(&cli->arguments, "batch-size"))
    out->batch_size = 0;
  return status;
}

int cli_refuse_fp16(cli_call *cli) {
  return brim_error_set(&cli->error, BRIM_E_UNSUPPORTED,
                        "--precision fp16 needs a device with 16-bit arithmetic: use bf16 or fp32");
}

int cli_cut_rows(cli_call *cli, const brim_model_info *info, brim_task task, const brim_tokenizer *tokenizer, int32_t *out) {
  if (cli->values->max_length)
    return cli_pick_max_length(cli, info->max_length, out);
  const int32_t own = brim_tokenizer_max_length(tokenizer), most = info->max_length;
  *out = brim_model_info_length(info, task, own);
  if (*out < most && *out == own)
    cli_note(cli, "rows are cut at %d tokens, as the tokenizer's model_max_length says; --max-length changes it", (int)*out);
  else if (*out < most)
    cli_note(cli, "texts are cut at %d tokens, as the folder's max_seq_length says; --max-length changes it", (int)*out);
  return BRIM_OK;
}

int cli_pick_max_length(cli_call *cli, int32_t most, int32_t *out) {
  const int64_t wanted = cli->values->max_length;
  *out = wanted ? (int32_t)wanted : most;
  if (wanted <= most)
    return BRIM_OK;
  return brim_error_set(&cli->error, BRIM_E_USAGE, "--max-length %lld: the model has positions for %d tokens", (long long)wanted,
                        most);
}

int cli_pick_precision(cli_call *cli, brim_precision *out) {
  const char *name = cli->values->precision;
  *out = BRIM_PRECISION_FP32;
  if (name && !brim_precision_parse(name, out))
    return brim_error_set(&cli->error, BRIM_E_INTERNAL, "the table of --precision allows a word that the library does not know");
  const bool card = cli_is_cuda(cli->values->device) || cli->values->resume; /* on its own device */
  return *out == BRIM_PRECISION_FP16 && !card ? cli_refuse_fp16(cli) : BRIM_OK;
}

int cli_check_device(cli_call *cli) {
  brim_gpu_info gpu;
  brim_error missing;
  const char *device = cli->values->device;
  if (!cli_is_cuda(device))
    return BRIM_OK;
  if (brim_gpu_find(&gpu, &missing))
    return brim_error_set(&cli->error, BRIM_E_UNSUPPORTED, "--device %s: %s", device, missing.message);
  if (device[4] == ':' && atoi(device + 5) >= gpu.cards)
    return brim_error_set(&cli->error, BRIM_E_UNSUPPORTED, "--device %s: there %s; the first is cuda:0%s", device,
                          gpu.cards == 1 ? "is one GPU" : "are fewer GPUs",
                          getenv("CUDA_VISIBLE_DEVICES") ? " (CUDA_VISIBLE_DEVICES hides others)" : "");
  return BRIM_OK;
}

/* ---- loading ---------------------------------------------------------------------------------------------- */

static int find_folder(cli_call *cli, const char **name, brim_hub_part part) {
  cli_arguments *arguments = &cli->arguments;
  char *folder, *copy;
  if (!*name)
    return BRIM_OK;
  int status = brim_hub_find(cli->runtime, *name, NULL, part, &folder, &cli->error);
  if (status || strcmp(folder, *name) == 0) {
    brim_runtime_release(cli->runtime, folder);
    return status;
  }
  copy = strdup(folder); /* the runtime ends before the arguments do */
  brim_runtime_release(cli->runtime, folder);
  if (!copy || arguments->kept_count == (int)(sizeof arguments->kept / sizeof *arguments->kept)) {
    free(copy);
    return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the folder of %s", *name);
  }
  *name = arguments->kept[arguments->kept_count++] = copy;
  return BRIM_OK;
}

int cli_find_folders(cli_call *cli) {
  cli_values *v = &cli->arguments.values;
  int status = find_folder(cli, &v->model, BRIM_HUB_MODEL);
  return status ? status : find_folder(cli, &v->tokenizer, BRIM_HUB_TOKENIZER);
}

int cli_load_tokenizer(cli_call *cli, brim_tokenizer **out) {
  const char *path = cli->values->tokenizer ? cli->values->tokenizer : cli->values->model;
  return brim_tokenizer_load(cli->runtime, path, out, &cli->error);
}

enum { SPARE_TOKENS = 8 };

int cli_check_vocabulary(cli_call *cli, const brim_tokenizer *tokenizer, int32_t vocab_size) {
  int32_t highest = brim_tokenizer_vocab_size(tokenizer) - 1;
  if (highest < vocab_size)
    return BRIM_OK;
  /* A tokenizer may name tokens that no text ever gives and its model does not embed: CamemBERT's has one. A row that has such a
   * token after all is refused by its number. */
  if (highest < vocab_size + SPARE_TOKENS) {
    cli_note(cli, "the tokenizer has ids up to %d, the model embeds only %d tokens", (int)highest, (int)vocab_size);
    return BRIM_OK;
  }
  return brim_error_set(
      &cli->error, BRIM_E_MISMATCH,
      "the tokenizer has ids up to %d, the model embeds only %d tokens: give the model's own tokenizer (--tokenizer)",
      (int)highest, (int)vocab_size);
}

/* Of windows that overlap. */
static void note_repetition(const cli_call *cli, const brim_dataset *dataset, const char *path) {
  const uint64_t repeated = brim_dataset_repeated(dataset), tokens = brim_dataset_tokens(dataset);
  char repeated_text[32];
  if (!repeated)
    return;
  brim_count_text((int64_t)repeated, repeated_text, sizeof repeated_text);
  cli_note(cli, "%s: %s of the tokens (%.1f %%) are in two windows", path, repeated_text,
           100.0 * (double)repeated / (double)tokens);
}

static void note_truncation(const cli_call *cli, const brim_dataset *dataset, const char *path, int32_t max_length) {
  uint64_t cut = brim_dataset_truncated(dataset), rows = brim_dataset_rows(dataset);
  if (!cut)
    return;
  char cut_text[32], rows_text[32], lost_text[32];
  brim_count_text((int64_t)cut, cut_text, sizeof cut_text);
  brim_count_text((int64_t)rows, rows_text, sizeof rows_text);
  brim_count_text((int64_t)brim_dataset_lost(dataset), lost_text, sizeof lost_text);
  const int32_t windows = brim_dataset_has_pairs(dataset) ? 0 : windows_of(cli, max_length).most; /* pairs are cut */
  if (windows > 1 && cli->masks)
    cli_note(cli, "%s: %s text%s longer than %d windows, %s tokens lost; %s changes it", path, cut_text,
             cut == 1 ? " was" : "s were", (int)windows, lost_text, windows < MASKED_WINDOWS ? "--max-windows" : "--max-length");
  else if (windows > 1)
    cli_note(cli, "%s: %s of %s rows (%.1f %%) were longer than their windows, %s tokens lost; --max-windows changes it", path,
             cut_text, rows_text, 100.0 * (double)cut / (double)rows, lost_text);
  else
    cli_note(cli, "%s: %s of %s rows (%.1f %%) were cut at %d tokens, %s tokens lost; --max-length changes it", path, cut_text,
             rows_text, 100.0 * (double)cut / (double)rows, (int)max_length, lost_text);
}

void cli_note_excluded(const cli_call *cli, const brim_exclusion *excluded, uint64_t count, uint64_t rows) {
  char count_text[32], rows_text[32];
  if (!count)
    return;
  brim_count_text((int64_t)count, count_text, sizeof count_text);
  brim_count_text((int64_t)(count + rows), rows_text, sizeof rows_text);
  cli_note(cli, "%s: %s of %s rows are left out, the first at line %lld: %s", excluded->file, count_text, rows_text,
           (long long)excluded->line, excluded->reason);
}

/* "reviews.csv: 25,000 rows from the cache ...", or why they are encoded again. */
static void note_cache(const cli_call *cli, const brim_event *event) {
  const brim_field *path = brim_event_field(event, "path"), *used = brim_event_field(event, "used");
  const brim_field *rows = brim_event_field(event, "rows"), *reason = brim_event_field(event, "reason");
  char count[32];
  if (!path || !used || !rows || !reason)
    return;
  brim_count_text(rows->integer, count, sizeof count);
  if (used->integer)
    cli_note(cli, "%s rows from the cache %s", count, path->text);
  else if (*reason->text)
    cli_note(cli, "%s rows encoded: %s", count, reason->text);
}

static int on_load(void *context, const brim_event *event) {
  if (strcmp(event->kind, "cache") == 0)
    note_cache(context, event);
  return cli_progress(context, event);
}

static void note_unlabelled(const cli_call *cli, const char *path, uint64_t words) {
  char count[32];
  if (!words)
    return;
  brim_count_text((int64_t)words, count, sizeof count);
  cli_note(cli, "%s: %s word%s no label: it is null", path, count, words == 1 ? " has" : "s have");
}

/* As a table with a word on each row has it. */
static void note_words(const cli_call *cli, const brim_dataset *dataset, const char *path) {
  const uint64_t rows = brim_dataset_rows(dataset);
  brim_sample sample;
  char count[32];
  for (uint64_t row = 0; row < rows; row++) {
    brim_dataset_sample(dataset, row, &sample);
    if (!sample.words || strnlen(sample.word_text, sample.word_text_length) + 1 < sample.word_text_length)
      return; /* a word after the first */
  }
  brim_count_text((int64_t)rows, count, sizeof count);
  if (rows > 1)
    cli_note(
        cli,
        "%s: each of the %s rows has one word, which the model sees without the others of its sentence: a row is a sentence, "
        "with a list of its words and one of their labels",
        path, count);
}

static int note_folder(cli_call *cli, const char *path) {
  brim_text names;
  uint64_t count;
  char text[32];
  brim_text_init(&names, cli->runtime);
  const int status = brim_source_passed_over(cli->runtime, path, &names, &count, &cli->error);
  if (!status && count) {
    brim_count_text((int64_t)count, text, sizeof text);
    cli_note(cli, "%s: %s file%s not read: %s%s; name %s to read %s", path, text, count == 1 ? " is" : "s are", names.data,
             count > 3 ? ", .." : "", count == 1 ? "it" : "them", count == 1 ? "it" : "them");
  }
  brim_text_free(&names);
  return status;
}

int cli_note_passed_over(cli_call *cli, const char *const *paths, int count) {
  int status = BRIM_OK;
  for (int i = 0; i < count && !status; i++)
    status = note_folder(cli, paths[i]);
  return status;
}

void cli_note_entities(const cli_call *cli, const brim_labels *labels) {
  if (brim_entities_meant(labels->task, (const char *const *)labels->names, labels->count))
    cli_note(cli, "the labels are not all O, B-X, I-X, E-X or S-X: there are no metrics of whole entities");
}

/* What is not a file, as a pipe, can be read only once. */
static bool can_look(const char *path) {
  struct stat info;
  return stat(path, &info) != 0 ? strcmp(path, "-") != 0 : S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
}

void cli_leave_out_pairs(const cli_call *cli, const brim_model *model, const char *const *paths, int count,
                         brim_source_options *source) {
  brim_reader *reader = NULL;
  brim_record first;
  brim_error ignored; /* whoever reads the rows says what is wrong with them */
  bool looks = model && brim_model_pairs(model) == 0 && !source->pair_column && !source->words;
  for (int i = 0; i < count && looks; i++)
    looks = can_look(paths[i]);
  if (looks && !brim_reader_open(cli->runtime, paths, count, source, &reader, &ignored) &&
      !brim_reader_next(reader, &first, &ignored) && first.pair) {
    source->no_pairs = true;
    cli_note(cli, "%s: the column text_pair is not read: the model was trained on single texts", paths[0]);
  }
  brim_reader_close(reader);
}

int cli_load_dataset(cli_call *cli, const cli_dataset_request *request, brim_dataset **out) {
  cli_columns columns = {0};
  const brim_group group = cli->share_rows ? cli->group : brim_group_single();
  brim_dataset_options options = {.task = request->task,
                                  .labels = request->labels,
                                  .cache = cli->values->cache,
                                  .progress = on_load,
                                  .progress_context = cli};
  int status = cli_encode_options(cli, request->max_length, &options.encode);
  if (!status)
    status = cli_source_options(cli, request->need_label, &options.source);
  options.source.aligned = request->predicts;
  if (!status)
    status = cli_note_passed_over(cli, request->paths, request->path_count);
  if (!status)
    status = cli_columns_find(cli, request->paths, request->path_count, request->labels ? request->labels->task : request->task,
                              &columns, &options.source);
  if (!status)
    cli_leave_out_pairs(cli, request->model, request->paths, request->path_count, &options.source);
  if (!status)
    status = cli_prompts_of(cli, &columns, &options.encode);
  if (!status)
    status = brim_dataset_load_together(&group, cli->runtime, request->paths, request->path_count, request->tokenizer, &options,
                                        out, &cli->error);
  if (!status)
    cli_note_columns(cli, request->paths[0], &columns);
  cli_columns_free(&columns);
  if (status == BRIM_E_IO && !request->need_label && strchr(cli->error.file, ' ') && cli->error.line == 0)
    snprintf(cli->hint, sizeof cli->hint, "; a text comes through standard input: echo \"..\" | brim %s .. -",
             cli->command->name);
  if (status)
    return status;
  uint64_t excluded;
  const brim_exclusion *first = brim_dataset_excluded(*out, &excluded);
  cli_note_excluded(cli, first, excluded, brim_dataset_records(*out));
  note_unlabelled(cli, request->paths[0], brim_dataset_unlabelled_words(*out));
  note_words(cli, *out, request->paths[0]);
  if (request->silent)
    return BRIM_OK;
  note_truncation(cli, *out, request->paths[0], request->max_length);
  note_repetition(cli, *out, request->paths[0]);
  return BRIM_OK;
}
