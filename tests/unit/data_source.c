/* Which files are read: globs, folders, formats, doubles, several files as one source, compression, places, selection. */
#include <zlib.h>
#include <zstd.h>

#include "data/position.h"
#include "data_case.h"

static const char *read_paths(const char *a, const char *b, const brim_source_options *options) {
  const char *paths[] = {a, b};
  return data_read(paths, b ? 2 : 1, options);
}

static void formats(void) {
  ok_string(data_read_text("A.CSV", "text\na\n", NULL), "0 2 5 [a] - -\n", "an extension in capitals");
  ok_string(data_read_text("a.ndjson", "{\"text\":\"a\"}\n", NULL), "0 1 0 [a] - -\n", "ndjson is jsonl");
  ok_string(data_read_text("a.dat", "x\n", NULL),
            "!2 a.dat: the name does not say the format: give it (format), or let the name end in .csv, .tsv, "
            ".jsonl, .txt or "
            ".conll (then .gz, .zst, .xz or .bz2)\n",
            "an unknown extension");
  brim_source_options txt = {.format = BRIM_FORMAT_TXT};
  ok_string(data_read_text("a.dat", "x\n", &txt), "0 1 0 [x] - -\n", "a given format");
  ok_string(data_read_text("b.csv", "x\n", &txt), "0 1 0 [x] - -\n", "a given format goes before the name");
  ok_string(data_read_text("a.csv.xz", "text\na\n", NULL), "0 2 5 [a] - -\n", "the first bytes say what is packed, not the name");
  ok_string(data_read_text("a.jsonl.bz2", "{\"text\":\"a\"}\n", NULL), "0 1 0 [a] - -\n", "the name says the format below that");
  ok_string(data_read_text("a.json", "{\"text\":\"a\"}\n", NULL), "0 1 0 [a] - -\n", "json may be lines");
}

static void paths(void) {
  ok_string(read_paths(scratch_file("none.csv"), NULL, NULL), "!4 none.csv: cannot open: No such file or directory\n",
            "a missing file");
  ok_string(read_paths(scratch_file("none*.csv"), NULL, NULL),
            "!4 none*.csv: no file matches: look at the pattern and the folder\n", "a glob that matches nothing");
  ok_string(data_read(NULL, 0, NULL), "!2 no data files are given\n", "no paths");
  ok_string(data_read((const char *const[]){""}, 1, NULL), "!2 the name of a data file is empty\n", "an empty path");
  scratch_make_folder("shards");
  ok_string(read_paths(scratch_file("shards"), NULL, NULL),
            "!4 shards: the folder holds no data files (.csv, .tsv, .jsonl, .txt, plain, .gz, .zst, .xz or .bz2)\n",
            "an empty folder");
  scratch_write("shards/b.txt", "two\n");
  scratch_write("shards/a.txt", "one");
  scratch_write("shards/c10.txt", "three\n");
  scratch_write("shards/c2.txt", "four\n");
  scratch_write("shards/README", "x\n");
  scratch_write("shards/about.json", "{}\n");
  scratch_write("shards/.hidden.txt", "x\n");
  const char *all = "0 1 0 [one] - -\n1 1 0 [two] - -\n2 1 0 [three] - -\n3 1 0 [four] - -\n";
  ok_string(read_paths(scratch_file("shards"), NULL, NULL), all, "a folder: its data files by name");
  ok_string(read_paths(scratch_file("shards/*.txt"), NULL, NULL), all, "a glob, sorted by byte");
  ok_string(read_paths(scratch_file("sh*s/[a-b].t?t"), NULL, NULL), "0 1 0 [one] - -\n1 1 0 [two] - -\n",
            "a glob in a folder's name");
  ok_string(read_paths(scratch_file("shards/b.txt"), scratch_file("shards/a.txt"), NULL), "0 1 0 [two] - -\n1 1 0 [one] - -\n",
            "named files in their order");
  ok_string(read_paths(scratch_file("shards/a.txt"), scratch_file("shards/./a.txt"), NULL),
            "!2 shards/./a.txt: the same file is given twice (also as shards/a.txt): leave one out\n", "a file twice");
  ok_string(read_paths(scratch_file("shards/*"), scratch_file("shards/b.*"), NULL),
            "!2 shards/README: the name does not say the format: give it (format), or let the name end in "
            ".csv, .tsv, "
            ".jsonl, .txt or .conll (then .gz, .zst, .xz or .bz2)\n",
            "a glob takes every file that it matches");
  ok_string(read_paths(scratch_file("shards/*.txt"), scratch_file("shards/b.*"), NULL),
            "!2 shards/b.txt: the same file is given twice (also as shards/b.txt): leave one out\n", "two globs that meet");
  scratch_write("odd[1].txt", "odd\n");
  ok_string(read_paths(scratch_file("odd[1].txt"), NULL, NULL), "0 1 0 [odd] - -\n", "a file whose name looks like a glob");
}

