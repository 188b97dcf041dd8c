/* What a feed refuses, and how it says so; memory. */
#include "brim/feed.h"

#include <ctype.h>
#include <stdatomic.h>
#include <unistd.h>
#include <zlib.h>

#include "data_tokenizer.h"
#include "feed/steps.h"

static brim_tokenizer *tokenizer;

static const brim_feed_options plain = {.plan = {.batching = BRIM_RANDOM, .batch_size = 4, .seed = 1}, .window = 10, .epochs = 1};

static void write_gz(const char *name, int first, int rows) {
  gzFile gz = gzopen(scratch_file(name), "wb");
  for (int i = 0; i < rows; i++)
    gzprintf(gz, "%.*s\n", 1 + (first + i) % 20, "abcdefghijklmnopqrstuvwxyz");
  gzclose(gz);
}

/* The first failure of opening the files and reading all batches, as "!CODE place: message"; "end" when all is well. */
static const char *outcome(const char *path, const brim_feed_options *o, const char *state) {
  static brim_text out;
  brim_feed *feed;
  const brim_batch *batch;
  brim_error err = {0};
  brim_text_free(&out);
  brim_text_init(&out, data_runtime);
  int status = brim_feed_open(data_runtime, &path, 1, tokenizer, o, &feed, &err);
  if (status == BRIM_OK && state)
    status = brim_feed_restore(feed, state, strlen(state), &err);
  while (status == BRIM_OK)
    status = brim_feed_next(feed, &batch, &err);
  brim_feed_close(feed);
  if (status == BRIM_END)
    return "end";
  data_show_error(&out, status, &err);
  return out.data;
}

/* The largest number of sources, and one more. */
static void many_sources(void) {
  char names[65][16], paths_of[65][300];
  const char *paths[65];
  double weights[65];
  brim_feed_options o = plain;
  brim_feed *feed;
  brim_error err = {0};
  for (size_t i = 0; i < 65; i++) {
    snprintf(names[i], sizeof names[i], "source-%zu.txt", i);
    snprintf(paths_of[i], sizeof paths_of[i], "%s", scratch_write(names[i], "a\n"));
    paths[i] = paths_of[i];
    weights[i] = 1;
  }
  o.weights = weights;
  ok_int(brim_feed_open(data_runtime, paths, 64, tokenizer, &o, &feed, &err), BRIM_OK, "64 sources");
  brim_feed_close(feed);
  ok_int(brim_feed_open(data_runtime, paths, 65, tokenizer, &o, &feed, &err), BRIM_E_UNSUPPORTED, "65 are too many");
  ok_string(err.message, "65 sources are too many to mix: 64 are possible", "which it says");
}

static void usage(void) {
  brim_feed_options o = plain;
  const char *path = scratch_write("few.txt", "ab\nabc\na\nb\nc\n");
  ok_string(outcome(path, &o, NULL), "end", "a plain file");
  many_sources();
  o.source.need_label = true;
  ok_string(outcome(path, &o, NULL), "!2 a feed with labels needs their mapping beforehand: give labels\n", "no labels");
  o = plain, o.rank = 2, o.plan.world_size = 2;
  ok_string(outcome(path, &o, NULL), "!2 rank 2: with a world_size of 2 ranks go from 0 to 1\n", "a rank outside");
  o = plain, o.plan.batch_size = 0;
  ok(strncmp(outcome(path, &o, NULL), "!2 ", 3) == 0, "a plan without limits");
  o = plain, o.plan.batch_size = 100, o.plan.drop_last = true;
  ok_string(outcome(path, &o, NULL), "!2 an epoch of 5 rows has no full step: drop_last, or tail=drop, drops them all\n",
            "nothing but short steps");
  o = plain, o.source.min_chars = 9;
  ok_string(outcome(path, &o, NULL), "!5 few.txt: no rows are left: min_chars and where exclude all of 5\n", "all rows excluded");
  o = plain, o.source.max_record = 4, o.source.skip_damaged = true, o.source.min_chars = 2, o.window = 1;
  ok_string(
      outcome(scratch_write("none.txt", "a\nb\nabcde\nabc\n"), &o, NULL),
      "!5 none.txt: no rows are left: 2 are excluded, 1 damaged, the first because of: none.txt: line 3, byte 4: a line of more "
      "than 4 bytes: raise max_record if that is right; the rest of the file is left out\n",
      "all rows excluded or damaged");
  o.window = 100;
  ok(strncmp(outcome(scratch_file("none.txt"), &o, NULL), "!5 none.txt: no rows are left: 2 are", 36) == 0,
     "in a single window, too");
  ok_string(outcome(scratch_write("header.csv", "text,label\n"), &plain, NULL), "!5 header.csv: there are no rows\n",
            "a header alone");
  ok_string(outcome(scratch_file("none*.gz"), &plain, NULL), "!4 none*.gz: no file matches: look at the pattern and the folder\n",
            "no shards");
  o = plain, o.epochs = 2;
  ok_string(outcome("-", &o, NULL),
            "!2 standard input and pipes can be read only once: ask for one epoch, or write the data to a file first\n",
            "standard input a second time");
  o = plain, o.repeat = true;
  ok_string(outcome(path, &o, NULL), "!2 sources that repeat have no epochs: give epochs 0, or leave out repeat\n", "repeat");
  o = plain, o.prefetch = 1001;
  ok_string(outcome(path, &o, NULL), "!2 prefetch is 1001: it must be from 0 to 1000\n", "windows beyond number");
  o = plain, o.weights = &(double){0};
  ok_string(outcome(path, &o, NULL), "!2 the weight of source 1 is 0: give a number above 0\n", "a weight of nothing");
}

