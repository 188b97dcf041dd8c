/* Streams: plain, gzip, zstd, pipes; damage and truncation; seeking; lines. */
#include "base/memory.h"
#include "base/stream.h"
#include "scratch.h"
#include "tap.h"
#include <fcntl.h>
#include <pthread.h>
#include <zlib.h>
#include <zstd.h>

static brim_runtime *runtime;

enum { LENGTH = 700000 };
static char text[LENGTH]; /* lines of many lengths */

static void make_text(void) {
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < LENGTH; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    text[i] = x % 41 == 0 ? '\n' : (char)('a' + x % 7);
  }
  memset(text + 300000, 'z', 200000); /* a line longer than any buffer */
}

static size_t gzip_bytes(const char *from, size_t length, char *to, size_t room) {
  z_stream z = {0};
  if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    exit(1);
  z.next_in = (Bytef *)(uintptr_t)from;
  z.avail_in = (uInt)length;
  z.next_out = (Bytef *)to;
  z.avail_out = (uInt)room;
  if (deflate(&z, Z_FINISH) != Z_STREAM_END)
    exit(1);
  deflateEnd(&z);
  return z.total_out;
}

static char packed[2 * LENGTH];
static size_t packed_length;

/* Two members with an empty one between them, as `cat a.gz b.gz` gives. */
static void pack_gzip(void) {
  packed_length = gzip_bytes(text, LENGTH / 3, packed, sizeof packed);
  packed_length += gzip_bytes("", 0, packed + packed_length, sizeof packed - packed_length);
  packed_length += gzip_bytes(text + LENGTH / 3, LENGTH - LENGTH / 3, packed + packed_length, sizeof packed - packed_length);
}

/* Two frames with checksums, as the zstd command makes them; before the first a frame to be passed over, as pzstd's. */
static void pack_zstd(bool skippable) {
  static const char passed[] = "\x5e\x2a\x4d\x18\x03\0\0\0abc";
  ZSTD_CCtx *z = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
  packed_length = skippable ? sizeof passed - 1 : 0;
  memcpy(packed, passed, packed_length);
  packed_length += ZSTD_compress2(z, packed + packed_length, sizeof packed - packed_length, text, LENGTH / 3);
  packed_length += ZSTD_compress2(z, packed + packed_length, sizeof packed - packed_length, text + LENGTH / 3,
                                  LENGTH - LENGTH / 3);
  ZSTD_freeCCtx(z);
}

/* Reads all in steps of `step` bytes and compares. */
static bool reads_text(brim_stream *s, size_t from, size_t step, brim_error *err) {
  size_t at = from;
  for (;;) {
    const char *bytes;
    size_t have;
    if (brim_stream_offset(s) != (int64_t)at || brim_stream_peek(s, step, &bytes, &have, err) != BRIM_OK)
      return false;
    if (have < step && at + have != LENGTH)
      return false;
    if (!have)
      return at == LENGTH;
    size_t take = have < step ? have : step;
    if (memcmp(bytes, text + at, take) != 0)
      return false;
    brim_stream_consume(s, take);
    at += take;
  }
}

static bool reads_lines(brim_stream *s, brim_error *err) {
  const char *line, *at = text;
  size_t length;
  int64_t count = 0;
  while (at < text + LENGTH) {
    const char *end = memchr(at, '\n', (size_t)(text + LENGTH - at));
    size_t want = end ? (size_t)(end - at) : (size_t)(text + LENGTH - at);
    if (brim_stream_line(s, 0, &line, &length, err) != BRIM_OK || length != want || memcmp(line, at, want) != 0)
      return false;
    if (brim_stream_line_number(s) != ++count)
      return false;
    at += want + 1;
  }
  return brim_stream_line(s, 0, &line, &length, err) == BRIM_END && brim_stream_line(s, 0, &line, &length, err) == BRIM_END;
}

static brim_stream *open_path(const char *path) {
  brim_stream *s;
  brim_error err;
  if (brim_stream_open(runtime, path, &s, &err) != BRIM_OK) {
    printf("Bail out! %s\n", err.message);
    exit(1);
  }
  return s;
}

static void reads(const char *kind, const char *path, const char *bytes, size_t size) {
  static const size_t steps[] = {1000, 7, 65536, 300000, LENGTH};
  brim_error err = {0};
  brim_stream *s;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    s = open_path(path);
    ok(reads_text(s, 0, steps[i], &err), "%s in steps of %zu", kind, steps[i]);
    ok(brim_stream_consumed(s) == brim_stream_size(s) && brim_stream_size(s) == (int64_t)size, "%s: all of the file is counted",
       kind);
    brim_stream_free(s);
  }
  s = open_path(path);
  ok(reads_lines(s, &err), "%s by lines", kind);
  brim_stream_free(s);
  s = open_path(path);
  bool good = true;
  static const int64_t places[] = {0, 500, 499, 650000, 3, LENGTH, 300001, LENGTH - 1};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    good = good && brim_stream_seek(s, places[i], &err) == BRIM_OK && brim_stream_offset(s) == places[i] &&
           reads_text(s, (size_t)places[i], 60000, &err);
  ok(good, "%s: seeking back and forth", kind);
  ok(brim_stream_seek(s, LENGTH + 1, &err) == BRIM_E_MISMATCH && strstr(err.message, "changed"), "%s: seeking past the end",
     kind);
  brim_stream_free(s);
  ok(brim_stream_open_memory(runtime, "memory", bytes, size, &s, &err) == BRIM_OK && reads_text(s, 0, 10000, &err),
     "%s in memory", kind);
  ok(brim_stream_seek(s, 77, &err) == BRIM_OK && reads_text(s, 77, 10000, &err), "%s in memory, again", kind);
  brim_stream_free(s);
}

