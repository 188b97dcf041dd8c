/* shard.c: records -> compressed files of so many records each.
 *
 *   fill_shard (one at a time) -> pack_shard (in parallel) -> write_shard (in order)
 */
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/event.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/ordered.h"
#include "base/path.h"
#include "base/status.h"
#include "data/position.h"
#include "data/reader.h"

#define DEFAULT_RECORDS 10000
#define MOST_SHARDS     1000000 /* names of one length sort as their numbers do */

typedef struct shard {
  brim_text plain;
  char *packed;
  size_t packed_length;
  uint64_t records, consumed;
} shard;

typedef struct sharder {
  brim_runtime *runtime;
  const brim_shard_options *options;
  uint64_t records; /* of a full shard */
  brim_reader *reader;
  brim_ordered *map;
  brim_folder *folder;
  brim_shard_result result;
  uint64_t total; /* bytes of the source */

  /* the producing side */
  brim_text header; /* of the first file, for every shard */
  size_t file;      /* whose header was compared last */
  bool read_all;
} sharder;

/* ---- filling ---------------------------------------------------------------------------------------------- */

static bool is_quoted_table(const brim_source_file *file) {
  return (file->format == BRIM_FORMAT_CSV || file->format == BRIM_FORMAT_TSV) && file->quoted;
}

/* Whether an odd run of backslashes ends there: the next byte would be text. */
static bool is_escaped(const brim_text *text, size_t length) {
  size_t run = 0;
  while (run < length && text->data[length - run - 1] == '\\')
    run++;
  return run % 2;
}

/* A line end after bytes that lack one. One that a backslash precedes is text, and a last backslash is not to make it text. */
static void end_line(brim_text *text, const brim_source_file *file) {
  char last = text->length ? text->data[text->length - 1] : '\n';
  const bool backslash = text->length && file->backslash;
  const bool ended = last == '\n' || (last == '\r' && is_quoted_table(file));
  if (backslash && is_escaped(text, text->length))
    brim_text_append(text, "\\", 1);
  if (!ended || (backslash && is_escaped(text, text->length - 1)))
    brim_text_append(text, "\n", 1);
}

/* A file's records may join those before only if its header is theirs, whatever the line end. */
static int check_header(const sharder *s, brim_error *err) {
  const brim_reader *reader = s->reader;
  const brim_text *first = &s->header, *other = &reader->header;
  size_t length = first->length, other_length = other->length;
  while (length && strchr("\r\n", first->data[length - 1]))
    length--;
  while (other_length && strchr("\r\n", other->data[other_length - 1]))
    other_length--;
  if (length == other_length && (length == 0 || memcmp(first->data, other->data, length) == 0))
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_MISMATCH, brim_reader_file_name(reader), 1, -1,
                       "its header differs from that of %s: shard the files separately",
                       brim_source_name(&reader->source.files[0]));
}

static int check_formats(const brim_source *source, brim_error *err) {
  for (size_t i = 1; i < source->count; i++)
    if (source->files[i].format != source->files[0].format)
      return brim_error_at(err, BRIM_E_MISMATCH, brim_source_name(&source->files[i]), 0, -1,
                           "its format differs from that of %s: shard the files separately", brim_source_name(&source->files[0]));
  return BRIM_OK;
}

static int add_record(sharder *s, shard *out, const char *bytes, size_t length, brim_error *err) {
  const brim_reader *reader = s->reader;
  if (reader->file != s->file) {
    BRIM_TRY(check_header(s, err));
    s->file = reader->file;
  }
  if (out->records == 0 && s->header.length) {
    brim_text_append(&out->plain, s->header.data, s->header.length);
    end_line(&out->plain, &reader->source.files[0]);
  }
  brim_text_append(&out->plain, bytes, length);
  if (length == 0)
    brim_text_append(&out->plain, "\n", 1); /* an empty line is an empty text */
  end_line(&out->plain, &reader->source.files[reader->file]);
  out->records++;
  return brim_text_status(&out->plain, err);
}

