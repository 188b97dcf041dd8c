/* Prompts in training: what a model of embeddings computes of rows that begin with prompts is what `brim embed` computes of its
 * folder with these prompts, for each way of pooling, where tokens of prompts are left out of it and where they are not. A vector
 * does not depend on the batch, not even that of a text that is cut to nothing but its prompt. Tokens of prompts are counted as
 * sentence-transformers counts them, by the prompt alone. */
#include "brim/embed.h"
#include "brim/train.h"
#include "scratch.h"
#include "tap.h"
#include "text/prompt.h"

enum { ROWS = 5, TEXTS = 3, MOST = 256 };
static const char *const texts[ROWS][TEXTS] = {{"who made it", "The film is a quiet triumph.", "a"},
                                               {"a", "", "it was good, and then it was not"},
                                               {"the film the film the film the film", "b", "c"},
                                               {"", "a film", "a quiet film"},
                                               {"made", "it", "who"}};

static brim_runtime *runtime;

_Noreturn static void stop(const char *what, const brim_error *err) {
  printf("Bail out! %s: %s\n", what, err->message);
  exit(99);
}

static const char *tests_file(const char *name) {
  static char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/%s", tap_source(), name);
  return path;
}

/* ---- vectors ------------------------------------------------------------------------------------------------- */

static int row_of(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  static brim_string further[ROWS][TEXTS - 1];
  (void)context, (void)err;
  for (int i = 1; i < TEXTS; i++)
    further[index][i - 1] = (brim_string){texts[index][i], strlen(texts[index][i])};
  *out = (brim_text_row){
      .text = texts[index][0], .text_length = strlen(texts[index][0]), .further = further[index], .further_count = TEXTS - 1};
  return BRIM_OK;
}

typedef struct job {
  brim_model *model;
  brim_tokenizer *tokenizer;
  brim_prompts prompts;
  brim_dataset *rows;
  int32_t width, max_length;
  float own[ROWS * TEXTS * MOST], theirs[ROWS * TEXTS * MOST];
} job;

static void open(job *j, const char *folder, const char *pooling, int32_t max_length) {
  brim_error err;
  brim_labels labels;
  brim_model_options options = {.labels = &labels};
  *j = (job){.max_length = max_length};
  if (!brim_pooling_parse(pooling, &options.pooling) || brim_labels_make(runtime, BRIM_TASK_EMBEDDING, NULL, 1, &labels, &err) ||
      brim_model_load(runtime, folder, &options, &j->model, &err) || brim_tokenizer_load(runtime, folder, &j->tokenizer, &err) ||
      brim_prompts_find(runtime, folder, "query", "passage=passage: ", &j->prompts, &err) ||
      brim_prompts_use(&j->prompts, j->tokenizer, max_length, j->model, &err))
    stop(folder, &err);
  brim_dataset_options how = {.encode = {.max_length = max_length}};
  memcpy(how.encode.prompts, j->prompts.texts, sizeof how.encode.prompts);
  if (brim_dataset_from_texts(runtime, row_of, NULL, ROWS, j->tokenizer, &how, &j->rows, &err))
    stop("rows", &err);
  j->width = brim_model_outputs(j->model);
  brim_labels_free(&labels);
}

static void close_job(job *j) {
  brim_prompts_free(&j->prompts);
  brim_dataset_free(j->rows);
  brim_tokenizer_free(j->tokenizer);
  brim_model_free(j->model);
}

static void predict(const job *j, const brim_dataset *rows, float *out) {
  brim_error err;
  const brim_eval_options how = {.batching = BRIM_SORTED, .batch_size = 3};
  if (brim_predict(runtime, j->model, rows, &how, out, &err))
    stop("predict", &err);
}

/* Those of the embedder, text by text in the order of the rows; the folder brings them to length 1. */
static void embed(const job *j, brim_embedder *embedder, float *out) {
  brim_error err;
  for (int i = 0; i < ROWS * TEXTS; i++) {
    const brim_embed_options how = {.prompt = j->prompts.texts[i % TEXTS > 0], .max_length = j->max_length};
    const char *text = texts[i / TEXTS][i % TEXTS];
    if (brim_embedder_run(embedder, &(brim_string){text, strlen(text)}, 1, &how, out + (size_t)i * (size_t)j->width, NULL, &err))
      stop("embed", &err);
  }
}

