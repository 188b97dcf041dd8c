/* brim inspect: numbers from inside a step, to compare with other programs; and the program that a model is. */
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option batch_options[] = {
    HEADING("Model folder"),
    TEXT("model", model, "DIR", .letter = 'm', .path = CLI_READS_MODEL, .required = true,
         .help = "folder with config.json and model.safetensors"),
    HEADING("Batch"),
    TEXT("batch", batch, "FILE", .path = CLI_READS_FILE, .required = true,
         .help = "rows as JSON: [{\"ids\":[..],\"type_ids\":[..],\"label\":..},...]"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_FILE, .endings = ".safetensors ", .required = true,
         .help = "safetensors file to write"),
    ROWS(cli_padding_option),
    {0},
};

static const cli_option gradient_options[] = {
    ROWS(batch_options),
    HEADING("Loss of embeddings and rerankers"),
    TEXT("loss", loss, "NAME", .shown = "the model's", .to = {TRAIN(loss.name)},
         .help = "a loss of `brim train`: rows are {\"columns\":[[ids],..],\"label\":..}, or {\"ids\",\"label\",\"query\"} whose "
                 "queries follow each other. matryoshka: of --inner"),
    CHOICE("task", task, CLI_TASKS, .needs = "loss", .shown = "by the loss", .help = "what the model is trained for"),
    TEXT("inner", inner, "NAME", .needs = "loss", .shown = "in-batch", .help = "the loss in matryoshka"),
    REAL("scale", scale, "X", 0, 1e6, .needs = "loss", .to = {TRAIN(loss.scale)}, .help = "as in `brim train`"),
    REAL("margin", margin, "X", 0, 1e6, .needs = "loss", .to = {TRAIN(loss.margin)}, .help = "likewise"),
    REAL("temperature", temperature, "X", 0, 1e6, .needs = "loss", .to = {TRAIN(loss.temperature)}, .help = "likewise"),
    REAL("positive-weight", positive_weight, "X", 0, 1e6, .aliases = "pos-weight", .needs = "loss",
         .to = {TRAIN(loss.positive_weight)}, .help = "likewise"),
    TEXT("distance", distance, "NAME", .needs = "loss", .to = {TRAIN(loss.distance)}, .help = "likewise"),
    NAMES("directions", directions, "WAY,WAY,..", .needs = "loss", .to = {TRAIN(loss.directions)}, .help = "likewise"),
    TEXT("partition", partition, "NAME", .needs = "loss", .to = {TRAIN(loss.partition)}, .help = "likewise"),
    TEXT("similarity", similarity, "NAME", .needs = "loss", .to = {TRAIN(loss.similarity)}, .help = "likewise"),
    TEXT("hardness", hardness, "NAME", .aliases = "hardness-mode", .needs = "loss", .to = {TRAIN(loss.hardness)},
         .help = "likewise"),
    REAL("hardness-strength", hardness_strength, "X", 0, 1e6, .needs = "loss", .to = {TRAIN(loss.hardness_strength)},
         .help = "likewise"),
    NAMES("matryoshka", matryoshka, "N,N,..", .aliases = "dims", .needs = "loss", .to = {TRAIN(loss.matryoshka)},
          .help = "likewise"),
    NAMES("matryoshka-weights", matryoshka_weights, "X,X,..", .aliases = "weights", .needs = "loss",
          .to = {TRAIN(loss.matryoshka_weights)}, .help = "likewise"),
    INTEGER("max-rows", max_rows, "N", 1, 1 << 30, .needs = "loss", .shown = "all", .help = "rows computed at once"),
    ROWS(cli_general_options),
    {0},
};

static const cli_option trajectory_options[] = {
    ROWS(batch_options),
    TEXT("hyperparameters", hyperparameters, "FILE", .path = CLI_READS_FILE, .required = true,
         .help = "JSON with \"hyperparameters\": lr, beta1, beta2, eps, weight_decay, max_grad_norm, total_steps, warmup_steps, "
                 "step_rows"),
    ROWS(cli_general_options),
    {0},
};

static const cli_option program_options[] = {
    HEADING("Model folder"),
    TEXT("model", model, "DIR", .letter = 'm', .path = CLI_READS_MODEL, .required = true,
         .help = "folder with config.json and model.safetensors"),
    HEADING("Pass"),
    CHOICE("pass", pass, "training|prediction", .fallback = "training", .help = "which of the model's passes"),
    CHOICE("precision", precision, "fp32|bf16|int8", .fallback = "fp32",
           .help = "what the layers' products multiply: fp32; bf16, 16-bit values; int8, bytes (predictions only)"),
    ROWS_WITH("pass=training", cli_trained_options),
    FLAG("checkpoint-activations", checkpoint_activations, .needs = "pass=training",
         .help = "keep only the input of each layer and compute the rest again in the backward pass"),
    FLAG("all-tokens", all_tokens, .help = "compute the last layer for all tokens, not only for those that the head reads"),
    INTEGER("max-tokens", max_tokens, "N", 1, 2147483647, .fallback = "4096", .help = "tokens of a part"),
    INTEGER("max-rows", max_rows, "N", 1, 2147483647, .fallback = "32", .help = "texts of a part"),
    INTEGER("max-length", max_length, "N", 1, 2147483647, .shown = "128, or what the model has positions for",
            .help = "tokens of the longest text"),
    ROWS(cli_general_options),
    {0},
};