static void several(void) {
  const char *a = scratch_write("s1.csv", "text,label\na,1\nb,0\n");
  const char *b = scratch_write("s2.csv", "id,label,text\n7,1,c\n");
  ok_string(read_paths(a, b, NULL), "0 2 11 [a] - [1]\n1 3 15 [b] - [0]\n2 2 14 [c] - [1]\n", "columns by name in each file");
  b = scratch_write("s2.jsonl", "{\"text\":\"c\",\"label\":2}\n");
  ok_string(read_paths(a, b, NULL), "0 2 11 [a] - [1]\n1 3 15 [b] - [0]\n2 1 0 [c] - [2]\n", "csv and jsonl");
  b = scratch_write("s2.csv", "text\nc\n");
  ok_string(read_paths(a, b, NULL), "0 2 11 [a] - [1]\n1 3 15 [b] - [0]\n2 2 5 [c] - -\n", "a label that nobody needs");
  const char *c = scratch_write("s3.csv", "text_pair,text\nd,e\n");
  ok_string(read_paths(b, c, NULL),
            "0 2 5 [c] - -\n!7 s3.csv: there is a column \"text_pair\", but none in s2.csv: pairs are in all files or in none\n",
            "pairs in the second file only");
  ok_string(
      read_paths(c, b, NULL),
      "0 2 15 [e] [d] -\n!7 s2.csv: there is no column \"text_pair\", but one in s3.csv: pairs are in all files or in none\n",
      "pairs in the first file only");
  b = scratch_write("s2.csv", "");
  ok_string(read_paths(a, b, NULL), "0 2 11 [a] - [1]\n1 3 15 [b] - [0]\n!5 s2.csv: is empty\n", "an empty second file");
}

static void compressed(void) {
  const char *text = "text,label\na,1\n\"b\nc\",0\n", *want = "0 2 11 [a] - [1]\n1 3 15 [b\\nc] - [0]\n";
  const char *path = scratch_file("z.csv.gz");
  gzFile gz = gzopen(path, "wb");
  gzwrite(gz, text, (unsigned)strlen(text));
  gzclose(gz);
  ok_string(read_paths(path, NULL, NULL), want, "gz");
  char packed[512];
  size_t size = ZSTD_compress(packed, sizeof packed, text, strlen(text), 3);
  ok_string(data_read_bytes("z.csv.zst", packed, size, NULL), want, "zst");
  ok_string(data_read_bytes("z2.csv", packed, size, NULL), want, "zst without its name");
  const char *got = data_read_bytes("z3.csv.zst", packed, size - 5, NULL);
  ok(strstr(got, "!5 z3.csv.zst: byte ") != NULL, "cut zst");
}

static void standard_input(void) {
  const char *path = scratch_write("in.txt", "one\ntwo\n"), *dash = "-";
  brim_source_options options = {.format = BRIM_FORMAT_CSV, .no_header = true};
  ok(freopen(path, "rb", stdin) != NULL, "standard input");
  ok_string(data_read(&dash, 1, NULL), "0 1 0 [one] - -\n1 2 4 [two] - -\n", "- is standard input, as text");
  ok(freopen(path, "rb", stdin) != NULL, "standard input");
  ok_string(data_read(&dash, 1, &options), "0 1 0 [one] - -\n1 2 4 [two] - -\n", "- in a given format");
  ok_string(read_paths("-", "-", NULL),
            "!2 standard input: the same file is given twice (also as standard input): leave one out\n", "- twice");
}

