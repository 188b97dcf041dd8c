/* Feeds of rows of several texts: each row with all its texts in one part, the same for any number of threads and ranks, from any
 * place where they were interrupted, and with ranks that read their own rows. */
#include "data/dataset.h"
#include "feed_case.h"

enum { FILES = 3, ROWS = 40, MOST_TEXTS = 5, MOST_BATCHES = 800, MOST_WORLD = 4 };

static const char *paths[FILES];
static const char *const columns[] = {"query", "answers"};

/* The number of answers, and the text of each (query: -1), of a row. */
static int answers_of(int file, int row) {
  return (file * 5 + row * 7) % MOST_TEXTS;
}

static int write_text(int file, int row, int which, char *out) {
  const int length = 1 + (file * 37 + row * row * 11 + which * 3 + 9) % 9;
  for (int i = 0; i < length; i++)
    out[i] = (char)('a' + (file + row * (i + 3) + which + 26) % 26);
  out[length] = 0;
  return length;
}

static void write_files(void) {
  for (int f = 0; f < FILES; f++) {
    char lines[ROWS * 128], text[16], name[32], *to = lines;
    for (int r = 0; r < ROWS; r++) {
      write_text(f, r, -1, text);
      to += sprintf(to, "{\"query\": \"%s\", \"label\": \"%s\", \"answers\": [", text, r % 2 ? "one" : "other");
      for (int a = 0; a < answers_of(f, r); a++) {
        write_text(f, r, a, text);
        to += sprintf(to, "%s\"%s\"", a ? ", " : "", text);
      }
      to += sprintf(to, "]}\n");
    }
    snprintf(name, sizeof name, "f%d.jsonl", f);
    paths[f] = strdup(scratch_write(name, lines));
  }
}

/* ---- feeds --------------------------------------------------------------------------------------------------- */

static opened open_feed(const brim_feed_options *o, int threads) {
  return feed_of(paths, FILES, o, threads);
}

static brim_labels labels;

static brim_feed_options options_of(brim_plan_options plan) {
  return (brim_feed_options){.source = {.text_columns = columns,
                                        .text_column_count = 2,
                                        .least_columns = 1,
                                        .most_texts = MOST_TEXTS,
                                        .need_label = true},
                             .labels = &labels,
                             .plan = plan,
                             .window = 33,
                             .epochs = 2,
                             .encode.max_length = 12};
}

/* ---- what a batch holds -------------------------------------------------------------------------------------- */

static bool same_text(const brim_batch *b, int32_t text, const char *letters, int length) {
  const int32_t *ids = b->ids + b->offsets[text];
  bool same = b->offsets[text + 1] - b->offsets[text] == length + 2 && ids[0] == 2 && ids[length + 1] == 3;
  for (int i = 0; same && i < length; i++)
    same = (ids[i + 1] - 5) % 26 == letters[i] - 'a';
  return same;
}

/* Rows as the files have them, at their places. */
static int wrong_rows(const brim_batch *b) {
  int wrong = 0;
  int32_t texts = 0;
  for (int32_t r = 0; r < b->row_count; r++) {
    const int file = (int)brim_feed_file(b->rows[r]), row = (int)brim_feed_record(b->rows[r]);
    int32_t first, count = brim_batch_texts(b, r, &first);
    char text[16];
    wrong += first != texts || count != 1 + answers_of(file, row) || b->labels[r] != (float)(row % 2 ? 0 : 1);
    for (int32_t t = 0; t < count; t++, texts++) {
      const int length = write_text(file, row, t - 1, text);
      wrong += !same_text(b, first + t, text, length);
      wrong += b->places[first + t] != b->places[first] + (uint32_t)t || b->places[first] % MOST_TEXTS != 0;
    }
  }
  return wrong + (texts != b->count);
}

static uint64_t print_of(const brim_batch *b) {
  uint64_t h = (uint64_t)b->count * 31 + b->step;
  for (int32_t i = 0; i < b->row_count; i++)
    h = mix(h, b->rows[i]);
  for (int32_t i = 0; i < b->count; i++)
    h = mix(h, b->places[i]);
  for (int64_t i = 0; i < b->tokens; i++)
    h = mix(h, (uint64_t)b->ids[i]);
  return h;
}

/* All batches of a run: *wrong, their prints, and the state before each. Returns their number. */
static int run(const brim_feed_options *o, int threads, uint64_t *prints, brim_text *states, int *wrong, uint64_t *hash) {
  opened f = open_feed(o, threads);
  brim_feed_ledger ledger;
  brim_error err;
  int count = 0;
  for (;; count++) {
    const brim_batch *batch;
    if (states) {
      brim_text_init(&states[count], data_runtime);
      must(brim_feed_save(f.feed, &states[count], &err), &err);
    }
    const int status = brim_feed_next(f.feed, &batch, &err);
    if (status == BRIM_END)
      break;
    must(status, &err);
    *wrong += wrong_rows(batch);
    prints[count] = print_of(batch);
  }
  brim_feed_tell(f.feed, &ledger);
  *hash = ledger.hash;
  *wrong += ledger.rows_read != ledger.rows_yielded + ledger.rows_dropped;
  close_feed(&f);
  return count;
}

