/* stream_inside.h: what stream.c, the window, stream_fill.c, its decoders, and stream_read.c, their bytes, share. */
#ifndef BRIM_BASE_STREAM_INSIDE_H
#define BRIM_BASE_STREAM_INSIDE_H
#include <stdatomic.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/gzip.h"
#include "base/stop.h"
#include "base/unpack.h"

enum { BRIM_STREAM_INPUT = 1 << 16 }; /* bytes of a file that are read at once */
typedef enum brim_stream_kind { BRIM_STREAM_PLAIN, BRIM_STREAM_GZIP, BRIM_STREAM_ZSTD, BRIM_STREAM_OTHER } brim_stream_kind;

typedef struct brim_stream {
  brim_runtime *runtime;
  char *name;
  brim_stream_kind kind;
  int fd;
  bool input_ended, ended;
  int status; /* of the first read that failed: it fails again and again, until a seek begins again */
  brim_error error;
  bool between;           /* compressed: between two members or frames, where the file may end */
  size_t hint;            /* zstd: bytes up to the end of the next block; 0: a frame begins */
  int64_t size, consumed; /* of the file as it is on disk */
  int64_t offset, lines;
  char *input; /* compressed bytes: [input_at, input_used) */
  size_t input_at, input_used, input_room;
  char *window; /* uncompressed: [at, used) is unread */
  size_t at, used, capacity;
  bool borrowed; /* input (compressed) or window (plain) is the caller's memory */
  z_stream z;
  bool z_ready;
  brim_gzip *gzip; /* for members at once; NULL: all go through z */
  ZSTD_DCtx *zstd;
  brim_packing packing; /* of BRIM_STREAM_OTHER */
  brim_unpack *unpack;
  brim_unpack_result unpacked; /* of the last call, which may have given bytes before it failed */
  int wake[2];                 /* a byte in this pipe ends a waiting read */
  atomic_bool interrupted;
  const brim_stop *stop;    /* may be NULL */
  struct brim_stream *next; /* of those that are kept */
  const void *owner;        /* who keeps it */
} brim_stream;

/* ---- stream_read.c */
bool brim_stream_is_interrupted(const brim_stream *s);
/* Up to `size` bytes of the file as it is on disk; 0 at its end. */
int brim_stream_read_file(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) BRIM_CHECK;

/* ---- stream_kept.c */
/* NULL: there is none. */
brim_stream *brim_stream_take_kept(brim_runtime *runtime, const char *path);

/* ---- stream_fill.c */
/* Up to `size` bytes of text, at least one but at the end. */
int brim_stream_fill_gzip(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) BRIM_CHECK;
int brim_stream_fill_zstd(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) BRIM_CHECK;
int brim_stream_fill_other(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) BRIM_CHECK;

#endif
