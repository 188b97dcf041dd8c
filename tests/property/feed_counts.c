/* What a feed tokenizes: each row once; of what was consumed before the window of a state nothing again, gz and zst too; of other
 * ranks' slices nothing. The linker sends the calls that tokenize a row through here. */
#include <stdatomic.h>
#include <zlib.h>
#include <zstd.h>

#include "feed_case.h"
#include "text/encode.h"

enum { FILES = 3, ROWS = 50, ALL = FILES * ROWS, MOST = 200 };

static brim_tokenizer *tokenizer;
static atomic_int tokenized;

int __real_brim_encode_valid(const brim_tokenizer *t, brim_scratch *scratch, brim_string text, brim_string pair,
                             const brim_encode_options *options, brim_encoding *out, brim_error *err);
int __wrap_brim_encode_valid(const brim_tokenizer *t, brim_scratch *scratch, brim_string text, brim_string pair,
                             const brim_encode_options *options, brim_encoding *out, brim_error *err);
int __real_brim_encode_texts(const brim_tokenizer *t, brim_scratch *scratch, brim_string text, brim_string pair,
                             const brim_string *further, size_t further_count, bool valid, const brim_encode_options *options,
                             brim_encoding *out, int32_t *lengths, brim_error *err);
int __wrap_brim_encode_texts(const brim_tokenizer *t, brim_scratch *scratch, brim_string text, brim_string pair,
                             const brim_string *further, size_t further_count, bool valid, const brim_encode_options *options,
                             brim_encoding *out, int32_t *lengths, brim_error *err);
int __real_brim_tokenizer_encode(const brim_tokenizer *t, brim_scratch *scratch, const char *text, size_t text_length,
                                 const char *pair, size_t pair_length, const brim_encode_options *options, brim_encoding *out,
                                 brim_error *err);
int __wrap_brim_tokenizer_encode(const brim_tokenizer *t, brim_scratch *scratch, const char *text, size_t text_length,
                                 const char *pair, size_t pair_length, const brim_encode_options *options, brim_encoding *out,
                                 brim_error *err);

int __wrap_brim_encode_valid(const brim_tokenizer *t, brim_scratch *scratch, brim_string text, brim_string pair,
                             const brim_encode_options *options, brim_encoding *out, brim_error *err) {
  tokenized++;
  return __real_brim_encode_valid(t, scratch, text, pair, options, out, err);
}

int __wrap_brim_tokenizer_encode(const brim_tokenizer *t, brim_scratch *scratch, const char *text, size_t text_length,
                                 const char *pair, size_t pair_length, const brim_encode_options *options, brim_encoding *out,
                                 brim_error *err) {
  tokenized += text_length > 0; /* an empty text is asked once, for the special tokens */
  return __real_brim_tokenizer_encode(t, scratch, text, text_length, pair, pair_length, options, out, err);
}

int __wrap_brim_encode_texts(const brim_tokenizer *t, brim_scratch *scratch, brim_string text, brim_string pair,
                             const brim_string *further, size_t further_count, bool valid, const brim_encode_options *options,
                             brim_encoding *out, int32_t *lengths, brim_error *err) {
  tokenized++;
  return __real_brim_encode_texts(t, scratch, text, pair, further, further_count, valid, options, out, lengths, err);
}

/* ---- data ------------------------------------------------------------------------------------------------- */

static void write_file(const char *ending, int file) {
  static char lines[ROWS * 40], packed[ROWS * 80];
  char name[64];
  size_t length = 0;
  for (int r = 0; r < ROWS; r++)
    length += (size_t)sprintf(lines + length, "%.*s\n", 2 + (file * 7 + r * r) % 19, "thequickbrownfoxjumpsover");
  snprintf(name, sizeof name, "%s/%d.txt.%s", ending, file, ending);
  if (strcmp(ending, "gz") == 0) {
    gzFile gz = gzopen(scratch_file(name), "wb");
    gzwrite(gz, lines, (unsigned)length);
    gzclose(gz);
    return;
  }
  FILE *out = fopen(scratch_file(name), "wb");
  size_t size = ZSTD_compress(packed, sizeof packed, lines, length, 3);
  fwrite(packed, 1, size, out);
  fclose(out);
}

