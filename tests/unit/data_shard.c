/* Shards hold the records of their source: nothing more, nothing less, in order, whatever the quotes, line ends and threads. */
#include "data_case.h"

static void remove_folder(const char *path) {
  nftw(path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The texts, pairs and labels of some data, one record a line, without places. */
static char *records_of(const char *path, const brim_source_options *options) {
  brim_text out;
  brim_text_init(&out, data_runtime);
  brim_reader *reader;
  brim_record record;
  brim_error err;
  int status = brim_reader_open(data_runtime, &path, 1, options, &reader, &err);
  while (status == BRIM_OK && (status = brim_reader_next(reader, &record, &err)) == BRIM_OK) {
    data_show(&out, record.text, record.text_length);
    data_show(&out, record.pair, record.pair_length);
    data_show(&out, record.label, record.label_length);
    brim_text_string(&out, "\n");
  }
  if (status != BRIM_END)
    data_show_error(&out, status, &err);
  brim_reader_close(reader);
  char *copy = strdup(out.data ? out.data : "");
  brim_text_free(&out);
  return copy;
}

/* Shards of every size from 1 to rows + 1 read like the file itself. */
static void check_round(const char *name, const char *path, const brim_source_options *source, uint64_t rows) {
  const char *folder = scratch_file("out");
  char *whole = records_of(path, source);
  bool same = true, counted = true;
  for (uint64_t records = 1; records <= rows + 1; records++) {
    brim_shard_options options = {
        .source = *source, .records = records, .format = records % 2 ? BRIM_SHARD_GZIP : BRIM_SHARD_ZSTD};
    brim_shard_result result = {0};
    brim_error err = {0};
    int status = brim_shard(data_runtime, &path, 1, &options, folder, &result, &err);
    char *again = records_of(folder, source);
    same &= status == BRIM_OK && strcmp(whole, again) == 0;
    counted &= result.records == rows && result.shards == (rows + records - 1) / records;
    if (status != BRIM_OK || strcmp(whole, again) != 0)
      printf("# %s, %d records a shard: status %d %s\n# %s# %s", name, (int)records, status, err.message, whole, again);
    free(again);
    remove_folder(folder);
  }
  ok(same, "%s: shards of any size hold the same records", name);
  ok(counted, "%s: as many shards and records as there should be", name);
  free(whole);
}

static void rounds(void) {
  const brim_source_options none = {0}, bare = {.no_header = true}, quoted = {.quote = BRIM_QUOTE_CSV},
                            escaped = {.quote = BRIM_QUOTE_BACKSLASH};
  check_round("csv", scratch_write("a.csv", "text,label\n\"a\nb\",1\r\nc,2\rd,3\n\n\"\"\"\",4\n,5\n\"\r\n\",6"), &none, 6);
  const char *const ends[] = {"h,\\", "h,\\\n", "h,\\\r", "h,\\\\\r", "h,7\\\\", "\"h\\\n\\\\\",7"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char bytes[128];
    snprintf(bytes, sizeof bytes, "text,label\na\\, b\\\nc,1\r\n\\\"d\\\\,2\r\"e\\\nf\\\"\",3\ng\\\\,4\n%s", ends[i]);
    check_round("csv with backslashes", scratch_write("e.csv", bytes), &escaped, 5);
  }
  check_round("csv with a mark and a header without end", scratch_write("m.csv", "\xEF\xBB\xBF\"te\"\"xt\",text\r\n1,a\r\n2,b"),
              &none, 2);
  check_round("csv without header", scratch_write("b.csv", "\"x\"\"y\",1\nz,2"), &bare, 2);
  check_round("tsv", scratch_write("a.tsv", "text\tlabel\n\"a\t1\nb\rc\t2\r\nd\t3\r"), &none, 3);
  check_round("quoted tsv", scratch_write("q.tsv", "text\tlabel\n\"a\n\tb\"\t1\nc\t2"), &quoted, 2);
  check_round("jsonl", scratch_write("a.jsonl", "{\"text\":\"a\"}\r\n\n{\"text\":\"b\\n\",\"label\":1} \n{\"text\":\"c\"}"),
              &none, 3);
  check_round("txt", scratch_write("a.txt", "\none\n\n\r\ntwo\rthree\r\n\nlast\r"), &none, 7);
}

static void same_bytes(void) {
  brim_text rows;
  brim_text_init(&rows, data_runtime);
  brim_text_string(&rows, "text\n");
  for (int i = 0; i < 5000; i++)
    brim_text_printf(&rows, "\"row %d of \n many\"\n", i * 7919 % 5000);
  const char *path = scratch_write("many.csv", rows.data), *folders[] = {scratch_file("one"), scratch_file("three")};
  brim_text_free(&rows);
  char *bytes[2][3];
  size_t length[2][3];
  for (int t = 0; t < 2; t++) {
    brim_runtime *runtime;
    brim_error err;
    int status = brim_runtime_new(&(brim_runtime_options){.threads = t ? 3 : 1}, &runtime, &err);
    if (status == BRIM_OK)
      status = brim_shard(runtime, &path, 1, &(brim_shard_options){.records = 2000}, folders[t], NULL, &err);
    ok_int(status, BRIM_OK, "shards with another number of threads");
    for (int i = 0; i < 3; i++) {
      char name[64];
      snprintf(name, sizeof name, "%s/shard-%06d.csv.gz", t ? "three" : "one", i);
      if (brim_file_read_all(data_runtime, scratch_file(name), 0, &bytes[t][i], &length[t][i], &err) != BRIM_OK)
        length[t][i] = 0;
    }
    brim_runtime_free(runtime);
  }
  for (int i = 0; i < 3; i++) {
    ok(length[0][i] > 0 && length[0][i] == length[1][i] && memcmp(bytes[0][i], bytes[1][i], length[0][i]) == 0,
       "shard %d has the same bytes with 1 and 3 threads", i);
    brim_runtime_release(data_runtime, bytes[0][i]);
    brim_runtime_release(data_runtime, bytes[1][i]);
  }
}

int main(void) {
  data_start(2);
  rounds();
  same_bytes();
  brim_runtime_free(data_runtime);
  return tap_done();
}