/* Reads to the end or the first error. */
static int drain(const char *path, brim_error *err) {
  brim_stream *s;
  const char *bytes;
  size_t have = 1;
  int status = brim_stream_open(runtime, path, &s, err);
  while (status == BRIM_OK && have) {
    status = brim_stream_peek(s, 1, &bytes, &have, err);
    if (status == BRIM_OK)
      brim_stream_consume(s, have);
  }
  if (s && status != BRIM_OK && brim_stream_peek(s, 1, &bytes, &have, err) != status)
    status = BRIM_E_INTERNAL; /* a failure must come again */
  if (s)
    brim_stream_free(s);
  return status;
}

static void damage(const char *kind) {
  brim_error err = {0};
  char name[32];
  snprintf(name, sizeof name, "bad.%s", kind);
  const char *path = scratch_write_bytes(name, packed, packed_length - 3);
  ok(drain(path, &err) == BRIM_E_FORMAT && strstr(err.message, "cut") && strstr(err.file, name) &&
         err.byte == (int64_t)packed_length - 3,
     "%s: a cut end names file and byte (%s, byte %lld)", kind, err.message, (long long)err.byte);
  path = scratch_write_bytes(name, packed, packed_length / 2);
  ok(drain(path, &err) == BRIM_E_FORMAT && strstr(err.message, "cut"), "%s: half of the file", kind);
  path = scratch_write_bytes(name, packed, 5);
  ok(drain(path, &err) == BRIM_E_FORMAT && strstr(err.message, "cut"), "%s: not even the header", kind);
  char keep = packed[packed_length / 2];
  packed[packed_length / 2] = (char)(keep ^ 0x55);
  path = scratch_write_bytes(name, packed, packed_length);
  packed[packed_length / 2] = keep;
  ok(drain(path, &err) == BRIM_E_FORMAT && err.byte > 0 && strstr(err.message, "damaged"), "%s: a flipped byte (%s, byte %lld)",
     kind, err.message, (long long)err.byte);
  memcpy(packed + packed_length, "garbage", 7);
  path = scratch_write_bytes(name, packed, packed_length + 7);
  ok(drain(path, &err) == BRIM_E_FORMAT && err.byte >= (int64_t)packed_length, "%s: something else after the end", kind);
}

static void odd_files(void) {
  brim_error err = {0};
  brim_stream *s;
  const char *line;
  size_t length;
  ok(brim_stream_open(runtime, scratch_file("absent"), &s, &err) == BRIM_E_IO && !s && strstr(err.message, "No such file"),
     "a file that is not there");
  ok(brim_stream_open(runtime, scratch_folder(), &s, &err) == BRIM_E_IO && !s && strstr(err.message, "folder"), "a folder");
  s = open_path(scratch_write("empty", ""));
  ok_int(brim_stream_line(s, 0, &line, &length, &err), BRIM_END, "an empty file has no lines");
  brim_stream_free(s);
  s = open_path(scratch_write("tiny", "\x1f"));
  ok(brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && length == 1, "one byte is not gzip");
  brim_stream_free(s);
  s = open_path(scratch_write("lines", "a\r\n\nlast"));
  ok(brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && length == 2 && memcmp(line, "a\r", 2) == 0, "a CR stays");
  ok(brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && length == 0, "an empty line");
  ok(brim_stream_line(s, 3, &line, &length, &err) == BRIM_E_FORMAT && err.line == 3 && err.byte == 4, "a line over the limit");
  brim_stream_free(s);
  memset(packed, 0, 600);
  size_t n = gzip_bytes("x", 1, packed, sizeof packed);
  s = open_path(scratch_write_bytes("padded.gz", packed, n + 500));
  ok(brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && brim_stream_line(s, 0, &line, &length, &err) == BRIM_END,
     "zeros after a gzip member, as tapes have them");
  brim_stream_free(s);
  brim_stream_free(NULL);
}

static int pipe_ends[2];

static void *feed(void *context) {
  (void)context;
  for (size_t at = 0; at < packed_length;) {
    size_t piece = packed_length - at < 777 ? packed_length - at : 777;
    ssize_t n = write(pipe_ends[1], packed + at, piece);
    if (n <= 0)
      break;
    at += (size_t)n;
  }
  close(pipe_ends[1]);
  return NULL;
}

