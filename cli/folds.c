/* folds.c: rows divided into folds. */
#include "folds.h"

#include <string.h>

#include "shared.h"

bool cli_folds_wanted(const cli_values *values) {
  return values->folds > 0 || values->fold_column;
}

int cli_folds_check(cli_call *cli) {
  const cli_values *v = cli->values;
  double share;
  bool seeded = cli_given(&cli->arguments, "fold-seed"), held_out = false;
  for (int i = 0; i < v->eval.count; i++) {
    const char *equals = strchr(v->eval.items[i], '=');
    held_out = held_out || cli_is_share(equals ? equals + 1 : v->eval.items[i], &share);
  }
  if (!cli_folds_wanted(v) && (v->stratify || (seeded && !held_out)))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "%s needs --folds K", v->stratify ? "--stratify" : "--fold-seed");
  if (v->fold_column && (v->stratify || seeded))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--fold-column gives each row its fold: leave out %s",
                          v->stratify ? "--stratify" : "--fold-seed");
  if (cli_folds_wanted(v) && cli->masks)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--folds is for rows with labels, which --task mlm does not take");
  if (cli_folds_wanted(v) && v->stream)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "folds are made of rows in memory: leave out --stream");
  if (!cli_folds_wanted(v) && v->test.count)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--test is for --folds; `brim predict` labels rows with one model");
  return BRIM_OK;
}

int cli_folds_make(cli_call *cli, const char *const *paths, int path_count, const brim_dataset *dataset, brim_folds *out) {
  const cli_values *v = cli->values;
  int32_t count = (int32_t)v->folds;
  if (v->fold_column) {
    brim_source_options source;
    int status = cli_source_options(cli, false, &source);
    return status ? status
                  : brim_folds_read(cli->runtime, paths, path_count, &source, v->fold_column, dataset, count, out, &cli->error);
  }
  if (v->stratify)
    return brim_folds_stratify(cli->runtime, dataset, count, (uint64_t)v->fold_seed, out, &cli->error);
  return brim_folds_shuffle(cli->runtime, brim_dataset_rows(dataset), count, (uint64_t)v->fold_seed, out, &cli->error);
}
