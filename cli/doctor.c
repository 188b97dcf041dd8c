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

static int measure(cli_call *cli, brim_gemm_speed speeds[SHAPES]) {
  for (int i = 0; i < SHAPES; i++) {
    int status = brim_device_gemm_speed(cli->runtime, shapes[i].rows, shapes[i].in, shapes[i].out, &speeds[i], &cli->error);
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

static void put_text(brim_text *out, const brim_device_info *info, const brim_gemm_speed *speeds) {
  char cells[SHAPES][3][16];
  const char *table[SHAPES * 4];
  brim_text_printf(out, "brim %s\n", brim_version());
  brim_text_printf(out, "kernels    %s, %d threads\n", info->kernels, info->threads);
  brim_text_printf(out, "products   %s\n", info->products);
  brim_text_string(out, "files      csv, tsv, jsonl, txt; plain, gz, zst\n");
  brim_text_string(out, "devices    cpu; no GPU support in this build\n");
  put_processes(out);
  for (int i = 0; i < SHAPES; i++) {
    const double values[] = {speeds[i].forward, speeds[i].input_gradient, speeds[i].weight_gradient};
    table[4 * i] = shapes[i].name;
    for (int j = 0; j < 3; j++) {
      snprintf(cells[i][j], sizeof cells[i][j], "%.0f", values[j]);
      table[4 * i + 1 + j] = cells[i][j];
    }
  }
  static const brim_column columns[] = {
      {"products, GFLOP/s", false}, {"forward", true}, {"input gradient", true}, {"weight gradient", true}};
  brim_table_text(out, columns, 4, table, SHAPES);
}

static void put_json(brim_text *out, const brim_device_info *info, const brim_gemm_speed *speeds) {
  brim_text_printf(out, "{\"version\":\"%s\",\"kernels\":\"%s\",\"products\":\"%s\",\"threads\":%d,", brim_version(),
                   info->kernels, info->products, info->threads);
  brim_text_string(out, "\"compression\":[\"gz\",\"zst\"],\"devices\":[\"cpu\"],\"mpi\":");
  char library[800];
  if (brim_ranks_probe(library, sizeof library))
    brim_text_json_string(out, library, strlen(library));
  else
    brim_text_string(out, "null");
  brim_text_string(out, ",\"gemm\":[");
  for (int i = 0; i < SHAPES; i++) {
    brim_text_printf(out, "%s{\"name\":\"%s\",\"rows\":%d,\"in\":%d,\"out\":%d,\"gflops\":[", i ? "," : "", shapes[i].name,
                     (int)shapes[i].rows, (int)shapes[i].in, (int)shapes[i].out);
    brim_text_json_number(out, speeds[i].forward);
    brim_text_string(out, ",");
    brim_text_json_number(out, speeds[i].input_gradient);
    brim_text_string(out, ",");
    brim_text_json_number(out, speeds[i].weight_gradient);
    brim_text_string(out, "]}");
  }
  brim_text_string(out, "]}\n");
}

static int run(cli_call *cli) {
  brim_gemm_speed speeds[SHAPES];
  int status = measure(cli, speeds);
  if (status)
    return status;
  const brim_device_info info = brim_device_describe(cli->runtime);
  brim_text out;
  brim_text_init(&out, cli->runtime);
  (cli->values->json ? put_json : put_text)(&out, &info, speeds);
  status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .summary = "what this build and this machine can do, and how fast",
    .operands = "",
    .description = "Version, compiled features, processor, and the speed of matrix products on shapes of real encoders: forward, "
                   "gradient of the input, gradient of the weight.",
    .options = options,
    .example = "brim doctor",
    .run = run,
};
