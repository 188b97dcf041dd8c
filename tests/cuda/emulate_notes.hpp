// emulate_notes.hpp: what shared and global memory have seen, of each element: who wrote it, who read it, and when. Every access of a
// kernel asks here, so this is inline. What is wrong is looked at again in emulate.cpp, which says why.
#ifndef BRIM_EMULATE_NOTES_HPP
#define BRIM_EMULATE_NOTES_HPP
#include <cstddef>
#include <cstdint>

// What is noted is the emulation's own: a sanitizer would only make each access slower. (Such a function is called, not inlined.)
#if defined(__SANITIZE_ADDRESS__)
#define NOTING inline __attribute__((no_sanitize("address", "undefined")))
#else
#define NOTING inline __attribute__((always_inline))
#endif

namespace emulate {

struct index3 {
  unsigned x, y, z;
};

// Of the thread that runs.
struct state {
  index3 thread, block, threads, blocks;
  uint32_t launch;
  uint64_t here;  // launch << 32 | the block's number
  uint16_t epoch; // barriers that the block has passed, + 1
};
extern state now;

inline int16_t me() {
  return static_cast<int16_t>(now.thread.x);
}

// ---- shared memory: 0 is before the first barrier's epoch

struct cell {
  uint16_t write_epoch, read_epoch;
  int16_t writer, reader; // reader -1: several
};
enum : uint16_t { UNDER_WAY = UINT16_MAX };

struct array {
  void *data;
  cell *cells;
  long long count;
  size_t size;
};
bool no_element(const array *a, long long i);
void wrong_read(const cell &c, long long i);
void wrong_write(const cell &c, long long i);

NOTING bool may_read(const array *a, long long i) {
  if (static_cast<unsigned long long>(i) >= static_cast<unsigned long long>(a->count))
    return no_element(a, i);
  cell &c = a->cells[i];
  if (c.write_epoch == 0 || c.write_epoch == UNDER_WAY || (c.write_epoch == now.epoch && c.writer != me()))
    wrong_read(c, i);
  c.reader = c.read_epoch == now.epoch && c.reader != me() ? int16_t(-1) : me();
  c.read_epoch = now.epoch;
  return true;
}

NOTING bool may_write(const array *a, long long i) {
  if (static_cast<unsigned long long>(i) >= static_cast<unsigned long long>(a->count))
    return no_element(a, i);
  cell &c = a->cells[i];
  if (c.write_epoch == UNDER_WAY || (c.write_epoch == now.epoch && c.writer != me()) || (c.read_epoch == now.epoch && c.reader != me()))
    wrong_write(c, i);
  c.writer = me();
  c.write_epoch = now.epoch;
  return true;
}

// ---- global memory: an arena, with notes about each word of four bytes, and each byte where elements are smaller

struct note {
  uint64_t written, read; // launch << 32 | block; block MANY_BLOCKS: several
  uint16_t write_epoch, read_epoch;
  int16_t writer, reader; // reader -1: several of a block
};
enum : uint32_t { MANY_BLOCKS = UINT32_MAX };
enum : size_t { ARENA = size_t(1) << 30 };
extern char *arena;
extern uint8_t *there; // of each byte: whether it was given out
extern note *words, *bytes;
bool no_memory(const void *at, const char *doing);
void wrong_read(const note &n);
void wrong_write(const note &n);

// Nothing of this launch, or of this thread, or of this block before its last barrier.
NOTING bool is_apart(uint64_t when, uint16_t epoch, int16_t who) {
  return when >> 32 != now.launch || (when == now.here && (epoch != now.epoch || who == me()));
}

// Of an element's note; nullptr: there is no such memory.
template <size_t SIZE> NOTING note *note_of(const void *at) {
  const size_t first = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(arena);
  if (first >= ARENA || first % SIZE || !there[first] || !there[first + SIZE - 1])
    return nullptr;
  return SIZE >= 4 ? &words[first / 4] : &bytes[first];
}

template <size_t SIZE> NOTING bool may_read(const void *at) {
  note *n = note_of<SIZE>(at);
  if (!n)
    return no_memory(at, "read");
  if (!is_apart(n->written, n->write_epoch, n->writer))
    wrong_read(*n);
  const bool again = n->read == now.here;
  n->reader = again && n->read_epoch == now.epoch && n->reader != me() ? int16_t(-1) : me();
  n->read = again || n->read >> 32 != now.launch ? now.here : now.here | MANY_BLOCKS;
  n->read_epoch = now.epoch;
  return true;
}

template <size_t SIZE> NOTING bool may_write(const void *at) {
  note *n = note_of<SIZE>(at);
  if (!n)
    return no_memory(at, "written");
  if (!is_apart(n->written, n->write_epoch, n->writer) || !is_apart(n->read, n->read_epoch, n->reader))
    wrong_write(*n);
  n->written = now.here;
  n->write_epoch = now.epoch;
  n->writer = me();
  return true;
}
} // namespace emulate
#endif
