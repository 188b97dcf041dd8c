#include "model/trained.h"

#include <string.h>

#include "base/status.h"
#include "model/kind.h"

/* The weights from `first` on that adjoin: the end of them. */
static int32_t group_end(const brim_program *p, int32_t first) {
  int32_t end = first + 1;
  while (end < (int32_t)p->weight_count && p->weights[end].adjoins)
    end++;
  return end;
}

static bool any(const bool *weights, int32_t first, int32_t end) {
  for (int32_t i = first; i < end; i++)
    if (weights[i])
      return true;
  return false;
}

/* What comes right after a range is part of it. */
static void append(brim_trained *t, int64_t value, int64_t end) {
  brim_trained_range *last = t->ranges + t->count - 1;
  if (t->count == 0 || last->value + last->count != value) {
    last = &t->ranges[t->count++];
    *last = (brim_trained_range){value, t->size, 0};
  }
  last->count = end - last->value;
  t->size = last->offset + last->count;
}

static void list(brim_trained *t, const brim_program *p) {
  t->count = 0;
  t->size = 0;
  for (int32_t first = 0, end; first < (int32_t)p->weight_count; first = end) {
    end = group_end(p, first);
    if (any(t->weights, first, end))
      append(t, brim_weight_at(p, first), end < (int32_t)p->weight_count ? brim_weight_at(p, end) : p->flat_size);
  }
}

int brim_trained_init(brim_trained *t, const brim_program *p, brim_arena *arena, brim_error *err) {
  *t = (brim_trained){.weights = brim_arena_alloc_array(arena, p->weight_count, sizeof *t->weights),
                      .ranges = brim_arena_alloc_array(arena, p->weight_count, sizeof *t->ranges)};
  if (!t->weights || !t->ranges)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < p->weight_count; i++)
    t->weights[i] = true;
  list(t, p);
  return BRIM_OK;
}

void brim_trained_set(brim_trained *t, const brim_program *p, const bool *weights) {
  memcpy(t->weights, weights, p->weight_count * sizeof *weights);
  list(t, p);
}

bool brim_trained_differs(const brim_trained *t, const brim_program *p, const bool *weights) {
  return memcmp(t->weights, weights, p->weight_count * sizeof *weights) != 0;
}

int64_t brim_trained_at(const brim_trained *t, int64_t value) {
  for (int32_t i = 0; i < t->count; i++)
    if (value >= t->ranges[i].value && value < t->ranges[i].value + t->ranges[i].count)
      return t->ranges[i].offset + (value - t->ranges[i].value);
  return -1;
}

/* Of the sections with a gradient. */
static int32_t lowest_section(const brim_trained *t, const brim_program *p) {
  int32_t weight = 0;
  while (weight + 1 < (int32_t)p->weight_count && brim_trained_at(t, brim_weight_at(p, weight)) < 0)
    weight++;
  return p->weights[weight].section;
}

static int32_t count_uses(const brim_program *p, int32_t weight) {
  int32_t uses = 0;
  for (size_t i = 0; i < p->operation_count; i++)
    for (int32_t k = 0; k < p->operations[i].weights.count; k++)
      uses += p->operations[i].weights.of[k] == weight;
  return uses;
}

bool brim_trained_joins_slices(const brim_trained *t, const brim_program *p) {
  const int32_t lowest = lowest_section(t, p);
  for (int32_t i = 0; i < (int32_t)p->weight_count; i++)
    if (count_uses(p, i) > 1 && brim_trained_at(t, brim_weight_at(p, i)) >= 0)
      return false;
  for (size_t i = 0; i < p->operation_count; i++)
    if (p->operations[i].kind->sums_texts && p->operations[i].section >= lowest)
      return false;
  return true;
}