/* What is wrong with a row is told with its place. */
static void places(void) {
  brim_feed_options o = plain;
  const char *path = scratch_write("long.txt", "ab\nabcdefgh\nc\n");
  static const char *const names[] = {"neg", "pos"};
  brim_labels labels;
  brim_error err;
  o.plan = (brim_plan_options){.batching = BRIM_PACKED, .max_tokens = 8};
  ok_string(outcome(path, &o, NULL),
            "!2 long.txt: line 2, byte 3: the row takes 10 slots, more than max_tokens 8: raise it, lower max_length, or choose "
            "truncate or alone (oversize)\n",
            "a row over the budget");
  o.plan.oversize = BRIM_OVERSIZE_TRUNCATE;
  ok_string(outcome(path, &o, NULL), "end", "which may be cut");
  o.plan.oversize = BRIM_OVERSIZE_ERROR, o.encode.max_length = 8;
  ok_string(outcome(path, &o, NULL), "end", "or was cut");
  o = plain, o.encode.no_special_tokens = true;
  ok_string(
      outcome(scratch_write("empty.txt", "ab\n\nc\n"), &o, NULL),
      "!5 empty.txt: line 2, byte 3: the text gives no token: leave such rows out (min_chars 1), or add the special tokens\n",
      "a row without tokens");
  if (brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 2, &labels, &err) != BRIM_OK)
    exit(99);
  o = plain, o.source.need_label = true, o.labels = &labels;
  ok_string(outcome(scratch_write("gap.csv", "text,label\na,pos\nb,\nc,neg\n"), &o, NULL),
            "!5 gap.csv: line 3, byte 17: the value of column \"label\" is missing: fill it in, or leave such rows out "
            "(missing_label skip)\n",
            "a label that is missing in the middle");
  ok_string(outcome(scratch_write("other.csv", "text,label\na,pos\nb,so\n"), &o, NULL),
            "!7 other.csv: line 3: label \"so\" is not among the 2 known labels: neg, pos\n", "an unknown label");
  brim_labels_free(&labels);
  if (brim_labels_make(data_runtime, BRIM_TASK_MULTI_LABEL, names, 2, &labels, &err) != BRIM_OK)
    exit(99);
  ok_string(outcome(scratch_write("many.csv", "text,label\na,pos|neg\nb,\nc,neg\n"), &o, NULL), "end", "a list of no labels");
  brim_labels_free(&labels);
}

static void damaged(void) {
  static char bytes[1 << 16];
  scratch_make_folder("bad");
  write_gz("bad/a.txt.gz", 0, 30);
  write_gz("bad/b.txt.gz", 3, 3000);
  FILE *f = fopen(scratch_file("bad/b.txt.gz"), "rb+");
  size_t size = fread(bytes, 1, sizeof bytes, f);
  if (ftruncate(fileno(f), (off_t)size / 2) != 0)
    exit(99);
  fclose(f);
  const char *said = outcome(scratch_file("bad"), &plain, NULL);
  ok(strncmp(said, "!5 bad/b.txt.gz: byte ", 22) == 0, "a cut shard: file and byte");
  printf("# %s", said);
}

