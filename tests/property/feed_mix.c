/* Several sources in one feed, against the obvious way: draw the source of each row, take its next row. Standard input. */
#include "base/random.h"

#include <sys/wait.h>
#include <zlib.h>

#include "feed_case.h"

enum { SOURCES = 3, FILES = 4, MOST = 4000 };

static brim_tokenizer *tokenizer;
static const char *paths[SOURCES];
static const double weights[SOURCES] = {3, 1, 0.5};
static const int rows_in[FILES] = {70, 41, 33, 20}; /* source 0 has two files */
static const int source_of[FILES] = {0, 0, 1, 2};

static bool excluded(int file, int row) {
  return (file + row) % 7 == 3;
}

static void write_sources(void) {
  static const char *const names[FILES] = {"one/a.txt.gz", "one/b.txt.gz", "two-c.txt.gz", "three-d.txt.gz"};
  scratch_make_folder("one");
  for (int f = 0; f < FILES; f++) {
    gzFile gz = gzopen(scratch_file(names[f]), "wb");
    for (int r = 0; r < rows_in[f]; r++)
      gzprintf(gz, "%.*s\n", excluded(f, r) ? 1 : 2 + (f * 5 + r * r) % 17, "thequickbrownfoxjumps");
    gzclose(gz);
  }
  paths[0] = scratch_file("one");
  paths[1] = scratch_file("two-*.txt.gz");
  paths[2] = scratch_file("three-d.txt.gz");
}

static brim_feed_options options_of(brim_batching batching, bool repeat) {
  brim_feed_options o = {.plan = {.batching = batching, .batch_size = 6, .seed = 11},
                         .window = 16,
                         .epochs = repeat ? 0 : 3,
                         .weights = weights,
                         .repeat = repeat};
  o.source.min_chars = 2;
  return o;
}

static opened open_feed(brim_feed_options o, int threads) {
  o.prefetch = threads % 3;
  return feed_of(paths, SOURCES, &o, threads);
}

/* The rows of at most `batches` batches, in order. */
static int read_rows(opened *f, int batches, uint64_t *rows) {
  int count = 0;
  for (int b = 0; b < batches; b++) {
    const brim_batch *batch;
    brim_error err;
    int status = brim_feed_next(f->feed, &batch, &err);
    if (status == BRIM_END)
      break;
    must(status, &err);
    for (int i = 0; i < batch->count; i++)
      rows[count++] = batch->rows[i];
  }
  return count;
}

/* ---- the obvious way -------------------------------------------------------------------------------------- */

/* The kept rows of a source, in file order. */
static int list_source(int source, uint64_t *rows) {
  int count = 0;
  for (int f = 0; f < FILES; f++)
    for (int r = 0; source_of[f] == source && r < rows_in[f]; r++)
      if (!excluded(f, r))
        rows[count++] = (uint64_t)f << 40 | (uint64_t)r;
  return count;
}

/* Draws the rows of an epoch (or `count` rows of the endless one). */
static int draw(uint64_t epoch, bool repeat, int most, uint64_t *out) {
  uint64_t rows[SOURCES][200];
  int at[SOURCES] = {0}, have[SOURCES], count = 0;
  for (int s = 0; s < SOURCES; s++)
    have[s] = list_source(s, rows[s]);
  brim_random random = brim_random_make(11, epoch, BRIM_PURPOSE_MIX);
  for (; count < most; count++) {
    double all = 0;
    int chosen = -1;
    for (int s = 0; s < SOURCES; s++)
      all += at[s] < have[s] ? weights[s] : 0;
    if (all == 0)
      break;
    double u = (double)(brim_random_u64(&random, (uint64_t)count) >> 11) * 0x1p-53 * all;
    for (int s = 0; s < SOURCES && (chosen < 0 || u >= 0); s++)
      if (at[s] < have[s]) {
        chosen = s;
        u -= weights[s];
      }
    out[count] = rows[chosen][at[chosen]++];
    if (repeat && at[chosen] == have[chosen])
      at[chosen] = 0;
  }
  return count;
}

static void as_drawn(void) {
  static uint64_t got[MOST], want[MOST];
  opened f = open_feed(options_of(BRIM_SEQUENTIAL, false), 2);
  int count = read_rows(&f, MOST, got), due = 0;
  for (uint64_t epoch = 0; epoch < 3; epoch++)
    due += draw(epoch, false, MOST, want + due);
  brim_feed_ledger l;
  bool told = brim_feed_finished(f.feed, &l);
  ok(count == due && memcmp(got, want, sizeof *got * (size_t)count) == 0, "three epochs of %d rows as they are drawn", due / 3);
  ok(told && l.rows_read == 164 && l.rows_yielded == (uint64_t)due / 3 && l.rows_read == l.rows_yielded + l.rows_excluded,
     "read = excluded + yielded: %d = %d + %d", (int)l.rows_read, (int)l.rows_excluded, (int)l.rows_yielded);
  close_feed(&f);
  f = open_feed(options_of(BRIM_SEQUENTIAL, true), 1);
  count = read_rows(&f, 300, got);
  due = draw(0, true, count, want);
  ok(count == 1800 && due == count && memcmp(got, want, sizeof *got * (size_t)count) == 0, "%d rows of sources that repeat",
     count);
  int shares[SOURCES] = {0};
  for (int i = 0; i < count; i++)
    shares[source_of[got[i] >> 40]]++;
  ok(shares[0] > 1130 && shares[0] < 1270 && shares[1] > 340 && shares[1] < 460 && shares[2] > 150 && shares[2] < 250,
     "in shares of 3 : 1 : 0.5 (%d, %d, %d)", shares[0], shares[1], shares[2]);
  brim_feed_tell(f.feed, &l);
  ok(l.epoch == 0 && l.rows_yielded == 1800 && l.rows_read == l.rows_yielded + l.rows_excluded + l.rows_waiting,
     "the ledger of an epoch without end");
  close_feed(&f);
}

