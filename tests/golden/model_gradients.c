/* Every golden model, on every kernel and padding, against PyTorch in double precision: hidden states, logits, loss, gradients,
 * and a short training run. The files come from transformers; see tools/make_model_golden.py. With --data DIR: those of
 * DIR/golden. */
#include "brim/train.h"
#include "golden_tensors.h"
#include "levels.h"
#include "scratch.h"

static const char *const paddings[] = {"none", "longest", "max_length"};

typedef struct pair {
  float *got, *want;
  int64_t count;
} pair;

/* False when either is missing, or they differ in size. */
static bool open_pair(const brim_store *got, const brim_store *want, const char *name, pair *p) {
  int64_t got_count = -1;
  p->want = read_tensor(want, name, &p->count);
  p->got = read_tensor(got, name, &got_count);
  return p->want && p->got && got_count == p->count;
}

/* `measure` of a tensor that both have by this name; infinite when it is missing. */
static double measured(const brim_store *got, const brim_store *want, const char *name,
                       double (*measure)(const float *got, const float *want, int64_t count)) {
  pair p;
  const double d = open_pair(got, want, name, &p) ? measure(p.got, p.want, p.count) : (double)INFINITY;
  free(p.got);
  free(p.want);
  return d;
}

static double worst_difference(const brim_store *got, const brim_store *want, const char *name) {
  return measured(got, want, name, farthest_from);
}

static double relative_difference(const brim_store *got, const brim_store *want, const char *name) {
  return measured(got, want, name, apart_from);
}

typedef struct worst {
  double weights, key_biases;
  const char *name;
  int64_t values; /* that were compared */
} worst;

/* One of `want`, which may be part of one of `got`; infinite when it is missing. */
static double difference_of(const brim_store *got, const brim_store *want, const char *name, const char *prefix, bool relative,
                            worst *w) {
  in_file at = filed(name + strlen(prefix));
  int64_t count = 0, all = -1;
  char full[220];
  snprintf(full, sizeof full, "%s%s", prefix, at.name);
  float *wanted = read_tensor(want, name, &count), *values = read_tensor(got, full, &all);
  if (!values && filed_otherwise(&at)) {
    snprintf(full, sizeof full, "%s%s", prefix, at.name);
    values = read_tensor(got, full, &all);
  }
  double d = (double)INFINITY;
  if (values && all == count * at.parts)
    d = (relative ? apart_from : farthest_from)(values + at.part * count, wanted, count);
  w->values += count;
  free(wanted);
  free(values);
  return d;
}

/* All tensors of `want` whose names begin with `prefix`. After steps of AdamW biases of keys that are turned by their place count
 * as those of others: what is turned little has next to no gradient, and AdamW makes its rounding as large as any (PyTorch in
 * single precision is 1.3e-5 from double there). */
static worst compare_tensors(const brim_store *got, const brim_store *want, const char *prefix, bool relative_keys) {
  worst w = {.name = ""};
  for (int32_t i = 0; i < brim_store_count(want); i++) {
    const char *name = brim_store_tensor(want, i)->name;
    if (strncmp(name, prefix, strlen(prefix)) != 0)
      continue;
    const bool key = is_key_bias(name) || (relative_keys && strstr(name, ".k_proj.bias"));
    const double d = difference_of(got, want, name, prefix, !key || relative_keys, &w);
    double *place = key ? &w.key_biases : &w.weights;
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
  uint64_t number; /* of the folder */
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

static int64_t count_values(const brim_model *model) {
  int64_t sum = 0;
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++)
    sum += brim_model_parameter(model, i)->count;
  return sum;
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
         w.values == count_values(g->model),
     "%s, %s, %s: hidden %.1e, logits %.1e, loss %.1e, gradients %.1e (%s), key biases %.1e, norm %.1e", g->name, g->kernels,
     paddings[g->padding], hidden, logits, loss, w.weights, w.name, w.key_biases, norm);
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
         w.values == count_values(g->model),
     "%s, %s, %s: %d steps: loss %.1e, norm %.1e, weights %.1e (%s), key biases %.1e", g->name, g->kernels, paddings[g->padding],
     s.count, s.loss, s.norm, w.weights, w.name, w.key_biases);
  brim_store_close(got);
  brim_store_close(want);
  brim_json_free(document);
  close_golden(g);
}

/* The reference has one padding of each model, and the trajectory of one model in two; together all, and the other levels each.
 */
static void check_kernels(golden *g, const char *kernels, int level, bool all_trajectories) {
  const bool trained = brim_path_exists(join(g->folder, "trajectory.json")); /* models of texts */
  g->kernels = kernels;
  for (int padding = 0; padding < 3; padding++) {
    g->padding = (brim_padding)padding;
    if (level_takes(level, "paddings", g->number + (uint64_t)padding, 3))
      check_gradients(g);
    if (trained && (all_trajectories || g->padding == BRIM_PAD_NONE) && level_takes(level, "trajectories", g->number, 2))
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
  static uint64_t number;
  golden g = {.folder = folder, .name = name, .number = number++};
  if (!tap_takes_of("models", g.number, 2))
    return;
#ifdef BRIM_GOLDEN_KERNELS /* of another device: it is slow, as the reference is */
  g.kernels = BRIM_GOLDEN_KERNELS;
  if (!is_refused(&g))
    check_kernels(&g, BRIM_GOLDEN_KERNELS, LEVEL_END, false);
#else
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level))
    check_kernels(&g, level < 0 ? brim_ops_ref()->name : brim_ops_cpu((brim_cpu_level)level)->name, level, level >= 0);
#endif
}

int main(int argc, char **argv) {
  brim_error err;
  const brim_runtime_options options = {.threads = 2};
  if (brim_runtime_new(&options, &runtime, &err))
    stop("runtime", &err);
  const int count = each_golden(tap_data(argc, argv), check_model);
  ok(count >= 6, "%d golden models", count);
  brim_runtime_free(runtime);
  return tap_done();
}
