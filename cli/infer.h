/* infer.h: a trained model and rows to run it on: what `brim evaluate` and `brim predict` share. */
#ifndef BRIM_CLI_INFER_H
#define BRIM_CLI_INFER_H

#include "cli.h"
#include "shared.h"

typedef struct cli_inference {
  brim_tokenizer *tokenizer;
  brim_model *model;
  brim_dataset *dataset;
  brim_eval_options options;
  const char *const *paths; /* of the rows; NULL: the operands */
  int path_count;
} cli_inference;

/* Loads model, tokenizer and rows. Zero *in first; close it in any case. */
int cli_inference_open(cli_call *cli, cli_inference *in, bool need_label);
void cli_inference_close(cli_inference *in);

/* {"index":..,"label":..,"scores":[..]} and a line end. scores: room for one row (predict.c). */
void cli_put_prediction(brim_text *out, const brim_model *model, uint64_t index, const float *logits, double *scores);

#define CLI_OPTIONS_INFER                                                                                                        \
  TEXT("model", model, "RUN", .letter = 'm', .required = true,                                                                   \
       .help = "folder that `brim train` or Hugging Face transformers wrote"),                                                   \
      CLI_OPTION_TOKENIZER(false),                                                                                               \
      INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "the model's",                                                 \
              .help = "rows are cut to N tokens, special tokens included"),                                                      \
      INTEGER("batch-size", batch_size, "N", 1, 1e9, .letter = 'b', .fallback = "32", .help = "rows computed at once"),          \
      CLI_OPTION_MAX_TOKENS, CLI_OPTION_PADDING,                                                                                 \
      CHOICE(                                                                                                                    \
          "precision", precision, "fp32|bf16|fp16|int8", .fallback = "fp32",                                                     \
          .help = "int8 multiplies bytes in the layers: faster where the processor has VNNI, and near fp32, not the same. bf16 " \
                  "rounds what goes from layer to layer to 16 bits, as training with --precision bf16 does; on a CPU it saves "  \
                  "no memory")

#endif
