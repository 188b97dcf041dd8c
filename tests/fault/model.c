/* Loading, preparing, training, saving: each allocation may fail, and a file that is cut gives one clear error and nothing else.
 */
#include "base/runtime.h"
#include "fault.h"
#include "model/files/safetensors.h"
#include "model_case.h"

static const char *saved;

/* The whole life of a model. */
static int live(brim_runtime *runtime, void *context, brim_error *err) {
  const char *folder = context;
  const brim_model_options options = {.kernels = "cpu-plain"};
  const brim_model_limits training = {.max_slots = 64, .max_sequences = 4, .max_length = 32, .training = true},
                          predict = {.max_slots = 96, .max_sequences = 4, .max_length = 32};
  brim_model *model;
  int status = brim_model_load(runtime, folder, &options, &model, err);
  if (!status)
    status = brim_model_prepare(model, &training, err);
  if (!status)
    status = brim_model_prepare(model, &predict, err);
  if (!status) {
    brim_model_limits bytes = predict;
    bytes.precision = BRIM_PRECISION_INT8;
    status = brim_model_prepare(model, &bytes, err);
  }
  if (!status)
    status = brim_model_save(model, NULL, NULL, saved, NULL, err);
  brim_model_free(model);
  return status;
}

/* A classifier whose classes come in another order. */
static int load_ordered(brim_runtime *runtime, void *context, brim_error *err) {
  char *names[] = {"so so", "yes", "no"};
  const brim_labels labels = {.task = BRIM_TASK_CLASSIFICATION, .count = 3, .names = names};
  const brim_model_options options = {.kernels = "cpu-plain", .labels = &labels};
  brim_model *model;
  int status = brim_model_load(runtime, context, &options, &model, err);
  brim_model_free(model);
  return status;
}

/* A folder whose weights are in two files. */
static const char *make_shards(void) {
  static const float values[2] = {1, 2};
  static const char index[] = "{\"weight_map\":{\"a\":\"a.safetensors\",\"b\":\"b.safetensors\"}}";
  const char *folder = scratch_make_folder("shards"), *const names[] = {"a", "b"};
  brim_error err;
  char path[600];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
    if (brim_tensors_write(case_runtime, path, &(brim_tensor){names[i], 1, {2}, values}, 1, &err))
      case_stop(path, &err);
  }
  case_write(folder, "model.safetensors.index.json", index, strlen(index));
  return folder;
}

static int read_shards(brim_runtime *runtime, void *context, brim_error *err) {
  brim_store *store;
  const int status = brim_store_open_folder(runtime, context, &store, err);
  brim_store_close(store);
  return status;
}

/* Tables and values of a file of torch.save. */
static int read_store(brim_runtime *runtime, void *context, brim_error *err) {
  brim_store *store;
  real values[16];
  int status = brim_store_open(runtime, context, &store, err);
  for (int32_t i = 0; !status && i < brim_store_count(store); i++)
    if (strcmp(brim_store_tensor(store, i)->dtype, "F32") == 0)
      status = brim_store_read(store, brim_store_tensor(store, i), values, err);
  brim_store_close(store);
  return status;
}

static int inspect_config(brim_runtime *runtime, void *context, brim_error *err) {
  brim_model_info info;
  return brim_model_describe(runtime, context, &info, err);
}

static char *read_file(const char *path, size_t *length) {
  FILE *f = fopen(path, "rb");
  char *bytes = malloc((size_t)1 << 22);
  if (!f || !bytes) {
    perror(path);
    exit(99);
  }
  *length = fread(bytes, 1, (size_t)1 << 22, f);
  fclose(f);
  return bytes;
}

/* Cuts one file of a folder at every fiftieth; loading must fail with that file's name, or the missing tensors'. */
static void check_cuts(const char *name) {
  brim_model *model;
  char path[600];
  size_t length;
  bool good = true;
  snprintf(path, sizeof path, "%s-cut", name);
  const char *folder = case_variant("bert-odd-regression", path, "");
  snprintf(path, sizeof path, "%s/%s", folder, name);
  char *bytes = read_file(path, &length);
  unlink(path);
  for (size_t i = 0; i < 50; i++) {
    brim_error err = {0};
    case_write(folder, name, bytes, length * i / 50);
    const int status = brim_model_load(case_runtime, folder, NULL, &model, &err);
    if (status != BRIM_E_FORMAT || model || !strstr(err.file, name)) {
      printf("# %s cut at %zu of %zu: %d, %s: %s\n", name, length * i / 50, length, status, err.file, err.message);
      good = false;
    }
    brim_model_free(model);
  }
  free(bytes);
  ok(good, "%s may be cut anywhere", name);
}

int main(void) {
  char views[600];
  case_start(1);
  saved = fault_file("saved");
  fault_check("a model's life", 1, live, NULL, (void *)(uintptr_t)case_golden("bert-odd-regression"));
  fault_check("a model's life, with threads", 2, live, NULL, (void *)(uintptr_t)case_golden("bert-odd-regression"));
  fault_check("DistilBERT", 1, live, NULL, (void *)(uintptr_t)case_golden("distilbert-4"));
  fault_check(
      "classes in another order", 1, load_ordered, NULL,
      (void *)(uintptr_t)case_variant("bert-pair-3", "ordered", "\"id2label\":{\"0\":\"no\",\"1\":\"so so\",\"2\":\"yes\"}"));
  fault_check("a description", 1, inspect_config, NULL, (void *)(uintptr_t)case_golden("roberta-regression"));
  snprintf(views, sizeof views, "%s/../torch/views.bin", case_golden(""));
  fault_check("weights in two files", 1, read_shards, NULL, (void *)(uintptr_t)make_shards());
  fault_check("PyTorch's tensors", 1, read_store, NULL, views);
  check_cuts("model.safetensors");
  check_cuts("config.json");
  brim_runtime_free(case_runtime);
  return tap_done();
}
