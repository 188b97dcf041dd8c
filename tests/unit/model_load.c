/* Weights under the names that files use, what is missing or does not fit, and that a saved model is the same model. */
#include "base/arena.h"
#include "base/runtime.h"
#include "model/files/safetensors.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model_case.h"
#include <sys/stat.h>

/* ---- files made from a golden model's ---- */

/* Changes a tensor's name and shape before it is written; false leaves it out. */
typedef bool (*change)(brim_tensor *tensor, char name[160]);

/* A tensor of ones that is added. */
static const char *spare_name = "cls.predictions.bias";
static int64_t spare_count = 4;

static const char *make_folder(const char *golden, const char *name, const char *extra, change how) {
  brim_store *store;
  brim_error err;
  brim_arena arena;
  char path[600];
  const char *folder = case_variant(golden, name, extra);
  brim_arena_init(&arena, case_runtime, 0);
  if (brim_store_open_folder(case_runtime, case_golden(golden), &store, &err))
    case_stop(golden, &err);
  brim_tensor *tensors = brim_arena_alloc_array(&arena, (size_t)brim_store_count(store) + 1, sizeof *tensors);
  int count = 0;
  for (int32_t i = 0; i < brim_store_count(store); i++) {
    const brim_stored *t = brim_store_tensor(store, i);
    float *data = brim_arena_alloc_array(&arena, (size_t)t->count, sizeof *data);
    char changed[160];
    snprintf(changed, sizeof changed, "%s", t->name);
    brim_tensor out = {.rank = t->rank, .shape = {t->shape[0], t->shape[1]}, .data = data};
    if (brim_store_read(store, t, data, &err))
      case_stop(t->name, &err);
    if (!how(&out, changed))
      continue;
    out.name = brim_arena_copy_string(&arena, changed, strlen(changed));
    tensors[count++] = out;
  }
  float *ones = brim_arena_alloc_array(&arena, (size_t)spare_count, sizeof *ones);
  for (int64_t i = 0; i < spare_count; i++)
    ones[i] = 1;
  tensors[count++] = (brim_tensor){spare_name, 1, {spare_count}, ones};
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  unlink(path);
  if (brim_tensors_write(case_runtime, path, tensors, count, &err))
    case_stop(path, &err);
  brim_store_close(store);
  brim_arena_free(&arena);
  return folder;
}

static bool begins(const char *name, const char *with) {
  return strncmp(name, with, strlen(with)) == 0;
}

static void replace_end(char name[160], const char *end, const char *with) {
  const size_t n = strlen(name), e = strlen(end);
  if (n > e && strcmp(name + n - e, end) == 0)
    memcpy(name + n - e, with, strlen(with) + 1);
}

static bool keep(brim_tensor *t, char name[160]) {
  (void)t, (void)name;
  return true;
}

static bool old_names(brim_tensor *t, char name[160]) {
  (void)t;
  replace_end(name, "LayerNorm.weight", "LayerNorm.gamma");
  replace_end(name, "LayerNorm.bias", "LayerNorm.beta");
  return true;
}

/* A bare encoder: no prefix, no classifier. */
static bool bare(brim_tensor *t, char name[160]) {
  old_names(t, name);
  if (!begins(name, "bert."))
    return false;
  memmove(name, name + 5, strlen(name) - 4);
  return true;
}

static bool without_head(brim_tensor *t, char name[160]) {
  (void)t;
  return begins(name, "bert.encoder") || begins(name, "bert.embeddings");
}

static bool without_one(brim_tensor *t, char name[160]) {
  (void)t;
  return strcmp(name, "bert.encoder.layer.1.output.dense.weight") != 0;
}

static bool turned(brim_tensor *t, char name[160]) {
  if (strcmp(name, "bert.encoder.layer.1.output.dense.weight") == 0)
    *t = (brim_tensor){.rank = 2, .shape = {t->shape[1], t->shape[0]}, .data = t->data};
  return true;
}

/* ---- checks ---- */

