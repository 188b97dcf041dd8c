/* Streams of rows with blocks of numbers from columns: each row's with it, whatever the strategy, for any number of threads and
 * ranks, and from any place where the stream was interrupted. */
#include "feed_case.h"

enum { FILES = 3, ROWS = 40, MOST_TEXTS = 3, WIDTH = 3, MOST_BATCHES = 400, MOST_WORLD = 4 };

static const char *paths[FILES];
static const char *const columns[] = {"query", "answers"};
static const brim_block_column blocks[] = {
    {.column = "vector", .shape = {.name = "teacher", .per = BRIM_PER_TEXT, .width = WIDTH}},
    {.column = "kinds", .shape = {.name = "kinds", .per = BRIM_PER_ROW, .integers = true, .width = 2}}};

static int answers_of(int file, int row) {
  return (file * 5 + row * 7) % MOST_TEXTS;
}

/* Of the vector of text t, exactly. */
static float number_of(int file, int row, int text, int k) {
  return (float)(file * 1000 + row * 10 + text) + (float)k * 0.25F;
}

static void write_files(void) {
  for (int f = 0; f < FILES; f++) {
    char lines[ROWS * 256], name[32], *to = lines;
    for (int r = 0; r < ROWS; r++) {
      to += sprintf(to, "{\"kinds\": [%d, -7], \"query\": \"q%c\", \"answers\": [", f * 100 + r, 'a' + r % 26);
      for (int a = 0; a < answers_of(f, r); a++)
        to += sprintf(to, "%s\"%.*s\"", a ? ", " : "", 1 + (r + a) % 7, "abcdefgh");
      to += sprintf(to, "], \"vector\": [");
      for (int t = 0; t <= answers_of(f, r); t++)
        to += sprintf(to, "%s%g, %g,%g%s", r % 2 ? (t ? ", [" : "[") : (t ? ", " : ""), (double)number_of(f, r, t, 0),
                      (double)number_of(f, r, t, 1), (double)number_of(f, r, t, 2), r % 2 ? "]" : "");
      to += sprintf(to, "]}\n");
    }
    snprintf(name, sizeof name, "f%d.jsonl", f);
    paths[f] = strdup(scratch_write(name, lines));
  }
}

static opened open_feed(const brim_feed_options *o, int threads) {
  return feed_of(paths, FILES, o, threads);
}

static brim_feed_options options_of(brim_plan_options plan) {
  return (brim_feed_options){.source = {.text_columns = columns,
                                        .text_column_count = 2,
                                        .least_columns = 1,
                                        .most_texts = MOST_TEXTS,
                                        .blocks = blocks,
                                        .block_count = 2},
                             .plan = plan,
                             .window = 33,
                             .epochs = 2,
                             .encode.max_length = 12};
}

/* ---- what a batch holds -------------------------------------------------------------------------------------- */

static int wrong_numbers(const brim_batch *b) {
  const int teacher = brim_block_find(b->shapes, b->block_count, "teacher"),
            kinds = brim_block_find(b->shapes, b->block_count, "kinds");
  int wrong = teacher != 1 || kinds != 2 || b->shapes[1].per != BRIM_PER_TEXT || !b->shapes[2].integers;
  const float *vectors = b->blocks[1];
  const int32_t *pairs = b->blocks[2];
  for (int32_t r = 0; r < b->row_count && !wrong; r++) {
    const int file = (int)brim_feed_file(b->rows[r]), row = (int)brim_feed_record(b->rows[r]);
    int32_t first;
    const int32_t count = brim_batch_texts(b, r, &first);
    wrong += count != 1 + answers_of(file, row) || pairs[2 * r] != file * 100 + row || pairs[2 * r + 1] != -7;
    for (int32_t t = 0; t < count; t++)
      for (int k = 0; k < WIDTH; k++)
        wrong += vectors[(first + t) * WIDTH + k] != number_of(file, row, t, k);
  }
  return wrong;
}

static uint64_t print_of(const brim_batch *b) {
  uint64_t h = (uint64_t)b->count * 31 + b->step;
  for (int32_t i = 0; i < b->row_count; i++)
    h = mix(h, b->rows[i]);
  return h;
}

