/* Datasets kept on disk: what comes back, what makes a cache stale, and what becomes of a damaged one. */
#include <dirent.h>

#include "data/cache.h"
#include "data/facts.h"
#include "data_tokenizer.h"
#include "same_rows.h"

static brim_tokenizer *tokenizer;

/* What the last load said about its cache. */
static char said[1400];
static bool used;
static int events;

static int on_event(void *context, const brim_event *event) {
  (void)context;
  if (strcmp(event->kind, "cache") != 0)
    return BRIM_OK;
  events++;
  used = brim_event_field(event, "used")->integer != 0;
  snprintf(said, sizeof said, "%s", brim_event_field(event, "reason")->text);
  return BRIM_OK;
}

static brim_dataset *load(const char *const *paths, int count, brim_dataset_options options, const char *folder) {
  brim_dataset *dataset = NULL;
  brim_error err = {0};
  options.cache = folder;
  options.progress = on_event;
  *said = 0, used = false;
  if (brim_dataset_load(data_runtime, paths, count, tokenizer, &options, &dataset, &err) != BRIM_OK)
    printf("# %s\n", err.message);
  return dataset;
}

/* Bytes in place of a file. */
static void packed(const char *name, const brim_dataset *dataset) {
  brim_dataset *back = NULL;
  brim_error err = {0};
  void *bytes;
  size_t size;
  ok(brim_dataset_pack(data_runtime, dataset, &bytes, &size, &err) == BRIM_OK, "%s: packed", name);
  ok(brim_dataset_unpack(data_runtime, bytes, size, &back, &err) == BRIM_OK && same(dataset, back), "%s: unpacked", name);
  const brim_windowing here = brim_dataset_windows(dataset), there = brim_dataset_windows(back);
  ok(here.most == there.most && here.overlap == there.overlap, "%s: with its windows", name);
  const brim_cutting cut = brim_dataset_cutting(dataset), cut_there = brim_dataset_cutting(back);
  ok(cut.truncation == cut_there.truncation && cut.side == cut_there.side, "%s: and how its texts were cut", name);
  brim_dataset_free(back);
  back = NULL;
  ok(brim_dataset_unpack(data_runtime, bytes, size - 8, &back, &err) == BRIM_E_FORMAT && !back && !*err.file, "%s: %s", name,
     err.message);
  brim_runtime_release(data_runtime, bytes);
}

/* Loads plain, then twice with a cache: made, then used. */
static void round_trip(const char *name, const char *const *paths, int count, brim_dataset_options options) {
  const char *folder = scratch_file(name);
  brim_dataset *plain = load(paths, count, options, NULL), *made = load(paths, count, options, folder);
  ok(!used && !*said && same(plain, made), "%s: made", name);
  brim_dataset *back = load(paths, count, options, folder);
  ok(used && !*said && same(plain, back), "%s: used, the same in every way", name);
  packed(name, back);
  brim_dataset_free(plain);
  brim_dataset_free(made);
  brim_dataset_free(back);
}

