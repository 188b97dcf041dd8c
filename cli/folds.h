/* folds.h: the options that part rows into folds: what `brim train` and `brim analyze` share. */
#ifndef BRIM_CLI_FOLDS_H
#define BRIM_CLI_FOLDS_H

#include "cli.h"

bool cli_folds_wanted(const cli_values *values);
/* Refuses options of folds that do not go together, before any data is read. */
int cli_folds_check(cli_call *cli);
/* The folds of a data set that was read from these files for this task; free with brim_folds_free. */
int cli_folds_make(cli_call *cli, const char *const *paths, int path_count, const brim_dataset *dataset, brim_task task,
                   brim_folds *out);

/* How the held-out part of each fold overlaps with its training part, as a table and as a JSON array. */
void cli_put_overlap(brim_text *out, const brim_overlap *overlap, const brim_tokenizer *tokenizer);
void cli_put_overlap_json(brim_json_writer *json, const char *name, const brim_overlap *overlap, const brim_tokenizer *tokenizer);

#endif