static double apart(const job *j) {
  double worst = 0;
  for (int i = 0; i < ROWS * TEXTS; i++) {
    const float *x = j->own + (size_t)i * (size_t)j->width, *y = j->theirs + (size_t)i * (size_t)j->width;
    double square = 0;
    for (int32_t k = 0; k < j->width; k++)
      square += (double)x[k] * (double)x[k];
    for (int32_t k = 0; k < j->width; k++)
      worst = fmax(worst, fabs((double)x[k] / sqrt(square) - (double)y[k]));
  }
  return worst;
}

/* What is saved has the prompts among its own. */
static brim_embedder *save_and_load(const job *j, const char *folder) {
  brim_error err;
  brim_embedder *embedder;
  if (brim_model_save(j->model, j->tokenizer, NULL, folder, NULL, &err) ||
      brim_embedder_load(runtime, folder, NULL, &embedder, &err))
    stop(folder, &err);
  return embedder;
}

static void check(const char *folder, const char *pooling, int32_t max_length) {
  static job j;
  brim_error err;
  brim_dataset *one;
  bool same = true;
  open(&j, folder, pooling, max_length);
  predict(&j, j.rows, j.own);
  for (uint64_t row = 0; row < ROWS; row++) {
    if (brim_dataset_subset(runtime, j.rows, &row, 1, &one, &err))
      stop("row", &err);
    predict(&j, one, j.theirs);
    same = same && memcmp(j.theirs, j.own + row * TEXTS * (size_t)j.width, TEXTS * (size_t)j.width * sizeof(float)) == 0;
    brim_dataset_free(one);
  }
  ok(same, "%s, texts of %d tokens: a row alone has the same bits", pooling, (int)max_length);
  brim_embedder *embedder = save_and_load(&j, scratch_file("saved"));
  embed(&j, embedder, j.theirs);
  const char *query = brim_embedder_prompt(embedder, "query"), *passage = brim_embedder_prompt(embedder, "passage"),
             *other = brim_embedder_prompt(embedder, "other");
  ok(apart(&j) < 1e-5, "%s, texts of %d tokens: the vectors that the folder gives, to %.1e", pooling, (int)max_length, apart(&j));
  ok(query && passage && other && strcmp(query, "query: ") == 0 && strcmp(passage, "passage: ") == 0,
     "the folder has the prompts besides those that it had");
  brim_embedder_free(embedder);
  close_job(&j);
}

static void check_refused(const char *folder) {
  brim_prompts p;
  brim_error err;
  ok(brim_prompts_find(runtime, folder, "poem", NULL, &p, &err) == BRIM_E_USAGE && strstr(err.message, "query"),
     "a prompt that is not there, and those that are: %s", err.message);
  ok(brim_prompts_find(runtime, folder, "=text", NULL, &p, &err) == BRIM_E_USAGE, "no name: %s", err.message);
  ok(brim_prompts_find(runtime, folder, "a=b", "a=c", &p, &err) == BRIM_E_USAGE, "one name for two: %s", err.message);
  ok(brim_prompts_find(runtime, folder, "a=\xff", NULL, &p, &err) == BRIM_E_USAGE, "not UTF-8: %s", err.message);
  ok(brim_prompts_find(runtime, folder, NULL, NULL, &p, &err) == BRIM_OK && !p.texts[0], "none is none");
}

