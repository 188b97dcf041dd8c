/* brim doctor: what this build and machine can do. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("Output"),
    FLAG("json", json, .help = "one JSON object instead of a table"),
    FLAG("no-speed", no_speed, .help = "print only what was found; timing products takes seconds"),
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
static const char *const kind_names[] = {"fp32", "bf16", "int8"};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

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

/* What is found out, as lines or as one JSON object. */
typedef struct findings {
  cli_call *cli;
  bool as_json;
  brim_text out;
  brim_json_writer json;
} findings;

static void say(findings *f, const char *title, const char *format, ...) BRIM_PRINTF(3, 4);
static void say(findings *f, const char *title, const char *format, ...) {
  char text[900];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  brim_text_printf(&f->out, "%-10s %s\n", title, text);
}

static void put_words(findings *f, const char *name, const char *const *words, int count) {
  brim_json_open_array(&f->json, name);
  for (int i = 0; i < count; i++)
    brim_json_put_string(&f->json, NULL, words[i]);
  brim_json_close_array(&f->json);
}

/* ---- sections --------------------------------------------------------------------------------------------- */

static int version(findings *f) {
  char build[BRIM_BUILD_SIZE];
  brim_build(build);
  if (f->as_json) {
    brim_json_put_string(&f->json, "version", brim_version());
    brim_json_put_string(&f->json, "build", build);
  } else {
    brim_text_printf(&f->out, "brim %s, build %s\n", brim_version(), build);
  }
  return BRIM_OK;
}

static int processor(findings *f) {
  const brim_device_info info = brim_device_describe(f->cli->runtime);
  if (f->as_json) {
    brim_json_put_string(&f->json, "kernels", info.kernels);
    brim_json_put_string(&f->json, "products", info.products);
    brim_json_put_integer(&f->json, "threads", info.threads);
    brim_json_put_string(&f->json, "bf16", info.bf16);
    brim_json_put_bool(&f->json, "bf16_fast", info.bf16_fast);
  } else {
    say(f, "kernels", "%s, %d threads", info.kernels, info.threads);
    say(f, "products", "%s", info.products);
    say(f, "16 bits", "%s", info.bf16);
  }
  return BRIM_OK;
}

static int precisions(findings *f) {
  static const char *const train[] = {"fp32", "bf16"}, *const predict[] = {"fp32", "bf16", "int8"};
  if (f->as_json) {
    put_words(f, "train_precisions", train, 2);
    put_words(f, "predict_precisions", predict, 3);
  } else {
    say(f, "precisions", "train: fp32, bf16; predict: fp32, bf16, int8");
  }
  return BRIM_OK;
}

static int files(findings *f) {
  static const char *const known[] = {"gz", "zst", "xz", "bz2"};
  const char *words[4];
  char list[40] = "";
  int count = 0;
  for (int i = 0; i < 4; i++)
    if (brim_reads_packed(known[i]))
      words[count++] = known[i];
  for (int i = 0; i < count; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), ", %s", words[i]);
  if (f->as_json)
    put_words(f, "compression", words, count);
  else
    say(f, "files", "csv, tsv, jsonl, json, txt; plain%s%s", list, count < 4 ? " (xz and bz2 need liblzma and libbz2)" : "");
  return BRIM_OK;
}

static void put_gpu(findings *f, const brim_gpu_info *gpu, const char *missing) {
  brim_json_open_object(&f->json, "gpu");
  brim_json_put_string(&f->json, "missing", missing);
  brim_json_put_string(&f->json, "driver", gpu->driver[0] ? gpu->driver : NULL);
  brim_json_put_integer(&f->json, "driver_version", gpu->driver_version);
  brim_json_put_string(&f->json, "name", gpu->name[0] ? gpu->name : NULL);
  brim_json_put_integer(&f->json, "cards", gpu->cards);
  brim_json_put_integer(&f->json, "capability", gpu->capability);
  brim_json_put_integer(&f->json, "memory", (int64_t)gpu->memory);
  brim_json_put_string(&f->json, "compiler", gpu->compiler[0] ? gpu->compiler : NULL);
  brim_json_put_integer(&f->json, "compiler_version", gpu->compiler_version);
  brim_json_put_string(&f->json, "products", gpu->products[0] ? gpu->products : NULL);
  brim_json_put_integer(&f->json, "products_version", gpu->products_version);
  brim_json_close_object(&f->json);
}

