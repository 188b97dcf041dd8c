/* Every golden model, on every kernel and padding, against PyTorch in double precision: hidden states, logits, loss, gradients,
 * and a short training run. The files come from transformers; see tools/make_model_golden.py. */
#include "base/folder.h"
#include "base/json.h"
#include "base/runtime.h"
#include "brim/train.h"
#include "model/safetensors.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *runtime;
static const char *const paddings[] = {"none", "longest", "max_length"};

_Noreturn static void stop(const char *what, const brim_error *err) {
  char text[1200];
  brim_error_text(err, text, sizeof text);
  printf("Bail out! %s: %s\n", what, text);
  exit(99);
}

static const char *join(const char *folder, const char *name) {
  static char paths[8][700];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* ---- files of tensors ---- */

static float *read_tensor(const brim_store *store, const char *name, int64_t *count) {
  brim_error err;
  const brim_stored *t = brim_store_find(store, name, strlen(name));
  if (!t)
    return NULL;
  float *values = malloc(((size_t)t->count + 1) * sizeof *values);
  if (!values || brim_store_read(store, t, values, &err))
    stop(name, &err);
  *count = t->count;
  return values;
}

typedef struct pair {
  float *got, *want;
  int64_t count;
} pair;

static bool open_pair(const brim_store *got, const brim_store *want, const char *name, pair *p) {
  int64_t got_count = -1;
  p->want = read_tensor(want, name, &p->count);
  p->got = read_tensor(got, name, &got_count);
  return p->want && p->got && got_count == p->count;
}

static void close_pair(pair *p) {
  free(p->got);
  free(p->want);
}

/* Largest difference; infinite when a tensor is missing. */
static double worst_difference(const brim_store *got, const brim_store *want, const char *name) {
  pair p;
  double worst = 0;
  if (!open_pair(got, want, name, &p))
    worst = (double)INFINITY;
  for (int64_t i = 0; isfinite(worst) && i < p.count; i++) {
    const double d = fabs((double)p.got[i] - (double)p.want[i]);
    worst = d <= worst ? worst : d;
  }
  close_pair(&p);
  return worst;
}

/* |got - want| / |want|, L2. */
static double relative_difference(const brim_store *got, const brim_store *want, const char *name) {
  pair p;
  double difference = 0, size = 0;
  if (!open_pair(got, want, name, &p))
    difference = (double)INFINITY;
  for (int64_t i = 0; isfinite(difference) && i < p.count; i++) {
    difference += pow((double)p.got[i] - (double)p.want[i], 2);
    size += pow((double)p.want[i], 2);
  }
  close_pair(&p);
  return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

/* A key's bias adds the same to all scores of a query: its gradient is zero but for rounding. */
static bool is_key_bias(const char *name) {
  return strstr(name, ".key.bias") || strstr(name, ".k_lin.bias") || strstr(name, ".attn.k.bias");
}

typedef struct worst {
  double weights, key_biases;
  const char *name;
  int tensors;
} worst;

/* All tensors of `want` whose names begin with `prefix`. */
static worst compare_tensors(const brim_store *got, const brim_store *want, const char *prefix, bool relative_keys) {
  worst w = {.name = ""};
  for (int32_t i = 0; i < brim_store_count(want); i++) {
    const char *name = brim_store_tensor(want, i)->name;
    if (strncmp(name, prefix, strlen(prefix)) != 0)
      continue;
    const bool key = is_key_bias(name);
    const double d = key && !relative_keys ? worst_difference(got, want, name) : relative_difference(got, want, name);
    double *place = key ? &w.key_biases : &w.weights;
    w.tensors++;
    if (d <= *place)
      continue;
    *place = d;
    if (!key)
      w.name = name;
  }
  return w;
}

/* ---- one model, one kernel, one padding ---- */

typedef struct golden {
  const char *folder, *name, *kernels;
  brim_padding padding;
  brim_model *model;
  brim_dataset *batch;
} golden;

static void open_golden(golden *g) {
  brim_error err;
  const brim_model_options options = {.kernels = g->kernels};
  if (brim_model_load(runtime, g->folder, &options, &g->model, &err))
    stop(g->folder, &err);
  if (brim_dataset_read_json(runtime, join(g->folder, "batch.json"), &g->batch, &err))
    stop(g->folder, &err);
}

static void close_golden(golden *g) {
  brim_dataset_free(g->batch);
  brim_model_free(g->model);
}

static brim_store *open_store(const char *path) {
  brim_error err;
  brim_store *store;
  if (brim_store_open(runtime, path, &store, &err))
    stop(path, &err);
  return store;
}

static void check_gradients(golden *g) {
  brim_error err;
  const char *path = scratch_file("gradients.safetensors");
  open_golden(g);
  if (brim_inspect_gradients(runtime, g->model, g->batch, g->padding, path, &err))
    stop(g->folder, &err);
  brim_store *got = open_store(path), *want = open_store(join(g->folder, "expected.safetensors"));
  const double hidden = worst_difference(got, want, "hidden"), logits = worst_difference(got, want, "logits");
  const double loss = relative_difference(got, want, "loss"), norm = relative_difference(got, want, "grad_norm");
  const worst w = compare_tensors(got, want, "grad.", false);
  ok(hidden <= 1e-5 && logits <= 1e-5 && loss <= 2e-6 && w.weights <= 1e-5 && w.key_biases <= 1e-6 && norm <= 1e-5 &&
         w.tensors == brim_model_parameter_count(g->model),
     "%s, %s, %s: hidden %.1e, logits %.1e, loss %.1e, %d gradients %.1e (%s), key biases %.1e, norm %.1e", g->name, g->kernels,
     paddings[g->padding], hidden, logits, loss, w.tensors, w.weights, w.name, w.key_biases, norm);
  brim_store_close(got);
  brim_store_close(want);
  close_golden(g);
}

/* Steps of trajectory.json next to those that are run. */
typedef struct steps {
  const brim_json_value *list, *next;
  int count;
  double loss, norm, lr; /* worst relative differences */
} steps;

static double apart(const brim_json_value *step, const brim_event *event, const char *name) {
  const double want = brim_json_number(brim_json_get(step, name)), got = brim_event_field(event, name)->real;
  return want == 0 ? fabs(got) : fabs(got - want) / fabs(want);
}

static int on_step(void *context, const brim_event *event) {
  steps *s = context;
  if (!s->next)
    return BRIM_E_INTERNAL;
  s->loss = fmax(s->loss, apart(s->next, event, "loss"));
  s->norm = fmax(s->norm, apart(s->next, event, "grad_norm"));
  s->lr = fmax(s->lr, apart(s->next, event, "lr"));
  s->next = brim_json_after(s->list, s->next);
  s->count++;
  return BRIM_OK;
}

static void check_trajectory(golden *g) {
  brim_error err;
  brim_json_document *document;
  const char *path = scratch_file("weights.safetensors"), *recipe = join(g->folder, "trajectory.json");
  open_golden(g);
  if (brim_json_load(runtime, recipe, 0, &document, &err))
    stop(recipe, &err);
  steps s = {.list = brim_json_get(brim_json_root(document), "steps")};
  s.next = brim_json_first(s.list);
  if (brim_inspect_trajectory(runtime, g->model, g->batch, recipe, g->padding, path, on_step, &s, &err))
    stop(g->folder, &err);
  brim_store *got = open_store(path), *want = open_store(join(g->folder, "trajectory.safetensors"));
  const worst w = compare_tensors(got, want, "", true);
  ok(s.count == 12 && !s.next && s.loss <= 1e-5 && s.norm <= 1e-5 && s.lr <= 1e-12 && w.weights <= 1e-5 && w.key_biases <= 5e-3 &&
         w.tensors == brim_model_parameter_count(g->model),
     "%s, %s, %s: %d steps: loss %.1e, norm %.1e, weights %.1e (%s), key biases %.1e", g->name, g->kernels, paddings[g->padding],
     s.count, s.loss, s.norm, w.weights, w.name, w.key_biases);
  brim_store_close(got);
  brim_store_close(want);
  brim_json_free(document);
  close_golden(g);
}

static void check_kernels(golden *g, const char *kernels, bool all_trajectories) {
  const bool trained = brim_path_exists(join(g->folder, "trajectory.json")); /* models of texts */
  g->kernels = kernels;
  for (int padding = 0; padding < 3; padding++) {
    g->padding = (brim_padding)padding;
    check_gradients(g);
    if (trained && (all_trajectories || g->padding == BRIM_PAD_NONE)) /* the reference is slow */
      check_trajectory(g);
  }
}

#ifdef BRIM_GOLDEN_KERNELS
/* A device may lack what a family needs: it says so, and what is missing. */
static bool is_refused(golden *g) {
  brim_error err;
  open_golden(g);
  const int status = brim_inspect_gradients(runtime, g->model, g->batch, BRIM_PAD_NONE, scratch_file("refused.safetensors"),
                                            &err);
  close_golden(g);
  if (status)
    ok(status == BRIM_E_UNSUPPORTED, "%s is refused: %s", g->name, err.message);
  return status != BRIM_OK;
}
#endif

static void check_model(const char *folder, const char *name) {
  golden g = {.folder = folder, .name = name};
#ifdef BRIM_GOLDEN_KERNELS /* of another device: it is slow, as the reference is */
  g.kernels = BRIM_GOLDEN_KERNELS;
  if (!is_refused(&g))
    check_kernels(&g, BRIM_GOLDEN_KERNELS, false);
#else
  check_kernels(&g, brim_ops_ref()->name, false);
  for (int level = 0; level <= (int)brim_runtime_cpu(runtime); level++)
    check_kernels(&g, brim_ops_cpu((brim_cpu_level)level)->name, true);
#endif
}

/* All models of tests/golden/models. */
int main(void) {
  brim_error err;
  char **names;
  size_t count;
  char folder[512];
  const brim_runtime_options options = {.threads = 2};
  if (brim_runtime_new(&options, &runtime, &err))
    stop("runtime", &err);
  snprintf(folder, sizeof folder, "%s/tests/golden/models", tap_source());
  if (brim_list_folder(runtime, folder, &names, &count, &err))
    stop(folder, &err);
  for (size_t i = 0; i < count; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    check_model(path, names[i]);
  }
  ok(count >= 6, "%d golden models", (int)count);
  brim_names_free(runtime, names, count);
  brim_runtime_free(runtime);
  return tap_done();
}