static brim_text saved_after(const char *path, const brim_feed_options *o, int batches) {
  brim_feed *feed;
  const brim_batch *batch;
  brim_error err = {0};
  brim_text state;
  brim_text_init(&state, data_runtime);
  int status = brim_feed_open(data_runtime, &path, 1, tokenizer, o, &feed, &err);
  for (int i = 0; i < batches && status == BRIM_OK; i++)
    status = brim_feed_next(feed, &batch, &err);
  if (status == BRIM_OK)
    status = brim_feed_save(feed, &state, &err);
  ok_int(status, BRIM_OK, "a state is saved");
  brim_feed_close(feed);
  return state;
}

static void mismatches(void) {
  brim_feed_options o = plain;
  scratch_make_folder("set");
  const char *path = scratch_file("set");
  write_gz("set/a.txt.gz", 0, 30);
  write_gz("set/b.txt.gz", 7, 31);
  brim_text state = saved_after(path, &o, 9);
  ok_string(outcome(path, &o, state.data), "end", "resumes with what it was saved with");
  o.epochs = 3, o.prefetch = 2;
  ok_string(outcome(path, &o, state.data), "end", "epochs and prefetch may differ");
  o = plain, o.plan.seed = 2;
  const char
      *other = "!7 the state was saved with another tokenizer or other options (columns, selection, lengths, batches, window, "
               "seed): use the same, or begin again\n";
  ok_string(outcome(path, &o, state.data), other, "another seed");
  o = plain, o.encode.max_length = 5;
  ok_string(outcome(path, &o, state.data), other, "another length");
  o = plain, o.window = 11;
  ok_string(outcome(path, &o, state.data), other, "another window");
  write_gz("set/b.txt.gz", 8, 31);
  ok_string(outcome(path, &plain, state.data),
            "!7 set/b.txt.gz: this file differs from the one that the state was saved with (name, size or content): give the "
            "same files, or begin again\n",
            "a shard that changed");
  write_gz("set/b.txt.gz", 7, 31);
  ok_string(outcome(path, &plain, state.data), "end", "the shard as it was");
  write_gz("set/c.txt.gz", 7, 3);
  ok_string(outcome(path, &plain, state.data),
            "!7 the state was saved with 2 files, but 3 are given: give the same files, or begin again\n", "a shard too many");
  remove(scratch_file("set/c.txt.gz"));
  brim_text_free(&state);
}

static void damaged_states(void) {
  const char *path = scratch_file("set");
  brim_text state = saved_after(path, &plain, 5);
  bool refused = true;
  for (size_t cut = 0; cut < state.length; cut++) {
    char kept = state.data[cut];
    state.data[cut] = 0;
    refused &= strncmp(outcome(path, &plain, state.data), "!5 ", 3) == 0;
    state.data[cut] = kept;
  }
  ok(refused, "a state cut anywhere is refused");
  const char *damage = "!5 the state of the feed is damaged: it is not what brim_feed_save wrote\n";
  ok_string(outcome(path, &plain, "{}"), damage, "an empty object");
  ok_string(outcome(path, &plain, "[1]"), damage, "no object");
  refused = true;
  for (size_t at = 0; at < state.length; at++) {
    char kept = state.data[at];
    state.data[at] = kept == '0' ? '1' : '0';
    refused &= !isxdigit(kept) || outcome(path, &plain, state.data)[0] == '!';
    state.data[at] = kept;
  }
  ok(refused, "a state with another digit anywhere is refused");
  char *version = strstr(state.data, "\"brim_feed\":5");
  version[12] = '9';
  ok_string(outcome(path, &plain, state.data), "!7 the state has version 9, this brim reads version 5: begin again\n",
            "a later version");
  version[12] = '3';
  ok_string(outcome(path, &plain, state.data), "!7 the state has version 3, this brim reads version 5: begin again\n",
            "an earlier version");
  version[12] = '4';
  ok_string(outcome(path, &plain, state.data), damage, "the version before with a digest");
  char *digest = strstr(state.data, ",\"digest\"");
  strcpy(digest, "}");
  ok(outcome(path, &plain, state.data)[0] != '!', "the version before, which had none, is read");
  brim_text_free(&state);
}