/* All batches of a run: *wrong, their prints, and the state before each. Returns their number. */
static int run(const brim_feed_options *o, int threads, uint64_t *prints, brim_text *states, int *wrong) {
  opened f = open_feed(o, threads);
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
    *wrong += wrong_numbers(batch);
    prints[count] = print_of(batch);
  }
  close_feed(&f);
  return count;
}

static uint64_t prints[MOST_BATCHES], others[MOST_BATCHES];
static brim_text states[MOST_BATCHES];

/* From each place, by another number of threads: what waited in an earlier window is read again. */
static void check_resume(const char *name, const brim_feed_options *o) {
  int wrong = 0, bad = 0;
  const int count = run(o, 2, prints, states, &wrong);
  for (int i = 0; i <= count; i++) {
    opened f = open_feed(o, 1 + i % 2);
    const brim_batch *batch;
    brim_error err;
    must(brim_feed_restore(f.feed, states[i].data, states[i].length, &err), &err);
    for (int k = i; k <= count && k < i + 6; k++) {
      const int status = brim_feed_next(f.feed, &batch, &err);
      bad += status == BRIM_END ? k != count
                                : status != BRIM_OK || k == count || print_of(batch) != prints[k] || wrong_numbers(batch);
    }
    close_feed(&f);
    brim_text_free(&states[i]);
  }
  ok(bad == 0 && wrong == 0 && count > 2, "%s: each row's numbers, also from before each of %d batches on", name, count);
}

static void check_ranks(brim_feed_options o, bool slices) {
  int wrong = 0;
  for (int32_t world = 1; world <= MOST_WORLD; world++) {
    o.plan.world_size = world;
    o.rank_slices = slices;
    for (o.rank = 0; o.rank < world; o.rank++)
      (void)run(&o, 1 + world % 2, others, NULL, &wrong);
  }
  ok(wrong == 0, "each row's numbers on 1 to %d ranks%s", MOST_WORLD, slices ? " that read their own rows" : "");
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

static int open_fails(const brim_feed_options *o, const char *path, brim_error *err) {
  brim_tokenizer *tokenizer;
  brim_feed *feed = NULL;
  const brim_batch *batch;
  must(brim_tokenizer_load(data_runtime, scratch_file("vocab.txt"), &tokenizer, err), err);
  int status = brim_feed_open(data_runtime, &path, 1, tokenizer, o, &feed, err);
  if (!status)
    status = brim_feed_next(feed, &batch, err);
  brim_feed_close(feed);
  brim_tokenizer_free(tokenizer);
  return status;
}

static void check_refused(void) {
  static const struct {
    const char *line, *words;
  } lines[] = {{"{\"text\": \"a\", \"vector\": [1, 2]}", "2 numbers of teacher: a row has 3, and every row has as many"},
               {"{\"text\": \"a\", \"vector\": [1, 2, \"x\"]}", "a list of numbers is expected"},
               {"{\"text\": \"a\", \"vector\": [[1, 2, 3]]}", "a list of numbers is expected"},
               {"{\"text\": \"a\", \"vector\": [1, 2, 1e60]}", "1e60 is too large"},
               {"{\"text\": \"a\", \"vector\": null}", "\"vector\" is null"},
               {"{\"text\": \"a\"}", "there is no \"vector\""}};
  brim_block_column one = {.column = "vector", .shape = {.name = "teacher", .width = WIDTH}};
  brim_feed_options o = {
      .source = {.blocks = &one, .block_count = 1}, .plan.batch_size = 4, .window = 8, .epochs = 1, .encode.max_length = 12};
  brim_error err = {0};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    const char *path = scratch_write("bad.jsonl", lines[i].line);
    ok(open_fails(&o, path, &err) && strstr(err.message, lines[i].words) && err.line == 1, "%s", err.message);
  }
  one.shape.width = 0;
  ok(open_fails(&o, paths[0], &err) == BRIM_E_USAGE && strstr(err.message, "beforehand"), "%s", err.message);
}