static bool same_values(const brim_model *a, const brim_model *b, const char *from) {
  const real *ours = case_values_of(a), *theirs = case_values_of(b);
  for (int32_t i = 0; i < (int32_t)a->program.weight_count; i++) {
    const brim_parameter *p = &a->program.weights[i].is;
    if (begins(p->name, from) && memcmp(ours + p->offset, theirs + p->offset, (size_t)p->count * sizeof *ours) != 0)
      return false;
  }
  return true;
}

/* ---- models without values, to ask about */

static int64_t bytes_read;

ssize_t __real_pread64(int file, void *to, size_t size, off_t offset);
ssize_t __wrap_pread64(int file, void *to, size_t size, off_t offset);
ssize_t __wrap_pread64(int file, void *to, size_t size, off_t offset) {
  const ssize_t got = __real_pread64(file, to, size, offset);
  bytes_read += got > 0 ? got : 0;
  return got;
}

static brim_model *load_to_ask(const char *folder) {
  brim_error err;
  brim_model *model;
  const brim_model_options options = {.device = BRIM_DEVICE_REFERENCE, .no_values = true};
  if (brim_model_load(case_runtime, folder, &options, &model, &err))
    case_stop(folder, &err);
  return model;
}

static bool same_names(const brim_model *a, const brim_model *b, int count, const char *(*name)(const brim_model *, int)) {
  for (int i = 0; i < count; i++)
    if (strcmp(name(a, i), name(b, i)) != 0)
      return false;
  return true;
}

/* Which tensors are new and which are not used is known without their values, too. */
static void check_asked(const char *folder, const brim_model *want) {
  brim_model *got = load_to_ask(folder);
  const int new = brim_model_initialized_count(want), unused = brim_model_unused_count(want);
  ok(brim_model_initialized_count(got) == new && brim_model_unused_count(got) == unused &&
         same_names(got, want, new, brim_model_initialized_name) && same_names(got, want, unused, brim_model_unused_name),
     "%s: without values %d are new and %d not used", strrchr(folder, '/') + 1, new, unused);
  brim_model_free(got);
}

/* Where the values begin in a folder's model.safetensors: after a length of 8 bytes and as long a header. */
static int64_t header_size(const char *folder) {
  char path[600];
  size_t length = 0;
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  char *bytes = case_read_file(path, &length);
  int64_t size = 0;
  for (int i = 8; i-- > 0;)
    size = size * 256 + (uint8_t)bytes[i];
  brim_runtime_release(case_runtime, bytes);
  return 8 + size;
}

static void check_no_values(const char *golden) {
  const char *folder = case_golden(golden), *saved = scratch_file("asked");
  brim_model_limits limits = {.max_slots = 40, .max_sequences = 4, .max_length = 20, .training = true};
  brim_model *want = case_load(folder, NULL);
  const int64_t header = header_size(folder);
  brim_error err;
  struct stat info;
  float value;
  bytes_read = 0;
  brim_model *got = load_to_ask(folder);
  ok(bytes_read >= header && bytes_read <= header + 8, "%s: of the weights the header is read, %lld bytes, and nothing else",
     golden, (long long)bytes_read); /* and a few bytes that say what format it is */
  for (int i = 0; i < 4; i++) {
    brim_text lists[2];
    limits.training = i < 2, limits.all_tokens = i % 2;
    for (int k = 0; k < 2; k++) {
      brim_text_init(&lists[k], case_runtime);
      if (k == 1 && brim_model_prepare(want, &limits, &err))
        case_stop(golden, &err);
      if (brim_model_list_program(k ? want : got, &limits, &lists[k], &err))
        case_stop(golden, &err);
    }
    ok(lists[0].length > 1000 && lists[0].length == lists[1].length &&
           memcmp(lists[0].data, lists[1].data, lists[0].length) == 0 &&
           brim_model_memory(got, &limits) == brim_model_memory(want, &limits),
       "the program and its memory are those of a model with values");
    brim_text_free(&lists[0]), brim_text_free(&lists[1]);
  }
  ok(!got->values && !got->state_block && !got->work_block, "no memory is taken for values, states or passes");
  ok(brim_model_prepare(got, &limits, &err) == BRIM_E_USAGE && strstr(err.message, "no_values") &&
         brim_model_read(got, BRIM_VALUES, 0, 1, &value, &err) == BRIM_E_USAGE &&
         brim_model_write(got, BRIM_VALUES, 0, 1, &value, &err) == BRIM_E_USAGE &&
         brim_model_save(got, NULL, NULL, saved, NULL, &err) == BRIM_E_USAGE && stat(saved, &info) != 0,
     "what needs values is refused, and nothing is written");
  brim_model_free(got);
  brim_model_free(want);
}

