/* parameters.c: the table of parameters, in the order in which a text passes through them. */
#include "model/parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { ALIGNMENT = 16, NAME_SIZE = 128, PER_LAYER = 16, OTHERS = 9 };

typedef struct maker {
  brim_arena *arena;
  const brim_config *config;
  brim_parameters *p;
  bool failed;
} maker;

static void align(maker *m) {
  m->p->flat_size = (m->p->flat_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Appends tensor NAME of shape [rows, columns], or [rows] when columns is 0; returns its offset. */
static int64_t append(maker *m, const char *name, int64_t rows, int64_t columns, bool decay, bool table) {
  brim_parameters *p = m->p;
  brim_parameter t = {.name = brim_arena_copy_string(m->arena, name, strlen(name)),
                      .rank = columns > 0 ? 2 : 1,
                      .shape = {rows, columns},
                      .offset = p->flat_size,
                      .count = columns > 0 ? rows * columns : rows,
                      .decay = decay,
                      .sparse_rows = table};
  if (!t.name || p->count == p->capacity) {
    m->failed = true;
    return 0;
  }
  p->list[p->count++] = t;
  p->flat_size += t.count;
  return t.offset;
}

/* "PREFIX" + "encoder.layer.3." + "output.dense" + ".weight"; `layer` < 0: none. */
static void full_name(const maker *m, bool encoder, int layer, const char *part, const char *suffix, char name[NAME_SIZE]) {
  char of_layer[48] = "";
  if (layer >= 0) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(of_layer, sizeof of_layer, m->config->family->names->layer, layer);
#pragma GCC diagnostic pop
  }
  snprintf(name, NAME_SIZE, "%s%s%s%s", encoder ? m->config->family->prefix : "", of_layer, part, suffix);
}

static int64_t add_table(maker *m, const char *part, int32_t rows) {
  char name[NAME_SIZE];
  full_name(m, true, -1, part, ".weight", name);
  align(m);
  return append(m, name, rows, m->config->hidden, true, true);
}

static brim_pair_at add_linear(maker *m, bool encoder, int layer, const char *part, int32_t out, int32_t in) {
  char name[NAME_SIZE];
  brim_pair_at at;
  full_name(m, encoder, layer, part, ".weight", name);
  align(m);
  at.weight = append(m, name, out, in, true, false);
  full_name(m, encoder, layer, part, ".bias", name);
  align(m);
  at.bias = append(m, name, out, 0, false, false);
  return at;
}

static brim_pair_at add_norm(maker *m, int layer, const char *part) {
  char name[NAME_SIZE];
  brim_pair_at at;
  full_name(m, true, layer, part, ".weight", name);
  align(m);
  at.weight = append(m, name, m->config->hidden, 0, false, false);
  full_name(m, true, layer, part, ".bias", name);
  align(m);
  at.bias = append(m, name, m->config->hidden, 0, false, false);
  return at;
}

/* Three linear layers as one. */
static void add_query_key_value(maker *m, int layer, brim_layer_at *at) {
  const brim_family_names *names = m->config->family->names;
  const char *parts[3] = {names->query, names->key, names->value};
  brim_pair_at *pairs[3] = {&at->query, &at->key, &at->value};
  const int32_t hidden = m->config->hidden;
  char name[NAME_SIZE];
  align(m);
  for (int i = 0; i < 3; i++) {
    full_name(m, true, layer, parts[i], ".weight", name);
    pairs[i]->weight = append(m, name, hidden, hidden, true, false);
  }
  align(m);
  for (int i = 0; i < 3; i++) {
    full_name(m, true, layer, parts[i], ".bias", name);
    pairs[i]->bias = append(m, name, hidden, 0, false, false);
  }
}

static void add_layer(maker *m, int layer, brim_layer_at *at) {
  const brim_family_names *names = m->config->family->names;
  const int32_t hidden = m->config->hidden, intermediate = m->config->intermediate;
  add_query_key_value(m, layer, at);
  at->attention_output = add_linear(m, true, layer, names->attention_output, hidden, hidden);
  at->attention_norm = add_norm(m, layer, names->attention_norm);
  at->up = add_linear(m, true, layer, names->up, intermediate, hidden);
  at->down = add_linear(m, true, layer, names->down, hidden, intermediate);
  at->output_norm = add_norm(m, layer, names->output_norm);
}

static void add_all(maker *m) {
  const brim_config *c = m->config;
  const brim_family_names *names = c->family->names;
  brim_parameters *p = m->p;
  p->word = add_table(m, names->word, c->vocab_size);
  p->position = add_table(m, names->position, c->positions);
  p->type = c->types > 0 ? add_table(m, names->type, c->types) : -1;
  p->embed_norm = add_norm(m, -1, names->embed_norm);
  for (int layer = 0; layer < c->layers; layer++)
    add_layer(m, layer, &p->layers[layer]);
  p->head_dense = p->count;
  p->dense = add_linear(m, names->head_dense_in_encoder, -1, names->head_dense, c->hidden, c->hidden);
  p->head_output = p->count;
  p->output = add_linear(m, false, -1, names->head_output, c->labels.count, c->hidden);
  align(m);
}

int brim_parameters_make(brim_arena *arena, const brim_config *config, brim_parameters *out, brim_error *err) {
  *out = (brim_parameters){.capacity = PER_LAYER * config->layers + OTHERS};
  out->list = brim_arena_alloc_array(arena, (size_t)out->capacity, sizeof *out->list);
  out->layers = brim_arena_alloc_array(arena, (size_t)config->layers, sizeof *out->layers);
  maker m = {.arena = arena, .config = config, .p = out, .failed = !out->list || !out->layers};
  if (!m.failed)
    add_all(&m);
  return m.failed ? BRIM_NOMEM(err) : BRIM_OK;
}
