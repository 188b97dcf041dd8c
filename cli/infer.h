/* infer.h: a trained model and rows to run it on: what `brim evaluate` and `brim predict` share. */
#ifndef BRIM_CLI_INFER_H
#define BRIM_CLI_INFER_H

#include "cli.h"
#include "shared.h"

typedef struct cli_inference {
  brim_tokenizer *tokenizer;
  brim_model *model;
  brim_dataset *dataset, *numbered; /* numbered: whose rows those of `dataset` are, masked; or NULL */
  brim_eval_options options;
  const char *const *paths; /* of the rows; NULL: the operands */
  int path_count;
} cli_inference;

/* Loads model, tokenizer and rows. Zero *in first; close it in any case. */
int cli_inference_open(cli_call *cli, cli_inference *in, bool need_label);
/* The same without rows: *max_length is what they are to be cut to. */
int cli_inference_open_model(cli_call *cli, cli_inference *in, int32_t *max_length);
void cli_inference_close(cli_inference *in);

#endif