static bool is_initialized(const brim_model *m, const char *name) {
  for (int i = 0; i < brim_model_initialized_count(m); i++)
    if (strcmp(brim_model_initialized_name(m, i), name) == 0)
      return true;
  return false;
}

static const float *values_of(const brim_model *m, const char *name, int64_t *count) {
  for (int32_t i = 0; i < (int32_t)m->program.weight_count; i++)
    if (strcmp(m->program.weights[i].is.name, name) == 0) {
      *count = m->program.weights[i].is.count;
      return case_values_of(m) + m->program.weights[i].is.offset;
    }
  return NULL;
}

static void check_names(void) {
  const char *bare_folder = make_folder("bert-pair-3", "bare", "", bare);
  brim_model *want = case_load(case_golden("bert-pair-3"), NULL);
  ok(brim_model_unused_count(want) == 0 && brim_model_initialized_count(want) == 0, "a whole model needs nothing else");
  brim_model *old = case_load(make_folder("bert-pair-3", "old", "", old_names), NULL);
  ok(same_values(want, old, "") && brim_model_initialized_count(old) == 0, "gamma and beta");
  ok(brim_model_unused_count(old) == 1 && strcmp(brim_model_unused_name(old, 0), "cls.predictions.bias") == 0,
     "unused is listed");
  brim_model *encoder = case_load(bare_folder, NULL);
  ok(same_values(want, encoder, "bert.") && brim_model_initialized_count(encoder) == 2 &&
         is_initialized(encoder, "classifier.weight") && is_initialized(encoder, "classifier.bias"),
     "a bare encoder gets a classifier");
  check_asked(bare_folder, encoder);
  brim_model_free(encoder);
  brim_model_free(old);
  brim_model_free(want);
}

static void check_initialized(void) {
  const char *folder = make_folder("bert-pair-3", "headless", "\"initializer_range\":0.5", without_head);
  brim_model *a = case_load(folder, NULL), *b = case_load(folder, NULL), *c;
  brim_error err;
  const brim_model_options other = {.seed = 9};
  ok(brim_model_initialized_count(a) == 4 && is_initialized(a, "bert.pooler.dense.weight"),
     "pooler and classifier are initialised");
  ok(same_values(a, b, ""), "the same for the same seed");
  if (brim_model_load(case_runtime, folder, &other, &c, &err))
    case_stop(folder, &err);
  ok(!same_values(a, c, "classifier") && !same_values(a, c, "bert.pooler") && same_values(a, c, "bert.enc"), "other for another");
  int64_t count = 0;
  const float *w = values_of(a, "bert.pooler.dense.weight", &count);
  double sum = 0, square = 0;
  for (int64_t i = 0; i < count; i++) {
    sum += (double)w[i];
    square += (double)w[i] * (double)w[i];
  }
  ok(fabs(sum / (double)count) < 0.04 && fabs(sqrt(square / (double)count) - 0.5) < 0.03, "normal with the configured deviation");
  w = values_of(a, "bert.pooler.dense.bias", &count);
  bool zero = true;
  for (int64_t i = 0; i < count; i++)
    zero = zero && w[i] == 0;
  ok(zero, "biases are 0");
  brim_model_free(a);
  brim_model_free(b);
  brim_model_free(c);
}

