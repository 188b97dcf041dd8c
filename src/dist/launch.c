/* launch.c: which launcher started this process, as its environment shows. */
#include <stdlib.h>
#include <string.h>

#include "brim/dist.h"

typedef struct launcher {
  const char *name, *rank, *size;
} launcher;

/* In the order in which they count: Slurm sets its variables besides those of PMI and PMIx. */
static const launcher launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE"},
    {"PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
};

static int32_t number_of(const char *text, int32_t fallback) {
  char *end;
  const long value = text && *text ? strtol(text, &end, 10) : -1;
  return value >= 0 && value <= INT32_MAX && !*end ? (int32_t)value : fallback;
}

brim_launch brim_launch_find(void) {
  const char *chosen = getenv("BRIM_MPI");
  const brim_launch alone = {.world_size = 1};
  if (chosen && strcmp(chosen, "none") == 0)
    return alone;
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    const launcher *l = &launchers[i];
    const int32_t rank = number_of(getenv(l->rank), -1);
    if (rank >= 0)
      return (brim_launch){.launcher = l->name, .rank = rank, .world_size = number_of(getenv(l->size), 0)};
  }
  return alone;
}
