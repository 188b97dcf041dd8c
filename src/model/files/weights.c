/* weights.c: fills the flat buffer from a folder's files, under the names that such files use. */
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "model/files/safetensors.h"
#include "model/files/sentence.h"
#include "model/run/flat.h"
#include "model/run/model.h"
#include "task/task.h"

typedef struct loading {
  brim_model *model;
  real *values; /* all of the model's, on the host; NULL: none are wanted */
  const brim_store *store;
  const char *folder;
  bool *used; /* a flag for each stored tensor */
  const brim_model_options *options;
  int32_t *order; /* the stored class that each class was, or NULL: the same */
} loading;

/* ---- names ------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *name, const char *end) {
  const size_t n = strlen(name), e = strlen(end);
  return n >= e && strcmp(name + n - e, end) == 0;
}

/* The old name of a layer norm's tensor in TensorFlow's manner: "..LayerNorm.gamma" for "..LayerNorm.weight". */
static const brim_stored *find_old_name(const brim_store *store, const char *name) {
  static const char *const pairs[2][2] = {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
  char old[160];
  for (int i = 0; i < 2; i++)
    if (ends_with(name, pairs[i][0])) {
      const size_t stem = strlen(name) - strlen(pairs[i][0]);
      const int length = snprintf(old, sizeof old, "%.*s%s", (int)stem, name, pairs[i][1]);
      return brim_store_find(store, old, (size_t)length);
    }
  return NULL;
}

static const brim_stored *find_name(const brim_store *store, const char *name) {
  const brim_stored *t = brim_store_find(store, name, strlen(name));
  return t ? t : find_old_name(store, name);
}

static const brim_stored *find_prefixed(const loading *l, const char *prefix, const char *older, const char *own) {
  char name[192];
  snprintf(name, sizeof name, "%s%s", prefix, own);
  const brim_stored *t = find_name(l->store, name);
  if (!t && older) {
    snprintf(name, sizeof name, "%s%s", older, own);
    t = find_name(l->store, name);
  }
  return t;
}

/* Under its name; or without the encoder's prefix, as files of a bare encoder have it; or with an older one. */
static const brim_stored *find_tensor(const loading *l, const brim_parameter *p) {
  const char *prefix = l->model->config.family->prefix, *older = l->model->config.family->older_prefix;
  const size_t length = strlen(prefix);
  const brim_stored *t = find_name(l->store, p->name);
  if (!t && brim_task_shape(l->model->config.labels.task)->bare) /* such names lack the prefix, a classifier's file has it */
    return find_prefixed(l, prefix, older, p->name);
  if (!t && strncmp(p->name, prefix, length) == 0)
    t = find_name(l->store, p->name + length);
  if (!t && older && strncmp(p->name, prefix, length) == 0) {
    char name[192];
    snprintf(name, sizeof name, "%s%s", older, p->name + length);
    t = find_name(l->store, name);
  }
  return t;
}

/* Buffers that old versions of Hugging Face saved among the weights. */
static bool is_buffer(const char *name) {
  return ends_with(name, "embeddings.position_ids") || ends_with(name, "embeddings.token_type_ids");
}

/* ---- one parameter ---------------------------------------------------------------------------------------- */

/* Normal(0, initializer_range) for weights, 1 for those of norms, 0 for biases; a function of seed, name and index alone. */
static void initialize(const loading *l, const brim_weight *w) {
  const brim_parameter *p = &w->is;
  brim_model *m = l->model;
  const brim_random random = brim_random_make(l->options->seed, (uint32_t)brim_hash64(p->name, strlen(p->name), 0),
                                              BRIM_PURPOSE_INIT);
  const real vector = w->one ? 1 : 0;
  for (int64_t i = 0; l->values && i < p->count; i++)
    l->values[p->offset + i] = p->rank == 2 ? (real)(m->config.initializer_range * brim_random_normal(&random, (uint64_t)i))
                                            : vector;
  m->initialized[m->initialized_count++] = p->name;
}

static void shape_text(int32_t rank, const int64_t *shape, char *text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "[");
  for (int32_t i = 0; i < rank && at < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? ", " : "", (long long)shape[i]);
  if (at < size)
    snprintf(text + at, size - at, "]");
}

static bool same_shape(const brim_parameter *p, const brim_stored *t) {
  return p->rank == t->rank && memcmp(p->shape, t->shape, (size_t)p->rank * sizeof *p->shape) == 0;
}

/* The classifier of a model with another number of labels. */
static bool only_labels_differ(const loading *l, const brim_weight *w, const brim_stored *t) {
  return l->options->labels && w->labels && w->is.rank == t->rank && (w->is.rank == 1 || w->is.shape[1] == t->shape[1]);
}

