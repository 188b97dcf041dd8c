/* stream.c: feeds from options: what --stream means for every command that has it. */
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --weight, once for each path. */
static int take_weights(cli_call *cli, int path_count, double *out) {
  const cli_list *list = &cli->values->weight;
  if (list->count != path_count)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "%d --weight for %d sources: give one for each, in the same order",
                          list->count, path_count);
  for (int i = 0; i < list->count; i++) {
    char *end;
    out[i] = strtod(list->items[i], &end);
    if (*end || end == list->items[i] || !(out[i] > 0))
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--weight %s: expected a number above 0, such as 2.5", list->items[i]);
  }
  return BRIM_OK;
}

int cli_open_feed(cli_call *cli, const cli_feed_request *request, brim_feed **out) {
  const cli_values *v = cli->values;
  double weights[CLI_LIST_LIMIT];
  if (v->weight.count) {
    int status = take_weights(cli, request->path_count, weights);
    if (status)
      return status;
  }
  brim_feed_options how = {.labels = request->labels,
                           .plan = *request->plan,
                           .rank = request->rank,
                           .first_epoch = request->first_epoch,
                           .epochs = cli_any_pipe(request->paths, request->path_count) ? 1 : request->epochs,
                           .weights = v->weight.count ? weights : NULL};
  int status = cli_fill(&cli->arguments, CLI_FEED, &how, &cli->error);
  if (!status)
    status = cli_encode_options(cli, request->max_length, &how.encode);
  if (!status)
    status = cli_source_options(cli, request->labels != NULL, &how.source);
  if (!status)
    status = cli_columns_find(cli, request->paths, request->path_count, request->labels ? request->labels->task : cli_task(cli),
                              request->columns, &how.source);
  if (!status)
    status = cli_prompts_of(cli, request->columns, &how.encode);
  if (!status)
    status = cli_note_passed_over(cli, request->paths, request->path_count);
  if (!status)
    status = brim_feed_open(cli->runtime, request->paths, request->path_count, request->tokenizer, &how, out, &cli->error);
  if (status)
    return status;
  cli_note_columns(cli, request->paths[0], request->columns);
  char files[32], window[32];
  brim_count_text(brim_feed_file_count(*out), files, sizeof files);
  brim_count_text(v->shuffle_window, window, sizeof window);
  if (brim_feed_memory(*out))
    cli_note(cli, "stream: %s file%s, windows of %s rows take at most %.1f MiB", files,
             brim_feed_file_count(*out) == 1 ? "" : "s", window, (double)brim_feed_memory(*out) / (1 << 20));
  else
    cli_note(cli, "stream: %s file%s, windows of %s rows; --max-length would bound their memory", files,
             brim_feed_file_count(*out) == 1 ? "" : "s", window);
  return BRIM_OK;
}

void cli_note_empty(const cli_call *cli, const char *where, uint64_t rows) {
  char count[32];
  brim_count_text((int64_t)rows, count, sizeof count);
  if (rows)
    cli_note(
        cli,
        "%s%s row%s an empty text, or no second one where others have it: there is nothing to learn from that; --min-chars 1 "
        "leaves out rows without a text, and with --pair-column those without a second one",
        where, count, rows == 1 ? " has" : "s have");
}

void cli_note_damage(const cli_call *cli, const brim_feed *feed) {
  brim_feed_ledger ledger;
  uint64_t listed;
  char count[32], epoch[40];
  const brim_exclusion *damage = brim_feed_damage(feed, &listed);
  brim_feed_tell(feed, &ledger);
  if (ledger.rows_excluded) {
    brim_count_text((int64_t)ledger.rows_excluded, count, sizeof count);
    cli_note(cli,
             "epoch %llu: %s row%s left out (--min-chars, --where, --missing-label, or a label that says that there is none)",
             (unsigned long long)ledger.epoch, count, ledger.rows_excluded == 1 ? " was" : "s were");
  }
  if (ledger.rows_truncated) {
    char lost[32], read[64] = "";
    brim_count_text((int64_t)ledger.rows_read, count, sizeof count);
    if (cli->values->repeat) /* there is no end, and rows are read long before they are trained on */
      snprintf(read, sizeof read, " of the %s that were read ahead", count);
    brim_count_text((int64_t)ledger.rows_truncated, count, sizeof count);
    brim_count_text((int64_t)ledger.tokens_lost, lost, sizeof lost);
    cli_note(cli, "epoch %llu: %s %s%s%s %s cut, %s tokens lost", (unsigned long long)ledger.epoch, count,
             cli->masks ? "text" : "row", ledger.rows_truncated == 1 ? "" : "s", read,
             ledger.rows_truncated == 1 ? "was" : "were", lost);
  }
  snprintf(epoch, sizeof epoch, "epoch %llu: ", (unsigned long long)ledger.epoch);
  cli_note_empty(cli, epoch, ledger.rows_empty);
  if (!ledger.rows_damaged)
    return;
  brim_count_text((int64_t)ledger.rows_damaged, count, sizeof count);
  cli_note(cli, "epoch %llu: %s damaged place%s left out%s%s", (unsigned long long)ledger.epoch, count,
           ledger.rows_damaged == 1 ? "" : "s", listed ? ", the first: " : "", listed ? damage[0].reason : "");
}

