/* Ranks that each read a slice: equal steps without asking, every row on one rank, the ledgers add up, and each continues
 * anywhere.
 */

#include <zlib.h>

#include "feed_case.h"

enum { MOST_FILES = 8, MOST_ROWS = 128, MOST_WORLD = 9, MOST_BATCHES = 1200, EPOCHS = 2 };

static brim_tokenizer *tokenizer;

/* ---- data ------------------------------------------------------------------------------------------------- */

typedef struct data {
  const char *name;
  int files, rows[MOST_FILES];
  const char *paths[2];
  int path_count;
  bool damaged; /* some lines are not UTF-8 */
} data;

static data sets[] = {
    {"five files", 5, {31, 7, 50, 12, 23}, {"a"}, 1, false},
    {"one file", 1, {61}, {"b"}, 1, false},
    {"empty files, and one without a row that is kept", 7, {0, 9, 0, 1, 40, 0, 3}, {"c"}, 1, false},
    {"fewer rows than ranks", 3, {2, 0, 2}, {"d"}, 1, false},
    {"two sources", 6, {30, 9, 22, 41, 2, 17}, {"e", "f"}, 2, false},
    {"damaged rows", 4, {19, 33, 8, 25}, {"g"}, 1, true},
};
enum { SETS = sizeof sets / sizeof *sets };

static bool excluded(const data *d, int file, int row) {
  return (file * 3 + row) % 6 == 3 || (d->rows[file] == 1 && d->files == 7);
}

static bool broken(const data *d, int file, int row) {
  return d->damaged && !excluded(d, file, row) && (file + row) % 11 == 5;
}

static bool kept(const data *d, int file, int row) {
  return !excluded(d, file, row) && !broken(d, file, row);
}

static void write_data(data *d) {
  for (int i = 0; i < d->path_count; i++)
    scratch_make_folder(d->paths[i]);
  for (int f = 0; f < d->files; f++) {
    char name[64];
    snprintf(name, sizeof name, "%s/s%d.csv.gz", d->paths[d->path_count > 1 && f >= d->files / 2], f);
    gzFile gz = gzopen(scratch_file(name), "wb");
    gzputs(gz, "text\n");
    for (int r = 0; r < d->rows[f]; r++)
      gzprintf(gz, "%.*s%s\n", excluded(d, f, r) ? 1 : 2 + (f * 5 + r * r) % 17, "thequickbrownfoxjumps",
               broken(d, f, r) ? "\xff" : "");
    gzclose(gz);
  }
  for (int i = 0; i < d->path_count; i++)
    d->paths[i] = scratch_file(d->paths[i]);
}

static int count_kept(const data *d, int *left_out, int *damaged) {
  int count = 0;
  *left_out = *damaged = 0;
  for (int f = 0; f < d->files; f++)
    for (int r = 0; r < d->rows[f]; r++) {
      count += kept(d, f, r);
      *left_out += excluded(d, f, r);
      *damaged += broken(d, f, r);
    }
  return count;
}

/* ---- one rank --------------------------------------------------------------------------------------------- */

typedef struct way {
  const char *name;
  brim_plan_options plan; /* batch_size: rows of a step on each rank */
  uint64_t window;
} way;