static uint64_t prints[MOST_BATCHES], others[MOST_BATCHES];
static brim_text states[MOST_BATCHES];

static void check_threads(const char *name, const brim_feed_options *o) {
  int wrong = 0;
  uint64_t hash;
  const int count = run(o, 1, prints, NULL, &wrong, &hash);
  bool same = true;
  for (int threads = 2; threads <= 3; threads++) {
    brim_feed_options ahead = *o;
    ahead.prefetch = threads;
    const int other = run(&ahead, threads, others, NULL, &wrong, &hash);
    same &= other == count && memcmp(prints, others, sizeof *prints * (size_t)count) == 0;
  }
  ok(same && wrong == 0 && count > 2, "%s: %d batches of whole rows, the same with 1 to 3 threads", name, count);
}

static void check_resume(const char *name, const brim_feed_options *o) {
  int wrong = 0, bad = 0;
  uint64_t hash;
  const int count = run(o, 2, prints, states, &wrong, &hash);
  for (int i = 0; i <= count; i++) {
    opened f = open_feed(o, 1 + i % 2);
    const brim_batch *batch;
    brim_error err;
    must(brim_feed_restore(f.feed, states[i].data, states[i].length, &err), &err);
    for (int k = i; k <= count && k < i + 4; k++) {
      const int status = brim_feed_next(f.feed, &batch, &err);
      bad += status == BRIM_END ? k != count : status != BRIM_OK || k == count || print_of(batch) != prints[k];
    }
    close_feed(&f);
    brim_text_free(&states[i]);
  }
  ok(bad == 0 && wrong == 0, "%s: continues before each of %d batches", name, count);
}

static void check_ranks(const char *name, brim_feed_options o, bool slices) {
  uint64_t hashes[MOST_WORLD];
  int wrong = 0;
  for (int32_t world = 1; world <= MOST_WORLD; world++) {
    o.plan.world_size = world;
    o.rank_slices = slices;
    for (o.rank = 0; o.rank < world; o.rank++)
      (void)run(&o, 1, prints, NULL, &wrong, &hashes[world - 1]);
    wrong += !slices && hashes[world - 1] != hashes[0];
  }
  ok(wrong == 0, "%s: %s on 1 to %d ranks", name, slices ? "whole rows" : "the same rows", MOST_WORLD);
}

