/* Feeds: what comes out depends on nothing but data, options and seed; it continues anywhere exactly; nothing is lost. */
#include "brim/feed.h"

#include <signal.h>
#include <sys/wait.h>
#include <zlib.h>

#include "feed_case.h"

enum { FILES = 7, ROWS = 230, EPOCHS = 3, MOST_BATCHES = 1500 };

static const char *shards;
static int rows_in[FILES];

/* Row `row` of a file: its text has a length of its own, and names the row. */
static void row_text(int file, int row, char *out) {
  int length = 1 + (file * 37 + row * row * 11) % 23;
  for (int i = 0; i < length; i++)
    out[i] = (char)('a' + (file + row * (i + 3)) % 26);
  out[length] = 0;
}

static void write_shards(void) {
  scratch_make_folder("shards");
  shards = scratch_file("shards");
  for (int f = 0; f < FILES; f++) {
    char name[64], text[32];
    snprintf(name, sizeof name, "shards/s%d.csv.gz", f);
    gzFile gz = gzopen(scratch_file(name), "wb");
    gzputs(gz, "split,text,label\n");
    rows_in[f] = ROWS / FILES + f * 5 % 7;
    for (int r = 0; r < rows_in[f]; r++) {
      row_text(f, r, text);
      gzprintf(gz, "%s,\"%s\",%s\n", r % 9 == 4 ? "no" : "yes", text, r % 3 ? "pos" : "neg");
    }
    gzclose(gz);
  }
}

/* ---- one run ---------------------------------------------------------------------------------------------- */

typedef struct way {
  const char *name;
  brim_plan_options plan;
  uint64_t window;
  bool labels;
} way;

