/* stream.h: bytes of a file, decompressed when they are gzip (also several members in a row), zstd, xz or bzip2, which is found
 * by the first bytes and not by the name. Offsets are those of the uncompressed bytes. */
#ifndef BRIM_BASE_STREAM_H
#define BRIM_BASE_STREAM_H
#include "base/stop.h"

typedef struct brim_stream brim_stream;

/* "-" is standard input (which is not closed). */
int brim_stream_open(brim_runtime *runtime, const char *path, brim_stream **out, brim_error *err) BRIM_CHECK;
/* `stop` ends its reads too, this one among them; it must stay as long as the stream. NULL: nothing else does. */
int brim_stream_open_stoppable(brim_runtime *runtime, const char *path, const brim_stop *stop, brim_stream **out,
                               brim_error *err) BRIM_CHECK;
/* Borrowed bytes; `name` is for messages. */
int brim_stream_open_memory(brim_runtime *runtime, const char *name, const void *bytes, size_t length, brim_stream **out,
                            brim_error *err) BRIM_CHECK;
void brim_stream_free(brim_stream *stream);
/* Of what can be read once, such as a pipe: whoever opens it next gets this stream, of which nothing was consumed. Until then it
 * is the runtime's, for as long as its owner wants: who writes to a pipe that nobody is going to read learns so by its end. */
void brim_stream_keep(brim_stream *stream, const void *owner);
/* Closes those of the owner that nobody has opened since; NULL: all. */
void brim_streams_give_up(brim_runtime *runtime, const void *owner);

/* The unread bytes, at least `least` of them unless the stream ends sooner: *length < least only at the end, 0 when all is read.
 * They stay valid until the next call. Memory grows to what `least` asks, so a reader that looks for the end of a record asks for
 * twice what it had. Damaged or cut compressed data is BRIM_E_FORMAT with file and byte (of the compressed file). A failure comes
 * again at every later call, until a seek begins again. */
int brim_stream_peek(brim_stream *stream, size_t least, const char **bytes, size_t *length, brim_error *err) BRIM_CHECK;
/* The same, but what a pipe or a terminal has not sent yet is not waited for once there is a byte more than was unread before:
 * *length < least is then no sign of the end. *all: all is read. */
int brim_stream_peek_arrived(brim_stream *stream, size_t least, const char **bytes, size_t *length, bool *all,
                             brim_error *err) BRIM_CHECK;
/* Passes over the first `length` of the bytes that peek gave. */
void brim_stream_consume(brim_stream *stream, size_t length);
/* The next line without its LF (a CR stays), valid until the next call; BRIM_END after the last. A last line without LF counts.
 * Longer than `limit` bytes (0: no limit) is BRIM_E_FORMAT. */
int brim_stream_line(brim_stream *stream, size_t limit, const char **line, size_t *length, brim_error *err) BRIM_CHECK;
/* Passes over so many bytes that peek gave, which are so many whole lines. */
void brim_stream_pass_lines(brim_stream *stream, size_t length, int64_t lines);
/* Goes to an uncompressed offset: seeks in plain files, reads on in others. Backwards only in files that can be reopened.
 * Past the end is BRIM_E_MISMATCH. */
int brim_stream_seek(brim_stream *stream, int64_t offset, brim_error *err) BRIM_CHECK;

/* After a failure of damaged or cut compressed data: what was decompressed before it, a pure function of the file, can be read
 * as if the stream ended there. False if that is not how the stream failed. */
bool brim_stream_salvage(brim_stream *stream);
/* All is read, and the last byte is not a line end. */
bool brim_stream_ends_open(const brim_stream *stream);

bool brim_stream_is_packed(const brim_stream *stream); /* compressed */
const char *brim_stream_name(const brim_stream *stream);
int64_t brim_stream_offset(const brim_stream *stream);      /* of the first unread byte */
int64_t brim_stream_line_number(const brim_stream *stream); /* lines that brim_stream_line gave so far */
int64_t brim_stream_consumed(const brim_stream *stream);    /* compressed bytes taken from the file, for progress */
int64_t brim_stream_size(const brim_stream *stream);        /* of the file as it is on disk, -1 when unknown */
/* From any thread: a read that waits for a pipe or a terminal returns BRIM_E_CANCELLED soon, as do all later ones. */
void brim_stream_interrupt(brim_stream *stream);

#endif