/* Another number of layers is asked for than the file has weights of. */
static bool only_layers_differ(const loading *l, const brim_weight *w) {
  const char *name = w->is.name;
  return l->options->layers &&
         (ends_with(name, BRIM_LAYER_SHARES) || strncmp(name, BRIM_JOINED_WEIGHT ".", sizeof BRIM_JOINED_WEIGHT) == 0);
}

static int refuse_shape(const loading *l, const brim_parameter *p, const brim_stored *t, brim_error *err) {
  char want[96], got[192];
  shape_text(p->rank, p->shape, want, sizeof want);
  shape_text(t->rank, t->shape, got, sizeof got);
  return brim_error_at(err, BRIM_E_MISMATCH, brim_store_path(l->store, t), 0, t->offset,
                       "tensor %.200s has shape %s, but config.json asks for %s", t->name, got, want);
}

/* ---- classes in another order ------------------------------------------------------------------------------ */

/* Names are compared without case: "ENTAILMENT" and "entailment" are one class. */
static int fold_name(brim_runtime *runtime, const char *name, char **out, brim_error *err) {
  const size_t length = strlen(name);
  char *folded = brim_copy_string(runtime, name, length);
  if (!folded)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < length; i++)
    folded[i] = folded[i] >= 'A' && folded[i] <= 'Z' ? (char)(folded[i] + ('a' - 'A')) : folded[i];
  *out = folded;
  return BRIM_OK;
}

/* *same: every class has its own stored class of its name, which is order[class]. */
static int match_classes(brim_runtime *runtime, const brim_labels *stored, const brim_labels *labels, int32_t *order, bool *same,
                         brim_error *err) {
  brim_hashmap ids;
  int status = BRIM_OK;
  *same = true;
  brim_hashmap_init(&ids, runtime);
  for (int32_t i = 0; i < 2 * labels->count && *same && !status; i++) {
    const bool is_stored = i < labels->count;
    const int32_t class = is_stored ? i : i - labels->count;
    char *name = NULL;
    status = fold_name(runtime, (is_stored ? stored : labels)->names[class], &name, err);
    if (status)
      break;
    if (is_stored) {
      bool existed = false;
      status = brim_hashmap_put(&ids, name, strlen(name), class, &existed, NULL, err);
      *same = !existed;
    } else {
      order[class] = brim_hashmap_get(&ids, name, strlen(name), -1);
      *same = order[class] >= 0;
      if (*same) /* no second class may have it */
        status = brim_hashmap_put(&ids, name, strlen(name), -1, NULL, NULL, err);
    }
    brim_release(runtime, name);
  }
  brim_hashmap_free(&ids);
  return status;
}

/* Keeps the stored names for a note, unless they are what Hugging Face calls classes without names. */
static int keep_former(loading *l, const brim_labels *stored, brim_error *err) {
  brim_model *m = l->model;
  if (!stored->names || stored->count != m->config.labels.count || strncmp(stored->names[0], "LABEL_", 6) == 0)
    return BRIM_OK;
  const char **names = brim_arena_alloc_array(&m->arena, (size_t)stored->count, sizeof *names);
  for (int32_t i = 0; names && i < stored->count; i++)
    if (!(names[i] = brim_arena_copy_string(&m->arena, stored->names[i], strlen(stored->names[i]))))
      names = NULL;
  m->former_classes = names;
  return names ? BRIM_OK : BRIM_NOMEM(err);
}

/* A classifier keeps its classes, also where the data name them in another order. What the folder says of its labels may
 * be wrong where they are not asked for: then nothing is known of their order. */
static int find_order(loading *l, brim_error *err) {
  const brim_labels *labels = &l->model->config.labels;
  brim_runtime *runtime = l->model->runtime;
  brim_labels stored;
  brim_error ignored;
  if (!l->options->labels || !labels->names)
    return BRIM_OK;
  int status = brim_config_stored_labels(runtime, &l->model->config, &stored, &ignored);
  if (status)
    return status == BRIM_E_MEMORY ? BRIM_NOMEM(err) : BRIM_OK;
  bool same = stored.names && stored.count == labels->count;
  if (same) {
    l->order = brim_alloc_array(runtime, (size_t)labels->count, sizeof *l->order);
    status = l->order ? match_classes(runtime, &stored, labels, l->order, &same, err) : BRIM_NOMEM(err);
  }
  if (!same) {
    brim_release(runtime, l->order);
    l->order = NULL;
    status = status ? status : keep_former(l, &stored, err);
  }
  brim_labels_free(&stored);
  return status;
}

