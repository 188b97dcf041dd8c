/* Feeds of texts whose words are to be masked: each window of a long text is a row, read once an epoch, the same
 * for any number of threads and ranks, and from any batch where they were interrupted, also between the windows of one text. */
#include "feed_case.h"

enum { FILES = 2, ROWS = 60, MOST_LENGTH = 40, MOST_BATCHES = 400, MOST_WORLD = 4, LENGTH = 9, OVERLAP = 2, MOST_WINDOWS = 4 };

static const char *paths[FILES];

static int length_of(int file, int row) {
  return row % 7 == 0 ? 0 : 1 + (file * 31 + row * row * 13) % MOST_LENGTH;
}

/* Letters, a space after each third. */
static void write_files(void) {
  for (int f = 0; f < FILES; f++) {
    static char lines[ROWS * (2 * MOST_LENGTH + 2)];
    char name[32], *to = lines;
    for (int r = 0; r < ROWS; r++) {
      for (int i = 0; i < length_of(f, r); i++) {
        if (i % 3 == 0 && i > 0)
          *to++ = ' ';
        *to++ = (char)('a' + (f + r * 3 + i * 5) % 26);
      }
      *to++ = '\n';
    }
    *to = 0;
    snprintf(name, sizeof name, "f%d.txt", f);
    paths[f] = strdup(scratch_write(name, lines));
  }
}

static int windows_of(int length) {
  const int room = LENGTH - 2;
  const int count = length <= room ? 1 : 1 + (length - room + room - OVERLAP - 1) / (room - OVERLAP);
  return count < MOST_WINDOWS ? count : MOST_WINDOWS;
}

static opened open_feed(const brim_feed_options *o, int threads) {
  return feed_of(paths, FILES, o, threads);
}

static uint64_t print_of(const brim_batch *b) {
  uint64_t h = mix((uint64_t)b->count, b->step);
  for (int32_t i = 0; i < b->count; i++)
    h = mix(mix(h, b->rows[i]), b->places[i]);
  for (int64_t i = 0; i < b->tokens; i++)
    h = mix(mix(h, (uint64_t)b->ids[i]), (uint64_t)(uint32_t)b->token_labels[i]);
  return h;
}

/* How often each window of each text was read, over all epochs. */
static int read_of[FILES][ROWS][MOST_WINDOWS];

/* The window follows from the number of its first token. */
static int count_rows(const brim_batch *b) {
  int wrong = b->firsts != NULL;
  for (int32_t r = 0; r < b->row_count; r++) {
    const int file = (int)brim_feed_file(b->rows[r]), row = (int)brim_feed_record(b->rows[r]);
    const int32_t *numbers = b->token_labels + b->offsets[r], length = b->offsets[r + 1] - b->offsets[r];
    const int32_t window = length > 2 ? numbers[1] / (LENGTH - 2) : 0;
    const int begin = window * (LENGTH - 2 - OVERLAP);
    wrong += numbers[0] != BRIM_NO_LABEL || numbers[length - 1] != BRIM_NO_LABEL || window >= MOST_WINDOWS;
    for (int32_t i = 1; i < length - 1; i++)
      wrong += (b->ids[b->offsets[r] + i] - 5) % 26 != (file + row * 3 + (begin + i - 1) * 5) % 26;
    read_of[file][row][window % MOST_WINDOWS]++;
  }
  return wrong;
}

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
    *wrong += count_rows(batch);
    prints[count] = print_of(batch);
  }
  brim_feed_tell(f.feed, &ledger);
  *hash = ledger.hash;
  uint64_t rows = 0, cut = 0;
  for (int k = 0; k < FILES * ROWS; k++) {
    const int length = length_of(k / ROWS, k % ROWS), most = LENGTH - 2 + (MOST_WINDOWS - 1) * (LENGTH - 2 - OVERLAP);
    rows += (uint64_t)windows_of(length), cut += length > most;
  }
  *wrong += ledger.rows_read != rows || ledger.rows_read != ledger.rows_yielded + ledger.rows_dropped ||
            ledger.rows_truncated != cut || ledger.rows_waiting != 0;
  close_feed(&f);
  return count;
}

static uint64_t prints[MOST_BATCHES], others[MOST_BATCHES];
static brim_text states[MOST_BATCHES];

static void check_epochs(const brim_feed_options *o) {
  int wrong = 0, missed = 0;
  uint64_t hash;
  memset(read_of, 0, sizeof read_of);
  const int count = run(o, 1, prints, NULL, &wrong, &hash);
  for (int k = 0; k < FILES * ROWS; k++)
    for (int w = 0; w < MOST_WINDOWS; w++)
      missed += read_of[k / ROWS][k % ROWS][w] != (w < windows_of(length_of(k / ROWS, k % ROWS)) ? (int)o->epochs : 0);
  ok(wrong == 0 && missed == 0 && count > 20, "each window is read once an epoch, in %d batches", count);
  bool same = true;
  for (int threads = 2; threads <= 3; threads++) {
    brim_feed_options ahead = *o;
    ahead.prefetch = threads;
    same &= run(&ahead, threads, others, NULL, &wrong, &hash) == count &&
            memcmp(prints, others, sizeof *prints * (size_t)count) == 0;
  }
  ok(same && wrong == 0, "the same with 1 to 3 threads");
}

static void check_resume(const brim_feed_options *o) {
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
  ok(bad == 0 && wrong == 0, "continues before each of %d batches", count);
}

static void check_ranks(brim_feed_options o) {
  uint64_t hashes[MOST_WORLD];
  int wrong = 0;
  brim_error err;
  brim_feed *feed;
  for (int32_t world = 1; world <= MOST_WORLD; world++) {
    o.plan.world_size = world;
    for (o.rank = 0; o.rank < world; o.rank++)
      (void)run(&o, 1, prints, NULL, &wrong, &hashes[world - 1]);
    wrong += hashes[world - 1] != hashes[0];
  }
  ok(wrong == 0, "the same rows on 1 to %d ranks", MOST_WORLD);
  opened f = open_feed(&(brim_feed_options){.plan = {.batch_size = 2}}, 1);
  o.rank = 0, o.plan.world_size = 2, o.plan.batch_size = 8, o.rank_slices = true;
  ok(brim_feed_open(f.runtime, paths, FILES, f.tokenizer, &o, &feed, &err) == BRIM_E_USAGE && strstr(err.message, "windows"),
     "%s", err.message);
  close_feed(&f);
}

int main(void) {
  data_start(1);
  brim_tokenizer_free(data_tokenizer());
  write_files();
  for (int batching = 0; batching < 2; batching++) {
    const brim_feed_options o = {
        .encode = {.max_length = LENGTH, .max_windows = MOST_WINDOWS, .window_overlap = OVERLAP, .numbering = BRIM_NUMBER_TOKENS},
        .plan = {.batching = batching ? BRIM_BUCKETED : BRIM_RANDOM, .batch_size = 7, .seed = 5, .read_ahead = batching ? 20 : 0},
        .window = 33,
        .epochs = 2};
    check_epochs(&o);
    check_resume(&o);
    check_ranks(o);
  }
  brim_runtime_free(data_runtime);
  return tap_done();
}
