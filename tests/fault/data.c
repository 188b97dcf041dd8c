/* Readers, encoder, labels and datasets when an allocation fails. */
#include "fault.h"

#include <dirent.h>
#include <zlib.h>

#include "data_tokenizer.h"

/* A wide table in two files, with whatever takes memory: quotes, line ends, pairs, exclusions, a folder, compression. */
static void make_files(void) {
  scratch_make_folder("beside");
  scratch_make_folder("shards");
  scratch_write(
      "shards/a.csv",
      "id,text,text_pair,label,split\n1,\"a \"\"b\"\"\",cc,pos,train\n\n2,\"x\ny\",zz,neg,test\n3,dd,ee,neutral,train\n");
  gzFile gz = gzopen(scratch_file("shards/b.csv.gz"), "wb");
  gzputs(gz, "text_pair,text,label,split\n");
  for (int i = 0; i < 40; i++)
    gzprintf(gz, "bb,%.*s,%s,%s\n", 1 + i * 7 % 20, "abcdefghijklmnopqrstuvwxyz", i % 2 ? "pos" : "neg", i % 5 ? "train" : "dev");
  gzclose(gz);
  scratch_write("rows.jsonl",
                "{\"text\":\"a\\u0062\",\"label\":1}\n{\"x\":[1,{}],\"text\":\"c\",\"label\":0,\"text_pair\":\"d\"}\n");
  scratch_write("array.json",
                "[\n{\"text\":\"a\",\n\"label\":1},{\"text\":\"b\"},{\"x\":[1,{}],\"text\":\"c\",\"label\":[\"0\"]}\n]");
  scratch_write("blocks.jsonl", "{\"text\":\"ab\",\"vector\":[1,2],\"kinds\":[1],\"label\":\"x\"}\n"
                                "{\"text\":\"c\",\"kinds\":\"[2]\",\"vector\":[3,0.5],\"label\":\"y\"}\n");
  scratch_write("batch.json", "[{\"ids\":[1,2,3],\"type_ids\":[0,1,1],\"label\":1},{\"ids\":[4],\"label\":0.5}]");
}

static int load_table(brim_runtime *runtime, void *context, brim_error *err) {
  static const brim_where where = {"split", "train"};
  const char *path = context;
  brim_tokenizer *tokenizer;
  brim_dataset *dataset = NULL;
  brim_dataset_options options = {.source = {.need_label = true, .where = &where, .where_count = 1, .min_chars = 2},
                                  .encode.max_length = 12};
  int status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, err);
  if (status == BRIM_OK)
    status = brim_dataset_load(runtime, &path, 1, tokenizer, &options, &dataset, err);
  brim_dataset_free(dataset);
  brim_tokenizer_free(tokenizer);
  return status;
}

/* The same through a cache: nothing is kept, or all of it. */
static int load_cached(brim_runtime *runtime, void *context, brim_error *err) {
  const char *path = scratch_file("shards");
  brim_tokenizer *tokenizer;
  brim_dataset *dataset = NULL;
  brim_dataset_options options = {.source = {.need_label = true, .min_chars = 2}, .encode.max_length = 12, .cache = context};
  int status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, err);
  if (status == BRIM_OK)
    status = brim_dataset_load(runtime, &path, 1, tokenizer, &options, &dataset, err);
  brim_dataset_free(dataset);
  brim_tokenizer_free(tokenizer);
  return status;
}

/* With blocks of numbers, whose rows are copied to another data set. */
static int load_blocks(brim_runtime *runtime, void *context, brim_error *err) {
  static const brim_block_column blocks[] = {
      {.column = "vector", .shape = {.name = "teacher", .per = BRIM_PER_TEXT}},
      {.column = "kinds", .shape = {.name = "kinds", .per = BRIM_PER_ROW, .integers = true}}};
  const char *path = scratch_file("blocks.jsonl");
  const uint64_t rows[] = {1, 0, 1};
  brim_tokenizer *tokenizer;
  brim_dataset *dataset = NULL, *some = NULL;
  brim_dataset_options options = {.source = {.need_label = true, .blocks = blocks, .block_count = 2}, .cache = context};
  int status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, err);
  if (status == BRIM_OK)
    status = brim_dataset_load(runtime, &path, 1, tokenizer, &options, &dataset, err);
  if (status == BRIM_OK)
    status = brim_dataset_subset(runtime, dataset, rows, 3, &some, err);
  brim_dataset_free(some);
  brim_dataset_free(dataset);
  brim_tokenizer_free(tokenizer);
  return status;
}

