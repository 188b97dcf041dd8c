/* plan_stream.c: `brim plan --stream`: the batches of one epoch of a feed. */
#include <string.h>

#include "plan_text.h"
#include "stream.h"

/* A row is [file, record], both from 0; the summary names the files. */
static void put_batch(brim_text *out, uint64_t index, const brim_batch *batch, int64_t rank) {
  brim_json_writer json = {.out = out};
  cli_plan_open_batch(&json, index, batch->step, rank);
  for (int32_t i = 0; i < batch->row_count; i++) {
    brim_json_open_array(&json, NULL);
    brim_json_put_integer(&json, NULL, brim_feed_file(batch->rows[i]));
    brim_json_put_count(&json, NULL, brim_feed_record(batch->rows[i]));
    brim_json_close_array(&json);
  }
  cli_plan_close_batch(&json, batch->width, batch->tokens, batch->slots);
}

static void put_summary_json(brim_text *out, const cli_plan_totals *t, const brim_feed *feed, const brim_feed_ledger *l) {
  brim_json_writer json = {.out = out};
  cli_plan_open_summary(&json, t);
  brim_json_put_count(&json, "read", l->rows_read);
  brim_json_put_count(&json, "excluded", l->rows_excluded);
  brim_json_put_count(&json, "damaged", l->rows_damaged);
  brim_json_put_count(&json, "dropped", l->rows_dropped);
  cli_plan_put_counts(&json, l->rows_truncated, l->tokens_lost, l->tokens_repeated);
  brim_json_open_array(&json, "files");
  for (int64_t i = 0; i < brim_feed_file_count(feed); i++)
    brim_json_put_string(&json, NULL, brim_feed_file_name(feed, i));
  brim_json_close_array(&json);
  cli_plan_close_summary(&json, l->hash);
}

static void put_summary_table(brim_text *out, const cli_plan_totals *t, const brim_feed_ledger *l) {
  char cells[10][40];
  const int64_t counts[] = {(int64_t)l->steps, (int64_t)t->batches,       (int64_t)t->rows,         t->tokens,
                            t->slots,          (int64_t)l->rows_excluded, (int64_t)l->rows_dropped, (int64_t)l->rows_truncated};
  for (int i = 0; i < 8; i++)
    brim_count_text(counts[i], cells[i], sizeof cells[i]);
  snprintf(cells[8], sizeof cells[8], "%.2f %%", 100.0 * cli_plan_padding(t));
  snprintf(cells[9], sizeof cells[9], "%016llx", (unsigned long long)l->hash);
  const brim_column columns[] = {{"steps", true},   {"batches", true},  {"rows", true},    {"tokens", true},    {"slots", true},
                                 {"padding", true}, {"excluded", true}, {"dropped", true}, {"truncated", true}, {"hash", false}};
  const char *row[] = {cells[0], cells[1], cells[2], cells[3], cells[4], cells[8], cells[5], cells[6], cells[7], cells[9]};
  brim_table_text(out, columns, 10, row, 1);
}

static int write_batches(cli_call *cli, brim_feed *feed, brim_file *file, cli_plan_totals *t, brim_text *out) {
  const brim_batch *batch;
  int status;
  while ((status = brim_feed_next(feed, &batch, &cli->error)) == BRIM_OK) {
    if (cli->values->jsonl)
      put_batch(out, t->batches, batch, cli->values->rank);
    t->batches++, t->rows += (uint64_t)batch->row_count, t->tokens += batch->tokens, t->slots += batch->slots;
    if ((status = cli_plan_flush(cli, out, file, false)))
      return status;
  }
  return status == BRIM_END ? BRIM_OK : status;
}

static int write_epoch(cli_call *cli, brim_feed *feed, brim_file *file) {
  cli_plan_totals t = {0};
  brim_feed_ledger ledger;
  brim_text out;
  brim_text_init(&out, cli->runtime);
  int status = write_batches(cli, feed, file, &t, &out);
  brim_feed_tell(feed, &ledger);
  cli_note_damage(cli, feed);
  if (!status && cli->values->jsonl)
    put_summary_json(&out, &t, feed, &ledger);
  else if (!status)
    put_summary_table(&out, &t, &ledger);
  if (!status)
    status = cli_plan_flush(cli, &out, file, true);
  brim_text_free(&out);
  return status;
}

int cli_plan_stream(cli_call *cli) {
  const cli_values *v = cli->values;
  brim_plan_options plan;
  brim_tokenizer *tokenizer = NULL;
  brim_feed *feed = NULL;
  brim_file *file = NULL;
  cli_columns columns = {0};
  if (v->world_size > 1 && !cli_given(&cli->arguments, "rank"))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--stream with --world-size %lld: give the --rank whose part is wanted",
                          (long long)v->world_size);
  if (v->repeat)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "with --repeat the stream has no end, and all of it would be printed: leave out --repeat");
  int status = cli_plan_options(cli, &plan);
  if (!status)
    status = cli_load_tokenizer(cli, &tokenizer);
  if (!status) {
    const cli_feed_request request = {.paths = cli->arguments.operands,
                                      .path_count = cli->arguments.operand_count,
                                      .tokenizer = tokenizer,
                                      .columns = &columns,
                                      .plan = &plan,
                                      .max_length = (int32_t)v->max_length,
                                      .rank = (int32_t)v->rank,
                                      .first_epoch = (uint64_t)v->epoch,
                                      .epochs = 1};
    status = cli_open_feed(cli, &request, &feed);
  }
  if (!status)
    status = brim_file_create(cli->runtime, v->output ? v->output : "-", &file, &cli->error);
  if (!status)
    status = write_epoch(cli, feed, file);
  if (!status)
    status = brim_file_commit(file, &cli->error);
  brim_file_free(file);
  brim_feed_close(feed);
  cli_columns_free(&columns);
  brim_tokenizer_free(tokenizer);
  return status;
}