/* From every place on, a second reader gives what the first gave. */
static void places(void) {
  const char *csv = scratch_write("p1.csv", "\xEF\xBB\xBFtext,label\n\na,1\n\"b\nb\",0\n\n\nc,1\n");
  const char *text = "{\"text\":\"d\"}\n\n{\"text\":\"e\"}\n";
  const char *gz_path = scratch_file("p2.jsonl.gz");
  gzFile gz = gzopen(gz_path, "wb");
  gzwrite(gz, text, (unsigned)strlen(text));
  gzclose(gz);
  const char *files[] = {csv, gz_path, scratch_write("p3.txt", "f\n\ng")};
  brim_source_options options = {0};
  brim_reader *reader, *again;
  brim_record record;
  brim_position position[16];
  int rows = 0;
  static brim_text whole[16];
  ok_int(brim_reader_open(data_runtime, files, 3, &options, &reader, NULL), BRIM_OK, "places: open");
  for (;; rows++) {
    brim_reader_tell(reader, &position[rows]);
    if (brim_reader_next(reader, &record, NULL) != BRIM_OK)
      break;
    for (int i = 0; i <= rows; i++) {
      whole[i].runtime = data_runtime;
      data_show_record(&whole[i], &record);
    }
  }
  ok_int(rows, 8, "places: rows");
  for (int i = 0; i <= rows; i++) {
    brim_text rest;
    brim_text_init(&rest, data_runtime);
    ok_int(brim_reader_open(data_runtime, files, 3, &options, &again, NULL), BRIM_OK, "places: open again");
    ok_int(brim_reader_seek(again, &position[i], NULL), BRIM_OK, "places: seek");
    while (brim_reader_next(again, &record, NULL) == BRIM_OK)
      data_show_record(&rest, &record);
    ok_string(rest.data ? rest.data : "", whole[i].data ? whole[i].data : "", "places: the rest");
    ok_int(brim_reader_seek(again, &position[0], NULL), BRIM_OK, "places: back");
    ok_int(brim_reader_next(again, &record, NULL), BRIM_OK, "places: the first again");
    ok_int(record.row, 0, "places: its row");
    brim_reader_close(again);
    brim_text_free(&rest);
    brim_text_free(&whole[i]);
  }
  brim_position wrong = {.file = 9};
  brim_error err;
  ok_int(brim_reader_seek(reader, &wrong, &err), BRIM_E_MISMATCH, "places: not of these files");
  ok_int(brim_reader_next(reader, &record, &err), BRIM_E_MISMATCH, "a failure is final");
  brim_reader_close(reader);
}

static void selection(void) {
  brim_where where[] = {{"split", "train"}, {"lang", "en"}};
  brim_source_options options = {.min_chars = 3, .where = where, .where_count = 2};
  const char *a = scratch_write("w.csv",
                                "split,text,lang\ntrain,abc,en\ntest,abc,en\ntrain,\" ab \",en\ntrain,abcd,de\ntrain,\xC3\xA9\xC3"
                                "\xA9\xC3\xA9 ,en\n");
  const char *b = scratch_write(
      "w.jsonl", "{\"split\":\"meta\",\"lang\":1}\n{\"text\":\"\\u00a0 ab\",\"split\":\"train\",\"lang\":\"en\"}\n");
  brim_reader *reader;
  brim_record record;
  const char *paths_[] = {a, b};
  brim_text out;
  brim_text_init(&out, data_runtime);
  ok_int(brim_reader_open(data_runtime, paths_, 2, &options, &reader, NULL), BRIM_OK, "selection: open");
  while (brim_reader_next(reader, &record, NULL) == BRIM_OK)
    data_show_record(&out, &record);
  ok_string(out.data, "0 2 16 [abc] - -\n4 6 71 [\xC3\xA9\xC3\xA9\xC3\xA9 ] - -\n", "selection: the rows that are read");
  uint64_t count;
  const brim_exclusion *excluded = brim_reader_excluded(reader, &count);
  ok_int(count, 5, "selection: the rows that are not");
  brim_text_clear(&out);
  for (uint64_t i = 0; i < count; i++)
    brim_text_printf(&out, "%llu %lld %s %s\n", (unsigned long long)excluded[i].row, (long long)excluded[i].line,
                     strrchr(excluded[i].file, '/') + 1, excluded[i].reason);
  ok_string(out.data,
            "1 3 w.csv split is not train\n2 4 w.csv fewer than 3 characters\n3 5 w.csv lang is not en\n"
            "5 1 w.jsonl split is not train\n6 2 w.jsonl fewer than 3 characters\n",
            "selection: why");
  brim_text_free(&out);
  brim_reader_close(reader);

  brim_where none = {"nothing", "1"};
  brim_source_options wrong = {.where = &none, .where_count = 1};
  ok_string(read_paths(a, NULL, &wrong),
            "!2 w.csv: there is no column \"nothing\"; the columns are \"split\", \"text\", \"lang\"\n",
            "a condition on a column that is not there");
  brim_where number = {"n", "1"};
  brim_source_options numbers = {.where = &number, .where_count = 1};
  ok_string(
      data_read_text("n.jsonl", "{\"text\":\"a\",\"n\":1}\n{\"text\":\"b\",\"n\":2}\n{\"text\":\"c\",\"n\":null}\n", &numbers),
      "0 1 0 [a] - -\n", "a condition on a number");
  brim_source_options negative = {.min_chars = -1};
  ok(strncmp(read_paths(a, NULL, &negative), "!2 ", 3) == 0, "min_chars cannot be negative");
}

int main(void) {
  data_start(1);
  formats();
  paths();
  several();
  compressed();
  standard_input();
  places();
  selection();
  brim_runtime_free(data_runtime);
  return tap_done();
}
