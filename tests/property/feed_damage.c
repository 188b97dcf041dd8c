/* Damaged files in a feed: an error with file and byte, or passed over if that is asked for, with the whole rows before the
 * damage kept, one line in the ledger, and the same rows with any number of threads and after any interruption. */
#include "brim/feed.h"

#include <zlib.h>
#include <zstd.h>

#include "data_tokenizer.h"
#include "feed/steps.h"

enum { ROWS = 120, MOST = 400 };

static brim_tokenizer *tokenizer;
static const char *folder;

/* Lines of different lengths, of letters that hardly compress. */
static size_t write_lines(char *out) {
  size_t used = 0;
  uint64_t state = 1;
  for (int r = 0; r < ROWS; r++) {
    int length = 1 + r * 13 % 37;
    for (int i = 0; i < length; i++) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      out[used++] = (char)('a' + (state >> 40) % 26);
    }
    out[used++] = '\n';
  }
  return used;
}

static brim_feed_options options_of(bool skip, int prefetch) {
  brim_feed_options o = {.plan = {.batching = BRIM_BUCKETED, .max_tokens = 160, .read_ahead = 12, .seed = 3},
                         .encode = {.max_length = 40},
                         .window = 25,
                         .epochs = 2,
                         .prefetch = prefetch};
  o.source.skip_damaged = skip;
  o.source.max_record = 500;
  return o;
}

typedef struct outcome {
  int status, batches;
  uint64_t rows, last; /* of file b, in the first epoch, and the highest record of them */
  uint64_t prints[MOST];
  brim_feed_ledger ledger; /* of the first epoch */
  uint64_t listed;
  char why[1200], message[1200];
} outcome;

static void note_end(brim_feed *feed, outcome *out) {
  uint64_t count;
  const brim_exclusion *damage = brim_feed_damage(feed, &count);
  brim_feed_tell(feed, &out->ledger);
  out->listed = count;
  snprintf(out->why, sizeof out->why, "%s", count ? damage[0].reason : "");
}

/* Opened again before one batch in so many: another of them in the case after, so that all come about. */
enum { AGAIN_ONE_IN = 4 };

/* Reads two epochs, threads as given; `again`: opens the feed again on the way and continues from the saved state. */
static outcome read_all(const char *path, bool skip, int threads, bool again) {
  static int begins;
  const int turn = again ? ++begins : 0;
  outcome out = {0};
  brim_runtime *runtime;
  brim_feed *feed = NULL;
  brim_error err = {0};
  brim_text state;
  const brim_batch *batch;
  brim_feed_options o = options_of(skip, threads % 3);
  if (brim_runtime_new(&(brim_runtime_options){.threads = threads}, &runtime, &err))
    exit(99);
  brim_text_init(&state, runtime);
  out.status = brim_feed_open(runtime, &path, 1, tokenizer, &o, &feed, &err);
  while (out.status == BRIM_OK && (out.status = brim_feed_next(feed, &batch, &err)) == BRIM_OK) {
    bool over, first;
    brim_feed_tell(feed, &out.ledger);
    first = out.ledger.epoch == 0;
    uint64_t h = batch->step;
    for (int i = 0; i < batch->count; i++) {
      h = (h ^ batch->rows[i]) * 0x9E3779B97F4A7C15ull;
      for (int32_t t = batch->offsets[i]; t < batch->offsets[i + 1]; t++)
        h = (h ^ (uint64_t)batch->ids[t]) * 0x9E3779B97F4A7C15ull;
      if (first && brim_feed_file(batch->rows[i]) == 1) {
        out.rows++;
        out.last = brim_feed_record(batch->rows[i]) > out.last ? brim_feed_record(batch->rows[i]) : out.last;
      }
    }
    out.prints[out.batches++] = h;
    if (again && (out.batches + turn) % AGAIN_ONE_IN == 0) {
      brim_text_clear(&state);
      out.status = brim_feed_save(feed, &state, &err);
      brim_feed_close(feed);
      feed = NULL;
      if (out.status == BRIM_OK)
        out.status = brim_feed_open(runtime, &path, 1, tokenizer, &o, &feed, &err);
      if (out.status == BRIM_OK)
        out.status = brim_feed_restore(feed, state.data, state.length, &err);
    } else if (!again && first && (out.status = brim_feed_epoch_over(feed, &over, &err)) == BRIM_OK && over) {
      note_end(feed, &out);
    }
  }
  brim_error_text(&err, out.message, sizeof out.message);
  if (again && feed)
    note_end(feed, &out);
  brim_feed_close(feed);
  brim_text_free(&state);
  brim_runtime_free(runtime);
  return out;
}

static bool same(const outcome *a, const outcome *b) {
  return a->status == BRIM_END && b->status == BRIM_END && a->batches == b->batches &&
         memcmp(a->prints, b->prints, sizeof *a->prints * (size_t)a->batches) == 0;
}