/* Reads three epochs, cancelled before every batch whose number is a multiple of `every` (0: never), and folds what came. */
static uint64_t read_cancelled(const char *path, int prefetch, int every, int *refused) {
  brim_feed_options o = plain;
  brim_feed *feed;
  const brim_batch *batch;
  brim_error err = {0};
  uint64_t fold = 0;
  o.epochs = 3, o.prefetch = prefetch, o.plan.max_tokens = 40;
  int status = brim_feed_open(data_runtime, &path, 1, tokenizer, &o, &feed, &err);
  for (int n = 0; status == BRIM_OK; n++) {
    if (every && n % every == 0) {
      brim_text before, after;
      brim_text_init(&before, data_runtime);
      brim_text_init(&after, data_runtime);
      status = brim_feed_save(feed, &before, &err);
      brim_runtime_cancel(data_runtime);
      bool over, stopped = brim_feed_step_over(feed) && brim_feed_epoch_over(feed, &over, &err) == BRIM_E_CANCELLED;
      brim_runtime_resume(data_runtime);
      if (status == BRIM_OK && stopped)
        status = brim_feed_save(feed, &after, &err);
      if (stopped && strcmp(before.data, after.data) != 0)
        fold++;
      *refused += stopped;
      brim_text_free(&before);
      brim_text_free(&after);
    }
    if (status == BRIM_OK)
      status = brim_feed_next(feed, &batch, &err);
    for (int i = 0; status == BRIM_OK && i < batch->count; i++)
      fold = fold * 31 + batch->rows[i] + 7 * batch->step;
  }
  brim_feed_ledger ledger;
  brim_feed_tell(feed, &ledger);
  brim_feed_close(feed);
  return status == BRIM_END ? fold * 31 + ledger.hash + ledger.batches : 0;
}

/* Cancelled, a feed stands where it stood, and continues there. */
static void cancelled(void) {
  int refused = 0;
  write_gz("calm.txt.gz", 0, 57);
  const char *path = scratch_file("calm.txt.gz");
  uint64_t want = read_cancelled(path, 0, 0, &refused);
  bool same = want != 0;
  for (int prefetch = 0; prefetch < 3; prefetch++)
    for (int every = 1; every < 8; every++)
      same &= read_cancelled(path, prefetch, every, &refused) == want;
  ok(same, "the batches are those of a feed that was left alone");
  ok(refused > 100, "and it was stopped in between");
}

static uint64_t fold_batch(const brim_batch *batch) {
  uint64_t fold = batch->step;
  for (int i = 0; i < batch->count; i++)
    fold = fold * 31 + batch->rows[i];
  return fold;
}

/* The thread of a feed waits for a pipe when the feed is closed: one that has said something or (NULL) that nobody writes to. */
static void close_waiting(int threads, const char *said) {
  const brim_runtime_options options = {.threads = threads};
  brim_feed_options o = plain;
  brim_runtime *runtime;
  brim_feed *feed;
  const brim_batch *batch;
  brim_error err = {0};
  char name[32];
  const char *path = said ? name : scratch_file("nobody");
  int ends[2];
  if (brim_runtime_new(&options, &runtime, &err) || pipe(ends) ||
      (said ? write(ends[1], said, strlen(said)) : mkfifo(path, 0600)) < 0)
    exit(99);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  o.prefetch = 1, o.source.format = BRIM_FORMAT_TXT;
  ok_int(brim_feed_open(runtime, &path, 1, tokenizer, &o, &feed, &err), BRIM_OK, "a feed of a pipe");
  brim_runtime_cancel(runtime); /* the call that starts the thread does not wait for it */
  ok_int(brim_feed_next(feed, &batch, &err), BRIM_E_CANCELLED, "that nothing comes through");
  brim_runtime_resume(runtime);
  usleep(20000);
  brim_feed_close(feed);
  ok(true, "closed with %d threads after \"%s\"", threads, said ? said : "no writer");
  if (!said)
    unlink(path);
  close(ends[0]), close(ends[1]);
  brim_runtime_free(runtime);
}

