/* brim inspect model: what a folder holds, and what training it would take. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("Model folder"),
    TEXT("model", model, "DIR", .letter = 'm', .path = CLI_READS_MODEL, .required = true,
         .help = "folder with config.json and model.safetensors"),
    HEADING("Training step"),
    INTEGER("batch-size", max_rows, "N", 1, 1 << 24, .fallback = "32", .help = "texts of a step, in one part"),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "128, or what the model has positions for",
            .help = "tokens of each of them"),
    CHOICE("precision", precision, "fp32|bf16", .fallback = "fp32", .help = "what the layers' products multiply in training"),
    ROWS(cli_trained_options),
    FLAG("checkpoint-activations", checkpoint_activations,
         .help = "keep only the input of each layer and compute the rest again in the backward pass"),
    HEADING("Output"),
    FLAG("tensors", tensors, .help = "list all tensors by name, and which of them are trained"),
    FLAG("json", json, .help = "one JSON object instead of a table"),
    ROWS(cli_general_options),
    {0},
};

/* What is found out. */
typedef struct findings {
  cli_call *cli;
  brim_model *model;
  brim_model_info info;
  brim_tokenizer *tokenizer; /* NULL: there is none that can be read, and `why` says why */
  brim_error why;
  brim_model_limits limits;
  int64_t weights, of_embeddings, trained;
  int32_t trained_tensors, vector_width; /* vector_width: 0 where there are none */
  int64_t values, state, all;            /* bytes: of weights, of gradients and moments, and of training */
} findings;

/* ---- finding out ------------------------------------------------------------------------------------------ */

static void count_weights(findings *f) {
  for (int32_t i = 0; i < brim_model_parameter_count(f->model); i++) {
    const brim_parameter *p = brim_model_parameter(f->model, i);
    const bool trained = brim_model_is_trained(f->model, i);
    f->weights += p->count;
    f->of_embeddings += p->sparse_rows ? p->count : 0;
    f->trained += trained ? p->count : 0;
    f->trained_tensors += trained;
  }
}

static int set_limits(findings *f) {
  cli_call *cli = f->cli;
  const cli_values *v = cli->values;
  int32_t length;
  if (cli_pick_max_length(cli, f->info.max_length, &length))
    return BRIM_E_USAGE;
  if (!v->max_length && length > 128)
    length = 128;
  if (v->max_rows * length > INT32_MAX)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--batch-size %lld texts of %d tokens do not fit one part: take fewer",
                          (long long)v->max_rows, length);
  f->limits = (brim_model_limits){.max_slots = v->max_rows * length,
                                  .max_sequences = (int32_t)v->max_rows,
                                  .max_length = length,
                                  .training = true,
                                  .checkpoint_activations = v->checkpoint_activations};
  if (!brim_precision_parse(v->precision, &f->limits.precision))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--precision %s is unknown", v->precision);
  return brim_model_train_only(f->model, v->train_only, v->freeze, &cli->error);
}

static void count_memory(findings *f) {
  f->values = (int64_t)sizeof(float) * brim_model_flat_size(f->model);
  f->state = (int64_t)brim_model_state_memory(f->model);
  f->all = f->values + (int64_t)brim_model_memory(f->model, &f->limits);
}

/* Of a folder that lists modules, as a model of vectors: config.json says a classifier, which there is not. Modules that cannot
 * be followed are for `brim embed` to refuse. */
static int load_model(findings *f) {
  cli_call *cli = f->cli;
  brim_labels vectors = {0};
  brim_error ignored;
  const brim_model_options as_config_says = {.no_values = true}, of_vectors = {.labels = &vectors, .no_values = true};
  int status = *f->info.modules ? brim_labels_make(cli->runtime, brim_task_of_modules(), NULL, 1, &vectors, &cli->error)
                                : BRIM_OK;
  if (!status && vectors.count && !brim_model_load(cli->runtime, cli->values->model, &of_vectors, &f->model, &ignored))
    f->vector_width = brim_model_outputs(f->model);
  else if (!status)
    status = brim_model_load(cli->runtime, cli->values->model, &as_config_says, &f->model, &cli->error);
  brim_labels_free(&vectors);
  return status;
}

