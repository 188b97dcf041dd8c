// emulate.cpp: fibers, barriers, and what memory has seen. See emulate.hpp.
#include "emulate.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#include "emulated.hpp"

namespace emulate {

state now;

// ---- problems

static std::string first_problem;
static const char *kernel_name = "";

void problem(const char *format, ...) {
  char text[400];
  va_list args;
  if (!first_problem.empty())
    return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char whole[600];
  snprintf(whole, sizeof whole, "%s, block %u %u, thread %u: %s", kernel_name, now.block.x, now.block.y, now.thread.x, text);
  first_problem = whole;
}

std::string take_problem() {
  std::string text;
  text.swap(first_problem);
  return text;
}

// ---- fibers

enum { MOST_THREADS = 1024, STACK = 128 << 10, WARP_SIZE = 32 };
enum wait { READY, AT_BARRIER, AT_EXCHANGE, ENDED };

struct fiber {
  wait waits;
  int line; // where it waits
  unsigned arrays, exchanges;
  char *stack;
#if defined(__x86_64__)
  void *at;
#else
  ucontext_t at;
#endif
  void *fake; // AddressSanitizer's
};

static fiber fibers[MOST_THREADS];
static unsigned running, thread_count;
static kernel_function running_kernel;
static const void *running_args;

#if defined(__x86_64__)
static void *scheduler;
extern "C" void brim_emulate_switch(void **from, void *to);
__asm__(".text\n.globl brim_emulate_switch\n.hidden brim_emulate_switch\n.type brim_emulate_switch, @function\n"
        "brim_emulate_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
        ".size brim_emulate_switch, .-brim_emulate_switch\n");
#define SWITCH(from, to) brim_emulate_switch(&(from), to)
#else
static ucontext_t scheduler;
#define SWITCH(from, to) swapcontext(&(from), &(to))
#endif

#if defined(__SANITIZE_ADDRESS__)
static void *scheduler_fake;
static const void *scheduler_stack;
static size_t scheduler_size;
#define LEAVING(fake, stack, size)    __sanitizer_start_switch_fiber(fake, stack, size)
#define ENTERED(fake, stack, size)    __sanitizer_finish_switch_fiber(fake, stack, size)
#else
#define LEAVING(fake, stack, size)    (void)0
#define ENTERED(fake, stack, size)    (void)0
#endif

static void leave(bool forever) {
  fiber &f = fibers[running];
  (void)forever;
  LEAVING(forever ? nullptr : &f.fake, scheduler_stack, scheduler_size);
  SWITCH(f.at, scheduler);
  ENTERED(f.fake, nullptr, nullptr);
}

static void begin() {
  ENTERED(nullptr, &scheduler_stack, &scheduler_size);
  running_kernel(running_args);
  end_copies();
  fibers[running].waits = ENDED;
  leave(true);
  abort();
}

static void make(fiber &f) {
  if (!f.stack) {
    void *stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
      abort();
    f.stack = static_cast<char *>(stack);
  }
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(f.stack, STACK);
#endif
  f.waits = READY;
  f.arrays = f.exchanges = 0;
  begin_copies(static_cast<unsigned>(&f - fibers));
#if defined(__x86_64__)
  // As after a call of begin() from nowhere: six registers, where to go, and a word that keeps the stack aligned.
  void **top = reinterpret_cast<void **>(f.stack + STACK) - 8;
  for (int i = 0; i < 8; i++)
    top[i] = nullptr;
  top[6] = reinterpret_cast<void *>(begin);
  f.at = top;
#else
  getcontext(&f.at);
  f.at.uc_stack.ss_sp = f.stack;
  f.at.uc_stack.ss_size = STACK;
  f.at.uc_link = nullptr;
  makecontext(&f.at, begin, 0);
#endif
}

static void run(unsigned thread) {
  running = thread;
  now.thread.x = thread;
  LEAVING(&scheduler_fake, fibers[thread].stack, STACK);
  SWITCH(scheduler, fibers[thread].at);
  ENTERED(scheduler_fake, nullptr, nullptr);
}

// ---- random order

static uint64_t random_state = 1;

void seed(uint64_t value) {
  random_state = value * 2 + 1;
}

static unsigned draw(unsigned below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>((random_state >> 33) % below);
}

// ---- waiting

static unsigned at_barrier, at_exchange[MOST_THREADS / WARP_SIZE];
static bool or_now, or_result;
static uint64_t exchanged[MOST_THREADS / WARP_SIZE][2][WARP_SIZE];

static void release(unsigned first, unsigned count) {
  for (unsigned i = first; i < first + count; i++) {
    if (fibers[i].line != fibers[first].line)
      problem("waits in line %d, and thread %u in line %d", fibers[first].line, i, fibers[i].line);
    fibers[i].waits = READY;
  }
}

bool barrier(int line, bool said) {
  fiber &f = fibers[running];
  f.line = line;
  f.waits = AT_BARRIER;
  or_now = or_now || said;
  if (++at_barrier == thread_count) {
    at_barrier = 0;
    or_result = or_now;
    or_now = false;
    now.epoch++;
    release(0, thread_count);
  }
  leave(false);
  return or_result;
}

const uint64_t *exchange(int line, uint64_t given) {
  fiber &f = fibers[running];
  const unsigned warp = running / WARP_SIZE;
  uint64_t *all = exchanged[warp][f.exchanges++ % 2];
  all[running % WARP_SIZE] = given;
  f.line = line;
  f.waits = AT_EXCHANGE;
  if (++at_exchange[warp] == WARP_SIZE) {
    at_exchange[warp] = 0;
    release(warp * WARP_SIZE, WARP_SIZE);
  }
  leave(false);
  return all;
}

// ---- shared memory: what is declared n-th is the n-th array of the block

enum { MOST_ARRAYS = 16, STATIC_BYTES = 48 << 10, UNDER_WAY = UINT16_MAX };

struct storage {
  std::vector<char> data;
  std::vector<cell> cells;
  array is;
};
static storage statics[MOST_ARRAYS], dynamic;

static void prepare(storage &s, size_t count, size_t size) {
  s.data.assign(count * size, static_cast<char>(0xff));
  s.cells.assign(count, cell{0, 0, 0, 0});
  s.is = {s.data.data(), s.cells.data(), static_cast<long long>(count), size};
}

array *static_array(size_t count, size_t size) {
  const unsigned number = fibers[running].arrays++;
  if (number >= MOST_ARRAYS)
    abort();
  storage &s = statics[number];
  if (s.is.count == 0) {
    size_t total = count * size;
    prepare(s, count, size);
    for (unsigned i = 0; i < number; i++)
      total += statics[i].data.size();
    if (total > STATIC_BYTES)
      problem("%zu bytes of shared memory: there are %d", total, STATIC_BYTES);
  }
  return &s.is;
}

array *dynamic_array() {
  return &dynamic.is;
}

static bool is_there(const array *a, long long i) {
  if (i >= 0 && i < a->count)
    return true;
  problem("element %lld of shared memory that has %lld", i, a->count);
  return false;
}

bool may_read(const array *a, long long i) {
  if (!is_there(a, i))
    return false;
  cell &c = a->cells[i];
  const int16_t me = static_cast<int16_t>(running);
  if (c.write_epoch == UNDER_WAY)
    problem("element %lld of shared memory is read, and a copy to it was not awaited", i);
  else if (c.write_epoch == 0)
    problem("element %lld of shared memory is read before it is written", i);
  else if (c.write_epoch == now.epoch && c.writer != me)
    problem("element %lld of shared memory is read, and thread %d wrote it since the last barrier", i, c.writer);
  c.reader = c.read_epoch == now.epoch && c.reader != me ? -1 : me;
  c.read_epoch = now.epoch;
  return true;
}

bool may_write(const array *a, long long i) {
  if (!is_there(a, i))
    return false;
  cell &c = a->cells[i];
  const int16_t me = static_cast<int16_t>(running);
  if (c.write_epoch == UNDER_WAY)
    problem("element %lld of shared memory is written, and a copy to it was not awaited", i);
  else if (c.write_epoch == now.epoch && c.writer != me)
    problem("element %lld of shared memory is written, and thread %d wrote it since the last barrier", i, c.writer);
  else if (c.read_epoch == now.epoch && c.reader != me)
    problem("element %lld of shared memory is written, and another thread read it since the last barrier", i);
  c.writer = me;
  c.write_epoch = now.epoch;
  return true;
}

bool may_send(const array *a, long long i) {
  if (!may_write(a, i))
    return false;
  a->cells[i].write_epoch = UNDER_WAY;
  return true;
}

void arrives(const array *a, long long i) {
  a->cells[i].write_epoch = now.epoch;
}

// ---- global memory: an arena, with notes about each word of four bytes, and each byte where elements are smaller

struct note {
  uint32_t write_launch, read_launch, write_block, read_block;
  uint16_t write_epoch, read_epoch;
  int16_t writer, reader; // reader -1: several of a block
};
enum : uint32_t { MANY_BLOCKS = UINT32_MAX };
enum : size_t { ARENA = size_t(1) << 30, GUARD = 256, NOTES_OF_BYTES = ARENA / 4 };

static char *arena;
static uint8_t *there; // of each byte: whether it was given out
static note *words, *bytes;

struct piece {
  size_t first, size;
};
static std::vector<piece> pieces; // in order

static void *reserve(size_t size) {
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  return memory;
}

static void start() {
  if (arena)
    return;
  arena = static_cast<char *>(reserve(ARENA));
  there = static_cast<uint8_t *>(reserve(ARENA));
  words = static_cast<note *>(reserve(ARENA / 4 * sizeof(note)));
  bytes = static_cast<note *>(reserve(ARENA * sizeof(note)));
}

void *take(size_t size) {
  start();
  size_t first = GUARD, i = 0;
  for (; i < pieces.size() && pieces[i].first < first + size + GUARD; i++)
    first = (pieces[i].first + pieces[i].size + 2 * GUARD - 1) / GUARD * GUARD;
  if (size > ARENA || first + size + GUARD > ARENA)
    return nullptr;
  pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i), {first, size});
  std::memset(there + first, 1, size);
  std::memset(arena + first, 0xff, size); // NaN
  return arena + first;
}

