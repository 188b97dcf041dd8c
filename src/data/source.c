#include "data/source.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"

static const struct {
  const char *extension;
  brim_format format;
} known_names[] = {{".csv", BRIM_FORMAT_CSV},      {".tsv", BRIM_FORMAT_TSV},    {".jsonl", BRIM_FORMAT_JSONL},
                   {".ndjson", BRIM_FORMAT_JSONL}, {".json", BRIM_FORMAT_JSONL}, {".txt", BRIM_FORMAT_TXT},
                   {".conll", BRIM_FORMAT_CONLL},  {".bio", BRIM_FORMAT_CONLL},  {".iob2", BRIM_FORMAT_CONLL}};

/* What people have on their disks that brim cannot read, and what they can do about it. */
static const struct {
  const char *extension, *advice;
} foreign_names[] = {{".zip", "zip is not read: take the file out of it (unzip -p ARCHIVE > rows.csv)"},
                     {".xlsx", "spreadsheets are not read: save it as csv"}};

const char *brim_source_name(const brim_source_file *file) {
  return strcmp(file->path, "-") == 0 ? "standard input" : file->path;
}

/* ---- formats ---------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, size_t length, const char *extension) {
  size_t n = strlen(extension);
  return length > n && strncasecmp(name + length - n, extension, n) == 0;
}

/* The format by a name's end, or AUTO. */
static brim_format format_of_name(const char *name) {
  static const char *const packed[] = {".gz", ".zst", ".xz", ".bz2"};
  size_t length = strlen(name), whole = length;
  for (size_t i = 0; i < sizeof packed / sizeof *packed && length == whole; i++)
    if (ends_with(name, length, packed[i]))
      length -= strlen(packed[i]);
  for (size_t i = 0; i < sizeof known_names / sizeof *known_names; i++)
    if (ends_with(name, length, known_names[i].extension))
      return known_names[i].format;
  return BRIM_FORMAT_AUTO;
}

/* Tables that Python reads: brim's package does, and pandas in one line. */
static const struct {
  const char *extension, *name, *reader;
} foreign_tables[] = {{".parquet", "Parquet", "parquet"}, {".arrow", "Arrow", "feather"}, {".feather", "Feather", "feather"}};

static int format_unknown(const char *path, brim_error *err) {
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof foreign_tables / sizeof *foreign_tables; i++)
    if (ends_with(path, length, foreign_tables[i].extension))
      return brim_error_at(err, BRIM_E_UNSUPPORTED, path, 0, -1,
                           "%s is read by brim.train in Python, not here; convert it: python3 -c 'import pandas; "
                           "pandas.read_%s(\"%.150s\").to_json(\"%.150s.jsonl\", orient=\"records\", lines=True)'",
                           foreign_tables[i].name, foreign_tables[i].reader, path, path);
  for (size_t i = 0; i < sizeof foreign_names / sizeof *foreign_names; i++)
    if (ends_with(path, length, foreign_names[i].extension))
      return brim_error_at(err, BRIM_E_UNSUPPORTED, path, 0, -1, "%s", foreign_names[i].advice);
  return brim_error_at(err, BRIM_E_USAGE, path, 0, -1,
                       "the name does not say the format: give it (format), or let the name end in .csv, .tsv, "
                       ".jsonl, .txt or .conll (then .gz, .zst, .xz or .bz2)");
}

