/* What the false driver says of transfers that rely on luck, and that brim's own do not: pinned memory that is used again before
 * its copy is done, a read before its event, streams that do not wait for each other. */
#include <string.h>

#include "../tap.h"
#include "fake_cuda.h"
#include "ops/cuda/cuda.h"

enum { BYTES = 256, BIG = 24 << 20, PIECES = 100 };

typedef struct scene {
  brim_cuda_driver driver;
  void *context, *compute, *copy, *event;
  unsigned char *pinned;
  brim_cuda_address mirror, place;
} scene;

static void need(int code, const char *what) {
  if (code == 0)
    return;
  printf("Bail out! %s: %d\n", what, code);
  exit(99);
}

static scene open_scene(uint64_t seed) {
  scene s = {0};
  brim_error err = {0};
  void *pinned;
  fake_cuda_seed(seed);
  need(brim_cuda_driver_open(&s.driver, &err), err.message);
  need(s.driver.cuInit(0), "cuInit");
  need(s.driver.cuDevicePrimaryCtxRetain(&s.context, 0), "cuDevicePrimaryCtxRetain");
  need(s.driver.cuCtxSetCurrent(s.context), "cuCtxSetCurrent");
  need(s.driver.cuStreamCreate(&s.compute, 1), "cuStreamCreate");
  need(s.driver.cuStreamCreate(&s.copy, 1), "cuStreamCreate");
  need(s.driver.cuEventCreate(&s.event, 2), "cuEventCreate");
  need(s.driver.cuMemHostAlloc(&pinned, 2 * BYTES, 0), "cuMemHostAlloc");
  need(s.driver.cuMemAlloc_v2(&s.mirror, BYTES), "cuMemAlloc");
  need(s.driver.cuMemAlloc_v2(&s.place, BYTES), "cuMemAlloc");
  s.pinned = pinned;
  memset(s.pinned, 7, 2 * BYTES);
  return s;
}

static void close_scene(scene *s) {
  s->driver.cuStreamDestroy_v2(s->copy);
  s->driver.cuStreamDestroy_v2(s->compute);
  s->driver.cuEventDestroy_v2(s->event);
  s->driver.cuMemFree_v2(s->mirror);
  s->driver.cuMemFree_v2(s->place);
  s->driver.cuMemFreeHost(s->pinned);
  s->driver.cuDevicePrimaryCtxRelease_v2(0);
  brim_cuda_driver_close(&s->driver);
}

static int send(scene *s) {
  return s->driver.cuMemcpyHtoDAsync_v2(s->mirror, s->pinned, BYTES, s->copy);
}
static int take(scene *s) {
  return s->driver.cuMemcpyDtoDAsync_v2(s->place, s->mirror, BYTES, s->compute);
}
/* `of` has to be done before what `stream` gets from now on. */
static void order(scene *s, void *of, void *stream) {
  need(s->driver.cuEventRecord(s->event, of), "cuEventRecord");
  need(s->driver.cuStreamWaitEvent(stream, s->event, 0), "cuStreamWaitEvent");
}
static int read_back(scene *s) {
  return s->driver.cuMemcpyDtoHAsync_v2(s->pinned + BYTES, s->place, BYTES, s->compute);
}

static void test_order(uint64_t seed) {
  scene s = open_scene(seed);
  need(send(&s), "send");
  ok(take(&s) != 0, "seed %d: a copy on the card before the transfer that it needs is told", (int)seed);
  order(&s, s.copy, s.compute);
  ok(take(&s) == 0, "and with an event in between it is none");
  ok(send(&s) != 0, "nor may the next transfer overwrite what was not taken yet");
  order(&s, s.compute, s.copy);
  ok(send(&s) == 0, "but after an event it may");
  close_scene(&s);
}

static void test_pinned(uint64_t seed) {
  scene s = open_scene(seed);
  order(&s, s.compute, s.copy);
  need(send(&s), "send");
  order(&s, s.copy, s.compute);
  need(take(&s), "take");
  need(read_back(&s), "read");
  ok(s.pinned[BYTES] == 0xff, "seed %d: what is read is not there before somebody waited", (int)seed);
  need(s.driver.cuStreamSynchronize(s.compute), "cuStreamSynchronize");
  ok(s.pinned[BYTES] == 7 && s.pinned[2 * BYTES - 1] == 7, "and is there then");
  need(s.driver.cuStreamSynchronize(s.copy), "cuStreamSynchronize");
  fake_cuda_seed(0); /* nothing runs early */
  need(send(&s), "send");
  s.pinned[3] = 8;
  ok(s.driver.cuStreamSynchronize(s.copy) != 0, "pinned memory that is used again before its copy is done is told");
  close_scene(&s);
}

/* Through the table: pieces of all sizes, more than fit at once; the caller's memory is free when the call returns. */
static void test_ops(uint64_t seed) {
  brim_ops_context c = {0};
  const brim_runtime_options options = {.threads = 1};
  const brim_ops *ops = brim_ops_cuda();
  brim_error err = {0};
  fake_cuda_seed(seed);
  need(brim_runtime_new(&options, &c.runtime, &err), "runtime");
  need(ops->open(&c, &err), err.message);
  unsigned char *there = ops->alloc(&c, BIG, true), *from = malloc(BIG), *want = calloc(1, BIG), *got = malloc(BIG);
  const long waits = fake_cuda_count(FAKE_SYNCS), pageable = fake_cuda_count(FAKE_PAGEABLE),
             taken = fake_cuda_count(FAKE_ALLOCATIONS);
  size_t at = 0;
  for (int i = 0; i < PIECES; i++) {
    const size_t size = i == 40 ? BIG / 2 : (size_t)(i * i + 1);
    memset(from, i + 1, size);
    memset(want + at, i + 1, size);
    ops->write(&c, there + at, from, size);
    if (i % 9 == 0)
      ops->copy(&c, there + BIG - BYTES, there, BYTES);
    memset(from, 0xee, size);
    at += size;
  }
  memcpy(want + BIG - BYTES, want, BYTES);
  ok(fake_cuda_count(FAKE_SYNCS) == waits && fake_cuda_count(FAKE_PAGEABLE) == pageable &&
         fake_cuda_count(FAKE_ALLOCATIONS) == taken,
     "seed %d: %d writes wait for nothing, go through pinned memory, and take none", (int)seed, PIECES);
  int first[4] = {0};
  for (int i = 0; i < 4; i++)
    ops->read(&c, &first[i], there + (size_t)i * sizeof(int), sizeof(int));
  ops->read(&c, got, there, BIG);
  need(ops->sync(&c, &err), err.message);
  ok(memcmp(got, want, BIG) == 0 && memcmp(first, want, sizeof first) == 0, "and all of them are there, in order");
  ok(fake_cuda_count(FAKE_SYNCS) == waits + 1, "after one wait");
  ops->release(&c, there);
  ops->close(&c);
  brim_runtime_free(c.runtime);
  free(from), free(want), free(got);
}

int main(void) {
  for (uint64_t seed = 0; seed < 2; seed++) {
    test_order(seed);
    test_pinned(seed);
    test_ops(seed);
  }
  ok_int(fake_cuda_left(), 0, "nothing is left");
  return tap_done();
}
