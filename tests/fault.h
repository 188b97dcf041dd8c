/* fault.h: makes the n-th allocation fail, for n = 1, 2, ... until the work under test gets all it asks for.
 *
 * Each time the work must return BRIM_E_MEMORY with a message, and no block may be left when its runtime is gone. Every n is
 * tried twice: that allocation alone fails, and all from it on. Under sanitizers, where a fork is dear, it is one of the two, by
 * the seed.
 *
 * The work is done once. At each allocation the process is forked, twice, and in the child that allocation fails: what leads
 * there is not done again for each n, unless it is shorter than forking. A process that has several threads cannot be forked;
 * there the work is done again for the n that are tried, which are the first, and of the others some by a seed (TAP_SEED=N
 * repeats those of another time). */
#ifndef BRIM_TESTS_FAULT_H
#define BRIM_TESTS_FAULT_H
#include "brim/base.h"
#include "fault_folder.h"
#include "tap.h"
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
/* A fork copies the tables of all pages, of freed blocks too, which are kept for a while. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "quarantine_size_mb=1";
}
size_t __sanitizer_get_current_allocated_bytes(void); // its header is not everywhere
#endif

enum { FAULT_BRIEF = 1, FAULT_THREADS = 2 };
enum {
  FAULT_MOST = 20000, /* allocations of one work */
#ifdef __SANITIZE_ADDRESS__
  FAULT_FIRST = 24,
  FAULT_OTHERS = 12,
#else
  FAULT_FIRST = 64,  /* with threads: all of these are tried */
  FAULT_OTHERS = 32, /* and so many of those after them */
#endif
  FAULT_SECONDS = 200 /* until a child is taken to hang */
};

typedef struct fault_memory {
  atomic_long left; /* allocations until the one that fails; negative: never */
  atomic_long live, failures;
  bool stays; /* and all after it */

  /* The way by children. */
  bool forks, child, bad, brief;
  atomic_long number; /* allocations so far; in a child: which one failed */
  size_t bytes;       /* in the heap before the work began */
  char *again;        /* FAULT_MOST marks: those of which no child is made, FAULT_BRIEF or FAULT_THREADS */
  const char *name;
} fault_memory;

/* Bytes of the whole heap, the allocator's and all others, where that is known: the address sanitizer looks for leaks only when a
 * program ends by itself, which children do not. */
static size_t fault_bytes(void) {
#ifdef __SANITIZE_ADDRESS__
  return __sanitizer_get_current_allocated_bytes();
#else
  return 0;
#endif
}

static bool fault_may_fork(void) {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  struct stat info;
  return stat("/proc/self/task", &info) == 0 && info.st_nlink == 3; // ".", ".." and this thread
#endif
}

/* Runs before what the parent has for its end, and ends the child. */
static void fault_left_early(void) {
  fflush(stdout);
  _exit(98);
}

static void fault_become_child(fault_memory *memory, bool stays) {
  alarm(FAULT_SECONDS);
  size_t bytes = fault_bytes();
  if (!fault_open_all_again() || atexit(fault_left_early) != 0)
    fault_left_early();
  memory->bytes += fault_bytes() - bytes;
  memory->child = true;
  memory->forks = false;
  memory->stays = stays;
  atomic_store(&memory->left, stays ? 0 : -1);
  atomic_store(&memory->failures, 1);
}

/* True in the child, in which this allocation is to fail. */
static bool fault_fork(fault_memory *memory, bool stays) {
  int ended = -1;
  fflush(stdout);
  fflush(stderr);
  bool ready = fault_put_aside();
  pid_t child = ready ? fork() : -1;
  if (child == 0) {
    fault_become_child(memory, stays);
    return true;
  }
  if (child < 0 || waitpid(child, &ended, 0) != child || ended != 0) {
    memory->bad = true;
    printf("# %s: allocation %ld%s: %s, wait status %#x\n", memory->name, atomic_load(&memory->number),
           stays ? " and all after it" : "", child < 0 ? "cannot fork" : "not as it should be", (unsigned)ended);
  }
  if (!fault_bring_back()) {
    printf("Bail out! %s: the files cannot be brought back\n", memory->name);
    exit(99);
  }
  return false;
}