static void free_shard(void *context, void *used) {
  const sharder *s = context;
  shard *out = used;
  if (!out)
    return;
  brim_text_free(&out->plain);
  brim_release(s->runtime, out->packed);
  brim_release(s->runtime, out);
}

static int fill(sharder *s, shard *out, brim_error *err) {
  int status = BRIM_OK;
  while (status == BRIM_OK && out->records < s->records) {
    const char *bytes;
    size_t length;
    status = brim_reader_next_raw(s->reader, &bytes, &length, err);
    if (status == BRIM_OK)
      status = add_record(s, out, bytes, length, err);
  }
  s->read_all = status == BRIM_END;
  return status == BRIM_END && out->records ? BRIM_OK : status;
}

static int fill_shard(void *context, void **block, brim_error *err) {
  sharder *s = context;
  uint64_t total;
  if (s->read_all)
    return BRIM_END;
  shard *out = brim_alloc_zero(s->runtime, sizeof *out);
  if (!out)
    return BRIM_NOMEM(err);
  brim_text_init(&out->plain, s->runtime);
  int status = fill(s, out, err);
  if (status != BRIM_OK) {
    free_shard(s, out);
    return status;
  }
  brim_reader_progress(s->reader, &out->consumed, &total);
  *block = out;
  return BRIM_OK;
}

static void interrupt_reader(void *context) {
  const sharder *s = context;
  brim_reader_interrupt(s->reader);
}

/* ---- packing and writing ---------------------------------------------------------------------------------- */

static int pack_shard(void *context, void *block, int worker, brim_error *err) {
  const sharder *s = context;
  shard *out = block;
  (void)worker;
  int (*pack)(brim_runtime *, const void *, size_t, char **, size_t *,
              brim_error *) = s->options->format == BRIM_SHARD_ZSTD ? brim_compress_zstd : brim_compress_gzip;
  BRIM_TRY(pack(s->runtime, out->plain.data, out->plain.length, &out->packed, &out->packed_length, err));
  brim_text_free(&out->plain);
  return BRIM_OK;
}

static int report(const sharder *s, uint64_t consumed, brim_error *err) {
  if (!s->options->progress)
    return BRIM_OK;
  const brim_field fields[] = {{.name = "phase", .kind = BRIM_VALUE_TEXT, .text = "shard"},
                               {.name = "done", .kind = BRIM_VALUE_INT, .integer = (int64_t)consumed},
                               {.name = "total", .kind = BRIM_VALUE_INT, .integer = (int64_t)s->total},
                               {.name = "unit", .kind = BRIM_VALUE_TEXT, .text = "bytes"},
                               {.name = "rows", .kind = BRIM_VALUE_INT, .integer = (int64_t)s->result.records}};
  const brim_event event = {.kind = "progress", .fields = fields, .field_count = sizeof fields / sizeof *fields};
  return brim_tell(s->options->progress, s->options->progress_context, &event, err);
}

static const char *extension(brim_format format) {
  return format == BRIM_FORMAT_CSV ? "csv" : format == BRIM_FORMAT_TSV ? "tsv" : format == BRIM_FORMAT_JSONL ? "jsonl" : "txt";
}

static int write_shard(sharder *s, const shard *in, brim_error *err) {
  brim_text path;
  if (s->result.shards == MOST_SHARDS)
    return brim_error_set(err, BRIM_E_USAGE, "there would be more than %d shards: let each have more records", MOST_SHARDS);
  brim_text_init(&path, s->runtime);
  brim_text_printf(&path, "%s/shard-%06llu.%s.%s", brim_folder_path(s->folder), (unsigned long long)s->result.shards,
                   extension(s->reader->source.files[0].format), s->options->format == BRIM_SHARD_ZSTD ? "zst" : "gz");
  int status = brim_text_status(&path, err);
  if (status == BRIM_OK)
    status = brim_file_write_all(s->runtime, path.data, in->packed, in->packed_length, err);
  brim_text_free(&path);
  if (status != BRIM_OK)
    return status;
  s->result.shards++;
  s->result.records += in->records;
  return report(s, in->consumed, err);
}

