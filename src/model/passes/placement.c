/* placement.c: where each version of a value is.
 *
 * A version has its memory from the first call that uses it to the last. Kept values and those that come and go have a region
 * each, so that the latter, which are written and read again at once, stay in the caches. In each region the large ones take
 * the lowest room first. A version that may replace one whose last use is its own first becomes one unit with it.
 *
 * Sizes are odd multiples of a cache line: tensors of one call do not begin at the same place of a page, where they would fight
 * for the same lines of the first cache. Under AddressSanitizer a red zone follows each. */
#include "base/poison.h"
#include "model/schedule.h"

enum { LINE = 64 };

static uint64_t size_of(const brim_value_version *v, const int64_t rows[BRIM_ROW_KINDS]) {
  const uint64_t bytes = (uint64_t)rows[v->rows] * (uint64_t)v->width * brim_type_size(v->type) + BRIM_RED_ZONE;
  return ((bytes + LINE - 1) / LINE | 1) * LINE;
}

/* Versions in the order of their first calls, each after the one that it replaces. A unit's life is that of all its versions. */
static void make_units(brim_call_schedule *s, const int64_t rows[BRIM_ROW_KINDS]) {
  for (size_t i = 0; i < s->version_count; i++) {
    brim_value_version *v = &s->versions[i];
    const brim_value_version *before = v->replaces == BRIM_NONE ? NULL : &s->versions[v->replaces];
    v->size = size_of(v, rows);
    v->unit = (int32_t)i;
    if (before && before->last == v->first && before->size == v->size && before->region == v->region)
      v->unit = before->unit;
  }
}

static bool is_before(const brim_call_schedule *s, int32_t a, int32_t b) {
  const brim_value_version *x = &s->versions[a], *y = &s->versions[b];
  return x->size != y->size ? x->size > y->size : a < b;
}

/* A heap's root sinks as far as it must; the last in order is on top. */
static void sink(brim_call_schedule *s, size_t count, size_t at) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_before(s, s->order[child], s->order[child + 1]))
      child++;
    if (!is_before(s, s->order[at], s->order[child]))
      return;
    const int32_t swap = s->order[at];
    s->order[at] = s->order[child];
    s->order[child] = swap;
  }
}

static size_t sort_units(brim_call_schedule *s) {
  size_t count = 0;
  for (size_t i = 0; i < s->version_count; i++)
    if (s->versions[i].unit == (int32_t)i && s->versions[i].first >= 0)
      s->order[count++] = (int32_t)i;
  for (size_t i = count / 2; i-- > 0;)
    sink(s, count, i);
  for (size_t end = count; end-- > 1;) {
    const int32_t top = s->order[0];
    s->order[0] = s->order[end];
    s->order[end] = top;
    sink(s, end, 0);
  }
  return count;
}

/* While offsets are found, `last` of a unit's first version is that of all. */
static bool meet(const brim_value_version *a, const brim_value_version *b) {
  return a->region == b->region && a->first <= b->last && b->first <= a->last;
}

/* The lowest room that is free all its life; placed[] is in the order of offsets. */
static void assign_offset(brim_call_schedule *s, brim_value_version *v, size_t count) {
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    const brim_value_version *other = &s->versions[s->by_offset[i]];
    if (!meet(v, other))
      continue;
    if (at + v->size <= other->offset)
      break;
    if (other->offset + other->size > at)
      at = other->offset + other->size;
  }
  v->offset = at;
}

static void insert(brim_call_schedule *s, int32_t version, size_t count) {
  size_t at = count;
  while (at > 0 && s->versions[s->by_offset[at - 1]].offset > s->versions[version].offset) {
    s->by_offset[at] = s->by_offset[at - 1];
    at--;
  }
  s->by_offset[at] = version;
}

static void extend_units(brim_call_schedule *s, int32_t *lasts) {
  for (size_t i = 0; i < s->version_count; i++) {
    lasts[i] = s->versions[i].last;
    brim_value_version *unit = &s->versions[s->versions[i].unit];
    unit->last = s->versions[i].last > unit->last ? s->versions[i].last : unit->last;
  }
}

static void finish(brim_call_schedule *s, const int32_t *lasts) {
  for (size_t i = 0; i < s->version_count; i++) {
    brim_value_version *v = &s->versions[i];
    const uint64_t end = s->versions[v->unit].offset + v->size;
    v->offset = s->versions[v->unit].offset;
    v->last = lasts[i];
    if (v->first >= 0 && end > s->region_size[v->region])
      s->region_size[v->region] = end;
  }
}

void brim_schedule_assign_offsets(brim_call_schedule *s, const int64_t rows[BRIM_ROW_KINDS]) {
  make_units(s, rows);
  for (int i = 0; i < BRIM_REGIONS; i++)
    s->region_size[i] = 0;
  extend_units(s, s->lasts);
  const size_t count = sort_units(s);
  for (size_t i = 0; i < count; i++) {
    assign_offset(s, &s->versions[s->order[i]], i);
    insert(s, s->order[i], i);
  }
  finish(s, s->lasts);
}
