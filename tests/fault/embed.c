/* Vectors of texts, into a file and in evaluations, and prompts of training: each allocation may fail. */
#include "brim/embed.h"

#include "fault.h"

enum { TEXTS = 40 };

typedef struct life {
  brim_embedder *embedder;
  int (*run)(brim_runtime *runtime, brim_embedder *embedder, brim_error *err);
} life;

static char folder[600];

/* What is only read is not in fault_folder(), which is copied for each child. */
static void write_file(const char *name, const char *header, const char *format) {
  FILE *file = fopen(scratch_file(name), "w");
  if (!file)
    exit(99);
  fputs(header, file);
  for (int i = 0; i < TEXTS; i++)
    fprintf(file, format, i, i % 7, i);
  fclose(file);
}

static int open_reader(brim_runtime *runtime, const char *name, brim_source_options *options, brim_reader **out,
                       brim_error *err) {
  const char *path = scratch_file(name);
  return brim_reader_open(runtime, &path, 1, options, out, err);
}

static int embed_file(brim_runtime *runtime, brim_embedder *embedder, brim_error *err) {
  const brim_embed_file_options options = {.form = BRIM_VECTORS_NUMPY, .embed = {.prompt = "query: "}};
  brim_source_options columns = {0};
  brim_embed_file_result result;
  brim_reader *reader = NULL;
  int status = open_reader(runtime, "corpus.jsonl", &columns, &reader, err);
  if (!status)
    status = brim_embed_file(embedder, reader, fault_file("vectors.npy"), &options, &result, err);
  brim_reader_close(reader);
  return status;
}

static int retrieve(brim_runtime *runtime, brim_embedder *embedder, brim_error *err) {
  const brim_retrieval_options options = {
      .corpus = scratch_file("corpus.jsonl"), .queries = scratch_file("queries.jsonl"), .relevant = scratch_file("relevant.tsv")};
  brim_retrieval_report report;
  (void)runtime;
  return brim_evaluate_retrieval(embedder, &options, &report, err);
}

static int compare(brim_runtime *runtime, brim_embedder *embedder, brim_error *err) {
  brim_source_options columns = {.pair_column = "other", .label_column = "_id", .need_label = true};
  brim_similarity_report report;
  brim_reader *reader = NULL;
  int status = open_reader(runtime, "pairs.jsonl", &columns, &reader, err);
  if (!status)
    status = brim_evaluate_similarity(embedder, reader, NULL, &report, err);
  brim_reader_close(reader);
  return status;
}

/* A second call is of further rows. */
static int place_prompts(brim_prompts *prompts, brim_error *err) {
  static const char *const given[] = {"left=query", "right=other=other: "}, *const columns[] = {"left", "middle", "right"};
  int status = BRIM_OK;
  for (int i = 0; i < 2 && !status; i++)
    status = brim_prompts_of_columns(prompts, folder, given, 2, columns, 3, err);
  return status;
}

/* Prompts of training, what the folder is said to be, what is saved of both, of several layers, and what reads it. */
static int begin_with_prompts(brim_runtime *runtime, void *context, brim_error *err) {
  brim_embedder *embedder = NULL;
  brim_prompts prompts = {0};
  brim_labels labels = {0};
  brim_model *model = NULL;
  brim_tokenizer *tokenizer = NULL;
  brim_model_info info;
  (void)context;
  int status = brim_model_describe(runtime, folder, &info, err);
  if (!status)
    status = brim_labels_make(runtime, BRIM_TASK_EMBEDDING, NULL, 1, &labels, err);
  if (!status)
    status = brim_model_load(runtime, folder, &(brim_model_options){.labels = &labels, .layers = "weighted"}, &model, err);
  if (!status)
    status = brim_tokenizer_load(runtime, folder, &tokenizer, err);
  if (!status)
    status = brim_prompts_find(runtime, folder, "query", "passage=passage: ", &prompts, err);
  if (!status)
    status = place_prompts(&prompts, err);
  if (!status)
    status = brim_prompts_use(&prompts, tokenizer, 0, model, err);
  if (!status)
    status = brim_model_save(model, NULL, NULL, fault_file("saved"), NULL, err);
  if (!status)
    status = brim_embedder_over(runtime, model, tokenizer, fault_file("saved"), &embedder, err);
  brim_embedder_free(embedder);
  brim_prompts_free(&prompts);
  brim_tokenizer_free(tokenizer);
  brim_model_free(model);
  brim_labels_free(&labels);
  return status;
}

static int load(brim_runtime *runtime, void *context, brim_error *err) {
  life *l = context;
  return brim_embedder_load(runtime, folder, NULL, &l->embedder, err);
}

static void unload(void *context) {
  life *l = context;
  brim_embedder_free(l->embedder);
  l->embedder = NULL;
}

static int use(brim_runtime *runtime, void *context, brim_error *err) {
  life *l = context;
  return l->run(runtime, l->embedder, err);
}

static int live(brim_runtime *runtime, void *context, brim_error *err) {
  int status = load(runtime, context, err);
  if (!status)
    status = use(runtime, context, err);
  unload(context);
  return status;
}

/* Of an embedder's whole life, or from where it is loaded. */
static void check(const char *name, bool whole, int (*run)(brim_runtime *, brim_embedder *, brim_error *)) {
  life l = {.run = run};
  fault_case c = {.name = name, .threads = 1, .cpu = "plain", .work = whole ? live : use, .context = &l};
  if (!whole)
    c.begin = load, c.end = unload;
  fault_check_case(&c);
}

int main(void) {
  if (!getenv("BRIM_SOURCE"))
    return 99;
  snprintf(folder, sizeof folder, "%s/tests/golden/tasks/folders/st-cls-dense", getenv("BRIM_SOURCE"));
  write_file("corpus.jsonl", "", "{\"_id\": \"d%d\", \"title\": \"the %d\", \"text\": \"movie %d\"}\n");
  write_file("queries.jsonl", "", "{\"_id\": \"q%d\", \"text\": \"a %d movie %d\"}\n");
  write_file("relevant.tsv", "query-id\tcorpus-id\tscore\n", "q%d\td%d\t%d\n");
  write_file("pairs.jsonl", "", "{\"_id\": %d, \"text\": \"a %d\", \"other\": \"movie %d\"}\n");
  fault_folder(); /* before any child */
  check("vectors into a file", true, embed_file);
  check("retrieval", false, retrieve);
  check("scored pairs", false, compare);
  fault_check_case(&(fault_case){.name = "prompts and layers", .threads = 1, .cpu = "plain", .work = begin_with_prompts});
  return tap_done();
}
