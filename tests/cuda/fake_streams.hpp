// fake_streams.hpp: the false driver's streams, events and graphs: what is queued, in which order it may run, and who has to wait for whom.
//
// Work runs when somebody waits for it, or, with an odd seed and on streams other than the first, as soon as it may: what relies on
// luck fails in one of the two. Whether two transfers on different streams that meet in memory are ordered, by events or by the host, is
// told when they are queued (vector clocks), whatever ran when.
#ifndef BRIM_FAKE_STREAMS_HPP
#define BRIM_FAKE_STREAMS_HPP
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
       INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900,
       CAPTURE_INVALIDATED = 901, UPDATE_FAILURE = 910 };

namespace fake {
struct range {
  const void *at;
  size_t size;
  bool writes;
};
struct work {
  std::string name; // what a graph's update compares: of a kernel its name, of a transfer its kind
  uint64_t shape;   // what else is counted in the digest: blocks, bytes
  std::function<int()> run;
  std::vector<range> touches; // of transfers
};
struct graph {
  std::vector<work> nodes;
};
struct stream;
struct event;

int wrong(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void set_eager(bool eager);
stream *open_stream(void *context);
int close_stream(stream *s, bool lost); // lost: nothing runs any more
void *context_of(const stream *s);
event *open_event();
void close_event(event *e);
int enqueue(stream *s, work w);
int record(event *e, stream *s);
int wait(stream *s, event *e);
bool is_done(const event *e);
int finish(event *e);  // the host waits
bool elapsed(const event *begin, const event *end, float *milliseconds); // false: one of them was not yet
int finish(stream *s); // the host waits
// What ran: how much since the program began; and which, in which order, since it was last asked.
long ran();
uint64_t digest();

// Graphs. While a stream is captured nobody may wait or take memory.
bool is_capturing();
void spoil_capture();
int begin_capture(stream *s);
int end_capture(stream *s, graph **out);
} // namespace fake
#endif
