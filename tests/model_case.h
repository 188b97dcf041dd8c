/* model_case.h: small models and batches for tests: the golden ones that come with the tests, and variants of their config.json.
 */
#ifndef BRIM_TESTS_MODEL_CASE_H
#define BRIM_TESTS_MODEL_CASE_H
#include "levels.h"
#include "model/run/host.h"
#include "model/run/model.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *case_runtime;

_Noreturn static void case_stop(const char *what, const brim_error *err) {
  char text[1200];
  brim_error_text(err, text, sizeof text);
  printf("Bail out! %s: %s\n", what, text);
  exit(99);
}

__attribute__((unused)) static void case_start(int threads) {
  brim_error err = {0};
  const brim_runtime_options options = {.threads = threads};
  if (brim_runtime_new(&options, &case_runtime, &err))
    case_stop("runtime", &err);
}

/* Folder of a golden model; four of them are good at a time. */
static const char *case_golden(const char *name) {
  static char paths[4][512];
  static int next;
  const char *source = getenv("BRIM_SOURCE");
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/tests/golden/models/%s", source ? source : ".", name);
  return path;
}

static char *case_read_file(const char *path, size_t *length) {
  brim_error err = {0};
  char *bytes = NULL;
  if (brim_file_read_all(case_runtime, path, 0, &bytes, length, &err))
    case_stop(path, &err);
  return bytes;
}

/* Writes FOLDER/NAME with `length` bytes. */
__attribute__((unused)) static void case_write(const char *folder, const char *name, const void *bytes, size_t length) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, length, f) != length || fclose(f) != 0) {
    perror(path);
    exit(99);
  }
}

/* A copy of a golden model's folder with further members at the end of config.json ("\"a\":1,\"b\":2"), where the last one of a
 * name counts. `name` must be new. */
__attribute__((unused)) static const char *case_variant(const char *golden, const char *name, const char *extra) {
  char from[600], to[600], config[16384];
  size_t length;
  const char *folder = scratch_make_folder(name);
  snprintf(from, sizeof from, "%s/config.json", case_golden(golden));
  char *text = case_read_file(from, &length);
  while (text[length - 1] != '}')
    length--;
  const int n = snprintf(config, sizeof config, "%.*s%s%s}", (int)length - 1, text, *extra ? "," : "", extra);
  case_write(folder, "config.json", config, (size_t)n);
  brim_runtime_release(case_runtime, text);
  snprintf(from, sizeof from, "%s/model.safetensors", case_golden(golden));
  snprintf(to, sizeof to, "%s/model.safetensors", folder);
  if (symlink(from, to) != 0) {
    perror(to);
    exit(99);
  }
  return folder;
}

__attribute__((unused)) static brim_model *case_load(const char *folder, const char *kernels) {
  brim_error err = {0};
  brim_model *model;
  const brim_model_options options = {.kernels = kernels, .device = kernels ? BRIM_DEVICE_CPU : BRIM_DEVICE_REFERENCE};
  if (brim_model_load(case_runtime, folder, &options, &model, &err))
    case_stop(folder, &err);
  return model;
}

/* ---- the device's memory. What is in it now, `count` numbers from `at` on, with rows that are late as they are: the memory
 * itself where it is the host's, else a copy; the last 32 of those are good. */
__attribute__((unused)) static const real *case_look(const brim_model *model, const real *at, int64_t count) {
  static real *copies[32];
  static int next;
  brim_error err = {0};
  brim_ops_context *c = (brim_ops_context *)(uintptr_t)&model->context;
  if (!at || brim_model_is_host(model))
    return at;
  real **copy = &copies[next++ % 32];
  free(*copy);
  *copy = malloc((size_t)count * sizeof **copy + 1);
  if (!*copy)
    abort();
  model->ops->read(c, *copy, at, (size_t)count * sizeof **copy);
  if (model->ops->sync(c, &err))
    case_stop("look", &err);
  return *copy;
}
__attribute__((unused)) static const real *case_values_of(const brim_model *model) {
  return case_look(model, model->values, model->program.flat_size);
}
__attribute__((unused)) static const real *case_gradients_of(const brim_model *model) {
  return case_look(model, model->gradients, model->trained.size);
}
__attribute__((unused)) static const real *case_states_of(const brim_model *model, int which) {
  return case_look(model, model->states[which], model->trained.size);
}
/* The gradient of a parameter alone; NULL: it is frozen. */
__attribute__((unused)) static const real *case_gradient_of(const brim_model *model, const brim_parameter *p) {
  return case_look(model, brim_model_gradient(model, p->offset), p->count);
}
/* Bytes into it, behind the model's back. */
__attribute__((unused)) static void case_put(brim_model *model, void *at, const void *from, size_t size) {
  brim_error err = {0};
  model->ops->write(&model->context, at, from, size);
  if (model->ops->sync(&model->context, &err))
    case_stop("put", &err);
}