/* New top layers: norms are 1, biases 0, weights another seed's for another seed; nothing else changes. */
static void check_new_layers(void) {
  brim_model *want = case_load(case_golden("bert-pair-3"), NULL), *got, *other, *hole;
  brim_error err;
  brim_model_options options = {.reinit_layers = 2, .seed = 7};
  if (brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &got, &err))
    case_stop("new layers", &err);
  options.seed = 8;
  if (brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &other, &err))
    case_stop("new layers", &err);
  ok(same_values(want, got, "bert.encoder.layer.0.") && same_values(want, got, "bert.embeddings") &&
         same_values(want, got, "bert.pooler") && same_values(want, got, "classifier") &&
         !same_values(want, got, "bert.encoder.layer.1.attention.self.key.w") && brim_model_initialized_count(got) == 32 &&
         brim_model_unused_count(got) == 0,
     "two layers of three are new");
  ok(!same_values(got, other, "bert.encoder.layer.2.output.dense.w") &&
         same_values(got, other, "bert.encoder.layer.2.output.dense.b"),
     "a function of the seed");
  int64_t count = 0;
  const float *norm = values_of(got, "bert.encoder.layer.2.attention.output.LayerNorm.weight", &count);
  bool ones = count == 48;
  for (int64_t i = 0; i < count; i++)
    ones = ones && norm[i] == 1;
  norm = values_of(got, "bert.encoder.layer.1.output.LayerNorm.bias", &count);
  for (int64_t i = 0; i < count; i++)
    ones = ones && norm[i] == 0;
  ok(ones, "norms begin at 1 and 0");
  options.reinit_layers = 4;
  ok(brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &hole, &err) == BRIM_E_USAGE &&
         strstr(err.message, "the model has 3"),
     "more layers than there are");
  options.reinit_layers = 2;
  ok(brim_model_load(case_runtime, make_folder("bert-pair-3", "new-hole", "", without_one), &options, &hole, &err) == BRIM_OK,
     "what is new need not be in the file");
  brim_model_free(hole);
  brim_model_free(other);
  brim_model_free(got);
  brim_model_free(want);
}

static brim_error last;

static void check_refused(const char *what, const char *folder, const brim_labels *labels, int code, const char *words) {
  brim_model *model;
  brim_error err = {0};
  brim_model_options options = {.labels = labels};
  for (int asked = 0; asked < 2; asked++) {
    options.no_values = asked;
    const int status = brim_model_load(case_runtime, folder, &options, &model, &err);
    if (!ok(status == code && !model && strstr(err.message, words), "refused: %s%s", what, asked ? ", without values too" : ""))
      printf("# %d: %s\n", status, err.message);
    last = err;
    brim_model_free(model);
  }
}

static void check_missing(void) {
  check_refused("a tensor is missing", make_folder("bert-pair-3", "hole", "", without_one), NULL, BRIM_E_MISMATCH,
                "bert.encoder.layer.1.output.dense.weight");
  check_refused("a tensor has another shape", make_folder("bert-pair-3", "turned", "", turned), NULL, BRIM_E_MISMATCH,
                "bert.encoder.layer.1.output.dense.weight has shape [96, 48], but config.json asks for [48, 96]");
  ok(strstr(last.file, "model.safetensors") && last.line == 0 && last.byte > 0, "at its byte of the file, which has no lines");
  check_refused("another vocabulary", make_folder("bert-pair-3", "vocabulary", "\"vocab_size\":501", keep), NULL, BRIM_E_MISMATCH,
                "[500, 48]");
  check_refused("config.json and weights have other label counts",
                make_folder("bert-pair-3", "labels", "\"id2label\":{\"0\":\"a\",\"1\":\"b\"}", keep), NULL, BRIM_E_MISMATCH,
                "classifier.weight");
}

static void check_kernels(void) {
  brim_model *model;
  brim_error err;
  const brim_model_options unknown = {.kernels = "abacus"}, cuda = {.device = BRIM_DEVICE_CUDA};
  ok(brim_model_load(case_runtime, case_golden("bert-pair-3"), &unknown, &model, &err) == BRIM_E_UNSUPPORTED &&
         strstr(err.message, "abacus"),
     "unknown kernels are refused");
  ok(brim_model_load(case_runtime, case_golden("bert-pair-3"), &cuda, &model, &err) == BRIM_E_UNSUPPORTED, "no CUDA here");
  model = case_load(case_golden("bert-pair-3"), "cpu-plain");
  ok_string(brim_model_kernels(model), "cpu-plain", "kernels by name");
  brim_model_free(model);
}

