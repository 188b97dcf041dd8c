// fake_cuda.cpp: libcuda and NVRTC for tests (and cuBLASLt, fake_cublaslt.cpp), in one library: what brim calls of them, with the emulation as the card.
//
// Work is queued and done when somebody waits, as far as the interface allows: arguments are copied at a launch, transfers are
// not. Handles, orders and sizes are checked; what is wrong fails, with a word on stderr that says why. "Compiling" gives the hash
// of the text, and loading takes nothing but the hash of the text that g++ has compiled here.
#include "emulate_matrix.hpp"
#include "emulated.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "fake_cublaslt.h"
#include "fake_cuda.h"
#include "fake_streams.hpp"
#include "kernels_hash.h"
#include BRIM_KERNELS
#include "ops/cuda/kernels/list.h"

#ifndef BRIM_MUTANTS
#define BRIM_MUTANTS 0
enum { BRIM_FAULTS };
static int fault_number;
static bool fault_reached[BRIM_FAULTS + 1];
#endif

static const char *const image_word = "BRIM FALSE CUBIN ";

struct kernel_entry {
  const char *name;
  emulate::kernel_function run;
  size_t size;
  unsigned threads;
  int most_shared;
};
#define ENTRY(name, args, threads)                                                                                               \
  {"brim_" #name, [](const void *a) { brim_##name(*static_cast<const args *>(a)); }, sizeof(args), threads, 48 << 10},
static kernel_entry kernels[] = {BRIM_CUDA_KERNELS(ENTRY)};
enum { KERNELS = sizeof kernels / sizeof *kernels, MOST_DEVICES = 8 };

static std::mutex lock;
static int capability = 90, most_shared = 227 << 10, devices = 1, fail_code = OUT_OF_MEMORY;
static long fails_at = -1, failing_wait = -1, calls, launches, counts[FAKE_COUNTS], breaks_capture = -1, refuses_capture = -1;
static bool initialized, fails_on, without_graphs;
static int contexts[MOST_DEVICES];
static thread_local int *current;
static std::map<char *, size_t> pinned;
static std::map<void *, size_t> sizes; // of the card's memory, and their sum
static size_t taken;

using fake::wrong;

struct module {
  int functions;
};

static int check_range(const void *at, size_t size, const char *doing) {
  return emulate::is_inside(at, size) ? SUCCESS : wrong(INVALID_VALUE, "%s: %zu bytes at %p are not all there", doing, size, at);
}

static bool is_pinned(const void *at, size_t size) {
  const char *from = static_cast<const char *>(at);
  for (const auto &[base, room] : pinned)
    if (from >= base && from + size <= base + room)
      return true;
  return false;
}

static uint64_t sum_of(const void *at, size_t size) {
  uint64_t sum = 0xcbf29ce484222325u, word = 0;
  for (size_t i = 0; i < size; i += sizeof word) {
    memcpy(&word, static_cast<const char *>(at) + i, size - i < sizeof word ? size - i : sizeof word);
    sum = (sum ^ word) * 0x100000001b3u;
  }
  return sum;
}

// A stream of the context that is current.
static fake::stream *stream_at(void *s, const char *doing) {
  fake::stream *at = static_cast<fake::stream *>(s);
  if (fake::context_of(at) == current)
    return at;
  wrong(INVALID_CONTEXT, "%s: the stream is of another card than the context", doing);
  return nullptr;
}

int fake_cuda_enqueue(void *s, std::function<int()> work) {
  const std::lock_guard<std::mutex> guard(lock);
  fake::stream *at = stream_at(s, "product");
  return at ? fake::enqueue(at, {"product", 0, std::move(work), {}}) : int(INVALID_CONTEXT);
}

int fake_cuda_card() {
  return static_cast<int>(current - contexts);
}

// Of every call but those that ask: the n-th fails when it was told to.
#define STREAM(s)                                                                                                                \
  fake::stream *at = stream_at(s, __func__);                                                                                     \
  if (!at)                                                                                                                       \
  return INVALID_CONTEXT
// What waits or takes memory spoils a capture.
#define NOT_CAPTURED                                                                                                             \
  if (fake::is_capturing())                                                                                                      \
  return fake::spoil_capture(), int(CAPTURE_UNSUPPORTED)
#define BEGIN                                                                                                                    \
  const std::lock_guard<std::mutex> guard(lock);                                                                                 \
  if (calls++ == fails_at || (fails_on && fails_at >= 0 && calls > fails_at))                                                    \
    return fail_code;                                                                                                            \
  if (!initialized || !current)                                                                                                  \
  return wrong(initialized ? INVALID_CONTEXT : NOT_INITIALIZED, "%s without %s", __func__, initialized ? "a context" : "cuInit")

#pragma GCC visibility push(default)
extern "C" {

// ---- for tests

void fake_cuda_seed(uint64_t value) {
  emulate::seed(value);
  fake::set_eager(value % 2 == 1);
}
void fake_cuda_fail(long n) {
  fails_at = n < 0 ? -1 : calls + n;
}
long fake_cuda_calls(void) {
  return calls;
}
long fake_cuda_launches(void) {
  return launches;
}
long fake_cuda_count(fake_cuda_what what) {
  return what == FAKE_RUN ? fake::ran() : what == FAKE_COPIES ? emulate::copied() : counts[what];
}
uint64_t fake_cuda_digest(void) {
  return fake::digest();
}
long fake_cuda_left(void) {
  long left = static_cast<long>(emulate::in_use() + pinned.size());
  for (int count : contexts)
    left += count;
  return left;
}
bool fake_cuda_has(const void *at, unsigned long size) {
  return emulate::is_inside(at, size);
}
void fake_cuda_be(int number, int shared, int count) {
  capability = number, most_shared = shared, devices = count;
}
void fake_cuda_graphs(bool there, long broken) {
  without_graphs = !there;
  breaks_capture = broken < 0 ? -1 : counts[FAKE_CAPTURES] + broken;
}
void fake_cuda_uncaptured(long n) {
  refuses_capture = n < 0 ? -1 : counts[FAKE_CAPTURES] + n;
}

int fake_cuda_faults(void) {
  return BRIM_FAULTS;
}
void fake_cuda_fault(int number) {
  fault_number = number;
  memset(fault_reached, 0, sizeof fault_reached);
}
bool fake_cuda_reached(int number) {
  return number >= 0 && number <= BRIM_FAULTS && fault_reached[number];
}

// ---- libcuda

int cuInit(unsigned) {
  initialized = true;
  const char *order = getenv("BRIM_EMULATE_SEED"), *number = getenv("BRIM_FAKE_CAPABILITY"), *cards = getenv("BRIM_FAKE_CARDS"),
             *fails = getenv("BRIM_FAKE_FAIL"), *wait = getenv("BRIM_FAKE_FAIL_WAIT"), *code = getenv("BRIM_FAKE_CODE"), *graphs = getenv("BRIM_FAKE_GRAPHS");
  if (order)
    fake_cuda_seed(strtoull(order, nullptr, 10));
  if (number)
    capability = atoi(number);
  if (cards)
    devices = atoi(cards);
  if (fails)
    fails_at = atol(fails);
  if (wait)
    failing_wait = atol(wait);
  if (code)
    fail_code = atoi(code), fails_on = true;
  if (graphs)
    without_graphs = strcmp(graphs, "0") == 0;
  return devices > 0 ? SUCCESS : NO_DEVICE;
}
int cuDriverGetVersion(int *version) {
  const char *told = getenv("BRIM_FAKE_DRIVER");
  *version = told ? atoi(told) : 13000;
  return SUCCESS;
}
int cuDeviceGetCount(int *count) {
  *count = devices;
  return SUCCESS;
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < devices ? SUCCESS : INVALID_DEVICE;
}
int cuDeviceGetName(char *name, int size, int) {
  snprintf(name, static_cast<size_t>(size), "emulated");
  return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t(1) << 30;
  return SUCCESS;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
  case 16:
    *value = 132;
    return SUCCESS;
  case 75:
    *value = capability / 10;
    return SUCCESS;
  case 76:
    *value = capability % 10;
    return SUCCESS;
  case 97:
    *value = most_shared;
    return SUCCESS;
  default:
    return wrong(INVALID_VALUE, "attribute %d", attribute);
  }
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  const std::lock_guard<std::mutex> guard(lock);
  if (device < 0 || device >= devices)
    return INVALID_DEVICE;
  contexts[device]++;
  if (getenv("BRIM_FAKE_TELL"))
    fprintf(stderr, "# false CUDA: card %d\n", device);
  *context = &contexts[device];
  return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard<std::mutex> guard(lock);
  contexts[device]--;
  return contexts[device] < 0 ? INVALID_CONTEXT : SUCCESS;
}
int cuCtxSetCurrent(void *context) {
  current = static_cast<int *>(context);
  return SUCCESS;
}
int cuGetErrorName(int code, const char **name) {
  static const std::map<int, const char *> names = {{LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}, {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"}, {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
                                                    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                                                    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(code);
  *name = found == names.end() ? "CUDA_ERROR" : found->second;
  return SUCCESS;
}

// ---- streams and events

int cuStreamCreate(void **out, unsigned) {
  BEGIN;
  NOT_CAPTURED;
  *out = fake::open_stream(current);
  return SUCCESS;
}
int cuStreamSynchronize(void *s) {
  BEGIN;
  if (counts[FAKE_SYNCS]++ == failing_wait)
    return fail_code;
  STREAM(s);
  return fake::finish(at);
}
int cuStreamDestroy_v2(void *s) {
  const std::lock_guard<std::mutex> guard(lock);
  return fake::close_stream(static_cast<fake::stream *>(s), fails_on && fails_at >= 0 && calls > fails_at);
}
int cuStreamWaitEvent(void *s, void *e, unsigned) {
  BEGIN;
  STREAM(s);
  return fake::wait(at, static_cast<fake::event *>(e));
}
int cuEventCreate(void **out, unsigned) {
  BEGIN;
  NOT_CAPTURED;
  *out = fake::open_event();
  return SUCCESS;
}
int cuEventRecord(void *e, void *s) {
  BEGIN;
  STREAM(s);
  return fake::record(static_cast<fake::event *>(e), at);
}
int cuEventQuery(void *e) {
  BEGIN;
  return fake::is_done(static_cast<fake::event *>(e)) ? SUCCESS : NOT_READY;
}
int cuEventSynchronize(void *e) {
  BEGIN;
  NOT_CAPTURED;
  counts[FAKE_SLOT_WAITS]++;
  return fake::finish(static_cast<fake::event *>(e));
}
int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  BEGIN;
  return fake::elapsed(static_cast<fake::event *>(begin), static_cast<fake::event *>(end), milliseconds) ? SUCCESS : NOT_READY;
}
int cuEventDestroy_v2(void *e) {
  const std::lock_guard<std::mutex> guard(lock);
  fake::close_event(static_cast<fake::event *>(e));
  return SUCCESS;
}

// ---- memory

static int take_memory(unsigned long long *out, size_t size) {
  BEGIN;
  NOT_CAPTURED;
  counts[FAKE_ALLOCATIONS]++;
  const char *room = getenv("BRIM_FAKE_MEMORY");
  void *memory = size && !(room && taken + size > strtoull(room, nullptr, 10)) ? emulate::take(size) : nullptr;
  if (memory)
    taken += size, sizes[memory] = size;
  *out = reinterpret_cast<uintptr_t>(memory);
  return !size ? INVALID_VALUE : memory ? SUCCESS : OUT_OF_MEMORY;
}
int cuMemAlloc_v2(unsigned long long *out, size_t size) {
  return take_memory(out, size);
}
int cuMemAllocManaged(unsigned long long *out, size_t size, unsigned) {
  return take_memory(out, size);
}
int cuMemFree_v2(unsigned long long memory) {
  const std::lock_guard<std::mutex> guard(lock);
  NOT_CAPTURED;
  taken -= sizes[reinterpret_cast<void *>(memory)];
  sizes.erase(reinterpret_cast<void *>(memory));
  return emulate::give(reinterpret_cast<void *>(memory)) ? SUCCESS : wrong(INVALID_VALUE, "cuMemFree of what was not taken");
}
int cuMemHostAlloc(void **out, size_t size, unsigned) {
  BEGIN;
  NOT_CAPTURED;
  counts[FAKE_ALLOCATIONS]++;
  char *memory = static_cast<char *>(malloc(size));
  if (!memory)
    return OUT_OF_MEMORY;
  memset(memory, 0xff, size);
  pinned[memory] = size;
  *out = memory;
  return SUCCESS;
}
int cuMemFreeHost(void *memory) {
  const std::lock_guard<std::mutex> guard(lock);
  if (pinned.erase(static_cast<char *>(memory)) == 0)
    return wrong(INVALID_VALUE, "cuMemFreeHost of what was not taken");
  free(memory);
  return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, void *s) {
  BEGIN;
  STREAM(s);
  void *target = reinterpret_cast<void *>(to);
  const uint64_t sum = sum_of(from, size);
  counts[is_pinned(from, size) ? FAKE_PINNED : FAKE_PAGEABLE]++;
  return fake::enqueue(at, {"copy to the card", size,
                            [=] {
                              const int status = check_range(target, size, "copy to the card");
                              if (status == SUCCESS && sum_of(from, size) != sum)
                                return wrong(INVALID_VALUE, "host memory changed before it was sent");
                              if (status == SUCCESS && size)
                                memcpy(target, from, size);
                              return status;
                            },
                            {{target, size, true}}});
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, void *s) {
  BEGIN;
  STREAM(s);
  const void *source = reinterpret_cast<void *>(from);
  counts[is_pinned(to, size) ? FAKE_PINNED : FAKE_PAGEABLE]++;
  if (size)
    memset(to, 0xff, size); // until then
  return fake::enqueue(at, {"copy from the card", size,
                            [=] {
                              const int status = check_range(source, size, "copy from the card");
                              if (status == SUCCESS && size)
                                memcpy(to, source, size);
                              return status;
                            },
                            {{source, size, false}}});
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, void *s) {
  BEGIN;
  STREAM(s);
  void *target = reinterpret_cast<void *>(to);
  const void *source = reinterpret_cast<void *>(from);
  return fake::enqueue(at, {"copy on the card", size,
                            [=] {
                              int status = check_range(target, size, "copy on the card");
                              if (status == SUCCESS)
                                status = check_range(source, size, "copy on the card");
                              if (status == SUCCESS && size)
                                memmove(target, source, size);
                              return status;
                            },
                            {{target, size, true}, {source, size, false}}});
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t size, void *s) {
  BEGIN;
  STREAM(s);
  void *target = reinterpret_cast<void *>(to);
  return fake::enqueue(at, {"fill", size,
                            [=] {
                              const int status = check_range(target, size, "fill");
                              if (status == SUCCESS && size)
                                memset(target, value, size);
                              return status;
                            },
                            {{target, size, true}}});
}

// ---- kernels

int cuModuleLoadData(void **out, const void *image) {
  BEGIN;
  char expected[64];
  snprintf(expected, sizeof expected, "%s%016llx", image_word, static_cast<unsigned long long>(BRIM_KERNELS_HASH));
  if (strcmp(static_cast<const char *>(image), expected) != 0 && !BRIM_MUTANTS)
    return wrong(INVALID_IMAGE, "the text that was compiled is not the one that is emulated: %s", static_cast<const char *>(image));
  *out = new module{0};
  return SUCCESS;
}
int cuModuleUnload(void *m) {
  delete static_cast<module *>(m);
  return SUCCESS;
}
int cuModuleGetFunction(void **out, void *, const char *name) {
  BEGIN;
  for (kernel_entry &k : kernels)
    if (strcmp(k.name, name) == 0) {
      *out = &k;
      return SUCCESS;
    }
  return wrong(NOT_FOUND, "no kernel %s", name);
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  BEGIN;
  if (attribute != 8 || value > most_shared)
    return wrong(INVALID_VALUE, "attribute %d of a kernel: %d", attribute, value);
  static_cast<kernel_entry *>(function)->most_shared = value;
  return SUCCESS;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y, unsigned threads_z,
                   unsigned shared_bytes, void *s, void **args, void **extra) {
  BEGIN;
  const kernel_entry *k = static_cast<kernel_entry *>(function);
  if (threads != k->threads || threads_y != 1 || threads_z != 1 || extra || shared_bytes > unsigned(k->most_shared) ||
      k->size > 4096)
    return wrong(INVALID_VALUE, "%s with blocks of %u threads and %u bytes", k->name, threads, shared_bytes);
  STREAM(s);
  if (fake::is_capturing() && counts[FAKE_CAPTURES] - 1 == refuses_capture)
    return fake::spoil_capture(), int(CAPTURE_UNSUPPORTED);
  std::vector<char> own(static_cast<char *>(*args), static_cast<char *>(*args) + k->size);
  launches++;
  return fake::enqueue(at, {k->name, (uint64_t(x) << 32 | y) * 31 + shared_bytes,
                            [=] {
                              emulate::launch(k->name, k->run, own.data(), {x, y, z}, threads, shared_bytes);
                              const std::string problem = emulate::take_problem();
                              return problem.empty() ? int(SUCCESS) : wrong(LAUNCH_FAILED, "%s", problem.c_str());
                            },
                            {}});
}

// ---- graphs

int cuStreamBeginCapture_v2(void *s, int) {
  BEGIN;
  STREAM(s);
  if (without_graphs)
    return NOT_SUPPORTED;
  counts[FAKE_CAPTURES]++;
  return fake::begin_capture(at);
}
int cuStreamEndCapture(void *s, void **out) {
  BEGIN;
  STREAM(s);
  if (counts[FAKE_CAPTURES] - 1 == breaks_capture)
    fake::spoil_capture();
  fake::graph *made = nullptr;
  const int status = fake::end_capture(at, &made);
  *out = made;
  return status;
}
int cuGraphInstantiateWithFlags(void **out, void *g, unsigned long long) {
  BEGIN;
  counts[FAKE_GRAPHS]++;
  *out = new fake::graph(*static_cast<fake::graph *>(g));
  return SUCCESS;
}
int cuGraphExecUpdate_v2(void *exec, void *g, void *) {
  BEGIN;
  fake::graph *to = static_cast<fake::graph *>(exec);
  const fake::graph *from = static_cast<fake::graph *>(g);
  bool same = to->nodes.size() == from->nodes.size();
  for (size_t i = 0; same && i < to->nodes.size(); i++)
    same = to->nodes[i].name == from->nodes[i].name;
  if (same)
    *to = *from;
  return same ? SUCCESS : UPDATE_FAILURE;
}
int cuGraphLaunch(void *exec, void *s) {
  BEGIN;
  STREAM(s);
  counts[FAKE_GRAPH_LAUNCHES]++;
  int status = SUCCESS;
  for (const fake::work &w : static_cast<fake::graph *>(exec)->nodes)
    if (status == SUCCESS)
      status = fake::enqueue(at, w);
  return status;
}
int cuGraphDestroy(void *g) {
  delete static_cast<fake::graph *>(g);
  return SUCCESS;
}
int cuGraphExecDestroy(void *g) {
  delete static_cast<fake::graph *>(g);
  return SUCCESS;
}

// ---- NVRTC

struct program {
  uint64_t hash;
  char image[64];
};

int nvrtcVersion(int *major, int *minor) {
  *major = 13, *minor = 0;
  return SUCCESS;
}
const char *nvrtcGetErrorString(int) {
  return "NVRTC_ERROR";
}
int nvrtcCreateProgram(void **out, const char *text, const char *, int, const char *const *, const char *const *) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *c = text; *c; c++)
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  *out = new program{hash, {}};
  return SUCCESS;
}
int nvrtcCompileProgram(void *p, int count, const char *const *options) {
  program *of = static_cast<program *>(p);
  char arch[32];
  snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", capability);
  bool found = false;
  for (int i = 0; i < count; i++)
    found = found || strcmp(options[i], arch) == 0;
  if (!found)
    return wrong(INVALID_VALUE, "not compiled for sm_%d", capability);
  snprintf(of->image, sizeof of->image, "%s%016llx", image_word, static_cast<unsigned long long>(of->hash));
  return SUCCESS;
}
int nvrtcGetProgramLogSize(void *, size_t *size) {
  *size = 1;
  return SUCCESS;
}
int nvrtcGetProgramLog(void *, char *log) {
  *log = 0;
  return SUCCESS;
}
int nvrtcGetCUBINSize(void *p, size_t *size) {
  *size = strlen(static_cast<program *>(p)->image) + 1;
  return SUCCESS;
}
int nvrtcGetCUBIN(void *p, char *image) {
  strcpy(image, static_cast<program *>(p)->image);
  return SUCCESS;
}
int nvrtcDestroyProgram(void **p) {
  delete static_cast<program *>(*p);
  *p = nullptr;
  return SUCCESS;
}
} // extern "C"
