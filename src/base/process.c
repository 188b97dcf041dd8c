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