static int choose_format(brim_source_file *file, const brim_source_options *options, brim_error *err) {
  file->format = options->format;
  if (file->format == BRIM_FORMAT_AUTO)
    file->format = strcmp(file->path, "-") ? format_of_name(file->path) : BRIM_FORMAT_TXT;
  if (file->format == BRIM_FORMAT_AUTO)
    return format_unknown(file->path, err);
  file->delimiter = options->delimiter ? (char)options->delimiter : file->format == BRIM_FORMAT_CSV ? ',' : '\t';
  if (options->delimiter && file->format != BRIM_FORMAT_CSV && file->format != BRIM_FORMAT_TSV)
    return brim_error_at(err, BRIM_E_USAGE, brim_source_name(file), 0, -1,
                         "a delimiter is for csv and tsv, and this is read as %s: give the format csv, or leave it out",
                         file->format == BRIM_FORMAT_JSONL ? "JSON"
                         : file->format == BRIM_FORMAT_TXT ? "txt"
                                                           : "conll");
  if (options->no_header && file->format != BRIM_FORMAT_CSV && file->format != BRIM_FORMAT_TSV)
    return brim_error_at(err, BRIM_E_USAGE, brim_source_name(file), 0, -1,
                         "%s: --no-header (header=False in Python) is for csv and tsv",
                         file->format == BRIM_FORMAT_JSONL ? "JSON lines name their columns"
                         : file->format == BRIM_FORMAT_TXT ? "txt has no head line"
                                                           : "conll has no head line");
  if (options->quote != BRIM_QUOTE_AUTO && file->format != BRIM_FORMAT_CSV && file->format != BRIM_FORMAT_TSV)
    return brim_error_at(err, BRIM_E_USAGE, brim_source_name(file), 0, -1, "quotes are for csv and tsv: leave out --quote");
  file->quoted = options->quote == BRIM_QUOTE_AUTO ? file->format == BRIM_FORMAT_CSV : options->quote != BRIM_QUOTE_NONE;
  file->backslash = options->quote == BRIM_QUOTE_BACKSLASH;
  return BRIM_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

static uint64_t stamp_of(const struct stat *about) {
  const uint64_t facts[] = {(uint64_t)about->st_dev, (uint64_t)about->st_ino, (uint64_t)about->st_size,
                            (uint64_t)about->st_mtim.tv_sec, (uint64_t)about->st_mtim.tv_nsec};
  return S_ISREG(about->st_mode) ? brim_hash64(facts, sizeof facts, 0) | 1 : 0;
}

uint64_t brim_source_stamp(const brim_source *source) {
  uint64_t stamp = 0;
  for (size_t i = 0; i < source->count; i++) {
    if (!source->files[i].stamp || strcmp(source->files[i].path, "-") == 0)
      return 0;
    stamp = brim_hash64(&source->files[i].stamp, sizeof stamp, stamp) | 1;
  }
  return stamp;
}

bool brim_source_stayed(const brim_source *source) {
  struct stat about;
  for (size_t i = 0; i < source->count; i++)
    if (stat(source->files[i].path, &about) != 0 || stamp_of(&about) != source->files[i].stamp)
      return false;
  return true;
}

static int add_file(brim_source *source, const char *path, const brim_source_options *options, brim_error *err) {
  struct stat about = {0};
  bool input = strcmp(path, "-") == 0;
  if ((input ? fstat(0, &about) : stat(path, &about)) != 0)
    return brim_error_system(err, path, "open", errno);
  if (!input && S_ISDIR(about.st_mode))
    return brim_error_at(err, BRIM_E_IO, path, 0, -1, "is a folder, not a file");
  BRIM_TRY(brim_grow(source->runtime, (void **)&source->files, &source->capacity, source->count + 1, sizeof *source->files, err));
  brim_source_file *file = &source->files[source->count];
  *file = (brim_source_file){.size = S_ISREG(about.st_mode) ? (int64_t)about.st_size : -1,
                             .device = (uint64_t)about.st_dev,
                             .inode = (uint64_t)about.st_ino,
                             .stamp = stamp_of(&about)};
  file->path = brim_copy_string(source->runtime, path, strlen(path));
  if (!file->path)
    return BRIM_NOMEM(err);
  source->count++;
  return choose_format(file, options, err);
}

/* A .json in a folder is as a rule about the data: it is read by its name. */
static bool is_data(const char *name) {
  return name[0] != '.' && format_of_name(name) != BRIM_FORMAT_AUTO && !ends_with(name, strlen(name), ".json");
}

/* Leaves of a folder's names those that are data, or match the pattern (a leading dot must be written). */
static void keep_names(brim_runtime *runtime, char **names, size_t *count, const char *pattern) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (pattern ? fnmatch(pattern, names[i], FNM_PERIOD) == 0 : is_data(names[i]))
      names[kept++] = names[i];
    else
      brim_release(runtime, names[i]);
  }
  *count = kept;
}