static void check_limits(const brim_feed_options *o) {
  int64_t slots, rows;
  int32_t width;
  int over = 0;
  opened f = open_feed(o, 1);
  const brim_batch *batch;
  brim_error err;
  brim_feed_limits(f.feed, &slots, &rows, &width);
  while (brim_feed_next(f.feed, &batch, &err) == BRIM_OK)
    over += batch->slots > slots || batch->count > rows || brim_batch_width(batch) > width;
  ok(over == 0, "no batch is over the limits of %lld slots and %lld texts", (long long)slots, (long long)rows);
  close_feed(&f);
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

static void check_refused(const brim_feed_options *o) {
  brim_feed_options few = *o, fewer = *o, other = *o;
  const brim_batch *batch;
  brim_text state;
  brim_error err;
  few.source.most_texts = 4;
  opened f = open_feed(&few, 1);
  int status = BRIM_OK;
  while (status == BRIM_OK)
    status = brim_feed_next(f.feed, &batch, &err);
  ok(status == BRIM_E_FORMAT && strstr(err.message, "the row has 5 texts, and at most 4 are read here"), "%s", err.message);
  close_feed(&f);
  fewer.plan.max_tokens = 30, fewer.plan.oversize = BRIM_OVERSIZE_ERROR;
  f = open_feed(&fewer, 1);
  for (status = BRIM_OK; status == BRIM_OK;)
    status = brim_feed_next(f.feed, &batch, &err);
  ok(status == BRIM_E_USAGE && strstr(err.message, "texts take") && err.line > 0, "%s", err.message);
  close_feed(&f);
  f = open_feed(o, 1);
  brim_text_init(&state, data_runtime);
  must(brim_feed_save(f.feed, &state, &err), &err);
  close_feed(&f);
  other.source.most_texts = MOST_TEXTS + 1;
  f = open_feed(&other, 1);
  ok(brim_feed_restore(f.feed, state.data, state.length, &err) == BRIM_E_MISMATCH, "%s", err.message);
  close_feed(&f);
  brim_text_free(&state);
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

static brim_dataset *load(const char *path, brim_encode_options encode) {
  brim_tokenizer *tokenizer;
  brim_dataset *dataset;
  brim_error err;
  must(brim_tokenizer_load(data_runtime, scratch_file("vocab.txt"), &tokenizer, &err), &err);
  must(brim_dataset_load(data_runtime, &path, 1, tokenizer, &(brim_dataset_options){.encode = encode}, &dataset, &err), &err);
  brim_tokenizer_free(tokenizer);
  return dataset;
}

/* The ledger of an epoch; interrupted after so many batches, and continued in another feed. */
static brim_feed_ledger epoch_of(const char *path, const brim_feed_options *o, int batches) {
  brim_tokenizer *tokenizer;
  brim_feed *feed = NULL;
  const brim_batch *batch;
  brim_feed_ledger ledger;
  brim_text state;
  brim_error err;
  brim_text_init(&state, data_runtime);
  must(brim_tokenizer_load(data_runtime, scratch_file("vocab.txt"), &tokenizer, &err), &err);
  must(brim_feed_open(data_runtime, &path, 1, tokenizer, o, &feed, &err), &err);
  for (int i = 0; i < batches; i++)
    must(brim_feed_next(feed, &batch, &err), &err);
  must(brim_feed_save(feed, &state, &err), &err);
  brim_feed_close(feed);
  must(brim_feed_open(data_runtime, &path, 1, tokenizer, o, &feed, &err), &err);
  must(brim_feed_restore(feed, state.data, state.length, &err), &err);
  while (brim_feed_next(feed, &batch, &err) == BRIM_OK)
    continue;
  brim_feed_tell(feed, &ledger);
  brim_feed_close(feed);
  brim_tokenizer_free(tokenizer);
  brim_text_free(&state);
  return ledger;
}

/* Each token of a text is lost, or is there once; those that are there again are counted, and special ones; also where each
 * window is a row, of masked words. */
static void check_windows(brim_numbering numbering) {
  char lines[4096], *to = lines;
  for (int r = 0; r < 60; r++)
    to += sprintf(to, "%.*s\n", 1 + r * 7 % 40, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
  const char *path = scratch_write("long.txt", lines);
  const brim_encode_options windows = {.max_length = 7, .window_overlap = 2, .max_windows = 6, .numbering = numbering};
  brim_dataset *whole = load(path, (brim_encode_options){0}), *cut = load(path, windows);
  const uint64_t more = brim_dataset_texts(cut) - brim_dataset_rows(whole), repeated = brim_dataset_repeated(cut);
  ok(brim_dataset_tokens(cut) - repeated - 2 * more + brim_dataset_lost(cut) == brim_dataset_tokens(whole) && repeated > 100 &&
         brim_dataset_lost(cut) > 100 && brim_dataset_repeated(whole) == 0,
     "of %llu tokens %llu are lost and %llu in two windows", (unsigned long long)brim_dataset_tokens(whole),
     (unsigned long long)brim_dataset_lost(cut), (unsigned long long)repeated);
  const brim_plan_options how = {.batching = BRIM_RANDOM, .batch_size = 8};
  const brim_lengths lengths = brim_lengths_of(cut);
  brim_plan *plan;
  brim_ledger planned;
  brim_error err;
  must(brim_plan_new_of(data_runtime, &lengths, &how, 0, &plan, &err), &err);
  brim_plan_ledger(plan, &planned);
  ok(planned.tokens == brim_dataset_tokens(cut) && planned.tokens_repeated == repeated, "a plan counts them");
  const brim_feed_options o = {.plan = how, .window = 20, .epochs = 1, .encode = windows};
  for (int batches = 0; batches < 7; batches += 3) {
    const brim_feed_ledger read = epoch_of(path, &o, batches);
    ok(read.tokens == brim_dataset_tokens(cut) && read.tokens_repeated == repeated && read.tokens_lost == brim_dataset_lost(cut),
       "a stream that continues after %d batches does", batches);
  }
  brim_plan_free(plan);
  brim_dataset_free(whole), brim_dataset_free(cut);
}

int main(void) {
  static const struct {
    const char *name;
    brim_plan_options plan;
  } ways[] = {
      {"random", {.batching = BRIM_RANDOM, .batch_size = 8, .seed = 1}},
      {"in parts", {.batching = BRIM_RANDOM, .batch_size = 16, .max_tokens = 90, .oversize = BRIM_OVERSIZE_ALONE}},
      {"uniform, padded", {.batching = BRIM_UNIFORM, .padding = BRIM_PAD_LONGEST, .batch_size = 8}},
      {"packed", {.batching = BRIM_PACKED, .max_tokens = 120, .oversize = BRIM_OVERSIZE_ALONE}},
      {"bucketed, budget", {.batching = BRIM_BUCKETED, .max_tokens = 100, .oversize = BRIM_OVERSIZE_ALONE, .read_ahead = 20}}};
  data_start(1);
  brim_tokenizer_free(data_tokenizer()); /* writes its file */
  write_files();
  if (brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, (const char *[]){"one", "other"}, 2, &labels, NULL))
    return 99;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const brim_feed_options o = options_of(ways[i].plan);
    check_threads(ways[i].name, &o);
    check_resume(ways[i].name, &o);
    check_limits(&o);
  }
  check_ranks("random", options_of((brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 12}), false);
  check_ranks(
      "random, in parts",
      options_of((brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 12, .max_rows = 7, .oversize = BRIM_OVERSIZE_ALONE}),
      false);
  check_ranks("random", options_of((brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 12}), true);
  const brim_feed_options o = options_of(ways[1].plan);
  check_refused(&o);
  check_windows(BRIM_NUMBER_NOTHING);
  check_windows(BRIM_NUMBER_TOKENS);
  brim_labels_free(&labels);
  brim_runtime_free(data_runtime);
  return tap_done();
}