static void round_trips(void) {
  static const brim_where train = {"split", "train"};
  const char *pairs[] = {scratch_write("pairs.csv", "text,text_pair,label\nabc,,pos\nb,cd,neg\n,e,pos\nfghijklm,,neg\n"),
                         scratch_write("more.csv", "text,text_pair,label\nx,y,pos\nz,,neutral\n")};
  const char *plain[] = {scratch_write("plain.txt", "abc\nd\nefg\n")};
  const char *numbers[] = {scratch_write("numbers.tsv", "text\tlabel\na\t1.5\nb\t-2e-3\n")};
  const char *chosen[] = {
      scratch_write("chosen.csv", "text,split,label\nab,train,1\nc,dev,0\n,train,1\nde,train,0\nfg,,1\nhi,train,1\n")};
  const brim_encode_options cut = {.max_length = 6, .truncation = BRIM_ONLY_FIRST, .truncation_side = BRIM_SIDE_LEFT};
  round_trip("pairs and classes", pairs, 2, (brim_dataset_options){.source.need_label = true, .encode = cut});
  const brim_encode_options windows = {.max_length = 5, .max_windows = 4, .window_overlap = 1};
  round_trip("windows", numbers, 1, (brim_dataset_options){.source.need_label = true, .encode = windows});
  round_trip("texts alone", plain, 1, (brim_dataset_options){0});
  round_trip("regression", numbers, 1, (brim_dataset_options){.source.need_label = true});
  round_trip("excluded rows", chosen, 1,
             (brim_dataset_options){.source = {.need_label = true, .min_chars = 1, .where = &train, .where_count = 1}});
  const char *many[] = {scratch_write("many.csv", "text,label\nab,x|y\nc,\nde,y\n")};
  round_trip("several labels a row", many, 1, (brim_dataset_options){.source.need_label = true, .task = BRIM_TASK_MULTI_LABEL});
  const char *lists[] = {
      scratch_write("lists.jsonl", "{\"text\":\"a\",\"label\":[1.5,2.5]}\n{\"text\":\"b\",\"label\":[0.5,-1.0]}\n")};
  round_trip("several values a row", lists, 1, (brim_dataset_options){.source.need_label = true});
  const char *words[] = {scratch_write("words.conll", "abc B-X\nb O\n\nd O\nef B-Y\ngh -100\n\n"),
                         scratch_write("more.jsonl", "{\"tokens\":[\"a\",\"\"],\"tags\":[\"O\",\"B-X\"]}\n")};
  round_trip("words with labels", words, 2, (brim_dataset_options){.source.need_label = true, .task = BRIM_TASK_TOKENS});
  round_trip("words that are cut", words, 2,
             (brim_dataset_options){.source.need_label = true, .task = BRIM_TASK_TOKENS, .encode.max_length = 4});
  round_trip("words alone", words, 2, (brim_dataset_options){.source.words = true});
  const brim_block_column further[] = {
      {.column = "vectors", .shape = {.name = "teacher", .per = BRIM_PER_TEXT}},
      {.column = "kinds", .shape = {.name = "kinds", .per = BRIM_PER_ROW, .integers = true, .width = 2}}};
  const char *several[] = {
      scratch_write("blocks.jsonl", "{\"a\":\"x\",\"b\":\"yz\",\"kinds\":[1,2],\"vectors\":[[0.5,1],[2,3]],\"label\":\"p\"}\n"
                                    "{\"a\":\"x\",\"b\":\"\",\"kinds\":[3,-4],\"vectors\":[4,5.25],\"label\":\"q\"}\n"),
      scratch_write("blocks.csv", "a,b,kinds,vectors,label\nx,y,\"[5, 6]\",\"[1,2,3,4]\",p\n")};
  round_trip("blocks of numbers", several, 2,
             (brim_dataset_options){.source = {.need_label = true,
                                               .text_columns = (const char *[]){"a", "b"},
                                               .text_column_count = 2,
                                               .least_columns = 1,
                                               .blocks = further,
                                               .block_count = 2}});
  const char *broken[] = {scratch_write("broken.csv", "text,label\nab,1\nc\nde,0\n,1\nx,1,2\n")};
  round_trip("damaged rows", broken, 1,
             (brim_dataset_options){.source = {.need_label = true, .skip_damaged = true, .min_chars = 1}});
  const char *names[] = {"neg", "neutral", "pos"};
  brim_labels labels;
  ok_int(brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 3, &labels, NULL), BRIM_OK, "a known mapping");
  round_trip("known labels", pairs, 1, (brim_dataset_options){.source.need_label = true, .labels = &labels});
  brim_labels_free(&labels);
}

/* Loads and frees; the caller looks at `used` and `said`. */
static void try_load(const char *path, brim_dataset_options options, const char *folder, uint64_t rows) {
  brim_dataset *dataset = load(&path, 1, options, folder);
  ok(dataset && brim_dataset_rows(dataset) == rows, "%llu rows, whatever the cache holds", (unsigned long long)rows);
  brim_dataset_free(dataset);
}

static int count_files(const char *folder) {
  DIR *open = opendir(folder);
  int count = 0;
  for (struct dirent *entry; open && (entry = readdir(open));)
    count += entry->d_name[0] != '.';
  if (open)
    closedir(open);
  return count;
}

