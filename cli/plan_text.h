/* plan_text.h: what `brim plan` writes of batches, from a plan or from a feed. */
#ifndef BRIM_CLI_PLAN_TEXT_H
#define BRIM_CLI_PLAN_TEXT_H
#include "cli.h"

/* What the printed batches hold together: the whole plan, or one rank's share. */
typedef struct cli_plan_totals {
  uint64_t batches, rows;
  int64_t tokens, slots;
} cli_plan_totals;

/* Slots without a token, of all slots: 0 to 1. */
double cli_plan_padding(const cli_plan_totals *totals);

/* A batch is one line: {"batch":0,"step":0,"rank":0,"rows":[ the caller's ],"width":W,"tokens":T,"slots":S} */
void cli_plan_open_batch(brim_json_writer *json, uint64_t index, uint64_t step, int64_t rank);
void cli_plan_close_batch(brim_json_writer *json, int64_t width, int64_t tokens, int64_t slots);
/* The last line: {"summary":{"batches":.., .., "padding":P, the caller's ,"hash":"0123456789abcdef"}} */
void cli_plan_open_summary(brim_json_writer *json, const cli_plan_totals *totals);
/* What is not as it was in the data: rows that were cut, their tokens that are lost, tokens that windows have twice. */
void cli_plan_put_counts(brim_json_writer *json, uint64_t truncated, uint64_t lost, uint64_t repeated);
void cli_plan_close_summary(brim_json_writer *json, uint64_t hash);

/* Hands over what is in `out`, in pieces: there may be more batches than one text should hold. `all`: however little it is. */
int cli_plan_flush(cli_call *cli, brim_text *out, brim_file *file, bool all);

#endif
