/* Streams on any bytes (plain, gzip, zstd, xz and bzip2 by their first bytes): the same text or the same error whatever the
 * steps, lines that add up to it, and seeking back gives it again. Bombs are cut off. */
#include "base/hashmap.h"
#include "base/stream.h"
#include "fuzz.h"

enum { MOST = 1 << 16 };

typedef struct outcome {
  int status;
  int64_t length;
  uint64_t hash;
  brim_error error;
} outcome;

/* Takes bytes one after the other into the hash, so that steps do not matter. */
static void take(outcome *o, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    o->hash = o->hash * 0x100000001B3u ^ (unsigned char)bytes[i];
  o->length += (int64_t)length;
}

static outcome read_on(brim_stream *s, size_t step) {
  outcome o = {.hash = 1469598103934665603u};
  const char *bytes;
  size_t have;
  while ((o.status = brim_stream_peek(s, step, &bytes, &have, &o.error)) == BRIM_OK && have && o.length < MOST) {
    size_t length = have < step ? have : step;
    take(&o, bytes, length);
    brim_stream_consume(s, length);
    MUST(brim_stream_consumed(s) <= brim_stream_size(s));
  }
  return o;
}

static outcome read_lines(brim_stream *s) {
  outcome o = {.hash = 1469598103934665603u};
  const char *line;
  size_t length;
  while ((o.status = brim_stream_line(s, 0, &line, &length, &o.error)) == BRIM_OK && o.length < MOST) {
    MUST(!memchr(line, '\n', length));
    take(&o, line, length);
    if (brim_stream_offset(s) > o.length)
      take(&o, "\n", 1);
    MUST(brim_stream_offset(s) == o.length);
  }
  if (o.status == BRIM_END)
    o.status = BRIM_OK;
  return o;
}

static bool alike(const outcome *a, const outcome *b) {
  if (a->length >= MOST || b->length >= MOST)
    return true;
  return a->status == b->status && (a->status != BRIM_OK || (a->length == b->length && a->hash == b->hash));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const size_t steps[] = {4096, 1};
  brim_runtime *runtime = fuzz_runtime();
  outcome first = {0}, other;
  for (size_t i = 0; i <= sizeof steps / sizeof steps[0]; i++) {
    brim_stream *s;
    brim_error err;
    const int opened = brim_stream_open_memory(runtime, "fuzz", data, size, &s, &err);
    if (opened == BRIM_E_UNSUPPORTED) /* xz or bzip2, in a build without */
      return 0;
    MUST(opened == BRIM_OK);
    other = i < sizeof steps / sizeof steps[0] ? read_on(s, steps[i]) : read_lines(s);
    if (i == 0)
      first = other;
    MUST(alike(&first, &other));
    if (other.status != BRIM_OK)
      fuzz_check_error(other.status, &other.error, (int64_t)size);
    if (brim_stream_seek(s, 0, &err) == BRIM_OK)
      other = read_on(s, 4096);
    MUST(alike(&first, &other));
    brim_stream_free(s);
  }
  return 0;
}
