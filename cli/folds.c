/* folds.c: rows divided into folds. */
#include "folds.h"

#include <string.h>

#include "columns.h"
#include "shared.h"
#include "stream.h"

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
  if (!cli_folds_wanted(v) && seeded && !held_out)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--fold-seed has no effect without --folds or --eval 10%%: leave it out");
  if (v->fold_column && /* the rows are read, and then their column */
      (cli_any_pipe(v->train.items, v->train.count) || cli_any_pipe(cli->arguments.operands, cli->arguments.operand_count)))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--fold-column cannot be read from standard input or a pipe: name a file");
  if (cli_folds_wanted(v) && cli->masks)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--%s is for rows with labels, which --task mlm does not take",
                          v->fold_column ? "fold-column" : "folds");
  if (cli_folds_wanted(v) && v->stream)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--%s is for rows in memory: leave out --stream",
                          v->fold_column ? "fold-column" : "folds");
  return BRIM_OK;
}

/* --fold-column of rows whose texts are where the data set found them. */
static int read_folds(cli_call *cli, const char *const *paths, int path_count, const brim_dataset *dataset, brim_task task,
                      brim_folds *out) {
  const cli_values *v = cli->values;
  brim_source_options source;
  cli_columns columns = {0};
  int status = cli_source_options(cli, false, &source);
  if (!status)
    status = cli_columns_find(cli, paths, path_count, task, &columns, &source);
  if (!status)
    status = brim_folds_read(cli->runtime, paths, path_count, &source, v->fold_column, dataset, (int32_t)v->folds, out,
                             &cli->error);
  cli_columns_free(&columns);
  return status;
}

int cli_folds_make(cli_call *cli, const char *const *paths, int path_count, const brim_dataset *dataset, brim_task task,
                   brim_folds *out) {
  const cli_values *v = cli->values;
  const int32_t count = (int32_t)v->folds;
  if (v->fold_column)
    return read_folds(cli, paths, path_count, dataset, task, out);
  if (v->stratify)
    return brim_folds_stratify(cli->runtime, dataset, count, (uint64_t)v->fold_seed, out, &cli->error);
  return brim_folds_deal(cli->runtime, dataset, count, (uint64_t)v->fold_seed, out, &cli->error);
}