/* What was handed out stays where it is when further rows come. */
static void check_columns(const char *folder) {
  static const char *const given[] = {"anchor=query", "negative=not=not: "}, *const other[] = {"anchor=query",
                                                                                               "negative=not=no: "};
  static const char *const columns[] = {"anchor", "positive", "negative"}, *const turned[] = {"negative", "positive", "anchor"};
  brim_prompts p;
  brim_error err;
  if (brim_prompts_find(runtime, folder, NULL, "passage=passage: ", &p, &err) ||
      brim_prompts_of_columns(&p, folder, given, 2, columns, 3, &err))
    stop("prompts of columns", &err);
  const brim_prompts before = p;
  ok(strcmp(p.texts[0], "query: ") == 0 && strcmp(p.texts[1], "passage: ") == 0 && strcmp(p.texts[2], "not: ") == 0,
     "prompts of columns");
  ok(brim_prompts_of_columns(&p, folder, given, 2, columns, 3, &err) == BRIM_OK && memcmp(&p, &before, sizeof p) == 0,
     "of other rows with the same columns");
  ok(brim_prompts_of_columns(&p, folder, given, 2, turned, 3, &err) == BRIM_E_MISMATCH && memcmp(&p, &before, sizeof p) == 0,
     "with others: %s", err.message);
  ok(brim_prompts_of_columns(&p, folder, other, 2, columns, 3, &err) == BRIM_E_MISMATCH && memcmp(&p, &before, sizeof p) == 0,
     "with another text: %s", err.message);
  brim_prompts_free(&p);
}

/* ---- counts -------------------------------------------------------------------------------------------------- */

/* Tokens of prompt and text whose bytes all lie in the prompt, and those that the template puts before it. */
static int32_t by_offsets(const brim_tokenizer *tokenizer, const char *prompt, const char *text) {
  char both[100];
  brim_error err;
  brim_scratch *scratch;
  brim_encoding encoding = {0};
  brim_offsets offsets = {0};
  int32_t count = 0;
  snprintf(both, sizeof both, "%s%s", prompt, text);
  if (brim_scratch_new(runtime, tokenizer, &scratch, &err) ||
      brim_tokenizer_encode_offsets(tokenizer, scratch, both, strlen(both), NULL, 0, NULL, &encoding, &offsets, &err))
    stop("offsets", &err);
  while ((size_t)count < offsets.length && offsets.to[count] <= strlen(prompt))
    count++;
  brim_encoding_free(&encoding);
  brim_offsets_free(&offsets);
  brim_scratch_free(scratch);
  return count;
}

/* A prompt that ends with a space may have a token more by itself than before a text, whose first word has the space then. */
static void check_counts(const char *name) {
  char file[100];
  brim_tokenizer *tokenizer;
  brim_error err;
  int32_t bare, spaced;
  snprintf(file, sizeof file, "tokenizers/%s", name);
  if (brim_tokenizer_load(runtime, tests_file(file), &tokenizer, &err) ||
      brim_prompt_tokens(runtime, tokenizer, "query:", 0, &bare, &err) ||
      brim_prompt_tokens(runtime, tokenizer, "query: ", 0, &spaced, &err))
    stop(name, &err);
  const int32_t here = by_offsets(tokenizer, "query:", " a word"), there = by_offsets(tokenizer, "query: ", "a word");
  ok(bare == here, "%s: \"query:\" has %d tokens before a text, %d by itself", name, (int)here, (int)bare);
  ok(spaced == there || spaced == there + 1, "%s: \"query: \" has %d tokens before a text, %d by itself", name, (int)there,
     (int)spaced);
  brim_tokenizer_free(tokenizer);
}

int main(void) {
  static const char *const tokenizers[] = {"byte-bpe", "unigram", "wordpiece-cased", "wordpiece-uncased"};
  static const int32_t lengths[] = {4, 5, 32}; /* nothing but the prompt; one token more; all of the text */
  static const char *const poolings[] = {"mean", "cls", "cls,max,mean,mean-sqrt,weighted-mean,last"};
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 2}, &runtime, &err))
    stop("runtime", &err);
  char folder[600];
  snprintf(folder, sizeof folder, "%s", tests_file("tasks/folders/st-prompts"));
  for (size_t i = 0; i < sizeof poolings / sizeof *poolings; i++)
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
      check(folder, poolings[i], lengths[k]);
  check_refused(folder);
  check_columns(folder);
  for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++)
    check_counts(tokenizers[i]);
  brim_runtime_free(runtime);
  return tap_done();
}