bool give(void *memory) {
  for (size_t i = 0; i < pieces.size(); i++)
    if (arena + pieces[i].first == memory) {
      std::memset(there + pieces[i].first, 0, pieces[i].size);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  return false;
}

size_t in_use() {
  return pieces.size();
}

bool is_inside(const void *at, size_t size) {
  const size_t first = static_cast<size_t>(static_cast<const char *>(at) - arena);
  return arena && at >= arena && first < ARENA && size <= ARENA - first && (size == 0 || (there[first] && there[first + size - 1]));
}

static note *note_of(const void *at, size_t size, const char *doing) {
  const size_t first = static_cast<size_t>(static_cast<const char *>(at) - arena);
  if (!is_inside(at, size) || reinterpret_cast<uintptr_t>(at) % size) {
    problem("global memory is %s where there is none: %p", doing, at);
    return nullptr;
  }
  return size >= 4 ? &words[first / 4] : &bytes[first];
}

bool may_read(const void *at, size_t size) {
  note *n = note_of(at, size, "read");
  if (!n)
    return false;
  const int16_t me = static_cast<int16_t>(running);
  if (n->write_launch == now.launch && n->write_block != now.number)
    problem("global memory is read, and block %u wrote it", n->write_block);
  else if (n->write_launch == now.launch && n->write_epoch == now.epoch && n->writer != me)
    problem("global memory is read, and thread %d wrote it since the last barrier", n->writer);
  if (n->read_launch != now.launch)
    n->read_block = now.number, n->reader = me;
  else if (n->read_block != now.number)
    n->read_block = MANY_BLOCKS;
  else
    n->reader = n->read_epoch == now.epoch && n->reader != me ? -1 : me;
  n->read_launch = now.launch;
  n->read_epoch = now.epoch;
  return true;
}

bool may_write(const void *at, size_t size) {
  note *n = note_of(at, size, "written");
  if (!n)
    return false;
  const int16_t me = static_cast<int16_t>(running);
  if (n->write_launch == now.launch && n->write_block != now.number)
    problem("global memory is written, and block %u wrote it", n->write_block);
  else if (n->write_launch == now.launch && n->write_epoch == now.epoch && n->writer != me)
    problem("global memory is written, and thread %d wrote it since the last barrier", n->writer);
  else if (n->read_launch == now.launch && n->read_block != now.number)
    problem("global memory is written, and another block reads it");
  else if (n->read_launch == now.launch && n->read_epoch == now.epoch && n->reader != me)
    problem("global memory is written, and another thread read it since the last barrier");
  n->write_launch = now.launch;
  n->write_block = now.number;
  n->write_epoch = now.epoch;
  n->writer = me;
  return true;
}

// ---- launches

static bool run_block() {
  at_barrier = 0;
  or_now = false;
  now.epoch = 1;
  for (storage &s : statics)
    s.is.count = 0;
  std::fill(dynamic.cells.begin(), dynamic.cells.end(), cell{0, 0, 0, 0});
  for (unsigned i = 0; i < thread_count / WARP_SIZE; i++)
    at_exchange[i] = 0;
  for (unsigned i = 0; i < thread_count; i++)
    make(fibers[i]);
  for (unsigned left = thread_count; left > 0;) {
    const unsigned first = draw(thread_count), step = draw(thread_count) | 1;
    bool moved = false;
    for (unsigned i = 0; i < thread_count; i++) {
      const unsigned thread = (first + i * step) % thread_count;
      if (fibers[thread].waits != READY)
        continue;
      moved = true;
      run(thread);
      left -= fibers[thread].waits == ENDED;
      if (!first_problem.empty())
        return false;
    }
    if (!moved) {
      for (unsigned i = 0; i < thread_count; i++)
        if (fibers[i].waits != ENDED) {
          now.thread.x = i;
          problem("waits in line %d for threads that do not come", fibers[i].line);
        }
      return false;
    }
  }
  return true;
}

void launch(const char *name, kernel_function kernel, const void *args, index3 blocks, unsigned threads, size_t shared_bytes) {
  kernel_name = name;
  running_kernel = kernel;
  running_args = args;
  thread_count = threads;
  now.blocks = blocks;
  now.threads = {threads, 1, 1};
  now.thread = {0, 0, 0};
  now.launch++;
  if (threads == 0 || threads > MOST_THREADS || (threads & (threads - 1)) || threads < WARP_SIZE || blocks.x == 0 ||
      blocks.y == 0 || blocks.z != 1 || blocks.x > INT32_MAX || blocks.y > 65535) {
    problem("%u x %u x %u blocks of %u threads cannot be launched", blocks.x, blocks.y, blocks.z, threads);
    return;
  }
  prepare(dynamic, shared_bytes / sizeof(float), sizeof(float));
  const uint64_t count = uint64_t(blocks.x) * blocks.y;
  const uint64_t first = draw(static_cast<unsigned>(count)), backwards = draw(2);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t number = (first + (backwards ? count - i : i)) % count;
    now.block = {static_cast<unsigned>(number % blocks.x), static_cast<unsigned>(number / blocks.x), 0};
    now.number = static_cast<uint32_t>(number);
    if (!run_block())
      return;
  }
}
} // namespace emulate
