/* gzip at once and gzip as a stream: the same bytes, and the same failure at the same byte, for good files and for damaged ones.
 * A regular file is inflated a member at a time where brim is built with libdeflate; a pipe always goes through zlib. */
#include "base/gzip.h"
#include "base/memory.h"
#include "base/stream.h"
#include "scratch.h"
#include "tap.h"
#include <zlib.h>

static brim_runtime *runtime;

enum { MOST_FILE = 60000 /* a pipe holds it */, MOST_TEXT = 400000 };

/* What reading to the end gives. */
typedef struct outcome {
  int status;
  brim_error error;
  size_t length;
  char bytes[MOST_TEXT];
} outcome;

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t bound) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % bound;
}

/* A member at the end of file[*used..). `header_checksum`: the header has one, and it is wrong. */
static void add_member(char *file, size_t *used, size_t room, const char *text, size_t length, int level, bool header_checksum) {
  z_stream z = {0};
  gz_header header = {.os = 3};
  if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    exit(1);
  header.hcrc = header_checksum;
  deflateSetHeader(&z, &header);
  z.next_in = (Bytef *)(uintptr_t)text;
  z.avail_in = (uInt)length;
  z.next_out = (Bytef *)file + *used;
  z.avail_out = (uInt)(room - *used);
  if (deflate(&z, Z_FINISH) != Z_STREAM_END)
    exit(1);
  if (header_checksum)
    file[*used + 10] ^= 1;
  *used += z.total_out;
  deflateEnd(&z);
}

static void drain(const char *path, outcome *out) {
  brim_stream *s;
  const char *bytes;
  size_t have = 1;
  *out = (outcome){.status = brim_stream_open(runtime, path, &s, &out->error)};
  bool salvaged = false;
  while (s && have) {
    int status = brim_stream_peek(s, 1, &bytes, &have, &out->error);
    if (status != BRIM_OK && (out->status = status, salvaged || !brim_stream_salvage(s)))
      break;
    salvaged = status != BRIM_OK;
    have = salvaged ? 1 : have;
    if (salvaged || have == 0 || out->length + have > MOST_TEXT)
      continue;
    memcpy(out->bytes + out->length, bytes, have);
    out->length += have;
    brim_stream_consume(s, have);
  }
  brim_stream_free(s);
}

/* Through zlib, whatever brim is built with. */
static void drain_pipe(const char *file, size_t length, outcome *out) {
  char path[64];
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], file, length) != (ssize_t)length)
    exit(1);
  close(ends[1]);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  drain(path, out);
  close(ends[0]);
}

static outcome fast, slow;

/* Both ways give the same. */
static bool agree(const char *file, size_t length) {
  drain(scratch_write_bytes("file.gz", file, length), &fast);
  drain_pipe(file, length, &slow);
  return fast.status == slow.status && fast.length == slow.length && memcmp(fast.bytes, slow.bytes, fast.length) == 0 &&
         (fast.status == BRIM_OK || (fast.error.byte == slow.error.byte && strcmp(fast.error.message, slow.error.message) == 0));
}

static void make_text(char *text, size_t length) {
  uint64_t letters = 1 + draw(40);
  for (size_t i = 0; i < length; i++)
    text[i] = (char)(draw(30) ? ' ' + (char)draw(letters) : '\n');
}

static void test_random(void) {
  static char text[MOST_TEXT], file[MOST_FILE];
  int wrong = 0, differ = 0;
  for (int number = 0; number < 200; number++) {
    size_t length = 0, used = 0;
    for (uint64_t members = 1 + draw(5); members > 0; members--) {
      size_t more = (size_t)draw(draw(2) ? 11000 : 60);
      make_text(text + length, more);
      add_member(file, &used, sizeof file, text + length, more, (int)draw(10), false);
      length += more;
    }
    if (draw(4) == 0)
      for (uint64_t zeros = draw(600); zeros > 0 && used < sizeof file; zeros--)
        file[used++] = 0;
    differ += !agree(file, used);
    wrong += fast.status != BRIM_OK || fast.length != length || memcmp(fast.bytes, text, length) != 0;
  }
  ok(wrong == 0, "200 files of random members give their text");
  ok(differ == 0, "by file and by pipe");
}

/* Three members, the middle one empty; the last one stored. */
static size_t small_file(char *file, size_t room) {
  static const char text[] = "one line\nanother line, another line, another line\nand the last\n";
  size_t used = 0;
  add_member(file, &used, room, text, 40, 6, false);
  add_member(file, &used, room, "", 0, 6, false);
  add_member(file, &used, room, text + 40, sizeof text - 41, 0, false);
  return used;
}

