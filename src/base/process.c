#include "base/process.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t brim_process_resident(void) {
  unsigned long long size, resident = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file)
    return 0;
  if (fscanf(file, "%llu %llu", &size, &resident) != 2)
    resident = 0;
  fclose(file);
  return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Not getrusage's ru_maxrss, if it can be helped: a program inherits that from the one that started it, however large. */
uint64_t brim_process_peak(void) {
  char line[256];
  unsigned long long kibibytes = 0;
  FILE *file = fopen("/proc/self/status", "re");
  while (file && !kibibytes && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %llu kB", &kibibytes) != 1)
      kibibytes = 0;
  if (file)
    fclose(file);
  struct rusage usage;
  if (!kibibytes && getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0)
    kibibytes = (unsigned long long)usage.ru_maxrss;
  return (uint64_t)kibibytes * 1024;
}

/* The number in the first line of a file that begins so; UINT64_MAX: there is none, as where a container has no limit. */
static uint64_t number_in(const char *path, const char *format) {
  char line[256];
  unsigned long long number;
  bool found = false;
  FILE *file = fopen(path, "re");
  while (file && !found && fgets(line, sizeof line, file))
    found = sscanf(line, format, &number) == 1;
  if (file)
    fclose(file);
  return found ? (uint64_t)number : UINT64_MAX;
}

uint64_t brim_process_room(void) {
  static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  const uint64_t kibibytes = number_in("/proc/meminfo", "MemAvailable: %llu kB"), held = brim_process_resident();
  uint64_t room = kibibytes < UINT64_MAX / 1024 ? kibibytes * 1024 : UINT64_MAX;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    const uint64_t limit = number_in(limits[i], "%llu"), left = limit > held ? limit - held : 0;
    room = limit < UINT64_MAX && left < room ? left : room;
  }
  return room;
}