/* Rows of a tensor of the classifier, to the places of their classes. */
static int put_in_order(const loading *l, const brim_parameter *p, brim_error *err) {
  real *rows = l->values + p->offset;
  const size_t row = (size_t)(p->count / p->shape[0]);
  real *stored = brim_alloc_array(l->model->runtime, (size_t)p->count, sizeof *stored);
  if (!stored)
    return BRIM_NOMEM(err);
  memcpy(stored, rows, (size_t)p->count * sizeof *stored);
  for (int64_t i = 0; i < p->shape[0]; i++)
    memcpy(rows + (size_t)i * row, stored + (size_t)l->order[i] * row, row * sizeof *rows);
  brim_release(l->model->runtime, stored);
  return BRIM_OK;
}

/* ---- each of them ------------------------------------------------------------------------------------------ */

/* Of the top layers that are wanted new. */
static bool is_reinitialized(const loading *l, const brim_weight *w) {
  const brim_program *p = &l->model->program;
  return p->sections[w->section].layer && w->section >= (int32_t)p->section_count - 1 - l->options->reinit_layers;
}

/* The last section is the head, which files of a bare encoder lack. */
static bool may_be_missing(const loading *l, const brim_weight *w) {
  return w->section == (int32_t)l->model->program.section_count - 1;
}

/* Of a dense layer after pooling, which is in another file. */
static bool take_dense(const loading *l, const brim_parameter *p) {
  const float *from = l->model->sentence && strchr(p->name, '/') ? brim_sentence_weight(l->model->sentence, p->name) : NULL;
  for (int64_t i = 0; from && l->values && i < p->count; i++)
    l->values[p->offset + i] = (real)from[i];
  return from != NULL;
}

static int load_parameter(loading *l, const brim_weight *w, brim_error *err) {
  const brim_parameter *p = &w->is;
  if (take_dense(l, p))
    return BRIM_OK;
  const brim_stored *t = find_tensor(l, p);
  if (is_reinitialized(l, w)) {
    if (t)
      l->used[t - brim_store_tensor(l->store, 0)] = true;
    initialize(l, w);
    return BRIM_OK;
  }
  if (!t && !may_be_missing(l, w))
    return brim_error_at(err, BRIM_E_MISMATCH, l->folder, 0, -1, "the weights have no tensor %s: they are not a whole %s encoder",
                         p->name, l->model->config.family->type);
  if (t && !same_shape(p, t) && !only_labels_differ(l, w, t) && !only_layers_differ(l, w))
    return refuse_shape(l, p, t, err);
  if (t)
    l->used[t - brim_store_tensor(l->store, 0)] = true;
  if (t && same_shape(p, t) && !l->values)
    return brim_store_check(l->store, t, err);
  if (t && same_shape(p, t)) {
    BRIM_TRY(brim_store_read(l->store, t, l->values + p->offset, err));
    return l->order && w->labels ? put_in_order(l, p, err) : BRIM_OK;
  }
  if (w->labels)
    l->model->former_classes = NULL; /* they are forgotten */
  initialize(l, w);
  return BRIM_OK;
}

/* ---- masked words -------------------------------------------------------------------------------------------- */

static void forget_initialized(brim_model *m, const char *name) {
  int kept = 0;
  for (int i = 0; i < m->initialized_count; i++)
    if (m->initialized[i] != name)
      m->initialized[kept++] = m->initialized[i];
  m->initialized_count = kept;
}

/* What is tied has one tensor here. Files may have a second. Of a matrix it is the same: transformers does not tie others. Of a
 * bias it is the one that counts, since the decoder adds it; the first is not used where they differ. */
static int take_second(loading *l, const char *second, const char *first, bool matrix, brim_error *err) {
  const brim_program *p = &l->model->program;
  const brim_stored *t = brim_store_find(l->store, second, strlen(second));
  const brim_parameter *own = NULL;
  for (size_t i = 0; i < p->weight_count; i++)
    if (ends_with(p->weights[i].is.name, first))
      own = &p->weights[i].is;
  if (!t || !own || !same_shape(own, t))
    return BRIM_OK;
  const brim_stored *before = find_tensor(l, own);
  const size_t count = (size_t)own->count;
  real *values = brim_alloc_array(l->model->runtime, count, l->values ? sizeof *values : 2 * sizeof *values);
  if (!values)
    return BRIM_NOMEM(err);
  real *to = l->values ? l->values + own->offset : values + count;
  int status = brim_store_read(l->store, t, values, err);
  if (!status && before && !l->values)
    status = brim_store_read(l->store, before, to, err);
  const bool differs = !status && (before || l->values) && memcmp(values, to, count * sizeof *values) != 0;
  if (differs && matrix)
    status = brim_error_at(err, BRIM_E_MISMATCH, brim_store_path(l->store, t), 0, t->offset,
                           "tensor %.200s is not what %.200s is, though config.json ties them: set tie_word_embeddings to false",
                           second, own->name);
  else if (differs)
    memcpy(to, values, count * sizeof *values);
  if (differs && before)
    l->used[before - brim_store_tensor(l->store, 0)] = false;
  brim_release(l->model->runtime, values);
  l->used[t - brim_store_tensor(l->store, 0)] = true;
  forget_initialized(l->model, own->name);
  return status;
}