static bool fault_takes(const char *name, long n, bool stays) {
  return tap_takes_of(name, 2 * (uint64_t)n + stays, 2);
}

static bool fault_forks_here(fault_memory *memory) {
  long n = atomic_fetch_add(&memory->number, 1) + 1;
  const bool may = fault_may_fork();
  if (!may || memory->brief) {
    if (n < FAULT_MOST)
      memory->again[n] = may ? FAULT_BRIEF : FAULT_THREADS;
    return false;
  }
  for (int stays = 0; stays < 2 && !memory->bad; stays++)
    if (fault_takes(memory->name, n, stays) && fault_fork(memory, stays))
      return true;
  return false;
}

static bool fault_strikes(fault_memory *memory) {
  if (memory->forks)
    return fault_forks_here(memory);
  if (atomic_load(&memory->left) < 0)
    return false;
  long left = atomic_fetch_sub(&memory->left, 1);
  bool strike = left == 0 || (left < 0 && memory->stays);
  if (left <= 0)
    atomic_store(&memory->left, memory->stays ? 0 : -1);
  atomic_fetch_add(&memory->failures, strike);
  return strike;
}

static void *fault_allocate(void *context, size_t size) {
  fault_memory *memory = context;
  void *p = fault_strikes(memory) ? NULL : malloc(size);
  atomic_fetch_add(&memory->live, p != NULL);
  return p;
}

static void *fault_resize(void *context, void *pointer, size_t size) {
  fault_memory *memory = context;
  void *p = fault_strikes(memory) ? NULL : realloc(pointer, size);
  atomic_fetch_add(&memory->live, p && !pointer);
  return p;
}

static void fault_release(void *context, void *pointer) {
  fault_memory *memory = context;
  atomic_fetch_sub(&memory->live, pointer != NULL);
  free(pointer);
}

/* The work under test: makes, uses and frees what it wants. Anything but BRIM_OK is what a failed allocation led to. */
typedef int (*fault_work)(brim_runtime *runtime, void *context, brim_error *err);
/* Called after each failed try; false says that something half-done was left behind. May be NULL. */
typedef bool (*fault_clean)(void *context);

typedef struct fault_case {
  const char *name;
  int threads;
  const char *cpu;
  fault_work work;
  fault_clean clean;
  void *context;
  /* What the work needs, in memory of the same runtime, of which no allocation fails; may be NULL. */
  fault_work begin;
  void (*end)(void *context);
} fault_case;

/* What the work left, when all is freed; n as fault_try has it. */
static bool fault_judge(const fault_case *c, fault_memory *memory, long n, int status, const brim_error *err) {
  const bool failed = atomic_load(&memory->failures) > 0;
  const long live = atomic_load(&memory->live), more = memory->child ? (long)(fault_bytes() - memory->bytes) : 0;
  const bool tidy = !failed || !c->clean || c->clean(c->context);
  if (status == (failed ? BRIM_E_MEMORY : BRIM_OK) && live == 0 && more == 0 && tidy && (!status || *err->message))
    return true;
  printf("# %s: allocation %ld%s: status %d (\"%s\"), %ld blocks (%ld bytes) left%s\n", c->name,
         failed && n > 0 ? n : atomic_load(&memory->number), memory->stays ? " and all after it" : "", status, err->message, live,
         more, tidy ? "" : ", not clean");
  return false;
}