static void staleness(void) {
  const char *path = scratch_write("rows.csv", "text,label\nab,1\ncd,0\n"), *folder = scratch_file("stale");
  brim_dataset_options options = {.source.need_label = true};
  try_load(path, options, folder, 2);
  try_load(path, options, folder, 2);
  ok(used, "the second time from the cache");
  scratch_write("rows.csv", "text,label\nab,1\nce,0\n"); /* as long as before */
  try_load(path, options, folder, 2);
  ok(!used && strstr(said, "rows.csv: has changed since the cache was made"), "a byte of the data: %s", said);
  try_load(path, options, folder, 2);
  ok(used && count_files(folder) == 1, "it was replaced");
  options.encode.max_length = 3;
  try_load(path, options, folder, 2);
  ok(!used && !*said && count_files(folder) == 2, "other options have a file of their own");
  options.source.min_chars = 1;
  try_load(path, options, folder, 2);
  options.source.need_label = false;
  try_load(path, options, folder, 2);
  options.task = BRIM_TASK_REGRESSION; /* decides nothing without labels */
  try_load(path, options, folder, 2);
  ok(used && count_files(folder) == 4, "each choice that matters, and only those");
  brim_dataset_options skip = {.source = {.need_label = true, .skip_unlabelled = true}}, comma = {.source = {.delimiter = ','}};
  try_load(path, skip, folder, 2);
  try_load(path, comma, folder, 2);
  ok(!used && count_files(folder) == 6, "rows without a label that are left out, and a delimiter");
  brim_tokenizer *other, *first = tokenizer;
  char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##b\n##d\n";
  scratch_make_folder("other");
  ok_int(brim_tokenizer_load(data_runtime, scratch_write("other/vocab.txt", vocabulary), &other, NULL), BRIM_OK, "another one");
  tokenizer = other;
  try_load(path, options, folder, 2);
  ok(!used && count_files(folder) == 7, "has a file of its own");
  tokenizer = first;
  brim_tokenizer_free(other);
}

static char *read_file(const char *path, size_t *size) {
  char *bytes = NULL;
  if (brim_file_read_all(data_runtime, path, 0, &bytes, size, NULL) != BRIM_OK)
    exit(99);
  return bytes;
}

/* What another version wrote is found under its name, said, and replaced. */
static void old_version(void) {
  const char *path = scratch_write("old.csv", "text,label\nab,1\ncd,0\n"), *folder = scratch_file("old");
  const brim_dataset_options options = {.source.need_label = true};
  char file[600] = "";
  try_load(path, options, folder, 2);
  DIR *open = opendir(folder);
  for (struct dirent *entry; open && (entry = readdir(open));)
    if (entry->d_name[0] != '.')
      snprintf(file, sizeof file, "old/%s", entry->d_name);
  closedir(open);
  size_t size;
  char *bytes = read_file(scratch_file(file), &size);
  ((brim_cache_header *)(void *)bytes)->version = BRIM_CACHE_VERSION - 1;
  scratch_write_bytes(file, bytes, size);
  brim_runtime_release(data_runtime, bytes);
  try_load(path, options, folder, 2);
  ok(!used && strstr(said, "another version of brim") && count_files(folder) == 1, "an older version's: %s", said);
  try_load(path, options, folder, 2);
  ok(used, "and a new one is in its place");
}

/* A link, a pipe or a device that has the cache's name is neither waited for nor written through. */
static void other_things(void) {
  const char *path = scratch_write("linked.txt", "a\nb\n"), *folder = scratch_file("others");
  const char *mine = scratch_write("mine", "mine"), *const targets[] = {"/dev/null", "/nowhere/at/all", mine, NULL};
  try_load(path, (brim_dataset_options){0}, folder, 2);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    struct stat info;
    char name[4200];
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));)
      if (entry->d_name[0] != '.')
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
    closedir(open);
    ok(unlink(name) == 0 && (targets[i] ? symlink(targets[i], name) : mkfifo(name, 0600)) == 0, "%s has the name",
       targets[i] ? targets[i] : "a pipe");
    try_load(path, (brim_dataset_options){0}, folder, 2);
    ok(!used && lstat(name, &info) == 0 && S_ISREG(info.st_mode), "it is replaced: %s", said);
    try_load(path, (brim_dataset_options){0}, folder, 2);
    ok(used, "and is a cache");
  }
  size_t size;
  char *bytes = read_file(mine, &size);
  ok(size == 4 && memcmp(bytes, "mine", 4) == 0, "what the link pointed at stays");
  brim_runtime_release(data_runtime, bytes);
}