/* Nobody loses it. */
static void pass_over_idle_bias(const loading *l) {
  const char *idle = brim_config_idle_bias(&l->model->config);
  const brim_stored *t = idle ? brim_store_find(l->store, idle, strlen(idle)) : NULL;
  if (t)
    l->used[t - brim_store_tensor(l->store, 0)] = true;
}

static int take_tied(loading *l, brim_error *err) {
  const brim_config *c = &l->model->config;
  const brim_word_names *names = &c->family->names->words;
  char decoder[160], word[160];
  if (!brim_config_ties(c) || !names->decoder)
    return BRIM_OK;
  snprintf(decoder, sizeof decoder, "%s.weight", names->decoder);
  snprintf(word, sizeof word, "%s.weight", c->family->names->word);
  BRIM_TRY(take_second(l, decoder, word, true, err));
  return names->bias && strcmp(names->bias, names->untied_bias) != 0 ? take_second(l, names->untied_bias, names->bias, false, err)
                                                                     : BRIM_OK;
}

static bool has_dense(const brim_store *store, const brim_word_names *names) {
  char name[160];
  snprintf(name, sizeof name, "%s.weight", names->dense);
  return brim_store_find(store, name, strlen(name));
}

int brim_weights_find_head(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) {
  brim_store *store;
  if (!brim_config_has_two_heads(config))
    return BRIM_OK;
  BRIM_TRY(brim_store_open_folder(runtime, folder, &store, err));
  const bool older = has_dense(store, &config->family->names->words), newer = has_dense(store, config->family->newer_words);
  if (older != newer)
    config->legacy_words = older;
  brim_store_close(store);
  return BRIM_OK;
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static int list_unused(loading *l, brim_error *err) {
  brim_model *m = l->model;
  const int32_t stored = brim_store_count(l->store);
  m->unused = brim_arena_alloc_array(&m->arena, (size_t)stored, sizeof *m->unused);
  if (!m->unused)
    return BRIM_NOMEM(err);
  for (int32_t i = 0; i < stored; i++) {
    const char *name = brim_store_tensor(l->store, i)->name;
    if (l->used[i] || is_buffer(name) || (m->sentence && brim_sentence_weight(m->sentence, name)))
      continue;
    const char *copy = brim_arena_copy_string(&m->arena, name, strlen(name));
    if (!copy)
      return BRIM_NOMEM(err);
    m->unused[m->unused_count++] = copy;
  }
  return BRIM_OK;
}

static int load_all(loading *l, brim_error *err) {
  brim_model *m = l->model;
  m->initialized = brim_arena_alloc_array(&m->arena, m->program.weight_count, sizeof *m->initialized);
  l->used = brim_alloc_array_zero(m->runtime, (size_t)brim_store_count(l->store), sizeof *l->used);
  if (!m->initialized || !l->used)
    return BRIM_NOMEM(err);
  BRIM_TRY(find_order(l, err));
  if (m->values)
    BRIM_TRY(brim_flat_map(m, BRIM_VALUES, &l->values, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < m->program.weight_count && !status; i++)
    status = load_parameter(l, &m->program.weights[i], err);
  if (!status)
    status = take_tied(l, err);
  if (status) {
    brim_flat_unmap(m, l->values);
    return status;
  }
  pass_over_idle_bias(l);
  if (l->values)
    BRIM_TRY(brim_flat_unmap_written(m, BRIM_VALUES, l->values, err));
  return list_unused(l, err);
}

int brim_weights_load(brim_model *model, const char *folder, const brim_model_options *options, brim_error *err) {
  brim_store *store;
  BRIM_TRY(brim_store_open_folder(model->runtime, folder, &store, err));
  loading l = {.model = model, .store = store, .folder = folder, .options = options};
  int status = load_all(&l, err);
  brim_release(model->runtime, l.order);
  brim_release(model->runtime, l.used);
  brim_store_close(store);
  return status;
}