static void check_precisions(void) {
  static const char *const names[] = {"fp32", "bf16", "fp16", "int8"};
  static const brim_precision values[] = {BRIM_PRECISION_FP32, BRIM_PRECISION_BF16, BRIM_PRECISION_FP16, BRIM_PRECISION_INT8};
  bool good = true;
  brim_precision found = BRIM_PRECISION_INT8;
  for (int i = 0; i < 4; i++)
    good &= brim_precision_parse(names[i], &found) && found == values[i] && strcmp(brim_precision_name(values[i]), names[i]) == 0;
  ok(good, "precisions have names");
  ok(!brim_precision_parse("float", &found) && strcmp(brim_precision_name((brim_precision)99), "unknown") == 0, "and no others");
}

/* Labels of the data: another count makes a new classifier, the same count keeps it. */
static void check_labels(void) {
  char *names[] = {"no", "so so", "yes", "very"};
  brim_labels labels = {.task = BRIM_TASK_CLASSIFICATION, .count = 4, .names = names};
  const brim_model_options options = {.labels = &labels, .seed = 5};
  brim_model *want = case_load(case_golden("bert-pair-3"), NULL), *got;
  brim_error err;
  if (brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &got, &err))
    case_stop("labels", &err);
  ok(brim_model_outputs(got) == 4 && brim_model_initialized_count(got) == 2 && brim_model_unused_count(got) == 0 &&
         same_values(want, got, "bert."),
     "another count: a new classifier, and it is said");
  brim_model_free(got);
  labels.count = 3;
  if (brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &got, &err))
    case_stop("labels", &err);
  ok(brim_model_initialized_count(got) == 0 && same_values(want, got, "") &&
         strcmp(brim_model_labels(got)->names[1], "so so") == 0,
     "the same count: the classifier is kept, the names are the data's");
  brim_model_free(got);
  labels = (brim_labels){.task = BRIM_TASK_REGRESSION, .count = 1};
  if (brim_model_load(case_runtime, case_golden("bert-pair-3"), &options, &got, &err))
    case_stop("labels", &err);
  ok(brim_model_outputs(got) == 1 && brim_model_task(got) == BRIM_TASK_REGRESSION, "a classifier becomes a regression");
  brim_model_free(got);
  brim_model_free(want);
}

/* Is the tensor's row i the other's row order[i]? */
static bool rows_moved(const brim_model *from, const brim_model *to, const char *name, const int *order, int classes) {
  int64_t count = 0, other = 0;
  const float *a = values_of(from, name, &count), *b = values_of(to, name, &other);
  const size_t row = (size_t)(count / classes);
  bool moved = a && b && count == other;
  for (int i = 0; i < classes && moved; i++)
    moved = memcmp(b + (size_t)i * row, a + (size_t)order[i] * row, row * sizeof *a) == 0;
  return moved;
}

/* Classes that config.json names, and the data name in their own order: the classifier's rows follow their names. */
static void check_label_order(void) {
  static const struct {
    const char *what, *stored;
    int order[3];
    const char *former; /* of class 0, where the names are others */
  } cases[] = {
      {"another order", "{\"0\":\"yes\",\"1\":\"no\",\"2\":\"so so\"}", {1, 2, 0}, NULL},
      {"another order and case", "{\"0\":\"NO\",\"1\":\"Yes\",\"2\":\"So so\"}", {0, 2, 1}, NULL},
      {"the same order", "{\"0\":\"no\",\"1\":\"so so\",\"2\":\"yes\"}", {0, 1, 2}, NULL},
      {"another name among them", "{\"0\":\"yes\",\"1\":\"no\",\"2\":\"maybe\"}", {0, 1, 2}, "yes"},
      {"names that differ only by case", "{\"0\":\"yes\",\"1\":\"no\",\"2\":\"NO\"}", {0, 1, 2}, "yes"},
      {"names that do not count", "{\"0\":\"yes\",\"7\":\"no\",\"2\":\"so so\"}", {0, 1, 2}, NULL},
  };
  char *names[] = {"no", "so so", "yes"};
  const brim_labels labels = {.task = BRIM_TASK_CLASSIFICATION, .count = 3, .names = names};
  const brim_model_options options = {.labels = &labels};
  brim_model *golden = case_load(case_golden("bert-pair-3"), NULL), *got;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32], extra[160];
    brim_error err;
    snprintf(name, sizeof name, "order-%zu", i);
    snprintf(extra, sizeof extra, "\"id2label\":%s", cases[i].stored);
    if (brim_model_load(case_runtime, case_variant("bert-pair-3", name, extra), &options, &got, &err))
      case_stop(cases[i].what, &err);
    ok(rows_moved(golden, got, "classifier.weight", cases[i].order, 3) &&
           rows_moved(golden, got, "classifier.bias", cases[i].order, 3) && same_values(golden, got, "bert.") &&
           strcmp(brim_model_labels(got)->names[2], "yes") == 0,
       "%s: the classifier's rows follow the names of their classes", cases[i].what);
    const char *former = brim_model_former_class(got, 0);
    ok(cases[i].former ? former && strcmp(former, cases[i].former) == 0 : !former, "%s: %s", cases[i].what,
       cases[i].former ? "the names that it had are known" : "no class had another name");
    brim_model_free(got);
  }
  brim_model_free(golden);
}