static const char *write_folder(const char *ending) {
  scratch_make_folder(ending);
  for (int f = 0; f < FILES; f++)
    write_file(ending, f);
  return scratch_file(ending);
}

/* ---- counts ----------------------------------------------------------------------------------------------- */

/* Rows that the state's window does not need: those of earlier epochs, and those that earlier windows took and that do not wait.
 */
static int behind(const char *state, int own) {
  const char *epoch = strstr(state, "\"epoch\":"), *taken = strstr(state, "\"rows_taken\":"),
             *waiting = strstr(state, "\"waiting\":["), *end = strstr(state, "],\"ledger\"");
  if (!epoch || !taken || !waiting || !end)
    return -1;
  int count = own * atoi(epoch + strlen("\"epoch\":")) + atoi(taken + strlen("\"rows_taken\":"));
  for (const char *p = waiting + strlen("\"waiting\":["); p < end; p++)
    count -= *p == '{';
  return count;
}

/* Reads to the end, from a state if there is one; the state before each batch goes to `states`. How many rows were tokenized. */
static int read_all(const char *path, const brim_feed_options *o, int threads, const char *from, brim_text *states,
                    int *batches) {
  const brim_batch *batch;
  brim_runtime *runtime;
  brim_feed *feed;
  brim_error err;
  uint64_t content;
  int status = BRIM_OK;
  must(brim_tokenizer_content(tokenizer, false, &content, &err), &err); /* of a few texts, once */
  tokenized = 0;
  must(brim_runtime_new(&(brim_runtime_options){.threads = threads}, &runtime, &err), &err);
  must(brim_feed_open(runtime, &path, 1, tokenizer, o, &feed, &err), &err);
  if (from)
    must(brim_feed_restore(feed, from, strlen(from), &err), &err);
  for (*batches = 0; status == BRIM_OK; ++*batches) {
    if (states) {
      brim_text_init(&states[*batches], data_runtime);
      must(brim_feed_save(feed, &states[*batches], &err), &err);
    }
    status = brim_feed_next(feed, &batch, &err);
  }
  if (status != BRIM_END)
    must(status, &err);
  brim_feed_close(feed);
  brim_runtime_free(runtime);
  return tokenized;
}

static void resumes(const char *path, brim_feed_options o, const char *name) {
  static brim_text states[MOST];
  int batches, rest, passed = 0, bad = 0, own = ALL;
  if (o.rank_slices)
    own = ALL / o.plan.world_size + (o.rank < ALL % o.plan.world_size);
  int all = read_all(path, &o, 1, NULL, states, &batches), due = own * (int)o.epochs;
  ok(all == due, "%s, %s: each of %d rows is tokenized once an epoch", path + strlen(scratch_folder()) + 1, name, own);
  for (int i = 0; i < batches; i++) {
    int spared = behind(states[i].data, own);
    bad += read_all(path, &o, 1 + i % 3, states[i].data, NULL, &rest) != due - spared;
    passed += spared > 0;
  }
  ok(bad == 0 && passed > batches / 3, "%s, %s: from each of %d places, nothing before its window but rows that wait",
     path + strlen(scratch_folder()) + 1, name, batches);
  for (int i = 0; i < batches; i++)
    brim_text_free(&states[i]);
}

int main(void) {
  static const char *const endings[] = {"gz", "zst"};
  data_start(1);
  tokenizer = data_tokenizer();
  for (int i = 0; i < 2; i++) {
    const char *path = write_folder(endings[i]);
    brim_feed_options o = {
        .plan = {.batching = BRIM_BUCKETED, .max_tokens = 90, .read_ahead = 15, .seed = 3}, .window = 20, .epochs = 1};
    resumes(path, o, "bucketed");
    o.epochs = 3, o.prefetch = 1;
    resumes(path, o, "three epochs, a thread ahead");
    o.epochs = 1, o.prefetch = 0;
    o.plan = (brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 12, .seed = 4, .world_size = 4};
    o.rank_slices = true;
    o.window = 9;
    for (o.rank = 0; o.rank < 4; o.rank++)
      resumes(path, o, "a slice");
  }
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
