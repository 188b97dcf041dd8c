/* A window over the uncompressed bytes, filled by one of three decoders. Plain memory is its own window. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/stream_inside.h"

enum {
  WINDOW = 1 << 17,
  MOST_PACKED = 8 << 20, /* gzip files of up to this size, */
  MOST_TEXT = 32 << 20,  /* and members of up to this much text, are inflated at once: the memory that a source may take */
  DEFLATE_MOST = 1032    /* bytes of text that a byte of deflate makes at most */
};
static void *z_allocate(void *context, unsigned count, unsigned size) {
  return brim_alloc_array(context, count, size);
}

static void z_release(void *context, void *pointer) {
  brim_release(context, pointer);
}

static void *zstd_allocate(void *context, size_t size) {
  return brim_alloc(context, size);
}

static int fill(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) {
  if (s->kind == BRIM_STREAM_GZIP)
    return brim_stream_fill_gzip(s, to, size, got, err);
  if (s->kind == BRIM_STREAM_ZSTD)
    return brim_stream_fill_zstd(s, to, size, got, err);
  if (s->kind == BRIM_STREAM_OTHER)
    return brim_stream_fill_other(s, to, size, got, err);
  if (s->input_at < s->input_used) { /* what was read to find the kind */
    *got = s->input_used - s->input_at < size ? s->input_used - s->input_at : size;
    memcpy(to, s->input + s->input_at, *got);
    s->input_at += *got;
  } else {
    BRIM_TRY(brim_stream_read_file(s, to, size, got, err));
  }
  s->consumed += (int64_t)*got;
  return BRIM_OK;
}

static int make_room(brim_stream *s, size_t least, brim_error *err) {
  size_t unread = s->used - s->at;
  if (s->at && (s->at >= s->capacity / 2 || s->capacity - s->at < least + 1)) {
    memmove(s->window, s->window + s->at, unread);
    s->at = 0;
    s->used = unread;
  }
  size_t needed = s->at + least + 1;
  if (needed < WINDOW)
    needed = WINDOW;
  if (needed <= s->capacity)
    return BRIM_OK;
  if (needed < s->capacity * 2 && s->capacity < SIZE_MAX / 2)
    needed = s->capacity * 2;
  char *larger = brim_resize(s->runtime, s->window, needed);
  if (!larger)
    return brim_error_at(err, BRIM_E_MEMORY, s->name, 0, s->offset, "out of memory for a record of more than %zu bytes", unread);
  s->window = larger;
  s->capacity = needed;
  return BRIM_OK;
}

/* Brings the rest of a small file into `input`; *whole: it is all there. */
static int load_rest(brim_stream *s, bool *whole, brim_error *err) {
  size_t have = s->input_used - s->input_at, rest = (size_t)(s->size - s->consumed), got;
  *whole = false;
  if (s->size < s->consumed || rest > MOST_PACKED)
    return BRIM_OK;
  if (have < rest && !s->borrowed) {
    if (s->input_room < rest) {
      char *larger = brim_resize(s->runtime, s->input, rest);
      if (!larger)
        return BRIM_NOMEM(err);
      s->input = larger;
      s->input_room = rest;
    }
    memmove(s->input, s->input + s->input_at, have);
    s->input_at = 0;
    for (s->input_used = have; s->input_used < rest && !s->input_ended; s->input_used += got)
      BRIM_TRY(brim_stream_read_file(s, s->input + s->input_used, rest - s->input_used, &got, err));
  }
  *whole = s->input_used - s->input_at == rest;
  return BRIM_OK;
}

/* Inflates the member that begins here straight into the window, if the rest of the file is small and the member whole and right.
 * Else nothing has happened, and fill_gzip goes the slow way: so damage is reported, and what comes before it given, as ever. */
static int fill_member(brim_stream *s, bool *done, brim_error *err) {
  bool whole;
  size_t used, made;
  *done = false;
  if (s->kind != BRIM_STREAM_GZIP || !s->gzip || !s->between)
    return BRIM_OK;
  BRIM_TRY(load_rest(s, &whole, err));
  size_t have = s->input_used - s->input_at;
  if (!whole || have < sizeof(uint32_t))
    return BRIM_OK;
  size_t most = have < MOST_TEXT / DEFLATE_MOST ? have * DEFLATE_MOST : MOST_TEXT,
         claim = brim_gzip_claim(s->input, s->input_used);
  for (size_t room = claim ? claim : 4 * have; room <= most;) {
    BRIM_TRY(make_room(s, s->used - s->at + room, err));
    room = s->capacity - s->used;
    brim_gzip_result result = brim_gzip_member(s->gzip, s->input + s->input_at, have, &used, s->window + s->used, room, &made);
    if (result == BRIM_GZIP_DONE) {
      s->input_at += used;
      s->consumed += (int64_t)used;
      s->used += made;
      *done = true;
    }
    if (result != BRIM_GZIP_ROOM)
      break;
    room = room < most && room > most / 2 ? most : 2 * room;
  }
  return BRIM_OK;
}

