#include "infer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ranks.h"

/* A run that is not at its end, or whose next one is under way, has no model at its top. */
static void hint_at_checkpoint(cli_call *cli, const char *run) {
  brim_checkpoint_info info;
  brim_error ignored;
  char aside[4200];
  snprintf(aside, sizeof aside, "%s/replaced-run/config.json", run);
  if (brim_checkpoint_find(cli->runtime, run, &info, &ignored))
    return;
  if (info.folder)
    snprintf(cli->hint, sizeof cli->hint, "; this run is not finished: its newest checkpoint is a model too, --model %.200s",
             info.folder);
  else if (access(aside, F_OK) == 0)
    snprintf(cli->hint, sizeof cli->hint,
             "; this run is being replaced: until the new one has a checkpoint, the old model is in "
             "%.180s/replaced-run, and its tokenizer here",
             run);
  brim_checkpoint_info_free(&info);
}

/* A tokenizer may be alone in its folder, or be named by its file. */
static void hint_at_tokenizer(cli_call *cli, const char *folder) {
  static const char *const files[] = {"", "/tokenizer.json", "/vocab.txt", "/tokenizer_config.json"};
  for (size_t i = 0; i < sizeof files / sizeof *files && !*cli->hint; i++) {
    char path[4200];
    struct stat info;
    snprintf(path, sizeof path, "%s%s", folder, files[i]);
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
      snprintf(cli->hint, sizeof cli->hint, "; this is %s: a model is a folder that has its config.json and its weights, too",
               i == 0 ? "a file" : "a tokenizer alone");
  }
}

void cli_hint_at_model(cli_call *cli) {
  char path[4200];
  const char *run = cli->values->model;
  if (!run || strncmp(cli->error.file, run, strlen(run)) != 0)
    return;
  snprintf(path, sizeof path, "%s/folds.csv", run);
  const bool folds = access(path, F_OK) == 0;
  snprintf(path, sizeof path, "%s/config.json", run);
  if (access(path, F_OK) == 0)
    return;
  if (folds)
    snprintf(cli->hint, sizeof cli->hint, "; this is a run in folds: name the model of one of them, such as %.200s/fold-0", run);
  else
    hint_at_checkpoint(cli, run);
  if (!*cli->hint)
    hint_at_tokenizer(cli, run);
}

/* A folder without a trained head gets random weights: fine to train from, useless to predict with. */
static int check_trained(cli_call *cli, const brim_model *model) {
  char path[4200], layers[BRIM_LAYERS_NAME];
  snprintf(path, sizeof path, "%s/modules.json", cli->values->model);
  const bool listed = access(path, F_OK) == 0, several = strcmp(brim_model_layers(model, layers), "last") != 0;
  if (brim_model_initialized_count(model) == 0 && !(listed && several)) /* such vectors have no head that could be missing */
    return BRIM_OK;
  if (listed)
    return brim_error_set(&cli->error, BRIM_E_MISMATCH,
                          "%s is a model of vectors of texts: `brim embed` computes them, and `brim evaluate --scored-pairs` or "
                          "--corpus says how good they are",
                          cli->values->model);
  return brim_error_set(&cli->error, BRIM_E_MISMATCH, "%s has no %s: it is not fine-tuned yet; see `brim train --help`",
                        cli->values->model, brim_model_initialized_name(model, 0));
}

int cli_inference_open_model(cli_call *cli, cli_inference *in, int32_t *max_length) {
  const cli_values *v = cli->values;
  in->options = (brim_eval_options){.batching = BRIM_SORTED, .event = cli_progress, .event_context = cli, .group = cli->group};
  brim_model_options options = {0};
  int status = cli_fill(&cli->arguments, CLI_EVAL, &in->options, &cli->error);
  if (!status)
    status = cli_fill(&cli->arguments, CLI_MODEL, &options, &cli->error);
  if (!status)
    status = cli_pick_precision(cli, &in->options.precision);
  if (!status)
    status = cli_check_device(cli);
  if (!status)
    status = brim_model_load(cli->runtime, v->model, &options, &in->model, &cli->error);
  if (!status)
    cli_take_task(cli, brim_model_task(in->model));
  if (!status)
    status = check_trained(cli, in->model);
  if (!status)
    status = cli_load_tokenizer(cli, &in->tokenizer);
  if (!status)
    cli->windows = brim_tokenizer_windows(in->tokenizer);
  brim_model_info info;
  if (!status)
    status = brim_model_describe(cli->runtime, v->model, &info, &cli->error);
  if (!status)
    status = cli_cut_rows(cli, &info, brim_model_task(in->model), in->tokenizer, max_length);
  if (!status)
    status = cli_check_vocabulary(cli, in->tokenizer, brim_model_vocab_size(in->model));
  return status;
}

/* The rows as evaluation sees them. */
static int mask(cli_call *cli, cli_inference *in) {
  in->numbered = in->dataset;
  in->dataset = NULL;
  brim_mask_options options;
  brim_mask_options_init(&options);
  return brim_dataset_mask(cli->runtime, in->numbered, in->tokenizer, brim_model_outputs(in->model), &options, &in->dataset,
                           &cli->error);
}

int cli_inference_open(cli_call *cli, cli_inference *in, bool need_label) {
  int32_t max_length = 0;
  int status = cli_inference_open_model(cli, in, &max_length);
  if (status)
    return status;
  cli_dataset_request request = {.paths = in->paths ? in->paths : cli->arguments.operands,
                                 .path_count = in->paths ? in->path_count : cli->arguments.operand_count,
                                 .tokenizer = in->tokenizer,
                                 .max_length = max_length,
                                 .need_label = need_label && !cli->masks,
                                 .predicts = !need_label,
                                 .task = brim_model_task(in->model),
                                 .model = in->model,
                                 .labels = need_label && !cli->masks ? brim_model_labels(in->model) : NULL};
  cli->whole_texts = cli->masks && !need_label;
  status = cli_ranks_share(cli, 1);
  if (!status)
    status = cli_load_dataset(cli, &request, &in->dataset);
  return status || !cli->masks || !need_label ? status : mask(cli, in);
}

void cli_inference_close(cli_inference *in) {
  brim_dataset_free(in->dataset);
  brim_dataset_free(in->numbered);
  brim_model_free(in->model);
  brim_tokenizer_free(in->tokenizer);
}