/* A column may be two things at once: two blocks here, and the label. */
static void check_shared(void) {
  const brim_block_column twice[] = {{.column = "v", .shape = {.name = "one", .width = WIDTH}},
                                     {.column = "v", .shape = {.name = "other", .width = WIDTH}}};
  const char *path = scratch_write("shared.jsonl", "{\"v\": [1, 2, 3.5], \"z\": [[]], \"text\": \"a\"}\n"
                                                   "{\"text\": \"b\", \"v\": [4,5,6]}\n");
  brim_labels values;
  brim_dataset *dataset = NULL;
  brim_tokenizer *tokenizer;
  brim_sample s = {0};
  brim_error err = {0};
  must(brim_labels_make(data_runtime, BRIM_TASK_REGRESSION, NULL, WIDTH, &values, &err), &err);
  must(brim_tokenizer_load(data_runtime, scratch_file("vocab.txt"), &tokenizer, &err), &err);
  const brim_dataset_options how = {.source = {.need_label = true, .label_column = "v", .blocks = twice, .block_count = 2},
                                    .labels = &values};
  must(brim_dataset_load(data_runtime, &path, 1, tokenizer, &how, &dataset, &err), &err);
  brim_dataset_sample(dataset, 0, &s);
  const float *one = s.blocks[1], *other = s.blocks[2];
  ok(brim_dataset_rows(dataset) == 2 && one[2] == 3.5F && memcmp(one, other, WIDTH * sizeof *one) == 0 &&
         memcmp(one, s.labels, WIDTH * sizeof *one) == 0,
     "a column is the label and two blocks");
  brim_dataset_free(dataset);
  brim_labels_free(&values);
  brim_block_column of_texts = {.column = "v", .shape = {.name = "teacher", .per = BRIM_PER_TEXT, .width = WIDTH}};
  const brim_dataset_options windows = {.source = {.blocks = &of_texts, .block_count = 1},
                                        .encode = {.max_length = 4, .max_windows = 3}};
  ok(brim_dataset_load(data_runtime, &path, 1, tokenizer, &windows, &dataset, &err) == BRIM_E_USAGE &&
         strstr(err.message, "windows make a row's texts"),
     "%s", err.message);
  brim_tokenizer_free(tokenizer);
}

/* A state is of one set of columns. */
static void check_state(void) {
  const brim_feed_options o = options_of((brim_plan_options){.batch_size = 8});
  brim_feed_options fewer = o;
  brim_text state;
  brim_error err = {0};
  opened f = open_feed(&o, 1);
  brim_text_init(&state, data_runtime);
  must(brim_feed_save(f.feed, &state, &err), &err);
  ok(brim_feed_memory(f.feed) > 0, "windows take memory");
  close_feed(&f);
  fewer.source.block_count = 1;
  f = open_feed(&fewer, 1);
  ok(brim_feed_restore(f.feed, state.data, state.length, &err) == BRIM_E_MISMATCH, "%s", err.message);
  close_feed(&f);
  brim_text_free(&state);
}

int main(void) {
  static const struct {
    const char *name;
    brim_plan_options plan;
  } ways[] = {{"random", {.batching = BRIM_RANDOM, .batch_size = 8, .seed = 1}},
              {"uniform, padded", {.batching = BRIM_UNIFORM, .padding = BRIM_PAD_LONGEST, .batch_size = 8}},
              {"packed", {.batching = BRIM_PACKED, .max_tokens = 60, .oversize = BRIM_OVERSIZE_ALONE}},
              {"bucketed", {.batching = BRIM_BUCKETED, .max_tokens = 80, .oversize = BRIM_OVERSIZE_ALONE, .read_ahead = 20}}};
  data_start(1);
  brim_tokenizer_free(data_tokenizer()); /* writes its file */
  write_files();
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const brim_feed_options o = options_of(ways[i].plan);
    check_resume(ways[i].name, &o);
  }
  check_ranks(options_of((brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 12}), false);
  check_ranks(options_of((brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 12}), true);
  check_refused();
  check_shared();
  check_state();
  brim_runtime_free(data_runtime);
  return tap_done();
}
