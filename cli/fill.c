/* fill.c: predictions of a model of masked words: the tokens that it would put in the place of mask tokens. */
#include "fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { BEST = 5 };

typedef struct filling {
  cli_call *cli;
  const cli_inference *in;
  brim_batch batch;
  float *logits; /* [tokens of the longest row, outputs] */
  brim_text text;
} filling;

/* The mask tokens alone are to be found. */
static int32_t ask_for_masks(brim_batch *batch, int32_t mask) {
  int32_t count = 0;
  for (int32_t i = 0; i < batch->offsets[batch->count]; i++) {
    const bool is_mask = batch->ids[i] == mask && batch->token_labels[i] != BRIM_NO_LABEL;
    batch->token_labels[i] = is_mask ? mask : BRIM_NO_LABEL;
    count += is_mask;
  }
  return count;
}

/* The highest logits come first; equal ones in the order of ids. */
static void find_best(const float *logits, int32_t outputs, int32_t best[BEST]) {
  int count = 0;
  for (int32_t id = 0; id < outputs; id++) {
    int at = count;
    while (at > 0 && logits[id] > logits[best[at - 1]])
      at--;
    if (at == BEST)
      continue;
    const int moved = (count < BEST ? count : BEST - 1) - at;
    memmove(best + at + 1, best + at, (size_t)moved * sizeof *best);
    best[at] = id;
    count += count < BEST;
  }
}

static void put_best(filling *f, const float *logits) {
  const int32_t outputs = brim_model_outputs(f->in->model);
  int32_t best[BEST];
  double sum = 0;
  find_best(logits, outputs, best);
  for (int32_t i = 0; i < outputs; i++)
    sum += exp((double)logits[i] - (double)logits[best[0]]);
  brim_json_writer json = {.out = &f->text};
  brim_json_open_array(&json, NULL);
  for (int i = 0; i < BEST && i < outputs; i++) {
    size_t length;
    const char *token = brim_tokenizer_token(f->in->tokenizer, best[i], &length);
    brim_json_open_object(&json, NULL);
    brim_json_put_integer(&json, "id", best[i]);
    brim_json_put_bytes(&json, "token", token ? token : "", token ? length : 0);
    brim_json_put_number(&json, "probability", exp((double)logits[best[i]] - (double)logits[best[0]]) / sum);
    brim_json_close_object(&json);
  }
  brim_json_close_array(&json);
}

static void put_row(filling *f, uint64_t row) {
  const size_t outputs = (size_t)brim_model_outputs(f->in->model);
  int count = 0;
  brim_text_printf(&f->text, "{\"index\":%llu,\"masks\":[", (unsigned long long)brim_dataset_origin(f->in->dataset, row));
  for (int32_t i = 0; i < f->batch.offsets[1]; i++)
    if (f->batch.token_labels[i] != BRIM_NO_LABEL)
      brim_text_printf(&f->text, "%s%d", count++ ? "," : "", (int)i);
  brim_text_string(&f->text, "],\"best\":[");
  for (int i = 0; i < count; i++) {
    if (i)
      brim_text_string(&f->text, ",");
    put_best(f, f->logits + (size_t)i * outputs);
  }
  brim_text_string(&f->text, "]}\n");
}

static int fill_rows(filling *f, const brim_plan *plan) {
  cli_call *cli = f->cli;
  const brim_pass pass = {0};
  const int32_t mask = brim_tokenizer_mask_id(f->in->tokenizer);
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    int status = brim_batch_fill(&f->batch, cli->runtime, f->in->dataset, &part, &cli->error);
    if (!status && ask_for_masks(&f->batch, mask) > 0)
      status = brim_model_forward(f->in->model, &f->batch, &pass, NULL, f->logits, &cli->error);
    if (status)
      return status;
    put_row(f, part.rows[0]);
  }
  return BRIM_OK;
}

/* A row at a time: what comes of it does not depend on the others. */
static int fill(filling *f) {
  cli_call *cli = f->cli;
  const brim_dataset *rows = f->in->dataset;
  const int32_t longest = brim_dataset_longest(rows);
  const brim_model_limits limits = {.max_slots = longest, .max_sequences = 1, .max_length = longest, .logits = true};
  const brim_plan_options how = {.batching = BRIM_SEQUENTIAL, .batch_size = 1, .world_size = 1};
  brim_plan *plan = NULL;
  f->logits = calloc((size_t)longest * (size_t)brim_model_outputs(f->in->model), sizeof *f->logits);
  int status = f->logits ? BRIM_OK : cli_no_memory(cli, "the predictions");
  if (!status)
    status = brim_model_prepare(f->in->model, &limits, &cli->error);
  if (!status)
    status = brim_plan_new(cli->runtime, brim_dataset_lengths(rows), brim_dataset_rows(rows), &how, 0, &plan, &cli->error);
  if (!status)
    status = fill_rows(f, plan);
  brim_plan_free(plan);
  if (!status)
    status = cli_write(cli, cli->values->output, &f->text);
  return status;
}

int cli_fill_masks(cli_call *cli, const cli_inference *in) {
  filling f = {.cli = cli, .in = in};
  if (brim_tokenizer_mask_id(in->tokenizer) < 0)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "the tokenizer has no mask token, in whose place the model could put a word");
  if (cli_given(&cli->arguments, "windows"))
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "--windows: a mask token is filled by the text around it; leave it out, or raise --max-length");
  if (cli->group.world_size > 1)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "masked words are filled by one process: start one");
  brim_text_init(&f.text, cli->runtime);
  const int status = fill(&f);
  brim_text_free(&f.text);
  brim_batch_free(&f.batch);
  free(f.logits);
  return status;
}
