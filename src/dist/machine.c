#include "dist/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"

static void read_line(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "re");
  const size_t length = file ? fread(text, 1, size - 1, file) : 0;
  text[length] = 0;
  if (file)
    fclose(file);
}

uint64_t brim_machine_id(void) {
  char words[400] = "", host[64] = "", boot[64], names[128];
  if (gethostname(host, sizeof host - 1) != 0)
    snprintf(host, sizeof host, "unknown");
  read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  const ssize_t length = readlink("/proc/self/ns/pid", names, sizeof names - 1);
  names[length > 0 ? length : 0] = 0;
  snprintf(words, sizeof words, "%s %s %s", host, boot, names);
  return brim_hash64(words, strlen(words), 1);
}