static void pipes(void) {
  char path[64];
  pthread_t feeder;
  brim_error err = {0};
  if (pipe(pipe_ends) != 0 || pthread_create(&feeder, NULL, feed, NULL) != 0)
    exit(1);
  snprintf(path, sizeof path, "/dev/fd/%d", pipe_ends[0]);
  brim_stream *s = open_path(path);
  ok(reads_text(s, 0, 5000, &err), "compressed bytes through a pipe, in small pieces");
  ok(brim_stream_size(s) == -1, "a pipe has no size");
  ok(brim_stream_seek(s, 0, &err) == BRIM_E_USAGE && strstr(err.message, "pipe"), "and cannot go back");
  brim_stream_free(s);
  pthread_join(feeder, NULL);
  close(pipe_ends[0]);
}

static void *interrupt(void *context) {
  struct timespec pause = {0, 30000000};
  nanosleep(&pause, NULL);
  brim_stream_interrupt(context);
  return NULL;
}

static void *write_late(void *context) {
  usleep(20000);
  int fd = open(context, O_WRONLY);
  bool written = write(fd, "one\ntwo\n", 8) == 8;
  close(fd);
  return written ? context : NULL;
}

/* It is opened before anybody writes to it. */
static void named_pipe(void) {
  const char *path = scratch_file("named"), *line;
  size_t length;
  pthread_t writer;
  brim_error err = {0};
  if (mkfifo(path, 0600) != 0 || pthread_create(&writer, NULL, write_late, (void *)(uintptr_t)path) != 0)
    exit(1);
  brim_stream *s = open_path(path);
  ok(brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && length == 3 &&
         brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && brim_stream_line(s, 0, &line, &length, &err) == BRIM_END,
     "all of it is read");
  void *written = NULL;
  pthread_join(writer, &written);
  ok(written != NULL, "of what somebody wrote to a named pipe");
  brim_stream_free(s);
}

static void interrupted(void) {
  char path[64];
  pthread_t other;
  const char *bytes;
  size_t have;
  brim_error err = {0};
  if (pipe(pipe_ends) != 0 || write(pipe_ends[1], "some text", 9) != 9)
    exit(1);
  snprintf(path, sizeof path, "/dev/fd/%d", pipe_ends[0]);
  brim_stream *s = open_path(path);
  ok(brim_stream_peek(s, 4, &bytes, &have, &err) == BRIM_OK && have == 9, "what is there is given at once");
  if (pthread_create(&other, NULL, interrupt, s) != 0)
    exit(1);
  ok_int(brim_stream_peek(s, 10, &bytes, &have, &err), BRIM_E_CANCELLED, "a waiting read can be interrupted");
  ok_int(brim_stream_peek(s, 10, &bytes, &have, &err), BRIM_E_CANCELLED, "and stays so");
  pthread_join(other, NULL);
  brim_stream_free(s);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

static void standard_input(void) {
  brim_error err = {0};
  const char *line;
  size_t length;
  int keep = dup(STDIN_FILENO), fd = open(scratch_write("input", "one\ntwo\n"), O_RDONLY);
  dup2(fd, STDIN_FILENO);
  brim_stream *s = open_path("-");
  ok(brim_stream_line(s, 0, &line, &length, &err) == BRIM_OK && length == 3, "standard input");
  ok_string(brim_stream_name(s), "standard input", "by its name");
  brim_stream_free(s);
  ok(fcntl(STDIN_FILENO, F_GETFD) >= 0, "it is not closed");
  dup2(keep, STDIN_FILENO);
  close(keep);
  close(fd);
}

/* A file that another program cuts, or adds to, after it was opened. */
static void changes(void) {
  static const off_t lengths[] = {LENGTH / 2, 0, LENGTH + 3};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const char *path = scratch_write_bytes("changes.txt", text, LENGTH), *bytes;
    brim_stream *s = open_path(path);
    brim_error err = {0};
    size_t have = 0;
    int status = brim_stream_peek(s, 1, &bytes, &have, &err);
    if (truncate(path, lengths[i]) != 0)
      status = BRIM_E_IO;
    while (status == BRIM_OK && have > 0) {
      brim_stream_consume(s, have);
      status = brim_stream_peek(s, 1, &bytes, &have, &err);
    }
    if (lengths[i] < LENGTH)
      ok(status == BRIM_E_IO && strstr(err.message, "was cut while it was read"), "a file cut to %d bytes: %s", (int)lengths[i],
         err.message);
    else
      ok(status == BRIM_OK && brim_stream_offset(s) == lengths[i], "what is added is read");
    brim_stream_free(s);
  }
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  make_text();
  reads("plain", scratch_write_bytes("plain.txt", text, LENGTH), text, LENGTH);
  pack_zstd(true);
  reads("zstd after a frame that is passed over", scratch_write_bytes("passed.zst", packed, packed_length), packed,
        packed_length);
  pack_zstd(false);
  reads("zstd", scratch_write_bytes("text.zst", packed, packed_length), packed, packed_length);
  damage("zst");
  pack_gzip();
  reads("gzip", scratch_write_bytes("text.gz", packed, packed_length), packed, packed_length);
  damage("gz");
  pipes();
  named_pipe();
  interrupted();
  odd_files();
  changes();
  standard_input();
  brim_runtime_free(runtime);
  return tap_done();
}
