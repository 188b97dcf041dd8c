/* program.c: building a program. */
#include "model/program.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "model/kind.h"

enum { ALIGNMENT = 16 };

static bool grow(brim_program *p, void **items, size_t *room, size_t needed, size_t size) {
  brim_error ignored;
  if (!p->status)
    p->status = brim_grow(p->runtime, items, room, needed, size, &ignored);
  return p->status == BRIM_OK;
}

static const char *copy_name(brim_program *p, const char *name) {
  const char *copy = brim_arena_copy_string(p->arena, name, strlen(name));
  if (!copy && !p->status)
    p->status = BRIM_E_MEMORY;
  return copy;
}

void brim_begin_section(brim_program *p, const char *name, bool layer, int32_t input) {
  if (!grow(p, (void **)&p->sections, &p->section_room, p->section_count + 1, sizeof *p->sections))
    return;
  p->sections[p->section_count++] = (brim_section){.name = copy_name(p, name),
                                                   .layer = layer,
                                                   .first = (int32_t)p->operation_count,
                                                   .first_weight = (int32_t)p->weight_count,
                                                   .input = input};
}

static int32_t add_value(brim_program *p, brim_value value) {
  if (!grow(p, (void **)&p->values, &p->value_room, p->value_count + 1, sizeof *p->values))
    return 0;
  value.maker = (int32_t)p->operation_count;
  p->values[p->value_count] = value;
  return (int32_t)p->value_count++;
}

int32_t brim_add_value(brim_program *p, const char *name, brim_row_kind rows, int32_t width) {
  return add_value(p, (brim_value){.name = name, .rows = rows, .width = width});
}

int32_t brim_add_exact(brim_program *p, const char *name, brim_row_kind rows, int32_t width) {
  return add_value(p, (brim_value){.name = name, .rows = rows, .width = width, .exact = true});
}

int32_t brim_add_index(brim_program *p, const char *name, brim_row_kind rows, int32_t width) {
  return add_value(p, (brim_value){.name = name, .rows = rows, .width = width, .type = BRIM_AS_INDEX, .exact = true});
}

/* An operation before with the same weights, whose products are the same; NULL: there is none. */
static const brim_operation *find_twin(const brim_program *p, const brim_operation *o) {
  for (size_t i = 0; i < p->operation_count && o->weights.count > 0; i++)
    if (p->operations[i].kind == o->kind && p->operations[i].weights.of[0] == o->weights.of[0])
      return &p->operations[i];
  return NULL;
}

void brim_add_operation(brim_program *p, const brim_operation *o) {
  if (!grow(p, (void **)&p->operations, &p->operation_room, p->operation_count + 1, sizeof *p->operations))
    return;
  brim_operation *to = &p->operations[p->operation_count];
  *to = *o;
  to->section = (int32_t)p->section_count - 1;
  const brim_operation *twin = find_twin(p, o);
  to->first_packed = twin ? twin->first_packed : p->packed_count;
  for (int i = 0; i < o->weights.count; i++) {
    brim_weight *w = &p->weights[o->weights.of[i]];
    if (o->weights.of[i] == BRIM_NONE)
      continue;
    w->used = true;
    w->half = w->half || o->kind->half.weights >> i & 1;
  }
  brim_product products[BRIM_MOST_PRODUCTS];
  p->packed_count += o->kind->products && !twin ? o->kind->products(p, to, products) : 0;
  p->operation_count++;
}

static int32_t find_weight(const brim_program *p, const char *name) {
  for (size_t i = 0; i < p->weight_count && !p->status; i++)
    if (strcmp(p->weights[i].is.name, name) == 0)
      return (int32_t)i;
  return BRIM_NONE;
}

