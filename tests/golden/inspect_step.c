/* Losses of embeddings and rerankers through a model, against sentence-transformers in double precision: outputs, loss and the
 * gradient of every weight, dense modules too, in parts of 1, 2, 3, 7 rows and at once. Outputs and loss have the same bits in
 * any parts. */
#include "brim/train.h"
#include "golden_tensors.h"
#include "levels.h"
#include "scratch.h"

typedef struct oracle {
  const char *name, *model; /* folders of tests/golden/tasks */
  brim_task task;
  brim_loss_options loss;
} oracle;

#define EMBEDDING(name, model, ...)                                                                                              \
  {                                                                                                                              \
    "embedding/" name, "embedding/models/" model, BRIM_TASK_EMBEDDING, {                                                         \
      __VA_ARGS__                                                                                                                \
    }                                                                                                                            \
  }
static const oracle oracles[] = {
    EMBEDDING("mnrl-negatives", "mean-norm", .name = "in-batch"),
    EMBEDDING("mnrl-dense", "mean-dense-norm", .name = "in-batch"),
    EMBEDDING("matryoshka", "mean", .name = "in-batch", .matryoshka = "32,16,8", .matryoshka_weights = "1,0.5,0.25"),
    EMBEDDING("cosent", "mean", .name = "cosent"),
    EMBEDDING("cosine", "cls-dense", .name = "cosine"),
    EMBEDDING("triplet-euclidean", "mean", .name = "triplet"),
    EMBEDDING("angle", "cls", .name = "angle"),
    EMBEDDING("online-contrastive", "max", .name = "online-contrastive", .margin = 0.8),
    {"ranking/bce-pos-weight", "ranking/bce-pos-weight", BRIM_TASK_RERANK, {.name = "bce", .positive_weight = 2.5}},
    {"ranking/list-net", "ranking/list-net", BRIM_TASK_RERANK, {.name = "list-net"}},
};
enum { ORACLES = sizeof oracles / sizeof *oracles, PARTS = 5 };
static const uint64_t parts[PARTS] = {0, 1, 2, 3, 7};

static const char *tasks_folder(const char *name) {
  const char *source = getenv("BRIM_SOURCE");
  static char paths[4][600];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/tests/golden/tasks/%s", source ? source : ".", name);
  return path;
}

static void compute(const oracle *o, uint64_t rows_at_once, brim_padding padding, const char *output) {
  brim_error err;
  brim_labels labels;
  brim_dataset *rows;
  brim_model *model;
  brim_sample first;
  if (brim_dataset_read_json(runtime, join(tasks_folder(o->name), "batch.json"), &rows, &err))
    stop(o->name, &err);
  brim_dataset_sample(rows, 0, &first);
  if (brim_labels_make(runtime, o->task, NULL, first.label_width > 0 ? first.label_width : 1, &labels, &err) ||
      brim_model_load(runtime, tasks_folder(o->model), &(brim_model_options){.labels = &labels}, &model, &err) ||
      brim_inspect_step(runtime, model, rows, &o->loss, rows_at_once, padding, output, &err))
    stop(o->name, &err);
  brim_model_free(model);
  brim_labels_free(&labels);
  brim_dataset_free(rows);
}

static double difference(const brim_store *got, const brim_store *want, const char *name,
                         double (*measure)(const float *got, const float *want, int64_t count)) {
  int64_t count = -1, own = -2;
  float *x = read_tensor(got, name, &own), *y = read_tensor(want, name, &count);
  const double d = x && y && own == count ? measure(x, y, count) : (double)INFINITY;
  free(x), free(y);
  return d;
}

/* Gradients that are 0 but for rounding are compared as they are. */
static bool is_zero(const brim_store *want, const char *name) {
  int64_t count = 0;
  float *y = read_tensor(want, name, &count), most = 0;
  for (int64_t i = 0; i < count; i++)
    most = fmaxf(most, fabsf(y[i]));
  free(y);
  return most < 1e-12F;
}

static void check_against(const oracle *o, const char *path, const char *how) {
  brim_store *got = open_store(path), *want = open_store(join(tasks_folder(o->name), "expected.safetensors"));
  double outputs = 0, gradients = 0, zeros = 0;
  const char *worst = "";
  for (int32_t i = 0; i < brim_store_count(want); i++) {
    const char *name = brim_store_tensor(want, i)->name;
    const bool gradient = strncmp(name, "grad.", 5) == 0, zero = gradient && is_zero(want, name);
    if (strncmp(name, "embeddings.", 11) == 0 || strcmp(name, "logits") == 0 || strcmp(name, "hidden") == 0)
      outputs = fmax(outputs, difference(got, want, name, farthest_from));
    if (zero)
      zeros = fmax(zeros, difference(got, want, name, farthest_from));
    else if (gradient && difference(got, want, name, apart_from) > gradients)
      gradients = difference(got, want, name, apart_from), worst = name;
  }
  const double loss = difference(got, want, "loss", apart_from);
  ok(outputs <= 1e-5 && loss <= 2e-6 && gradients <= 1e-5 && zeros <= 1e-6,
     "%s, %s: outputs %.1e, loss %.1e, gradients %.1e (%s), those of 0 %.1e", o->name, how, outputs, loss, gradients, worst,
     zeros);
  brim_store_close(got);
  brim_store_close(want);
}

static void check_oracle(const oracle *o) {
  char first[700], how[60];
  int same = 0;
  snprintf(first, sizeof first, "%s", scratch_file("whole.safetensors"));
  for (int i = 0; i < PARTS; i++) {
    const char *path = i == 0 ? first : scratch_file("parts.safetensors");
    compute(o, parts[i], BRIM_PAD_NONE, path);
    snprintf(how, sizeof how, parts[i] ? "parts of %d rows" : "at once", (int)parts[i]);
    check_against(o, path, how);
    brim_store *one = open_store(first), *other = open_store(path);
    same += difference(one, other, "loss", farthest_from) == 0;
    brim_store_close(one), brim_store_close(other);
  }
  const bool of_step = strstr(o->name, "mnrl") || strstr(o->name, "cosent") || strstr(o->name, "matryoshka");
  ok(!of_step || same == PARTS, "%s: the loss of a step has the same bits in %d of %d ways to cut it", o->name, same, PARTS);
  compute(o, 2, BRIM_PAD_LONGEST, first);
  check_against(o, first, "padded");
}

int main(void) {
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 2}, &runtime, &err))
    stop("runtime", &err);
  for (int i = 0; i < ORACLES; i++)
    check_oracle(&oracles[i]);
  brim_runtime_free(runtime);
  return tap_done();
}
