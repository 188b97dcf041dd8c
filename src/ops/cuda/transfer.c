/* transfer.c: what goes to the card and what comes back, without a stall.
 *
 * What is written is copied into pinned memory at once, so the caller's memory is free. Writes that follow one another go to the
 * card together: one transfer, on a separate stream, into a mirror of the pinned memory, while the card computes what was
 * queued before. The computing stream waits for that transfer and moves the pieces to their places. There are SLOTS such pieces
 * of memory, used in turn: the host waits only where it is that many transfers ahead of the card.
 *
 * What is read comes into pinned memory too, and from there to the caller when somebody waits for all. */
#include <string.h>

#include "ops/cuda/cuda.h"

enum { SLOT = 256 << 10, ANSWERS = 1 << 20, ALIGNED = 64 };

static brim_cuda_address address_of(const void *memory) {
  return (brim_cuda_address)(uintptr_t)memory;
}

/* ---- opening */

/* The name of the call that failed, or NULL. */
static const char *take_all(brim_cuda *d, int *code) {
  brim_cuda_transfer *t = &d->transfer;
  const brim_cuda_driver *driver = &d->driver;
  void *pinned = NULL;
  if ((*code = driver->cuStreamCreate(&t->stream, CUDA_STREAM_ALONE)))
    return "cuStreamCreate";
  if ((*code = driver->cuMemHostAlloc(&pinned, (size_t)BRIM_CUDA_SLOTS * SLOT + ANSWERS, 0)))
    return "cuMemHostAlloc";
  t->pinned = pinned;
  t->answers = t->pinned + (size_t)BRIM_CUDA_SLOTS * SLOT;
  if ((*code = driver->cuMemAlloc_v2(&t->mirror, (size_t)BRIM_CUDA_SLOTS * SLOT)))
    return "cuMemAlloc";
  for (int i = 0; i < BRIM_CUDA_SLOTS; i++)
    if ((*code = driver->cuEventCreate(&t->slots[i].sent, CUDA_EVENT_NO_TIMING)) ||
        (*code = driver->cuEventCreate(&t->slots[i].taken, CUDA_EVENT_NO_TIMING)))
      return "cuEventCreate";
  return NULL;
}

const char *brim_cuda_open_transfers(brim_cuda *d, int *code) {
  return take_all(d, code);
}

/* The stream first: after a failure nobody has waited for what was sent last. */
void brim_cuda_close_transfers(brim_cuda *d) {
  brim_cuda_transfer *t = &d->transfer;
  const brim_cuda_driver *driver = &d->driver;
  if (t->stream) {
    driver->cuStreamSynchronize(t->stream);
    driver->cuStreamDestroy_v2(t->stream);
  }
  for (int i = 0; i < BRIM_CUDA_SLOTS; i++) {
    if (t->slots[i].sent)
      driver->cuEventDestroy_v2(t->slots[i].sent);
    if (t->slots[i].taken)
      driver->cuEventDestroy_v2(t->slots[i].taken);
  }
  if (t->mirror)
    driver->cuMemFree_v2(t->mirror);
  if (t->pinned)
    driver->cuMemFreeHost(t->pinned);
  *t = (brim_cuda_transfer){0};
}

/* ---- to the card */

/* The slot's last transfer is done, and the next one begins after its pieces were moved to their places. */
static bool enter_slot(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_transfer *t = &d->transfer;
  const brim_cuda_slot *s = &t->slots[t->slot];
  if (!s->used)
    return true;
  if (d->driver.cuEventQuery(s->sent) == CUDA_NOT_READY &&
      !brim_cuda_check(c, d->driver.cuEventSynchronize(s->sent), "cuEventSynchronize"))
    return false;
  return brim_cuda_check(c, d->driver.cuStreamWaitEvent(t->stream, s->taken, 0), "cuStreamWaitEvent");
}

static bool send_slot(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_transfer *t = &d->transfer;
  const brim_cuda_driver *driver = &d->driver;
  const brim_cuda_slot *s = &t->slots[t->slot];
  const size_t at = (size_t)t->slot * SLOT;
  return brim_cuda_check(c, driver->cuMemcpyHtoDAsync_v2(t->mirror + at, t->pinned + at, t->filled, t->stream),
                         "cuMemcpyHtoDAsync") &&
         brim_cuda_check(c, driver->cuEventRecord(s->sent, t->stream), "cuEventRecord") &&
         brim_cuda_check(c, driver->cuStreamWaitEvent(d->stream, s->sent, 0), "cuStreamWaitEvent");
}