static const way ways[] = {
    {"random", {.batching = BRIM_RANDOM, .batch_size = 4, .seed = 3}, 11},
    {"sorted, a row a rank", {.batching = BRIM_SORTED, .batch_size = 1, .seed = 4}, 9},
    {"bucketed, in parts",
     {.batching = BRIM_BUCKETED, .padding = BRIM_PAD_LONGEST, .batch_size = 6, .max_tokens = 60, .seed = 5, .read_ahead = 20},
     1000},
    {"packed", {.batching = BRIM_PACKED, .batch_size = 5, .max_tokens = 45, .accumulate = 2, .seed = 6}, 16},
    {"uniform, dropping", {.batching = BRIM_UNIFORM, .batch_size = 3, .drop_last = true, .seed = 7}, 13},
    {"sequential", {.batching = BRIM_SEQUENTIAL, .batch_size = 3}, 7},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const double weights[] = {2, 1};

static brim_feed_options options_of(const data *d, const way *w, int world, int rank) {
  brim_feed_options o = {.plan = w->plan, .rank = rank, .rank_slices = true, .window = w->window, .epochs = EPOCHS};
  o.plan.world_size = world;
  o.plan.batch_size *= world;
  o.source.min_chars = 2;
  o.source.skip_damaged = d->damaged;
  o.weights = d->path_count > 1 ? weights : NULL;
  return o;
}

static opened open_feed(const data *d, brim_feed_options o, int threads) {
  o.prefetch = threads % 3;
  return feed_of(d->paths, d->path_count, &o, threads);
}

/* ---- all ranks -------------------------------------------------------------------------------------------- */

/* What the ranks did together, step by step of all epochs. */
typedef struct together {
  uint8_t seen[EPOCHS][MOST_FILES][MOST_ROWS];
  uint8_t places[EPOCHS][MOST_ROWS * 4][64]; /* [epoch][step][place] */
  uint32_t step_rows[EPOCHS][MOST_ROWS * 4];
  uint64_t steps[EPOCHS], read[EPOCHS], excluded[EPOCHS], damaged[EPOCHS], yielded[EPOCHS], dropped[EPOCHS];
  uint64_t order[EPOCHS][MOST_FILES * MOST_ROWS]; /* rows, rank after rank */
  int ordered[EPOCHS];
  bool same, balanced;
} together;

static void take_batch(together *t, uint64_t epoch, const brim_batch *b, bool first) {
  if (first && t->step_rows[epoch][b->step] == 0)
    t->step_rows[epoch][b->step] = b->step_rows;
  t->same &= t->step_rows[epoch][b->step] == b->step_rows && b->step_rows > 0;
  for (int i = 0; i < b->count; i++) {
    t->seen[epoch][brim_feed_file(b->rows[i])][brim_feed_record(b->rows[i])]++;
    t->places[epoch][b->step][b->places[i]]++;
    t->order[epoch][t->ordered[epoch]++] = b->rows[i];
  }
}

static void take_ledger(together *t, const brim_feed_ledger *l, bool first) {
  if (first)
    t->steps[l->epoch] = l->steps;
  t->same &= t->steps[l->epoch] == l->steps;
  t->balanced &= l->rows_waiting == 0 && l->rows_read == l->rows_excluded + l->rows_damaged + l->rows_yielded + l->rows_dropped;
  t->read[l->epoch] += l->rows_read;
  t->excluded[l->epoch] += l->rows_excluded;
  t->damaged[l->epoch] += l->rows_damaged;
  t->yielded[l->epoch] += l->rows_yielded;
  t->dropped[l->epoch] += l->rows_dropped;
}

static void run_rank(const data *d, const way *w, int world, int rank, together *t) {
  opened f = open_feed(d, options_of(d, w, world, rank), 1 + rank % 2);
  brim_feed_ledger l, last = {.epoch = UINT64_MAX};
  const brim_batch *b;
  brim_error err;
  int status;
  for (;;) {
    status = brim_feed_next(f.feed, &b, &err);
    if (brim_feed_finished(f.feed, &l) && l.epoch != last.epoch) {
      take_ledger(t, &l, rank == 0);
      last = l;
    }
    if (status != BRIM_OK)
      break;
    brim_feed_tell(f.feed, &l);
    t->balanced &= l.rows_read == l.rows_excluded + l.rows_damaged + l.rows_yielded + l.rows_dropped + l.rows_waiting;
    take_batch(t, l.epoch, b, rank == 0);
  }
  if (status != BRIM_END)
    must(status, &err);
  close_feed(&f);
}

/* The kept rows of all ranks, one rank after another, are those of the files in their order. */
static bool in_file_order(const data *d, const together *t) {
  int at = 0;
  for (int f = 0; f < d->files; f++)
    for (int r = 0; r < d->rows[f]; r++)
      if (kept(d, f, r) && (at == t->ordered[0] || t->order[0][at++] != ((uint64_t)f << 40 | (uint64_t)r)))
        return false;
  return at == t->ordered[0];
}

static void all_ranks(const data *d, const way *w, int world) {
  static together t;
  int left_out, damaged, rows = count_kept(d, &left_out, &damaged), batch = (int)w->plan.batch_size * world;
  uint64_t steps = (uint64_t)(w->plan.drop_last ? rows / batch : (rows + batch - 1) / batch);
  bool once = true, whole = true, counted = true;
  memset(&t, 0, sizeof t);
  t.same = t.balanced = true;
  if (steps == 0)
    return; /* refused: see refusals */
  for (int rank = 0; rank < world; rank++)
    run_rank(d, w, world, rank, &t);
  for (int e = 0; e < EPOCHS; e++) {
    int given = 0;
    for (int f = 0; f < d->files; f++)
      for (int r = 0; r < d->rows[f]; r++) {
        once &= t.seen[e][f][r] <= kept(d, f, r);
        given += t.seen[e][f][r];
      }
    for (uint64_t s = 0; s < steps; s++) {
      uint32_t due = s + 1 < steps || w->plan.drop_last ? (uint32_t)batch : (uint32_t)(rows - (int)s * batch);
      whole &= t.step_rows[e][s] == due;
      for (uint32_t p = 0; p < 64; p++)
        whole &= t.places[e][s][p] == (p < due);
    }
    int dropped = w->plan.drop_last ? rows - (int)steps * batch : 0;
    counted &= t.steps[e] == steps && given == rows - dropped && t.yielded[e] == (uint64_t)given &&
               t.dropped[e] == (uint64_t)dropped && t.excluded[e] == (uint64_t)left_out && t.damaged[e] == (uint64_t)damaged &&
               t.read[e] == (uint64_t)(rows + left_out + damaged);
  }
  ok(once && whole && counted && t.same && t.balanced,
     "%s, %s, %d ranks: %d equal steps (%d), every row once (%d), places of a step (%d), ledgers (%d, %d)", d->name, w->name,
     world, (int)steps, t.same, once, whole, counted, t.balanced);
  if (w->plan.batching == BRIM_SEQUENTIAL && d->path_count == 1)
    ok(in_file_order(d, &t), "%s, %d ranks: the runs follow one another", d->name, world);
}

/* ---- states ----------------------------------------------------------------------------------------------- */

static uint64_t print_of(const brim_batch *b) {
  uint64_t h = b->step * 31 + b->step_rows;
  for (int i = 0; i < b->count; i++)
    h = (h ^ b->rows[i] ^ (uint64_t)b->places[i] << 50) * 0x9E3779B97F4A7C15ull;
  for (int64_t i = 0; i < b->tokens; i++)
    h = (h ^ (uint64_t)b->ids[i]) * 0x9E3779B97F4A7C15ull;
  return h;
}

static bool next_print(brim_feed *feed, uint64_t *print) {
  const brim_batch *b;
  brim_error err;
  int status = brim_feed_next(feed, &b, &err);
  if (status != BRIM_OK && status != BRIM_END)
    must(status, &err);
  *print = status == BRIM_OK ? print_of(b) : 0;
  return status == BRIM_OK;
}

static void resumes(const data *d, const way *w, int world, int rank, bool repeat) {
  static uint64_t whole[MOST_BATCHES];
  brim_feed_options o = options_of(d, w, world, rank);
  brim_text state;
  brim_error err;
  uint64_t print;
  int count = 0, good = 0, most = repeat ? 150 : MOST_BATCHES;
  o.repeat = repeat;
  o.epochs = repeat ? 0 : EPOCHS;
  opened f = open_feed(d, o, 1);
  while (count < most && next_print(f.feed, &whole[count]))
    count++;
  brim_text_init(&state, data_runtime);
  for (int b = 0; b <= count && b < most; b++) {
    if (b == 0 || tap_takes("opened again", (uint64_t)b)) {
      close_feed(&f);
      f = open_feed(d, o, 1 + b % 3);
      if (b)
        must(brim_feed_restore(f.feed, state.data, state.length, &err), &err);
    }
    bool more = next_print(f.feed, &print);
    good += more == (b < count) && (!more || print == whole[b]);
    brim_text_clear(&state);
    must(brim_feed_save(f.feed, &state, &err), &err);
  }
  close_feed(&f);
  ok(good == count + !repeat && state.length < 4000, "%s, %s%s, rank %d of %d: opened again for each of %d batches", d->name,
     w->name, repeat ? ", repeating" : "", rank, world, count);
  brim_text_free(&state);
}

/* ---- refusals --------------------------------------------------------------------------------------------- */

static void refuses(const data *d, const brim_feed_options *o, int code, const char *words) {
  brim_feed *feed;
  brim_error err;
  int status = brim_feed_open(data_runtime, d->paths, d->path_count, tokenizer, o, &feed, &err);
  ok(status == code && strstr(err.message, words), "%s", err.message);
}

static void refuses_state(const data *d, const brim_feed_options *o, const brim_text *state, const char *words) {
  brim_error err;
  opened f = open_feed(d, *o, 1);
  int status = brim_feed_restore(f.feed, state->data, state->length, &err);
  const brim_batch *b;
  ok(status == BRIM_E_MISMATCH && strstr(err.message, words), "%s", err.message);
  ok_int(brim_feed_next(f.feed, &b, &err), BRIM_OK, "and the feed is as it was");
  close_feed(&f);
}

static void refusals(void) {
  const data *d = &sets[0];
  brim_feed_options o = options_of(d, &ways[0], 3, 1);
  brim_text state;
  brim_error err;
  uint64_t print;
  opened f = open_feed(d, o, 1);
  next_print(f.feed, &print);
  brim_text_init(&state, data_runtime);
  must(brim_feed_save(f.feed, &state, &err), &err);
  close_feed(&f);
  o.plan.world_size = 4;
  refuses_state(d, &o, &state, "by rank 1 of 3, but this is rank 1 of 4");
  o.plan.world_size = 3;
  o.rank = 2;
  refuses_state(d, &o, &state, "by rank 1 of 3, but this is rank 2 of 3");
  o.rank_slices = false;
  refuses_state(d, &o, &state, "other options");
  o.rank_slices = true;
  brim_text_free(&state);
  o.plan.batch_size = 32;
  refuses(d, &o, BRIM_E_USAGE,
          "32 rows of a batch cannot be shared equally by 3 ranks: give a batch_size that is a multiple of 3");
  o.plan.batch_size = 0;
  o.plan.max_tokens = 100;
  refuses(d, &o, BRIM_E_USAGE, "rank_slices needs batch_size too");
  o = options_of(d, &ways[4], 9, 0);
  o.plan.batch_size = 900;
  refuses(d, &o, BRIM_E_USAGE, "no full step");
  o = options_of(&sets[3], &ways[0], 9, 0);
  o.repeat = true;
  o.epochs = 0;
  refuses(&sets[3], &o, BRIM_E_USAGE, "cannot repeat on each of 9 ranks");
  o = options_of(d, &ways[0], 2, 0);
  o.source.min_chars = 1000;
  refuses(d, &o, BRIM_E_FORMAT, "no rows are left: min_chars and where exclude ");
  o = options_of(d, &ways[0], 1, 0);
  o.epochs = 1;
  refuses(&(data){.paths = {"-"}, .path_count = 1}, &o, BRIM_E_USAGE, "cannot be read in slices");
}

/* Of counts of ranks, data and ways every pair, with a third of the triples, by the seed. TAP_ALL=1: all. */
static bool takes(int world, int set, int how) {
  const uint64_t pairs = 3, at = (uint64_t)((world * SETS + set) * WAYS + how);
  const bool pair = (uint64_t)(world + set + how) % pairs == tap_draw("pairs", 0) % pairs;
  return tap_takes("ranks", at) && (pair || TAP_ONE_IN > 1 || tap_asks_all());
}

int main(void) {
  data_start(1);
  tokenizer = data_tokenizer();
  for (int i = 0; i < SETS; i++)
    write_data(&sets[i]);
  for (int world = 1; world <= MOST_WORLD; world++)
    for (int i = 0; i < SETS; i++)
      for (int w = 0; w < WAYS; w++)
        if (takes(world, i, w))
          all_ranks(&sets[i], &ways[w], world);
  for (int w = 0; w < WAYS; w++) {
    if (tap_takes("resumes", (uint64_t)w))
      resumes(&sets[w % SETS], &ways[w], 3, w % 3, false);
    if (tap_takes("resumes of two", (uint64_t)w))
      resumes(&sets[(w + 3) % SETS], &ways[w == 4 ? 0 : w], 2, 1, false);
  }
  resumes(&sets[4], &ways[0], 3, 2, true);
  resumes(&sets[0], &ways[3], 4, 1, true);
  refusals();
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