static void test_damage(void) {
  static char file[MOST_FILE];
  size_t length = small_file(file, sizeof file);
  int differ = 0, undetected = 0;
  for (size_t cut = 0; cut <= length; cut++)
    differ += !agree(file, cut);
  ok(differ == 0, "cut at every byte: the same rows, then the same words at the same byte");
  ok(fast.status == BRIM_OK && fast.length == 63, "the whole file is right");
  for (size_t at = 2; at < length; at++) {
    for (int bit = 0; bit < 8; bit++) {
      file[at] ^= (char)(1 << bit);
      differ += !agree(file, length);
      undetected += at + 8 >= length && fast.status != BRIM_E_FORMAT;
      file[at] ^= (char)(1 << bit);
    }
  }
  ok(differ == 0, "and so with each bit turned");
  ok(undetected == 0, "a wrong checksum or size at the end is damage");
  static const char *const tails[] = {"garbage", "\x1f\x8b", "\x1f\x8b\x08", "\0\0x"};
  for (int i = 0; i < 4; i++) {
    memcpy(file + length, tails[i], 3);
    differ += !agree(file, length + 3) || fast.status != BRIM_E_FORMAT;
  }
  ok(differ == 0, "and with something else after the end");
}

static void test_header_checksum(void) {
  static char file[MOST_FILE];
  size_t used = 0;
  add_member(file, &used, sizeof file, "some text", 9, 6, true);
  ok(agree(file, used) && fast.status == BRIM_E_FORMAT, "a wrong checksum of the header alone is damage");
}

/* More text than is inflated at once: zeros, which take few bytes. */
static void test_large(void) {
  const size_t length = (size_t)40 << 20;
  char *text = calloc(1, length), file[MOST_FILE];
  size_t used = 0, have = 1;
  const char *bytes;
  brim_stream *s;
  if (!text)
    exit(1);
  memset(text, 'a', length);
  add_member(file, &used, sizeof file, text, length, 9, false);
  bool good = brim_stream_open(runtime, scratch_write_bytes("large.gz", file, used), &s, NULL) == BRIM_OK;
  for (size_t at = 0; good && have; at += have) {
    good = brim_stream_peek(s, 1, &bytes, &have, NULL) == BRIM_OK && have <= (size_t)1 << 20 && memcmp(bytes, text, have) == 0;
    if (!have)
      good = at == length;
    brim_stream_consume(s, have);
  }
  ok(good, "a member of 40 MiB comes in small pieces");
  brim_stream_free(s);
  free(text);
}

/* The library's part alone, and that streams use it. */
static void test_at_once(void) {
  static char text[MOST_TEXT], file[2 * MOST_TEXT], out[MOST_TEXT];
  size_t used = 0, taken = 0, made = 0, have = 0;
  const char *bytes;
  brim_stream *s;
  brim_gzip *gzip = brim_gzip_new();
  make_text(text, sizeof text);
  add_member(file, &used, sizeof file, text, sizeof text, 6, false);
  ok(brim_gzip_claim(file, used) == sizeof text, "the size that a file claims");
  if (!gzip) {
    tap_skip("members at once", "built without libdeflate");
    return;
  }
  ok(brim_gzip_member(gzip, file, used + 100, &taken, out, sizeof out, &made) == BRIM_GZIP_DONE && taken == used &&
         made == sizeof text && memcmp(out, text, made) == 0,
     "a member at once");
  ok(brim_gzip_member(gzip, file, used, &taken, out, sizeof text - 1, &made) == BRIM_GZIP_ROOM, "a byte too little room");
  ok(brim_gzip_member(gzip, file, used - 1, &taken, out, sizeof out, &made) != BRIM_GZIP_DONE, "a byte too little data");
  brim_gzip_free(gzip);
  if (brim_stream_open(runtime, scratch_write_bytes("whole.gz", file, used), &s, NULL) != BRIM_OK ||
      brim_stream_peek(s, 1, &bytes, &have, NULL) != BRIM_OK)
    exit(1);
  ok(have == sizeof text && memcmp(bytes, text, have) == 0, "a stream has the whole member at hand");
  brim_stream_free(s);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  test_random();
  test_damage();
  test_header_checksum();
  test_large();
  test_at_once();
  brim_runtime_free(runtime);
  return tap_done();
}