bool cli_is_pipe(const char *path) {
  struct stat about;
  return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

bool cli_any_pipe(const char *const *paths, int count) {
  for (int i = 0; i < count; i++)
    if (cli_is_pipe(paths[i]))
      return true;
  return false;
}

/* Why the steps of an epoch cannot be counted; NULL: they can. */
static const char *uncountable(const cli_values *v, const brim_plan_options *plan) {
  if (cli_any_pipe(v->train.items, v->train.count))
    return "standard input or a pipe can be read only once";
  if (v->repeat)
    return "an epoch of --repeat has no end";
  return plan->batch_size > 0 ? NULL : "how many rows --max-tokens holds is known only when they are encoded";
}

/* Of masked words, whose windows are rows: texts are encoded once for it. */
static int count_windows(cli_call *cli, const cli_feed_request *request, const brim_source_options *source, uint64_t *rows) {
  brim_feed_options how = {.source = *source, .epochs = 1, .plan = {.batching = BRIM_SEQUENTIAL, .batch_size = 1024}};
  brim_feed *feed = NULL;
  brim_feed_ledger ledger;
  const brim_batch *batch;
  int status = cli_encode_options(cli, request->max_length, &how.encode);
  cli_note(cli, "stream: the windows of an epoch are counted; --max-steps does without");
  if (!status)
    status = brim_feed_open(cli->runtime, request->paths, request->path_count, request->tokenizer, &how, &feed, &cli->error);
  while (!status)
    status = brim_feed_next(feed, &batch, &cli->error);
  if (status == BRIM_END) {
    brim_feed_tell(feed, &ledger);
    *rows = ledger.rows_yielded;
    status = BRIM_OK;
  }
  brim_feed_close(feed);
  return status;
}

/* Of an epoch. */
static int count_rows(cli_call *cli, const cli_feed_request *request, brim_task task, uint64_t *rows) {
  brim_source_options source;
  brim_labels ignored = {0};
  cli_columns columns = {0};
  int status = cli_source_options(cli, !cli->masks, &source);
  if (!status)
    status = cli_columns_find(cli, request->paths, request->path_count, task, &columns, &source);
  if (!status && !source.need_label && !cli->masks)
    status = brim_error_set(&cli->error, BRIM_E_USAGE,
                            "--stream: give --max-steps in place of --epochs: rows without a column of labels are not counted "
                            "beforehand");
  if (!status && cli->masks)
    status = count_windows(cli, request, &source, rows);
  else if (!status)
    status = brim_labels_scan(cli->runtime, request->paths, request->path_count, &source, task, cli_progress, cli, &ignored, rows,
                              &cli->error);
  cli_columns_free(&columns);
  brim_labels_free(&ignored);
  return status;
}

int cli_stream_steps(cli_call *cli, const cli_feed_request *request, brim_task task, uint64_t *steps) {
  const cli_values *v = cli->values;
  const brim_plan_options *plan = request->plan;
  const char *reason = uncountable(v, plan);
  char rows_text[32], steps_text[32];
  uint64_t rows = 0;
  if (reason)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--stream: give --max-steps in place of --epochs: %s", reason);
  const int status = count_rows(cli, request, task, &rows);
  if (status)
    return status;
  const uint64_t size = (uint64_t)plan->batch_size;
  const bool dropped = plan->drop_last || plan->tail == BRIM_TAIL_DROP;
  const uint64_t epoch = dropped ? rows / size : (rows + size - 1) / size;
  *steps = (uint64_t)ceil(v->epochs * (double)epoch - 1e-9);
  if (*steps == 0)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "%g epochs of %llu rows are no step of %llu rows: raise --epochs", v->epochs,
                          (unsigned long long)rows, (unsigned long long)size);
  brim_count_text((int64_t)rows, rows_text, sizeof rows_text);
  brim_count_text((int64_t)*steps, steps_text, sizeof steps_text);
  cli_note(cli, "stream: %s rows an epoch, %g epoch%s: %s steps", rows_text, v->epochs, v->epochs == 1 ? "" : "s", steps_text);
  return BRIM_OK;
}

int cli_stream_labels(cli_call *cli, const char *const *paths, int path_count, brim_task task, brim_labels *out) {
  const cli_list *names = &cli->values->labels;
  brim_source_options source;
  if (cli->masks)
    return brim_labels_make(cli->runtime, task, NULL, 1, out, &cli->error);
  const bool values = brim_task_has_values(task);
  if (values && names->count)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--labels are the names of classes, which --task %s does not have",
                          brim_task_name(task));
  if (names->count)
    return brim_labels_make(cli->runtime, brim_task_of_names(task), names->items, names->count, out, &cli->error);
  const bool once = cli_any_pipe(paths, path_count);
  if (values && (once || brim_task_shape(task)->several_texts))
    return brim_labels_make(cli->runtime, task, NULL, 1, out, &cli->error);
  if (once)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "standard input or a pipe can be read only once: name its classes with --labels%s",
                          task == BRIM_TASK_AUTO ? ", or give --task regression where they are values" : "");
  int status = cli_source_options(cli, true, &source);
  if (!status)
    status = brim_labels_scan(cli->runtime, paths, path_count, &source, task, cli_progress, cli, out, NULL, &cli->error);
  if (!status && out->none) {
    char count[32];
    brim_count_text((int64_t)out->none, count, sizeof count);
    cli_note(cli, "stream: %s %s no label: %s", count,
             cli->words       ? out->none == 1 ? "word has" : "words have"
             : out->none == 1 ? "row has"
                              : "rows have",
             cli->words ? "it is null" : "it is -1 or -100, and the row is left out");
  }
  return status;
}