/* "CUDA 13.0, /usr/lib/libcuda.so.1" */
static void say_library(findings *f, const char *title, const char *what, int version, const char *path) {
  say(f, title, "%s %d.%d, %s", what, version / 1000, version % 1000 / 10, path);
}

static void show_gpu(findings *f, const brim_gpu_info *gpu) {
  if (gpu->driver[0])
    say_library(f, "driver", "CUDA", gpu->driver_version, gpu->driver);
  if (gpu->name[0])
    say(f, "GPU", "%s, sm_%d, %.1f GB%s", gpu->name, gpu->capability, (double)gpu->memory / 1e9,
        gpu->cards > 1 ? "; the first of several, CUDA_VISIBLE_DEVICES chooses another" : "");
  if (gpu->compiler[0] && gpu->compiler_version == 0)
    say(f, "kernels", "compiled beforehand, %s", gpu->compiler);
  else if (gpu->compiler[0])
    say_library(f, "compiler", "NVRTC", gpu->compiler_version, gpu->compiler);
  if (gpu->products[0])
    say_library(f, "cuBLASLt", "version", gpu->products_version, gpu->products);
  else if (gpu->compiler[0])
    say(f, "cuBLASLt", "not found, products are slower: pip install nvidia-cublas, or set BRIM_CUBLASLT to libcublasLt.so.13");
}

static int devices(findings *f) {
  static const char *const names[] = {"cpu", "cuda"};
  brim_gpu_info gpu;
  brim_error missing;
  const bool usable = brim_gpu_find(&gpu, &missing) == BRIM_OK;
  if (f->as_json) {
    put_words(f, "devices", names, usable ? 2 : 1);
    put_gpu(f, &gpu, usable ? NULL : missing.message);
    return BRIM_OK;
  }
  if (usable)
    say(f, "devices", gpu.cards > 1 ? "cpu, cuda (fp32, bf16, fp16), %d GPUs: cuda:0 to cuda:%d" : "cpu, cuda (fp32, bf16, fp16)",
        gpu.cards, gpu.cards - 1);
  else
    say(f, "devices", "cpu; not cuda: %s", missing.message);
  show_gpu(f, &gpu);
  return BRIM_OK;
}

/* What `mpirun -n N brim train` would find. */
static int processes(findings *f) {
  char library[800];
  const brim_launch launch = brim_launch_find();
  const bool found = brim_ranks_probe(library, sizeof library);
  const char *mpi = found || launch.launcher ? library : "no MPI is installed (see docs/users/scaling.md)";
  if (f->as_json)
    brim_json_put_string(&f->json, "mpi", found ? library : NULL);
  else if (launch.launcher)
    say(f, "processes", "%d, started by %s; %s", (int)launch.world_size, launch.launcher, mpi);
  else
    say(f, "processes", "one; with mpirun -n N, N: %s", mpi);
  return BRIM_OK;
}

static void put_speeds(findings *f, const speeds *s) {
  brim_json_open_array(&f->json, "gemm");
  for (int i = 0; i < KINDS * SHAPES; i++) {
    const shape *of = &shapes[i % SHAPES];
    const brim_gemm_speed *speed = &s->of[i / SHAPES][i % SHAPES];
    brim_json_open_object(&f->json, NULL);
    brim_json_put_string(&f->json, "name", of->name);
    brim_json_put_string(&f->json, "precision", kind_names[i / SHAPES]);
    brim_json_put_integer(&f->json, "rows", of->rows);
    brim_json_put_integer(&f->json, "in", of->in);
    brim_json_put_integer(&f->json, "out", of->out);
    brim_json_open_array(&f->json, "gflops");
    brim_json_put_number(&f->json, NULL, speed->forward);
    if (i / SHAPES != BRIM_PRODUCT_INT8) { /* bytes are for predictions */
      brim_json_put_number(&f->json, NULL, speed->input_gradient);
      brim_json_put_number(&f->json, NULL, speed->weight_gradient);
    }
    brim_json_close_array(&f->json);
    brim_json_close_object(&f->json);
  }
  brim_json_close_array(&f->json);
}

