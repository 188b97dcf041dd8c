/* stream.c: sums of a residual stream, gated activations, rotary positions. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"

enum { ROWS_PER_TASK = 16 };

/* Of what is changed where it is, in no cache: each vector asks for what has its place in the next row. After the last row that
 * is an address of nothing, which is no error. */
BRIM_INLINE void fetch(brim_typed t, int64_t index) {
  __builtin_prefetch((const void *)((uintptr_t)t.at + (uintptr_t)(index * (t.type == BRIM_TYPE_BF16 ? 2 : 4))), 1);
}

static void sum_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_stream_sum *s = context;
  const int64_t width = s->width, first = task * ROWS_PER_TASK, end = least(first + ROWS_PER_TASK, s->at.count);
  for (int64_t r = first; r < end; r++) {
    const float *residual = s->residual + r * width;
    float *y = s->y + r * width;
    CPU(dropout_slot)(&s->dropout, &s->layout, &s->at, r, width, s->x + r * width, y);
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(y + i, vload_n(residual + i, width - i) + vload_n(y + i, width - i), width - i);
    if (s->rounded_y)
      store_row((brim_typed){BRIM_TYPE_BF16, s->rounded_y}, r * width, width, y);
  }
}

void CPU(stream_sum)(brim_ops_context *c, const brim_stream_sum *of) {
  brim_stream_sum s = *of;
  CPU(run)(c, divided(s.at.count, ROWS_PER_TASK), sum_task, &s);
}

/* ---- gated activation: a row as floats for each worker */

enum { GATE_COLUMNS = 256 }; /* at a time: what is between stays in the cache */

typedef struct gating {
  const brim_gate *of;
  float *lines;
} gating;

static int64_t line_size(int64_t width) {
  return divided(width, VEC) * VEC;
}

static void gate_task(void *context, int64_t task, int worker) {
  const gating *gate = context;
  const brim_gate *g = gate->of;
  const int64_t width = g->width, first = task * ROWS_PER_TASK, end = least(first + ROWS_PER_TASK, g->at.count);
  for (int64_t r = first; r < end; r++) {
    const int64_t u = r * 2 * width + (g->second ? width : 0), other = r * 2 * width + (g->second ? 0 : width);
    float *line = gate->lines + worker * line_size(width), *y = row_address(g->y, r * width, line);
    CPU(activate)(g->act, width, row_of(g->pre, u, width, line), y);
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(y + i, vload_n(y + i, width - i) * tload_n(g->pre, other + i, width - i), width - i);
    CPU(dropout_slot)(&g->dropout, &g->layout, &g->at, r, width, y, y);
    finish_row(g->y, r * width, width, y);
  }
}

void CPU(gate_forward)(brim_ops_context *c, const brim_gate *g) {
  gating gate = {g, c->workspace};
  CPU(run)(c, divided(g->at.count, ROWS_PER_TASK), gate_task, &gate);
}

/* Some columns of one row, from where they are in dpre, which may be pre. */
static void gate_columns(const brim_gate *g, int64_t n, int64_t u, int64_t other, const float *dy) {
  float value[GATE_COLUMNS], slope[GATE_COLUMNS];
  for (int64_t i = 0; i < n; i += VEC) {
    fetch(g->pre, u + 2 * g->width + i);
    fetch(g->pre, other + 2 * g->width + i);
    vstore_n(value + i, tload_n(g->pre, u + i, n - i), n - i);
    vstore_n(slope + i, vload_n(dy + i, n - i) * tload_n(g->pre, other + i, n - i), n - i);
  }
  if (g->act == BRIM_ACT_TANH) { /* its slope follows from its value */
    CPU(activate)(g->act, n, value, value);
    CPU(activate_backward)(g->act, n, value, slope, slope);
  } else {
    CPU(activate_turn)(g->act, n, value, slope);
  }
  for (int64_t i = 0; i < n; i += VEC) {
    tstore_n(g->dpre, u + i, vload_n(slope + i, n - i), n - i);
    tstore_n(g->dpre, other + i, vload_n(dy + i, n - i) * vload_n(value + i, n - i), n - i);
  }
}

