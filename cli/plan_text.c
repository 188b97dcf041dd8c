#include "plan_text.h"

enum { PIECE = 1 << 20 }; /* bytes */

double cli_plan_padding(const cli_plan_totals *totals) {
  return totals->slots > 0 ? 1.0 - (double)totals->tokens / (double)totals->slots : 0.0;
}

void cli_plan_open_batch(brim_json_writer *json, uint64_t index, uint64_t step, int64_t rank) {
  brim_json_open_object(json, NULL);
  brim_json_put_count(json, "batch", index);
  brim_json_put_count(json, "step", step);
  brim_json_put_integer(json, "rank", rank);
  brim_json_open_array(json, "rows");
}

void cli_plan_close_batch(brim_json_writer *json, int64_t width, int64_t tokens, int64_t slots) {
  brim_json_close_array(json);
  brim_json_put_integer(json, "width", width);
  brim_json_put_integer(json, "tokens", tokens);
  brim_json_put_integer(json, "slots", slots);
  brim_json_close_object(json);
  brim_text_append(json->out, "\n", 1);
}

void cli_plan_open_summary(brim_json_writer *json, const cli_plan_totals *totals) {
  brim_json_open_object(json, NULL);
  brim_json_open_object(json, "summary");
  brim_json_put_count(json, "batches", totals->batches);
  brim_json_put_count(json, "rows", totals->rows);
  brim_json_put_integer(json, "tokens", totals->tokens);
  brim_json_put_integer(json, "slots", totals->slots);
  brim_json_put_number(json, "padding", cli_plan_padding(totals));
}

void cli_plan_put_counts(brim_json_writer *json, uint64_t truncated, uint64_t lost, uint64_t repeated) {
  brim_json_put_count(json, "truncated", truncated);
  brim_json_put_count(json, "lost", lost);
  if (repeated)
    brim_json_put_count(json, "repeated", repeated);
}

void cli_plan_close_summary(brim_json_writer *json, uint64_t hash) {
  brim_json_put_printf(json, "hash", "\"%016llx\"", (unsigned long long)hash);
  brim_json_close_object(json);
  brim_json_close_object(json);
  brim_text_append(json->out, "\n", 1);
}

int cli_plan_flush(cli_call *cli, brim_text *out, brim_file *file, bool all) {
  if (!all && out->length < PIECE)
    return BRIM_OK;
  int status = brim_text_status(out, &cli->error);
  if (!status)
    status = brim_file_write(file, out->data, out->length, &cli->error);
  brim_text_clear(out);
  return status;
}