static const way ways[] = {
    {"bucketed, padded",
     {.batching = BRIM_BUCKETED, .padding = BRIM_PAD_LONGEST, .max_tokens = 200, .read_ahead = 30, .seed = 3, .max_length = 16},
     50,
     true},
    {"packed, ragged", {.batching = BRIM_PACKED, .max_tokens = 150, .seed = 4, .read_ahead = 40}, 64, false},
    {"packed, three batches a step", {.batching = BRIM_PACKED, .max_tokens = 90, .accumulate = 3, .seed = 4}, 70, true},
    {"random rows, in parts", {.batching = BRIM_RANDOM, .batch_size = 12, .max_tokens = 120, .seed = 5}, 33, true},
    {"sorted, short rows dropped", {.batching = BRIM_SORTED, .batch_size = 16, .seed = 6, .drop_last = true}, 40, false},
    {"uniform", {.batching = BRIM_UNIFORM, .max_tokens = 170, .seed = 7}, 57, false},
    {"sequential", {.batching = BRIM_SEQUENTIAL, .batch_size = 10}, 25, false},
    {"a window smaller than a step", {.batching = BRIM_RANDOM, .batch_size = 40, .seed = 8}, 9, false},
    {"one window", {.batching = BRIM_BUCKETED, .max_tokens = 300, .read_ahead = 60, .seed = 9}, 100000, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const brim_where condition = {"split", "yes"};
static brim_labels labels;

static brim_feed_options options_of(const way *w) {
  brim_feed_options o = {.plan = w->plan, .window = w->window, .epochs = EPOCHS, .encode.max_length = 16};
  o.source.where = &condition;
  o.source.where_count = 1;
  o.source.need_label = w->labels;
  if (w->labels)
    o.labels = &labels;
  return o;
}

static opened open_feed(const brim_feed_options *o, int threads) {
  return feed_of(&shards, 1, o, threads);
}

/* Everything about a batch in one number. */
static uint64_t print_of(const brim_batch *b) {
  uint64_t h = mix(mix(mix(mix(1, (uint64_t)b->count), (uint64_t)b->width), b->step), b->step_rows);
  for (int i = 0; i < b->count; i++) {
    uint32_t label;
    memcpy(&label, &b->labels[i], sizeof label);
    h = mix(mix(mix(h, b->rows[i]), b->places[i]), b->labels[i] == b->labels[i] ? label : 0);
  }
  for (int64_t i = 0; i < b->tokens; i++)
    h = mix(h, (uint64_t)b->ids[i]);
  return h;
}

static int next_print(brim_feed *feed, uint64_t *print) {
  const brim_batch *batch;
  brim_error err;
  int status = brim_feed_next(feed, &batch, &err);
  if (status != BRIM_END)
    must(status, &err);
  if (status == BRIM_OK)
    *print = print_of(batch);
  return status;
}

/* All batches of a run, and the state before each and after the last if `states` is not NULL. */
static int run(const brim_feed_options *o, int threads, uint64_t *prints, brim_text *states) {
  opened f = open_feed(o, threads);
  brim_error err;
  int count = 0;
  for (;; count++) {
    if (states) {
      brim_text_init(&states[count], data_runtime);
      must(brim_feed_save(f.feed, &states[count], &err), &err);
    }
    if (next_print(f.feed, &prints[count]) == BRIM_END)
      break;
  }
  close_feed(&f);
  return count;
}

/* ---- properties ------------------------------------------------------------------------------------------- */

static uint64_t prints[MOST_BATCHES], others[MOST_BATCHES];
static brim_text states[MOST_BATCHES];

static void threads_do_not_matter(const way *w) {
  static const int threads[] = {1, 2, 3, 8}, prefetch[] = {0, 1, 3, 2};
  brim_feed_options o = options_of(w);
  int count = run(&o, 1, prints, NULL);
  bool same = true;
  for (int t = 0; t < 4; t++) {
    o.prefetch = prefetch[t];
    int other = run(&o, threads[t], others, NULL);
    same &= other == count && memcmp(prints, others, sizeof *prints * (size_t)count) == 0;
  }
  ok(same && count > EPOCHS, "%s: %d batches, the same with 1, 2, 3, 8 threads and any prefetch", w->name, count);
}

/* Continues from every state (every `stride`-th) in a fresh feed, to the end of the run or as far as `most` batches. */
static void resumes_everywhere(const way *w, int most, int stride) {
  brim_feed_options o = options_of(w);
  int count = run(&o, 2, prints, states), bad = -1, places = 0;
  for (int i = 0; i <= count && bad < 0; i += stride) {
    if (!tap_takes(w->name, (uint64_t)(i / stride)))
      continue;
    places++;
    o.prefetch = i / stride % 3;
    opened f = open_feed(&o, 1 + i / stride % 3);
    brim_error err;
    uint64_t print;
    brim_text again;
    must(brim_feed_restore(f.feed, states[i].data, states[i].length, &err), &err);
    brim_text_init(&again, f.runtime);
    must(brim_feed_save(f.feed, &again, &err), &err);
    if (again.length != states[i].length || memcmp(again.data, states[i].data, again.length) != 0)
      bad = i;
    brim_text_free(&again);
    for (int k = i; k < i + most && k <= count && bad < 0; k++) {
      int status = next_print(f.feed, &print);
      if (status == BRIM_END ? k != count : k == count || print != prints[k])
        bad = i;
    }
    close_feed(&f);
  }
  ok(bad < 0, "%s: continues from %d of %d places", w->name, places, count + 1);
  if (bad >= 0)
    printf("# not from batch %d: %.600s\n", bad, states[bad].data);
  for (int i = 0; i <= count; i++)
    brim_text_free(&states[i]);
}

/* A process of its own: continues where the last one was killed, and is killed after `most` batches. Ends by itself after the
 * last. */
static void one_life(const char *folder, int which, int life, int most) {
  snprintf(scratch_path, sizeof scratch_path, "%s", folder); /* which is the parent's to remove */
  shards = scratch_file("shards");
  brim_feed_options o = options_of(&ways[which]);
  o.prefetch = life % 3;
  opened f = open_feed(&o, 1 + life % 3);
  brim_error err;
  char *bytes;
  size_t length;
  uint64_t print;
  const char *saved = scratch_file("state");
  if (access(saved, F_OK) == 0) {
    must(brim_file_read_all(f.runtime, saved, 0, &bytes, &length, &err), &err);
    must(brim_feed_restore(f.feed, bytes, length, &err), &err);
  }
  for (int left = most; next_print(f.feed, &print) == BRIM_OK; left--) {
    brim_text state;
    FILE *out = fopen(scratch_file("log"), "a");
    fprintf(out, "%016llx\n", (unsigned long long)print);
    fclose(out);
    brim_text_init(&state, f.runtime);
    must(brim_feed_save(f.feed, &state, &err), &err);
    must(brim_file_write_all(f.runtime, saved, state.data, state.length, &err), &err);
    brim_text_free(&state);
    if (left == 1)
      raise(SIGKILL);
  }
  close_feed(&f);
  _exit(0);
}

/* `most` 0: lives of 1 to 5 batches. */
static int begin_life(int which, int life, int most) {
  char numbers[3][16];
  int status = 1;
  snprintf(numbers[0], sizeof *numbers, "%d", which);
  snprintf(numbers[1], sizeof *numbers, "%d", life);
  snprintf(numbers[2], sizeof *numbers, "%d", most > 0 ? most : 1 + life * 7 % 5);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "feed", scratch_folder(), numbers[0], numbers[1], numbers[2], (char *)NULL);
    _exit(98);
  }
  waitpid(child, &status, 0);
  return status;
}

