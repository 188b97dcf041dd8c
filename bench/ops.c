/* ops.c: speed of the operations on the shapes of real encoders. Not part of the product: `ninja bench/bench_ops`, then
 * `bench_ops [threads] [level] [case] [cold]`. Each figure is the best of some repetitions; with one thread it is processor time,
 * so that a busy machine disturbs it less. `cold` moves all operands on each time, so that no cache holds them, as in a step of
 * training. */
#include "ops/ops.h"
#include "base/reduce_tree.h"
#include "base/runtime.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_REPEATS = 4, MOST_REPEATS = 15 };

typedef struct bench {
  const brim_ops *ops;
  clockid_t clock;
  brim_ops_context c;
  float *x, *w, *y, *z, *dw, *b;
  bool cold;
} bench;

/* Operands are at some of PLACES places of their buffers. */
enum { BUFFER = 8192 * 3072, PLACES = 8, ROOM_APART = BUFFER / PLACES };

typedef struct work {
  int64_t rows;
  int32_t in, out;
  const brim_layout *layout;
  brim_attention attention;
  brim_dropout dropout;
  brim_update update;
  brim_int8 bytes, down;
  brim_row_slices slices;
} work;

typedef void (*work_fn)(bench *, const work *);

static double seconds(const bench *b) {
  struct timespec t;
  clock_gettime(b->clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Moves the operands to the next place, or back to the first. */
static void move(bench *b, int64_t by) {
  float **const moved[] = {&b->x, &b->w, &b->y, &b->z, &b->dw};
  for (int i = 0; i < 5; i++)
    *moved[i] += by;
}

static double best_time(bench *b, work_fn fn, const work *w) {
  double best = 1e30, total = 0;
  for (int i = 0; i < LEAST_REPEATS || (i < MOST_REPEATS && total < 0.1); i++) {
    const int64_t shift = b->cold ? i % PLACES * (int64_t)ROOM_APART : 0;
    move(b, shift);
    const double start = seconds(b), took = (fn(b, w), seconds(b) - start);
    move(b, -shift);
    best = fmin(best, took);
    total += took;
  }
  return best;
}

static void forward(bench *b, const work *w) {
  b->ops->linear_forward(&b->c, &(brim_linear){.rows = w->rows,
                                               .in = w->in,
                                               .out = w->out,
                                               .x = b->x,
                                               .x_stride = w->in,
                                               .w = b->w,
                                               .b = b->b,
                                               .y = b->y,
                                               .y_stride = w->out});
}
static void forward_act(bench *b, const work *w) {
  b->ops->linear_act_forward(&b->c, &(brim_linear_act){.rows = w->rows,
                                                       .in = w->in,
                                                       .out = w->out,
                                                       .x = b->x,
                                                       .w = b->w,
                                                       .b = b->b,
                                                       .act = BRIM_ACT_GELU,
                                                       .pre = b->y,
                                                       .y = b->z});
}
static brim_residual residual_of(const bench *b, const work *w) {
  return (brim_residual){.layout = *w->layout,
                         .at = {.count = (int32_t)w->rows},
                         .dropout = w->dropout,
                         .residual = b->z,
                         .gamma = b->b,
                         .beta = b->b,
                         .eps = 1e-12f};
}
static void forward_norm(bench *b, const work *w) {
  b->ops->linear_norm_forward(&b->c, &(brim_linear_norm){.in = w->in,
                                                         .out = w->out,
                                                         .x = b->x,
                                                         .w = b->w,
                                                         .b = b->b,
                                                         .residual = residual_of(b, w),
                                                         .sum = b->z,
                                                         .mean = b->dw,
                                                         .rstd = b->dw + w->rows,
                                                         .y = b->y});
}
static void forward_bytes(bench *b, const work *w) {
  b->ops->int8_forward(
      &b->c, &(brim_int8_linear){
                 .rows = w->rows, .w = w->bytes, .x = b->x, .x_stride = w->bytes.in, .y = b->y, .y_stride = w->bytes.out});
}
static void bytes_norm(bench *b, const work *w) {
  const brim_residual r = residual_of(b, w);
  if (w->down.in)
    b->ops->int8_feed_forward(
        &b->c, &(brim_int8_feed){.up = w->bytes, .down = w->down, .act = BRIM_ACT_GELU, .x = b->x, .residual = r, .y = b->y});
  else
    b->ops->int8_norm_forward(&b->c, &(brim_int8_norm){.w = w->bytes, .x = b->x, .residual = r, .y = b->y});
}
static brim_linear_gradient gradient_of(const bench *b, const work *w) {
  return (brim_linear_gradient){
      .rows = w->rows, .in = w->in, .out = w->out, .x = b->x, .x_stride = w->in, .w = b->w, .dy = b->y, .dy_stride = w->out};
}
static void input_gradient(bench *b, const work *w) {
  brim_linear_gradient g = gradient_of(b, w);
  g.dx = b->z;
  g.dx_stride = w->in;
  b->ops->linear_backward(&b->c, &g);
}
static void sum_weight(bench *b, const work *w, brim_row_slices slices) {
  brim_linear_gradient g = gradient_of(b, w);
  g.dw = b->dw;
  g.db = b->b;
  g.slices = slices;
  b->ops->linear_backward(&b->c, &g);
}
static void weight_gradient(bench *b, const work *w) {
  sum_weight(b, w, (brim_row_slices){0});
}
/* Each text is a slice. */
static void sliced_gradient(bench *b, const work *w) {
  sum_weight(b, w, w->slices);
}
static void act_gradient(bench *b, const work *w) {
  b->ops->linear_act_backward(
      &b->c,
      &(brim_linear_act_gradient){
          .rows = w->rows, .in = w->in, .out = w->out, .w = b->w, .dz = b->y, .act = BRIM_ACT_GELU, .pre = b->x, .dpre = b->z});
}
static void norm_gradient(bench *b, const work *w) {
  b->ops->norm_backward(&b->c, &(brim_norm_gradient){.layout = *w->layout,
                                                     .at = {.count = (int32_t)w->rows},
                                                     .dropout = w->dropout,
                                                     .width = w->out,
                                                     .sum = {BRIM_TYPE_REAL, b->y},
                                                     .mean = b->dw,
                                                     .rstd = b->dw + w->rows,
                                                     .gamma = b->b,
                                                     .dy = b->z,
                                                     .dsum = b->z,
                                                     .dbranch = {BRIM_TYPE_REAL, b->x},
                                                     .dgamma = b->dw + 100000,
                                                     .dbeta = b->dw + 200000});
}
static void attend(bench *b, const work *w) {
  b->ops->attention_forward(&b->c, &w->attention);
}
static void attend_back(bench *b, const work *w) {
  b->ops->attention_backward(&b->c, &w->attention);
}
static void update(bench *b, const work *w) {
  b->ops->adamw(&b->c, &w->update);
}
static void square(bench *b, const work *w) {
  b->ops->gradient_square(&b->c, &w->update);
  if (*w->update.square < 0)
    abort();
}

/* n texts of nearly `length` tokens. */
static brim_layout make_layout(int32_t n, int32_t length) {
  int32_t *offsets = malloc(sizeof *offsets * (size_t)(n + 1)), *lengths = malloc(sizeof *lengths * (size_t)n);
  uint32_t *places = malloc(sizeof *places * (size_t)n);
  if (!offsets || !lengths || !places)
    abort();
  brim_layout l = {.n = n, .offsets = offsets, .lengths = lengths, .places = places};
  offsets[0] = 0;
  for (int32_t s = 0; s < n; s++) {
    lengths[s] = length - length / 3 + 2 * (length / 3) * s / n;
    places[s] = (uint32_t)s;
    offsets[s + 1] = offsets[s] + lengths[s];
    if (lengths[s] > l.max_length)
      l.max_length = lengths[s];
  }
  l.slots = l.tokens = offsets[n];
  int32_t *sequence = malloc(sizeof *sequence * (size_t)l.slots);
  if (!sequence)
    abort();
  for (int32_t s = 0; s < n; s++)
    for (int32_t r = offsets[s]; r < offsets[s + 1]; r++)
      sequence[r] = s;
  l.sequence = sequence;
  return l;
}

static brim_int8 pack_bytes(bench *b, int32_t in, int32_t out, size_t *used) {
  const brim_int8 w = {in, out, (char *)b->dw + *used};
  b->ops->int8_pack(&b->c, &(brim_int8_pack){.w = b->w, .b = b->b, .to = w});
  *used += (b->ops->int8_size(in, out) + 63) / 64 * 64;
  return w;
}

/* A layer's products in a prediction with bytes; GELU and norms are in them. */
static void bench_bytes(bench *b, const brim_layout *layout, int32_t hidden, int32_t feed) {
  size_t used = 0;
  work w = {.rows = layout->slots, .layout = layout};
  const double unit = 2e-9 * (double)w.rows * hidden;
  w.bytes = pack_bytes(b, hidden, 3 * hidden, &used);
  const double qkv = best_time(b, forward_bytes, &w);
  w.bytes = pack_bytes(b, hidden, hidden, &used);
  const double projection = best_time(b, bytes_norm, &w);
  w.bytes = pack_bytes(b, hidden, feed, &used);
  w.down = pack_bytes(b, feed, hidden, &used);
  const double wide = best_time(b, bytes_norm, &w);
  printf("  int8       qkv %5.0f  projection, norm %5.0f  feed-forward, norm %5.0f GOP/s  together %.3f ms\n",
         3 * hidden * unit / qkv, hidden * unit / projection, 2 * feed * unit / wide, 1e3 * (qkv + projection + wide));
}

static void bench_layer(bench *b, const char *name, int32_t hidden, int32_t feed, int32_t heads, int32_t n, int32_t length) {
  const brim_layout layout = make_layout(n, length);
  const uint32_t key[2] = {1, 2};
  const int64_t rows = layout.slots;
  const brim_ops_limits limits = {.max_slots = rows,
                                  .max_sequences = n,
                                  .max_length = layout.max_length,
                                  .hidden = hidden,
                                  .intermediate = feed,
                                  .heads = heads,
                                  .weight = (int64_t)hidden * feed,
                                  .slices = n,
                                  .int8 = true};
  int32_t names[BRIM_MOST_SLICES];
  uint8_t joins[BRIM_MOST_SLICES];
  for (int32_t i = 0; i < n; i++)
    names[i] = i;
  brim_reduce_tree_joins(names, n, joins);
  b->c.workspace_size = b->ops->workspace(&b->c, &limits);
  b->c.workspace = aligned_alloc(64, (b->c.workspace_size + 63) / 64 * 64);
  if (!b->c.workspace)
    abort();
  const struct {
    const char *name;
    int32_t in, out;
  } shapes[] = {{"qkv", hidden, 3 * hidden}, {"projection", hidden, hidden}, {"up", hidden, feed}, {"down", feed, hidden}};
  printf("%s, %lld tokens in %d texts, %d threads, %s, workspace %.1f MB\n", name, (long long)rows, n,
         brim_runtime_threads(b->c.runtime), b->ops->name, (double)b->c.workspace_size / 1e6);
  double total = 0, total_flops = 0;
  for (int i = 0; i < 4; i++) {
    work w = {.rows = rows,
              .in = shapes[i].in,
              .out = shapes[i].out,
              .layout = &layout,
              .dropout = brim_dropout_make(0.1, key, 1),
              .slices = {n, names, layout.offsets + 1, joins}};
    const double flops = 2e-9 * (double)rows * w.in * w.out;
    const double plain = best_time(b, forward, &w),
                 fused = i == 0 ? plain : best_time(b, i == 2 ? forward_act : forward_norm, &w);
    const double dx = best_time(b, input_gradient, &w), dw = best_time(b, weight_gradient, &w);
    printf("  %-10s %4d -> %4d  forward %5.0f  fused %5.0f  dx %5.0f  dw %5.0f  slices %5.0f GFLOP/s\n", shapes[i].name, w.in,
           w.out, flops / plain, flops / fused, flops / dx, flops / dw, flops / best_time(b, sliced_gradient, &w));
    total += fused + dx + dw;
    total_flops += 3 * flops;
    if (i == 1 || i == 3) {
      const double t = i == 3 ? best_time(b, act_gradient, &w) - dx : best_time(b, norm_gradient, &w);
      printf("  %-10s gradient %.3f ms %s\n", i == 3 ? "gelu" : "norm", 1e3 * t,
             i == 3 ? "after dx, gelu itself made again" : "(twice a layer)");
      total += i == 3 ? t : 2 * t;
    }
  }
  for (int dropout = 0; dropout < 2; dropout++) {
    work w = {.attention = {.layout = layout,
                            .heads = heads,
                            .head_size = hidden / heads,
                            .scale = 0.1f,
                            .dropout = brim_dropout_make(dropout ? 0.1 : 0, key, 1),
                            .q = b->x,
                            .k = b->x + hidden,
                            .v = b->x + 2 * hidden,
                            .q_stride = 3 * hidden,
                            .kv_stride = 3 * hidden,
                            .out = b->y,
                            .out_stride = hidden,
                            .lse = b->dw,
                            .dout = b->y,
                            .dq = b->z,
                            .dk = b->z + hidden,
                            .dv = b->z + 2 * hidden}};
    double pairs = 0;
    for (int32_t s = 0; s < n; s++)
      pairs += (double)layout.lengths[s] * layout.lengths[s];
    const double f = best_time(b, attend, &w), g = best_time(b, attend_back, &w), product = 2e-9 * pairs * hidden;
    printf("  attention%s  forward %.3f ms %5.0f  backward %.3f ms %5.0f GFLOP/s\n", dropout ? " with dropout" : "", 1e3 * f,
           2 * product / f, 1e3 * g, 5 * product / g);
    if (dropout) {
      total += f + g;
      total_flops += 6 * product;
    }
  }
  printf("  layer %.3f ms, %.0f useful GFLOP/s\n", 1e3 * total, total_flops / total);
  bench_bytes(b, &layout, hidden, feed);
  free(b->c.workspace);
}

static void bench_update(bench *b, int64_t count) {
  double sum = 1;
  const brim_update_range range = {.offset = 0, .count = count, .rate = 1};
  work w = {.update = {.values = b->w,
                       .gradients = b->z,
                       .moment1 = b->x,
                       .moment2 = b->y,
                       .ranges = &range,
                       .range_count = 1,
                       .step = {.lr = 1e-5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .correction1 = 0.1, .correction2 = 0.1},
                       .clip = 1,
                       .square = &sum}};
  double sums[1024];
  b->c.workspace = sums;
  b->c.workspace_size = sizeof sums;
  memset(b->y, 0, (size_t)count * sizeof *b->y);
  const double t = best_time(b, update, &w), s = best_time(b, square, &w);
  printf("update of %lld values: adamw %.2f ms, %.1f GB/s; norm %.2f ms, %.1f GB/s\n", (long long)count, 1e3 * t,
         32e-9 * (double)count / t, 1e3 * s, 4e-9 * (double)count / s);
}

int main(int argc, char **argv) {
  const brim_runtime_options options = {.threads = argc > 1 ? atoi(argv[1]) : 0, .cpu = argc > 2 ? argv[2] : NULL};
  const size_t room = (size_t)BUFFER * sizeof(float);
  bench b = {.cold = argc > 4};
  if (brim_runtime_new(&options, &b.c.runtime, NULL))
    return 1;
  b.ops = brim_ops_cpu(brim_runtime_cpu(b.c.runtime));
  float **const buffers[] = {&b.x, &b.w, &b.y, &b.z, &b.dw, &b.b};
  for (int i = 0; i < 6; i++) {
    float *p = *buffers[i] = aligned_alloc(64, room);
    if (!p)
      return 1;
    for (size_t k = 0; k < room / sizeof *p; k++)
      p[k] = (float)((k * 2654435761u) & 0xffff) / 65536.0f - 0.5f;
  }
  b.clock = brim_runtime_threads(b.c.runtime) == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const int only = argc > 3 ? atoi(argv[3]) : 0;
  for (int i = 0; i < 4; i++)
    if ((!only || only == i + 1) && (!b.cold || i % 2 == 0)) /* of long texts one place holds too little */
      bench_layer(&b, i < 2 ? "MiniLM" : "BERT-base", i < 2 ? 384 : 768, i < 2 ? 1536 : 3072, 12, 16, i % 2 ? 260 : 27);
  if (!only || only == 5)
    bench_update(&b, 10600000);
  for (int i = 0; i < 6; i++)
    free(*buffers[i]);
  brim_runtime_free(b.c.runtime);
  return 0;
}
