#include "base/stop.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/status.h"

int brim_stop_init(brim_stop *stop, brim_error *err) {
  atomic_init(&stop->set, false);
  stop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return stop->wake < 0 ? brim_error_system(err, "eventfd", "watch for the end", errno) : BRIM_OK;
}

void brim_stop_free(brim_stop *stop) {
  if (stop->wake >= 0)
    close(stop->wake);
  stop->wake = -1;
}

void brim_stop_set(brim_stop *stop) {
  atomic_store(&stop->set, true);
  if (stop->wake < 0)
    return;
  ssize_t ignored = write(stop->wake, &(uint64_t){1}, sizeof(uint64_t));
  (void)ignored;
}