/* Shuffled: each row of a source once before any comes again. */
static void passes(void) {
  static uint64_t got[MOST];
  opened f = open_feed(options_of(BRIM_RANDOM, true), 3);
  int count = read_rows(&f, 500, got), seen[FILES][80] = {0};
  bool fair = true;
  /* A window of 16 rows and the rows that wait for it are in any order, so passes may overlap by as many. */
  for (int i = 0; i < count; i++)
    seen[got[i] >> 40][got[i] & 0xFF]++;
  for (int s = 0; s < SOURCES; s++) {
    int least = MOST, most = 0;
    for (int file = 0; file < FILES; file++)
      for (int r = 0; source_of[file] == s && r < rows_in[file]; r++) {
        int n = seen[file][r];
        fair &= excluded(file, r) == (n == 0);
        least = n && n < least ? n : least;
        most = n > most ? n : most;
      }
    fair &= most - least <= 2;
  }
  ok(fair, "%d shuffled rows: every row of a source as often as the others", count);
  close_feed(&f);
}

/* ---- states ----------------------------------------------------------------------------------------------- */

static void resumes(brim_batching batching, bool repeat, int batches) {
  static uint64_t whole[MOST], parts[MOST];
  brim_feed_options o = options_of(batching, repeat);
  opened f = open_feed(o, 1);
  int count = read_rows(&f, batches, whole), at = 0;
  close_feed(&f);
  brim_text state;
  brim_error err;
  brim_text_init(&state, data_runtime);
  f = open_feed(o, 1);
  for (int b = 0; b < batches; b++) {
    if (b && tap_takes("opened again", (uint64_t)b)) {
      close_feed(&f);
      f = open_feed(o, 1 + b % 3);
      must(brim_feed_restore(f.feed, state.data, state.length, &err), &err);
    }
    int got = read_rows(&f, 1, parts + at);
    brim_text_clear(&state);
    must(brim_feed_save(f.feed, &state, &err), &err);
    if (got == 0)
      break;
    at += got;
  }
  close_feed(&f);
  ok(count == at && memcmp(whole, parts, sizeof *whole * (size_t)at) == 0, "%s%s: %d rows, opened again for every batch",
     brim_batching_name(batching), repeat ? ", repeating" : "", at);
  const double other[SOURCES] = {3, 1, 1};
  o.weights = other;
  f = open_feed(o, 1);
  ok_int(brim_feed_restore(f.feed, state.data, state.length, &err), BRIM_E_MISMATCH, "other weights are refused");
  close_feed(&f);
  brim_text_free(&state);
}

/* ---- standard input --------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *path, const brim_feed_options *o, bool *again) {
  brim_feed *feed;
  brim_error err;
  const brim_batch *batch;
  brim_feed_ledger l;
  brim_text state;
  must(brim_feed_open(data_runtime, &path, 1, tokenizer, o, &feed, &err), &err);
  int status;
  while ((status = brim_feed_next(feed, &batch, &err)) == BRIM_OK) {
  }
  if (status != BRIM_END)
    must(status, &err);
  brim_feed_tell(feed, &l);
  brim_text_init(&state, data_runtime);
  must(brim_feed_save(feed, &state, &err), &err);
  *again = brim_feed_restore(feed, state.data, state.length, &err) == BRIM_OK;
  if (!*again)
    printf("# %s\n", err.message);
  brim_text_free(&state);
  brim_feed_close(feed);
  return l.hash ^ l.tokens;
}

static void standard_input(void) {
  brim_feed_options o = {.plan = {.batching = BRIM_PACKED, .max_tokens = 90, .seed = 2}, .window = 15, .epochs = 1};
  bool again, from_pipe;
  const char *path = paths[2];
  uint64_t want = hash_of(path, &o, &again);
  int ends[2], kept = dup(STDIN_FILENO);
  if (pipe(ends) != 0)
    exit(99);
  pid_t child = fork();
  if (child == 0) {
    static char bytes[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, f);
    close(ends[0]);
    _exit(write(ends[1], bytes, size) == (ssize_t)size ? 0 : 1);
  }
  close(ends[1]);
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  uint64_t got = hash_of("-", &o, &from_pipe);
  dup2(kept, STDIN_FILENO);
  waitpid(child, NULL, 0);
  ok(got == want, "a pipe gives the batches of the file");
  ok(again && !from_pipe, "nothing continues from its state");
}

static void doubles(void) {
  const char *twice[] = {paths[2], scratch_file("three-*")};
  brim_feed_options o = options_of(BRIM_RANDOM, false);
  brim_feed *feed;
  brim_error err;
  ok(brim_feed_open(data_runtime, twice, 2, tokenizer, &o, &feed, &err) == BRIM_E_USAGE && strstr(err.message, "given twice"),
     "a file in two sources is refused: %s", err.message);
}

int main(void) {
  data_start(1);
  tokenizer = data_tokenizer();
  write_sources();
  as_drawn();
  passes();
  resumes(BRIM_BUCKETED, false, 100);
  resumes(BRIM_RANDOM, true, 120);
  standard_input();
  doubles();
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
