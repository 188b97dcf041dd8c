// fake_nccl.cpp: what brim calls of NCCL, in the library of the false driver. The processes of one machine meet in a folder, which the key
// names: a sum is done when its stream comes to it, in the order of the ranks. What NCCL asks for is checked: a card for each rank, and
// the same calls with the same counts in the same order on all of them.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulated.hpp"
#include "fake_cublaslt.h"
#include "fake_cuda.h"

namespace files = std::filesystem;
enum { GOOD = 0, SYSTEM = 2, INVALID_USAGE = 5, FLOAT32 = 7, SUM = 0, PATIENCE = 100 };
struct key {
  char bytes[128];
};
struct communicator {
  files::path folder;
  int rank, world;
  long calls, values;
  bool given_up;           // what was not summed yet comes to nothing
  std::vector<long> after; // how many kernels were queued before each sum
};
typedef std::shared_ptr<communicator> shared; // queued sums have it too
struct header {
  long call;
  size_t count;
  int type, operation;
};

static int wrong(const char *what) {
  fprintf(stderr, "# false NCCL: %s\n", what);
  return INVALID_USAGE;
}

// Where a rank has given up there is no folder any more, and nobody to read it.
static void put(const files::path &at, const std::vector<char> &bytes) {
  const files::path beside = at.string() + ".part";
  std::error_code gone;
  std::ofstream(beside, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  files::rename(beside, at, gone);
}

// Waits for it; empty: it does not come.
static std::vector<char> get(const files::path &at) {
  for (int i = 0; i < PATIENCE * 1000 && !files::exists(at); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::ifstream in(at, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

static files::path place(const communicator *c, const std::string &what, int rank) {
  return c->folder / (what + "-" + std::to_string(rank));
}

static int add_up(const communicator *c, const header &own, float *x) {
  const std::string name = "call" + std::to_string(own.call);
  std::vector<char> bytes(sizeof own + own.count * sizeof *x);
  memcpy(bytes.data(), &own, sizeof own);
  memcpy(bytes.data() + sizeof own, x, own.count * sizeof *x);
  put(place(c, name, c->rank), bytes);
  std::vector<float> sum(own.count), part(own.count);
  for (int rank = 0; rank < c->world; rank++) {
    const std::vector<char> theirs = get(place(c, name, rank));
    if (theirs.size() < sizeof own)
      return wrong("a rank did not come to a sum");
    if (theirs.size() != bytes.size() || memcmp(theirs.data(), &own, sizeof own) != 0)
      return wrong("ranks sum different numbers of values");
    memcpy(part.data(), theirs.data() + sizeof own, own.count * sizeof *x);
    for (size_t i = 0; i < own.count; i++)
      sum[i] = rank ? sum[i] + part[i] : part[i];
  }
  memcpy(x, sum.data(), own.count * sizeof *x);
  return GOOD;
}

static void tell(const communicator *c) {
  if (!getenv("BRIM_FAKE_TELL"))
    return;
  std::string after;
  for (long launches : c->after)
    after += " " + std::to_string(launches);
  fprintf(stderr, "# false NCCL: rank %d of %d, %ld sums of %ld values%s, after kernels%s\n", c->rank, c->world, c->calls, c->values, c->given_up ? ", given up" : "", after.c_str());
}

#pragma GCC visibility push(default)
extern "C" {

const char *ncclGetErrorString(int code) {
  return code == INVALID_USAGE ? "invalid usage" : "unhandled system error";
}
int ncclGetUniqueId(key *out) {
  std::string folder = files::temp_directory_path() / "brim-nccl-XXXXXX";
  if (folder.size() >= sizeof out->bytes || !mkdtemp(folder.data()))
    return SYSTEM;
  files::remove(folder); /* it is there again when somebody joins: most keys are nobody's */
  memset(out->bytes, 0, sizeof out->bytes);
  strcpy(out->bytes, folder.c_str());
  return GOOD;
}
int ncclCommInitRank(void **out, int world, key made, int rank) {
  const shared own = std::make_shared<communicator>(communicator{made.bytes, rank, world, 0, 0, false, {}});
  const communicator *c = own.get();
  files::create_directories(c->folder);
  put(place(c, "card", rank), {static_cast<char>(fake_cuda_card())});
  std::vector<int> ranks(256);
  int twice = 0;
  for (int i = 0; i < world; i++) {
    const std::vector<char> card = get(place(c, "card", i));
    twice += card.size() != 1 || ranks[static_cast<unsigned char>(card[0])]++ > 0;
  }
  *out = twice ? nullptr : new shared(own);
  return twice ? INVALID_USAGE : GOOD;
}
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *comm, void *stream) {
  const shared c = *static_cast<shared *>(comm);
  if (from != to || type != FLOAT32 || operation != SUM || count == 0)
    return wrong("operands of a sum");
  const header own = {c->calls++, count, type, operation};
  c->values += static_cast<long>(count);
  c->after.push_back(fake_cuda_launches());
  return fake_cuda_enqueue(stream, [=] {
    return c->given_up ? int(GOOD) : emulate::is_inside(to, count * sizeof(float)) ? add_up(c.get(), own, static_cast<float *>(to)) : wrong("memory of a sum is not all there");
  });
}
int ncclCommDestroy(void *comm) {
  const shared *given = static_cast<shared *>(comm);
  const communicator *c = given->get();
  tell(c);
  put(place(c, "done", c->rank), {1});
  for (int i = 0; c->rank == 0 && i < c->world; i++)
    get(place(c, "done", i));
  std::error_code ignored;
  if (c->rank == 0)
    files::remove_all(c->folder, ignored);
  delete given;
  return GOOD;
}
int ncclCommAbort(void *comm) {
  const shared *given = static_cast<shared *>(comm);
  (*given)->given_up = true;
  tell(given->get());
  std::error_code ignored;
  files::remove_all((*given)->folder, ignored);
  delete given;
  return GOOD;
}
}
