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
static unsigned running, thread_count, ended;
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
static const void *scheduler_stack; // nullptr: no fiber of the launch has run yet
static size_t scheduler_size;
#define LEAVING(fake, stack, size)    __sanitizer_start_switch_fiber(fake, stack, size)
#define ENTERED(fake)                 __sanitizer_finish_switch_fiber(fake, nullptr, nullptr)
// A fiber runs for the first time: the very first one comes from the scheduler.
static void begun() {
  const void *stack;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &stack, &size);
  if (!scheduler_stack)
    scheduler_stack = stack, scheduler_size = size;
}
#define BEGIN_LAUNCH()                scheduler_stack = nullptr
#else
#define LEAVING(fake, stack, size)    (void)0
#define ENTERED(fake)                 (void)0
#define BEGIN_LAUNCH()                (void)0
static void begun() {}
#endif

// Each pass over the threads is in another order; a thread that waits hands over to the next that does not.
enum : unsigned { NONE = UINT32_MAX };
static unsigned first_of_pass, step_of_pass, turn;
static bool moved; // in this pass

static unsigned draw(unsigned below);

static void begin_pass() {
  first_of_pass = draw(thread_count), step_of_pass = draw(thread_count) | 1;
  turn = 0;
  moved = false;
}

// The next thread that can continue; NONE: all have ended, or wait for others, or there is a problem.
static unsigned next_ready() {
  for (; first_problem.empty(); begin_pass()) {
    while (turn < thread_count) {
      const unsigned thread = (first_of_pass + turn++ * step_of_pass) & (thread_count - 1);
      if (fibers[thread].waits == READY) {
        moved = true;
        return thread;
      }
    }
    if (!moved)
      break;
  }
  return NONE;
}

static void enter(unsigned thread) {
  running = thread;
  now.thread.x = thread;
}

// To the next thread, or to the scheduler; until this one's turn comes again, or forever.
static void leave(bool forever) {
  fiber &f = fibers[running];
  const unsigned next = next_ready();
  (void)forever;
  if (next == running)
    return;
  if (next == NONE) {
    LEAVING(forever ? nullptr : &f.fake, scheduler_stack, scheduler_size);
    SWITCH(f.at, scheduler);
  } else {
    enter(next);
    LEAVING(forever ? nullptr : &f.fake, fibers[next].stack, STACK);
    SWITCH(f.at, fibers[next].at);
  }
  ENTERED(f.fake);
}

static void begin() {
  begun();
  running_kernel(running_args);
  end_copies();
  fibers[running].waits = ENDED;
  ended++;
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
  // Stacks end at different places of a page, or all their ends would meet in few lines of the processor's caches.
  char *end = f.stack + STACK - (&f - fibers) % 37 * 448;
#if defined(__SANITIZE_ADDRESS__)
  if (f.waits == ENDED) // begin() is never left; nor is all that was called, where a launch ended with a problem
    __asan_unpoison_memory_region(end - 1024, 1024);
  else
    __asan_unpoison_memory_region(f.stack, STACK);
#endif
  f.waits = READY;
  f.arrays = f.exchanges = 0;
  begin_copies(static_cast<unsigned>(&f - fibers));
#if defined(__x86_64__)
  // As after a call of begin() from nowhere: six registers, where to go, and a word that keeps the stack aligned.
  void **top = reinterpret_cast<void **>(end) - 8;
  for (int i = 0; i < 8; i++)
    top[i] = nullptr;
  top[6] = reinterpret_cast<void *>(begin);
  f.at = top;
#else
  getcontext(&f.at);
  f.at.uc_stack.ss_sp = f.stack;
  f.at.uc_stack.ss_size = static_cast<size_t>(end - f.stack);
  f.at.uc_link = nullptr;
  makecontext(&f.at, begin, 0);
#endif
}

// The threads, until all have ended or none can continue.
static void run_fibers() {
  begin_pass();
  const unsigned thread = next_ready();
  enter(thread);
  LEAVING(&scheduler_fake, fibers[thread].stack, STACK);
  SWITCH(scheduler, fibers[thread].at);
  ENTERED(scheduler_fake);
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

enum { MOST_ARRAYS = 16, STATIC_BYTES = 48 << 10 };

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

bool no_element(const array *a, long long i) {
  problem("element %lld of shared memory that has %lld", i, a->count);
  return false;
}

void wrong_read(const cell &c, long long i) {
  if (c.write_epoch == UNDER_WAY)
    problem("element %lld of shared memory is read, and a copy to it was not awaited", i);
  else if (c.write_epoch == 0)
    problem("element %lld of shared memory is read before it is written", i);
  else
    problem("element %lld of shared memory is read, and thread %d wrote it since the last barrier", i, c.writer);
}

void wrong_write(const cell &c, long long i) {
  if (c.write_epoch == UNDER_WAY)
    problem("element %lld of shared memory is written, and a copy to it was not awaited", i);
  else if (c.write_epoch == now.epoch && c.writer != me())
    problem("element %lld of shared memory is written, and thread %d wrote it since the last barrier", i, c.writer);
  else
    problem("element %lld of shared memory is written, and another thread read it since the last barrier", i);
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

// ---- global memory

enum : size_t { GUARD = 256 };

char *arena;
uint8_t *there;
note *words, *bytes;

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

bool no_memory(const void *at, const char *doing) {
  problem("global memory is %s where there is none: %p", doing, at);
  return false;
}

void wrong_read(const note &n) {
  if (n.written != now.here)
    problem("global memory is read, and block %u wrote it", static_cast<uint32_t>(n.written));
  else
    problem("global memory is read, and thread %d wrote it since the last barrier", n.writer);
}

void wrong_write(const note &n) {
  if (!is_apart(n.written, n.write_epoch, n.writer)) {
    if (n.written != now.here)
      problem("global memory is written, and block %u wrote it", static_cast<uint32_t>(n.written));
    else
      problem("global memory is written, and thread %d wrote it since the last barrier", n.writer);
  } else if (n.read != now.here)
    problem("global memory is written, and another block reads it");
  else
    problem("global memory is written, and another thread read it since the last barrier");
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
  ended = 0;
  run_fibers();
  for (unsigned i = 0; i < thread_count && ended < thread_count; i++)
    if (fibers[i].waits != ENDED) {
      now.thread.x = i;
      problem("waits in line %d for threads that do not come", fibers[i].line);
    }
  return first_problem.empty();
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
  start();
  BEGIN_LAUNCH();
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
    now.here = uint64_t(now.launch) << 32 | number;
    if (!run_block())
      return;
  }
}
} // namespace emulate
