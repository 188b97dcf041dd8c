/* brim inspect masks: which tokens training would mask, and with what. */
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("Texts"),
    ROWS(cli_needed_tokenizer_option),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "no limit", .to = {ENCODE(max_length)},
            .help = "cut each row to N tokens, special tokens included"),
    HEADING("Masks"),
    TEXT("mask-rate", mask_rate, "R", .shown = "0.15", .help = "share of a text's tokens that are chosen, at least one"),
    REAL("mask-share", mask_share, "M", 0, 1, .fallback = "0.8", .help = "share of the chosen tokens that become the mask token"),
    REAL("random-share", random_share, "S", 0, 1, .fallback = "0.1",
         .help = "share of the chosen tokens that become any token; the rest stay"),
    FLAG("whole-words", whole_words, .help = "choose all tokens of a word or none"),
    SEED("seed", seed, .fallback = "42", .help = "decides which tokens are chosen"),
    INTEGER("epoch", epoch, "N", 0, CLI_MANY, .fallback = "0", .help = "another epoch chooses others"),
    ROWS(cli_single_column_options),
    ROWS(cli_general_options),
    {0},
};

static void put_list(brim_text *out, const char *name, const int32_t *values, int32_t count) {
  brim_text_printf(out, "%s\"%s\": [", *name == 'i' && name[1] == 'd' ? "{" : ", ", name);
  for (int32_t i = 0; i < count; i++)
    brim_text_printf(out, "%s%d", i ? ", " : "", (int)(values[i] == BRIM_NO_LABEL ? -100 : values[i]));
  brim_text_string(out, "]");
}

static int put_rows(cli_call *cli, const brim_dataset *rows, const brim_dataset *masked) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  for (uint64_t row = 0; row < brim_dataset_rows(rows); row++) {
    brim_sample before, after;
    brim_dataset_sample(rows, row, &before);
    brim_dataset_sample(masked, row, &after);
    put_list(&out, "ids", before.ids, before.length);
    put_list(&out, "input", after.ids, after.length);
    put_list(&out, "labels", after.token_labels, after.length);
    brim_text_string(&out, "}\n");
  }
  const int status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

static int mask(cli_call *cli, const brim_dataset *rows, const brim_tokenizer *tokenizer) {
  const cli_values *v = cli->values;
  const brim_mask_options how = {.rate = v->mask_rate,
                                 .mask_share = v->mask_share,
                                 .random_share = v->random_share,
                                 .seed = v->seed,
                                 .epoch = (uint64_t)v->epoch};
  brim_dataset *masked = NULL;
  int status = brim_dataset_mask(cli->runtime, rows, tokenizer, 0, &how, &masked, &cli->error);
  if (!status)
    status = put_rows(cli, rows, masked);
  brim_dataset_free(masked);
  return status;
}

static int run(cli_call *cli) {
  brim_tokenizer *tokenizer = NULL;
  brim_dataset *rows = NULL;
  cli_dataset_request request = {.paths = cli->arguments.operands,
                                 .path_count = cli->arguments.operand_count,
                                 .max_length = (int32_t)cli->values->max_length};
  cli->masks = cli->whole_texts = true;
  int status = cli_load_tokenizer(cli, &tokenizer);
  request.tokenizer = tokenizer;
  if (!status)
    status = cli_load_dataset(cli, &request, &rows);
  if (!status)
    status = mask(cli, rows, tokenizer);
  brim_dataset_free(rows);
  brim_tokenizer_free(tokenizer);
  return status;
}

const cli_command cli_inspect_masks = {
    .name = "inspect masks",
    .summary = "show which tokens training masks, and what the model reads in their place",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description =
        "Prints {\"ids\":[..],\"input\":[..],\"labels\":[..]} for every record: its tokens, what the model reads in their "
        "place, and the tokens that it has to find (-100: none). They follow from the seed, the epoch and the row.",
    .options = options,
    .example = "brim inspect masks -t bert-base-uncased --mask-rate 0.15 --whole-words reviews.csv",
    .run = run,
};