/* The data files of a folder, by the names that say so. */
static int add_folder(brim_source *source, const char *path, const brim_source_options *options, brim_error *err) {
  char **names = NULL;
  size_t count = 0, before = source->count;
  int status = brim_list_folder(source->runtime, path, &names, &count, err);
  keep_names(source->runtime, names, &count, NULL);
  if (!status)
    status = brim_source_check_numbered(source->runtime, path, (const char *const *)names, count, NULL, err);
  for (size_t i = 0; i < count && status == BRIM_OK; i++) {
    char *file = brim_path_join(source->runtime, path, names[i]);
    if (!file)
      status = BRIM_NOMEM(err);
    else if (!brim_path_is_folder(file))
      status = add_file(source, file, options, err);
    brim_release(source->runtime, file);
  }
  brim_names_free(source->runtime, names, count);
  if (status == BRIM_OK && source->count == before)
    status = brim_error_at(err, BRIM_E_IO, path, 0, -1,
                           "the folder holds no data files (.csv, .tsv, .jsonl, .txt, plain, .gz, .zst, .xz or .bz2)");
  return status;
}

int brim_source_passed_over(brim_runtime *runtime, const char *path, brim_text *out, uint64_t *count, brim_error *err) {
  BRIM_OUT(err, count);
  BRIM_GIVEN_AS(err, "runtime, path, names", runtime, path, out);
  enum { SHOWN = 3 };
  char **names = NULL;
  size_t found = 0;
  if (strcmp(path, "-") == 0 || !brim_path_is_folder(path))
    return BRIM_OK;
  int status = brim_list_folder(runtime, path, &names, &found, err);
  for (size_t i = 0; i < found && status == BRIM_OK; i++) {
    char *file = is_data(names[i]) ? NULL : brim_path_join(runtime, path, names[i]);
    if (!file && !is_data(names[i]))
      status = BRIM_NOMEM(err);
    if (file && !brim_path_is_folder(file) && ++*count <= SHOWN)
      brim_text_printf(out, "%s%s", *count > 1 ? ", " : "", names[i]);
    brim_release(runtime, file);
  }
  brim_names_free(runtime, names, found);
  return status ? status : brim_text_status(out, err);
}

static int add_path(brim_source *source, const char *path, const brim_source_options *options, brim_error *err) {
  return strcmp(path, "-") && brim_path_is_folder(path) ? add_folder(source, path, options, err)
                                                        : add_file(source, path, options, err);
}

/* ---- globs ------------------------------------------------------------------------------------------------ */

static bool has_magic(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (strchr("*?[", text[i]))
      return true;
  return false;
}

/* folder + component, with the slash that joins them; fresh memory or NULL. An empty folder is the present one. */
static char *join(brim_runtime *runtime, const char *folder, const char *component, size_t length) {
  size_t head = strlen(folder), slash = head && folder[head - 1] != '/';
  char *path = brim_alloc(runtime, head + slash + length + 1);
  if (!path)
    return NULL;
  memcpy(path, folder, head);
  if (slash)
    path[head] = '/';
  memcpy(path + head + slash, component, length);
  path[head + slash + length] = 0;
  return path;
}

static int glob_from(brim_source *source, const char *folder, const char *rest, const brim_source_options *options,
                     brim_error *err);

/* Continues after one component that is now known to be `component`. */
static int glob_into(brim_source *source, const char *folder, const char *component, size_t length, const char *rest,
                     const brim_source_options *options, brim_error *err) {
  char *path = join(source->runtime, folder, component, length);
  if (!path)
    return BRIM_NOMEM(err);
  int status = BRIM_OK;
  if (*rest)
    status = brim_path_is_folder(path) ? glob_from(source, path, rest, options, err) : BRIM_OK;
  else if (brim_path_exists(path) && !(source->deep && brim_path_is_folder(path)))
    status = add_path(source, path, options, err);
  brim_release(source->runtime, path);
  return status;
}