static void gate_backward_task(void *context, int64_t task, int worker) {
  const gating *gate = context;
  const brim_gate *g = gate->of;
  const int64_t width = g->width, first = task * ROWS_PER_TASK, end = least(first + ROWS_PER_TASK, g->at.count);
  for (int64_t r = first; r < end; r++) {
    const int64_t u = r * 2 * width + (g->second ? width : 0), other = r * 2 * width + (g->second ? 0 : width);
    float *line = gate->lines + worker * line_size(width);
    CPU(dropout_slot)(&g->dropout, &g->layout, &g->at, r, width, row_of(g->dy, r * width, width, line), line);
    for (int64_t i = 0; i < width; i += GATE_COLUMNS)
      gate_columns(g, least(GATE_COLUMNS, width - i), u + i, other + i, line + i);
  }
}

void CPU(gate_backward)(brim_ops_context *c, const brim_gate *g) {
  gating gate = {g, c->workspace};
  CPU(run)(c, divided(g->at.count, ROWS_PER_TASK), gate_backward_task, &gate);
}

/* ---- rotary positions: cosines and sines of all positions first, then the rows */

typedef struct rotation {
  const brim_rotary *of;
  int64_t positions;
  float *angles; /* [positions, head_size]: of a position the cosines, then the sines */
} rotation;

enum { POSITIONS_PER_TASK = 32 };

static void angle_task(void *context, int64_t task, int worker) {
  (void)worker;
  const rotation *p = context;
  const int32_t size = p->of->head_size, half = size / 2;
  const int64_t first = task * POSITIONS_PER_TASK, end = least(first + POSITIONS_PER_TASK, p->positions);
  for (int32_t i = 0; i < half; i++) {
    const float frequency = brim_rotary_frequency(p->of, i);
    for (int64_t position = first; position < end; position++) {
      const double angle = (double)((float)position * frequency);
      float *to = p->angles + position * size + i;
      to[0] = (float)cos(angle);
      to[half] = (float)sin(p->of->back ? -angle : angle);
    }
  }
}

static void rotate_head(int64_t half, const float *angles, brim_typed x, int64_t at, int64_t next) {
  for (int64_t i = 0; i < half; i += VEC) {
    fetch(x, next + i);
    fetch(x, next + half + i);
    const int64_t n = half - i;
    const vec cosine = vload_n(angles + i, n), sine = vload_n(angles + half + i, n), a = tload_n(x, at + i, n),
              b = tload_n(x, at + half + i, n);
    tstore_n(x, at + i, vnmadd(b, sine, a * cosine), n);
    tstore_n(x, at + half + i, vmadd(a, sine, b * cosine), n);
  }
}

static void rotate_task(void *context, int64_t task, int worker) {
  (void)worker;
  const rotation *p = context;
  const brim_rotary *of = p->of;
  const brim_layout *layout = &of->layout;
  const int64_t size = of->head_size, first = task * ROWS_PER_TASK, end = least(first + ROWS_PER_TASK, of->at.count);
  for (int64_t r = first; r < end; r++) {
    const int32_t slot = of->at.slot ? of->at.slot[r] : (int32_t)r, s = layout->sequence[slot], token = slot - layout->offsets[s];
    for (int64_t head = 0; head < of->heads && token < layout->lengths[s]; head++)
      rotate_head(size / 2, p->angles + token * size, of->x, r * of->stride + head * size, (r + 1) * of->stride + head * size);
  }
}

/* Of a few rows, first tokens for instance, only the positions that they have. */
static int64_t count_positions(const brim_rotary *of) {
  const brim_layout *layout = &of->layout;
  int64_t count = 0;
  for (int32_t r = 0; of->at.slot && r < of->at.count; r++) {
    const int32_t slot = of->at.slot[r], token = slot - layout->offsets[layout->sequence[slot]];
    count = token < count ? count : token + 1;
  }
  return of->at.slot ? least(count, layout->max_length) : layout->max_length;
}

void CPU(rotate)(brim_ops_context *c, const brim_rotary *of) {
  rotation p = {.of = of, .positions = count_positions(of), .angles = c->workspace};
  CPU(run)(c, divided(p.positions, POSITIONS_PER_TASK), angle_task, &p);
  CPU(run)(c, divided(of->at.count, ROWS_PER_TASK), rotate_task, &p);
}

size_t CPU(stream_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t size = limits->hidden / (limits->heads > 0 ? limits->heads : 1);
  const size_t angles = (size_t)limits->max_length * (size_t)size * sizeof(float);
  const size_t lines = (size_t)threads * (size_t)line_size(limits->intermediate) * sizeof(float);
  return angles > lines ? angles : lines;
}