static int find_out(findings *f) {
  cli_call *cli = f->cli;
  int status = brim_model_describe(cli->runtime, cli->values->model, &f->info, &cli->error);
  if (!status)
    status = load_model(f);
  if (status)
    return status;
  if (brim_tokenizer_load(cli->runtime, cli->values->model, &f->tokenizer, &f->why))
    f->tokenizer = NULL;
  status = set_limits(f);
  if (!status)
    count_weights(f), count_memory(f);
  return status;
}

/* ---- as lines --------------------------------------------------------------------------------------------- */

static void say(brim_text *out, const char *title, const char *format, ...) BRIM_PRINTF(3, 4);
static void say(brim_text *out, const char *title, const char *format, ...) {
  char text[1600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  brim_text_printf(out, "%-10s %s\n", title, text);
}

/* "a, b, c and 7 more" */
static const char *list(const findings *f, int count, const char *(*name)(const brim_model *model, int index), char text[800]) {
  enum { MOST = 4 };
  size_t at = 0;
  for (int i = 0; i < count && i < MOST && at < 700; i++)
    at += (size_t)snprintf(text + at, 800 - at, "%s%.150s", i ? ", " : "", name(f->model, i));
  if (count > MOST && at < 700)
    snprintf(text + at, 800 - at, " and %d more", count - MOST);
  return text;
}

static void say_task(const findings *f, brim_text *out) {
  const brim_labels *labels = brim_model_labels(f->model);
  char text[400] = "";
  size_t at = 0;
  enum { MOST = 8 };
  for (int32_t i = 0; labels->names && i < labels->count && i < MOST && at < 300; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%.60s", i ? ", " : ": ", labels->names[i]);
  if (f->vector_width)
    say(out, "task", "vectors of %d numbers, which the modules make", f->vector_width);
  else if (*f->info.modules)
    say(out, "task", "vectors of texts, by modules that cannot be followed");
  else
    say(out, "task", "%s, %d output%s%s%s", brim_task_name(labels->task), labels->count, labels->count == 1 ? "" : "s", text,
        labels->names && labels->count > MOST ? ", .." : "");
}

/* Every family has a head for each. */
static void say_tasks(brim_text *out) {
  char text[200] = "";
  size_t at = 0;
  const char *none = brim_task_name(BRIM_TASK_AUTO);
  for (int i = BRIM_TASK_AUTO + 1; strcmp(brim_task_name((brim_task)i), none) != 0 && at < sizeof text; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? ", " : "", brim_task_name((brim_task)i));
  say(out, "trains", "%s", text);
}

static void say_texts(const findings *f, brim_text *out) {
  const brim_model_info *info = &f->info;
  char types[40] = "";
  if (info->type_count > 0)
    snprintf(types, sizeof types, "; %d token types", info->type_count);
  say(out, "texts", "up to %d tokens%s", info->max_length, types);
  if (info->window_layers > 0)
    say(out, "window", "%d of %d layers see %d tokens to each side", info->window_layers, info->layers, info->window);
}

static void say_tokenizer(const findings *f, brim_text *out) {
  const int32_t tokens = f->info.vocab_size;
  if (!f->tokenizer) {
    say(out, "tokenizer", "none that can be read: %s", f->why.message);
    return;
  }
  const int32_t own = brim_tokenizer_vocab_size(f->tokenizer);
  say(out, "tokenizer", "%s, %d tokens; the model has %d%s", brim_tokenizer_family(f->tokenizer), own, tokens,
      own > tokens ? ", which are too few: it is another model's" : "");
}

static void say_weights(const findings *f, brim_text *out) {
  char text[800];
  const int begun = brim_model_initialized_count(f->model), unused = brim_model_unused_count(f->model);
  if (begun == 0 && unused == 0)
    say(out, "weights", "all %d tensors are there, and no others", brim_model_parameter_count(f->model));
  if (begun > 0)
    say(out, "missing", "%d, which begin at random: %s", begun, list(f, begun, brim_model_initialized_name, text));
  if (unused > 0)
    say(out, "unused", "%d: %s", unused, list(f, unused, brim_model_unused_name, text));
}

static double megabytes(int64_t bytes) {
  return (double)bytes / 1e6;
}

static void say_memory(const findings *f, brim_text *out) {
  const brim_model_limits *l = &f->limits;
  say(out, "memory", "%.0f MB to train on %d texts of %d tokens in %s: weights %.0f, gradients and moments %.0f, the batch %.0f",
      megabytes(f->all), l->max_sequences, l->max_length, brim_precision_name(l->precision), megabytes(f->values),
      megabytes(f->state), megabytes(f->all - f->values - f->state));
}

/* Where that is not all. */
static void say_trained(const findings *f, brim_text *out) {
  if (f->trained < f->weights)
    say(out, "trained", "%lld of %lld weights (%d tensor%s)", (long long)f->trained, (long long)f->weights, f->trained_tensors,
        f->trained_tensors == 1 ? "" : "s");
}

static void say_tensors(const findings *f, brim_text *out) {
  const int32_t count = brim_model_parameter_count(f->model);
  int widest = 0;
  for (int32_t i = 0; i < count; i++) {
    const int length = (int)strlen(brim_model_parameter(f->model, i)->name);
    widest = length > widest ? length : widest;
  }
  brim_text_string(out, "\n");
  for (int32_t i = 0; i < count; i++) {
    const brim_parameter *p = brim_model_parameter(f->model, i);
    char shape[48];
    const int used = snprintf(shape, sizeof shape, "%lld", (long long)p->shape[0]);
    if (p->rank == 2)
      snprintf(shape + used, sizeof shape - (size_t)used, " x %lld", (long long)p->shape[1]);
    brim_text_printf(out, "%-*s  %s%s\n", widest, p->name, shape, brim_model_is_trained(f->model, i) ? "" : ", frozen");
  }
}

static void write_lines(const findings *f, brim_text *out) {
  const brim_model_info *info = &f->info;
  const brim_pooling made_for = info->made_for, pooling = brim_model_pooling(f->model);
  char name[BRIM_POOLING_NAME], made[BRIM_POOLING_NAME], layers[BRIM_LAYERS_NAME];
  say(out, "family", "%s", info->type);
  say(out, "size", "%d layers, %d wide, %d heads; %.1f million weights, %.1f of them in tables", info->layers, info->hidden,
      info->heads, (double)f->weights / 1e6, (double)f->of_embeddings / 1e6);
  say_task(f, out);
  say_tasks(out);
  say_texts(f, out);
  say_tokenizer(f, out);
  say(out, "pooling", "%s%s%s", brim_pooling_name(pooling, name),
      made_for == BRIM_POOLING_CONFIG || made_for == pooling ? "" : "; made for ",
      made_for == BRIM_POOLING_CONFIG || made_for == pooling ? "" : brim_pooling_name(made_for, made));
  if (strcmp(brim_model_layers(f->model, layers), "last") != 0)
    say(out, "of layers", "%s", layers);
  if (*info->modules)
    say(out, "modules", "%s", info->modules);
  say_weights(f, out);
  say_trained(f, out);
  say_memory(f, out);
  if (f->cli->values->tensors)
    say_tensors(f, out);
}

/* ---- as one object ---------------------------------------------------------------------------------------- */

static void put_names(brim_json_writer *json, const findings *f, const char *key, int count,
                      const char *(*name)(const brim_model *model, int index)) {
  brim_json_open_array(json, key);
  for (int i = 0; i < count; i++)
    brim_json_put_string(json, NULL, name(f->model, i));
  brim_json_close_array(json);
}

static void put_task(brim_json_writer *json, const findings *f) {
  const brim_labels *labels = brim_model_labels(f->model);
  brim_json_put_string(json, "task", brim_task_name(labels->task));
  brim_json_put_integer(json, "outputs", f->vector_width ? f->vector_width : labels->count);
  brim_json_open_array(json, "labels");
  for (int32_t i = 0; labels->names && i < labels->count; i++)
    brim_json_put_string(json, NULL, labels->names[i]);
  brim_json_close_array(json);
}

static void put_memory(brim_json_writer *json, const findings *f) {
  const brim_model_limits *l = &f->limits;
  brim_json_open_object(json, "memory");
  brim_json_put_integer(json, "texts", l->max_sequences);
  brim_json_put_integer(json, "length", l->max_length);
  brim_json_put_string(json, "precision", brim_precision_name(l->precision));
  brim_json_put_integer(json, "weights", f->values);
  brim_json_put_integer(json, "gradients_and_moments", f->state);
  brim_json_put_integer(json, "batch", f->all - f->values - f->state);
  brim_json_put_integer(json, "training", f->all);
  brim_json_close_object(json);
}

static void put_tensors(brim_json_writer *json, const findings *f) {
  brim_json_open_array(json, "tensors");
  for (int32_t i = 0; i < brim_model_parameter_count(f->model); i++) {
    const brim_parameter *p = brim_model_parameter(f->model, i);
    brim_json_open_object(json, NULL);
    brim_json_put_string(json, "name", p->name);
    brim_json_open_array(json, "shape");
    for (int32_t k = 0; k < p->rank; k++)
      brim_json_put_integer(json, NULL, p->shape[k]);
    brim_json_close_array(json);
    brim_json_put_bool(json, "trained", brim_model_is_trained(f->model, i));
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
}

static void write_object(const findings *f, brim_text *out) {
  const brim_model_info *info = &f->info;
  char name[BRIM_POOLING_NAME], layers[BRIM_LAYERS_NAME];
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_string(&json, "family", info->type);
  brim_json_put_integer(&json, "layers", info->layers);
  brim_json_put_integer(&json, "hidden", info->hidden);
  brim_json_put_integer(&json, "heads", info->heads);
  brim_json_put_integer(&json, "parameters", f->weights);
  brim_json_put_integer(&json, "parameters_in_tables", f->of_embeddings);
  brim_json_put_integer(&json, "trained", f->trained);
  put_task(&json, f);
  brim_json_put_integer(&json, "max_length", info->max_length);
  brim_json_put_integer(&json, "window", info->window);
  brim_json_put_integer(&json, "window_layers", info->window_layers);
  brim_json_put_integer(&json, "vocab_size", info->vocab_size);
  brim_json_put_integer(&json, "token_types", info->type_count);
  brim_json_put_string(&json, "tokenizer", f->tokenizer ? brim_tokenizer_family(f->tokenizer) : NULL);
  brim_json_put_integer(&json, "tokenizer_size", f->tokenizer ? brim_tokenizer_vocab_size(f->tokenizer) : 0);
  brim_json_put_string(&json, "pooling", brim_pooling_name(brim_model_pooling(f->model), name));
  brim_json_put_string(&json, "of_layers", brim_model_layers(f->model, layers));
  brim_json_put_string(&json, "made_for", info->made_for == BRIM_POOLING_CONFIG ? NULL : brim_pooling_name(info->made_for, name));
  brim_json_put_string(&json, "modules", *info->modules ? info->modules : NULL);
  put_names(&json, f, "missing", brim_model_initialized_count(f->model), brim_model_initialized_name);
  put_names(&json, f, "unused", brim_model_unused_count(f->model), brim_model_unused_name);
  put_memory(&json, f);
  if (f->cli->values->tensors)
    put_tensors(&json, f);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

static int run(cli_call *cli) {
  findings f = {.cli = cli};
  brim_text out;
  brim_text_init(&out, cli->runtime);
  int status = find_out(&f);
  if (!status) {
    (cli->values->json ? write_object : write_lines)(&f, &out);
    status = cli->values->json ? cli_write(cli, NULL, &out) : cli_show(cli, &out);
  }
  brim_text_free(&out);
  brim_tokenizer_free(f.tokenizer);
  brim_model_free(f.model);
  return status;
}

const cli_command cli_inspect_model = {
    .name = "inspect model",
    .summary = "say what a model is, what its files lack, and the memory that training takes",
    .operands = "",
    .description =
        "Prints a folder's family, size, task, tokenizer, pooling and longest text; what sentence-transformers' modules.json "
        "puts after the encoder; which tensors its files "
        "lack, and which are not used; and the memory for training on a step of this many texts of this many "
        "tokens, without padding. --tensors lists the tensors' names, as --freeze and --train-only take them.",
    .options = options,
    .example = "brim inspect model --model ModernBERT-base --batch-size 8 --max-length 2048",
    .run = run,
};