static void check_saved(const char *golden) {
  brim_model *model = case_load(case_golden(golden), NULL);
  brim_error err;
  char name[64], path[600], again[600];
  size_t length = 0, other = 0;
  snprintf(name, sizeof name, "saved-%s/deep", golden);
  const char *folder = scratch_file(name);
  if (brim_model_save(model, NULL, NULL, folder, NULL, &err))
    case_stop(folder, &err);
  brim_model *back = case_load(folder, NULL);
  ok(same_values(model, back, "") && brim_model_unused_count(back) == 0 && brim_model_initialized_count(back) == 0 &&
         brim_model_task(back) == brim_model_task(model) && brim_model_outputs(back) == brim_model_outputs(model),
     "%s: what is saved is the same model", golden);
  snprintf(path, sizeof path, "%s/config.json", folder);
  if (brim_model_save(back, NULL, NULL, scratch_file("saved-again"), NULL, &err))
    case_stop("again", &err);
  snprintf(again, sizeof again, "%s/config.json", scratch_file("saved-again"));
  char *a = case_read_file(path, &length), *b = case_read_file(again, &other);
  ok(length == other && memcmp(a, b, length) == 0, "%s: saving again changes nothing", golden);
  brim_runtime_release(case_runtime, a);
  brim_runtime_release(case_runtime, b);
  brim_model_free(back);
  brim_model_free(model);
}

/* The bias of a tied decoder under its second name. */
static bool second_bias(brim_tensor *t, char name[160]) {
  (void)t;
  if (strcmp(name, "predictions.bias") == 0)
    strcpy(name, "predictions.decoder.bias");
  return true;
}

/* The decoder adds the second, as transformers has it: alone, or next to the first, which is then not used. */
static void check_tied_bias(void) {
  brim_model *want = case_load(case_golden("mlm-albert"), NULL), *alone, *both;
  int64_t count = 0, other = 0;
  alone = case_load(make_folder("mlm-albert", "second-bias", "", second_bias), NULL);
  const float *a = values_of(want, "predictions.bias", &count), *b = values_of(alone, "predictions.bias", &other);
  ok(count == other && memcmp(a, b, (size_t)count * sizeof *a) == 0 && brim_model_initialized_count(alone) == 0 &&
         brim_model_unused_count(alone) == 1,
     "a decoder's bias under its second name");
  spare_name = "predictions.decoder.bias", spare_count = count;
  const char *folder = make_folder("mlm-albert", "both-biases", "", keep);
  both = case_load(folder, NULL);
  check_asked(folder, both);
  b = values_of(both, "predictions.bias", &other);
  int wrong = 0;
  for (int64_t i = 0; i < count; i++)
    wrong += b[i] != 1;
  ok(wrong == 0 && brim_model_unused_count(both) == 1 && strcmp(brim_model_unused_name(both, 0), "predictions.bias") == 0,
     "of two that differ the second");
  brim_model_free(both);
  brim_model_free(alone);
  brim_model_free(want);
}

/* DeBERTa's head of masked words is the one that the weights have, where config.json says the other, and is said when it is
 * saved. */