static void not_kept(void) {
  const char *path = scratch_write("kept.txt", "a\nb\n");
  scratch_write("file", "in the way");
  try_load(path, (brim_dataset_options){0}, scratch_file("file/folder"), 2);
  ok(!used && strstr(said, "cannot make the folder"), "a folder that cannot be: %s", said);
  const char *nowhere = scratch_file("missing.txt");
  brim_dataset *dataset = load(&nowhere, 1, (brim_dataset_options){0}, scratch_file("cache"));
  ok(!dataset, "missing data stay an error");
  char pipe_path[64];
  int ends[2];
  ok(pipe(ends) == 0 && write(ends[1], "a\nb\nc\n", 6) == 6 && close(ends[1]) == 0, "a pipe");
  snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", ends[0]);
  try_load(pipe_path, (brim_dataset_options){.source.format = BRIM_FORMAT_TXT}, scratch_file("cache"), 3);
  ok(!used && strstr(said, "only files"), "is read, not kept: %s", said);
  close(ends[0]);
}

/* Cut anywhere, and with any byte changed: never used, never in the way. */
static void damage(const char *name, const char *data, brim_task task) {
  const char *path = scratch_write(name, data), *folder = scratch_file(task ? "damaged-words" : "damaged");
  brim_dataset_options options = {.source.need_label = true, .task = task};
  try_load(path, options, folder, 2);
  char file[600] = "";
  DIR *open = opendir(folder);
  for (struct dirent *entry; open && (entry = readdir(open));)
    if (entry->d_name[0] != '.')
      snprintf(file, sizeof file, "%s/%s", task ? "damaged-words" : "damaged", entry->d_name);
  closedir(open);
  size_t size;
  char *bytes = read_file(scratch_file(file), &size);
  int accepted = 0, silent = 0;
  brim_dataset *dataset = NULL;
  brim_error err;
  for (size_t at = 0; at < size; at++) {
    scratch_write_bytes(file, bytes, at);
    accepted += brim_cache_read(data_runtime, scratch_file(file), NULL, &dataset, &err) == BRIM_OK;
    silent += !strstr(err.message, "damaged");
  }
  ok(accepted == 0 && silent == 0, "each of %zu cuts is told", size);
  for (size_t at = 0; at < size; at++) {
    bytes[at] ^= 0x40;
    scratch_write_bytes(file, bytes, size);
    err.code = 0;
    int status = brim_cache_read(data_runtime, scratch_file(file), NULL, &dataset, &err);
    accepted += status == BRIM_OK;
    silent += status != BRIM_E_FORMAT && status != BRIM_E_MISMATCH;
    bytes[at] ^= 0x40;
  }
  ok(accepted == 0 && silent == 0, "each changed byte is told");
  scratch_write_bytes(file, bytes, size / 2);
  try_load(path, options, folder, 2);
  ok(!used && strstr(said, "damaged"), "the load encodes again: %s", said);
  try_load(path, options, folder, 2);
  ok(used, "and leaves a good one");
  brim_runtime_release(data_runtime, bytes);
}

int main(void) {
  data_start(2);
  tokenizer = data_tokenizer();
  round_trips();
  staleness();
  old_version();
  not_kept();
  other_things();
  damage("small.csv", "text,text_pair,label\nab,c,pos\nd,,neg\n", BRIM_TASK_AUTO);
  damage("small.conll", "abc B-X\nb O\n\nd O\nef B-Y\n\n", BRIM_TASK_TOKENS);
  ok(events > 20, "each load told what its cache did");
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
