/* Vectors of texts that come one by one: the model is ready, and what a call takes does not grow with the calls. Counts, not
 * seconds. */
#include "brim/embed.h"

#include "scratch.h"
#include "tap.h"

enum { MOST_WORDS = 40, WIDTH = 64 };

static brim_runtime *runtime;
static int prepared, allocated;

int __real_brim_model_prepare(brim_model *model, const brim_model_limits *limits, brim_error *err);
int __wrap_brim_model_prepare(brim_model *model, const brim_model_limits *limits, brim_error *err);
int __wrap_brim_model_prepare(brim_model *model, const brim_model_limits *limits, brim_error *err) {
  prepared++;
  return __real_brim_model_prepare(model, limits, err);
}

static void *take(void *context, size_t size) {
  (void)context;
  allocated++;
  return malloc(size);
}
static void *resize(void *context, void *block, size_t size) {
  (void)context;
  allocated++;
  return realloc(block, size);
}
static void give_back(void *context, void *block) {
  (void)context;
  free(block);
}

/* "red green red .." */
static brim_string text_of(int words, char *room) {
  static const char *const colours[] = {"red ", "green ", "blue "};
  *room = 0;
  for (int i = 0; i < words; i++)
    strcat(room, colours[i % 3]);
  return (brim_string){room, strlen(room)};
}

static bool embed(brim_embedder *embedder, const brim_string *texts, uint64_t count_of, brim_precision precision, float *out) {
  brim_error err = {0};
  const brim_embed_options how = {.precision = precision};
  return ok(brim_embedder_run(embedder, texts, count_of, &how, out, NULL, &err) == BRIM_OK, "%d texts %s", (int)count_of,
            err.message);
}

static void one_by_one(brim_embedder *embedder, brim_precision precision) {
  static char rooms[MOST_WORDS][MOST_WORDS * 8];
  static float alone[MOST_WORDS][WIDTH], together[MOST_WORDS * WIDTH];
  const size_t width = (size_t)brim_embedder_width(embedder);
  brim_string texts[MOST_WORDS];
  for (int i = 0; i < MOST_WORDS; i++)
    texts[i] = text_of(1 + i, rooms[i]);
  embed(embedder, texts, MOST_WORDS, precision, together);
  prepared = 0;
  bool same = true;
  for (int i = 0; i < MOST_WORDS; i++) {
    same = embed(embedder, &texts[i], 1, precision, alone[i]) && same;
    same = same && memcmp(alone[i], together + (size_t)i * width, width * sizeof(float)) == 0;
  }
  ok(same, "alone and together a text has the same bits");
  ok_int(prepared, 0, "after many texts the model is ready for each of them");
  allocated = 0;
  embed(embedder, &texts[3], 1, precision, alone[0]);
  const int first = allocated;
  for (int i = 0; i < 5; i++)
    embed(embedder, &texts[3], 1, precision, alone[0]);
  ok_int(allocated, 6 * first, "each call takes what the first took");
}

/* From the shortest to the longest: as often as lengths double. */
static void growing(brim_embedder *embedder) {
  static char room[MOST_WORDS * 8];
  float vector[WIDTH];
  prepared = 0;
  for (int words = 1; words <= MOST_WORDS; words++) {
    const brim_string text = text_of(words, room);
    embed(embedder, &text, 1, BRIM_PRECISION_FP32, vector);
  }
  ok(prepared >= 1 && prepared <= 7, "texts that grow from 1 word to %d prepare the model %d times", MOST_WORDS, prepared);
}

/* Of megabytes no more is tokenized than what comes before the cut. */
static void long_text(brim_embedder *embedder) {
  enum { BYTES = 5 << 20, START = 1 << 16 };
  char *bytes = malloc(BYTES);
  for (int i = 0; i < BYTES; i++)
    bytes[i] = "red green "[i % 10];
  const brim_string texts[] = {{bytes, BYTES}, {bytes, START}};
  float vectors[2][WIDTH];
  brim_embed_counts counts = {0};
  brim_error err = {0};
  ok(brim_embedder_run(embedder, texts, 1, NULL, vectors[0], &counts, &err) == BRIM_OK && counts.cut == 1 &&
         counts.unread >= BYTES - 2 * START,
     "of %d bytes %llu are not read %s", BYTES, (unsigned long long)counts.unread, err.message);
  embed(embedder, &texts[1], 1, BRIM_PRECISION_FP32, vectors[1]);
  ok(memcmp(vectors[0], vectors[1], (size_t)brim_embedder_width(embedder) * sizeof(float)) == 0,
     "the vector is that of its beginning");
  free(bytes);
}

/* What makes no sense is refused before anything is computed. */
static void bad_options(brim_embedder *e) {
  const brim_string text = {"good", 4};
  const brim_embed_options options[] = {{.batch_size = -1},
                                        {.max_tokens = -1},
                                        {.max_length = -1},
                                        {.max_length = 1 << 20},
                                        {.dimensions = -1},
                                        {.dimensions = 1 << 20},
                                        {.precision = (brim_precision)77}};
  float vector[1];
  brim_error err;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    ok(brim_embedder_run(e, &text, 1, &options[i], vector, NULL, &err) == BRIM_E_USAGE, "options %d", (int)i);
}

static void no_files(brim_embedder *embedder) {
  brim_retrieval_report report;
  brim_error err = {0};
  ok_int(brim_evaluate_retrieval(embedder, &(brim_retrieval_options){.corpus = "a", .queries = "b"}, &report, &err), BRIM_E_USAGE,
         "retrieval without a file");
  ok_string(err.message, "retrieval needs three files: corpus, queries and relevant", "says which there are");
  const brim_retrieval_options piped = {.corpus = "a", .queries = "-", .relevant = "c"};
  ok_int(brim_evaluate_retrieval(embedder, &piped, &report, &err), BRIM_E_USAGE, "queries of a pipe");
  ok_string(err.message, "-: queries are read twice, and a pipe only once: give a file", "says why not");
}

int main(void) {
  char folder[600];
  brim_error err = {0};
  brim_embedder *embedder;
  if (!getenv("BRIM_SOURCE"))
    return 99;
  snprintf(folder, sizeof folder, "%s/tests/golden/tasks/folders/st-mean-normalize", getenv("BRIM_SOURCE"));
  const brim_allocator allocator = {take, resize, give_back, NULL};
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1, .allocator = &allocator}, &runtime, NULL) != BRIM_OK)
    return 1;
  if (!ok(brim_embedder_load(runtime, folder, NULL, &embedder, &err) == BRIM_OK, "a model %s", err.message))
    return tap_done();
  growing(embedder);
  bad_options(embedder);
  no_files(embedder);
  one_by_one(embedder, BRIM_PRECISION_FP32);
  one_by_one(embedder, BRIM_PRECISION_INT8);
  one_by_one(embedder, BRIM_PRECISION_BF16);
  long_text(embedder);
  brim_embedder_free(embedder);
  brim_runtime_free(runtime);
  return tap_done();
}
