// fake_cuda.cpp: libcuda and NVRTC for tests (and cuBLASLt, fake_cublaslt.cpp), in one library: what brim calls of them, with the emulation as the card.
//
// Work is queued and done when somebody waits, as far as the interface allows: arguments are copied at a launch, transfers are
// not. Handles, orders and sizes are checked; what is wrong fails, with a word on stderr that says why. "Compiling" gives the hash
// of the text, and loading takes nothing but the hash of the text that g++ has compiled here.
#include "emulated.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "fake_cublaslt.h"
#include "fake_cuda.h"
#include "kernels_hash.h"
#include BRIM_KERNELS
#include "ops/cuda/kernels/list.h"

#ifndef BRIM_MUTANTS
#define BRIM_MUTANTS 0
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
enum { KERNELS = sizeof kernels / sizeof *kernels };

static std::mutex lock;
static int capability = 90, most_shared = 227 << 10, devices = 1;
static long fails_at = -1, calls, launches;
static bool initialized;
static int contexts;
static thread_local bool current;

struct stream {
  std::deque<std::function<int()>> queue;
};
struct module {
  int functions;
};

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_IMAGE = 200,
       INVALID_CONTEXT = 201, NOT_FOUND = 500, LAUNCH_FAILED = 719 };

static int wrong(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "# false CUDA: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  return code;
}

static int drain(stream *s) {
  int status = SUCCESS;
  while (!s->queue.empty()) {
    const std::function<int()> work = s->queue.front();
    s->queue.pop_front();
    if (status == SUCCESS)
      status = work();
  }
  return status;
}

static int check_range(const void *at, size_t size, const char *doing) {
  return emulate::is_inside(at, size) ? SUCCESS : wrong(INVALID_VALUE, "%s: %zu bytes at %p are not all there", doing, size, at);
}

int fake_cuda_enqueue(void *s, std::function<int()> work) {
  const std::lock_guard<std::mutex> guard(lock);
  static_cast<stream *>(s)->queue.push_back(std::move(work));
  return SUCCESS;
}

// Of every call but those that ask: the n-th fails when it was told to.
#define BEGIN                                                                                                                    \
  const std::lock_guard<std::mutex> guard(lock);                                                                                 \
  if (calls++ == fails_at)                                                                                                       \
    return OUT_OF_MEMORY;                                                                                                        \
  if (!initialized || !current)                                                                                                  \
  return wrong(initialized ? INVALID_CONTEXT : NOT_INITIALIZED, "%s without %s", __func__, initialized ? "a context" : "cuInit")

extern "C" {

// ---- for tests

void fake_cuda_seed(uint64_t value) {
  emulate::seed(value);
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
long fake_cuda_left(void) {
  return static_cast<long>(emulate::in_use()) + contexts;
}
void fake_cuda_be(int number, int shared, int count) {
  capability = number, most_shared = shared, devices = count;
}

// ---- libcuda

int cuInit(unsigned) {
  initialized = true;
  const char *order = getenv("BRIM_EMULATE_SEED"), *number = getenv("BRIM_FAKE_CAPABILITY"), *cards = getenv("BRIM_FAKE_CARDS"),
             *fails = getenv("BRIM_FAKE_FAIL");
  if (order)
    emulate::seed(strtoull(order, nullptr, 10));
  if (number)
    capability = atoi(number);
  if (cards)
    devices = atoi(cards);
  if (fails)
    fails_at = atol(fails);
  return devices > 0 ? SUCCESS : NO_DEVICE;
}
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return SUCCESS;
}
int cuDeviceGetCount(int *count) {
  *count = devices;
  return SUCCESS;
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < devices ? SUCCESS : INVALID_VALUE;
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
int cuDevicePrimaryCtxRetain(void **context, int) {
  const std::lock_guard<std::mutex> guard(lock);
  contexts++;
  *context = &contexts;
  return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  const std::lock_guard<std::mutex> guard(lock);
  contexts--;
  return contexts < 0 ? INVALID_CONTEXT : SUCCESS;
}
int cuCtxSetCurrent(void *context) {
  current = context != nullptr;
  return SUCCESS;
}
int cuGetErrorName(int code, const char **name) {
  *name = code == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
  return SUCCESS;
}
int cuStreamCreate(void **out, unsigned) {
  BEGIN;
  *out = new stream;
  return SUCCESS;
}
int cuStreamSynchronize(void *s) {
  BEGIN;
  return drain(static_cast<stream *>(s));
}
int cuStreamDestroy_v2(void *s) {
  const std::lock_guard<std::mutex> guard(lock);
  const int status = drain(static_cast<stream *>(s));
  delete static_cast<stream *>(s);
  return status;
}
static int take_memory(unsigned long long *out, size_t size) {
  BEGIN;
  void *memory = size ? emulate::take(size) : nullptr;
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
  return emulate::give(reinterpret_cast<void *>(memory)) ? SUCCESS : wrong(INVALID_VALUE, "cuMemFree of what was not taken");
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, void *s) {
  BEGIN;
  void *target = reinterpret_cast<void *>(to);
  static_cast<stream *>(s)->queue.push_back([=] {
    const int status = check_range(target, size, "copy to the card");
    if (status == SUCCESS && size)
      memcpy(target, from, size);
    return status;
  });
  return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, void *s) {
  BEGIN;
  const void *source = reinterpret_cast<void *>(from);
  static_cast<stream *>(s)->queue.push_back([=] {
    const int status = check_range(source, size, "copy from the card");
    if (status == SUCCESS && size)
      memcpy(to, source, size);
    return status;
  });
  if (size)
    memset(to, 0xff, size); // until then
  return SUCCESS;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, void *s) {
  BEGIN;
  void *target = reinterpret_cast<void *>(to);
  const void *source = reinterpret_cast<void *>(from);
  static_cast<stream *>(s)->queue.push_back([=] {
    int status = check_range(target, size, "copy on the card");
    if (status == SUCCESS)
      status = check_range(source, size, "copy on the card");
    if (status == SUCCESS && size)
      memmove(target, source, size);
    return status;
  });
  return SUCCESS;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t size, void *s) {
  BEGIN;
  void *target = reinterpret_cast<void *>(to);
  static_cast<stream *>(s)->queue.push_back([=] {
    const int status = check_range(target, size, "fill");
    if (status == SUCCESS && size)
      memset(target, value, size);
    return status;
  });
  return SUCCESS;
}
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
  std::vector<char> own(static_cast<char *>(*args), static_cast<char *>(*args) + k->size);
  launches++;
  static_cast<stream *>(s)->queue.push_back([=] {
    emulate::launch(k->name, k->run, own.data(), {x, y, z}, threads, shared_bytes);
    const std::string problem = emulate::take_problem();
    return problem.empty() ? int(SUCCESS) : wrong(LAUNCH_FAILED, "%s", problem.c_str());
  });
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