static bool scatter_pieces(brim_ops_context *c) {
  brim_cuda *d = c->device;
  const brim_cuda_transfer *t = &d->transfer;
  for (int i = 0; i < t->piece_count; i++) {
    const brim_cuda_piece *p = &t->pieces[i];
    const brim_cuda_address from = t->mirror + (size_t)t->slot * SLOT + p->offset;
    if (!brim_cuda_check(c, d->driver.cuMemcpyDtoDAsync_v2(address_of(p->at), from, p->size, d->stream), "cuMemcpyDtoDAsync"))
      return false;
  }
  return brim_cuda_check(c, d->driver.cuEventRecord(t->slots[t->slot].taken, d->stream), "cuEventRecord");
}

static void flush(brim_ops_context *c) {
  brim_cuda_transfer *t = &((brim_cuda *)c->device)->transfer;
  brim_cuda_clock_begin(c, "to the card");
  if (send_slot(c))
    scatter_pieces(c);
  brim_cuda_clock_end(c);
  t->slots[t->slot].used = true;
  t->slot = (t->slot + 1) % BRIM_CUDA_SLOTS;
  t->piece_count = 0;
  t->filled = 0;
}

bool brim_cuda_ready(brim_ops_context *c) {
  brim_cuda *d = c->device;
  if (d->status || !brim_cuda_check(c, d->driver.cuCtxSetCurrent(d->context), "cuCtxSetCurrent"))
    return false;
  if (d->transfer.piece_count > 0)
    flush(c);
  return d->status == BRIM_OK;
}

/* One piece, as much as there is room for. */
static size_t put_piece(brim_cuda_transfer *t, char *to, const char *from, size_t size) {
  const size_t room = SLOT - t->filled, bytes = size < room ? size : room;
  memcpy(t->pinned + (size_t)t->slot * SLOT + t->filled, from, bytes);
  t->pieces[t->piece_count++] = (brim_cuda_piece){to, t->filled, bytes};
  t->filled += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  return bytes;
}

void brim_cuda_write(brim_ops_context *c, void *to, const void *from, size_t size) {
  brim_cuda *d = c->device;
  brim_cuda_transfer *t = &d->transfer;
  if (d->status || !brim_cuda_check(c, d->driver.cuCtxSetCurrent(d->context), "cuCtxSetCurrent"))
    return;
  for (size_t done = 0; done < size && d->status == BRIM_OK;) {
    if (t->piece_count == 0 && !enter_slot(c))
      return;
    done += put_piece(t, (char *)to + done, (const char *)from + done, size - done);
    if (t->filled >= SLOT || t->piece_count == BRIM_CUDA_PIECES)
      flush(c);
  }
}

/* ---- from the card */

void brim_cuda_read(brim_ops_context *c, void *to, const void *from, size_t size) {
  brim_cuda *d = c->device;
  brim_cuda_transfer *t = &d->transfer;
  if (size == 0 || !brim_cuda_ready(c))
    return;
  char *by = to;
  if (t->answer_count < BRIM_CUDA_PIECES && size <= ANSWERS - t->answered) { /* else the driver finds a way, and waits */
    by = t->answers + t->answered;
    t->reads[t->answer_count++] = (brim_cuda_piece){to, t->answered, size};
    t->answered += (size + ALIGNED - 1) / ALIGNED * ALIGNED;
  }
  brim_cuda_clock_begin(c, "from the card");
  brim_cuda_check(c, d->driver.cuMemcpyDtoHAsync_v2(by, address_of(from), size, d->stream), "cuMemcpyDtoHAsync");
  brim_cuda_clock_end(c);
}

/* After the stream was waited for. */
static void hand_out(brim_cuda_transfer *t, bool good) {
  for (int i = 0; i < t->answer_count && good; i++)
    memcpy(t->reads[i].at, t->answers + t->reads[i].offset, t->reads[i].size);
  t->answer_count = 0;
  t->answered = 0;
}

int brim_cuda_sync(brim_ops_context *c, brim_error *err) {
  brim_cuda *d = c->device;
  (void)brim_cuda_ready(c);
  const int current = d->driver.cuCtxSetCurrent(d->context);
  brim_cuda_check(c, current ? current : d->driver.cuStreamSynchronize(d->stream), "cuStreamSynchronize");
  hand_out(&d->transfer, d->status == BRIM_OK);
  brim_cuda_clock_read(c);
  d->transfer.piece_count = 0; /* of a failure */
  d->transfer.filled = 0;
  const int status = d->status;
  if (status && err)
    *err = d->error;
  d->status = BRIM_OK;
  return status;
}
