/* modules.c: reads the modules of a folder, and applies them. Sums are in double. */
#include "model/files/modules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/text.h"
#include "base/within.h"
#include "model/config.h"
#include "model/files/safetensors.h"
#include "model/program.h"
#include "ops/pooling.h"
#include "task/task.h"

enum { LIMIT = 1 << 20 };

/* ---- activations -------------------------------------------------------------------------------------------- */

static double same(double x) {
  return x;
}
static double relu(double x) {
  return fmax(x, 0);
}
static double gelu(double x) {
  return x / 2 * (1 + erf(x / sqrt(2.0)));
}
static double silu(double x) {
  return x / (1 + exp(-x));
}

/* Classes of torch.nn; what a path says before the last point is where they live, and other versions may have them elsewhere. */
static const struct {
  const char *path;
  double (*of)(double x);
  bool trained;
  brim_activation trained_as;
} activations[] = {{"torch.nn.modules.linear.Identity", same, true, BRIM_ACT_NONE},
                   {"torch.nn.modules.activation.Tanh", tanh, true, BRIM_ACT_TANH},
                   {"torch.nn.modules.activation.ReLU", relu, true, BRIM_ACT_RELU},
                   {"torch.nn.modules.activation.GELU", gelu, true, BRIM_ACT_GELU},
                   {"torch.nn.modules.activation.SiLU", silu, true, BRIM_ACT_SILU},
                   {"torch.nn.modules.activation.Sigmoid", brim_sigmoid, false, BRIM_ACT_NONE}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static const char *class_of(int32_t activation) {
  return strrchr(activations[activation].path, '.') + 1;
}

bool brim_module_is_trained(const brim_module_step *step, brim_activation *as) {
  *as = activations[step->activation].trained_as;
  return activations[step->activation].trained;
}

int32_t brim_module_activation_of(brim_activation activation) {
  int32_t i = 0;
  while (i + 1 < ACTIVATIONS && !(activations[i].trained && activations[i].trained_as == activation))
    i++;
  return i;
}

const char *brim_module_activation_path(brim_activation activation) {
  return activations[brim_module_activation_of(activation)].path;
}

const char *brim_module_activation_name(brim_activation activation) {
  return class_of(brim_module_activation_of(activation));
}

static int32_t activation_of(const char *path, size_t length) {
  size_t from = length;
  while (from > 0 && path[from - 1] != '.')
    from--;
  for (int32_t i = 0; i < ACTIVATIONS; i++)
    if (strlen(class_of(i)) == length - from && memcmp(class_of(i), path + from, length - from) == 0)
      return i;
  return -1;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

int brim_module_json(brim_runtime *runtime, const char *folder, const char *path, const char *name, brim_json_document **out,
                     brim_error *err) {
  char *inner = brim_path_join(runtime, folder, path),
       *file = inner ? brim_path_join(runtime, *path ? inner : folder, name) : NULL;
  int status = file ? BRIM_OK : BRIM_NOMEM(err);
  *out = NULL;
  if (!status && brim_path_is_taken(file))
    status = brim_json_load(runtime, file, LIMIT, out, err);
  const brim_json_value *root = *out ? brim_json_root(*out) : NULL;
  if (root && root->kind != BRIM_JSON_OBJECT && strcmp(name, "modules.json") != 0) {
    status = brim_json_error(*out, root, err, BRIM_E_FORMAT, "an object is expected, this is %s",
                             brim_json_kind_name(root->kind));
    brim_json_free(*out);
    *out = NULL;
  }
  brim_release(runtime, inner);
  brim_release(runtime, file);
  return status;
}

/* The last word of a module's class: "Pooling" of "sentence_transformers.models.Pooling". */
static bool is_class(const brim_json_value *type, const char *name) {
  const size_t length = strlen(name);
  return type && type->kind == BRIM_JSON_STRING && type->length >= length &&
         memcmp(type->as.text + type->length - length, name, length) == 0 &&
         (type->length == length || type->as.text[type->length - length - 1] == '.');
}

/* ---- pooling ------------------------------------------------------------------------------------------------- */

/* As files call them, in the order in which the older form joins them. */
static const struct {
  const char *flag, *name;
} mode_names[BRIM_POOL_MODES] = {
    [BRIM_POOL_CLS] = {"pooling_mode_cls_token", "cls"},
    [BRIM_POOL_MAX] = {"pooling_mode_max_tokens", "max"},
    [BRIM_POOL_MEAN] = {"pooling_mode_mean_tokens", "mean"},
    [BRIM_POOL_MEAN_SQRT] = {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    [BRIM_POOL_WEIGHTED_MEAN] = {"pooling_mode_weightedmean_tokens", "weightedmean"},
    [BRIM_POOL_LAST] = {"pooling_mode_lasttoken", "lasttoken"},
};

const char *brim_module_mode(brim_pool_mode mode) {
  return mode_names[mode].name;
}

const char *brim_module_flag(brim_pool_mode mode) {
  return mode_names[mode].flag;
}

static int add_mode(brim_pool_list *modes, const brim_json_document *d, const brim_json_value *name, brim_error *err) {
  for (int i = 0; i < BRIM_POOL_MODES && modes->count < BRIM_POOL_MODES; i++)
    if (brim_json_is_string(name, mode_names[i].name) && !brim_pool_has(modes, (brim_pool_mode)i)) {
      modes->of[modes->count++] = (brim_pool_mode)i;
      return BRIM_OK;
    }
  return brim_json_error(d, name, err, BRIM_E_UNSUPPORTED,
                         "brim pools by cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken, each once");
}

int brim_module_modes(const brim_json_document *d, brim_pool_list *modes, brim_error *err) {
  const brim_json_value *root = brim_json_root(d), *named = brim_json_get(root, "pooling_mode");
  if (named && named->kind == BRIM_JSON_STRING)
    return add_mode(modes, d, named, err);
  for (const brim_json_value *v = named ? brim_json_first(named) : NULL; v; v = brim_json_after(named, v))
    BRIM_TRY(add_mode(modes, d, v, err));
  for (int i = 0; i < BRIM_POOL_MODES && !named; i++) {
    bool is_on = false;
    BRIM_TRY(brim_json_read_bool(d, root, mode_names[i].flag, &is_on, err));
    if (is_on)
      modes->of[modes->count++] = (brim_pool_mode)i;
  }
  const brim_json_value *mean = brim_json_get(root, mode_names[BRIM_POOL_MEAN].flag);
  if (modes->count == 0 && !mean && (!named || named->kind == BRIM_JSON_NULL) && root->kind == BRIM_JSON_OBJECT)
    modes->of[modes->count++] = BRIM_POOL_MEAN;
  return modes->count > 0 ? BRIM_OK
                          : brim_json_error(d, mean ? mean : root, err, BRIM_E_FORMAT,
                                            "no pooling is chosen: a text's vector is some of cls, max, mean");
}

/* What the folder says of a token's numbers is what the encoder gives. */
static int check_width(const brim_modules *m, const brim_json_document *d, brim_error *err) {
  static const char *const names[] = {"word_embedding_dimension", "embedding_dimension"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int64_t said = m->hidden;
    BRIM_TRY(brim_json_read_int(d, brim_json_root(d), names[i], 1, INT32_MAX, &said, err));
    if (said != m->hidden)
      return brim_json_error(d, brim_json_get(brim_json_root(d), names[i]), err, BRIM_E_MISMATCH,
                             "%s is %lld, but the encoder gives %d numbers for a token", names[i], (long long)said,
                             (int)m->hidden);
  }
  return BRIM_OK;
}

static int read_pooling(brim_modules *m, const char *folder, const char *path, brim_error *err) {
  brim_json_document *d;
  bool with_prompt = true;
  BRIM_TRY(brim_module_json(m->runtime, folder, path, "config.json", &d, err));
  int status = d ? brim_module_modes(d, &m->modes, err) : BRIM_OK;
  if (!status && d)
    status = check_width(m, d, err);
  if (!status && d)
    status = brim_json_read_bool(d, brim_json_root(d), "include_prompt", &with_prompt, err);
  m->without_prompt = !with_prompt;
  brim_json_free(d);
  return status;
}

/* ---- dense --------------------------------------------------------------------------------------------------- */

/* A tensor of this shape, as floats in the arena. */
static int read_tensor(brim_modules *m, const brim_store *store, const char *where, const char *name, int64_t rows,
                       int64_t columns, const float **out, brim_error *err) {
  const brim_stored *t = brim_store_find(store, name, strlen(name));
  const int64_t count = rows * (columns ? columns : 1);
  if (!t || t->shape[0] != rows || t->rank != 1 + (columns > 0) || (columns && t->shape[1] != columns))
    return brim_error_at(err, BRIM_E_MISMATCH, where, 0, -1, "there is no tensor %s of the shape that config.json asks for",
                         name);
  real *numbers = brim_alloc_array(m->runtime, (size_t)count, sizeof *numbers);
  float *copy = brim_arena_alloc_array(&m->arena, (size_t)count, sizeof *copy);
  int status = numbers && copy ? brim_store_read(store, t, numbers, err) : BRIM_NOMEM(err);
  for (int64_t i = 0; i < count && !status; i++)
    copy[i] = (float)numbers[i];
  brim_release(m->runtime, numbers);
  *out = copy;
  return status;
}

static int read_dense_weights(brim_modules *m, const char *folder, const char *path, bool biased, brim_module_step *step,
                              brim_error *err) {
  brim_store *store = NULL;
  char *inner = brim_path_join(m->runtime, folder, path);
  int status = inner ? brim_store_open_folder(m->runtime, inner, &store, err) : BRIM_NOMEM(err);
  if (!status)
    status = read_tensor(m, store, inner, "linear.weight", step->out, step->in, &step->weight, err);
  if (!status && biased)
    status = read_tensor(m, store, inner, "linear.bias", step->out, 0, &step->bias, err);
  brim_store_close(store);
  brim_release(m->runtime, inner);
  return status;
}

static int read_dense_config(const brim_json_document *d, brim_module_step *step, bool *biased, brim_error *err) {
  const brim_json_value *root = brim_json_root(d);
  int64_t in = 0, out = 0;
  bool residual = false;
  const char *name = "torch.nn.modules.activation.Tanh";
  size_t length = strlen(name);
  *biased = true;
  BRIM_TRY(brim_json_read_int(d, root, "in_features", 1, 1 << 20, &in, err));
  BRIM_TRY(brim_json_read_int(d, root, "out_features", 1, 1 << 20, &out, err));
  BRIM_TRY(brim_json_read_bool(d, root, "bias", biased, err));
  BRIM_TRY(brim_json_read_bool(d, root, "use_residual", &residual, err));
  BRIM_TRY(brim_json_read_string(d, root, "activation_function", &name, &length, err));
  *step = (brim_module_step){.in = (int32_t)in, .out = (int32_t)out, .activation = activation_of(name, length)};
  if (residual || step->activation < 0)
    return brim_json_error(d, brim_json_get(root, residual ? "use_residual" : "activation_function"), err, BRIM_E_UNSUPPORTED,
                           "brim's dense modules have no residual, and Identity, Tanh, ReLU, GELU, SiLU or Sigmoid");
  return in && out ? BRIM_OK : brim_json_error(d, root, err, BRIM_E_FORMAT, "in_features and out_features are needed");
}

static int read_dense(brim_modules *m, const char *folder, const char *path, brim_module_step *step, brim_error *err) {
  brim_json_document *d;
  bool biased;
  BRIM_TRY(brim_module_json(m->runtime, folder, path, "config.json", &d, err));
  if (!d)
    return brim_error_at(err, BRIM_E_IO, folder, 0, -1, "%s has no config.json", path);
  int status = read_dense_config(d, step, &biased, err);
  brim_json_free(d);
  return status ? status : read_dense_weights(m, folder, path, biased, step, err);
}

/* ---- layers -------------------------------------------------------------------------------------------------- */

static int read_shares(brim_modules *m, const char *folder, const char *path, brim_error *err) {
  brim_store *store = NULL;
  char *inner = brim_path_join(m->runtime, folder, path);
  int status = inner ? brim_store_open_folder(m->runtime, inner, &store, err) : BRIM_NOMEM(err);
  if (!status)
    status = read_tensor(m, store, inner, BRIM_LAYER_SHARES, m->mixed.count, 0, &m->shares, err);
  brim_store_close(store);
  brim_release(m->runtime, inner);
  return status;
}

/* WeightedLayerPooling counts hidden states from the embeddings, number 0, on; layers side by side, of brim's own file, from the
 * end. */
static int read_layers(brim_modules *m, const char *folder, const char *path, bool joined, brim_error *err) {
  brim_json_document *d;
  int64_t layers = 12, first = 4, count = 0;
  BRIM_TRY(brim_module_json(m->runtime, folder, path, "config.json", &d, err));
  if (!d)
    return brim_error_at(err, BRIM_E_IO, folder, 0, -1, "%s has no config.json", path);
  const brim_json_value *root = brim_json_root(d);
  int status = joined ? brim_json_read_int(d, root, "count", 1, BRIM_MOST_LISTED, &count, err)
                      : brim_json_read_int(d, root, "num_hidden_layers", 1, BRIM_MOST_LAYERS, &layers, err);
  if (!status && !joined)
    status = brim_json_read_int(d, root, "layer_start", 0, layers, &first, err);
  m->layers = joined ? 0 : (int32_t)layers;
  m->mixed = (brim_mixed){.count = (int32_t)(joined ? count : layers + 1 - first), .joined = joined};
  if (!status && (m->mixed.count < 1 || m->mixed.count > BRIM_MOST_LISTED || m->modes.count > 0))
    status = brim_json_error(d, root, err, BRIM_E_UNSUPPORTED, "brim takes 1 to %d layers, before they are pooled",
                             BRIM_MOST_LISTED);
  brim_json_free(d);
  m->hidden = m->token * (joined ? m->mixed.count : 1);
  return status || joined ? status : read_shares(m, folder, path, err);
}

/* ---- all modules --------------------------------------------------------------------------------------------- */

/* `width`: of what comes in. */
static int read_step(brim_modules *m, const char *folder, const brim_json_value *type, const char *path, int32_t width,
                     brim_error *err) {
  brim_module_step *step = &m->steps[m->step_count];
  if (m->step_count == BRIM_MOST_STEPS)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, folder, 0, -1, "modules.json lists more than %d modules", BRIM_MOST_STEPS);
  if (m->modes.count == 0)
    return brim_error_at(err, BRIM_E_FORMAT, folder, 0, -1, "modules.json lists %s before a Pooling: it has no vectors to take",
                         *path ? path : "a module");
  *step = (brim_module_step){.in = width, .out = width};
  if (is_class(type, "Dense"))
    BRIM_TRY(read_dense(m, folder, path, step, err));
  if (step->in != width)
    return brim_error_at(err, BRIM_E_MISMATCH, folder, 0, -1, "%s takes %d numbers, but gets %d", path, step->in, width);
  step->path = path;
  m->step_count++;
  return BRIM_OK;
}

/* A module's path: sentence-transformers takes none that leads out of the folder. */
static int check_path(brim_runtime *runtime, const brim_json_document *d, const brim_json_value *path, brim_error *err) {
  char *clean = NULL;
  if (!path)
    return BRIM_OK;
  if (path->kind == BRIM_JSON_STRING)
    BRIM_TRY(brim_module_path(runtime, path->as.text, path->length, &clean, err));
  const bool inside = clean != NULL;
  brim_release(runtime, clean);
  return inside ? BRIM_OK
                : brim_json_error(d, path, err, BRIM_E_UNSUPPORTED,
                                  "path is the name of a folder within this one, such as \"1_Pooling\", or \"\"");
}

static int32_t width_of(const brim_modules *m) {
  return m->step_count > 0 ? m->steps[m->step_count - 1].out : m->hidden * m->modes.count;
}

static int read_module(brim_modules *m, const char *folder, const brim_json_document *d, const brim_json_value *module,
                       brim_error *err) {
  const brim_json_value *type = brim_json_get(module, "type"), *at = brim_json_get(module, "path");
  BRIM_TRY(check_path(m->runtime, d, at, err));
  const char *path = at ? brim_arena_copy_string(&m->arena, at->as.text, at->length) : "";
  if (!path)
    return BRIM_NOMEM(err);
  if (is_class(type, "Transformer"))
    return BRIM_OK;
  if (is_class(type, "WeightedLayerPooling") || is_class(type, BRIM_JOINED_CLASS))
    return read_layers(m, folder, path, is_class(type, BRIM_JOINED_CLASS), err);
  if (is_class(type, "Pooling"))
    return read_pooling(m, folder, path, err);
  if (is_class(type, "Dense") || is_class(type, "Normalize"))
    return read_step(m, folder, type, path, width_of(m), err);
  if (is_class(type, "SpladePooling"))
    return brim_json_error(
        d, type, err, BRIM_E_UNSUPPORTED,
        "the folder's model is a SparseEncoder, whose vectors have a number for each word of the vocabulary: brim "
        "computes dense vectors alone");
  return brim_json_error(
      d, type ? type : module, err, BRIM_E_UNSUPPORTED,
      "brim has the modules Transformer, WeightedLayerPooling, Pooling, Dense and Normalize, and not this one");
}

static int read_modules(brim_modules *m, const char *folder, brim_error *err) {
  brim_json_document *d = NULL;
  if (m->listed)
    BRIM_TRY(brim_module_json(m->runtime, folder, "", "modules.json", &d, err));
  const brim_json_value *root = d ? brim_json_root(d) : NULL;
  const brim_json_value *first = root ? brim_json_first(root) : NULL;
  int status = !d || is_class(first ? brim_json_get(first, "type") : NULL, "Transformer")
                   ? BRIM_OK
                   : brim_json_error(d, first ? first : root, err, BRIM_E_FORMAT, "the first module must be a Transformer");
  m->modes.count = 0;
  for (const brim_json_value *v = root ? brim_json_first(root) : NULL; v && !status; v = brim_json_after(root, v))
    status = read_module(m, folder, d, v, err);
  if (!status && d && m->modes.count == 0)
    status = brim_json_error(d, root, err, BRIM_E_FORMAT, "no module is a Pooling, which makes a text's vector from its tokens");
  brim_json_free(d);
  if (m->modes.count == 0)
    m->modes.of[m->modes.count++] = BRIM_POOL_MEAN;
  return status;
}

static bool lists_layers(const brim_json_document *d) {
  const brim_json_value *root = d ? brim_json_root(d) : NULL;
  bool found = false;
  for (const brim_json_value *v = root ? brim_json_first(root) : NULL; v && !found; v = brim_json_after(root, v))
    found = is_class(brim_json_get(v, "type"), "WeightedLayerPooling") || is_class(brim_json_get(v, "type"), BRIM_JOINED_CLASS);
  return found;
}

/* Modules of sentence-transformers with which a folder begins that has no encoder. */
static int refuse_others(const brim_json_document *d, brim_error *err) {
  static const char *const others[] = {"StaticEmbedding", "BoW", "WordEmbeddings", "CLIPModel", "Asym", "Router"};
  const brim_json_value *root = d ? brim_json_root(d) : NULL, *first = root ? brim_json_first(root) : NULL;
  const brim_json_value *type = first ? brim_json_get(first, "type") : NULL;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (is_class(type, others[i]))
      return brim_json_error(d, type, err, BRIM_E_UNSUPPORTED,
                             "the folder's model is %s, which is no encoder: brim computes and trains the module Transformer",
                             others[i]);
  return BRIM_OK;
}

/* Into the arena; NULL stays what it is. */
static int keep(brim_modules *m, char *path, const char **out, brim_error *err) {
  const char *kept = path ? brim_arena_copy_string(&m->arena, path, strlen(path)) : NULL;
  const bool failed = path && !kept;
  brim_release(m->runtime, path);
  if (kept)
    *out = kept;
  return failed ? BRIM_NOMEM(err) : BRIM_OK;
}

/* Where a folder's model is looked for, the encoder's own folder may be found: its modules are listed above. */
static int find_folders(brim_modules *m, const char *folder, brim_error *err) {
  char *first, *home;
  BRIM_TRY(brim_first_module(m->runtime, folder, &first, err));
  const bool listed = first != NULL, below = listed && *first;
  char *inner = below ? brim_path_join(m->runtime, folder, first) : NULL;
  brim_release(m->runtime, first);
  if (below)
    return inner ? keep(m, inner, &m->encoder, err) : BRIM_NOMEM(err);
  if (listed)
    return BRIM_OK;
  BRIM_TRY(brim_home_of_module(m->runtime, folder, &home, err));
  return keep(m, home, &m->home, err);
}

int brim_modules_find_encoder(brim_runtime *runtime, const char *folder, brim_modules *m, brim_error *err) {
  brim_json_document *d;
  *m = (brim_modules){.runtime = runtime};
  brim_arena_init(&m->arena, runtime, 0);
  m->home = m->encoder = brim_arena_copy_string(&m->arena, folder, strlen(folder));
  if (!m->home)
    return BRIM_NOMEM(err);
  BRIM_TRY(find_folders(m, folder, err));
  BRIM_TRY(brim_module_json(runtime, m->home, "", "modules.json", &d, err));
  m->listed = d != NULL;
  m->mixes = lists_layers(d);
  const brim_json_value *first = d ? brim_json_first(brim_json_root(d)) : NULL;
  int status = refuse_others(d, err);
  if (!status && first)
    status = check_path(runtime, d, brim_json_get(first, "path"), err);
  brim_json_free(d);
  return status;
}

static void set_widths(brim_modules *m) {
  m->width = width_of(m);
  m->widest = m->hidden * m->modes.count;
  for (int32_t i = 0; i < m->step_count; i++)
    m->widest = m->steps[i].out > m->widest ? m->steps[i].out : m->widest;
}

int brim_modules_set_pooling(brim_modules *m, brim_mixed mixed, const brim_pool_list *modes, const char *folder,
                             brim_error *err) {
  m->mixed = mixed;
  m->hidden = m->token * (mixed.joined ? mixed.count : 1);
  int32_t width = m->hidden * modes->count;
  m->modes = *modes;
  for (int32_t i = 0; i < m->step_count; i++) {
    brim_module_step *step = &m->steps[i];
    if (step->weight && step->in != width)
      return brim_error_at(
          err, BRIM_E_MISMATCH, folder, 0, -1,
          "%s takes %d numbers, but this pooling of %d gives %d: leave layers and pooling as the folder has them", step->path,
          step->in, m->hidden, width);
    if (!step->weight)
      step->in = step->out = width;
    width = step->out;
  }
  set_widths(m);
  return BRIM_OK;
}

int brim_modules_load(brim_modules *m, int32_t hidden, brim_error *err) {
  m->token = m->hidden = hidden;
  BRIM_TRY(brim_modules_load_settings(m, err));
  BRIM_TRY(read_modules(m, m->home, err));
  if (m->listed) /* sentence-transformers does not look at its file where there is no modules.json */
    BRIM_TRY(brim_module_read_transformer(m->runtime, m->encoder, &m->max_length, err));
  set_widths(m);
  return BRIM_OK;
}

void brim_modules_free(brim_modules *m) {
  brim_json_free(m->settings);
  brim_arena_free(&m->arena);
}

uint64_t brim_modules_hash(const brim_modules *m, uint64_t seed) {
  seed = brim_hash_mix(brim_hash_mix(seed, (uint64_t)m->modes.count), (uint64_t)m->without_prompt);
  if (m->mixed.count > 0) /* shares are among the model's weights */
    seed = brim_hash_mix(brim_hash_mix(seed, (uint64_t)m->mixed.count), m->mixed.joined);
  for (int32_t i = 0; i < m->modes.count; i++)
    seed = brim_hash_mix(seed, (uint64_t)m->modes.of[i]);
  for (int32_t i = 0; i < m->step_count; i++) {
    const brim_module_step *s = &m->steps[i];
    seed = brim_hash_mix(brim_hash_mix(seed, (uint64_t)s->out), s->weight ? 1 + (uint64_t)s->activation : 0);
    if (s->weight)
      seed = brim_hash64(s->weight, (size_t)s->in * (size_t)s->out * sizeof *s->weight, seed);
    if (s->bias)
      seed = brim_hash64(s->bias, (size_t)s->out * sizeof *s->bias, seed);
  }
  return seed;
}

/* ---- words --------------------------------------------------------------------------------------------------- */

static void put_prompts(const brim_modules *m, brim_text *out) {
  const size_t before = out->length;
  brim_text_string(out, m->without_prompt ? "; not pooled: prompts " : "; prompts ");
  const size_t names = out->length;
  brim_modules_prompt_names(m, out);
  if (out->length == names && !out->failed)
    out->length = before;
}

void brim_modules_words(const brim_modules *m, brim_text *out) {
  char name[BRIM_POOLING_NAME], layers[BRIM_LAYERS_NAME];
  if (m->mixed.count > 0)
    brim_text_printf(out, "layers %s, ", brim_mixed_name(m->mixed, layers));
  brim_text_string(out, brim_pooling_name(brim_pooling_of_modes(&m->modes), name));
  for (int32_t i = 0; i < m->step_count; i++) {
    const brim_module_step *s = &m->steps[i];
    if (s->weight)
      brim_text_printf(out, ", Dense %d to %d (%s)", s->in, s->out, class_of(s->activation));
    else
      brim_text_string(out, ", Normalize");
  }
  if (m->max_length > 0)
    brim_text_printf(out, "; texts are cut at %d tokens", m->max_length);
  put_prompts(m, out);
}

/* ---- vectors ------------------------------------------------------------------------------------------------- */

static void pool(brim_pool_mode mode, const float *tokens, int32_t hidden, int32_t first, int32_t count, double *out) {
  const brim_pool_terms t = brim_pool_terms_of(mode, first, count);
  for (int32_t k = 0; k < hidden; k++)
    out[k] = mode == BRIM_POOL_MAX ? -INFINITY : 0;
  for (int32_t p = t.from; p < t.to; p++) {
    const double weight = brim_pool_term(&t, p) / t.divisor;
    const float *x = tokens + (int64_t)p * hidden;
    for (int32_t k = 0; k < hidden; k++)
      out[k] = mode == BRIM_POOL_MAX ? fmax(out[k], (double)x[k]) : out[k] + weight * (double)x[k];
  }
}

static void apply_step(const brim_module_step *s, const double *x, double *y) {
  double square = 0;
  for (int32_t k = 0; k < s->in && !s->weight; k++)
    square += x[k] * x[k];
  const double length = fmax(sqrt(square), 1e-12);
  for (int32_t k = 0; k < s->out; k++) {
    double sum = s->bias ? (double)s->bias[k] : 0;
    for (int32_t i = 0; i < s->in && s->weight; i++)
      sum += x[i] * (double)s->weight[(int64_t)k * s->in + i];
    y[k] = s->weight ? activations[s->activation].of(sum) : x[k] / length;
  }
}

void brim_modules_apply(const brim_modules *m, const float *tokens, int32_t count, int32_t skipped, double *work, float *vector) {
  double *x = work, *y = work + m->widest;
  const int32_t first = m->without_prompt ? skipped : 0;
  for (int32_t i = 0; i < m->modes.count; i++)
    pool(m->modes.of[i], tokens, m->hidden, first, count, x + (int64_t)i * m->hidden);
  for (int32_t i = 0; i < m->step_count; i++) {
    double *swap = x;
    apply_step(&m->steps[i], x, y);
    x = y;
    y = swap;
  }
  for (int32_t k = 0; k < m->width; k++)
    vector[k] = (float)x[k];
}