/* Loads model and rows, then calls `use`. */
static int with_batch(cli_call *cli,
                      int (*use)(struct cli_call *cli, brim_model *model, const brim_dataset *rows, brim_padding padding)) {
  brim_padding padding;
  brim_model *model = NULL;
  brim_dataset *rows = NULL;
  if (!brim_padding_parse(cli->values->padding, &padding))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--padding %s is unknown", cli->values->padding);
  int status = brim_model_load(cli->runtime, cli->values->model, &(brim_model_options){0}, &model, &cli->error);
  if (!status)
    status = brim_dataset_read_json(cli->runtime, cli->values->batch, &rows, &cli->error);
  if (!status)
    status = use(cli, model, rows, padding);
  brim_dataset_free(rows);
  brim_model_free(model);
  return status;
}

static int gradients(cli_call *cli, brim_model *model, const brim_dataset *rows, brim_padding padding) {
  return brim_inspect_gradients(cli->runtime, model, rows, padding, cli->values->output, &cli->error);
}

/* ---- losses of several rows */

static int step(cli_call *cli, const brim_dataset *rows, const brim_loss_options *loss) {
  const cli_values *v = cli->values;
  brim_task task = brim_task_of_loss(loss->name);
  brim_padding padding;
  brim_labels labels;
  brim_model *model = NULL;
  if (!brim_padding_parse(v->padding, &padding))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--padding %s is unknown", v->padding);
  if (!v->task && task == BRIM_TASK_AUTO)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--loss %s: no task has a loss of this name", loss->name);
  if (v->task && !brim_task_parse(v->task, &task))
    return brim_error_set(&cli->error, BRIM_E_INTERNAL, "the table of --task allows a word that the library does not know");
  brim_sample first;
  brim_dataset_sample(rows, 0, &first);
  int status = brim_labels_make(cli->runtime, task, NULL, first.label_width > 0 ? first.label_width : 1, &labels, &cli->error);
  if (!status)
    status = brim_model_load(cli->runtime, v->model, &(brim_model_options){.labels = &labels}, &model, &cli->error);
  if (!status)
    status = brim_inspect_step(cli->runtime, model, rows, loss, (uint64_t)v->max_rows, padding, v->output, &cli->error);
  brim_model_free(model);
  brim_labels_free(&labels);
  return status;
}

static int run_step(cli_call *cli) {
  brim_train_options options = {0};
  brim_dataset *rows = NULL;
  int status = cli_fill(&cli->arguments, CLI_TRAIN, &options, &cli->error);
  if (!status && strcmp(options.loss.name, "matryoshka") == 0)
    options.loss.name = cli->values->inner ? cli->values->inner : "in-batch";
  if (!status)
    status = brim_dataset_read_json(cli->runtime, cli->values->batch, &rows, &cli->error);
  if (!status)
    status = step(cli, rows, &options.loss);
  brim_dataset_free(rows);
  return status;
}

static int run_gradients(cli_call *cli) {
  return cli->values->loss ? run_step(cli) : with_batch(cli, gradients);
}

/* {"step":1,"lr":..,"loss":..,"grad_norm":..} for each step, as it is done. */
static int print_step(void *context, const brim_event *event) {
  static const char *const names[] = {"step", "lr", "loss", "grad_norm"};
  cli_call *cli = context;
  if (strcmp(event->kind, "step") != 0)
    return BRIM_OK;
  brim_text line;
  brim_text_init(&line, cli->runtime);
  brim_json_writer json = {.out = &line};
  brim_json_open_object(&json, NULL);
  for (int i = 0; i < 4; i++) {
    const brim_field *field = brim_event_field(event, names[i]);
    if (field && field->kind == BRIM_VALUE_REAL)
      brim_json_put_number(&json, names[i], field->real);
    else
      brim_json_put_integer(&json, names[i], field ? field->integer : 0);
  }
  brim_json_close_object(&json);
  brim_text_string(&line, "\n");
  int status = cli_write(cli, NULL, &line);
  brim_text_free(&line);
  return status;
}

static int trajectory(cli_call *cli, brim_model *model, const brim_dataset *rows, brim_padding padding) {
  return brim_inspect_trajectory(cli->runtime, model, rows, cli->values->hyperparameters, padding, cli->values->output,
                                 print_step, cli, &cli->error);
}

static int run_trajectory(cli_call *cli) {
  return with_batch(cli, trajectory);
}

static int run_losses(cli_call *cli) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  const int status = brim_inspect_losses(cli->runtime, cli->arguments.operands[0], &out, &cli->error);
  const int written = out.length > 0 ? cli_write(cli, NULL, &out) : BRIM_OK;
  brim_text_free(&out);
  return status ? status : written;
}