static void killed_and_resumed(int which, int most) {
  brim_feed_options o = options_of(&ways[which]);
  int count = run(&o, 1, prints, NULL), lives = 0, logged = 0, status = 0;
  remove(scratch_file("log"));
  remove(scratch_file("state"));
  while (lives <= count && (status = begin_life(which, lives, most)) && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    lives++;
  FILE *in = fopen(scratch_file("log"), "r");
  bool same = true;
  for (unsigned long long print; in && fscanf(in, "%llx", &print) == 1; logged++)
    same &= logged < count && print == prints[logged];
  if (in)
    fclose(in);
  ok(status == 0 && same && logged == count && (most != 1 || lives == count),
     "%s: killed %d times in %d batches: the same batches, once each", ways[which].name, lives, count);
}

/* Each row of an epoch once, with the tokens of its text; the ledger agrees. */
static void nothing_is_lost(const way *w) {
  static uint8_t seen[FILES][ROWS];
  brim_feed_options o = options_of(w);
  opened f = open_feed(&o, 2);
  brim_encoding encoding = {0};
  brim_scratch *scratch;
  brim_error err;
  brim_feed_ledger l, last = {0};
  bool once = true, full = true, texts = true, balanced = true, budget = true;
  uint64_t excluded = 0, total = 0, hashes[EPOCHS];
  int epochs = 0;
  must(brim_scratch_new(f.runtime, f.tokenizer, &scratch, &err), &err);
  for (int i = 0; i < FILES; i++)
    for (int r = 0; r < rows_in[i]; r++, total++)
      excluded += r % 9 == 4;
  for (;;) {
    const brim_batch *b;
    int status = brim_feed_next(f.feed, &b, &err);
    brim_feed_ledger finished;
    if (brim_feed_finished(f.feed, &finished) && (epochs == 0 || finished.epoch != last.epoch)) {
      last = finished;
      hashes[epochs++] = last.hash;
      uint64_t count = 0;
      for (int i = 0; i < FILES; i++)
        for (int r = 0; r < rows_in[i]; r++) {
          count += seen[i][r];
          once &= seen[i][r] <= 1 && !(seen[i][r] && r % 9 == 4);
          seen[i][r] = 0;
        }
      if (w->plan.batch_size) { /* only the epoch ends short, no window does */
        uint64_t size = (uint64_t)w->plan.batch_size, all = total - excluded;
        full &= last.steps == (w->plan.drop_last ? all / size : (all + size - 1) / size);
      }
      balanced &= last.rows_read == total && last.rows_excluded == excluded && last.rows_waiting == 0 &&
                  last.rows_yielded == count && last.rows_yielded + last.rows_dropped + excluded == total &&
                  (w->plan.drop_last || last.rows_dropped == 0);
    }
    if (status == BRIM_END)
      break;
    must(status, &err);
    brim_feed_tell(f.feed, &l);
    balanced &= l.rows_read == l.rows_excluded + l.rows_yielded + l.rows_dropped + l.rows_waiting;
    budget &= w->plan.max_tokens == 0 || b->slots <= w->plan.max_tokens;
    for (int i = 0; i < b->count; i++) {
      int file = (int)brim_feed_file(b->rows[i]), row = (int)brim_feed_record(b->rows[i]);
      char text[32];
      seen[file][row]++;
      row_text(file, row, text);
      must(brim_tokenizer_encode(f.tokenizer, scratch, text, strlen(text), NULL, 0, &o.encode, &encoding, &err), &err);
      int32_t length = b->offsets[i + 1] - b->offsets[i];
      texts &= length == (int32_t)encoding.length &&
               memcmp(encoding.ids, b->ids + b->offsets[i], (size_t)length * sizeof *b->ids) == 0;
      texts &= !w->labels || b->labels[i] == (row % 3 ? 1.0f : 0.0f);
    }
  }
  ok(once && epochs == EPOCHS, "%s: every row once in each of %d epochs", w->name, epochs);
  ok(texts, "%s: rows have their own tokens and labels", w->name);
  ok(balanced, "%s: read = excluded + yielded + dropped + waiting", w->name);
  ok(full, "%s: steps are full up to the end of the epoch", w->name);
  ok(budget, "%s: no batch is over the budget", w->name);
  bool fresh = hashes[0] != hashes[1] && hashes[1] != hashes[2];
  ok(fresh == (w->plan.batching != BRIM_SEQUENTIAL), "%s: a new order every epoch, unless sequential", w->name);
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
  close_feed(&f);
}

/* Any number of ranks: the same steps, equally many batches on each rank, every row on one of them. */
static void ranks(const way *w, int world) {
  static uint8_t seen[FILES][ROWS];
  brim_feed_ledger one, many;
  brim_feed_options o = options_of(w);
  o.epochs = 1;
  opened f = open_feed(&o, 1);
  while (next_print(f.feed, prints) == BRIM_OK) {
  }
  brim_feed_tell(f.feed, &one);
  close_feed(&f);
  int batches[16];
  uint64_t rows = 0;
  bool same = true, once = true;
  memset(seen, 0, sizeof seen);
  o.plan.world_size = world;
  for (o.rank = 0; o.rank < world; o.rank++) {
    const brim_batch *b;
    brim_error err;
    o.prefetch = o.rank % 2;
    f = open_feed(&o, 1 + o.rank % 2);
    for (batches[o.rank] = 0; brim_feed_next(f.feed, &b, &err) == BRIM_OK; batches[o.rank]++) {
      rows += (uint64_t)b->count;
      same &= w->plan.max_tokens == 0 || b->slots <= w->plan.max_tokens;
      for (int i = 0; i < b->count; i++)
        once &= ++seen[brim_feed_file(b->rows[i])][brim_feed_record(b->rows[i])] == 1;
    }
    brim_feed_tell(f.feed, &many);
    same &= many.hash == one.hash && many.steps == one.steps && batches[o.rank] == batches[0];
    close_feed(&f);
  }
  ok(same && once && rows == one.rows_yielded, "%s: %d ranks take the same steps as one, with equally many batches", w->name,
     world);
}

static void all_ranks(void) {
  static const way shared[] = {
      {"random rows", {.batching = BRIM_RANDOM, .batch_size = 24, .max_tokens = 100, .seed = 5}, 60, true},
      {"packed", {.batching = BRIM_PACKED, .max_tokens = 100, .accumulate = 4, .seed = 5}, 60, false},
      {"sorted, padded", {.batching = BRIM_SORTED, .padding = BRIM_PAD_LONGEST, .batch_size = 10, .seed = 6}, 35, false}};
  for (int world = 1; world <= 9; world++)
    for (int s = 0; s < 3; s++)
      if (tap_takes("ranks", (uint64_t)(world * 3 + s)))
        ranks(&shared[s], world);
}

static void another_world(void) {
  brim_feed_options o = options_of(&(way){"", {.batching = BRIM_RANDOM, .batch_size = 24, .seed = 5}, 60, false});
  brim_feed_ledger whole, changed;
  brim_text state;
  brim_error err;
  opened f = open_feed(&o, 1);
  while (next_print(f.feed, prints) == BRIM_OK) {
  }
  brim_feed_tell(f.feed, &whole);
  close_feed(&f);
  f = open_feed(&o, 1);
  for (int i = 0; i < 12; i++)
    next_print(f.feed, prints);
  brim_text_init(&state, data_runtime);
  must(brim_feed_save(f.feed, &state, &err), &err);
  close_feed(&f);
  o.plan.world_size = 3;
  o.rank = 2;
  f = open_feed(&o, 1);
  must(brim_feed_restore(f.feed, state.data, state.length, &err), &err);
  while (next_print(f.feed, prints) == BRIM_OK) {
  }
  brim_feed_tell(f.feed, &changed);
  ok(whole.hash == changed.hash && whole.rows_yielded == changed.rows_yielded, "a state of one rank is resumed by three");
  close_feed(&f);
  brim_text_free(&state);
}

int main(int argc, char **argv) {
  brim_error err;
  static const char *const names[] = {"neg", "pos"};
  data_start(1);
  must(brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 2, &labels, &err), &err);
  if (argc == 5)
    one_life(argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
  brim_tokenizer_free(data_tokenizer());
  write_shards();
  for (int i = 0; i < WAYS; i++) {
    nothing_is_lost(&ways[i]);
    threads_do_not_matter(&ways[i]);
    resumes_everywhere(&ways[i], i < 2 ? MOST_BATCHES : 25, i < 2 ? 1 : 5);
  }
  if (tap_takes("killed", 0))
    killed_and_resumed(0, 1); /* after every batch */
  if (tap_takes("killed", 1))
    killed_and_resumed(2, 1);
  if (tap_takes("killed", 2))
    killed_and_resumed(0, 0);
  all_ranks();
  another_world();
  brim_labels_free(&labels);
  brim_runtime_free(data_runtime);
  return tap_done();
}