/* Each batch of three epochs is put back: it comes again, and a feed that goes to the place saved meanwhile gives it too. */
static void put_back(void) {
  brim_feed_options o = plain;
  brim_feed *feed, *other;
  const brim_batch *batch;
  brim_error err = {0};
  const char *path = scratch_file("calm.txt.gz");
  bool again = true, restored = true, open = true;
  int batches = 0, inside = 0;
  o.epochs = 3, o.plan.max_tokens = 40;
  int status = brim_feed_open(data_runtime, &path, 1, tokenizer, &o, &feed, &err);
  o.prefetch = 1;
  status = status ? status : brim_feed_open(data_runtime, &path, 1, tokenizer, &o, &other, &err);
  while (status == BRIM_OK && (status = brim_feed_next(feed, &batch, &err)) == BRIM_OK) {
    const uint64_t fold = fold_batch(batch);
    bool over = true, step_over = brim_feed_step_over(feed);
    brim_text position;
    brim_text_init(&position, data_runtime);
    brim_feed_put_back(feed);
    status = brim_feed_save(feed, &position, &err);
    open &= brim_feed_epoch_over(feed, &over, &err) == BRIM_OK && !over;
    inside += !brim_feed_step_over(feed);
    if (status == BRIM_OK)
      status = brim_feed_restore(other, position.data, position.length, &err);
    restored &= status == BRIM_OK && brim_feed_next(other, &batch, &err) == BRIM_OK && fold_batch(batch) == fold;
    again &= brim_feed_next(feed, &batch, &err) == BRIM_OK && fold_batch(batch) == fold && brim_feed_step_over(feed) == step_over;
    batches++;
    brim_text_free(&position);
  }
  brim_feed_ledger ledger;
  ok(status == BRIM_END && batches > 60 && inside > 10 && again, "%d batches come again, %d within a step %s", batches, inside,
     err.message);
  ok(restored && open, "and the place is the one before");
  ok(brim_feed_finished(feed, &ledger) && ledger.rows_yielded == 57 && ledger.epoch == 2, "each is counted once");
  brim_feed_close(feed);
  brim_feed_close(other);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

/* The ledger of each of two epochs over path, and the rows with more than `limit` tokens in all batches. */
static uint64_t count_epochs(const char *path, int32_t max_length, int32_t limit, brim_feed_ledger ledgers[2]) {
  brim_feed_options o = plain;
  brim_feed *feed;
  const brim_batch *batch;
  uint64_t longer = 0;
  o.epochs = 2;
  o.encode.max_length = max_length;
  if (brim_feed_open(data_runtime, &path, 1, tokenizer, &o, &feed, NULL) != BRIM_OK)
    exit(1);
  while (brim_feed_next(feed, &batch, NULL) == BRIM_OK) {
    brim_feed_ledger l;
    brim_feed_tell(feed, &l);
    for (int32_t i = 0; i < batch->count; i++)
      longer += batch->offsets[i + 1] - batch->offsets[i] > limit;
    if (l.epoch == 0)
      ledgers[0] = l;
  }
  if (!brim_feed_finished(feed, &ledgers[1]))
    exit(1);
  brim_feed_close(feed);
  return longer;
}

/* Rows that are cut, and the tokens that they lose, against the same rows uncut. */
static void cut_rows(void) {
  brim_feed_ledger whole[2], cut[2];
  write_gz("cut.txt.gz", 0, 57);
  const char *path = scratch_file("cut.txt.gz");
  uint64_t longer = count_epochs(path, 0, 9, whole);
  ok(longer > 0 && count_epochs(path, 9, 9, cut) == 0, "no row is longer than the maximum");
  bool right = true;
  for (int i = 0; i < 2; i++)
    right &= whole[i].rows_truncated == 0 && whole[i].tokens_lost == 0 && cut[i].rows_read == 57 &&
             cut[i].rows_truncated == longer / 2 && cut[i].tokens_lost == whole[i].tokens - cut[i].tokens;
  ok(right, "each epoch counts the rows that are cut and the tokens that they lose");
}

static atomic_llong held, most;

static void count(long long bytes) {
  long long now = atomic_fetch_add(&held, bytes) + bytes;
  for (long long m = atomic_load(&most); now > m && !atomic_compare_exchange_weak(&most, &m, now);) {
  }
}

/* What was asked for stands in front of each piece: what malloc makes of it is not the library's doing. */
static void *resize(void *context, void *pointer, size_t size) {
  size_t *old = pointer ? (size_t *)pointer - 2 : NULL;
  (void)context;
  if (old)
    count(-(long long)*old);
  size_t *piece = realloc(old, size + 2 * sizeof *piece);
  if (!piece)
    return NULL;
  count((long long)size);
  *piece = size;
  return piece + 2;
}

static void *allocate(void *context, size_t size) {
  return resize(context, NULL, size);
}

static void release(void *context, void *pointer) {
  (void)context;
  if (!pointer)
    return;
  count(-(long long)((size_t *)pointer)[-2]);
  free((size_t *)pointer - 2);
}

/* The most memory that `epochs` passes take. */
static long long memory_of(const char *path, uint64_t epochs, uint64_t *bound) {
  brim_allocator allocator = {allocate, resize, release, NULL};
  brim_runtime *runtime;
  brim_tokenizer *own;
  brim_feed *feed;
  const brim_batch *batch;
  brim_error err;
  brim_feed_options o = {.plan = {.batching = BRIM_PACKED, .max_tokens = 2000, .seed = 1}, .window = 2000, .prefetch = 1};
  o.epochs = epochs, o.encode.max_length = 32;
  atomic_store(&most, 0);
  int status = brim_runtime_new(&(brim_runtime_options){.threads = 2, .allocator = &allocator}, &runtime, &err);
  if (status == BRIM_OK)
    status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &own, &err);
  long long before = atomic_load(&held);
  atomic_store(&most, before);
  if (status == BRIM_OK)
    status = brim_feed_open(runtime, &path, 1, own, &o, &feed, &err);
  while (status == BRIM_OK)
    status = brim_feed_next(feed, &batch, &err);
  ok_int(status, BRIM_END, "all passes");
  *bound = brim_feed_memory(feed);
  brim_feed_close(feed);
  ok(atomic_load(&held) == before, "a closed feed leaves nothing");
  brim_tokenizer_free(own);
  brim_runtime_free(runtime);
  return atomic_load(&most) - before;
}

