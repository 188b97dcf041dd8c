/* A row's answer does not depend on its company: alone, with others, in another order it has the same bits, and answers come in
 * the order of the rows. For every task that there is, and every precision. */
#include "train_case.h"

enum { ROWS = 41, LONGEST = 37, VOCABULARY = 60 };

typedef struct way {
  const char *name;
  brim_batching batching;
  int32_t batch_size;
  int64_t max_tokens;
} way;

static const way ways[] = {{"one by one", BRIM_SEQUENTIAL, 1, 0},
                           {"all at once", BRIM_SEQUENTIAL, 64, 0},
                           {"five at once, by length", BRIM_SORTED, 5, 0},
                           {"at most 70 tokens, in random order", BRIM_RANDOM, 64, 70}};

/* Logits of all rows, or what became of their labelled tokens. */
typedef struct answers {
  float *logits;
  brim_outcome *outcomes;
  size_t bytes;
} answers;

static void stop_at(const char *where, const brim_error *err) {
  printf("Bail out! %s: %s\n", where, err->message);
  exit(99);
}

static int get_text(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  static const char *const words[] = {"the", "film", "is", "a", "quiet", "triumph", "unbelievable", "twice", "and"};
  static char text[240];
  uint64_t state = 5 + row;
  (void)context, (void)err;
  text[0] = 0;
  for (uint64_t w = 0; w < 2 + row % 13; w++)
    snprintf(text + strlen(text), 16, "%s%s", w ? " " : "", words[(int)(case_unit(&state) * 9)]);
  *out = (brim_text_row){.text = text, .text_length = strlen(text)};
  return BRIM_OK;
}

static answers answer(brim_runtime *runtime, brim_model *model, const brim_dataset *rows, brim_precision precision,
                      const way *how) {
  const uint64_t *firsts = brim_dataset_token_labels(rows), count = brim_dataset_rows(rows);
  const size_t outputs = (size_t)brim_model_outputs(model);
  answers a = {0};
  brim_eval_options options;
  brim_metrics metrics;
  brim_error err;
  int status;
  brim_eval_options_init(&options);
  options.batching = how->batching, options.batch_size = how->batch_size, options.max_tokens = how->max_tokens;
  options.precision = precision;
  if (brim_model_shape(model)->outputs == BRIM_OUTPUTS_OF_LABELLED) {
    a.bytes = (size_t)firsts[count] * sizeof *a.outcomes;
    options.outcomes = a.outcomes = calloc(1, a.bytes);
    status = brim_evaluate(runtime, model, rows, &options, &metrics, &err);
  } else {
    const bool tokens = brim_model_shape(model)->outputs == BRIM_OUTPUTS_OF_TOKENS;
    a.bytes = (tokens ? (size_t)brim_dataset_tokens(rows) : (size_t)count) * outputs * sizeof *a.logits;
    a.logits = calloc(1, a.bytes);
    status = brim_predict(runtime, model, rows, &options, a.logits, &err);
  }
  if (status)
    stop_at(how->name, &err);
  return a;
}

static bool same(const answers *a, const answers *b) {
  return a->bytes == b->bytes &&
         (a->logits ? memcmp(a->logits, b->logits, a->bytes) == 0 : memcmp(a->outcomes, b->outcomes, a->bytes) == 0);
}

static void free_answers(answers *a) {
  free(a->logits);
  free(a->outcomes);
}

static void check(brim_runtime *runtime, brim_model *model, const brim_dataset *rows, const char *folder,
                  brim_precision precision) {
  answers alone = answer(runtime, model, rows, precision, &ways[0]);
  for (size_t i = 1; i < sizeof ways / sizeof *ways; i++) {
    answers other = answer(runtime, model, rows, precision, &ways[i]);
    ok(same(&alone, &other), "%s, %s, %s: rows %s have the bits that they have alone", folder,
       brim_task_name(brim_model_task(model)), brim_precision_name(precision), ways[i].name);
    free_answers(&other);
  }
  free_answers(&alone);
}

static const brim_precision precisions[] = {BRIM_PRECISION_FP32, BRIM_PRECISION_BF16, BRIM_PRECISION_INT8};

static void check_task(brim_runtime *runtime, const char *folder, brim_task task) {
  static const char *const names[] = {"a", "b", "c"};
  const brim_shape *shape = brim_task_shape(task);
  brim_labels labels;
  brim_model *model;
  brim_error err;
  if (brim_labels_make(runtime, task, shape->named ? names : NULL, shape->named ? 3 : 2, &labels, &err))
    stop_at("labels", &err);
  if (brim_model_load(runtime, case_model_folder(folder), &(brim_model_options){.labels = &labels, .seed = 1}, &model, &err))
    stop_at(folder, &err);
  brim_dataset *rows = case_dataset(runtime, ROWS, LONGEST, VOCABULARY, 3, 5);
  for (int i = 0; i < 3; i++)
    check(runtime, model, rows, folder, precisions[i]);
  brim_dataset_free(rows);
  brim_model_free(model);
  brim_labels_free(&labels);
}

/* Where labels are made of the texts, of a folder with its tokenizer. */
static void check_made(brim_runtime *runtime) {
  const char *folder = case_path(tap_source(), "tests/golden/tasks/folders/fill-mask");
  const brim_dataset_options how = {.encode = {.max_length = 30, .numbering = BRIM_NUMBER_TOKENS}};
  brim_mask_options masks;
  brim_tokenizer *tokenizer;
  brim_model *model;
  brim_dataset *texts, *rows;
  brim_error err;
  brim_mask_options_init(&masks);
  if (brim_tokenizer_load(runtime, folder, &tokenizer, &err) ||
      brim_model_load(runtime, folder, &(brim_model_options){0}, &model, &err) ||
      brim_dataset_from_texts(runtime, get_text, NULL, ROWS, tokenizer, &how, &texts, &err) ||
      brim_dataset_mask(runtime, texts, tokenizer, brim_model_outputs(model), &masks, &rows, &err))
    stop_at(folder, &err);
  for (int i = 0; i < 3; i++)
    check(runtime, model, rows, "fill-mask", precisions[i]);
  brim_dataset_free(rows);
  brim_dataset_free(texts);
  brim_model_free(model);
  brim_tokenizer_free(tokenizer);
}

int main(void) {
  static const char *const folders[] = {"bert-pair-3", "modernbert-cls"};
  brim_runtime *runtime;
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 2}, &runtime, &err))
    stop_at("runtime", &err);
  for (int folder = 0; folder < 2; folder++)
    for (int task = BRIM_TASK_AUTO + 1; strcmp(brim_task_name((brim_task)task), brim_task_name(BRIM_TASK_AUTO)) != 0; task++)
      if (!brim_task_shape((brim_task)task)->made)
        check_task(runtime, folders[folder], (brim_task)task);
  check_made(runtime);
  brim_runtime_free(runtime);
  return tap_done();
}
