#include "train/memory.h"

#include <stdio.h>
#include <unistd.h>

#include "base/status.h"

uint64_t brim_memory_resident(void) {
  unsigned long long size, resident = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file)
    return 0;
  if (fscanf(file, "%llu %llu", &size, &resident) != 2)
    resident = 0;
  fclose(file);
  return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Training's block of working memory serves evaluation too, and is as large as the larger of them needs. */
uint64_t brim_memory_of_limits(const brim_model *model, const brim_model_limits *train, const brim_model_limits *eval,
                               uint64_t other) {
  uint64_t all = brim_model_memory(model, train), state = brim_model_state_memory(model);
  uint64_t predicting = eval->max_slots > 0 ? brim_model_memory(model, eval) : 0;
  return other + (all - state > predicting ? all : state + predicting);
}

/* Limits of parts of at most so many slots. */
static brim_model_limits limits_of(const brim_model_limits *widest, int64_t slots, int32_t shortest) {
  brim_model_limits limits = *widest;
  int64_t rows = slots / (shortest > 0 ? shortest : 1);
  limits.max_slots = slots < widest->max_slots ? slots : widest->max_slots;
  if (rows < limits.max_sequences)
    limits.max_sequences = (int32_t)(rows > 0 ? rows : 1);
  return limits;
}

static double megabytes(uint64_t bytes) {
  return (double)bytes / 1e6;
}

/* The smallest limit: one row of the longest at once. What would make it smaller, with what it would be then. */
static int refuse(const brim_model *model, const brim_model_limits *limits, int32_t shortest, uint64_t fixed, uint64_t limit,
                  brim_error *err) {
  const brim_model_limits none = {0};
  brim_model_limits least = limits_of(limits, limits->max_length, shortest), shorter = least, anew = least;
  shorter.max_length = limits->max_length / 2 > 0 ? limits->max_length / 2 : 1;
  shorter.max_slots = shorter.max_length;
  anew.checkpoint_activations = true;
  char advice[200] = "";
  if (!limits->checkpoint_activations)
    snprintf(advice, sizeof advice, "checkpoint_activations (%.1f MB), ",
             megabytes(fixed + brim_memory_of_limits(model, &anew, &none, 0)));
  return brim_error_set(err, BRIM_E_USAGE,
                        "memory_limit: %.1f MB are too few: this run fits into %.1f MB, with one row of %d tokens at once; less "
                        "would take %sfreeze, or max_length %d (%.1f MB)",
                        megabytes(limit), megabytes(fixed + brim_memory_of_limits(model, &least, &none, 0)),
                        (int)limits->max_length, advice, (int)shorter.max_length,
                        megabytes(fixed + brim_memory_of_limits(model, &shorter, &none, 0)));
}

int brim_memory_fit(const brim_model *model, const brim_model_limits *limits, int32_t shortest, uint64_t held, uint64_t other,
                    uint64_t limit, int64_t *slots, brim_error *err) {
  const brim_model_limits none = {0};
  int64_t low = limits->max_length, high = limits->max_slots;
  brim_model_limits at = limits_of(limits, low, shortest);
  if (held + brim_memory_of_limits(model, &at, &none, other) > limit)
    return refuse(model, limits, shortest, held + other, limit, err);
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    at = limits_of(limits, middle, shortest);
    if (held + brim_memory_of_limits(model, &at, &none, other) <= limit)
      low = middle;
    else
      high = middle - 1;
  }
  *slots = low;
  return BRIM_OK;
}