static uint64_t whole_lines(const char *bytes, size_t length) {
  uint64_t lines = 0;
  for (size_t i = 0; i < length; i++)
    lines += bytes[i] == '\n';
  return lines;
}

/* ---- compressed data -------------------------------------------------------------------------------------- */

/* The slow obvious way: what zlib and zstd make of the bytes, all at once. */
static size_t inflate_prefix(const char *bytes, size_t length, char *out, size_t room) {
  z_stream z = {
      .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length, .next_out = (Bytef *)out, .avail_out = (uInt)room};
  inflateInit2(&z, 15 + 16);
  inflate(&z, Z_SYNC_FLUSH);
  size_t got = room - z.avail_out;
  inflateEnd(&z);
  return got;
}

static size_t gzip(const char *bytes, size_t length, char *out) {
  z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length, .next_out = (Bytef *)out, .avail_out = 1 << 16};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  deflate(&z, Z_FINISH);
  deflateEnd(&z);
  return (1 << 16) - z.avail_out;
}

/* Cut or changed at a place: checks both ways of reading. `kept`: the rows that must be there, or UINT64_MAX. */
static void damaged_at(const char *name, const char *bytes, size_t length, uint64_t kept, const char *what, bool thorough) {
  char expected[80];
  scratch_write_bytes(name, bytes, length);
  outcome plain = read_all(folder, false, 1, false), one = read_all(folder, true, 1, false),
          two = read_all(folder, true, 3, false);
  snprintf(expected, sizeof expected, "%s: byte ", strrchr(name, '/') + 1);
  bool told = plain.status == BRIM_E_FORMAT && strstr(plain.message, expected);
  bool balanced = one.ledger.rows_read == one.ledger.rows_excluded + one.ledger.rows_damaged + one.ledger.rows_yielded &&
                  one.ledger.rows_damaged == 1 && one.listed == 1 && one.ledger.rows_yielded == one.rows + ROWS;
  bool prefix = (kept == UINT64_MAX || one.rows == kept) && (one.rows == 0 || one.last + 1 == one.rows);
  bool again = true;
  if (thorough) {
    outcome three = read_all(folder, true, 2, true);
    again = same(&one, &three);
  }
  if (!ok(told && balanced && prefix && same(&one, &two) && again, "%s: %d rows kept", what, (int)one.rows))
    printf("# told %d balanced %d prefix %d (want %d rows) threads %d again %d\n# %s\n# %s\n", told, balanced, prefix, (int)kept,
           same(&one, &two), again, plain.message, one.why);
}

static void compressed(const char *lines, size_t length) {
  static char packed[1 << 16], cut[1 << 16], back[1 << 16];
  char what[80];
  size_t size = gzip(lines, length, packed);
  for (size_t at = 21; at < size; at += size / 23) {
    if (!tap_takes("gzip cut", at / (size / 23)))
      continue;
    snprintf(what, sizeof what, "gzip cut at byte %zu of %zu", at, size);
    damaged_at("set/b.txt.gz", packed, at, whole_lines(back, inflate_prefix(packed, at, back, sizeof back)), what, at % 3 == 0);
  }
  for (size_t at = size / 9; at < size - 8; at += size / 9) {
    if (!tap_takes("gzip changed", at / (size / 9)))
      continue;
    memcpy(cut, packed, size);
    cut[at] ^= 0x55;
    size_t got = inflate_prefix(cut, size, back, sizeof back);
    snprintf(what, sizeof what, "gzip changed at byte %zu of %zu", at, size);
    if (memcmp(back, lines, got < length ? got : length) == 0 || got >= length)
      damaged_at("set/b.txt.gz", cut, size, whole_lines(back, got), what, at % 3 == 0);
  }
  remove(scratch_file("set/b.txt.gz"));
  size = ZSTD_compress(packed, sizeof packed, lines, length, 3);
  for (size_t at = 9; at < size; at += size / 5) {
    snprintf(what, sizeof what, "zstd cut at byte %zu of %zu", at, size);
    damaged_at("set/b.txt.zst", packed, at, UINT64_MAX, what, true);
  }
  /* Two frames: the first is whole. */
  size_t half = length / 2;
  while (lines[half - 1] != '\n')
    half++;
  size = ZSTD_compress(packed, sizeof packed, lines, half, 3);
  size_t second = ZSTD_compress(packed + size, sizeof packed - size, lines + half, length - half, 3);
  damaged_at("set/b.txt.zst", packed, size + second / 2, whole_lines(lines, half), "zstd: the second of two frames is cut", true);
  remove(scratch_file("set/b.txt.zst"));
}

/* ---- records ---------------------------------------------------------------------------------------------- */