/* More bytes have to be waited for: who writes to the pipe may wait for an answer to those that are here. */
static bool would_wait(const brim_stream *s) {
  struct pollfd fd = {.fd = s->fd, .events = POLLIN};
  return s->size < 0 && s->input_at == s->input_used && !s->input_ended && poll(&fd, 1, 0) == 0;
}

static int fill_window(brim_stream *s, size_t least, bool patient, brim_error *err) {
  const size_t had = s->used - s->at;
  while (s->used - s->at < least && !s->ended) {
    size_t got = 0;
    bool done;
    if (!patient && s->used - s->at > had && would_wait(s))
      return BRIM_OK;
    if (brim_stream_is_interrupted(s))
      return brim_error_cancelled(err);
    BRIM_TRY(fill_member(s, &done, err));
    if (done)
      continue;
    BRIM_TRY(make_room(s, least, err));
    BRIM_TRY(fill(s, s->window + s->used, s->capacity - s->used, &got, err));
    s->used += got;
    s->ended = got == 0;
  }
  return BRIM_OK;
}

static int peek(brim_stream *s, size_t least, bool patient, const char **bytes, size_t *length, brim_error *err) {
  if (!s->status && s->used - s->at < least)
    s->status = fill_window(s, least, patient, &s->error);
  if (s->status) {
    if (err)
      *err = s->error;
    return s->status;
  }
  *bytes = s->window + s->at;
  *length = s->used - s->at;
  return BRIM_OK;
}

int brim_stream_peek(brim_stream *s, size_t least, const char **bytes, size_t *length, brim_error *err) {
  return peek(s, least, true, bytes, length, err);
}

int brim_stream_peek_arrived(brim_stream *s, size_t least, const char **bytes, size_t *length, bool *all, brim_error *err) {
  BRIM_TRY(peek(s, least, false, bytes, length, err));
  *all = *length < least && s->ended;
  return BRIM_OK;
}

void brim_stream_consume(brim_stream *s, size_t length) {
  s->at += length;
  s->offset += (int64_t)length;
}

void brim_stream_pass_lines(brim_stream *s, size_t length, int64_t lines) {
  brim_stream_consume(s, length);
  s->lines += lines;
}

bool brim_stream_salvage(brim_stream *s) {
  if (s->status != BRIM_E_FORMAT)
    return false;
  s->status = BRIM_OK;
  s->ended = true;
  return true;
}

bool brim_stream_is_packed(const brim_stream *s) {
  return s->kind != BRIM_STREAM_PLAIN;
}

bool brim_stream_ends_open(const brim_stream *s) {
  return s->ended && s->at == s->used && s->used > 0 && s->window[s->used - 1] != '\n';
}

int brim_stream_line(brim_stream *s, size_t limit, const char **line, size_t *length, brim_error *err) {
  const char *bytes = NULL;
  size_t have = 0, looked = 0;
  bool all;
  BRIM_TRY(brim_stream_peek(s, 1, &bytes, &have, err));
  for (;;) {
    const char *end = have > looked ? memchr(bytes + looked, '\n', have - looked) : NULL;
    size_t size = end ? (size_t)(end - bytes) : have;
    if (limit && size > limit)
      return brim_error_at(err, BRIM_E_FORMAT, s->name, s->lines + 1, s->offset,
                           "a line of more than %zu bytes: raise max_record if that is right", limit);
    size_t before = have;
    if (!end)
      BRIM_TRY(brim_stream_peek_arrived(s, have ? 2 * have : 1, &bytes, &have, &all, err));
    if (end || have == before) {
      if (!end && size == 0)
        return BRIM_END;
      *line = bytes;
      *length = size;
      s->lines++;
      brim_stream_consume(s, size + (end != NULL));
      return BRIM_OK;
    }
    looked = before;
  }
}

static const unsigned char gzip[] = {0x1f, 0x8b};

enum { MAGIC = 4 }; /* bytes that begin a frame of zstd */

/* Do the first bytes, at most so many are looked at, fit a frame of zstd, or one that is passed over (pzstd begins with it)? */
static bool fits_zstd(const char *bytes, size_t length) {
  static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd}, skippable[] = {0x50, 0x2a, 0x4d, 0x18};
  const size_t looked = length < MAGIC ? length : MAGIC;
  if (memcmp(bytes, frame, looked) == 0)
    return true;
  return looked > 0 && ((unsigned char)bytes[0] & 0xf0) == skippable[0] && memcmp(bytes + 1, skippable + 1, looked - 1) == 0;
}