/* No cache at all, or one whole file in the folder, which is then removed. */
static bool one_cache_or_none(void *context) {
  const char *folder = context;
  DIR *open = opendir(folder);
  int whole = 0, others = 0;
  for (struct dirent *entry; open && (entry = readdir(open));) {
    char path[600];
    size_t length = strlen(entry->d_name);
    if (entry->d_name[0] == '.')
      continue;
    bool named = length > 5 && strcmp(entry->d_name + length - 5, ".rows") == 0;
    *(named ? &whole : &others) += 1;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    unlink(path);
  }
  if (open)
    closedir(open);
  return whole <= 1 && others == 0;
}

static int read_lines(brim_runtime *runtime, void *context, brim_error *err) {
  const char *path = context;
  brim_source_options options = {.need_label = true, .skip_unlabelled = true};
  brim_reader *reader;
  brim_record record;
  int status = brim_reader_open(runtime, &path, 1, &options, &reader, err);
  while (status == BRIM_OK)
    status = brim_reader_next(reader, &record, err);
  brim_reader_close(reader);
  return status == BRIM_END ? BRIM_OK : status;
}

/* Messages that list columns are made in memory too: another failure must not become BRIM_OK or be lost. */
static int wrong_column(brim_runtime *runtime, void *context, brim_error *err) {
  const char *path = context;
  brim_source_options options = {.text_column = "nothing"};
  brim_reader *reader;
  brim_record record;
  int status = brim_reader_open(runtime, &path, 1, &options, &reader, err);
  if (status == BRIM_OK)
    status = brim_reader_next(reader, &record, err);
  brim_reader_close(reader);
  return status == BRIM_E_USAGE || status == BRIM_E_FORMAT ? BRIM_OK : status;
}

static int read_batch(brim_runtime *runtime, void *context, brim_error *err) {
  brim_dataset *dataset;
  int status = brim_dataset_read_json(runtime, context, &dataset, err);
  brim_dataset_free(dataset);
  return status;
}

static int text_row(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  (void)context, (void)err;
  *out = (brim_text_row){.text = "abcdef", .text_length = index % 7, .label = index % 2 ? "pos" : "neg", .label_length = 3};
  return BRIM_OK;
}

static int from_texts(brim_runtime *runtime, void *context, brim_error *err) {
  brim_tokenizer *tokenizer;
  brim_dataset *dataset = NULL;
  brim_dataset_options options = {.source = {.need_label = true, .min_chars = 1}, .encode.max_length = 6};
  (void)context;
  int status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, err);
  if (status == BRIM_OK)
    status = brim_dataset_from_texts(runtime, text_row, NULL, 50, tokenizer, &options, &dataset, err);
  brim_dataset_free(dataset);
  brim_tokenizer_free(tokenizer);
  return status;
}

