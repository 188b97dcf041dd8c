/* Streams of xz and bzip2, as far as the build reads them: several in a row, damage and cuts, going back. */
#include "base/stream.h"
#include "base/unpack.h"
#include "scratch.h"
#include "tap.h"

#if BRIM_LZMA
#include <lzma.h>
#endif
#if BRIM_BZIP2
#include <bzlib.h>
#endif

enum { LENGTH = 300000 };

static brim_runtime *runtime;
static char text[LENGTH], packed[2 * LENGTH];
static size_t packed_length;

static void make_text(void) {
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < LENGTH; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    text[i] = x % 41 == 0 ? '\n' : (char)('a' + x % 7);
  }
}

static void pack(brim_packing packing, const char *from, size_t length) {
#if BRIM_LZMA
  if (packing == BRIM_PACKING_XZ && lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)from, length,
                                                            (uint8_t *)packed, &packed_length, sizeof packed) != LZMA_OK)
    exit(1);
#endif
#if BRIM_BZIP2
  unsigned room = (unsigned)(sizeof packed - packed_length);
  if (packing == BRIM_PACKING_BZIP2) {
    if (BZ2_bzBuffToBuffCompress(packed + packed_length, &room, (char *)(uintptr_t)from, (unsigned)length, 1, 0, 0) != BZ_OK)
      exit(1);
    packed_length += room;
  }
#endif
  (void)packing, (void)from, (void)length;
}

static bool damaged; /* then other bytes may come before the failure: what tells them is a sum at the end of a block */

/* All of it, in steps, compared with the text: the status, and how many bytes came before that. */
static int read_all(brim_stream *s, size_t step, size_t *length, brim_error *err) {
  for (*length = 0;;) {
    const char *bytes;
    size_t have;
    int status = brim_stream_peek(s, step, &bytes, &have, err);
    if (status != BRIM_OK || have == 0)
      return status;
    have = have < step ? have : step;
    if (!damaged && (*length + have > LENGTH || memcmp(bytes, text + *length, have) != 0))
      return BRIM_E_INTERNAL;
    brim_stream_consume(s, have);
    *length += have;
  }
}

/* The status of a file that holds packed[0, size), and what came of it. */
static int read_file(size_t size, size_t step, size_t *length, brim_error *err) {
  brim_stream *s;
  int status = brim_stream_open(runtime, scratch_write_bytes("packed", packed, size), &s, err);
  if (status == BRIM_OK)
    status = read_all(s, step, length, err);
  brim_stream_free(s);
  return status;
}

static void whole(const char *name) {
  static const size_t steps[] = {1, 4096, 100000, LENGTH};
  brim_error err = {0};
  brim_stream *s;
  size_t length;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    ok(read_file(packed_length, steps[i], &length, &err) == BRIM_OK && length == LENGTH, "%s in steps of %zu", name, steps[i]);
  ok(brim_stream_open(runtime, scratch_write_bytes("packed", packed, packed_length), &s, &err) == BRIM_OK &&
         brim_stream_is_packed(s) && read_all(s, 5000, &length, &err) == BRIM_OK &&
         brim_stream_consumed(s) == (int64_t)packed_length,
     "%s: all of the file is counted", name);
  ok(brim_stream_seek(s, 0, &err) == BRIM_OK && read_all(s, 5000, &length, &err) == BRIM_OK && length == LENGTH,
     "%s: from the beginning once more", name);
  ok(brim_stream_seek(s, LENGTH - 1, &err) == BRIM_OK && brim_stream_seek(s, LENGTH + 1, &err) == BRIM_E_MISMATCH,
     "%s: to its end, and not past it", name);
  brim_stream_free(s);
  ok(brim_stream_open_memory(runtime, "memory", packed, packed_length, &s, &err) == BRIM_OK &&
         read_all(s, 777, &length, &err) == BRIM_OK && length == LENGTH,
     "%s in memory", name);
  brim_stream_free(s);
}

