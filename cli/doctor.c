/* brim doctor: what this build and machine can do. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("What to print"),
    FLAG("json", json, .help = "one JSON object instead of a table"),
    ROWS(cli_general_options),
    {0},
};

/* Layers of encoders as they are trained: rows is a batch's tokens. */
typedef struct shape {
  const char *name;
  int32_t rows, in, out;
} shape;

static const shape shapes[] = {
    {"MiniLM attention", 432, 384, 384},
    {"MiniLM feed-forward", 432, 384, 1536},
    {"BERT-base feed-forward", 2048, 768, 3072},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* In the order of brim_product_kind. */
static const char *const precisions[] = {"fp32", "bf16", "int8"};
enum { KINDS = sizeof precisions / sizeof *precisions };

typedef struct speeds {
  brim_gemm_speed of[KINDS][SHAPES];
} speeds;

static int measure(cli_call *cli, speeds *s) {
  for (int kind = 0; kind < KINDS; kind++)
    for (int i = 0; i < SHAPES; i++) {
      int status = brim_device_gemm_speed(cli->runtime, (brim_product_kind)kind, shapes[i].rows, shapes[i].in, shapes[i].out,
                                          &s->of[kind][i], &cli->error);
      if (status)
        return status;
    }
  return BRIM_OK;
}

/* What `mpirun -n N brim train` would find. */
static void put_processes(brim_text *out) {
  char library[800];
  const brim_launch launch = brim_launch_find();
  const bool found = brim_ranks_probe(library, sizeof library);
  if (launch.launcher)
    brim_text_printf(out, "processes  %d, started by %s; ", (int)launch.world_size, launch.launcher);
  else
    brim_text_string(out, "processes  one; with mpirun -n N, N: ");
  brim_text_printf(out, "%s\n\n", found || launch.launcher ? library : "no MPI is installed (see docs/users/scaling.md)");
}

/* Of a layer's three products one after the other; of int8, which only predicts, of the forward one. */
static double together(const brim_gemm_speed *s, bool forward_only) {
  return forward_only ? s->forward : 3 / (1 / s->forward + 1 / s->input_gradient + 1 / s->weight_gradient);
}

/* Products in each precision beside those in fp32. */
static void put_precisions(brim_text *out, const brim_device_info *info, const speeds *s) {
  static const struct {
    brim_product_kind kind;
    bool forward_only;
    const char *name;
  } rows[] = {{BRIM_PRODUCT_FP32, false, "training in fp32"},
              {BRIM_PRODUCT_BF16, false, "training in bf16"},
              {BRIM_PRODUCT_FP32, true, "predictions in fp32"},
              {BRIM_PRODUCT_BF16, true, "predictions in bf16"},
              {BRIM_PRODUCT_INT8, true, "predictions in int8"}};
  enum { LINES = sizeof rows / sizeof *rows };
  char cells[LINES][SHAPES][32];
  const char *table[LINES * (SHAPES + 1)];
  brim_column columns[SHAPES + 1] = {{"products, GFLOP/s (times fp32)", false}};
  for (int row = 0; row < LINES; row++) {
    table[row * (SHAPES + 1)] = rows[row].name;
    for (int i = 0; i < SHAPES; i++) {
      const double speed = together(&s->of[rows[row].kind][i], rows[row].forward_only);
      const double times = speed / together(&s->of[BRIM_PRODUCT_FP32][i], rows[row].forward_only);
      columns[i + 1] = (brim_column){shapes[i].name, true};
      snprintf(cells[row][i], sizeof cells[row][i], rows[row].kind == BRIM_PRODUCT_FP32 ? "%.0f" : "%.0f (%.2f)", speed, times);
      table[row * (SHAPES + 1) + 1 + i] = cells[row][i];
    }
  }
  brim_text_string(out, "\n");
  brim_table_text(out, columns, SHAPES + 1, table, LINES);
  brim_text_printf(out,
                   "\n--precision bf16  keeps activations in 16 bits: less memory. Products in 16 bits (%s)\n"
                   "                  are not used by models yet: no time is saved.\n"
                   "--precision int8  predictions only: layers' weights and inputs are bytes.\n",
                   info->bf16_fast ? "fast here" : "no faster than fp32 here");
}

static void put_text(brim_text *out, const brim_device_info *info, const speeds *s) {
  char cells[SHAPES][3][16];
  const char *table[SHAPES * 4];
  brim_text_printf(out, "brim %s\n", brim_version());
  brim_text_printf(out, "kernels    %s, %d threads\n", info->kernels, info->threads);
  brim_text_printf(out, "products   %s\n", info->products);
  brim_text_printf(out, "16 bits    %s\n", info->bf16);
  brim_text_string(out, "files      csv, tsv, jsonl, txt; plain, gz, zst\n");
  brim_text_string(out, "devices    cpu; no GPU support in this build\n");
  put_processes(out);
  for (int i = 0; i < SHAPES; i++) {
    const brim_gemm_speed *of = &s->of[BRIM_PRODUCT_FP32][i];
    const double values[] = {of->forward, of->input_gradient, of->weight_gradient};
    table[4 * i] = shapes[i].name;
    for (int j = 0; j < 3; j++) {
      snprintf(cells[i][j], sizeof cells[i][j], "%.0f", values[j]);
      table[4 * i + 1 + j] = cells[i][j];
    }
  }
  static const brim_column columns[] = {
      {"products, GFLOP/s", false}, {"forward", true}, {"input gradient", true}, {"weight gradient", true}};
  brim_table_text(out, columns, 4, table, SHAPES);
  put_precisions(out, info, s);
}

static void put_json(brim_text *out, const brim_device_info *info, const speeds *s) {
  brim_text_printf(out, "{\"version\":\"%s\",\"kernels\":\"%s\",\"products\":\"%s\",\"threads\":%d,", brim_version(),
                   info->kernels, info->products, info->threads);
  brim_text_string(out, "\"compression\":[\"gz\",\"zst\"],\"devices\":[\"cpu\"],\"mpi\":");
  char library[800];
  if (brim_ranks_probe(library, sizeof library))
    brim_text_json_string(out, library, strlen(library));
  else
    brim_text_string(out, "null");
  brim_text_string(out, ",\"bf16\":");
  brim_text_json_string(out, info->bf16, strlen(info->bf16));
  brim_text_printf(out, ",\"bf16_fast\":%s,\"gemm\":[", info->bf16_fast ? "true" : "false");
  for (int i = 0; i < KINDS * SHAPES; i++) {
    const shape *of = &shapes[i % SHAPES];
    const brim_gemm_speed *speed = &s->of[i / SHAPES][i % SHAPES];
    const double values[] = {speed->forward, speed->input_gradient, speed->weight_gradient};
    brim_text_printf(out, "%s{\"name\":\"%s\",\"precision\":\"%s\",\"rows\":%d,\"in\":%d,\"out\":%d,\"gflops\":[", i ? "," : "",
                     of->name, precisions[i / SHAPES], (int)of->rows, (int)of->in, (int)of->out);
    for (int j = 0; j < (i / SHAPES == BRIM_PRODUCT_INT8 ? 1 : 3); j++) {
      brim_text_string(out, j ? "," : "");
      brim_text_json_number(out, values[j]);
    }
    brim_text_string(out, "]}");
  }
  brim_text_string(out, "]}\n");
}

static int run(cli_call *cli) {
  speeds s;
  int status = measure(cli, &s);
  if (status)
    return status;
  const brim_device_info info = brim_device_describe(cli->runtime);
  brim_text out;
  brim_text_init(&out, cli->runtime);
  (cli->values->json ? put_json : put_text)(&out, &info, &s);
  status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .summary = "what this build and this machine can do, and how fast",
    .operands = "",
    .description = "Version, compiled features, processor, and the speed of matrix products on shapes of real encoders: forward, "
                   "gradient of the input, gradient of the weight; in fp32, and in 16 bits and bytes beside it.",
    .options = options,
    .example = "brim doctor",
    .run = run,
};
