/* Files begun ahead: the same bytes and the same failures as without. */
#include "base/ahead.h"
#include "scratch.h"
#include "tap.h"
#include <zlib.h>

static brim_runtime *runtime;

static const char *write_gz(const char *name, size_t lines, size_t cut) {
  static char text[1 << 20], packed[1 << 20];
  size_t length = 0;
  for (size_t i = 0; i < lines; i++)
    length += (size_t)sprintf(text + length, "line %zu of %zu\n", i * 7919, lines);
  z_stream z = {.next_in = (Bytef *)text, .avail_in = (uInt)length, .next_out = (Bytef *)packed, .avail_out = sizeof packed};
  if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK || deflate(&z, Z_FINISH) != Z_STREAM_END)
    exit(99);
  deflateEnd(&z);
  return scratch_write_bytes(name, packed, z.total_out - cut);
}

/* All lines of a stream, and how it ended. */
static uint64_t read_all(brim_stream *stream, brim_error *err, int *status) {
  const char *line;
  size_t length;
  uint64_t hash = 1;
  while ((*status = brim_stream_line(stream, 0, &line, &length, err)) == BRIM_OK)
    for (size_t i = 0; i < length; i++)
      hash = (hash ^ (unsigned char)line[i]) * 0x9E3779B97F4A7C15u;
  return hash;
}

static void begin(brim_ahead *ahead, const char *path) {
  ok_int(brim_ahead_begin(ahead, path, NULL), BRIM_OK, "begun");
}

/* Both streams of a file give the same. */
static void same(brim_ahead *ahead, const char *path, int expected) {
  brim_stream *ours, *plain;
  brim_error one = {0}, two = {0};
  int status, again;
  if (brim_ahead_open(ahead, path, &ours, &one) != BRIM_OK || brim_stream_open(runtime, path, &plain, &two) != BRIM_OK)
    exit(99);
  ok_int(brim_stream_offset(ours), 0, "it stands at its first byte");
  ok(read_all(ours, &one, &status) == read_all(plain, &two, &again) && status == again, "the same lines");
  ok_int(status, expected, "the same end");
  ok(status == BRIM_END || (strcmp(one.message, two.message) == 0 && one.byte == two.byte), "the same words");
  ok(!ahead->path && !ahead->stream, "nothing is begun any more");
  brim_stream_free(ours);
  brim_stream_free(plain);
}

static void missing(brim_ahead *ahead) {
  const char *path = scratch_file("missing.gz");
  brim_stream *stream;
  brim_error one = {0}, two = {0};
  begin(ahead, path);
  int status = brim_ahead_open(ahead, path, &stream, &one);
  ok(!stream && status == brim_stream_open(runtime, path, &stream, &two) && status == BRIM_E_IO &&
         !strcmp(one.message, two.message),
     "what cannot be opened fails when it is asked for");
}

int main(void) {
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err) != BRIM_OK)
    exit(99);
  const char *whole = write_gz("whole.gz", 30000, 0), *cut = write_gz("cut.gz", 30000, 1000), *other = write_gz("other.gz", 3, 0);
  brim_ahead ahead = {.runtime = runtime};
  same(&ahead, whole, BRIM_END); /* nothing was begun */
  begin(&ahead, whole);
  same(&ahead, whole, BRIM_END);
  begin(&ahead, cut);
  same(&ahead, cut, BRIM_E_FORMAT);
  begin(&ahead, whole);
  same(&ahead, other, BRIM_END); /* another is wanted */
  begin(&ahead, whole);
  begin(&ahead, other);
  same(&ahead, other, BRIM_END); /* the last one counts */
  missing(&ahead);
  begin(&ahead, whole);
  brim_ahead_drop(&ahead);
  brim_ahead_drop(&ahead);
  brim_runtime_free(runtime);
  return tap_done();
}