static void damage(const char *name) {
  brim_error err = {0};
  brim_stream *s;
  size_t length, again;
  ok(read_file(packed_length - 3, 4096, &length, &err) == BRIM_E_FORMAT && strstr(err.message, "was cut") &&
         err.byte == (int64_t)packed_length - 3,
     "%s: a cut end names its byte (%s)", name, err.message);
  ok(read_file(packed_length / 2, 4096, &length, &err) == BRIM_E_FORMAT && strstr(err.message, "was cut"), "%s: half of the file",
     name);
  memcpy(packed + packed_length, "garbage", 7);
  ok(read_file(packed_length + 7, 4096, &length, &err) == BRIM_E_FORMAT, "%s: something else after the end", name);
  memset(packed + packed_length, 0, 8);
  ok(read_file(packed_length + 8, 4096, &length, &err) == BRIM_OK && length == LENGTH, "%s: zeroes after the end", name);
  packed[packed_length * 3 / 4] ^= 0x55;
  damaged = true;
  ok(read_file(packed_length, 4096, &length, &err) == BRIM_E_FORMAT && err.byte > 0, "%s: a flipped byte (%s, byte %lld)", name,
     err.message, (long long)err.byte);
  ok(read_file(packed_length, 1, &again, &err) == BRIM_E_FORMAT, "%s: in other steps too", name);
  size_t salvaged[2] = {0};
  for (int i = 0; i < 2; i++) {
    ok(brim_stream_open(runtime, scratch_write_bytes("packed", packed, packed_length), &s, &err) == BRIM_OK &&
           read_all(s, i ? 60000 : 1, &again, &err) == BRIM_E_FORMAT && read_all(s, 1, &length, &err) == BRIM_E_FORMAT,
       "%s: damage is told again", name);
    ok(brim_stream_salvage(s) && read_all(s, 1, &length, &err) == BRIM_OK, "%s: what came before it can be read", name);
    salvaged[i] = again + length;
    brim_stream_free(s);
  }
  ok(salvaged[0] == salvaged[1] && salvaged[0] >= LENGTH / 3, "%s: as much in any steps: %zu", name, salvaged[0]);
  packed[packed_length * 3 / 4] ^= 0x55;
  damaged = false;
}

static void cuts(const char *name) {
  brim_error err = {0};
  size_t length, fine = 0;
  for (size_t size = BRIM_PACKING_BYTES; size < packed_length; size += packed_length / 97 + 1) {
    int status = read_file(size, 3000, &length, &err);
    fine += status == BRIM_E_FORMAT || (status == BRIM_OK && length == LENGTH / 3); /* after the first stream */
  }
  ok(fine >= 90, "%s: cut at any place it ends too soon", name);
}

static void packing(brim_packing packing, const char *suffix) {
  const char *name = brim_packing_name(packing);
  if (!brim_reads_packed(suffix)) {
    brim_error err = {0};
    brim_stream *s;
    const char *magic = packing == BRIM_PACKING_XZ ? "\xFD"
                                                     "7zXZ"
                                                   : "BZh91AY&SY";
    ok(brim_stream_open(runtime, scratch_write_bytes("packed", magic, packing == BRIM_PACKING_XZ ? 6 : 10), &s, &err) ==
               BRIM_E_UNSUPPORTED &&
           strstr(err.message, "unpack it"),
       "%s is refused: %s", name, err.message);
    return;
  }
  packed_length = 0;
  pack(packing, text, LENGTH / 3);
  pack(packing, text + LENGTH / 3, LENGTH - LENGTH / 3);
  whole(name);
  damage(name);
  cuts(name);
}

static void names(void) {
  bool more;
  ok(brim_packing_of("BZh", 3, &more) == BRIM_PACKING_NONE && more, "BZh may become bzip2");
  ok(brim_packing_of("BZhA", 4, &more) == BRIM_PACKING_NONE && !more, "BZhA is text");
  ok(brim_packing_of("BZh9 is text", 12, &more) == BRIM_PACKING_NONE && !more, "and so is BZh9 with a space");
  ok(brim_packing_of("text", 4, &more) == BRIM_PACKING_NONE && !more, "text is");
  ok(brim_packing_of("", 0, &more) == BRIM_PACKING_NONE && more, "nothing may become anything");
  ok(brim_reads_packed("gz") && brim_reads_packed("zst") && !brim_reads_packed("zip"), "gz and zst are always read");
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  make_text();
  names();
  packing(BRIM_PACKING_XZ, "xz");
  packing(BRIM_PACKING_BZIP2, "bz2");
  brim_runtime_free(runtime);
  return tap_done();
}