int32_t brim_declare(brim_program *p, const char *name, int64_t rows, int64_t columns, int flags) {
  const int32_t before = flags & BRIM_WEIGHT_SHARED ? find_weight(p, name) : BRIM_NONE;
  if (before != BRIM_NONE)
    return before;
  if (!grow(p, (void **)&p->weights, &p->weight_room, p->weight_count + 1, sizeof *p->weights))
    return 0;
  if (!(flags & BRIM_WEIGHT_ADJOINS))
    p->flat_size = (p->flat_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  brim_weight *w = &p->weights[p->weight_count];
  *w = (brim_weight){.is = {.name = copy_name(p, name),
                            .rank = columns > 0 ? 2 : 1,
                            .shape = {rows, columns},
                            .offset = p->flat_size,
                            .count = columns > 0 ? rows * columns : rows,
                            .decay = flags & BRIM_WEIGHT_DECAY,
                            .sparse_rows = flags & BRIM_WEIGHT_SPARSE},
                     .one = flags & BRIM_WEIGHT_ONE,
                     .labels = flags & BRIM_WEIGHT_LABELS,
                     .bare = flags & BRIM_WEIGHT_BARE,
                     .adjoins = flags & BRIM_WEIGHT_ADJOINS,
                     .section = (int32_t)p->section_count - 1};
  p->flat_size += w->is.count;
  return (int32_t)p->weight_count++;
}

bool brim_program_shares(const brim_program *p, int32_t section) {
  for (size_t i = 0; i < p->operation_count; i++) {
    const brim_operation *o = &p->operations[i];
    for (int k = 0; k < o->weights.count && o->section >= section; k++) {
      const int32_t weight = o->weights.of[k], owner = weight == BRIM_NONE ? section : p->weights[weight].section;
      if (owner < section && p->sections[owner].layer)
        return true;
    }
  }
  return false;
}

int brim_program_make(brim_program *p, brim_runtime *runtime, brim_arena *arena, const brim_config *config, brim_error *err) {
  *p = (brim_program){.runtime = runtime, .arena = arena, .hidden = BRIM_NONE, .logits = BRIM_NONE, .outcomes = BRIM_NONE};
  config->family->append(p, config);
  p->flat_size = (p->flat_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (p->status == BRIM_E_UNSUPPORTED)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "brim has no head of %s for the task \"%s\": choose another task or model",
                          config->family->type, brim_task_name(config->labels.task));
  return p->status ? BRIM_NOMEM(err) : BRIM_OK;
}

void brim_program_free(brim_program *p) {
  brim_release(p->runtime, p->values);
  brim_release(p->runtime, p->operations);
  brim_release(p->runtime, p->weights);
  brim_release(p->runtime, p->sections);
  *p = (brim_program){0};
}

/* ---- of a whole program --------------------------------------------------------------------------------------- */

static int64_t longer(int64_t a, int64_t b) {
  return b > a ? b : a;
}

static int32_t larger(int32_t a, int64_t b) {
  return b > a ? (int32_t)b : a;
}

/* Of a weight that is multiplied, or of a norm: what `hidden` limits. Rows of an embedding are only looked up. */
static int64_t shorter_side(const brim_weight *w) {
  const int64_t *shape = w->is.shape;
  if (w->selected != BRIM_BY_NOTHING)
    return 0;
  if (w->is.rank == 1)
    return w->one ? shape[0] : 0;
  return shape[0] < shape[1] ? shape[0] : shape[1];
}

/* Values of a product's weight, as brim_ops_limits counts them. */
static int64_t product_size(const brim_product *product) {
  return (int64_t)product->out * ((product->in + 63) / 64 * 64);
}

/* A product by this weight; of none where it has no such. */
static brim_product product_of(const brim_weight *w) {
  const int64_t rows = w->is.shape[0];
  if (w->is.rank < 2 || (w->selected != BRIM_BY_NOTHING && w->at_once == 0))
    return (brim_product){0};
  return (brim_product){.in = (int32_t)w->is.shape[1], .out = (int32_t)(w->at_once > 0 && w->at_once < rows ? w->at_once : rows)};
}

static void note_product(brim_ops_limits *limits, const brim_product *product) {
  limits->weight = longer(limits->weight, product_size(product));
  limits->longest = larger(limits->longest, larger(product->in, product->out));
}

brim_ops_limits brim_program_limits(const brim_program *p) {
  brim_ops_limits limits = {.hidden = 1, .intermediate = 1};
  int32_t head = 1, farthest = 0;
  for (size_t i = 0; i < p->weight_count; i++) {
    limits.hidden = larger(limits.hidden, shorter_side(&p->weights[i]));
    const brim_product product = product_of(&p->weights[i]);
    note_product(&limits, &product);
  }
  for (size_t i = 0; i < p->operation_count; i++) {
    const brim_operation *o = &p->operations[i];
    brim_product products[BRIM_MOST_PRODUCTS];
    const int count = o->kind->products ? o->kind->products(p, o, products) : 0;
    for (int k = 0; k < count; k++) {
      limits.intermediate = larger(limits.intermediate, products[k].in);
      note_product(&limits, &products[k]);
      if (k > 0 && products[k].in == products[0].in) { /* of one input: they may be computed at once */
        products[0].out += products[k].out;
        note_product(&limits, &products[0]);
      }
    }
    limits.distances = larger(limits.distances, o->terms.distances.rows);
    if (o->terms.heads > 0)
      head = larger(head, p->values[o->out.of[0]].width / o->terms.heads);
    if (o->kind->attends)
      farthest = larger(farthest, o->terms.window > 0 ? o->terms.window : INT32_MAX);
  }
  limits.window = farthest < INT32_MAX ? farthest : 0;
  limits.heads = larger(1, limits.hidden / head);
  return limits;
}