static void memory(void) {
  enum { ROWS = TAP_SANITIZED ? 4000 : 20000 };
  uint64_t bound;
  scratch_make_folder("large");
  write_gz("large/a.txt.gz", 0, ROWS);
  write_gz("large/b.txt.gz", 5, ROWS);
  long long one = memory_of(scratch_file("large"), 1, &bound), ten = memory_of(scratch_file("large"), 10, &bound);
  const long long apart = 24 << 20; /* encoder blocks, scratch, decompression: none grows with the data */
  ok(one < (long long)bound + apart && bound > 1 << 20, "%lld bytes at most, %llu for windows are told", one,
     (unsigned long long)bound);
  /* what happens to be in flight at once decides the peak of a pass; its data would be 10 MB more each time */
  ok(ten < (long long)bound + apart && ten < one + (10 << 20), "ten passes take no more than one may (%lld, %lld)", ten, one);
}

/* One thread, the same order: not a byte more in the tenth pass than in the second. */
static void memory_is_flat(void) {
  enum { PASSES = 10 };
  brim_allocator allocator = {allocate, resize, release, NULL};
  brim_feed_options o = {.plan = {.batching = BRIM_SEQUENTIAL, .max_tokens = 2000}, .window = 2000, .epochs = PASSES};
  const char *path = scratch_file("large");
  long long peaks[PASSES] = {0};
  brim_runtime *runtime;
  brim_tokenizer *own;
  brim_feed *feed;
  const brim_batch *batch;
  brim_feed_ledger l;
  brim_error err;
  o.encode.max_length = 32;
  int status = brim_runtime_new(&(brim_runtime_options){.threads = 1, .allocator = &allocator}, &runtime, &err);
  if (status == BRIM_OK)
    status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &own, &err);
  if (status == BRIM_OK)
    status = brim_feed_open(runtime, &path, 1, own, &o, &feed, &err);
  for (uint64_t epoch = 0; status == BRIM_OK;) {
    status = brim_feed_next(feed, &batch, &err);
    brim_feed_tell(feed, &l);
    peaks[epoch] = atomic_load(&most) > peaks[epoch] ? atomic_load(&most) : peaks[epoch];
    if (l.epoch != epoch) {
      epoch = l.epoch;
      atomic_store(&most, atomic_load(&held));
    }
  }
  ok_int(status, BRIM_END, "ten passes");
  ok_int(peaks[PASSES - 1], peaks[1], "the tenth pass takes the memory of the second, to the byte");
  brim_feed_close(feed);
  brim_tokenizer_free(own);
  brim_runtime_free(runtime);
}

int main(void) {
  data_start(1);
  tokenizer = data_tokenizer();
  usage();
  places();
  damaged();
  mismatches();
  damaged_states();
  cancelled();
  for (int threads = 1; threads <= 2; threads++)
    close_waiting(threads, ""), close_waiting(threads, "abc def ghi"), close_waiting(threads, NULL);
  put_back();
  cut_rows();
  memory();
  memory_is_flat();
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