/* One try; true when it ended as it should. n = 0: no allocation fails; negative: each, in children, which end in here. */
static bool fault_try(const fault_case *c, fault_memory *memory, long n) {
  brim_allocator allocator = {fault_allocate, fault_resize, fault_release, memory};
  brim_runtime_options options = {.threads = c->threads, .allocator = &allocator, .cpu = c->cpu};
  brim_runtime *runtime;
  brim_error err = {0};
  memory->bytes = fault_bytes();
  memory->name = c->name;
  atomic_init(&memory->left, -1);
  if (brim_runtime_new(&options, &runtime, &err) != BRIM_OK)
    return false;
  int status = c->begin ? c->begin(runtime, c->context, &err) : BRIM_OK;
  atomic_store(&memory->left, n > 0 ? n - 1 : -1);
  memory->forks = n < 0;
  if (status == BRIM_OK)
    status = c->work(runtime, c->context, &err);
  memory->forks = false;
  atomic_store(&memory->left, -1);
  if (c->end)
    c->end(c->context);
  brim_runtime_free(runtime);
  const bool good = fault_judge(c, memory, n, status, &err);
  if (memory->child) {
    fflush(stdout);
    _exit(good ? 0 : 1);
  }
  return good && !memory->bad;
}

static bool fault_try_twice(const fault_case *c, long n) {
  fault_memory one = {0}, all = {.stays = true};
  return (!fault_takes(c->name, n, false) || fault_try(c, &one, n)) && (!fault_takes(c->name, n, true) || fault_try(c, &all, n));
}

/* Of the n beside threads the first and some others, chosen by the seed: the marks of the rest are taken away. */
static long fault_thin(char *again, long count, unsigned long long seed) {
  long chosen = 0, rest = 0, gone = 0;
  for (long n = FAULT_FIRST + 1; n <= count; n++)
    rest += again[n] == FAULT_THREADS;
  for (long n = FAULT_FIRST + 1; n <= count; n++) {
    if (again[n] != FAULT_THREADS)
      continue;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    bool take = (long)((seed >> 33) % (unsigned long long)rest) < FAULT_OTHERS - chosen; // so many of those that are left
    rest--, chosen += take, gone += !take;
    if (!take)
      again[n] = 0;
  }
  return gone;
}

static double fault_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The processor's time of a fork, here and in the child. */
static double fault_fork_time(void) {
  const double begin = fault_clock();
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  const double seconds = fault_clock() - begin;
  return child > 0 && waitpid(child, NULL, 0) == child ? 2 * seconds : 0;
}

/* Once without a failure, in files that are taken away again: marks the n of which no child is to be made, and makes what is made
 * once for a process. The work is brief if it is shorter than making the two children of an n. */
static bool fault_rehearse(const fault_case *c, fault_memory *memory) {
  const double begin = fault_clock();
  memory->brief = true;
  bool good = fault_put_aside() && fault_try(c, memory, -1);
  const double seconds = fault_clock() - begin;
  good = fault_bring_back() && good && atomic_load(&memory->number) < FAULT_MOST;
  memory->brief = good && fault_may_fork() && 2 * seconds < 3 * fault_fork_time();
  for (long n = 1; good && !memory->brief && n <= atomic_load(&memory->number); n++)
    if (memory->again[n] == FAULT_BRIEF)
      memory->again[n] = 0;
  return good;
}

/* One test point for all n. The work comes through last, so that its files are there. */
__attribute__((unused)) static void fault_check_case(const fault_case *c) {
  char thinned[120] = "";
  fault_memory first = {.again = calloc(FAULT_MOST, 1)};
  bool good = first.again && fault_rehearse(c, &first);
  const long count = atomic_load(&first.number);
  fault_memory last = {.again = first.again, .brief = first.brief};
  if (good) {
    long gone = fault_thin(first.again, count, tap_seed());
    if (gone)
      snprintf(thinned, sizeof thinned, " (beside threads all but %ld are tried, by the seed)", gone);
  }
  for (long n = 1; good && n <= count; n++)
    good = !first.again[n] || fault_try_twice(c, n);
  good = good && fault_try(c, &last, -1);
  ok(good, "%s: each of %ld allocations may fail%s", c->name, count, thinned);
  free(first.again);
}

/* `clean` and `context` may be NULL. */
__attribute__((unused)) static void fault_check(const char *name, int threads, fault_work work, fault_clean clean,
                                                void *context) {
  fault_check_case(&(fault_case){.name = name, .threads = threads, .work = work, .clean = clean, .context = context});
}

#endif
