// fake_streams.cpp: see fake_streams.hpp.
#include "fake_streams.hpp"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <deque>
#include <map>

namespace fake {
typedef std::map<const stream *, uint64_t> clock; // how much of each stream's work is known to be done before

struct event {
  uint64_t recorded = 0, done = 0; // how often
  stream *where = nullptr;
  std::chrono::steady_clock::time_point when; // it was done
  clock known;
};
struct node {
  work what;
  event *records, *waits; // one of them at most
  uint64_t generation;
};
struct stream {
  void *context;
  bool first;
  std::deque<node> queue;
  clock known;
  graph *captured = nullptr;
  bool spoiled = false;
};
struct access {
  const stream *by;
  uint64_t number;
  range where;
};

static std::vector<access> accesses; // of work that the host has not waited for
static clock host;
static bool eager;
static int streams, problem;
static stream *capturing;
static long ran_count;
static uint64_t ran_digest = 0xcbf29ce484222325u;

int wrong(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "# false CUDA: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  return code;
}

void set_eager(bool to) {
  eager = to;
}
long ran() {
  return ran_count;
}
uint64_t digest() {
  const uint64_t now = ran_digest;
  ran_digest = 0xcbf29ce484222325u;
  return now;
}

static void join(clock &to, const clock &from) {
  for (const auto &[of, number] : from)
    if (to[of] < number)
      to[of] = number;
}

// ---- running

static void note(const work &w) {
  ran_count++;
  for (char letter : w.name)
    ran_digest = (ran_digest ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  ran_digest = (ran_digest ^ w.shape) * 0x100000001b3u;
}

static int run_until(stream *s, const event *e, uint64_t generation);

// The first of the queue; `forced`: what it waits for is done first. False: it waits.
static bool run_one(stream *s, bool forced) {
  const node n = s->queue.front();
  if (n.waits && n.waits->done < n.generation) {
    if (!forced)
      return false;
    if (run_until(n.waits->where, n.waits, n.generation))
      return false;
  }
  s->queue.pop_front();
  if (n.records)
    n.records->done = n.generation, n.records->when = std::chrono::steady_clock::now();
  if (n.what.run && problem == SUCCESS) {
    note(n.what);
    problem = n.what.run();
  }
  return true;
}

// All of the queue, or as far as an event. A problem stays: nothing runs after it.
static int run_until(stream *s, const event *e, uint64_t generation) {
  while (!s->queue.empty() && !(e && e->done >= generation))
    if (!run_one(s, true))
      return problem ? problem : wrong(INVALID_VALUE, "a stream waits for an event that nobody records");
  return SUCCESS;
}

static int report() {
  const int status = problem;
  problem = SUCCESS;
  return status;
}

static void look_ahead(stream *s) {
  while (eager && !s->first && !s->queue.empty() && run_one(s, false)) {
  }
}

// ---- order

static bool meet(const range &a, const range &b) {
  const char *x = static_cast<const char *>(a.at), *y = static_cast<const char *>(b.at);
  return (a.writes || b.writes) && x < y + b.size && y < x + a.size;
}

static int check_order(stream *s, const work &w) {
  for (const range &r : w.touches)
    for (const access &a : accesses)
      if (a.by != s && meet(a.where, r) && s->known[a.by] < a.number)
        return wrong(INVALID_VALUE, "%s of %zu bytes meets a transfer on another stream that nobody waited for", w.name.c_str(), r.size);
  return SUCCESS;
}

static void host_knows(const clock &what) {
  join(host, what);
  std::vector<access> left;
  for (const access &a : accesses)
    if (host[a.by] < a.number)
      left.push_back(a);
  accesses.swap(left);
}

int enqueue(stream *s, work w) {
  if (s->captured) {
    s->captured->nodes.push_back(std::move(w));
    return SUCCESS;
  }
  join(s->known, host);
  const int status = check_order(s, w);
  if (status)
    return status;
  const uint64_t number = ++s->known[s];
  for (const range &r : w.touches)
    accesses.push_back({s, number, r});
  s->queue.push_back({std::move(w), nullptr, nullptr, 0});
  look_ahead(s);
  return SUCCESS;
}

// ---- streams and events

stream *open_stream(void *context) {
  stream *s = new stream;
  s->context = context;
  s->first = streams++ == 0;
  return s;
}
void *context_of(const stream *s) {
  return s->context;
}
int close_stream(stream *s, bool lost) {
  if (lost)
    s->queue.clear();
  int status = run_until(s, nullptr, 0);
  host_knows(s->known);
  host.erase(s);
  if (--streams == 0)
    host.clear();
  capturing = capturing == s ? nullptr : capturing;
  delete s->captured; // a lost card does not end captures
  delete s;
  const int later = report();
  return status ? status : later;
}
event *open_event() {
  return new event;
}
void close_event(event *e) {
  static auto *gone = new std::vector<event *>; // queued work may wait for it still, as the driver allows
  gone->push_back(e);
}
int record(event *e, stream *s) {
  if (s->captured)
    return spoil_capture(), int(CAPTURE_UNSUPPORTED);
  e->where = s;
  e->known = s->known;
  s->queue.push_back({{}, e, nullptr, ++e->recorded});
  look_ahead(s);
  return SUCCESS;
}
int wait(stream *s, event *e) {
  if (s->captured)
    return spoil_capture(), int(CAPTURE_UNSUPPORTED);
  if (e->recorded == 0)
    return SUCCESS;
  join(s->known, e->known);
  s->queue.push_back({{}, nullptr, e, e->recorded});
  look_ahead(s);
  return SUCCESS;
}
bool elapsed(const event *begin, const event *end, float *milliseconds) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
  return begin->recorded && end->recorded && is_done(begin) && is_done(end);
}
bool is_done(const event *e) {
  return e->done >= e->recorded;
}
int finish(event *e) {
  const int status = e->where ? run_until(e->where, e, e->recorded) : int(SUCCESS);
  host_knows(e->known);
  const int later = report();
  return status ? status : later;
}
int finish(stream *s) {
  if (s->captured)
    return spoil_capture(), int(CAPTURE_UNSUPPORTED);
  const int status = run_until(s, nullptr, 0);
  host_knows(s->known);
  const int later = report();
  return status ? status : later;
}

// ---- graphs

bool is_capturing() {
  return capturing != nullptr;
}
void spoil_capture() {
  if (capturing)
    capturing->spoiled = true;
}
int begin_capture(stream *s) {
  if (capturing)
    return wrong(INVALID_VALUE, "two captures");
  s->captured = new graph;
  s->spoiled = false;
  capturing = s;
  return SUCCESS;
}
int end_capture(stream *s, graph **out) {
  if (capturing != s)
    return wrong(INVALID_VALUE, "the end of a capture that did not begin");
  *out = s->captured;
  s->captured = nullptr;
  capturing = nullptr;
  if (!s->spoiled)
    return SUCCESS;
  delete *out;
  *out = nullptr;
  return CAPTURE_INVALIDATED;
}
} // namespace fake