/* Matches the first component of `rest` among the names in `folder`. */
static int glob_names(brim_source *source, const char *folder, const char *pattern, const char *rest,
                      const brim_source_options *options, brim_error *err) {
  char **names = NULL;
  size_t count = 0;
  const char *place = *folder ? folder : ".";
  int status = brim_list_folder(source->runtime, place, &names, &count, err);
  keep_names(source->runtime, names, &count, pattern);
  if (!status && !*rest)
    status = brim_source_check_numbered(source->runtime, place, (const char *const *)names, count, pattern, err);
  for (size_t i = 0; i < count && status == BRIM_OK; i++)
    status = glob_into(source, folder, names[i], strlen(names[i]), rest, options, err);
  brim_names_free(source->runtime, names, count);
  return status;
}

/* `**`: what matches `after` in the folder, and in all folders below it. Links are not followed: they may lead back. */
static int glob_below(brim_source *source, const char *folder, const char *after, const brim_source_options *options,
                      brim_error *err) {
  char **names = NULL;
  size_t count = 0;
  int status = glob_from(source, folder, after, options, err);
  if (!status)
    status = brim_list_folder(source->runtime, *folder ? folder : ".", &names, &count, err);
  for (size_t i = 0; i < count && status == BRIM_OK; i++) {
    if (names[i][0] == '.')
      continue;
    char *below = brim_path_join(source->runtime, folder, names[i]);
    if (!below)
      status = BRIM_NOMEM(err);
    else if (brim_path_is_folder(below) && !brim_path_is_link(below))
      status = glob_below(source, below, after, options, err);
    brim_release(source->runtime, below);
  }
  brim_names_free(source->runtime, names, count);
  return status;
}

static int glob_from(brim_source *source, const char *folder, const char *rest, const brim_source_options *options,
                     brim_error *err) {
  size_t length = strcspn(rest, "/");
  const char *after = rest + length + strspn(rest + length, "/");
  if (length == 2 && strncmp(rest, "**", 2) == 0 && *after) {
    source->deep = true;
    return glob_below(source, folder, after, options, err);
  }
  if (!has_magic(rest, length))
    return glob_into(source, folder, rest, length, after, options, err);
  char *pattern = brim_copy_string(source->runtime, rest, length);
  if (!pattern)
    return BRIM_NOMEM(err);
  int status = glob_names(source, folder, pattern, after, options, err);
  brim_release(source->runtime, pattern);
  return status;
}

/* "**" twice in a pattern comes to a file on several ways: of the files from `before` on, each name is left once. */
static int keep_first(brim_source *source, size_t before, brim_error *err) {
  brim_hashmap seen;
  size_t kept = before;
  int status = BRIM_OK;
  brim_hashmap_init(&seen, source->runtime);
  for (size_t i = before; i < source->count; i++) {
    bool again = false;
    if (!status)
      status = brim_hashmap_put(&seen, source->files[i].path, strlen(source->files[i].path), 0, &again, NULL, err);
    if (again)
      brim_release(source->runtime, source->files[i].path);
    else
      source->files[kept++] = source->files[i];
  }
  source->count = kept;
  brim_hashmap_free(&seen);
  return status;
}

static int add_glob(brim_source *source, const char *pattern, const brim_source_options *options, brim_error *err) {
  size_t before = source->count, root = strspn(pattern, "/");
  source->deep = false;
  BRIM_TRY(glob_from(source, root ? "/" : "", pattern + root, options, err));
  if (source->deep)
    BRIM_TRY(keep_first(source, before, err));
  if (source->count == before)
    return brim_error_at(err, BRIM_E_IO, pattern, 0, -1, "no file matches: look at the pattern and the folder");
  return BRIM_OK;
}

/* ---- all together ----------------------------------------------------------------------------------------- */

