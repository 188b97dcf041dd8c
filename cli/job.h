/* job.h: a training job from options: what `brim train` and `brim compare` share. */
#ifndef BRIM_CLI_JOB_H
#define BRIM_CLI_JOB_H

#include "cli.h"
#include "shared.h"
#include "stream.h"

typedef struct cli_job {
  brim_tokenizer *tokenizer;
  brim_dataset *train; /* NULL with --stream */
  brim_feed *feed;     /* NULL without */
  brim_labels labels;  /* of the feed */
  brim_model *model;
  brim_named_dataset evals[CLI_LIST_LIMIT];
  char eval_names[CLI_LIST_LIMIT][64];
  int eval_count;
  brim_text options_json; /* backs options.options_json */
  brim_profile *profile;  /* NULL: nobody looks; made and freed by the command */
  brim_train_options options;
} cli_job;

/* Checks the options, loads tokenizer, data and model, and says what is odd about them. Zero *job first; close it in any case. */
int cli_job_open(cli_call *cli, cli_job *job);
void cli_job_close(cli_job *job);
/* What an interrupted run says that had no step: there is nothing to go on from. */
void cli_job_hint_no_step(cli_call *cli);
/* The path in "[NAME=]FILE", and the name of the set: "matched=FILE" names it, otherwise it is `unnamed`, with a number where
 * there are several. A file whose own name holds = is taken as it is. */
const char *cli_split_name(const char *unnamed, const char *item, int index, int count, char *name, size_t size);

#define CLI_OPTIONS_JOB_INPUT                                                                                                    \
  TEXT("model", model, "DIR", .letter = 'm', .required = true,                                                                   \
       .help = "folder with config.json, model.safetensors and the tokenizer, as Hugging Face saves it"),                        \
      LIST("train", train, "DATA", .required = true, .help = "rows to train on; may be given several times"),                    \
      LIST("eval", eval, "[NAME=]DATA", .help = "rows to evaluate on; may be given several times")

#define CLI_OPTIONS_JOB_TASK                                                                                                     \
  CHOICE("task", task, "classification|regression|multi-label", .shown = "by the labels",                                        \
         .help = "integers and words classify, decimals regress, JSON lists give many labels; in csv a|b needs multi-label"),    \
      INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "the model's",                                                 \
              .help = "rows are cut to N tokens, special tokens included"),                                                      \
      CLI_OPTION_TOKENIZER(false)

#define CLI_OPTIONS_JOB_LENGTH                                                                                                   \
  REAL("epochs", epochs, "E", 0, 1e6, .letter = 'e', .fallback = "1", .help = "passes over the data; may be a fraction"),        \
      INTEGER("max-steps", max_steps, "N", 1, CLI_MANY, .shown = "by --epochs", .help = "optimizer steps, instead of --epochs")

#define CLI_OPTIONS_METHODS                                                                                                      \
  HEADING("Methods"),                                                                                                            \
      TEXT("freeze", freeze, "PARTS", .aliases = "freeze-layers", .shown = "nothing",                                            \
           .help = "leave as they are: embeddings, layers:N or N (the embeddings and the lowest N layers), or encoder (all but " \
                   "the head); what is frozen takes no backward and no optimizer memory"),                                       \
      FLAG("checkpoint-activations", checkpoint_activations, .aliases = "gradient-checkpointing",                                \
           .help = "keep only the input of each layer and compute the rest again in backward: less memory, more time, the same " \
                   "result"),                                                                                                    \
      CHOICE("pooling", pooling, "cls|mean|max", .shown = "as config.json says, else cls",                                       \
             .help = "what the head sees: the first token, or the mean or the largest values of all"),                           \
      FLAG("no-type-ids", no_type_ids, .help = "give every token type 0, also those of a second text"),                          \
      INTEGER("reinit-layers", reinit_layers, "N", 0, 1024, .fallback = "0",                                                     \
              .help = "begin with new weights in the top N layers, a function of --seed")

#define CLI_OPTIONS_LOSS                                                                                                         \
  HEADING("Loss"),                                                                                                               \
      TEXT("class-weights", class_weights, "WEIGHTS", .shown = "1 each",                                                         \
           .help = "balanced, or NAME=X,NAME=Y; the mean divides by the weights of the step's rows. Multi-label: of the "        \
                   "positive terms"),                                                                                            \
      REAL("label-smoothing", label_smoothing, "E", 0, 1, .aliases = "label-smoothing-factor", .fallback = "0",                  \
           .help = "share of the target that is spread over all classes")

#define CLI_OPTIONS_OPTIMIZER                                                                                                    \
  HEADING("Optimizer"),                                                                                                          \
      REAL("lr", lr, "X", 0, 1e3, .aliases = "learning-rate", .fallback = "5e-5", .help = "largest learning rate"),              \
      CHOICE("schedule", schedule, "linear|cosine|constant", .aliases = "lr-scheduler-type", .fallback = "linear",               \
             .help = "how the learning rate falls behind the warm-up: to 0 at the end, or not at all"),                          \
      INTEGER("warmup-steps", warmup_steps, "N", 0, CLI_MANY, .fallback = "0",                                                   \
              .help = "steps of linear warm-up from 0, before --schedule"),                                                      \
      REAL("warmup-ratio", warmup_ratio, "X", 0, 1, .fallback = "0", .help = "the same as a share of all steps"),                \
      REAL("weight-decay", weight_decay, "X", 0, 1e3, .fallback = "0",                                                           \
           .help = "decoupled; biases and layer norms are left out"),                                                            \
      REAL("clip", clip, "X", 0, 1e9, .aliases = "max-grad-norm", .fallback = "1",                                               \
           .help = "largest norm of the gradient; 0: no limit"),                                                                 \
      REAL("layer-lr-decay", layer_lr_decay, "X", 1e-3, 1, .aliases = "layerwise-lr-decay", .fallback = "1",                     \
           .help = "the learning rate of each layer is that of the layer above times X; the head has --lr"),                     \
      REAL("beta1", beta1, "X", 0, 1, .fallback = "0.9", .help = "AdamW's first decay rate"),                                    \
      REAL("beta2", beta2, "X", 0, 1, .fallback = "0.999", .help = "AdamW's second decay rate"),                                 \
      REAL("eps", eps, "X", 0, 1, .fallback = "1e-8", .help = "AdamW's epsilon, outside the root")

#define CLI_OPTIONS_MACHINE                                                                                                      \
  HEADING("Machine"),                                                                                                            \
      TEXT("memory-limit", memory_limit, "SIZE", .shown = "none",                                                                \
           .help = "2GB, 1500MB, 2GiB: cut steps into parts that fit, which changes no result, or say what would"),              \
      CHOICE("device", device, "cpu|cuda", .fallback = "cpu", .help = "where to compute"),                                       \
      CHOICE("precision", precision, "fp32|bf16|fp16", .also = "int8", .fallback = "fp32",                                       \
             .help = "bf16 keeps activations in 16 bits, in little more than half of their memory; arithmetic is fp32 on a CPU")

#endif
