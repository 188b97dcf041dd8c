/* stream_fill.c: the decoders of a stream: compressed bytes of its file become bytes of its window. */
#include <string.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/stream_inside.h"

enum { ZSTD_BEGIN = 5 }; /* the least that begins a frame */

static int fill_input(brim_stream *s, brim_error *err) {
  size_t got;
  if (s->input_at < s->input_used || s->input_ended)
    return BRIM_OK;
  BRIM_TRY(brim_stream_read_file(s, s->input, BRIM_STREAM_INPUT, &got, err));
  s->input_at = 0;
  s->input_used = got;
  return BRIM_OK;
}

static int damaged(const brim_stream *s, brim_error *err, const char *what) {
  return brim_error_at(err, BRIM_E_FORMAT, s->name, 0, s->consumed, "%s", what);
}

int brim_stream_fill_gzip(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) {
  s->z.next_out = (Bytef *)to;
  s->z.avail_out = (uInt)(size < (1u << 30) ? size : 1u << 30);
  uInt room = s->z.avail_out;
  while (s->z.avail_out == room) {
    BRIM_TRY(fill_input(s, err));
    size_t have = s->input_used - s->input_at;
    if (have == 0) {
      if (!s->between)
        return damaged(s, err, "the gzip data ends too soon: the file was cut");
      *got = 0;
      return BRIM_OK;
    }
    if (s->between && (unsigned char)s->input[s->input_at] == 0) { /* zero padding after the last member, as tapes have it */
      s->input_at++;
      s->consumed++;
      continue;
    }
    s->between = false;
    s->z.next_in = (Bytef *)s->input + s->input_at;
    s->z.avail_in = (uInt)have;
    int result = inflate(&s->z, Z_NO_FLUSH);
    s->consumed += (int64_t)(have - s->z.avail_in);
    s->input_at = s->input_used - s->z.avail_in;
    if (result == Z_MEM_ERROR)
      return BRIM_NOMEM(err);
    if (result == Z_STREAM_END) {
      s->between = true;
      inflateReset(&s->z);
    } else if (result != Z_OK && result != Z_BUF_ERROR && s->z.avail_out == room) {
      return damaged(s, err, "the gzip data is damaged here"); /* with bytes before it, at the next call */
    }
  }
  *got = room - s->z.avail_out;
  return BRIM_OK;
}

static int fail_zstd(const brim_stream *s, ZSTD_ErrorCode code, brim_error *err) {
  if (code == ZSTD_error_memory_allocation)
    return BRIM_NOMEM(err);
  if (code == ZSTD_error_frameParameter_windowTooLarge)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, s->name, 0, s->consumed,
                         "the zstd window is larger than 128 MiB: compress without --long or --ultra");
  if (code == ZSTD_error_dictionary_wrong)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, s->name, 0, s->consumed,
                         "the zstd data needs a dictionary: unpack it with zstd -d -D DICTIONARY");
  return damaged(s, err, "the zstd data is damaged here");
}

int brim_stream_fill_zstd(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) {
  ZSTD_outBuffer out = {to, size, 0};
  while (out.pos == 0) {
    BRIM_TRY(fill_input(s, err));
    size_t have = s->input_used - s->input_at;
    /* One block at a time: what comes before a damaged one is then given out, however the calls fall. */
    size_t due = s->hint ? s->hint : ZSTD_BEGIN;
    ZSTD_inBuffer in = {s->input + s->input_at, due < have ? due : have, 0};
    bool at_end = in.size == 0;
    if (at_end && s->between)
      break;
    size_t result = ZSTD_decompressStream(s->zstd, &out, &in);
    s->input_at += in.pos;
    s->consumed += (int64_t)in.pos;
    if (ZSTD_isError(result))
      return fail_zstd(s, ZSTD_getErrorCode(result), err);
    s->between = result == 0;
    s->hint = result;
    if (at_end && !s->between && out.pos == 0)
      return damaged(s, err, "the zstd data ends too soon: the file was cut");
  }
  *got = out.pos;
  return BRIM_OK;
}

static int fail_other(const brim_stream *s, brim_error *err) {
  const char *name = brim_packing_name(s->packing);
  if (s->unpacked == BRIM_UNPACK_NO_MEMORY)
    return BRIM_NOMEM(err);
  if (s->unpacked == BRIM_UNPACK_TOO_LARGE)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, s->name, 0, s->consumed,
                         "its dictionary needs more than 192 MiB: compress it with xz -9 or less");
  return brim_error_at(err, BRIM_E_FORMAT, s->name, 0, s->consumed, "the %s data is damaged here", name);
}

/* Another stream of the same kind: anything else is damage, however few bytes it has. */
static bool may_begin(const brim_stream *s) {
  bool more;
  return brim_packing_of(s->input + s->input_at, s->input_used - s->input_at, &more) == s->packing || more;
}

/* Of several streams in a row each begins afresh; zeroes may come between them. */
int brim_stream_fill_other(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) {
  *got = 0;
  while (*got == 0) {
    if (s->unpacked > BRIM_UNPACK_END)
      return fail_other(s, err);
    BRIM_TRY(fill_input(s, err));
    size_t have = s->input_used - s->input_at, made = size;
    if (have == 0 && s->between)
      return BRIM_OK;
    if (have > 0 && s->between && s->input[s->input_at] == 0 && s->consumed > 0) {
      s->input_at++;
      s->consumed++;
      continue;
    }
    if (s->between && s->consumed > 0 && !may_begin(s)) {
      s->unpacked = BRIM_UNPACK_DAMAGED;
      return fail_other(s, err);
    }
    if (s->unpacked == BRIM_UNPACK_END && (s->unpacked = brim_unpack_begin(s->unpack)) != BRIM_UNPACK_MORE)
      return fail_other(s, err);
    const bool at_end = have == 0;
    s->unpacked = brim_unpack_run(s->unpack, s->input + s->input_at, &have, to, &made);
    s->input_at += have;
    s->consumed += (int64_t)have;
    s->between = s->unpacked == BRIM_UNPACK_END;
    *got = made;
    if (!at_end && have == 0 && made == 0 && s->unpacked == BRIM_UNPACK_MORE)
      s->unpacked = BRIM_UNPACK_DAMAGED; /* neither takes nor gives */
    if (at_end && made == 0 && s->unpacked == BRIM_UNPACK_MORE)
      return brim_error_at(err, BRIM_E_FORMAT, s->name, 0, s->consumed, "the %s data ends too soon: the file was cut",
                           brim_packing_name(s->packing));
  }
  return BRIM_OK;
}
