/* brim evaluate: how good a model is on labelled rows. */
#include <math.h>

#include "commands.h"
#include "infer.h"

static const cli_option options[] = {
    HEADING("What to evaluate"),
    CLI_OPTIONS_INFER,
    CLI_OPTION_LABEL,
    FLAG("json", json, .help = "one JSON object instead of a table"),
    CLI_OPTIONS_COLUMNS,
    CLI_OPTION_CACHE,
    CLI_OPTIONS_GENERAL,
    {0},
};

int cli_pick_metrics(const brim_metrics *m, bool regression, cli_number out[CLI_MOST_NUMBERS]) {
  out[0] = (cli_number){"loss", m->loss};
  out[1] = regression ? (cli_number){"rmse", m->rmse} : (cli_number){"accuracy", m->accuracy};
  out[2] = regression ? (cli_number){"pearson", m->pearson} : (cli_number){"f1", m->f1};
  out[3] = regression ? (cli_number){"spearman", m->spearman} : (cli_number){"matthews", m->matthews};
  return CLI_MOST_NUMBERS;
}

static void put_metrics(brim_text *out, const brim_metrics *m, bool regression, bool json) {
  cli_number numbers[CLI_MOST_NUMBERS];
  int count = cli_pick_metrics(m, regression, numbers);
  if (json) {
    brim_text_printf(out, "{\"rows\":%llu", (unsigned long long)m->rows);
    for (int i = 0; i < count; i++) {
      brim_text_printf(out, ",\"%s\":", numbers[i].name);
      brim_text_json_number(out, numbers[i].value);
    }
    brim_text_printf(out, ",\"tokens\":%llu,\"seconds\":", (unsigned long long)m->tokens);
    brim_text_json_number(out, m->seconds);
    brim_text_string(out, "}\n");
    return;
  }
  char rows[32];
  brim_count_text((int64_t)m->rows, rows, sizeof rows);
  brim_text_printf(out, "%-9s %s\n", "rows", rows);
  for (int i = 0; i < count; i++) {
    if (isfinite(numbers[i].value))
      brim_text_printf(out, "%-9s %.4f\n", numbers[i].name, numbers[i].value);
    else
      brim_text_printf(out, "%-9s undefined\n", numbers[i].name);
  }
}

static int evaluate(cli_call *cli, cli_inference *in) {
  brim_metrics metrics;
  int status = brim_evaluate(cli->runtime, in->model, in->dataset, &in->options, &metrics, &cli->error);
  if (status)
    return status;
  brim_text out;
  brim_text_init(&out, cli->runtime);
  put_metrics(&out, &metrics, brim_model_task(in->model) == BRIM_TASK_REGRESSION, cli->values->json);
  status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

static int run(cli_call *cli) {
  cli_inference in = {0};
  int status = cli_inference_open(cli, &in, true);
  if (!status)
    status = evaluate(cli, &in);
  cli_inference_close(&in);
  return status;
}

const cli_command cli_evaluate = {
    .name = "evaluate",
    .summary = "measure a model on labelled texts",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .description = "Prints loss, accuracy, F1 and Matthews correlation for classes, loss, RMSE, Pearson and Spearman correlation "
                   "for values. The loss is the mean over rows.",
    .options = options,
    .example = "brim evaluate --model run test.csv --json",
    .run = run,
};