static void records(const char *lines, size_t length) {
  static char text[1 << 16];
  static const struct {
    const char *name, *head, *bad, *what;
    bool rest;
  } cases[] = {
      {"set/b.txt", "", "x\xFFy\n", "a line that is not UTF-8", false},
      {"set/b.csv", "text\n", "a,b\n", "csv: a ragged row", false},
      {"set/b.csv", "text\n", "\"a\"b\n", "csv: text after a closing quote", true},
      {"set/b.csv", "text\n", "\"never closed\n", "csv: a quote that is never closed", true},
      {"set/b.tsv", "text\n", "a\tb\n", "tsv: a ragged row", false},
      {"set/b.jsonl", "", "{\"text\":\n", "jsonl: a line that breaks off", false},
      {"set/b.jsonl", "", "7\n", "jsonl: no object", false},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int at = 0; at < ROWS; at += 29) {
      if (!tap_takes(cases[c].what, (uint64_t)at / 29))
        continue;
      size_t used = (size_t)sprintf(text, "%s", cases[c].head);
      int row = 0;
      for (size_t i = 0; i < length; i++) {
        bool json = strstr(cases[c].name, ".jsonl"), begins = i == 0 || lines[i - 1] == '\n';
        if (begins && row++ == at)
          used += (size_t)sprintf(text + used, "%s", cases[c].bad);
        if (begins && json)
          used += (size_t)sprintf(text + used, "{\"text\":\"");
        if (lines[i] == '\n' && json)
          used += (size_t)sprintf(text + used, "\"}");
        text[used++] = lines[i];
      }
      scratch_write_bytes(cases[c].name, text, used);
      outcome plain = read_all(folder, false, 1, false), one = read_all(folder, true, 2, false),
              two = read_all(folder, true, 1, true);
      bool told = plain.status == BRIM_E_FORMAT && strstr(plain.message, strrchr(cases[c].name, '/') + 1) &&
                  strstr(plain.message, "line ") && strstr(plain.message, "byte ");
      uint64_t kept = cases[c].rest ? (uint64_t)at : ROWS;
      bool counts = one.rows == kept && one.ledger.rows_damaged == 1 && one.listed == 1 &&
                    one.ledger.rows_read == one.ledger.rows_damaged + one.ledger.rows_yielded;
      if (!ok(told && counts && same(&one, &two), "%s at row %d: %d rows kept", cases[c].what, at, (int)one.rows))
        printf("# told %d counts %d same %d rows %d of %d: %s | %s\n", told, counts, same(&one, &two), (int)one.rows, (int)kept,
               plain.message, one.why);
    }
    remove(scratch_file(cases[c].name));
  }
}

static void whole_files(void) {
  scratch_write("set/b.txt", "");
  outcome out = read_all(folder, true, 1, false);
  ok(out.status == BRIM_END && out.ledger.rows_damaged == 1 && out.ledger.rows_yielded == ROWS, "an empty file is damage: %s",
     out.why);
  remove(scratch_file("set/b.txt"));
  scratch_write(
      "set/b.txt",
      "short\nthis line is longer than the five hundred bytes that are allowed here"
      "........................................................................................................"
      "........................................................................................................"
      "........................................................................................................"
      "........................................................................................................"
      "........................................................................................................\nshort\n");
  out = read_all(folder, false, 1, false);
  ok(out.status == BRIM_E_FORMAT && strstr(out.message, "b.txt: line 2, byte 6: a line of more than 500 bytes"), "%s",
     out.message);
  out = read_all(folder, true, 1, false);
  ok(out.rows == 1 && out.ledger.rows_damaged == 1, "a record that is too long: %s", out.why);
  remove(scratch_file("set/b.txt"));
}

/* In memory the excluded rows name the damaged ones. */
static void in_memory(void) {
  const char *path = scratch_write("rows.csv", "text,label\none,1\ntwo,2,3\nthree,1\n\xFF,1\nfour,0\n");
  brim_dataset_options o = {.source = {.need_label = true}};
  brim_dataset *dataset;
  brim_error err;
  ok_int(brim_dataset_load(data_runtime, &path, 1, tokenizer, &o, &dataset, &err), BRIM_E_FORMAT, "a dataset refuses damage");
  o.source.skip_damaged = true;
  if (brim_dataset_load(data_runtime, &path, 1, tokenizer, &o, &dataset, &err) != BRIM_OK)
    exit(99);
  uint64_t count;
  const brim_exclusion *rows = brim_dataset_excluded(dataset, &count);
  ok(brim_dataset_rows(dataset) == 3 && count == 2 && rows[0].row == 1 && rows[0].line == 3 && rows[0].damaged &&
         rows[1].row == 3,
     "or names it: %s", rows[0].reason);
  ok(brim_dataset_origin(dataset, 2) == 4, "rows keep their numbers");
  brim_dataset_free(dataset);
}

int main(void) {
  static char lines[1 << 16];
  data_start(1);
  tokenizer = data_tokenizer();
  folder = scratch_make_folder("set");
  size_t length = write_lines(lines);
  scratch_write_bytes("set/a.txt", lines, length);
  compressed(lines, length);
  records(lines, length);
  whole_files();
  in_memory();
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