static int by_identity(const void *a, const void *b) {
  const brim_source_file *x = *(const brim_source_file *const *)a, *y = *(const brim_source_file *const *)b;
  if (x->device != y->device)
    return x->device < y->device ? -1 : 1;
  if (x->inode != y->inode)
    return x->inode < y->inode ? -1 : 1;
  return (x > y) - (x < y);
}

static int refuse_doubles(const brim_source *source, brim_error *err) {
  const brim_source_file **order = brim_alloc_array(source->runtime, source->count, sizeof *order);
  if (!order)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < source->count; i++)
    order[i] = &source->files[i];
  qsort(order, source->count, sizeof *order, by_identity);
  const brim_source_file *once = NULL, *again = NULL; /* of several, the one that comes first: inodes are in no order */
  for (size_t i = 1; i < source->count; i++) {
    const brim_source_file *a = order[i - 1], *b = order[i];
    if (a->device == b->device && a->inode == b->inode && (!again || b < again))
      once = a, again = b;
  }
  int status = BRIM_OK;
  if (again)
    status = brim_error_at(err, BRIM_E_USAGE, brim_source_name(again), 0, -1,
                           "the same file is given twice (also as %s): leave one out", brim_source_name(once));
  brim_release(source->runtime, order);
  return status;
}

static int check_delimiter(int delimiter, brim_error *err) {
  if (delimiter >= 0 && delimiter < 128 && !memchr("\"\r\n", delimiter, 3))
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "a delimiter is one ASCII character, and no quote or line end");
}

int brim_source_options_check(const brim_source_options *o, brim_error *err) {
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"least_columns", o->least_columns},
                 {"most_texts", o->most_texts},
                 {"min_chars", o->min_chars},
                 {"max_record", o->max_record}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (numbers[i].value < 0)
      return brim_error_set(err, BRIM_E_USAGE, "%s is %lld: it must not be negative", numbers[i].name,
                            (long long)numbers[i].value);
  if ((unsigned)o->format > BRIM_FORMAT_CONLL || (unsigned)o->quote > BRIM_QUOTE_BACKSLASH)
    return brim_error_set(err, BRIM_E_USAGE, "format %d or quote %d does not exist", (int)o->format, (int)o->quote);
  BRIM_TRY(brim_given_strings(err, "text_columns", o->text_columns, "text_column_count", o->text_column_count));
  BRIM_TRY(brim_given_array(err, "where", o->where, "where_count", o->where_count));
  for (int i = 0; i < o->where_count; i++)
    BRIM_GIVEN_AS(err, "where.column, where.value", o->where[i].column, o->where[i].value);
  BRIM_TRY(brim_given_array(err, "blocks", o->blocks, "block_count", o->block_count));
  return check_delimiter(o->delimiter, err);
}

int brim_source_find(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     brim_source *source, brim_error *err) {
  *source = (brim_source){.runtime = runtime};
  int status = path_count > 0 ? brim_source_options_check(options, err)
                              : brim_error_set(err, BRIM_E_USAGE, "no data files are given");
  for (int i = 0; i < path_count && status == BRIM_OK; i++) {
    bool literal = strcmp(paths[i], "-") == 0 || brim_path_exists(paths[i]) || !has_magic(paths[i], strlen(paths[i]));
    status = !*paths[i] ? brim_error_set(err, BRIM_E_USAGE, "the name of a data file is empty")
             : literal  ? add_path(source, paths[i], options, err)
                        : add_glob(source, paths[i], options, err);
  }
  if (status == BRIM_OK)
    status = refuse_doubles(source, err);
  if (status != BRIM_OK)
    brim_source_free(source);
  return status;
}

void brim_source_free(brim_source *source) {
  for (size_t i = 0; i < source->count; i++)
    brim_release(source->runtime, source->files[i].path);
  brim_release(source->runtime, source->files);
  *source = (brim_source){0};
}

int32_t brim_source_most_texts(const brim_source_options *o) {
  const int columns = o->text_column_count - o->paired;
  return o->most_texts > 0 ? o->most_texts : columns > 1 ? columns : 1;
}