static int write_shards(sharder *s, brim_error *err) {
  for (;;) {
    void *block = NULL;
    int status = brim_ordered_next(s->map, &block, err);
    if (status == BRIM_END)
      return BRIM_OK;
    if (status == BRIM_OK)
      status = write_shard(s, block, err);
    free_shard(s, block);
    if (status != BRIM_OK)
      return status;
  }
}

/* ---- all together ----------------------------------------------------------------------------------------- */

/* What is in the way is never replaced. */
static int check_folder(brim_runtime *runtime, const char *folder, brim_error *err) {
  char **names = NULL;
  size_t count = 0;
  if (brim_path_is_link(folder))
    return brim_error_at(err, BRIM_E_USAGE, folder, 0, -1, "is a link: name the folder itself for the shards");
  if (!brim_path_exists(folder))
    return BRIM_OK;
  if (!brim_path_is_folder(folder))
    return brim_error_at(err, BRIM_E_USAGE, folder, 0, -1, "is a file: choose another folder for the shards");
  if (access(folder, W_OK) != 0) /* its place would be taken by another, which may be written */
    return brim_error_at(err, BRIM_E_USAGE, folder, 0, -1, "nothing may be written there: choose another folder for the shards");
  BRIM_TRY(brim_list_folder(runtime, folder, &names, &count, err));
  brim_names_free(runtime, names, count);
  if (count == 0)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_USAGE, folder, 0, -1, "the folder is not empty: choose another one, or empty it first");
}

static int make_shards(sharder *s, const char *const *paths, int path_count, const char *folder, brim_error *err) {
  uint64_t consumed;
  int threads = brim_runtime_threads(s->runtime);
  BRIM_TRY(check_folder(s->runtime, folder, err));
  BRIM_TRY(brim_reader_open_raw(s->runtime, paths, path_count, &s->options->source, &s->reader, err));
  BRIM_TRY(check_formats(&s->reader->source, err));
  brim_text_append(&s->header, s->reader->header.data, s->reader->header.length);
  BRIM_TRY(brim_text_status(&s->header, err));
  brim_reader_progress(s->reader, &consumed, &s->total);
  BRIM_TRY(brim_folder_create(s->runtime, folder, &s->folder, err));
  BRIM_TRY(brim_ordered_new(s->runtime,
                            &(brim_ordered_options){.threads = threads > 1 ? threads : 0,
                                                    .queue = threads + 1,
                                                    .produce = fill_shard,
                                                    .work = pack_shard,
                                                    .discard = free_shard,
                                                    .interrupt = interrupt_reader,
                                                    .context = s},
                            &s->map, err));
  BRIM_TRY(write_shards(s, err));
  const brim_exclusion *excluded = brim_reader_excluded(s->reader, &s->result.excluded);
  if (s->result.records == 0 && s->result.excluded == 0)
    return brim_error_at(err, BRIM_E_FORMAT, paths[0], 0, -1, "there are no rows");
  if (s->result.records == 0)
    return brim_error_at(err, BRIM_E_FORMAT, paths[0], 0, -1, "no rows are left: %llu were excluded, the first because of: %s",
                         (unsigned long long)s->result.excluded, excluded[0].reason);
  return brim_folder_commit_new(s->folder, err);
}

int brim_shard(brim_runtime *runtime, const char *const *paths, int path_count, const brim_shard_options *options,
               const char *folder, brim_shard_result *result, brim_error *err) {
  BRIM_GIVEN(err, runtime, options, folder);
  BRIM_STRINGS(err, paths, path_count);
  sharder s = {.runtime = runtime, .options = options, .records = options->records ? options->records : DEFAULT_RECORDS};
  brim_text_init(&s.header, runtime);
  int status = make_shards(&s, paths, path_count, folder, err);
  brim_ordered_free(s.map);
  brim_reader_close(s.reader);
  brim_folder_free(s.folder);
  brim_text_free(&s.header);
  if (status == BRIM_OK && result)
    *result = s.result;
  return status;
}
