/* commands.h: one command's description, each in the file of its name. */
#ifndef BRIM_CLI_COMMANDS_H
#define BRIM_CLI_COMMANDS_H

#include "options.h"

extern const cli_command cli_analyze, cli_compare, cli_completion, cli_doctor, cli_embed, cli_evaluate, cli_help,
    cli_inspect_gradients, cli_inspect_losses, cli_inspect_masks, cli_inspect_metrics, cli_inspect_model, cli_inspect_program,
    cli_inspect_trajectory, cli_plan, cli_predict, cli_report, cli_shard, cli_tokenize, cli_train, cli_version;

#endif