static void check_two_heads(const char *golden, const char *wrong, const char *right) {
  char path[600], name[64];
  size_t length = 0;
  snprintf(name, sizeof name, "other-%s", golden);
  const char *folder = case_variant(golden, name, "");
  snprintf(path, sizeof path, "%s/config.json", folder);
  char *text = case_read_file(path, &length), *changed = malloc(length + strlen(wrong) + 1), *at = strstr(text, right);
  const int size = at ? sprintf(changed, "%.*s%s%s", (int)(at - text), text, wrong, at + strlen(right)) : 0;
  case_write(folder, "config.json", changed, (size_t)size);
  brim_model *want = case_load(case_golden(golden), NULL), *got = case_load(folder, NULL);
  brim_error err = {0};
  ok(at && same_values(want, got, "") && brim_model_initialized_count(got) == 0 && brim_model_unused_count(got) == 0,
     "%s: the head is that of the weights", golden);
  brim_runtime_release(case_runtime, text);
  const char *saved = scratch_file("head-of-the-weights");
  ok(brim_model_save(got, NULL, NULL, saved, NULL, &err) == BRIM_OK, "it is saved %s", err.message);
  snprintf(path, sizeof path, "%s/config.json", saved);
  text = case_read_file(path, &length);
  ok(strstr(text, right) && !strstr(text, wrong), "%s is written", right);
  brim_runtime_release(case_runtime, text);
  free(changed);
  brim_model_free(got);
  brim_model_free(want);
}

static void check_table(void) {
  brim_model *m = case_load(case_golden("bert-odd-regression"), NULL);
  int64_t end = 0;
  bool good = true;
  int tables = 0, undecayed = 0;
  for (int32_t i = 0; i < brim_model_parameter_count(m); i++) {
    const brim_parameter *p = brim_model_parameter(m, i);
    const bool follows = strstr(p->name, ".key.") || strstr(p->name, ".value.");
    good = good && p->offset >= end && (follows ? p->offset == end : p->offset % 16 == 0);
    end = p->offset + p->count;
    tables += p->sparse_rows;
    undecayed += !p->decay;
  }
  ok(good && end <= brim_model_flat_size(m), "tensors begin at multiples of 16; keys and values right after queries");
  ok(tables == 3 && undecayed == 2 + 2 * 10 + 2, "three tables; biases and norms are not decayed");
  const int32_t lengths[] = {10, 3};
  const double weights = 2 * (4 * 36 * 36 + 2 * 36 * 50), square = 109;
  ok_near(brim_model_flops(m, lengths, 2, true), 6 * weights * 13 + 12.0 * 2 * 36 * square, 1e-6, "useful FLOPs");
  ok_near(brim_model_flops(m, lengths, 2, false), 2 * weights * 13 + 4.0 * 2 * 36 * square, 1e-6, "useful FLOPs of a prediction");
  ok_near(brim_model_half_share(m, 64), 1, 1e-12, "all of a BERT's multiplies 16-bit values in bf16");
  brim_model_free(m);
  static const char *const others[] = {"modernbert-cls", "eurobert-cls", "nomic-cls", "gte-cls", "jina-linear"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    m = case_load(case_golden(others[i]), NULL);
    ok(brim_model_half_share(m, 64) > 1 - 1e-12, "and all of %s", others[i]);
    brim_model_free(m);
  }
  m = case_load(case_golden("mpnet-cls"), NULL);
  const int32_t length = 64, layers = 2;
  const double attention = 12.0 * layers * brim_model_hidden_size(m) * length * length;
  ok_near(brim_model_half_share(m, length), 1 - attention / brim_model_flops(m, &length, 1, true), 1e-12,
          "of an MPNet's all but attention by distance");
  brim_model_free(m);
}

/* ---- config.json is read once, also where its classes have to be put in another order */

static int configs_read;

int __real_brim_json_load(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out, brim_error *err);
int __wrap_brim_json_load(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out, brim_error *err);
int __wrap_brim_json_load(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out, brim_error *err) {
  const char *end = strrchr(path, '/');
  configs_read += end && strcmp(end, "/config.json") == 0;
  return __real_brim_json_load(runtime, path, limit, out, err);
}