/* Of the weight whose name ends like this. */
__attribute__((unused)) static int64_t case_offset(const brim_model *model, const char *end) {
  for (size_t i = 0; i < model->program.weight_count; i++) {
    const char *name = model->program.weights[i].is.name;
    if (strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0)
      return model->program.weights[i].is.offset;
  }
  abort();
}

__attribute__((unused)) static brim_dataset *case_rows(const char *golden) {
  brim_error err = {0};
  brim_dataset *rows;
  char path[600];
  snprintf(path, sizeof path, "%s/batch.json", case_golden(golden));
  if (brim_dataset_read_json(case_runtime, path, &rows, &err))
    case_stop(path, &err);
  return rows;
}

/* Rows first .. first+count-1 as one part of a step of all rows. width 0: ragged. */
__attribute__((unused)) static void case_fill(brim_batch *batch, const brim_dataset *rows, uint32_t first, uint32_t count,
                                              int32_t width) {
  enum { MOST = 64 };
  uint64_t list[MOST];
  uint32_t places[MOST];
  brim_error err = {0};
  brim_planned part = {
      .count = count, .rows = list, .places = places, .step_rows = (uint32_t)brim_dataset_rows(rows), .width = width};
  for (uint32_t i = 0; i < count; i++) {
    list[i] = places[i] = first + i;
    part.tokens += brim_dataset_lengths(rows)[first + i];
  }
  part.slots = width ? (int64_t)count * width : part.tokens;
  if (brim_batch_fill(batch, case_runtime, rows, &part, &err))
    case_stop("batch", &err);
}

__attribute__((unused)) static brim_model_limits case_limits(const brim_batch *batch, bool training) {
  return (brim_model_limits){.max_slots = batch->slots,
                             .max_sequences = batch->count,
                             .max_length = brim_batch_width(batch),
                             .training = training,
                             .all_tokens = true};
}

/* Prepares for the batch, zeroes the gradient, runs forward and backward; returns the loss. */
__attribute__((unused)) static double case_step(brim_model *model, const brim_batch *batch, const brim_pass *pass) {
  brim_error err = {0};
  double loss = 0;
  const brim_model_limits limits = case_limits(batch, true);
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  brim_model_zero_gradients(model);
  if (brim_model_forward(model, batch, pass, &loss, NULL, &err) || brim_model_backward(model, batch, pass, &err))
    case_stop("step", &err);
  return loss;
}

/* Two texts of two and three tokens, rows 17 and 42. */
typedef struct tiny {
  int32_t ids[8], offsets[3];
  uint8_t types[8];
  float labels[2];
  uint64_t rows[2];
  uint32_t places[2];
  brim_batch batch;
} tiny;

__attribute__((unused)) static void make_tiny(tiny *t) {
  *t = (tiny){.ids = {5, 6, 7, 8, 9}, .offsets = {0, 2, 5}, .rows = {17, 42}, .places = {0, 1}};
  t->batch = (brim_batch){.count = 2,
                          .tokens = 5,
                          .slots = 5,
                          .ids = t->ids,
                          .type_ids = t->types,
                          .offsets = t->offsets,
                          .labels = t->labels,
                          .rows = t->rows,
                          .places = t->places,
                          .step_rows = 2};
}

/* |a - b| / |b|, L2. */
__attribute__((unused)) static double case_apart(const real *a, const real *b, int64_t count) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    size += (double)b[i] * (double)b[i];
  }
  return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

__attribute__((unused)) static bool case_is_key_bias(const char *name) {
  return strstr(name, ".key.bias") || strstr(name, ".k_lin.bias") || strstr(name, ".attn.k.bias") ||
         strstr(name, ".pos_key_proj.bias");
}

#endif
