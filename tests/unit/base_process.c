/* What a process knows of its memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "tap.h"

enum { MEBI = 1 << 20, MUCH = 256 };

/* A program started by a large process does not take that one's peak for its own. */
static void not_inherited(void) {
  fflush(NULL);
  const pid_t child = fork();
  int state = -1;
  if (child == 0) {
    execl("/proc/self/exe", "base_process", "small", (char *)NULL);
    _exit(9);
  }
  waitpid(child, &state, 0);
  ok(WIFEXITED(state) && WEXITSTATUS(state) == 0, "a small program of a large parent is small");
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "small") == 0)
    return brim_process_peak() / MEBI < MUCH ? 0 : 1;
  const uint64_t before = brim_process_peak();
  ok(before > 0 && brim_process_resident() > 0, "both are known");
  const uint64_t room = brim_process_room(), machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  ok(room == UINT64_MAX || (room > MEBI && room <= machine), "there is room for more, and not for more than the machine has");
  char *block = malloc((size_t)MUCH * MEBI);
  if (!block)
    return 1;
  memset(block, 1, (size_t)MUCH * MEBI);
  const uint64_t resident = brim_process_resident();
  ok(resident / MEBI >= MUCH && brim_process_peak() / MEBI >= MUCH, "memory that was touched is resident, and counts");
  not_inherited();
  free(block);
  ok(brim_process_resident() + (MUCH / 2) * (uint64_t)MEBI < resident, "what was given back is no longer resident");
  ok(brim_process_peak() / MEBI >= MUCH, "but the peak stays");
  return tap_done();
}