static void check_read_once(void) {
  char *names[] = {"c", "a", "b"};
  const brim_labels labels = {.task = BRIM_TASK_CLASSIFICATION, .count = 3, .names = names};
  const char *folder = case_variant("bert-pair-3", "once", "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\"}");
  const brim_model_options options = {.labels = &labels, .device = BRIM_DEVICE_REFERENCE};
  brim_model *ordered, *stored = case_load(folder, NULL);
  brim_error err = {0};
  int64_t count = 0;
  configs_read = 0;
  ok_int(brim_model_load(case_runtime, folder, &options, &ordered, &err), BRIM_OK, "classes in another order");
  ok_int(configs_read, 1, "config.json is read once");
  const float *got = values_of(ordered, "classifier.bias", &count), *want = values_of(stored, "classifier.bias", &count);
  ok(count == 3 && got[0] == want[2] && got[1] == want[0] && got[2] == want[1], "and each class has its own bias");
  brim_model_free(ordered);
  brim_model_free(stored);
}

/* Elements by their place in the table, in every buffer; what is not there is refused. */
static void check_pieces(void) {
  brim_model *m = case_load(case_golden("bert-odd-regression"), NULL);
  const brim_model_limits limits = {.max_slots = 8, .max_sequences = 1, .max_length = 8, .training = true};
  const int64_t size = brim_model_flat_size(m);
  const float written[3] = {1.5f, -2, 4};
  float got[3] = {0};
  brim_error err;
  ok_int(brim_model_read(m, BRIM_STATE0, size - 3, 3, got, &err), BRIM_E_USAGE, "moments before prepare: refused");
  if (brim_model_freeze(m, "embeddings", &err) || brim_model_prepare(m, &limits, &err))
    case_stop("prepare", &err);
  const int64_t trained = m->trained.ranges[0].value;
  for (brim_flat which = BRIM_VALUES; which <= BRIM_STATE1; which++) {
    const float *at[] = {brim_model_values(m), brim_model_gradients(m), brim_model_state0(m), brim_model_state1(m)};
    memset(got, 0, sizeof got);
    const bool done = brim_model_write(m, which, trained + 5, 3, written, &err) == BRIM_OK &&
                      brim_model_read(m, which, trained + 5, 3, got, &err) == BRIM_OK;
    ok(done && memcmp(got, written, sizeof got) == 0, "buffer %d: what is written is read", (int)which);
    if (!brim_model_is_host(m)) /* there is no address, but a copy of now */
      at[which] = which == BRIM_VALUES      ? case_values_of(m)
                  : which == BRIM_GRADIENTS ? case_gradients_of(m)
                                            : case_states_of(m, which - BRIM_STATE0);
    ok(!at[which] || memcmp(at[which] + (which == BRIM_VALUES ? trained : 0) + 5, written, sizeof got) == 0, "where it belongs");
    ok(brim_model_read(m, which, trained - 1, 1, got, &err) == (which == BRIM_VALUES ? BRIM_OK : BRIM_E_USAGE) &&
           brim_model_read(m, which, size - 2, 3, got, &err) == BRIM_E_USAGE &&
           brim_model_write(m, which, -1, 1, got, &err) == BRIM_E_USAGE,
       "elements that a buffer does not have are refused");
  }
  brim_model_free(m);
}

int main(void) {
  static const char *const names[] = {"bert-pair-3",  "bert-odd-regression", "roberta-regression",
                                      "distilbert-4", "mlm-bert-untied",     "mlm-mpnet"};
  case_start(1);
  check_no_values("bert-pair-3");
  check_no_values("deberta-v3-cls");
  check_names();
  check_initialized();
  check_new_layers();
  check_missing();
  check_kernels();
  check_precisions();
  check_read_once();
  check_labels();
  check_label_order();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_saved(names[i]);
  check_tied_bias();
  check_two_heads("mlm-deberta-new", "\"legacy\": true", "\"legacy\": false");
  check_two_heads("mlm-deberta-legacy", "\"legacy\": false", "\"legacy\": true");
  check_table();
  check_pieces();
  brim_runtime_free(case_runtime);
  return tap_done();
}