/* Could further bytes still say that it is compressed? Nothing else is waited for: a pipe may have little to say at first. */
static bool undecided(const brim_stream *s) {
  bool more;
  brim_packing_of(s->input, s->input_used, &more);
  return more || (s->input_used < sizeof gzip && memcmp(s->input, gzip, s->input_used) == 0) ||
         (s->input_used < MAGIC && fits_zstd(s->input, s->input_used));
}

static int begin_unpacking(brim_stream *s, brim_error *err) {
  s->kind = BRIM_STREAM_OTHER;
  int status = brim_unpack_new(s->runtime, s->packing, &s->unpack, err);
  return status == BRIM_E_UNSUPPORTED ? brim_error_at(err, status, s->name, 0, -1, "%s", brim_packing_advice(s->packing))
                                      : status;
}

/* Sets up decompression by the first bytes. */
static int detect(brim_stream *s, brim_error *err) {
  bool more;
  while (!s->input_ended && undecided(s)) {
    size_t got = 0;
    BRIM_TRY(brim_stream_read_file(s, s->input + s->input_used, BRIM_STREAM_INPUT - s->input_used, &got, err));
    s->input_used += got;
  }
  s->packing = brim_packing_of(s->input, s->input_used, &more);
  if (s->packing)
    return begin_unpacking(s, err);
  if (s->input_used >= 2 && memcmp(s->input, gzip, 2) == 0) {
    s->kind = BRIM_STREAM_GZIP;
    s->z.zalloc = z_allocate;
    s->z.zfree = z_release;
    s->z.opaque = s->runtime;
    if (inflateInit2(&s->z, 15 + 16) != Z_OK)
      return BRIM_NOMEM(err);
    s->z_ready = true;
    s->gzip = s->size >= 0 ? brim_gzip_new() : NULL;
  } else if (s->input_used >= MAGIC && fits_zstd(s->input, s->input_used)) {
    s->kind = BRIM_STREAM_ZSTD;
    s->zstd = ZSTD_createDCtx_advanced((ZSTD_customMem){zstd_allocate, z_release, s->runtime});
    if (!s->zstd)
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

static int open_file(brim_stream *s, const char *path, brim_error *err) {
  struct stat st;
  /* Who writes to a named pipe may come later. */
  s->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (s->fd < 0)
    return brim_error_system(err, path, "open the file", errno);
  if (fstat(s->fd, &st) != 0)
    return brim_error_system(err, s->name, "read", errno);
  if (S_ISDIR(st.st_mode))
    return brim_error_at(err, BRIM_E_IO, path, 0, -1, "this is a folder; name a file");
  s->size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
  if (s->size < 0 && pipe2(s->wake, O_CLOEXEC | O_NONBLOCK) != 0)
    return brim_error_system(err, s->name, "make a pipe to watch the file", errno);
  if (!(s->input = brim_alloc(s->runtime, BRIM_STREAM_INPUT)))
    return BRIM_NOMEM(err);
  s->input_room = BRIM_STREAM_INPUT;
  return detect(s, err);
}

static int make(brim_runtime *runtime, const char *name, brim_stream **out, brim_error *err) {
  *out = NULL;
  brim_stream *s = brim_alloc_zero(runtime, sizeof *s);
  if (!s)
    return BRIM_NOMEM(err);
  s->runtime = runtime;
  s->fd = s->wake[0] = s->wake[1] = -1;
  s->between = true;
  atomic_init(&s->interrupted, false);
  s->name = brim_copy_string(runtime, name, strlen(name));
  if (!s->name) {
    brim_stream_free(s);
    return BRIM_NOMEM(err);
  }
  *out = s;
  return BRIM_OK;
}

int brim_stream_open_stoppable(brim_runtime *runtime, const char *path, const brim_stop *stop, brim_stream **out,
                               brim_error *err) {
  *out = brim_stream_take_kept(runtime, path);
  if (*out) {
    (*out)->stop = stop;
    return BRIM_OK;
  }
  BRIM_TRY(make(runtime, strcmp(path, "-") == 0 ? "standard input" : path, out, err));
  (*out)->stop = stop;
  int status = open_file(*out, path, err);
  if (status) {
    brim_stream_free(*out);
    *out = NULL;
  }
  return status;
}

int brim_stream_open(brim_runtime *runtime, const char *path, brim_stream **out, brim_error *err) {
  return brim_stream_open_stoppable(runtime, path, NULL, out, err);
}

int brim_stream_open_memory(brim_runtime *runtime, const char *name, const void *bytes, size_t length, brim_stream **out,
                            brim_error *err) {
  BRIM_TRY(make(runtime, name, out, err));
  brim_stream *s = *out;
  s->borrowed = s->input_ended = true;
  s->size = (int64_t)length;
  s->input = (char *)(uintptr_t)bytes; /* only read */
  s->input_used = length;
  int status = detect(s, err);
  if (status) {
    brim_stream_free(s);
    *out = NULL;
  } else if (s->kind == BRIM_STREAM_PLAIN) {
    s->window = s->input;
    s->used = length;
    s->consumed = s->size;
    s->ended = true;
  }
  return status;
}

void brim_stream_free(brim_stream *s) {
  if (!s)
    return;
  if (s->z_ready)
    inflateEnd(&s->z);
  brim_gzip_free(s->gzip);
  ZSTD_freeDCtx(s->zstd);
  brim_unpack_free(s->unpack);
  if (s->fd > STDIN_FILENO)
    close(s->fd);
  if (s->wake[0] >= 0) {
    close(s->wake[0]);
    close(s->wake[1]);
  }
  if (!s->borrowed)
    brim_release(s->runtime, s->input);
  if (!s->borrowed || s->kind != BRIM_STREAM_PLAIN)
    brim_release(s->runtime, s->window);
  brim_release(s->runtime, s->name);
  brim_release(s->runtime, s);
}

/* Back to the first byte of a compressed file. */
static int rewind_stream(brim_stream *s, brim_error *err) {
  if (!s->borrowed && (s->size < 0 || lseek(s->fd, 0, SEEK_SET) != 0))
    return brim_error_at(err, BRIM_E_USAGE, s->name, 0, -1, "a pipe cannot be read again from an earlier place: give a file");
  if (s->z_ready)
    inflateReset(&s->z);
  if (s->zstd)
    ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only);
  if (s->unpack)
    s->unpacked = BRIM_UNPACK_END; /* begins again */
  s->at = s->used = s->input_at = s->hint = 0;
  s->offset = s->consumed = 0;
  s->ended = false;
  s->status = BRIM_OK;
  s->between = true;
  if (s->borrowed)
    return BRIM_OK;
  s->input_used = 0;
  s->input_ended = false;
  return BRIM_OK;
}

static int beyond_end(const brim_stream *s, int64_t offset, brim_error *err) {
  return brim_error_at(err, BRIM_E_MISMATCH, s->name, 0, offset, "the file ends before this offset; it has changed");
}

static int seek_plain(brim_stream *s, int64_t offset, brim_error *err) {
  if (offset > s->size)
    return beyond_end(s, offset, err);
  if (s->borrowed) {
    s->at = (size_t)offset;
    s->offset = offset;
    return BRIM_OK;
  }
  if (lseek(s->fd, offset, SEEK_SET) != offset)
    return brim_error_system(err, s->name, "seek in the file", errno);
  s->at = s->used = s->input_at = s->input_used = 0;
  s->input_ended = s->ended = false;
  s->status = BRIM_OK;
  s->offset = s->consumed = offset;
  return BRIM_OK;
}

int brim_stream_seek(brim_stream *s, int64_t offset, brim_error *err) {
  if (offset < 0)
    return brim_error_at(err, BRIM_E_USAGE, s->name, 0, offset, "there is no such place in a file");
  if (s->kind == BRIM_STREAM_PLAIN && s->size >= 0)
    return seek_plain(s, offset, err);
  if (offset < s->offset || s->status)
    BRIM_TRY(rewind_stream(s, err));
  while (s->offset < offset) {
    const char *bytes;
    size_t have = 0;
    BRIM_TRY(brim_stream_peek(s, 1, &bytes, &have, err));
    if (!have)
      return beyond_end(s, offset, err);
    int64_t left = offset - s->offset;
    brim_stream_consume(s, (int64_t)have < left ? have : (size_t)left);
  }
  return BRIM_OK;
}

const char *brim_stream_name(const brim_stream *s) {
  return s->name;
}

int64_t brim_stream_offset(const brim_stream *s) {
  return s->offset;
}

int64_t brim_stream_line_number(const brim_stream *s) {
  return s->lines;
}

int64_t brim_stream_consumed(const brim_stream *s) {
  return s->consumed;
}

int64_t brim_stream_size(const brim_stream *s) {
  return s->size;
}

void brim_stream_interrupt(brim_stream *s) {
  atomic_store(&s->interrupted, true);
  if (s->wake[1] >= 0) {
    ssize_t ignored = write(s->wake[1], "", 1);
    (void)ignored;
  }
}
