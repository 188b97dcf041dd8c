// emulate_matrix.cpp: mma.sync, ldmatrix and cp.async, as PTX says which lane has what. See emulate_matrix.hpp.
#include "emulate_matrix.hpp"

#include <vector>

#include "emulated.hpp"

namespace emulate {

enum { MOST_THREADS = 1024, LANES = 32, ROWS = 16, COLUMNS = 8, TERMS = 16, PIECE = 4 };

// ---- products: the first lane that continues computes them for all

struct given {
  uint32_t a[4], b[2];
  float y[4];
  bool done;
};
static given givens[MOST_THREADS][2]; // used in turn: a lane is at most one exchange ahead of its warp
static unsigned turns[MOST_THREADS];

static float value_of(uint32_t word, int half, bool fp16) {
  static std::vector<float> halves;
  const unsigned short bits = static_cast<unsigned short>(word >> (16 * half));
  if (!fp16)
    return float_of(static_cast<unsigned>(bits) << 16);
  if (halves.empty())
    for (unsigned i = 0; i < 1u << 16; i++)
      halves.push_back(of_half(static_cast<unsigned short>(i)));
  return halves[bits];
}

static given *given_by(const uint64_t *all, int lane) {
  return reinterpret_cast<given *>(static_cast<uintptr_t>(all[lane]));
}

static void multiply(const uint64_t *all, bool fp16) {
  float a[ROWS][TERMS], b[TERMS][COLUMNS];
  for (int k = 0; k < TERMS; k++) {
    for (int row = 0; row < ROWS; row++)
      a[row][k] = value_of(given_by(all, row % 8 * 4 + k % 8 / 2)->a[row / 8 + k / 8 * 2], k % 2, fp16);
    for (int column = 0; column < COLUMNS; column++)
      b[k][column] = value_of(given_by(all, column * 4 + k % 8 / 2)->b[k / 8], k % 2, fp16);
  }
  for (int row = 0; row < ROWS; row++) {
    float y[COLUMNS] = {};
    for (int k = 0; k < TERMS; k++)
      for (int column = 0; column < COLUMNS; column++)
        y[column] += a[row][k] * b[k][column];
    for (int column = 0; column < COLUMNS; column++)
      given_by(all, row % 8 * 4 + column / 2)->y[row / 8 * 2 + column % 2] = y[column];
  }
}

void multiply_add(int line, bool fp16, float y[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
  given &own = givens[now.thread.x][turns[now.thread.x]++ % 2];
  std::memcpy(own.a, a, sizeof own.a);
  own.b[0] = b0, own.b[1] = b1;
  own.done = false;
  const uint64_t *all = exchange(line, reinterpret_cast<uintptr_t>(&own));
  if (!given_by(all, 0)->done)
    multiply(all, fp16);
  given_by(all, 0)->done = true;
  for (int i = 0; i < 4; i++)
    y[i] += own.y[i];
}

// ---- matrices from shared memory

static uint32_t word_of(const array *a, long long i) {
  return may_read(a, i) ? static_cast<const uint32_t *>(a->data)[i] : 0;
}

void fetch(int line, const array *a, long long row, bool turned, uint32_t got[4]) {
  const int lane = static_cast<int>(now.thread.x % LANES);
  if (row % PIECE)
    problem("a row of a matrix begins at word %lld of shared memory: not at 16 bytes", row);
  const uint64_t *all = exchange(line, static_cast<uint64_t>(row));
  for (int i = 0; i < 4; i++) {
    const uint64_t *rows = all + 8 * i;
    if (turned) {
      const int column = lane / 4, shift = column % 2 * 16;
      const uint32_t low = word_of(a, static_cast<long long>(rows[lane % 4 * 2]) + column / 2) >> shift & 0xffff;
      const uint32_t high = word_of(a, static_cast<long long>(rows[lane % 4 * 2 + 1]) + column / 2) >> shift & 0xffff;
      got[i] = low | high << 16;
    } else
      got[i] = word_of(a, static_cast<long long>(rows[lane / 4]) + lane % 4);
  }
}

// ---- copies: done when they are awaited

struct copy {
  const array *a;
  long long to;
  const unsigned short *from; // nullptr: zeros
  unsigned group;
};
struct copies {
  std::vector<copy> under_way;
  unsigned closed;
};
static copies of_threads[MOST_THREADS];

void begin_copies(unsigned thread) {
  of_threads[thread].under_way.clear();
  of_threads[thread].closed = 0;
}

void end_copies() {
  if (!of_threads[now.thread.x].under_way.empty())
    problem("%zu copies are not awaited", of_threads[now.thread.x].under_way.size());
}

static long copy_count;

long copied() {
  return copy_count;
}

void copy_row(const array *a, long long to, const unsigned short *from, bool there) {
  copies &own = of_threads[now.thread.x];
  if (to % PIECE || (there && reinterpret_cast<uintptr_t>(from) % (4 * PIECE)))
    problem("a copy to word %lld of shared memory from %p: not at 16 bytes", to, static_cast<const void *>(from));
  for (int i = 0; i < PIECE; i++)
    if (!may_send(a, to + i))
      return;
  copy_count++;
  own.under_way.push_back({a, to, there ? from : nullptr, own.closed});
}

void close_copies() {
  of_threads[now.thread.x].closed++;
}

void await_copies(unsigned but) {
  copies &own = of_threads[now.thread.x];
  size_t left = 0;
  for (const copy &c : own.under_way) {
    if (c.group + but >= own.closed) {
      own.under_way[left++] = c;
      continue;
    }
    for (int i = 0; i < PIECE; i++) {
      const uint32_t *from = c.from ? static_cast<const uint32_t *>(static_cast<const void *>(c.from)) + i : nullptr;
      static_cast<uint32_t *>(c.a->data)[c.to + i] = from && may_read<sizeof *from>(from) ? *from : 0;
      arrives(c.a, c.to + i);
    }
  }
  own.under_way.resize(left, copy());
}
} // namespace emulate