/* context: the shards' format. */
static int write_shards(brim_runtime *runtime, void *context, brim_error *err) {
  static const brim_where where = {"split", "train"};
  const char *path = scratch_file("shards/b.csv.gz");
  brim_shard_options options = {.records = 20, .source = {.where = &where, .where_count = 1}};
  options.format = *(const brim_shard_format *)context;
  char out[300];
  snprintf(out, sizeof out, "%s/out", fault_folder());
  int status = brim_shard(runtime, &path, 1, &options, out, NULL, err);
  if (status == BRIM_OK)
    nftw(out, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
  return status;
}

/* No temporary folder stays, and the folder itself is complete or absent. */
static bool whole_or_none(void *context) {
  (void)context;
  DIR *folder = opendir(fault_folder());
  int temporary = 0, shards = 0;
  for (struct dirent *entry; (entry = readdir(folder));)
    temporary += strncmp(entry->d_name, "out.", 4) == 0;
  closedir(folder);
  char out[300];
  snprintf(out, sizeof out, "%s/out", fault_folder());
  if (!(folder = opendir(out)))
    return temporary == 0;
  for (struct dirent *entry; (entry = readdir(folder));)
    shards += strncmp(entry->d_name, "shard-", 6) == 0;
  closedir(folder);
  nftw(out, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
  return temporary == 0 && shards == 2;
}

static int copy_samples(brim_runtime *runtime, void *context, brim_error *err) {
  (void)context;
  static const char *const names[] = {"a", "b", "c"};
  static int32_t ids[30000];
  static const uint8_t types[3] = {0, 0, 1};
  const brim_sample samples[] = {{.ids = ids, .length = 30000, .label = 0},
                                 {.ids = ids, .type_ids = types, .length = 3, .label = 2},
                                 {.ids = ids, .length = 20000, .label = 1}};
  brim_labels labels;
  brim_dataset *dataset = NULL;
  int status = brim_labels_make(runtime, BRIM_TASK_CLASSIFICATION, names, 3, &labels, err);
  if (status == BRIM_OK)
    status = brim_dataset_from_samples(runtime, samples, 3, &labels, &dataset, err);
  brim_dataset_free(dataset);
  brim_labels_free(&labels);
  return status;
}

static int scan_labels(brim_runtime *runtime, void *context, brim_error *err) {
  const char *path = context;
  const brim_source_options options = {0};
  brim_labels labels;
  int status = brim_labels_scan(runtime, &path, 1, &options, BRIM_TASK_AUTO, NULL, NULL, &labels, NULL, err);
  brim_labels_free(&labels);
  return status;
}

int main(void) {
  data_start(1);
  make_files();
  brim_tokenizer_free(data_tokenizer());
  brim_runtime_free(data_runtime);
  fault_check("a folder of csv", 1, load_table, NULL, (void *)scratch_file("shards"));
  fault_check("a folder of csv, with threads", 2, load_table, NULL, (void *)scratch_file("shards"));
  fault_check("into a cache", 1, load_cached, one_cache_or_none, (void *)fault_file("cache"));
  fault_check("from a cache", 1, load_cached, NULL, (void *)fault_file("cache"));
  fault_check("blocks of numbers, into a cache", 1, load_blocks, one_cache_or_none, (void *)fault_file("blocks"));
  fault_check("from a cache", 1, load_blocks, NULL, (void *)fault_file("blocks"));
  fault_check("a glob", 1, load_table, NULL, (void *)scratch_file("sh*/b.*"));
  fault_check("JSON lines", 1, read_lines, NULL, (void *)scratch_file("rows.jsonl"));
  fault_check("a JSON array, rows without a label", 1, read_lines, NULL, (void *)scratch_file("array.json"));
  fault_check("a column that is not there", 1, wrong_column, NULL, (void *)scratch_file("shards/a.csv"));
  fault_check("a key that is not there", 1, wrong_column, NULL, (void *)scratch_file("rows.jsonl"));
  fault_check("a JSON batch", 1, read_batch, NULL, (void *)scratch_file("batch.json"));
  fault_check("shards, gzip", 1, write_shards, whole_or_none, &(brim_shard_format){BRIM_SHARD_GZIP});
  fault_check("shards, zstd, with threads", 2, write_shards, whole_or_none, &(brim_shard_format){BRIM_SHARD_ZSTD});
  fault_check("labels alone", 1, scan_labels, NULL, (void *)scratch_file("shards"));
  fault_check("samples", 1, copy_samples, NULL, NULL);
  fault_check("texts", 1, from_texts, NULL, NULL);
  fault_check("texts, with threads", 2, from_texts, NULL, NULL);
  return tap_done();
}