static void show_speeds(findings *f, const speeds *s) {
  static const brim_column columns[] = {
      {"products, GFLOP/s", false}, {"forward", true}, {"input gradient", true}, {"weight gradient", true}};
  char cells[SHAPES][3][16];
  const char *table[SHAPES * 4];
  for (int i = 0; i < SHAPES; i++) {
    const brim_gemm_speed *of = &s->of[BRIM_PRODUCT_FP32][i];
    const double values[] = {of->forward, of->input_gradient, of->weight_gradient};
    table[4 * i] = shapes[i].name;
    for (int j = 0; j < 3; j++) {
      snprintf(cells[i][j], sizeof cells[i][j], "%.0f", values[j]);
      table[4 * i + 1 + j] = cells[i][j];
    }
  }
  brim_text_string(&f->out, "\n");
  brim_table_text(&f->out, columns, 4, table, SHAPES);
}

/* Of a layer's three products one after the other; of int8, which only predicts, of the forward one. */
static double together(const brim_gemm_speed *s, bool forward_only) {
  return forward_only ? s->forward : 3 / (1 / s->forward + 1 / s->input_gradient + 1 / s->weight_gradient);
}

/* Products in each precision, compared with fp32. */
static void show_precisions(findings *f, const speeds *s) {
  const brim_device_info info = brim_device_describe(f->cli->runtime);
  brim_text *out = &f->out;
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
                   "\n--precision bf16  layers multiply 16-bit values (%s); activations take half of the memory.\n"
                   "--precision int8  predictions only: layers' weights and inputs are bytes.\n",
                   info.bf16_fast ? "fast here" : "no faster than fp32 here");
}

static int speed(findings *f) {
  speeds s;
  if (f->cli->values->no_speed)
    return BRIM_OK;
  int status = measure(f->cli, &s);
  if (status)
    return status;
  if (f->as_json) {
    put_speeds(f, &s);
  } else {
    show_speeds(f, &s);
    show_precisions(f, &s);
  }
  return BRIM_OK;
}

/* In the order in which they are shown. A new section is a function that says what it found, as lines (`say`) or as members of
 * the JSON object, and a row here. */
static int (*const sections[])(findings *f) = {version, processor, precisions, files, devices, processes, speed};

/* ---- the command ------------------------------------------------------------------------------------------ */

static int run(cli_call *cli) {
  findings f = {.cli = cli, .as_json = cli->values->json};
  int status = BRIM_OK;
  brim_text_init(&f.out, cli->runtime);
  f.json.out = &f.out;
  if (f.as_json)
    brim_json_open_object(&f.json, NULL);
  for (size_t i = 0; !status && i < sizeof sections / sizeof *sections; i++)
    status = sections[i](&f);
  if (f.as_json) {
    brim_json_close_object(&f.json);
    brim_text_string(&f.out, "\n");
  }
  if (!status)
    status = cli_write(cli, NULL, &f.out);
  brim_text_free(&f.out);
  return status;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .summary = "what this build and this machine can do, and how fast",
    .operands = "",
    .description = "Prints version, processor, precisions, file formats, devices and processes, and the speed of matrix "
                   "products on shapes of real encoders (forward, gradient of the input, gradient of the weight) in fp32, "
                   "in 16 bits and in bytes.",
    .options = options,
    .example = "brim doctor",
    .run = run,
};