static int run_metrics(cli_call *cli) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  const int status = brim_inspect_metrics(cli->runtime, cli->values->kind, cli->arguments.operands[0], &out, &cli->error);
  const int written = out.length > 0 ? cli_write(cli, NULL, &out) : BRIM_OK;
  brim_text_free(&out);
  return status ? status : written;
}

static int list_program(cli_call *cli, brim_model *model, brim_text *out) {
  const cli_values *v = cli->values;
  const int32_t longest = brim_model_max_length(model) < 128 ? brim_model_max_length(model) : 128;
  brim_model_limits limits = {.max_slots = v->max_tokens,
                              .max_sequences = (int32_t)v->max_rows,
                              .max_length = v->max_length ? (int32_t)v->max_length : longest,
                              .training = strcmp(v->pass, "training") == 0,
                              .all_tokens = v->all_tokens,
                              .checkpoint_activations = v->checkpoint_activations};
  if (!brim_precision_parse(v->precision, &limits.precision))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--precision %s is unknown", v->precision);
  int status = brim_model_train_only(model, v->train_only, v->freeze, &cli->error);
  if (!status)
    status = brim_model_list_program(model, &limits, out, &cli->error);
  return status ? status : cli_show(cli, out);
}

static int run_program(cli_call *cli) {
  brim_model *model = NULL;
  brim_text out;
  int status = brim_model_load(cli->runtime, cli->values->model, &(brim_model_options){.no_values = true}, &model, &cli->error);
  brim_text_init(&out, cli->runtime);
  if (!status)
    status = list_program(cli, model, &out);
  brim_text_free(&out);
  brim_model_free(model);
  return status;
}

const cli_command cli_inspect_program = {
    .name = "inspect program",
    .summary = "list the operations of a model: rows, kept values, places, calls",
    .operands = "",
    .description =
        "A model is a program: a list of operations, from which training and prediction follow. This prints the schedule that a "
        "pass runs: which rows each operation computes, what it keeps for backward, and the device's calls with the places in "
        "memory that they read and write.",
    .options = program_options,
    .example = "brim inspect program --model MiniLM --freeze layers:2 --checkpoint-activations",
    .run = run_program,
};

const cli_command cli_inspect_gradients = {
    .name = "inspect gradients",
    .summary = "write hidden states, logits, loss and gradients of one batch",
    .operands = "",
    .description =
        "One forward and backward pass without dropout. The file holds hidden (last layer, every token), logits, loss, "
        "grad.NAME for each weight, and grad_norm.",
    .options = gradient_options,
    .example = "brim inspect gradients --model MiniLM --batch batch.json -o gradients.safetensors",
    .run = run_gradients,
};

const cli_command cli_inspect_trajectory = {
    .name = "inspect trajectory",
    .summary = "train some steps exactly as a file says, and write the weights",
    .operands = "",
    .description =
        "Trains without dropout on the rows that the file names for each step. Prints step, lr, loss and grad_norm (before "
        "clipping) as a JSON line a step, and writes the weights after the last one.",
    .options = trajectory_options,
    .example =
        "brim inspect trajectory --model MiniLM --batch batch.json --hyperparameters trajectory.json -o weights.safetensors",
    .run = run_trajectory,
};

static const cli_option losses_options[] = {ROWS(cli_general_options), {0}};

const cli_command cli_inspect_losses = {
    .name = "inspect losses",
    .summary = "compute losses of vectors and scores that a file lists, with their gradients",
    .operands = "FILE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "The file is a JSON list: {\"loss\": NAME, \"options\": {..}, \"columns\": [[vector of row 0, ..], ..]} with \"labels\" "
        "and "
        "\"texts\" where the loss needs them, or \"logits\", \"labels\" and \"groups\". Prints a line {\"loss\": .., \"grad\": "
        "..} for "
        "each. Vectors: in-batch, cosent, cosine, contrastive, triplet, margin-mse, distill-kl, and matryoshka over them. "
        "Scores: bce, mse, cross-entropy, in-group, list-net, margin-mse.",
    .options = losses_options,
    .example = "brim inspect losses losses.json",
    .run = run_losses,
};

static const cli_option metrics_options[] = {
    CHOICE("kind", kind, "similarity|retrieval|reranking", .required = true, .help = "what the file holds"),
    ROWS(cli_general_options),
    {0},
};

const cli_command cli_inspect_metrics = {
    .name = "inspect metrics",
    .summary = "compute metrics of vectors and scores that a file lists",
    .operands = "FILE",
    .least_operands = 1,
    .most_operands = 1,
    .description =
        "A JSON line for each entry of the file. similarity: Pearson's and Spearman's correlation of cosine, product and "
        "distances with labels, and the share of triplets that are right. retrieval: rankings of a corpus, with "
        "accuracy, precision, recall, nDCG, MRR and MAP at k. reranking: MRR, nDCG and average precision of scores.",
    .options = metrics_options,
    .example = "brim inspect metrics --kind retrieval vectors.json",
    .run = run_metrics,
};
